//! Predictions differ by draws of what their models are uncertain about: what a ratio comes to over them, and which verdicts they bear out.

use super::comparison::{DrawRange, Verdict};
use super::figure::Figure;
use super::indecision::Undecided;
use super::sample::value;
use crate::statistics::mean;
use crate::trials::trials_counted;
use loadline_record::{CellRecord, DrawTaken, VolumeFacts};

/// The logarithm of a figure in each draw; what was measured has one, without a draw.
fn levels(cell: &CellRecord, figure: Figure) -> Vec<(Option<DrawTaken>, f64)> {
    let mut all: Vec<(Option<DrawTaken>, Vec<f64>)> = Vec::new();
    for trial in trials_counted(cell) {
        let Ok(figure) = value(trial, figure) else { continue };
        let draw = trial.model.as_ref().map(|model| model.draw);
        match all.iter_mut().find(|(known, _)| *known == draw) {
            Some((_, logs)) => logs.push(libm::log(figure)),
            None => all.push((draw, vec![libm::log(figure)])),
        }
    }
    all.into_iter().filter_map(|(draw, logs)| Some((draw, mean(&logs)?))).collect()
}

/// What the ratio of a figure comes to over the draws; `None` where neither side has several. Draws of the same disks go together, each
/// with its like, since a disk that turns out slower does so on both sides; others may come out in any combination.
pub(super) fn over_draws(
    baseline: &CellRecord,
    other: &CellRecord,
    figure: Figure,
    same_disks: bool,
) -> Option<DrawRange> {
    let (from, to) = (levels(baseline, figure), levels(other, figure));
    if from.is_empty() || to.is_empty() || (from.len() < 2 && to.len() < 2) {
        return None;
    }
    let like = |(draw, to): &(Option<DrawTaken>, f64)| {
        let (_, from) = from.iter().find(|(own, _)| draw.is_some() && own == draw)?;
        Some(to - from)
    };
    let pairs: Vec<f64> = to.iter().filter_map(like).collect();
    let paired = same_disks && pairs.len() == from.len() && pairs.len() == to.len();
    let range = |logs: &mut dyn Iterator<Item = f64>| {
        logs.fold((f64::MAX, f64::MIN), |(low, high): (f64, f64), log| (low.min(log), high.max(log)))
    };
    let (low, high) = if paired {
        range(&mut pairs.into_iter())
    } else {
        let (from, to) = (range(&mut from.iter().map(|f| f.1)), range(&mut to.iter().map(|t| t.1)));
        (to.0 - from.1, to.1 - from.0)
    };
    Some(DrawRange { low: libm::exp(low), high: libm::exp(high), paired })
}

/// Whether both volumes are made of disks of the same kinds, as far as that is known.
pub(super) fn same_disks(a: Option<&VolumeFacts>, b: Option<&VolumeFacts>) -> bool {
    let models = |volume: &VolumeFacts| {
        let mut models: Vec<Option<String>> = volume.devices.iter().map(|device| device.model.clone()).collect();
        models.sort();
        models.dedup();
        models
    };
    let known = |models: &[Option<String>]| !models.is_empty() && models.iter().all(Option::is_some);
    a.map(models).zip(b.map(models)).is_some_and(|(a, b)| known(&a) && a == b)
}

/// Of cells together: the geometric means of what each comes to; of those without draws, the ratio.
pub(super) fn together<'a>(parts: impl Iterator<Item = (Option<&'a DrawRange>, f64)>) -> Option<DrawRange> {
    let parts: Vec<(Option<&DrawRange>, f64)> = parts.collect();
    let any = parts.iter().any(|(draws, _)| draws.is_some());
    let over = |of: fn(&DrawRange) -> f64| {
        mean(&parts.iter().map(|(draws, ratio)| libm::log(draws.map_or(*ratio, of))).collect::<Vec<_>>())
    };
    let (low, high) = over(|d| d.low).zip(over(|d| d.high)).filter(|_| any)?;
    let paired = parts.iter().all(|(draws, _)| draws.is_none_or(|d| d.paired));
    Some(DrawRange { low: libm::exp(low), high: libm::exp(high), paired })
}

impl DrawRange {
    /// The verdict where every draw bears it out; else nothing can be told, and why.
    pub(super) fn borne_out(
        &self,
        figure: Figure,
        margin: f64,
        (verdict, why): (Verdict, Option<Undecided>),
    ) -> (Verdict, Option<Undecided>) {
        let more = match verdict {
            Verdict::Better => figure.more_is_better(),
            Verdict::Worse => !figure.more_is_better(),
            Verdict::Same => {
                let within = self.low >= 1.0 / (1.0 + margin) && self.high <= 1.0 + margin;
                return if within { (verdict, why) } else { (Verdict::CannotTell, Some(Undecided::DrawsApart)) };
            }
            Verdict::CannotTell => return (verdict, why),
        };
        let every_draw = if more { self.low > 1.0 } else { self.high < 1.0 };
        if every_draw {
            return (verdict, why);
        }
        (Verdict::CannotTell, Some(Undecided::DrawsDisagree { paired: self.paired }))
    }
}
