//! Several runs in one section: their common cells, as charts and in one table, run beside run.

mod bars;
mod chosen;
mod curves;

use super::overview::figure;
use super::{CellView, Escaped, Run, table};
use crate::chart::{RatioChart, RatioRow, STYLES, Size};
use crate::comparison::{figure_name, interval, letter, ratio};
use crate::figures::{self, MISSING, plain};
use crate::put;
use loadline_analysis::{Against, ApplicationSide, CellComparison, Comparison, Figure, Verdict};
use loadline_load::LatencyFigure;
use std::collections::BTreeMap;

/// The key for the counterpart of a cell in another run: its volume, if volumes distinguish cells, and its label.
type Key<'a> = (Option<&'a str>, &'a str);

/// A load, and its cell of each run.
struct Row<'a> {
    volume: Option<&'a str>,
    label: &'a str,
    cells: Vec<Option<usize>>,
}

/// The runs with their comparison against the first.
struct ComparedRuns<'r, 'a> {
    runs: &'r [Run<'a>],
    /// The names of runs in charts.
    names: Vec<String>,
    /// Whether volumes distinguish cells.
    volumes_several: bool,
    comparison: Option<&'r Comparison>,
}

impl<'r, 'a> ComparedRuns<'r, 'a> {
    fn new(runs: &'r [Run<'a>], comparison: Option<&'r Comparison>) -> Self {
        Self {
            runs,
            names: chosen::names(runs),
            // Runs on one volume each are compared by load, whatever the names of their volumes.
            volumes_several: runs.iter().any(|run| run.volumes_several),
            comparison,
        }
    }
    /// The runs in charts: as many as there are distinct styles.
    fn drawn(&self) -> &'r [Run<'a>] {
        &self.runs[..self.runs.len().min(STYLES)]
    }
    /// A note that there are more runs than charts show, if so.
    fn runs_left_out(&self) -> String {
        let (drawn, all) = (self.drawn().len(), self.runs.len());
        if drawn == all {
            return String::new();
        }
        format!(" Of {all} runs the first {drawn} are drawn; which are first is the order in which they were named.")
    }
    /// A cell against its counterpart of the first run.
    fn verdict(&self, run: usize, index: usize) -> Option<&CellComparison> {
        let id = &self.runs[run].summary.cells[index].id;
        let against = self.comparison?.against.iter().find(|a| a.side as usize == run)?;
        against.cells.iter().find(|cell| cell.other_id == *id)
    }
    /// A cell's figures in words, for tooltips.
    fn title(&self, run: usize, view: &CellView<'_>) -> String {
        let mut title = format!("{}: {}", self.names[run], self.runs[run].cell_title(view));
        if let Some(cell) = self.verdict(run, view.index) {
            put!(title, "\nagainst {}: {} {}", self.names[0], cell.verdict.words(), deciding(cell));
        }
        title.trim_end().to_owned()
    }
}

/// Loads beside the verdict at most.
const LEAD_ROWS_MAX: usize = 7;

/// What stands beside the verdict: each load as a ratio to the baseline, of several sides each side over all loads. Empty where nothing
/// can be compared.
pub(super) fn lead_chart(comparison: &Comparison) -> String {
    let mut rows = if comparison.applications.is_empty() { ratio_rows(comparison) } else { work_rows(comparison) };
    if rows.is_empty() {
        return String::new();
    }
    let all = rows.len();
    // The largest differences, in the order of the loads.
    let mut by_size: Vec<usize> = (0..all).collect();
    let size = |place: &usize| -rows[*place].ratio.ln().abs();
    by_size.sort_by(|a, b| size(a).total_cmp(&size(b)));
    let kept = &by_size[..all.min(LEAD_ROWS_MAX)];
    let mut place = 0..;
    rows.retain(|_| place.next().is_some_and(|place| kept.contains(&place)));
    let chart = RatioChart {
        id: "beside-ratios".to_owned(),
        title: "What is compared, as ratios".to_owned(),
        label: "times A; grey: the same for all purposes".to_owned(),
        margin: comparison.margin,
        rows,
    };
    let heading = if comparison.against.len() == 1 { "B as times A" } else { "Each side as times A" };
    let left_out = match all - kept.len() {
        0 => String::new(),
        more => format!("{more} more with smaller differences: see below."),
    };
    let mut out = String::new();
    figure(&mut out, Size::Lead, heading, &chart, &left_out);
    out
}

/// The loads of the only other side, or each other side over all its loads.
fn ratio_rows(comparison: &Comparison) -> Vec<RatioRow> {
    let words = |figure: Figure, value: f64, ends: Option<(f64, f64)>| {
        let ends = ends.map_or_else(String::new, |(low, high)| format!(" ({})", interval(Some(low), Some(high))));
        format!("{}{ends} {}", ratio(value), figure_name(figure))
    };
    let of_cell = |cell: &CellComparison| {
        let found = cell.deciding().filter(|found| found.ratio > 0.0 && found.ratio.is_finite())?;
        let ends = found.low.zip(found.high);
        Some(RatioRow {
            name: plain(&cell.label),
            style: 0,
            ratio: found.ratio,
            interval: ends,
            doubted: cell.doubted(),
            text: words(found.figure, found.ratio, ends),
        })
    };
    if let [only] = comparison.against.as_slice() {
        return only.cells.iter().filter_map(of_cell).collect();
    }
    let of_side = |against: &Against| {
        let overall = against.overall.first()?;
        let value = overall.ratio.filter(|ratio| *ratio > 0.0 && ratio.is_finite())?;
        let (side, ends) = (against.side as usize, overall.low.zip(overall.high));
        Some(RatioRow {
            name: format!("{}, {}", letter(side), plain(&comparison.sides[side].name)),
            style: side,
            ratio: value,
            interval: ends,
            doubted: false,
            text: words(overall.figure, value, ends),
        })
    };
    comparison.against.iter().filter_map(of_side).collect()
}

/// What applications at their own pace did: work, requests, and how long each took.
fn work_rows(comparison: &Comparison) -> Vec<RatioRow> {
    let Some(base) = comparison.applications.first() else { return Vec::new() };
    let of_side = |other: &ApplicationSide| {
        let side = other.side as usize;
        let whose = if comparison.applications.len() > 2 { format!("{}: ", letter(side)) } else { String::new() };
        let row = |name: &str, before: Option<f64>, now: Option<f64>| {
            let value = now? / before.filter(|before| *before > 0.0)?;
            let text = ratio(value);
            let name = format!("{whose}{name}");
            let row = RatioRow { name, style: side, ratio: value, interval: None, doubted: false, text };
            (value > 0.0 && value.is_finite()).then_some(row)
        };
        [
            row("what the application counts", base.counted_per_s, other.counted_per_s),
            row("requests a second", Some(base.iops), Some(other.iops)),
            row("how long each takes", Some(base.waits_ns), Some(other.waits_ns)),
        ]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
    };
    comparison.applications.iter().skip(1).flat_map(of_side).collect()
}

/// IOPS, MB/s and p99 of each load that at least two runs have, and the verdict of each later run against the first.
pub(crate) fn side_by_side(out: &mut String, runs: &[Run<'_>], comparison: Option<&Comparison>) {
    let told = ComparedRuns::new(runs, comparison);
    let volumes = told.volumes_several;
    let mut rows: Vec<Row<'_>> = Vec::new();
    let mut places: BTreeMap<Key<'_>, usize> = BTreeMap::new();
    for (column, run) in runs.iter().enumerate() {
        for (index, cell) in run.summary.cells.iter().enumerate() {
            let volume = volumes.then_some(cell.volume.as_str());
            let row = *places.entry((volume, &cell.label)).or_insert_with(|| {
                rows.push(Row { volume, label: &cell.label, cells: vec![None; runs.len()] });
                rows.len() - 1
            });
            rows[row].cells[column].get_or_insert(index);
        }
    }
    rows.retain(|row| row.cells.iter().flatten().count() > 1);
    if rows.is_empty() {
        return;
    }
    out.push_str("<section id=\"side-by-side\">\n<h2>Side by side</h2>\n");
    let on_curves = curves::curves(out, &told);
    bars::bars(out, &told, &rows, &on_curves);
    out.push_str("<h3>Every load that runs share</h3>\n<p class=\"note\">Loads that at least two runs have. Verdicts are against the first run: IOPS in closed loops and where a side falls behind the rate asked for, p99 where both keep it; a ratio with its 95 % interval; same is within 5 %. <code>loadline compare</code> tells more.</p>\n");
    out.push_str("<div class=\"scroll\" tabindex=\"0\"><table class=\"beside\"><thead><tr>");
    if volumes {
        out.push_str("<th scope=\"col\" rowspan=\"2\">volume</th>");
    }
    out.push_str("<th scope=\"col\" rowspan=\"2\">load</th>");
    for (place, run) in runs.iter().enumerate() {
        put!(
            out,
            "<th scope=\"colgroup\" colspan=\"{}\" class=\"first\">{}</th>",
            if place == 0 { 3 } else { 4 },
            Escaped(plain(&run.summary.run.name))
        );
    }
    out.push_str("</tr><tr>");
    for place in 0..runs.len() {
        out.push_str("<th scope=\"col\" class=\"num first\">IOPS</th><th scope=\"col\" class=\"num\">MB/s</th><th scope=\"col\" class=\"num\">p99</th>");
        if place > 0 {
            out.push_str("<th scope=\"col\">verdict</th>");
        }
    }
    out.push_str("</tr></thead><tbody>\n");
    for Row { volume, label, cells } in &rows {
        out.push_str("<tr>");
        if let Some(volume) = volume {
            put!(out, "<td>{}</td>", Escaped(plain(volume)));
        }
        put!(out, "<th scope=\"row\">{}</th>", Escaped(plain(label)));
        for (place, (run, index)) in runs.iter().zip(cells).enumerate() {
            figures_of(out, run, *index);
            if place > 0 {
                verdict_of(out, index.and_then(|index| told.verdict(place, index)));
            }
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n</section>\n");
}

/// Three fields: IOPS with the marks of its doubts, MB/s, p99 of all transfers.
fn figures_of(out: &mut String, run: &Run<'_>, index: Option<usize>) {
    let view = index.map(|index| run.views[index]);
    let total = view.and_then(|view| view.summary.total.as_ref());
    let or_missing = |text: Option<String>| text.unwrap_or_else(|| MISSING.to_owned());
    let marks = index.map_or_else(String::new, |index| table::marks(run, index));
    put!(
        out,
        "<td class=\"num first dbt\">{marks} {}</td><td class=\"num\">{}</td><td class=\"num\">{}</td>",
        or_missing(total.map(|t| figures::iops(t.iops))),
        or_missing(total.map(|t| figures::megabytes(t.throughput_bytes_per_s))),
        or_missing(view.and_then(|view| view.latency_ns(LatencyFigure::P99)).map(figures::latency))
    );
}

/// One field: the verdict against the first run, with its ratio.
fn verdict_of(out: &mut String, cell: Option<&CellComparison>) {
    let Some(cell) = cell else {
        put!(out, "<td>{MISSING}</td>");
        return;
    };
    let class = match cell.verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::Same | Verdict::CannotTell => "even",
    };
    put!(
        out,
        "<td class=\"{class}\"><span class=\"word\">{}</span> <span class=\"figures\">{}</span></td>",
        cell.verdict.words(),
        Escaped(deciding(cell).trim())
    );
}

/// The ratio behind a verdict, with its interval; nothing if there is none.
fn deciding(cell: &CellComparison) -> String {
    cell.deciding().map_or_else(String::new, |r| {
        let ends = if r.low.is_some() { format!(" ({})", interval(r.low, r.high)) } else { String::new() };
        format!("{}{ends}", ratio(r.ratio))
    })
}
