//! Two crawls beside each other: the table, what stands out, and what spoils the comparison.

use super::printed::{bound_words, lines, per_second, seconds};
use crate::arguments::Format;
use crate::output::{self, Column, Field, Table};
use loadline_crawl::crawl_figures;
use loadline_pipeline::{CrawlComparison, CrawlFigures, SourceFigures, compare_crawls};
use loadline_record::RunRecord;
use loadline_units::words::span;
use serde_json::{Value as Json, json};

/// Lines of a list at most.
const LINES_MAX: usize = 12;

/// The comparison of crawls, the first as the baseline; `None` where one of the runs is no crawl.
pub(crate) fn compared_text(records: &[RunRecord], format: Format) -> Option<String> {
    let crawls: Vec<CrawlFigures> = records.iter().map(crawl_figures).collect::<Option<_>>()?;
    let (base, others) = crawls.split_first().filter(|(_, others)| !others.is_empty())?;
    let all: Vec<CrawlComparison> = others
        .iter()
        .map(|other| {
            let (mut base, mut other) = (base.clone(), other.clone());
            if base.name == other.name {
                base.name.push_str(" (first)");
                other.name.push_str(" (second)");
            }
            compare_crawls(&base, &other)
        })
        .collect();
    if format == Format::Json {
        return Some(output::pretty(&json!({ "crawls": all })));
    }
    if format == Format::Csv {
        return Some(all.iter().map(|compared| table(compared).render(format, false)).collect());
    }
    let parts: Vec<String> =
        all.iter().zip(&records[1..]).map(|(compared, other)| text(compared, &records[0], other, format)).collect();
    Some(parts.join("\n"))
}

fn text(compared: &CrawlComparison, base: &RunRecord, other: &RunRecord, format: Format) -> String {
    let heading = |text: &str| if format == Format::Markdown { format!("## {text}\n\n") } else { format!("{text}\n") };
    let CrawlComparison { base: first, other: second, findings, confounders, .. } = compared;
    let list = |title: &str, mut of: Vec<String>| {
        let more = of.len().saturating_sub(LINES_MAX);
        of.truncate(LINES_MAX);
        if more > 0 {
            of.push(format!("and {more} more: --format json has them all"));
        }
        if of.is_empty() { String::new() } else { format!("\n{}{}", heading(title), lines(&of)) }
    };
    let title = heading(&format!("Crawl {second} against {first}"));
    let moved = moved(compared, base, other);
    format!(
        "{title}{}{}{}{}",
        table(compared).render(format, output::colour_wanted()),
        list("What stands out", findings.iter().map(loadline_pipeline::CrawlFinding::sentence).collect()),
        list("What spoils the comparison", confounders.iter().map(|of| of.words(first, second)).collect()),
        list("Verdict", moved),
    )
}

fn table(compared: &CrawlComparison) -> Table {
    let mut table = Table::new(&[
        Column::words("source", "source"),
        Column::numbers("items", "base_items"),
        Column::numbers("then", "other_items"),
        Column::numbers("time", "base_duration_s"),
        Column::numbers("then", "other_duration_s"),
        Column::numbers("items/s", "base_items_per_s"),
        Column::numbers("then", "other_items_per_s"),
        Column::numbers("times", "rate_ratio"),
        Column::numbers("repository", "base_latency_ns"),
        Column::numbers("then", "other_latency_ns"),
        Column::numbers("in flight", "base_in_flight"),
        Column::numbers("then", "other_in_flight"),
        Column::words("reading", "reading"),
    ]);
    for of in &compared.sources {
        let missing = || Field::both("-", Json::Null);
        let number = |value: Option<f64>, shown: &dyn Fn(f64) -> String| {
            value.map_or_else(missing, |value| Field::both(shown(value), value))
        };
        let items = |of: &Option<SourceFigures>| of.as_ref().map_or_else(missing, |of| Field::count(of.items));
        let time = |of: &Option<SourceFigures>| {
            of.as_ref().map_or_else(missing, |of| Field::both(seconds(of.duration_ns), of.duration_ns as f64 / 1e9))
        };
        let rate = |of: &Option<SourceFigures>| number(of.as_ref().and_then(SourceFigures::rate_per_s), &per_second);
        let latency = |of: &Option<SourceFigures>| {
            let latency = of.as_ref().filter(|of| !of.is_failed()).and_then(|of| of.repository_latency_ns);
            number(latency, &span)
        };
        table.push(vec![
            Field::text(&of.source),
            items(&of.base),
            items(&of.other),
            time(&of.base),
            time(&of.other),
            rate(&of.base),
            rate(&of.other),
            number(of.rate_ratio, &|ratio| format!("{ratio:.2}")),
            latency(&of.base),
            latency(&of.other),
            number(of.in_flight[0], &|value| format!("{value:.1}")),
            number(of.in_flight[1], &|value| format!("{value:.1}")),
            Field::text(of.reading.words(&compared.base, &compared.other)),
        ]);
    }
    table
}

/// Where the part moved that bound each source; of crawls of others, what the reading says.
fn moved(compared: &CrawlComparison, base: &RunRecord, other: &RunRecord) -> Vec<String> {
    let (before, now) = (bound_words(base), bound_words(other));
    let find = |of: &[(String, String)], name: &str| {
        of.iter().find(|(source, _)| source == name).map(|(_, part)| part.clone())
    };
    let sentence = |of: &loadline_pipeline::SourceComparison| {
        let faster = of.rate_ratio.map_or_else(
            || "has no rate in one of them".to_owned(),
            |ratio| format!("does {ratio:.2} times as many items a second"),
        );
        match (find(&before, &of.source), find(&now, &of.source)) {
            (Some(before), Some(now)) if before == now => format!("{} {faster}; bound in both by {now}", of.source),
            (Some(before), Some(now)) => format!("{} {faster}; bound by {before}, and then by {now}", of.source),
            _ => format!("{} {faster}: {}", of.source, of.reading.words(&compared.base, &compared.other)),
        }
    };
    compared.sources.iter().map(sentence).collect()
}
