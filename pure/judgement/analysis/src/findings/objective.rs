//! The deepest queue, and the highest rate of arrivals, at which the latency objective is kept.

use super::plateaus::importance;
use super::{TOLD_ONE_BY_ONE, VolumeView, in_flight};
use crate::compare::latency_estimate;
use crate::curves::{Curve, doubted, met_lasting, outstanding};
use crate::draws_kept::DrawsKept;
use crate::finding::{
    ArrivalsResult, DepthAndThreads, DepthResult, Finding, FindingCode, FindingSeen, InFlight, KeptLoad, ObjectiveRule,
    ObjectiveSeen, ObjectiveTurn, SearchDraws, SearchedTurn, SharesOfAnother, StrayLoad, TriedLoad, UnansweredShare,
};
use crate::summary::{CellSummary, OperationFigures};
use crate::trials::{MET_TOLERANCE, latency_figure};
use crate::words::{SMALL_BYTES_MAX, load_name};
use loadline_block::Operation;
use loadline_load::LatencyFigure;
use loadline_record::{ArrivalKind, DoubtCode, LoadFigures, RunRecord, RunVerb};

/// The figure and the limit, ns, where none is set: database vendors' 20 ms on average.
pub const OBJECTIVE_USUAL: (LatencyFigure, u64) = (LatencyFigure::Mean, 20_000_000);
/// What the names of loads begin with that go by their share of what was reached before the run, as `quick` gives them.
const CURVE: &str = "curve ";
/// What was reached differs from what was reached before by more than this: trials on a quiet disk differ by less.
const DIFFER: f64 = 0.1;
/// Latencies are printed with three digits: a depth that takes so many times the objective takes the objective.
const AS_PRINTED: f64 = 1.002;

/// What the closed or open loops of one curve come to.
enum ObjectiveOutcome {
    /// The objective is lost somewhere: a finding of its own.
    Lost(Finding),
    /// It is kept everywhere: a part of the finding about all such loads, and the cell that goes furthest.
    Kept { objective: ObjectiveRule, load: KeptLoad, cell: usize },
}

/// Where the objective is lost, load by load; then together the loads that keep it everywhere.
pub(super) fn objectives(view: &VolumeView<'_>, record: &RunRecord, curves: &[&Curve]) -> Vec<Finding> {
    let mut told: Vec<(usize, ObjectiveOutcome)> = Vec::new();
    for curve in curves {
        if let Some(first) = curve.closed.first().copied() {
            let objective = ObjectiveRule::spoken(record, first);
            told.extend(of_closed(view, record, curve, &objective).map(|t| (first, t)));
        }
        // Arrivals by chance queue where evenly spaced ones do not: either way of arriving has a turn of its own.
        let ways = [false, true].map(|evenly| curve.with_open(|i| is_even(&view.cells[i]) == evenly));
        for way in ways {
            let Some(first) = way.open.first().copied() else { continue };
            let objective = ObjectiveRule::spoken(record, first);
            told.extend(of_open(view, record, &way, &objective).map(|t| (first, t)));
        }
    }
    let of_others = view.own.iter().copied().filter(|i| view.cells[*i].is_of_others());
    told.extend(of_others.filter_map(|i| Some((i, ObjectiveOutcome::Lost(missed_by_others(view, record, i)?)))));
    told.sort_by_key(|(first, _)| importance(&view.cells[*first]));
    let mut lost: Vec<(usize, Finding)> = Vec::new();
    // By objective.
    let mut kept: Vec<(ObjectiveRule, Vec<(KeptLoad, usize)>)> = Vec::new();
    for (first, of_curve) in told {
        match of_curve {
            ObjectiveOutcome::Lost(finding) => lost.push((first, finding)),
            ObjectiveOutcome::Kept { objective, load, cell } => {
                match kept.iter_mut().find(|(other, _)| *other == objective) {
                    Some((_, loads)) => loads.push((load, cell)),
                    None => kept.push((objective, vec![(load, cell)])),
                }
            }
        }
    }
    let rest = lost.split_off(lost.len().min(TOLD_ONE_BY_ONE));
    let mut found: Vec<Finding> = lost.into_iter().map(|(_, f)| f).collect();
    if !rest.is_empty() {
        let cells: Vec<usize> = rest.iter().map(|(first, _)| *first).collect();
        let seen = FindingSeen::MoreLoseIt { loads: rest.len() };
        found.push(view.finding(FindingCode::Objective, seen, &cells));
    }
    found.extend(kept.into_iter().map(|(objective, loads)| kept_everywhere(view, objective, loads)));
    found
}

/// Requests that others made and that miss the objective as they came: there is one such load, and no heavier or lighter one.
fn missed_by_others(view: &VolumeView<'_>, record: &RunRecord, index: usize) -> Option<Finding> {
    let (cell, objective) = (&view.cells[index], ObjectiveRule::spoken(record, index));
    let missed = objective.is_meant_for(cell) && objective.figure_of(cell)? > objective.limit_ns as f64;
    let (latency_ns, operation) = objective.slowest_of(cell)?;
    let doubts = doubts_of(view, &[index]);
    let seen = FindingSeen::MissedByOthers { load: load_name(cell), objective, latency_ns, operation, doubts };
    missed.then(|| view.finding(FindingCode::Objective, seen, &[index]))
}

fn kept_everywhere(view: &VolumeView<'_>, objective: ObjectiveRule, kept: Vec<(KeptLoad, usize)>) -> Finding {
    let cells: Vec<usize> = kept.iter().map(|(_, cell)| *cell).collect();
    let more = kept.len().saturating_sub(TOLD_ONE_BY_ONE);
    let loads = kept.into_iter().take(TOLD_ONE_BY_ONE).map(|(load, _)| load).collect();
    let seen = FindingSeen::KeptEverywhere { objective, loads, more, doubts: doubts_of(view, &cells) };
    view.finding(FindingCode::Objective, seen, &cells)
}

/// Every doubt of the cells whose latencies a finding rests on.
fn doubts_of(view: &VolumeView<'_>, cells: &[usize]) -> Vec<DoubtCode> {
    let is_doubted = |code: &DoubtCode| cells.iter().any(|i| doubted(&view.cells[*i], *code));
    DoubtCode::ALL.into_iter().filter(is_doubted).collect()
}

impl ObjectiveRule {
    /// That by which a load is judged.
    pub(crate) fn of(load: &LoadFigures) -> Self {
        Self::set(load.objective)
    }
    /// That by which a cell is spoken of: where the run has one objective, no other is named beside it.
    pub(crate) fn spoken(record: &RunRecord, index: usize) -> Self {
        Self::set(record.objective_of(&record.cells[index]))
    }
    fn set(objective: Option<loadline_load::Objective>) -> Self {
        objective.map_or(Self { figure: OBJECTIVE_USUAL.0, limit_ns: OBJECTIVE_USUAL.1, chosen: false }, |objective| {
            Self { figure: objective.of, limit_ns: objective.limit.as_ns(), chosen: true }
        })
    }
    /// The figure that the objective is about: each operation is to keep it, the slowest counts, and of it what lasts.
    pub(crate) fn figure_of(&self, cell: &CellSummary) -> Option<f64> {
        if let Some(lasting) = &cell.lasting {
            return lasting.latency_ns.figure(self.figure);
        }
        self.slowest(cell).map(|(_, figure)| figure)
    }
    /// That figure, ns, with whose it is where there are several operations.
    fn slowest_of(&self, cell: &CellSummary) -> Option<(f64, Option<Operation>)> {
        let several = [&cell.read, &cell.write, &cell.trim].into_iter().flatten().count() > 1;
        match self.slowest(cell) {
            Some((operation, figure)) if several && cell.lasting.is_none() => Some((figure, Some(operation))),
            _ => self.figure_of(cell).map(|figure| (figure, None)),
        }
    }
    fn slowest(&self, cell: &CellSummary) -> Option<(Operation, f64)> {
        let of = |o: &OperationFigures| latency_figure(&o.latency_ns, self.figure);
        let named = [(Operation::Read, &cell.read), (Operation::Write, &cell.write), (Operation::Trim, &cell.trim)];
        let figures = named.into_iter().filter_map(|(name, found)| Some((name, of(found.as_ref()?)?)));
        figures.max_by(|a, b| a.1.total_cmp(&b.1))
    }
    /// `None` where nothing is known, or it is not about such loads. An open loop that is not met has lost it, also where none of its requests was answered in
    /// time to have a latency.
    pub(crate) fn kept(&self, cell: &CellSummary) -> Option<bool> {
        if !self.is_meant_for(cell) {
            return None;
        }
        if overloaded(cell) {
            return Some(false);
        }
        Some(self.figure_of(cell)? <= self.limit_ns as f64)
    }
    /// Whether it is what database vendors commonly recommend.
    pub(crate) fn is_usual(&self) -> bool {
        (self.figure, self.limit_ns) == OBJECTIVE_USUAL
    }
    /// Whether it is about such a load: the usual rule is one for the small requests of databases.
    fn is_meant_for(&self, cell: &CellSummary) -> bool {
        self.chosen || cell.load.block_bytes <= SMALL_BYTES_MAX
    }
    /// Where it is lost on a row of cells, the lightest load first.
    fn turn(&self, view: &VolumeView<'_>, row: &[usize]) -> Option<Turn> {
        let kept: Vec<bool> = row.iter().map(|i| self.kept(&view.cells[*i])).collect::<Option<_>>()?;
        let last_kept = kept.iter().rposition(|k| *k);
        let beyond = last_kept.map_or(0, |place| place + 1);
        let strays = (0..beyond).filter(|place| !kept[*place]).map(|place| row[place]).collect();
        Some(Turn { kept: last_kept.map(|place| row[place]), lost: row.get(beyond).copied(), strays })
    }
}

/// The share of the arrivals that was answered.
fn answered(cell: &CellSummary) -> f64 {
    met_lasting(cell).unwrap_or(0.0)
}

/// Whether an open loop completes less than it offers.
pub(crate) fn overloaded(cell: &CellSummary) -> bool {
    met_lasting(cell).is_some_and(|met| met < 1.0 - MET_TOLERANCE)
}

/// Where an objective is lost on a row of cells.
struct Turn {
    /// The heaviest load that keeps it.
    kept: Option<usize>,
    /// The load after that.
    lost: Option<usize>,
    /// Lighter loads that missed it: more load cannot have mended what less load suffered from.
    strays: Vec<usize>,
}

impl Turn {
    /// What the strays are and miss it by.
    fn strays(&self, stray: impl Fn(usize) -> Option<StrayLoad>) -> Option<Vec<StrayLoad>> {
        self.strays.iter().map(|i| stray(*i)).collect()
    }
    fn cells(&self) -> Vec<usize> {
        self.kept.into_iter().chain(self.lost).chain(self.strays.iter().copied()).collect()
    }
}

/// How many outstanding requests take as long as a mean allows, to three digits, by Little's law, where that lies between the two
/// depths measured and the rate is level at both. Not for mixed loads, whose reads and writes have a mean each.
fn between(view: &VolumeView<'_>, curve: &Curve, objective: &ObjectiveRule, kept: usize, lost: usize) -> Option<f64> {
    let plateau = curve.plateau.as_ref()?;
    let level = [kept, lost].iter().all(|i| plateau.cells.contains(i));
    let cell = &view.cells[lost];
    let single = [&cell.read, &cell.write, &cell.trim].into_iter().flatten().count() == 1;
    let depth = (cell.iops_lasting()? * objective.limit_ns as f64 / 1e9 * AS_PRINTED).floor();
    let (least, most) = (outstanding(&view.cells[kept])? as f64, outstanding(cell)? as f64);
    (objective.figure == LatencyFigure::Mean && level && single && least < depth && depth < most).then_some(depth)
}

/// Of a search: between which loads the turn lies with 95 % confidence, by the intervals of their latencies.
fn searched(
    view: &VolumeView<'_>,
    record: &RunRecord,
    row: &[usize],
    (objective, turn): (&ObjectiveRule, &Turn),
    tried: impl Fn(usize) -> Option<TriedLoad>,
) -> Option<SearchedTurn> {
    if record.header.verb != RunVerb::Search {
        return None;
    }
    let limit = objective.limit_ns as f64;
    let ends = |i: usize| match &view.cells[i].lasting {
        // The seconds after a burst have no interval.
        Some(_) => None,
        None => latency_estimate(&record.cells[i], objective.figure)?.interval_ns,
    };
    let overloaded = |i: usize| overloaded(&view.cells[i]);
    // What a heavier load keeps is not where it is lost.
    let beyond = row.iter().position(|i| turn.kept == Some(*i)).map_or(0, |place| place + 1);
    let lost = row[beyond..].iter().copied().find(|i| overloaded(*i) || ends(*i).is_some_and(|(low, _)| low > limit));
    let kept = |i: &usize| !overloaded(*i) && ends(*i).is_some_and(|(_, high)| high <= limit);
    let kept = row.iter().copied().take_while(|i| Some(*i) != lost).filter(kept).last();
    let at = |i: Option<usize>| i.and_then(&tried);
    Some(SearchedTurn { kept: at(kept), lost: at(lost), draws: in_draws(record, row, &tried) })
}

/// Of a search on a model: in how many draws of it the objective holds, and up to which load it holds in all.
fn in_draws(record: &RunRecord, row: &[usize], tried: impl Fn(usize) -> Option<TriedLoad>) -> Option<SearchDraws> {
    let of = |i: &usize| {
        let cell = &record.cells[*i];
        DrawsKept::of(cell, cell.load.figures().objective?).map(|draws| (*i, draws))
    };
    let all: Vec<(usize, DrawsKept)> = row.iter().rev().filter_map(of).collect();
    let (heaviest, draws) = all.first()?;
    let all_keep = all.iter().find(|(_, draws)| draws.is_sure()).and_then(|(i, _)| tried(*i));
    Some(SearchDraws { load: tried(*heaviest)?, kept: draws.kept, of: draws.of, all_keep })
}

/// Where the loads of a curve are named by their share of a maximum that was found before the run, and the run itself reached
/// another: of what the names are shares.
fn shares_of_another(view: &VolumeView<'_>, record: &RunRecord, curve: &Curve, most: f64) -> Option<SharesOfAnother> {
    let named = |i: &usize| {
        let name = record.cells[*i].load.name()?;
        let share = name.strip_prefix(CURVE)?.strip_suffix('%')?.trim().parse::<f64>().ok()?;
        let rate = view.cells[*i].load.rate_iops?;
        (share > 0.0).then(|| (share, rate * 100.0 / share))
    };
    let (_, whole) = curve.open.iter().filter_map(named).max_by(|a, b| a.0.total_cmp(&b.0))?;
    ((most / whole - 1.0).abs() > DIFFER).then_some(SharesOfAnother { before_iops: whole, reached_iops: most })
}

fn of_closed(
    view: &VolumeView<'_>,
    record: &RunRecord,
    curve: &Curve,
    objective: &ObjectiveRule,
) -> Option<ObjectiveOutcome> {
    let turn = objective.turn(view, &curve.closed)?;
    let result = |i: usize| {
        let cell = &view.cells[i];
        let (latency_ns, operation) = objective.slowest_of(cell)?;
        let before = cell.lasting.as_ref().map(|lasting| (lasting.iops_before, lasting.before_ns));
        let (in_flight, iops) = (place_of(view, curve, i)?, cell.iops_lasting()?);
        Some(DepthResult { in_flight, latency_ns, operation, iops, before })
    };
    let tried = |i: usize| Some(TriedLoad::InFlight(place_of(view, curve, i)?));
    let strays = turn.strays(|i| Some(StrayLoad { load: tried(i)?, unanswered: None }))?;
    let load = load_name(&view.cells[curve.closed[0]]);
    let place = match (turn.kept, turn.lost) {
        (Some(kept), Some(lost)) => ObjectiveTurn::BetweenDepths {
            kept: result(kept)?,
            lost: result(lost)?,
            level_in_flight: between(view, curve, objective, kept, lost),
        },
        (None, Some(lost)) => ObjectiveTurn::MissedAtDepths { lost: result(lost)? },
        // One depth that keeps it is no news.
        (Some(_), None) if curve.closed.len() < 2 => return None,
        (Some(cell), None) if !strays.is_empty() => ObjectiveTurn::KeptAtDeepest { kept: result(cell)? },
        (Some(cell), None) => {
            let load = KeptLoad::Closed { load, deepest: result(cell)? };
            return Some(ObjectiveOutcome::Kept { objective: *objective, load, cell });
        }
        (None, None) => return None,
    };
    let seen = ObjectiveSeen {
        load,
        objective: *objective,
        turn: place,
        strays,
        search: searched(view, record, &curve.closed, (objective, &turn), tried),
        shares: None,
        doubts: doubts_of(view, &turn.cells()),
    };
    Some(ObjectiveOutcome::Lost(lost(view, seen, &turn)))
}

fn lost(view: &VolumeView<'_>, seen: ObjectiveSeen, turn: &Turn) -> Finding {
    view.finding(FindingCode::Objective, FindingSeen::Objective(Box::new(seen)), &turn.cells())
}

/// How many requests a load of a closed loop has in flight; with its depth and threads if another has as many of them otherwise.
fn place_of(view: &VolumeView<'_>, curve: &Curve, index: usize) -> Option<InFlight> {
    let cell = &view.cells[index];
    let own = outstanding(cell)?;
    let is_like = |other: &usize| *other != index && outstanding(&view.cells[*other]) == Some(own);
    let as_planned = cell.load.queue_depth.filter(|_| curve.closed.iter().any(is_like));
    let as_planned = as_planned.map(|depth| DepthAndThreads { depth, threads: cell.load.threads });
    Some(InFlight { as_planned, ..in_flight(view, curve, own) })
}

/// Whether requests arrive in equal steps of time.
fn is_even(cell: &CellSummary) -> bool {
    cell.load.arrival == ArrivalKind::Constant
}

fn of_open(
    view: &VolumeView<'_>,
    record: &RunRecord,
    curve: &Curve,
    objective: &ObjectiveRule,
) -> Option<ObjectiveOutcome> {
    let turn = objective.turn(view, &curve.open)?;
    // What was offered as a share of what can be had: where the rate levels off, or else the most that was seen.
    let (most_iops, is_level) = if let Some(plateau) = &curve.plateau {
        (plateau.iops, true)
    } else {
        let all = curve.open.iter().chain(&curve.closed);
        (all.filter_map(|i| view.cells[*i].iops_lasting()).max_by(f64::total_cmp)?, false)
    };
    let result = |i: usize| {
        let cell = &view.cells[i];
        let (latency_ns, answered) = (objective.figure_of(cell), answered(cell));
        Some(ArrivalsResult { offered_iops: cell.offered_iops?, most_iops, is_level, latency_ns, answered })
    };
    let kept_at = |i: usize| result(i).filter(|result| result.latency_ns.is_some());
    let tried = |i: usize| Some(TriedLoad::OfferedIops(view.cells[i].offered_iops?));
    // Which of the two it is: a latency that is kept is not lost.
    let stray = |i: usize| {
        let cell = &view.cells[i];
        let by_rate = objective.figure_of(cell).filter(|figure| *figure <= objective.limit_ns as f64);
        let unanswered = by_rate.map(|latency_ns| UnansweredShare { latency_ns, answered: answered(cell) });
        Some(StrayLoad { load: tried(i)?, unanswered })
    };
    let strays = turn.strays(stray)?;
    let reached = curve.open.iter().chain(&curve.closed).filter_map(|i| view.cells[*i].iops_lasting());
    let shares = reached.max_by(f64::total_cmp).and_then(|reached| shares_of_another(view, record, curve, reached));
    let load = load_name(&view.cells[curve.open[0]]);
    let place = match (turn.kept, turn.lost) {
        (Some(kept), Some(lost)) => ObjectiveTurn::BetweenRates { kept: kept_at(kept)?, lost: result(lost)? },
        (Some(cell), None) if !strays.is_empty() => ObjectiveTurn::KeptAtHighest { kept: kept_at(cell)? },
        (Some(cell), None) => {
            let load = KeptLoad::Open { load, highest: kept_at(cell)?, shares };
            return Some(ObjectiveOutcome::Kept { objective: *objective, load, cell });
        }
        (None, Some(lost)) => ObjectiveTurn::MissedAtRates { lost: result(lost)? },
        (None, None) => return None,
    };
    let seen = ObjectiveSeen {
        load,
        objective: *objective,
        turn: place,
        strays,
        search: searched(view, record, &curve.open, (objective, &turn), tried),
        shares,
        doubts: doubts_of(view, &turn.cells()),
    };
    Some(ObjectiveOutcome::Lost(lost(view, seen, &turn)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{ExampleDisk, cell, closed, run};
    use crate::summarize;
    use loadline_units::Duration;

    #[test]
    fn verdict_and_findings_judge_large_requests_by_a_chosen_objective_alone() {
        // 1 MiB at depth 32 takes 160 ms.
        let of = |objective: Option<loadline_load::Objective>| {
            let load = LoadFigures { objective, ..closed("sequential", 1.0, 1 << 20, 32) };
            let summary = summarize(&run(vec![cell(load, &ExampleDisk::default(), &[1.0])]));
            let found = summary.findings.iter().any(|finding| finding.code == FindingCode::Objective);
            (found, summary.verdict.is_some_and(|verdict| verdict.objective.is_some()))
        };
        assert_eq!(of(None), (false, false));
        let limit = Duration::from_ms(20);
        assert_eq!(of(Some(loadline_load::Objective { of: LatencyFigure::Mean, limit })), (true, true));
    }
}
