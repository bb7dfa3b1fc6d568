//! Hosts that ran together: what they came to, whose limit it was, and which of them stayed behind.

use crate::finding::{Finding, FindingCode, FindingSeen};
use crate::hosts::view::{HostsScaling, HostsView};
use crate::summary::CellSummary;
use crate::words::{load_name, number, percent, span};
use loadline_record::Limit;

/// Shares are as good as even from this index on.
const EVEN: f64 = 0.99;

/// How the total of each kind of load grows with the hosts, and whose limit its end is.
pub(super) fn grown(all: &[HostsScaling]) -> Vec<Finding> {
    let told = all.iter().filter(|scaling| scaling.is_most).map(|scaling| Finding {
        code: FindingCode::HostsScaling,
        volume: None,
        seen: FindingSeen::Written {
            text: format!("{} ({}). It shows by this: {}.", scaling.text, scaling.load, scaling.evidence),
        },
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
    let total = cell.total.as_ref()?;
    let jain = view.jain_index?;
    let even = match jain {
        jain if jain >= EVEN => "in even shares".to_owned(),
        jain => format!("in uneven shares (Jain's index {jain:.2})"),
    };
    let behind = match view.stragglers.as_slice() {
        [] => " No host stayed behind.".to_owned(),
        some => {
            let names: Vec<String> =
                some.iter().map(|one| format!("{} stayed behind: {}", one.host, one.evidence)).collect();
            format!(" {}.", names.join(". "))
        }
    };
    let text = format!(
        "{} hosts together had {} requests/s under {}, {even}. They began within {} and all ran together for {} of the time.{}{behind}",
        view.hosts.len(),
        number(total.iops),
        load_name(cell),
        span(view.start_spread_ns as f64),
        percent(view.coverage),
        if is_in_steps { "" } else { limit(cell) }
    );
    let (seen, cells) = (FindingSeen::Written { text }, vec![cell.id.clone()]);
    Some(Finding { code: FindingCode::Hosts, volume: None, seen, cells })
}

/// Whether the storage or the clients were the limit, if the arrivals or the declared limits say so. A limit that was inferred is
/// seen from the hosts: each of them may have one of its own that is alike.
fn limit(cell: &CellSummary) -> &'static str {
    let Some(binding) = &cell.binding else { return "" };
    match binding.limit {
        Limit::Arrival => " Storage and hosts had room: all that was asked for came back.",
        Limit::Cpu | Limit::Generator => " The limit is that of the hosts, not of the storage that they share.",
        _ if binding.inferred || binding.presumed => {
            " One number of hosts does not show whether the limit is the storage's or each host's own. Steps with fewer hosts \
             do."
        }
        Limit::DiskIops | Limit::DiskThroughput => " The limit is the shared storage's.",
        Limit::VmUncachedIops | Limit::VmUncachedThroughput | Limit::VmCachedIops | Limit::VmCachedThroughput => {
            " The limit is that of the hosts, not of the storage that they share."
        }
        _ => "",
    }
}
