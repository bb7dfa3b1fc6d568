//! The driver's control device: devices are made, started, stopped and deleted.

use super::layout::{self, ControlCode, FEATURES, Features, INFORMATION, Information, Parameters};
use io_uring::{IoUring, opcode, squeue, types};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::{Duration, Instant};

/// Where the driver is asked.
const CONTROL: &str = "/dev/ublk-control";
/// The kernel from which on the driver copies bytes on request and tells its features.
const KERNEL: &str = "6.5";

/// Why there is no device of the driver's.
#[derive(Debug, thiserror::Error)]
pub enum UblkError {
    /// No driver.
    #[error("this machine has no {CONTROL} (`modprobe ublk_drv` makes one where the kernel has the driver)")]
    Absent,
    /// Only for others.
    #[error("{CONTROL} may not be opened: ublk needs root")]
    Denied,
    /// The driver cannot do what is needed.
    #[error("this kernel's ublk is older than Linux {KERNEL}, which is needed")]
    Old,
    /// The system's answer.
    #[error("cannot {what}: {error}")]
    System {
        /// What was attempted.
        what: &'static str,
        /// The answer.
        error: io::Error,
    },
}

impl UblkError {
    /// Gives an error of the system what was attempted.
    pub fn system(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::System { what, error }
    }

    /// The system's answer to a command.
    #[must_use]
    pub fn code(&self) -> Option<i32> {
        if let Self::System { error, .. } = self { error.raw_os_error() } else { None }
    }
}

/// Between two looks at whether to wait on.
const LOOK: Duration = Duration::from_millis(50);

/// How long a command is waited for.
#[derive(Clone, Copy)]
enum Wait<'a> {
    /// Until it is answered.
    Answer,
    /// For so long at most.
    Within(Duration),
    /// For as long as this is true.
    While(&'a dyn Fn() -> bool),
}

impl Wait<'_> {
    fn of(most: Option<Duration>) -> Self {
        most.map_or(Self::Answer, Self::Within)
    }
}

/// The driver's control device, with commands done one at a time.
pub struct Control {
    ring: IoUring<squeue::Entry128>,
    file: File,
    /// Commands so far: answers to earlier ones, which nobody waits for any more, are told apart by it.
    count: u64,
}

impl Control {
    /// Opens it, and sees that the driver can do what is needed.
    ///
    /// # Errors
    /// There is none, it is for others, or it is too old.
    pub fn open() -> Result<Self, UblkError> {
        if !Path::new(CONTROL).exists() {
            return Err(UblkError::Absent);
        }
        let file = match OpenOptions::new().read(true).write(true).open(CONTROL) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Err(UblkError::Denied),
            Err(error) => return Err(UblkError::System { what: "open /dev/ublk-control", error }),
        };
        let ring = IoUring::builder().build(4).map_err(UblkError::system("set up an io_uring for ublk"))?;
        let mut control = Self { ring, file, count: 0 };
        match control.features() {
            Ok(features) if features.are_enough() => Ok(control),
            _ => Err(UblkError::Old),
        }
    }

    fn features(&mut self) -> io::Result<Features> {
        let told = self.with_memory(ControlCode::Features, u32::MAX, [0; FEATURES])?;
        Ok(Features(u64::from_ne_bytes(told)))
    }

    /// Makes a device that nobody sees yet. Gives what the driver made of it: it chooses the id where that is asked, and has no
    /// more queues than there are processors.
    ///
    /// # Errors
    /// The driver refuses, for one thing as there is one of this id.
    pub fn add(&mut self, wanted: Information) -> Result<Information, UblkError> {
        let made = self.with_memory(ControlCode::Add, wanted.id, wanted.to_bytes());
        let made = made.map_err(UblkError::system("make a ublk device"))?;
        let information = Information::of(&made);
        if Information::features(&made).are_enough() {
            return Ok(information);
        }
        let _ = self.delete(information.id, None);
        Err(UblkError::Old)
    }

    /// What the driver knows of a device.
    ///
    /// # Errors
    /// There is none.
    pub fn information(&mut self, id: u32) -> Result<Information, UblkError> {
        let told = self.with_memory(ControlCode::Information, id, [0; INFORMATION]);
        told.map(|told| Information::of(&told)).map_err(UblkError::system("ask for a ublk device"))
    }

    /// Tells the kernel of a device's blocks; before it starts.
    ///
    /// # Errors
    /// What they are makes no sense to it.
    pub fn set_parameters(&mut self, id: u32, parameters: Parameters) -> Result<(), UblkError> {
        let set = self.with_memory(ControlCode::SetParameters, id, parameters.to_bytes());
        set.map(drop).map_err(UblkError::system("tell the kernel of a ublk device's blocks"))
    }

    /// Shows a device to everybody, when all of its queues have asked for requests. The kernel looks for partitions before this
    /// ends, and waits for the answers. `go_on` is asked again and again whether this is to wait on.
    ///
    /// # Errors
    /// The driver refuses, or was not waited for ([`io::ErrorKind::TimedOut`]).
    pub fn start(&mut self, id: u32, go_on: impl Fn() -> bool) -> Result<(), UblkError> {
        let process = u64::from(std::process::id());
        let started = self.command(ControlCode::Start, id, (0, 0), process, Wait::While(&go_on));
        started.map(drop).map_err(UblkError::system("start a ublk device"))
    }

    /// Takes a device from everybody: file systems on it are written back as far as requests are answered, and whoever has it open
    /// gets errors. Its queues end. Waits for so long at most; with `None` until it is done.
    ///
    /// # Errors
    /// The driver refuses, or the time is up ([`io::ErrorKind::TimedOut`]): it is stopped when it is.
    pub fn stop(&mut self, id: u32, most: Option<Duration>) -> Result<(), UblkError> {
        let stopped = self.command(ControlCode::Stop, id, (0, 0), 0, Wait::of(most));
        stopped.map(drop).map_err(UblkError::system("stop a ublk device"))
    }

    /// Deletes a device; its file must be closed. It is gone when its last user has closed it. Waits for so long at most; with `None`
    /// until it is gone.
    ///
    /// # Errors
    /// There is none, or the time is up ([`io::ErrorKind::TimedOut`]): it is gone when it is.
    pub fn delete(&mut self, id: u32, most: Option<Duration>) -> Result<(), UblkError> {
        let deleted = self.command(ControlCode::Delete, id, (0, 0), 0, Wait::of(most));
        deleted.map(drop).map_err(UblkError::system("delete a ublk device"))
    }

    /// A command that reads `memory`, or writes it.
    fn with_memory<const N: usize>(&mut self, code: ControlCode, device: u32, memory: [u8; N]) -> io::Result<[u8; N]> {
        // On the heap, and never freed unless the kernel has answered.
        let memory = Box::into_raw(Box::new(memory));
        self.command(code, device, (memory as u64, N as u16), 0, Wait::Answer)?;
        // SAFETY: it came from a box a moment ago, and the kernel, which has answered, uses it no more.
        Ok(*unsafe { Box::from_raw(memory) })
    }

    /// Hands over a command and waits for its answer. `memory` is the address and length of what the kernel reads and writes, which
    /// stays for good where this fails; there must be none where the answer is not waited for whatever happens.
    fn command(
        &mut self,
        code: ControlCode,
        device: u32,
        memory: (u64, u16),
        data: u64,
        wait: Wait<'_>,
    ) -> io::Result<()> {
        assert!(memory.1 == 0 || matches!(wait, Wait::Answer), "memory that the kernel uses is waited for");
        self.count += 1;
        let file = types::Fd(self.file.as_raw_fd());
        let command = layout::control(device, memory, data);
        let entry = opcode::UringCmd80::new(file, code.code()).cmd(command).build().user_data(self.count);
        // SAFETY: the command's memory stays until the kernel has answered, and for good where that is not waited for.
        unsafe { self.ring.submission().push(&entry) }.map_err(|_| io::Error::other("the ring is full"))?;
        let begun_at = Instant::now();
        loop {
            let left = match wait {
                Wait::Answer => None,
                Wait::Within(most) => Some(most.saturating_sub(begun_at.elapsed())),
                Wait::While(go_on) => Some(if go_on() { LOOK } else { Duration::ZERO }),
            };
            let entered = match left {
                None => self.ring.submit_and_wait(1),
                Some(left) => {
                    let time = types::Timespec::from(left);
                    self.ring.submitter().submit_with_args(1, &types::SubmitArgs::new().timespec(&time))
                }
            };
            match entered.map_err(|error| error.raw_os_error()) {
                Ok(_) | Err(Some(libc::EINTR | libc::ETIME)) => {}
                Err(code) => return Err(io::Error::from_raw_os_error(code.unwrap_or(libc::EIO))),
            }
            let count = self.count;
            let answer = self.ring.completion().find(|answer| answer.user_data() == count);
            match answer.map(|answer| answer.result()) {
                Some(result @ ..0) => return Err(io::Error::from_raw_os_error(-result)),
                Some(_) => return Ok(()),
                None if left.is_some_and(|left| left.is_zero()) => return Err(io::ErrorKind::TimedOut.into()),
                None => {}
            }
        }
    }
}

impl std::fmt::Debug for Control {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Control").field("file", &self.file).finish_non_exhaustive()
    }
}
