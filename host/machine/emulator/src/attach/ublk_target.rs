//! One volume as a block device whose requests the kernel sends here (ublk): its requests, and their answers.

use super::delivery::deliver;
use crate::answer::{Answer, ModelRequest, ReplyBody};
use crate::contents::Settles;
use crate::driver::RoomWaiter;
use crate::export::Export;
use crate::meter::bytes_held;
use crate::priority::ThreadPriority;
use crate::send_buffer::{PARTS_MAX, SendBuffer};
use crate::service::{AnswerReceiver, Service};
use loadline_block::Operation;
use loadline_kernel::ublk::{self, Queue, Request, State, bytes_at};
use loadline_nbd::reply::ReplyTo;
use loadline_nbd::{NbdError, ReplyForm};
use loadline_units::{Instant, SECTOR};
use parking_lot::Mutex;
use rustix::event::EventfdFlags;
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::ThreadId;

/// Bytes that one read or write carries.
pub(super) const TRANSFER_MAX: u32 = 1 << 20;

/// Requests are answered by the model.
const ANSWERING: u8 = 0;
/// Each is failed at once, those under way too.
const FAILING: u8 = 1;
/// Queues are left, which stops the device.
const LEAVING: u8 = 2;

/// A volume as a block device.
#[derive(Debug)]
pub(crate) struct UblkTarget {
    /// Among those to whom answers go.
    number: u32,
    /// It is of this time that the storage was on for, and gives errors after.
    boot: u64,
    export: Arc<Export>,
    /// `/dev/ublkcN`.
    file: Arc<File>,
    lanes: Vec<Lane>,
    state: AtomicU8,
}

/// What goes to the thread of a queue.
#[derive(Debug)]
struct Lane {
    /// Tags with the result of their requests.
    done: Mutex<Vec<(u16, i32)>>,
    wake: Arc<File>,
    /// It needs no waking for what it did itself.
    thread: OnceLock<ThreadId>,
}

impl Lane {
    fn new() -> io::Result<Self> {
        let wake = rustix::event::eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Self { done: Mutex::default(), wake: Arc::new(File::from(wake)), thread: OnceLock::new() })
    }

    fn wake(&self) {
        // It fails where the count is full: somebody woke it often enough.
        let _ = (&*self.wake).write(&1u64.to_ne_bytes());
    }

    fn push(&self, tag: u16, result: i32) {
        let mut done = self.done.lock();
        let first = done.is_empty();
        done.push((tag, result));
        drop(done);
        // Who found it empty wakes for all: they are taken together.
        if first && self.thread.get() != Some(&std::thread::current().id()) {
            self.wake();
        }
    }

    fn take(&self, into: &mut Vec<(u16, i32)>) {
        into.clear();
        into.append(&mut self.done.lock());
    }
}

/// Queue and tag of a request, as its answer carries them.
fn cookie(queue: u16, tag: u16) -> u64 {
    u64::from(queue) << 16 | u64::from(tag)
}

/// Offset and length of a request in bytes; `None`: it does not lie within the device. For a flush the kernel names no place, and not
/// zeroes either.
fn range(request: &Request, size: u64) -> Option<(u64, u64)> {
    if request.operation == ublk::Operation::Flush {
        return Some((0, 0));
    }
    let (offset, length) = (request.sector.checked_mul(SECTOR.get())?, u64::from(request.sectors) * SECTOR.get());
    (offset.checked_add(length)? <= size).then_some((offset, length))
}

fn failed(error: NbdError) -> i32 {
    -error.code().cast_signed()
}

const FAILED: i32 = -Errno::IO.raw_os_error();

impl UblkTarget {
    pub(super) fn new(service: &Service, export: &Arc<Export>, file: File, queues: u16) -> io::Result<Self> {
        Ok(Self {
            number: service.fresh_number(),
            boot: *service.boot(),
            export: Arc::clone(export),
            file: Arc::new(file),
            lanes: (0..queues).map(|_| Lane::new()).collect::<io::Result<_>>()?,
            state: AtomicU8::new(ANSWERING),
        })
    }

    /// Among those to whom answers go.
    pub(crate) const fn number(&self) -> u32 {
        self.number
    }

    /// Which time of the storage it belongs to.
    pub(super) const fn boot(&self) -> u64 {
        self.boot
    }

    /// From here on every request fails, those under way too.
    pub(super) fn fail(&self, service: &Service) {
        self.turn(service, FAILING);
    }

    /// Has the threads of its queues leave them, whatever is under way.
    pub(super) fn leave(&self, service: &Service) {
        self.turn(service, LEAVING);
    }

    /// Whether its queues are left.
    pub(super) fn is_left(&self) -> bool {
        self.state.load(Ordering::SeqCst) == LEAVING
    }

    fn turn(&self, service: &Service, state: u8) {
        self.state.fetch_max(state, Ordering::SeqCst);
        service.driver().give_up();
        self.lanes.iter().for_each(Lane::wake);
    }

    /// Opens one of its queues, for the thread that serves it.
    pub(super) fn open_queue(&self, number: u16, depth: u16) -> io::Result<Queue> {
        let lane = &self.lanes[usize::from(number)];
        let _ = lane.thread.set(std::thread::current().id());
        Queue::open(&self.file, number, depth, &lane.wake)
    }

    /// Takes requests of a queue until the device is stopped.
    pub(super) fn serve(&self, service: &Service, number: u16, queue: &mut Queue) -> io::Result<()> {
        let lane = &self.lanes[usize::from(number)];
        let mut buffer = vec![0; TRANSFER_MAX as usize];
        let (mut done, mut requests) = (Vec::new(), Vec::new());
        let mut asks: Vec<ModelRequest> = Vec::new();
        let mut answers: Vec<Answer> = Vec::new();
        let mut priority = ThreadPriority::new(service.hastens());
        loop {
            lane.take(&mut done);
            match self.state.load(Ordering::SeqCst) {
                ANSWERING => {
                    for (tag, result) in done.drain(..) {
                        queue.answer(tag, result)?;
                    }
                }
                // What was answered meanwhile may be to a request before the one that has its tag now.
                FAILING => {
                    let tags: Vec<u16> = queue.unanswered().collect();
                    for tag in tags {
                        queue.answer(tag, FAILED)?;
                    }
                }
                _ => return Ok(()),
            }
            if queue.wait(&mut requests)? == State::Ended {
                return Ok(());
            }
            priority.count(requests.len(), 0);
            for request in requests.drain(..) {
                if let Err(result) = self.take(service, number, &request, &mut buffer, &mut asks) {
                    lane.push(request.tag, result);
                }
            }
            for ask in &asks {
                priority.count(0, bytes_held(ask.operation, ask.length));
            }
            priority.adapt(service.driver().clock);
            if !asks.is_empty() {
                let given_up = || service.is_closed() || self.state.load(Ordering::SeqCst) != ANSWERING;
                // The kernel stays until it says otherwise.
                service.driver().submit(&mut asks, &mut answers, &RoomWaiter { given_up, is_gone: || false });
                service.deliver(&mut answers);
            }
        }
    }

    /// Does what a request asks for, and adds what the model is to be asked. An error is the answer.
    fn take(
        &self,
        service: &Service,
        queue: u16,
        request: &Request,
        buffer: &mut [u8],
        asks: &mut Vec<ModelRequest>,
    ) -> Result<(), i32> {
        let boot = service.boot();
        if *boot != self.boot || self.state.load(Ordering::SeqCst) != ANSWERING {
            return Err(FAILED);
        }
        let contents = &self.export.contents;
        let (offset, length) = range(request, self.export.info.size).ok_or(-Errno::INVAL.raw_os_error())?;
        let told = |kept: Result<(), NbdError>| {
            kept.map_or_else(|error| ReplyBody::Error { error, read: false }, |()| ReplyBody::Done)
        };
        let wrote = |ticket| if request.durable { Settles::Durable(ticket) } else { Settles::Write(ticket) };
        let (operation, body, settles) = match request.operation {
            ublk::Operation::Read => (Operation::Read, ReplyBody::Data, Settles::Nothing),
            ublk::Operation::Write => {
                let bytes = buffer.get_mut(..length as usize).ok_or(-Errno::INVAL.raw_os_error())?;
                let at = bytes_at(queue, request.tag, 0).map_err(|_| FAILED)?;
                self.file.read_exact_at(bytes, at).map_err(|_| FAILED)?;
                let ticket = contents.ticket();
                (Operation::Write, told(contents.write(offset, bytes, ticket)), wrote(ticket))
            }
            ublk::Operation::Flush => match contents.flush() {
                Ok(settles) => (Operation::Flush, ReplyBody::Done, settles),
                Err(error) => (Operation::Flush, told(Err(error)), Settles::Nothing),
            },
            // Zeroes that keep their space are bytes to write; without it they cost what a trim does.
            ublk::Operation::Discard | ublk::Operation::Zero { hole: true } => {
                (Operation::Trim, told(contents.zero(offset, length, true, 0)), Settles::Nothing)
            }
            ublk::Operation::Zero { hole: false } => {
                let ticket = contents.ticket();
                (Operation::Write, told(contents.zero(offset, length, false, ticket)), wrote(ticket))
            }
            ublk::Operation::Other(_) => return Err(-Errno::OPNOTSUPP.raw_os_error()),
        };
        asks.push(ModelRequest {
            connection: self.number,
            export: self.export.number,
            cut: self.export.cut,
            operation,
            durable: request.durable && operation == Operation::Write,
            offset,
            length,
            to: ReplyTo { form: ReplyForm::Simple, cookie: cookie(queue, request.tag), offset },
            body,
            settles,
            ahead: false,
            due_at: Instant::ZERO,
        });
        Ok(())
    }

    /// Gives the kernel the bytes of a read; gives how many, or an error.
    fn give(&self, queue: u16, tag: u16, answer: &Answer) -> i32 {
        let mut buffer = SendBuffer::default();
        if let Err(error) = self.export.contents.read(answer.to.offset, answer.length, &mut buffer) {
            return failed(error);
        }
        let mut given = 0;
        while !buffer.is_empty() {
            let mut slices = [IoSlice::new(&[]); PARTS_MAX];
            let count = buffer.slices(&mut slices);
            let Ok(at) = bytes_at(queue, tag, given) else { return FAILED };
            match rustix::io::pwritev(&*self.file, &slices[..count], at) {
                Err(Errno::INTR | Errno::AGAIN) => {}
                Ok(0) | Err(_) => return FAILED,
                Ok(count) => {
                    buffer.advance(count);
                    given += count as u32;
                }
            }
        }
        given.cast_signed()
    }
}

impl AnswerReceiver for UblkTarget {
    fn deliver(&self, service: &Service, _boot: u64, answers: &mut Vec<Answer>, _bytes_max: usize) {
        deliver(&self.export, service, self.boot, answers, |answer| {
            let (queue, tag) = ((answer.to.cookie >> 16) as u16, answer.to.cookie as u16);
            let carries = answer.timed.is_some_and(|timed| timed.operation == Operation::Write);
            let result = match answer.body {
                ReplyBody::Data => self.give(queue, tag, answer),
                ReplyBody::Error { error, .. } => failed(error),
                ReplyBody::Done if carries => answer.length as i32,
                ReplyBody::Done => 0,
                ReplyBody::Written | ReplyBody::Extents { .. } => {
                    unreachable!("the kernel asks a block device for neither")
                }
            };
            self.lanes[usize::from(queue)].push(tag, result);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn a_request_lies_within_its_device_and_a_flush_anywhere() {
        let of = |operation, sector, sectors| {
            range(&Request { tag: 0, operation, durable: false, sector, sectors }, 1 << 20)
        };
        assert_eq!(of(ublk::Operation::Read, 3, 2), Some((1_536, 1_024)));
        assert_eq!(of(ublk::Operation::Write, 2_047, 1), Some(((1 << 20) - 512, 512)));
        assert_eq!(of(ublk::Operation::Write, 2_047, 2), None);
        assert_eq!(of(ublk::Operation::Discard, u64::MAX / 512, u32::MAX), None);
        assert_eq!(of(ublk::Operation::Read, u64::MAX, 0), None);
        // So the kernel sends them.
        assert_eq!(of(ublk::Operation::Flush, u64::MAX, 0), Some((0, 0)));
    }

    #[test]
    fn whoever_finds_nothing_done_wakes_the_queue_unless_it_is_its_own_thread() {
        let lane = Lane::new().unwrap();
        let woken = || (&*lane.wake).read(&mut [0; 8]).is_ok();
        lane.push(1, 0);
        assert!(woken() && !woken());
        lane.push(2, -5);
        assert!(!woken(), "it was woken for both");
        let mut done = Vec::new();
        lane.take(&mut done);
        assert_eq!(done, [(1, 0), (2, -5)]);
        lane.thread.set(std::thread::current().id()).unwrap();
        lane.push(3, 0);
        assert!(!woken());
    }
}
