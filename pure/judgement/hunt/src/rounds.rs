//! The order of a hunt's trials: which load is measured next, and when the hunt is done.
//!
//! [`HuntRounds`] is asked for the next trial with the run so far, and answers from that alone. A hunt that was
//! interrupted therefore goes on with the trial that was missing:
//!
//! ```text
//! loop {
//!     match rounds.next(&run) {
//!         NextTrial::Measure(planned) => run.cells[..].trials.push(measure(planned)),
//!         NextTrial::Done(end) => break,
//!     }
//! }
//! ```
//!
//! Each round measures the baseline and every undecided setting once, in an order that follows from the seed. After
//! the rounds of [`HUNT_LOOKS`] the settings are judged, and decided ones are left out of later rounds.

use crate::effect::{Effect, HUNT_LOOKS, judge, round_log};
use crate::plan::HuntPlan;
use crate::result::nothing_bound;
use loadline_record::{CellRecord, RunRecord, RunStatus, TrialRecord};
use loadline_units::Duration;
use loadline_workload::{Arrival, LoadSpec, cell_seed};
use std::fmt;

/// First trials of a load that sets its own rate: they show whether it gets all that it asks for.
const FIRST_TRIALS: u32 = 3;

/// Decides which trial comes next.
#[derive(Debug, Clone, Copy)]
pub struct HuntRounds<'a> {
    plan: &'a HuntPlan,
    seed: u64,
    baseline_sets_rate: bool,
}

/// What a hunt does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextTrial {
    /// It measures this trial.
    Measure(PlannedTrial),
    /// It ends.
    Done(HuntEnd),
}

/// The trial of one load in one round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedTrial {
    /// The load: 0 for the baseline, otherwise the number of the variant in the plan, from 1.
    pub load: usize,
    /// The round, from 0; it is the trial's number.
    pub round: u32,
    /// Whether this is one of the baseline's trials before anything is varied.
    pub is_first: bool,
    /// Trials before it in its round, or among the first trials.
    pub before: u32,
    /// Trials of its round, or first trials.
    pub of: u32,
}

impl fmt::Display for PlannedTrial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { round, is_first, before, of, .. } = *self;
        if is_first {
            write!(f, "baseline, {} of {of}", before + 1)
        } else {
            write!(f, "round {}, {} of {of}", round + 1, before + 1)
        }
    }
}

/// Why a hunt ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HuntEnd {
    /// The baseline got all that it asked for: there is no ceiling to hunt for.
    NothingBound,
    /// Every setting is decided.
    AllDecided,
    /// All rounds are spent.
    RoundsSpent,
}

/// The last look at the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HuntLook {
    /// Rounds that were complete.
    pub rounds: u32,
    /// Settings that are decided.
    pub decided: usize,
}

impl<'a> HuntRounds<'a> {
    /// Rounds of a hunt at most.
    pub const MAX: u32 = HUNT_LOOKS[HUNT_LOOKS.len() - 1];

    /// Of this plan around `baseline`, in the order that `seed` gives.
    #[must_use]
    pub fn new(plan: &'a HuntPlan, baseline: &LoadSpec, seed: u64) -> Self {
        Self { plan, seed, baseline_sets_rate: sets_its_rate(baseline) }
    }

    /// What comes after the trials of `run`, whose cells have the ids of the plan.
    #[must_use]
    pub fn next(&self, run: &RunRecord) -> NextTrial {
        self.walk(run).0
    }

    /// The last look at the settings that the trials of `run` allow.
    #[must_use]
    pub fn last_look(&self, run: &RunRecord) -> Option<HuntLook> {
        self.walk(run).1
    }

    fn walk(&self, run: &RunRecord) -> (NextTrial, Option<HuntLook>) {
        if let Some(next) = self.first_trials(run) {
            return (next, None);
        }
        let variants = &self.plan.variants;
        let mut logs: Vec<Vec<f64>> = vec![Vec::new(); variants.len()];
        let mut undecided: Vec<usize> = (0..variants.len()).collect();
        let mut look = None;
        for round in 0..Self::MAX {
            let order = self.order(round, &undecided);
            let missing = order.iter().position(|load| self.trial(run, *load, round).is_none());
            if let Some(before) = missing {
                let (before, of) = (before as u32, order.len() as u32);
                let load = order[before as usize];
                return (NextTrial::Measure(PlannedTrial { load, round, is_first: false, before, of }), look);
            }
            for variant in &undecided {
                let pair = self.trial(run, 0, round).zip(self.trial(run, variant + 1, round));
                logs[*variant]
                    .extend(pair.and_then(|(base, varied)| round_log(base, varied, variants[*variant].factor)));
            }
            if HUNT_LOOKS.contains(&(round + 1)) {
                let judged = |variant: &usize| judge(&logs[*variant], variants.len(), self.plan.margin);
                undecided.retain(|variant| judged(variant).is_none_or(|judged| judged.effect == Effect::CannotTell));
                look = Some(HuntLook { rounds: round + 1, decided: variants.len() - undecided.len() });
            }
            if undecided.is_empty() {
                return (NextTrial::Done(HuntEnd::AllDecided), look);
            }
        }
        (NextTrial::Done(HuntEnd::RoundsSpent), look)
    }

    /// The next of the baseline's first trials, where the load sets its own rate. `None` as soon as a trial falls short of it.
    fn first_trials(&self, run: &RunRecord) -> Option<NextTrial> {
        let baseline = run.cells.iter().find(|cell| cell.id == self.plan.baseline);
        for round in 0..FIRST_TRIALS {
            if !self.baseline_sets_rate {
                return None;
            }
            let Some((cell, _)) = baseline.zip(self.trial(run, 0, round)) else {
                let planned = PlannedTrial { load: 0, round, is_first: true, before: round, of: FIRST_TRIALS };
                return Some(NextTrial::Measure(planned));
            };
            nothing_bound(&only_the_first(run, cell, round + 1), &cell.id)?;
        }
        Some(NextTrial::Done(HuntEnd::NothingBound))
    }

    /// The loads of a round, in the order of their trials.
    fn order(&self, round: u32, undecided: &[usize]) -> Vec<usize> {
        let mut order: Vec<usize> = std::iter::once(0).chain(undecided.iter().map(|variant| variant + 1)).collect();
        order.sort_by_key(|load| cell_seed(self.seed, &format!("round {round} of {load}")));
        order
    }

    fn trial<'r>(&self, run: &'r RunRecord, load: usize, round: u32) -> Option<&'r TrialRecord> {
        let id = match load.checked_sub(1) {
            None => &self.plan.baseline,
            Some(variant) => &self.plan.variants[variant].cell,
        };
        let cell = run.cells.iter().find(|cell| cell.id == *id)?;
        cell.trials.iter().find(|trial| trial.trial == round)
    }
}

/// Whether the load itself limits how much it asks for: an open loop, or a closed one with a rate ceiling or think time.
fn sets_its_rate(load: &LoadSpec) -> bool {
    match load.arrival {
        Arrival::Closed { rate_max, think_time, .. } => rate_max.is_some() || think_time > Duration::ZERO,
        Arrival::Constant { .. } | Arrival::Poisson { .. } => true,
    }
}

/// The run with the first trials of one cell alone.
fn only_the_first(run: &RunRecord, cell: &CellRecord, trials: u32) -> RunRecord {
    let mut cell = cell.clone();
    cell.trials.retain(|trial| trial.trial < trials);
    RunRecord { header: run.header.clone(), status: RunStatus::Unfinished, cells: vec![cell] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::factor::Factor;
    use crate::plan::HuntVariant;
    use loadline_analysis::example::{self, ExampleDisk};
    use loadline_record::LoadFigures;
    use loadline_units::Iops;

    const SEED: u64 = 7;

    /// A baseline, and one variant for each of these depths.
    fn run_and_plan(baseline: LoadFigures, depths: &[u32]) -> (RunRecord, HuntPlan) {
        let without_trials = |load: LoadFigures| example::cell(load, &ExampleDisk::default(), &[]);
        let mut cells = vec![without_trials(baseline)];
        cells.extend(depths.iter().map(|depth| without_trials(example::closed("random", 1.0, 4096, *depth))));
        for (number, cell) in cells.iter_mut().enumerate() {
            cell.id = format!("cell-{number}");
        }
        let variant = |(number, depth): (usize, &u32)| HuntVariant {
            cell: format!("cell-{}", number + 1),
            factor: Factor::Depth,
            from: "4".to_owned(),
            to: depth.to_string(),
        };
        let plan = HuntPlan {
            baseline: "cell-0".to_owned(),
            variants: depths.iter().enumerate().map(variant).collect(),
            margin: 0.05,
            not_tried: Vec::new(),
            lacks: Vec::new(),
            fixed: Vec::new(),
        };
        (example::run(cells), plan)
    }

    /// Measures every trial asked for until `most` of them are done; which these were, and how it ended.
    fn hunt(run: &mut RunRecord, rounds: &HuntRounds<'_>, most: usize) -> (Vec<(usize, u32)>, Option<HuntEnd>) {
        let mut asked = Vec::new();
        while asked.len() < most {
            match rounds.next(run) {
                NextTrial::Done(end) => return (asked, Some(end)),
                NextTrial::Measure(planned) => {
                    asked.push((planned.load, planned.round));
                    let cell = &mut run.cells[planned.load];
                    // A little noise, the same each time.
                    let factor = 1.0 + f64::from((planned.round * 7 + planned.load as u32 * 3) % 5) / 1_000.0;
                    cell.trials.push(example::trial(
                        &cell.load.figures(),
                        &ExampleDisk::default(),
                        planned.round,
                        factor,
                    ));
                }
            }
        }
        (asked, None)
    }

    #[test]
    fn rounds_go_on_until_every_setting_is_decided() {
        // The disk does 5,000 IOPS at 1 ms: depth 4 is below that, 5 just reaches it, and so does 64.
        let (mut run, plan) = run_and_plan(example::closed("random", 1.0, 4096, 4), &[64, 4]);
        let rounds = HuntRounds::new(&plan, &LoadSpec::default(), SEED);
        let (asked, end) = hunt(&mut run, &rounds, usize::MAX);
        assert_eq!((asked.len(), end), (3 * HUNT_LOOKS[0] as usize, Some(HuntEnd::AllDecided)));
        assert_eq!(rounds.last_look(&run), Some(HuntLook { rounds: HUNT_LOOKS[0], decided: 2 }));
        for round in 0..HUNT_LOOKS[0] {
            let mut loads: Vec<usize> = asked.iter().filter(|one| one.1 == round).map(|one| one.0).collect();
            loads.sort_unstable();
            assert_eq!(loads, [0, 1, 2]);
        }
    }

    #[test]
    fn a_hunt_that_was_interrupted_goes_the_same_way() {
        let (mut whole, plan) = run_and_plan(example::closed("random", 1.0, 4096, 4), &[64, 4, 5]);
        let rounds = HuntRounds::new(&plan, &LoadSpec::default(), SEED);
        let (all, _) = hunt(&mut whole, &rounds, usize::MAX);
        for cut in 1..all.len() {
            let (mut run, plan) = run_and_plan(example::closed("random", 1.0, 4096, 4), &[64, 4, 5]);
            let rounds = HuntRounds::new(&plan, &LoadSpec::default(), SEED);
            let (mut asked, _) = hunt(&mut run, &rounds, cut);
            asked.extend(hunt(&mut run, &rounds, usize::MAX).0);
            assert_eq!(asked, all, "after {cut}");
        }
    }

    #[test]
    fn a_load_that_gets_its_rate_is_tried_three_times_and_nothing_is_varied() {
        let (mut run, plan) = run_and_plan(example::open("random", 1.0, 4096, 1_000.0), &[64]);
        let rate = Iops::per_second(1_000).unwrap();
        let load = LoadSpec { arrival: Arrival::Poisson { rate }, ..LoadSpec::default() };
        let rounds = HuntRounds::new(&plan, &load, SEED);
        let NextTrial::Measure(first) = rounds.next(&run) else { panic!("it has to be measured") };
        assert_eq!(first.to_string(), "baseline, 1 of 3");
        let (asked, end) = hunt(&mut run, &rounds, usize::MAX);
        assert_eq!((asked, end), (vec![(0, 0), (0, 1), (0, 2)], Some(HuntEnd::NothingBound)));
    }

    #[test]
    fn one_that_falls_short_is_varied_from_the_first_round() {
        let (mut run, plan) = run_and_plan(example::open("random", 1.0, 4096, 9_000.0), &[64]);
        let rate = Iops::per_second(9_000).unwrap();
        let load = LoadSpec { arrival: Arrival::Poisson { rate }, ..LoadSpec::default() };
        let rounds = HuntRounds::new(&plan, &load, SEED);
        let (asked, end) = hunt(&mut run, &rounds, usize::MAX);
        assert!(end != Some(HuntEnd::NothingBound) && asked.contains(&(1, 0)), "{end:?} {asked:?}");
        assert_eq!(asked.iter().filter(|one| **one == (0, 0)).count(), 1);
    }
}
