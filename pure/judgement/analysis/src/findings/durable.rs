//! How long it takes to make writes durable, against what etcd asks of its log disk.

use super::VolumeView;
use crate::doubts::REQUESTS_BEYOND_MIN;
use crate::finding::{Finding, FindingCode, FindingSeen, FlushRule};
use crate::summary::OperationFigures;
use crate::trials::trials_used;
use crate::words::doubts_of_rate;
use loadline_block::Operation;
use loadline_record::{CellRecord, OperationRecord, RunRecord};
use loadline_units::Duration;

/// Etcd's rule for the disk under its log: 99 % of fdatasync calls within 10 ms (etcd documentation, "Hardware recommendations").
const FLUSH_P99_NS_MAX: u64 = 10_000_000;
/// The share of them that may take longer.
const SLOW_MAX: f64 = 0.01;
/// So many flushes show it: as many as have ten beyond the 99th percentile. Fewer do where chance would hardly show as much.
const SHOWN_BY: u64 = REQUESTS_BEYOND_MIN * 100;
/// Fewer are no figure: a load that flushes once in ten thousand writes is not about flushes.
pub(crate) const FLUSHES_MIN: u64 = 10;
/// No less than this tells anything of one in a hundred.
const COUNT_MIN: u64 = 100;
/// That a disk at the very rule has so few slow flushes, or so many.
const BY_CHANCE: f64 = 0.05;

/// The slowest flushes, against etcd's rule: of cells with too few to tell only where no other tells.
pub(super) fn told(view: &VolumeView<'_>, record: &RunRecord) -> Option<Finding> {
    let flushing = view.own.iter().copied().filter_map(|i| {
        let flush = view.cells[i].flush.as_ref()?;
        let p99 = flush.latency_ns.p99?;
        let (count, slow) = counts(&record.cells[i], flush);
        if count < FLUSHES_MIN {
            return None;
        }
        Some((i, flush, p99, count, verdict(p99, count, slow)))
    });
    let (i, flush, p99_ns, calls, rule) =
        flushing.max_by_key(|(_, _, p99, _, rule)| (*rule != FlushRule::CannotTell, *p99))?;
    let seen = FindingSeen::FlushLatency {
        mean_ns: flush.latency_ns.mean,
        half_ns: view.half_of(i, flush),
        p99_ns,
        max_ns: flush.latency_ns.max,
        calls,
        rule,
        is_few: calls < SHOWN_BY,
        doubts: doubts_of_rate(&view.cells[i]),
    };
    Some(view.finding(FindingCode::FlushLatency, seen, &[i]))
}

/// The flushes of a cell, and how many of them took longer than the rule allows, as far as that is known.
fn counts(cell: &CellRecord, flush: &OperationFigures) -> (u64, Option<u64>) {
    let all = flushing(cell);
    let count = flushes(cell);
    if flush.latency_ns.max <= FLUSH_P99_NS_MAX {
        return (count, Some(0));
    }
    let slow = |record: &&OperationRecord| {
        let share = record.latency.share_above(Duration::from_ns(FLUSH_P99_NS_MAX));
        record.told.is_none().then(|| libm::round(share * record.latency.count() as f64) as u64)
    };
    (count, all.iter().map(slow).sum())
}

/// How many flushes the figures of a cell rest on.
pub(crate) fn flushes(cell: &CellRecord) -> u64 {
    flushing(cell).iter().map(|record| record.figures_count()).sum()
}

fn flushing(cell: &CellRecord) -> Vec<&OperationRecord> {
    trials_used(cell).into_iter().filter_map(|trial| trial.of(Operation::Flush)).collect()
}

fn verdict(p99: u64, count: u64, slow: Option<u64>) -> FlushRule {
    let seen = if p99 <= FLUSH_P99_NS_MAX { FlushRule::Within } else { FlushRule::Beyond };
    if count >= SHOWN_BY {
        return seen;
    }
    let Some(slow) = slow.filter(|_| count >= COUNT_MIN) else { return FlushRule::CannotTell };
    let by_chance = match seen {
        FlushRule::Within => at_most(slow, count),
        _ => slow.checked_sub(1).map_or(1.0, |fewer| 1.0 - at_most(fewer, count)),
    };
    if by_chance <= BY_CHANCE { seen } else { FlushRule::CannotTell }
}

/// The probability that at most so many of `count` are slow where each is with the share that the rule allows (binomial).
fn at_most(slow: u64, count: u64) -> f64 {
    let odds = SLOW_MAX / (1.0 - SLOW_MAX);
    let none = libm::pow(1.0 - SLOW_MAX, count as f64);
    let terms = (0..slow.min(count)).scan(none, |term, k| {
        *term *= odds * (count - k) as f64 / (k + 1) as f64;
        Some(*term)
    });
    none + terms.sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::{at_most, verdict};
    use crate::example::{ExampleDisk, flushing as flushing_cell, latencies, run};
    use crate::{FindingCode, FindingSeen, FlushRule};
    use crate::{RunSummary, VerdictSubject, summarize};
    use loadline_block::Operation;
    use loadline_record::CellRecord;

    /// A cell with so many flushes that take so long on average, and at most 1.4 times that, ns.
    fn with(flushes: u64, mean_ns: f64) -> CellRecord {
        let mut cell = flushing_cell(&ExampleDisk::default());
        let of = cell.trials[0].operations.get_mut(&Operation::Flush).unwrap();
        (of.count, of.latency) = (flushes, latencies(flushes, mean_ns));
        cell
    }
    fn rule(cells: Vec<CellRecord>) -> (FlushRule, bool, u64) {
        let found = summarize(&run(cells)).findings.into_iter().find(|f| f.code == FindingCode::FlushLatency);
        let FindingSeen::FlushLatency { rule, is_few, calls, .. } = found.unwrap().seen else { panic!("flushes") };
        (rule, is_few, calls)
    }

    fn has_durable_figure(summary: &RunSummary) -> bool {
        let volumes = summary.verdict.iter().flat_map(|verdict| &verdict.volumes);
        volumes.flat_map(|volume| &volume.gives).any(|figure| figure.what == VerdictSubject::DurableWrite)
    }

    #[test]
    fn a_dozen_flushes_tell_nothing_of_one_in_a_hundred_and_a_few_nothing_at_all() {
        assert_eq!(rule(vec![with(12, 2.2e6)]), (FlushRule::CannotTell, true, 12));
        for few in [1, 9] {
            let summary = summarize(&run(vec![with(few, 40e6)]));
            assert!(
                summary.findings.iter().all(|found| found.code != FindingCode::FlushLatency),
                "{:?}",
                summary.findings
            );
            assert!(!has_durable_figure(&summary));
        }
        // None of 298 beyond may be chance where one in a hundred is; of 299 that is one in twenty.
        assert!(has_durable_figure(&summarize(&run(vec![with(12, 2.2e6)]))));
        assert_eq!(rule(vec![with(298, 2.2e6)]).0, FlushRule::CannotTell);
        assert_eq!(rule(vec![with(299, 2.2e6)]), (FlushRule::Within, true, 299));
        assert_eq!(rule(vec![with(1_000, 2.2e6)]), (FlushRule::Within, false, 1_000));
        assert_eq!(rule(vec![with(100, 40e6)]).0, FlushRule::Beyond);
    }

    #[test]
    fn who_has_enough_flushes_tells_before_who_has_slower_ones() {
        assert_eq!(rule(vec![with(12, 40e6), with(5_000, 2.2e6)]), (FlushRule::Within, false, 5_000));
    }

    #[test]
    fn a_share_of_slow_flushes_is_judged_by_chance() {
        assert!((at_most(0, 299) - 0.049_5).abs() < 1e-4 && (at_most(5, 5) - 1.0).abs() < 1e-12);
        assert_eq!(verdict(12_000_000, 500, Some(6)), FlushRule::CannotTell);
        assert_eq!(verdict(12_000_000, 500, Some(11)), FlushRule::Beyond);
        assert_eq!(verdict(9_000_000, 500, Some(4)), FlushRule::CannotTell);
        assert_eq!(verdict(12_000_000, 500, None), FlushRule::CannotTell);
    }
}
