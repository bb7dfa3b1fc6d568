//! A client's connection: its thread reads requests; whoever has answers sends them.

use crate::answer::{Answer, Ask, Body, Leaves};
use crate::arriving::{Buffer, Landing};
use crate::contents::Settles;
use crate::driver::{ASKER_LOOK, Asker};
use crate::export::Export;
use crate::haste::Haste;
use crate::meter::bytes_held;
use crate::outgoing::{Outgoing, Sent};
use crate::pace::Pace;
use crate::refusal::{Peer, Reason};
use crate::serving::Serving;
use crate::tls::{CarrierTurns, Handshake, Tls};
use loadline_block::Operation;
use loadline_nbd::NbdError;
use loadline_nbd::negotiation::{Agreement, Encryption, Negotiation, NegotiationError, NegotiationStep};
use loadline_nbd::reply::ReplyTo;
use loadline_nbd::request::{Command, Incoming, Message, NbdRequest, Rules, Violation};
use loadline_units::Instant;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_send_buffer_size, set_socket_timeout};
use rustix::net::{SendFlags, Shutdown, send, shutdown};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::thread::Thread;
use std::time::Duration as Span;

/// Requests under way on one connection, until their answers were taken by the socket. Beyond it nothing more is read.
pub const IN_FLIGHT_MAX: usize = 4_096;
/// Bytes that reads and writes under way on one connection are of: beyond it nothing more is read, so that what a client leaves behind
/// when it vanishes keeps a disk from others for the time of so many bytes, not of all that requests may ask for.
pub const IN_FLIGHT_BYTES_MAX: u64 = 1 << 30;
/// So many clients may have their sockets hold as much as their pace asks for: the kernel's memory is not bounded otherwise.
const ROOMY_CLIENTS: usize = 64;
/// So many writes that came together are looked ahead at.
const FETCH_MAX: usize = 64;
/// A client has so long to choose an export.
pub const NEGOTIATION_MAX: Span = Span::from_secs(30);

/// A connection on which requests come.
#[derive(Debug)]
pub(crate) struct Connection {
    number: u32,
    socket: Arc<OwnedFd>,
    export: Arc<Export>,
    agreement: Agreement,
    inbox: Mutex<Vec<Answer>>,
    outgoing: Mutex<Outgoing>,
    in_flight: AtomicUsize,
    bytes_in_flight: AtomicU64,
    /// The thread that reads, for as long as it waits for answers to leave.
    reader: OnceLock<Thread>,
    reader_waits: AtomicBool,
    watched: AtomicBool,
    broken: AtomicBool,
    /// It was broken off, as a read failed after its first bytes had left.
    unfinished: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Serves one client from greeting to good-bye.
pub(crate) fn serve(serving: &Serving, number: u32, outer: &Arc<OwnedFd>, encryption: Option<&Encrypted>) {
    let mut buffer = Buffer::new();
    let peer = Peer::of(outer);
    let (agreement, socket) = match negotiate(serving, outer, &mut buffer, encryption) {
        Ok(agreed) => agreed,
        Err(reason) => {
            // Where all connections are closed, that is why.
            if let Some(reason) = reason.filter(|_| !serving.is_closed()) {
                serving.refusals.add(peer, reason);
            }
            let _ = shutdown(&**outer, Shutdown::Both);
            return;
        }
    };
    let socket = &socket;
    let roomy = serving.clients() <= ROOMY_CLIENTS;
    let connection = Arc::new(Connection {
        number,
        socket: Arc::clone(socket),
        export: Arc::clone(&serving.exports[agreement.export]),
        agreement,
        inbox: Mutex::default(),
        outgoing: Mutex::default(),
        in_flight: AtomicUsize::new(0),
        bytes_in_flight: AtomicU64::new(0),
        reader: OnceLock::from(std::thread::current()),
        reader_waits: AtomicBool::new(false),
        watched: AtomicBool::new(false),
        broken: AtomicBool::new(false),
        unfinished: AtomicBool::new(false),
    });
    serving.enter(number, &connection);
    if let Err(violation) = connection.transmit(serving, &mut buffer, roomy) {
        serving.refusals.add(peer, violation.into());
    } else if connection.unfinished.load(Ordering::Acquire) {
        serving.refusals.add(peer, Reason::Unfinished);
    }
    serving.leave(number);
    // What is still under way holds the connection until it is answered; the client need not wait for that.
    let _ = shutdown(&**socket, Shutdown::Both);
}

/// How connections to an address are encrypted.
#[derive(Debug, Clone)]
pub(crate) struct Encrypted {
    pub(crate) tls: Tls,
    /// Or else nothing is told.
    pub(crate) required: bool,
}

/// The talk at the beginning, and the socket on which requests come: the same, or the plain side of an encrypted one. An error:
/// there is nothing to go on with, and why, where the client did not just leave.
fn negotiate(
    serving: &Serving,
    outer: &Arc<OwnedFd>,
    buffer: &mut Buffer,
    encrypted: Option<&Encrypted>,
) -> Result<(Agreement, Arc<OwnedFd>), Option<Reason>> {
    let system = |error: Errno| Some(Reason::System(error.into()));
    let hurry = |socket: &OwnedFd| {
        let directions = [Timeout::Recv, Timeout::Send];
        directions
            .into_iter()
            .try_for_each(|direction| set_socket_timeout(socket, direction, Some(NEGOTIATION_MAX)))
            .map_err(system)
    };
    hurry(outer)?;
    let mut socket = Arc::clone(outer);
    let mut handshake = None;
    let begun = std::time::Instant::now();
    let mut negotiation = Negotiation::new(match encrypted {
        None => Encryption::None,
        Some(Encrypted { required: false, .. }) => Encryption::Offered,
        Some(Encrypted { required: true, .. }) => Encryption::Required,
    });
    send_all(&socket, &Negotiation::greeting()).ok_or(None)?;
    let mut out = Vec::new();
    loop {
        let mut input = buffer.unread();
        let step = negotiation.feed(&mut input, &serving.infos, &mut out);
        let left = input.len();
        buffer.leave(left);
        // Whoever leaves does so for what they were told, or else for no reason of ours.
        let told = || {
            let failed = handshake.as_ref().and_then(Handshake::failure).map(Reason::Tls);
            failed.or_else(|| negotiation.error().cloned().map(Reason::Negotiation))
        };
        send_all(&socket, &out).ok_or_else(told)?;
        out.clear();
        match step {
            NegotiationStep::Next => {}
            NegotiationStep::Close => return Err(told()),
            NegotiationStep::More => {
                let slow = begun.elapsed() > NEGOTIATION_MAX;
                match if slow { Err(Errno::AGAIN) } else { buffer.read(&socket) } {
                    Ok(true) => {}
                    Err(Errno::AGAIN) => return Err(Some(Reason::Slow)),
                    Ok(false) | Err(_) => return Err(told()),
                }
            }
            NegotiationStep::Encrypt => {
                // What came unencrypted must not count as if it had come encrypted.
                let Some(Encrypted { tls, .. }) = encrypted.filter(|_| left == 0) else {
                    return Err(Some(NegotiationError::Plain.into()));
                };
                let turns = CarrierTurns { hastens: serving.hastens, clock: serving.driver.clock };
                let encrypted = tls.encrypt(Arc::clone(outer), turns);
                let (plain, shaking) = encrypted.map_err(|error| Some(Reason::System(error)))?;
                (socket, handshake) = (Arc::new(plain), Some(shaking));
                hurry(&socket)?;
                negotiation.encrypted();
            }
            NegotiationStep::Transmit(agreement) => {
                set_socket_timeout(&*socket, Timeout::Recv, None).map_err(system)?;
                return Ok((agreement, socket));
            }
        }
    }
}

fn send_all(socket: &OwnedFd, mut bytes: &[u8]) -> Option<()> {
    while !bytes.is_empty() {
        match send(socket, bytes, SendFlags::NOSIGNAL) {
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::INTR) => {}
            Err(_) => return None,
        }
    }
    Some(())
}

/// What a turn of reading gathered.
struct Turn {
    asks: Vec<Ask>,
    answers: Vec<Answer>,
    others: Vec<Answer>,
    haste: Haste,
    /// The client left, as was seen while something was waited for.
    left: bool,
}

impl Turn {
    const fn new(haste: Haste) -> Self {
        Self { asks: Vec::new(), answers: Vec::new(), others: Vec::new(), haste, left: false }
    }
}

impl Connection {
    /// Takes requests until nothing more comes, or what comes is none.
    fn transmit(&self, serving: &Serving, buffer: &mut Buffer, roomy: bool) -> Result<(), Violation> {
        let Agreement { form, allocation, knows_block_sizes, .. } = self.agreement;
        let rules = Rules { size: self.export.info.size, form, allocation, knows_block_sizes };
        let mut incoming = Incoming::new(rules);
        let mut turn = Turn::new(Haste::new(serving.hastens));
        let mut landing = Landing::default();
        let mut pace = Pace::new();
        let mut room = None;
        // The first thing that went wrong with the bytes of the write under way.
        let mut trouble: Option<NbdError> = None;
        let mut ticket: Option<u64> = None;
        let mut orderly = false;
        let mut violation = None;
        'reading: loop {
            let wanted = pace.room(serving.driver.lead.is_used());
            if roomy && room != Some(wanted) {
                room = Some(wanted);
                // It goes slower where the system gives less.
                let _ = set_socket_send_buffer_size(&*self.socket, wanted);
            }
            let mut input = buffer.unread();
            let mut served = false;
            self.export.contents.fetch_places(incoming.writes_ahead(input).take(FETCH_MAX));
            loop {
                if !self.has_room(Ordering::Acquire) {
                    served |= self.hand_over(serving, &mut turn);
                    if !self.wait_until(serving, || self.has_room(Ordering::SeqCst)) {
                        break 'reading;
                    }
                }
                if turn.asks.len() >= pace.turn_max() {
                    served |= self.hand_over(serving, &mut turn);
                }
                if turn.left {
                    break 'reading;
                }
                match incoming.next(&mut input) {
                    Ok(None) => break,
                    Ok(Some(Message::Request(request))) => self.take(&mut turn, &request, None, None),
                    Ok(Some(Message::Data { offset, bytes, whole })) => {
                        let contents = &self.export.contents;
                        let own = *ticket.get_or_insert_with(|| contents.ticket());
                        if trouble.is_none() {
                            trouble = contents.write(offset, bytes, own).err();
                        }
                        if let Some(request) = whole {
                            self.take(&mut turn, &request, trouble.take(), ticket.take());
                        }
                    }
                    Ok(Some(Message::Refused { cookie, offset, read, error })) => {
                        self.in_flight.fetch_add(1, Ordering::Relaxed);
                        let body = Body::Error { error, read };
                        turn.answers.push(self.at_once(cookie, offset, 0, body));
                    }
                    Ok(Some(Message::Disconnect)) => {
                        orderly = true;
                        break 'reading;
                    }
                    Err(found) => {
                        violation = Some(found);
                        break 'reading;
                    }
                }
            }
            let left = input.len();
            buffer.leave(left);
            served |= self.hand_over(serving, &mut turn);
            if let Some(awaited) = incoming.awaited()
                && let Some(count) = landing.room(awaited)
            {
                // Whatever follows on the whole write begins with a header.
                let next = if count as u64 == awaited.left { incoming.header_bytes() } else { 0 };
                if pace.shares() {
                    landing.fetch(count);
                }
                let (clock, awake) = (serving.driver.clock, &serving.awake);
                let arrived =
                    landing.receive(count, buffer, &self.socket, next, |look| pace.receive(true, clock, awake, look));
                match arrived {
                    Ok(Some(pages)) => {
                        let contents = &self.export.contents;
                        let own = *ticket.get_or_insert_with(|| contents.ticket());
                        if trouble.is_none() {
                            trouble = contents.place(awaited.offset, pages, own).err();
                        }
                        if let Some(request) = incoming.came(count as u64) {
                            self.take(&mut turn, &request, trouble.take(), ticket.take());
                        }
                        continue;
                    }
                    Ok(None) => {
                        orderly = true;
                        break;
                    }
                    Err(_) => break,
                }
            }
            let read = if served {
                let idle = self.in_flight.load(Ordering::Acquire) == 0;
                let (clock, awake) = (serving.driver.clock, &serving.awake);
                pace.receive(idle, clock, awake, |flags| buffer.receive(&self.socket, flags))
            } else {
                buffer.read(&self.socket)
            };
            match read {
                Ok(true) => {}
                Ok(false) => {
                    // Nothing more comes, but what was asked for may still be wanted.
                    orderly = true;
                    break;
                }
                Err(_) => break,
            }
        }
        self.hand_over(serving, &mut turn);
        if orderly {
            self.wait_until(serving, || self.in_flight.load(Ordering::SeqCst) == 0);
        }
        violation.map_or(Ok(()), Err)
    }

    fn reply_to(&self, cookie: u64, offset: u64) -> ReplyTo {
        ReplyTo { form: self.agreement.form, cookie, offset }
    }

    fn at_once(&self, cookie: u64, offset: u64, length: u64, body: Body) -> Answer {
        let (to, export) = (self.reply_to(cookie, offset), self.export.number);
        Answer {
            connection: self.number,
            to,
            body,
            export,
            settles: Settles::Nothing,
            length,
            leaves: Leaves::Whole,
            timed: None,
        }
    }

    /// Does what a request asks for and has the model say when that is done. A write's bytes are kept already; `trouble` is
    /// what went wrong with them, `ticket` their name.
    fn take(&self, turn: &mut Turn, request: &NbdRequest, trouble: Option<NbdError>, ticket: Option<u64>) {
        let NbdRequest { command, durable, cookie, offset, length } = *request;
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        let contents = &self.export.contents;
        let done = |trouble: Option<NbdError>| trouble.map_or(Body::Done, |error| Body::Error { error, read: false });
        let wrote = |ticket: u64| if durable { Settles::Durable(ticket) } else { Settles::Write(ticket) };
        let (operation, body, settles) = match command {
            Command::Status { one } => {
                turn.answers.push(self.at_once(cookie, offset, length, Body::Extents { one }));
                return;
            }
            Command::Read => (Operation::Read, Body::Data, Settles::Nothing),
            Command::Cache => (Operation::Read, Body::Done, Settles::Nothing),
            Command::Write => (Operation::Write, done(trouble), ticket.map_or(Settles::Nothing, wrote)),
            Command::Flush => match contents.flush() {
                Ok(settles) => (Operation::Flush, Body::Done, settles),
                Err(error) => (Operation::Flush, done(Some(error)), Settles::Nothing),
            },
            // Zeroes that keep their space are bytes to write; without it they cost what a trim does.
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
        turn.haste.took(1, held);
        turn.asks.push(Ask {
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
    }

    /// Hands over what was asked for, and sends what is due; gives whether some of that is this client's.
    fn hand_over(&self, serving: &Serving, turn: &mut Turn) -> bool {
        // What is answered without the model.
        turn.haste.took(turn.answers.len(), 0);
        turn.haste.follow(serving.driver.clock);
        if !turn.asks.is_empty() {
            let before = turn.answers.len();
            let asker = Asker { given_up: || serving.is_closed(), is_gone: || self.is_gone() };
            turn.left |= !serving.driver.submit(&mut turn.asks, &mut turn.answers, &asker);
            if turn.answers[before..].iter().any(|answer| answer.connection != self.number) {
                turn.others.extend(turn.answers.extract_if(.., |answer| answer.connection != self.number));
            }
        }
        let served = turn.answers.iter().any(|answer| answer.leaves != Leaves::Ahead);
        if !turn.answers.is_empty() {
            self.deliver(serving, &mut turn.answers, usize::MAX);
        }
        serving.deliver(&mut turn.others);
        served
    }

    /// Takes answers for this client, leaves `answers` empty, and sends as far as that goes without waiting, about
    /// `bytes_max` bytes.
    pub(crate) fn deliver(&self, serving: &Serving, answers: &mut Vec<Answer>, bytes_max: usize) {
        lock(&self.inbox).append(answers);
        self.send(serving, bytes_max);
    }

    /// Sends what there is. Where another thread is at it, that one does this too: it looks again when it is done.
    pub(crate) fn send(&self, serving: &Serving, bytes_max: usize) {
        loop {
            let mut outgoing = match self.outgoing.try_lock() {
                Ok(outgoing) => outgoing,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => return,
            };
            outgoing.add(&self.export, &mut lock(&self.inbox), &serving.driver.lead);
            let sent = outgoing.send(&self.export, &self.socket, bytes_max, || serving.driver.clock.now());
            let delivered = outgoing.delivered();
            let (count, mut bytes) = (delivered.len(), 0);
            let delivered = delivered.inspect(|delivered| bytes += delivered.bytes_held());
            let now = serving.driver.clock.now();
            self.export.meter.count(now, delivered);
            outgoing.tell(now, &serving.driver.lead);
            drop(outgoing);
            match sent {
                Sent::All => {}
                // Not before the lock is free: what the watch calls for would find it taken, and go.
                Sent::Blocked => self.watch(serving),
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
            if sent != Sent::All || lock(&self.inbox).is_empty() {
                return;
            }
        }
    }

    /// Has the socket watched until it takes bytes again.
    fn watch(&self, serving: &Serving) {
        let first = !self.watched.swap(true, Ordering::AcqRel);
        if serving.driver.waiter.watch(self.socket.as_fd(), self.number, first).is_err() {
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

    /// Whether one more request may be under way.
    fn has_room(&self, ordering: Ordering) -> bool {
        self.in_flight.load(ordering) < IN_FLIGHT_MAX && self.bytes_in_flight.load(ordering) < IN_FLIGHT_BYTES_MAX
    }

    /// Whether the client is not there any more. One that only has nothing more to ask is, and so is one whose system tells nothing yet.
    fn is_gone(&self) -> bool {
        let mut watched = [PollFd::new(&*self.socket, PollFlags::empty())];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let looked = poll(&mut watched, Some(&now));
        looked.is_ok() && watched[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
    }

    /// Waits until answers that left made `enough` true; `false`: the client is gone, or everything ends.
    fn wait_until(&self, serving: &Serving, enough: impl Fn() -> bool) -> bool {
        self.reader_waits.store(true, Ordering::SeqCst);
        let arrived = loop {
            if self.broken.load(Ordering::Acquire) || serving.is_closed() {
                break false;
            }
            if enough() {
                break true;
            }
            // The bound is for the end of everything, which wakes nobody by name, and for a client that leaves where nothing is sent to it.
            let begun = std::time::Instant::now();
            std::thread::park_timeout(ASKER_LOOK);
            if begun.elapsed() >= ASKER_LOOK && self.is_gone() {
                break false;
            }
        };
        self.reader_waits.store(false, Ordering::SeqCst);
        arrived
    }
}

impl Drop for Connection {
    /// Nobody takes what is left.
    fn drop(&mut self) {
        let inbox = std::mem::take(self.inbox.get_mut().unwrap_or_else(PoisonError::into_inner));
        let outgoing = std::mem::take(self.outgoing.get_mut().unwrap_or_else(PoisonError::into_inner));
        let (waiting, begun) = outgoing.left();
        inbox.into_iter().chain(waiting).for_each(|answer| self.export.keep(&answer));
        self.export.meter.count_unseen(begun);
    }
}
