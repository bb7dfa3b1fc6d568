//! The charts over all cells: by depth, by load, by name, by trial.

use super::course;
use super::families::{Curve, Family, Panel};
use super::roofline::rooflines;
use super::scaling::scaling;
use super::traits::operation_mix;
use super::{CellView, Escaped, Run};
use crate::chart::{
    Axis, Bar, BarChart, Chart, LINES_MAX, Line, LineChart, Mark, Point, Reference, Size, Ticks, swatch,
};
use crate::figures;
use crate::put;
use crate::rows::doubts_the_rate;
use loadline_analysis::{OBJECTIVE_USUAL, scaling_of};
use loadline_load::LatencyFigure;
use loadline_record::{Limit, TrialRecord};

/// Rows of named loads in the bar chart at most; more is a matrix, not a suite.
const BARS_MAX: usize = 48;
/// Limits as near to each other are drawn as one.
const SAME_LIMIT: f64 = 0.05;
/// From so many trials on, a cell's trials get a chart.
const TRIALS_MIN: usize = 5;

/// A figure that is charted by depth.
#[derive(Clone, Copy)]
pub(crate) struct Metric {
    /// For ids.
    pub(crate) code: &'static str,
    /// For headings.
    pub(crate) name: &'static str,
    /// Empty if every figure has its own.
    pub(crate) unit: &'static str,
    /// The figure.
    pub(crate) value: fn(&CellView<'_>) -> Option<f64>,
    /// The figure in words.
    pub(crate) print: fn(f64) -> String,
}

/// Bytes per second of all transfers; after a burst, the lasting rate.
pub(crate) const THROUGHPUT: Metric = Metric {
    code: "throughput",
    name: "Throughput",
    unit: "MB/s",
    value: |view| view.summary.throughput_lasting(),
    print: figures::megabytes,
};
/// Requests per second of all transfers; after a burst, the lasting rate.
pub(crate) const IOPS: Metric = Metric {
    code: "iops",
    name: "IOPS",
    unit: "IOPS",
    value: |view| view.summary.iops_lasting(),
    print: figures::iops,
};
/// Mean latency of all transfers, ns; after a burst, the lasting one.
pub(crate) const MEAN_LATENCY: Metric = Metric {
    code: "latency",
    name: "Mean latency",
    unit: "",
    value: |view| view.latency_lasting_ns(LatencyFigure::Mean),
    print: figures::latency,
};

impl Metric {
    /// Around figures that are near each other, so that their differences show; else as [`Self::axis`].
    pub(crate) fn compared_axis(&self, values: &[f64], references: &[Reference]) -> Axis {
        let near = |label: &str, scale: f64, print: fn(f64) -> String| {
            let mut axis = Axis::near(label, print, values.iter().map(move |value| value / scale))?;
            (axis.low, axis.high) = (axis.low * scale, axis.high * scale);
            Some(axis)
        };
        let near = match self.code {
            "throughput" => near(self.unit, 1e6, |v| figures::tick(v / 1e6)),
            "iops" => near(self.unit, 1.0, figures::tick),
            _ => near(self.name, 1.0, figures::latency_tick),
        };
        near.unwrap_or_else(|| self.axis(values, references))
    }
    /// From the lowest value to the highest, objectives included.
    pub(crate) fn axis(&self, values: &[f64], references: &[Reference]) -> Axis {
        let all = values.iter().copied().chain(references.iter().map(|r| r.y));
        match self.code {
            "throughput" => megabyte_axis(self.unit, values),
            "latency" => Axis::logarithmic(self.name, figures::latency_tick, all),
            _ => Axis::fitting(self.unit, figures::tick, all),
        }
    }
}

/// Whether the first chart of a run is that of its open loops.
fn by_rate_leads(run: &Run<'_>) -> bool {
    run.summary.verdict.is_some() && !Family::by_rate(&run.views).panels.is_empty()
}

/// What stands beside the verdict: a watch over time, else latency against load; nothing where no load was varied.
pub(crate) fn lead_chart(run: &Run<'_>) -> String {
    let mut out = course::of_watch(run);
    if !out.is_empty() {
        return out;
    }
    if by_rate_leads(run) {
        let family = Family::by_rate(&run.views);
        rate_panel(&mut out, run, (0, &family.panels[0]), Size::Lead);
        return out;
    }
    let family = Family::by_depth(&swept(run));
    let limited = limited(family.cells());
    latency_against_load(&mut out, run, &family, (latency_of(limited), limited), Size::Lead);
    out
}

/// Every chart of the run but that beside the verdict; nothing when there is nothing to draw.
pub(crate) fn charts(run: &Run<'_>) -> String {
    let mut out = String::new();
    by_rate(&mut out, run, by_rate_leads(run));
    by_depth(&mut out, run);
    if let Some(comparison) = scaling_of(&[run.record]) {
        scaling(&mut out, &comparison, run.level + 1, &format!("r{}-", run.number));
    }
    rooflines(&mut out, run);
    bars(&mut out, run);
    by_trial(&mut out, run);
    out
}

/// A chart with its caption; for pages as narrow as a phone in a form of its own.
pub(crate) fn figure(out: &mut String, size: Size, heading: &str, chart: &impl Chart, caption: &str) {
    let narrow = chart.narrow().map(|(svg, names)| {
        let mut narrow = svg;
        legend(&mut narrow, &names);
        narrow
    });
    let svg = match narrow {
        Some(narrow) => {
            format!("<div class=\"broad\">{}</div><div class=\"narrow\">{narrow}</div>", chart.svg())
        }
        None => chart.svg(),
    };
    drawn(out, size, heading, &svg, caption);
}

/// The same around charts that are drawn already.
pub(crate) fn drawn(out: &mut String, size: Size, heading: &str, svg: &str, caption: &str) {
    let class = match size {
        Size::Large | Size::Roof => "fig",
        Size::Lead => "fig lead-chart",
        Size::Small => "fig small",
        Size::Wide => "fig wide",
    };
    put!(out, "<figure class=\"{class}\"><p class=\"figh\">{}</p>{svg}", Escaped(heading));
    if !caption.is_empty() {
        put!(out, "<figcaption>{}</figcaption>", Escaped(caption));
    }
    out.push_str("</figure>\n");
}

pub(crate) fn legend(out: &mut String, names: &[(String, usize)]) {
    if names.is_empty() {
        return;
    }
    out.push_str("<p class=\"legend\">");
    for (name, style) in names {
        put!(out, "<span>{} {}</span> ", swatch(*style), Escaped(name));
    }
    out.push_str("</p>\n");
}

/// Objectives among some cells, as lines over charts of the figure that they limit. Without one, it is the default that
/// findings use.
pub(crate) fn references<'a>(
    cells: impl Iterator<Item = &'a CellView<'a>>,
    figure: Option<LatencyFigure>,
) -> Vec<Reference> {
    let mut references: Vec<Reference> = Vec::new();
    let (usual, usual_ns) = OBJECTIVE_USUAL;
    let cells: Vec<&CellView<'_>> = cells.collect();
    if cells.iter().all(|view| view.objective().is_none()) && figure.is_none_or(|figure| figure == usual) {
        let y = usual_ns as f64;
        let label = format!("usual rule: {} {}", usual.words(), figures::latency_tick(y));
        return vec![Reference { y, label }];
    }
    for (of, limit_ns) in cells.into_iter().filter_map(CellView::objective) {
        let wanted = figure.is_none_or(|f| f == of);
        let y = limit_ns as f64;
        if wanted && !references.iter().any(|r| r.y.to_bits() == y.to_bits()) {
            references.push(Reference { y, label: format!("objective: {} {}", of.words(), figures::latency_tick(y)) });
        }
    }
    references
}

pub(crate) fn point(run: &Run<'_>, x: f64, y: f64, view: &CellView<'_>) -> Point {
    Point { x, y, interval: None, doubted: !view.summary.doubts.is_empty(), title: run.cell_title(view) }
}

/// The latency that objectives among some cells limit, by which charts of latency are drawn; without one it is the mean.
pub(crate) fn limited<'a>(mut cells: impl Iterator<Item = &'a CellView<'a>>) -> LatencyFigure {
    cells.find_map(CellView::objective).map_or(OBJECTIVE_USUAL.0, |o| o.0)
}

/// A latency by the name that objectives have for it.
pub(crate) fn latency_of(limited: LatencyFigure) -> Metric {
    match limited {
        LatencyFigure::P50 => {
            Metric { name: "Median latency", value: |v| v.latency_lasting_ns(LatencyFigure::P50), ..MEAN_LATENCY }
        }
        LatencyFigure::P90 => {
            Metric { name: "p90 latency", value: |v| v.latency_lasting_ns(LatencyFigure::P90), ..MEAN_LATENCY }
        }
        LatencyFigure::P95 => {
            Metric { name: "p95 latency", value: |v| v.latency_lasting_ns(LatencyFigure::P95), ..MEAN_LATENCY }
        }
        LatencyFigure::P99 => {
            Metric { name: "p99 latency", value: |v| v.latency_lasting_ns(LatencyFigure::P99), ..MEAN_LATENCY }
        }
        LatencyFigure::P999 => {
            Metric { name: "p99.9 latency", value: |v| v.latency_lasting_ns(LatencyFigure::P999), ..MEAN_LATENCY }
        }
        LatencyFigure::Mean => MEAN_LATENCY,
    }
}

/// The cells whose depth was varied. The rows of a suite have depths, too, but each is a separate load.
fn swept<'a>(run: &Run<'a>) -> Vec<CellView<'a>> {
    let rows: Vec<usize> = suite(&run.views).iter().map(|(view, _)| view.index).collect();
    run.views.iter().filter(|v| !rows.contains(&v.index)).copied().collect()
}

fn by_depth(out: &mut String, run: &Run<'_>) {
    let views = swept(run);
    let family = Family::by_depth(&views);
    if family.panels.is_empty() {
        return;
    }
    let limited = limited(family.cells());
    let latency = latency_of(limited);
    put!(out, "<h{0}>By outstanding requests</h{0}>\n", run.level + 1);
    let doubted = family.cells().any(|view| !view.summary.doubts.is_empty());
    put!(
        out,
        "<p class=\"note\">{}Whiskers are {}.{}{}</p>\n",
        Escaped(shared(&family)),
        if run.summary.run.clock == loadline_record::Clock::Virtual {
            "ranges over what the model is uncertain about"
        } else {
            "95 % intervals over trials"
        },
        if doubted { " Hollow points carry doubts." } else { "" },
        after_bursts(family.cells())
    );
    let size = if family.panels.len() == 1 { Size::Large } else { Size::Small };
    if size == Size::Small {
        legend(out, &family.legend());
    } else {
        out.push_str("<div class=\"figs\">\n");
        if run.summary.verdict.is_none() || by_rate_leads(run) {
            latency_against_load(out, run, &family, (latency, limited), Size::Large);
        }
    }
    for (number, metric) in [THROUGHPUT, IOPS, latency].into_iter().enumerate() {
        let is_latency = number == 2;
        let values = || family.cells().filter_map(|view| (metric.value)(view));
        let references = if is_latency { references(family.cells(), Some(limited)) } else { Vec::new() };
        let y = metric.axis(&values().collect::<Vec<f64>>(), &references);
        if values().next().is_none() {
            continue;
        }
        if size == Size::Small {
            let unit = if metric.unit.is_empty() || metric.unit == metric.name {
                String::new()
            } else {
                format!(" in {}", metric.unit)
            };
            put!(
                out,
                "<p class=\"figh\">{}{unit} by outstanding requests</p>\n<div class=\"figs many\">\n",
                metric.name
            );
        }
        for (index, panel) in family.panels.iter().enumerate() {
            let chart = LineChart {
                id: format!("r{}-{}-{index}", run.number, metric.code),
                title: format!("{} by outstanding requests {}", metric.name, panel.name).trim_end().to_owned(),
                description: description(panel, metric),
                x: depth_axis(
                    family.panels.iter().flat_map(|p| &p.curves).flat_map(|c| &c.cells).map(|(depth, _)| *depth),
                ),
                y: y.clone(),
                lines: panel.curves.iter().map(|curve| depth_line(run, curve, metric)).collect(),
                references: references.clone(),
                separators: Vec::new(),
                marks: Vec::new(),
                size,
                names: size == Size::Large,
                hover: None,
            };
            let heading = if size == Size::Small {
                panel.name.clone()
            } else {
                format!("{} by outstanding requests", metric.name)
            };
            figure(out, size, &heading, &chart, "");
        }
        if size == Size::Small {
            out.push_str("</div>\n");
        }
    }
    if size == Size::Large {
        out.push_str("</div>\n");
    }
}

/// The limits that bind some cells, as lines across their rate; each once.
fn limits_drawn<'a>(cells: impl Iterator<Item = &'a CellView<'a>>) -> Vec<Mark> {
    let mut marks: Vec<Mark> = Vec::new();
    for cell in cells.map(|view| view.summary) {
        let Some((limit, x)) = cell.binding.as_ref().and_then(|b| Some((b.limit, b.ceiling_iops?))) else { continue };
        let label = format!("{} {}", limit.name(), figures::iops(x));
        // The others are the load's own amount, not a limit that could be drawn.
        let is_ceiling = !matches!(limit, Limit::Arrival | Limit::Latency | Limit::Unexplained);
        if is_ceiling && !marks.iter().any(|mark| (mark.x - x).abs() <= SAME_LIMIT * x) {
            marks.push(Mark { x, label, is_named: true });
        }
    }
    marks
}

/// Latency against rate: the curve bends upwards at a limit.
fn latency_against_load(
    out: &mut String,
    run: &Run<'_>,
    family: &Family<'_>,
    (latency, limited): (Metric, LatencyFigure),
    size: Size,
) {
    let Some(panel) = family.panels.first() else { return };
    let line = |curve: &Curve<'_>| {
        let points =
            curve.cells.iter().filter_map(|(_, view)| Some((view, (IOPS.value)(view)?, (latency.value)(view)?)));
        Line::marked(curve.name.clone(), curve.style, points.map(|(view, x, y)| point(run, x, y, view)).collect())
    };
    let lines: Vec<Line> = panel.curves.iter().map(line).collect();
    let references = references(family.cells(), Some(limited));
    let values = || lines.iter().flat_map(|l| l.points.values());
    if values().next().is_none() {
        return;
    }
    let marks = limits_drawn(panel.curves.iter().flat_map(|curve| &curve.cells).map(|(_, view)| view));
    let chart = LineChart {
        id: format!("r{}-hockey", run.number),
        title: format!("{} against achieved IOPS", latency.name),
        description: description(panel, latency),
        x: Axis::linear("achieved IOPS", figures::tick, values().map(|(x, _)| x).chain(marks.iter().map(|m| m.x))),
        y: Axis::logarithmic(
            latency.name,
            figures::latency_tick,
            values().map(|(_, y)| y).chain(references.iter().map(|r| r.y)),
        ),
        references,
        separators: Vec::new(),
        marks: marks.clone(),
        size,
        names: true,
        hover: None,
        lines: lines.clone(),
    };
    figure(out, size, &format!("{} against load", latency.name), &chart, "");
}

/// Which of two levels is drawn, if there are two.
pub(crate) fn after_bursts<'a>(mut cells: impl Iterator<Item = &'a CellView<'a>>) -> &'static str {
    if cells.any(|view| view.summary.lasting.is_some()) {
        " Where a rate falls for good, marks stand at what lasts, not at the mean of what was before and after."
    } else {
        ""
    }
}

/// The common traits of a family's lines, as a sentence.
fn shared(family: &Family<'_>) -> String {
    if family.shared.is_empty() { String::new() } else { format!("Every line: {}. ", family.shared) }
}

/// An axis of bytes per second whose ticks are round in MB/s.
fn megabyte_axis(label: &str, bytes_per_s: &[f64]) -> Axis {
    let mut axis = Axis::fitting(label, |v| figures::tick(v / 1e6), bytes_per_s.iter().map(|b| b / 1e6));
    // Powers of ten stay round, so the axis moves from MB/s to bytes per second by a factor.
    (axis.low, axis.high) = (axis.low * 1e6, axis.high * 1e6);
    axis
}

pub(crate) fn depth_axis(depths: impl Iterator<Item = f64>) -> Axis {
    Axis::at_values("outstanding requests (depth × threads)", figures::tick, depths.collect())
}

/// A cell's figure with its interval, hollow if the figure is in doubt.
pub(crate) fn figure_point(run: &Run<'_>, x: f64, view: &CellView<'_>, metric: Metric) -> Point {
    let y = (metric.value)(view).unwrap_or(f64::NAN);
    let of_latency = point(run, x, y, view);
    let doubted = if metric.code == MEAN_LATENCY.code { of_latency.doubted } else { doubts_the_rate(view.summary) };
    Point { interval: interval(view, y, metric), doubted, ..of_latency }
}

/// The interval of a rate `y`: the rates share that of the IOPS; latency has none.
pub(crate) fn interval(view: &CellView<'_>, y: f64, metric: Metric) -> Option<(f64, f64)> {
    let total = view.summary.total.as_ref();
    let whole = total.filter(|t| metric.code != "latency" && t.iops > 0.0 && view.summary.lasting.is_none())?;
    let scale = y / whole.iops;
    Some((whole.iops_low? * scale, whole.iops_high? * scale))
}

fn depth_line(run: &Run<'_>, curve: &Curve<'_>, metric: Metric) -> Line {
    let points = curve.cells.iter().map(|(depth, view)| figure_point(run, *depth, view, metric));
    Line::marked(curve.name.clone(), curve.style, points.collect())
}

/// The figures at both ends of each curve, in words.
fn description(panel: &Panel<'_>, metric: Metric) -> String {
    both_ends(panel.curves.iter().map(|curve| (curve.name.as_str(), curve.cells.as_slice())), metric)
}

/// The figures at both ends of named lines, in words.
pub(crate) fn both_ends<'a, 'v: 'a>(
    lines: impl Iterator<Item = (&'a str, &'a [(f64, CellView<'v>)])>,
    metric: Metric,
) -> String {
    let mut out = String::new();
    for (name, cells) in lines {
        let figures: Vec<String> = [cells.first(), cells.last()]
            .into_iter()
            .flatten()
            .map(|(depth, view)| {
                let figure = (metric.value)(view).map_or_else(|| figures::MISSING.to_owned(), metric.print);
                let unit = if metric.unit.is_empty() { String::new() } else { format!(" {}", metric.unit) };
                format!("{figure}{unit} at {}", figures::decimal(*depth, 5))
            })
            .collect();
        let name = if name.is_empty() { "the load" } else { name };
        put!(out, "{name}: {}. ", figures.join(", "));
    }
    out.trim_end().to_owned()
}

fn by_rate(out: &mut String, run: &Run<'_>, without_first: bool) {
    let family = Family::by_rate(&run.views);
    if family.panels.len() <= usize::from(without_first) {
        return;
    }
    put!(out, "<h{0}>Latency against load</h{0}>\n", run.level + 1);
    put!(
        out,
        "<p class=\"note\">Open loop: requests come at the offered rate whatever the answers, and latency counts from when each was due. {}{}</p>\n",
        Escaped(shared(&family)),
        after_bursts(family.cells())
    );
    let size = if family.panels.len() <= 2 { Size::Large } else { Size::Small };
    let many = if size == Size::Small { " many" } else { "" };
    put!(out, "<div class=\"figs{many}\">\n");
    for panel in family.panels.iter().enumerate().skip(usize::from(without_first)) {
        rate_panel(out, run, panel, size);
    }
    out.push_str("</div>\n");
}

/// Latency against the offered rate of one load.
fn rate_panel(out: &mut String, run: &Run<'_>, (index, panel): (usize, &Panel<'_>), size: Size) {
    let curve = &panel.curves[0];
    let references = references(curve.cells.iter().map(|(_, view)| view), None);
    let mut wanted = vec![LatencyFigure::P50, LatencyFigure::P99];
    let limited = curve.cells.iter().find_map(|(_, view)| view.objective()).map_or(OBJECTIVE_USUAL.0, |o| o.0);
    if !wanted.contains(&limited) {
        wanted.insert(1, limited);
    }
    let lines: Vec<Line> = wanted
        .iter()
        .enumerate()
        .map(|(style, quantile)| {
            let points = curve
                .cells
                .iter()
                .map(|(rate, view)| point(run, *rate, view.latency_lasting_ns(*quantile).unwrap_or(f64::NAN), view));
            Line::marked(quantile.words().to_owned(), style, points.collect())
        })
        .collect();
    let values = lines.iter().flat_map(|l| l.points.values()).map(|(_, y)| y);
    let y = Axis::logarithmic("latency", figures::latency_tick, values.chain(references.iter().map(|r| r.y)));
    let marks = limits_drawn(curve.cells.iter().map(|(_, view)| view));
    let rates = curve.cells.iter().map(|(rate, _)| *rate).chain(marks.iter().map(|mark| mark.x));
    let x = Axis::linear("offered IOPS", figures::tick, rates);
    let name = if panel.name.is_empty() { "Latency against offered load" } else { &panel.name };
    let metric = Metric { name: "p99 latency", value: |v| v.latency_lasting_ns(LatencyFigure::P99), ..MEAN_LATENCY };
    let chart = LineChart {
        id: format!("r{}-load-{index}", run.number),
        title: format!("Latency against offered load {}", panel.name).trim_end().to_owned(),
        description: format!("99th percentile, by offered IOPS: {}", description(panel, metric)),
        x,
        y,
        lines,
        references,
        separators: Vec::new(),
        marks,
        size,
        names: true,
        hover: None,
    };
    figure(out, size, name, &chart, "");
}

/// The closed-loop cells with a unique name on their volume, with the name: a suite, as disk benchmarks print it.
pub(crate) fn suite<'v, 'a>(views: &'v [CellView<'a>]) -> Vec<(&'v CellView<'a>, &'a str)> {
    let named = views.iter().filter(|view| view.summary.load.queue_depth.is_some());
    let named: Vec<(&CellView<'_>, &str)> = named.filter_map(|view| Some((view, view.name()?))).collect();
    let mut keys: Vec<(&str, String)> =
        named.iter().map(|(view, name)| (view.summary.volume.as_str(), row_name(view, name))).collect();
    keys.sort();
    keys.dedup();
    // A name of several cells is a dimension of a matrix, not a row of a suite.
    if (2..=BARS_MAX).contains(&named.len()) && keys.len() == named.len() { named } else { Vec::new() }
}

/// The suite as bars.
fn bars(out: &mut String, run: &Run<'_>) {
    let named = suite(&run.views);
    let mut volumes: Vec<&str> = Vec::new();
    let mut rows: Vec<String> = Vec::new();
    for (view, name) in &named {
        if !volumes.contains(&view.summary.volume.as_str()) {
            volumes.push(&view.summary.volume);
        }
        let row = row_name(view, name);
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    let several = volumes.len() > 1;
    let mut bars: Vec<Bar> = Vec::new();
    for row in &rows {
        for (view, name) in named.iter().filter(|(view, name)| row_name(view, name) == *row) {
            let value = (THROUGHPUT.value)(view).filter(|v| v.is_finite());
            let mark = run.mark(view.index);
            let figure =
                value.map_or_else(|| figures::MISSING.to_owned(), |v| format!("{} MB/s", figures::megabytes(v)));
            let mix = operation_mix(view);
            let volume_style = volumes.iter().position(|v| *v == view.summary.volume).unwrap_or(0);
            bars.push(Bar {
                group: if several { figures::plain(row) } else { figures::plain(name) },
                name: if several { figures::plain(&view.summary.volume) } else { mix.clone() },
                style: if several { volume_style } else { usize::from(mix != "read") },
                value: value.map(|v| v / 1e6),
                wanted: None,
                interval: None,
                doubted: doubts_the_rate(view.summary),
                text: format!("{figure} {mark}").trim_end().to_owned(),
                title: run.cell_title(view),
            });
        }
    }
    if bars.iter().all(|b| b.value.is_none()) {
        return;
    }
    if !several {
        // Reads and writes of one row are adjacent, whatever the plan's order.
        let order: Vec<String> = bars.iter().map(|b| b.group.clone()).collect();
        bars.sort_by_key(|b| order.iter().position(|g| *g == b.group));
    }
    let spoken: Vec<String> = bars.iter().map(|b| format!("{} {}: {}", b.group, b.name, b.text)).collect();
    let chart = BarChart {
        id: format!("r{}-bars", run.number),
        title: "Throughput of the named loads".to_owned(),
        description: spoken.join(". "),
        label: "MB/s (mean over trials)".to_owned(),
        print: figures::tick,
        linear: true,
        bars,
    };
    put!(out, "<h{0}>The named loads</h{0}>\n", run.level + 1);
    figure(out, Size::Wide, "Throughput, MB/s", &chart, "");
}

pub(crate) fn row_name(view: &CellView<'_>, name: &str) -> String {
    format!("{name} {}", operation_mix(view))
}

/// Each trial's number from 1 and its bytes per second.
type Trials = Vec<(f64, Option<f64>)>;

fn by_trial(out: &mut String, run: &Run<'_>) {
    let many: Vec<(&CellView<'_>, Trials)> = run
        .views
        .iter()
        .filter_map(|view| {
            let trials = &view.record?.trials;
            // Draws of a prediction have no order: they differ by the model's uncertainty.
            if trials.iter().any(TrialRecord::is_anew) {
                return None;
            }
            let figures = trials.iter().map(|t| (f64::from(t.trial) + 1.0, t.bytes_per_s().filter(|_| t.count() > 0)));
            (trials.len() >= TRIALS_MIN).then(|| (view, figures.collect()))
        })
        .collect();
    if many.is_empty() {
        return;
    }
    put!(out, "<h{0}>Trial by trial</h{0}>\n", run.level + 1);
    out.push_str(
        "<p class=\"note\">A line that rises or falls over trials is a cache that warms up or an allowance that runs out.</p>\n<div class=\"figs\">\n",
    );
    for (index, group) in many.chunks(LINES_MAX).enumerate() {
        let several = group.iter().any(|(view, _)| view.summary.volume != group[0].0.summary.volume);
        let lines: Vec<Line> = group
            .iter()
            .enumerate()
            .map(|(style, (view, trials))| {
                let label = figures::plain(&view.summary.label);
                let points = trials.iter().map(|(number, bytes)| Point {
                    x: *number,
                    y: bytes.unwrap_or(f64::NAN),
                    interval: None,
                    doubted: doubts_the_rate(view.summary),
                    title: format!(
                        "{label}, trial {}: {} MB/s",
                        figures::decimal(*number, 5),
                        bytes.map_or_else(|| figures::MISSING.to_owned(), figures::megabytes)
                    ),
                });
                let name =
                    if several { format!("{} {label}", figures::plain(&view.summary.volume)) } else { label.clone() };
                Line::marked(if group.len() > 1 { name } else { String::new() }, style, points.collect())
            })
            .collect();
        let values: Vec<f64> = lines.iter().flat_map(|l| l.points.values()).map(|(_, y)| y).collect();
        let numbers = lines.iter().flat_map(|l| l.points.values()).map(|(x, _)| x).collect();
        let x = Axis { logarithmic: false, ..Axis::at_values("trial", figures::tick, numbers) };
        let (low, high) = match &x.ticks {
            Ticks::At(values) => (values.first().copied().unwrap_or(1.0), values.last().copied().unwrap_or(1.0)),
            _ => (1.0, 1.0),
        };
        let chart = LineChart {
            id: format!("r{}-trials-{index}", run.number),
            title: "Throughput by trial".to_owned(),
            description: format!("{} cells over up to {} trials.", group.len(), figures::decimal(high, 5)),
            x: Axis { low: low - 0.4, high: high + 0.4, ..x },
            y: megabyte_axis("MB/s", &values),
            lines: lines.clone(),
            references: Vec::new(),
            separators: Vec::new(),
            marks: Vec::new(),
            size: Size::Large,
            names: false,
            hover: None,
        };
        let heading = if group.len() == 1 {
            format!("Throughput by trial: {}", figures::plain(&group[0].0.summary.label))
        } else {
            "Throughput by trial".to_owned()
        };
        out.push_str("<div>");
        figure(out, Size::Large, &heading, &chart, "");
        let names: Vec<(String, usize)> =
            lines.into_iter().filter(|l| !l.name.is_empty()).map(|l| (l.name, l.style)).collect();
        legend(out, &names);
        out.push_str("</div>\n");
    }
    out.push_str("</div>\n");
}
