//! The questions of a search: up to which depth or rate does a load keep its latency objective?

use crate::draws_kept::DrawsKept;
use crate::search::{Probed, Search};
use loadline_load::{Arrival, LoadSpec, Objective, QUEUE_DEPTH_MAX};
use loadline_record::CellRecord;
use loadline_units::Iops;

/// Arrivals per second that are tried at most.
const RATE_MAX: u64 = 100_000_000;

/// How many times lighter the next load is, below all that were tried.
const LIGHTER: u64 = 4;

/// A load whose depth or rate is looked for, on one volume.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchQuestion {
    /// The volume.
    pub volume: String,
    /// The load; its own amount does not matter.
    load: LoadSpec,
    objective: Objective,
    search: Search,
}

impl SearchQuestion {
    /// One question for all cells of a volume that differ only in their amount. The search begins in the middle of their
    /// amounts. Loads without an objective ask nothing.
    #[must_use]
    pub fn all<'a>(cells: impl IntoIterator<Item = (&'a str, &'a LoadSpec)>) -> Vec<Self> {
        let mut asked: Vec<(&str, LoadSpec, Objective, Vec<u64>)> = Vec::new();
        for (volume, load) in cells {
            let Some(objective) = load.objective else { continue };
            let alike = LoadSpec { trials: 1, ..with_amount(load, 1) };
            match asked.iter_mut().find(|(known, other, ..)| *known == volume && *other == alike) {
                Some((.., amounts)) => amounts.push(amount(load)),
                None => asked.push((volume, alike, objective, vec![amount(load)])),
            }
        }
        let question = |(volume, load, objective, mut amounts): (&str, LoadSpec, Objective, Vec<u64>)| {
            amounts.sort_unstable();
            let most = if load.outstanding().is_some() { u64::from(QUEUE_DEPTH_MAX) } else { RATE_MAX };
            let limit_ns = objective.limit.as_ns() as f64;
            let search = Search { limit_ns, least: 1, most, start: amounts[amounts.len() / 2] };
            Self { volume: volume.to_owned(), load, objective, search }
        };
        asked.into_iter().map(question).collect()
    }

    /// The amount to be tried next and the load that has it; `None` when the answer is known well enough.
    #[must_use]
    pub fn next_load(&self, tried: &[Probed]) -> Option<(u64, LoadSpec)> {
        let amount = self.search.next_load(tried)?;
        Some((amount, with_amount(&self.load, amount)))
    }

    /// The loads that were tried and keep the objective, the heaviest first.
    #[must_use]
    pub fn keeping(&self, tried: &[Probed]) -> Vec<LoadSpec> {
        let (Some(heaviest), _) = self.search.bracket(tried) else { return Vec::new() };
        let mut amounts: Vec<u64> =
            tried.iter().map(|probe| probe.load).filter(|load| *load <= heaviest.load).collect();
        amounts.sort_unstable();
        amounts.dedup();
        amounts.into_iter().rev().map(|amount| with_amount(&self.load, amount)).collect()
    }

    /// A load of a quarter of this amount or the least there is, to be tried where not even the lightest tried was light enough.
    #[must_use]
    pub fn lighter(&self, load: &LoadSpec) -> Option<LoadSpec> {
        let now = amount(load);
        (now > self.search.least).then(|| with_amount(&self.load, (now / LIGHTER).max(self.search.least)))
    }

    /// In how many draws a cell of it keeps the objective; `None` where one draw alone was tried.
    #[must_use]
    pub fn draws_kept(&self, cell: &CellRecord) -> Option<DrawsKept> {
        DrawsKept::of(cell, self.objective)
    }

    /// A cell that was tried with this amount; `None` where nothing is known of its latency.
    #[must_use]
    pub fn probed(&self, cell: &CellRecord, amount: u64) -> Option<Probed> {
        Probed::of(cell, amount, self.objective.of)
    }
}

/// The amount of a load: its queue depth, or its arrivals per second.
fn amount(load: &LoadSpec) -> u64 {
    match load.arrival {
        Arrival::Closed { queue_depth, .. } => queue_depth.into(),
        Arrival::Constant { rate } | Arrival::Poisson { rate } => rate.get(),
    }
}

/// The load with another amount.
fn with_amount(load: &LoadSpec, amount: u64) -> LoadSpec {
    let rate = || Iops::per_second(amount).expect("a search stays above 0");
    let arrival = match load.arrival {
        Arrival::Closed { rate_max, think_time, .. } => {
            let queue_depth = u32::try_from(amount).expect("a search stays within what a load may have");
            Arrival::Closed { queue_depth, rate_max, think_time }
        }
        Arrival::Constant { .. } => Arrival::Constant { rate: rate() },
        Arrival::Poisson { .. } => Arrival::Poisson { rate: rate() },
    };
    LoadSpec { arrival, ..load.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_load::LatencyFigure;
    use loadline_units::Duration;

    fn load(queue_depth: u32) -> LoadSpec {
        LoadSpec {
            arrival: Arrival::Closed { queue_depth, rate_max: None, think_time: Duration::ZERO },
            objective: Some(Objective { of: LatencyFigure::P99, limit: Duration::from_ms(5) }),
            ..LoadSpec::default()
        }
    }

    #[test]
    fn cells_that_differ_in_their_amount_alone_are_one_question() {
        let writes = LoadSpec { reads: loadline_units::Ratio::ZERO, ..load(4) };
        let silent = LoadSpec { objective: None, ..load(4) };
        let loads = [load(1), load(64), load(8), writes, silent];
        let cells = loads.iter().map(|load| ("data", load)).chain([("logs", &loads[0])]);
        let questions = SearchQuestion::all(cells);
        let volumes: Vec<&str> = questions.iter().map(|question| question.volume.as_str()).collect();
        assert_eq!(volumes, ["data", "data", "logs"]);
        // It begins with the middle of 1, 8 and 64.
        let (amount, first) = questions[0].next_load(&[]).unwrap();
        assert_eq!((amount, first), (8, LoadSpec { trials: 1, ..load(8) }));
    }
}
