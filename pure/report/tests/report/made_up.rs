//! Runs built by hand, with everything that a report can show.

use loadline_analysis::{
    AdvisedStep, Binding, Ceiling, CellSummary, ClosedReached, Conclusion, CpuFigures, DeeperWait, DepthKept,
    DepthObjective, Finding, FindingCode, FindingSeen, LevelRate, Limit, LimitKnown, LoadDetails, LoadIdentity,
    LoadReached, LoadStop, LoadView, Meaning, OperationFigures, RunInfo, RunSummary, SCHEMA, StopWay, TotalFigures,
};
use loadline_block::{ErrorKind, Operation};
use loadline_load::{
    Arrival, BlockShare, Content, Distribution, FlushCadence, FlushMethod, LatencyFigure, LoadSpec, Objective, Pattern,
};
use loadline_record::{
    Access, CellRecord, Clock, DeviceFacts, Doubt, DoubtCode, Ending, EngineName, EngineUsed, Evidence, Extents,
    FileSystemFacts, Histogram, HostFacts, OperationRecord, PlanText, RunHeader, RunRecord, RunStatus, RunVerb, Second,
    SecondOperation, Series, TargetKind, TrialRecord, VolumeFacts,
};
use loadline_units::{Bytes, Duration, Iops, Ratio};
use std::collections::BTreeMap;

/// A sequence of numbers between 0 and 1 that is the same every time.
pub(crate) struct Noise(u64);

impl Noise {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }
    pub(crate) fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The wanted figures of one cell.
#[derive(Clone)]
pub(crate) struct CellPlan {
    pub(crate) name: Option<&'static str>,
    pub(crate) volume: &'static str,
    pub(crate) label: String,
    pub(crate) pattern: &'static str,
    pub(crate) read_ratio: f64,
    pub(crate) block_bytes: u64,
    pub(crate) queue_depth: Option<u32>,
    pub(crate) threads: u32,
    pub(crate) offered_iops: Option<f64>,
    pub(crate) achieved_iops: f64,
    pub(crate) latency_ns: f64,
    pub(crate) trials: u32,
    pub(crate) seconds: usize,
    pub(crate) flush_every: Option<u64>,
    pub(crate) objective: Option<Objective>,
    pub(crate) doubts: Vec<(DoubtCode, &'static str)>,
    pub(crate) trend: f64,
}

impl CellPlan {
    pub(crate) fn closed(pattern: &'static str, read_ratio: f64, block_bytes: u64, depth: u32) -> Self {
        let mix = match read_ratio {
            r if r >= 1.0 => "read".to_owned(),
            r if r <= 0.0 => "write".to_owned(),
            r => format!("{:.0} % read", r * 100.0),
        };
        let block = if block_bytes >= 1 << 20 {
            format!("{} MiB", block_bytes >> 20)
        } else {
            format!("{} KiB", block_bytes >> 10)
        };
        Self {
            name: None,
            volume: "data",
            label: format!("{pattern} {mix} {block}, depth {depth}"),
            pattern,
            read_ratio,
            block_bytes,
            queue_depth: Some(depth),
            threads: 1,
            offered_iops: None,
            achieved_iops: 1000.0,
            latency_ns: 1e6,
            trials: 3,
            seconds: 30,
            flush_every: None,
            objective: Some(Objective { of: LatencyFigure::Mean, limit: Duration::from_ms(20) }),
            doubts: Vec::new(),
            trend: 0.0,
        }
    }
    /// Little's law below a ceiling: a disk of this latency and this many IOPS.
    pub(crate) fn on_disk(mut self, floor_ns: f64, ceiling_iops: f64) -> Self {
        let depth = f64::from(self.queue_depth.unwrap_or(1)) * f64::from(self.threads);
        let free = depth * 1e9 / floor_ns;
        // A soft knee between the two limits.
        self.achieved_iops = (free.powi(-4) + ceiling_iops.powi(-4)).powf(-0.25);
        self.latency_ns = depth * 1e9 / self.achieved_iops;
        self
    }
    pub(crate) fn doubted(mut self, code: DoubtCode, detail: &'static str) -> Self {
        self.doubts.push((code, detail));
        self
    }
}

fn histogram(noise: &mut Noise, mean_ns: f64) -> Histogram {
    let mut histogram = Histogram::new();
    for _ in 0..800 {
        // The sum of uniform numbers is near enough to a bell curve; its exponential has the long tail of a disk.
        let bell: f64 = (0..4).map(|_| noise.next()).sum::<f64>() - 2.0;
        let tail = if noise.next() > 0.995 { 6.0 } else { 1.0 };
        histogram.record(Duration::from_ns((mean_ns * (bell * 0.55).exp() * 0.94 * tail) as u64));
    }
    for _ in 0..4 {
        let twice = histogram.clone();
        histogram.merge(&twice);
    }
    histogram
}

fn trial(plan: &CellPlan, number: u32, noise: &mut Noise) -> TrialRecord {
    let factor = 1.0 + (noise.next() - 0.5) * 0.03 + plan.trend * f64::from(number);
    let iops = plan.achieved_iops * factor;
    let mut operations: BTreeMap<Operation, OperationRecord> = BTreeMap::new();
    let mut shares = vec![(Operation::Read, plan.read_ratio, 1.0), (Operation::Write, 1.0 - plan.read_ratio, 1.4)];
    shares.retain(|share| share.1 > 0.0);
    let open = plan.offered_iops.is_some();
    for (operation, share, slower) in &shares {
        let count = (iops * share * plan.seconds as f64) as u64;
        let latency = histogram(noise, plan.latency_ns * slower);
        let waiting = open.then(|| histogram(noise, (plan.latency_ns * 0.02).max(2_000.0)));
        let service = open.then(|| histogram(noise, plan.latency_ns * 0.98));
        let record = OperationRecord {
            count,
            bytes: count * plan.block_bytes,
            errors: 0,
            latency,
            waiting,
            service,
            told: None,
        };
        operations.insert(*operation, record);
    }
    if let Some(every) = plan.flush_every {
        let count = (iops * plan.seconds as f64) as u64 / every;
        let latency = histogram(noise, 2.1e6);
        operations.insert(Operation::Flush, OperationRecord { count, latency, ..OperationRecord::default() });
    }
    let seconds = (0..plan.seconds).map(|index| {
        let mut second = Second { outstanding: f64::from(plan.queue_depth.unwrap_or(4)), ..Second::default() };
        let dip = if index % 17 == 11 { 0.7 } else { 1.0 };
        for (operation, share, slower) in &shares {
            let count = (iops * share * dip * (1.0 + (noise.next() - 0.5) * 0.08)) as u64;
            let p50 = plan.latency_ns * slower * (0.9 + noise.next() * 0.1) / dip;
            second.operations[operation.index()] = SecondOperation {
                count,
                bytes: count * plan.block_bytes,
                p50_ns: p50 as u64,
                p99_ns: (p50 * (2.5 + noise.next()) / dip) as u64,
                max_ns: (p50 * 8.0) as u64,
            };
        }
        second
    });
    let engine = EngineUsed {
        name: EngineName::IoUring,
        reason: "the kernel allows it".to_owned(),
        options: vec!["fixed buffers".to_owned(), "registered files".to_owned()],
    };
    TrialRecord {
        warm_up_ns: 5_000_000_000,
        measured_ns: plan.seconds as u64 * 1_000_000_000,
        operations,
        offered_iops: plan.offered_iops,
        series: Series { interval_s: 1, seconds: seconds.collect(), last_ns: 1_000_000_000 },
        doubts: doubts(plan),
        ..TrialRecord::empty(number, 1_769_868_000 + u64::from(number) * 40, engine)
    }
}

fn doubts(plan: &CellPlan) -> Vec<Doubt> {
    plan.doubts.iter().map(|(code, detail)| Doubt::written(*code, *detail)).collect()
}

pub(crate) fn cell(index: usize, plan: &CellPlan) -> CellRecord {
    let mut noise = Noise::new(index as u64 + 7);
    // Random loads prefer some blocks; what mixes reads and writes mixes two sizes as well, of the same mean.
    let pattern = match plan.pattern {
        "random" => Pattern::Random(Distribution::Zipf { theta_milli: 1_100 }),
        _ => Pattern::Sequential { stride: None },
    };
    let (block, is_mix) = (plan.block_bytes, plan.read_ratio > 0.0 && plan.read_ratio < 1.0);
    let of_size = |bytes: u64, share| BlockShare { size: Bytes::new(bytes), share };
    let blocks = if is_mix {
        [block / 2, block / 2 * 3].map(|size| of_size(size, Ratio::percent(50))).to_vec()
    } else {
        vec![of_size(block, Ratio::ONE)]
    };
    let arrival = match (plan.offered_iops, plan.queue_depth) {
        (None, Some(queue_depth)) => Arrival::Closed { queue_depth, rate_max: None, think_time: Duration::from_ms(1) },
        (rate, _) => Arrival::Poisson { rate: Iops::per_second(rate.expect("an open loop") as u64).expect("a rate") },
    };
    let load = LoadSpec {
        name: plan.name.map(str::to_owned),
        pattern,
        reads: Ratio::ppm((plan.read_ratio * 1e6).round() as u32).expect("a share"),
        blocks,
        files: 2,
        arrival,
        threads: plan.threads,
        flush: plan.flush_every.map(|every| FlushCadence { every, how: FlushMethod::Fua }),
        content: Content { compressible: Ratio::percent(50), ..Content::default() },
        duration: Duration::from_s(60),
        objective: plan.objective,
        ..LoadSpec::default()
    };
    CellRecord {
        id: format!("cell-{index:03}"),
        volume: plan.volume.to_owned(),
        label: plan.label.clone(),
        load: load.into(),
        beside: Vec::new(),
        ceilings: Vec::new(),
        trials_planned: plan.trials,
        trials: (0..plan.trials).map(|number| trial(plan, number, &mut noise)).collect(),
    }
}

/// Figures over the trials of a cell, as plainly as can be.
pub(crate) fn figures(cell: &CellRecord) -> CellSummary {
    let done: Vec<&TrialRecord> = cell.trials.iter().filter(|t| t.count() > 0).collect();
    let mean = |of: &dyn Fn(&TrialRecord) -> f64| done.iter().map(|t| of(t)).sum::<f64>() / done.len() as f64;
    let iops = |t: &TrialRecord| t.iops().unwrap_or(0.0);
    let bytes = |t: &TrialRecord| t.bytes_per_s().unwrap_or(0.0);
    let total = (!done.is_empty()).then(|| {
        let centre = mean(&iops);
        let spread = mean(&|t| (iops(t) - centre).powi(2)).sqrt();
        let interval = (done.len() > 1).then_some(spread * 2.0);
        let mut sorted: Vec<f64> = done.iter().map(|t| bytes(t)).collect();
        sorted.sort_by(f64::total_cmp);
        TotalFigures {
            iops: centre,
            iops_low: interval.map(|half| centre - half),
            iops_high: interval.map(|half| centre + half),
            throughput_bytes_per_s: mean(&bytes),
            throughput_median_bytes_per_s: sorted[sorted.len() / 2],
            throughput_best_bytes_per_s: sorted[sorted.len() - 1],
        }
    });
    let operation = |operation: Operation| {
        let mut parts = [Histogram::new(), Histogram::new(), Histogram::new()];
        for record in done.iter().filter_map(|t| t.of(operation)) {
            parts[0].merge(&record.latency);
            record.waiting.iter().for_each(|h| parts[1].merge(h));
            record.service.iter().for_each(|h| parts[2].merge(h));
        }
        let rate = |t: &TrialRecord, of: fn(&OperationRecord) -> u64| {
            t.of(operation).map_or(0, of) as f64 * 1e9 / t.measured_ns as f64
        };
        Some(OperationFigures {
            latency_ns: parts[0].snapshot()?,
            iops: mean(&|t| rate(t, |o| o.count)),
            throughput_bytes_per_s: mean(&|t| rate(t, |o| o.bytes)),
            latency_range_ns: None,
            latency_interval_ns: None,
            waiting_ns: parts[1].snapshot(),
            service_ns: parts[2].snapshot(),
        })
    };
    let load = cell.load.figures();
    CellSummary {
        id: cell.id.clone(),
        volume: cell.volume.clone(),
        label: cell.label.clone(),
        beside: cell.beside.clone(),
        load: LoadView {
            pattern: load.pattern,
            read_ratio: load.read_ratio,
            block_bytes: load.block_bytes,
            queue_depth: load.queue_depth,
            threads: load.threads,
            arrival: load.arrival,
            rate_iops: load.rate_iops,
            buffered: load.buffered,
            size_bytes: load.size_bytes,
            details: LoadDetails::of(&cell.load),
        },
        identity: LoadIdentity::default(),
        engines: cell.trials.first().map(|trial| trial.engine.clone()).into_iter().collect(),
        trials: done.len() as u32,
        total,
        read: operation(Operation::Read),
        write: operation(Operation::Write),
        trim: None,
        lasting: None,
        flush: operation(Operation::Flush),
        steps: Vec::new(),
        offered_iops: cell.trials.first().and_then(|t| t.offered_iops),
        steady_state: Vec::new(),
        errors: cell.trials.iter().map(TrialRecord::errors_total).sum(),
        cpu: CpuFigures { user_s: 0.4, system_s: 1.1 },
        binding: None,
        binding_share: None,
        held_by: None,
        watch: None,
        hosts: None,
        ceilings: Vec::new(),
        exceeded: Vec::new(),
        prediction: None,
        doubts: cell.doubts(),
        best_of: None,
    }
}

pub(crate) fn volume(name: &str) -> VolumeFacts {
    VolumeFacts {
        name: name.to_owned(),
        target: format!("/mnt/{name}"),
        kind: TargetKind::TestFile,
        path: Some(format!("/mnt/{name}/loadline-test-1a2b3c")),
        size_bytes: Some(64 << 30),
        size_reason: "twice the machine's memory, so that the page cache cannot hold it".to_owned(),
        direct: true,
        direct_reason: None,
        file_system: Some(FileSystemFacts {
            kind: "ext4".to_owned(),
            source: "/dev/sdc1".to_owned(),
            mount_point: format!("/mnt/{name}"),
            options: "rw,relatime".to_owned(),
            free_bytes: Some(900 << 30),
            beneath: None,
        }),
        devices: vec![DeviceFacts {
            name: "sdc".to_owned(),
            model: Some("Virtual Disk".to_owned()),
            rotational: Some(true),
            scheduler: Some("none".to_owned()),
            queue_requests: Some(256),
            request_bytes_max: Some(512 << 10),
            logical_block_bytes: Some(512),
            physical_block_bytes: Some(4096),
            write_cache: Some("write through".to_owned()),
            size_bytes: Some(1 << 40),
            ..DeviceFacts::default()
        }],
        extents: Some(Extents { written_bytes: 64 << 30, count: 33, ..Extents::default() }),
    }
}

pub(crate) fn run(name: &str, volumes: &[&str], cells: Vec<CellRecord>) -> (RunRecord, RunSummary) {
    let plan = "schema = 1\nname = \"outstanding-sweep\"\n\n[[load]]\npattern = [\"random\"]\nreads = [\"100 %\", \"70 %\", \"0 %\"]\nblock = [\"8 KiB\"]\nqueue_depth = [1, 4, 16, 64, 256]\n";
    let header = RunHeader {
        id: "20260131-142233-1a2b3c".to_owned(),
        name: name.to_owned(),
        verb: RunVerb::Run,
        clock: Clock::Real,
        started: "2026-01-31T14:22:33Z".to_owned(),
        version: "0.1.0".to_owned(),
        seed: 42,
        imported: None,
        host: HostFacts {
            hostname: Some("db-test-01".to_owned()),
            kernel: Some("6.1.0-31-amd64".to_owned()),
            os: Some("Debian GNU/Linux 12 (bookworm)".to_owned()),
            cpu_model: Some("Intel(R) Xeon(R) CPU E5-2673 v3 @ 2.40GHz".to_owned()),
            cpus: Some(4),
            memory_bytes: Some(14 << 30),
            virtualization: Some("Microsoft Hyper-V".to_owned()),
            clock_source: None,
            boot_id: None,
            cpu_quotas: Vec::new(),
        },
        plans: vec![PlanText {
            name: "outstanding-sweep".to_owned(),
            text: plan.to_owned(),
            hash: "8f1d3c5b7a9e2046".to_owned(),
        }],
        environment: None,
        volumes: volumes.iter().map(|v| volume(v)).collect(),
        settings: serde_json::Value::Null,
    };
    let summary = RunSummary {
        schema: SCHEMA.to_owned(),
        run: RunInfo {
            id: header.id.clone(),
            name: header.name.clone(),
            verb: header.verb.clone(),
            clock: header.clock,
            started: header.started.clone(),
            version: header.version.clone(),
            status: RunStatus::Finished,
            host: header.host.clone(),
            environment: None,
            plan: header.plans.clone(),
            volumes: header.volumes.clone(),
            seed: header.seed,
            imported: None,
            settings: serde_json::Value::Null,
            tags: Vec::new(),
            marks: Vec::new(),
        },
        cells: cells.iter().map(figures).collect(),
        hosts_scaling: Vec::new(),
        conclusions: Vec::new(),
        findings: Vec::new(),
        verdict: None,
    };
    let record = RunRecord { header, status: RunStatus::Finished, cells };
    let summary = RunSummary { verdict: loadline_analysis::summarize(&record).verdict, ..summary };
    (record, summary)
}

fn finding(code: FindingCode, text: &str, cells: &[&str]) -> Finding {
    let (seen, cells) =
        (FindingSeen::Written { text: text.to_owned() }, cells.iter().map(|c| (*c).to_owned()).collect());
    Finding { code, volume: None, seen, cells }
}

/// Of a closed loop that comes to so many requests of so many bytes each at an amount, and is stopped there.
fn conclusion(
    volume: &str,
    cell: &str,
    (loads, at): (&str, &str),
    (iops, block): (f64, f64),
    stop: Option<Limit>,
) -> Conclusion {
    let rate = LevelRate { iops: Some(iops), bytes_per_s: Some(iops * block), before: None };
    let stop = stop.map(|limit| LoadStop { limit, known: LimitKnown::Inferred, way: StopWay::Binds });
    let (loads, at, is_onwards) = (loads.to_owned(), at.to_owned(), stop.is_some());
    let reached = ClosedReached { loads, rate, levels: None, at, is_onwards, stop };
    Conclusion {
        volume: volume.to_owned(),
        cell: cell.to_owned(),
        limit: None,
        reached: LoadReached::Closed(Box::new(reached)),
        seen: Evidence::default(),
        means: Vec::new(),
        steps: Vec::new(),
        takes_ns: None,
        commands: Vec::new(),
    }
}

/// A run with every kind of cell: a suite, a sweep with mixes, an open-loop curve, fsync, many trials, a failure.
pub(crate) fn everything() -> (RunRecord, RunSummary) {
    const MIB: u64 = 1 << 20;
    let mut plans = Vec::new();
    for (name, pattern, block, depth, ceilings) in [
        ("SEQ1M Q8T1", "sequential", MIB, 8, [191.0, 190.0]),
        ("SEQ128K Q32T1", "sequential", 128 << 10, 32, [1_525.0, 1_490.0]),
        ("RND4K Q32T1", "random", 4096, 32, [16_020.0, 5_010.0]),
        ("RND4K Q1T1", "random", 4096, 1, [5_300.0, 412.0]),
    ] {
        for (read_ratio, ceiling) in [1.0, 0.0].into_iter().zip(ceilings) {
            let plan = CellPlan::closed(pattern, read_ratio, block, depth).on_disk(150e3, ceiling);
            plans.push(CellPlan { name: Some(name), trials: 5, seconds: 5, ..plan });
        }
    }
    for (read_ratio, floor, ceiling) in [(1.0, 420e3, 16_300.0), (0.7, 700e3, 6_900.0), (0.0, 2.1e6, 5_010.0)] {
        for depth in [1, 4, 16, 64, 256] {
            let mut plan = CellPlan::closed("random", read_ratio, 8192, depth).on_disk(floor, ceiling);
            if read_ratio >= 1.0 && depth >= 64 {
                plan = plan.doubted(
                    DoubtCode::CachedReads,
                    "the device completed 31 % of the bytes that were asked; a cache above it answered the rest",
                );
            }
            if depth == 256 && read_ratio <= 0.0 {
                plan = plan.doubted(DoubtCode::ShortRun, "30 s is shorter than the 60 s for which a burst can last");
                plan = plan.doubted(DoubtCode::OtherLoad, "postgres (pid 4711) wrote 1.31 GiB meanwhile");
            }
            plans.push(plan);
        }
    }
    for percent in [10, 30, 50, 70, 80, 90, 100, 110] {
        let offered = 50.0 * f64::from(percent);
        let busy: f64 = (offered / 5_020.0).min(0.995);
        let achieved = offered.min(5_010.0);
        let plan = CellPlan::closed("random", 0.0, 8192, 1);
        let mut plan = CellPlan {
            label: format!("random write 8 KiB, {offered} IOPS Poisson"),
            queue_depth: None,
            offered_iops: Some(offered),
            achieved_iops: achieved,
            latency_ns: 2.1e6 / (1.0 - busy),
            trials: 1,
            ..plan
        };
        if percent > 100 {
            plan = plan.doubted(DoubtCode::OfferedLoadMissed, "5,010 of 5,500 arrivals a second were issued");
        }
        plans.push(plan);
    }
    plans.push(CellPlan {
        label: "sequential write 4 KiB, depth 1, fdatasync every 1".to_owned(),
        flush_every: Some(1),
        ..CellPlan::closed("sequential", 0.0, 4096, 1).on_disk(2.4e6, 5_000.0)
    });
    plans.push(CellPlan {
        label: "sequential read 1 MiB, depth 1 (after dropping caches)".to_owned(),
        trials: 12,
        seconds: 3,
        trend: 0.11,
        ..CellPlan::closed("sequential", 1.0, MIB, 1)
            .on_disk(9e6, 200.0)
            .doubted(DoubtCode::NotSteady, "the rate rose by 121 % from the first trial to the last")
    });
    plans.push(CellPlan {
        label: "sequential write 1 MiB, depth 8, to the end of the volume".to_owned(),
        ..CellPlan::closed("sequential", 0.0, MIB, 8)
            .on_disk(9e6, 190.0)
            .doubted(DoubtCode::Errors, "17 writes failed: no-space")
            .doubted(DoubtCode::EndedEarly, "trial 2 ended after 11 s of 30 s")
    });
    plans.push(CellPlan { trials: 0, ..CellPlan::closed("sequential", 0.5, MIB, 8) });
    let mut cells: Vec<CellRecord> = plans.iter().enumerate().map(|(index, plan)| cell(index, plan)).collect();
    let failing = cells.len() - 2;
    let trial = &mut cells[failing].trials[1];
    trial.measured_ns = 11_000_000_000;
    trial.series.seconds.truncate(11);
    trial.operations.values_mut().for_each(|o| o.count = o.count * 11 / 30);
    trial.operations.values_mut().for_each(|o| o.bytes = o.bytes * 11 / 30);
    trial.errors.insert(ErrorKind::NoSpace, 17);
    trial.error_samples.push("write of 1 MiB at offset 68,718,428,160: no space left on device (ENOSPC)".to_owned());
    trial.ending = Ending::Failed("the device is full; free some space or set a smaller `size`".to_owned());
    let (record, mut summary) = run("quick look at /mnt/data", &["data"], cells);
    for cell in &mut summary.cells {
        let Some(total) = cell.total.as_ref().filter(|_| cell.load.pattern == Access::Random) else { continue };
        let (limit, ceiling, evidence) = if cell.offered_iops.is_some_and(|offered| total.iops > offered * 0.97) {
            (Limit::Arrival, None, "all that was offered was done")
        } else if total.iops > 4_800.0 && cell.load.read_ratio <= 0.0 {
            (Limit::DiskIops, Some(5_000.0), "the same IOPS at every depth from 16 on")
        } else {
            (Limit::Latency, None, "depth over latency gives this rate")
        };
        cell.binding = Some(Binding {
            limit,
            ceiling_iops: ceiling,
            utilization: ceiling.map(|c| total.iops / c),
            seen: Evidence::written(evidence.to_owned()),
            inferred: limit == Limit::DiskIops,
            presumed: false,
            amplification: None,
        });
        cell.ceilings = vec![
            Ceiling { limit: Limit::DiskIops, iops: 5_000.0, source: "environment ds3-p30".into() },
            Ceiling { limit: Limit::VmUncachedIops, iops: 12_800.0, source: "environment ds3-p30".into() },
        ];
    }
    summary.conclusions = vec![
        Conclusion {
            limit: Some(Limit::Cache),
            seen: Evidence::written("The device completed 31 % of the bytes that were asked.".to_owned()),
            means: vec![Meaning::OfLimit { limit: Limit::Cache }],
            steps: vec![AdvisedStep::LargerRange { size_bytes: None }],
            commands: vec![
                "loadline show 20260131-142233-1a2b3c --plan > plan.toml && loadline run plan.toml --on /mnt/data --size '64 GiB'"
                    .to_owned(),
            ],
            ..conclusion(
                "data",
                "cell-011",
                ("random 8 KiB reads", "depth 64"),
                (16_100.0, 8_192.0),
                Some(Limit::Cache),
            )
        },
        Conclusion {
            limit: Some(Limit::DiskIops),
            seen: Evidence::written(
                "The rate levels off at 5,010 IOPS from 16 outstanding on; 4 KiB requests stop at as many.".to_owned(),
            ),
            means: vec![Meaning::DeeperAdds {
                added: Some(DeeperWait { mean_ns: 51.1e6, at: "depth 256".to_owned() }),
                objective: Some(DepthObjective {
                    figure: LatencyFigure::Mean,
                    limit_ns: 20_000_000,
                    kept: DepthKept::UpTo("depth 64".to_owned()),
                }),
            }],
            ..conclusion(
                "data",
                "cell-020",
                ("random 8 KiB writes", "depth 16"),
                (5_010.0, 8_192.0),
                Some(Limit::DiskIops),
            )
        },
    ];
    summary.findings = vec![
        finding(FindingCode::BoundBy, "What a conclusion tells is not told again.", &["cell-020"]),
        finding(
            FindingCode::BestRandomIops,
            "Random 8 KiB writes level off at 5,010 IOPS (41.0 MB/s) from 16 outstanding requests on; more depth buys only latency.",
            &["cell-020", "cell-021", "cell-022"],
        ),
        finding(
            FindingCode::Objective,
            "The objective of 20 ms mean latency is kept up to 64 outstanding writes and lost at 256 (51.1 ms).",
            &["cell-021", "cell-022"],
        ),
        finding(
            FindingCode::DeclaredSurpassed,
            "Reads are answered by a cache above the disk from 64 outstanding on: 16,100 IOPS is not what the disk does.",
            &["cell-011", "cell-012"],
        ),
        finding(
            FindingCode::LatencyAlone,
            "At a Poisson load of 4,500 writes a second p99 latency is 63 ms; at 5,500 the device no longer keeps up.",
            &["cell-028", "cell-029", "cell-030"],
        ),
        finding(FindingCode::FlushLatency, "A write that must be durable waits 2.1 ms for its flush.", &["cell-031"]),
    ];
    (record, summary)
}

/// The matrix of field case D: 200 cells.
pub(crate) fn matrix(seconds: usize, trials: u32) -> (RunRecord, RunSummary) {
    let mut cells = Vec::new();
    for pattern in ["random", "sequential"] {
        for read_ratio in [0.0, 0.2, 0.5, 0.8, 1.0] {
            for kib in [4, 8, 64, 256, 1024] {
                for depth in [1, 2, 16, 32] {
                    let bytes_max = 110e6 + read_ratio * 290e6;
                    let ceiling = f64::min(
                        if pattern == "random" { 1_900.0 } else { 1_984.0 },
                        bytes_max / (f64::from(kib) * 1024.0),
                    );
                    let plan = CellPlan {
                        threads: 2,
                        trials,
                        seconds,
                        objective: None,
                        ..CellPlan::closed(pattern, read_ratio, u64::from(kib as u32) << 10, depth)
                    };
                    let mut plan = plan.on_disk(11e6 - read_ratio * 4e6, ceiling);
                    if depth == 1 && kib == 4 {
                        plan = plan.doubted(DoubtCode::FewSamples, "p99.99 rests on 3 requests");
                    }
                    cells.push(cell(cells.len(), &plan));
                }
            }
        }
    }
    let (record, mut summary) = run("two-hundred cells", &["data"], cells);
    summary.findings = vec![finding(
        FindingCode::BestThroughput,
        "Best throughput 398.7 MB/s: random reads of 256 KiB at depth 32.",
        &[],
    )];
    (record, summary)
}

/// Field case E in small: the same suite on three volumes.
pub(crate) fn layouts() -> (RunRecord, RunSummary) {
    let mut cells = Vec::new();
    for (name, pattern, block, depth) in [("SEQ1M Q8T1", "sequential", 1 << 20, 8), ("RND4K Q32T1", "random", 4096, 32)]
    {
        for read_ratio in [1.0, 0.0] {
            for (volume, factor) in [("local", 1.0), ("striped", 1.9), ("mirrored", 0.6)] {
                let bytes = if block == 4096 { 3e6 } else { 40e6 };
                let plan =
                    CellPlan::closed(pattern, read_ratio, block, depth).on_disk(1e6, bytes * factor / block as f64);
                cells.push(cell(cells.len(), &CellPlan { name: Some(name), volume, ..plan }));
            }
        }
    }
    let (record, mut summary) = run("layouts", &["local", "striped", "mirrored"], cells);
    summary.conclusions = vec![
        conclusion("local", "cell-000", ("sequential 1 MiB reads", "depth 8"), (38.1, 1_048_576.0), None),
        conclusion("striped", "cell-001", ("sequential 1 MiB reads", "depth 8"), (72.5, 1_048_576.0), None),
    ];
    (record, summary)
}
