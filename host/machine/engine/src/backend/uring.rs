//! `io_uring`: registered files and buffers, one issuer, deferred task work, one system call for submitting and waiting.

#![expect(clippy::inline_always, reason = "what returns after a sleep costs more than it does: see `raw_call`")]

use super::{BATCH_MAX, Backend, Io, SLICE, Trims, trim};
use crate::buffers::Region;
use io_uring::{IoUring, Probe, cqueue, opcode, squeue, types};
use loadline_block::Operation;
use loadline_kernel::raw_call::system_call;
use loadline_record::WaitMode;
use loadline_units::{Bytes, Duration};
use std::io;
use std::os::fd::{AsRawFd, RawFd};

/// The kernel takes at most this much in one registered buffer.
const REGISTERED_MAX: Bytes = Bytes::gib(1);
/// How long the submitting kernel thread of SQPOLL waits for work before it sleeps.
const SQPOLL_IDLE_MS: u32 = 1_000;

/// `IORING_ENTER_GETEVENTS` of linux/io_uring.h: answers are put into the ring, and waited for.
const GETEVENTS: usize = 1;
/// `IORING_ENTER_EXT_ARG`: the argument is an [`Until`].
const EXT_ARG: usize = 1 << 3;

/// `struct io_uring_getevents_arg` of linux/io_uring.h.
#[repr(C)]
struct Until {
    signals: u64,
    signals_size: u32,
    _min_wait_us: u32,
    time: *const types::Timespec,
}

/// What a tick has in place of a slot.
const TICK: u64 = u64::MAX;

/// `BLOCK_URING_CMD_DISCARD` of linux/blkdev.h, from Linux 6.12 on.
const BLOCK_DISCARD: u32 = 0x1200;

/// An operation for the ring.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct UringOptions {
    /// A kernel thread submits.
    pub(crate) sqpoll: bool,
    /// Completions are polled for.
    pub(crate) iopoll: bool,
    /// Requests pass through the page cache.
    pub(crate) buffered: bool,
    /// How its thread waits; an open loop's decides by itself, by when its next request is due, and is [`WaitMode::Asleep`] here.
    pub(crate) wait: WaitMode,
}

/// A ring with its registered resources.
pub(crate) struct Uring {
    ring: IoUring,
    fixed_buffers: bool,
    way: Way,
    wait: WaitMode,
    /// The ring itself ends waits after a [`SLICE`]: a timer for each wait would be set and put off with each request.
    ticks: bool,
    trims: RingTrims,
    files: Vec<RawFd>,
    /// Trims done synchronously.
    answered: Vec<(u32, i32)>,
}

/// How requests are carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Past the page cache. The kernel says by itself that something was answered.
    Direct,
    /// In the page cache. What has to wait, such as a write on most file systems, is given to threads of the kernel's.
    Cached,
    /// By a thread of the kernel's that submits, or with completions polled for.
    Polled,
}

/// How a ring asks for trims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RingTrims {
    /// By a request of its own in the ring.
    Discard,
    /// Each by a system call that waits for it: the kernel takes no discards in a ring.
    DiscardOneByOne,
    Hole,
}

impl Uring {
    /// A ring for `slots` requests at once on `files`, reading into and writing from `memory`; with `trims`, if the load trims.
    /// Also says which options are in force.
    ///
    /// # Errors
    /// The errors of a kernel that has no `io_uring`, forbids it, or lacks the operation.
    pub(crate) fn new(
        slots: u32,
        files: &[RawFd],
        memory: &Region,
        options: UringOptions,
        trims: Option<Trims>,
    ) -> io::Result<(Self, Vec<String>)> {
        let mut in_force = Vec::new();
        let mut ring = match build(slots, options, true) {
            // Kernels before 6.1 know neither single issuer nor deferred task work.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => build(slots, options, false)?,
            Err(error) => return Err(error),
            Ok(ring) => {
                in_force.push("single issuer".to_owned());
                if !options.sqpoll {
                    in_force.push("deferred task work".to_owned());
                }
                ring
            }
        };
        let vector = memory.iovec();
        let fixed_buffers = vector.iov_len as u64 <= REGISTERED_MAX.get() && {
            // SAFETY: the region outlives the ring: the driver drops the ring first, and leaks both when requests hang.
            unsafe { ring.submitter().register_buffers(&[vector]) }.is_ok()
        };
        if !files.is_empty() {
            ring.submitter().register_files(files)?;
        }
        let trims = match trims {
            Some(Trims::Discard) if takes_discards(&mut ring)? => RingTrims::Discard,
            Some(Trims::Discard) => RingTrims::DiscardOneByOne,
            Some(Trims::Hole) | None => RingTrims::Hole,
        };
        for (on, name) in [
            (true, "registered files"),
            (fixed_buffers, "registered buffers"),
            (options.sqpoll, "SQPOLL"),
            (options.iopoll, "IOPOLL"),
            (trims == RingTrims::Discard, "discards in the ring"),
            (trims == RingTrims::DiscardOneByOne, "discards one by one, since none are taken in a ring"),
        ] {
            if on {
                in_force.push(name.to_owned());
            }
        }
        let way = match options {
            UringOptions { sqpoll: true, .. } | UringOptions { iopoll: true, .. } => Way::Polled,
            UringOptions { buffered: true, .. } => Way::Cached,
            _ => Way::Direct,
        };
        if way == Way::Direct && options.wait == WaitMode::Auto {
            in_force.push("waiting awake where that brings more answers".to_owned());
        }
        // Nothing but I/O goes through a ring that is polled, and the kernel's thread of SQPOLL is left alone.
        let ticks = way != Way::Polled && ticks(&mut ring)?;
        let files = files.to_vec();
        Ok((Self { ring, fixed_buffers, way, wait: options.wait, ticks, trims, files, answered: Vec::new() }, in_force))
    }

    #[inline]
    fn entry(&self, io: &Io) -> squeue::Entry {
        let file = types::Fixed(io.file);
        let flags = if io.durable { libc::RWF_DSYNC } else { 0 };
        match (io.operation, self.fixed_buffers) {
            (Operation::Read, true) => opcode::ReadFixed::new(file, io.buffer, io.length, 0).offset(io.offset).build(),
            (Operation::Read, false) => opcode::Read::new(file, io.buffer, io.length).offset(io.offset).build(),
            (Operation::Write, true) => {
                opcode::WriteFixed::new(file, io.buffer, io.length, 0).offset(io.offset).rw_flags(flags).build()
            }
            (Operation::Write, false) => {
                opcode::Write::new(file, io.buffer, io.length).offset(io.offset).rw_flags(flags).build()
            }
            (Operation::Trim, _) if self.trims == RingTrims::Discard => discard(file, io.offset, u64::from(io.length)),
            (Operation::Trim, _) => opcode::Fallocate::new(file, u64::from(io.length))
                .offset(io.offset)
                .mode(libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE)
                .build(),
            (Operation::Flush, _) => opcode::Fsync::new(file).flags(types::FsyncFlags::DATASYNC).build(),
        }
    }
}

impl Uring {
    /// Hands over and waits, with the system call in the place of its caller.
    #[inline(always)]
    fn enter_here(&mut self, wait: Option<Duration>) -> io::Result<usize> {
        let queue = self.ring.submission();
        let queued = queue.len();
        // Answers that were put off, or did not find room, come when they are asked for only.
        let put_off = queue.taskrun() || queue.cq_overflow();
        // What was queued stands in the ring from here on.
        drop(queue);
        if wait.is_none() && queued == 0 && !put_off {
            return Ok(0);
        }
        let collects = if wait.is_some() || put_off { GETEVENTS } else { 0 };
        let least = usize::from(wait.is_some());
        let ring = self.ring.as_raw_fd() as usize;
        let number = libc::SYS_io_uring_enter;
        let Some(wait) = wait.filter(|wait| !self.ticks || *wait < SLICE) else {
            // SAFETY: entries of the ring point to buffers of the driver that stay untouched until their slots are reaped.
            return unsafe { system_call(number, [ring, queued, least, collects, 0, 0]) }.result();
        };
        let time = types::Timespec::from(std::time::Duration::from(wait));
        let argument = Until { signals: 0, signals_size: 0, _min_wait_us: 0, time: &raw const time };
        let (at, size) = (&raw const argument as usize, size_of::<Until>());
        // SAFETY: as above; argument and time outlive the call, which reads them.
        unsafe { system_call(number, [ring, queued, least, collects | EXT_ARG, at, size]) }.result()
    }

    /// Hands over to a thread of the kernel's, or polls.
    fn enter_polled(&mut self, wait: Option<Duration>) -> io::Result<usize> {
        let Some(wait) = wait else {
            let polled = self.ring.params().is_setup_iopoll();
            let queue = self.ring.submission();
            if queue.is_empty() && !queue.taskrun() && !queue.cq_overflow() && !polled {
                return Ok(0);
            }
            drop(queue);
            return self.ring.submit();
        };
        let time = types::Timespec::from(std::time::Duration::from(wait));
        let arguments = types::SubmitArgs::new().timespec(&time);
        self.ring.submitter().submit_with_args(1, &arguments)
    }
}

/// A discard of a block device, as blkdev_uring_cmd of the kernel reads it: the offset stands in `addr`, the length in `addr3`,
/// which is where the command's own data begin.
fn discard(device: types::Fixed, offset: u64, length: u64) -> squeue::Entry {
    let mut data = [0; 16];
    data[..8].copy_from_slice(&length.to_ne_bytes());
    opcode::UringCmd16::new(device, BLOCK_DISCARD).addr(Some(offset)).cmd(data).build()
}

/// Whether the kernel takes discards of the first file, a block device, in a ring. It is asked for one of no bytes: that is
/// invalid where discards are known, and not supported elsewhere.
fn takes_discards(ring: &mut IoUring) -> io::Result<bool> {
    let mut probe = Probe::new();
    // A kernel that does not know commands at all calls them invalid, too.
    if ring.submitter().register_probe(&mut probe).is_err() || !probe.is_supported(opcode::UringCmd16::CODE) {
        return Ok(false);
    }
    // SAFETY: the entry points to no memory.
    unsafe { ring.submission().push(&discard(types::Fixed(0), 0, 0)) }.expect("an empty ring has room for one");
    loop {
        match ring.submit_and_wait(1) {
            Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
            Err(error) => return Err(error),
            Ok(_) => {
                if let Some(entry) = ring.completion().next() {
                    return Ok(entry.result() == -libc::EINVAL);
                }
            }
        }
    }
}

/// Lets the ring say something after each [`SLICE`], from now on. Not so on kernels before 6.4.
fn ticks(ring: &mut IoUring) -> io::Result<bool> {
    let slice = types::Timespec::from(std::time::Duration::from(SLICE));
    let tick = opcode::Timeout::new(&raw const slice).flags(types::TimeoutFlags::MULTISHOT).build().user_data(TICK);
    // SAFETY: the kernel reads the time while it takes the entry, below.
    unsafe { ring.submission().push(&tick) }.expect("an empty ring has room for one");
    loop {
        match ring.submit() {
            Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
            Err(error) => return Err(error),
            // Refused at once, or reported later.
            Ok(_) => return Ok(ring.completion().next().is_none()),
        }
    }
}

fn build(slots: u32, options: UringOptions, modern: bool) -> io::Result<IoUring> {
    let mut builder = IoUring::builder();
    builder.setup_clamp();
    if options.sqpoll {
        builder.setup_sqpoll(SQPOLL_IDLE_MS);
    }
    if options.iopoll {
        builder.setup_iopoll();
    }
    if modern {
        builder.setup_single_issuer();
        if !options.sqpoll {
            builder.setup_defer_taskrun().setup_taskrun_flag();
        }
    }
    builder.build(slots.next_power_of_two().max(8))
}

impl Backend for Uring {
    fn waits_for_enter(&self) -> bool {
        !self.ring.params().is_setup_sqpoll()
    }

    fn has_workers(&self) -> bool {
        self.way == Way::Cached
    }

    fn batch_max(&self, places: u32) -> u32 {
        match (self.way, self.wait) {
            // The kernel holds requests back until the call has prepared them all, and who is to answer may wait for them: the other
            // three quarters of the queue are with the device meanwhile.
            (Way::Direct, WaitMode::Auto) => (places / 4).clamp(8, BATCH_MAX),
            // The device goes on while the thread is woken: less of its queue may be missing then.
            (Way::Direct, WaitMode::Asleep) => (places / 8).clamp(4, BATCH_MAX),
            // They are answered within the call, or the kernel's own thread takes them one by one.
            (Way::Cached | Way::Polled, _) => BATCH_MAX,
        }
    }

    #[inline]
    fn is_answered(&mut self) -> bool {
        !self.answered.is_empty() || !self.ring.completion().is_empty()
    }

    fn announces(&self) -> bool {
        self.way == Way::Direct
    }

    #[inline]
    fn is_announced(&mut self) -> bool {
        // Where the kernel defers it, an answer is put into the ring by the thread's next system call for it.
        self.is_answered() || self.ring.submission().taskrun()
    }

    #[inline]
    fn queue(&mut self, slot: u32, io: &Io) {
        if io.operation == Operation::Trim && self.trims == RingTrims::DiscardOneByOne {
            self.answered.push((slot, trim(self.files[io.file as usize], io, Trims::Discard)));
            return;
        }
        let entry = self.entry(io).user_data(u64::from(slot));
        // SAFETY: the entry points to a buffer of the driver that stays untouched until the slot is reaped.
        while unsafe { self.ring.submission().push(&entry) }.is_err() {
            // The ring is as large as the driver's slots, so this is a kernel thread of SQPOLL that lags behind.
            if self.ring.submit().is_err() {
                std::thread::yield_now();
            }
        }
    }

    #[inline(always)]
    fn submit_and_wait(&mut self, wait: Option<Duration>) -> io::Result<()> {
        let wait = wait.filter(|_| self.answered.is_empty());
        let result = if self.way == Way::Polled { self.enter_polled(wait) } else { self.enter_here(wait) };
        match result {
            Ok(_) => Ok(()),
            Err(error) => match error.raw_os_error() {
                // Nothing came in time, a signal came, or the kernel wants answers collected first: all pass.
                Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN) => Ok(()),
                _ => Err(error),
            },
        }
    }

    #[inline]
    fn reap(&mut self, mut each: impl FnMut(u32, i32)) {
        for entry in self.ring.completion() {
            if entry.user_data() == TICK {
                // The last one says so: from now on each wait has a timer of its own.
                self.ticks &= cqueue::more(entry.flags());
            } else {
                each(entry.user_data() as u32, entry.result());
            }
        }
        for &(slot, result) in &self.answered {
            each(slot, result);
        }
        self.answered.clear();
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        // The kernel takes a closed ring down later, in its own time, and the files with it: until then a device would stay
        // claimed and a file system busy. What was not registered cannot be given back, which does no harm.
        let _ = self.ring.submitter().unregister_files();
        let _ = self.ring.submitter().unregister_buffers();
    }
}

/// Whether this machine lets the tool use `io_uring`; else why not, in words.
pub(crate) fn available() -> Result<(), String> {
    match build(8, UringOptions::default(), true).or_else(|_| build(8, UringOptions::default(), false)) {
        Ok(_) => Ok(()),
        Err(error) => Err(match error.raw_os_error() {
            Some(libc::ENOSYS) => "this kernel has no io_uring".to_owned(),
            Some(libc::EPERM | libc::EACCES) => match std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled") {
                Ok(text) if text.trim() != "0" => format!("forbidden by kernel.io_uring_disabled = {}", text.trim()),
                _ => "forbidden here, as containers' seccomp profiles commonly do".to_owned(),
            },
            Some(libc::ENOMEM) => "not enough lockable memory (ulimit -l)".to_owned(),
            _ => format!("io_uring_setup: {error}"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_expected_behind_the_page_cache_and_answers_are_seen_before_they_are_collected() {
        if let Err(reason) = available() {
            println!("skipped: io_uring ({reason})");
            return;
        }
        let memory = Region::for_reading(4096).unwrap();
        let file = tempfile::tempfile().unwrap();
        file.set_len(4096).unwrap();
        for buffered in [false, true] {
            let options = UringOptions { buffered, ..UringOptions::default() };
            for (wait, direct) in [(WaitMode::Auto, [8, 8, 16, 32, 32]), (WaitMode::Asleep, [4, 4, 8, 16, 32])] {
                let options = UringOptions { wait, ..options };
                let (ring, _) = Uring::new(1, &[file.as_raw_fd()], &memory, options, None).unwrap();
                let batches = [1, 32, 64, 128, 1024].map(|places| ring.batch_max(places));
                assert_eq!(batches, if buffered { [32; 5] } else { direct });
            }
            let (mut ring, _) = Uring::new(1, &[file.as_raw_fd()], &memory, options, None).unwrap();
            assert_eq!((ring.has_workers(), ring.announces()), (buffered, !buffered));
            let io = Io {
                operation: Operation::Read,
                durable: false,
                file: 0,
                length: 4096,
                offset: 0,
                buffer: memory.iovec().iov_base.cast(),
            };
            ring.queue(0, &io);
            assert!(!ring.is_answered() && !ring.is_announced());
            ring.submit_and_wait(None).unwrap();
            while !ring.is_announced() {
                std::thread::yield_now();
            }
            // What was announced is collected without waiting.
            ring.submit_and_wait(None).unwrap();
            assert!(ring.is_answered());
            let mut answers = Vec::new();
            ring.reap(|slot, result| answers.push((slot, result)));
            assert_eq!(answers, [(0, 4096)]);
            assert!(!ring.is_answered() && !ring.is_announced());
        }
    }

    #[test]
    fn a_wait_for_nothing_ends_and_brings_no_answer() {
        if let Err(reason) = available() {
            println!("skipped: io_uring ({reason})");
            return;
        }
        let memory = Region::for_reading(4096).unwrap();
        for (ticks, wait) in [(true, SLICE), (true, Duration::from_ms(1)), (false, SLICE)] {
            let (mut ring, _) = Uring::new(1, &[], &memory, UringOptions::default(), None).unwrap();
            // As on a kernel that refuses them.
            ring.ticks &= ticks;
            for _ in 0..3 {
                ring.submit_and_wait(Some(wait)).unwrap();
                ring.reap(|slot, result| panic!("an answer from place {slot}: {result}"));
            }
        }
        // The kernel ends its ticks when there is no room for them any more: then each wait has a timer of its own.
        let (mut ring, _) = Uring::new(1, &[], &memory, UringOptions::default(), None).unwrap();
        if ring.ticks {
            let end = opcode::TimeoutRemove::new(TICK).build().user_data(TICK);
            // SAFETY: the entry points to no memory.
            unsafe { ring.ring.submission().push(&end) }.unwrap();
            ring.submit_and_wait(Some(SLICE)).unwrap();
            ring.reap(|slot, result| panic!("an answer from place {slot}: {result}"));
            assert!(!ring.ticks);
            ring.submit_and_wait(Some(SLICE)).unwrap();
            ring.reap(|slot, result| panic!("an answer from place {slot}: {result}"));
        }
    }
}
