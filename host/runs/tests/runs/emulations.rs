//! Emulations as another program has them: figures, records, reports of troubles, and measurements over NBD.

use crate::or_skip;
use crate::support::devices::{Memory, wait_until};
use crate::support::emulated::Emulated;
use crate::support::nbd_client::{PAIR, READ, WRITE, ask, connected, head, requests};
use crate::support::{Bench, cells, doubts, environment, refusal, refused, schema_errors, summary, whole, words};
use loadline_disk::BurstCredits;
use loadline_emulation::{Change, FaultKind, FaultSelection};
use loadline_emulator::Backing;
use loadline_engine::{EngineChoice, EngineOptions};
use loadline_record::{Clock, DoubtCode, DoubtEvidence, RunRecord, RunStatus, RunVerb, TargetKind};
use loadline_runs::emulation::{EmulationEvent, EmulationOptions, EmulationRun, EndedEmulation, StoredEmulation};
use loadline_runs::{DeclaredEnvironment, Error, Refusal, Settings, Silent, settings_of, sole_target, verify};
use loadline_units::{Bytes, Duration};
use std::io::{Read, Write};
use std::path::Path;

/// The record of an emulation that has ended.
fn stored(ended: &EndedEmulation, bench: &Bench) -> RunRecord {
    assert!(matches!(ended.stored, Ok(StoredEmulation::Stored)), "{:?}", ended.stored);
    bench.newest().unwrap()
}

/// That a figure is the same in the volume's own account and in the record.
fn same(told: f64, kept: &serde_json::Value) {
    let kept = kept.as_f64().unwrap();
    assert!(told > 0.0 && (told / kept - 1.0).abs() < 1e-6, "{told} here, {kept} in the run");
}

#[test]
fn what_was_asked_for_is_kept_with_what_held_it() {
    let (ended, bench) = Emulated::new(PAIR).end();
    assert!(matches!(ended.stored, Ok(StoredEmulation::NothingDone)), "{:?}", ended.stored);
    assert_eq!(bench.runs(), 0, "nobody asked for anything");

    let emulated = Emulated::new(PAIR);
    assert_eq!(requests(&emulated.socket(), &[WRITE, READ, READ]), [0; 3]);
    let (ended, bench) = emulated.end();
    let exports = ended.exports();
    let shares = exports[0].account.shares_of_series(exports[0].series);
    let bound_by = shares.bound_by.unwrap().name();
    let sum: f64 = shares.shares.iter().map(|share| share.share).sum();
    assert!((sum - 1.0).abs() < 1e-9, "{shares:?}");
    let idle = exports[1].account.shares_of_series(exports[1].series);
    assert!(idle.bound_by.is_none() && idle.shares.is_empty(), "{idle:?}");
    let record = stored(&ended, &bench);
    assert_eq!((&record.header.verb, record.header.clock), (&RunVerb::Emulate, Clock::Real));
    let cells = cells(&record);
    assert_eq!(cells.len(), 1, "only data was used");
    assert_eq!(schema_errors("run.schema.json", &summary(&record)), Vec::<String>::new());
    assert_eq!((&cells[0]["volume"], &cells[0]["binding"]["limit"]), (&"data".into(), &bound_by.into()));
    assert!(cells[0]["read"]["iops"].as_f64().unwrap() > 0.0 && cells[0]["write"]["iops"].as_f64().unwrap() > 0.0);
    assert!(loadline_analysis::known_limits(&record).is_empty());
}

#[test]
fn what_somebody_asked_for_who_left_takes_its_time_and_counts_all_the_same() {
    let emulated = Emulated::new(PAIR);
    assert_eq!(requests(&emulated.socket(), &[READ, WRITE]), [0; 2]);
    emulated.begin("data", FaultKind::Hang);
    connected(&emulated.socket()).write_all(&head(READ, 0, 512)).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(2_300));
    emulated.change(&Change::Clear(FaultSelection::All));
    std::thread::sleep(std::time::Duration::from_millis(300));
    let (ended, bench) = emulated.end();
    let record = stored(&ended, &bench);
    let total = cells(&record)[0]["total"].clone();
    let (figures, seconds) = (ended.exports()[0].figures.clone(), ended.elapsed.as_s_f64());
    assert_eq!(figures.requests(), 3);
    assert!(total["iops"].as_f64().unwrap() < 3.0 / 2.3, "{total} in {seconds} s");
    // Second by second: what hung was outstanding all the time, and is answered in the last one.
    let series = &record.cells[0].trials[0].series.seconds;
    let answered: u64 = series.iter().map(loadline_record::Second::count).sum();
    assert_eq!(answered, 3, "{series:?}");
    let whole = |second: &&loadline_record::Second| (second.outstanding - 1.0).abs() < 1e-9;
    let mut since = series.iter().skip_while(|second| !whole(second));
    let between = since.by_ref().take_while(whole).filter(|second| second.count() == 0).count();
    let after: f64 = since.map(|second| second.outstanding).sum();
    assert!(between > 0 && after < 1e-9, "{series:?}");
    let html = loadline_report::html(&[(&record, &loadline_analysis::summarize(&record))]);
    assert!(html.contains("over time") && !html.contains("No course over time"));
}

#[test]
fn what_a_client_has_not_taken_by_the_end_was_done_and_is_in_the_figures_and_in_the_run() {
    let emulated = Emulated::new(PAIR);
    let mut client = connected(&emulated.socket());
    // More than any socket holds.
    for _ in 0..64 {
        client.write_all(&head(READ, 0, 1 << 20)).unwrap();
    }
    // The first one is on its way, and all are done soon.
    client.read_exact(&mut [0; 16]).unwrap();
    assert!(wait_until(|| emulated.run.emulation().accounts()[0].requests == 64));
    let (ended, bench) = emulated.end();
    let figures = ended.exports()[0].figures.clone();
    assert!(figures.requests() == 64 && figures.errors.is_empty(), "{figures:?}");
    let record = stored(&ended, &bench);
    same(
        64.0,
        &serde_json::json!(
            record.cells[0].trials[0].series.seconds.iter().map(loadline_record::Second::count).sum::<u64>()
        ),
    );
}

#[test]
fn an_emulation_that_keeps_no_record_leaves_none() {
    let bench = Bench::new();
    let mut run = EmulationRun::begin(&environment(PAIR), EmulationOptions::in_memory(1, Bytes::mib(64))).unwrap();
    run.emulation_mut().listen_unix(&bench.path("s")).unwrap();
    assert_eq!(requests(&bench.path("s"), &[READ]), [0]);
    assert!(matches!(run.end().stored, Ok(StoredEmulation::Unwanted)));
    assert!(!bench.store().exists());
}

#[test]
fn a_store_that_takes_no_record_is_refused_before_anything_is_served() {
    let bench = Bench::new();
    let no_store = bench.file("notes.txt", "not a database, but some text that somebody wrote and wants to keep");
    for store in [no_store.as_str(), "/proc/self/runs/r.db", bench.path("").to_str().unwrap()] {
        let trace = bench.path("t");
        let options = EmulationOptions { trace: Some(trace.clone()), ..EmulationOptions::in_memory(1, Bytes::mib(64)) };
        let mut run = EmulationRun::begin(&environment(PAIR), options).unwrap();
        let error = run.keep_in(Path::new(store)).unwrap_err();
        assert!(matches!(error, Error::RecordNotKept { .. }), "{error}");
        run.abandon();
        assert!(!trace.exists(), "it is in the way the next time");
    }
    assert!(std::fs::read_to_string(no_store).unwrap().starts_with("not a database"));
}

#[test]
fn what_an_emulation_did_so_far_is_in_the_store_while_it_goes_on() {
    let mut emulated = Emulated::new(PAIR);
    let status = |emulated: &Emulated| emulated.bench.newest().unwrap().status;
    assert_eq!((status(&emulated), emulated.bench.runs()), (RunStatus::Unfinished, 1));
    assert_eq!(requests(&emulated.socket(), &[WRITE, READ, READ]), [0; 3]);
    let kept = wait_until(|| {
        emulated.run.observe();
        emulated.bench.trials_stored() == 1
    });
    assert!(kept && status(&emulated) == RunStatus::Unfinished && emulated.bench.runs() == 1, "nothing is kept");
    let record = emulated.bench.newest().unwrap();
    assert_eq!(schema_errors("run.schema.json", &summary(&record)), Vec::<String>::new());
    // What comes later takes its place.
    assert_eq!(requests(&emulated.socket(), &[READ, READ]), [0; 2]);
    let ratio = |record: &RunRecord| cells(record)[0]["load"]["read_ratio"].as_f64().unwrap();
    let (ended, bench) = emulated.end();
    let record = stored(&ended, &bench);
    assert!((ratio(&record) - 0.8).abs() < 1e-9, "{} of 3 and 2 requests are reads", ratio(&record));
    assert_eq!((record.status, bench.runs()), (RunStatus::Finished, 1));
}

#[test]
fn a_store_that_goes_away_while_the_emulation_goes_on_is_told_and_made_anew() {
    let mut emulated = Emulated::new(PAIR);
    assert_eq!(requests(&emulated.socket(), &[READ]), [0]);
    let store = emulated.bench.store();
    let replaced = || {
        for end in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{end}", store.display()));
        }
        std::fs::create_dir(&store).unwrap();
    };
    replaced();
    let told = wait_until(|| {
        let (_, events) = emulated.run.observe();
        events.iter().any(|event| matches!(event, EmulationEvent::RecordNotKept { cause } if cause.contains("runs.db")))
    });
    assert!(told, "nothing is reported");
    std::fs::remove_dir(&store).unwrap();
    assert_eq!(requests(&emulated.socket(), &[READ]), [0]);
    let kept = wait_until(|| {
        emulated.run.observe();
        emulated.bench.runs() > 0
    });
    assert!(kept, "nothing is kept");
    // And what cannot be kept at the end has its figures all the same.
    replaced();
    let (ended, _bench) = emulated.end();
    assert!(ended.stored.is_err() && ended.exports()[0].figures.requests() == 2);
}

#[test]
fn a_trace_that_could_not_be_written_costs_nothing_else() {
    let bench = Bench::new();
    let small = or_skip!(Memory::mount(&bench.path("small"), "size=4k"), "cannot mount");
    let trace = Path::new(&small.0).join("trace");
    let emulated = Emulated::with(PAIR, bench, |options| options.trace = Some(trace.clone()));
    assert_eq!(requests(&emulated.socket(), &[READ; 200]), [0; 200]);
    let (ended, bench) = emulated.end();
    let error = ended.result.as_ref().unwrap_err().to_string();
    assert!(error.contains("cannot write the trace"), "{error}");
    assert_eq!((ended.exports()[0].figures.requests(), bench.runs()), (200, 1));

    // Contents that did not fit are reported, however short it was.
    std::fs::remove_file(&trace).unwrap();
    let folder = Path::new(&small.0).join("disks");
    let emulated = Emulated::with(PAIR, bench, |options| options.backing = Backing::Folder(folder));
    assert!(requests(&emulated.socket(), &[WRITE; 8]).contains(&28), "it has room for them");
    let (ended, _bench) = emulated.end();
    assert!(ended.result.is_ok());
    assert!(
        ended.events.iter().any(|event| matches!(event, EmulationEvent::BackingFailed { .. })),
        "{:?}",
        ended.events
    );
}

#[test]
fn memory_that_is_full_and_a_folder_that_is_full_are_told_once() {
    let told = |emulated: &mut Emulated, is_it: fn(&EmulationEvent) -> bool| {
        let seen = wait_until(|| emulated.run.observe().1.iter().any(is_it));
        assert!(seen && !emulated.run.observe().1.iter().any(is_it), "it is reported once");
    };
    let mut emulated = Emulated::with(PAIR, Bench::new(), |options| {
        (options.backing, options.write_cache) = (Backing::Memory { max: Bytes::mib(2) }, Bytes::ZERO);
    });
    // Each page of a mirror takes two.
    let pages: Vec<(u16, u64, u32)> = (0..600).map(|page| (WRITE, page * 4_096, 512)).collect();
    let errors = ask(&emulated.socket(), &pages);
    assert_eq!(errors.into_iter().find(|error| *error != 0), Some(28));
    told(&mut emulated, |event| *event == EmulationEvent::MemoryFull { max: Bytes::mib(2) });

    let bench = Bench::new();
    // Room for the list of the disks and a page more, where a mirror wants two.
    let memory = or_skip!(Memory::mount(&bench.path("small"), "size=8k"), "cannot mount");
    let folder = bench.path("small/disks");
    let mut emulated = Emulated::with(PAIR, bench, |options| {
        (options.backing, options.write_cache) = (Backing::Folder(folder), Bytes::ZERO);
    });
    assert_eq!(requests(&emulated.socket(), &[WRITE]), [28]);
    told(
        &mut emulated,
        |event| matches!(event, EmulationEvent::BackingFailed { cause } if cause.contains("No space left")),
    );
    drop(emulated.end());
    drop(memory);
}

#[test]
fn what_was_done_to_an_emulation_is_in_its_record_with_its_time() {
    // A machine that has credits to spend.
    let machine =
        "\n[vm]\nuncached = { iops = \"50000 IOPS\", burst = { iops = \"90000 IOPS\" } }\nburst_span = \"30 min\"\n";
    let text = format!("{PAIR}{machine}");
    let emulated = Emulated::with(&text, Bench::new(), |options| options.credits = BurstCredits::FULL);
    let socket = emulated.socket();
    assert_eq!(requests(&socket, &[WRITE, READ]), [0; 2]);
    emulated.begin("log", FaultKind::Hang);
    emulated.change(&Change::SpendCredits(None));
    let delay = emulated.begin("data", FaultKind::Delay(Duration::from_ms(5))).fault.unwrap();
    assert_eq!(requests(&socket, &[READ]), [0]);
    emulated.change(&Change::Clear(FaultSelection::Number(delay)));
    let faster = environment(&text.replace("\"pair\"", "\"faster\""));
    emulated.change(&Change::Environment(Box::new(faster.spec(&loadline_catalog::Draw::MIDDLE))));
    assert_eq!(requests(&socket, &[READ, READ]), [0; 2]);
    emulated.change(&Change::PowerCut { seed: 3 });
    let (ended, bench) = emulated.end();
    let record = stored(&ended, &bench);
    let found: Vec<_> = doubts(&record).filter(|doubt| doubt.code == DoubtCode::ChangedMeanwhile).collect();
    let [doubt] = found[..] else { panic!("nobody asked anything of the log: {found:?}") };
    let DoubtEvidence::StorageChanged { changes, more: 0 } = &doubt.seen else { panic!("{doubt:?}") };
    let what = [
        "burst credits were spent",
        "fault 2 began (data: requests take 5 ms longer)",
        "fault 2 ended (data: requests take 5 ms longer)",
        "disks and machine became those of faster",
    ];
    assert!(changes.iter().map(|change| change.what.as_str()).eq(what), "{changes:?}");
    assert!(changes.is_sorted_by_key(|change| change.at_ns), "{changes:?}");
    let html = loadline_report::html(&[(&record, &loadline_analysis::summarize(&record))]);
    assert!(html.contains("burst credits were spent") && html.contains("became those of faster"));
}

#[test]
fn what_is_gone_for_good_is_told_and_what_is_not_is_not() {
    let emulated = Emulated::new(PAIR);
    assert_eq!(requests(&emulated.socket(), &[WRITE]), [0]);
    let none: [&str; 0] = [];
    assert_eq!(emulated.begin("data/0", FaultKind::Lost).gone, none, "the other disk has a copy");
    // The first one comes back empty, and there is nothing left to fill it from.
    assert_eq!(emulated.begin("data/1", FaultKind::Lost).gone, ["data/1"]);
    assert_eq!(emulated.begin("log/0", FaultKind::Lost).gone, ["log/0"]);
    assert_eq!(emulated.begin("log/0", FaultKind::Detached).gone, none);
}

#[test]
fn faults_are_seen_where_they_are_met() {
    let mut emulated = Emulated::new(PAIR);
    emulated.begin("data", FaultKind::Hang);
    emulated.begin("data", FaultKind::Delay(Duration::from_ms(1)));
    emulated.begin("data/1", FaultKind::Error(loadline_block::ErrorKind::Io));
    let (view, _) = emulated.run.observe();
    let met = |name: &str| view.exports.iter().find(|export| export.export == name).unwrap().faults.clone();
    // A delay of a volume lies in the guest: its disks by themselves have none.
    assert_eq!((met("data"), met("data/0"), met("data/1"), met("log")), (vec![1, 2, 3], vec![1], vec![1, 3], vec![]));
    assert_eq!(view.faults.len(), 3);
}

/// A disk that lets through so many requests a second, in steady distances.
fn steady(rate: u32) -> String {
    format!(
        "schema = 1\nname = \"slow\"\n[volume.data]\n[[volume.data.disks]]\nsize = \"64 MiB\"\n[volume.data.disks.limit]\n\
         iops = \"{rate} IOPS\"\n"
    )
}

const PLAN: &str = r#"
schema = 1
name = "small"
[[load]]
pattern = "random"
reads = ["100 %", "0 %"]
block = "4 KiB"
queue_depth = [1, 32]
size = "4 MiB"
fill = "never"
warm_up = "1 s"
duration = "1 s"
trials = 1
"#;

#[test]
fn an_emulated_disk_is_measured_by_its_uri() {
    let emulated = Emulated::new(&steady(500));
    let (uri, bench) = (emulated.uri(), Bench::new());
    let refusal = bench.measurement(PLAN, &uri).run(&mut Silent::default()).unwrap_err();
    assert!(words(&refusal).contains("what it holds would be lost"), "{}", words(&refusal));
    let record = whole(bench.measurement_by(PLAN, Settings::of(Vec::new())).on("disk", &uri).overwrite(&uri));
    assert_eq!(schema_errors("run.schema.json", &summary(&record)), [""; 0]);
    let volume = &record.header.volumes[0];
    assert_eq!((volume.kind, volume.name.as_str(), &volume.target), (TargetKind::Nbd, "disk", &uri));
    assert_eq!((volume.direct, volume.size_bytes), (true, Some(4 << 20)));
    let measured = cells(&record);
    assert_eq!(measured.len(), 4);
    assert!(measured.iter().all(|cell| cell["total"]["iops"].as_f64().unwrap() > 0.0), "{measured:?}");
    let html = loadline_report::html(&[(&record, &loadline_analysis::summarize(&record))]);
    assert!(html.contains("export of an NBD server"));
    // An environment may say where its volume is, too.
    let placed = steady(500).replace("[volume.data]\n[[", &format!("[volume.data]\npath = {uri:?}\n[["));
    let short = PLAN.replace("1 s", "100 ms");
    let declared = DeclaredEnvironment::new(environment(&placed));
    let record = whole(bench.measurement_by(&short, Settings::of(Vec::new())).declared(declared).read_only());
    assert_eq!(record.header.volumes[0].target, uri);
    // Another spelling of it is no other target.
    let spelled = uri.replace("data", "d%61ta");
    whole(bench.measurement(&short, &uri).overwrite(&spelled));
    let both = bench.measurement_by(&short, Settings::of(Vec::new())).on("a", &uri).on("b", &spelled).overwrite(&uri);
    assert!(matches!(refused(both), Refusal::Overlap { .. }));
}

#[test]
fn data_written_over_nbd_is_checked_by_a_later_run() {
    let emulated = Emulated::new(&steady(100_000));
    let (uri, bench) = (emulated.uri(), Bench::new());
    let verified = PLAN.replace("trials = 1", "trials = 1\nverify = true").replace("1 s", "200 ms");
    let record = whole(bench.measurement(&verified, &uri).overwrite(&uri));
    let settings = settings_of(&record).unwrap();
    let faults = || -> u64 {
        let found = verify(&record, &settings, &mut Silent::default()).unwrap();
        found.iter().map(|trial| trial.found.faults_total).sum()
    };
    assert_eq!(faults(), 0);
    // Written over by somebody else, it is not what the run left.
    whole(bench.measurement(&verified.replace("verify = true", ""), &uri).overwrite(&uri));
    assert!(faults() > 0);
}

#[test]
fn what_an_export_cannot_do_is_told_before_anything_is_measured() {
    let emulated = Emulated::new(&steady(500));
    let (uri, bench) = (emulated.uri(), Bench::new());
    let run = |change: &str, engine: EngineOptions| {
        let settings = Settings { engine, overwrite: vec![uri.clone()], ..Settings::of(sole_target(&uri)) };
        bench.measurement_by(&PLAN.replace("trials = 1", change), settings).run(&mut Silent::default())
    };
    let usual = EngineOptions::default();
    assert!(refusal(run("buffered = true", usual)).to_string().contains("page cache"));
    assert!(matches!(refusal(run("files = 2", usual)), Refusal::NoDirectory { .. }));
    let aio = EngineOptions { engine: EngineChoice::Aio, ..usual };
    assert!(refusal(run("trials = 1", aio)).to_string().contains("over a socket"));
    let wrong = bench.measurement(PLAN, &uri.replace("data?", "date?")).read_only().run(&mut Silent::default());
    let wrong = words(&wrong.unwrap_err());
    assert!(wrong.contains("no export \"date\"") && wrong.contains("\"data\""), "{wrong}");
    assert_eq!(bench.runs(), 0);
}
