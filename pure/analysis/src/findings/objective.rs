//! The deepest queue, and the highest rate of arrivals, at which the latency objective is kept.

use super::plateaus::importance;
use super::{VolumeView, at_depth, codes};
use crate::compare::latency_estimate;
use crate::curves::{Curve, doubted, met_lasting, outstanding};
use crate::draws_kept::DrawsKept;
use crate::summary::{CellSummary, Finding, OperationFigures};
use crate::trials::latency_figure;
use crate::words::{SMALL_BYTES_MAX, counted, listed, load_name, number, percent, span};
use loadline_load::LatencyFigure;
use loadline_record::{ArrivalKind, DoubtCode, LoadFigures, RunRecord, RunVerb};
use loadline_units::{Duration, percent_places};

/// The figure and the limit, ns, where none is set: database vendors' 20 ms on average.
pub const OBJECTIVE_USUAL: (LatencyFigure, u64) = (LatencyFigure::Mean, 20_000_000);
/// An open loop that completes less than this share of what it offers has lost it, whatever its latency: the backlog grows.
const MET_MIN: f64 = 0.99;
/// What the names of loads begin with that go by their share of what was reached before the run, as `quick` gives them.
const CURVE: &str = "curve ";
/// What was reached differs from what was reached before by more than this: trials on a quiet disk differ by less.
const DIFFER: f64 = 0.1;
/// Latencies are told to three digits: a depth that takes so many times the objective takes the objective.
const AS_PRINTED: f64 = 1.002;
/// Curves told one by one.
const TOLD_ONE_BY_ONE: usize = 6;

/// A latency to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Objective {
    figure: LatencyFigure,
    limit_ns: u64,
    chosen: bool,
}

/// What is said of one curve's closed or open loops.
enum ObjectiveOutcome {
    /// The objective is lost somewhere: a sentence of its own.
    Lost(Finding),
    /// It is kept everywhere: a part of the sentence about all such loads, and the cell that goes furthest.
    Kept { objective: String, part: String, cell: usize },
}

/// Where the objective is lost, load by load; then in one sentence the loads that keep it everywhere.
pub(super) fn objectives(view: &VolumeView<'_>, record: &RunRecord, curves: &[&Curve]) -> Vec<Finding> {
    let mut told: Vec<(usize, ObjectiveOutcome)> = Vec::new();
    for curve in curves {
        if let Some(first) = curve.closed.first().copied() {
            let objective = Objective::spoken(record, first);
            told.extend(of_closed(view, record, curve, &objective).map(|t| (first, t)));
        }
        // Arrivals by chance queue where evenly spaced ones do not: either way of arriving has a turn of its own.
        let ways = [false, true].map(|evenly| curve.with_open(|i| is_even(&view.cells[i]) == evenly));
        for way in ways {
            let Some(first) = way.open.first().copied() else { continue };
            let objective = Objective::spoken(record, first);
            told.extend(of_open(view, record, &way, &objective).map(|t| (first, t)));
        }
    }
    let of_others = view.own.iter().copied().filter(|i| view.cells[*i].is_of_others());
    told.extend(of_others.filter_map(|i| Some((i, ObjectiveOutcome::Lost(missed_by_others(view, record, i)?)))));
    told.sort_by_key(|(first, _)| importance(&view.cells[*first]));
    let mut lost: Vec<(usize, Finding)> = Vec::new();
    // By objective.
    let mut kept: Vec<(String, Vec<(String, usize)>)> = Vec::new();
    for (first, of_curve) in told {
        match of_curve {
            ObjectiveOutcome::Lost(finding) => lost.push((first, finding)),
            ObjectiveOutcome::Kept { objective, part, cell } => {
                match kept.iter_mut().find(|(name, _)| *name == objective) {
                    Some((_, parts)) => parts.push((part, cell)),
                    None => kept.push((objective, vec![(part, cell)])),
                }
            }
        }
    }
    let rest = lost.split_off(lost.len().min(TOLD_ONE_BY_ONE));
    let mut found: Vec<Finding> = lost.into_iter().map(|(_, f)| f).collect();
    if !rest.is_empty() {
        let cells: Vec<usize> = rest.iter().map(|(first, _)| *first).collect();
        let text =
            format!("for {} more the table shows where the latency objective is lost.", counted(rest.len(), "load"));
        found.push(view.finding(codes::OBJECTIVE, &text, &cells));
    }
    found.extend(kept.into_iter().map(|(objective, parts)| kept_everywhere(view, &objective, &parts)));
    found
}

/// Requests that others made and that miss the objective as they came: there is one such load, and no heavier or lighter one.
fn missed_by_others(view: &VolumeView<'_>, record: &RunRecord, index: usize) -> Option<Finding> {
    let (cell, objective) = (&view.cells[index], Objective::spoken(record, index));
    let missed = objective.is_meant_for(cell) && objective.figure_of(cell)? > objective.limit_ns as f64;
    let text = format!("{} miss {}: {}.", load_name(cell), objective.name(), objective.told_of(cell)?);
    missed.then(|| finding(view, &text, &[index]))
}

fn kept_everywhere(view: &VolumeView<'_>, objective: &str, parts: &[(String, usize)]) -> Finding {
    let (named, more) = parts.split_at(parts.len().min(TOLD_ONE_BY_ONE));
    let mut loads: Vec<String> = named.iter().map(|(part, _)| part.clone()).collect();
    if !more.is_empty() {
        loads.push(format!("{} more", counted(more.len(), "load")));
    }
    let text = format!("latency stays within {objective} as far as was measured: {}.", listed(&loads));
    finding(view, &text, &parts.iter().map(|(_, cell)| *cell).collect::<Vec<_>>())
}

/// A finding that rests on the latencies of `cells`, with every doubt of theirs.
fn finding(view: &VolumeView<'_>, text: &str, cells: &[usize]) -> Finding {
    let doubts = DoubtCode::ALL.into_iter().filter(|code| cells.iter().any(|i| doubted(&view.cells[*i], *code)));
    let codes: Vec<String> = doubts.map(|code| code.to_string()).collect();
    let of = if cells.len() == 1 { "the load that it rests on" } else { "loads that it rests on" };
    let aside = if codes.is_empty() { String::new() } else { format!(" Doubts of {of}: {}.", listed(&codes)) };
    view.finding(codes::OBJECTIVE, &(text.to_owned() + &aside), cells)
}

impl Objective {
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
    /// That figure in words, with whose it is where there are several operations.
    fn told_of(&self, cell: &CellSummary) -> Option<String> {
        let several = [&cell.read, &cell.write, &cell.trim].into_iter().flatten().count() > 1;
        match self.slowest(cell) {
            Some((operation, figure)) if several && cell.lasting.is_none() => {
                Some(format!("{} for {operation}", span(figure)))
            }
            _ => self.figure_of(cell).map(span),
        }
    }
    fn slowest(&self, cell: &CellSummary) -> Option<(&'static str, f64)> {
        let of = |o: &OperationFigures| latency_figure(&o.latency_ns, self.figure);
        let named = [("reads", &cell.read), ("writes", &cell.write), ("trims", &cell.trim)];
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
    /// How an open loop misses it, "at the other" or wherever else: by the latency of what is answered, or because not all is.
    fn missed_by(&self, cell: &CellSummary, place: &str) -> String {
        match self.figure_of(cell) {
            Some(figure) if figure > self.limit_ns as f64 => format!("{}{place}", span(figure)),
            figure => {
                let in_time = figure.map_or_else(String::new, |figure| format!(" (those in {})", span(figure)));
                format!("only {} of the arrivals are answered in time{place}{in_time}", answered(cell))
            }
        }
    }
    /// Whether it is what database vendors commonly recommend.
    pub(crate) fn is_usual(&self) -> bool {
        (self.figure, self.limit_ns) == OBJECTIVE_USUAL
    }
    /// Whether it is about such a load: the usual rule is one for the small requests of databases.
    fn is_meant_for(&self, cell: &CellSummary) -> bool {
        self.chosen || cell.load.block_bytes <= SMALL_BYTES_MAX
    }
    /// Whether the user set it.
    pub(crate) fn is_chosen(&self) -> bool {
        self.chosen
    }
    /// "p99 within 5 ms".
    pub(crate) fn words(&self) -> String {
        format!("{} within {}", self.figure.words(), Duration::from_ns(self.limit_ns))
    }
    pub(crate) fn name(&self) -> String {
        let limit = Duration::from_ns(self.limit_ns);
        let figure = if self.figure == LatencyFigure::Mean {
            "on average".to_owned()
        } else {
            format!("at {}", self.figure.words())
        };
        let usual = if self.chosen { "" } else { " (the usual rule)" };
        format!("{limit} {figure}{usual}")
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

/// The share of the arrivals that was answered: to a tenth of a percent near 99 %, where that decides.
fn answered(cell: &CellSummary) -> String {
    let share = met_lasting(cell).unwrap_or(0.0);
    if share > 0.9 { format!("{:.*} %", percent_places(share * 100.0, 1), share * 100.0) } else { percent(share) }
}

/// Whether an open loop completes less than it offers.
pub(crate) fn overloaded(cell: &CellSummary) -> bool {
    met_lasting(cell).is_some_and(|met| met < MET_MIN)
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
    /// What to say of the strays: `named` names each, `heavier` the loads that kept it.
    fn aside(&self, named: impl Fn(usize) -> Option<String>, heavier: &str) -> Option<String> {
        if self.strays.is_empty() {
            return Some(String::new());
        }
        let missed: Vec<String> = self.strays.iter().map(|i| named(*i)).collect::<Option<_>>()?;
        let again = if missed.len() == 1 { "that load" } else { "those loads" };
        let too = if self.lost.is_some() { ", too" } else { "" };
        Some(format!(
            " It was missed {}{too}, which {heavier} kept: more likely a passing disturbance than a limit; measure {again} again.",
            listed(&missed)
        ))
    }
    fn cells(&self) -> Vec<usize> {
        self.kept.into_iter().chain(self.lost).chain(self.strays.iter().copied()).collect()
    }
}

/// How many outstanding requests take as long as a mean allows, to three digits, by Little's law, where that lies between the two
/// depths measured and the rate is level at both. Not for mixed loads, whose reads and writes have a mean each.
fn between(view: &VolumeView<'_>, curve: &Curve, objective: &Objective, kept: usize, lost: usize) -> Option<f64> {
    let plateau = curve.plateau.as_ref()?;
    let level = [kept, lost].iter().all(|i| plateau.cells.contains(i));
    let cell = &view.cells[lost];
    let single = [&cell.read, &cell.write, &cell.trim].into_iter().flatten().count() == 1;
    let depth = (cell.iops_lasting()? * objective.limit_ns as f64 / 1e9 * AS_PRINTED).floor();
    let (least, most) = (outstanding(&view.cells[kept])? as f64, outstanding(cell)? as f64);
    (objective.figure == LatencyFigure::Mean && level && single && least < depth && depth < most).then_some(depth)
}

/// Of a search: between which loads the turn lies with 95 % confidence, by the intervals of their latencies.
fn known(
    view: &VolumeView<'_>,
    record: &RunRecord,
    row: &[usize],
    (objective, turn): (&Objective, &Turn),
    named: impl Fn(usize) -> Option<String>,
) -> String {
    if record.header.verb != RunVerb::Search {
        return String::new();
    }
    let limit = objective.limit_ns as f64;
    let ends = |i: usize| match &view.cells[i].lasting {
        // Of the seconds after a burst no interval is told.
        Some(_) => None,
        None => latency_estimate(&record.cells[i], objective.figure)?.interval_ns,
    };
    let overloaded = |i: usize| overloaded(&view.cells[i]);
    // What a heavier load keeps is not where it is lost.
    let beyond = row.iter().position(|i| turn.kept == Some(*i)).map_or(0, |place| place + 1);
    let lost = row[beyond..].iter().copied().find(|i| overloaded(*i) || ends(*i).is_some_and(|(low, _)| low > limit));
    let kept = |i: &usize| !overloaded(*i) && ends(*i).is_some_and(|(_, high)| high <= limit);
    let kept = row.iter().copied().take_while(|i| Some(*i) != lost).filter(kept).last();
    let at = |i: Option<usize>| i.and_then(&named);
    let of_draws = in_draws(record, row, &named);
    let found = match (at(kept), at(lost)) {
        (Some(kept), Some(lost)) => {
            format!(" Found by search: with 95 % confidence it is kept {kept} and lost {lost}.")
        }
        (Some(kept), None) => {
            format!(
                " Found by search: with 95 % confidence it is kept {kept}; no load tried loses it with that confidence."
            )
        }
        (None, Some(lost)) => {
            format!(
                " Found by search: with 95 % confidence it is lost {lost}; no load tried keeps it with that confidence."
            )
        }
        (None, None) => " Found by search; its trials are too short to tell with what confidence.".to_owned(),
    };
    found + &of_draws
}

/// Of a search on a model: in how many draws of it the objective holds, and up to which load it holds in all.
fn in_draws(record: &RunRecord, row: &[usize], named: impl Fn(usize) -> Option<String>) -> String {
    let of = |i: &usize| {
        let cell = &record.cells[*i];
        DrawsKept::of(cell, cell.load.figures().objective?).map(|draws| (*i, draws))
    };
    let tried: Vec<(usize, DrawsKept)> = row.iter().rev().filter_map(of).collect();
    let Some((heaviest, draws)) = tried.first() else { return String::new() };
    let Some(at) = named(*heaviest) else { return String::new() };
    if draws.is_sure() {
        return format!(" It holds {at} in all {} draws of the model.", draws.of);
    }
    let sure = tried.iter().find(|(_, draws)| draws.is_sure()).and_then(|(i, _)| named(*i));
    let rest = sure.map_or_else(|| "no load tried holds it in all".to_owned(), |sure| format!("in all of them {sure}"));
    format!(" It holds {at} in {} of {} draws of the model; {rest}.", draws.kept, draws.of)
}

/// Where the loads of a curve are named by their share of a maximum that was found before the run, and the run itself reached
/// another: of what the names are shares.
fn shares_of_another(view: &VolumeView<'_>, record: &RunRecord, curve: &Curve, most: f64) -> Option<String> {
    let named = |i: &usize| {
        let name = record.cells[*i].load.name()?;
        let share = name.strip_prefix(CURVE)?.strip_suffix('%')?.trim().parse::<f64>().ok()?;
        let rate = view.cells[*i].load.rate_iops?;
        (share > 0.0).then(|| (share, rate * 100.0 / share))
    };
    let (_, whole) = curve.open.iter().filter_map(named).max_by(|a, b| a.0.total_cmp(&b.0))?;
    ((most / whole - 1.0).abs() > DIFFER).then(|| {
        format!(
            " The shares in the names of these loads are of the {} reached just before the run; the run itself reached {}.",
            number(whole),
            number(most)
        )
    })
}

/// A rate; where a burst raises it at first, what lasts, with what was before.
fn rate_of(cell: &CellSummary) -> Option<String> {
    let rate = format!("{} IOPS", number(cell.iops_lasting()?));
    Some(match &cell.lasting {
        Some(lasting) => format!("{rate}, after {} {}", number(lasting.iops_before), lasting.how_long()),
        None => rate,
    })
}

fn of_closed(
    view: &VolumeView<'_>,
    record: &RunRecord,
    curve: &Curve,
    objective: &Objective,
) -> Option<ObjectiveOutcome> {
    let turn = objective.turn(view, &curve.closed)?;
    let told = |i: usize| {
        let cell = &view.cells[i];
        Some((place_of(view, curve, i)?, objective.told_of(cell)?, rate_of(cell)?))
    };
    let at = |i: usize| Some(format!("at {}", place_of(view, curve, i)?));
    let aside = turn.aside(at, "deeper queues")? + &known(view, record, &curve.closed, (objective, &turn), at);
    let name = load_name(&view.cells[curve.closed[0]]);
    let objective_name = objective.name();
    let text = match (turn.kept, turn.lost) {
        (Some(kept), Some(lost)) => {
            let ((depth, latency, rate), (beyond, too_long, _)) = (told(kept)?, told(lost)?);
            let between = between(view, curve, objective, kept, lost).map_or_else(String::new, |depth| {
                let limit = Duration::from_ns(objective.limit_ns);
                format!(" Since the rate is level there, {} outstanding take {limit}.", number(depth))
            });
            format!(
                "{name} stay within {objective_name} up to {depth} ({latency}, {rate}); at {beyond} it is \
                 {too_long}.{between}"
            )
        }
        (None, Some(lost)) => {
            let (depth, latency, rate) = told(lost)?;
            // What a burst has before it is spent is not what is judged.
            let then = if view.cells[lost].lasting.is_some() { format!(" ({rate})") } else { String::new() };
            format!("{name} miss {objective_name} at every depth tried: {latency} already at {depth}{then}.")
        }
        // One depth that keeps it is no news.
        (Some(_), None) if curve.closed.len() < 2 => return None,
        (Some(cell), None) if !turn.strays.is_empty() => {
            let (depth, latency, rate) = told(cell)?;
            format!("{name} stay within {objective_name} at {depth}, the deepest measured ({latency}, {rate}).")
        }
        (Some(cell), None) => {
            let (depth, latency, _) = told(cell)?;
            return Some(ObjectiveOutcome::Kept {
                objective: objective_name,
                part: format!("{name} up to {depth} ({latency})"),
                cell,
            });
        }
        (None, None) => return None,
    };
    Some(ObjectiveOutcome::Lost(finding(view, &(text + &aside), &turn.cells())))
}

/// How many requests a load of a closed loop has in flight; with its depth and threads if another has as many of them otherwise.
fn place_of(view: &VolumeView<'_>, curve: &Curve, index: usize) -> Option<String> {
    let cell = &view.cells[index];
    let own = outstanding(cell)?;
    let place = at_depth(view, curve, own);
    let is_like = |other: &usize| *other != index && outstanding(&view.cells[*other]) == Some(own);
    let (Some(depth), true) = (cell.load.queue_depth, curve.closed.iter().any(is_like)) else { return Some(place) };
    let threads = if cell.load.threads == 1 { "1 thread".to_owned() } else { format!("{} threads", cell.load.threads) };
    Some(format!("{place} (depth {depth}, {threads})"))
}

/// Whether requests arrive in equal steps of time.
fn is_even(cell: &CellSummary) -> bool {
    cell.load.arrival == ArrivalKind::Constant
}

fn of_open(
    view: &VolumeView<'_>,
    record: &RunRecord,
    curve: &Curve,
    objective: &Objective,
) -> Option<ObjectiveOutcome> {
    let turn = objective.turn(view, &curve.open)?;
    // What was offered as a share of what can be had: where the rate levels off, or else the most that was seen.
    let (most, what) = if let Some(plateau) = &curve.plateau {
        (plateau.iops, "at which they level off")
    } else {
        let all = curve.open.iter().chain(&curve.closed);
        (all.filter_map(|i| view.cells[*i].iops_lasting()).max_by(f64::total_cmp)?, "delivered at most")
    };
    let of_most = format!("of the {} {what}", number(most));
    let told = |i: usize| {
        let cell = &view.cells[i];
        let rate = cell.offered_iops?;
        Some((number(rate), percent(rate / most), objective.figure_of(cell)))
    };
    let with = |i: usize| Some(format!("with {} arriving a second", number(view.cells[i].offered_iops?)));
    // Which of the two it is: a latency that is kept is not lost.
    let missed = |i: usize| {
        let cell = &view.cells[i];
        let by_rate = objective.figure_of(cell).filter(|figure| *figure <= objective.limit_ns as f64);
        let why = by_rate.map_or_else(String::new, |figure| {
            format!(
                " (not by latency, {}: only {} of the arrivals were answered in time)",
                span(figure),
                answered(cell)
            )
        });
        Some(format!("{}{why}", with(i)?))
    };
    let aside = turn.aside(missed, "higher loads")? + &known(view, record, &curve.open, (objective, &turn), with);
    let reached = curve.open.iter().chain(&curve.closed).filter_map(|i| view.cells[*i].iops_lasting());
    let other = reached.max_by(f64::total_cmp).and_then(|reached| shares_of_another(view, record, curve, reached));
    let other = other.unwrap_or_default();
    let first = &view.cells[curve.open[0]];
    let name = load_name(first);
    let objective_name = objective.name();
    let text = match (turn.kept, turn.lost) {
        (Some(kept), Some(lost)) => {
            let ((low, low_share, latency), (high, high_share, _)) = (told(kept)?, told(lost)?);
            let beyond = objective.missed_by(&view.cells[lost], " at the other");
            format!(
                "{name} lose {objective_name} between {low} and {high} arriving a second ({low_share} and {high_share} {of_most}): \
                 {} at the one, {beyond}.",
                span(latency?)
            )
        }
        (Some(cell), None) if !turn.strays.is_empty() => {
            let (rate, share, latency) = told(cell)?;
            format!(
                "{name} stay within {objective_name} up to {rate} arriving a second, the most offered ({share} {of_most}; \
                 {}).",
                span(latency?)
            )
        }
        (Some(cell), None) => {
            let (rate, share, latency) = told(cell)?;
            let part = format!("{name} up to {rate} arriving a second ({share} {of_most}; {})", span(latency?));
            let other = other.trim().trim_end_matches('.').replacen("The ", "the ", 1);
            let part = if other.is_empty() { part } else { format!("{part}; {other}") };
            return Some(ObjectiveOutcome::Kept { objective: objective_name, part, cell });
        }
        (None, Some(lost)) => {
            let (rate, share, _) = told(lost)?;
            let already = objective.missed_by(&view.cells[lost], " already");
            format!(
                "{name} miss {objective_name} at every rate offered: {already} with {rate} arriving a second ({share} {of_most})."
            )
        }
        (None, None) => return None,
    };
    Some(ObjectiveOutcome::Lost(finding(view, &(text + &aside + &other), &turn.cells())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{ExampleDisk, cell, closed, run};
    use crate::summarize;

    #[test]
    fn verdict_and_findings_judge_large_requests_by_a_chosen_objective_alone() {
        // 1 MiB at depth 32 takes 160 ms.
        let of = |objective: Option<loadline_load::Objective>| {
            let load = LoadFigures { objective, ..closed("sequential", 1.0, 1 << 20, 32) };
            let summary = summarize(&run(vec![cell(load, &ExampleDisk::default(), &[1.0])]));
            let found = summary.findings.iter().any(|finding| finding.code == codes::OBJECTIVE);
            (found, summary.verdict.is_some_and(|verdict| verdict.objective.is_some()))
        };
        assert_eq!(of(None), (false, false));
        let limit = Duration::from_ms(20);
        assert_eq!(of(Some(loadline_load::Objective { of: LatencyFigure::Mean, limit })), (true, true));
    }
}
