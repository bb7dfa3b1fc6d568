//! Findings of a watch: what the time of each device went to, who used it, and what faster storage would bring.

use crate::finding::{CeilingUse, DeviceMoves, EventsCost, Finding, FindingCode, FindingSeen, WatchSeen};
use crate::summary::{CauseShare, CellSummary, OperationFigures, ProgramFigures, WatchView};
use loadline_record::{Limit, RunRecord, WatchGain};

/// A cause with less of the time than this is not listed.
const LISTED_MIN: f64 = 0.01;
/// Programs that are listed.
const PROGRAMS_MAX: usize = 3;
/// Storage that is waited for longer than this leaves nothing to compare with.
const WAITED_ALWAYS: f64 = 0.95;
/// A program that moves more than this many times the bytes of its device moves some of them elsewhere.
const PART_MAX: f64 = 1.02;

/// Findings of a watch, the most important first.
pub(crate) fn findings(record: &RunRecord, cells: &[CellSummary]) -> Vec<Finding> {
    let watched = || cells.iter().filter_map(|cell| Some((cell, cell.watch.as_ref()?)));
    let mut found: Vec<Finding> = watched()
        .flat_map(|(cell, watch)| {
            of_device(cell, watch).into_iter().map(|(code, seen)| finding(code, seen, vec![cell.id.clone()]))
        })
        .collect();
    if let Some((_, watch)) = watched().next() {
        let all = record.cells.iter().map(|cell| cell.id.clone()).collect();
        found.push(finding(FindingCode::WatchedCost, cost(watch), all));
    }
    found
}

fn finding(code: FindingCode, seen: WatchSeen, cells: Vec<String>) -> Finding {
    Finding { code, volume: None, seen: FindingSeen::Watched(Box::new(seen)), cells }
}

fn of_device(cell: &CellSummary, watch: &WatchView) -> Vec<(FindingCode, WatchSeen)> {
    let device = || cell.volume.clone();
    let causes = watch.causes.iter().filter(|cause| cause.share >= LISTED_MIN).cloned().collect();
    let mut found = vec![(FindingCode::WatchedTime, WatchSeen::Time { device: device(), causes })];
    if let Some(wait) = watch.above_device.clone() {
        found.push((FindingCode::WatchedAboveDevice, WatchSeen::AboveDevice { device: device(), wait }));
    }
    if !watch.programs.is_empty() || watch.hidden.is_some() {
        let programs: Vec<ProgramFigures> = watch.programs.iter().take(PROGRAMS_MAX).cloned().collect();
        let device_moves = less_than_a_program(cell, &programs);
        let seen = WatchSeen::Programs { device: device(), programs, device_moves, hidden: watch.hidden };
        found.push((FindingCode::WatchedPrograms, seen));
    }
    if !watch.askers.is_empty() {
        let askers = watch.askers.iter().take(PROGRAMS_MAX).cloned().collect();
        found.push((FindingCode::WatchedRequests, WatchSeen::Requests { device: device(), askers }));
    }
    // A level has them in its evidence.
    let is_level = cell.binding.as_ref().is_some_and(|binding| binding.ceiling_iops.is_some());
    if let Some(clusters) = watch.clusters.filter(|_| !is_level) {
        found.push((FindingCode::WatchedClusters, WatchSeen::Clusters(clusters)));
    }
    let arrivals = WatchSeen::Arrivals { arrivals: watch.arrivals, in_flight: watch.outstanding };
    found.push((FindingCode::WatchedArrivals, arrivals));
    found.push((FindingCode::WatchedGain, WatchSeen::Gain { gain: watch.gain }));
    found.extend(limits(cell, watch).map(|seen| (FindingCode::WatchedLimits, seen)));
    found
}

fn cost(watch: &WatchView) -> WatchSeen {
    let events = watch.events_seen.map(|requests| EventsCost {
        cpu_share: watch.events_cpu_share.unwrap_or(0.0),
        requests,
        lost: watch.events_lost.unwrap_or(0),
    });
    WatchSeen::Cost { cpu_share: watch.watching_cpu_share, events }
}

/// What a device moves, where one of its programs moves more.
fn less_than_a_program(cell: &CellSummary, programs: &[ProgramFigures]) -> Option<DeviceMoves> {
    let of = |figures: &Option<OperationFigures>| figures.as_ref().map_or(0.0, |of| of.throughput_bytes_per_s);
    let (read_bytes_per_s, write_bytes_per_s) = (of(&cell.read), of(&cell.write));
    let is_larger = |program: &ProgramFigures| {
        program.read_bytes_per_s > read_bytes_per_s * PART_MAX
            || program.write_bytes_per_s > write_bytes_per_s * PART_MAX
    };
    programs.iter().any(is_larger).then_some(DeviceMoves { read_bytes_per_s, write_bytes_per_s })
}

/// How full known limits are; `None` where none is known.
fn limits(cell: &CellSummary, watch: &WatchView) -> Option<WatchSeen> {
    let iops = cell.total.as_ref().map_or(0.0, |total| total.iops);
    let ceilings = cell.ceilings.iter();
    let ceilings: Vec<CeilingUse> =
        ceilings.map(|ceiling| CeilingUse { limit: ceiling.limit, ceiling_iops: ceiling.iops, iops }).collect();
    let throttles = watch.throttles.clone();
    let is_known = !throttles.is_empty() || !ceilings.is_empty();
    is_known.then(|| WatchSeen::Limits { device: cell.volume.clone(), throttles, ceilings })
}

/// Whether a cause is storage, or a limit on it.
pub(super) const fn is_storage(limit: Option<Limit>) -> bool {
    !matches!(limit, Some(Limit::Arrival | Limit::Cpu | Limit::Cache))
}

/// The share of the time in which storage, or a limit on it, was waited for.
pub(crate) fn waited(causes: &[CauseShare]) -> f64 {
    causes.iter().filter(|cause| is_storage(cause.limit)).map(|cause| cause.share).sum()
}

/// What faster storage would bring.
pub(super) fn gain(outstanding: Option<f64>, causes: &[CauseShare], limit: Option<Limit>) -> WatchGain {
    match waited(causes) {
        waited if waited < LISTED_MIN => WatchGain::Nothing { asked: outstanding.is_some() },
        waited if waited <= WAITED_ALWAYS => WatchGain::AtMost { share_of_time: waited, times: 1.0 / (1.0 - waited) },
        waited => WatchGain::NotShown { share_of_time: waited, limit },
    }
}
