//! Heat maps, which keep a large matrix legible: coloured tables of throughput, IOPS and latency.

use super::families::operation_mix;
use super::overview::{IOPS, MEAN_LATENCY, Metric, THROUGHPUT};
use super::{CellView, Escaped, Run};
use crate::figures;
use crate::put;
use loadline_units::Bytes;

/// From so many closed-loop cells on, a heat map is drawn.
const HEAT_CELLS_MIN: usize = 24;
/// Steps of colour in a heat map.
const HEAT_LEVELS: f64 = 9.0;

/// A matrix as coloured tables: patterns and blocks down, reads and depths across.
pub(crate) fn heat_maps(out: &mut String, run: &Run<'_>) {
    let mut volumes: Vec<&str> = Vec::new();
    for view in &run.views {
        if !volumes.contains(&view.summary.volume.as_str()) {
            volumes.push(&view.summary.volume);
        }
    }
    let mut body = String::new();
    for volume in &volumes {
        let views: Vec<&CellView<'_>> =
            run.views.iter().filter(|v| v.summary.volume == *volume && v.summary.load.queue_depth.is_some()).collect();
        if views.len() < HEAT_CELLS_MIN {
            continue;
        }
        if volumes.len() > 1 {
            put!(body, "<h{0}>{1}</h{0}>\n", run.level + 2, Escaped(volume));
        }
        for (index, metric) in [THROUGHPUT, IOPS, MEAN_LATENCY].into_iter().enumerate() {
            let unit = match metric.unit {
                "MB/s" => ", MB/s",
                "" => ", ms",
                _ => "",
            };
            let open = if index == 0 { " open" } else { "" };
            put!(body, "<details class=\"heat\"{open}><summary>{}{unit}</summary>\n", metric.name);
            heat_map(&mut body, run, &views, metric);
            body.push_str("</details>\n");
        }
    }
    if !body.is_empty() {
        put!(out, "<h{0}>The whole matrix</h{0}>\n{body}", run.level + 1);
    }
}

fn heat_map(out: &mut String, run: &Run<'_>, views: &[&CellView<'_>], metric: Metric) {
    let column = |view: &CellView<'_>| {
        let load = &view.summary.load;
        (operation_mix(view), u64::from(load.queue_depth.unwrap_or(0)), load.threads)
    };
    let row = |view: &CellView<'_>| {
        let flush = view.record.and_then(|r| r.load.flush_every);
        let load = &view.summary.load;
        (load.pattern.clone(), load.block_bytes, load.buffered, flush)
    };
    let mut columns: Vec<(String, u64, u32)> = Vec::new();
    let mut rows: Vec<(String, u64, bool, Option<u64>)> = Vec::new();
    for view in views {
        let (c, r) = (column(view), row(view));
        if !columns.contains(&c) {
            columns.push(c);
        }
        if !rows.contains(&r) {
            rows.push(r);
        }
    }
    let order: Vec<String> = columns.iter().map(|c| c.0.clone()).collect();
    columns.sort_by_key(|c| (order.iter().position(|mix| *mix == c.0), c.2, c.1));
    let values = views.iter().filter_map(|view| (metric.value)(view)).filter(|v| v.is_finite() && *v > 0.0);
    let (low, high) = values.fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
    let level = |v: f64| {
        if high > low && v > 0.0 { ((v / low).ln() / (high / low).ln() * HEAT_LEVELS).round() } else { 0.0 }
    };
    let threads = columns.iter().any(|c| c.2 != columns[0].2);
    out.push_str("<div class=\"scroll\"><table class=\"heatmap\"><thead><tr><th scope=\"col\" rowspan=\"2\">load</th>");
    for group in columns.chunk_by(|a, b| a.0 == b.0) {
        put!(out, "<th scope=\"colgroup\" colspan=\"{}\">{}</th>", group.len(), Escaped(&group[0].0));
    }
    out.push_str("</tr><tr>");
    for (_, depth, count) in &columns {
        let threads = if threads { format!("×{count}") } else { String::new() };
        put!(out, "<th scope=\"col\">{}{threads}</th>", figures::count(*depth));
    }
    out.push_str("</tr></thead><tbody>\n");
    for key in &rows {
        let buffered = if key.2 { " buffered" } else { "" };
        let flush = key.3.map_or_else(String::new, |every| format!(" flush every {}", figures::count(every)));
        let name = format!("{} {}{buffered}{flush}", key.0, Bytes::new(key.1));
        put!(out, "<tr><th scope=\"row\">{}</th>", Escaped(&name));
        for wanted in &columns {
            let Some(view) = views.iter().find(|v| row(v) == *key && column(v) == *wanted) else {
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
        "</tbody></table></div>\n<p class=\"note\">Columns: share of reads, then depth per thread{threads}. Darker is more, on a logarithmic scale. † carries doubts.</p>\n"
    );
}
