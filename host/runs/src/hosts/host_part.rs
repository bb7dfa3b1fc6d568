//! A host's part in a run that several make together: the order that all of them share, the steps in which it loads, its own range.

use crate::{HostsRefusal, Refusal, Settings, Work};
use loadline_analysis::name_on_hosts;
use loadline_record::{HostPart, HostRank, PlanText};
use loadline_units::{Bytes, Duration};
use loadline_workload::{CellGroup, LoadSpec, Plan, RunCell, text_hash};
use std::collections::BTreeMap;

/// Between the end of a round and the start of the next, where starts are agreed on: time to store trials, and to prepare.
pub(crate) const BETWEEN_STARTS: Duration = Duration::from_s(2);
/// Ranges of hosts begin at multiples of this.
const RANGE_UNIT: Bytes = Bytes::MIB;

/// Checks that the part says what it needs to.
///
/// # Errors
/// A [`HostsRefusal`].
pub(crate) fn check(part: &HostPart, is_start_agreed: bool) -> Result<(), Refusal> {
    let HostPart { rank, steps, own_range } = part;
    let Some(rank) = rank else {
        let is_needed = *own_range || !steps.is_empty();
        return if is_needed { Err(HostsRefusal::NoRank.into()) } else { Ok(()) };
    };
    if let Some(hosts) = steps.iter().copied().find(|hosts| *hosts == 0 || *hosts > rank.of) {
        return Err(HostsRefusal::StepOfMore { hosts, of: rank.of }.into());
    }
    if let Some(pair) = steps.windows(2).find(|pair| pair[1] <= pair[0]) {
        return Err(HostsRefusal::StepsDoNotGrow { hosts: pair[1] }.into());
    }
    if steps.last().is_some_and(|most| rank.rank >= *most) {
        return Err(HostsRefusal::InNoStep { rank: *rank }.into());
    }
    if !steps.is_empty() && !is_start_agreed {
        return Err(HostsRefusal::StepsWithoutStart.into());
    }
    Ok(())
}

/// The plans once for each number of hosts; the loads' names say which.
pub(crate) fn stepped(plans: Vec<Plan>, steps: &[u32]) -> Vec<Plan> {
    if steps.is_empty() {
        return plans;
    }
    let on = |hosts: u32, mut plan: Plan| {
        for spec in plan.loads.iter_mut().flat_map(|load| &mut load.cells) {
            spec.name = Some(name_on_hosts(hosts, spec.name.as_deref()));
        }
        plan
    };
    steps.iter().flat_map(|hosts| plans.iter().map(|plan| on(*hosts, plan.clone()))).collect()
}

/// The seed of an order that all hosts of these plans have in common, whatever their own seeds are.
pub(crate) fn order_seed(plans: &[PlanText]) -> u64 {
    let hashes: Vec<&str> = plans.iter().map(|plan| plan.hash.as_str()).collect();
    u64::from_str_radix(&text_hash(&hashes.join(" ")), 16).expect("a fingerprint is a hexadecimal number")
}

/// A fingerprint of all that hosts have in common that run these plans together. Hosts with different ones run different trials.
pub(crate) fn in_common(plans: &[PlanText], settings: &Settings) -> String {
    let hashes: Vec<&str> = plans.iter().map(|plan| plan.hash.as_str()).collect();
    let volumes: Vec<&str> = settings.targets.iter().map(|target| target.volume.as_str()).collect();
    let part = settings.hosts.clone().unwrap_or_default();
    let shared = serde_json::json!({
        "plans": hashes, "volumes": volumes, "overrides": settings.overrides, "read_only": settings.read_only,
        "steps": part.steps, "own_range": part.own_range, "of": part.rank.map(|rank| rank.of),
    });
    text_hash(&shared.to_string())
}

/// What of the work is this host's. Its rounds have before them the time that those of other hosts take.
///
/// # Errors
/// Loads whose range cannot be divided.
pub(crate) fn of_host(mut work: Work, part: &HostPart) -> Result<Work, Refusal> {
    if let Some(rank) = part.rank.filter(|_| part.own_range) {
        divide(&mut work, rank)?;
    }
    if part.steps.is_empty() {
        return Ok(work);
    }
    let each = work.cells.len() / part.steps.len();
    let loads = |cell: usize| part.rank.is_none_or(|own| own.rank < part.steps[cell / each]);
    let is_own = |group: &CellGroup| group.cells.iter().all(|cell| loads(*cell));
    let mut own = Work { steps: Vec::new(), others_before: Vec::new(), ..work.clone() };
    let mut passed = Duration::ZERO;
    let mut places = BTreeMap::new();
    own.groups.clear();
    for (index, group) in work.groups.iter().enumerate().filter(|(_, group)| is_own(group)) {
        places.insert(index, own.groups.len());
        own.groups.push(group.clone());
    }
    for step in &work.steps {
        match places.get(&step.group) {
            Some(group) => {
                own.steps.push(loadline_workload::ScheduledTrial { group: *group, ..*step });
                own.others_before.push(std::mem::take(&mut passed));
            }
            None => passed = passed + work.step_time(step) + BETWEEN_STARTS,
        }
    }
    let kept: Vec<usize> = (0..work.cells.len()).filter(|cell| loads(*cell)).collect();
    own.cells = kept.iter().map(|cell| work.cells[*cell].clone()).collect();
    for cell in own.groups.iter_mut().flat_map(|group| &mut group.cells) {
        *cell = kept.binary_search(cell).expect("a group's cells are kept with it");
    }
    Ok(own)
}

/// Puts this host's part of each range in place of the range.
fn divide(work: &mut Work, rank: HostRank) -> Result<(), Refusal> {
    let ranges = |cell: &RunCell| (cell.spec.start, cell.spec.size);
    for cell in &work.cells {
        let same = work.cells.iter().filter(|other| other.volume == cell.volume);
        if let Some(other) = same.into_iter().find(|other| ranges(other) != ranges(cell)) {
            let loads = [cell, other].map(|cell| cell.spec.to_string());
            return Err(HostsRefusal::RangesDiffer { loads }.into());
        }
    }
    let plan = work.plans.first().map(|plan| plan.name.clone()).unwrap_or_default();
    for cell in &mut work.cells {
        cell.spec = of_rank(&cell.spec, rank)?;
        cell.spec.check().map_err(|source| Refusal::Contradiction {
            plan: plan.clone(),
            load: cell.spec.to_string(),
            source,
        })?;
    }
    Ok(())
}

/// The load on this host's part of its range.
fn of_rank(spec: &LoadSpec, rank: HostRank) -> Result<LoadSpec, HostsRefusal> {
    let load = || spec.to_string();
    let Some(whole) = spec.size else { return Err(HostsRefusal::RangeWithoutSize { load: load() }) };
    let part = Bytes::new(whole.get() / u64::from(rank.of)).round_down(RANGE_UNIT);
    let unit = spec.alignment();
    if part < spec.block_max().max(RANGE_UNIT) || part.round_down(unit) != part {
        return Err(HostsRefusal::RangeTooSmall { load: load(), whole, hosts: rank.of, unit: unit.max(RANGE_UNIT) });
    }
    Ok(LoadSpec { start: spec.start + part * u64::from(rank.rank), size: Some(part), ..spec.clone() })
}

/// Where the ranges of all hosts end together, given this host's load.
pub(crate) fn end_of_all(spec: &LoadSpec, rank: HostRank) -> Option<Bytes> {
    Some(spec.start + spec.size? * u64::from(rank.of - rank.rank))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "schema = 1\nname = \"p\"\n[[load]]\nreads = [\"100 %\", \"0 %\"]\nblock = \"4 KiB\"\n\
                        queue_depth = [1, 2, 4]\nsize = \"64 MiB\"\ntrials = 2\nduration = \"1 s\"\nwarm_up = \"0 s\"\n";

    fn part(rank: u32, of: u32, steps: &[u32]) -> HostPart {
        HostPart { rank: Some(HostRank { rank, of }), steps: steps.to_vec(), own_range: false }
    }

    fn work(plan: &str, part: HostPart, seed: u64) -> Result<Work, Refusal> {
        let settings = Settings { hosts: Some(part), ..Settings::of(crate::sole_target("null")) };
        Work::of(vec![Plan::parse(plan, "p").unwrap()], &settings.scope(), seed)
    }

    /// Each trial with its begin after the start that was agreed on.
    fn timetable(work: &Work) -> BTreeMap<(String, u32), Duration> {
        let mut at = Duration::ZERO;
        let rows = work.steps.iter().enumerate().map(|(index, step)| {
            at = at + work.others_before.get(index).copied().unwrap_or_default();
            let row = ((work.cells[work.cells_of(step)[0]].id.clone(), step.trial), at);
            at = at + work.step_time(step) + BETWEEN_STARTS;
            row
        });
        rows.collect()
    }

    #[test]
    fn hosts_with_seeds_of_their_own_run_their_trials_in_one_order() {
        let order = |seed| work(PLAN, HostPart::default(), seed).unwrap().steps;
        assert!((0..20).all(|seed| order(seed) == order(99)));
    }

    #[test]
    fn a_trial_begins_at_one_time_on_every_host_that_runs_it() {
        let steps = [1, 2, 4];
        let all = timetable(&work(PLAN, part(0, 4, &steps), 1).unwrap());
        assert_eq!(all.len(), 3 * 6 * 2);
        for rank in 1..4 {
            let own = work(PLAN, part(rank, 4, &steps), u64::from(rank)).unwrap();
            let expected = if rank == 1 { 2 } else { 1 };
            assert_eq!((own.cells.len(), own.steps.len()), (expected * 6, expected * 12));
            for (trial, at) in timetable(&own) {
                assert_eq!(at, all[&trial], "rank {rank}: {trial:?}");
            }
            let hosts = part(rank, 4, &steps).hosts_of_cells(own.cells.len());
            for (cell, hosts) in own.cells.iter().zip(hosts) {
                assert_eq!(cell.spec.name.as_deref(), Some(name_on_hosts(hosts.unwrap(), None).as_str()));
            }
        }
    }

    #[test]
    fn hosts_that_would_run_other_trials_have_another_fingerprint() {
        let of = |plan: &str, rank: u32, size: Option<Bytes>| {
            let mut settings = Settings::of(crate::sole_target("null"));
            settings.hosts = Some(part(rank, 2, &[1, 2]));
            settings.overrides.size = size;
            in_common(&Work::of(vec![Plan::parse(plan, "p").unwrap()], &settings.scope(), 1).unwrap().plans, &settings)
        };
        assert_eq!(of(PLAN, 0, None), of(PLAN, 1, None));
        assert_ne!(of(PLAN, 0, None), of(&PLAN.replace("\"1 s\"", "\"2 s\""), 1, None));
        assert_ne!(of(PLAN, 0, None), of(PLAN, 1, Some(Bytes::MIB)));
    }

    #[test]
    fn ranges_of_hosts_do_not_overlap_and_are_the_same_cells() {
        let of = |rank| work(PLAN, HostPart { own_range: true, ..part(rank, 3, &[]) }, 1).unwrap();
        let parts: Vec<Work> = (0..3).map(of).collect();
        let mut end = Bytes::ZERO;
        for (work, rank) in parts.iter().zip(0..) {
            let spec = &work.cells[0].spec;
            assert_eq!((spec.start, spec.size), (end, Some(Bytes::mib(21))));
            assert_eq!(end_of_all(spec, HostRank { rank, of: 3 }), Some(Bytes::mib(63)));
            end = spec.start + spec.size.unwrap();
            assert!(work.cells.iter().zip(&parts[0].cells).all(|(own, first)| own.id == first.id));
        }
    }

    #[test]
    fn a_range_that_cannot_be_divided_is_refused() {
        let refused =
            |plan: &str, of| work(plan, HostPart { own_range: true, ..part(0, of, &[]) }, 1).expect_err("a refusal");
        let without = PLAN.replace("size = \"64 MiB\"\n", "");
        assert!(matches!(refused(&without, 2), Refusal::Hosts(HostsRefusal::RangeWithoutSize { .. })));
        assert!(matches!(refused(PLAN, 65), Refusal::Hosts(HostsRefusal::RangeTooSmall { .. })));
        let coarse = PLAN.replace("block", "align = \"3 MiB\"\nblock");
        assert!(matches!(refused(&coarse, 4), Refusal::Hosts(HostsRefusal::RangeTooSmall { .. })));
        let two = PLAN.replace("\"64 MiB\"", "[\"64 MiB\", \"32 MiB\"]");
        assert!(matches!(refused(&two, 2), Refusal::Hosts(HostsRefusal::RangesDiffer { .. })));
    }

    #[test]
    fn a_part_that_says_too_little_or_too_much_is_refused() {
        let refused = |part: HostPart, start| match check(&part, start) {
            Err(Refusal::Hosts(refusal)) => refusal,
            other => panic!("{other:?}"),
        };
        let nameless = HostPart { steps: vec![1, 2], ..HostPart::default() };
        assert!(matches!(refused(nameless, true), HostsRefusal::NoRank));
        let range = HostPart { own_range: true, ..HostPart::default() };
        assert!(matches!(refused(range, true), HostsRefusal::NoRank));
        assert!(matches!(refused(part(0, 4, &[1, 8]), true), HostsRefusal::StepOfMore { hosts: 8, of: 4 }));
        assert!(matches!(refused(part(0, 4, &[0]), true), HostsRefusal::StepOfMore { hosts: 0, of: 4 }));
        assert!(matches!(refused(part(0, 4, &[2, 1]), true), HostsRefusal::StepsDoNotGrow { hosts: 1 }));
        assert!(matches!(refused(part(3, 4, &[1, 2]), true), HostsRefusal::InNoStep { .. }));
        assert!(matches!(refused(part(0, 4, &[1, 2]), false), HostsRefusal::StepsWithoutStart));
        assert!(check(&part(0, 4, &[1, 2, 4]), true).is_ok() && check(&HostPart::default(), false).is_ok());
    }
}
