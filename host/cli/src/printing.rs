//! A run's results in the form that was asked for.

use crate::arguments::Format;
use crate::output;
use crate::schema::Schema;
use loadline_analysis::{Comparison, RunSummary};
use loadline_report::{
    Colour, Columns, ComparisonDocument, RunAnswer, Table, TerminalOptions, VerdictLine, run_document,
};

/// Width of text that goes to no terminal; tables become as wide as their columns make them.
const WIDTH_DEFAULT: usize = 140;

/// The run as text, ending with a line break.
pub(crate) fn summary(summary: &RunSummary, format: Format) -> String {
    match format {
        Format::Table => loadline_report::terminal(summary, &terminal_options()),
        Format::Json => output::pretty(&run_document(summary)),
        Format::Csv => loadline_report::csv(summary),
        Format::Markdown => loadline_report::markdown(summary),
    }
}

/// The comparison as text, ending with a line break.
pub(crate) fn comparison(comparison: &Comparison, format: Format) -> String {
    match format {
        Format::Table => loadline_report::comparison_terminal(comparison, &terminal_options()),
        Format::Json => output::pretty(&ComparisonDocument::of(comparison)),
        Format::Csv => loadline_report::comparison_csv(comparison),
        Format::Markdown => loadline_report::comparison_markdown(comparison),
    }
}

/// The table as text, ending with a line break; as JSON it is a document of this schema.
pub(crate) fn table(table: &Table, schema: Schema, format: Format) -> String {
    match format {
        Format::Json => schema.rows(table.json()),
        format => part(table, format),
    }
}

/// A table among others for people, or for spreadsheets by itself.
pub(crate) fn part(table: &Table, format: Format) -> String {
    match format {
        Format::Csv => table.csv(),
        Format::Markdown => table.markdown(),
        Format::Table | Format::Json => table.terminal(&terminal_options()),
    }
}

/// The verdict of a verb that answers a question of its own, for the end of what is printed.
pub(crate) fn verdict(lines: &[VerdictLine], format: Format) -> String {
    if format == Format::Markdown {
        let answer = RunAnswer { lines: lines.to_vec(), tables: Vec::new() };
        return answer.markdown("##");
    }
    loadline_report::verdict_terminal(lines, &terminal_options())
}

/// Tells the verdict on standard error: of a verb whose results are read by programs as they are.
pub(crate) fn tell_verdict(lines: &[VerdictLine]) {
    let options = TerminalOptions { colour: Colour::Never, ..terminal_options() };
    output::tell(loadline_report::verdict_terminal(lines, &options).trim_end());
}

/// How standard output is.
pub(crate) fn terminal_options() -> TerminalOptions {
    let colour = if output::colour_wanted() { Colour::Always } else { Colour::Never };
    match output::output_width() {
        Some(width) => TerminalOptions { colour, width, columns: Columns::Fitting },
        None => TerminalOptions { colour, width: WIDTH_DEFAULT, columns: Columns::All },
    }
}
