//! Several loads on one machine at the same time, on one volume or several.

use crate::simulation::{Party, Reached, SimulationError, SimulationProgress, TrialSetup, drain, is_over};
use loadline_disk::{Machine, Target, Waits};
use loadline_record::TrialRecord;
use loadline_units::Instant;
use loadline_workload::{GroupEnd, LoadSpec};

/// Loads that begin at the same time and share the machine.
///
/// Each runs as if it were alone, except for budgets that all share.
#[derive(Debug, Clone)]
pub struct Together {
    machine: Machine,
    parties: Vec<Party>,
    ends: GroupEnd,
    /// The owner of each request, by its number.
    owners: Vec<u32>,
    /// The request that was answered last, by its number.
    last: usize,
    progress: SimulationProgress,
}

impl Together {
    /// Each load on its target of `machine`; nothing has happened yet. Each begins after its pause.
    ///
    /// # Errors
    /// When a load cannot be simulated there.
    pub fn new(
        loads: &[(&LoadSpec, Target, TrialSetup)],
        ends: GroupEnd,
        machine: Machine,
    ) -> Result<Self, SimulationError> {
        let parties = loads.iter().map(|(load, target, setup)| Party::new(load, &machine, *target, *setup));
        Ok(Self {
            parties: parties.collect::<Result<_, _>>()?,
            machine,
            ends,
            owners: Vec::new(),
            last: 0,
            progress: SimulationProgress::default(),
        })
    }

    /// Runs until all trials are over or nothing more happens until `until`; returns whether they are over.
    ///
    /// # Errors
    /// [`SimulationError::Timeless`].
    pub fn run_until(&mut self, until: Instant) -> Result<bool, SimulationError> {
        is_over(|events| self.run_for(until, events))
    }

    /// [`Together::run_until`] with at most `events` events, so that the caller regains control however little time
    /// passes.
    ///
    /// # Errors
    /// [`SimulationError::Timeless`].
    pub fn run_for(&mut self, until: Instant, events: u64) -> Result<Reached, SimulationError> {
        let reached = self.go_on(until, events);
        let now = self.parties.iter().map(Party::now).max().unwrap_or_default();
        let outstanding = self.parties.iter().map(Party::outstanding).sum();
        if reached == Reached::Events
            && let Some(answered) = self.progress.look(now, events, outstanding)
            && let Some(party) = self.owners.get(self.last).and_then(|owner| self.parties.get(*owner as usize))
        {
            return Err(party.timeless(&self.machine, answered));
        }
        Ok(reached)
    }

    fn go_on(&mut self, until: Instant, events: u64) -> Reached {
        let Self { machine, parties, ends, owners, last, .. } = self;
        let mut left = events;
        loop {
            for party in parties.iter_mut().filter(|party| party.outstanding() == 0 && party.timer_at().is_none()) {
                party.end();
            }
            if *ends == GroupEnd::First && parties.iter().any(Party::is_over) {
                parties.iter_mut().for_each(Party::call_off);
                return Reached::End;
            }
            let outstanding: u64 = parties.iter().map(Party::outstanding).sum();
            let answer = machine.next_event_at().filter(|_| outstanding > 0);
            let Some(next) = parties.iter().filter_map(Party::timer_at).chain(answer).min() else {
                return Reached::End;
            };
            if next > until {
                return Reached::Time;
            }
            if left == 0 {
                return Reached::Events;
            }
            left -= 1;
            for party in parties.iter_mut().filter(|party| !party.is_over()) {
                party.reach(machine, next);
            }
            if let Some(id) = machine.take_completed(next) {
                *last = id.index();
                let owner = owners[id.index()];
                parties[owner as usize].answer(machine, id, &mut note(owners, owner));
                continue;
            }
            for (party, owner) in parties.iter_mut().zip(0..) {
                if party.timer_at().is_some_and(|at| at <= next) {
                    party.look_at_timers(machine, &mut note(owners, owner));
                }
            }
        }
    }

    /// How long requests of each load have waited at each limit since the machine began. At budgets that several share it is
    /// the waiting of all.
    #[must_use]
    pub fn waits(&self) -> Vec<Waits> {
        self.parties.iter().map(|party| self.machine.waits(party.target())).collect()
    }

    /// The results of each trial, in the order of the loads, with the waiting from its measurement on, as in
    /// [`Simulated::waits`](crate::Simulated::waits); and the machine afterwards.
    #[must_use]
    pub fn finish(self) -> (Vec<(TrialRecord, Waits)>, Machine) {
        let Self { mut machine, parties, .. } = self;
        let records = parties.into_iter().map(|party| party.finish(&machine)).collect();
        drain(&mut machine);
        (records, machine)
    }
}

/// Notes the owner of a request.
fn note(owners: &mut Vec<u32>, owner: u32) -> impl FnMut(usize) {
    move |id| {
        if owners.len() <= id {
            owners.resize(id + 1, 0);
        }
        owners[id] = owner;
    }
}
