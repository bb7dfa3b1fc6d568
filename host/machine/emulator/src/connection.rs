//! An NBD connection: requests in flight, and the answers that leave on it.
//!
//! `send_queue` explains the way of an answer to its client.

use crate::answer::{Answer, AnswerPart, ModelRequest, ReplyBody};
use crate::contents::{Contents, Settles};
use crate::driver::{ROOM_LOOK, RoomWaiter};
use crate::export::Export;
use crate::meter::bytes_held;
use crate::send_queue::{SendQueue, Sent};
use crate::service::{AnswerReceiver, Service};
use loadline_block::Operation;
use loadline_nbd::NbdError;
use loadline_nbd::negotiation::Agreement;
use loadline_nbd::reply::ReplyTo;
use loadline_nbd::request::{Command, NbdRequest, Rules};
use loadline_units::Instant;
use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::net::{Shutdown, shutdown};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::Thread;

/// The most requests in flight on one connection. A request is in flight until the socket has taken its answer. Beyond the bound
/// nothing more is read.
pub const IN_FLIGHT_MAX: usize = 4_096;
/// The most bytes of reads and writes in flight on one connection. Beyond the bound nothing more is read. So a client that vanishes
/// keeps a disk busy for at most this many bytes.
pub const IN_FLIGHT_BYTES_MAX: u64 = 1 << 30;

/// A connection on which requests come.
#[derive(Debug)]
pub(crate) struct Connection {
    number: u32,
    socket: Arc<OwnedFd>,
    export: Arc<Export>,
    agreement: Agreement,
    /// Answers from any thread, for the thread that sends next.
    inbox: Mutex<Vec<Answer>>,
    send_queue: Mutex<SendQueue>,
    in_flight: AtomicUsize,
    bytes_in_flight: AtomicU64,
    /// The reading thread, which may wait for answers to leave.
    reader: OnceLock<Thread>,
    reader_waits: AtomicBool,
    watched: AtomicBool,
    broken: AtomicBool,
    /// It was broken off, as a read failed after its first bytes had left.
    unfinished: AtomicBool,
}

/// The requests and answers of one batch.
pub(crate) struct Batch {
    pub(crate) requests: Vec<ModelRequest>,
    pub(crate) answers: Vec<Answer>,
    /// Answers for other receivers.
    others: Vec<Answer>,
    /// The client was found gone while the batch waited for room in the model.
    pub(crate) client_gone: bool,
}

impl Batch {
    pub(crate) const fn new() -> Self {
        Self { requests: Vec::new(), answers: Vec::new(), others: Vec::new(), client_gone: false }
    }
}

impl Connection {
    /// A connection whose requests the calling thread reads.
    pub(crate) fn new(number: u32, socket: Arc<OwnedFd>, export: Arc<Export>, agreement: Agreement) -> Self {
        Self {
            number,
            socket,
            export,
            agreement,
            inbox: Mutex::default(),
            send_queue: Mutex::default(),
            in_flight: AtomicUsize::new(0),
            bytes_in_flight: AtomicU64::new(0),
            reader: OnceLock::from(std::thread::current()),
            reader_waits: AtomicBool::new(false),
            watched: AtomicBool::new(false),
            broken: AtomicBool::new(false),
            unfinished: AtomicBool::new(false),
        }
    }

    pub(crate) fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    pub(crate) fn contents(&self) -> &Contents {
        &self.export.contents
    }

    /// The limits of its requests.
    pub(crate) fn rules(&self) -> Rules {
        let Agreement { form, allocation, knows_block_sizes, .. } = self.agreement;
        Rules { size: self.export.info.size, form, allocation, knows_block_sizes }
    }

    /// Whether it was broken off, as a read failed after its first bytes had left.
    pub(crate) fn is_unfinished(&self) -> bool {
        self.unfinished.load(Ordering::Acquire)
    }

    fn reply_to(&self, cookie: u64, offset: u64) -> ReplyTo {
        ReplyTo { form: self.agreement.form, cookie, offset }
    }

    fn at_once(&self, cookie: u64, offset: u64, length: u64, body: ReplyBody) -> Answer {
        let (to, export) = (self.reply_to(cookie, offset), self.export.number);
        Answer {
            connection: self.number,
            to,
            body,
            export,
            settles: Settles::Nothing,
            length,
            part: AnswerPart::Whole,
            timed: None,
        }
    }

    /// Adds the answer to a request that was refused.
    pub(crate) fn refuse(&self, batch: &mut Batch, cookie: u64, offset: u64, body: ReplyBody) {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        batch.answers.push(self.at_once(cookie, offset, 0, body));
    }

    /// Does a request on the contents, and adds it to the batch for the model, which decides when it is answered. The bytes of a
    /// write are stored already: `trouble` is why that failed, `ticket` is the write's. Returns the bytes that count as in flight.
    pub(crate) fn accept(
        &self,
        batch: &mut Batch,
        request: &NbdRequest,
        trouble: Option<NbdError>,
        ticket: Option<u64>,
    ) -> u64 {
        let NbdRequest { command, durable, cookie, offset, length } = *request;
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        let contents = &self.export.contents;
        let done = |trouble: Option<NbdError>| {
            trouble.map_or(ReplyBody::Done, |error| ReplyBody::Error { error, read: false })
        };
        let wrote = |ticket: u64| if durable { Settles::Durable(ticket) } else { Settles::Write(ticket) };
        let (operation, body, settles) = match command {
            Command::Status { one } => {
                batch.answers.push(self.at_once(cookie, offset, length, ReplyBody::Extents { one }));
                return 0;
            }
            Command::Read => (Operation::Read, ReplyBody::Data, Settles::Nothing),
            Command::Cache => (Operation::Read, ReplyBody::Done, Settles::Nothing),
            Command::Write => (Operation::Write, done(trouble), ticket.map_or(Settles::Nothing, wrote)),
            Command::Flush => match contents.flush() {
                Ok(settles) => (Operation::Flush, ReplyBody::Done, settles),
                Err(error) => (Operation::Flush, done(Some(error)), Settles::Nothing),
            },
            // Zeroes that keep their space cost what a write does, others what a trim does.
            Command::Trim | Command::Zero { hole: true } => {
                (Operation::Trim, done(contents.zero(offset, length, true, 0).err()), Settles::Nothing)
            }
            Command::Zero { hole: false } => {
                let ticket = contents.ticket();
                (Operation::Write, done(contents.zero(offset, length, false, ticket).err()), wrote(ticket))
            }
        };
        let held = bytes_held(operation, length);
        self.bytes_in_flight.fetch_add(held, Ordering::Relaxed);
        batch.requests.push(ModelRequest {
            connection: self.number,
            export: self.export.number,
            cut: self.export.cut,
            operation,
            durable,
            offset,
            length,
            to: self.reply_to(cookie, offset),
            body,
            settles,
            ahead: true,
            due_at: Instant::ZERO,
        });
        held
    }

    /// Submits a batch to the model, and sends the answers that are due. Returns whether some of them are this client's.
    pub(crate) fn submit(&self, service: &Service, batch: &mut Batch) -> bool {
        if !batch.requests.is_empty() {
            let before = batch.answers.len();
            let waiter = RoomWaiter { given_up: || service.is_closed(), is_gone: || self.is_gone() };
            batch.client_gone |= !service.driver().submit(&mut batch.requests, &mut batch.answers, &waiter);
            if batch.answers[before..].iter().any(|answer| answer.connection != self.number) {
                batch.others.extend(batch.answers.extract_if(.., |answer| answer.connection != self.number));
            }
        }
        let served = batch.answers.iter().any(|answer| answer.part != AnswerPart::Early);
        if !batch.answers.is_empty() {
            self.send_answers(service, &mut batch.answers, usize::MAX);
        }
        service.deliver(&mut batch.others);
        served
    }

    /// Puts answers into the inbox, leaves `answers` empty, and sends about `bytes_max` bytes without blocking.
    fn send_answers(&self, service: &Service, answers: &mut Vec<Answer>, bytes_max: usize) {
        self.inbox.lock().append(answers);
        self.send(service, bytes_max);
    }

    /// Sends as far as the socket takes bytes. If another thread is sending, that one does this too: it looks into the inbox again
    /// when it is done.
    fn send(&self, service: &Service, bytes_max: usize) {
        let driver = service.driver();
        loop {
            let Some(mut queue) = self.send_queue.try_lock() else { return };
            queue.add(&self.export, &mut self.inbox.lock(), &driver.early_send);
            let sent = queue.send(&self.export, &self.socket, bytes_max, || driver.clock.now());
            let delivered = queue.delivered();
            let (count, mut bytes) = (delivered.len(), 0);
            let delivered = delivered.inspect(|delivered| bytes += delivered.bytes_held());
            let now = driver.clock.now();
            self.export.meter.count(now, delivered);
            queue.learn_early_send(now, &driver.early_send);
            drop(queue);
            match sent {
                Sent::All => {}
                // Not before the lock is free: the thread that the watch wakes would find it taken, and leave.
                Sent::Blocked => self.watch(service),
                Sent::Broken => self.give_up(),
                Sent::Unfinished => {
                    self.unfinished.store(true, Ordering::Release);
                    self.give_up();
                }
            }
            if count > 0 {
                self.bytes_in_flight.fetch_sub(bytes, Ordering::AcqRel);
                self.in_flight.fetch_sub(count, Ordering::AcqRel);
                self.wake_reader();
            }
            if sent != Sent::All || self.inbox.lock().is_empty() {
                return;
            }
        }
    }

    /// Watches the socket until it takes bytes again.
    fn watch(&self, service: &Service) {
        let first = !self.watched.swap(true, Ordering::AcqRel);
        if service.driver().waiter.watch(self.socket.as_fd(), self.number, first).is_err() {
            self.give_up();
        }
    }

    fn give_up(&self) {
        self.broken.store(true, Ordering::Release);
        let _ = shutdown(&*self.socket, Shutdown::Both);
        self.wake_reader();
    }

    fn wake_reader(&self) {
        if self.reader_waits.load(Ordering::SeqCst)
            && let Some(reader) = self.reader.get()
        {
            reader.unpark();
        }
    }

    /// Whether no request is in flight.
    pub(crate) fn is_idle(&self) -> bool {
        self.in_flight.load(Ordering::Acquire) == 0
    }

    /// Whether one more request may be in flight.
    pub(crate) fn has_room(&self) -> bool {
        self.has_room_by(Ordering::Acquire)
    }

    fn has_room_by(&self, ordering: Ordering) -> bool {
        self.in_flight.load(ordering) < IN_FLIGHT_MAX && self.bytes_in_flight.load(ordering) < IN_FLIGHT_BYTES_MAX
    }

    /// Waits for room for one more request; `false`: the client is gone, or everything ends.
    pub(crate) fn wait_for_room(&self, service: &Service) -> bool {
        self.wait_until(service, || self.has_room_by(Ordering::SeqCst))
    }

    /// Waits until every answer has left; `false`: the client is gone, or everything ends.
    pub(crate) fn drain(&self, service: &Service) -> bool {
        self.wait_until(service, || self.in_flight.load(Ordering::SeqCst) == 0)
    }

    /// Whether the client is gone. One that only sends nothing more is not, nor is one whose machine vanished a moment ago.
    fn is_gone(&self) -> bool {
        let mut watched = [PollFd::new(&*self.socket, PollFlags::empty())];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let looked = poll(&mut watched, Some(&now));
        looked.is_ok() && watched[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
    }

    /// Waits until answers that leave make `enough` true; `false`: the client is gone, or everything ends.
    fn wait_until(&self, service: &Service, enough: impl Fn() -> bool) -> bool {
        self.reader_waits.store(true, Ordering::SeqCst);
        let arrived = loop {
            if self.broken.load(Ordering::Acquire) || service.is_closed() {
                break false;
            }
            if enough() {
                break true;
            }
            // Bounded, as neither the end of everything nor a client that leaves wakes this thread.
            let begun = std::time::Instant::now();
            std::thread::park_timeout(ROOM_LOOK);
            if begun.elapsed() >= ROOM_LOOK && self.is_gone() {
                break false;
            }
        };
        self.reader_waits.store(false, Ordering::SeqCst);
        arrived
    }
}

impl AnswerReceiver for Connection {
    fn deliver(&self, service: &Service, _boot: u64, answers: &mut Vec<Answer>, bytes_max: usize) {
        self.send_answers(service, answers, bytes_max);
    }

    fn resume(&self, service: &Service, bytes_max: usize) {
        self.send(service, bytes_max);
    }

    fn is_attached(&self) -> bool {
        false
    }
}

impl Drop for Connection {
    /// The client gets none of the remaining answers.
    fn drop(&mut self) {
        let inbox = std::mem::take(self.inbox.get_mut());
        let queue = std::mem::take(self.send_queue.get_mut());
        let (waiting, begun) = queue.into_unsent();
        inbox.into_iter().chain(waiting).for_each(|answer| self.export.keep(&answer));
        self.export.meter.count_unseen(begun);
    }
}
