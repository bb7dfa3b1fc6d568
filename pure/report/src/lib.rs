//! Prints runs and comparisons as terminal tables, Markdown, CSV and one self-contained HTML file.
//!
//! Every form prints the same figures with their doubts beside them. Nothing here computes a statistic: the figures
//! come from `loadline-analysis`. Only the HTML form reads the record, for its charts.

mod answer;
mod best;
mod chart;
mod comparison;
mod conclusions;
mod console;
pub mod crawl;
mod csv;
mod document;
mod doubts;
mod draft;
mod escaped;
mod explorer;
mod figures;
mod folder;
pub mod frame;
mod hosts;
mod html;
mod incidents;
pub mod live;
mod markdown;
mod page;
mod plain_text;
pub mod rates;
mod remarks;
mod rows;
mod table;
mod terminal;
mod verdict;
mod verdict_line;
pub mod words;

pub use answer::{AnswerTable, RunAnswer};
pub use comparison::{Standing, comparison_csv, comparison_draft, comparison_markdown, comparison_terminal};
pub use console::{Colour, Columns, TerminalOptions, wrap};
pub use document::{AdviceDocument, ComparisonDocument, DoubtDocument, RunDocument, advice_document, run_document};
pub use draft::{Draft, Noun, SCREEN_LINES, Weight};
pub use escaped::{Escaped, escape};
pub use explorer::{ExplorerParts, explorer_page};
pub use folder::{Headline, IndexPage, IndexRow, index_pages};
pub use frame::Moment;
pub use frame::{csv, frame_csv};
pub use html::{
    Comparisons, OtherRole, OtherRun, PagePlace, PageWishes, PredictedSide, advice_body, advice_html, chart_svg, html,
    html_with_answers, predictions_body, results_table, run_page,
};
pub use incidents::incidents_table;
pub use markdown::markdown;
pub use plain_text::{no_formula, plain, plain_coloured, plain_lines};
pub use table::{Column, Field, Table};
pub use terminal::{run_draft, terminal, verdict_terminal};
pub use verdict::{VERDICT_LINES_MAX, lines as verdict_lines};
pub use verdict_line::{About, ObjectiveStanding, VerdictLine};
pub use words::watch::cause as watch_cause;
pub use words::{TRACE_CUT_SHORT, doubt_detail};

/// Writes to a `String`, which cannot fail.
macro_rules! put {
    ($out:expr, $($arg:tt)*) => {{
        use std::fmt::Write as _;
        write!($out, $($arg)*).expect("writing to a string")
    }};
}
pub(crate) use put;
