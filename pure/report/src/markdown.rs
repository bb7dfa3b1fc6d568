//! The run as Markdown (tables for GitHub and most wikis), for tickets and pull requests.

use crate::best::{self, best};
use crate::conclusions;
use crate::doubts;
use crate::escaped::escape;
use crate::figures::plain;
use crate::hosts;
use crate::put;
use crate::remarks;
use crate::rows::{self, Column};
use crate::verdict;
use crate::words;
use loadline_analysis::RunSummary;
use loadline_units::words::capital;

/// Conclusions, findings, table, doubts and provenance as Markdown.
#[must_use]
pub fn markdown(summary: &RunSummary) -> String {
    let groups = doubts::grouped(summary);
    let run = &summary.run;
    let mut out = format!("# {}\n\n", escape(&run.name));
    put!(out, "**{}**\n\n", escape(&rows::verdict(summary)));
    for (about, said) in remarks::remarks(run) {
        put!(out, "{about}: {}\n\n", escape(&said));
    }
    if let Some(warning) = rows::status_warning(run) {
        put!(out, "**The run is {warning}.**\n\n");
    }
    if let Some(block) = &summary.verdict {
        put!(out, "## {}\n\n", verdict::HEADING);
        for line in verdict::lines(block) {
            put!(out, "- **{}**: {}\n", escape(&line.about.name()), escape(&line.text));
        }
        out.push('\n');
    }
    if !summary.conclusions.is_empty() {
        put!(out, "## {}\n\n", conclusions::HEADING);
    }
    for conclusion in &summary.conclusions {
        let volume = conclusions::volume(summary, conclusion).map_or_else(String::new, |name| format!("{name}: "));
        put!(out, "**{}**\n\n", escape(&format!("{volume}{}", words::reached(conclusion))));
        for (question, answer) in conclusions::parts(conclusion) {
            put!(out, "- {question}: {}\n", escape(&answer));
        }
        for command in &conclusion.commands {
            put!(out, "- Run: {}\n", code_span(command));
        }
        out.push('\n');
    }
    out.push_str("## Findings\n\n");
    if summary.findings.is_empty() {
        out.push_str("None.\n");
    }
    for finding in conclusions::findings(summary) {
        put!(out, "- {} ({})\n", escape(&words::finding(summary, finding)), code(finding.code.name()));
    }
    out.push_str("\n## Results\n\n");
    let columns = Column::wanted(summary);
    out.push_str(&rows::table(&columns, summary, &groups, "↳ ").markdown());
    put!(out, "\nMB/s is 10^6 bytes per second. {}", escape(&rows::latency_counts(summary)));
    if let Some((heading, words)) = columns.iter().find_map(|c| Some((c.heading(), c.interval_words()?))) {
        put!(out, " The column \"{heading}\" is {words}.");
    }
    out.push('\n');
    if let Some(marks) = remarks::marks(run) {
        put!(out, "\n## {}\n\n{}", remarks::MARKS_HEADING, marks.markdown());
    }
    let tables = [
        (best::HEADING, best(summary), best::NOTE),
        (hosts::SCALING_HEADING, hosts::hosts_scaling(summary), hosts::SCALING_NOTE),
        (hosts::HEADING, hosts::hosts(summary), hosts::NOTE),
    ];
    for (heading, table, note) in tables {
        if let Some(table) = table {
            put!(out, "\n## {heading}\n\n{}\n{note}\n", table.markdown());
        }
    }
    if !groups.is_empty() {
        out.push_str("\n## Doubts\n\n");
    }
    let mut grade = None;
    for group in &groups {
        if grade.replace(group.code.grade()) != Some(group.code.grade()) {
            put!(
                out,
                "{}{}:\n\n",
                if group.number == Some(1) { "" } else { "\n" },
                capital(group.code.grade().meaning())
            );
        }
        if group.number.is_none() {
            put!(out, "- every row: **{}**: {}.\n", group.code, group.code.meaning());
            continue;
        }
        put!(out, "- {} **{}**: {}.\n", group.mark(), group.code, group.code.meaning());
        for detail in &group.details {
            let labels: Vec<String> = detail.cells.iter().map(|i| escape(&summary.cells[*i].label)).collect();
            put!(out, "  - {}: {}\n", labels.join("; "), escape(&detail.detail));
        }
    }
    out.push_str("\n## Provenance\n\n");
    put!(out, "- run {}, {}, started {}", code(&run.id), escape(&run.how()), escape(&run.started));
    if run.imported.is_some() {
        put!(out, ", imported by loadline {}\n", escape(&run.version));
    } else {
        put!(out, ", loadline {}, seed {}\n", escape(&run.version), run.seed);
    }
    for file in run.imported.iter().flat_map(|from| &from.files) {
        put!(out, "- imported from {} ({})\n", code(&file.name), code(&file.hash));
    }
    let host = [&run.host.hostname, &run.host.os, &run.host.kernel, &run.host.cpu_model, &run.host.virtualization];
    let host: Vec<String> = host.into_iter().flatten().map(|text| escape(text)).collect();
    if !host.is_empty() {
        put!(out, "- machine: {}\n", host.join(", "));
    }
    for volume in &run.volumes {
        let direct = rows::way(volume);
        let size = rows::size(volume);
        put!(out, "- volume {}: {}, {size}, {direct}\n", escape(&volume.name), escape(&rows::place(volume)));
    }
    for plan in &run.plan {
        put!(out, "- plan {}, hash {}\n", escape(&plan.name), code(&plan.hash));
    }
    out
}

/// A code span, or plain text if the text does not fit into one.
fn code(text: &str) -> String {
    let harmless = text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':'));
    if harmless && !text.is_empty() { format!("`{text}`") } else { escape(text) }
}

/// A command that can be copied as it is. One with marks that not every reader of Markdown takes for text is escaped.
fn code_span(text: &str) -> String {
    let text = plain(text);
    if text.contains(['`', '<']) { escape(&text) } else { format!("`{text}`") }
}
