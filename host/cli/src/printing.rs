//! A run's results in the form that was asked for.

use crate::arguments::Format;
use crate::output;
use crate::schema::Schema;
use crate::typed_words;
use loadline_analysis::{Comparison, RunSummary};
use loadline_report::{
    Colour, Columns, ComparisonDocument, Draft, Noun, RunAnswer, Table, TerminalOptions, VerdictLine, Weight,
    run_document,
};

/// The option that prints all.
pub(crate) const ALL: &str = "--all";
/// Width of text that goes to no terminal; tables become as wide as their columns make them.
const WIDTH_DEFAULT: usize = 140;

/// The run as text, ending with a line break.
pub(crate) fn summary(summary: &RunSummary, format: Format) -> String {
    match format {
        Format::Table => {
            on_screen(&loadline_report::run_draft(summary, &terminal_options()), &shown_by(&summary.run.id))
        }
        Format::Json => output::pretty(&run_document(summary)),
        Format::Csv => loadline_report::csv(summary),
        Format::Markdown => loadline_report::markdown(summary),
    }
}

/// The comparison as text, ending with a line break.
pub(crate) fn comparison(comparison: &Comparison, format: Format) -> String {
    match format {
        Format::Table => on_screen(&compared(comparison), &shown_again()),
        Format::Json => output::pretty(&ComparisonDocument::of(comparison)),
        Format::Csv => loadline_report::comparison_csv(comparison),
        Format::Markdown => loadline_report::comparison_markdown(comparison),
    }
}

/// The comparison in pieces, for a screen.
pub(crate) fn compared(comparison: &Comparison) -> Draft {
    loadline_report::comparison_draft(comparison, &terminal_options())
}

/// The text, as far as a screen has room for it unless all was asked for; `shown_by` shows all.
pub(crate) fn on_screen(draft: &Draft, shown_by: &str) -> String {
    if typed_words::is_for_screen() { draft.fitted(&terminal_options(), shown_by) } else { draft.whole() }
}

/// The command that shows all of a run.
pub(crate) fn shown_by(run: &str) -> String {
    format!("loadline show {run} {ALL}{}", typed_words::store_option())
}

/// The command that was typed, with all that it prints.
pub(crate) fn shown_again() -> String {
    typed_words::again(ALL).unwrap_or_else(|| format!("the same command with {ALL}"))
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

/// A table for people as a part of a text that ends where a screen does.
pub(crate) fn rows(draft: &mut Draft, table: &Table, format: Format, weigh: impl Fn(usize) -> Weight) {
    match format {
        Format::Table => draft.table(table, &terminal_options(), weigh),
        format => draft.push_str(&part(table, format)),
    }
}

/// A table and the verdict on it, for people.
pub(crate) fn concluded(
    table: &Table,
    weigh: impl Fn(usize) -> Weight,
    lines: &[VerdictLine],
    format: Format,
) -> String {
    let mut draft = Draft::default();
    rows(draft.heading(), table, format, weigh);
    draft.item(Noun::Note, Weight::Explains);
    draft.frame().push_str(&format!("\n{}", verdict(lines, format)));
    if format == Format::Table { on_screen(&draft, &shown_again()) } else { draft.whole() }
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
