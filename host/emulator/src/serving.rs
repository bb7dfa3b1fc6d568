//! What all connections share, and the thread that delivers answers when they are due.

use crate::answer::Answer;
use crate::attach::{MountedFile, ServedDevice};
use crate::changing::Member;
use crate::clock::Woken;
use crate::connection::{self, Connection, Encrypted};
use crate::control::NumberedFault;
use crate::descriptors::Descriptors;
use crate::driver::Driver;
use crate::export::Export;
use crate::refusal::{Peer, Reason, Refusals};
use crate::store::Folder;
use crate::view::{View, Viewer};
use loadline_kernel::scheduling::{Turns, TurnsOfThread};
use loadline_nbd::negotiation::ExportInfo;
use loadline_units::Instant;
use rustix::fd::OwnedFd;
use rustix::net::{Shutdown, shutdown};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration as Span;

/// Clients at once; whoever comes beyond is turned away.
pub const CONNECTIONS_MAX: usize = 4_096;
/// Bytes sent to one client before the next one's turn.
const TURN_MAX: usize = 1 << 20;
/// A connection's thread needs little: its buffers are elsewhere.
const STACK: usize = 256 << 10;
/// Between two looks at what is going on.
const LOOK: Span = Span::from_secs(1);

/// Whom answers go to.
#[derive(Debug, Clone)]
enum Receiver {
    Client(Arc<Connection>),
    /// Opened since the storage was switched on for this time.
    File(Arc<MountedFile>, u64),
    Device(Arc<ServedDevice>),
}

/// An emulation as its threads see it.
#[derive(Debug)]
pub(crate) struct Serving {
    pub(crate) exports: Vec<Arc<Export>>,
    /// Of the exports, as clients are told.
    pub(crate) infos: Vec<ExportInfo>,
    pub(crate) driver: Driver,
    /// The disks.
    pub(crate) members: Vec<Member>,
    /// Where the disks are kept, if in files.
    pub(crate) folder: Option<Folder>,
    /// Held by whoever changes something.
    pub(crate) changing: Mutex<()>,
    /// Those from whom requests come.
    receivers: RwLock<HashMap<u32, Receiver>>,
    /// How often the storage was switched off and on: whoever opened a file before the last time gets errors, as a machine
    /// that lost its power does not go on. Held by whoever does something for a file, alone while it is off.
    boots: RwLock<u64>,
    /// Of every client that has a thread.
    sockets: Mutex<HashMap<u32, Arc<OwnedFd>>>,
    left: Condvar,
    next_number: AtomicU32,
    /// Of files that may be open.
    descriptors: Descriptors,
    /// Clients that got no export, or lost it by what they sent.
    pub(crate) refusals: Refusals,
    ending: AtomicBool,
    /// Nobody is let in for the moment.
    closed: AtomicBool,
    /// A thread waits awake for its client.
    pub(crate) awake: AtomicBool,
    /// Threads are to run as soon as they wake.
    pub(crate) hastens: bool,
    /// Those of the thread that delivers what is due, once it runs.
    pub(crate) turns: OnceLock<Turns>,
    view: Mutex<View>,
    /// Wakes whoever looks once a second.
    over: Condvar,
}

impl Serving {
    pub(crate) fn new(
        exports: Vec<Arc<Export>>,
        members: Vec<Member>,
        folder: Option<Folder>,
        driver: Driver,
        hastens: bool,
    ) -> Self {
        let descriptors = Descriptors::raised(members.len());
        Self {
            descriptors,
            refusals: Refusals::default(),
            infos: exports.iter().map(|export| export.info.clone()).collect(),
            exports,
            driver,
            members,
            folder,
            changing: Mutex::default(),
            receivers: RwLock::default(),
            boots: RwLock::new(0),
            sockets: Mutex::default(),
            left: Condvar::new(),
            next_number: AtomicU32::new(0),
            ending: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            awake: AtomicBool::new(false),
            hastens,
            turns: OnceLock::new(),
            view: Mutex::default(),
            over: Condvar::new(),
        }
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Acquire)
    }

    /// Whether connections are to end, for good or for the moment.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_ending() || self.closed.load(Ordering::Acquire)
    }

    /// Serves a client on a thread of its own; one too many is turned away.
    pub(crate) fn welcome(self: &Arc<Self>, socket: OwnedFd, encrypted: Option<Encrypted>) {
        let number = self.fresh_number();
        let socket = Arc::new(socket);
        {
            let mut sockets = self.sockets.lock().unwrap_or_else(PoisonError::into_inner);
            let room = self.descriptors.clients(encrypted.is_some());
            let reason = match sockets.len() {
                _ if self.is_closed() => return,
                there @ CONNECTIONS_MAX.. => Some(Reason::TooMany(there)),
                there => (there >= room).then_some(Reason::TooManyFiles(there)),
            };
            if let Some(reason) = reason {
                drop(sockets);
                return self.refusals.add(Peer::of(&socket), reason);
            }
            sockets.insert(number, Arc::clone(&socket));
        }
        let serving = Arc::clone(self);
        let name = format!("client-{number}");
        let thread = std::thread::Builder::new().name(name).stack_size(STACK);
        let spawned = thread.spawn(move || {
            let gone = Gone { serving: &serving, number };
            connection::serve(&serving, number, &socket, encrypted.as_ref());
            drop(gone);
        });
        if let Err(error) = spawned {
            self.refusals.add(Peer::Unknown, Reason::System(error));
            self.forget(number);
        }
    }

    /// For someone to whom answers go.
    pub(crate) fn fresh_number(&self) -> u32 {
        self.next_number.fetch_add(1, Ordering::Relaxed)
    }

    fn forget(&self, number: u32) {
        self.sockets.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
        self.left.notify_all();
    }

    /// From here on answers reach the connection.
    pub(crate) fn enter(&self, number: u32, connection: &Arc<Connection>) {
        self.enter_receiver(number, Receiver::Client(Arc::clone(connection)));
    }

    /// From here on answers reach the file.
    pub(crate) fn enter_file(&self, file: &Arc<MountedFile>) {
        let boot = *self.boot();
        self.enter_receiver(file.number(), Receiver::File(Arc::clone(file), boot));
    }

    /// From here on answers reach the device.
    pub(crate) fn enter_device(&self, device: &Arc<ServedDevice>) {
        self.enter_receiver(device.number(), Receiver::Device(Arc::clone(device)));
    }

    /// For which time the storage is on; it stays on for as long as this is held.
    pub(crate) fn boot(&self) -> RwLockReadGuard<'_, u64> {
        self.boots.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter_receiver(&self, number: u32, receiver: Receiver) {
        self.receivers.write().unwrap_or_else(PoisonError::into_inner).insert(number, receiver);
    }

    /// From here on answers for the connection or file are dropped.
    pub(crate) fn leave(&self, number: u32) {
        self.receivers.write().unwrap_or_else(PoisonError::into_inner).remove(&number);
    }

    /// Whether volumes are files or block devices of this machine.
    pub(crate) fn is_attached(&self) -> bool {
        let receivers = self.receivers.read().unwrap_or_else(PoisonError::into_inner);
        receivers.values().any(|receiver| !matches!(receiver, Receiver::Client(_)))
    }

    fn receiver(&self, number: u32) -> Option<Receiver> {
        self.receivers.read().unwrap_or_else(PoisonError::into_inner).get(&number).cloned()
    }

    /// Gives answers to those who wait for them, and leaves `answers` empty.
    pub(crate) fn deliver(&self, answers: &mut Vec<Answer>) {
        answers.sort_by_key(|answer| answer.connection);
        while let Some(last) = answers.last() {
            let number = last.connection;
            let first = answers.partition_point(|answer| answer.connection < number);
            // Mostly all are for one client, and nothing is to be set apart.
            let mut apart = if first > 0 { answers.split_off(first) } else { Vec::new() };
            let own = if first > 0 { &mut apart } else { &mut *answers };
            match self.receiver(number) {
                Some(Receiver::Client(connection)) => connection.deliver(self, own, TURN_MAX),
                Some(Receiver::File(file, boot)) => file.deliver(self, boot, own),
                Some(Receiver::Device(device)) => device.deliver(self, own),
                None => own.drain(..).for_each(|answer| self.exports[usize::from(answer.export)].keep(&answer)),
            }
        }
    }

    /// Delivers what becomes due while nobody who could do it is awake. Ends with [`Serving::end`].
    ///
    /// It runs as soon as something is due, as a disk interrupts; not where it watches the clock: that would keep all others off its
    /// processor.
    pub(crate) fn deliver_due(&self) {
        let mut own = TurnsOfThread::given();
        let _ = self.turns.set(if self.hastens && !self.driver.waiter.spins() { own.hasten() } else { own.now() });
        let mut woken = Woken::default();
        let mut answers = Vec::new();
        while !self.is_ending() {
            self.driver.waiter.wait(&mut woken);
            self.driver.collect(&mut answers);
            self.deliver(&mut answers);
            for number in woken.sockets() {
                if let Some(Receiver::Client(connection)) = self.receiver(number) {
                    connection.send(self, TURN_MAX);
                }
            }
        }
    }

    /// Looks once a second at what is going on. Ends with [`Serving::end`].
    pub(crate) fn watch(&self) {
        let mut viewer = Viewer::default();
        loop {
            // Not while the lock is held: whoever asks for the view need not wait for the model.
            let now = viewer.look(self);
            let trouble = self.driver.hurry_recording();
            let mut view = self.view.lock().unwrap_or_else(PoisonError::into_inner);
            *view = View { trace_trouble: trouble, ..now };
            let going = |_: &mut View| !self.is_ending();
            let waited = self.over.wait_timeout_while(view, LOOK, going).unwrap_or_else(PoisonError::into_inner);
            if !waited.1.timed_out() {
                return;
            }
        }
    }

    /// What was going on over the last second, and how things stand now.
    pub(crate) fn view(&self) -> View {
        let mut view = self.view.lock().unwrap_or_else(PoisonError::into_inner).clone();
        (view.clients, view.attached) = (self.clients(), self.is_attached());
        view.refused_total = self.refusals.total();
        let exports = 0..self.exports.len();
        let (faults, on_exports) = self.driver.look(|model, _| {
            let all = model.faults().map(NumberedFault::of).collect();
            (all, exports.map(|export| model.faults_on(export)).collect::<Vec<_>>())
        });
        view.faults = faults;
        for ((view, export), faults) in view.exports.iter_mut().zip(&self.exports).zip(on_exports) {
            (view.state, view.faults) = (export.contents.state(), faults);
        }
        view
    }

    /// Closes every connection and waits until their threads are gone.
    pub(crate) fn end(&self) {
        self.ending.store(true, Ordering::Release);
        self.driver.waiter.set(Instant::ZERO);
        drop(self.view.lock());
        self.over.notify_all();
        self.close();
    }

    /// Closes every connection and waits until their threads are gone; nobody is let in, and nothing done for files, until
    /// what this gives is dropped.
    pub(crate) fn close_clients(&self) -> Off<'_> {
        self.closed.store(true, Ordering::Release);
        let closed = self.close();
        let mut boots = self.boots.write().unwrap_or_else(PoisonError::into_inner);
        let before = *boots;
        *boots += 1;
        // Answers to what was asked before find the old numbers.
        let mut receivers = self.receivers.write().unwrap_or_else(PoisonError::into_inner);
        let files: Vec<Arc<MountedFile>> = receivers
            .values()
            .filter_map(|receiver| match receiver {
                Receiver::File(file, boot) if *boot == before => Some(Arc::clone(file)),
                _ => None,
            })
            .collect();
        for file in files {
            let number = self.fresh_number();
            file.renumber(number);
            receivers.insert(number, Receiver::File(file, *boots));
        }
        drop(receivers);
        Off { closed, open: &self.closed, _boots: boots }
    }

    fn close(&self) -> usize {
        let mut sockets = self.sockets.lock().unwrap_or_else(PoisonError::into_inner);
        let count = sockets.len();
        for socket in sockets.values() {
            let _ = shutdown(&**socket, Shutdown::Both);
        }
        self.driver.give_up();
        while !sockets.is_empty() {
            sockets = self.left.wait(sockets).unwrap_or_else(PoisonError::into_inner);
        }
        count
    }

    /// Clients at the moment.
    pub(crate) fn clients(&self) -> usize {
        self.sockets.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// The storage is off.
#[derive(Debug)]
pub(crate) struct Off<'a> {
    /// Connections that were closed.
    pub(crate) closed: usize,
    open: &'a AtomicBool,
    _boots: RwLockWriteGuard<'a, u64>,
}

impl Drop for Off<'_> {
    fn drop(&mut self) {
        self.open.store(false, Ordering::Release);
    }
}

/// Takes a client off the list however its thread ends.
struct Gone<'a> {
    serving: &'a Serving,
    number: u32,
}

impl Drop for Gone<'_> {
    fn drop(&mut self) {
        self.serving.leave(self.number);
        self.serving.forget(self.number);
    }
}
