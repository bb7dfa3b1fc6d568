//! The deepest queue, and the highest rate of arrivals, at which the latency objective is kept.

use super::levels::importance;
use super::{View, at_depth, codes};
use crate::curves::{Curve, iops, met, outstanding};
use crate::summary::{CellSummary, Finding, OperationFigures};
use crate::words::{counted, load_name, number, percent, span};
use loadline_record::RunRecord;
use loadline_units::Duration;

/// The limit where none is set: database vendors' 20 ms on average.
const DEFAULT: (&str, u64) = ("mean", 20_000_000);
/// An open loop that completes less than this share of what it offers has lost it, whatever its latency: the backlog grows.
const MET_MIN: f64 = 0.99;
/// Curves told one by one.
const TOLD_ONE_BY_ONE: usize = 6;

/// A latency to keep.
struct Objective<'a> {
    figure: &'a str,
    limit_ns: u64,
    chosen: bool,
}

pub(super) fn objectives(view: &View<'_>, record: &RunRecord, curves: &[&Curve]) -> Vec<Finding> {
    let mut told: Vec<(usize, Finding)> = Vec::new();
    for curve in curves {
        for (cells, open) in [(&curve.closed, false), (&curve.open, true)] {
            let Some(first) = cells.first().copied() else { continue };
            let objective =
                record.cells[first].load.objective.as_ref().map_or(
                    Objective { figure: DEFAULT.0, limit_ns: DEFAULT.1, chosen: false },
                    |(figure, limit_ns)| Objective { figure, limit_ns: *limit_ns, chosen: true },
                );
            let finding = if open { of_open(view, curve, &objective) } else { of_closed(view, curve, &objective) };
            told.extend(finding.map(|f| (first, f)));
        }
    }
    told.sort_by_key(|(first, _)| importance(&view.cells[*first]));
    let rest = told.split_off(told.len().min(TOLD_ONE_BY_ONE));
    let mut found: Vec<Finding> = told.into_iter().map(|(_, f)| f).collect();
    if !rest.is_empty() {
        let cells: Vec<usize> = rest.iter().map(|(first, _)| *first).collect();
        let text =
            format!("for {} more the table shows where the latency objective is lost.", counted(rest.len(), "load"));
        found.push(view.finding(codes::OBJECTIVE, &text, &cells));
    }
    found
}

impl Objective<'_> {
    /// The figure that the objective is about: the worse of reads and writes.
    fn figure_of(&self, cell: &CellSummary) -> Option<f64> {
        let of = |o: &OperationFigures| {
            let l = &o.latency_ns;
            Some(match self.figure {
                "mean" => l.mean,
                "p50" => l.p50 as f64,
                "p90" => l.p90 as f64,
                "p95" => l.p95 as f64,
                "p99" => l.p99 as f64,
                "p99_9" => l.p99_9 as f64,
                _ => return None,
            })
        };
        [&cell.read, &cell.write, &cell.trim].into_iter().flatten().filter_map(of).max_by(f64::total_cmp)
    }
    fn kept(&self, cell: &CellSummary) -> Option<bool> {
        Some(self.figure_of(cell)? <= self.limit_ns as f64 && met(cell).is_none_or(|met| met >= MET_MIN))
    }
    fn name(&self) -> String {
        let limit = Duration::from_ns(self.limit_ns);
        let figure = if self.figure == "mean" {
            "on average".to_owned()
        } else {
            format!("at {}", self.figure.replace('_', "."))
        };
        let usual = if self.chosen { "" } else { " (the usual rule)" };
        format!("{limit} {figure}{usual}")
    }
    /// The last cell of a row that keeps it with all before it, and the first that does not.
    fn turn(&self, view: &View<'_>, row: &[usize]) -> Option<(Option<usize>, Option<usize>)> {
        let kept: Vec<bool> = row.iter().map(|i| self.kept(&view.cells[*i])).collect::<Option<_>>()?;
        let lost = kept.iter().position(|k| !k);
        let deepest_kept = lost.unwrap_or(row.len()).checked_sub(1);
        Some((deepest_kept.map(|place| row[place]), lost.map(|place| row[place])))
    }
}

fn of_closed(view: &View<'_>, curve: &Curve, objective: &Objective<'_>) -> Option<Finding> {
    let (kept, lost) = objective.turn(view, &curve.closed)?;
    let told = |i: usize| {
        let cell = &view.cells[i];
        Some((at_depth(view, curve, outstanding(cell)?), span(objective.figure_of(cell)?), number(iops(cell)?)))
    };
    let name = load_name(&view.cells[curve.closed[0]]);
    let objective_name = objective.name();
    let text = match (kept, lost) {
        (Some(kept), Some(lost)) => {
            let ((depth, latency, rate), (beyond, too_long, _)) = (told(kept)?, told(lost)?);
            format!(
                "{name} stay within {objective_name} up to {depth} ({latency}, {rate} IOPS); at {beyond} it is {too_long}."
            )
        }
        (None, Some(lost)) => {
            let (depth, latency, _) = told(lost)?;
            format!("{name} miss {objective_name} at every depth measured: {latency} already at {depth}.")
        }
        // One depth that keeps it is no news.
        (Some(_), None) if curve.closed.len() < 2 => return None,
        (Some(kept), None) => {
            let (depth, latency, rate) = told(kept)?;
            format!(
                "{name} stay within {objective_name} at every depth measured, up to {depth} ({latency}, {rate} IOPS)."
            )
        }
        (None, None) => return None,
    };
    Some(view.finding(codes::OBJECTIVE, &text, &kept.into_iter().chain(lost).collect::<Vec<_>>()))
}

fn of_open(view: &View<'_>, curve: &Curve, objective: &Objective<'_>) -> Option<Finding> {
    let (kept, lost) = objective.turn(view, &curve.open)?;
    let most = curve.open.iter().chain(&curve.closed).filter_map(|i| iops(&view.cells[*i])).max_by(f64::total_cmp)?;
    let told = |i: usize| {
        let cell = &view.cells[i];
        let rate = cell.offered_iops?;
        Some((number(rate), percent(rate / most), span(objective.figure_of(cell)?)))
    };
    let name = load_name(&view.cells[curve.open[0]]);
    let objective_name = objective.name();
    let lost_how = |i: usize| {
        let (rate, share, latency) = told(i)?;
        let cell = &view.cells[i];
        Some(if objective.figure_of(cell)? <= objective.limit_ns as f64 {
            format!("{rate} ({share}) are no longer all answered")
        } else {
            format!("at {rate} ({share}) it is {latency}")
        })
    };
    let text = match (kept, lost) {
        (Some(kept), lost) => {
            let (rate, share, latency) = told(kept)?;
            let then = match lost {
                Some(lost) => lost_how(lost)?,
                None => "no higher rate was offered".to_owned(),
            };
            format!(
                "with {rate} {name} arriving a second ({share} of the most delivered) latency stays within \
                 {objective_name} ({latency}); {then}."
            )
        }
        (None, Some(lost)) => {
            let (rate, share, latency) = told(lost)?;
            format!(
                "{objective_name} is missed at every rate offered: {latency} already with {rate} {name} arriving a second \
                 ({share} of the most delivered)."
            )
        }
        (None, None) => return None,
    };
    Some(view.finding(codes::OBJECTIVE, &text, &kept.into_iter().chain(lost).collect::<Vec<_>>()))
}
