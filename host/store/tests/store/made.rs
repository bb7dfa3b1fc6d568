//! Records like those of a real run, from a seed.

use loadline_block::Operation;
use loadline_load::{LatencyFigure, Objective};
use loadline_record::{
    Access, ArrivalKind, CellRecord, Clock, DeviceCounters, Doubt, DoubtCode, DoubtEvidence, EngineUsed, Histogram,
    HostFacts, Load, LoadFigures, MachineCpu, OperationRecord, PlanText, Pressure, RunHeader, RunVerb, Second,
    SecondOperation, Series, Surroundings, TargetKind, ThreadBusy, TrialRecord, VolumeFacts,
};
use loadline_units::Duration;
use std::collections::BTreeMap;

/// Numbers that look random and follow from the seed (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
    /// From 0.0 to 1.0.
    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A run on one volume, started at the given second of 2026-01-31.
pub(crate) fn header(id: &str, name: &str, second: u32) -> RunHeader {
    let volume = VolumeFacts {
        name: "data".into(),
        target: "/mnt/data".into(),
        kind: TargetKind::TestFile,
        path: Some("/mnt/data/loadline-test-file".into()),
        size_bytes: Some(100 << 30),
        size_reason: "twice the memory, and more than the device's cache".into(),
        direct: true,
        ..VolumeFacts::default()
    };
    RunHeader {
        id: id.into(),
        name: name.into(),
        verb: RunVerb::Run,
        clock: Clock::Real,
        started: format!("2026-01-31T{:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60),
        version: "0.1.0".into(),
        seed: u64::MAX,
        imported: None,
        host: HostFacts { hostname: Some("host".into()), cpus: Some(8), ..HostFacts::default() },
        plans: vec![PlanText { name: name.into(), text: "schema = 1\n".repeat(40), hash: "cbf29ce484222325".into() }],
        environment: None,
        volumes: vec![volume],
        settings: serde_json::json!({"engine": "auto", "overwrite": []}),
    }
}

/// The cell at `index` of a plan, without trials yet.
pub(crate) fn cell(index: u32, trials_planned: u32) -> CellRecord {
    let queue_depth = 1 << (index % 10);
    let label = format!("random read 4 KiB, depth {queue_depth}");
    CellRecord {
        id: format!("data-{index:04}"),
        volume: "data".into(),
        label,
        load: Load::stored(
            LoadFigures {
                pattern: Access::Random,
                read_ratio: 0.7,
                block_bytes: 4096,
                queue_depth: Some(queue_depth),
                threads: 1,
                arrival: ArrivalKind::Closed,
                rate_iops: None,
                buffered: false,
                size_bytes: None,
                flush_every: None,
                duration_ns: 60_000_000_000,
                objective: Some(Objective { of: LatencyFigure::P99, limit: Duration::from_ms(20) }),
            },
            serde_json::json!({"pattern": {"random": "uniform"}, "reads": "70 %", "blocks": [{"size": "4 KiB", "share": "100 %"}]}),
        ),
        beside: Vec::new(),
        ceilings: Vec::new(),
        trials_planned,
        trials: Vec::new(),
    }
}

/// A trial of this many seconds with reads and writes at some 14,000 IOPS; the same arguments give the same record.
pub(crate) fn trial(number: u32, seed: u64, seconds: u32) -> TrialRecord {
    let mut numbers = Numbers(seed << 32 | u64::from(number));
    let mut operations = BTreeMap::new();
    for operation in [Operation::Read, Operation::Write] {
        let mut latency = Histogram::new();
        for _ in 0..4_000 {
            // A body around 0.5 ms and a tail up to some 50 ms.
            let factor = numbers.share() * numbers.share() / (1.0 - numbers.share() * 0.99);
            latency.record(Duration::from_ns(80_000 + (factor * 1e6) as u64));
        }
        let count = latency.count();
        operations
            .insert(operation, OperationRecord { count, bytes: count * 4096, latency, ..OperationRecord::default() });
    }
    let mut series = Series { last_ns: 1_000_000_000, ..Series::default() };
    for _ in 0..seconds {
        let mut second = Second { outstanding: 31.0 + numbers.share(), ..Second::default() };
        for operation in &mut second.operations[..2] {
            let count = 6_900 + numbers.next() % 200;
            *operation = SecondOperation {
                count,
                bytes: count * 4096,
                p50_ns: 500_000 + numbers.next() % 20_000,
                p99_ns: 3_000_000 + numbers.next() % 500_000,
                max_ns: 20_000_000 + numbers.next() % 30_000_000,
            };
        }
        series.seconds.push(second);
    }
    let device = DeviceCounters { name: "vda".into(), reads: numbers.next() >> 40, ..DeviceCounters::default() };
    let engine = EngineUsed {
        name: "io_uring".into(),
        reason: "the kernel and the target allow it".into(),
        options: vec!["fixed buffers".into(), "fixed files".into()],
    };
    TrialRecord {
        warm_up_ns: 10_000_000_000,
        measured_ns: u64::from(seconds) * 1_000_000_000,
        operations,
        missed: numbers.next() >> 50,
        series,
        surroundings: Surroundings {
            elapsed_ns: 70_123_456_789,
            threads: vec![ThreadBusy { busy: numbers.share(), ..ThreadBusy::default() }],
            machine: Some(MachineCpu { busy: numbers.share(), iowait: numbers.share(), steal: 0.0, cpus: 8 }),
            pressure: Some(Pressure::default()),
            devices: vec![device],
            ..Surroundings::default()
        },
        doubts: vec![Doubt {
            code: DoubtCode::ShortRun,
            seen: DoubtEvidence::FewWindows { measured_ns: 60_000_000_000, window_ns: 1_000_000_000 },
        }],
        ..TrialRecord::empty(number, 1_769_869_353, engine)
    }
}
