//! `clock`: wall clocks of hosts, compared before and after runs that are merged.

use crate::arguments::Format;
use crate::arguments::clock::{ClockArguments, ClockVerb, CompareClocksArguments};
use crate::failure::{Outcome, Usage};
use crate::output;
use crate::schema::Schema;
use crate::{output_file, printing};
use anyhow::Context as _;
use loadline_analysis::{ClockReading, clock_at};
use loadline_report::words::clocks::{ClocksNext, clocks_lines};
use loadline_report::{Column, Field, Table, VerdictLine};
use loadline_runs::clocks::{ClocksCompared, compare_clock, read_clocks, serve_clock};
use loadline_runs::wall_clock::unix_ns;
use loadline_units::Duration;
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// Compares clocks, or answers one who does.
pub(crate) fn clock(arguments: &ClockArguments, quiet: bool) -> anyhow::Result<Outcome> {
    match &arguments.verb {
        ClockVerb::Compare(arguments) => compare(arguments, quiet),
        ClockVerb::Serve => {
            // The other side went away, which is how it ends.
            let _ = serve_clock(std::io::stdin().lock(), std::io::stdout().lock(), &unix_ns);
            Ok(Outcome::Done)
        }
    }
}

fn compare(arguments: &CompareClocksArguments, quiet: bool) -> anyhow::Result<Outcome> {
    if !arguments.by.contains("{}") && arguments.hosts.len() > 1 {
        return Err(Usage(format!("--by {:?} has no {{}} where the host's name goes", arguments.by)).into());
    }
    let place = arguments.output.as_deref().map(|path| anyhow::Ok((output_file::clocks(path)?, path))).transpose()?;
    let before = match &place {
        Some((_, path)) if path.metadata().is_ok_and(|found| found.len() > 0) => {
            // What is no such file is found before the hosts are asked.
            read_clocks(path)?;
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?
        }
        _ => String::new(),
    };
    let mut found: BTreeMap<String, ClockReading> = BTreeMap::new();
    for host in &arguments.hosts {
        if !is_host(host) {
            return Err(Usage(format!("{host:?} is no name of a host")).into());
        }
        let reading = compare_clock(&arguments.by.replace("{}", host), arguments.count)
            .with_context(|| format!("the clock of {host} was not compared"))?;
        found.insert(host.clone(), reading);
    }
    let compared = ClocksCompared::of(found);
    if let Some((file, _)) = &place {
        output_file::write(file, format!("{before}{}\n", compared.line()))?;
    }
    // Readings of an earlier comparison show the drift.
    let history = match &place {
        Some((_, path)) => read_clocks(path)?,
        None => compared.hosts.iter().map(|(host, reading)| (host.clone(), vec![*reading])).collect(),
    };
    let format = arguments.printing.format;
    output::print(&printing::table(&table(&arguments.hosts, &compared, &history), Schema::Clocks, format))?;
    let lines = verdict(arguments, &compared);
    if matches!(format, Format::Table | Format::Markdown) {
        output::print(&format!("\n{}", printing::verdict(&lines, format)))?;
    } else if !quiet {
        printing::tell_verdict(&lines);
    }
    Ok(Outcome::Done)
}

/// Names of hosts go into a command of the shell: nothing but what names have, and no option.
fn is_host(name: &str) -> bool {
    !name.starts_with('-') && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.@:/".contains(c))
}

fn table(hosts: &[String], compared: &ClocksCompared, history: &BTreeMap<String, Vec<ClockReading>>) -> Table {
    let mut table = Table::new(&[
        Column::words("host", "host"),
        Column::numbers("ahead by", "offset_ns"),
        Column::numbers("within", "error_ns"),
        Column::numbers("drift, ppm", "drift_ppb"),
        Column::numbers("messages", "exchanges"),
    ]);
    for host in hosts {
        let reading = &compared.hosts[host];
        let drift = history.get(host).and_then(|all| clock_at(all, reading.at_unix_ns)?.drift_ppb);
        table.push(vec![
            Field::text(host),
            Field::both(signed(reading.offset_ns), reading.offset_ns),
            Field::both(Duration::from_ns(reading.error_ns).human(), reading.error_ns),
            drift.map_or_else(|| Field::both("-", Json::Null), |ppb| Field::both(format!("{:.1}", ppm(ppb)), ppb)),
            Field::count(u64::from(reading.exchanges)),
        ]);
    }
    table
}

/// To a tenth; no zero has a sign.
fn ppm(ppb: i64) -> f64 {
    (ppb as f64 / 100.0).round() / 10.0 + 0.0
}

fn signed(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    format!("{sign}{}", Duration::from_ns(ns.unsigned_abs()).human())
}

fn verdict(arguments: &CompareClocksArguments, compared: &ClocksCompared) -> Vec<VerdictLine> {
    let offsets = || compared.hosts.values().map(|reading| reading.offset_ns);
    let apart = offsets().max().unwrap_or(0).abs_diff(offsets().min().unwrap_or(0));
    let error = compared.hosts.values().map(|reading| reading.error_ns).max().unwrap_or(0);
    let runs: Vec<String> = arguments.hosts.iter().map(|host| format!("{host}={host}.db")).collect();
    let merge =
        arguments.output.as_ref().map(|path| format!("loadline merge {} --clocks {}", runs.join(" "), path.display()));
    let next = merge
        .as_deref()
        .map_or(ClocksNext::Keep { option: "-o FILE", merge: "loadline merge --clocks FILE" }, ClocksNext::Merge);
    clocks_lines(Duration::from_ns(apart), Duration::from_ns(error), next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_a_host_is_no_command() {
        assert!(is_host("node-1.cluster") && is_host("me@10.0.0.1"));
        assert!(!is_host("a; rm -rf b") && !is_host("-oProxyCommand=x") && !is_host("$(x)"));
    }

    #[test]
    fn a_drift_of_nothing_has_no_sign() {
        assert_eq!([-3, -120_000, 49].map(|ppb| format!("{:.1}", ppm(ppb))), ["0.0", "-120.0", "0.0"]);
    }

    #[test]
    fn an_offset_has_its_sign() {
        assert_eq!((signed(-1_500_000), signed(0)), ("-1.50 ms".to_owned(), Duration::ZERO.human()));
    }
}
