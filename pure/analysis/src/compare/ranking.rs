//! The sides of a comparison in one table: the best first.

use super::Side;
use super::comparison::{Against, Figure, FigureValue, RankedSide, Verdict};
use crate::run_verdict::{RunVerdict, run_verdict};
use loadline_record::RunRecord;

/// Every side with its best figures, ranked by how it comes out over all cells together, and where that is not known by the cells that
/// have a verdict. Sides whose ratios differ by no more than the margin share a rank. Where an objective is set, those that keep it stand
/// before those that do not.
pub(super) fn ranked(sides: &[Side<'_>], against: &[Against], margin: f64) -> Vec<RankedSide> {
    let mut ranked: Vec<RankedSide> =
        sides.iter().enumerate().map(|(place, side)| of_side(place, side, against)).collect();
    let standings: Vec<Option<f64>> = (0..sides.len()).map(|place| standing(place, &ranked, against, margin)).collect();
    let standing = |side: &RankedSide| standings[side.side as usize];
    let key = |side: &RankedSide| (side.objective_kept == Some(false), standing(side).is_none());
    ranked.sort_by(|a, b| {
        let score = |side: &RankedSide| standing(side).unwrap_or(0.0);
        key(a).cmp(&key(b)).then(score(b).total_cmp(&score(a)))
    });
    for place in 0..ranked.len() {
        let alike = place.checked_sub(1).map(|before| &ranked[before]).filter(|before| {
            let both = standing(before).zip(standing(&ranked[place]));
            let near = both.is_some_and(|(more, less)| more <= less * (1.0 + margin));
            near && key(before) == key(&ranked[place])
        });
        ranked[place].rank = alike.map_or(place as u32 + 1, |before| before.rank);
    }
    ranked
}

/// What a side is ranked by: its ratio to the baseline over all cells together. Where that decides nothing and some cells are better or
/// worse, and none the opposite, it stands beyond the margin on that side.
fn standing(place: usize, ranked: &[RankedSide], against: &[Against], margin: f64) -> Option<f64> {
    let score = ranked[place].score;
    let overall = place.checked_sub(1).and_then(|index| against.get(index)?.overall.first());
    let Some(overall) = overall.filter(|overall| overall.verdict == Verdict::CannotTell) else { return score };
    let beyond = (1.0 + margin) * (1.0 + margin);
    match overall.leaning() {
        Some(Verdict::Better) => Some(score.unwrap_or(1.0).max(beyond)),
        Some(Verdict::Worse) => Some(score.unwrap_or(1.0).min(1.0 / beyond)),
        _ => score,
    }
}

fn of_side(place: usize, side: &Side<'_>, against: &[Against]) -> RankedSide {
    let own = place.checked_sub(1).and_then(|index| against.get(index));
    let cells: Vec<(&str, &[FigureValue])> = match own {
        Some(own) => own.cells.iter().map(|cell| (cell.label.as_str(), &cell.other_figures[..])).collect(),
        None => against.first().map_or_else(Vec::new, |first| {
            first.cells.iter().map(|cell| (cell.label.as_str(), &cell.baseline_figures[..])).collect()
        }),
    };
    let of = |figures: &[FigureValue], figure| figures.iter().find(|one| one.figure == figure).map(|one| one.value);
    let most = |figure: Figure| {
        let known = cells.iter().filter_map(|(label, figures)| Some((*label, *figures, of(figures, figure)?)));
        known.max_by(|a, b| a.2.total_cmp(&b.2))
    };
    let fastest = most(Figure::Rate);
    let overall = own.and_then(|own| own.overall.first());
    // A ratio of latencies is the better the smaller it is.
    let better = |ratio: f64| match overall {
        Some(of) if !of.figure.more_is_better() => 1.0 / ratio,
        _ => ratio,
    };
    RankedSide {
        rank: 0,
        side: place as u32,
        score: if place == 0 { Some(1.0) } else { overall.and_then(|of| of.ratio).map(better) },
        verdict: overall.map(|of| of.verdict),
        iops: fastest.map(|(_, _, iops)| iops),
        iops_load: fastest.map(|(label, ..)| label.to_owned()),
        p99_ns: fastest.and_then(|(_, figures, _)| of(figures, Figure::P99)),
        throughput_bytes_per_s: most(Figure::Throughput).map(|(_, _, bytes)| bytes),
        objective_kept: kept(side),
        price_month: None,
        price_complete: false,
    }
}

/// Whether a side keeps the objectives of its own loads; `None` where it has none or nothing is known.
fn kept(side: &Side<'_>) -> Option<bool> {
    let own = |volume: &str| side.volume.is_none_or(|name| name == volume);
    let cells: Vec<_> = side.run.cells.iter().filter(|cell| own(&cell.volume)).cloned().collect();
    cells.iter().find(|cell| cell.load.figures().objective.is_some())?;
    match run_verdict(&RunRecord { cells, ..side.run.clone() }) {
        RunVerdict::Kept => Some(true),
        RunVerdict::Broken => Some(false),
        RunVerdict::Unknown | RunVerdict::WrongData => None,
    }
}

impl RankedSide {
    /// Whether it is called better or worse than the baseline, or the same.
    #[must_use]
    pub fn is_decided(&self) -> bool {
        self.verdict.is_none_or(|verdict| verdict != Verdict::CannotTell)
    }
}
