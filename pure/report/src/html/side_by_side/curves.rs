//! Runs in one chart: for each kind of load that at least two of them sweep, rate and latency by depth or offered rate, a line
//! for each run.

use super::ComparedRuns;
use super::chosen::{self, Traits};
use crate::chart::{Axis, Line, LineChart, Reference, STYLES, Size};
use crate::figures;
use crate::html::CellView;
use crate::html::overview::{
    self, IOPS, Metric, THROUGHPUT, after_bursts, both_ends, depth_axis, figure, figure_point, interval, latency_of,
    legend, limited, references, suite,
};
use crate::html::traits::{self, traits};
use crate::put;
use loadline_load::LatencyFigure;
use loadline_record::Clock;
use std::collections::{BTreeMap, BTreeSet};

/// Kinds of load that are drawn at most.
const KINDS_MAX: usize = 12;
/// The usual rule is drawn up to so many times the largest figure.
const RULE_NEAR: f64 = 2.0;
/// With up to so many, the charts are large.
const LARGE_MAX: usize = 6;

/// A load's cells of each run, by rising depth or rate.
struct Kind<'a> {
    traits: traits::Traits,
    block_bytes: u64,
    lines: Vec<Vec<(f64, CellView<'a>)>>,
}

/// The axis of a sweep.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Along {
    Depth,
    Offered,
}

impl Along {
    const fn code(self) -> &'static str {
        match self {
            Self::Depth => "depth",
            Self::Offered => "offered",
        }
    }
    const fn words(self) -> &'static str {
        match self {
            Self::Depth => "outstanding requests",
            Self::Offered => "offered rate",
        }
    }
    /// The free rate of a sweep: bytes for outstanding requests, requests for an offered rate.
    const fn rate(self) -> Metric {
        match self {
            Self::Depth => THROUGHPUT,
            Self::Offered => IOPS,
        }
    }
    /// The position of a cell.
    fn place(self, view: &CellView<'_>) -> Option<f64> {
        let load = &view.summary.load;
        match (self, load.queue_depth) {
            (Self::Depth, Some(depth)) => Some(f64::from(depth) * f64::from(load.threads)),
            (Self::Offered, None) => load.rate_iops.filter(|rate| rate.is_finite()),
            _ => None,
        }
    }
    fn axis(self, places: impl Iterator<Item = f64>) -> Axis {
        match self {
            Self::Depth => depth_axis(places),
            Self::Offered => Axis::linear("offered IOPS", figures::tick, places),
        }
    }
}

/// The charts of all sweeps; returns the cells that lie on them, drawn or not, as (run, cell).
pub(super) fn curves(out: &mut String, told: &ComparedRuns<'_, '_>) -> BTreeSet<(usize, usize)> {
    let mut on_curves = BTreeSet::new();
    for along in [Along::Depth, Along::Offered] {
        let kinds = kinds(told, along);
        let cells = kinds.iter().flat_map(|kind| kind.lines.iter().enumerate());
        on_curves.extend(cells.flat_map(|(run, line)| line.iter().map(move |(_, view)| (run, view.index))));
        if !kinds.is_empty() {
            draw(out, told, along, &kinds);
        }
    }
    on_curves
}

fn kinds<'a>(told: &ComparedRuns<'_, 'a>, along: Along) -> Vec<Kind<'a>> {
    let mut swept: Vec<(f64, (usize, CellView<'a>))> = Vec::new();
    for (number, run) in told.drawn().iter().enumerate() {
        // The rows of a suite have depths, too, but each is a separate load.
        let rows: Vec<usize> = suite(&run.views).iter().map(|(view, _)| view.index).collect();
        let views = run.views.iter().filter(|view| !rows.contains(&view.index));
        swept.extend(views.filter_map(|view| Some((along.place(view)?, (number, *view)))));
    }
    let cells: Vec<(usize, CellView<'a>)> = swept.iter().map(|(_, cell)| *cell).collect();
    let mut kinds: Vec<Kind<'a>> = Vec::new();
    let mut known: BTreeMap<Vec<String>, usize> = BTreeMap::new();
    for ((place, (number, view)), traits) in swept.into_iter().zip(traits(&cells, told.volumes_several)) {
        let kind = *known.entry(traits.values.clone()).or_insert_with(|| {
            let block_bytes = view.summary.load.block_bytes;
            kinds.push(Kind { traits, block_bytes, lines: vec![Vec::new(); told.drawn().len()] });
            kinds.len() - 1
        });
        kinds[kind].lines[number].push((place, view));
    }
    let places = |line: &[(f64, CellView<'_>)]| {
        let mut places: Vec<u64> = line.iter().map(|(place, _)| place.to_bits()).collect();
        places.dedup();
        places.len()
    };
    let lines = kinds.iter_mut().flat_map(|kind| &mut kind.lines);
    lines.for_each(|line| line.sort_by(|a, b| a.0.total_cmp(&b.0)));
    // If there are sweeps, two cells that differ only by chance are not another sweep.
    let most = kinds.iter().flat_map(|kind| &kind.lines).map(|line| places(line)).max().unwrap_or(0);
    for line in kinds.iter_mut().flat_map(|kind| &mut kind.lines) {
        if places(line) < most.clamp(2, 3) {
            line.clear();
        }
    }
    kinds.retain(|kind| kind.lines.iter().filter(|line| !line.is_empty()).count() > 1);
    kinds
}

fn draw(out: &mut String, told: &ComparedRuns<'_, '_>, along: Along, kinds: &[Kind<'_>]) {
    let every: Vec<traits::Traits> = kinds.iter().map(|kind| kind.traits.clone()).collect();
    let loads: Vec<Traits> = every.iter().map(|traits| traits.words.clone()).collect();
    let drawn: Vec<&Kind<'_>> = chosen::thinned(&loads, KINDS_MAX).into_iter().map(|kind| &kinds[kind]).collect();
    let cells = || drawn.iter().flat_map(|kind| kind.lines.iter().flatten()).map(|(_, view)| view);
    put!(out, "<h3>By {}, run beside run</h3>\n", along.words());
    let left_out = if drawn.len() < kinds.len() {
        format!(
            " Of {} kinds of load {} are drawn: the ends of what the loads vary in and what lies between them. The table has all.",
            kinds.len(),
            drawn.len()
        )
    } else {
        String::new()
    };
    let same_scale = drawn.len() > 1 && (1..drawn.len()).any(|k| drawn[..k].iter().any(|o| alike(o, drawn[k])));
    put!(
        out,
        "<p class=\"note\">A line for each run. {}{}{}{}{}{}</p>\n",
        whiskers(told),
        if cells().any(|view| !view.summary.doubts.is_empty()) { " Hollow points carry doubts." } else { "" },
        if same_scale { " Charts of one block size have the same scale." } else { "" },
        after_bursts(cells()),
        left_out,
        told.runs_left_out()
    );
    let runs: Vec<usize> =
        (0..told.drawn().len()).filter(|run| drawn.iter().any(|kind| !kind.lines[*run].is_empty())).collect();
    legend(out, &runs.iter().map(|run| (told.names[*run].clone(), *run)).collect::<Vec<_>>());
    let limited = limited(cells());
    let metrics = [along.rate(), latency_of(limited)];
    let names: Vec<String> = drawn.iter().map(|kind| kind.traits.name(&every, |_| true)).collect();
    let chart = |index: usize, metric: Metric, size: Size| chart(told, along, &drawn, index, metric, limited, size);
    if drawn.len() <= LARGE_MAX {
        out.push_str("<div class=\"figs\">\n");
        for (index, name) in names.iter().enumerate() {
            for metric in metrics {
                let heading = format!("{} by {}: {name}", metric.name, along.words());
                figure(out, Size::Large, &heading, &chart(index, metric, Size::Large), "");
            }
        }
        out.push_str("</div>\n");
        return;
    }
    for metric in metrics {
        let unit =
            if metric.unit.is_empty() || metric.unit == metric.name { "" } else { &format!(" in {}", metric.unit) };
        put!(out, "<p class=\"figh\">{}{unit} by {}</p>\n<div class=\"figs many runs\">\n", metric.name, along.words());
        for (index, name) in names.iter().enumerate() {
            figure(out, Size::Small, name, &chart(index, metric, Size::Small), "");
        }
        out.push_str("</div>\n");
    }
}

/// Whether charts of both have the same scale.
fn alike(a: &Kind<'_>, b: &Kind<'_>) -> bool {
    a.block_bytes == b.block_bytes
}

/// One figure of one kind of load.
fn chart(
    told: &ComparedRuns<'_, '_>,
    along: Along,
    kinds: &[&Kind<'_>],
    index: usize,
    metric: Metric,
    limited: LatencyFigure,
    size: Size,
) -> LineChart {
    let kind = kinds[index];
    let is_latency = metric.code == overview::MEAN_LATENCY.code;
    let same_scale = || kinds.iter().filter(|other| alike(other, kind)).flat_map(|other| other.lines.iter().flatten());
    // Whiskers are seen whole where the axis is cut.
    let figures = same_scale().filter_map(|(_, view)| Some((view, (metric.value)(view)?)));
    let values = figures.flat_map(|(view, value)| {
        let (low, high) = interval(view, value, metric).unwrap_or((value, value));
        [value, low, high]
    });
    let lasting: Vec<f64> = values.collect();
    let own = || kind.lines.iter().flatten().map(|(_, view)| view);
    let mut references: Vec<Reference> = if is_latency { references(own(), Some(limited)) } else { Vec::new() };
    // What nobody asked for is drawn if it is near: far away it would press the lines together.
    if own().all(|view| view.objective().is_none()) {
        let most = lasting.iter().copied().fold(0.0, f64::max);
        references.retain(|reference| reference.y <= most * RULE_NEAR);
    }
    let lines = kind.lines.iter().enumerate().filter(|(_, line)| !line.is_empty()).map(|(number, line)| {
        let points = line.iter().map(|(place, view)| {
            let mut point = figure_point(&told.drawn()[number], *place, view, metric);
            point.title = told.title(number, view);
            point
        });
        Line::marked(told.names[number].clone(), number % STYLES, points.collect())
    });
    let described = kind.lines.iter().enumerate().filter(|(_, line)| !line.is_empty());
    let every: Vec<traits::Traits> = kinds.iter().map(|kind| kind.traits.clone()).collect();
    LineChart {
        id: format!("beside-{}-{}-{index}", along.code(), metric.code),
        title: format!("{} by {}, run beside run: {}", metric.name, along.words(), kind.traits.name(&every, |_| true)),
        description: both_ends(described.map(|(number, line)| (told.names[number].as_str(), line.as_slice())), metric),
        x: along.axis(same_scale().map(|(place, _)| *place)),
        y: metric.compared_axis(&lasting, &references),
        lines: lines.collect(),
        references,
        separators: Vec::new(),
        marks: Vec::new(),
        size,
        names: size == Size::Large,
        hover: None,
    }
}

/// The meaning of whiskers; runs may be of both kinds.
pub(super) fn whiskers(told: &ComparedRuns<'_, '_>) -> &'static str {
    let predicted = told.drawn().iter().filter(|run| run.summary.run.clock == Clock::Virtual).count();
    if predicted == 0 {
        "Whiskers are 95 % intervals over trials."
    } else if predicted == told.drawn().len() {
        "Whiskers are ranges over what the model is uncertain about."
    } else {
        "Whiskers are 95 % intervals over trials of what was measured, and ranges over what the model is uncertain about of what was predicted."
    }
}
