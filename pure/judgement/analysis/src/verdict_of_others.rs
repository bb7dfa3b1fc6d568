//! Verdicts that rest on more than one cell of a volume: on what several hosts share, and on the tool itself.

use crate::conclusion::{AdvisedStep, Conclusion, LoadReached};
use crate::hosts::view::{HostsLimit, HostsScaling};
use crate::verdict_block::{Advised, Because, Certainty, Holder, VolumeVerdict};

/// The verdict on a volume that more and more hosts loaded: what their total shows says more than the limit of any one cell.
pub(crate) fn over_hosts(verdict: VolumeVerdict, volume: &str, hosts: &[HostsScaling]) -> VolumeVerdict {
    let most = || hosts.iter().filter(|scaling| scaling.is_most && scaling.volume == volume);
    let Some(scaling) =
        most().find(|scaling| scaling.points.iter().any(|point| point.cell == verdict.cell)).or_else(|| most().next())
    else {
        return verdict;
    };
    VolumeVerdict {
        held_by: Holder::Hosts { seen: scaling.seen.clone() },
        certainty: match (scaling.limit, scaling.points.iter().any(|point| point.doubted)) {
            (HostsLimit::Unclear, _) => Certainty::Unknown,
            (_, true) => Certainty::Doubtful,
            _ => Certainty::Likely,
        },
        because: Because::Seen(scaling.seen.clone().into()),
        next: next(scaling.limit),
        command: None,
        throttle: None,
        limit: None,
        ..verdict
    }
}

/// What to do after more and more hosts loaded a storage.
fn next(limit: HostsLimit) -> Option<Advised> {
    (limit != HostsLimit::Shared).then_some(Advised::OnHosts { limit })
}

/// The conclusion from a load that more and more hosts ran. What the cell shows by itself would contradict it.
pub(crate) fn concluded_over_hosts(conclusion: Conclusion, hosts: &[HostsScaling]) -> Conclusion {
    let has_cell = |scaling: &&HostsScaling| scaling.points.iter().any(|point| point.cell == conclusion.cell);
    let Some(scaling) = hosts.iter().filter(|scaling| scaling.clear).find(has_cell) else { return conclusion };
    Conclusion {
        limit: None,
        reached: LoadReached::Hosts { load: scaling.load.clone(), seen: scaling.seen.clone() },
        seen: scaling.seen.clone().into(),
        means: Vec::new(),
        steps: (scaling.limit != HostsLimit::Shared)
            .then_some(AdvisedStep::OnHosts { limit: scaling.limit })
            .into_iter()
            .collect(),
        ..conclusion
    }
}

/// The verdict on a target that is no storage: its figures are the tool's.
pub(crate) fn of_the_tool(volume: VolumeVerdict) -> VolumeVerdict {
    VolumeVerdict {
        held_by: Holder::Tool,
        certainty: Certainty::Certain,
        because: Because::NullTarget,
        next: Some(Advised::MeasureStorage),
        command: None,
        limit: None,
        ..volume
    }
}
