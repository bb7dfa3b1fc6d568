//! Prints runs and comparisons as terminal tables, Markdown, CSV and one self-contained HTML file.
//!
//! Every form prints the same figures with their doubts beside them. Nothing here computes a statistic: the figures
//! come from `loadline-analysis`. Only the HTML form reads the record, for its charts.

mod answer;
mod best;
mod chart;
mod comparison;
mod conclusions;
pub mod crawl;
mod csv;
mod document;
mod doubts;
mod escaped;
mod figures;
pub mod frame;
mod hosts;
mod html;
mod markdown;
mod page;
mod plain_text;
mod rows;
mod table;
mod terminal;
mod verdict;
pub mod words;

pub use answer::{AnswerTable, RunAnswer};
pub use comparison::{comparison_csv, comparison_markdown, comparison_terminal};
pub use csv::{csv, frame_csv};
pub use document::{ComparisonDocument, DoubtDocument, RunDocument, run_document};
pub use html::{Comparisons, chart_svg, html, html_with_answers, results_table};
pub use markdown::markdown;
pub use page::{escaped, page};
pub use plain_text::{no_formula, plain, plain_coloured, plain_lines};
pub use table::{Field, Moment, Table, table};
pub use terminal::{Colour, Columns, TerminalOptions, terminal, verdict_terminal, wrap};
pub use verdict::{COMMAND, VERDICT_LINES_MAX, lines as verdict_lines};
pub use words::{TRACE_CUT_SHORT, doubt_detail};

/// Writes to a `String`, which cannot fail.
macro_rules! put {
    ($out:expr, $($arg:tt)*) => {{
        use std::fmt::Write as _;
        write!($out, $($arg)*).expect("writing to a string")
    }};
}
pub(crate) use put;
