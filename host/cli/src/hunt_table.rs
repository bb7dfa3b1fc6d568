//! What a hunt found, in the form that was asked for.

use crate::arguments::Format;
use crate::{output, printing};
use loadline_hunt::{Effect, HuntResult};
use loadline_report::words::hunt::{
    hunt_document, hunt_limits, hunt_lines, hunt_rate, hunt_table, not_tried, nothing_varied,
};
use loadline_report::{About, Draft, Noun, Weight};

/// What was found, in the form asked for; `command` is the next step.
pub(crate) fn text(found: &HuntResult, command: &str, format: Format) -> String {
    let (title, run, heading, mark) = match format {
        Format::Json => return output::pretty(&hunt_document(found)),
        Format::Csv => return printing::part(&hunt_table(found), format),
        Format::Table => (found.name.clone(), format!("run {}", found.run), "Limits\n", "• "),
        Format::Markdown => (format!("# {}\n", found.name), format!("run `{}`", found.run), "## Limits\n\n", "- "),
    };
    let mut text = Draft::default();
    text.push_str(&format!("{title}\n{run}{}\n\n", hunt_rate(found)));
    if !nothing_varied(found) {
        let weigh = |row: usize| match found.rows.get(row).map(|row| row.effect) {
            Some(Effect::RuledOut | Effect::CannotTell) => Weight::Beside,
            _ => Weight::Qualifies,
        };
        printing::rows(text.heading(), &hunt_table(found), format, weigh);
        text.item(Noun::Line, Weight::Carries).push_str(&not_tried(&found.not_tried));
        let intervals = "\nIntervals hold for all looks at all settings together with 95 % confidence.\n";
        text.item(Noun::Note, Weight::Explains).push_str(intervals);
        text.heading().push_str(&format!("\n{heading}"));
        for line in hunt_limits(found) {
            text.item(Noun::Line, Weight::Carries).push_str(&format!("{mark}{line}\n"));
        }
    }
    let mut lines = hunt_lines(found);
    lines.push(About::Command.says(command));
    let gap = if nothing_varied(found) { "" } else { "\n" };
    text.frame().push_str(&format!("{gap}{}", printing::verdict(&lines, format)));
    if format == Format::Table { printing::on_screen(&text, &printing::shown_by(&found.run)) } else { text.whole() }
}
