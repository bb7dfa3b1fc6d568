//! Changes to a machine while it runs: faults, caches, credits, another environment, power cuts.

use super::fault::{ActiveFault, Component, DELAY_MAX, FAULTS_MAX, Fault, FaultKind, FaultSet, VolumeLayouts};
use super::{FaultyMachine, MachineGeneration, scramble};
use loadline_block::ErrorKind;
use loadline_disk::{EnvironmentError, EnvironmentSpec, InitialState};
use loadline_units::{Bytes, Duration, Instant};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// A change to a running emulation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// A fault begins.
    Begin(Fault),
    /// Faults end.
    Clear(FaultSelection),
    /// Host caches before a volume's disks, or all, forget what is on the disks.
    DropCaches(Option<String>),
    /// The credits of bursts of a volume's disks, or of all, are spent, with those of the machine.
    SpendCredits(Option<String>),
    /// Other disks or another machine below the same volumes; a disk that would be smaller keeps its size.
    Environment(Box<EnvironmentSpec>),
    /// The machine is stopped and started on another host: caches are empty, and so are disks local to the host. What is under way is
    /// broken off.
    Redeploy,
    /// Power fails: what was not made durable is lost, kept or torn, and what is under way is broken off.
    PowerCut {
        /// Decides which.
        seed: u64,
    },
}

/// Selects active faults.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultSelection {
    /// Every one.
    All,
    /// Those on this disk, or on this volume and its disks.
    On(String),
    /// The one of this number.
    Number(u32),
}

/// Why a change cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// There is no such volume or disk.
    #[error("there is no volume or disk {name:?}; there are {known}")]
    Unknown {
        /// What was named.
        name: String,
        /// What there is.
        known: String,
    },
    /// A disk is lost, not several.
    #[error("{0} has several disks: name the one that is lost, such as {0}/0")]
    Several(String),
    /// Too much at once.
    #[error("{FAULTS_MAX} faults are in force; clear some first")]
    TooMany,
    /// A fault that makes no sense.
    #[error("{0}")]
    Senseless(&'static str),
    /// A fault where nothing is.
    #[error("the fault begins at {from}, but {on} ends at {size}")]
    Beyond {
        /// The volume or disk.
        on: String,
        /// Where the fault begins.
        from: Bytes,
        /// Where that ends.
        size: Bytes,
    },
    /// Nothing saves credits.
    #[error(
        "there are no credits to spend on {0}: no limit there allows bursts, as those of d4s-v5-p10 do (`loadline environments`)"
    )]
    NoCredits(String),
    /// Nothing is cached.
    #[error("there is no cache to drop before {0}")]
    NoCache(String),
    /// No active fault has this number.
    #[error("there is no fault {0}")]
    NoFault(u32),
    /// The new environment contradicts itself.
    #[error("the new environment cannot be emulated: {0}")]
    Environment(#[from] EnvironmentError),
    /// The new environment has other volumes.
    #[error("the new environment must have the volumes of the old one, with as many disks, in the same layout: {0}")]
    OtherVolumes(String),
}

impl FaultyMachine {
    fn under(&self, name: &str) -> Result<Component, ChangeError> {
        let known = || self.volumes.names().join(", ");
        self.volumes.find(name).ok_or_else(|| ChangeError::Unknown { name: name.to_owned(), known: known() })
    }

    /// Applies `change` at `now`. Returns the number of a fault that began.
    ///
    /// # Errors
    /// A change that makes no sense here. Nothing is changed then.
    ///
    /// # Panics
    /// When time goes back.
    pub fn change(&mut self, now: Instant, change: &Change) -> Result<Option<u32>, ChangeError> {
        self.check(change)?;
        self.settle(now);
        match change {
            Change::Begin(fault) => {
                let mut fault = fault.clone();
                let mut on = self.under(&fault.on)?;
                if fault.kind == FaultKind::Lost && on.disk.is_none() {
                    on.disk = Some(0);
                    fault.on = format!("{}/0", fault.on);
                }
                let number = self.next_fault;
                self.next_fault += 1;
                let taken: FaultSet = self.faults.iter().map(|(active, _)| active.place).collect();
                let place = taken.first_free().expect("there are no more faults than places");
                self.faults.push((ActiveFault { number, place, fault, since: now }, on));
                self.set_absent(now);
                return Ok(Some(number));
            }
            Change::Clear(which) => self.clear(now, which),
            Change::DropCaches(on) => {
                let generation = self.generations.last_mut().expect("there is always one");
                for export in concerned(&self.volumes, on.as_deref()) {
                    generation.machine.drop_caches(now, generation.targets[export]);
                }
            }
            Change::SpendCredits(on) => {
                let generation = self.generations.last_mut().expect("there is always one");
                for export in concerned(&self.volumes, on.as_deref()) {
                    generation.machine.spend_credits(now, generation.targets[export]);
                }
            }
            Change::Environment(environment) => {
                let mut environment = (**environment).clone();
                keep_sizes(&self.environment, &mut environment);
                self.environment = environment;
                self.replace(now)?;
            }
            Change::Redeploy => {
                self.break_off(now);
                self.replace(now)?;
                self.retire();
            }
            Change::PowerCut { .. } => self.break_off(now),
        }
        Ok(None)
    }

    /// Whether `change` would have an effect. Only asked of new changes: those of a trace may have been made elsewhere.
    ///
    /// # Errors
    /// Why it would not.
    pub fn has_effect(&self, now: Instant, change: &Change) -> Result<(), ChangeError> {
        self.check(change)?;
        let exports = |on: &Option<String>| concerned(&self.volumes, on.as_deref()).into_iter();
        let all = |on: &Option<String>| on.clone().unwrap_or_else(|| "any volume".to_owned());
        match change {
            Change::Begin(Fault { kind: FaultKind::Delay(Duration::ZERO), .. }) => {
                Err(ChangeError::Senseless("a delay of nothing delays nothing"))
            }
            Change::Begin(Fault { on, from, .. }) => {
                let size = exports(&Some(on.clone())).find_map(|export| self.size(export));
                match size {
                    Some(size) if *from >= size => Err(ChangeError::Beyond { on: on.clone(), from: *from, size }),
                    _ => Ok(()),
                }
            }
            Change::SpendCredits(on) if exports(on).all(|export| self.credits(now, export).is_none()) => {
                Err(ChangeError::NoCredits(all(on)))
            }
            Change::DropCaches(on) if !exports(on).any(|export| self.has_cache(export)) => {
                Err(ChangeError::NoCache(all(on)))
            }
            _ => Ok(()),
        }
    }

    fn has_cache(&self, export: usize) -> bool {
        self.current().machine.has_cache(self.current().targets[export])
    }

    /// The faults that `which` selects, with their numbers.
    #[must_use]
    pub fn selected(&self, which: &FaultSelection) -> Vec<(u32, Fault)> {
        let under = if let FaultSelection::On(name) = which { self.volumes.find(name) } else { None };
        let meant = |(active, on): &&(ActiveFault, Component)| match which {
            FaultSelection::All => true,
            FaultSelection::On(_) => under
                .as_ref()
                .is_some_and(|under| on.volume == under.volume && (under.disk.is_none() || on.disk == under.disk)),
            FaultSelection::Number(number) => active.number == *number,
        };
        self.faults.iter().filter(meant).map(|(active, _)| (active.number, active.fault.clone())).collect()
    }

    fn check(&self, change: &Change) -> Result<(), ChangeError> {
        match change {
            Change::Begin(fault) => {
                let on = self.under(&fault.on)?;
                if self.faults.len() >= FAULTS_MAX {
                    return Err(ChangeError::TooMany);
                }
                if fault.kind == FaultKind::Lost && on.disk.is_none() && self.volumes.disks(on.volume) > 1 {
                    return Err(ChangeError::Several(fault.on.clone()));
                }
                check_fault(fault)
            }
            Change::Clear(FaultSelection::On(name)) => self.under(name).map(|_| ()),
            Change::Clear(FaultSelection::Number(number)) => {
                let known = self.faults.iter().any(|(active, _)| active.number == *number);
                if known { Ok(()) } else { Err(ChangeError::NoFault(*number)) }
            }
            Change::DropCaches(Some(name)) | Change::SpendCredits(Some(name)) => self.under(name).map(|_| ()),
            Change::Environment(environment) => {
                environment.check()?;
                same_volumes(&self.environment, environment)?;
                let mut environment = (**environment).clone();
                keep_sizes(&self.environment, &mut environment);
                Ok(environment.check()?)
            }
            Change::Clear(FaultSelection::All)
            | Change::DropCaches(None)
            | Change::SpendCredits(None)
            | Change::Redeploy
            | Change::PowerCut { .. } => Ok(()),
        }
    }

    /// Takes the answers that the machines have given by `now`, under the faults of until now.
    fn settle(&mut self, now: Instant) {
        for index in 0..self.generations.len() {
            while let Some((own, completion)) = self.generations[index].machine.pop_completed(now) {
                let id = self.generations[index].owners[own.index()];
                self.detain(id, completion.completed_at, completion.outcome.err());
            }
        }
    }

    /// Ends faults. Requests that only they delayed are answered now.
    fn clear(&mut self, now: Instant, which: &FaultSelection) {
        let cleared: Vec<u32> = self.selected(which).into_iter().map(|(number, _)| number).collect();
        let places = |faults: &[(ActiveFault, Component)], wanted: &dyn Fn(&ActiveFault) -> bool| -> FaultSet {
            faults.iter().map(|(active, _)| active).filter(|active| wanted(active)).map(|active| active.place).collect()
        };
        let over = places(&self.faults, &|active| cleared.contains(&active.number));
        let hangs = places(&self.faults, &|active| active.fault.kind == FaultKind::Hang);
        self.faults.retain(|(active, _)| !cleared.contains(&active.number));
        // What is due by now has ended, whether or not it was taken.
        let mut again = Vec::new();
        let slots = &self.slots;
        self.later.retain(|Reverse((at, id))| {
            let stays = *at <= now || !slots[*id as usize].held_by.meets(over);
            if !stays {
                again.push(*id);
            }
            stays
        });
        for (id, slot) in (0..).zip(&mut self.slots) {
            if slot.in_use && slot.answered_at.is_some() && slot.held_by.meets(hangs) {
                again.push(id);
            }
            slot.held_by.remove(over);
        }
        for id in again {
            if let Some(at) = self.released_at(id, now) {
                self.later.push(Reverse((at, id)));
            }
        }
        self.set_absent(now);
    }

    /// Ends all requests in flight now, as gone. Later requests do not wait for them.
    fn break_off(&mut self, now: Instant) {
        for generation in &mut self.generations {
            generation.machine.break_off(now);
        }
        self.later.retain(|Reverse((at, _))| *at <= now);
        let over: BTreeSet<u32> = self.later.iter().map(|Reverse((_, id))| *id).collect();
        for (id, slot) in (0..).zip(&mut self.slots) {
            if !slot.in_use || over.contains(&id) {
                continue;
            }
            slot.error = Some(ErrorKind::Gone);
            slot.answered_at.get_or_insert(now);
            slot.held_by = FaultSet::default();
            self.later.push(Reverse((now, id)));
        }
    }

    /// Sends new requests to a new machine.
    fn replace(&mut self, now: Instant) -> Result<(), ChangeError> {
        let number = self.generations.len() as u64 + self.requests;
        let initial = InitialState { caches: loadline_disk::Warmth::Cold, ..self.initial };
        let seed = scramble(self.seed ^ scramble(number));
        let generation = MachineGeneration::new(&self.environment, seed, initial)?;
        self.generations.push(generation);
        self.set_absent(now);
        Ok(())
    }

    /// Marks the copies that faults have removed as absent.
    fn set_absent(&mut self, now: Instant) {
        for volume in 0..self.volumes.len() {
            if self.volumes.layout(volume).copies() == 1 {
                continue;
            }
            for disk in 0..self.volumes.disks(volume) {
                let absent = self.is_absent(volume, disk);
                let generation = self.generations.last_mut().expect("there is always one");
                generation.machine.set_absent(now, generation.targets[volume], disk, absent);
            }
        }
    }
}

/// The export of this name, or every volume.
fn concerned(volumes: &VolumeLayouts, on: Option<&str>) -> Vec<usize> {
    let names = volumes.names();
    match on {
        Some(name) => names.iter().position(|own| own == name).into_iter().collect(),
        None => (0..names.len()).filter(|index| !names[*index].contains('/')).collect(),
    }
}

fn check_fault(fault: &Fault) -> Result<(), ChangeError> {
    let senseless = |reason| Err(ChangeError::Senseless(reason));
    if fault.until.is_some_and(|until| until <= fault.from) {
        return senseless("the range of the fault ends before it begins");
    }
    if fault.share == loadline_units::Ratio::ZERO {
        return senseless("a fault of 0 % of requests is none");
    }
    match fault.kind {
        FaultKind::Delay(by) if by > DELAY_MAX => senseless("a delay is at most a day; use a hang"),
        FaultKind::Stall { lasting, every } => match every {
            _ if lasting > DELAY_MAX || lasting == Duration::ZERO => {
                senseless("a stall lasts longer than nothing and at most a day")
            }
            Some(every) if every <= lasting => senseless("a stall must end before the next one begins"),
            Some(every) if every > DELAY_MAX => senseless("stalls come at least once a day"),
            _ => Ok(()),
        },
        FaultKind::Lost | FaultKind::Detached
            if fault.share != loadline_units::Ratio::ONE
                || !fault.operations.is_empty()
                || fault.until.is_some()
                || fault.from > Bytes::ZERO =>
        {
            senseless("a disk is lost or detached as a whole: no share, range or operations")
        }
        _ => Ok(()),
    }
}

/// Keeps each disk at least as large as it was: clients would not notice that an export shrank.
fn keep_sizes(old: &EnvironmentSpec, new: &mut EnvironmentSpec) {
    let mut before = old.volumes.iter().flat_map(|volume| &volume.disks).map(|disk| disk.size);
    for disk in new.volumes.iter_mut().flat_map(|volume| &mut volume.disks) {
        let size = before.next().expect("as many disks as before");
        disk.size = disk.size.zip(size).map(|(new, old)| new.max(old));
    }
}

fn same_volumes(old: &EnvironmentSpec, new: &EnvironmentSpec) -> Result<(), ChangeError> {
    let other = |reason: String| Err(ChangeError::OtherVolumes(reason));
    if old.volumes.len() != new.volumes.len() {
        let count = |count| if count == 1 { "one volume".to_owned() } else { format!("{count} volumes") };
        return other(format!("{} became {}", count(old.volumes.len()), count(new.volumes.len())));
    }
    for (old, new) in old.volumes.iter().zip(&new.volumes) {
        if old.name != new.name {
            return other(format!("{} became {}", old.name, new.name));
        }
        if old.layout != new.layout || old.disks.len() != new.disks.len() {
            return other(format!("{} has another layout", old.name));
        }
    }
    Ok(())
}
