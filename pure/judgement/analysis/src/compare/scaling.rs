//! How rates grow with the number of disks: against linear, cell by cell, and where the most that is reached levels off.

use super::comparison::Verdict;
use super::figure::{Figure, RatioEstimate};
use super::ratio::{LogRatio, Rounds};
use super::sample::Sample;
use super::scaling_figures::{Gain, Scaling, ScalingCell, ScalingPoint, ScalingStep, ScalingTotal};
use super::{Pairing, rate_is_asked_for, spoiled};
use loadline_block::Operation;
use loadline_record::CellRecord;

/// A step that brings less than this share of linear scaling does not pay: more disks are more of a price than
/// of a gain.
const STEP_PAYS: f64 = 0.5;
/// What a load's operations are called, and in which order they are told.
const KINDS: [&str; 3] = ["read", "write", "mixed"];

/// The scaling of sides with so many `disks` each, whose verdicts are there.
pub(super) fn scaling(disks: &[u32], pairings: &[Pairing<'_>]) -> Scaling {
    let rows = rows(pairings);
    let cells = rows.iter().map(|row| scaling_cell(row, disks, pairings)).collect();
    let overall = pairings
        .iter()
        .filter_map(|pairing| {
            let overall = pairing.against.overall.iter().find(|o| o.figure == Figure::Rate)?;
            Some(point(disks, pairing, overall.ratio?, overall.low, overall.high, overall.verdict))
        })
        .collect();
    let complete: Vec<&Row<'_>> = rows.iter().filter(|row| row.places.iter().all(Option::is_some)).collect();
    let mut totals = Vec::new();
    for kind in KINDS {
        for figure in [Figure::Throughput, Figure::Rate] {
            if let Some(total) = total(kind, figure, &complete, disks, pairings)
                && !totals.iter().any(|t: &ScalingTotal| t.operations == kind && t.label == total.label)
            {
                totals.push(total);
            }
        }
    }
    Scaling { disks: disks.to_vec(), cells, overall, totals }
}

/// A closed loop of the baseline, and its place among the cells of each other side.
struct Row<'a> {
    baseline: &'a CellRecord,
    places: Vec<Option<usize>>,
}

fn rows<'a>(pairings: &[Pairing<'a>]) -> Vec<Row<'a>> {
    let mut rows: Vec<Row<'a>> = Vec::new();
    for (side, pairing) in pairings.iter().enumerate() {
        for (place, (baseline, _)) in pairing.cells.iter().enumerate() {
            if rate_is_asked_for(baseline) {
                continue;
            }
            let known = rows.iter().position(|row| std::ptr::eq(row.baseline, *baseline));
            let row = known.unwrap_or_else(|| {
                rows.push(Row { baseline, places: vec![None; pairings.len()] });
                rows.len() - 1
            });
            rows[row].places[side] = Some(place);
        }
    }
    rows
}

impl<'a> Row<'a> {
    /// Its cell on each side, the baseline first.
    fn records(&self, pairings: &[Pairing<'a>]) -> Vec<Option<&'a CellRecord>> {
        let others = self.places.iter().zip(pairings).map(|(place, p)| place.map(|place| p.cells[place].1));
        std::iter::once(Some(self.baseline)).chain(others).collect()
    }
    fn doubted(&self, pairings: &[Pairing<'_>]) -> bool {
        self.places.iter().zip(pairings).any(|(place, p)| place.is_some_and(|place| spoiled(&p.against.cells[place])))
    }
}

fn scaling_cell(row: &Row<'_>, disks: &[u32], pairings: &[Pairing<'_>]) -> ScalingCell {
    let points = row.places.iter().zip(pairings).filter_map(|(place, pairing)| {
        let cell = &pairing.against.cells[(*place)?];
        let rate = cell.of(Figure::Rate)?;
        Some(point(disks, pairing, rate.ratio, rate.low, rate.high, cell.verdict))
    });
    ScalingCell {
        baseline_id: row.baseline.id.clone(),
        label: row.baseline.label.clone(),
        iops: row.records(pairings).into_iter().map(|r| Some(Sample::of(r?, Figure::Rate).ok()?.figure())).collect(),
        points: points.collect(),
        doubted: row.doubted(pairings),
    }
}

fn point(
    disks: &[u32],
    pairing: &Pairing<'_>,
    ratio: f64,
    low: Option<f64>,
    high: Option<f64>,
    verdict: Verdict,
) -> ScalingPoint {
    let of_side = disks[pairing.against.side as usize];
    let linear = f64::from(of_side) / f64::from(disks[0]);
    ScalingPoint {
        disks: of_side,
        ratio,
        efficiency: ratio / linear,
        efficiency_low: low.map(|l| l / linear),
        efficiency_high: high.map(|h| h / linear),
        gain: match verdict {
            Verdict::Better => Gain::Gains,
            Verdict::Worse => Gain::Loses,
            Verdict::Same => Gain::Unchanged,
            Verdict::CannotTell => Gain::CannotTell,
        },
    }
}

fn kind_of(cell: &CellRecord) -> Option<&'static str> {
    let occurs = |operation| cell.trials.iter().any(|t| t.of(operation).is_some());
    match (occurs(Operation::Read), occurs(Operation::Write), occurs(Operation::Trim)) {
        (true, false, false) => Some("read"),
        (false, true, false) => Some("write"),
        (true, true, false) => Some("mixed"),
        _ => None,
    }
}

/// The cell of this kind that reaches most with the most disks, followed from side to side. Choosing the best cell of each side
/// anew would choose luck.
fn total(
    kind: &str,
    figure: Figure,
    rows: &[&Row<'_>],
    disks: &[u32],
    pairings: &[Pairing<'_>],
) -> Option<ScalingTotal> {
    let candidates: Vec<(&Row<'_>, Vec<Sample>)> = rows
        .iter()
        .filter(|row| kind_of(row.baseline) == Some(kind))
        .filter_map(|row| {
            let samples: Option<Vec<Sample>> =
                row.records(pairings).into_iter().map(|r| Sample::of(r?, figure).ok()).collect();
            Some((*row, samples?))
        })
        .collect();
    let doubted = candidates.iter().filter(|(row, _)| row.doubted(pairings)).count();
    let any_undoubted = doubted < candidates.len();
    let (row, samples) = candidates
        .iter()
        .filter(|(row, _)| !any_undoubted || !row.doubted(pairings))
        .max_by(|(_, a), (_, b)| a[a.len() - 1].figure().total_cmp(&b[b.len() - 1].figure()))?;
    let steps: Vec<ScalingStep> =
        (1..disks.len()).map(|to| step(&samples[to - 1], &samples[to], disks[to - 1], disks[to], pairings)).collect();
    let (levels_off_at, clear) = levels_off(&steps);
    Some(ScalingTotal {
        operations: kind.to_owned(),
        figure,
        label: row.baseline.label.clone(),
        values: samples.iter().map(Sample::figure).collect(),
        steps,
        levels_off_at,
        clear,
        doubted_left_out: if any_undoubted { doubted as u32 } else { 0 },
        doubted: !any_undoubted,
    })
}

fn step(before: &Sample, after: &Sample, from: u32, to: u32, pairings: &[Pairing<'_>]) -> ScalingStep {
    let shared = pairings.iter().all(|p| p.rounds == Rounds::Shared);
    let rounds = if shared { Rounds::Shared } else { Rounds::Apart };
    step_of(LogRatio::of(before, after, rounds), from, to)
}

/// The gain from one cell of a run to another with more disks or hosts, and the ratio of their figures if both have them.
pub(crate) fn step_between(
    (before, from): (&CellRecord, u32),
    (after, to): (&CellRecord, u32),
    figure: Figure,
) -> (ScalingStep, Option<RatioEstimate>) {
    match (Sample::of(before, figure), Sample::of(after, figure)) {
        (Ok(before), Ok(after)) => {
            let ratio = LogRatio::of(&before, &after, Rounds::Shared);
            (step_of(ratio, from, to), Some(ratio.estimate(figure, &before, &after)))
        }
        _ => (ScalingStep { from, to, share: 0.0, share_low: None, share_high: None }, None),
    }
}

fn step_of(ratio: LogRatio, from: u32, to: u32) -> ScalingStep {
    let wanted = f64::from(to) / f64::from(from) - 1.0;
    let share = |ratio: f64| (ratio - 1.0) / wanted;
    ScalingStep {
        from,
        to,
        share: share(libm::exp(ratio.log)),
        share_low: ratio.low().map(share),
        share_high: ratio.high().map(share),
    }
}

/// The number of disks beyond which no step pays, and whether the intervals say so too; where the last step pays, whether its interval
/// does.
pub(crate) fn levels_off(steps: &[ScalingStep]) -> (Option<u32>, bool) {
    let flat = steps.iter().rev().take_while(|s| s.share < STEP_PAYS).count();
    let tail = &steps[steps.len() - flat..];
    let Some(first) = tail.first() else {
        return (None, steps.last().is_some_and(|s| s.share_low.is_some_and(|low| low >= STEP_PAYS)));
    };
    let clear = tail.iter().all(|s| s.share_high.is_some_and(|high| high < STEP_PAYS));
    (Some(first.from), clear)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_interval_of_the_last_step_leaves_open_is_not_told_as_certain() {
        let step = |share, low, high| ScalingStep { from: 1, to: 2, share, share_low: low, share_high: high };
        assert_eq!(levels_off(&[step(0.95, Some(0.9), Some(1.0))]), (None, true));
        assert_eq!(levels_off(&[step(0.95, Some(-0.04), Some(2.93))]), (None, false));
        assert_eq!(levels_off(&[step(0.95, None, None)]), (None, false));
        assert_eq!(levels_off(&[step(0.1, Some(0.05), Some(0.2))]), (Some(1), true));
        assert_eq!(levels_off(&[step(0.1, Some(-0.5), Some(0.7))]), (Some(1), false));
    }
}
