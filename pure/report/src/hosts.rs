//! The shares of hosts that ran together: a line for each, beside the load.

use crate::figures;
use loadline_analysis::{HostView, HostsView, RunSummary};
use loadline_units::Duration;

/// The heading of the table.
pub(crate) const HEADING: &str = "Hosts";
/// The note below it.
pub(crate) const NOTE: &str = "Rates are those of the time in which all hosts ran; latencies are of every request. The findings say how a host stayed \
    behind.";
/// Hosts of a load that get a line each; the JSON has all.
const LINES_MAX: usize = 64;

/// The table as text: headings, then a row for each host of each load that has several.
pub(crate) struct HostsTable {
    pub(crate) headings: [&'static str; 8],
    pub(crate) rows: Vec<[String; 8]>,
}

/// What hosts had of each load; `None` where every load is one host's.
pub(crate) fn hosts(summary: &RunSummary) -> Option<HostsTable> {
    let mut rows = Vec::new();
    for cell in &summary.cells {
        let Some(view) = &cell.hosts else { continue };
        for (index, host) in view.hosts.iter().take(LINES_MAX).enumerate() {
            rows.push(row(if index == 0 { &cell.label } else { "" }, view, host));
        }
        if view.hosts.len() > LINES_MAX {
            let mut more: [String; 8] = Default::default();
            more[1] = format!("and {} more", view.hosts.len() - LINES_MAX);
            rows.push(more);
        }
    }
    let headings = ["load", "host", "IOPS", "MB/s", "p50", "p99", "began after", "stayed behind"];
    (!rows.is_empty()).then_some(HostsTable { headings, rows })
}

fn row(label: &str, view: &HostsView, host: &HostView) -> [String; 8] {
    let missing = || figures::MISSING.to_owned();
    let span = |ns: u64| Duration::from_ns(ns).human();
    let is_behind = view.stragglers.iter().any(|straggler| straggler.host == host.host);
    [
        label.to_owned(),
        host.host.clone(),
        host.iops.map_or_else(missing, figures::iops),
        host.throughput_bytes_per_s.map_or_else(missing, figures::megabytes),
        host.p50_ns.map_or_else(missing, span),
        host.p99_ns.map_or_else(missing, span),
        match host.clock_error_ns {
            Some(error) => format!("{} ± {}", span(host.began_after_ns), span(error)),
            None => span(host.began_after_ns),
        },
        if is_behind { "yes" } else { "no" }.to_owned(),
    ]
}
