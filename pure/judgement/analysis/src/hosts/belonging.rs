//! Which runs of hosts belong together: of one plan, with one division of it, each host once.

use super::merging::{HOSTS_MAX, HostRun};
use loadline_load::LoadSpec;
use loadline_record::{CellRecord, Clock, HostPart, HostRank, Load, RunVerb};
use loadline_units::Bytes;

/// Why runs do not become one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// One alone is a run already, and so many are a mistake.
    #[error("{count} runs: name 2 to {} runs that hosts made at the same time", HOSTS_MAX)]
    Count {
        /// How many.
        count: usize,
    },
    /// Only measurements of a plan are merged.
    #[error("run {run} was made by `loadline {verb}`: only runs of `loadline run` are merged")]
    Verb {
        /// The run.
        run: String,
        /// What made it.
        verb: RunVerb,
    },
    /// The runs have other plans.
    #[error("{host} ran another plan than {first}: merge runs of the same plan, with the same options and volumes")]
    OtherPlan {
        /// The host.
        host: String,
        /// The first host.
        first: String,
    },
    /// The runs have other parts of one measurement.
    #[error("{host} and {first} were started with different steps, numbers of ranks or ranges: start all hosts alike")]
    OtherPart {
        /// The host.
        host: String,
        /// The first host.
        first: String,
    },
    /// Two hosts were the same rank.
    #[error("{host} and {first} were both rank {rank}: give each host a rank of its own")]
    RankTwice {
        /// The host.
        host: String,
        /// Another one.
        first: String,
        /// The rank of both.
        rank: HostRank,
    },
    /// Two hosts have one name.
    #[error("two runs are of the host {host:?}: name them, as in {host}-1=RUN {host}-2=RUN")]
    NamedTwice {
        /// The name.
        host: String,
    },
    /// One run was named twice.
    #[error("run {run} is named twice")]
    RunTwice {
        /// The run.
        run: String,
    },
}

/// The first run of those with the most cells.
pub(super) fn most_cells(runs: &[HostRun]) -> &HostRun {
    runs.iter().rev().max_by_key(|run| run.record.cells.len()).unwrap_or(&runs[0])
}

pub(super) fn part_of(run: &HostRun) -> HostPart {
    HostPart::of_settings(&run.record.header.settings).unwrap_or_default()
}

/// The load over the ranges of all hosts, where each has its own.
pub(super) fn whole_load(load: &Load, part: &HostPart) -> Load {
    let (Some(rank), Some(spec)) = (part.rank.filter(|_| part.own_range), load.spec()) else { return load.clone() };
    let Some(size) = spec.size else { return load.clone() };
    let start = Bytes::new(spec.start.get().saturating_sub(size.get() * u64::from(rank.rank)));
    LoadSpec { start, size: Some(size * u64::from(rank.of)), ..spec.clone() }.into()
}

pub(super) fn check(runs: &[HostRun]) -> Result<(), MergeError> {
    if !(2..=HOSTS_MAX).contains(&runs.len()) {
        return Err(MergeError::Count { count: runs.len() });
    }
    for (index, run) in runs.iter().enumerate() {
        let header = &run.record.header;
        if header.verb != RunVerb::Run || header.clock != Clock::Real {
            return Err(MergeError::Verb { run: header.id.clone(), verb: header.verb.clone() });
        }
        if runs[..index].iter().any(|other| other.record.header.id == header.id) {
            return Err(MergeError::RunTwice { run: header.id.clone() });
        }
        if runs[..index].iter().any(|other| other.host == run.host) {
            return Err(MergeError::NamedTwice { host: run.host.clone() });
        }
        let (own, first) = (part_of(run), part_of(&runs[0]));
        let alike = |part: &HostPart| (part.rank.map(|rank| rank.of), part.steps.clone(), part.own_range);
        if alike(&own) != alike(&first) {
            return Err(MergeError::OtherPart { host: run.host.clone(), first: runs[0].host.clone() });
        }
        let twice = runs[..index].iter().find(|other| own.rank.is_some() && part_of(other).rank == own.rank);
        if let Some((rank, other)) = own.rank.zip(twice) {
            return Err(MergeError::RankTwice { host: run.host.clone(), first: other.host.clone(), rank });
        }
    }
    let most = most_cells(runs);
    let all = asked(most);
    match runs.iter().find(|run| asked(run) != all[all.len() - own_cells(run, most).min(all.len())..]) {
        Some(run) => Err(MergeError::OtherPlan { host: run.host.clone(), first: most.host.clone() }),
        None => Ok(()),
    }
}

/// Cells that a run is to have, given one with the most: in steps, those of the last steps.
fn own_cells(run: &HostRun, most: &HostRun) -> usize {
    let all = most.record.cells.len();
    match part_of(most).own_steps().count() {
        0 => all,
        steps => all / steps * part_of(run).own_steps().count(),
    }
}

/// A cell with what it asks.
#[derive(PartialEq)]
struct AskedCell {
    id: String,
    asked: String,
}

/// What each cell of a run asks.
fn asked(run: &HostRun) -> Vec<AskedCell> {
    let part = part_of(run);
    let of = |cell: &CellRecord| AskedCell { id: cell.id.clone(), asked: asked_of(&whole_load(&cell.load, &part)) };
    run.record.cells.iter().map(of).collect()
}

/// The load in one text, to be compared.
fn asked_of(load: &Load) -> String {
    load.spec().map_or_else(|| format!("{:?}", load.figures()), |spec| format!("{spec:?}"))
}
