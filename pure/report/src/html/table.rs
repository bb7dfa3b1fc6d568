//! Findings, the table of results and the doubts behind its marks.

use super::{Escaped, Run, heat};
use crate::best::{self, best};
use crate::conclusions;
use crate::doubts;
use crate::figures::{self, plain};
use crate::hosts;
use crate::put;
use crate::rows::{self, Column, Row};
use crate::words;
use loadline_units::words::capital;

/// Cells that a finding links, at most; beyond it their number is enough.
const LINKS_MAX: usize = 6;
/// Cells in a table that is open from the start.
const OPEN_MAX: usize = 60;

/// The findings.
pub(crate) fn findings(out: &mut String, run: &Run<'_>) {
    for conclusion in &run.summary.conclusions {
        let volume = conclusions::volume(run.summary, conclusion).map_or_else(String::new, |name| format!("{name}: "));
        let parts: Vec<String> = conclusions::parts(conclusion)
            .map(|(question, answer)| format!("<br><em>{question}:</em> {}", Escaped(plain(&answer))))
            .chain(conclusion.commands.iter().map(|command| format!("<br><code>{}</code>", Escaped(plain(command)))))
            .collect();
        let text = format!("{volume}{}", words::reached(conclusion));
        put!(out, "<p class=\"story\"><strong>{}</strong>{}</p>\n", Escaped(plain(&text)), parts.concat());
    }
    if run.summary.findings.is_empty() {
        out.push_str("<p>None.</p>\n");
        return;
    }
    out.push_str("<ol class=\"findings\">\n");
    for finding in conclusions::findings(run.summary) {
        put!(
            out,
            "<li>{} <span class=\"code\">{}</span>",
            Escaped(plain(&words::finding(run.summary, finding))),
            Escaped(finding.code.name())
        );
        let cells: Vec<usize> =
            finding.cells.iter().filter_map(|id| run.summary.cells.iter().position(|cell| cell.id == *id)).collect();
        if cells.len() > LINKS_MAX {
            put!(out, " <span class=\"on\">{} cells</span>", figures::count(cells.len() as u64));
        } else if !cells.is_empty() {
            put!(out, " <span class=\"on\">{}</span>", links(run, &cells));
        }
        out.push_str("</li>\n");
    }
    out.push_str("</ol>\n");
}

/// Tables beside the results: the best of trials if the plan asks for it, and what several hosts had.
fn noted_tables(out: &mut String, run: &Run<'_>) {
    let tables = [
        (best::HEADING, best(run.summary), best::NOTE),
        (hosts::SCALING_HEADING, hosts::hosts_scaling(run.summary), hosts::SCALING_NOTE),
        (hosts::HEADING, hosts::hosts(run.summary), hosts::NOTE),
    ];
    let level = run.level + 1;
    for (heading, table, note) in tables {
        if let Some(table) = table {
            let table = table.html();
            put!(out, "<h{level}>{heading}</h{level}>\n{table}<p class=\"note\">{}</p>\n", Escaped(note));
        }
    }
}

/// Links to the details of some cells.
fn links(run: &Run<'_>, cells: &[usize]) -> String {
    let links: Vec<String> = cells
        .iter()
        .map(|index| {
            let name = run.cell_name(&run.summary.cells[*index]);
            format!("<a href=\"#{}\">{}</a>", run.cell_anchor(*index), Escaped(name))
        })
        .collect();
    links.join("; ")
}

/// The table of all cells.
pub(crate) fn results(out: &mut String, run: &Run<'_>) {
    if run.views.is_empty() {
        out.push_str("<p>No cells.</p>\n");
        return;
    }
    let mut columns = Column::wanted(run.summary);
    // The details of each cell have the far percentiles; here they would crowd out the names.
    columns.retain(|c| !matches!(c, Column::P9999 | Column::Max | Column::HighestMean));
    heat::heat_maps(out, run);
    let open = run.views.len() <= OPEN_MAX;
    if !open {
        put!(out, "<details class=\"all\"><summary>All {} cells</summary>\n", run.views.len());
    }
    out.push_str("<p class=\"tools\" hidden><label>Show cells with <input type=\"search\" class=\"filter\" placeholder=\"random read\"></label></p>\n");
    out.push_str("<div class=\"scroll\" tabindex=\"0\"><table class=\"results\">\n<thead><tr>");
    for column in &columns {
        let class = if column.is_text() { "" } else { " class=\"num\"" };
        let heading = match column {
            Column::Interval => {
                "<abbr title=\"confidence interval of the mean IOPS, over trials or within one\">95 %</abbr>".to_owned()
            }
            Column::Range => {
                let title = "of the IOPS over what the model is uncertain about; no confidence interval";
                format!("<abbr title=\"{title}\">range</abbr>")
            }
            Column::Doubts => "<abbr title=\"doubts, explained below\">†</abbr>".to_owned(),
            _ => Escaped(column.heading()).to_string(),
        };
        put!(out, "<th scope=\"col\"{class}>{heading}</th>");
    }
    out.push_str("</tr></thead>\n");
    for view in &run.views {
        out.push_str("<tbody>");
        for row in rows::cell_rows(view.index, view.summary, &run.groups) {
            result(out, run, &row, &columns);
        }
        out.push_str("</tbody>\n");
    }
    out.push_str("</table></div>\n");
    let latency = Escaped(rows::latency_counts(run.summary));
    put!(out, "<p class=\"note\">MB/s is 10<sup>6</sup> bytes per second. {latency} – is a missing figure.");
    out.push_str("</p>\n");
    if !open {
        out.push_str("</details>\n");
    }
    noted_tables(out, run);
}

fn result(out: &mut String, run: &Run<'_>, row: &Row<'_>, columns: &[Column]) {
    let class = if row.part.is_some() { " class=\"part\"" } else { "" };
    put!(out, "<tr{class}>");
    for column in columns {
        let text = row.text(*column);
        match column {
            Column::Load if row.part.is_none() => {
                let anchor = run.cell_anchor(row.index);
                put!(out, "<th scope=\"row\"><a href=\"#{anchor}\">{}</a></th>", Escaped(text));
            }
            Column::Load => put!(out, "<th scope=\"row\">{}</th>", Escaped(text)),
            Column::Doubts => put!(
                out,
                "<td class=\"dbt\">{}</td>",
                if row.part.is_none() { marks(run, row.index) } else { String::new() }
            ),
            Column::Errors if row.part.is_none() && row.cell.errors > 0 => {
                put!(out, "<td class=\"num bad\" data-v=\"{}\">{}</td>", row.cell.errors, Escaped(text));
            }
            Column::Binding if row.part.is_none() => {
                let evidence = row.cell.binding.as_ref().map_or_else(String::new, |b| plain(&words::evidence(&b.seen)));
                put!(out, "<td title=\"{}\">{}</td>", Escaped(evidence), Escaped(text));
            }
            column if column.is_text() => put!(out, "<td>{}</td>", Escaped(text)),
            column => {
                let value = match column {
                    Column::Iops => row.iops,
                    Column::Throughput => row.throughput_bytes_per_s,
                    Column::Offered => row.cell.offered_iops,
                    Column::Errors => Some(row.cell.errors as f64),
                    Column::Interval | Column::Range => {
                        row.cell.total.as_ref().and_then(|t| Some((t.iops_high? - t.iops_low?) / t.iops))
                    }
                    _ => row.latency_ns(*column),
                };
                // The exact value, by which the script sorts.
                let sort = value.filter(|v| v.is_finite()).map_or_else(String::new, |v| format!(" data-v=\"{v}\""));
                put!(out, "<td class=\"num\"{sort}>{}</td>", Escaped(text));
            }
        }
    }
    out.push_str("</tr>");
}

/// A cell's marks, each a link to its meaning.
pub(crate) fn marks(run: &Run<'_>, index: usize) -> String {
    let marks: Vec<String> = doubts::of_cell(&run.groups, index)
        .iter()
        .map(|group| {
            let title = format!("{}: {}", group.code, group.code.meaning());
            let (run, number) = (run.number, group.number.unwrap_or_default());
            format!("<a href=\"#r{run}-d{number}\" title=\"{}\">†{number}</a>", Escaped(title))
        })
        .collect();
    marks.join(" ")
}

/// The meaning of each mark, and its places.
pub(crate) fn doubts(out: &mut String, run: &Run<'_>) {
    let mut grade = None;
    for group in &run.groups {
        if grade != Some(group.code.grade()) {
            out.push_str(if grade.is_some() { "</dl>\n" } else { "" });
            let text = capital(group.code.grade().meaning());
            put!(out, "<p class=\"grade\">{}.</p>\n<dl class=\"doubts\">\n", Escaped(text));
            grade = Some(group.code.grade());
        }
        let cells = group.cells();
        let count = match cells.len() {
            _ if group.number.is_none() => "every cell".to_owned(),
            1 => "1 cell".to_owned(),
            n => format!("{} cells", figures::count(n as u64)),
        };
        let id = group.number.map(|number| format!(" id=\"r{}-d{number}\"", run.number)).unwrap_or_default();
        let mark = if group.number.is_some() {
            format!("<span class=\"mark\">{}</span> ", group.mark())
        } else {
            String::new()
        };
        put!(
            out,
            "<div{id}><dt>{mark}<span class=\"code\">{}</span> {}</dt>\n<dd>",
            group.code,
            Escaped(group.code.meaning())
        );
        let many = group.details.len() > LINKS_MAX || group.number.is_none();
        if many {
            put!(out, "<details><summary>{count}</summary>");
        }
        out.push_str("<ul>");
        for detail in &group.details {
            put!(out, "<li>{} <span class=\"on\">", Escaped(&detail.detail));
            if detail.cells.len() > LINKS_MAX && !many {
                put!(out, "<details><summary>{count}</summary>{}</details>", links(run, &detail.cells));
            } else {
                out.push_str(&links(run, &detail.cells));
            }
            out.push_str("</span></li>");
        }
        out.push_str("</ul>");
        if many {
            out.push_str("</details>");
        }
        out.push_str("</dd></div>\n");
    }
    out.push_str(if grade.is_some() { "</dl>\n" } else { "" });
}
