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
    pattern: String,
    /// The bits of the share of reads.
    reads: u64,
    block_bytes: u64,
    buffered: bool,
    is_closed: bool,
    flushes: bool,
    /// What tells it from others of its volume.
    told: Vec<String>,
    /// The volumes and names of the loads beside it. How much these ask grows with what it asks itself.
    beside: Vec<(String, Option<String>)>,
}

impl Question {
    pub(crate) fn of(cell: &CellSummary) -> Self {
        let load = &cell.load;
        Self {
            volume: cell.volume.clone(),
            pattern: load.pattern.to_string(),
            reads: load.read_ratio.to_bits(),
            block_bytes: load.block_bytes,
            buffered: load.buffered,
            is_closed: load.queue_depth.is_some(),
            flushes: cell.flush.is_some(),
            told: if cell.beside.is_empty() { cell.identity.told.clone() } else { Vec::new() },
            beside: cell.beside.iter().map(|load| (load.volume.clone(), load.name.clone())).collect(),
        }
    }
    /// On any volume, beside any load: the kind of load that runs have in common.
    pub(crate) fn anywhere(cell: &CellSummary) -> Self {
        Self { volume: String::new(), told: Vec::new(), beside: Vec::new(), ..Self::of(cell) }
    }
}

/// Requests outstanding, and arrivals a second: how much a load asks.
pub(crate) type AskedAmount = (u64, u64);

pub(crate) fn asked_amount(cell: &CellSummary) -> AskedAmount {
    let rate = cell.offered_iops.or(cell.load.rate_iops).unwrap_or(0.0);
    (outstanding(cell).unwrap_or(0), rate as u64)
}

/// Over all kinds of load: whether the lightest of each keeps the objective, and up to which load it holds.
pub(crate) fn objective(record: &RunRecord, cells: &[CellSummary]) -> Option<ObjectiveVerdict> {
    let judged: Vec<Judged> = (0..cells.len())
        .filter_map(|index| {
            let objective = ObjectiveRule::of(&record.cells[index].load.figures());
            let kept = objective.kept(&cells[index])?;
            Some((index, objective, kept && draws(record, index).is_none_or(DrawsKept::is_sure)))
        })
        .collect();
    let chosen = judged.iter().any(|(_, objective, _)| objective.chosen);
    // The plan that loadline makes has the usual rule where the user has none.
    let is_usual = record.header.verb == RunVerb::Quick && judged.iter().all(|(_, objective, _)| objective.is_usual());
    let told_chosen = chosen && !is_usual;
    let judged: Vec<&Judged> = judged.iter().filter(|(_, objective, _)| objective.chosen == chosen).collect();
    // Of several objectives one that is broken is spoken of first.
    let mut rules: Vec<ObjectiveRule> = Vec::new();
    for (_, rule, _) in &judged {
        if !rules.contains(rule) {
            rules.push(*rule);
        }
    }
    let mut all = rules.iter().filter_map(|rule| {
        let alike: Vec<&Judged> = judged.iter().copied().filter(|(_, of, _)| of == rule).collect();
        let found = of_rule(record, cells, rule, &alike)?;
        Some(ObjectiveVerdict { rule: ObjectiveRule { chosen: told_chosen, ..*rule }, found, not_measured: None })
    });
    let first = all.next()?;
    if first.is_kept() { Some(all.find(|of| !of.is_kept()).unwrap_or(first)) } else { Some(first) }
}

/// A cell by its place, the objective by which it is judged, and whether it keeps that.
type Judged = (usize, ObjectiveRule, bool);

/// In how many draws of a model a cell keeps its objective: a search on a model asks what each draw of it keeps.
fn draws(record: &RunRecord, index: usize) -> Option<DrawsKept> {
    let cell = &record.cells[index];
    let objective = cell.load.figures().objective.filter(|_| record.header.verb == RunVerb::Search)?;
    DrawsKept::of(cell, objective)
}

/// Up to which load the cells that are judged by one objective keep it.
fn of_rule(
    record: &RunRecord,
    cells: &[CellSummary],
    first: &ObjectiveRule,
    alike: &[&Judged],
) -> Option<ObjectiveFound> {
    let draws = |index: usize| draws(record, index);
    let demand = |index: usize| asked_amount(&cells[index]);
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
    let Some(worst) = missed.iter().copied().min_by_key(|index| demand(*index)) else {
        let slowest = alike.iter().filter_map(|(index, _, _)| Some((*index, first.figure_of(&cells[*index])?)));
        let (index, latency_ns) = slowest.max_by(|a, b| a.1.total_cmp(&b.1))?;
        let (load, at) = (load_name(&cells[index]), how_much(&cells[index]));
        return Some(ObjectiveFound::Everywhere { load, at, latency_ns });
    };
    let heaviest_kept = |question: usize, below: Option<AskedAmount>| {
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
        return Some(ObjectiveFound::Broken { load, lightest, heavier });
    }
    let kept = answers(kept_by(worst)?);
    Some(ObjectiveFound::UpTo { load: load_name(&cells[worst]), kept, broken: answers(worst) })
}
