//! Verdicts that rest on more than one cell of a volume: on what several hosts share, and on the tool itself.

use crate::hosts::view::{HostsLimit, HostsScaling};
use crate::verdict_block::{Certainty, VolumeVerdict};

/// The verdict on a volume that more and more hosts loaded: what their total shows says more than the limit of any one cell.
pub(crate) fn over_hosts(verdict: VolumeVerdict, volume: &str, hosts: &[HostsScaling]) -> VolumeVerdict {
    let most = || hosts.iter().filter(|scaling| scaling.is_most && scaling.volume == volume);
    let Some(scaling) =
        most().find(|scaling| scaling.points.iter().any(|point| point.cell == verdict.cell)).or_else(|| most().next())
    else {
        return verdict;
    };
    let next = match scaling.limit {
        HostsLimit::Shared => None,
        HostsLimit::EachHost | HostsLimit::Growing => {
            Some("measure with more hosts to find the end of the storage".to_owned())
        }
        HostsLimit::NotReached => {
            Some("measure with deeper queues or more hosts to find the end of the storage".to_owned())
        }
        HostsLimit::Arrival => {
            Some("measure with higher rates or more hosts to find the end of the storage".to_owned())
        }
        HostsLimit::Unclear => Some("measure with more trials".to_owned()),
    };
    VolumeVerdict {
        held_by: scaling.text.clone(),
        certainty: match (scaling.limit, scaling.points.iter().any(|point| point.doubted)) {
            (HostsLimit::Unclear, _) => Certainty::Unknown,
            (_, true) => Certainty::Doubtful,
            _ => Certainty::Likely,
        },
        because: scaling.evidence.clone(),
        next,
        command: None,
        throttle: None,
        limit: None,
        ..verdict
    }
}

/// The verdict on a target that is no storage: its figures are the tool's.
pub(crate) fn of_the_tool(volume: VolumeVerdict) -> VolumeVerdict {
    VolumeVerdict {
        held_by: "loadline itself: there is no storage behind this target".to_owned(),
        certainty: Certainty::Certain,
        because: "the target is null".to_owned(),
        next: Some("measure storage".to_owned()),
        command: None,
        limit: None,
        ..volume
    }
}
