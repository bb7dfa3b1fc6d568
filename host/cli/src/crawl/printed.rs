//! What a crawl shows, in the form that was asked for.

use crate::arguments::Format;
use crate::output;
use crate::printing;
use crate::recommendations::report_command;
use crate::shell::in_shell;
use crate::typed_words::store_option;
use loadline_report::crawl::{ComparedCrawl, CrawlReport};
use loadline_report::{About, AnswerTable};

/// Lines of a list of a comparison at most.
const LINES_MAX: usize = 12;

/// A heading over what follows.
fn heading(text: &str, format: Format) -> String {
    if format == Format::Markdown { format!("## {text}\n\n") } else { format!("{text}\n") }
}

fn list(title: &str, lines: &[String], format: Format) -> String {
    let lines: String = lines.iter().flat_map(|line| ["  ", line, "\n"]).collect();
    format!("{}{lines}", heading(title, format))
}

/// The crawl as text, ending with a line break.
pub(crate) fn text(report: &CrawlReport<'_>, format: Format) -> String {
    let tables = report.tables();
    match format {
        Format::Json => return output::pretty(&report.document()),
        Format::Csv => return printing::part(&tables[0].table, format),
        Format::Table | Format::Markdown => {}
    }
    let header = &report.record().header;
    let mark = if format == Format::Markdown { "# " } else { "" };
    let mut parts = vec![format!("{mark}run {}: crawl {}\n", header.id, header.name)];
    let under =
        |table: &AnswerTable| format!("{}{}", heading(&table.title, format), printing::part(&table.table, format));
    parts.push(printing::part(&tables[0].table, format));
    parts.extend(tables[1..].iter().map(under));
    let notes = report.notes();
    if !notes.is_empty() {
        parts.push(list("Failures and notes", &notes, format));
    }
    let doubts: Vec<String> = report
        .doubts()
        .iter()
        .map(|doubt| format!("{}: {}", doubt.code.name(), loadline_report::doubt_detail(doubt)))
        .collect();
    if !doubts.is_empty() {
        parts.push(list("Doubts", &doubts, format));
    }
    let tried = report.tried();
    parts.extend(tried.as_ref().map(under));
    let mut conclusion = report.verdict();
    if let Some(change) = report.suggestion().filter(|_| tried.is_none()) {
        let change = in_shell(&change);
        let next = format!("loadline crawl --stored {} --what-if {change}{}", header.id, store_option());
        conclusion.push(About::Next.says(next));
    }
    conclusion.push(About::Report.says(report_command([header.id.as_str()])));
    parts.push(printing::verdict(&conclusion, format));
    parts.join("\n")
}

/// A crawl against another, in a form for people or spreadsheets.
pub(crate) fn compared(of: &ComparedCrawl, format: Format) -> String {
    let table = of.table();
    if format == Format::Csv {
        return printing::part(&table.table, format);
    }
    let mut text = format!("{}{}", heading(&table.title, format), printing::part(&table.table, format));
    for (title, mut lines) in of.lists() {
        let more = lines.len().saturating_sub(LINES_MAX);
        lines.truncate(LINES_MAX);
        if more > 0 {
            lines.push(format!("and {more} more: --format json has them all"));
        }
        text.push('\n');
        text.push_str(&list(title, &lines, format));
    }
    text
}
