//! What a crawl shows: its sources, stations and volumes, what bound each source, and what changes would bring.

mod comparison;
mod document;
mod tables;

pub use comparison::{ComparedCrawl, compared_crawls};
pub use document::{CRAWL_SCHEMA, CrawlDocument};

use crate::answer::{AnswerTable, RunAnswer};
use crate::remarks;
use crate::verdict_line::{About, VerdictLine};
use crate::words::crawl as words;
use loadline_pipeline::{Attribution, Confirmation, ConfirmedBy, WhatIf, attribute, confirm, held_volumes};
use loadline_record::{Doubt, PipelineRecord, RunRecord, SourceRecord, Tag};

/// Lines of the verdict at most.
const VERDICT_MAX: usize = 9;
/// Lines of it on stations that were slowed.
const CONFIRMED_MAX: usize = 2;
/// Reasons and notes of a source that are shown.
const REASONS_MAX: usize = 5;

/// A crawl that came to its end, read: what bound its sources, and what else it shows.
#[derive(Debug, Clone)]
pub struct CrawlReport<'r> {
    record: &'r RunRecord,
    pipeline: &'r PipelineRecord,
    attributions: Vec<Attribution>,
    confirmed: Vec<Confirmation>,
    /// Changes that were tried on it, as they were typed.
    tried: Vec<(String, WhatIf)>,
    /// What its user says of it.
    tags: Vec<Tag>,
}

impl<'r> CrawlReport<'r> {
    /// Of a run; `None`: it is no crawl, did not come to its end, or contradicts itself.
    #[must_use]
    pub fn of(record: &'r RunRecord) -> Option<Self> {
        let pipeline = record.pipeline()?;
        let attributions = attribute(pipeline).ok()?;
        let confirmed = confirm(pipeline, &attributions);
        Some(Self { record, pipeline, attributions, confirmed, tried: Vec::new(), tags: Vec::new() })
    }

    /// With changes that were tried on it, as they were typed.
    #[must_use]
    pub fn with_tried(self, tried: Vec<(String, WhatIf)>) -> Self {
        Self { tried, ..self }
    }

    /// With what its user says of it.
    #[must_use]
    pub fn with_tags(self, tags: Vec<Tag>) -> Self {
        Self { tags, ..self }
    }

    /// What its user says of it, a line each.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        remarks::of_tags(&self.tags).into_iter().map(|(about, said)| format!("{about}: {said}")).collect()
    }

    /// What the crawl measured.
    #[must_use]
    pub const fn pipeline(&self) -> &'r PipelineRecord {
        self.pipeline
    }

    /// Whether of some source nothing came at all.
    #[must_use]
    pub fn has_failed_source(&self) -> bool {
        self.pipeline.sources.iter().any(|source| source.items + source.unchanged == 0 && source.failed() > 0)
    }

    /// What a report of it opens with.
    #[must_use]
    pub fn answer(&self) -> RunAnswer {
        RunAnswer { lines: self.verdict(), tables: self.tables() }
    }

    /// What was measured, the sources first. A table without a row is left out.
    #[must_use]
    pub fn tables(&self) -> Vec<AnswerTable> {
        let Self { record, pipeline, attributions, confirmed, .. } = self;
        let all = [
            tables::sources(pipeline, attributions),
            tables::stations(pipeline),
            tables::volumes(record, pipeline),
            tables::slowed(pipeline, confirmed),
        ];
        all.into_iter().filter(|table| !table.table.is_empty()).collect()
    }

    /// What the changes would bring that were tried; `None`: none was.
    #[must_use]
    pub fn tried(&self) -> Option<AnswerTable> {
        (!self.tried.is_empty()).then(|| tables::what_if(&self.tried))
    }

    /// The run.
    #[must_use]
    pub const fn record(&self) -> &'r RunRecord {
        self.record
    }

    /// The doubts of its trials, each once.
    #[must_use]
    pub fn doubts(&self) -> Vec<&'r Doubt> {
        doubts(self.record)
    }

    /// Failures by reason and what else is of note, the most frequent first, a line each.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for SourceRecord { name, failures, notes, removed, .. } in &self.pipeline.sources {
            for (what, counts) in [("failed", failures), ("note", notes)] {
                let mut counts: Vec<(&String, &u64)> = counts.iter().collect();
                counts.sort_by_key(|(reason, count)| (std::cmp::Reverse(**count), (*reason).clone()));
                let shown = counts.iter().take(REASONS_MAX);
                lines.extend(shown.map(|(reason, count)| format!("{name}: {what}: {reason}: {count}")));
                if counts.len() > REASONS_MAX {
                    let rest: u64 = counts[REASONS_MAX..].iter().map(|(_, count)| **count).sum();
                    lines.push(format!("{name}: {what}: for other reasons: {rest}"));
                }
            }
            if *removed > 0 {
                lines.push(format!("{name}: removed, as they are gone: {removed}"));
            }
        }
        lines
    }

    /// What bound each source, and what slowing stations says of that, in a few lines.
    #[must_use]
    pub fn verdict(&self) -> Vec<VerdictLine> {
        let Self { pipeline, attributions, .. } = self;
        let line = |of: &Attribution| About::Bound.says(words::attribution(of, &pipeline.spec));
        let mut lines: Vec<VerdictLine> = attributions.iter().map(line).collect();
        let confirmed = self.confirmed_shown();
        let held = self.held();
        let most = VERDICT_MAX - 2 - confirmed.len() - held.len();
        if lines.len() > most {
            let rest = lines.len() - most + 1;
            lines.truncate(most - 1);
            lines.push(About::More.says(format!("{rest} other sources: see the table above")));
        }
        lines.extend(held);
        let share = pipeline.slowed.as_ref().map_or(0.0, |slowed| slowed.share);
        let said = confirmed.iter().map(|of| words::confirmation(of, &pipeline.spec, share));
        lines.extend(said.map(|sentence| About::Confirmed.says(sentence)));
        lines
    }

    /// The limit at which its volumes were longest, how that is known, and what lifts it; of a crawl without surroundings, that it has none.
    fn held(&self) -> Vec<VerdictLine> {
        if self.pipeline.surroundings.is_none() {
            return vec![About::HowSure.says(words::NO_SURROUNDINGS)];
        }
        let all = held_volumes(self.pipeline);
        let Some(first) = all.first() else { return Vec::new() };
        let mut lines =
            vec![About::HeldBy.says(words::held(first)), About::HowSure.says(words::held_by_what(&first.limit))];
        if let Some(command) = first.limit.lifting_command() {
            lines.extend([About::Next.says(words::LIFT), About::Command.says(command)]);
        }
        lines
    }

    /// What was tested first; where nothing was, one source that says so.
    fn confirmed_shown(&self) -> Vec<&Confirmation> {
        let is_tested = |of: &&Confirmation| of.agreement != ConfirmedBy::NotTested;
        let tested: Vec<&Confirmation> = self.confirmed.iter().filter(is_tested).take(CONFIRMED_MAX).collect();
        if tested.is_empty() { self.confirmed.iter().take(1).collect() } else { tested }
    }

    /// A change to try on it: what would double the part that bound the slowest source.
    #[must_use]
    pub fn suggestion(&self) -> Option<String> {
        let ended = |of: &&Attribution| {
            self.pipeline.sources.iter().find(|source| source.name == of.source).map_or(0, |source| source.ended_ns)
        };
        let slowest = self.attributions.iter().max_by_key(ended)?;
        let changes = slowest.bound.levers().first()?.twice(self.pipeline);
        let typed: Vec<String> = changes.iter().map(ToString::to_string).collect();
        (!typed.is_empty()).then(|| typed.join("; "))
    }
}

fn doubts(record: &RunRecord) -> Vec<&Doubt> {
    let mut all: Vec<&Doubt> = Vec::new();
    for doubt in record.cells.iter().flat_map(|cell| &cell.trials).flat_map(|trial| &trial.doubts) {
        if !all.contains(&doubt) {
            all.push(doubt);
        }
    }
    all
}
