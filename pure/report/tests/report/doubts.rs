//! One example of every kind of evidence: how it is stored, what is said of it.

use crate::golden;
use loadline_block::{ErrorKind, Operation};
use loadline_record::{
    AskedAndMoved, Ceiling, CeilingSource, Compression, Doubt, DoubtCode, DoubtEvidence, DoubtedFigure, Ending, Excess,
    FewOfOperation, HostSpan, InFlight, KernelThrottle, KnownDeviation, Limit, MemoryBacked, MemoryLimit, OtherLoad,
    OthersWaited, QueueFacts, QueueLimit, RateChange, Recut, RunTogether, SeenOnHost, ShortQueue, SmallerStorage,
    SourceLimit, StorageChange, ThrottledQuantity, ThrottledRequests, VerifyFault, VerifyFaultKind, WroteLess,
};
use loadline_report::doubt_detail;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// A second, or a gigabyte.
const G: u64 = 1_000_000_000;

/// Every kind, those with several sentences more than once. Counts are multiples of `n`, shares and rates of `x`.
fn examples(n: u64, x: f64, name: &str) -> Vec<(DoubtCode, DoubtEvidence)> {
    use DoubtCode as Code;
    use DoubtEvidence as Seen;
    let text = || name.to_owned();
    let texts = || vec![text(), format!("{name}2")];
    let bytes = AskedAndMoved { asked_bytes: (4 * n) << 20, moved_bytes: n << 20 };
    let figures = vec![DoubtedFigure::Rate, DoubtedFigure::P99, DoubtedFigure::P999, DoubtedFigure::Maximum];
    let busiest = || Some(OtherLoad { pid: 42, name: text(), read_bytes: n, write_bytes: n << 30 });
    let rate = RateChange { from_iops: 100.0 * x, to_iops: 50.0 * x };
    let risen = RateChange { from_iops: 0.0, to_iops: 50.0 * x };
    let span = |host: &str| HostSpan { host: host.to_owned(), span_ns: n * G };
    let limit = KernelThrottle {
        requests: ThrottledRequests::Reads,
        counts: ThrottledQuantity::Requests,
        per_s: n * 1_000,
        group: "/db".into(),
        file: "io.max".into(),
        lifted_by: "7:0 riops=max".into(),
    };
    let queue = ShortQueue {
        device: text(),
        requests: 4,
        queues: 1,
        file: "/sys/block/vda/queue/nr_requests".into(),
        lifted_by: "128".into(),
    };
    let file = "/sys/fs/cgroup/db/memory.max".into();
    let memory = MemoryLimit { bytes: 64 << 20, group: "/db".into(), file, lifted_by: "max".into() };
    let at_limit = |limit| Seen::SourceLimited { limit, share: x };
    let in_flight = |others| {
        let in_flight = InFlight { devices: texts(), outstanding: 32.0, on_devices: x, others };
        Seen::OtherRequests { recut: Vec::new(), in_flight: Some(in_flight), queues: Vec::new() }
    };
    let split_by =
        |request_bytes_max, segments_max| Some(QueueLimit { device: text(), request_bytes_max, segments_max });
    let recut = |device_requests, split_by| Recut {
        operation: Operation::Write,
        asked_requests: 100 * n,
        device_requests,
        bytes: AskedAndMoved { asked_bytes: (100 * n) << 20, moved_bytes: (100 * n) << 20 },
        split_by,
    };
    let cut = vec![
        recut(50 * n, None),
        recut(200 * n, None),
        recut(200 * n, split_by(Some(512 << 10), None)),
        recut(300 * n, split_by(Some(1280 << 10), Some(126))),
        recut(300 * n, split_by(None, Some(126))),
    ];
    let queues = vec![
        QueueFacts { device: text(), requests: Some(256), scheduler: Some("none".into()) },
        QueueFacts { device: text(), requests: None, scheduler: Some("bfq".into()) },
    ];
    let fault = VerifyFault { offset: 8 * n, length: n, kind: VerifyFaultKind::Stale, detail: format!("{name}.") };
    let ended = |ending| Seen::CutShort { ending, measured_ns: 12 * G, planned_ns: n * 60 * G };
    let stopped = |quota_spent_ns| Seen::ToolStopped {
        total_ns: n * G / 10,
        longest_ns: n * G / 80,
        measured_ns: 60 * n * G,
        quota_spent_ns,
        figures: figures.clone(),
    };
    let busy = |threads| Seen::ThreadsBusy { threads, busy_threads: 1, above_share: 0.9, busiest_share: x };
    let missed = |completed_iops, never_issued| Seen::ArrivalsMissed { offered_iops: x, completed_iops, never_issued };
    let few = |operation, requests, figures: &[DoubtedFigure]| FewOfOperation {
        operation,
        requests,
        figures: figures.to_vec(),
    };
    let bucket = |is_known, warm_up_ns| Seen::BucketInShortRun {
        measured_ns: 5 * n * G,
        bucket_ns: n * G,
        is_known,
        warm_up_ns,
    };
    let credits = |end_share, afterwards| Seen::CreditsLeft {
        begin_share: 1.0,
        end_share,
        measured_ns: 60 * n * G,
        lasts_ns: 180 * n * G,
        afterwards,
    };
    let ceiling = Ceiling { limit: Limit::BurstExhausted, iops: 120.0 * x, source: CeilingSource::from(name) };
    let late = |recorded| Seen::AnswersLate { recorded, late_p99_ns: n * G, modelled_p99_ns: n };
    let moved_on = |storage, requests| Seen::RequestsBeyondEnd {
        storage,
        reach_bytes: (3 * n) << 30,
        size_bytes: n << 30,
        requests,
    };
    let model = |trims| SmallerStorage::Model {
        volume: text(),
        environment: format!("{name}-environment"),
        moved_bytes: n << 21,
        trims,
    };
    let change = |at_ns, what: &str| StorageChange { at_ns, what: what.to_owned() };
    let imported = |counted_device: Option<String>, has_series, not_told| Seen::MeasuredElsewhere {
        tool: "fio 3.33".into(),
        counted_device,
        has_series,
        not_told,
    };
    let apart = |begun_late, ended_early| RunTogether::Partly { share: x, begun_late, ended_early };
    let clocks = |not_compared, unsure, to_a_second| Seen::HostClocks { hosts: 2, not_compared, unsure, to_a_second };
    let on = |host: &str, share: f64| SeenOnHost { host: host.to_owned(), seen: Seen::CpuStolen { share } };
    let some = |figures_from| Seen::InSomeTrials {
        having: 1,
        trials: 3,
        figures_from,
        seen: Box::new(ended(Ending::Interrupted)),
    };
    vec![
        (Code::ShortRun, Seen::Written { text: text() }),
        (Code::VerifyFailed, Seen::BlocksDiffer { blocks: 2 * n, blocks_checked: 1_000 * n, first: Some(fault) }),
        (Code::VerifyFailed, Seen::BlocksDiffer { blocks: 2 * n, blocks_checked: 1_000 * n, first: None }),
        (
            Code::Errors,
            Seen::RequestsFailed {
                by_kind: [(ErrorKind::Io, 3 * n), (ErrorKind::NoSpace, 1_000)].into(),
                first_error: Some(format!("{name}.")),
            },
        ),
        (Code::Errors, Seen::RequestsFailed { by_kind: [(ErrorKind::Io, 1)].into(), first_error: None }),
        (Code::EndedEarly, ended(Ending::Interrupted)),
        (Code::EndedEarly, ended(Ending::Failed(text()))),
        (Code::EndedEarly, ended(Ending::Hung(text()))),
        (Code::EndedEarly, Seen::TraceCutShort),
        (Code::EndedEarly, Seen::RecordingNotWhole { requests_missing: 3, requests: 303 * n, events_lost: n }),
        (Code::UnknownLimit, Seen::LimitsNotPublished { limits: texts() }),
        (
            Code::KnownDeviation,
            Seen::ModelDeviates {
                measurements: vec![
                    KnownDeviation {
                        disk: "own/small".into(),
                        text: "measured at half".into(),
                        source: text()
                    };
                    2
                ],
            },
        ),
        (Code::CachedReads, Seen::FileInMemory { file_system: text() }),
        (Code::Buffered, Seen::FileInMemory { file_system: text() }),
        (Code::CachedReads, Seen::DevicesInMemory { devices: texts() }),
        (Code::CachedReads, Seen::MovedLess { devices: texts(), bytes }),
        (Code::UnwrittenExtents, Seen::MovedLess { devices: texts(), bytes }),
        (Code::CachedReads, Seen::ResidencyRose { direct: true, before_share: 0.0, after_share: x }),
        (Code::CachedReads, Seen::ResidencyRose { direct: false, before_share: 0.0, after_share: x }),
        (Code::CachedReads, Seen::Resident { share: x }),
        (Code::UnwrittenExtents, Seen::NeverWritten { operation: Operation::Read, share: x, bytes: n << 30 }),
        (Code::UnwrittenExtents, Seen::NeverWritten { operation: Operation::Write, share: x, bytes: n << 30 }),
        (Code::Buffered, Seen::PageCacheAsked),
        (Code::Buffered, Seen::DirectNotPossible { error: Some(text()) }),
        (Code::Buffered, Seen::DirectNotPossible { error: None }),
        (
            Code::CachedBelow,
            Seen::ContentsInMemory {
                devices: [Some("tmpfs".to_owned()), None]
                    .map(|file_system| MemoryBacked { device: text(), file: "/images/disk".into(), file_system })
                    .to_vec(),
            },
        ),
        (
            Code::CompressedOrSparse,
            Seen::StoredLess {
                compression: Some(Compression { file_system: "btrfs".into(), option: Some(text()) }),
                encoded_share: Some(x),
                wrote_less: Some(WroteLess { devices: texts(), bytes }),
            },
        ),
        (
            Code::CompressedOrSparse,
            Seen::StoredLess {
                compression: Some(Compression { file_system: "zfs".into(), option: None }),
                encoded_share: None,
                wrote_less: None,
            },
        ),
        (Code::GeneratorBound, busy(1)),
        (Code::GeneratorBound, busy(4)),
        (Code::ToolStopped, stopped(None)),
        (Code::ToolStopped, stopped(Some(n * G))),
        (Code::OfferedLoadMissed, missed(x / 2.0, Some(n))),
        (Code::OfferedLoadMissed, missed(x * 1.5, None)),
        (
            Code::OfferedLoadMissed,
            Seen::Backlog { requests: 300 * n, unanswered: n, late_ns: n * G, answered_iops: 100.0 * x },
        ),
        (Code::DepthNotReached, Seen::OtherRequests { recut: cut, in_flight: None, queues }),
        (Code::DepthNotReached, in_flight(OthersWaited::NeverCame)),
        (Code::DepthNotReached, in_flight(OthersWaited::Throttle { device: text(), devices: 2, limit: limit.clone() })),
        (Code::DepthNotReached, in_flight(OthersWaited::ToolBusy)),
        (Code::DepthNotReached, in_flight(OthersWaited::NotHandedOver { in_kernel: 8.0 * x })),
        (Code::DepthNotReached, in_flight(OthersWaited::Unknown)),
        (
            Code::OtherLoad,
            Seen::MovedMore {
                devices: texts(),
                excess: vec![
                    Excess { operation: Operation::Read, bytes: n << 30, requests: None },
                    Excess { operation: Operation::Write, bytes: n << 20, requests: Some(20_000.0 * x) },
                ],
                busiest: busiest(),
            },
        ),
        (Code::OtherLoad, Seen::OthersMoved { bytes: n << 30, busiest: busiest() }),
        (Code::OtherLoad, Seen::JobsBeside { jobs: texts(), more: 0 }),
        (Code::OtherLoad, Seen::JobsBeside { jobs: texts(), more: n }),
        (Code::CpuStolen, Seen::CpuStolen { share: x }),
        (
            Code::ClockUnstable,
            Seen::ClockMoved {
                drift_ppm: Some(-800.0 * x),
                step_ns: Some(-(n.cast_signed()) * 2_000_000),
                coarse_source: Some("jiffies".into()),
            },
        ),
        (Code::NotSteady, Seen::SteadyStateMissed { rounds: n, round_ns: 60 * G, ends: Some(rate) }),
        (Code::NotSteady, Seen::SteadyStateMissed { rounds: 1, round_ns: 60 * G, ends: None }),
        (Code::NotSteady, Seen::RateMoves { rate }),
        (Code::NotSteady, Seen::RateMoves { rate: risen }),
        (Code::NotSteady, Seen::RateStepped { rate, after_s: n }),
        (Code::ShortRun, bucket(true, 0)),
        (Code::ShortRun, bucket(false, n * G)),
        (Code::ShortRun, Seen::FewWindows { measured_ns: n * G, window_ns: 50_000_000 }),
        (Code::ShortRun, credits(0.999_1, Some(ceiling))),
        (Code::ShortRun, credits(0.5, None)),
        (
            Code::FewSamples,
            Seen::FewRequests {
                operations: vec![
                    few(Operation::Read, n, &[DoubtedFigure::P99, DoubtedFigure::P999, DoubtedFigure::P9999]),
                    few(Operation::Trim, 1, &[DoubtedFigure::P9999]),
                    few(Operation::Flush, 2, &[DoubtedFigure::P999, DoubtedFigure::P9999]),
                ],
            },
        ),
        (Code::LateDelivery, late(false)),
        (Code::LateDelivery, late(true)),
        (
            Code::ChangedMeanwhile,
            Seen::StorageChanged {
                changes: vec![change(-(n.cast_signed()), "burst credits were spent"), change(5_000_000, name)],
                more: n,
            },
        ),
        (Code::ChangedMeanwhile, Seen::StorageChanged { changes: vec![change(0, name)], more: 0 }),
        (Code::RequestsMoved, moved_on(SmallerStorage::Target { target: text() }, n)),
        (Code::RequestsMoved, moved_on(model(0), n)),
        (Code::RequestsMoved, moved_on(model(3), n)),
        (Code::RequestsMoved, moved_on(model(3), 0)),
        (Code::RequestsMoved, Seen::RequestsWidened { requests: n, block_bytes: 4_096 }),
        (Code::SourceLimited, at_limit(SourceLimit::Throttle { device: text(), limit })),
        (Code::SourceLimited, at_limit(SourceLimit::Exceeded { device: text() })),
        (Code::SourceLimited, at_limit(SourceLimit::Queue { queue })),
        (Code::SourceLimited, at_limit(SourceLimit::Quota { program: text(), quota: None })),
        (Code::SourceLimited, at_limit(SourceLimit::Memory { program: text(), limit: memory })),
        (Code::Imported, imported(None, false, Vec::new())),
        (Code::Imported, imported(Some("sda".into()), true, texts())),
        (Code::NotTogether, Seen::HostsApart { together: Some(RunTogether::Never), missing: texts() }),
        (
            Code::NotTogether,
            Seen::HostsApart { together: Some(apart(Some(span("b")), Some(span("a")))), missing: Vec::new() },
        ),
        (Code::NotTogether, Seen::HostsApart { together: None, missing: vec![text()] }),
        (Code::ClocksNotCompared, clocks(vec!["a".into(), "b".into()], Vec::new(), vec!["b".into()])),
        (Code::ClocksNotCompared, clocks(vec!["a".into()], vec![span("b")], Vec::new())),
        (Code::CpuStolen, Seen::OnHosts { hosts: 2, seen: vec![on("a", x), on("b", x)] }),
        (Code::CpuStolen, Seen::OnHosts { hosts: 2, seen: vec![on("a", x), on("b", x / 2.0)] }),
        (Code::CpuStolen, Seen::OnHosts { hosts: 3, seen: vec![on("a", x), on("b", x)] }),
        (Code::EndedEarly, some(None)),
        (Code::EndedEarly, some(Some(1))),
        (Code::EndedEarly, some(Some(2))),
    ]
}

#[test]
fn every_kind_has_its_sentence() {
    let all = examples(6, 0.25, "vda");
    let line = |(code, seen): (DoubtCode, DoubtEvidence)| format!("{code}: {}\n", doubt_detail(&Doubt { code, seen }));
    golden::compare("doubts.tsv", &all.into_iter().map(line).collect::<String>());
}

#[test]
fn the_schema_has_the_kinds_that_there_are() {
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../../../docs/formats/run.schema.json")).unwrap();
    let listed = schema.pointer("/$defs/doubt/properties/seen/properties/kind/enum").unwrap().as_array().unwrap();
    let listed: BTreeSet<&str> = listed.iter().filter_map(|kind| kind.as_str()).collect();
    let kinds =
        examples(1, 0.5, "vda").into_iter().map(|(_, seen)| serde_json::to_value(seen).unwrap()["kind"].clone());
    let kinds: BTreeSet<String> = kinds.map(|kind| kind.as_str().unwrap().to_owned()).collect();
    assert!(kinds.iter().map(String::as_str).eq(listed), "{kinds:?}");
}

proptest! {
    #[test]
    fn every_kind_reads_back_as_it_was(n in 1_u64..1 << 20, eighths in 0_u32..8_000, name in "\\PC{0,12}") {
        for (code, seen) in examples(n, f64::from(eighths) / 8.0, &name) {
            let doubt = Doubt { code, seen };
            let text = serde_json::to_string(&doubt).unwrap();
            prop_assert_eq!(serde_json::from_str::<Doubt>(&text).unwrap(), doubt);
        }
    }
}
