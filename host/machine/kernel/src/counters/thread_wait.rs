//! What a thread that sleeps waits for, by the system call in which it does (proc_pid_syscall(5)).

use libc::{
    SYS_accept, SYS_accept4, SYS_clock_nanosleep, SYS_connect, SYS_epoll_pwait, SYS_fcntl, SYS_flock, SYS_futex,
    SYS_nanosleep, SYS_ppoll, SYS_pselect6, SYS_read, SYS_readv, SYS_recvfrom, SYS_recvmmsg, SYS_recvmsg,
    SYS_rt_sigtimedwait, SYS_semop, SYS_semtimedop, SYS_sendmsg, SYS_sendto, SYS_wait4, SYS_waitid, SYS_write,
    SYS_writev, c_long,
};
use std::fs;
use std::path::Path;

/// What a thread waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitsFor {
    /// A lock of a file, or a semaphore.
    Lock,
    /// Another thread.
    Thread,
    /// A socket, or one of several things that it can be woken by.
    Socket,
    /// Another process: at a pipe, or for a child to end.
    Process,
    /// The end of a pause.
    Pause,
}

/// Calls with which a thread waits for one of several descriptors; the number of these is the second argument, or the first.
const OF_SEVERAL: &[c_long] = &[SYS_ppoll, SYS_pselect6, SYS_epoll_pwait];
/// The same of older programs, which newer architectures do not have.
#[cfg(target_arch = "x86_64")]
const OF_SEVERAL_OLDER: &[c_long] = &[libc::SYS_poll, libc::SYS_select, libc::SYS_epoll_wait];
#[cfg(not(target_arch = "x86_64"))]
const OF_SEVERAL_OLDER: &[c_long] = &[];

/// What a thread waits for. `text` is its `syscall` file, `process` the folder of its process; `None` where it runs, or does not show it.
pub(super) fn waits_for(process: &Path, text: &str) -> Option<WaitsFor> {
    let mut fields = text.split_ascii_whitespace();
    let call: c_long = fields.next()?.parse().ok()?;
    let mut argument = || u64::from_str_radix(fields.next()?.strip_prefix("0x")?, 16).ok();
    #[expect(non_upper_case_globals, reason = "the names of system calls are those of the kernel")]
    match call {
        SYS_futex | libc::SYS_futex_waitv => Some(WaitsFor::Thread),
        // Of the calls of fcntl, only those for locks wait.
        SYS_flock | SYS_fcntl | SYS_semop | SYS_semtimedop => Some(WaitsFor::Lock),
        SYS_nanosleep | SYS_clock_nanosleep | SYS_rt_sigtimedwait => Some(WaitsFor::Pause),
        SYS_wait4 | SYS_waitid => Some(WaitsFor::Process),
        SYS_accept | SYS_accept4 | SYS_connect | SYS_recvfrom | SYS_recvmsg | SYS_recvmmsg | SYS_sendto
        | SYS_sendmsg => Some(WaitsFor::Socket),
        SYS_read | SYS_readv | SYS_write | SYS_writev => {
            let descriptor = argument()?;
            let open = fs::read_link(process.join("fd").join(descriptor.to_string())).ok()?;
            match open.to_str()?.split_once(':')?.0 {
                "socket" => Some(WaitsFor::Socket),
                "pipe" => Some(WaitsFor::Process),
                _ => None,
            }
        }
        call if OF_SEVERAL.contains(&call) || OF_SEVERAL_OLDER.contains(&call) => {
            // Without a descriptor it is a pause. The calls for select have the number first.
            let (first, second) = (argument()?, argument()?);
            let is_pause = if is_select(call) { first == 0 } else { !is_epoll(call) && second == 0 };
            Some(if is_pause { WaitsFor::Pause } else { WaitsFor::Socket })
        }
        _ => None,
    }
}

fn is_select(call: c_long) -> bool {
    call == SYS_pselect6 || OF_SEVERAL_OLDER.get(1) == Some(&call)
}

fn is_epoll(call: c_long) -> bool {
    call == SYS_epoll_pwait || OF_SEVERAL_OLDER.get(2) == Some(&call)
}

/// Whether a process says in its own title that it waits, as servers do that name there what each process is at.
pub(super) fn says_that_it_waits(process: &Path) -> bool {
    let title = fs::read(process.join("cmdline")).unwrap_or_default();
    let end = title.iter().rposition(|byte| *byte != 0 && !byte.is_ascii_whitespace()).map_or(0, |last| last + 1);
    title[..end].ends_with(b" waiting")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_call_says_what_a_thread_waits_for() {
        let process = tempfile::tempdir().unwrap();
        fs::create_dir(process.path().join("fd")).unwrap();
        for (descriptor, open) in [("3", "socket:[77]"), ("4", "pipe:[78]"), ("5", "/data/file")] {
            symlink(open, process.path().join("fd").join(descriptor)).unwrap();
        }
        let of =
            |call: c_long, arguments: &str| waits_for(process.path(), &format!("{call} {arguments} 0x7ffd 0x7f53"));
        for (call, arguments, waits) in [
            (SYS_futex, "0x7f 0x80", Some(WaitsFor::Thread)),
            (SYS_flock, "0x3 0x2", Some(WaitsFor::Lock)),
            (SYS_clock_nanosleep, "0x0 0x0", Some(WaitsFor::Pause)),
            (SYS_read, "0x3 0x7f", Some(WaitsFor::Socket)),
            (SYS_read, "0x4 0x7f", Some(WaitsFor::Process)),
            (SYS_read, "0x5 0x7f", None),
            (SYS_read, "0x9 0x7f", None),
            (SYS_ppoll, "0x7f 0x2", Some(WaitsFor::Socket)),
            (SYS_ppoll, "0x0 0x0", Some(WaitsFor::Pause)),
            (SYS_pselect6, "0x0 0x0", Some(WaitsFor::Pause)),
            (SYS_pselect6, "0x4 0x7f", Some(WaitsFor::Socket)),
            (SYS_epoll_pwait, "0x4 0x7f", Some(WaitsFor::Socket)),
            (SYS_wait4, "0xffffffffffffffff 0x0", Some(WaitsFor::Process)),
            (libc::SYS_fsync, "0x5 0x0", None),
        ] {
            assert_eq!(of(call, arguments), waits, "{call} {arguments}");
        }
        assert_eq!(waits_for(process.path(), "running\n"), None);
        assert_eq!(waits_for(process.path(), "-1 0x7ffd 0x7f53\n"), None);
    }

    #[test]
    fn a_title_that_ends_with_waiting_says_so() {
        let process = tempfile::tempdir().unwrap();
        for (title, waits) in [
            ("server: bench UPDATE waiting\0", true),
            ("server: UPDATE waiting   ", true),
            ("server\0--waiting\0", false),
        ] {
            fs::write(process.path().join("cmdline"), title).unwrap();
            assert_eq!(says_that_it_waits(process.path()), waits, "{title:?}");
        }
        assert!(!says_that_it_waits(&process.path().join("gone")));
    }
}
