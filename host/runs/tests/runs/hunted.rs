//! Hunts: what moves a ceiling and what is ruled out, on models where the answer is known and on a throttled device.

use crate::or_skip;
use crate::support::devices::{Group, Loop};
use crate::support::inputs::{EVEN, STRIPE, random_reads};
use crate::support::{Bench, Course, environment, plan, schema_errors, trials, words};
use loadline_hunt::HuntRounds;
use loadline_record::{RunRecord, RunStatus, RunVerb};
use loadline_runs::{
    Ended, Error, Hunt, HuntChoices, Observer, Overrides, RunOutcome, Settings, Silent, hunt_result, sole_target,
};
use loadline_units::Duration;
use serde_json::Value;

/// Eight disks that could do 40,000 IOPS together, on a VM that lets 12,800 through.
const CAPPED: &str = r#"
schema = 1
name = "capped"
vm = "azure/ds3"
[volume.data]
disks = [{ sku = "azure/classic-premium-p30", count = 8 }]
layout = { stripe = { columns = 8, interleave = "64 KiB" } }
host_cache = "none"
"#;

/// The same, held to 2,000 requests a second.
const HELD: &str = r#"
schema = 1
name = "held"
[[volume.data.disks]]
size = "10 GiB"
limit = { iops = "2000 IOPS" }
[volume.data.disks.latency.read]
median = "100 us"
p99 = "200 us"
"#;

/// What to vary, and from which effect on.
fn choices(vary: &[&str], margin: &str, duration: Option<Duration>) -> HuntChoices {
    HuntChoices {
        cell: None,
        vary: vary.iter().flat_map(|all| all.split(',')).map(str::to_owned).collect(),
        volume: None,
        overrides: Overrides { trials: Some(HuntRounds::MAX), duration, ..Overrides::default() },
        catalog: None,
        margin: margin.parse().unwrap(),
    }
}

const MARGIN: &str = "5 %";

/// A hunt on an environment, or else on a target.
fn around(text: &str, on: Result<&str, Settings>, choices: HuntChoices) -> Result<Hunt, Error> {
    let plan = plan(text);
    Ok(match on {
        Ok(model) => Hunt::around(&plan, "p.toml", choices, Settings::of(Vec::new()), Some(environment(model)))?,
        Err(settings) => Hunt::around(&plan, "p.toml", choices, settings, None)?,
    })
}

fn begun(
    hunt: Result<Hunt, Error>,
    bench: &Bench,
    seed: u64,
    observer: &mut dyn Observer,
) -> Result<RunOutcome, Error> {
    hunt?.run(&bench.options().seeded(seed), observer)
}

/// What a hunt finds, as programs read it.
fn found(record: &RunRecord) -> Value {
    let found = hunt_result(record).expect("it is a hunt");
    let found = serde_json::to_value(loadline_report::words::hunt::hunt_document(&found)).unwrap();
    assert_eq!(schema_errors("hunt.schema.json", &found), Vec::<String>::new(), "{found}");
    found
}

fn hunted(hunt: Result<Hunt, Error>, seed: u64) -> (RunRecord, Value) {
    let bench = Bench::new();
    let outcome = begun(hunt, &bench, seed, &mut Silent::default()).unwrap_or_else(|error| panic!("{}", words(&error)));
    let found = found(&outcome.record);
    (outcome.record, found)
}

/// "factor to: effect" of every row.
fn effects(found: &Value) -> Vec<String> {
    let rows = found["rows"].as_array().unwrap().iter();
    rows.map(|r| {
        format!("{} {}: {}", r["factor"].as_str().unwrap(), r["to"].as_str().unwrap(), r["effect"].as_str().unwrap())
    })
    .collect()
}
fn standing(found: &Value, what: &str) -> String {
    let suspect = found["suspects"].as_array().unwrap().iter().find(|s| s["what"] == what);
    suspect.unwrap_or_else(|| panic!("{what} in {found}"))["standing"].as_str().unwrap().to_owned()
}

#[test]
fn on_a_stripe_whose_pieces_are_too_long_the_interleave_moves_the_ceiling() {
    let (record, found) = hunted(
        around(&random_reads("1 MiB", 1), Ok(STRIPE), choices(&["interleave=256KiB,layout=8"], MARGIN, None)),
        5,
    );
    assert_eq!(effects(&found), ["interleave 256 KiB: moved", "layout 8 disks: ruled-out"]);
    assert_eq!(standing(&found, "how requests fall on the disks of a stripe"), "binds");
    assert_eq!(standing(&found, "the disks, by their number"), "ruled-out");
    assert_eq!((&record.header.verb, record.status), (&RunVerb::Hunt, RunStatus::Finished));
}

#[test]
fn under_the_cap_of_a_vm_the_disks_are_ruled_out() {
    let vary = ["layout=4", "vm", "depth=512"];
    let hunt = around(&random_reads("8 KiB", 256), Ok(CAPPED), choices(&vary, MARGIN, Some(Duration::from_s(1))));
    let (_, found) = hunted(hunt, 5);
    assert_eq!(effects(&found), ["layout 4 disks: ruled-out", "vm none: moved", "depth 512: ruled-out"]);
    assert_eq!(standing(&found, "the VM's limits"), "binds");
    assert_eq!(standing(&found, "the disks, by their number"), "ruled-out");
    assert_eq!(standing(&found, "too few requests at once"), "ruled-out");
}

#[test]
fn where_nothing_has_an_effect_hardly_any_hunt_finds_one() {
    // A margin far below the noise, so that only the interval stands in the way of an alarm.
    let alarms = (0..20).filter(|seed| {
        let varied = choices(&["alignment=16KiB:64KiB:256KiB"], "0.1 %", Some(Duration::from_ms(200)));
        let (_, found) = hunted(around(&random_reads("4 KiB", 4), Ok(EVEN), varied), *seed);
        effects(&found).iter().any(|e| e.ends_with("moved") || e.ends_with("lowered"))
    });
    // 5 % of 20 is 1; more than 4 would come up in one of 400 such tests.
    assert!(alarms.count() <= 4);
}

#[test]
fn around_a_load_that_gets_all_it_asks_for_a_hunt_stops_after_its_first_trials() {
    let open = random_reads("8 KiB", 1).replace("queue_depth = 1", "arrival = { poisson = [\"200 IOPS\"] }");
    let ceiling = random_reads("8 KiB", 4).replace("queue_depth = 4", "queue_depth = 4\nrate_max = \"200 IOPS\"");
    let thinking = random_reads("8 KiB", 4).replace("queue_depth = 4", "queue_depth = 4\nthink_time = \"100 ms\"");
    for (text, next) in [
        (open, "Hunt around a higher rate of arrivals, or around a closed loop"),
        (ceiling, "Hunt around a higher rate ceiling, or without it"),
        (thinking, "Hunt without think time, or with more requests outstanding"),
    ] {
        let (record, found) = hunted(around(&text, Ok(EVEN), choices(&["block=32KiB,threads=2"], MARGIN, None)), 5);
        assert!(found["nothing_bound"].as_str().is_some_and(|told| told.contains(next)), "{found}");
        // Three trials of the baseline, and none of a setting.
        let trials: Vec<usize> = record.cells.iter().map(|cell| cell.trials.len()).collect();
        assert_eq!((trials, record.status), (vec![3, 0, 0], RunStatus::Finished));
    }
}

#[test]
fn an_open_loop_that_falls_short_is_hunted_around() {
    let open = random_reads("8 KiB", 1).replace("queue_depth = 1", "arrival = { poisson = [\"2500 IOPS\"] }");
    let varied = choices(&["block=32KiB,alignment=64KiB"], MARGIN, None);
    let (_, found) = hunted(around(&open, Ok(HELD), varied), 5);
    assert_eq!(found["nothing_bound"], Value::Null);
    assert_eq!(effects(&found), ["block 32 KiB: moved", "alignment 64 KiB: ruled-out"]);
    assert_eq!(found["rows"][1]["rounds"], 4, "{found}");
}

#[test]
fn a_model_has_only_the_suspects_that_it_can_have() {
    // A model has no file system, no threads that fall behind, and here no stripe.
    let (_, found) = hunted(around(&random_reads("8 KiB", 4), Ok(EVEN), choices(&["depth=8"], MARGIN, None)), 1);
    let whats: Vec<&str> = found["suspects"].as_array().unwrap().iter().map(|s| s["what"].as_str().unwrap()).collect();
    let lacking = |what: &&str| ["file system", "a stripe", "load threads"].iter().any(|part| what.contains(part));
    assert!(!whats.iter().any(lacking), "{whats:?}");
}

fn on(target: &str) -> Settings {
    Settings::of(sole_target(target))
}

#[test]
fn what_is_usually_varied_and_cannot_be_here_is_left_out_and_told() {
    let bench = Bench::new();
    let file = bench.sparse("small", 1);
    let text = "schema = 1\nname = \"one\"\n[[load]]\npattern = \"random\"\nreads = \"100 %\"\nblock = \"512 KiB\"\nqueue_depth = 1\n\
                warm_up = \"0 s\"\nduration = \"20 ms\"\nfill = \"never\"\n";
    let reading = || Settings { read_only: true, ..on(&file) };
    let (_, found) = hunted(around(text, Err(reading()), choices(&[], MARGIN, None)), 1);
    let left_out = found["not_tried"].as_array().unwrap();
    let told = |factor: &str| left_out.iter().find(|one| one["factor"] == factor).unwrap_or_else(|| panic!("{found}"));
    // A block of four times as much is larger than the file.
    assert_eq!(told("block")["to"], "2 MiB");
    assert!(told("files")["because"].as_str().unwrap().contains("the target is none"));
    assert!(effects(&found).iter().any(|row| row.starts_with("depth 2")), "{found}");
    // By name it is refused.
    let hunt = around(text, Err(reading()), choices(&["block=2MiB"], MARGIN, None));
    let refused = begun(hunt, &bench, 1, &mut Silent::default()).unwrap_err();
    assert!(words(&refused).contains("cannot be run"), "{}", words(&refused));
}

#[test]
fn in_memory_a_cache_binds_and_there_is_no_page_cache_to_go_past() {
    let folder = or_skip!(tempfile::tempdir_in("/dev/shm").ok(), "no /dev/shm");
    let target = folder.path().to_str().unwrap();
    let text = random_reads("4 KiB", 2).replace("4 s", "30 ms").replace("8 GiB", "8 MiB");
    let hunt = around(&text, Err(on(target)), choices(&["direct"], MARGIN, None));
    let refused = words(&begun(hunt, &Bench::new(), 1, &mut Silent::default()).unwrap_err());
    assert!(refused.contains("direct cannot be varied: all goes through the page cache"), "{refused}");
    let (_, found) = hunted(around(&text, Err(on(target)), choices(&["depth=4"], "50 %", None)), 1);
    let first = &found["suspects"][0];
    assert_eq!((first["limits"][0].as_str(), first["standing"].as_str()), (Some("cache"), Some("binds")), "{found}");
    assert!(first["because"].as_str().unwrap().contains("tmpfs"), "{first}");
}

#[test]
#[ignore = "long: measures this machine"]
fn on_a_disk_that_the_kernel_holds_to_a_rate_more_depth_is_ruled_out() {
    let folder = or_skip!(tempfile::tempdir_in("/dev/shm").ok(), "no /dev/shm");
    let file = folder.path().join("held");
    std::fs::write(&file, vec![0x5a; 64 << 20]).unwrap();
    let device = or_skip!(Loop::attach(&file), "it takes root and a loop device");
    let group = or_skip!(Group::new("hunt", &[(&device, "read_iops_device", 500)]), "no blkio.throttle");
    let text = random_reads("4 KiB", 8).replace("4 s", "2 s").replace("8 GiB", "32 MiB");
    let settings = Settings { read_only: true, ..on(&device.node) };
    let (_, found) = group.within(|| hunted(around(&text, Err(settings), choices(&["depth=16"], "20 %", None)), 1));
    assert_eq!(effects(&found), ["depth 16: ruled-out"], "{found}");
    assert_eq!(standing(&found, "too few requests at once"), "ruled-out");
}

/// Rates by cell and trial.
fn rates(record: &RunRecord) -> Vec<(&str, Option<f64>)> {
    record.cells.iter().flat_map(|cell| cell.trials.iter().map(|trial| (cell.id.as_str(), trial.iops()))).collect()
}

#[test]
fn a_hunt_that_is_ended_again_and_again_comes_to_what_it_would_have_come_to() {
    // Settings that have no effect, and a margin so narrow that it takes rounds to know.
    let hunt = || {
        let varied = choices(&["alignment=16KiB,64KiB", "depth=8"], "0.2 %", None);
        around(&random_reads("4 KiB", 4).replace("4 s", "20 s"), Ok(HELD), varied)
    };
    let bench = Bench::new();
    let mut outcome = begun(hunt(), &bench, 7, &mut Course::ending_in(3)).unwrap();
    let mut resumed = 0;
    while matches!(outcome.ended, Ended::Interrupted) {
        let before = outcome.record;
        outcome = bench.resume(&mut Course::ending_in(4)).unwrap();
        let after: Vec<_> = trials(&outcome.record).collect();
        assert!(trials(&before).all(|trial| after.contains(&trial)), "a finished trial was lost or run again");
        resumed += 1;
    }
    assert!(resumed > 1, "it was ended {resumed} times");
    let whole = hunted(hunt(), 7);
    assert_eq!(rates(&outcome.record), rates(&whole.0));
    assert_eq!(whole.1["rows"].as_array().unwrap().len(), 3);
}

#[test]
fn a_hunt_on_a_target_goes_on_where_it_was_ended() {
    let bench = Bench::new();
    let target = bench.target();
    let text = random_reads("4 KiB", 2).replace("4 s", "10 ms").replace("8 GiB", "8 MiB");
    let hunt = around(&text, Err(on(&target)), choices(&["depth=4,engine=threads,files=2"], "1 %", None));
    let mut outcome = begun(hunt, &bench, 1, &mut Course::ending_in(4)).unwrap();
    let mut resumed = 0;
    while matches!(outcome.ended, Ended::Interrupted) {
        outcome = bench.resume(&mut if resumed < 2 { Course::ending_in(6) } else { Course::default() }).unwrap();
        resumed += 1;
    }
    let baseline = outcome.record.cells[0].trials.len();
    assert!(outcome.record.cells.iter().all(|cell| cell.trials.len() <= baseline), "a round without its baseline");
    assert!(resumed > 0 && crate::support::entries(&target).is_empty());
}
