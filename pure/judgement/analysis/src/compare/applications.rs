//! Applications that set their own pace, beside each other: runs of `watch`, of `record` and of emulations.
//!
//! What an application does in a second follows from the storage and from what it had to do. So the rate of requests alone decides
//! nothing: what the application counts does, and else rate and waiting together, where the work was alike.

use super::application_side::ApplicationSide;
use super::asked::Asked;
use super::comparison::{Against, Counts, Overall, Verdict};
use super::figure::{Figure, FigureValue, RatioEstimate};
use super::indecision::Undecided;
use super::{CompareError, CompareOptions, Side};
use crate::summarize;
use crate::summary::{CellSummary, TotalFigures};
use crate::watching::waited;
use loadline_record::{CellRecord, RunVerb};

/// Requests are of another kind of work if their shares of reads differ by this.
const SHARE_APART: f64 = 0.15;
/// Or if their mean sizes do by this factor.
const BYTES_FACTOR: f64 = 1.5;
/// A request's wait that changes by less than this is the same: its error is not known.
const WAIT_MARGIN: f64 = 0.1;

/// The cell of each side that stands for it.
pub(super) struct Applications<'a> {
    pub(super) sides: Vec<ApplicationSide>,
    pub(super) cells: Vec<&'a CellRecord>,
}

impl<'a> Applications<'a> {
    /// `None`: a side is no such run, or asked for nothing.
    pub(super) fn of(sides: &[Side<'a>], options: &CompareOptions) -> Result<Option<Self>, CompareError> {
        let found: Option<Vec<(ApplicationSide, &CellRecord)>> =
            (0..).zip(sides).map(|(place, side)| of_side(place, side)).collect();
        let counted = options.counted.len();
        let Some(found) = found else {
            return if counted == 0 { Ok(None) } else { Err(CompareError::CountedOfPlans) };
        };
        if counted != 0 && counted != sides.len() {
            return Err(CompareError::Counted { given: counted, sides: sides.len() });
        }
        let (mut sides, cells): (Vec<_>, Vec<_>) = found.into_iter().unzip();
        for (side, per_s) in sides.iter_mut().zip(&options.counted) {
            side.counted_per_s = Some(*per_s);
        }
        Ok(Some(Self { sides, cells }))
    }

    /// Replaces what the requests alone came to, but for a figure that was asked for.
    pub(super) fn judge(&self, against: &mut Against, options: &CompareOptions) {
        let (base, other) = (&self.sides[0], &self.sides[against.side as usize]);
        let (Some(cell), Some(overall)) = (against.cells.first_mut(), against.overall.first_mut()) else { return };
        if let (Some(from), Some(to)) = (base.counted_per_s, other.counted_per_s) {
            let figure = Figure::Counted;
            let ratio = to / from;
            cell.figure = figure;
            cell.baseline_figures.push(FigureValue { figure, value: from });
            cell.other_figures.push(FigureValue { figure, value: to });
            (cell.baseline_figure, cell.other_figure) = (Some(from), Some(to));
            let (low, high, basis) = (None, None, None);
            cell.ratios.push(RatioEstimate { figure, baseline: from, other: to, ratio, low, high, basis });
            (cell.p_value, cell.p_adjusted, cell.p_same) = (None, None, None);
            let verdict = of_change(ratio, options.margin.as_f64());
            (cell.verdict, cell.undecided, cell.in_overall) = (verdict, None, true);
            *overall = Overall { figure, cells: 1, ratio: Some(ratio), verdict, ..Overall::open(figure) };
        } else if overall.cells > 0 && options.figure.is_none() {
            let (verdict, undecided) = judged(cell.verdict, cell.undecided, base, other);
            (cell.verdict, cell.undecided) = (verdict, undecided);
            (overall.verdict, overall.undecided) = (verdict, undecided);
        }
        overall.counts = Counts::default();
        overall.counts.add(cell.verdict);
    }
}

/// What a figure of which more is better comes to.
fn of_change(ratio: f64, margin: f64) -> Verdict {
    match ratio {
        more if more > 1.0 + margin => Verdict::Better,
        less if less < 1.0 / (1.0 + margin) => Verdict::Worse,
        _ => Verdict::Same,
    }
}

/// What rate and waiting come to together.
fn judged(
    rate: Verdict,
    undecided: Option<Undecided>,
    base: &ApplicationSide,
    other: &ApplicationSide,
) -> (Verdict, Option<Undecided>) {
    let factor = base.mean_bytes.max(other.mean_bytes) / base.mean_bytes.min(other.mean_bytes);
    if (base.read_share - other.read_share).abs() >= SHARE_APART || factor >= BYTES_FACTOR {
        return (Verdict::CannotTell, Some(Undecided::OtherWork));
    }
    // A longer wait is the worse one.
    let wait = of_change(base.waits_ns / other.waits_ns, WAIT_MARGIN);
    match (rate, wait) {
        (Verdict::Better, Verdict::Worse) => (Verdict::CannotTell, Some(Undecided::AskedMore)),
        (Verdict::Worse, Verdict::Better | Verdict::Same) => (Verdict::CannotTell, Some(Undecided::AskedLess)),
        (Verdict::Same, wait) => (wait, None),
        (rate, _) => (rate, undecided),
    }
}

/// What a read or write took in the mean.
fn mean_ns(of: &CellSummary) -> Option<f64> {
    let parts = [&of.read, &of.write].into_iter().flatten().filter(|part| part.iops > 0.0);
    let (time, rate) =
        parts.fold((0.0, 0.0), |(time, rate), part| (time + part.iops * part.latency_ns.mean, rate + part.iops));
    (time > 0.0).then(|| time / rate)
}

/// A run by the volume that was waited for most, or of an emulation by the one that was asked most.
fn of_side<'a>(place: u32, side: &Side<'a>) -> Option<(ApplicationSide, &'a CellRecord)> {
    let run = side.run;
    if !matches!(run.header.verb, RunVerb::Watch | RunVerb::Emulate) {
        return None;
    }
    let summary = summarize(run);
    let own = |volume: &str| side.volume.is_none_or(|name| name == volume);
    let asked = run.cells.iter().zip(&summary.cells).filter(|(cell, _)| own(&cell.volume)).filter_map(|(cell, of)| {
        let share = of.watch.as_ref().map(|watch| waited(&watch.causes).min(1.0));
        Some((cell, of, Asked::of(cell)?, share))
    });
    let asked: Vec<_> = asked.collect();
    let (cell, of, asks, share) = asked.iter().max_by(|(_, a, _, x), (_, b, _, y)| {
        let rate = |total: &Option<TotalFigures>| total.as_ref().map_or(0.0, |total| total.iops);
        x.unwrap_or(0.0).total_cmp(&y.unwrap_or(0.0)).then(rate(&a.total).total_cmp(&rate(&b.total)))
    })?;
    let above = of.watch.as_ref().and_then(|watch| watch.above_device.as_ref()?.application_ns);
    let verdict = summary.verdict.as_ref().and_then(|all| all.volumes.iter().find(|volume| volume.cell == of.id));
    let found = ApplicationSide {
        side: place,
        volume: of.volume.clone(),
        volumes_more: asked.len() as u32 - 1,
        iops: of.total.as_ref()?.iops,
        mean_bytes: asks.bytes,
        read_share: asks.read_share,
        waits_ns: above.or_else(|| mean_ns(of))?,
        is_whole_wait: above.is_some(),
        storage_share: *share,
        counted_per_s: None,
        held_by: verdict.map(|volume| volume.held_by.clone()),
    };
    Some((found, cell))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_that_follows_from_the_work_decides_nothing() {
        let side = |waits_ns: f64| ApplicationSide {
            side: 0,
            volume: "vda".to_owned(),
            volumes_more: 0,
            iops: 800.0,
            mean_bytes: 8192.0,
            read_share: 0.5,
            waits_ns,
            is_whole_wait: false,
            storage_share: None,
            counted_per_s: None,
            held_by: None,
        };
        let (longer, same, shorter) = (1.3e6, 1.05e6, 0.7e6);
        let cases = [
            (Verdict::Better, shorter, Verdict::Better, None),
            (Verdict::Better, same, Verdict::Better, None),
            (Verdict::Better, longer, Verdict::CannotTell, Some(Undecided::AskedMore)),
            (Verdict::Same, shorter, Verdict::Better, None),
            (Verdict::Same, same, Verdict::Same, None),
            (Verdict::Same, longer, Verdict::Worse, None),
            (Verdict::Worse, longer, Verdict::Worse, None),
            (Verdict::Worse, same, Verdict::CannotTell, Some(Undecided::AskedLess)),
            (Verdict::Worse, shorter, Verdict::CannotTell, Some(Undecided::AskedLess)),
        ];
        for (rate, waits_ns, verdict, why) in cases {
            assert_eq!(judged(rate, None, &side(1e6), &side(waits_ns)), (verdict, why), "{rate:?} {waits_ns}");
        }
        let open = Some(Undecided::WideInterval);
        assert_eq!(judged(Verdict::CannotTell, open, &side(1e6), &side(shorter)), (Verdict::CannotTell, open));
    }
}
