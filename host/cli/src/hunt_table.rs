//! What a hunt found, in the form that was asked for.

use crate::arguments::Format;
use crate::{output, printing};
use loadline_hunt::HuntResult;
use loadline_report::About;
use loadline_report::words::hunt::{
    hunt_document, hunt_limits, hunt_lines, hunt_rate, hunt_table, not_tried, nothing_varied,
};

/// What was found, in the form asked for; `command` is the next step.
pub(crate) fn text(found: &HuntResult, command: &str, format: Format) -> String {
    let (title, run, heading, mark) = match format {
        Format::Json => return output::pretty(&hunt_document(found)),
        Format::Csv => return printing::part(&hunt_table(found), format),
        Format::Table => (found.name.clone(), format!("run {}", found.run), "Limits\n", "• "),
        Format::Markdown => (format!("# {}\n", found.name), format!("run `{}`", found.run), "## Limits\n\n", "- "),
    };
    let mut text = format!("{title}\n{run}{}\n\n", hunt_rate(found));
    if !nothing_varied(found) {
        text.push_str(&printing::part(&hunt_table(found), format));
        text.push_str(&not_tried(&found.not_tried));
        text.push_str("\nIntervals hold for all looks at all settings together with 95 % confidence.\n\n");
        text.push_str(heading);
        text.extend(hunt_limits(found).iter().map(|line| format!("{mark}{line}\n")));
        text.push('\n');
    }
    let mut lines = hunt_lines(found);
    lines.push(About::Command.says(command));
    text + &printing::verdict(&lines, format)
}
