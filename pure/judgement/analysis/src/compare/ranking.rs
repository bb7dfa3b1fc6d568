//! The sides of a comparison in one table: the best first.

use super::comparison::{Against, CellComparison, Comparison, MonthlyPrice, RankedSide, Verdict};
use super::figure::{Figure, FigureValue};
use super::{Side, spoiled};
use crate::finding::ObjectiveRule;
use crate::run_verdict::{RunVerdict, run_verdict};
use crate::summarize::figures_of_cells;
use crate::summary::CellSummary;
use crate::verdict_block::ObjectiveFound;
use crate::verdict_objective::{AskedAmount, Question, asked_amount, objective};
use loadline_record::{CellRecord, RunRecord};
use std::collections::BTreeMap;

/// Every side with its best figures, ranked by how it comes out over all cells together, and where that is not known by the cells that
/// have a verdict. Sides whose ratios differ by no more than the margin share a rank. Where an objective is set, those that break it stand
/// behind those that keep it under a load as heavy.
pub(super) fn ranked(sides: &[Side<'_>], against: &[Against], margin: f64) -> Vec<RankedSide> {
    let shown = [Figure::Rate, Figure::Throughput].map(|figure| shown_cell(figure, against));
    let objectives: Vec<ObjectiveOfSide> = sides.iter().map(ObjectiveOfSide::of).collect();
    let mut ranked: Vec<RankedSide> =
        (0..sides.len()).map(|place| of_side(place, &objectives[place], against, &shown)).collect();
    let standings: Vec<Option<f64>> = (0..sides.len()).map(|place| standing(place, &ranked, against, margin)).collect();
    let standing = |side: &RankedSide| standings[side.side as usize];
    let key = |side: &RankedSide| (objectives[side.side as usize].is_behind(&objectives), standing(side).is_none());
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

/// The cell whose figure the table shows of every side, by the baseline's id: of those that all sides have, the one in which any of them
/// reaches most. Figures of different loads are no ranking. What is in doubt is shown only where nothing else is.
fn shown_cell(figure: Figure, against: &[Against]) -> Option<String> {
    let of_all = |cell: &CellComparison| -> Option<(bool, f64)> {
        let mut most = cell.of_baseline(figure)?;
        let mut doubted = false;
        for one in against {
            let own = one.cells.iter().find(|own| own.baseline_id == cell.baseline_id)?;
            most = most.max(own.of_other(figure)?);
            doubted |= spoiled(own);
        }
        Some((!doubted, most))
    };
    let known = against.first()?.cells.iter().filter_map(|cell| Some((of_all(cell)?, &cell.baseline_id)));
    known.max_by(|((a, x), _), ((b, y), _)| a.cmp(b).then(x.total_cmp(y))).map(|(_, id)| id.clone())
}

fn of_side(place: usize, objective: &ObjectiveOfSide, against: &[Against], shown: &[Option<String>; 2]) -> RankedSide {
    let own = place.checked_sub(1).and_then(|index| against.get(index));
    let cells = own.or(against.first()).map_or(&[][..], |one| &one.cells);
    let figures = |cell: &CellComparison| -> Vec<FigureValue> {
        if own.is_some() { cell.other_figures.clone() } else { cell.baseline_figures.clone() }
    };
    let of = |cell: &CellComparison, figure| figures(cell).iter().find(|one| one.figure == figure).map(|one| one.value);
    // Where no cell is in all sides, each shows its own.
    let most = |figure: Figure, id: &Option<String>| {
        let is_shown = |cell: &&CellComparison| id.as_ref().is_none_or(|id| cell.baseline_id == *id);
        let known = cells.iter().filter(is_shown).filter_map(|cell| Some((cell, of(cell, figure)?)));
        known.max_by(|a, b| spoiled(b.0).cmp(&spoiled(a.0)).then(a.1.total_cmp(&b.1)))
    };
    let [rate, throughput] = shown;
    let (fastest, largest) = (most(Figure::Rate, rate), most(Figure::Throughput, throughput));
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
        iops: fastest.map(|(_, iops)| iops),
        iops_load: fastest.map(|(cell, _)| cell.label.clone()),
        p99_ns: fastest.and_then(|(cell, _)| of(cell, Figure::P99)),
        throughput_bytes_per_s: largest.map(|(_, bytes)| bytes),
        throughput_load: largest.map(|(cell, _)| cell.label.clone()),
        doubted: [fastest, largest].into_iter().flatten().any(|(cell, _)| spoiled(cell)),
        objective_kept: objective.kept,
        objective_up_to: objective.up_to.clone(),
        objective_breaks_at: objective.breaks_at.clone(),
        price_month: None,
        price_complete: false,
        price_estimated: false,
        price_region: None,
    }
}

/// What becomes of the objectives of a side's own loads; nothing where it has none, or nothing is known.
#[derive(Default)]
struct ObjectiveOfSide {
    kept: Option<bool>,
    up_to: Option<String>,
    breaks_at: Option<String>,
    /// Of each kind of load, wherever it runs: the amounts asked for, and whether each keeps it.
    answers: BTreeMap<Question, Vec<Kept>>,
}

/// Whether an amount of load keeps the objective.
type Kept = (AskedAmount, bool);

fn answer_of(cell: &CellRecord, figures: &CellSummary) -> Option<(Question, Kept)> {
    let load = cell.load.figures();
    load.objective?;
    let kept = ObjectiveRule::of(&load).kept(figures)?;
    Some((Question::anywhere(figures), (asked_amount(figures), kept)))
}

impl ObjectiveOfSide {
    fn of(side: &Side<'_>) -> Self {
        let own = |volume: &str| side.volume.is_none_or(|name| name == volume);
        let cells: Vec<_> = side.run.cells.iter().filter(|cell| own(&cell.volume)).cloned().collect();
        if cells.iter().all(|cell| cell.load.figures().objective.is_none()) {
            return Self::default();
        }
        let run = RunRecord { cells, ..side.run.clone() };
        let kept = match run_verdict(&run) {
            RunVerdict::Kept => Some(true),
            RunVerdict::Broken => Some(false),
            RunVerdict::Unknown | RunVerdict::WrongData => None,
        };
        let figures = figures_of_cells(&run);
        let (up_to, breaks_at) = match objective(&run, &figures).map(|verdict| verdict.found) {
            Some(ObjectiveFound::UpTo { kept, broken, .. }) => (Some(kept.at), Some(broken.at)),
            Some(ObjectiveFound::Broken { lightest, .. }) => (None, Some(lightest.at)),
            Some(ObjectiveFound::Everywhere { .. }) | None => (None, None),
        };
        let mut answers: BTreeMap<Question, Vec<Kept>> = BTreeMap::new();
        for (question, answer) in run.cells.iter().zip(&figures).filter_map(|(cell, figures)| answer_of(cell, figures))
        {
            answers.entry(question).or_default().push(answer);
        }
        Self { kept, up_to, breaks_at, answers }
    }
    /// Whether it breaks with a load that another side answers in time, or a heavier one of its kind. What was asked for less says nothing.
    fn is_behind(&self, all: &[Self]) -> bool {
        let keeps = |side: &Self, question, load| side.heaviest_kept(question).is_some_and(|most| most >= load);
        self.answers.iter().any(|(question, answers)| {
            let lightest = answers.iter().min().filter(|(_, kept)| !kept);
            let ahead =
                |load| all.iter().filter(|side| side.kept == Some(true)).any(|side| keeps(side, question, load));
            self.kept == Some(false) && lightest.is_some_and(|(load, _)| ahead(*load))
        })
    }
    /// The heaviest load of a kind that is lighter than each that breaks it.
    fn heaviest_kept(&self, question: &Question) -> Option<AskedAmount> {
        let answers = self.answers.get(question)?;
        let broken = answers.iter().filter(|(_, kept)| !kept).map(|(load, _)| *load).min();
        let kept = answers.iter().filter(|(_, kept)| *kept).map(|(load, _)| *load);
        kept.filter(|load| broken.is_none_or(|broken| *load < broken)).max()
    }
}

impl Comparison {
    /// Puts sides that share a rank in the order of their prices, the cheapest first: none of them gives more. What has no price, or one
    /// that is not all of it, stands after those that have.
    pub fn rank_ties_by_price(&mut self) {
        for tied in self.ranking.chunk_by_mut(|a, b| a.rank == b.rank) {
            let currency = |side: &RankedSide| side.price_month.as_ref().map(|price| price.currency.clone());
            let known: Vec<String> = tied.iter().filter_map(currency).collect();
            if known.windows(2).any(|pair| pair[0] != pair[1]) {
                continue;
            }
            let amount = |side: &RankedSide| side.price_month.as_ref().map_or(f64::INFINITY, |price| price.amount);
            tied.sort_by(|a, b| b.price_complete.cmp(&a.price_complete).then_with(|| amount(a).total_cmp(&amount(b))));
        }
    }
    /// Of sides that share the first rank: how much less the first costs a month than the next, if both prices are whole.
    #[must_use]
    pub fn saving(&self) -> Option<MonthlyPrice> {
        let [first, next, ..] = self.ranking.as_slice() else { return None };
        let whole = |side: &RankedSide| side.price_month.clone().filter(|_| side.price_complete);
        let (least, more) = whole(first).zip(whole(next)).filter(|(a, b)| a.currency == b.currency)?;
        let saved = more.amount - least.amount;
        // Less than a hundredth is no difference that a price shows.
        let is_saving = first.rank == next.rank && saved >= 0.01;
        is_saving.then_some(MonthlyPrice { amount: saved, currency: least.currency })
    }
}

impl RankedSide {
    /// Whether it is called better or worse than the baseline, or the same.
    #[must_use]
    pub fn is_decided(&self) -> bool {
        self.verdict.is_none_or(|verdict| verdict != Verdict::CannotTell)
    }
}
