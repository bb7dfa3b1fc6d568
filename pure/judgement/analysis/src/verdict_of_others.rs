//! Verdicts that rest on more than one cell of a volume: on what several hosts share, and on the tool itself.

use crate::hosts::view::{HostsLimit, HostsScaling};
use crate::summary::{Conclusion, Stop};
use crate::verdict_block::{Because, Certainty, Holder, VolumeVerdict};
use crate::words::sentence;

/// The verdict on a volume that more and more hosts loaded: what their total shows says more than the limit of any one cell.
pub(crate) fn over_hosts(verdict: VolumeVerdict, volume: &str, hosts: &[HostsScaling]) -> VolumeVerdict {
    let most = || hosts.iter().filter(|scaling| scaling.is_most && scaling.volume == volume);
    let Some(scaling) =
        most().find(|scaling| scaling.points.iter().any(|point| point.cell == verdict.cell)).or_else(|| most().next())
    else {
        return verdict;
    };
    VolumeVerdict {
        held_by: Holder::Hosts(scaling.seen.clone()),
        certainty: match (scaling.limit, scaling.points.iter().any(|point| point.doubted)) {
            (HostsLimit::Unclear, _) => Certainty::Unknown,
            (_, true) => Certainty::Doubtful,
            _ => Certainty::Likely,
        },
        because: Because::Seen(scaling.seen.clone().into()),
        next: next(scaling.limit).map(|next| next.to_owned().into()),
        command: None,
        throttle: None,
        limit: None,
        ..verdict
    }
}

/// What to do after more and more hosts loaded a storage.
const fn next(limit: HostsLimit) -> Option<&'static str> {
    match limit {
        HostsLimit::Shared => None,
        HostsLimit::EachHost | HostsLimit::Growing => Some("measure with more hosts to find the end of the storage"),
        HostsLimit::NotReached => Some("measure with deeper queues or more hosts to find the end of the storage"),
        HostsLimit::Arrival => Some("measure with higher rates or more hosts to find the end of the storage"),
        HostsLimit::Unclear => Some("measure with more trials"),
    }
}

/// The conclusion from a load that more and more hosts ran. What the cell shows by itself would contradict it.
pub(crate) fn concluded_over_hosts(conclusion: Conclusion, hosts: &[HostsScaling]) -> Conclusion {
    let has_cell = |scaling: &&HostsScaling| scaling.points.iter().any(|point| point.cell == conclusion.cell);
    let Some(scaling) = hosts.iter().filter(|scaling| scaling.clear).find(has_cell) else { return conclusion };
    Conclusion {
        limit: None,
        text: Stop::Hosts { load: scaling.load.clone(), seen: scaling.seen.clone() },
        seen: scaling.seen.clone().into(),
        consequence: None,
        next: next(scaling.limit).map(|next| format!("{}.", sentence(next)).into()),
        next_measurements: Vec::new(),
        ..conclusion
    }
}

/// The verdict on a target that is no storage: its figures are the tool's.
pub(crate) fn of_the_tool(volume: VolumeVerdict) -> VolumeVerdict {
    VolumeVerdict {
        held_by: "loadline itself: there is no storage behind this target".to_owned().into(),
        certainty: Certainty::Certain,
        because: Because::NullTarget,
        next: Some("measure storage".to_owned().into()),
        command: None,
        limit: None,
        ..volume
    }
}
