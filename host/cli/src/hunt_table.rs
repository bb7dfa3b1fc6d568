//! What a hunt found, as tables, Markdown, CSV and JSON.

use crate::arguments::Format;
use crate::output::{self, Column, Field, Table};
use crate::{figures, printing};
use loadline_hunt::{HuntResult, SkippedSetting, Standing};
use loadline_report::{COMMAND, RunAnswer};
use serde_json::Value as Json;

/// What was found, in the form asked for; `command` is the next step.
pub(crate) fn text(found: &HuntResult, command: &str, format: Format) -> String {
    let table = rows(found);
    match format {
        Format::Json => output::pretty(&found.document()),
        Format::Csv => table.render(format, false),
        Format::Table => {
            let rate = figures_of(found);
            let mut text = format!("{}\nrun {}{rate}\n\n", found.name, found.run);
            if nothing_varied(found) {
                return text + &verdict(found, command, format);
            }
            text.push_str(&table.render(format, output::colour_wanted()));
            text.push_str(&not_tried(&found.not_tried));
            text.push_str("\nIntervals hold for all looks at all settings together with 95 % confidence.\n\nLimits\n");
            text + &limits(found, "• ") + "\n" + &verdict(found, command, format)
        }
        Format::Markdown => {
            let rate = figures_of(found);
            let mut text = format!("# {}\n\nrun `{}`{rate}\n\n", found.name, found.run);
            if nothing_varied(found) {
                return text + &verdict(found, command, format);
            }
            text.push_str(&table.render(format, false));
            text.push_str(&not_tried(&found.not_tried));
            text.push_str(
                "\nIntervals hold for all looks at all settings together with 95 % confidence.\n\n## Limits\n\n",
            );
            text + &limits(found, "- ") + "\n" + &verdict(found, command, format)
        }
    }
}

/// The verdict, which ends what is printed.
fn verdict(found: &HuntResult, command: &str, format: Format) -> String {
    let mut lines = found.verdict_lines();
    lines.push((COMMAND.to_owned(), command.to_owned()));
    printing::verdict(&lines, format)
}

/// What a report of the hunt opens with.
pub(crate) fn answer(found: &HuntResult) -> RunAnswer {
    let mut tables = Vec::new();
    if !nothing_varied(found) {
        tables.push(rows(found).in_report("What was varied, one setting at a time"));
        let mut limits = Table::new(&[
            Column::words("stands", "standing"),
            Column::words("what may hold the load", "what"),
            Column::words("why", "because"),
        ]);
        for suspect in &found.suspects {
            let texts = [standing(suspect.standing), &suspect.what, &suspect.because];
            limits.push(texts.into_iter().map(Field::text).collect());
        }
        tables.push(limits.in_report("What may hold it"));
    }
    RunAnswer { lines: found.verdict_lines(), tables }
}

/// Whether the hunt stopped before anything was varied: there is no row to show.
fn nothing_varied(found: &HuntResult) -> bool {
    found.nothing_bound.is_some() && found.rows.iter().all(|row| row.rounds == 0)
}

/// What is usually varied and was not, with the reasons, each once: "not tried: interleave, layout (...)".
pub(crate) fn not_tried(all: &[SkippedSetting]) -> String {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for one in all {
        let name = match &one.to {
            Some(to) => format!("{} {to}", one.factor.name()),
            None => one.factor.name().to_owned(),
        };
        match reasons.iter_mut().find(|(because, _)| *because == one.because) {
            Some((_, names)) => names.push(name),
            None => reasons.push((&one.because, vec![name])),
        }
    }
    let lines = reasons.iter().map(|(because, names)| format!("not tried: {} ({because})\n", names.join(", ")));
    let text: String = lines.collect();
    if text.is_empty() { text } else { format!("\n{text}") }
}

fn figures_of(found: &HuntResult) -> String {
    match (found.iops, found.bytes_per_s) {
        (Some(iops), Some(bytes)) => format!(": {}, {}", figures::iops(iops), figures::megabytes_per_s(bytes)),
        _ => String::new(),
    }
}

fn rows(found: &HuntResult) -> Table {
    let mut table = Table::new(&[
        Column::words("factor", "factor"),
        Column::words("from", "from"),
        Column::words("to", "to"),
        Column::numbers("rounds", "rounds"),
        Column::numbers("before", "before"),
        Column::numbers("after", "after"),
        Column::numbers("ratio", "ratio"),
        Column::words("interval", "interval"),
        Column::words("verdict", "verdict"),
    ]);
    let or_dash = |text: Option<String>, exact: Option<f64>| {
        Field::both(text.unwrap_or_else(|| "-".to_owned()), exact.map_or(Json::Null, Json::from))
    };
    for row in &found.rows {
        let rate = |value: f64| {
            if row.in_bytes { figures::megabytes_per_s(value) } else { figures::iops(value) }
        };
        let interval =
            row.low.zip(row.high).map_or_else(|| "-".to_owned(), |(low, high)| format!("{low:.3}–{high:.3}"));
        table.push(vec![
            Field::text(row.variant.factor.name()),
            Field::text(&row.variant.from),
            Field::text(&row.variant.to),
            Field::count(row.rounds.into()),
            or_dash(row.before.map(rate), row.before),
            or_dash(row.after.map(rate), row.after),
            or_dash(row.ratio.map(|r| format!("{r:.3}")), row.ratio),
            Field::text(interval),
            Field::text(row.effect.words()),
        ]);
    }
    table
}

/// What may bind, or why nothing did.
fn limits(found: &HuntResult, mark: &str) -> String {
    if let Some(why) = &found.nothing_bound {
        return format!("{mark}{why}\n");
    }
    let lines = found.suspects.iter().map(|suspect| {
        let standing = standing(suspect.standing);
        let limits =
            if suspect.limits.is_empty() { String::new() } else { format!(" ({})", suspect.limits.join(", ")) };
        format!("{mark}{standing}: {}{limits}: {}\n", suspect.what, suspect.because)
    });
    lines.collect()
}

const fn standing(standing: Standing) -> &'static str {
    match standing {
        Standing::Binds => "binds",
        Standing::Possible => "possible",
        Standing::RuledOut => "ruled out",
    }
}
