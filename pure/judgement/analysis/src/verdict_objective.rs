//! The objective in the verdict of a run: whether every kind of load keeps it, and up to which load.

use crate::curves::outstanding;
use crate::draws_kept::DrawsKept;
use crate::finding::ObjectiveRule;
use crate::findings::overloaded;
use crate::summary::CellSummary;
use crate::verdict_block::{Answered, LoadAnswers, ObjectiveFound, ObjectiveVerdict};
use crate::words::{how_much, load_name};
use loadline_record::{RunRecord, RunVerb};

/// Loads that differ in how much is asked alone: up to which of them is the latency kept?
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Question {
    volume: String,
    load: String,
    is_closed: bool,
    flushes: bool,
}

impl Question {
    pub(crate) fn of(cell: &CellSummary) -> Self {
        Self {
            volume: cell.volume.clone(),
            load: load_name(cell),
            is_closed: cell.load.queue_depth.is_some(),
            flushes: cell.flush.is_some(),
        }
    }
}

/// Requests outstanding, and arrivals a second: how much a load asks.
pub(crate) type Demand = (u64, u64);

pub(crate) fn demand(cell: &CellSummary) -> Demand {
    let rate = cell.offered_iops.or(cell.load.rate_iops).unwrap_or(0.0);
    (outstanding(cell).unwrap_or(0), rate as u64)
}

/// Over all kinds of load: whether the lightest of each keeps the objective, and up to which load it holds.
pub(crate) fn objective(record: &RunRecord, cells: &[CellSummary]) -> Option<ObjectiveVerdict> {
    // A search on a model asks what each draw of it keeps.
    let draws = |index: usize| {
        let cell = &record.cells[index];
        let objective = cell.load.figures().objective.filter(|_| record.header.verb == RunVerb::Search)?;
        DrawsKept::of(cell, objective)
    };
    let judged: Vec<(usize, ObjectiveRule, bool)> = (0..cells.len())
        .filter_map(|index| {
            let objective = ObjectiveRule::of(&record.cells[index].load.figures());
            let kept = objective.kept(&cells[index])?;
            Some((index, objective, kept && draws(index).is_none_or(DrawsKept::is_sure)))
        })
        .collect();
    let chosen = judged.iter().any(|(_, objective, _)| objective.chosen);
    // The plan that loadline makes has the usual rule where the user has none.
    let is_usual = record.header.verb == RunVerb::Quick && judged.iter().all(|(_, objective, _)| objective.is_usual());
    let told_chosen = chosen && !is_usual;
    let judged: Vec<&(usize, ObjectiveRule, bool)> =
        judged.iter().filter(|(_, objective, _)| objective.chosen == chosen).collect();
    let (_, first, _) = judged.first()?;
    let alike: Vec<&&(usize, ObjectiveRule, bool)> =
        judged.iter().filter(|(_, objective, _)| objective == first).collect();
    let demand = |index: usize| demand(&cells[index]);
    let is_one_question = |a: usize, b: usize| Question::of(&cells[a]) == Question::of(&cells[b]);
    // The kind of load that is worst off: one missed by its lightest load, or else the one first missed.
    let missed: Vec<usize> = alike.iter().filter(|(_, _, kept)| !kept).map(|(index, _, _)| *index).collect();
    let answers = |index: usize| {
        let cell = &cells[index];
        let in_some = draws(index).filter(|draws| !draws.is_sure() && first.kept(cell) == Some(true));
        let answered = match (in_some, first.figure_of(cell)) {
            (Some(DrawsKept { kept, of }), _) => Answered::InDraws { kept, of },
            _ if overloaded(cell) => Answered::NotInTime,
            (None, figure) => figure.map_or(Answered::Unknown, Answered::After),
        };
        LoadAnswers { at: how_much(cell), answered }
    };
    let rule = ObjectiveRule { chosen: told_chosen, ..*first };
    let found = |found| Some(ObjectiveVerdict { rule, found, not_measured: None });
    let Some(worst) = missed.iter().copied().min_by_key(|index| demand(*index)) else {
        let slowest = alike.iter().filter_map(|(index, _, _)| Some((*index, first.figure_of(&cells[*index])?)));
        let (index, latency_ns) = slowest.max_by(|a, b| a.1.total_cmp(&b.1))?;
        let (load, at) = (load_name(&cells[index]), how_much(&cells[index]));
        return found(ObjectiveFound::Everywhere { load, at, latency_ns });
    };
    let heaviest_kept = |question: usize, below: Option<(u64, u64)>| {
        let keeping = alike.iter().filter(|(index, _, kept)| *kept && is_one_question(*index, question));
        let keeping = keeping.map(|(index, _, _)| *index);
        keeping.filter(|index| below.is_none_or(|below| demand(*index) < below)).max_by_key(|index| demand(*index))
    };
    // What a heavier load keeps says nothing for those from the first that missed it on.
    let kept_by = |question: usize| {
        let missing = missed.iter().copied().filter(|index| is_one_question(*index, question));
        heaviest_kept(question, missing.map(demand).min())
    };
    let unkept = missed.iter().copied().filter(|index| kept_by(*index).is_none()).min_by_key(|index| demand(*index));
    if let Some(index) = unkept {
        let heavier = heaviest_kept(index, None).map(answers);
        let (load, lightest) = (load_name(&cells[index]), answers(index));
        return found(ObjectiveFound::Broken { load, lightest, heavier });
    }
    let kept = answers(kept_by(worst)?);
    found(ObjectiveFound::UpTo { load: load_name(&cells[worst]), kept, broken: answers(worst) })
}
