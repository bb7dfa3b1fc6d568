//! The screen of what goes on: as it looks at five sizes, and what it holds to whatever is shown.

use crate::golden::compare;
use loadline_analysis::example::{ExampleDisk, cell, closed, golden as golden_run, run};
use loadline_analysis::{
    LiveCell, LiveEmulation, LiveExport, LiveFault, LiveFrame, LiveItems, LiveLimit, LiveMachine, LiveMark, LivePhase,
    LiveProgram, LiveStep, LiveVolume,
};
use loadline_emulation::{TimeCause, TimeShare};
use loadline_pipeline::{Bound, Lever, LiveCrawl, LiveEpoch, LiveQueue, LiveShares, LiveSource, LiveStation};
use loadline_record::{
    KernelThrottle, Limit, RunRecord, RunVerb, Station, ThrottledQuantity, ThrottledRequests, VolumeRole, WatchRecord,
    WatchSecond, WatchTick, WatchedThrottle,
};
use loadline_report::live::{COLUMNS_MIN, Key, LINES_MIN, LiveScreen, LiveState, ScreenOf, live_json, live_words};
use proptest::prelude::*;

const ALLOWED: u64 = 3_000;

fn throttle() -> KernelThrottle {
    KernelThrottle {
        requests: ThrottledRequests::Reads,
        counts: ThrottledQuantity::Requests,
        per_s: ALLOWED,
        group: "/db".into(),
        file: "/sys/fs/cgroup/blkio/db/blkio.throttle.read_iops_device".into(),
        lifted_by: "254:0 0".into(),
    }
}

/// Reads in each tenth of a second: fewer at first, then what the throttle lets through.
fn reads(second: u64) -> u64 {
    if second < 6 { 8 + second } else { ALLOWED / 10 }
}

/// The run that would be stored after so many seconds.
pub(crate) fn past(seconds: u64) -> RunRecord {
    let tick = |second: u64| WatchTick {
        elapsed_us: 100_000,
        reads: reads(second),
        writes: 4,
        read_bytes: reads(second) * 4_096,
        write_bytes: 16_384,
        read_ms: reads(second) / 6,
        write_ms: 1,
        busy_ms: 60,
        in_flight: 1,
        ..WatchTick::default()
    };
    let watch = WatchRecord {
        ticks: (0..seconds).flat_map(|second| [tick(second); 10]).collect(),
        seconds: vec![WatchSecond { ticks: 10, ..WatchSecond::default() }; seconds as usize],
        throttles: vec![WatchedThrottle {
            limit: throttle(),
            asked: Some((0..seconds).map(|s| reads(s) * 10).collect()),
        }],
        ..WatchRecord::default()
    };
    let mut record = run(vec![cell(closed("random", 1.0, 4_096, 1), &ExampleDisk::default(), &[1.0])]);
    record.header.verb = RunVerb::Watch;
    record.cells[0].volume = "vda".into();
    record.cells[0].trials[0] = watch.into_trial(&std::collections::BTreeMap::new(), "vda", 0);
    record
}

/// A frame after so many seconds of a watch of two devices, one of which nothing asks.
fn frame(second: u64) -> LiveFrame {
    let rate = reads(second - 1) * 10;
    let vda = LiveVolume {
        name: "vda".into(),
        iops: Some(rate as f64 + 40.0),
        reads_per_s: Some(rate as f64),
        writes_per_s: Some(40.0),
        flushes_per_s: Some(2.0),
        throughput_bytes_per_s: Some(rate as f64 * 4_096.0 + 163_840.0),
        latency_ns: Some(180_000),
        outstanding: Some(rate as f64 / 6_000.0),
        busy_share: Some(0.6),
        limits: vec![LiveLimit::Throttle { throttle: throttle(), asked_share: Some(rate as f64 / ALLOWED as f64) }],
        ..LiveVolume::default()
    };
    let idle = LiveVolume {
        name: "vdb".into(),
        iops: Some(0.0),
        outstanding: Some(0.0),
        busy_share: Some(0.0),
        ..LiveVolume::default()
    };
    let program = |name: &str, pid, processes, read_bytes_per_s, cpus, blocked| LiveProgram {
        name: name.into(),
        pid,
        processes,
        read_bytes_per_s,
        write_bytes_per_s: 163_840.0,
        cpus,
        blocked,
    };
    let mut frame = LiveFrame {
        at_unix_ms: 1_764_400_000_000 + second * 1_000,
        elapsed_ns: second * 1_000_000_000,
        planned_ns: Some(600_000_000_000),
        volumes: vec![vda, idle],
        programs: vec![
            program("postgres", 4_711, 9, rate as f64 * 4_096.0, 0.31, 0.9),
            program("kworker/u8:2", 212, 1, 0.0, 0.01, 0.0),
        ],
        machine: LiveMachine { cpu_busy_share: Some(0.41), cpu_steal_share: Some(0.02) },
        own_cpu_share: Some(0.006),
        marks: vec![LiveMark { elapsed_ns: 4_000_000_000, note: "batch started".into() }],
        ..LiveFrame::new("20261128-0310-abcd".into(), "watch".into(), "watch every disk".into())
    };
    frame.judge(&past(second));
    frame
}

fn drawn(frames: &[LiveFrame], state: &LiveState, (width, height): (usize, usize), unicode: bool) -> Vec<String> {
    let lines = LiveScreen { frames, state, width, height, unicode }.draw();
    assert!(lines.len() <= height && lines.iter().all(|line| line.width() <= width), "{width}x{height}: {lines:?}");
    lines.iter().map(|line| line.text().trim_end().to_owned()).collect()
}

#[test]
fn five_sizes_show_what_is_of_most_worth_first() {
    let frames: Vec<LiveFrame> = (1..=48).map(frame).collect();
    let mut parts = Vec::new();
    for (width, height, unicode) in [(60, 16, false), (80, 24, true), (100, 30, true), (120, 40, true), (160, 48, true)]
    {
        let lines = drawn(&frames, &LiveState::default(), (width, height), unicode);
        parts.push(format!("--- {width}x{height}\n{}\n", lines.join("\n")));
    }
    for view in ['2', '3', '4', '5', '?'] {
        let mut state = LiveState::default();
        state.press(Key::Char(view), &frames);
        parts.push(format!("--- 80x24, key {view}\n{}\n", drawn(&frames, &state, (80, 24), true).join("\n")));
    }
    parts.push(format!("--- after 3 s\n{}\n", drawn(&frames[..3], &LiveState::default(), (80, 24), true).join("\n")));
    parts.push(format!("--- in words\n{}\n{}\n", live_words(&frames[2]), live_words(&frames[47])));
    compare("live.txt", &parts.concat());
}

/// A frame of a run with all that is stored of it, while its third cell goes on.
fn run_frame(second: u64) -> LiveFrame {
    let mut frame = LiveFrame {
        at_unix_ms: 1_764_400_000_000 + second * 1_000,
        elapsed_ns: second * 1_000_000_000,
        planned_ns: Some(600_000_000_000),
        ..LiveFrame::new("20261128-0310-abcd".into(), "run".into(), "data nightly".into())
    };
    let stored = golden_run();
    frame.judge_run(&stored, loadline_analysis::summarize(&stored));
    frame.step = Some(LiveStep {
        place: "13 of 24".into(),
        label: "random read 4 KiB, depth 64".into(),
        phase: LivePhase::Measuring,
        elapsed_ns: 12_000_000_000,
        planned_ns: Some(30_000_000_000),
        done_share: None,
    });
    let volume = &mut frame.volumes[0];
    volume.iops = Some(16_000.0 + second as f64);
    volume.throughput_bytes_per_s = Some(65.5e6);
    (volume.latency_ns, volume.p50_ns, volume.p99_ns) = (Some(1_990_000), Some(1_900_000), Some(4_000_000));
    volume.outstanding = Some(31.9);
    frame
}

#[test]
fn a_run_shows_the_trial_that_goes_on_and_each_measured_cell_with_its_limit() {
    let frames: Vec<LiveFrame> = (1..=48).map(run_frame).collect();
    let mut parts = Vec::new();
    for (width, height, unicode) in [(60, 16, false), (80, 24, true), (100, 30, true), (160, 48, true)] {
        let lines = drawn(&frames, &LiveState::new(ScreenOf::Work), (width, height), unicode);
        parts.push(format!("--- {width}x{height}\n{}\n", lines.join("\n")));
    }
    let mut many = frames[47].clone();
    many.cells = many.cells.iter().cycle().take(16).cloned().collect();
    many.cells_done = 40;
    let lines = drawn(&[many], &LiveState::new(ScreenOf::Work), (80, 24), true);
    parts.push(format!("--- 40 cells\n{}\n", lines.join("\n")));
    let mut first = LiveFrame { cells_done: 0, ..frames[0].clone() };
    (first.cells, first.volumes[0].judged) = (Vec::new(), None);
    parts.push(format!("--- in words\n{}\n{}\n", live_words(&first), live_words(&frames[47])));
    compare("live-run.txt", &parts.concat());
}

/// A frame of a crawl of two sources; it is judged from the tenth second on.
fn crawl_frame(second: u64) -> LiveFrame {
    let states = |cpu, waiting, starved, blocked, gated| LiveShares { cpu, waiting, starved, blocked, gated };
    let is_judged = second >= 10;
    let source = |name: &str, items_per_s, states, latency_ns, left, bound| LiveSource {
        name: name.into(),
        items: 6_205,
        failed: 56,
        items_per_s,
        slots: 8,
        states,
        latency_ns,
        left,
        bound: Some(bound).filter(|_| is_judged),
    };
    let station = |station, workers, states, queue: Option<(u64, u64)>| LiveStation {
        station,
        workers,
        states,
        passed_per_s: 49.7,
        queue: queue.map(|(items, items_max)| LiveQueue { items, items_max }),
    };
    let index = Bound::By(Lever::Volume(VolumeRole::Index));
    let politeness = Bound::Shared(vec![Lever::Politeness(1), Lever::Cores]);
    let crawl = LiveCrawl {
        sources: vec![
            source("share", 18.2, states(0.0, 0.875, 0.0, 0.125, 0.0), Some(428_000_000), 3_310, index),
            source("web", 31.5, states(0.0, 0.5, 0.0, 0.0, 0.25), Some(61_000_000), 1_190, politeness),
        ],
        stations: vec![
            station(Station::Extract, 2, states(0.58, 0.0, 0.0, 0.42, 0.0), Some((100, 100))),
            station(Station::Index, 2, states(0.15, 0.85, 0.0, 0.0, 0.0), Some((71, 100))),
            station(Station::Database, 1, states(0.05, 0.1, 0.85, 0.0, 0.0), Some((4, 1_000))),
            station(Station::Commit, 1, states(0.0, 0.3, 0.0, 0.0, 0.0), None),
        ],
        epoch: LiveEpoch { number: 41, items: 312, items_max: 1_000 },
        judged_ns: if is_judged { second * 1_000_000_000 } else { 0 },
    };
    let volume = |name: &str, iops, latency_ns, busy| LiveVolume {
        name: name.into(),
        iops: Some(iops),
        latency_ns,
        outstanding: Some(3.4),
        busy_share: Some(busy),
        ..LiveVolume::default()
    };
    LiveFrame {
        elapsed_ns: second * 1_000_000_000,
        volumes: vec![volume("index", 310.0, Some(11_000_000), 0.92), volume("log", 0.0, None, 0.0)],
        items: Some(LiveItems { items: 12_410, failed: 112, waiting: 4_500 }),
        crawl: Some(crawl),
        ..LiveFrame::new("20261128-0310-abcd".into(), "crawl".into(), "farm".into())
    }
}

#[test]
fn a_crawl_shows_what_bound_its_sources_and_what_its_workers_do() {
    let frames: Vec<LiveFrame> = (1..=48).map(crawl_frame).collect();
    let mut parts = Vec::new();
    for (width, height, unicode) in [(60, 16, false), (80, 24, true), (160, 48, true)] {
        let lines = drawn(&frames, &LiveState::new(ScreenOf::Work), (width, height), unicode);
        parts.push(format!("--- {width}x{height}\n{}\n", lines.join("\n")));
    }
    let lines = drawn(&frames[..3], &LiveState::new(ScreenOf::Work), (80, 24), true);
    parts.push(format!("--- after 3 s\n{}\n", lines.join("\n")));
    parts.push(format!("--- in words\n{}\n{}\n", live_words(&frames[2]), live_words(&frames[47])));
    compare("live-crawl.txt", &parts.concat());
}

/// A frame of an emulation of two volumes, with a fault on the second.
fn emulation_frame(second: u64) -> LiveFrame {
    let share = |limit, share| TimeShare { by: TimeCause::Limit(limit), share };
    let data = LiveExport {
        held: vec![share(Limit::DiskIops, 0.53), share(Limit::Latency, 0.4), share(Limit::Cache, 0.07)],
        throttled: Some(0.53),
        credits: Some(0.5),
        cache_hits: Some(0.125),
        ..LiveExport::default()
    };
    let log = LiveExport { state: Some("degraded".into()), faults: vec![3], ..LiveExport::default() };
    let volume = |name: &str, iops: f64| LiveVolume {
        name: name.into(),
        iops: Some(iops),
        throughput_bytes_per_s: Some(iops * 8_192.0),
        p50_ns: (iops > 0.0).then_some(2_670_000),
        p99_ns: (iops > 0.0).then_some(33_800_000),
        outstanding: Some(28.7),
        ..LiveVolume::default()
    };
    LiveFrame {
        elapsed_ns: second * 1_000_000_000,
        judged_ns: second * 1_000_000_000,
        volumes: vec![volume("data", 5_166.0), volume("log", 0.0)],
        emulation: Some(LiveEmulation {
            clients: 2,
            faults: vec![LiveFault {
                number: 3,
                text: "log: writes are answered 20 ms late".into(),
                command: Some("loadline fault /run/user/1000/loadline-db.sock.control --clear 3".into()),
            }],
            exports: vec![data, log],
        }),
        ..LiveFrame::new("20261128-0310-abcd".into(), "emulate".into(), "db".into())
    }
}

#[test]
fn an_emulation_shows_where_the_time_of_its_volumes_goes_and_how_faults_end() {
    let frames: Vec<LiveFrame> = (1..=48).map(emulation_frame).collect();
    let mut parts = Vec::new();
    for (width, height) in [(60, 16), (80, 24)] {
        let lines = drawn(&frames, &LiveState::new(ScreenOf::Work), (width, height), true);
        parts.push(format!("--- {width}x{height}\n{}\n", lines.join("\n")));
    }
    parts.push(format!("--- in words\n{}\n", live_words(&frames[47])));
    compare("live-emulation.txt", &parts.concat());
}

#[test]
fn a_line_of_json_follows_its_schema_and_is_read_back() {
    let schema = include_str!("../../../../docs/formats/live.schema.json");
    let schema: serde_json::Value = serde_json::from_str(schema).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    for second in [1, 30] {
        let mut frame = frame(second);
        frame.items = Some(LiveItems { items: 3, failed: 1, waiting: 9 });
        (frame.step, frame.cells, frame.cells_done) = {
            let run = run_frame(second);
            (run.step, run.cells, run.cells_done)
        };
        let read = |frame: &LiveFrame| {
            let line = live_json(frame);
            assert!(!line.contains('\n') && line.len() < 8_192, "{} bytes", line.len());
            let document: serde_json::Value = serde_json::from_str(&line).unwrap();
            let errors: Vec<String> =
                validator.iter_errors(&document).map(|e| format!("{}: {e}", e.instance_path())).collect();
            assert!(errors.is_empty(), "{errors:?}");
            assert_eq!(serde_json::from_str::<LiveFrame>(&line).unwrap(), *frame);
            document
        };
        let document = read(&frame);
        read(&emulation_frame(second));
        assert_eq!(read(&crawl_frame(second))["said"].as_array().unwrap().len(), 2);
        // What is said is what the verdict of the stored run says.
        if second == 30 {
            let verdict = loadline_analysis::summarize(&past(second)).verdict.unwrap();
            let lines = loadline_report::verdict_lines(&verdict);
            assert!(lines.iter().any(|line| line.text == document["said"][0]["held_by"]), "{lines:?}");
        }
    }
}

fn volumes() -> impl Strategy<Value = Vec<LiveVolume>> {
    let figure = || prop::option::of(prop_oneof![0.0..1e9f64, Just(0.0), Just(f64::MAX)]);
    let volume = (".{0,20}", figure(), figure(), prop::option::of(any::<u64>()), figure(), any::<bool>());
    let volume = volume.prop_map(|(name, iops, bytes, latency_ns, outstanding, apart)| LiveVolume {
        name,
        iops,
        reads_per_s: iops.filter(|_| apart),
        writes_per_s: iops.filter(|_| apart),
        throughput_bytes_per_s: bytes,
        latency_ns,
        p99_ns: latency_ns,
        outstanding,
        ..LiveVolume::default()
    });
    prop::collection::vec(volume, 0..5)
}

fn drawn_frames() -> impl Strategy<Value = Vec<LiveFrame>> {
    let parts = (any::<u32>(), volumes(), ".{0,200}", 0usize..3, any::<bool>());
    let any = parts.prop_map(|(seconds, volumes, name, judged, in_trial)| {
        let known = frame(20 + judged as u64);
        let mut own =
            LiveFrame { elapsed_ns: u64::from(seconds) * 1_000_000_000, volumes, name: name.clone(), ..known.clone() };
        own.volumes.iter_mut().take(judged).for_each(|volume| volume.judged.clone_from(&known.volumes[0].judged));
        own.marks.push(LiveMark { elapsed_ns: 0, note: name.clone() });
        if judged == 2 && !in_trial {
            own.crawl = crawl_frame(20).crawl;
            own.crawl.iter_mut().flat_map(|crawl| &mut crawl.sources).for_each(|of| of.name.clone_from(&name));
        }
        if judged == 1 && !in_trial {
            own.emulation = emulation_frame(20).emulation;
            own.emulation.iter_mut().flat_map(|of| &mut of.faults).for_each(|of| of.text.clone_from(&name));
        }
        own.step = in_trial.then(|| LiveStep { label: name.clone(), ..LiveStep::default() });
        if in_trial {
            let cell = LiveCell { label: name, iops: f64::MAX, p99_ns: Some(u64::MAX), ..LiveCell::default() };
            (own.cells, own.cells_done) = (vec![cell; judged * 10], judged * 20);
        }
        own
    });
    prop::collection::vec(any, 0..6).prop_map(|mut all| {
        all.sort_by_key(|frame| frame.elapsed_ns);
        all
    })
}

#[test]
fn cells_of_a_run_leave_room_for_the_figures_on_the_smallest_screen() {
    let mut run = frame(20);
    run.step = Some(LiveStep { label: "random".into(), ..LiveStep::default() });
    let cell = LiveCell { label: "random".into(), iops: 1_000.0, p99_ns: Some(2_000_000), ..LiveCell::default() };
    (run.cells, run.cells_done) = (vec![cell; 20], 20);
    let text = drawn(&[run], &LiveState::default(), (80, LINES_MIN), true).join("\n");
    for word in ["HELD BY", "latency each", "outstanding", "reads/s"] {
        assert!(text.contains(word), "{word}: {text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn no_line_is_wider_than_its_screen(
        frames in drawn_frames(),
        size in (0usize..200, 0usize..60),
        keys in "[1-5tT moxw?cq ]{0,6}",
        unicode in any::<bool>(),
    ) {
        let mut state = LiveState::default();
        for key in keys.chars() {
            state.press(Key::Char(key), &frames);
        }
        drawn(&frames, &state, size, unicode);
    }

    #[test]
    fn cause_latency_outstanding_and_rate_are_always_there(
        frames in drawn_frames(),
        size in (80usize..200, LINES_MIN..60),
    ) {
        prop_assert!(COLUMNS_MIN <= 80);
        let text = drawn(&frames, &LiveState::default(), size, true).join("\n");
        let volumes = frames.last().map_or(&[][..], |frame| &frame.volumes);
        if !volumes.is_empty() && frames.last().is_some_and(|frame| frame.crawl.is_none() && frame.emulation.is_none()) {
            prop_assert!(text.contains("HELD BY"), "{text}");
            let known = |of: fn(&LiveVolume) -> bool| volumes.iter().all(of);
            for (is_known, words) in [
                (known(|volume| volume.latency_ns.is_some()), &["latency each"][..]),
                (known(|volume| volume.outstanding.is_some()), &["outstanding"]),
                (known(|volume| volume.iops.is_some()), &["IOPS", "reads/s"]),
            ] {
                prop_assert!(!is_known || words.iter().any(|word| text.contains(word)), "{words:?}: {text}");
            }
        }
    }
}
