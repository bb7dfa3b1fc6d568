//! Several loads on one machine at the same time, each on a volume of its own.

use crate::simulation::{Party, SimulationError, TrialSetup, drain};
use loadline_disk::{Machine, Target, Waits};
use loadline_record::TrialRecord;
use loadline_units::Instant;
use loadline_workload::LoadSpec;

/// Loads that begin at the same time and share what the machine has.
///
/// Each is on its way as if it were alone, but for what the others take of budgets that all share.
#[derive(Debug, Clone)]
pub struct Together {
    machine: Machine,
    parties: Vec<Party>,
    /// Whose a request is, by its number.
    owners: Vec<u32>,
}

impl Together {
    /// Each load on its volume of `machine`; nothing has happened yet.
    ///
    /// # Errors
    /// When a load cannot be simulated there.
    pub fn new(loads: &[(&LoadSpec, Target, TrialSetup)], machine: Machine) -> Result<Self, SimulationError> {
        let parties = loads.iter().map(|(load, target, setup)| Party::new(load, &machine, *target, *setup));
        Ok(Self { parties: parties.collect::<Result<_, _>>()?, machine, owners: Vec::new() })
    }

    /// Goes on until all trials are over or nothing more happens until `until`; says whether they are over.
    pub fn run_until(&mut self, until: Instant) -> bool {
        let Self { machine, parties, owners } = self;
        loop {
            for party in parties.iter_mut().filter(|party| party.outstanding() == 0 && party.timer_at().is_none()) {
                party.end();
            }
            let outstanding: u64 = parties.iter().map(Party::outstanding).sum();
            let answer = machine.next_event_at().filter(|_| outstanding > 0);
            let Some(next) = parties.iter().filter_map(Party::timer_at).chain(answer).min() else { return true };
            if next > until {
                return false;
            }
            for party in parties.iter_mut().filter(|party| !party.is_over()) {
                party.reach(machine, next);
            }
            if let Some(id) = machine.take_completed(next) {
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

    /// What each trial yields, in the order of the loads, with where requests waited from its measurement on; and the machine as
    /// it is afterwards.
    #[must_use]
    pub fn finish(self) -> (Vec<(TrialRecord, Waits)>, Machine) {
        let Self { mut machine, parties, .. } = self;
        let records = parties.into_iter().map(|party| party.finish(&machine)).collect();
        drain(&mut machine);
        (records, machine)
    }
}

/// Notes whose a request is.
fn note(owners: &mut Vec<u32>, owner: u32) -> impl FnMut(usize) {
    move |id| {
        if owners.len() <= id {
            owners.resize(id + 1, 0);
        }
        owners[id] = owner;
    }
}
