//! The answers of runs that ask a question of their own. Every verb that shows runs asks here, whatever kind of run it has.

use crate::arguments::Format;
use crate::crawl_printed as printed;
use crate::failure::Outcome;
use crate::recommendations::after_hunt;
use crate::{hunt_table, printing, typed_words};
use loadline_analysis::RunSummary;
use loadline_hunt::{Effect, HuntResult};
use loadline_record::RunRecord;
use loadline_report::crawl::{ComparedCrawl, CrawlReport, compared_crawls};
use loadline_report::words::hunt::hunt_answer;
use loadline_report::{AnswerTable, Draft, RunAnswer};
use loadline_runs::hunt_result;
use serde_json::Value as Json;

/// What a run answers beside the figures of its loads.
pub(crate) enum KindAnswer<'r> {
    /// What a hunt moved, and the command for the next step.
    Hunt(Box<HuntResult>, String),
    /// What bound a crawl.
    Crawl(Box<CrawlReport<'r>>),
}

impl<'r> KindAnswer<'r> {
    /// Of a run; `None`: its loads' figures are all of it.
    pub(crate) fn of(record: &'r RunRecord) -> Option<Self> {
        if let Some(found) = hunt_result(record) {
            let next = after_hunt(record, &found);
            return Some(Self::Hunt(Box::new(found), next));
        }
        CrawlReport::of(record).map(|report| Self::Crawl(Box::new(report)))
    }

    /// As a run that ends prints it.
    pub(crate) fn concluded(&self, format: Format) -> String {
        match self {
            Self::Hunt(found, next) => hunt_table::text(found, next, format),
            Self::Crawl(report) => printed::text(report, format),
        }
    }

    /// As a stored run is shown, which `summary` sums up; `None`: this form shows it as it does any run.
    pub(crate) fn shown(&self, summary: &RunSummary, format: Format) -> Option<String> {
        match self {
            // A screen has room for the answer alone.
            Self::Hunt(..) if format == Format::Table && typed_words::is_for_screen() => Some(self.concluded(format)),
            Self::Hunt(..) if format == Format::Table => {
                Some(format!("{}\n{}", printing::summary(summary, format), self.concluded(format)))
            }
            // Programs get a hunt as a run of any other verb; `hunt` itself prints what it found.
            Self::Hunt(..) => None,
            Self::Crawl(report) => {
                let said = (**report).clone().with_tags(summary.run.tags.clone());
                Some(printed::text(&said, format))
            }
        }
    }

    /// What a report of the run opens with.
    pub(crate) fn in_report(&self) -> RunAnswer {
        match self {
            Self::Hunt(found, _) => hunt_answer(found),
            Self::Crawl(report) => report.answer(),
        }
    }

    /// How a run with this answer came out that was carried out in full.
    pub(crate) fn outcome(&self) -> Outcome {
        match self {
            Self::Hunt(found, _) if found.nothing_bound.is_some() => Outcome::Done,
            Self::Hunt(found, _) if found.rows.iter().any(|row| row.effect == Effect::CannotTell) => {
                Outcome::Inconclusive
            }
            Self::Crawl(report) if report.has_failed_source() => Outcome::Failed,
            Self::Hunt(..) | Self::Crawl(_) => Outcome::Done,
        }
    }
}

/// What the kind of several runs adds to their comparison.
pub(crate) struct KindComparison(Vec<ComparedCrawl>);

impl KindComparison {
    /// Of these runs, the first as the baseline; `None`: they are of no kind that adds anything, or not all of one.
    pub(crate) fn of<'r>(records: impl IntoIterator<Item = &'r RunRecord>) -> Option<Self> {
        compared_crawls(records).map(Self)
    }

    /// For people and spreadsheets.
    pub(crate) fn draft(&self, format: Format) -> Draft {
        let mut text = Draft::default();
        for (place, of) in self.0.iter().enumerate() {
            if place > 0 && format != Format::Csv {
                text.heading().push_str("\n");
            }
            printed::compared(&mut text, of, format);
        }
        text
    }

    /// The same as text.
    pub(crate) fn text(&self, format: Format) -> String {
        let draft = self.draft(format);
        if format == Format::Table { printing::on_screen(&draft, &printing::shown_again()) } else { draft.whole() }
    }

    /// For a report.
    pub(crate) fn in_report(&self) -> impl Iterator<Item = AnswerTable> {
        self.0.iter().flat_map(ComparedCrawl::in_report)
    }

    /// For programs: a key of the comparison, and what stands there.
    pub(crate) fn json(&self) -> (&'static str, Json) {
        let all: Vec<_> = self.0.iter().map(|compared| &compared.comparison).collect();
        ("crawls", serde_json::to_value(all).expect("a comparison is plain data"))
    }
}
