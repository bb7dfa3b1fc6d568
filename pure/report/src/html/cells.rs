//! Each cell in full, folded: percentiles, their curve, the series, and its trials.

use super::course::{self, PAPER_POINTS_MAX, POINTS_MAX, course};
use super::overview::{self, drawn};
use super::{CellView, Escaped, Run, table};
use crate::chart::{Axis, Chart, Hover, Line, LineChart, Reference, Size, Ticks};
use crate::figures::{self, MISSING, plain};
use crate::put;
use crate::rows;
use crate::words;
use crate::words::doubt_detail;
use loadline_analysis::{LatencyIntervals, OperationFigures};
use loadline_block::Operation;
use loadline_load::LatencyFigure;
use loadline_record::{Ending, Histogram, HistogramSnapshot};
use loadline_units::Duration;

/// Trials shown one by one in a table at most.
const TRIALS_MAX: usize = 100;
/// From so many trials on, their table has two columns on paper.
const TRIALS_MANY: usize = 6;

/// The most cells that are shown unfolded, as for an application on a volume or two: more would bury the rest of the
/// page.
const UNFOLDED_MAX: usize = 2;

/// Every cell, folded if there are more than a few.
pub(crate) fn cells(out: &mut String, run: &Run<'_>) {
    out.push_str("<p class=\"tools\" hidden><button type=\"button\" class=\"unfold\">Unfold all</button></p>\n");
    for view in &run.views {
        cell(out, run, view);
    }
}

fn cell(out: &mut String, run: &Run<'_>, view: &CellView<'_>) {
    let name = run.cell_name(view.summary);
    put!(
        out,
        "<details class=\"cell\" id=\"{}\"{}><summary><span class=\"cl\">{}</span> ",
        run.cell_anchor(view.index),
        if run.views.len() <= UNFOLDED_MAX { " open" } else { "" },
        Escaped(&name)
    );
    let figures = view.summary.total.as_ref().map_or_else(
        || MISSING.to_owned(),
        |t| format!("{} IOPS · {} MB/s", figures::iops(t.iops), figures::megabytes(t.throughput_bytes_per_s)),
    );
    put!(out, "<span class=\"cf\">{figures}</span>");
    let mark = run.mark(view.index);
    if !mark.is_empty() {
        put!(out, " <span class=\"mark\">{mark}</span>");
    }
    out.push_str("</summary>\n");
    if !view.summary.doubts.is_empty() {
        out.push_str("<div class=\"celldoubts\"><ul>");
        for doubt in &view.summary.doubts {
            put!(out, "<li><span class=\"code\">{}</span> {}</li>", doubt.code, Escaped(plain(&doubt_detail(doubt))));
        }
        put!(out, "</ul>\n<p class=\"note\">{}</p></div>\n", table::marks(run, view.index));
    }
    limits(out, view);
    percentiles(out, view);
    charts(out, run, view);
    trials(out, view);
    out.push_str("</details>\n");
}

/// The charts: large ones for the screen, and for paper the same beside each other.
fn charts(out: &mut String, run: &Run<'_>, view: &CellView<'_>) {
    let curve = percentile_curve(run, view);
    // One alone is the run's own course, which stands above.
    let course = course(run, view).filter(|_| run.views.len() > 1 && !course::is_watched(view));
    if let (None, Some(from), true) =
        (&course, &run.summary.run.imported, view.record.is_some_and(course::has_no_seconds))
    {
        let tool = Escaped(plain(&from.tool_and_version()));
        put!(out, "<p class=\"note\">No course over time: {tool} told no seconds.</p>\n");
    }
    let rate = course.as_ref().map(|course| course.rate(POINTS_MAX));
    let latency = course.as_ref().map(|course| course.latency(POINTS_MAX));
    out.push_str("<div class=\"screen\">\n");
    if let Some(chart) = &curve {
        out.push_str("<div class=\"figs\">\n");
        drawn(out, Size::Large, "Latency by percentile", &chart.svg(), "All trials together.");
        out.push_str("</div>\n");
    }
    if let (Some(course), Some(rate), Some(latency)) = (&course, &rate, &latency) {
        let caption = course.caption(POINTS_MAX);
        drawn(out, Size::Wide, course.heading(), &rate.svg(), &caption);
        drawn(out, Size::Wide, "Latency over time: median and p99 of each second", &latency.svg(), &caption);
        legend(out, &latency.lines);
    }
    out.push_str("</div>\n<div class=\"figs many paper\">\n");
    let small =
        |chart: LineChart| LineChart { id: format!("{}-paper", chart.id), size: Size::Small, hover: None, ..chart };
    if let Some(chart) = curve {
        drawn(out, Size::Small, "Latency by percentile", &small(chart).svg(), "");
    }
    if let Some(course) = &course {
        let heading = format!("{}{}", course.heading(), if course.large { ", MB/s" } else { "" });
        let rate = small(course.rate(PAPER_POINTS_MAX));
        drawn(out, Size::Small, &heading, &rate.svg(), &course.caption(PAPER_POINTS_MAX));
        let latency = course.latency(PAPER_POINTS_MAX);
        out.push_str("<div>");
        drawn(out, Size::Small, "Latency over time", &small(latency.clone()).svg(), "");
        legend(out, &latency.lines);
        out.push_str("</div>\n");
    }
    out.push_str("</div>\n");
}

fn legend(out: &mut String, lines: &[Line]) {
    overview::legend(out, &lines.iter().map(|line| (line.name.clone(), line.style)).collect::<Vec<_>>());
}

/// The limit of the cell, and its known ceilings.
fn limits(out: &mut String, view: &CellView<'_>) {
    let cell = view.summary;
    if let Some(binding) = &cell.binding {
        let inferred = if binding.inferred { ", inferred from the data" } else { "" };
        let ceiling = binding
            .ceiling_iops
            .map_or_else(String::new, |iops| format!(", ceiling {} IOPS of this load", figures::iops(iops)));
        let used =
            binding.utilization.map_or_else(String::new, |share| format!(", {} of it used", figures::percent(share)));
        put!(
            out,
            "<p>Bound by <span class=\"code\">{}</span>{ceiling}{used}{inferred}: {}.</p>\n",
            rows::limit_name(binding.limit),
            Escaped(plain(words::evidence(&binding.seen).trim_end_matches('.')))
        );
    }
    if !cell.ceilings.is_empty() {
        out.push_str("<p class=\"note\">Ceilings known: ");
        let texts: Vec<String> = cell
            .ceilings
            .iter()
            .map(|c| {
                format!(
                    "{} {} IOPS ({})",
                    rows::limit_name(c.limit),
                    figures::iops(c.iops),
                    plain(&words::ceiling_source(&c.source))
                )
            })
            .collect();
        put!(out, "{}.</p>\n", Escaped(texts.join("; ")));
    }
}

/// A column of the percentile table: its heading and its figure.
type Quantile = (&'static str, fn(&HistogramSnapshot) -> Option<f64>);

const QUANTILES: [Quantile; 9] = [
    ("mean", |s| Some(s.mean)),
    ("min", |s| s.min.map(|ns| ns as f64)),
    ("p50", |s| s.p50.map(|ns| ns as f64)),
    ("p90", |s| s.p90.map(|ns| ns as f64)),
    ("p95", |s| s.p95.map(|ns| ns as f64)),
    ("p99", |s| s.p99.map(|ns| ns as f64)),
    ("p99.9", |s| s.p99_9.map(|ns| ns as f64)),
    ("p99.99", |s| s.p99_99.map(|ns| ns as f64)),
    ("max", |s| Some(s.max as f64)),
];

fn operations<'a>(view: &CellView<'a>) -> Vec<(Operation, &'a OperationFigures)> {
    let mut operations = rows::transfers(view.summary);
    operations.extend(view.summary.flush.as_ref().map(|f| (Operation::Flush, f)));
    operations
}

/// The operations, and the steps of an application after them.
fn rows_of<'a>(view: &CellView<'a>) -> impl Iterator<Item = (String, &'a OperationFigures)> {
    let operations = operations(view).into_iter().map(|(operation, figures)| (operation.name().to_owned(), figures));
    operations.chain(view.summary.steps.iter().map(|step| (plain(step.name.name()), &step.figures)))
}

fn percentiles(out: &mut String, view: &CellView<'_>) {
    let mut rows = rows_of(view).peekable();
    if rows.peek().is_none() {
        out.push_str("<p>No figures.</p>\n");
        return;
    }
    out.push_str("<div class=\"scroll\" tabindex=\"0\"><table class=\"pct\"><thead><tr><th scope=\"col\">latency</th><th scope=\"col\" class=\"num\">IOPS</th>");
    for (name, _) in QUANTILES {
        let name = match name {
            "min" if view.summary.has_only_means() => "least mean",
            "max" if view.summary.has_only_means() => "highest mean",
            name => name,
        };
        put!(out, "<th scope=\"col\" class=\"num\">{name}</th>");
    }
    out.push_str("</tr></thead><tbody>\n");
    for (name, figures) in rows {
        for (part, snapshot) in [
            ("", Some(&figures.latency_ns)),
            (": waiting to be issued", figures.waiting_ns.as_ref()),
            (": from issue to completion", figures.service_ns.as_ref()),
        ] {
            let Some(snapshot) = snapshot else { continue };
            let iops = if part.is_empty() { figures::iops(figures.iops) } else { String::new() };
            let class = if part.is_empty() { "" } else { " class=\"part\"" };
            put!(out, "<tr{class}><th scope=\"row\">{}{part}</th><td class=\"num\">{iops}</td>", Escaped(&name));
            for (_, quantile) in QUANTILES {
                let text = quantile(snapshot).map_or_else(|| MISSING.to_owned(), figures::latency);
                put!(out, "<td class=\"num\">{text}</td>");
            }
            out.push_str("</tr>\n");
        }
        if let Some(ends) = &figures.latency_interval_ns {
            intervals(out, &name, ends);
        }
    }
    out.push_str("</tbody></table></div>\n");
}

/// How well the mean, the median and p99 are known.
fn intervals(out: &mut String, name: &str, ends: &LatencyIntervals) {
    put!(out, "<tr class=\"part\"><th scope=\"row\">{}: 95 % interval</th><td></td>", Escaped(name));
    for (name, _) in QUANTILES {
        let (low, high) = match name {
            "mean" => (ends.mean_low, ends.mean_high),
            "p50" => (ends.p50_low, ends.p50_high),
            "p99" => (ends.p99_low, ends.p99_high),
            _ => (None, None),
        };
        let text = low
            .zip(high)
            .map_or_else(String::new, |(low, high)| format!("{}–{}", figures::latency(low), figures::latency(high)));
        put!(out, "<td class=\"num\">{text}</td>");
    }
    out.push_str("</tr>\n");
}

/// Latency by percentile, the far ones spread out.
fn percentile_curve(run: &Run<'_>, view: &CellView<'_>) -> Option<LineChart> {
    let mut lines = Vec::new();
    for (style, (operation, _)) in operations(view).into_iter().enumerate() {
        let histogram = view.merged(&[operation]);
        if histogram.count() > 0 {
            lines.push(Line::bare(operation.name().to_owned(), style, curve(&histogram)));
        }
    }
    if lines.is_empty() {
        return None;
    }
    // An objective on the mean limits no percentile.
    let reference = view.objective().filter(|o| o.0 != LatencyFigure::Mean).and_then(|(of, limit_ns)| {
        let label = format!("objective: {} {}", of.words(), figures::latency_tick(limit_ns as f64));
        Some(Reference { y: limit_ns as f64, label }).filter(|r| r.y > 0.0)
    });
    let references: Vec<Reference> = reference.into_iter().collect();
    let far = lines.iter().flat_map(|l| l.points.values()).map(|(x, _)| x).fold(2.0, f64::max);
    let ticks = [
        (0.0, "0"),
        (std::f64::consts::LOG10_2, "50"),
        (1.0, "90"),
        (2.0, "99"),
        (3.0, "99.9"),
        (4.0, "99.99"),
        (5.0, "99.999"),
    ];
    let ticks = ticks.into_iter().filter(|t| t.0 <= far + 1e-9).map(|(x, name)| (x, name.to_owned())).collect();
    let values = lines.iter().flat_map(|l| l.points.values()).map(|(_, y)| y);
    let y = Axis::logarithmic("latency", figures::latency_tick, values.chain(references.iter().map(|r| r.y)));
    let print = |x: f64| {
        format!("p{}", figures::decimal(100.0 - 100.0 / 10f64.powf(x), 6).trim_end_matches('0').trim_end_matches('.'))
    };
    Some(LineChart {
        id: format!("{}-pct", run.cell_anchor(view.index)),
        title: format!("Latency by percentile: {}", run.cell_name(view.summary)),
        description: "The table above has the figures.".to_owned(),
        x: Axis {
            label: "percent of requests that were as fast".to_owned(),
            low: 0.0,
            high: far,
            logarithmic: false,
            ticks: Ticks::Named(ticks),
            print,
        },
        y,
        names: lines.len() > 1,
        lines,
        references,
        separators: Vec::new(),
        marks: Vec::new(),
        size: Size::Large,
        hover: Some(Hover { x: "percent", y: "ns" }),
    })
}

/// Points of a percentile curve: (-log10 of the share that is slower, ns), as far as single requests are
/// distinguishable.
fn curve(histogram: &Histogram) -> Vec<(f64, f64)> {
    let far = (histogram.count() as f64).log10().clamp(0.5, 5.0);
    let steps = (far * 12.0).ceil() as usize;
    (0..=steps)
        .filter_map(|step| {
            let x = far * step as f64 / steps as f64;
            let quantile = 1.0 - 10f64.powf(-x);
            let ns = if step == 0 { histogram.min()? } else { histogram.quantile(quantile)? };
            Some((x, ns.as_ns().max(1) as f64))
        })
        .collect()
}

fn trials(out: &mut String, view: &CellView<'_>) {
    let Some(record) = view.record.filter(|r| !r.trials.is_empty()) else { return };
    let class = match record.trials.as_slice() {
        // The other tables have everything about it.
        [only] if only.ending == Ending::Complete && only.error_samples.is_empty() => " one",
        trials if trials.len() >= TRIALS_MANY => " many",
        _ => "",
    };
    put!(out, "<div class=\"scroll trials{class}\" tabindex=\"0\">");
    out.push_str("<table class=\"pct\"><thead><tr><th scope=\"col\">trial</th><th scope=\"col\" class=\"num\">IOPS</th><th scope=\"col\" class=\"num\">MB/s</th><th scope=\"col\" class=\"num\">measured</th><th scope=\"col\" class=\"num\">errors</th><th scope=\"col\" class=\"engine\">engine</th><th scope=\"col\">ended</th><th scope=\"col\">doubts</th></tr></thead><tbody>\n");
    for trial in record.trials.iter().take(TRIALS_MAX) {
        let (ended, bad) = match &trial.ending {
            Ending::Complete => ("complete".to_owned(), ""),
            Ending::Interrupted => ("interrupted".to_owned(), " class=\"bad\""),
            Ending::Failed(how) => (format!("failed: {}", plain(how)), " class=\"bad\""),
            Ending::Hung(what) => (format!("hung: {}", plain(what)), " class=\"bad\""),
        };
        let known = trial.count() > 0;
        let or_missing = |text: Option<String>| text.filter(|_| known).unwrap_or_else(|| MISSING.to_owned());
        let errors = trial.errors.iter().map(|(kind, n)| format!("{} {kind}", figures::count(*n))).collect::<Vec<_>>();
        let doubts: Vec<&str> = trial.doubts.iter().map(|d| d.code.name()).collect();
        put!(
            out,
            "<tr><th scope=\"row\">{}</th><td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"engine\" title=\"{}\">{}</td><td{bad}>{}</td><td>{}</td></tr>\n",
            figures::count(u64::from(trial.trial) + 1),
            or_missing(trial.iops().map(figures::iops)),
            or_missing(trial.bytes_per_s().map(figures::megabytes)),
            Duration::from_ns(trial.measured_ns).human(),
            if errors.is_empty() { "0".to_owned() } else { errors.join(", ") },
            Escaped(plain(&trial.engine.reason)),
            Escaped(plain(trial.engine.name.name())),
            Escaped(ended),
            doubts.join(", ")
        );
    }
    out.push_str("</tbody></table></div>\n");
    if record.trials.len() > TRIALS_MAX {
        put!(out, "<p class=\"note\">The first {TRIALS_MAX} of {} trials.</p>\n", record.trials.len());
    }
    let samples: Vec<&String> = record.trials.iter().flat_map(|t| &t.error_samples).take(8).collect();
    if !samples.is_empty() {
        out.push_str("<p>The first failures:</p><ul>");
        for sample in samples {
            put!(out, "<li>{}</li>", Escaped(plain(sample)));
        }
        out.push_str("</ul>\n");
    }
}
