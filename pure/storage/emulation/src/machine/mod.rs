//! The disk model with fault injection.
//!
//! It is told the time. For the same requests, times and changes it gives the same answers, in an emulation as in the replay of
//! its trace.

mod accounting;
mod change;
mod fault;

use accounting::ExportAccounting;
pub use change::{Change, ChangeError, FaultSelection};
use fault::{ActiveFault, Component, FaultSet, VolumeLayouts};
pub use fault::{FAULTS_MAX, Fault, FaultKind};
use loadline_block::{ErrorKind, Operation, Request};
use loadline_disk::{EnvironmentError, EnvironmentSpec, InitialState, Machine, Place, Target, Waits};
use loadline_units::{Duration, Instant, Ratio};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A machine of the disk model. When the environment changes, a new one takes new requests; the old one finishes its own.
#[derive(Debug)]
struct MachineGeneration {
    machine: Machine,
    /// By export.
    targets: Vec<Target>,
    /// By the machine's own request numbers: the slot of the request.
    owners: Vec<u32>,
}

/// A request in flight.
#[derive(Debug, Clone, Copy, Default)]
struct RequestSlot {
    in_use: bool,
    export: u16,
    submitted_at: Instant,
    /// When the disks had answered; `None`: they have not yet.
    answered_at: Option<Instant>,
    error: Option<ErrorKind>,
    /// The active faults that delay it.
    held_by: FaultSet,
}

impl RequestSlot {
    /// Whether a fault delays its answer.
    fn is_detained(&self) -> bool {
        !self.held_by.is_empty()
    }

    fn is_plain(&self) -> bool {
        self.error.is_none() && self.held_by.is_empty()
    }
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestEnd {
    /// When.
    pub at: Instant,
    /// Why it failed; `None`: it did not.
    pub error: Option<ErrorKind>,
}

/// A machine of the disk model whose volumes and disks can be given faults while it runs.
#[derive(Debug)]
pub struct FaultyMachine {
    environment: EnvironmentSpec,
    volumes: VolumeLayouts,
    /// The volume or disk of each export.
    exports: Vec<Component>,
    /// The last one takes new requests.
    generations: Vec<MachineGeneration>,
    faults: Vec<(ActiveFault, Component)>,
    next_fault: u32,
    seed: u64,
    initial: InitialState,
    requests: u64,
    slots: Vec<RequestSlot>,
    free: Vec<u32>,
    /// Answers that faults delay beyond the machine's.
    later: BinaryHeap<Reverse<(Instant, u32)>>,
    /// By export.
    accounts: Vec<ExportAccounting>,
}

/// SplitMix64's finisher: a choice that depends on its argument alone.
#[must_use]
pub const fn scramble(value: u64) -> u64 {
    let mut z = value.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl MachineGeneration {
    fn new(environment: &EnvironmentSpec, seed: u64, initial: InitialState) -> Result<Self, EnvironmentError> {
        let mut machine = Machine::new(environment, seed, initial)?;
        machine.keep_accounts();
        let names = VolumeLayouts::of(environment).names();
        let target = |name: &String| machine.target(name).expect("the machine has every volume and disk");
        let targets = names.iter().map(target).collect();
        Ok(Self { machine, targets, owners: Vec::new() })
    }

    /// What the requests to an export waited for here.
    fn waits(&self, export: usize) -> Waits {
        self.machine.held(self.targets[export]).expect("accounts are kept")
    }
}

impl FaultyMachine {
    /// A machine of this environment, without faults.
    ///
    /// # Errors
    /// When the environment contradicts itself.
    pub fn new(environment: &EnvironmentSpec, seed: u64, initial: InitialState) -> Result<Self, EnvironmentError> {
        let generation = MachineGeneration::new(environment, seed, initial)?;
        let volumes = VolumeLayouts::of(environment);
        let exports: Vec<Component> =
            volumes.names().iter().map(|name| volumes.find(name).expect("it is in the list")).collect();
        Ok(Self {
            environment: environment.clone(),
            volumes,
            accounts: exports.iter().map(|_| ExportAccounting::default()).collect(),
            exports,
            generations: vec![generation],
            faults: Vec::new(),
            next_fault: 1,
            seed,
            initial,
            requests: 0,
            slots: Vec::new(),
            free: Vec::new(),
            later: BinaryHeap::new(),
        })
    }

    /// The names of volumes, then of disks. Each takes requests.
    #[must_use]
    pub fn exports(&self) -> Vec<String> {
        self.volumes.names()
    }

    fn current(&self) -> &MachineGeneration {
        self.generations.last().expect("there is always one")
    }

    /// Whether a disk is local to its host, and therefore lost with it.
    #[must_use]
    pub fn is_local(&self, volume: usize, disk: usize) -> bool {
        self.environment.volumes[volume].disks[disk].place == Place::Local
    }

    /// The size of an export; `None`: it is unlimited.
    #[must_use]
    pub fn size(&self, export: usize) -> Option<loadline_units::Bytes> {
        self.current().machine.size(self.current().targets[export])
    }

    /// The share of burst credits left; `None`: no limit has credits.
    #[must_use]
    pub fn credits(&self, now: Instant, export: usize) -> Option<Ratio> {
        let now = now.max(self.current().machine.now());
        self.current().machine.credits(now, self.current().targets[export])
    }

    /// The active faults, with the numbers that clear them.
    pub fn faults(&self) -> impl Iterator<Item = (u32, &Fault)> {
        self.faults.iter().map(|(active, _)| (active.number, &active.fault))
    }

    /// The numbers of the active faults that can affect requests to an export.
    #[must_use]
    pub fn faults_on(&self, export: usize) -> Vec<u32> {
        let names = self.volumes.names();
        let Some(own) = names.get(export).and_then(|name| self.volumes.find(name)) else { return Vec::new() };
        let meets = |(active, on): &&(ActiveFault, Component)| own.can_meet(on, &active.fault.kind);
        self.faults.iter().filter(meets).map(|(active, _)| active.number).collect()
    }

    /// Takes a request at `now`. Returns its number, which is used again once the request was answered.
    ///
    /// # Panics
    /// When time goes back.
    #[inline]
    pub fn submit(&mut self, now: Instant, export: usize, request: Request) -> usize {
        let number = self.requests;
        self.requests += 1;
        let id = self.free.pop().unwrap_or_else(|| {
            self.slots.push(RequestSlot::default());
            (self.slots.len() - 1) as u32
        });
        let slot = RequestSlot { in_use: true, export: export as u16, submitted_at: now, ..RequestSlot::default() };
        self.slots[id as usize] = slot;
        self.accounts[export].begins(now);
        if !self.faults.is_empty() {
            let (slot, refused) = self.judge(number, export, &request, slot);
            self.slots[id as usize] = slot;
            if refused {
                let slot = &mut self.slots[id as usize];
                (slot.answered_at, slot.held_by) = (Some(now), FaultSet::default());
                self.later.push(Reverse((now, id)));
                return id as usize;
            }
        }
        let generation = self.generations.last_mut().expect("there is always one");
        let own = generation.machine.submit(now, generation.targets[export], request).index();
        if generation.owners.len() <= own {
            generation.owners.resize(own + 1, 0);
        }
        generation.owners[own] = id;
        id as usize
    }

    /// Whether a fault has removed this disk of a volume.
    fn is_absent(&self, volume: usize, disk: usize) -> bool {
        let gone = |(active, on): &(ActiveFault, Component)| {
            active.fault.kind.takes_away() && on.volume == volume && on.disk == Some(disk)
        };
        self.faults.iter().any(gone)
    }

    /// Which faults affect a request, and whether it fails before it reaches a disk.
    fn judge(&self, number: u64, export: usize, request: &Request, mut slot: RequestSlot) -> (RequestSlot, bool) {
        let own = &self.exports[export];
        let copies = self.volumes.layout(own.volume).copies();
        let mut failing: Vec<usize> = Vec::new();
        let mut gone = false;
        for (active, on) in &self.faults {
            let ActiveFault { number: fault, place, fault: Fault { kind, operations, share, .. }, .. } = active;
            if !operations.is_empty() && !operations.contains(&request.operation) {
                continue;
            }
            let draw = scramble(self.seed ^ scramble(number ^ (u64::from(*fault) << 40)));
            if (draw >> 32) >= share.threshold() {
                continue;
            }
            // A disk that is not there gets no requests, whichever copy's turn it is, and nothing else that is wrong with it matters.
            let has_copies = own.disk.is_none() && on.disk.is_some() && copies > 1;
            let there = |disk: usize| !has_copies || !self.is_absent(on.volume, disk);
            if !kind.takes_away() && on.disk.is_some_and(|disk| !there(disk)) {
                continue;
            }
            let fails = kind.takes_away() || matches!(kind, FaultKind::Error(_));
            let asked =
                if has_copies && fails { Request { operation: Operation::Write, ..*request } } else { *request };
            let asked = if request.operation == Operation::Flush { *request } else { asked };
            if !self.volumes.meets(own, on, &active.fault, &asked, draw & 0xffff_ffff, &there) {
                continue;
            }
            match *kind {
                FaultKind::Error(_) | FaultKind::Lost | FaultKind::Detached => {
                    let error = if let FaultKind::Error(error) = *kind { error } else { ErrorKind::Io };
                    if has_copies {
                        failing.extend(on.disk);
                        failing.sort_unstable();
                        failing.dedup();
                        let column = on.disk.map_or(0, |disk| disk / copies);
                        // Other copies answer, as long as there is one.
                        if failing.iter().filter(|disk| **disk / copies == column).count() < copies {
                            continue;
                        }
                    }
                    slot.error = Some(error);
                    gone |= kind.takes_away();
                }
                FaultKind::Delay(_) | FaultKind::Stall { .. } | FaultKind::Hang => slot.held_by.add(*place),
            }
        }
        (slot, gone)
    }

    /// When the next event is; `None`: nothing is in flight.
    #[must_use]
    #[inline]
    pub fn next_event_at(&mut self) -> Option<Instant> {
        let of_machine = match self.generations.as_mut_slice() {
            [one] => one.machine.next_event_at(),
            several => several.iter_mut().filter_map(|generation| generation.machine.next_event_at()).min(),
        };
        match self.later.peek() {
            None => of_machine,
            Some(Reverse((at, _))) => Some(of_machine.map_or(*at, |machine| machine.min(*at))),
        }
    }

    /// When the last event before `until` is, as far as it is planned; `until` if that is unknown.
    #[must_use]
    #[inline]
    pub fn last_planned_until(&self, until: Instant) -> Option<Instant> {
        match self.generations.as_slice() {
            [one] if self.later.is_empty() => one.machine.last_planned_until(until),
            _ => Some(until),
        }
    }

    /// The next answer that no later request or change can alter, and when it comes. Another answer may come before it. `None`:
    /// there is none, or a fault may still delay it.
    #[inline]
    pub fn next_certain(&mut self) -> Option<(usize, Instant)> {
        let [generation] = self.generations.as_mut_slice() else { return None };
        let (own, at) = generation.machine.next_certain()?;
        let id = generation.owners[own.index()];
        self.slots[id as usize].is_plain().then_some((id as usize, at))
    }

    /// Returns an answer that is due by `now`.
    ///
    /// # Panics
    /// When time goes back.
    #[inline]
    pub fn pop_ended(&mut self, now: Instant) -> Option<(usize, RequestEnd)> {
        for index in 0..self.generations.len() {
            // A change may have moved the machine beyond `now`.
            let reached = now.max(self.generations[index].machine.now());
            while let Some((own, completion)) = self.generations[index].machine.pop_completed(reached) {
                let id = self.generations[index].owners[own.index()];
                let slot = &self.slots[id as usize];
                if slot.is_plain() {
                    let export = usize::from(slot.export);
                    self.slots[id as usize].in_use = false;
                    self.free.push(id);
                    let at_disk = completion.completed_at.since(completion.submitted_at);
                    self.accounts[export].ends(completion.completed_at, at_disk, Duration::ZERO);
                    let error = completion.outcome.err();
                    return Some((id as usize, RequestEnd { at: completion.completed_at, error }));
                }
                self.detain(id, completion.completed_at, completion.outcome.err());
            }
        }
        if self.generations.len() > 1 {
            self.retire();
        }
        let Reverse((at, id)) = *self.later.peek()?;
        if at > now {
            return None;
        }
        self.later.pop();
        self.slots[id as usize].in_use = false;
        self.free.push(id);
        let RequestSlot { export, submitted_at, answered_at, error, .. } = self.slots[id as usize];
        let at_disk = answered_at.unwrap_or(at).since(submitted_at);
        let faults = at.since(submitted_at).saturating_sub(at_disk);
        self.accounts[usize::from(export)].ends(at, at_disk, faults);
        Some((id as usize, RequestEnd { at, error }))
    }

    /// The machine answered at `at`; faults may delay the answer.
    #[cold]
    fn detain(&mut self, id: u32, at: Instant, error: Option<ErrorKind>) {
        let slot = &mut self.slots[id as usize];
        slot.error = slot.error.or(error);
        slot.answered_at = Some(at);
        if let Some(at) = self.released_at(id, at) {
            self.later.push(Reverse((at, id)));
        }
    }

    /// When the active faults release an answer that the machine has given, at `from` or later; `None`: one of them never does.
    fn released_at(&self, id: u32, from: Instant) -> Option<Instant> {
        let RequestSlot { answered_at, held_by, .. } = self.slots[id as usize];
        let holding = || self.faults.iter().map(|(active, _)| active).filter(|active| held_by.has(active.place));
        let mut at = answered_at?;
        let mut stalls = 0;
        for active in holding() {
            match active.fault.kind {
                FaultKind::Delay(by) => at = at + by,
                FaultKind::Stall { .. } => stalls += 1,
                FaultKind::Hang => return None,
                FaultKind::Error(_) | FaultKind::Lost | FaultKind::Detached => {}
            }
        }
        at = at.max(from);
        // When one stall ends another may be in progress. Stalls that follow each other without end delay nothing forever.
        for _ in 0..stalls {
            let before = at;
            at = holding().map(|active| active.stalled(before)).fold(at, Instant::max);
            if at == before {
                break;
            }
        }
        Some(at)
    }
}

#[cfg(test)]
mod tests;
