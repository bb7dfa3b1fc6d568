//! How the total grows with the number of hosts that load a storage together, and whether its end is the storage's or each host's.
//!
//! Two plateaus tell them apart. Where more hosts bring no more, the limit is what they share. Where one host levels off over its own
//! loads and another host brings as much again, the limit is each host's.

use super::steps::{hosts_of, load_of_one};
use super::view::{HostsLimit, HostsPoint, HostsScaling};
use crate::compare::{Figure, ScalingStep, levels_off, step_between};
use crate::summary::CellSummary;
use loadline_load::LoadSpec;
use loadline_record::{CellRecord, HostsFact, HostsGain, HostsTotal, InFlightRate, Rate, RunRecord};

/// Requests from this size on are counted in bytes.
const LARGE_BYTES_MIN: u64 = 64 << 10;
/// Arrivals that come back by this share are all that was asked for.
const KEPT: f64 = 0.99;
/// Arrivals that come back by less than this share do not.
const AS_GOOD_AS_KEPT: f64 = 0.95;
/// Hosts that have this share of the most that there is have all of it.
const ALL_OF_IT: f64 = 0.95;
/// The total grows linearly if it has this share of as many times what one host has.
const ADDS_UP: f64 = 0.9;
/// Twice as many requests in flight that bring less than this have levelled off.
const LEVEL: f64 = 1.1;

/// The loads of a run that more and more hosts ran at the same time; none where there is one number of hosts.
pub(crate) fn hosts_scaling(record: &RunRecord, cells: &[CellSummary]) -> Vec<HostsScaling> {
    let mut curves: Vec<Curve<'_>> = Vec::new();
    for (own, cell) in record.cells.iter().zip(cells) {
        let Some(hosts) = hosts_of(own).filter(|_| cell.total.is_some()) else { continue };
        let Some(load) = load_of_one(own, hosts) else { continue };
        let known = curves.iter().position(|curve| curve.load == load && curve.volume == own.volume);
        let place = known.unwrap_or_else(|| {
            curves.push(Curve { volume: own.volume.clone(), load, at: Vec::new() });
            curves.len() - 1
        });
        if !curves[place].at.iter().any(|(other, ..)| *other == hosts) {
            curves[place].at.push((hosts, own, cell));
        }
    }
    curves.retain(|curve| curve.at.len() > 1);
    for curve in &mut curves {
        curve.at.sort_by_key(|(hosts, ..)| *hosts);
    }
    let mut all: Vec<HostsScaling> = curves.iter().filter_map(|curve| curve.scaling(&curves)).collect();
    mark_most(&mut all, &curves);
    all
}

/// A number of hosts with their cell.
type Point<'a> = (u32, &'a CellRecord, &'a CellSummary);

/// A load with its cells, by the number of hosts.
struct Curve<'a> {
    volume: String,
    load: LoadSpec,
    at: Vec<Point<'a>>,
}

impl Curve<'_> {
    fn figure(&self) -> Figure {
        if self.load.block_mean().get() >= LARGE_BYTES_MIN { Figure::Throughput } else { Figure::Rate }
    }

    fn value(&self, cell: &CellSummary) -> f64 {
        let total = cell.total.as_ref().expect("cells without figures are left out");
        if self.figure() == Figure::Throughput { total.throughput_bytes_per_s } else { total.iops }
    }

    fn rate(&self, value: f64) -> Rate {
        if self.figure() == Figure::Throughput { Rate::BytesPerS(value) } else { Rate::Iops(value) }
    }

    fn total(&self, (hosts, _, cell): &Point<'_>) -> HostsTotal {
        HostsTotal { hosts: *hosts, total: self.rate(self.value(cell)) }
    }

    /// The most that so many hosts or more have.
    fn most(&self, hosts: u32) -> f64 {
        let values = self.at.iter().filter(|point| point.0 >= hosts).map(|point| self.value(point.2));
        values.fold(0.0, f64::max)
    }

    fn scaling(&self, all: &[Curve<'_>]) -> Option<HostsScaling> {
        let (fewest, first, first_cell) = *self.at.first()?;
        let base = self.value(first_cell) / f64::from(fewest);
        let steps: Vec<ScalingStep> = (self.at.windows(2))
            .map(|pair| step_between((pair[0].1, pair[0].0), (pair[1].1, pair[1].0), self.figure()).0)
            .collect();
        let points = self.at.iter().map(|(hosts, own, cell)| {
            let total = cell.total.as_ref().expect("cells without figures are left out");
            let is_later = *hosts != fewest;
            let ratio = if is_later { step_between((first, fewest), (own, *hosts), self.figure()).1 } else { None };
            let of_linear = |ratio: f64| ratio * f64::from(fewest) / f64::from(*hosts);
            HostsPoint {
                hosts: *hosts,
                cell: cell.id.clone(),
                iops: total.iops,
                throughput_bytes_per_s: total.throughput_bytes_per_s,
                iops_each: total.iops / f64::from(*hosts),
                efficiency: self.value(cell) / base / f64::from(*hosts),
                efficiency_low: ratio.as_ref().and_then(|ratio| ratio.low).map(of_linear),
                efficiency_high: ratio.as_ref().and_then(|ratio| ratio.high).map(of_linear),
                p99_ns: cell.hosts.as_ref().and_then(|view| view.hosts.iter().filter_map(|host| host.p99_ns).max()),
                jain_index: cell.hosts.as_ref().and_then(|view| view.jain_index),
                doubted: !cell.doubts.is_empty(),
            }
        });
        let points: Vec<HostsPoint> = points.collect();
        let (levels_off_at, clear) = levels_off(&steps);
        let seen = self.seen(all, &steps, levels_off_at, clear);
        let limit = HostsLimit::from(&seen);
        Some(HostsScaling {
            volume: self.volume.clone(),
            load: self.load.to_string(),
            figure: self.figure(),
            points,
            steps,
            levels_off_at,
            limit,
            clear: limit != HostsLimit::Unclear,
            seen,
            is_most: false,
        })
    }

    /// What the totals show.
    fn seen(&self, all: &[Curve<'_>], steps: &[ScalingStep], at: Option<u32>, clear: bool) -> HostsFact {
        let (own_first, own_last) = (&self.at[0], &self.at[self.at.len() - 1]);
        let (first, last) = (self.total(own_first), self.total(own_last));
        let offered = self.load.offered().map(|rate| rate.get() as f64);
        let is_kept = |point: &Point<'_>| {
            let asked = offered.map(|rate| rate * f64::from(point.0));
            asked.is_some_and(|asked| point.2.total.as_ref().is_some_and(|total| total.iops >= asked * KEPT))
        };
        let is_nearly_kept = |point: &Point<'_>| {
            let asked = offered.map(|rate| rate * f64::from(point.0));
            asked.is_none_or(|asked| point.2.total.as_ref().is_some_and(|total| total.iops >= asked * AS_GOOD_AS_KEPT))
        };
        if self.at.iter().all(is_kept) {
            return HostsFact::HostsHadAll { last, asked_each: self.asked_each() };
        }
        if let Some(short) = self.at.iter().find(|point| !is_nearly_kept(point)).filter(|_| is_kept(own_first)) {
            let kept = self.at.iter().take_while(|point| point.0 < short.0).last().unwrap_or(short);
            return HostsFact::HostsFellShort {
                asked_each: self.asked_each(),
                most: self.rate(self.most(0)),
                kept: self.total(kept),
                short: self.total(short),
                last,
            };
        }
        let alone = self.value(own_first.2);
        let efficiency = self.value(own_last.2) / alone * f64::from(first.hosts) / f64::from(last.hosts);
        match at {
            _ if !clear => HostsFact::HostsUnclear { last },
            Some(at) => self.levels_off(at, steps),
            None if efficiency >= ADDS_UP => {
                let in_flight = |(in_flight, value)| InFlightRate { in_flight, rate: self.rate(value) };
                HostsFact::HostsAddUp {
                    first,
                    last,
                    efficiency,
                    level: self.levelled(all).map(|two| two.map(in_flight)),
                }
            }
            None => HostsFact::HostsHaveLess { first, last, efficiency },
        }
    }

    /// More than `at` hosts bring no more.
    fn levels_off(&self, at: u32, steps: &[ScalingStep]) -> HostsFact {
        let own = self.at.iter().find(|point| point.0 >= at).map_or(0.0, |point| self.value(point.2));
        let most = self.most(at);
        let beyond = steps.iter().filter(|step| step.from >= at);
        let gains = beyond.map(|step| HostsGain {
            hosts_more: step.to - step.from,
            share: step.share,
            share_low: step.share_low,
            share_high: step.share_high,
        });
        HostsFact::HostsLevelOff {
            at: HostsTotal { hosts: at, total: self.rate(own) },
            most: self.rate(most),
            has_all: own >= most * ALL_OF_IT,
            first: self.total(&self.at[0]),
            last: self.total(&self.at[self.at.len() - 1]),
            gains: gains.collect(),
        }
    }

    fn asked_each(&self) -> Rate {
        let rate = self.load.offered().map_or(0.0, |rate| rate.get() as f64);
        let bytes = self.load.block_mean().get() as f64;
        self.rate(if self.figure() == Figure::Throughput { rate * bytes } else { rate })
    }

    /// This load and the same with half or twice as many requests in flight or more, the shallower first, if the fewest hosts have as
    /// much with both.
    fn levelled(&self, all: &[Curve<'_>]) -> Option<[(u64, f64); 2]> {
        let at_fewest = |curve: &Curve<'_>| Some((curve.load.outstanding()?, curve.value(curve.at[0].2)));
        let own = at_fewest(self)?;
        let is_like = |other: &&Curve<'_>| {
            let is_there = other.volume == self.volume && other.at[0].0 == self.at[0].0;
            is_there && load_at_depth_of(&other.load, &self.load) == self.load
        };
        let pairs = all
            .iter()
            .filter(is_like)
            .filter_map(at_fewest)
            .map(|other| if other.0 < own.0 { [other, own] } else { [own, other] });
        let apart = pairs.filter(|[shallow, deep]| shallow.0 * 2 <= deep.0);
        apart.min_by_key(|[shallow, deep]| deep.0 / shallow.0).filter(|[shallow, deep]| deep.1 < shallow.1 * LEVEL)
    }
}

/// A load with the queue depth and the threads of another.
fn load_at_depth_of(load: &LoadSpec, other: &LoadSpec) -> LoadSpec {
    LoadSpec { arrival: other.arrival.clone(), threads: other.threads, ..load.clone() }
}

/// Marks the load of each kind on each volume that reaches most with the most hosts.
fn mark_most(all: &mut [HostsScaling], curves: &[Curve<'_>]) {
    let key = |index: usize| (&curves[index].volume, curves[index].load.reads, all[index].figure);
    let value = |index: usize| {
        let last = &all[index].points[all[index].points.len() - 1];
        if all[index].figure == Figure::Throughput { last.throughput_bytes_per_s } else { last.iops }
    };
    let is_most: Vec<bool> = (0..all.len())
        .map(|own| {
            let others = (0..all.len()).filter(|other| *other != own && key(*other) == key(own));
            others.into_iter().all(|other| value(own) > value(other) || (value(own) >= value(other) && own < other))
        })
        .collect();
    for (scaling, is_most) in all.iter_mut().zip(is_most) {
        scaling.is_most = is_most;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{ExampleDisk, cell, closed, open, planned, run};
    use crate::hosts::{HostRun, MergeError, merge_hosts, name_on_hosts};
    use crate::{Holder, LoadReached, RunSummary, summarize};
    use loadline_record::{HostPart, HostRank, LoadFigures, RunVerb};

    /// Storage that gives so many requests per second to all, and hosts that take so many each.
    #[derive(Clone, Copy)]
    struct Setting {
        storage: f64,
        host: f64,
    }

    const BEGAN: u64 = 1_800_000_000_000_000_000;

    /// The run of one rank, with the loads once for each step in which it takes part.
    fn of_rank(rank: HostRank, steps: &[u32], setting: Setting, loads: &[LoadFigures]) -> HostRun {
        let part = HostPart { rank: Some(rank), steps: steps.to_vec(), own_range: false };
        let cells = part.own_steps().flat_map(|hosts| {
            loads.iter().enumerate().map(move |(place, load)| {
                let iops = setting.host.min(setting.storage / f64::from(hosts));
                let disk = ExampleDisk { iops, bytes_per_s: 1e12, ..ExampleDisk::default() };
                let scatter = [1.0, 1.004, 0.997].map(|factor| factor + f64::from(rank.rank) * 1e-4);
                let mut cell = cell(load.clone(), &disk, &scatter);
                let name = name_on_hosts(hosts, None);
                cell.load = LoadSpec { name: Some(name.clone()), ..planned(load) }.into();
                cell.label = format!("{name}: {}", cell.label);
                cell.id = format!("{hosts}-{place}");
                for (trial, number) in cell.trials.iter_mut().zip(0..) {
                    trial.measured_from_unix_ns = Some(BEGAN + number * 100_000_000_000);
                }
                cell
            })
        });
        let mut record = run(cells.collect());
        record.header.verb = RunVerb::Run;
        record.header.id = format!("run-{}", rank.rank);
        record.header.host.boot_id = Some("one".to_owned());
        record.header.settings = serde_json::json!({ "hosts": part });
        HostRun::new(format!("node{}", rank.rank), record)
    }

    fn runs(steps: &[u32], setting: Setting, loads: &[LoadFigures]) -> Vec<HostRun> {
        let of = *steps.last().unwrap();
        (0..of).map(|rank| of_rank(HostRank { rank, of }, steps, setting, loads)).collect()
    }

    fn summary(runs: &[HostRun]) -> RunSummary {
        let mut record = runs[0].record.clone();
        record.header.verb = RunVerb::Merge;
        record.cells = merge_hosts(runs).unwrap();
        summarize(&record)
    }

    /// The load that reaches most.
    fn most(setting: Setting, loads: &[LoadFigures]) -> (HostsScaling, RunSummary) {
        let summary = summary(&runs(&[1, 2, 4, 8], setting, loads));
        let scaling = summary.hosts_scaling.iter().find(|scaling| scaling.is_most).unwrap().clone();
        (scaling, summary)
    }

    fn depths(depths: &[u32]) -> Vec<LoadFigures> {
        depths.iter().map(|depth| closed("random", 1.0, 4 << 10, *depth)).collect()
    }

    #[test]
    fn a_storage_that_four_hosts_exhaust_is_told_from_the_hosts() {
        let (scaling, summary) = most(Setting { storage: 8_000.0, host: 2_000.0 }, &depths(&[8, 32]));
        assert_eq!((scaling.limit, scaling.levels_off_at, scaling.clear), (HostsLimit::Shared, Some(4), true));
        let HostsFact::HostsLevelOff { at, has_all: true, first, last, gains, .. } = &scaling.seen else {
            panic!("{scaling:?}")
        };
        assert_eq!([first.hosts, at.hosts, last.hosts], [1, 4, 8]);
        assert_eq!(gains.iter().map(|gain| gain.hosts_more).collect::<Vec<_>>(), [4]);
        let each: Vec<f64> = scaling.points.iter().map(|point| (point.iops_each / 100.0).round()).collect();
        assert_eq!(each, [20.0, 20.0, 20.0, 10.0]);
        assert_eq!(summary.verdict.unwrap().volumes[0].held_by, Holder::Hosts { seen: scaling.seen.clone() });
        // The cells by themselves have no limit: latency, and room for more requests.
        let conclusion = &summary.conclusions[0];
        assert!(
            matches!(&conclusion.reached, LoadReached::Hosts { seen, .. } if *seen == scaling.seen),
            "{conclusion:?}"
        );
        assert_eq!((conclusion.limit, conclusion.steps.len()), (None, 0));
        let finding = summary.findings.iter().find(|finding| finding.code == crate::FindingCode::HostsScaling).unwrap();
        assert_eq!(finding.cells.len(), 4);
    }

    #[test]
    fn one_host_that_takes_all_leaves_nothing_for_others() {
        let (scaling, _) = most(Setting { storage: 3_000.0, host: 9_000.0 }, &depths(&[32]));
        assert_eq!((scaling.limit, scaling.levels_off_at), (HostsLimit::Shared, Some(1)));
        assert!(matches!(scaling.seen, HostsFact::HostsLevelOff { has_all: true, .. }), "{scaling:?}");
    }

    #[test]
    fn hosts_that_have_levelled_off_and_add_up_have_limits_of_their_own() {
        let setting = Setting { storage: 1e9, host: 2_000.0 };
        let (scaling, _) = most(setting, &depths(&[8, 32]));
        assert_eq!((scaling.limit, scaling.levels_off_at), (HostsLimit::EachHost, None));
        let HostsFact::HostsAddUp { level: Some([shallow, deep]), .. } = scaling.seen else { panic!("{scaling:?}") };
        assert_eq!([shallow.in_flight, deep.in_flight], [8, 32]);
        // With one depth alone it is not known whether a host could have more.
        assert_eq!(most(setting, &depths(&[32])).0.limit, HostsLimit::NotReached);
        // A host that has more with a deeper queue has not reached its limit.
        assert_eq!(most(Setting { storage: 1e9, host: 1e9 }, &depths(&[8, 32])).0.limit, HostsLimit::NotReached);
    }

    #[test]
    fn arrivals_that_all_come_back_reach_no_limit_and_those_that_do_not_reach_the_storages() {
        let offered = [open("random", 1.0, 4 << 10, 1_000.0)];
        assert_eq!(most(Setting { storage: 9_000.0, host: 2_000.0 }, &offered).0.limit, HostsLimit::Arrival);
        let (scaling, _) = most(Setting { storage: 2_000.0, host: 2_000.0 }, &offered);
        assert_eq!((scaling.limit, scaling.levels_off_at), (HostsLimit::Shared, Some(2)));
        let HostsFact::HostsFellShort { kept, last, .. } = &scaling.seen else { panic!("{scaling:?}") };
        assert_eq!([kept.hosts, last.hosts], [2, 8]);
        let (scaling, _) = most(Setting { storage: 3_000.0, host: 2_000.0 }, &offered);
        assert!(matches!(&scaling.seen, HostsFact::HostsFellShort { kept, .. } if kept.hosts == 2), "{scaling:?}");
    }

    #[test]
    fn a_host_of_a_step_without_a_run_is_named() {
        let mut runs = runs(&[1, 2, 4], Setting { storage: 8_000.0, host: 2_000.0 }, &depths(&[8]));
        runs.remove(2);
        let merged = merge_hosts(&runs).unwrap();
        let missing = |cell: usize| merged[cell].trials[0].hosts.as_ref().unwrap().missing.clone();
        assert_eq!((missing(0), missing(1), missing(2)), (vec![], vec![], vec!["rank 2".to_owned()]));
        assert_eq!(merged[2].label, "each of 4 hosts: random read 4 KiB, depth 8");
    }

    #[test]
    fn runs_of_other_steps_and_two_of_one_rank_are_refused() {
        let setting = Setting { storage: 8_000.0, host: 2_000.0 };
        let all = runs(&[1, 2], setting, &depths(&[8]));
        let other = of_rank(HostRank { rank: 1, of: 2 }, &[2], setting, &depths(&[8]));
        let refused = merge_hosts(&[all[0].clone(), other]);
        assert!(matches!(refused, Err(MergeError::OtherPart { .. })), "{refused:?}");
        let mut twice = all[0].clone();
        (twice.host, twice.record.header.id) = ("other".to_owned(), "other".to_owned());
        assert!(matches!(merge_hosts(&[all[0].clone(), twice]), Err(MergeError::RankTwice { .. })));
        let deeper = of_rank(HostRank { rank: 1, of: 2 }, &[1, 2], setting, &depths(&[16]));
        assert!(matches!(merge_hosts(&[all[0].clone(), deeper]), Err(MergeError::OtherPlan { .. })));
    }

    #[test]
    fn parts_of_a_range_are_merged_as_the_whole() {
        let part = |rank: u32| {
            let mut run = of_rank(HostRank { rank, of: 2 }, &[], Setting { storage: 4e3, host: 2e3 }, &[]);
            let mut own = cell(closed("random", 1.0, 4 << 10, 8), &ExampleDisk::default(), &[1.0]);
            let spec = planned(&own.load.figures());
            let size = loadline_units::Bytes::mib(8);
            own.load = LoadSpec { start: size * u64::from(rank), size: Some(size), ..spec }.into();
            run.record.header.settings["hosts"]["own_range"] = true.into();
            run.record.cells = vec![own];
            run
        };
        let merged = merge_hosts(&[part(0), part(1)]).unwrap();
        let spec = merged[0].load.spec().unwrap();
        assert_eq!((spec.start, spec.size), (loadline_units::Bytes::ZERO, Some(loadline_units::Bytes::mib(16))));
    }
}
