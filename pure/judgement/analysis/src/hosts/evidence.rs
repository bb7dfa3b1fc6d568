//! What the shares of hosts tell: how even they are, and which host stayed behind.

use super::view::{HostView, HostsView, Straggler, StragglerSeen};
use crate::statistics::{
    CONFIDENCE, MeanError, mean, mean_over_trials, median, series_error, series_interval, t_quantile, variance,
};
use crate::trials::trials_used;
use loadline_record::{CellRecord, Histogram, HistogramSnapshot, HostClock, HostTrial, HostsRecord, SharedWindow};
use loadline_units::NS_PER_S;

/// Hosts whose rates differ by less are alike, whatever their intervals.
const ALIKE: f64 = 0.02;
/// Intervals from which on it shows whether neighbours are alike.
const SERIES_LONG: usize = 20;
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
            trial.window.map(|window| of(host) as f64 * NS_PER_S as f64 / window.length_ns as f64)
        });
        mean(&each.collect::<Vec<_>>())
    };
    let (clock_offset_ns, clock_error_ns, clock_drift_ppb) = match own.last().map(|(_, host)| host.clock) {
        Some(HostClock::Compared { offset_ns, error_ns, drift_ppb }) => (Some(offset_ns), error_ns, drift_ppb),
        Some(HostClock::Same | HostClock::NotCompared) | None => (None, None, None),
    };
    let latencies = || own.iter().filter_map(|(_, host)| host.latency);
    let pooled = pooled(own);
    let percentile = |of: fn(&HistogramSnapshot) -> Option<u64>| match &pooled {
        Some(all) => of(all),
        None => latencies().filter_map(|latency| of(&latency)).max(),
    };
    HostView {
        host: name.to_owned(),
        run: run.to_owned(),
        iops: rate(|host| host.window_count),
        throughput_bytes_per_s: rate(|host| host.window_bytes),
        p50_ns: percentile(|latency| latency.p50),
        p99_ns: percentile(|latency| latency.p99),
        began_after_ns: own.iter().map(|(_, host)| host.from_ns).max().unwrap_or(0),
        clock_offset_ns,
        clock_error_ns,
        clock_drift_ppb,
        stopped_ns: own.iter().map(|(_, host)| host.stopped_ns).sum(),
        errors: own.iter().map(|(_, host)| host.errors).sum(),
    }
}

/// Latencies of a host over all its trials; `None` where one of them has percentiles alone.
fn pooled(own: &[(&HostsRecord, &HostTrial)]) -> Option<HistogramSnapshot> {
    let mut all = Histogram::new();
    for (_, host) in own {
        all.merge(host.histogram.as_deref()?);
    }
    all.snapshot()
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
    trial.hosts.iter().map(|host| host.window_count as f64 * NS_PER_S as f64 / window.length_ns as f64).collect()
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
    Some(count * NS_PER_S as f64 / length as f64)
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
    let full = f64::from(host.interval_s) * NS_PER_S as f64;
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
    let side_by_side = SideBySide::of(trial, (from, to));
    let mut found = Vec::new();
    for (index, host) in trial.hosts.iter().enumerate() {
        let others: Vec<f64> =
            rates.iter().enumerate().filter(|(other, _)| *other != index).map(|(_, rate)| *rate).collect();
        let Some(usual) = median(&others) else { continue };
        let whole: Vec<f64> = intervals_inside(host, (from, to))
            .map(|(begin, end, count)| count as f64 * NS_PER_S as f64 / (end - begin) as f64)
            .collect();
        let interval = series_interval(&whole).or_else(|| mean_over_trials(&whole)?.interval);
        let slow = interval.filter(|_| side_by_side.is_behind(index, usual)).map(|interval| StragglerSeen::Slower {
            iops: rates[index],
            iops_low: interval.low.max(0.0),
            iops_high: interval.high,
            others_iops: usual,
        });
        let seen = stood_still(trial, index, (from, to)).or_else(|| was_stopped(trial, index, window)).or(slow);
        found.extend(seen.map(|seen| Straggler { host: host.host.clone(), seen }));
    }
    found
}

/// The rates of all hosts in the same intervals of the window. What moves all of them, such as a storage that slows down, moves them
/// together there.
struct SideBySide {
    /// For each host, by interval.
    rates: Vec<Vec<f64>>,
    /// For each interval, in order of size.
    sorted: Vec<Vec<f64>>,
}

impl SideBySide {
    fn of(trial: &HostsRecord, window: (u64, u64)) -> Self {
        let longest = trial.hosts.iter().map(|host| host.interval_s).max().unwrap_or(1).max(1);
        let full = u64::from(longest) * 1_000_000_000;
        let rates: Vec<Vec<f64>> = trial.hosts.iter().map(|host| rates_in_steps(host, window, full)).collect();
        let count = rates.iter().map(Vec::len).min().unwrap_or(0);
        let sorted = (0..count).map(|interval| {
            let mut all: Vec<f64> = rates.iter().map(|rates| rates[interval]).collect();
            all.sort_by(f64::total_cmp);
            all
        });
        let sorted = sorted.collect();
        Self { rates, sorted }
    }

    /// How much less than the median of the others a host had in each interval.
    fn lacking(&self, host: usize) -> Vec<f64> {
        let rates = self.sorted.iter().zip(&self.rates[host]);
        rates
            .map(|(sorted, own)| {
                let place = sorted.partition_point(|rate| rate.total_cmp(own).is_lt());
                // The others in order: all but the one at that place.
                let other = |index: usize| sorted[index + usize::from(index >= place)];
                let others = sorted.len() - 1;
                f64::midpoint(other((others - 1) / 2), other(others / 2)) - own
            })
            .collect()
    }

    /// Whether a host had less than the others by more than chance makes of it, and by more than hosts that are alike differ. Every host
    /// is looked at, so each is named with less confidence to be wrong (Bonferroni's correction).
    fn is_behind(&self, host: usize, usual: f64) -> bool {
        let lacking = self.lacking(host);
        let (Some(lack), Some(error)) = (mean(&lacking), error_of(&lacking)) else { return false };
        let confidence = 1.0 - (1.0 - CONFIDENCE) / self.rates.len() as f64;
        lack - usual * ALIKE > t_quantile(confidence, error.freedom) * error.error
    }
}

/// A host's rates in intervals of this length from the begin of the window on; what is left at its end is left out.
fn rates_in_steps(host: &HostTrial, (from, to): (u64, u64), length: u64) -> Vec<f64> {
    let mut counts = vec![0.0; (to.saturating_sub(from) / length) as usize];
    for (begin, end, count) in intervals(host).filter(|(begin, end, _)| end > begin) {
        let first = begin.saturating_sub(from) / length;
        for step in first.. {
            let (low, high) = (from + step * length, from + (step + 1) * length);
            let Some(into) = counts.get_mut(step as usize).filter(|_| low < end) else { break };
            let shared = end.min(high).saturating_sub(begin.max(low));
            *into += count as f64 * shared as f64 / (end - begin) as f64;
        }
    }
    counts.into_iter().map(|count| count * NS_PER_S as f64 / length as f64).collect()
}

/// How far the mean of these differences can be off. What moves all hosts is not in them, so those of a short series are taken as
/// independent: it is too short to show that they are not.
fn error_of(values: &[f64]) -> Option<MeanError> {
    if values.len() >= SERIES_LONG {
        return series_error(values);
    }
    let error = libm::sqrt(variance(values)? / values.len() as f64);
    Some(MeanError { error, freedom: (values.len() - 1) as f64 })
}

/// Whether a host completed next to nothing for an interval or more while the others went on.
fn stood_still(trial: &HostsRecord, index: usize, window: (u64, u64)) -> Option<StragglerSeen> {
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
    Some(StragglerSeen::StoodStill {
        length_ns: stood.iter().map(|(begin, end, _)| end - begin).sum(),
        from_ns: first.0.saturating_sub(window.0),
        stopped_ns: host.stopped_ns,
    })
}

/// Whether a host's tool was kept from running for much longer than the others' were. A short trial has too few intervals to show
/// that by counts.
fn was_stopped(trial: &HostsRecord, index: usize, window: SharedWindow) -> Option<StragglerSeen> {
    let (stopped_ns, window_ns) = (trial.hosts[index].stopped_ns, window.length_ns);
    let of_others = trial.hosts.iter().enumerate().filter(|(other, _)| *other != index);
    let usual = median(&of_others.map(|(_, host)| host.stopped_ns as f64).collect::<Vec<_>>())?;
    let stopped = stopped_ns as f64;
    (stopped >= window_ns as f64 * STOPPED_SHARE && stopped >= usual * STOPPED_RATIO)
        .then_some(StragglerSeen::ToolStopped { stopped_ns, window_ns })
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
            histogram: None,
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

    /// A made-up measurement on one shared storage: its rate drifts and stalls for all, hosts scatter and begin some milliseconds apart.
    /// One host may have less than its share, or stand still for some seconds, whose requests the others then have.
    struct Measured {
        hosts: usize,
        each: f64,
        seconds: usize,
        slow: Option<f64>,
        frozen: Option<std::ops::Range<usize>>,
    }

    impl Measured {
        fn of(seed: u64) -> Self {
            let pick = |salt: u64, count: usize| {
                (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(salt as u32 * 7) >> 33) as usize % count
            };
            let hosts = [2, 3, 4, 8, 16][pick(1, 5)];
            let each = [80.0, 300.0, 1_000.0, 20_000.0][pick(2, 4)];
            Self { hosts, each, seconds: [8, 12, 20, 60][pick(3, 4)], slow: None, frozen: None }
        }
        /// The second host is the odd one.
        fn trial(&self, seed: u64) -> HostsRecord {
            let noise =
                |of: u64, r: f64| crate::statistics::tests::noise(seed.wrapping_mul(1_000) + of, self.seconds, r);
            let shared = noise(900, 0.6);
            let hosts: Vec<HostTrial> = (0..self.hosts)
                .map(|number| {
                    let counts: Vec<u64> = noise(number as u64, 0.0)
                        .into_iter()
                        .enumerate()
                        .map(|(second, own)| {
                            let stalled = if second == self.seconds / 3 { 0.6 } else { 1.0 };
                            let storage = (1.0 + 0.04 * shared[second]) * stalled;
                            let is_odd = number == 1;
                            let is_frozen = self.frozen.as_ref().is_some_and(|frozen| frozen.contains(&second));
                            let share = match (is_frozen, is_odd) {
                                (true, true) => 0.0,
                                (true, false) => self.hosts as f64 / (self.hosts - 1) as f64,
                                (false, true) => self.slow.unwrap_or(1.0),
                                (false, false) => 1.0,
                            };
                            let rate = self.each * storage * share;
                            (rate + own * rate.sqrt()).round().max(0.0) as u64
                        })
                        .collect();
                    HostTrial { from_ns: (number as u64 * 37) % 5 * 400_000, ..host(&format!("h{number}"), &counts) }
                })
                .collect();
            let from_ns = hosts.iter().map(|host| host.from_ns).max().unwrap();
            let to = hosts.iter().map(HostTrial::to_ns).min().unwrap();
            HostsRecord { window: Some(SharedWindow { from_ns, length_ns: to - from_ns }), ..trial(hosts) }
        }
    }

    #[test]
    fn the_odd_host_is_named_in_every_hundred_and_none_where_there_is_none() {
        let (mut slow, mut frozen, mut falsely) = (0, 0, 0);
        let only = |found: &[Straggler]| found.iter().map(|one| one.host.as_str()).collect::<Vec<_>>() == ["h1"];
        let named = |found: &[Straggler]| found.iter().any(|one| one.host == "h1");
        let mut others = 0;
        for seed in 0..100 {
            let even = Measured::of(seed);
            falsely += u32::from(!stragglers_of(&even.trial(seed)).is_empty());
            let found = stragglers_of(&Measured { slow: Some(0.7), ..Measured::of(seed) }.trial(seed));
            slow += u32::from(named(&found));
            others += u32::from(!only(&found));
            let found = stragglers_of(&Measured { frozen: Some(4..6), ..Measured::of(seed) }.trial(seed));
            frozen += u32::from(named(&found));
            others += u32::from(!only(&found));
        }
        println!(
            "of 100: {slow} throttled and {frozen} frozen named, {others} of 200 with others; {falsely} where there was none"
        );
        assert_eq!((slow, frozen), (100, 100));
        assert!(falsely <= 5 && others <= 10, "{falsely} {others}");
    }

    /// That a host stood still for two seconds.
    const fn stood(from_ns: u64, stopped_ns: u64) -> StragglerSeen {
        StragglerSeen::StoodStill { length_ns: 2_000_000_000, from_ns, stopped_ns }
    }

    #[test]
    fn a_frozen_host_is_named_though_it_caught_up() {
        let mut counts = vec![1_000; 12];
        (counts[4], counts[5], counts[6]) = (0, 0, 3_000);
        let frozen = HostTrial { stopped_ns: 2_000_000_000, ..host("b", &counts) };
        let found = stragglers_of(&trial(vec![host("a", &[1_000; 12]), frozen, host("c", &[1_000; 12])]));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].host, "b");
        assert_eq!(found[0].seen, stood(4_000_000_000, 2_000_000_000));
    }

    #[test]
    fn a_host_that_was_frozen_for_most_of_its_time_is_named() {
        let frozen = host("b", &[350, 0, 0]);
        let found = stragglers_of(&trial(vec![host("a", &[1_000; 3]), frozen, host("c", &[1_000; 3])]));
        assert_eq!(found.iter().map(|one| one.host.as_str()).collect::<Vec<_>>(), ["b"]);
        assert_eq!(found[0].seen, stood(1_000_000_000, 0));
    }

    /// Its only interval with requests began before the others did, and must not be left out for it.
    #[test]
    fn a_host_that_began_microseconds_before_the_others_and_was_frozen_is_named() {
        let late = |name: &str| HostTrial { from_ns: 23_000, ..host(name, &[1_000; 3]) };
        let mut shared = trial(vec![late("a"), host("b", &[500, 10, 0]), late("c")]);
        shared.window = Some(SharedWindow { from_ns: 23_000, length_ns: 3_000_000_000 - 23_000 });
        let found = stragglers_of(&shared);
        assert_eq!(found.iter().map(|one| one.host.as_str()).collect::<Vec<_>>(), ["b"]);
        assert_eq!(found[0].seen, stood(1_000_000_000 - 23_000, 0));
    }

    #[test]
    fn a_pause_of_the_tool_is_evidence_where_counts_are_too_few_and_pauses_of_all_are_not() {
        let stopped = |name: &str, counts: &[u64], stopped_ns| HostTrial { stopped_ns, ..host(name, counts) };
        let one = trial(vec![host("a", &[19; 3]), stopped("b", &[10, 0, 9], 1_900_000_000), host("c", &[19; 3])]);
        let found = stragglers_of(&one);
        let seen = StragglerSeen::ToolStopped { stopped_ns: 1_900_000_000, window_ns: 3_000_000_000 };
        assert_eq!(found, [Straggler { host: "b".to_owned(), seen }]);
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
