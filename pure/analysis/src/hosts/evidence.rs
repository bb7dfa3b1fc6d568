//! What the shares of hosts tell: how even they are, and which host stayed behind.

use super::view::{HostView, HostsView, Straggler};
use crate::statistics::{mean, mean_over_trials, median, series_interval};
use crate::trials::trials_used;
use crate::words::{number, span};
use loadline_record::{CellRecord, HostClock, HostTrial, HostsRecord, SharedWindow};

const NS_PER_S: f64 = 1e9;
/// Hosts whose rates differ by less are alike, whatever their intervals.
const ALIKE: f64 = 0.02;
/// An interval with less than this share of a host's usual count is one in which it stood still.
const STOOD_SHARE: f64 = 0.1;
/// The others went on if they completed this share of their usual count meanwhile.
const WENT_ON_SHARE: f64 = 0.5;
/// A host that completes fewer in an interval can miss one by chance.
const COUNT_MIN: f64 = 20.0;
/// An interval counts as one of the shared window if this share of a full one lies in it: hosts begin some microseconds apart.
const INSIDE_SHARE: f64 = 0.9;
/// A tool that did not run for this share of the window stood still, whatever its counts say.
const STOPPED_SHARE: f64 = 0.1;
/// A pause of one host is this many times as long as those of the others; a busy machine stops them all.
const STOPPED_RATIO: f64 = 4.0;

/// What the hosts of a cell came to; `None` where it is one host's.
pub(crate) fn hosts_view(cell: &CellRecord) -> Option<HostsView> {
    let used = trials_used(cell);
    let mut trials: Vec<&HostsRecord> = used.iter().filter_map(|trial| trial.hosts.as_deref()).collect();
    if trials.is_empty() {
        // Without a time together there is no rate, and the hosts' own begins still say why.
        trials = cell.trials.iter().filter_map(|trial| trial.hosts.as_deref()).collect();
    }
    if trials.is_empty() {
        return None;
    }
    let mut names: Vec<(&str, &str)> = Vec::new();
    for host in trials.iter().flat_map(|trial| &trial.hosts) {
        if !names.iter().any(|(name, _)| *name == host.host) {
            names.push((&host.host, &host.run));
        }
    }
    let hosts: Vec<HostView> = names
        .iter()
        .map(|(name, run)| {
            let own: Vec<(&HostsRecord, &HostTrial)> = trials
                .iter()
                .filter_map(|trial| Some((*trial, trial.hosts.iter().find(|host| host.host == *name)?)))
                .collect();
            host_view(name, run, &own)
        })
        .collect();
    let least =
        |of: fn(&HostsRecord) -> Option<f64>| trials.iter().filter_map(|trial| of(trial)).min_by(f64::total_cmp);
    let mean_of =
        |of: fn(&HostsRecord) -> Option<f64>| mean(&trials.iter().filter_map(|trial| of(trial)).collect::<Vec<_>>());
    let mut stragglers: Vec<Straggler> = Vec::new();
    for found in trials.iter().flat_map(|trial| stragglers_of(trial)) {
        if !stragglers.iter().any(|known| known.host == found.host) {
            stragglers.push(found);
        }
    }
    Some(HostsView {
        hosts,
        coverage: least(|trial| Some(coverage(trial))).unwrap_or(0.0),
        start_spread_ns: trials.iter().map(|trial| spread(trial)).max().unwrap_or(0),
        jain_index: least(|trial| jain_index(&rates(trial))),
        first_done_iops: mean_of(|trial| done(trial, trial.hosts.iter().map(HostTrial::to_ns).min()?)),
        last_done_iops: mean_of(|trial| done(trial, trial.hosts.iter().map(HostTrial::to_ns).max()?)),
        stragglers,
    })
}

fn host_view(name: &str, run: &str, own: &[(&HostsRecord, &HostTrial)]) -> HostView {
    let rate = |of: fn(&HostTrial) -> u64| {
        let each = own.iter().filter_map(|(trial, host)| {
            trial.window.map(|window| of(host) as f64 * NS_PER_S / window.length_ns as f64)
        });
        mean(&each.collect::<Vec<_>>())
    };
    let (clock_offset_ns, clock_error_ns, clock_drift_ppb) = match own.last().map(|(_, host)| host.clock) {
        Some(HostClock::Compared { offset_ns, error_ns, drift_ppb }) => (Some(offset_ns), error_ns, drift_ppb),
        Some(HostClock::Same | HostClock::NotCompared) | None => (None, None, None),
    };
    let latencies = || own.iter().filter_map(|(_, host)| host.latency);
    HostView {
        host: name.to_owned(),
        run: run.to_owned(),
        iops: rate(|host| host.window_count),
        throughput_bytes_per_s: rate(|host| host.window_bytes),
        p50_ns: latencies().filter_map(|latency| latency.p50).max(),
        p99_ns: latencies().filter_map(|latency| latency.p99).max(),
        began_after_ns: own.iter().map(|(_, host)| host.from_ns).max().unwrap_or(0),
        clock_offset_ns,
        clock_error_ns,
        clock_drift_ppb,
        stopped_ns: own.iter().map(|(_, host)| host.stopped_ns).sum(),
        errors: own.iter().map(|(_, host)| host.errors).sum(),
    }
}

fn coverage(trial: &HostsRecord) -> f64 {
    let longest = trial.hosts.iter().map(|host| host.measured_ns).max().unwrap_or(0);
    trial.window.map_or(0.0, |window| window.length_ns as f64 / longest.max(1) as f64)
}

fn spread(trial: &HostsRecord) -> u64 {
    let begins = || trial.hosts.iter().map(|host| host.from_ns);
    begins().max().unwrap_or(0) - begins().min().unwrap_or(0)
}

fn rates(trial: &HostsRecord) -> Vec<f64> {
    let Some(window) = trial.window else { return Vec::new() };
    trial.hosts.iter().map(|host| host.window_count as f64 * NS_PER_S / window.length_ns as f64).collect()
}

/// Jain's index of fairness: the square of the sum over n times the sum of squares (R. Jain, D. Chiu and W. Hawe, "A Quantitative
/// Measure of Fairness and Discrimination", DEC TR-301, 1984).
fn jain_index(rates: &[f64]) -> Option<f64> {
    let (sum, squares) = (rates.iter().sum::<f64>(), rates.iter().map(|rate| rate * rate).sum::<f64>());
    (squares > 0.0).then(|| sum * sum / (rates.len() as f64 * squares))
}

/// Requests per second of all hosts from the first begin until `to`.
fn done(trial: &HostsRecord, to: u64) -> Option<f64> {
    let from = trial.hosts.iter().map(|host| host.from_ns).min()?;
    let length = to.checked_sub(from).filter(|length| *length > 0)?;
    let count: f64 = trial.hosts.iter().map(|host| count_between(host, from, to)).sum();
    Some(count * NS_PER_S / length as f64)
}

/// Requests of a host between two instants of the common time line; those of an interval are taken as spread evenly.
fn count_between(host: &HostTrial, from: u64, to: u64) -> f64 {
    intervals(host)
        .map(|(begin, end, count)| {
            let shared = end.min(to).saturating_sub(begin.max(from));
            if end > begin { count as f64 * shared as f64 / (end - begin) as f64 } else { 0.0 }
        })
        .sum()
}

/// The intervals of a host on the common time line: begin, end and count.
fn intervals(host: &HostTrial) -> impl Iterator<Item = (u64, u64, u64)> {
    let full = u64::from(host.interval_s) * 1_000_000_000;
    host.counts.iter().zip(0_u64..).map(move |(count, index)| {
        let begin = host.from_ns + index * full;
        (begin, (begin + full).min(host.to_ns().max(begin)), *count)
    })
}

/// The intervals that lie in the window but for a small part.
fn intervals_inside(host: &HostTrial, window: (u64, u64)) -> impl Iterator<Item = (u64, u64, u64)> {
    let full = f64::from(host.interval_s) * NS_PER_S;
    intervals(host).filter(move |(begin, end, _)| {
        let shared = (*end).min(window.1).saturating_sub((*begin).max(window.0));
        shared as f64 >= full * INSIDE_SHARE
    })
}

/// Hosts that stayed behind the others, by their rates or by standing still.
fn stragglers_of(trial: &HostsRecord) -> Vec<Straggler> {
    let Some(window) = trial.window else { return Vec::new() };
    let (from, to) = (window.from_ns, window.from_ns + window.length_ns);
    let rates = rates(trial);
    let mut found = Vec::new();
    for (index, host) in trial.hosts.iter().enumerate() {
        let others: Vec<f64> =
            rates.iter().enumerate().filter(|(other, _)| *other != index).map(|(_, rate)| *rate).collect();
        let Some(usual) = median(&others) else { continue };
        let whole: Vec<f64> = intervals_inside(host, (from, to))
            .map(|(begin, end, count)| count as f64 * NS_PER_S / (end - begin) as f64)
            .collect();
        let interval = series_interval(&whole).or_else(|| mean_over_trials(&whole)?.interval);
        let slow = interval.filter(|interval| interval.high < usual * (1.0 - ALIKE)).map(|interval| {
            format!(
                "{} requests/s ({} to {}) while the others had {}",
                number(rates[index]),
                number(interval.low.max(0.0)),
                number(interval.high),
                number(usual)
            )
        });
        let evidence = stood_still(trial, index, (from, to)).or_else(|| was_stopped(trial, index, window)).or(slow);
        found.extend(evidence.map(|evidence| Straggler { host: host.host.clone(), evidence }));
    }
    found
}

/// Whether a host completed next to nothing for an interval or more while the others went on; the words for it.
fn stood_still(trial: &HostsRecord, index: usize, window: (u64, u64)) -> Option<String> {
    let host = &trial.hosts[index];
    let inside: Vec<(u64, u64, u64)> = intervals_inside(host, window).collect();
    // What it usually has, without the intervals in which it stood, which may be most of them.
    let counts = || inside.iter().map(|(.., count)| *count as f64);
    let most = counts().max_by(f64::total_cmp)?;
    let usual = median(&counts().filter(|count| *count >= most * STOOD_SHARE).collect::<Vec<_>>())?;
    if usual < COUNT_MIN {
        return None;
    }
    let others: Vec<&HostTrial> =
        trial.hosts.iter().enumerate().filter(|(other, _)| *other != index).map(|(_, host)| host).collect();
    let rate_of_others = |from: u64, to: u64| -> f64 {
        let count: f64 = others.iter().map(|host| count_between(host, from, to)).sum();
        count / (to - from) as f64
    };
    let usual_of_others = rate_of_others(window.0, window.1);
    let stood: Vec<&(u64, u64, u64)> = inside
        .iter()
        .filter(|(begin, end, count)| {
            (*count as f64) < usual * STOOD_SHARE && rate_of_others(*begin, *end) > usual_of_others * WENT_ON_SHARE
        })
        .collect();
    let first = stood.first()?;
    let length: u64 = stood.iter().map(|(begin, end, _)| end - begin).sum();
    let tool = match host.stopped_ns {
        0 => String::new(),
        stopped => format!("; its tool itself was kept from running for {}", span(stopped as f64)),
    };
    Some(format!(
        "it stood still for at least {}, from {} on, while the others went on{tool}",
        span(length as f64),
        span(first.0.saturating_sub(window.0) as f64)
    ))
}

/// Whether a host's tool was kept from running for much longer than the others' were; the words for it. A short trial has too few
/// intervals to show that by counts.
fn was_stopped(trial: &HostsRecord, index: usize, window: SharedWindow) -> Option<String> {
    let host = &trial.hosts[index];
    let of_others = trial.hosts.iter().enumerate().filter(|(other, _)| *other != index);
    let usual = median(&of_others.map(|(_, host)| host.stopped_ns as f64).collect::<Vec<_>>())?;
    let (stopped, length) = (host.stopped_ns as f64, window.length_ns as f64);
    (stopped >= length * STOPPED_SHARE && stopped >= usual * STOPPED_RATIO)
        .then(|| format!("it stood still: its tool was kept from running for {} of {}", span(stopped), span(length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str, counts: &[u64]) -> HostTrial {
        let count = counts.iter().sum();
        HostTrial {
            host: name.to_owned(),
            run: format!("run-{name}"),
            clock: HostClock::Same,
            from_ns: 0,
            measured_ns: counts.len() as u64 * 1_000_000_000,
            count,
            bytes: count * 4_096,
            window_count: count,
            window_bytes: count * 4_096,
            errors: 0,
            offered_iops: None,
            latency: None,
            stopped_ns: 0,
            interval_s: 1,
            counts: counts.to_vec(),
        }
    }
    fn trial(hosts: Vec<HostTrial>) -> HostsRecord {
        let length_ns = hosts.iter().map(|host| host.measured_ns).min().unwrap();
        HostsRecord { hosts, window: Some(SharedWindow { from_ns: 0, length_ns }), missing: Vec::new() }
    }
    /// Counts around `rate` that scatter as independent arrivals do.
    fn scattered(seed: u64, rate: f64, seconds: usize) -> Vec<u64> {
        crate::statistics::tests::noise(seed, seconds, 0.0)
            .into_iter()
            .map(|noise| (rate + noise * rate.sqrt()).round().max(0.0) as u64)
            .collect()
    }

    #[test]
    fn the_index_is_one_for_even_shares_and_one_over_n_for_a_single_one() {
        assert_eq!(jain_index(&[5.0, 5.0, 5.0, 5.0]), Some(1.0));
        assert_eq!(jain_index(&[8.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain_index(&[]), None);
    }

    #[test]
    fn a_throttled_host_is_named_and_none_where_there_is_none() {
        let (mut named, mut wrong, mut falsely) = (0, 0, 0);
        for seed in 0..200 {
            let even: Vec<HostTrial> =
                (0..4).map(|n| host(&format!("h{n}"), &scattered(seed * 4 + n, 1_000.0, 20))).collect();
            falsely += u32::from(!stragglers_of(&trial(even.clone())).is_empty());
            let mut one = even;
            one[2] = host("h2", &scattered(seed + 9_000, 900.0, 20));
            let found = stragglers_of(&trial(one));
            named += u32::from(found.iter().any(|straggler| straggler.host == "h2"));
            wrong += u32::from(found.iter().any(|straggler| straggler.host != "h2"));
        }
        assert_eq!(named, 200);
        assert!(falsely <= 10 && wrong <= 10, "{falsely} {wrong}");
    }

    #[test]
    fn a_frozen_host_is_named_though_it_caught_up() {
        let mut counts = vec![1_000; 12];
        (counts[4], counts[5], counts[6]) = (0, 0, 3_000);
        let frozen = HostTrial { stopped_ns: 2_000_000_000, ..host("b", &counts) };
        let found = stragglers_of(&trial(vec![host("a", &[1_000; 12]), frozen, host("c", &[1_000; 12])]));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].host, "b");
        assert!(found[0].evidence.contains("at least 2.00 s, from 4.00 s on"), "{}", found[0].evidence);
    }

    #[test]
    fn a_host_that_was_frozen_for_most_of_its_time_is_named() {
        let frozen = host("b", &[350, 0, 0]);
        let found = stragglers_of(&trial(vec![host("a", &[1_000; 3]), frozen, host("c", &[1_000; 3])]));
        assert_eq!(found.iter().map(|one| one.host.as_str()).collect::<Vec<_>>(), ["b"]);
        assert!(found[0].evidence.contains("at least 2.00 s, from 1.00 s on"), "{}", found[0].evidence);
    }

    /// Its only interval with requests began before the others did, and must not be left out for it.
    #[test]
    fn a_host_that_began_microseconds_before_the_others_and_was_frozen_is_named() {
        let late = |name: &str| HostTrial { from_ns: 23_000, ..host(name, &[1_000; 3]) };
        let mut shared = trial(vec![late("a"), host("b", &[500, 10, 0]), late("c")]);
        shared.window = Some(SharedWindow { from_ns: 23_000, length_ns: 3_000_000_000 - 23_000 });
        let found = stragglers_of(&shared);
        assert_eq!(found.iter().map(|one| one.host.as_str()).collect::<Vec<_>>(), ["b"]);
        assert!(found[0].evidence.contains("at least 2.00 s, from 1.00 s on"), "{}", found[0].evidence);
    }

    #[test]
    fn a_pause_of_the_tool_is_evidence_where_counts_are_too_few_and_pauses_of_all_are_not() {
        let stopped = |name: &str, counts: &[u64], stopped_ns| HostTrial { stopped_ns, ..host(name, counts) };
        let one = trial(vec![host("a", &[19; 3]), stopped("b", &[10, 0, 9], 1_900_000_000), host("c", &[19; 3])]);
        let found = stragglers_of(&one);
        assert_eq!(found.iter().map(|one| one.host.as_str()).collect::<Vec<_>>(), ["b"]);
        assert!(found[0].evidence.contains("kept from running for 1.90 s of 3.00 s"), "{}", found[0].evidence);
        let all = ["a", "b", "c"].map(|name| stopped(name, &[1_000; 3], 400_000_000));
        assert_eq!(stragglers_of(&trial(all.to_vec())), Vec::new());
    }

    #[test]
    fn a_storage_that_stands_still_for_all_names_no_host() {
        let mut counts = vec![1_000; 12];
        counts[4] = 0;
        assert_eq!(stragglers_of(&trial(vec![host("a", &counts), host("b", &counts)])), Vec::new());
    }

    #[test]
    fn the_rate_until_the_first_is_done_leaves_out_what_came_later() {
        let late = HostTrial { from_ns: 5_000_000_000, ..host("b", &[500; 10]) };
        let both = trial(vec![host("a", &[1_000; 10]), late]);
        assert_eq!(done(&both, 10_000_000_000), Some(1_250.0));
        assert_eq!(done(&both, 15_000_000_000), Some(1_000.0));
    }
}
