//! What a verb did since it began, as counters for Prometheus: exact whenever they are scraped, since a rate is the difference of two.
//!
//! Gauges are of states alone: a gauge of a rate or of a percentile would show one second of those between two scrapes.

use loadline_analysis::{LiveFrame, LiveLimit, LiveTotals, LiveVolume};
use loadline_block::Operation;
use loadline_exposition::{Dialect, Exposition, Labels};
use loadline_record::{
    KernelThrottle, Station, Tally, ThrottledQuantity, ThrottledRequests, TrialRecord, WORKER_STATES, WorkerState,
};
use std::collections::BTreeMap;

/// The counters of a verb that goes on.
#[derive(Debug, Clone, Default)]
pub struct Counters {
    frame: Option<LiveFrame>,
    /// Loads by volume and cell.
    cells: BTreeMap<(String, String), CellCounters>,
    /// Trials that were measured.
    trials: u64,
    crawl: Option<CrawlCounters>,
}

/// A load over its trials.
#[derive(Debug, Clone, Default)]
struct CellCounters {
    /// Of trials that are over, by operation.
    over: [Tally; 4],
    /// Of the one that is under way.
    now: [Tally; 4],
    errors: u64,
    trials: u64,
    /// How many trials were over when it was counted last.
    latest: u64,
}

/// What a crawl did.
#[derive(Debug, Clone)]
struct CrawlCounters {
    sources: Vec<(String, [u64; 3])>,
    stations: Vec<(Station, [u64; WORKER_STATES])>,
    queues: Vec<(Station, u64)>,
}

impl Counters {
    /// Takes over what a frame shows.
    pub fn take(&mut self, frame: &LiveFrame) {
        self.frame = Some(frame.clone());
    }

    /// Takes over what loads of these volumes and cells did so far in the trial that is under way, by operation in the order of
    /// [`Operation::index`].
    pub fn under_way<'a>(&mut self, cells: impl Iterator<Item = (&'a str, &'a str, &'a [Tally; 4])>) {
        for (volume, cell, counts) in cells {
            let latest = self.trials;
            let own = self.cell(volume, cell);
            (own.now, own.latest) = (counts.clone(), latest);
        }
    }

    /// Adds a trial that is over, in place of what was counted while it was under way.
    pub fn measured(&mut self, volume: &str, cell: &str, trial: &TrialRecord) {
        self.trials += 1;
        let latest = self.trials;
        let own = self.cell(volume, cell);
        own.now = Default::default();
        (own.trials, own.latest) = (own.trials + 1, latest);
        own.errors += trial.errors.values().sum::<u64>();
        for (operation, record) in &trial.operations {
            let tally = &mut own.over[operation.index()];
            tally.count += record.count;
            tally.bytes += record.bytes;
            tally.latency.merge(&record.latency);
        }
    }

    fn cell(&mut self, volume: &str, cell: &str) -> &mut CellCounters {
        self.cells.entry((volume.to_owned(), cell.to_owned())).or_default()
    }

    /// Takes over what a crawl did: items by source (done, failed, as they were), times by station and state, items in queues.
    pub fn crawled(
        &mut self,
        sources: &[(String, [u64; 3])],
        stations: &[(Station, [u64; WORKER_STATES])],
        queues: &[(Station, u64)],
    ) {
        let (sources, stations, queues) = (sources.to_vec(), stations.to_vec(), queues.to_vec());
        self.crawl = Some(CrawlCounters { sources, stations, queues });
    }

    /// The page that is scraped.
    #[must_use]
    pub fn page(&self, dialect: Dialect) -> String {
        let mut text = Exposition::scraped(dialect);
        if let Some(frame) = &self.frame {
            of_run(&mut text, frame);
            of_devices(&mut text, frame);
            of_limits(&mut text, frame);
        }
        if let Some(crawl) = &self.crawl {
            of_crawl(&mut text, crawl);
        }
        // Those that were counted last come first: where there is no room for all, others have been scraped before.
        let mut cells: Vec<_> =
            self.cells.iter().map(|((volume, cell), of)| (volume.as_str(), cell.as_str(), of)).collect();
        cells.sort_by_key(|(.., of)| std::cmp::Reverse(of.latest));
        of_cells(&mut text, &cells);
        if let Some(frame) = &self.frame {
            of_latencies(&mut text, frame);
        }
        text.end()
    }
}

/// What goes on, and what it costs.
fn of_run(text: &mut Exposition, frame: &LiveFrame) {
    let own = Labels::of(&[("run", &frame.run), ("verb", &frame.verb), ("name", &frame.name)]);
    text.gauge("run_info", "What goes on.", [(own, 1.0)]);
    let alone = |value: f64| (Labels::default(), value);
    text.counter("run_seconds", "Time since it began.", [alone(frame.elapsed_ns as f64 / 1e9)]);
    text.gauge("own_cpu_ratio", "CPU time of loadline itself, as a share of one CPU.", frame.own_cpu_share.map(alone));
    if let Some(trace) = frame.trace {
        text.counter("trace_requests", "Requests in the trace.", [alone(trace.requests as f64)]);
        text.counter("trace_bytes", "Size of the trace.", [alone(trace.bytes as f64)]);
        text.counter("trace_events_lost", "Events that the kernel dropped.", [alone(trace.events_lost as f64)]);
    }
}

/// What loads of one's own did.
fn of_cells(text: &mut Exposition, cells: &[(&str, &str, &CellCounters)]) {
    let labels = |volume: &str, cell: &str| Labels::of(&[("volume", volume), ("cell", cell)]);
    let trials = cells.iter().map(|(volume, cell, of)| (labels(volume, cell), of.trials as f64));
    text.counter("trials", "Trials that are over.", trials);
    let errors = cells.iter().map(|(volume, cell, of)| (labels(volume, cell), of.errors as f64));
    text.counter("errors", "Requests that failed in trials that are over.", errors);
    let each = || {
        cells.iter().flat_map(|(volume, cell, of)| {
            let own = labels(volume, cell);
            Operation::ALL.into_iter().filter_map(move |operation| {
                let mut sum = of.over[operation.index()].clone();
                sum.merge(&of.now[operation.index()]);
                (sum.count > 0).then(|| (own.and(&[("operation", operation.name())]), sum))
            })
        })
    };
    let help = "Requests completed in the measured time.";
    text.counter("requests", help, each().map(|(labels, of)| (labels, of.count as f64)));
    let help = "Bytes of requests completed in the measured time.";
    text.counter("transferred_bytes", help, each().map(|(labels, of)| (labels, of.bytes as f64)));
    let tallies: Vec<(Labels, Tally)> = each().collect();
    let latencies = tallies.iter().map(|(labels, of)| (labels.clone(), &of.latency));
    text.histogram("request_duration_seconds", "Latency of requests, from when they were wanted.", latencies);
}

/// The state of a worker as a label: what it waits for while it has work in hand is one.
const fn state(of: WorkerState) -> &'static str {
    match of {
        WorkerState::Starved => "starved",
        WorkerState::Blocked => "blocked",
        WorkerState::Gated => "gated",
        WorkerState::Cpu => "busy",
        WorkerState::Device | WorkerState::Network | WorkerState::Pool | WorkerState::Other => "waiting",
    }
}

/// Items, stations and queues of a crawl.
fn of_crawl(text: &mut Exposition, crawl: &CrawlCounters) {
    let items = crawl.sources.iter().flat_map(|(source, counts)| {
        let outcomes = ["done", "failed", "unchanged"].into_iter().zip(counts);
        outcomes.map(move |(outcome, count)| (Labels::of(&[("source", source), ("outcome", outcome)]), *count as f64))
    });
    text.counter("items", "Items by how they came out.", items);
    let times = crawl.stations.iter().flat_map(|(station, times_ns)| {
        let mut by_state: BTreeMap<&str, u64> = BTreeMap::new();
        for of in WorkerState::ALL {
            *by_state.entry(state(of)).or_default() += times_ns[of.index()];
        }
        by_state
            .into_iter()
            .map(move |(state, ns)| (Labels::of(&[("station", station.name()), ("state", state)]), ns as f64 / 1e9))
    });
    text.counter("station_seconds", "Time of workers and slots by state, counted when the state ends.", times);
    let queues =
        crawl.queues.iter().map(|(station, items)| (Labels::of(&[("station", station.name())]), *items as f64));
    text.gauge("queue_items", "Items before a station.", queues);
}

/// Devices with their counters.
fn totals(frame: &LiveFrame) -> impl Iterator<Item = (Labels, &LiveTotals)> {
    frame.volumes.iter().filter_map(|volume| Some((device(volume), volume.totals.as_ref()?)))
}

fn device(volume: &LiveVolume) -> Labels {
    Labels::of(&[("device", &volume.name)])
}

/// What the kernel counts of devices.
fn of_devices(text: &mut Exposition, frame: &LiveFrame) {
    let by_operation = |of: fn(&LiveTotals) -> Vec<(Operation, u64)>| {
        totals(frame).flat_map(move |(device, totals)| {
            let labelled = move |(operation, count): (Operation, u64)| {
                (device.and(&[("operation", operation.name())]), count as f64)
            };
            of(totals).into_iter().map(labelled)
        })
    };
    let requests = by_operation(|LiveTotals { counted, .. }| {
        vec![
            (Operation::Read, counted.reads),
            (Operation::Write, counted.writes),
            (Operation::Trim, counted.discards),
            (Operation::Flush, counted.flushes),
        ]
    });
    text.counter("requests", "Requests completed; a flush without data is no write.", requests);
    let bytes = by_operation(|LiveTotals { counted, .. }| {
        vec![(Operation::Read, counted.read_bytes), (Operation::Write, counted.write_bytes)]
    });
    text.counter("transferred_bytes", "Bytes read and written.", bytes);
    let times = by_operation(|LiveTotals { counted, .. }| {
        vec![
            (Operation::Read, counted.read_ms),
            (Operation::Write, counted.write_ms),
            (Operation::Flush, counted.flush_ms),
        ]
    });
    let help = "Sum of the times of requests that completed.";
    text.counter("request_seconds", help, times.map(|(labels, ms)| (labels, ms / 1e3)));
    let of = |of: fn(&LiveTotals) -> u64| totals(frame).map(move |(device, totals)| (device, of(totals) as f64));
    let busy = of(|totals| totals.counted.busy_ms).map(|(labels, ms)| (labels, ms / 1e3));
    text.counter("busy_seconds", "Time with a request in flight.", busy);
    let seconds = |(labels, us): (Labels, f64)| (labels, us / 1e6);
    let help = "Requests in flight times how long they were, looked at again and again.";
    text.counter("outstanding_seconds", help, of(|totals| totals.outstanding_us).map(seconds));
    text.counter("watched_seconds", "Time that was watched.", of(|totals| totals.counted.elapsed_us).map(seconds));
    let causes = totals(frame).flat_map(|(device, totals)| {
        let of = move |(cause, us): (&&str, &u64)| (device.and(&[("cause", cause)]), *us as f64 / 1e6);
        totals.causes_us.iter().map(of)
    });
    let help = "Time by what it went to for the most part, each second to one cause.";
    text.counter("cause_seconds", help, causes);
}

/// Limits that are known, and what holds each device.
fn of_limits(text: &mut Exposition, frame: &LiveFrame) {
    let limits = || frame.volumes.iter().flat_map(|volume| volume.limits.iter().map(move |limit| (volume, limit)));
    let requests = limits().filter_map(|(volume, limit)| match limit {
        LiveLimit::Throttle { throttle, .. } if throttle.counts == ThrottledQuantity::Requests => {
            Some((of_limit(volume, limit), throttle.per_s as f64))
        }
        LiveLimit::Declared { iops, .. } => Some((of_limit(volume, limit), *iops)),
        LiveLimit::Throttle { .. } => None,
    });
    let help = "Limits as requests per second; declared ones for requests as they are now.";
    text.gauge("limit_requests_per_second", help, requests);
    let bytes = limits().filter_map(|(volume, limit)| match limit {
        LiveLimit::Throttle { throttle, .. } if throttle.counts == ThrottledQuantity::Bytes => {
            Some((of_limit(volume, limit), throttle.per_s as f64))
        }
        LiveLimit::Throttle { .. } | LiveLimit::Declared { .. } => None,
    });
    text.gauge("limit_bytes_per_second", "Limits as bytes per second.", bytes);
    let judged = frame.volumes.iter().filter_map(|volume| {
        let judged = volume.judged.as_ref()?;
        let limit = judged.limit.map_or("none", loadline_record::Limit::name);
        Some((device(volume).and(&[("limit", limit), ("certainty", judged.certainty.name())]), 1.0))
    });
    text.gauge("held_info", "What holds a device over the last minute, and how sure that is.", judged);
}

/// The label of a limit: a throttle is known by its file in the kernel, which names its group and what it counts.
fn of_limit(volume: &LiveVolume, limit: &LiveLimit) -> Labels {
    match limit {
        LiveLimit::Throttle { throttle: KernelThrottle { requests, group, .. }, .. } => {
            let requests = match requests {
                ThrottledRequests::Reads => "read",
                ThrottledRequests::Writes => "write",
            };
            device(volume).and(&[("limit", "throttle"), ("operation", requests), ("group", group)])
        }
        LiveLimit::Declared { limit, .. } => device(volume).and(&[("limit", limit.name())]),
    }
}

/// Latencies, where each request is seen.
fn of_latencies(text: &mut Exposition, frame: &LiveFrame) {
    let latencies = totals(frame).flat_map(|(device, totals)| {
        let of = move |(operation, latency): (&Operation, _)| (device.and(&[("operation", operation.name())]), latency);
        totals.latencies.iter().map(of)
    });
    text.histogram("request_duration_seconds", "Latency of requests, from when they came to the device.", latencies);
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_exposition::SERIES_MAX;
    use loadline_record::{Histogram, OperationRecord, WatchCause, WatchTick};
    use loadline_units::Duration;

    /// A device after two looks at its counters, the first of them too early to be judged.
    fn watched(name: &str) -> LiveVolume {
        let tick = WatchTick {
            elapsed_us: 500_000,
            reads: 1_500,
            read_bytes: 6_144_000,
            read_ms: 2_000,
            in_flight: 4,
            ..WatchTick::default()
        };
        let mut totals = LiveTotals::default();
        totals.add(tick);
        totals.charge(None);
        totals.add(WatchTick { busy_ms: 500, writes: 3, in_flight: 2, ..tick });
        totals.charge(Some(&WatchCause::Level));
        let mut latencies = Histogram::new();
        latencies.record(Duration::from_ms(2));
        totals.latencies.insert(Operation::Read, latencies);
        let throttle = KernelThrottle {
            requests: ThrottledRequests::Reads,
            counts: ThrottledQuantity::Requests,
            per_s: 3_000,
            group: "/db".into(),
            file: "/sys/fs/cgroup/db/io.max".into(),
            lifted_by: "7:0 riops=max".into(),
        };
        let limits = vec![LiveLimit::Throttle { throttle, asked_share: Some(1.0) }];
        LiveVolume { name: name.into(), totals: Some(totals), limits, ..LiveVolume::default() }
    }

    fn page(devices: usize) -> String {
        let volumes = (0..devices).map(|place| watched(&format!("vd{place}"))).collect();
        let mut counters = Counters::default();
        counters.take(&LiveFrame {
            volumes,
            elapsed_ns: 1_500_000_000,
            ..LiveFrame::new("1".into(), "watch".into(), "w".into())
        });
        counters.page(Dialect::Prometheus)
    }

    #[test]
    fn a_watched_device_has_counters_and_its_time_is_all_charged_to_causes() {
        let page = page(1);
        for line in [
            "loadline_run_info{run=\"1\",verb=\"watch\",name=\"w\"} 1",
            "loadline_run_seconds_total 1.5",
            "loadline_requests_total{device=\"vd0\",operation=\"read\"} 3000",
            "loadline_requests_total{device=\"vd0\",operation=\"flush\"} 0",
            "loadline_transferred_bytes_total{device=\"vd0\",operation=\"read\"} 12288000",
            "loadline_request_seconds_total{device=\"vd0\",operation=\"read\"} 4",
            "loadline_busy_seconds_total{device=\"vd0\"} 0.5",
            "loadline_outstanding_seconds_total{device=\"vd0\"} 3",
            "loadline_watched_seconds_total{device=\"vd0\"} 1",
            "loadline_cause_seconds_total{device=\"vd0\",cause=\"level\"} 0.5",
            "loadline_cause_seconds_total{device=\"vd0\",cause=\"unjudged\"} 0.5",
            "loadline_limit_requests_per_second{device=\"vd0\",limit=\"throttle\",operation=\"read\",group=\"/db\"} 3000",
            "loadline_request_duration_seconds_count{device=\"vd0\",operation=\"read\"} 1",
        ] {
            assert!(page.lines().any(|own| own == line), "{line}: {page}");
        }
    }

    fn tallies(latencies_ms: &[u64]) -> [Tally; 4] {
        let mut tallies = <[Tally; 4]>::default();
        let read = &mut tallies[Operation::Read.index()];
        for ms in latencies_ms {
            (read.count, read.bytes) = (read.count + 1, read.bytes + 4_096);
            read.latency.record(Duration::from_ms(*ms));
        }
        tallies
    }

    fn trial(latencies_ms: &[u64]) -> TrialRecord {
        let read = tallies(latencies_ms)[Operation::Read.index()].clone();
        let record = OperationRecord {
            count: read.count,
            bytes: read.bytes,
            latency: read.latency,
            ..OperationRecord::default()
        };
        let mut trial = loadline_analysis::example::cell(
            loadline_analysis::example::closed("random", 1.0, 4_096, 1),
            &loadline_analysis::example::ExampleDisk::default(),
            &[1.0],
        )
        .trials
        .remove(0);
        (trial.operations, trial.errors) =
            ([(Operation::Read, record)].into(), [(loadline_block::ErrorKind::Io, 2)].into());
        trial
    }

    #[test]
    fn a_trial_that_is_over_takes_the_place_of_what_was_counted_of_it() {
        let count = |counters: &Counters, name: &str| -> u64 {
            let page = counters.page(Dialect::Prometheus);
            let start = format!("loadline_{name}{{volume=\"data\",cell=\"c1\"");
            let line =
                page.lines().find(|line| line.starts_with(&start)).unwrap_or_else(|| panic!("no {start} in {page}"));
            line.rsplit_once(' ').unwrap().1.parse().unwrap()
        };
        let mut counters = Counters::default();
        counters.under_way([("data", "c1", &tallies(&[1, 2]))].into_iter());
        assert_eq!(count(&counters, "requests_total"), 2);
        counters.measured("data", "c1", &trial(&[1, 2, 3]));
        assert_eq!((count(&counters, "requests_total"), count(&counters, "trials_total")), (3, 1));
        counters.under_way([("data", "c1", &tallies(&[30])), ("data", "c2", &tallies(&[5]))].into_iter());
        assert_eq!((count(&counters, "requests_total"), count(&counters, "errors_total")), (4, 2));
        assert_eq!(count(&counters, "transferred_bytes_total"), 4 * 4_096);
        assert_eq!(count(&counters, "request_duration_seconds_count"), 4);
        // As many cells as there is no room for: those that were counted last are there.
        for cell in 0..200 {
            counters.measured("data", &format!("of-{cell}"), &trial(&[1]));
        }
        let page = counters.page(Dialect::Prometheus);
        let series = page.lines().filter(|line| !line.starts_with('#')).count();
        assert!(series <= SERIES_MAX && page.contains("loadline_series_left_out "), "{series}");
        assert!(
            page.contains("_bucket{volume=\"data\",cell=\"of-199\"")
                && !page.contains("_bucket{volume=\"data\",cell=\"of-1\"")
        );
    }

    #[test]
    fn a_crawl_has_items_by_outcome_and_workers_by_state() {
        let mut counters = Counters::default();
        let mut times_ns = [0; WORKER_STATES];
        times_ns[WorkerState::Cpu.index()] = 2_000_000_000;
        times_ns[WorkerState::Device.index()] = 1_500_000_000;
        times_ns[WorkerState::Network.index()] = 500_000_000;
        counters.crawled(&[("docs".into(), [7, 1, 0])], &[(Station::Index, times_ns)], &[(Station::Index, 4)]);
        let page = counters.page(Dialect::OpenMetrics);
        for line in [
            "loadline_items_total{source=\"docs\",outcome=\"done\"} 7",
            "loadline_items_total{source=\"docs\",outcome=\"failed\"} 1",
            "loadline_station_seconds_total{station=\"index\",state=\"busy\"} 2",
            "loadline_station_seconds_total{station=\"index\",state=\"waiting\"} 2",
            "loadline_station_seconds_total{station=\"index\",state=\"gated\"} 0",
            "loadline_queue_items{station=\"index\"} 4",
        ] {
            assert!(page.lines().any(|own| own == line), "{line}: {page}");
        }
    }

    #[test]
    fn a_machine_with_very_many_devices_has_as_many_series_as_there_is_room_for() {
        let page = page(500);
        let series = page.lines().filter(|line| !line.starts_with('#')).count();
        assert!(series <= SERIES_MAX && page.contains("loadline_series_left_out "), "{series}");
    }
}
