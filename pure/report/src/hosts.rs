//! The shares of hosts that ran together: a line for each, beside the load. And how their total grows with their number.

use crate::figures;
use crate::table::{Column, Field, Table};
use loadline_analysis::{Figure, HostView, HostsPoint, HostsScaling, HostsView, RunSummary};
use loadline_units::Duration;

/// The heading of the table.
pub(crate) const HEADING: &str = "Hosts";
/// The note below it.
pub(crate) const NOTE: &str = "Rates are those of the time in which all hosts ran; latencies are of every request. The findings say how a host stayed \
    behind.";
/// Hosts of a load that get a line each; the JSON has all.
const LINES_MAX: usize = 64;

/// The heading of the table over numbers of hosts.
pub(crate) const SCALING_HEADING: &str = "With more hosts";
/// The note below it.
pub(crate) const SCALING_NOTE: &str =
    "Efficiency: 100 % is linear scaling, where each host has as much as each of the first line.";

/// How totals grow with the number of hosts; `None` where there is one number of them.
pub(crate) fn hosts_scaling(summary: &RunSummary) -> Option<Table> {
    let volumes: Vec<&str> = summary.hosts_scaling.iter().map(|scaling| scaling.volume.as_str()).collect();
    let is_on_several = volumes.windows(2).any(|pair| pair[0] != pair[1]);
    let mut rows = Vec::new();
    for scaling in &summary.hosts_scaling {
        let on = if is_on_several { format!(" on {}", scaling.volume) } else { String::new() };
        for (index, point) in scaling.points.iter().enumerate() {
            let label = if index == 0 { format!("{}{on}", scaling.load) } else { String::new() };
            rows.push(point_row(label, scaling, point));
        }
    }
    let numbers = ["hosts", "total", "each", "efficiency", "p99", "Jain's index"];
    let columns =
        [Column::words("load of each", "load")].into_iter().chain(numbers.map(|name| Column::numbers(name, name)));
    of_texts(&columns.collect::<Vec<_>>(), rows)
}

/// `None` without a row.
fn of_texts<const N: usize>(columns: &[Column], rows: Vec<[String; N]>) -> Option<Table> {
    let mut table = Table::new(columns);
    for row in rows {
        table.push(row.map(Field::text).into());
    }
    (!table.is_empty()).then_some(table)
}

fn point_row(label: String, scaling: &HostsScaling, point: &HostsPoint) -> [String; 7] {
    let missing = || figures::MISSING.to_owned();
    let hosts = f64::from(point.hosts);
    let value = |share: f64| match scaling.figure {
        Figure::Throughput => format!("{} MB/s", figures::megabytes(point.throughput_bytes_per_s / share)),
        _ => format!("{} IOPS", figures::iops(point.iops / share)),
    };
    let interval = point.efficiency_low.zip(point.efficiency_high);
    let interval = interval.map(|(low, high)| format!(" ({:.0}\u{2013}{:.0})", low * 100.0, high * 100.0));
    [
        label,
        point.hosts.to_string(),
        value(1.0),
        value(hosts),
        format!("{:.0} %{}", point.efficiency * 100.0, interval.unwrap_or_default()),
        point.p99_ns.map_or_else(missing, |ns| Duration::from_ns(ns).human()),
        point.jain_index.map_or_else(missing, |index| format!("{index:.3}")),
    ]
}

/// What hosts had of each load, of steps with more and more hosts the last ones and those in which a host stayed behind; `None` where every
/// load is one host's.
pub(crate) fn hosts(summary: &RunSummary) -> Option<Table> {
    let mut rows = Vec::new();
    for cell in &summary.cells {
        let Some(view) = &cell.hosts else { continue };
        if is_earlier_step(summary, &cell.id) && view.stragglers.is_empty() {
            continue;
        }
        for (index, host) in view.hosts.iter().take(LINES_MAX).enumerate() {
            rows.push(row(if index == 0 { &cell.label } else { "" }, view, host));
        }
        if view.hosts.len() > LINES_MAX {
            let mut more: [String; 8] = Default::default();
            more[1] = format!("and {} more", view.hosts.len() - LINES_MAX);
            rows.push(more);
        }
    }
    let words = |name: &'static str| Column::words(name, name);
    let numbers = ["IOPS", "MB/s", "p50", "p99", "began after"].map(|name| Column::numbers(name, name));
    let columns = [words("load"), words("host")].into_iter().chain(numbers).chain([words("stayed behind")]);
    of_texts(&columns.collect::<Vec<_>>(), rows)
}

/// Whether more hosts ran the same load.
fn is_earlier_step(summary: &RunSummary, cell: &str) -> bool {
    let earlier = |scaling: &HostsScaling| scaling.points.iter().rev().skip(1).any(|point| point.cell == cell);
    summary.hosts_scaling.iter().any(earlier)
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
