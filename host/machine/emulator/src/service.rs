//! What all threads of an emulation share: exports, the driver of the model, and who receives answers. Also the thread that
//! delivers answers when they are due.

use crate::answer::Answer;
use crate::clients::ClientThreads;
use crate::clock::Woken;
use crate::descriptors::Descriptors;
use crate::disks::DiskSet;
use crate::driver::Driver;
use crate::export::Export;
use crate::refusal::Refusals;
use crate::view::{NumberedFault, View, Viewer};
use loadline_kernel::scheduling::{Turns, TurnsOfThread};
use loadline_nbd::negotiation::ExportInfo;
use loadline_units::Instant;
use parking_lot::{Condvar, Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration as Span;

/// Bytes sent to one client before the next one's turn.
const TURN_MAX: usize = 1 << 20;
/// The interval of the view of what is going on.
const VIEW_INTERVAL: Span = Span::from_secs(1);

/// Who receives answers: an NBD connection, a mounted file, a block device.
pub(crate) trait AnswerReceiver: std::fmt::Debug + Send + Sync {
    /// Takes answers, and leaves `answers` empty. `boot` is that at which the receiver was registered. An NBD connection sends about
    /// `bytes_max` bytes at once.
    fn deliver(&self, service: &Service, boot: u64, answers: &mut Vec<Answer>, bytes_max: usize);

    /// Its socket takes bytes again.
    fn resume(&self, _service: &Service, _bytes_max: usize) {}

    /// Whether it is a file or a block device of this machine.
    fn is_attached(&self) -> bool {
        true
    }

    /// Whether it goes on after the storage was switched off and on; then under a new number.
    fn outlives_power_cut(&self) -> bool {
        false
    }

    /// Its new number.
    fn renumber(&self, _number: u32) {}
}

/// A receiver, and the boot at which it was registered.
#[derive(Debug, Clone)]
struct RegisteredReceiver {
    receiver: Arc<dyn AnswerReceiver>,
    boot: u64,
}

/// An emulation as its threads see it.
#[derive(Debug)]
pub(crate) struct Service {
    exports: Vec<Arc<Export>>,
    /// The exports as clients see them.
    infos: Vec<ExportInfo>,
    driver: Driver,
    disks: DiskSet,
    /// By number.
    receivers: RwLock<HashMap<u32, RegisteredReceiver>>,
    /// How often the storage was switched off and on. A file that was opened before gives errors, as a machine that lost its power
    /// does not go on. Readers hold it while they do something for a file, the writer while the storage is off.
    boots: RwLock<u64>,
    clients: ClientThreads,
    next_number: AtomicU32,
    refusals: Refusals,
    ending: AtomicBool,
    /// No client is admitted for the moment.
    closed: AtomicBool,
    /// A thread polls for its client.
    polling: AtomicBool,
    /// Threads are to run as soon as they wake.
    hastens: bool,
    /// The scheduling of the delivering thread, once it runs.
    turns: OnceLock<Turns>,
    view: Mutex<View>,
    /// Wakes the thread that keeps the view.
    over: Condvar,
}

impl Service {
    pub(crate) fn new(
        exports: Vec<Arc<Export>>,
        disks: DiskSet,
        driver: Driver,
        descriptors: Descriptors,
        hastens: bool,
    ) -> Self {
        Self {
            infos: exports.iter().map(|export| export.info.clone()).collect(),
            exports,
            driver,
            disks,
            receivers: RwLock::default(),
            boots: RwLock::new(0),
            clients: ClientThreads::new(descriptors),
            next_number: AtomicU32::new(0),
            refusals: Refusals::default(),
            ending: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            polling: AtomicBool::new(false),
            hastens,
            turns: OnceLock::new(),
            view: Mutex::default(),
            over: Condvar::new(),
        }
    }

    pub(crate) fn exports(&self) -> &[Arc<Export>] {
        &self.exports
    }

    /// The exports as clients see them.
    pub(crate) fn infos(&self) -> &[ExportInfo] {
        &self.infos
    }

    pub(crate) const fn driver(&self) -> &Driver {
        &self.driver
    }

    pub(crate) const fn disks(&self) -> &DiskSet {
        &self.disks
    }

    /// The NBD clients.
    pub(crate) const fn clients(&self) -> &ClientThreads {
        &self.clients
    }

    /// Clients that got no export, or lost it by what they sent.
    pub(crate) const fn refusals(&self) -> &Refusals {
        &self.refusals
    }

    /// Set while one thread polls for its client. No other does meanwhile.
    pub(crate) const fn polling(&self) -> &AtomicBool {
        &self.polling
    }

    /// Whether threads are to run as soon as they wake.
    pub(crate) const fn hastens(&self) -> bool {
        self.hastens
    }

    /// The scheduling of the delivering thread; waits until it runs.
    pub(crate) fn turns(&self) -> Turns {
        *self.turns.wait()
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Acquire)
    }

    /// Whether connections are to end, for good or for the moment.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_ending() || self.closed.load(Ordering::Acquire)
    }

    /// A number for a receiver.
    pub(crate) fn fresh_number(&self) -> u32 {
        self.next_number.fetch_add(1, Ordering::Relaxed)
    }

    /// The current boot of the storage. It stays on for as long as this is held.
    pub(crate) fn boot(&self) -> RwLockReadGuard<'_, u64> {
        self.boots.read()
    }

    /// Registers a receiver: answers of its number reach it from now on.
    pub(crate) fn enter(&self, number: u32, receiver: Arc<dyn AnswerReceiver>) {
        let boot = *self.boot();
        let registered = RegisteredReceiver { receiver, boot };
        self.receivers.write().insert(number, registered);
    }

    /// Removes a receiver: answers of its number are dropped from now on.
    pub(crate) fn leave(&self, number: u32) {
        self.receivers.write().remove(&number);
    }

    /// Whether volumes are files or block devices of this machine.
    fn is_attached(&self) -> bool {
        let receivers = self.receivers.read();
        receivers.values().any(|registered| registered.receiver.is_attached())
    }

    fn receiver(&self, number: u32) -> Option<RegisteredReceiver> {
        self.receivers.read().get(&number).cloned()
    }

    /// Gives answers to their receivers, and leaves `answers` empty.
    pub(crate) fn deliver(&self, answers: &mut Vec<Answer>) {
        answers.sort_by_key(|answer| answer.connection);
        while let Some(last) = answers.last() {
            let number = last.connection;
            let first = answers.partition_point(|answer| answer.connection < number);
            // Mostly all are for one receiver, and nothing is to be split off.
            let mut apart = if first > 0 { answers.split_off(first) } else { Vec::new() };
            let own = if first > 0 { &mut apart } else { &mut *answers };
            match self.receiver(number) {
                Some(RegisteredReceiver { receiver, boot }) => receiver.deliver(self, boot, own, TURN_MAX),
                None => own.drain(..).for_each(|answer| self.exports[usize::from(answer.export)].keep(&answer)),
            }
        }
    }

    /// Delivers answers that become due while no other thread is awake to do it. Returns after [`Service::end`].
    ///
    /// Its thread runs as soon as something is due, as a disk interrupts; but not if it spins: that would keep all other threads off
    /// its processor.
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
                if let Some(RegisteredReceiver { receiver, .. }) = self.receiver(number) {
                    receiver.resume(self, TURN_MAX);
                }
            }
        }
    }

    /// Updates the view once a second. Returns after [`Service::end`].
    pub(crate) fn watch(&self) {
        let mut viewer = Viewer::default();
        loop {
            // Outside the view's lock: who asks for the view need not wait for the model.
            let now = viewer.look(&self.exports, &self.driver);
            let trouble = self.driver.flush_trace();
            let mut view = self.view.lock();
            *view = View { trace_trouble: trouble, ..now };
            let going = |_: &mut View| !self.is_ending();
            if !self.over.wait_while_for(&mut view, going, VIEW_INTERVAL).timed_out() {
                return;
            }
        }
    }

    /// The activity of the last second, and the current state.
    pub(crate) fn view(&self) -> View {
        let mut view = self.view.lock().clone();
        (view.clients, view.attached) = (self.clients.count(), self.is_attached());
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

    /// Ends everything: closes every connection, and waits until their threads have ended.
    pub(crate) fn end(&self) {
        self.ending.store(true, Ordering::Release);
        self.driver.waiter.set(Instant::ZERO);
        drop(self.view.lock());
        self.over.notify_all();
        self.clients.close(|| self.driver.give_up());
    }

    /// Switches the storage off: closes every connection, and waits until their threads have ended. Until the result is dropped, no
    /// client is admitted, and nothing is done for files.
    pub(crate) fn switch_off(&self) -> SwitchedOff<'_> {
        self.closed.store(true, Ordering::Release);
        let closed = self.clients.close(|| self.driver.give_up());
        let mut boots = self.boots.write();
        let before = *boots;
        *boots += 1;
        // Answers to earlier requests go to the old numbers.
        let mut receivers = self.receivers.write();
        let goes_on =
            |registered: &&RegisteredReceiver| registered.boot == before && registered.receiver.outlives_power_cut();
        let going_on: Vec<Arc<dyn AnswerReceiver>> =
            receivers.values().filter(goes_on).map(|registered| Arc::clone(&registered.receiver)).collect();
        for receiver in going_on {
            let number = self.fresh_number();
            receiver.renumber(number);
            receivers.insert(number, RegisteredReceiver { receiver, boot: *boots });
        }
        drop(receivers);
        SwitchedOff { closed, open: &self.closed, _boots: boots }
    }
}

/// The storage is off for as long as this lives.
#[derive(Debug)]
pub(crate) struct SwitchedOff<'a> {
    /// Connections that were closed.
    pub(crate) closed: usize,
    open: &'a AtomicBool,
    _boots: RwLockWriteGuard<'a, u64>,
}

impl Drop for SwitchedOff<'_> {
    fn drop(&mut self) {
        self.open.store(false, Ordering::Release);
    }
}
