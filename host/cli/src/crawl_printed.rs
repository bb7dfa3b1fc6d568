//! What a crawl shows, in the form that was asked for.

use crate::arguments::Format;
use crate::output;
use crate::printing;
use crate::recommendations::report_command;
use crate::shell::in_shell;
use crate::typed_words::store_option;
use loadline_record::Doubt;
use loadline_report::crawl::{ComparedCrawl, CrawlReport};
use loadline_report::{About, AnswerTable, Draft, Noun, Weight};

/// Lines of a list of a comparison at most.
const LINES_MAX: usize = 12;

/// A heading over what follows.
fn heading(text: &str, format: Format) -> String {
    if format == Format::Markdown { format!("## {text}\n\n") } else { format!("{text}\n") }
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
    let mut text = Draft::default();
    text.push_str(&format!("{mark}run {}: crawl {}\n\n", header.id, header.name));
    let remarks = report.remarks();
    if !remarks.is_empty() {
        let ending = if format == Format::Markdown { "\n\n" } else { "\n" };
        for remark in &remarks {
            text.push_str(remark);
            text.push_str(ending);
        }
        text.push_str(if format == Format::Markdown { "" } else { "\n" });
    }
    printing::rows(text.heading(), &tables[0].table, format, |_| Weight::Qualifies);
    for table in &tables[1..] {
        under(&mut text, table, Weight::Beside, format);
    }
    list(&mut text, "Failures and notes", &report.notes(), (Noun::Line, Weight::Beside), format);
    let named = |doubt: &&Doubt| format!("{}: {}", doubt.code.name(), loadline_report::doubt_detail(doubt));
    let doubts: Vec<String> = report.doubts().iter().map(named).collect();
    list(&mut text, "Doubts", &doubts, (Noun::Doubt, Weight::Details), format);
    let tried = report.tried();
    if let Some(tried) = &tried {
        under(&mut text, tried, Weight::Carries, format);
    }
    let mut conclusion = report.verdict();
    let is_open = tried.is_none() && conclusion.iter().all(|line| line.about != About::Next);
    if let Some(change) = report.suggestion().filter(|_| is_open) {
        let change = in_shell(&change);
        let next = format!("loadline crawl --stored {} --what-if {change}{}", header.id, store_option());
        conclusion.push(About::Next.says(next));
    }
    conclusion.push(About::Report.says(report_command([header.id.as_str()])));
    text.frame().push_str(&format!("\n{}", printing::verdict(&conclusion, format)));
    if format == Format::Table { printing::on_screen(&text, &printing::shown_by(&header.id)) } else { text.whole() }
}

/// A table under its heading.
fn under(text: &mut Draft, table: &AnswerTable, weight: Weight, format: Format) {
    text.heading().push_str(&format!("\n{}", heading(&table.title, format)));
    printing::rows(text, &table.table, format, |_| weight);
}

/// Lines under a heading, where there are any.
fn list(text: &mut Draft, title: &str, lines: &[String], of: (Noun, Weight), format: Format) {
    if lines.is_empty() {
        return;
    }
    text.heading().push_str(&format!("\n{}", heading(title, format)));
    for line in lines {
        text.item(of.0, of.1).push_str(&format!("  {line}\n"));
    }
}

/// A crawl against another, in a form for people or spreadsheets.
pub(crate) fn compared(text: &mut Draft, of: &ComparedCrawl, format: Format) {
    let table = of.table();
    if format == Format::Csv {
        return text.push_str(&printing::part(&table.table, format));
    }
    text.heading().push_str(&heading(&table.title, format));
    printing::rows(text, &table.table, format, |_| Weight::Carries);
    let lists = of.lists();
    let last = lists.len().saturating_sub(1);
    for (place, (title, mut lines)) in lists.into_iter().enumerate() {
        let more = lines.len().saturating_sub(LINES_MAX);
        lines.truncate(LINES_MAX);
        if more > 0 {
            lines.push(format!("and {more} more: --format json has them all"));
        }
        if place == last {
            // What each source came to ends it, and stays.
            text.frame().push_str(&format!("\n{}", heading(title, format)));
            for line in &lines {
                text.push_str(&format!("  {line}\n"));
            }
        } else {
            list(text, title, &lines, (Noun::Line, Weight::Beside), format);
        }
    }
}
