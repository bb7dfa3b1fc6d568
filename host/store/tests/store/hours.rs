//! Hours of a recorder: written in parts, read as any watch, and the only runs that are put into another form.

use crate::made;
use loadline_record::{
    CellRecord, KeptHour, KernelThrottle, LiveMark, ProgramSecond, RecordedHour, RunHeader, RunRecord, RunStatus,
    RunVerb, ThrottledQuantity, ThrottledRequests, TrialRecord, Upkeep, WatchRecord, WatchSecond, WatchTick,
    WatchedCpu, WatchedPressure, WatchedProgram, WatchedThrottle, upkeep,
};
use loadline_store::{Filter, Store, StoreError};
use std::collections::BTreeMap;

const BEGUN: u64 = 1_795_700_000;

fn part(number: u32, seconds: u32) -> TrialRecord {
    let tick =
        |place| WatchTick { elapsed_us: 1_000_000, reads: u64::from(number * 100 + place), ..WatchTick::default() };
    let watch = WatchRecord {
        ticks: (0..seconds).map(tick).collect(),
        seconds: vec![WatchSecond { ticks: 1, ..WatchSecond::default() }; seconds as usize],
        ..WatchRecord::default()
    };
    let trial = watch.into_trial(&BTreeMap::new(), "data", BEGUN + u64::from(number * seconds));
    TrialRecord { trial: number, ..trial }
}

fn hour(store: &Store, id: &str) -> (RunHeader, CellRecord) {
    let mut header = RunHeader { verb: RunVerb::Watch, ..made::header(id, "watch data", 0) };
    RecordedHour { devices: vec!["data".into()], hour_unix_s: BEGUN, step_s: 1 }.put_into(&mut header.settings);
    let cell = made::cell(0, 3_600);
    store.begin_run(&header, std::slice::from_ref(&cell)).unwrap();
    for number in 0..3 {
        store.finish_trials(id, &[(&cell.id, &part(number, 8))]).unwrap();
    }
    (header, cell)
}

#[test]
fn parts_of_an_hour_are_read_as_one_trial() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("store.db")).unwrap();
    hour(&store, "hour");
    let record = store.load("hour").unwrap();
    let [trial] = &record.cells[0].trials[..] else { panic!("{} trials", record.cells[0].trials.len()) };
    let reads: Vec<u64> = trial.watched.as_ref().unwrap().ticks.iter().map(|tick| tick.reads).collect();
    assert_eq!(reads, (0..3).flat_map(|part| (0..8).map(move |place| part * 100 + place)).collect::<Vec<_>>());
    assert_eq!((trial.started_unix_s, trial.measured_ns, record.cells[0].trials_planned), (BEGUN, 24_000_000_000, 1));
    assert_eq!(record.watched_span(), Some((BEGUN, BEGUN + 24)));
    let lines = store.watches().unwrap();
    assert_eq!(lines.len(), 1);
    assert_eq!((lines[0].parts, lines[0].begun_unix_s, lines[0].ended_unix_s), (3, BEGUN, BEGUN + 24));
    assert!(lines[0].hour.as_ref().is_some_and(|hour| hour.devices == ["data"]) && lines[0].bytes > 0);
    let refused = store.finish_trials("hour", &[(&record.cells[0].id, &part(3, 8)), ("no cell", &part(4, 8))]);
    assert!(matches!(refused, Err(StoreError::NoSuchCell { .. })), "{refused:?}");
    assert_eq!(store.watches().unwrap()[0].parts, 3, "all of them or none");
}

#[test]
fn a_part_has_the_marks_within_it_and_hours_have_those_of_each() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("store.db")).unwrap();
    hour(&store, "hour");
    let mark = |after_s: u64, note: &str| LiveMark { elapsed_ns: after_s * 1_000_000_000, note: note.to_owned() };
    let mut first = store.load("hour").unwrap();
    LiveMark::put_all(&[mark(2, "a"), mark(9, "b"), mark(20, "c")], &mut first.header.settings);
    let marks = |record: &RunRecord| LiveMark::of_settings(&record.header.settings);
    let part = first.between(BEGUN + 8, BEGUN + 16).unwrap();
    assert_eq!(marks(&part), [mark(1, "b")]);
    assert_eq!(marks(&first.between(BEGUN + 10, BEGUN + 16).unwrap()), []);
    let mut second = first.clone();
    second.cells[0].trials[0].started_unix_s += 3_600;
    LiveMark::put_all(&[mark(5, "d")], &mut second.header.settings);
    let whole = RunRecord::of_hours(vec![first, second]).unwrap();
    assert_eq!(marks(&whole), [mark(2, "a"), mark(9, "b"), mark(20, "c"), mark(3_605, "d")]);
}

#[test]
fn the_state_of_a_run_changes_with_what_is_stored_of_it_alone() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("store.db")).unwrap();
    let state = |run: &str| store.states().unwrap().remove(run).unwrap();
    let (_, cell) = hour(&store, "hour");
    store.begin_run(&made::header("run", "sweep", 1), &[made::cell(0, 1)]).unwrap();
    let (before, other) = (state("hour"), state("run"));
    store.tag("hour", &["baseline".parse().unwrap()], &[]).unwrap();
    assert_eq!(state("hour"), before, "tags are beside the record");
    store.finish_trials("hour", &[(&cell.id, &part(3, 8))]).unwrap();
    let longer = state("hour");
    assert_ne!(longer, before);
    let record = RunRecord { status: RunStatus::Finished, ..store.load("hour").unwrap() };
    store.replace_hour(&record).unwrap();
    let whole = state("hour");
    store.replace_hour(&record.in_steps(10)).unwrap();
    assert!(whole != longer && state("hour") != whole);
    assert_eq!(state("run"), other);
}

#[test]
fn an_hour_becomes_coarser_in_its_place_and_no_other_run_does() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("store.db")).unwrap();
    hour(&store, "hour");
    store.begin_run(&made::header("run", "sweep", 1), &[made::cell(0, 1)]).unwrap();
    let record = RunRecord { status: RunStatus::Finished, ..store.load("hour").unwrap() };
    store.replace_hour(&record).unwrap();
    assert_eq!(store.load("hour").unwrap(), record);
    let coarse = record.clone().in_steps(10);
    store.replace_hour(&coarse).unwrap();
    let stored = store.load("hour").unwrap();
    let watch = stored.cells[0].trials[0].watched.as_ref().unwrap();
    assert_eq!((watch.ticks.len(), watch.total()), (3, record.cells[0].trials[0].watched.as_ref().unwrap().total()));
    assert_eq!(RecordedHour::of_settings(&stored.header.settings).unwrap().step_s, 10);
    let ids: Vec<String> = store.list(&Filter::default()).unwrap().into_iter().map(|line| line.id).collect();
    assert_eq!(ids, ["run", "hour"], "it stays in its place");
    let other = store.load("run").unwrap();
    assert!(matches!(store.replace_hour(&other), Err(StoreError::NoRecorder { .. })));
    let mut claimed = other.clone();
    RecordedHour { devices: vec![], hour_unix_s: 0, step_s: 1 }.put_into(&mut claimed.header.settings);
    assert!(
        matches!(store.replace_hour(&claimed), Err(StoreError::NoRecorder { .. })),
        "what stands in the store says so"
    );
    assert_eq!(store.load("run").unwrap(), other);
}

/// An hour of a device that 12 programs use all the time, with two throttles: each figure is as long as they get.
fn busy_hour(store: &Store, id: &str) -> RunRecord {
    const SECONDS: u64 = 3_600;
    let figure = |second: u64, most: u64| most - second % 997;
    let tick = |second| WatchTick {
        elapsed_us: 1_000_000 + second % 97,
        reads: figure(second, 99_999),
        writes: figure(second, 99_998),
        flushes: figure(second, 9_999),
        read_bytes: figure(second, 9_999_999_999),
        write_bytes: figure(second, 9_999_999_998),
        read_ms: figure(second, 99_999),
        write_ms: figure(second, 99_999),
        flush_ms: figure(second, 99_999),
        busy_ms: figure(second, 1_000),
        in_flight: second % 128,
        ..WatchTick::default()
    };
    let machine = |second| WatchSecond {
        ticks: 1,
        cpu: Some(WatchedCpu { busy_ppm: figure(second, 999_999) as u32, steal_ppm: figure(second, 99_999) as u32 }),
        pressure: Some(WatchedPressure {
            io_some_us: figure(second, 999_999),
            io_full_us: figure(second, 999_999),
            cpu_some_us: figure(second, 999_999),
        }),
        ..WatchSecond::default()
    };
    let did = |second| ProgramSecond {
        read_bytes: figure(second, 99_999_999),
        write_bytes: figure(second, 99_999_999),
        asked_read_bytes: figure(second, 999_999_999),
        asked_write_bytes: figure(second, 99_999_999),
        cpu_us: figure(second, 999_999),
        cpu_wait_us: figure(second, 99_999),
        blocked_us: figure(second, 999_999),
        sockets_us: figure(second, 999_999),
        ..ProgramSecond::default()
    };
    let watch = WatchRecord {
        ticks: (0..SECONDS).map(tick).collect(),
        seconds: (0..SECONDS).map(machine).collect(),
        throttles: [3_000, 400_000_000]
            .map(|per_s| WatchedThrottle {
                limit: KernelThrottle {
                    requests: ThrottledRequests::Reads,
                    counts: ThrottledQuantity::Requests,
                    per_s,
                    group: "/system.slice/postgresql.service".into(),
                    file: "/sys/fs/cgroup/system.slice/postgresql.service/io.max".into(),
                    lifted_by: "254:16 riops=max".into(),
                },
                asked: Some((0..SECONDS).map(|second| figure(second, per_s)).collect()),
            })
            .into(),
        programs: (0..12)
            .map(|program| WatchedProgram {
                name: format!("program-{program}"),
                seconds: (0..SECONDS).map(did).collect(),
                ..WatchedProgram::default()
            })
            .collect(),
        ..WatchRecord::default()
    };
    let mut header = RunHeader { verb: RunVerb::Watch, ..made::header(id, "watch data", 0) };
    RecordedHour { devices: vec!["data".into()], hour_unix_s: BEGUN, step_s: 1 }.put_into(&mut header.settings);
    let trial = watch.into_trial(&BTreeMap::new(), "data", BEGUN);
    let record = RunRecord {
        header,
        status: RunStatus::Finished,
        cells: vec![CellRecord { trials: vec![trial], ..made::cell(0, 1) }],
    };
    store.add_run(&record).unwrap();
    record
}

#[test]
fn a_week_of_a_busy_device_takes_what_it_may() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("store.db")).unwrap();
    let record = busy_hour(&store, "fine");
    let mut coarse = record.in_steps(10);
    coarse.header.id = "coarse".into();
    store.add_run(&coarse).unwrap();
    let lines = store.watches().unwrap();
    let [fine, coarse] = [lines[0].bytes, lines[1].bytes];
    println!("{fine} bytes an hour, in steps of 10 s {coarse}");
    assert!(fine < 4_500_000 && coarse < 600_000, "{fine} and {coarse} bytes");
    let hour = |number: u64| {
        let (step_s, bytes) = if number < 144 { (10, coarse) } else { (1, fine) };
        KeptHour { run: number.to_string(), begun_unix_s: number * 3_600, step_s, bytes }
    };
    let week: Vec<KeptHour> = (0..168).map(hour).collect();
    let left = |one: &KeptHour| {
        let done = upkeep(&week, 168 * 3_600, 168 * 3_600, 1);
        let of = done.iter().find_map(|of| match of {
            Upkeep::Thin { run, step_s } if *run == one.run => Some(one.bytes / u64::from(step_s / one.step_s)),
            Upkeep::Remove { run } if *run == one.run => Some(0),
            _ => None,
        });
        of.unwrap_or(one.bytes)
    };
    let bytes: u64 = week.iter().map(left).sum();
    assert!((90_000_000..=100_000_000).contains(&bytes), "{bytes} bytes a week");
}
