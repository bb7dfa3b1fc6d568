//! Results as programs read them in JSON: values, and beside them what people read.

mod advice;
mod comparison;
mod run;

pub use advice::{AdviceDocument, advice_document};
pub use comparison::ComparisonDocument;
pub use run::{RunDocument, run_document};

use crate::words::doubt_detail;
use loadline_record::{Doubt, DoubtCode, DoubtEvidence};
use serde::Serialize;

/// A doubt with its sentence.
#[derive(Debug, Clone, Serialize)]
pub struct DoubtDocument<'a> {
    code: DoubtCode,
    detail: String,
    seen: &'a DoubtEvidence,
}

impl<'a> DoubtDocument<'a> {
    /// Of a doubt.
    #[must_use]
    pub fn of(doubt: &'a Doubt) -> Self {
        Self { code: doubt.code, detail: doubt_detail(doubt), seen: &doubt.seen }
    }
    /// Of each of some doubts.
    #[must_use]
    pub fn of_all(doubts: &'a [Doubt]) -> Vec<Self> {
        doubts.iter().map(Self::of).collect()
    }
}
