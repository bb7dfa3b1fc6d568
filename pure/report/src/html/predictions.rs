//! Rows of predictions as a part of a page: latency against load with the limits drawn in, what is to be known of each
//! environment, and the rows.

use super::overview::{figure, legend};
use crate::chart::{Axis, Line, LineChart, Mark, Point, STYLES, Size};
use crate::figures::{self, latency, latency_tick, tick};
use crate::put;
use crate::table::{Column, Field, Table};
use crate::verdict_line::{About, ObjectiveStanding, VerdictLine, lines_html};
use crate::words::ceiling_source;
use crate::words::sweep::burst_levels;
use loadline_prediction::{PredictionRow, VolumeLimit};
use loadline_record::{Ceiling, Limit};
use loadline_units::words::{capital, number};

/// A row reaches a limit from this share of it on: rates of a simulation scatter.
const REACHED: f64 = 0.95;

/// A storage on the page.
#[derive(Debug, Clone, PartialEq)]
pub struct PredictedSide {
    /// Its name in the rows.
    pub name: String,
    /// Machine and disks in words.
    pub what: String,
    /// Its limit, which the verdict, the chart and the table name; `None` if nothing limits it.
    pub limit: Option<VolumeLimit>,
}

/// A storage with its rows, in the order of their depths.
struct Side<'a> {
    of: &'a PredictedSide,
    rows: Vec<&'a PredictionRow>,
}

/// A part of a page about rows. Of a row that is there twice, by limits and by simulation, the later counts. `objective_ns` is the
/// p99 to keep.
#[must_use]
pub fn predictions_body(rows: &[PredictionRow], storage: &[PredictedSide], objective_ns: Option<u64>) -> String {
    let sides = sides(rows, storage);
    let mut lines: Vec<VerdictLine> = Vec::new();
    for side in &sides {
        lines.push(About::subject(title(side)).says(format!("{}. {}", side.of.what, most(side))));
        lines.extend(objective_ns.map(|limit| kept(side, limit)));
    }
    let mut problems: Vec<&str> = rows.iter().filter_map(|row| row.problem.as_deref()).collect();
    problems.dedup();
    lines.extend(problems.first().map(|problem| About::FirstProblem.says(*problem)));
    let mut out = String::from("<section>\n<h2>Verdict</h2>\n<div class=\"verdict\">\n");
    lines_html(&mut out, "answers", &lines.iter().collect::<Vec<_>>());
    curve(&mut out, &sides, objective_ns);
    out.push_str("</div>\n</section>\n");
    let table = table(&sides).html();
    let mut meant = "Held by: the limit of a row; latency is the time of a request itself.".to_owned();
    if sides.iter().filter_map(|side| side.of.limit.as_ref()).any(|limit| limit.lasting.limit == Limit::BurstExhausted)
    {
        meant += " Burst-exhausted: the rate that is left once the credits for bursts are spent.";
    }
    put!(out, "<section>\n<h2>Each depth</h2>\n{table}<p class=\"note\">{meant}</p>\n</section>\n");
    out
}

fn title(side: &Side<'_>) -> String {
    format!("storage {}", side.of.name)
}

fn sides<'a>(rows: &'a [PredictionRow], storage: &'a [PredictedSide]) -> Vec<Side<'a>> {
    let side = |of: &'a PredictedSide| {
        let mut known: Vec<&PredictionRow> = Vec::new();
        for row in rows.iter().filter(|row| row.environment == of.name) {
            match known.iter_mut().find(|known| known.cell == row.cell && known.volume == row.volume) {
                Some(known) => *known = row,
                None => known.push(row),
            }
        }
        Side { of, rows: known }
    };
    storage.iter().map(side).collect()
}

fn outstanding(row: &PredictionRow) -> Option<u64> {
    let load = row.load.as_ref()?;
    Some(u64::from(load.queue_depth?) * u64::from(load.threads))
}

/// "5,000 IOPS at most, from 64 outstanding on: each of 2 disks: 5,000 IOPS (disk-iops).".
fn most(side: &Side<'_>) -> String {
    let Some(limit) = &side.of.limit else { return "No limit of it is known.".to_owned() };
    let of = |ceiling: &Ceiling| format!("{} ({})", ceiling_source(&ceiling.source), ceiling.limit.name());
    let reached = side.rows.iter().find(|row| reaches(row, &limit.measured)).and_then(|row| outstanding(row));
    let from = reached.map_or_else(String::new, |depth| format!(", from {depth} outstanding on"));
    let below = match reached {
        Some(_) => String::new(),
        None => side
            .rows
            .last()
            .and_then(|row| Some((outstanding(row)?, row.figures.iops?)))
            .map_or_else(String::new, |(depth, iops)| {
                format!(" Its rows reach {} IOPS, at {depth} outstanding.", number(iops))
            }),
    };
    if let Some((ends_at, burst)) = &limit.burst {
        return format!(
            "{} IOPS at most while credits for bursts last, for {}{from}: {}. Then {} IOPS for good: {}.{below}",
            number(burst.iops),
            ends_at.clock(),
            of(burst),
            number(limit.lasting.iops),
            of(&limit.lasting)
        );
    }
    let next = limit.next.as_ref();
    let next =
        next.map_or_else(String::new, |next| format!(" The next limit is {} IOPS: {}.", number(next.iops), of(next)));
    format!("{} IOPS at most{from}: {}.{next}{below}", number(limit.measured.iops), of(&limit.measured))
}

/// Whether a row's rate is that of a limit.
fn reaches(row: &PredictionRow, limit: &Ceiling) -> bool {
    row.figures.iops.is_some_and(|iops| iops >= REACHED * limit.iops)
}

/// What holds a row: the storage's limit if the row reaches it, otherwise its own.
fn held_by(side: &Side<'_>, row: &PredictionRow) -> Option<String> {
    let limit = side.of.limit.as_ref().map(|limit| &limit.measured).filter(|limit| reaches(row, limit));
    limit.map(|limit| limit.limit.name().to_owned()).or_else(|| Some(row.figures.binding.as_ref()?.0.clone()))
}

/// The limit after that: of a row that does not reach the storage's limit, and waits at none, it is that limit. A limit of spent credits
/// is none while they last.
fn then(side: &Side<'_>, row: &PredictionRow) -> Option<(String, f64)> {
    let named = |ceiling: &Ceiling| (ceiling.limit.name().to_owned(), ceiling.iops);
    match &side.of.limit {
        Some(limit) if reaches(row, &limit.measured) => limit.next.as_ref().map(named),
        Some(limit) if held_by(side, row).as_deref() == Some(Limit::Latency.name()) => Some(named(&limit.measured)),
        _ => row.figures.next.clone(),
    }
}

/// The deepest load that keeps the p99, of the rows that are simulated so far.
fn kept(side: &Side<'_>, limit: u64) -> VerdictLine {
    let known: Vec<(&PredictionRow, u64)> =
        side.rows.iter().map_while(|row| Some((*row, row.figures.latency_p99_ns?))).collect();
    let allowed = latency(limit as f64);
    let title = title(side);
    let Some(first) = known.first() else {
        let open = side.rows.iter().all(|row| row.problem.is_none());
        let open = if open { "still open: limits show no latency, which is simulated next" } else { "not known" };
        return About::Doubt.says(format!("Whether {title} keeps a p99 of {allowed} is {open}."));
    };
    let Some((row, p99)) = known.iter().take_while(|(_, p99)| *p99 <= limit).last() else {
        let p99 = latency(first.1 as f64);
        return About::Objective(ObjectiveStanding::Broken)
            .says(format!("The lightest load on {title} misses a p99 of {allowed}: {p99}."));
    };
    let depth = outstanding(row).unwrap_or(0);
    let at =
        format!("{depth} outstanding: {} IOPS, p99 {}", number(row.figures.iops.unwrap_or(0.0)), latency(*p99 as f64));
    let is_open = known.len() < side.rows.len() && known.last().is_some_and(|(_, p99)| *p99 <= limit);
    if is_open {
        return About::Doubt
            .says(format!("So far {title} keeps a p99 of {allowed} at {at}. Deeper loads are not simulated yet."));
    }
    About::Objective(ObjectiveStanding::Kept).says(format!("{} keeps a p99 of {allowed} up to {at}.", capital(&title)))
}

/// A latency of a row, ns.
type Latency = fn(&PredictionRow) -> Option<f64>;

fn mean(row: &PredictionRow) -> Option<f64> {
    row.figures.latency_mean_ns
}

fn p99(row: &PredictionRow) -> Option<f64> {
    row.figures.latency_p99_ns.map(|ns| ns as f64)
}

/// Mean and p99 latency against the rate, and the ceilings as upright lines.
fn curve(out: &mut String, sides: &[Side<'_>], objective_ns: Option<u64>) {
    let mut lines = Vec::new();
    let mut names: Vec<(String, usize)> = Vec::new();
    let mut marks: Vec<Mark> = Vec::new();
    for side in sides {
        let of = |what: &str| if sides.len() > 1 { format!("{}, {what}", title(side)) } else { what.to_owned() };
        for (what, of_row) in [("mean", mean as Latency), ("p99", p99)] {
            let points: Vec<Point> = side.rows.iter().filter_map(|row| point(row, of_row(row)?, what)).collect();
            if !points.is_empty() {
                let style = names.len() % STYLES;
                names.push((of(what), style));
                lines.push(Line::marked(of(what), style, points));
            }
        }
        let Some(limit) = &side.of.limit else { continue };
        let all = [Some(&limit.measured), limit.burst.is_some().then_some(&limit.lasting), limit.next.as_ref()];
        let mut known: Vec<&Ceiling> = Vec::new();
        for ceiling in all.into_iter().flatten() {
            if !known.iter().any(|other| other.limit == ceiling.limit) {
                known.push(ceiling);
            }
        }
        marks.extend(known.into_iter().map(|ceiling| Mark {
            x: ceiling.iops,
            label: of(ceiling.limit.name()),
            is_named: sides.len() == 1,
        }));
    }
    if lines.is_empty() {
        return;
    }
    let points = || sides.iter().flat_map(|side| &side.rows);
    let rates = points().filter_map(|row| row.figures.iops);
    let most = rates.clone().fold(0.0, f64::max);
    // A limit far above every rate would only compress them.
    marks.retain(|mark| mark.x <= 1.5 * most);
    let x = Axis::linear("IOPS", tick, rates.chain(marks.iter().map(|mark| mark.x)));
    let mean = points().filter_map(|row| row.figures.latency_mean_ns);
    let tails = points().filter_map(|row| row.figures.latency_p99_ns).chain(objective_ns).map(|ns| ns as f64);
    let y = Axis::logarithmic("latency", latency_tick, mean.chain(tails));
    let described: Vec<String> = sides.iter().filter_map(most_of).collect();
    let chart = LineChart {
        id: "latency".to_owned(),
        title: "Latency by load".to_owned(),
        description: described.join(" "),
        x,
        y,
        lines,
        references: objective_ns
            .map(|ns| crate::chart::Reference { y: ns as f64, label: format!("p99 of {}", latency(ns as f64)) })
            .into_iter()
            .collect(),
        separators: Vec::new(),
        marks,
        size: Size::Lead,
        names: false,
        hover: None,
    };
    out.push_str("<div class=\"chart-beside\">");
    let caption =
        "Each mark is a number of requests outstanding, doubling from left to right. Upright lines are limits.";
    figure(out, Size::Lead, "Latency against load", &chart, caption);
    legend(out, &names);
    out.push_str("</div>\n");
}

fn most_of(side: &Side<'_>) -> Option<String> {
    (!side.rows.is_empty()).then(|| format!("{}: {}", title(side), most(side)))
}

fn point(row: &PredictionRow, y: f64, what: &str) -> Option<Point> {
    let x = row.figures.iops.filter(|iops| iops.is_finite())?;
    let depth = outstanding(row).unwrap_or(0);
    let title = format!("{depth} outstanding: {} IOPS, {what} {}", number(x), latency(y));
    Some(Point { x, y, interval: None, doubted: false, title })
}

fn table(sides: &[Side<'_>]) -> Table {
    let mut table = Table::new(&[
        Column::words("storage", "environment"),
        Column::numbers("outstanding", "outstanding"),
        Column::numbers("IOPS", "iops"),
        Column::numbers("MB/s", "throughput_bytes_per_s"),
        Column::numbers("mean", "latency_mean_ns"),
        Column::numbers("p99", "latency_p99_ns"),
        Column::words("held by", "binding_limit"),
        Column::words("then", "next_limit"),
        Column::words("with its burst", "burst"),
    ]);
    let optional = |text: Option<String>| text.map_or_else(Field::missing, Field::text);
    for (side, row) in sides.iter().flat_map(|side| side.rows.iter().map(move |row| (side, row))) {
        let figures = &row.figures;
        table.push(vec![
            Field::text(&side.of.name),
            outstanding(row).map_or_else(Field::missing, Field::count),
            Field::figure(figures.iops, figures::iops),
            Field::figure(figures.throughput_bytes_per_s, figures::megabytes),
            Field::figure(figures.latency_mean_ns, latency),
            Field::figure(figures.latency_p99_ns, |ns| latency(ns as f64)),
            optional(held_by(side, row)),
            optional(then(side, row).map(|(limit, iops)| format!("{limit} at {}", number(iops)))),
            optional(burst_levels(figures).or_else(|| row.problem.clone())),
        ]);
    }
    table
}
