//! Linux AIO (`io_submit`): for machines where `io_uring` is forbidden. Asynchronous with direct I/O only.

#![expect(clippy::inline_always, reason = "what returns after a sleep costs more than it does: see `raw_call`")]

use super::{Backend, Io, Trims, trim};
use loadline_block::Operation;
use loadline_kernel::raw_call::system_call;
use loadline_units::{Duration, NS_PER_S};
use std::io;
use std::os::fd::RawFd;

/// `struct iocb` of linux/aio_abi.h, little-endian layout.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct ControlBlock {
    data: u64,
    key: u32,
    rw_flags: i32,
    opcode: u16,
    priority: i16,
    file: u32,
    buffer: u64,
    length: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event_fd: u32,
}

/// `struct io_event` of linux/aio_abi.h.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Event {
    data: u64,
    object: u64,
    result: i64,
    result2: i64,
}

const READ: u16 = 0;
const WRITE: u16 = 1;
const FDSYNC: u16 = 3;

/// A context with one control block for each queue place.
pub(crate) struct Aio {
    context: u64,
    blocks: Box<[ControlBlock]>,
    queued: Vec<*mut ControlBlock>,
    events: Box<[Event]>,
    ready: usize,
    files: Vec<RawFd>,
    trims: Trims,
    /// Answers that need no system call: trims, done synchronously, and refused submissions.
    answered: Vec<(u32, i32)>,
    outstanding: usize,
}

impl Aio {
    /// A context for `slots` requests at once on `files`.
    ///
    /// # Errors
    /// What the kernel says; EAGAIN when fs.aio-max-nr is reached.
    pub(crate) fn new(slots: u32, files: &[RawFd], trims: Trims) -> io::Result<Self> {
        let mut context: u64 = 0;
        // SAFETY: io_setup takes a number and a pointer to a zeroed context, which it fills.
        if unsafe { libc::syscall(libc::SYS_io_setup, slots, &raw mut context) } < 0 {
            return Err(io::Error::last_os_error());
        }
        let slots = slots as usize;
        Ok(Self {
            context,
            blocks: vec![ControlBlock::default(); slots].into(),
            queued: Vec::with_capacity(slots),
            events: vec![Event::default(); slots].into(),
            ready: 0,
            files: files.to_vec(),
            trims,
            answered: Vec::new(),
            outstanding: 0,
        })
    }

    fn submit(&mut self) -> io::Result<()> {
        let mut done = 0;
        while done < self.queued.len() {
            let rest = &mut self.queued[done..];
            // SAFETY: `rest` holds pointers into `blocks`, which lives as long as the context; the buffers that the blocks
            // name stay untouched until their slots are reaped.
            let result = unsafe { libc::syscall(libc::SYS_io_submit, self.context, rest.len(), rest.as_mut_ptr()) };
            if result > 0 {
                done += result as usize;
                self.outstanding += result as usize;
                continue;
            }
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                // The queue below is full: what was taken goes on, the rest follows on the next turn.
                Some(libc::EAGAIN) if self.outstanding > 0 => break,
                // The first of the rest was refused; it alone failed.
                Some(errno) if result < 0 => {
                    // SAFETY: the pointer was made from `blocks` in `queue`.
                    let slot = unsafe { (*rest[0]).data } as u32;
                    self.answered.push((slot, -errno));
                    done += 1;
                }
                _ => return Err(error),
            }
        }
        self.queued.drain(..done);
        Ok(())
    }
}

impl Backend for Aio {
    fn queue(&mut self, slot: u32, io: &Io) {
        let opcode = match io.operation {
            Operation::Read => READ,
            Operation::Write => WRITE,
            Operation::Flush => FDSYNC,
            Operation::Trim => {
                self.answered.push((slot, trim(self.files[io.file as usize], io, self.trims)));
                return;
            }
        };
        let block = &mut self.blocks[slot as usize];
        *block = ControlBlock {
            data: u64::from(slot),
            opcode,
            rw_flags: if io.durable { libc::RWF_DSYNC } else { 0 },
            file: self.files[io.file as usize] as u32,
            buffer: if opcode == FDSYNC { 0 } else { io.buffer as u64 },
            length: u64::from(io.length),
            offset: io.offset as i64,
            ..ControlBlock::default()
        };
        self.queued.push(block);
    }

    #[inline(always)]
    fn submit_and_wait(&mut self, wait: Option<Duration>) -> io::Result<()> {
        self.submit()?;
        if self.ready > 0 {
            // What was fetched before was not taken yet.
            return Ok(());
        }
        let wait = if self.answered.is_empty() { wait } else { None };
        let span = wait.unwrap_or(Duration::ZERO);
        let mut time =
            libc::timespec { tv_sec: (span.as_ns() / NS_PER_S) as i64, tv_nsec: (span.as_ns() % NS_PER_S) as i64 };
        if self.outstanding == 0 {
            if wait.is_some() {
                std::thread::sleep(span.into());
            }
            return Ok(());
        }
        let call = [
            self.context as usize,
            usize::from(wait.is_some()),
            self.events.len(),
            self.events.as_mut_ptr() as usize,
            &raw mut time as usize,
            0,
        ];
        // SAFETY: `events` has room for as many as are asked for, and `time` is a valid timespec.
        match unsafe { system_call(libc::SYS_io_getevents, call) }.result() {
            Ok(ready) => self.ready = ready,
            Err(error) if error.raw_os_error() == Some(libc::EINTR) => return Ok(()),
            Err(error) => return Err(error),
        }
        self.outstanding -= self.ready;
        Ok(())
    }

    fn reap(&mut self, mut each: impl FnMut(u32, i32)) {
        for event in &self.events[..self.ready] {
            each(event.data as u32, event.result as i32);
        }
        self.ready = 0;
        for &(slot, result) in &self.answered {
            each(slot, result);
        }
        self.answered.clear();
    }
}

impl Drop for Aio {
    fn drop(&mut self) {
        // SAFETY: the context was made by io_setup and is destroyed once; this waits for requests in flight, which the
        // driver leaves only when they hang, and then it leaks this value instead of dropping it.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.context) };
    }
}

/// Whether this machine lets the tool use Linux AIO; else why not, in words.
pub(crate) fn available() -> Result<(), String> {
    match Aio::new(1, &[], Trims::Hole) {
        Ok(_) => Ok(()),
        Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => Err("this kernel has no Linux AIO".to_owned()),
        Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => {
            Err("all of fs.aio-max-nr is in use by others".to_owned())
        }
        Err(error) => Err(format!("io_setup: {error}")),
    }
}
