//! An advice for programs.

use crate::verdict_line::VerdictLine;
use crate::words::advice::{advice_doubt, advice_lines, advice_verdict, change, not_looked_at, shortfall};
use loadline_advise::{
    ADVICE_SCHEMA, Advice, AdviceDoubt, AdviceDoubtCode, Candidate, CurvePoint, Fix, FixChange, Miss, NeedFigures,
    NotLookedAt, PriceStep, RegionPrice, ReplayedFigures, Shortfall,
};
use loadline_catalog::UsedList;
use loadline_workload::Objective;
use serde::Serialize;

/// An advice for programs: its values, each with its text.
#[derive(Debug, Serialize)]
pub struct AdviceDocument<'a> {
    schema: &'static str,
    need: &'a NeedFigures,
    recorded: &'a Option<ReplayedFigures>,
    candidates: Vec<CandidateDocument<'a>>,
    misses: Vec<MissDocument<'a>>,
    unpriced: Vec<CandidateDocument<'a>>,
    regions: &'a [RegionPrice],
    staircase: &'a [PriceStep],
    curve: &'a [CurvePoint],
    not_looked_at: Vec<String>,
    verdict: String,
    verdict_lines: Vec<LineDocument>,
    doubts: Vec<AdviceDoubtDocument<'a>>,
    lists: &'a [UsedList],
    judged: u64,
    dearer_left: bool,
    left_out: &'a [NotLookedAt],
}

#[derive(Debug, Serialize)]
struct CandidateDocument<'a> {
    #[serde(flatten)]
    candidate: &'a Candidate,
    doubts: Vec<AdviceDoubtDocument<'a>>,
    environment: &'a str,
}

#[derive(Debug, Serialize)]
struct MissDocument<'a> {
    candidate: CandidateDocument<'a>,
    misses: &'a str,
    by: f64,
    text: String,
    seen: &'a Shortfall,
    fix: Option<FixDocument<'a>>,
}

#[derive(Debug, Serialize)]
struct FixDocument<'a> {
    text: String,
    amount: f64,
    estimated: bool,
    change: &'a FixChange,
}

#[derive(Debug, Serialize)]
struct AdviceDoubtDocument<'a> {
    code: AdviceDoubtCode,
    detail: String,
    seen: &'a AdviceDoubt,
}

#[derive(Debug, Serialize)]
struct LineDocument {
    about: String,
    text: String,
}

impl<'a> CandidateDocument<'a> {
    fn of(candidate: &'a Candidate) -> Self {
        Self { candidate, doubts: doubts(&candidate.doubts), environment: &candidate.environment }
    }
}

impl<'a> MissDocument<'a> {
    fn of(miss: &'a Miss, objective: Option<Objective>) -> Self {
        let Miss { candidate, seen, by, fix } = miss;
        let fixed = |fix: &'a Fix| FixDocument {
            text: change(&fix.change),
            amount: fix.amount,
            estimated: fix.estimated,
            change: &fix.change,
        };
        Self {
            candidate: CandidateDocument::of(candidate),
            misses: seen.name(),
            by: *by,
            text: shortfall(seen, objective),
            seen,
            fix: fix.as_ref().map(fixed),
        }
    }
}

fn doubts(doubts: &[AdviceDoubt]) -> Vec<AdviceDoubtDocument<'_>> {
    let of = |seen| AdviceDoubtDocument { code: AdviceDoubt::code(seen), detail: advice_doubt(seen), seen };
    doubts.iter().map(of).collect()
}

/// The document of an advice: `docs/formats/advice.schema.json`.
#[must_use]
pub fn advice_document(advice: &Advice) -> AdviceDocument<'_> {
    let line = |line: VerdictLine| LineDocument { about: line.about.name().into_owned(), text: line.text };
    let objective = advice.judged_by.objective;
    AdviceDocument {
        schema: ADVICE_SCHEMA,
        need: &advice.need,
        recorded: &advice.recorded,
        candidates: advice.candidates.iter().map(CandidateDocument::of).collect(),
        misses: advice.misses.iter().map(|miss| MissDocument::of(miss, objective)).collect(),
        unpriced: advice.unpriced.iter().map(CandidateDocument::of).collect(),
        regions: &advice.regions,
        staircase: &advice.staircase,
        curve: &advice.curve,
        not_looked_at: advice.not_looked_at.iter().map(not_looked_at).collect(),
        verdict: advice_verdict(advice),
        verdict_lines: advice_lines(advice).into_iter().map(line).collect(),
        doubts: doubts(&advice.doubts),
        lists: &advice.lists,
        judged: advice.judged,
        dearer_left: advice.dearer_left,
        left_out: &advice.not_looked_at,
    }
}
