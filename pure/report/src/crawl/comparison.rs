//! Two crawls beside each other: the table, what stands out, what spoils the comparison, and where the bound moved.

use super::tables::{clock, per_second};
use super::{CrawlReport, doubts};
use crate::answer::AnswerTable;
use crate::table::{Column, Field};
use crate::words::crawl as words;
use crate::words::doubt_detail;
use loadline_pipeline::{CrawlComparison, CrawlFigures, SourceComparison, SourceFigures, compare_crawls, held_volumes};
use loadline_record::{Doubt, RunRecord};
use loadline_units::words::span;
use std::collections::BTreeMap;

/// What bound each source of a crawl, by its name.
type BoundWords = BTreeMap<String, String>;

/// A crawl against the first of several.
#[derive(Debug, Clone)]
pub struct ComparedCrawl {
    /// The figures.
    pub comparison: CrawlComparison,
    before: BoundWords,
    now: BoundWords,
    /// The limits at which the volumes of either were.
    held: Vec<String>,
    /// Why the figures of either should not be believed as they stand.
    doubts: Vec<String>,
}

/// A crawl as a side of a comparison.
struct Side<'r> {
    record: &'r RunRecord,
    figures: CrawlFigures,
    bounds: BoundWords,
}

impl<'r> Side<'r> {
    /// `None`: the run is no crawl.
    fn of(record: &'r RunRecord) -> Option<Self> {
        Some(Self { record, figures: CrawlFigures::of_run(record)?, bounds: bound_words(record) })
    }
    /// At which limits its volumes were; that it is not known, of one without surroundings.
    fn held(&self, name: &str) -> Vec<String> {
        let Some(pipeline) = self.record.pipeline() else { return Vec::new() };
        if pipeline.surroundings.is_none() {
            return vec![format!("{name}: {}", words::NO_SURROUNDINGS)];
        }
        held_volumes(pipeline).iter().map(|of| format!("{name}: {}", words::held(of))).collect()
    }
    fn doubts(&self, name: &str) -> impl Iterator<Item = String> {
        let line = move |doubt: &Doubt| format!("{name}: {}: {}", doubt.code.name(), doubt_detail(doubt));
        doubts(self.record).into_iter().map(line)
    }
}

/// Each crawl against the first; `None` where one of the runs is no crawl, or there is but one.
#[must_use]
pub fn compared_crawls<'r>(records: impl IntoIterator<Item = &'r RunRecord>) -> Option<Vec<ComparedCrawl>> {
    let sides: Vec<Side<'r>> = records.into_iter().map(Side::of).collect::<Option<_>>()?;
    let (first, others) = sides.split_first().filter(|(_, others)| !others.is_empty())?;
    let against = |second: &Side<'_>| {
        let (mut base, mut other) = (first.figures.clone(), second.figures.clone());
        if base.name == other.name {
            base.name.push_str(" (first)");
            other.name.push_str(" (second)");
        }
        ComparedCrawl {
            comparison: compare_crawls(&base, &other),
            before: first.bounds.clone(),
            now: second.bounds.clone(),
            held: [first.held(&base.name), second.held(&other.name)].concat(),
            doubts: first.doubts(&base.name).chain(second.doubts(&other.name)).collect(),
        }
    };
    Some(others.iter().map(against).collect())
}

/// Nothing of crawls of others.
fn bound_words(record: &RunRecord) -> BoundWords {
    let Some(report) = CrawlReport::of(record) else { return BoundWords::new() };
    let spec = &report.pipeline.spec;
    report.attributions.iter().map(|of| (of.source.clone(), words::bound(&of.bound, spec))).collect()
}

impl ComparedCrawl {
    /// A row for each source.
    #[must_use]
    pub fn table(&self) -> AnswerTable {
        let CrawlComparison { base, other, sources, .. } = &self.comparison;
        let mut table = AnswerTable::new(
            &format!("Crawl {other} against {base}"),
            &[
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
            ],
        );
        for of in sources {
            let sides = [of.base.as_ref(), of.other.as_ref()];
            let both = |field: &dyn Fn(Option<&SourceFigures>) -> Field| sides.map(field);
            let items = |of: Option<&SourceFigures>| {
                of.map_or_else(|| Field::figure(None, per_second), |of| Field::count(of.items))
            };
            let time = |of: Option<&SourceFigures>| Field::figure(of.map(|of| of.duration_ns as f64 / 1e9), clock);
            let rate = |of: Option<&SourceFigures>| Field::figure(of.and_then(SourceFigures::rate_per_s), per_second);
            let latency = |of: Option<&SourceFigures>| {
                Field::figure(of.filter(|of| !of.is_failed()).and_then(|of| of.repository_latency_ns), span)
            };
            let mut row = vec![Field::text(&of.source)];
            row.extend(both(&items));
            row.extend(both(&time));
            row.extend(both(&rate));
            row.push(Field::figure(of.rate_ratio, |ratio| format!("{ratio:.2}")));
            row.extend(both(&latency));
            row.extend(of.in_flight.map(|value| Field::figure(value, |value| format!("{value:.1}"))));
            row.push(Field::text(words::reading(of.reading, base, other)));
            table.push(row);
        }
        table
    }

    /// What stands out, what spoils the comparison, the doubts, and the verdict: a title and its lines each. One without a line is left out.
    #[must_use]
    pub fn lists(&self) -> Vec<(&'static str, Vec<String>)> {
        let CrawlComparison { base, other, sources, findings, confounders } = &self.comparison;
        let all = [
            ("What stands out", findings.iter().map(words::finding).collect()),
            ("What held their volumes", self.held.clone()),
            ("What spoils the comparison", confounders.iter().map(|of| words::confounder(of, base, other)).collect()),
            ("Doubts", self.doubts.clone()),
            ("Verdict", sources.iter().map(|of| self.moved(of)).collect()),
        ];
        all.into_iter().filter(|(_, lines): &(_, Vec<String>)| !lines.is_empty()).collect()
    }

    /// As tables of a report.
    #[must_use]
    pub fn in_report(&self) -> Vec<AnswerTable> {
        let own = self.table();
        let list = |(title, lines): (&str, Vec<String>)| {
            let title = title.to_lowercase();
            let mut table =
                AnswerTable::new(&format!("{}: {title}", own.title), &[Column::words(title.clone(), title.clone())]);
            for line in lines {
                table.push(vec![Field::text(line)]);
            }
            table
        };
        let lists: Vec<AnswerTable> = self.lists().into_iter().map(list).collect();
        [own].into_iter().chain(lists).collect()
    }

    /// Where the part moved that bound a source; of crawls of others, what the reading says.
    fn moved(&self, of: &SourceComparison) -> String {
        let find = |of: &BoundWords, name: &str| of.get(name).cloned();
        let faster = of.rate_ratio.map_or_else(
            || "has no rate in one of them".to_owned(),
            |ratio| format!("does {ratio:.2} times as many items a second"),
        );
        match (find(&self.before, &of.source), find(&self.now, &of.source)) {
            (Some(before), Some(now)) if before == now => format!("{} {faster}; bound in both by {now}", of.source),
            (Some(before), Some(now)) => format!("{} {faster}; bound by {before}, and then by {now}", of.source),
            _ => {
                let CrawlComparison { base, other, .. } = &self.comparison;
                format!("{} {faster}: {}", of.source, words::reading(of.reading, base, other))
            }
        }
    }
}
