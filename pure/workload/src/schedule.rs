//! What is run when: the cells of a run with their stable ids, and the order of their trials.

use crate::{GroupEnd, LoadSpec, Order, Plan, PlanLoad};
use loadline_document::text_hash;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::Value;
use std::collections::BTreeMap;

/// One load on one volume, with its id.
#[derive(Debug, Clone, PartialEq)]
pub struct RunCell {
    /// See [`cell_id`].
    pub id: String,
    /// The volume's name.
    pub volume: String,
    /// The load.
    pub spec: LoadSpec,
    /// In which order its trials are run.
    pub order: Order,
}

/// Cells that run at the same time; most groups have one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellGroup {
    /// By their place among the cells of the run; never empty.
    pub cells: Vec<usize>,
    /// In which order its trials are run.
    pub order: Order,
    /// When a trial of them is over.
    pub ends: GroupEnd,
}

/// The cells of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunCells {
    /// In the plans' order.
    pub cells: Vec<RunCell>,
    /// Each cell is in one of them.
    pub groups: Vec<CellGroup>,
}

/// One trial of one group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ScheduledTrial {
    /// Index of the group.
    pub group: usize,
    /// Which trial of it, from 0.
    pub trial: u32,
}

/// A load that belongs on a volume which the run does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the load {load:?} runs on the volume {volume:?}, and the run has {}", .has.join(", "))]
pub struct NotOnRun {
    /// The load's name, or what it asks.
    pub load: String,
    /// Where it belongs.
    pub volume: String,
    /// The volumes of the run.
    pub has: Vec<String>,
}

/// The id of a cell: 16 hexadecimal digits that follow from the volume's name and the load alone, so that the same plan
/// gives the same ids and a run can be resumed. How often a cell is tried, and how long it rests before, do not count.
/// `occurrence` tells apart cells that are otherwise the same: 0 for the first of them.
#[must_use]
pub fn cell_id(volume: &str, spec: &LoadSpec, occurrence: u32) -> String {
    let mut value = serde_json::to_value(spec).expect("a load has only keys and values that JSON has");
    if let Value::Object(fields) = &mut value {
        fields.remove("trials");
        fields.remove("pause");
        fields.remove("best_of_trials");
    }
    let mut text = String::new();
    write_canonical(&value, &mut text);
    text_hash(&format!("{volume}\0{text}\0{occurrence}"))
}

/// The seed of a cell's random choices: each cell of a run has its own, so that none repeats the offsets or data of another.
#[must_use]
pub fn cell_seed(run_seed: u64, cell: &str) -> u64 {
    u64::from_str_radix(&text_hash(&format!("{run_seed} {cell}")), 16).expect("a fingerprint is a hexadecimal number")
}

/// JSON with sorted keys and without nulls, so that neither the order of fields nor one that is added later and left
/// out changes it.
fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(fields) => {
            let sorted: BTreeMap<&String, &Value> = fields.iter().filter(|(_, value)| !value.is_null()).collect();
            out.push('{');
            for (key, value) in sorted {
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write_canonical(value, out);
                out.push(',');
            }
            out.push('}');
        }
        Value::Array(values) => {
            out.push('[');
            for value in values {
                write_canonical(value, out);
                out.push(',');
            }
            out.push(']');
        }
        other => out.push_str(&other.to_string()),
    }
}

/// The cells of a run of `plans` on `volumes`: each group of each plan, in order, on each volume in turn. A load that belongs on one
/// volume is there alone.
///
/// # Errors
/// A load belongs on a volume that is not among them.
pub fn run_cells(plans: &[Plan], volumes: &[String]) -> Result<RunCells, NotOnRun> {
    let mut run = RunCells::default();
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for plan in plans {
        for group in plan.groups() {
            let loads: Vec<&PlanLoad> = group.loads.iter().map(|load| &plan.loads[*load]).collect();
            for load in &loads {
                if let Some(volume) = load.on.as_ref().filter(|on| !volumes.contains(on)) {
                    let load = load.cells.first().map(|spec| spec.name.clone().unwrap_or_else(|| spec.to_string()));
                    let (load, volume) = (load.unwrap_or_default(), volume.clone());
                    return Err(NotOnRun { load, volume, has: volumes.to_vec() });
                }
            }
            let is_placed = loads.iter().all(|load| load.on.is_some());
            let turns = if is_placed { &volumes[..volumes.len().min(1)] } else { volumes };
            for specs in combinations(&loads) {
                for turn in turns {
                    let on = |load: &PlanLoad| load.on.clone().unwrap_or_else(|| turn.clone());
                    let placed: Vec<(String, &LoadSpec)> =
                        loads.iter().map(|load| on(load)).zip(specs.clone()).collect();
                    run.add(&placed, loads[0].order, group.ends, &mut seen);
                }
            }
        }
    }
    Ok(run)
}

/// Each cell of a load with each of the others; those of the last load vary fastest.
fn combinations<'a>(loads: &[&'a PlanLoad]) -> impl Iterator<Item = Vec<&'a LoadSpec>> {
    let loads: Vec<&'a PlanLoad> = loads.to_vec();
    let count: usize = loads.iter().map(|load| load.cells.len()).product();
    (0..count).map(move |index| {
        let mut rest = index;
        let of = |load: &&'a PlanLoad| {
            let cell = &load.cells[rest % load.cells.len()];
            rest /= load.cells.len();
            cell
        };
        let mut cells: Vec<&LoadSpec> = loads.iter().rev().map(of).collect();
        cells.reverse();
        cells
    })
}

impl RunCells {
    /// Loads that run at the same time, each on its volume.
    fn add(&mut self, placed: &[(String, &LoadSpec)], order: Order, ends: GroupEnd, seen: &mut BTreeMap<String, u32>) {
        let first = self.cells.len();
        let is_alone = placed.len() == 1;
        let beside = |(volume, spec): &(String, &LoadSpec)| {
            format!(" beside {} {}", cell_id(volume, spec, 0), spec.pause.as_ns())
        };
        let all: Vec<String> = if is_alone { Vec::new() } else { placed.iter().map(beside).collect() };
        for (own, (volume, spec)) in placed.iter().enumerate() {
            let others = || all[..own].iter().chain(&all[own + 1..]);
            let id_of = |occurrence| {
                let id = cell_id(volume, spec, occurrence);
                if is_alone { id } else { id_beside(&id, spec, others(), ends) }
            };
            let count = seen.entry(id_of(0)).or_insert(0);
            let id = id_of(*count);
            *count += 1;
            self.cells.push(RunCell { id, volume: volume.clone(), spec: (*spec).clone(), order });
        }
        self.groups.push(CellGroup { cells: (first..self.cells.len()).collect(), order, ends });
    }
}

/// The id of a cell that runs beside others: it follows from theirs, too, and from when each begins.
fn id_beside<'a>(id: &str, spec: &LoadSpec, others: impl Iterator<Item = &'a String>, ends: GroupEnd) -> String {
    let mut text = format!("{id} {}", spec.pause.as_ns());
    text.extend(others.map(String::as_str));
    if ends == GroupEnd::First {
        text.push_str(" until the first ends");
    }
    text_hash(&text)
}

/// The trials of a run in the order in which they are run; `groups` gives each group's order and number of trials.
///
/// A stretch of interleaved groups is run round by round: in each round every group that still wants a trial, in a random
/// order that follows from `seed`, so that the same group on several volumes is interleaved too. A group that is run as
/// listed is run where it stands, all its trials one after the other.
#[must_use]
pub fn schedule(groups: &[(Order, u32)], seed: u64) -> Vec<ScheduledTrial> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut steps = Vec::new();
    let mut first = 0;
    for stretch in groups.chunk_by(|(a, _), (b, _)| *a == Order::Interleaved && *b == Order::Interleaved) {
        let rounds = stretch.iter().map(|(_, trials)| *trials).max().unwrap_or(0);
        for trial in 0..rounds {
            let mut round: Vec<ScheduledTrial> = stretch
                .iter()
                .enumerate()
                .filter(|(_, (_, trials))| trial < *trials)
                .map(|(index, _)| ScheduledTrial { group: first + index, trial })
                .collect();
            shuffle(&mut round, &mut random);
            steps.append(&mut round);
        }
        first += stretch.len();
    }
    steps
}

/// Fisher and Yates's shuffle (Durstenfeld 1964), with Lemire's multiplication for the choice: its bias is below
/// `len / 2^64`.
fn shuffle(steps: &mut [ScheduledTrial], random: &mut Xoshiro256PlusPlus) {
    for last in (1..steps.len()).rev() {
        let product = u128::from(random.next_u64()) * (last as u128 + 1);
        steps.swap(last, (product >> 64) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_units::Duration;
    use proptest::prelude::*;

    fn orders() -> impl Strategy<Value = Vec<(Order, u32)>> {
        let order = prop_oneof![Just(Order::Interleaved), Just(Order::AsListed)];
        prop::collection::vec((order, 0u32..6), 0..40)
    }

    #[test]
    fn cells_and_runs_have_seeds_of_their_own() {
        assert_eq!(cell_seed(1, "a"), cell_seed(1, "a"));
        assert_ne!(cell_seed(1, "a"), cell_seed(1, "b"));
        assert_ne!(cell_seed(1, "a"), cell_seed(2, "a"));
    }

    proptest! {
        #[test]
        fn each_trial_is_run_exactly_once(cells in orders(), seed in any::<u64>()) {
            let mut steps = schedule(&cells, seed);
            steps.sort();
            let all: Vec<ScheduledTrial> = cells
                .iter()
                .enumerate()
                .flat_map(|(cell, (_, trials))| (0..*trials).map(move |trial| ScheduledTrial { group: cell, trial }))
                .collect();
            prop_assert_eq!(steps, all);
        }
        #[test]
        fn the_trials_of_a_cell_come_in_ascending_order(cells in orders(), seed in any::<u64>()) {
            let mut next = vec![0; cells.len()];
            for step in schedule(&cells, seed) {
                prop_assert_eq!(step.trial, next[step.group]);
                next[step.group] += 1;
            }
        }
        #[test]
        fn the_same_seed_gives_the_same_order(cells in orders(), seed in any::<u64>()) {
            prop_assert_eq!(schedule(&cells, seed), schedule(&cells, seed));
        }
        #[test]
        fn in_a_round_no_interleaved_cell_is_ahead_of_another(count in 1usize..40, trials in 1u32..6, seed in any::<u64>()) {
            let steps = schedule(&vec![(Order::Interleaved, trials); count], seed);
            for (index, step) in steps.iter().enumerate() {
                prop_assert_eq!(step.trial as usize, index / count);
            }
        }
        #[test]
        fn cells_as_listed_are_run_where_they_stand(cells in orders(), seed in any::<u64>()) {
            let steps = schedule(&cells, seed);
            for (cell, (_, trials)) in cells.iter().enumerate().filter(|(_, (order, _))| *order == Order::AsListed) {
                let places: Vec<usize> = (0..steps.len()).filter(|i| steps[*i].group == cell).collect();
                prop_assert!(places.windows(2).all(|pair| pair[1] == pair[0] + 1));
                prop_assert_eq!(places.len(), *trials as usize);
                let before = places.first().copied().unwrap_or(0);
                prop_assert!(steps[..before].iter().all(|step| step.group < cell));
            }
        }
    }

    #[test]
    fn rounds_differ_in_their_order_and_so_do_seeds() {
        let cells = [(Order::Interleaved, 2); 50];
        let steps = schedule(&cells, 1);
        let order = |steps: &[ScheduledTrial]| steps.iter().map(|step| step.group).collect::<Vec<_>>();
        assert_ne!(order(&steps[..50]), order(&steps[50..]));
        assert_ne!(order(&steps[..50]), order(&schedule(&cells, 2)[..50]));
    }

    #[test]
    fn a_shuffle_puts_each_cell_first_about_as_often() {
        let cells = [(Order::Interleaved, 1); 4];
        let mut first = [0u32; 4];
        for seed in 0..4_000 {
            first[schedule(&cells, seed)[0].group] += 1;
        }
        assert!(first.iter().all(|count| (850..1_150).contains(count)), "{first:?}");
    }

    #[test]
    fn trials_pause_and_how_they_are_shown_do_not_change_a_cells_id_and_all_else_does() {
        let spec = LoadSpec::default();
        let id = cell_id("data", &spec, 0);
        assert_eq!(id.len(), 16);
        let again = LoadSpec { trials: 9, pause: Duration::from_s(1), best_of_trials: true, ..spec.clone() };
        assert_eq!(cell_id("data", &again, 0), id);
        assert_ne!(cell_id("log", &spec, 0), id);
        assert_ne!(cell_id("data", &spec, 1), id);
        assert_ne!(cell_id("data", &LoadSpec { threads: 2, ..spec.clone() }, 0), id);
        assert_ne!(cell_id("data", &LoadSpec { name: Some("first".into()), ..spec }, 0), id);
    }

    #[test]
    fn the_id_of_the_default_load_stays_what_it_was() {
        // Stored runs are resumed by these ids: a change of this value makes them start again.
        assert_eq!(cell_id("data", &LoadSpec::default(), 0), "9b701844264f5262");
    }

    #[test]
    fn identical_cells_of_a_run_have_ids_of_their_own() {
        let text = "schema = 1\nname = \"twice\"\n[[load]]\n[[load]]\n";
        let plan = Plan::parse(text, "twice.toml").unwrap();
        let cells = run_cells(&[plan.clone(), plan], &["a".into(), "b".into()]).unwrap().cells;
        assert_eq!(cells.len(), 8);
        let ids: std::collections::BTreeSet<&str> = cells.iter().map(|cell| cell.id.as_str()).collect();
        assert_eq!(ids.len(), 8);
        assert_eq!(cells[0].volume, "a");
        assert_eq!(cells[1].volume, "b");
        assert_eq!(cells[0].spec, cells[1].spec);
    }
}
