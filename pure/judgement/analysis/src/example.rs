//! Made-up records for tests: cells of a disk that follows a simple queueing formula, with counters that fit.

use crate::doubts;
use loadline_block::Operation;
use loadline_load::{Arrival, BlockShare, Distribution, LatencyFigure, LoadSpec, Objective, Pattern};
use loadline_record::{
    Access, ArrivalKind, Binding, BurstEnd, CacheUse, Ceiling, CellRecord, Clock, ClockCheck, DeviceCounters,
    DeviceFacts, DrawTaken, EngineName, EngineUsed, Evidence, Extents, FileSystemFacts, Histogram, HostFacts, Limit,
    Load, LoadFigures, MachineCpu, ModelRecord, OperationRecord, PlanText, Pressure, RunHeader, RunRecord, RunStatus,
    RunVerb, Second, Series, Stage, StageWait, StateTaken, Surroundings, TargetKind, ThreadBusy, TrialRecord,
    VolumeFacts,
};
use loadline_units::{Bytes, Duration, Iops, Ratio};
use std::collections::BTreeMap;

/// A load of a plan with these figures, and with nothing chosen that a plan may leave out.
#[must_use]
pub fn planned(load: &LoadFigures) -> LoadSpec {
    let rate = load.rate_iops.map(|rate| Iops::per_second(rate as u64).expect("a rate is not zero"));
    LoadSpec {
        pattern: match load.pattern {
            Access::Random => Pattern::Random(Distribution::Uniform),
            _ => Pattern::Sequential { stride: None },
        },
        reads: Ratio::ppm((load.read_ratio * 1e6).round() as u32).expect("a share"),
        blocks: vec![BlockShare { size: Bytes::new(load.block_bytes), share: Ratio::ONE }],
        arrival: match (load.queue_depth, rate) {
            (Some(queue_depth), rate_max) => Arrival::Closed { queue_depth, rate_max, think_time: Duration::ZERO },
            (None, rate) => Arrival::Poisson { rate: rate.expect("an open loop has a rate") },
        },
        threads: load.threads,
        size: load.size_bytes.map(Bytes::new),
        buffered: load.buffered,
        duration: Duration::from_ns(load.duration_ns),
        trials: 1,
        objective: load.objective,
        ..LoadSpec::default()
    }
}

/// The same as plans store it, without an objective.
#[must_use]
pub fn stored(load: &LoadFigures) -> serde_json::Value {
    let spec = LoadSpec { objective: None, ..planned(load) };
    serde_json::to_value(spec).expect("a specification is plain data")
}

/// Changes a cell's load as it is stored.
pub fn change(cell: &mut CellRecord, how: impl FnOnce(&mut serde_json::Value)) {
    let mut spec = cell.load.spec_stored();
    how(&mut spec);
    cell.load = Load::stored(cell.load.figures(), spec);
}

/// What else a load may be: the key of [`stored`] in which each differs, as a JSON pointer, and its value there. The sizes of the
/// mixes have the mean of blocks of 34 KiB.
#[must_use]
pub fn other_loads() -> Vec<(&'static str, serde_json::Value)> {
    use serde_json::json;
    let mix = |small: &str, large: &str| json!([{"size": "4 KiB", "share": small}, {"size": "64 KiB", "share": large}]);
    let rounds = json!({"round": "1 min", "rounds": 5, "rounds_max": 25, "range": "20 %", "slope": "10 %"});
    vec![
        ("/name", json!("another")),
        ("/pattern", json!({"random": "permutation"})),
        ("/pattern", json!({"random": {"zipf": {"theta_milli": 1200}}})),
        ("/pattern", json!({"random": {"hot-cold": {"requests": "90 %", "blocks": "10 %"}}})),
        ("/trims", json!("10 %")),
        ("/blocks", mix("50 %", "50 %")),
        ("/align", json!("64 KiB")),
        ("/arrival/closed/rate_max", json!("100 IOPS")),
        ("/arrival/closed/think_time", json!("1 ms")),
        ("/size", json!("1 GiB")),
        ("/start", json!("1 GiB")),
        ("/files", json!(4)),
        ("/flush", json!({"every": 1, "how": "fdatasync"})),
        ("/flush", json!({"every": 8, "how": "fua"})),
        ("/buffered", json!(true)),
        ("/content/compressible", json!("90 %")),
        ("/content/duplicate", json!("50 %")),
        ("/verify", json!(true)),
        ("/fill", json!("never")),
        ("/drop_caches", json!(true)),
        ("/warm_up", json!("0 ns")),
        ("/cool_down", json!("1 s")),
        ("/steady_state", rounds),
        ("/duration", json!("10 s")),
        ("/volume", json!("1 GiB")),
        ("/trials", json!(2)),
        ("/pause", json!("1 s")),
        ("/hang_limit", json!("5 s")),
        ("/objective", json!({"of": "p99", "limit": "5 ms"})),
    ]
}

/// A disk that answers a request after `latency_ns` until one of its limits binds; then requests queue.
#[derive(Debug, Clone, Copy)]
pub struct ExampleDisk {
    /// Of a request that waits for nobody.
    pub latency_ns: f64,
    /// Requests per second at most.
    pub iops: f64,
    /// Bytes per second at most.
    pub bytes_per_s: f64,
}

impl Default for ExampleDisk {
    /// 1 ms, 5,000 IOPS, 200 MB/s.
    fn default() -> Self {
        Self { latency_ns: 1e6, iops: 5_000.0, bytes_per_s: 200e6 }
    }
}

/// A closed loop on one thread, measured for 60 s.
#[must_use]
pub fn closed(pattern: &str, read_ratio: f64, block_bytes: u64, queue_depth: u32) -> LoadFigures {
    LoadFigures {
        pattern: pattern.into(),
        read_ratio,
        block_bytes,
        queue_depth: Some(queue_depth),
        threads: 1,
        arrival: ArrivalKind::Closed,
        rate_iops: None,
        buffered: false,
        size_bytes: None,
        flush_every: None,
        duration_ns: 60_000_000_000,
        objective: Some(Objective { of: LatencyFigure::Mean, limit: Duration::from_ms(20) }),
    }
}

/// Poisson arrivals on one thread, measured for 60 s.
#[must_use]
pub fn open(pattern: &str, read_ratio: f64, block_bytes: u64, rate_iops: f64) -> LoadFigures {
    LoadFigures {
        queue_depth: None,
        arrival: ArrivalKind::Poisson,
        rate_iops: Some(rate_iops),
        ..closed(pattern, read_ratio, block_bytes, 1)
    }
}

/// A test file on ext4 on a disk `vda`.
#[must_use]
pub fn volume(name: &str) -> VolumeFacts {
    VolumeFacts {
        name: name.to_owned(),
        target: "/mnt/data".to_owned(),
        kind: TargetKind::TestFile,
        path: Some("/mnt/data/loadline.test".to_owned()),
        size_bytes: Some(16 << 30),
        size_reason: "twice the memory".to_owned(),
        direct: true,
        direct_reason: None,
        file_system: Some(FileSystemFacts {
            kind: "ext4".to_owned(),
            source: "/dev/vda1".to_owned(),
            mount_point: "/mnt/data".to_owned(),
            options: "rw,relatime".to_owned(),
            free_bytes: Some(100 << 30),
            beneath: None,
        }),
        devices: vec![DeviceFacts {
            name: "vda".to_owned(),
            queue_requests: Some(256),
            request_bytes_max: Some(1_310_720),
            scheduler: Some("none".to_owned()),
            ..DeviceFacts::default()
        }],
        extents: Some(Extents { written_bytes: 16 << 30, count: 12, ..Extents::default() }),
    }
}

/// A trial of `load` on `disk`, number `number`, whose rate is `factor` times what the formula gives; without doubts yet.
#[must_use]
pub fn trial(load: &LoadFigures, disk: &ExampleDisk, number: u32, factor: f64) -> TrialRecord {
    let seconds = load.duration_ns as f64 / 1e9;
    let most = disk.iops.min(disk.bytes_per_s / load.block_bytes as f64);
    let outstanding = load.queue_depth.map(|depth| f64::from(depth) * f64::from(load.threads));
    let (rate, latency_ns) = match (outstanding, load.rate_iops) {
        (Some(n), _) => {
            let rate = (n * 1e9 / disk.latency_ns).min(most) * factor;
            (rate, n * 1e9 / rate)
        }
        (None, Some(offered)) if offered < most => (offered, disk.latency_ns / (1.0 - offered / most).max(0.02)),
        (None, offered) => {
            let offered = offered.unwrap_or(most);
            (most, disk.latency_ns + seconds * 1e9 / 2.0 * (1.0 - most / offered))
        }
    };
    let mut series = Series { last_ns: 1_000_000_000, ..Series::default() };
    let mut operations: BTreeMap<Operation, OperationRecord> = BTreeMap::new();
    for second in 0..seconds as u64 {
        let wobble = 1.0 + ((second * 7_919 % 11) as f64 - 5.0) / 1_000.0;
        let mut interval = Second { outstanding: outstanding.unwrap_or(rate * latency_ns / 1e9), ..Second::default() };
        for (operation, share) in [(Operation::Read, load.read_ratio), (Operation::Write, 1.0 - load.read_ratio)] {
            let count = (rate * share * wobble).round() as u64;
            if count > 0 {
                let of_second = &mut interval.operations[operation.index()];
                (of_second.count, of_second.bytes) = (count, count * load.block_bytes);
                (of_second.p50_ns, of_second.p99_ns) = (latency_ns as u64, (latency_ns * 1.39) as u64);
                of_second.max_ns = (latency_ns * 1.4) as u64;
                let record = operations.entry(operation).or_default();
                record.count += count;
                record.bytes += count * load.block_bytes;
            }
        }
        series.push(interval);
    }
    for record in operations.values_mut() {
        record.latency = latencies(record.count, latency_ns);
        if outstanding.is_none() {
            record.waiting = Some(latencies(record.count, latency_ns - disk.latency_ns));
            record.service = Some(latencies(record.count, disk.latency_ns));
        }
    }
    TrialRecord {
        warm_up_ns: 5_000_000_000,
        measured_ns: load.duration_ns,
        surroundings: surroundings(load, &operations, latency_ns),
        operations,
        offered_iops: load.rate_iops.filter(|_| outstanding.is_none()),
        missed: load.rate_iops.filter(|_| outstanding.is_none()).map_or(0, |o| ((o - rate).max(0.0) * seconds) as u64),
        series,
        ..TrialRecord::empty(
            number,
            1_760_000_000 + u64::from(number) * 70,
            EngineUsed {
                name: EngineName::IoUring,
                reason: "the machine allows it".to_owned(),
                options: vec!["fixed buffers".to_owned()],
            },
        )
    }
}

/// `count` latencies spread evenly from 0.6 to 1.4 times the mean.
#[must_use]
pub fn latencies(count: u64, mean_ns: f64) -> Histogram {
    const STEPS: u64 = 1_000;
    let place = |i: u64, of: u64| Duration::from_ns((mean_ns * (0.6 + 0.8 * (i as f64 + 0.5) / of as f64)) as u64);
    let mut thousand = Histogram::new();
    (0..STEPS).for_each(|i| thousand.record(place(i, STEPS)));
    let mut all = Histogram::new();
    // So many thousands, each power of two of them at once.
    let (mut thousands, mut together) = (count / STEPS, thousand);
    while thousands > 0 {
        if thousands % 2 == 1 {
            all.merge(&together);
        }
        thousands /= 2;
        together.merge(&together.clone());
    }
    (0..count % STEPS).for_each(|i| all.record(place(i, count % STEPS)));
    all
}

/// Counters of one device that did exactly what was asked, and a machine at rest.
fn surroundings(
    load: &LoadFigures,
    operations: &BTreeMap<Operation, OperationRecord>,
    latency_ns: f64,
) -> Surroundings {
    let asked = |operation| operations.get(&operation).map_or((0, 0), |r| (r.count, r.bytes));
    let (reads, writes) = (asked(Operation::Read), asked(Operation::Write));
    let spent_ms = |count: u64| (count as f64 * latency_ns / 1e6) as u64;
    Surroundings {
        elapsed_ns: load.duration_ns,
        tool_user_ns: 1_500_000_000,
        tool_system_ns: 3_000_000_000,
        load_user_ns: 1_000_000_000,
        load_system_ns: 2_500_000_000,
        threads: vec![ThreadBusy { busy: 0.06, ..ThreadBusy::default() }; load.threads as usize],
        machine: Some(MachineCpu { busy: 0.10, iowait: 0.30, steal: 0.0, cpus: 4 }),
        pressure: Some(Pressure::default()),
        devices: vec![DeviceCounters {
            name: "vda".to_owned(),
            reads: reads.0,
            read_bytes: reads.1,
            read_ms: spent_ms(reads.0),
            writes: writes.0,
            write_bytes: writes.1,
            write_ms: spent_ms(writes.0),
            busy_ms: load.duration_ns / 1_000_000,
            queue_ms: spent_ms(reads.0 + writes.0),
            ..DeviceCounters::default()
        }],
        asked: operations.iter().map(|(operation, r)| (*operation, (r.count, r.bytes))).collect(),
        residency: None,
        beside: None,
        caches_dropped: None,
        others: Vec::new(),
        clock: Some(ClockCheck { source: Some("tsc".to_owned()), drift_ppm: 3.0, wall_step_ns: 0 }),
        exceeded: Vec::new(),
        stops: None,
        turns: Vec::new(),
    }
}

/// A cell of `load` on the volume "data" with one trial for each factor, doubts included.
#[must_use]
pub fn cell(load: LoadFigures, disk: &ExampleDisk, factors: &[f64]) -> CellRecord {
    let what = match load.read_ratio {
        r if r >= 1.0 => "read".to_owned(),
        r if r <= 0.0 => "write".to_owned(),
        r => format!("{} % read", r * 100.0),
    };
    let amount = match (load.queue_depth, load.rate_iops) {
        (Some(depth), _) => format!("depth {depth}"),
        (None, rate) => format!("{} IOPS Poisson", rate.unwrap_or_default()),
    };
    let label = format!("{} {what} {} KiB, {amount}", load.pattern, load.block_bytes >> 10);
    let facts = volume("data");
    let trials = (0u32..)
        .zip(factors)
        .map(|(number, factor)| {
            let mut trial = trial(&load, disk, number, *factor);
            trial.doubts = doubts(&load, &trial, &facts);
            trial
        })
        .collect();
    CellRecord {
        id: label.replace([' ', ','], "-").replace("--", "-"),
        volume: facts.name,
        label,
        load: load.into(),
        beside: Vec::new(),
        ceilings: Vec::new(),
        trials_planned: factors.len() as u32,
        trials,
    }
}

/// A closed loop of `load` under a throttle of the kernel that lets `iops` requests through, in bursts ten times a second: the
/// requests outstanding wait together for the next burst, and the device answers each at once.
#[must_use]
pub fn throttled(load: LoadFigures, iops: f64) -> CellRecord {
    const QUICK_NS: f64 = 20e3;
    const TURN_NS: f64 = 98e6;
    const TURNS_PER_S: f64 = 10.0;
    let (depth, duration_ns) = (f64::from(load.queue_depth.unwrap_or(1)), load.duration_ns as f64);
    let disk = ExampleDisk { latency_ns: QUICK_NS, iops, bytes_per_s: f64::MAX };
    let mut cell = cell(load, &disk, &[1.0]);
    for trial in &mut cell.trials {
        let waiting = (TURNS_PER_S * depth * duration_ns / 1e9) as u64;
        for record in trial.operations.values_mut() {
            let slow = waiting.min(record.count);
            record.latency = latencies(record.count - slow, QUICK_NS);
            (0..slow).for_each(|_| record.latency.record(Duration::from_ns(TURN_NS as u64)));
        }
        for device in &mut trial.surroundings.devices {
            device.queue_ms = (iops * QUICK_NS / 1e6 * duration_ns / 1e9) as u64;
        }
        trial.doubts = doubts(&cell.load.figures(), trial, &volume("data"));
    }
    cell
}

/// A finished run of `cells` on one volume "data".
#[must_use]
pub fn run(cells: Vec<CellRecord>) -> RunRecord {
    RunRecord {
        header: RunHeader {
            id: "20260131-142233-1a2b3c".to_owned(),
            name: "example".to_owned(),
            verb: RunVerb::Run,
            clock: Clock::Real,
            started: "2026-01-31T14:22:33Z".to_owned(),
            version: "0.1.0".to_owned(),
            seed: 7,
            imported: None,
            host: HostFacts { hostname: Some("example".to_owned()), cpus: Some(4), ..HostFacts::default() },
            plans: vec![PlanText {
                name: "example".to_owned(),
                text: "schema = 1\n".to_owned(),
                hash: "af63dc4c8601ec8c".to_owned(),
            }],
            environment: None,
            volumes: vec![volume("data")],
            settings: serde_json::Value::Null,
        },
        status: RunStatus::Finished,
        cells,
    }
}

/// A prediction of 8 requests of 4 KiB outstanding on [`ExampleDisk`]: one trial for each draw, with so much of its speed. The
/// first is the most plausible; its burst ended after 20 s.
#[must_use]
pub fn predicted(draws: &[f64]) -> RunRecord {
    let disk = ExampleDisk::default();
    let mut cell = cell(closed("random", 1.0, 4 << 10, 8), &disk, draws);
    for (number, trial) in (0..).zip(&mut cell.trials) {
        let ceiling = disk.iops * draws[number as usize];
        let limit = if number == 1 { Limit::VmUncachedIops } else { Limit::DiskIops };
        let end = BurstEnd {
            stage: Stage::Disk,
            at_ns: (20 + u64::from(number)) * 1_000_000_000,
            iops_before: Some(3_000.0),
            iops_after: Some(100.0),
            bytes_per_s_before: Some(12_288_000.0),
            bytes_per_s_after: Some(409_600.0),
        };
        trial.surroundings = Surroundings::default();
        trial.doubts.clear();
        trial.model = Some(ModelRecord {
            draw: DrawTaken {
                number,
                latency_ppm: 500_000,
                enforcement_ppm: 500_000,
                delivered_ppm: Some(500_000),
                bursts_ppm: 500_000,
            },
            seed: 1,
            initial: StateTaken { bursts_full: true, vm_bursts_full: None, caches_warm: true, carried: false },
            waits: vec![StageWait { stage: Stage::Disk, requests_ns: 4_000, bytes_ns: 0, credits_ns: 1_000 }],
            cache: Some(CacheUse { hits: 3, misses: 1 }),
            ceilings: vec![Ceiling { limit, iops: ceiling, source: "the disk".into() }],
            binding: Some(Binding {
                limit,
                ceiling_iops: Some(ceiling),
                utilization: Some(1.0),
                seen: Evidence::written("Requests waited for it.".to_owned()),
                inferred: false,
                presumed: false,
                amplification: None,
            }),
            bucket_ns: 0,
            window_ns: 0,
            bursts_ended: vec![end],
            limits_unknown: Vec::new(),
            known_deviations: Vec::new(),
            beside: Vec::new(),
        });
    }
    let mut record = run(vec![cell]);
    record.header.clock = Clock::Virtual;
    record.header.verb = RunVerb::Predict;
    record.header.volumes[0].kind = TargetKind::Modelled;
    record
}

/// A run with a depth sweep at 4 KiB, two block sizes more, mixed requests, flushes, and an open loop through its knee: something of
/// everything that reports show.
#[must_use]
pub fn golden() -> RunRecord {
    let disk = ExampleDisk::default();
    let three = [1.0, 0.998, 1.003];
    let mut cells = Vec::new();
    for reads in [1.0, 0.0] {
        for depth in [1, 2, 4, 8, 16, 32, 64, 128] {
            cells.push(cell(closed("random", reads, 4 << 10, depth), &disk, &three));
        }
    }
    for (block, depths) in [(16 << 10, [1, 8, 32]), (1 << 20, [1, 2, 8])] {
        cells.extend(depths.map(|depth| cell(closed("random", 1.0, block, depth), &disk, &three)));
    }
    cells.push(cell(closed("random", 0.7, 8 << 10, 16), &disk, &three));
    for share in [0.1, 0.5, 0.9, 1.1] {
        cells.push(cell(open("random", 1.0, 4 << 10, disk.iops * share), &disk, &[1.0]));
    }
    cells.push(flushing(&disk));
    run(cells)
}

/// A cell of 4 KiB writes at depth 1, each made durable.
#[must_use]
pub fn flushing(disk: &ExampleDisk) -> CellRecord {
    let load = LoadFigures { flush_every: Some(1), ..closed("random", 0.0, 4 << 10, 1) };
    let mut cell = cell(load, disk, &[0.5]);
    cell.label.push_str(", fdatasync every 1");
    cell.id.push_str("-fdatasync");
    for trial in &mut cell.trials {
        let writes = trial.of(Operation::Write).map_or(0, |w| w.count);
        let flush = OperationRecord { count: writes, latency: latencies(writes, 2.2e6), ..OperationRecord::default() };
        trial.operations.insert(Operation::Flush, flush);
    }
    cell
}
