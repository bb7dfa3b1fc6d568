//! Hosts that ran together: what they came to, whose limit it was, and which of them stayed behind.

use crate::finding::{Finding, FindingCode, FindingSeen, HostsTogether};
use crate::hosts::view::{HostsLimit, HostsScaling, HostsView};
use crate::summary::CellSummary;
use crate::words::load_name;
use loadline_record::Limit;

/// How the total of each kind of load grows with the hosts, and whose limit its end is.
pub(super) fn grown(all: &[HostsScaling]) -> Vec<Finding> {
    let told = all.iter().filter(|scaling| scaling.is_most).map(|scaling| Finding {
        code: FindingCode::HostsScaling,
        volume: None,
        seen: FindingSeen::MoreHosts { load: scaling.load.clone(), seen: scaling.seen.clone() },
        cells: scaling.points.iter().map(|point| point.cell.clone()).collect(),
    });
    told.collect()
}

/// What hosts that ran together came to, of each cell that has several. Of steps with more and more hosts, the last ones and those in which a
/// host stayed behind.
pub(super) fn told(cells: &[CellSummary], all: &[HostsScaling]) -> Vec<Finding> {
    let is_earlier = |cell: &CellSummary| {
        let earlier = |scaling: &HostsScaling| scaling.points.iter().rev().skip(1).any(|point| point.cell == cell.id);
        all.iter().any(earlier)
    };
    let is_told = |cell: &CellSummary, view: &HostsView| {
        view.hosts.len() > 1 && (!is_earlier(cell) || !view.stragglers.is_empty())
    };
    let found = cells.iter().filter_map(|cell| {
        let view = cell.hosts.as_ref().filter(|view| is_told(cell, view))?;
        finding(cell, view, !all.is_empty())
    });
    found.collect()
}

fn finding(cell: &CellSummary, view: &HostsView, is_in_steps: bool) -> Option<Finding> {
    let seen = FindingSeen::HostsTogether(HostsTogether {
        hosts: view.hosts.len(),
        load: load_name(cell),
        iops: cell.total.as_ref()?.iops,
        jain_index: view.jain_index?,
        start_spread_ns: view.start_spread_ns,
        coverage: view.coverage,
        limit: if is_in_steps { None } else { limit(cell) },
        stragglers: view.stragglers.clone(),
    });
    Some(Finding { code: FindingCode::Hosts, volume: None, seen, cells: vec![cell.id.clone()] })
}

/// Whether the storage or the clients were the limit, if the arrivals or the declared limits say so. A limit that was inferred is
/// seen from the hosts: each of them may have one of its own that is alike.
fn limit(cell: &CellSummary) -> Option<HostsLimit> {
    let binding = cell.binding.as_ref()?;
    match binding.limit {
        Limit::Arrival => Some(HostsLimit::Arrival),
        Limit::Cpu | Limit::Generator => Some(HostsLimit::EachHost),
        _ if binding.inferred || binding.presumed => Some(HostsLimit::Unclear),
        Limit::DiskIops | Limit::DiskThroughput => Some(HostsLimit::Shared),
        Limit::VmUncachedIops | Limit::VmUncachedThroughput | Limit::VmCachedIops | Limit::VmCachedThroughput => {
            Some(HostsLimit::EachHost)
        }
        _ => None,
    }
}
