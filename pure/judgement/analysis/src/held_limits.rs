//! The limits that held a run, as runs share them, and in how many of the last runs each did.

use crate::device_throttle::HeldBy;
use crate::summary::RunSummary;
use loadline_record::Limit;
use serde::{Deserialize, Serialize};

/// So many runs are looked back over, the one that is asked about among them.
pub const RUNS_BACK: usize = 30;
/// Limits of a run that are counted.
const LIMITS_MAX: usize = 4;

/// A limit that held a volume of a run: which and where, without its figure. So two nightly runs have the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldLimit {
    /// The volume.
    pub volume: String,
    /// The limit.
    pub limit: Limit,
    /// The control group of the throttle that it is, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

/// In how many of the last runs a limit held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldCount {
    /// The limit.
    pub limit: HeldLimit,
    /// In so many.
    pub runs: u32,
    /// Of so many.
    pub of: u32,
}

impl RunSummary {
    /// The limits that its verdict names, one for each volume; of a run without a verdict those of its cells, each once. What no known
    /// limit explains is none.
    #[must_use]
    pub fn held_limits(&self) -> Vec<HeldLimit> {
        let of = |volume: &str, limit: Option<Limit>, group: Option<&String>| {
            let limit = limit.filter(|limit| *limit != Limit::Unexplained)?;
            Some(HeldLimit { volume: volume.to_owned(), limit, group: group.cloned() })
        };
        let all: Vec<HeldLimit> = if let Some(verdict) = &self.verdict {
            let group = |of: &HeldBy| of.limit.group.clone();
            let volumes = verdict.volumes.iter();
            volumes.filter_map(|own| of(&own.volume, own.limit, own.throttle.as_ref().map(group).as_ref())).collect()
        } else {
            let cells = self.cells.iter();
            cells.filter_map(|cell| of(&cell.volume, cell.binding.as_ref().map(|own| own.limit), None)).collect()
        };
        let mut distinct: Vec<HeldLimit> = Vec::new();
        for limit in all {
            if distinct.len() < LIMITS_MAX && !distinct.contains(&limit) {
                distinct.push(limit);
            }
        }
        distinct
    }
}

impl HeldCount {
    /// Counts the limits of a run over it and those before it, the newest of them first; more than [`RUNS_BACK`] do not count.
    #[must_use]
    pub fn of_run(own: &[HeldLimit], before: &[&[HeldLimit]]) -> Vec<Self> {
        let before = &before[..before.len().min(RUNS_BACK - 1)];
        let of = u32::try_from(before.len() + 1).unwrap_or(u32::MAX);
        let count = |limit: &HeldLimit| {
            let runs = 1 + before.iter().filter(|limits| limits.contains(limit)).count();
            Self { limit: limit.clone(), runs: u32::try_from(runs).unwrap_or(u32::MAX), of }
        };
        own.iter().map(count).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{self, ExampleDisk};
    use crate::summarize;

    fn limit(limit: Limit, group: Option<&str>) -> HeldLimit {
        HeldLimit { volume: "data".to_owned(), limit, group: group.map(str::to_owned) }
    }

    #[test]
    fn a_limit_is_counted_over_thirty_runs_at_most() {
        let (iops, other) = ([limit(Limit::DiskIops, None)], [limit(Limit::DiskIops, Some("/db"))]);
        let counted = |before: &[&[HeldLimit]]| {
            let counts = HeldCount::of_run(&iops, before);
            counts.iter().map(|count| (count.runs, count.of)).collect::<Vec<_>>()
        };
        assert_eq!(counted(&[]), [(1, 1)]);
        assert_eq!(counted(&[&iops, &[], &other, &iops]), [(3, 5)]);
        assert_eq!(counted(&[&iops[..]; 40]), [(30, 30)]);
        assert_eq!(HeldCount::of_run(&[], &[&iops]), []);
    }

    #[test]
    fn what_a_run_shares_with_others_is_what_its_verdict_names() {
        let disk = ExampleDisk { iops: 3_000.0, ..ExampleDisk::default() };
        let load = |depth| example::cell(example::closed("random", 1.0, 4096, depth), &disk, &[1.0, 1.001, 0.999]);
        let summary = summarize(&example::run(vec![load(32), load(64)]));
        let named = summary.verdict.as_ref().expect("measured").volumes[0].limit;
        let held: Vec<Option<Limit>> = summary.held_limits().iter().map(|held| Some(held.limit)).collect();
        assert_eq!(held, [named]);
    }
}
