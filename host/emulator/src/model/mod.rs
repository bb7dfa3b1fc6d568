//! The disk model with what goes wrong on purpose: told the time, it gives the same answers for the same requests, times and
//! changes, in an emulation as in the replay of its trace.

mod change;
mod fault;
mod tally;

pub use change::{Change, ChangeError, Which};
use fault::{Active, Places, Under, Volumes};
pub use fault::{FAULTS_MAX, Fault, FaultKind};
use loadline_block::{ErrorKind, Operation, Request};
use loadline_disk::{EnvironmentError, EnvironmentSpec, InitialState, Machine, Place, Target, Waits};
use loadline_units::{Duration, Instant, Ratio};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use tally::Tally;

/// A machine that answers, or did until the environment was changed: then what is under way there ends there.
#[derive(Debug)]
struct Generation {
    machine: Machine,
    /// By export.
    targets: Vec<Target>,
    /// By the machine's own numbers.
    owners: Vec<u32>,
}

/// A request under way.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    in_use: bool,
    export: u16,
    submitted_at: Instant,
    /// When the disks had answered, once they have, or nothing more was to come from them.
    answered_at: Option<Instant>,
    error: Option<ErrorKind>,
    /// The faults in force that hold it back.
    held_by: Places,
}

impl Slot {
    /// Whether a fault keeps its answer back.
    fn is_detained(&self) -> bool {
        !self.held_by.is_empty()
    }

    fn is_plain(&self) -> bool {
        self.error.is_none() && self.held_by.is_empty()
    }
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// When.
    pub at: Instant,
    /// Why it failed; `None`: it did not.
    pub error: Option<ErrorKind>,
}

/// An environment that is told the time, its requests, and what is to go wrong.
#[derive(Debug)]
pub struct Model {
    environment: EnvironmentSpec,
    volumes: Volumes,
    /// What each export is.
    exports: Vec<Under>,
    /// The last one takes requests.
    generations: Vec<Generation>,
    faults: Vec<(Active, Under)>,
    next_fault: u32,
    seed: u64,
    initial: InitialState,
    requests: u64,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Answers that come later than the machine's.
    later: BinaryHeap<Reverse<(Instant, u32)>>,
    /// By export.
    tallies: Vec<Tally>,
}

/// SplitMix64's finisher: choices that depend on nothing but what is handed in.
pub(crate) const fn scramble(value: u64) -> u64 {
    let mut z = value.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Generation {
    fn new(environment: &EnvironmentSpec, seed: u64, initial: InitialState) -> Result<Self, EnvironmentError> {
        let mut machine = Machine::new(environment, seed, initial)?;
        machine.keep_accounts();
        let names = Volumes::of(environment).names();
        let target = |name: &String| machine.target(name).expect("the machine has every volume and disk");
        let targets = names.iter().map(target).collect();
        Ok(Self { machine, targets, owners: Vec::new() })
    }

    /// What an export's own requests waited for here.
    fn held(&self, export: usize) -> Waits {
        self.machine.held(self.targets[export]).expect("accounts are kept")
    }
}

impl Model {
    /// As specified, with nothing wrong.
    ///
    /// # Errors
    /// When the environment contradicts itself.
    pub fn new(environment: &EnvironmentSpec, seed: u64, initial: InitialState) -> Result<Self, EnvironmentError> {
        let generation = Generation::new(environment, seed, initial)?;
        let volumes = Volumes::of(environment);
        let exports: Vec<Under> =
            volumes.names().iter().map(|name| volumes.find(name).expect("it is in the list")).collect();
        Ok(Self {
            environment: environment.clone(),
            volumes,
            tallies: exports.iter().map(|_| Tally::default()).collect(),
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

    /// Names of what takes requests: volumes, then disks.
    #[must_use]
    pub fn exports(&self) -> Vec<String> {
        self.volumes.names()
    }

    fn current(&self) -> &Generation {
        self.generations.last().expect("there is always one")
    }

    /// Whether a disk of a volume belongs to the host that it is on now, and is lost with it.
    pub(crate) fn is_local(&self, volume: usize, disk: usize) -> bool {
        self.environment.volumes[volume].disks[disk].place == Place::Local
    }

    /// Where an export ends, in bytes; `None`: nowhere.
    #[must_use]
    pub fn size(&self, export: usize) -> Option<loadline_units::Bytes> {
        self.current().machine.size(self.current().targets[export])
    }

    /// The share of burst credits left; `None`: nothing saves any.
    #[must_use]
    pub fn credits(&self, now: Instant, export: usize) -> Option<Ratio> {
        let now = now.max(self.current().machine.now());
        self.current().machine.credits(now, self.current().targets[export])
    }

    /// What is wrong, with the numbers by which it is cleared.
    pub fn faults(&self) -> impl Iterator<Item = (u32, &Fault)> {
        self.faults.iter().map(|(active, _)| (active.number, &active.fault))
    }

    /// The numbers of the faults in force that requests to an export can meet.
    pub(crate) fn faults_on(&self, export: usize) -> Vec<u32> {
        let names = self.volumes.names();
        let Some(own) = names.get(export).and_then(|name| self.volumes.find(name)) else { return Vec::new() };
        let meets = |(active, on): &&(Active, Under)| own.can_meet(on, &active.fault.kind);
        self.faults.iter().filter(meets).map(|(active, _)| active.number).collect()
    }

    /// Takes a request at `now`; gives its number, used again once it was answered.
    ///
    /// # Panics
    /// When time goes back.
    #[inline]
    pub fn submit(&mut self, now: Instant, export: usize, request: Request) -> usize {
        let number = self.requests;
        self.requests += 1;
        let id = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            (self.slots.len() - 1) as u32
        });
        let slot = Slot { in_use: true, export: export as u16, submitted_at: now, ..Slot::default() };
        self.slots[id as usize] = slot;
        self.tallies[export].begins(now);
        if !self.faults.is_empty() {
            let (slot, refused) = self.judge(number, export, &request, slot);
            self.slots[id as usize] = slot;
            if refused {
                let slot = &mut self.slots[id as usize];
                (slot.answered_at, slot.held_by) = (Some(now), Places::default());
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

    /// Whether a fault has taken this disk of a volume away.
    fn is_absent(&self, volume: usize, disk: usize) -> bool {
        let gone = |(active, on): &(Active, Under)| {
            active.fault.kind.takes_away() && on.volume == volume && on.disk == Some(disk)
        };
        self.faults.iter().any(gone)
    }

    /// What the faults do to a request, and whether it fails before it reaches a disk.
    fn judge(&self, number: u64, export: usize, request: &Request, mut slot: Slot) -> (Slot, bool) {
        let own = &self.exports[export];
        let copies = self.volumes.layout(own.volume).copies();
        let mut failing: Vec<usize> = Vec::new();
        let mut gone = false;
        for (active, on) in &self.faults {
            let Active { number: fault, place, fault: Fault { kind, operations, share, .. }, .. } = active;
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

    /// When something happens next; `None`: nothing is under way that could.
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

    /// When the last of what follows until `until` happens, as far as that is planned; `until` where it is not known.
    #[must_use]
    #[inline]
    pub fn last_planned_until(&self, until: Instant) -> Option<Instant> {
        match self.generations.as_slice() {
            [one] if self.later.is_empty() => one.machine.last_planned_until(until),
            _ => Some(until),
        }
    }

    /// The next answer of a disk that is certain already, and when it comes: nothing that is done to the model from now on changes
    /// it. Another may come before it. `None`: there is none, or a fault has its say.
    #[inline]
    pub fn next_certain(&mut self) -> Option<(usize, Instant)> {
        let [generation] = self.generations.as_mut_slice() else { return None };
        let (own, at) = generation.machine.next_certain()?;
        let id = generation.owners[own.index()];
        self.slots[id as usize].is_plain().then_some((id as usize, at))
    }

    /// Takes an answer that is due by `now`.
    ///
    /// # Panics
    /// When time goes back.
    #[inline]
    pub fn pop_ended(&mut self, now: Instant) -> Option<(usize, Ended)> {
        for index in 0..self.generations.len() {
            // What a change found answered waits here for whoever asks, and may be due before that change.
            let reached = now.max(self.generations[index].machine.now());
            while let Some((own, completion)) = self.generations[index].machine.pop_completed(reached) {
                let id = self.generations[index].owners[own.index()];
                let slot = &self.slots[id as usize];
                if slot.is_plain() {
                    let export = usize::from(slot.export);
                    self.slots[id as usize].in_use = false;
                    self.free.push(id);
                    let at_disk = completion.completed_at.since(completion.submitted_at);
                    self.tallies[export].ends(completion.completed_at, at_disk, Duration::ZERO);
                    let error = completion.outcome.err();
                    return Some((id as usize, Ended { at: completion.completed_at, error }));
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
        let Slot { export, submitted_at, answered_at, error, .. } = self.slots[id as usize];
        let at_disk = answered_at.unwrap_or(at).since(submitted_at);
        let faults = at.since(submitted_at).saturating_sub(at_disk);
        self.tallies[usize::from(export)].ends(at, at_disk, faults);
        Some((id as usize, Ended { at, error }))
    }

    /// The machine answered at `at`, but a fault has its say.
    #[cold]
    fn detain(&mut self, id: u32, at: Instant, error: Option<ErrorKind>) {
        let slot = &mut self.slots[id as usize];
        slot.error = slot.error.or(error);
        slot.answered_at = Some(at);
        if let Some(at) = self.released_at(id, at) {
            self.later.push(Reverse((at, id)));
        }
    }

    /// When the faults in force let an answer go that the machine has given, `from` at the earliest; `None`: one of them never does.
    fn released_at(&self, id: u32, from: Instant) -> Option<Instant> {
        let Slot { answered_at, held_by, .. } = self.slots[id as usize];
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
        // When one ends another may be going on. Some that follow on each other without end hold nothing for good.
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
