//! Rows of predictions as a part of a page: latency against load with the limits drawn in, what is to be known of each
//! environment, and the rows.

use super::overview::{figure, legend};
use crate::chart::{Axis, Line, LineChart, Mark, Point, STYLES, Size};
use crate::figures::{self, latency, latency_tick, tick};
use crate::put;
use crate::table::{Column, Field, Table};
use crate::verdict_line::{About, ObjectiveStanding, VerdictLine, lines_html};
use crate::words::sweep::burst_levels;
use loadline_prediction::PredictionRow;
use loadline_units::words::number;

/// The rows of one environment, in the order of their depths.
struct Side<'a> {
    name: &'a str,
    rows: Vec<&'a PredictionRow>,
}

/// A part of a page about rows. Of a row that is there twice, by limits and by simulation, the later counts. `objective_ns` is the
/// p99 to keep.
#[must_use]
pub fn predictions_body(rows: &[PredictionRow], objective_ns: Option<u64>) -> String {
    let sides = sides(rows);
    let mut lines: Vec<VerdictLine> = Vec::new();
    for side in &sides {
        lines.extend(most(side));
        lines.extend(objective_ns.and_then(|limit| kept(side, limit, sides.len() > 1)));
    }
    let mut problems: Vec<&str> = rows.iter().filter_map(|row| row.problem.as_deref()).collect();
    problems.dedup();
    lines.extend(problems.first().map(|problem| About::FirstProblem.says(*problem)));
    let mut out = String::from("<section>\n<h2>Verdict</h2>\n<div class=\"verdict\">\n");
    lines_html(&mut out, "answers", &lines.iter().collect::<Vec<_>>());
    curve(&mut out, &sides, objective_ns);
    out.push_str("</div>\n</section>\n");
    let table = table(&sides).html();
    put!(out, "<section>\n<h2>Each depth</h2>\n{table}</section>\n");
    out
}

fn sides(rows: &[PredictionRow]) -> Vec<Side<'_>> {
    let mut sides: Vec<Side<'_>> = Vec::new();
    for row in rows {
        let place = sides.iter().position(|side| side.name == row.environment).unwrap_or_else(|| {
            sides.push(Side { name: &row.environment, rows: Vec::new() });
            sides.len() - 1
        });
        let known = &mut sides[place].rows;
        match known.iter_mut().find(|known| known.cell == row.cell && known.volume == row.volume) {
            Some(known) => *known = row,
            None => known.push(row),
        }
    }
    sides
}

fn outstanding(row: &PredictionRow) -> Option<u64> {
    let load = row.load.as_ref()?;
    Some(u64::from(load.queue_depth?) * u64::from(load.threads))
}

/// "4,980 IOPS at most, from 64 outstanding on; disk-iops holds it."
fn most(side: &Side<'_>) -> Option<VerdictLine> {
    let lasting = |row: &PredictionRow| row.figures.lasting_iops.or(row.figures.iops);
    let best = side.rows.iter().filter_map(|row| Some((lasting(row)?, *row))).max_by(|a, b| a.0.total_cmp(&b.0))?;
    let near = side.rows.iter().find(|row| lasting(row).is_some_and(|iops| iops >= 0.98 * best.0)).copied();
    let (iops, row) = (best.0, near.unwrap_or(best.1));
    let depth = outstanding(row).map_or_else(String::new, |depth| format!(", from {depth} outstanding on"));
    let limit = row.figures.binding.as_ref().map_or_else(String::new, |(limit, _)| format!("; {limit} holds it"));
    let next = row.figures.next.as_ref();
    let next = next.map_or_else(String::new, |(limit, iops)| format!(", then {limit} at {} IOPS", number(*iops)));
    let burst = burst_levels(&row.figures).map_or_else(String::new, |levels| format!(" With its burst: {levels}."));
    Some(
        About::subject(side.name.to_owned()).says(format!("{} IOPS at most{depth}{limit}{next}.{burst}", number(iops))),
    )
}

/// The deepest load that keeps the p99; nothing while no row has one.
fn kept(side: &Side<'_>, limit: u64, are_several: bool) -> Option<VerdictLine> {
    let known: Vec<(&PredictionRow, u64)> =
        side.rows.iter().filter_map(|row| Some((*row, row.figures.latency_p99_ns?))).collect();
    if known.is_empty() {
        return None;
    }
    let of = if are_several { format!("{}: ", side.name) } else { String::new() };
    let allowed = latency(limit as f64);
    let kept = known.iter().take_while(|(_, p99)| *p99 <= limit).last();
    Some(match kept {
        Some((row, p99)) => {
            let depth = outstanding(row).unwrap_or(0);
            let rate = number(row.figures.iops.unwrap_or(0.0));
            let p99 = latency(*p99 as f64);
            About::Objective(ObjectiveStanding::Kept)
                .says(format!("{of}a p99 of {allowed} is kept up to {depth} outstanding: {rate} IOPS, p99 {p99}."))
        }
        None => About::Objective(ObjectiveStanding::Broken).says(format!(
            "{of}a p99 of {allowed} is missed by the lightest load: p99 {}.",
            latency(known[0].1 as f64)
        )),
    })
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
        let of = |what: &str| if sides.len() > 1 { format!("{}, {what}", side.name) } else { what.to_owned() };
        for (what, of_row) in [("mean", mean as Latency), ("p99", p99)] {
            let points: Vec<Point> = side.rows.iter().filter_map(|row| point(row, of_row(row)?, what)).collect();
            if !points.is_empty() {
                let style = names.len() % STYLES;
                names.push((of(what), style));
                lines.push(Line::marked(of(what), style, points));
            }
        }
        let deepest = side.rows.iter().rev().find_map(|row| row.figures.binding.as_ref().map(|found| (row, found)));
        let Some((row, (limit, Some(ceiling)))) = deepest else { continue };
        let mark = |limit: &str, x: f64| Mark { x, label: of(limit), is_named: sides.len() == 1 };
        marks.push(mark(limit, *ceiling));
        marks.extend(row.figures.next.as_ref().map(|(limit, iops)| mark(limit, *iops)));
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
    most(side).map(|line| format!("{}: {}", side.name, line.text))
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
            Field::text(side.name),
            outstanding(row).map_or_else(Field::missing, Field::count),
            Field::figure(figures.iops, figures::iops),
            Field::figure(figures.throughput_bytes_per_s, figures::megabytes),
            Field::figure(figures.latency_mean_ns, latency),
            Field::figure(figures.latency_p99_ns, |ns| latency(ns as f64)),
            optional(figures.binding.as_ref().map(|(limit, _)| limit.clone())),
            optional(figures.next.as_ref().map(|(limit, iops)| format!("{limit} at {}", number(*iops)))),
            optional(burst_levels(figures).or_else(|| row.problem.clone())),
        ]);
    }
    table
}
