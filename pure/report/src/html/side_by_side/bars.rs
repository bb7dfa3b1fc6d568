//! Loads on no curve, run beside run: a bar for each run, in groups.

use super::chosen::{self, Traits};
use super::curves::whiskers;
use super::{ComparedRuns, Row};
use crate::chart::{Bar, BarChart, Size};
use crate::figures::{self, MISSING, plain};
use crate::html::overview::{MEAN_LATENCY, Metric, THROUGHPUT, after_bursts, figure, interval};
use crate::html::traits::{self, operation_mix, traits};
use crate::html::{CellView, Escaped};
use crate::put;
use crate::rows::doubts_the_rate;
use loadline_analysis::Figure;
use loadline_load::LatencyFigure;
use std::collections::BTreeSet;

/// Bars of one chart at most.
const BARS_MAX: usize = 64;
/// Figures that are further apart than this have a logarithmic axis.
const LOGARITHMIC_FROM: f64 = 10.0;

/// p99 of all transfers, after a burst the lasting one.
const P99: Metric = Metric {
    code: "p99",
    name: "p99 latency",
    value: |view| view.latency_lasting_ns(LatencyFigure::P99),
    ..MEAN_LATENCY
};

/// Charts of the rows that at least two of the runs drawn have and that are not on a curve.
pub(super) fn bars(
    out: &mut String,
    told: &ComparedRuns<'_, '_>,
    rows: &[Row<'_>],
    on_curves: &BTreeSet<(usize, usize)>,
) {
    let cells = |row: &Row<'_>| -> Vec<(usize, usize)> {
        let drawn = row.cells.iter().take(told.drawn().len()).enumerate();
        drawn.filter_map(|(run, index)| Some((run, (*index)?))).collect()
    };
    let alone = |row: &&Row<'_>| {
        let cells = cells(row);
        cells.len() > 1 && !cells.iter().any(|cell| on_curves.contains(cell))
    };
    // The deciding figure: for a load that sets its own rate and meets it, the latency.
    let (by_latency, by_rate): (Vec<&Row<'_>>, Vec<&Row<'_>>) = rows.iter().filter(alone).partition(|row| {
        let mut figures = cells(row).into_iter().filter_map(|(run, index)| told.verdict(run, index)).map(|c| c.figure);
        figures.next().is_some_and(|first| first == Figure::P99 && figures.all(|figure| figure == Figure::P99))
    });
    let mut begun = false;
    for (rows, metric) in [(by_rate, THROUGHPUT), (by_latency, P99)] {
        chart(out, told, &rows, metric, &mut begun);
    }
}

fn chart(out: &mut String, told: &ComparedRuns<'_, '_>, rows: &[&Row<'_>], metric: Metric, begun: &mut bool) {
    let most = (BARS_MAX / told.drawn().len()).max(1);
    let view = |run: usize, row: &Row<'_>| row.cells[run].map(|index| told.drawn()[run].views[index]);
    let loads = varied(rows, told);
    let kept: Vec<&&Row<'_>> = chosen::thinned(&loads, most).into_iter().map(|row| &rows[row]).collect();
    let runs = 0..told.drawn().len();
    let groups: Vec<String> = kept.iter().map(|row| group(row, told)).collect();
    let mut bars: Vec<Bar> = Vec::new();
    for (place, row) in kept.iter().enumerate() {
        // A name of several loads identifies none of them.
        let is_shared = groups.iter().enumerate().any(|(other, group)| other != place && *group == groups[place]);
        let group = if is_shared { labelled(row, row.label) } else { groups[place].clone() };
        for run in runs.clone() {
            let Some(view) = view(run, row) else { continue };
            bars.push(bar(told, run, &view, metric, &group));
        }
    }
    let values = || bars.iter().filter_map(|bar| bar.value).filter(|value| *value > 0.0);
    let Some(least) = values().min_by(f64::total_cmp) else { return };
    let linear = values().fold(least, f64::max) / least <= LOGARITHMIC_FROM;
    let mut note = format!("A bar for each run. {}", whiskers(told));
    if bars.iter().any(|bar| bar.doubted) {
        note.push_str(" Hollow bars carry doubts.");
    }
    let drawn: Vec<CellView<'_>> = kept.iter().flat_map(|row| runs.clone().filter_map(|run| view(run, row))).collect();
    if told.comparison.is_some() {
        put!(note, " Words at the bars are verdicts against {}; the table has what they rest on.", told.names[0]);
    }
    note.push_str(after_bursts(drawn.iter()));
    if kept.len() < rows.len() {
        put!(
            note,
            " Of {} loads {} are drawn: the ends of what the loads vary in and what lies between them. The table has all.",
            rows.len(),
            kept.len()
        );
    }
    note.push_str(&told.runs_left_out());
    if !*begun {
        out.push_str("<h3>Load by load, run beside run</h3>\n");
        *begun = true;
    }
    put!(out, "<p class=\"note\">{}</p>\n", Escaped(note));
    let unit = if metric.unit.is_empty() { "ms" } else { metric.unit };
    let spoken: Vec<String> = bars.iter().map(|b| format!("{}, {}: {}", b.group, b.name, b.text)).collect();
    let chart = BarChart {
        id: format!("beside-bars-{}", metric.code),
        title: format!("{}, run beside run", metric.name),
        description: spoken.join(". "),
        label: format!("{unit} (mean over trials{})", if linear { "" } else { ", logarithmic" }),
        print: figures::tick,
        linear,
        bars,
    };
    figure(out, Size::Wide, &format!("{}, {unit}", metric.name), &chart, "");
}

fn bar(told: &ComparedRuns<'_, '_>, run: usize, view: &CellView<'_>, metric: Metric, group: &str) -> Bar {
    // In MB/s, or in ms.
    let scale = 1e6;
    let value = (metric.value)(view).filter(|value| value.is_finite());
    let is_latency = metric.code == P99.code;
    let figure = value.map_or_else(
        || MISSING.to_owned(),
        |value| match metric.unit {
            "" => (metric.print)(value),
            unit => format!("{} {unit}", (metric.print)(value)),
        },
    );
    let verdict = told.verdict(run, view.index).filter(|_| value.is_some()).map(|cell| cell.verdict.words());
    let ends = value.filter(|_| !is_latency).and_then(|value| interval(view, value, metric));
    Bar {
        group: group.to_owned(),
        name: told.names[run].clone(),
        style: run,
        value: value.map(|value| value / scale),
        wanted: None,
        interval: ends.map(|(low, high)| (low / scale, high / scale)),
        doubted: if is_latency { !view.summary.doubts.is_empty() } else { doubts_the_rate(view.summary) },
        text: verdict.map_or_else(|| figure.clone(), |verdict| format!("{figure} · {verdict}")),
        title: told.title(run, view),
    }
}

/// The name of a row: that of its plan in all runs, or its load in words.
fn group(row: &Row<'_>, told: &ComparedRuns<'_, '_>) -> String {
    let named: Option<Vec<String>> = told
        .drawn()
        .iter()
        .zip(&row.cells)
        .filter_map(|(run, index)| Some(run.views[(*index)?]))
        .map(|view| Some(format!("{} {}", plain(view.name()?), operation_mix(&view))))
        .collect();
    let name = named.filter(|names| names.iter().all(|name| *name == names[0]));
    name.and_then(|names| names.into_iter().next())
        .map_or_else(|| labelled(row, row.label), |name| labelled(row, &name))
}

/// A row's name with its volume, if volumes distinguish rows.
fn labelled(row: &Row<'_>, name: &str) -> String {
    let name = plain(name);
    row.volume.map_or_else(|| name.clone(), |volume| format!("{} {name}", plain(volume)))
}

/// The distinguishing traits of each row, by its cell of the first run that has it; each row has one, since it is
/// drawn.
fn varied(rows: &[&Row<'_>], told: &ComparedRuns<'_, '_>) -> Vec<Traits> {
    let first =
        |row: &&Row<'_>| told.drawn().iter().zip(&row.cells).find_map(|(run, index)| Some(run.views[(*index)?]));
    let cells: Vec<(usize, CellView<'_>)> = rows.iter().filter_map(first).map(|view| (0, view)).collect();
    let of_row = |((_, view), traits): (&(usize, CellView<'_>), traits::Traits)| {
        let load = &view.summary.load;
        let amount =
            load.queue_depth.map_or_else(|| figures::tick(load.rate_iops.unwrap_or(0.0)), |depth| depth.to_string());
        let mut varied = vec![view.name().unwrap_or_default().to_owned(), amount];
        varied.extend(traits.words);
        varied
    };
    cells.iter().zip(traits(&cells, told.volumes_several)).map(of_row).collect()
}
