//! Several runs in one table: the cells that they have in common, run beside run.

use super::{Escaped, Run, table};
use crate::comparison::{interval, ratio};
use crate::figures::{self, MISSING, plain};
use crate::put;
use loadline_analysis::{CompareOptions, Comparison, Verdict, compare};
use loadline_record::RunRecord;
use std::collections::BTreeMap;

/// What makes a cell of one run the counterpart of a cell of another: its volume, where that tells cells apart, and its label.
type Key<'a> = (Option<&'a str>, &'a str);

/// IOPS, MB/s and p99 of each load that at least two runs have, and the verdict of each later run against the first.
pub(crate) fn side_by_side(out: &mut String, runs: &[Run<'_>]) {
    // Runs on one volume each are compared by load, whatever their volumes are called.
    let volumes = runs.iter().any(|run| run.volumes_several);
    let mut rows: Vec<(Key<'_>, Vec<Option<usize>>)> = Vec::new();
    let mut places: BTreeMap<Key<'_>, usize> = BTreeMap::new();
    for (column, run) in runs.iter().enumerate() {
        for (index, cell) in run.summary.cells.iter().enumerate() {
            let key: Key<'_> = (volumes.then_some(cell.volume.as_str()), &cell.label);
            let row = *places.entry(key).or_insert_with(|| {
                rows.push((key, vec![None; runs.len()]));
                rows.len() - 1
            });
            rows[row].1[column].get_or_insert(index);
        }
    }
    rows.retain(|(_, cells)| cells.iter().flatten().count() > 1);
    if rows.is_empty() {
        return;
    }
    let records: Vec<&RunRecord> = runs.iter().map(|run| run.record).collect();
    let comparison = compare(&records, &CompareOptions::default()).ok();
    out.push_str("<section id=\"side-by-side\">\n<h2>Side by side</h2>\n<p class=\"note\">Loads that at least two runs have. Verdicts are against the first run: IOPS in closed loops and where a side falls behind the rate asked for, p99 where both keep it; a ratio with its 95 % interval; same is within 5 %. <code>loadline compare</code> tells more.</p>\n");
    out.push_str("<div class=\"scroll\"><table class=\"beside\"><thead><tr>");
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
    for ((volume, label), cells) in &rows {
        out.push_str("<tr>");
        if let Some(volume) = volume {
            put!(out, "<td>{}</td>", Escaped(plain(volume)));
        }
        put!(out, "<th scope=\"row\">{}</th>", Escaped(plain(label)));
        for (place, (run, index)) in runs.iter().zip(cells).enumerate() {
            figures_of(out, run, *index);
            if place > 0 {
                verdict_of(out, comparison.as_ref(), place, run, *index);
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
        or_missing(view.and_then(|view| view.latency_ns("p99")).map(figures::latency))
    );
}

/// One field: the verdict against the first run, with its ratio.
fn verdict_of(out: &mut String, comparison: Option<&Comparison>, place: usize, run: &Run<'_>, index: Option<usize>) {
    let id = index.map(|index| &run.summary.cells[index].id);
    let cell = comparison
        .and_then(|c| c.against.iter().find(|a| a.side as usize == place))
        .and_then(|a| a.cells.iter().find(|c| Some(&c.other_id) == id));
    let Some(cell) = cell else {
        put!(out, "<td>{MISSING}</td>");
        return;
    };
    let class = match cell.verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::Same | Verdict::CannotTell => "even",
    };
    let figures = cell.deciding().map_or_else(String::new, |r| {
        let ends = if r.low.is_some() { format!(" ({})", interval(r.low, r.high)) } else { String::new() };
        format!(" {}{ends}", ratio(r.ratio))
    });
    put!(
        out,
        "<td class=\"{class}\">{} <span class=\"figures\">{}</span></td>",
        cell.verdict.words(),
        Escaped(figures.trim())
    );
}
