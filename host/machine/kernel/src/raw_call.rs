//! System calls inlined into their caller, without a function of the C library around them.
//!
//! A processor foresees where `ret` leads by a list of the calls before it. When a thread wakes, that list holds the kernel's
//! calls, or nothing: the kernel empties it for safety. On processors where it also has to guard its own returns
//! (`spec_rstack_overflow` under `/sys/devices/system/cpu/vulnerabilities`), the first `ret` after a sleep was found to cost about
//! 1 us, several times what this program does for a request (docs/decisions/0026-no-return-after-a-sleep.md). So what waits
//! for answers is compiled into the loop that takes them in, down to the instruction that enters the kernel: there is no `ret` between.

#![expect(clippy::inline_always, reason = "a function that is not inlined returns")]

use std::io;

/// A system call that was answered: its result, or a negative error number.
#[derive(Debug, Clone, Copy)]
pub struct Answer(isize);

impl Answer {
    /// # Errors
    /// The error that the kernel told.
    #[inline(always)]
    pub fn result(self) -> io::Result<usize> {
        usize::try_from(self.0).map_err(|_| io::Error::from_raw_os_error(-self.0 as i32))
    }
}

/// Makes the system call `number`.
///
/// # Safety
/// As the call itself: pointers among the arguments are valid for what it does with them.
#[inline(always)]
#[cfg(target_arch = "x86_64")]
#[must_use]
pub unsafe fn system_call(number: libc::c_long, arguments: [usize; 6]) -> Answer {
    let [first, second, third, fourth, fifth, sixth] = arguments;
    let result: isize;
    // SAFETY: these are the registers of the kernel's calling convention, all that it overwrites is told, and the stack is left alone;
    // the rest is the caller's.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") first,
            in("rsi") second,
            in("rdx") third,
            in("r10") fourth,
            in("r8") fifth,
            in("r9") sixth,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    Answer(result)
}

/// Makes the system call `number`, by the C library.
///
/// # Safety
/// As the call itself: pointers among the arguments are valid for what it does with them.
#[inline(always)]
#[cfg(not(target_arch = "x86_64"))]
pub unsafe fn system_call(number: libc::c_long, arguments: [usize; 6]) -> Answer {
    let [first, second, third, fourth, fifth, sixth] = arguments;
    // SAFETY: the caller's.
    let result = unsafe { libc::syscall(number, first, second, third, fourth, fifth, sixth) };
    let error = || io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
    Answer(if result < 0 { -(error() as isize) } else { result as isize })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_and_errors_are_those_of_the_c_library() {
        let (mut here, mut there) = ([0_u8; 256], [0_u8; 256]);
        // SAFETY: getcwd writes as many bytes as it is told to at most.
        let (answered, expected) = unsafe {
            (
                system_call(libc::SYS_getcwd, [here.as_mut_ptr() as usize, here.len(), 0, 0, 0, 0]),
                libc::syscall(libc::SYS_getcwd, there.as_mut_ptr(), there.len()),
            )
        };
        assert!(expected > 0);
        assert_eq!(answered.result().unwrap(), expected as usize);
        assert_eq!(here, there);
        // SAFETY: no room, and no pointer.
        let refused = unsafe { system_call(libc::SYS_getcwd, [0; 6]) };
        assert_eq!(refused.result().unwrap_err().raw_os_error(), Some(libc::ERANGE));
    }

    #[test]
    fn all_six_arguments_arrive() {
        let mut made = tempfile::tempfile().unwrap();
        io::Write::write_all(&mut made, &[7; 8192]).unwrap();
        let file = std::os::fd::AsRawFd::as_raw_fd(&made) as usize;
        let (length, protection, kind) = (4096, libc::PROT_READ as usize, libc::MAP_SHARED as usize);
        // SAFETY: mapped at a free place, read within, and unmapped once.
        unsafe {
            let at = system_call(libc::SYS_mmap, [0, length, protection, kind, file, 4096]).result().unwrap();
            assert_eq!(*(at as *const [u8; 4096]), [7; 4096]);
            assert_eq!(system_call(libc::SYS_munmap, [at, length, 0, 0, 0, 0]).result().unwrap(), 0);
        }
    }
}
