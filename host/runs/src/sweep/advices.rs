//! An advice for each of many needs: a row for each choice.

use super::Part;
use super::predictions::in_one_line;
use super::side_by_side::{Stopped, SweepProgress, side_by_side};
use crate::advice::{NeedError, NeedSource, read_need_source};
use loadline_advise::{Advice, AdviceOptions, Asked, Candidate, Need, NeedFile, Rates, advise};
use loadline_catalog::Catalog;
use loadline_demand::{Demand, ReadOptions};
use loadline_report::frame::{Frame, FrameColumn, FrameValues};
use loadline_report::words::advice::advice_verdict;
use loadline_units::Bytes;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;

/// A need of a sweep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SweptNeed {
    /// A need file, or a file that `advise` takes in place of one. It is read when its turn comes.
    File(PathBuf),
    /// The text of a need file.
    Text {
        /// What it is called in the results.
        name: String,
        /// In TOML.
        text: String,
    },
}

/// What is asked of every need beside its own figures. A text says why a need cannot be completed.
pub type Completed<'a> = dyn Fn(&mut Need) -> Result<(), String> + Sync + 'a;

/// Many needs on one catalog.
#[derive(Debug)]
pub struct AdviceSweep {
    needs: Vec<SweptNeed>,
    options: AdviceOptions,
    catalog: Arc<Catalog>,
}

/// A choice for a need.
#[derive(Debug, Clone, PartialEq)]
pub struct AdviceRow {
    /// The need's file or name.
    pub need: String,
    /// The choice; `None` where there is none.
    pub candidate: Option<Candidate>,
    /// Why there is none.
    pub problem: Option<String>,
}

impl AdviceSweep {
    /// For these needs. The date is left out, so that rows are the same on another day.
    #[must_use]
    pub fn new(needs: Vec<SweptNeed>, options: &AdviceOptions, catalog: Arc<Catalog>) -> Self {
        Self { needs, options: AdviceOptions { today: None, ..options.clone() }, catalog }
    }

    /// How many needs there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.needs.len()
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.needs.is_empty()
    }

    /// The rows of a part of the needs, in their order. A need without a choice has one row, which says why.
    ///
    /// # Errors
    /// [`Stopped`].
    pub fn run(
        &self,
        part: Part,
        completed: &Completed<'_>,
        threads: Option<NonZero<usize>>,
        progress: &dyn SweepProgress,
    ) -> Result<Vec<AdviceRow>, Stopped> {
        let needs = &self.needs[part.of(self.needs.len())];
        let rows = side_by_side(needs.len(), threads, progress, |place| self.rows_of(&needs[place], completed))?;
        Ok(rows.into_iter().flatten().collect())
    }

    fn rows_of(&self, need: &SweptNeed, completed: &Completed<'_>) -> Vec<AdviceRow> {
        let name = match need {
            SweptNeed::File(path) => path.display().to_string(),
            SweptNeed::Text { name, .. } => name.clone(),
        };
        let advice = need_of(need).and_then(|mut found| {
            completed(&mut found)?;
            advise(&found, &self.catalog, &self.options).map_err(|error| in_one_line(&error))
        });
        let none = |problem: String| vec![AdviceRow { need: name.clone(), candidate: None, problem: Some(problem) }];
        match advice {
            Err(problem) => none(problem),
            Ok(advice) if advice.candidates.is_empty() => none(advice_verdict(&advice).replace('\n', " ")),
            Ok(Advice { candidates, .. }) => {
                let row = |candidate| AdviceRow { need: name.clone(), candidate: Some(candidate), problem: None };
                candidates.into_iter().map(row).collect()
            }
        }
    }
}

fn need_of(need: &SweptNeed) -> Result<Need, String> {
    match need {
        SweptNeed::File(path) => match read_need_source(path, &ReadOptions::default()) {
            Ok(NeedSource::Need(file)) => Ok(file.need),
            Ok(NeedSource::Demand(found)) => Ok(recorded(&path.display().to_string(), found)),
            Ok(NeedSource::Trace(found, trace)) => {
                let need = recorded(&path.display().to_string(), found);
                Ok(Need { trace: Some(Arc::from(trace)), ..need })
            }
            Err(error) => Err(in_one_line(&error)),
        },
        SweptNeed::Text { name, text } => {
            let file = NeedFile::parse(text, name).map_err(|error| in_one_line(&NeedError::from(error)))?;
            if let Some(from) = file.from.first() {
                return Err(format!("it names the file {from}: give the need as a file, whose folder is then known"));
            }
            Ok(file.need)
        }
    }
}

fn recorded(name: &str, demand: Demand) -> Need {
    let need = Need::steady(name, Rates::default(), Bytes::ZERO);
    Need { asked: Asked::Recorded(demand), ..need }
}

/// The rows as a table. Every column is always there.
#[must_use]
pub fn advice_frame(rows: &[AdviceRow]) -> Frame {
    type Of<'a, T> = &'a dyn Fn(&Candidate) -> Option<T>;
    let of_row = |of: &dyn Fn(&AdviceRow) -> Option<String>| {
        let values: Vec<Option<String>> = rows.iter().map(of).collect();
        FrameValues::Text(values.iter().map(Option::as_deref).collect())
    };
    let text =
        |name: &str, of: Of<'_, String>| FrameColumn::of(name, of_row(&|row| row.candidate.as_ref().and_then(of)));
    let float = |name: &str, of: Of<'_, f64>| {
        let value = |row: &AdviceRow| row.candidate.as_ref().and_then(of).filter(|value| value.is_finite());
        FrameColumn::of(name, FrameValues::Float(rows.iter().map(value).collect()))
    };
    let whole = |name: &str, of: Of<'_, u64>| {
        let value = |row: &AdviceRow| row.candidate.as_ref().and_then(of).and_then(|value| i64::try_from(value).ok());
        FrameColumn::of(name, FrameValues::Whole(rows.iter().map(value).collect()))
    };
    let flag = |name: &str, of: Of<'_, bool>| {
        FrameColumn::of(name, FrameValues::Flag(rows.iter().map(|row| row.candidate.as_ref().and_then(of)).collect()))
    };
    Frame::of_columns(vec![
        FrameColumn::of("need", of_row(&|row| Some(row.need.clone()))),
        whole("rank", &|row| Some(row.rank.into())),
        flag("meets", &|row| Some(row.meets)),
        text("provider", &|row| Some(row.provider.clone())),
        text("region", &|row| Some(row.region.clone())),
        text("machine", &|row| Some(row.machine.clone())),
        text("choice", &|row| Some(row.words())),
        float("price_month_amount", &|row| Some(row.price_month.amount)),
        text("price_month_currency", &|row| Some(row.price_month.currency.clone())),
        flag("price_month_complete", &|row| Some(row.price_month.complete)),
        text("binding_limit", &|row| Some(row.binding.limit.clone())),
        float("ceiling_iops", &|row| Some(row.binding.ceiling_iops)),
        float("headroom_ratio", &|row| Some(row.binding.headroom)),
        text("next_limit", &|row| row.next.as_ref().map(|next| next.limit.clone())),
        float("next_ceiling_iops", &|row| row.next.as_ref().map(|next| next.ceiling_iops)),
        whole("latency_p99_ns", &|row| row.latency_ns.map(|found| found.p99)),
        whole("latency_p99_low_ns", &|row| row.latency_ns.map(|found| found.p99_low)),
        whole("latency_p99_high_ns", &|row| row.latency_ns.map(|found| found.p99_high)),
        whole("scenarios_met_count", &|row| Some(row.scenarios.met.into())),
        whole("scenarios_count", &|row| Some(row.scenarios.of.into())),
        float("burst_ends_s", &|row| row.burst_ends_s),
        text("environment", &|row| Some(row.environment.clone())),
        FrameColumn::of("problem", of_row(&|row| row.problem.clone())),
    ])
}
