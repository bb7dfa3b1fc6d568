//! Heat maps for large matrices: coloured tables of throughput, IOPS and latency.

use super::overview::{IOPS, MEAN_LATENCY, Metric, THROUGHPUT};
use super::traits::{READS, THREADS, VOLUME, traits};
use super::{CellView, Escaped, Run};
use crate::figures;
use crate::put;
use std::collections::BTreeMap;

/// From so many closed-loop cells on, there is a heat map.
const HEAT_CELLS_MIN: usize = 24;
/// Steps of colour in a heat map.
const HEAT_LEVELS: f64 = 9.0;
/// A table with more holes than this share of it is no matrix.
const HOLES_MAX: f64 = 0.5;

/// Each volume's matrix as coloured tables: patterns and blocks down, reads and depths across; nothing if there is
/// none.
pub(crate) fn heat_maps(out: &mut String, run: &Run<'_>) {
    let mut volumes: Vec<&str> = Vec::new();
    for view in &run.views {
        if !volumes.contains(&view.summary.volume.as_str()) {
            volumes.push(&view.summary.volume);
        }
    }
    for volume in &volumes {
        let Some(grid) = Grid::new(run.views.iter().filter(|v| v.summary.volume == *volume)) else { continue };
        if volumes.len() > 1 {
            put!(out, "<h{0}>{1}</h{0}>\n", run.level + 1, Escaped(volume));
        }
        for (index, metric) in [THROUGHPUT, IOPS, MEAN_LATENCY].into_iter().enumerate() {
            let unit = match metric.unit {
                "MB/s" => ", MB/s",
                "" => ", ms",
                _ => "",
            };
            let open = if index == 0 { " open" } else { "" };
            put!(out, "<details class=\"heat\"{open}><summary>{}{unit}</summary>\n", metric.name);
            heat_map(out, run, &grid, metric);
            out.push_str("</details>\n");
        }
    }
}

/// One volume's cells by load and by mix and depth.
struct Grid<'a> {
    /// Mix, depth per thread, threads.
    columns: Vec<(String, u32, u32)>,
    /// The common traits of the loads of a row.
    rows: Vec<String>,
    /// By row and column.
    cells: BTreeMap<(usize, usize), &'a CellView<'a>>,
}

impl<'a> Grid<'a> {
    /// The grid of a volume's closed loops; `None` when they make no matrix.
    fn new(views: impl Iterator<Item = &'a CellView<'a>>) -> Option<Self> {
        let (mut columns, mut rows, mut places) = (Vec::new(), Vec::new(), Vec::new());
        let views: Vec<&CellView<'_>> = views.filter(|view| view.summary.load.rate_iops.is_none()).collect();
        let all = traits(&views.iter().map(|view| (0, **view)).collect::<Vec<_>>(), false);
        for (view, traits) in views.into_iter().zip(&all) {
            let load = &view.summary.load;
            let Some(depth) = load.queue_depth else { continue };
            let column = (traits.words[READS].clone(), depth, load.threads);
            let row = traits.name(&all, |place| ![VOLUME, READS, THREADS].contains(&place));
            if !columns.contains(&column) {
                columns.push(column.clone());
            }
            if !rows.contains(&row) {
                rows.push(row.clone());
            }
            places.push((row, column, view));
        }
        let order: Vec<String> = columns.iter().map(|c| c.0.clone()).collect();
        columns.sort_by_key(|c| (order.iter().position(|mix| *mix == c.0), c.2, c.1));
        let place = |(row, column, view): (_, _, &'a CellView<'a>)| {
            let row = rows.iter().position(|r| *r == row)?;
            let column = columns.iter().position(|c| *c == column)?;
            Some(((row, column), view))
        };
        let cells: BTreeMap<(usize, usize), &CellView<'_>> = places.into_iter().filter_map(place).collect();
        let dense = cells.len() as f64 >= (rows.len() * columns.len()) as f64 * (1.0 - HOLES_MAX);
        (cells.len() >= HEAT_CELLS_MIN && rows.len() > 1 && dense).then_some(Self { columns, rows, cells })
    }
}

fn heat_map(out: &mut String, run: &Run<'_>, grid: &Grid<'_>, metric: Metric) {
    let Grid { columns, rows, cells } = grid;
    let values = cells.values().filter_map(|view| (metric.value)(view)).filter(|v| v.is_finite() && *v > 0.0);
    let (low, high) = values.fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
    let level = |v: f64| {
        if high > low && v > 0.0 { ((v / low).ln() / (high / low).ln() * HEAT_LEVELS).round() } else { 0.0 }
    };
    let threads = columns.iter().any(|c| c.2 != columns[0].2);
    out.push_str("<div class=\"scroll\" tabindex=\"0\"><table class=\"heatmap\"><thead><tr><th scope=\"col\" rowspan=\"2\">load</th>");
    for group in columns.chunk_by(|a, b| a.0 == b.0) {
        put!(out, "<th scope=\"colgroup\" colspan=\"{}\">{}</th>", group.len(), Escaped(&group[0].0));
    }
    out.push_str("</tr><tr>");
    for (_, depth, count) in columns {
        let threads = if threads { format!("×{count}") } else { String::new() };
        put!(out, "<th scope=\"col\">{}{threads}</th>", figures::count(u64::from(*depth)));
    }
    out.push_str("</tr></thead><tbody>\n");
    for (row, key) in rows.iter().enumerate() {
        put!(out, "<tr><th scope=\"row\">{}</th>", Escaped(key));
        for column in 0..columns.len() {
            let Some(view) = cells.get(&(row, column)) else {
                out.push_str("<td class=\"none\"></td>");
                continue;
            };
            let title = run.cell_title(view);
            let value = (metric.value)(view).filter(|v| v.is_finite());
            let class = value.map_or_else(String::new, |v| format!(" class=\"h{}\"", level(v)));
            let text = value.map_or_else(
                || figures::MISSING.to_owned(),
                |v| match metric.code {
                    // MB/s, or ms.
                    "throughput" | "latency" => figures::decimal(v / 1e6, 3),
                    _ => figures::iops(v),
                },
            );
            let mark = if view.summary.doubts.is_empty() { "" } else { "<sup>†</sup>" };
            put!(out, "<td{class} title=\"{}\">{text}{mark}</td>", Escaped(&title));
        }
        out.push_str("</tr>\n");
    }
    let threads = if threads { " × threads" } else { "" };
    put!(
        out,
        "</tbody></table></div>\n<p class=\"note\">Columns: share of reads, then depth per thread{threads}. The stronger the colour the more, on a logarithmic scale. † carries doubts.</p>\n"
    );
}
