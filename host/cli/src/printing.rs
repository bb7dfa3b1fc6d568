//! A run's results in the form that was asked for.

use crate::arguments::Format;
use crate::output;
use loadline_analysis::RunSummary;
use loadline_report::{Colour, TerminalOptions};

/// Width of a table that goes to no terminal: wide enough for every column.
const WIDTH_DEFAULT: usize = 140;

/// The run as text, ending with a line break.
pub(crate) fn summary(summary: &RunSummary, format: Format) -> String {
    match format {
        Format::Table => {
            let colour = if output::colour_wanted() { Colour::Always } else { Colour::Never };
            let width = output::output_width().unwrap_or(WIDTH_DEFAULT);
            loadline_report::terminal(summary, &TerminalOptions { colour, width })
        }
        Format::Json => output::pretty(summary),
        Format::Csv => loadline_report::csv(summary),
        Format::Markdown => loadline_report::markdown(summary),
    }
}
