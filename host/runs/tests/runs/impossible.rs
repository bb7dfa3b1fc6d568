//! Cells that cannot be run where they are meant to: told before anything begins, and no end of a matrix.

use crate::or_skip;
use crate::support::devices::Sectors;
use crate::support::{Bench, Course, complete, entries, interrupted, quick_on, refused, words};
use loadline_engine::{EngineChoice, EngineOptions, Remedy};
use loadline_record::{Ending, RunStatus};
use loadline_runs::{Error, ImpossibleCell, Refusal, Settings, sole_target};
use loadline_units::Bytes;

const HEAD: &str = "schema = 1\nname = \"p\"\n";

fn load(keys: &str) -> String {
    format!(
        "[[load]]\npattern = \"random\"\nreads = \"100 %\"\nqueue_depth = 2\nsize = \"4 MiB\"\nwarm_up = \"0 s\"\n\
         duration = \"30 ms\"\ntrials = 1\norder = \"as-listed\"\n{keys}\n"
    )
}

/// The cells of a plan that cannot be run, and how many it has.
fn impossible(refusal: Refusal) -> (usize, Vec<ImpossibleCell>) {
    let Refusal::Impossible { count, cells } = refusal else { panic!("{refusal}") };
    (count, cells)
}

#[test]
fn blocks_below_the_sector_are_refused_before_anything_is_stored() {
    let bench = Bench::new();
    let device = or_skip!(Sectors::attach(&bench.path("image"), "4096"), "it takes root and a loop device");
    let text = format!("{HEAD}{}", load("block = [\"512 B\", \"4 KiB\", \"1 KiB\"]"));
    let (count, cells) = impossible(refused(bench.measurement(&text, &device.0).overwrite(&device.0)));
    assert_eq!((count, cells.len()), (3, 2));
    let told: Vec<String> = cells.iter().map(|cell| format!("{}: {}", cell.label, cell.why)).collect();
    assert!(told[0].contains("random read 512 B, depth 2: ") && told[1].contains("asks for 1 KiB"), "{told:?}");
    assert!(told.iter().all(|one| one.contains("multiples of 4 KiB") && one.contains("use a larger block")));
    assert_eq!(bench.runs(), 0);
    assert!(std::fs::read(bench.path("image")).unwrap().iter().all(|byte| *byte == 0), "the device was written");
}

#[test]
fn a_cell_that_an_engine_cannot_do_is_refused_before_the_others_are_measured() {
    let bench = Bench::new();
    let target = bench.target();
    let direct = load("block = \"4 KiB\"");
    let aio = EngineOptions { engine: EngineChoice::Aio, ..EngineOptions::default() };
    if !bench.measured(&format!("{HEAD}{direct}"), &target).header.volumes[0].direct {
        println!("skipped: the file system under the build folder takes no direct I/O");
        return;
    }
    let text = format!("{HEAD}{direct}{}", load("block = \"4 KiB\"\nbuffered = true"));
    let polled = EngineOptions { iopoll: true, ..EngineOptions::default() };
    for (engine, keep, remedy) in [
        (aio, false, Remedy::AutomaticEngine),
        (aio, true, Remedy::AutomaticEngine),
        (EngineOptions { sqpoll: true, ..aio }, false, Remedy::NoSubmissionThread),
        (polled, false, Remedy::NoCompletionPolling),
    ] {
        let settings = Settings { engine, keep, ..Settings::of(sole_target(&target)) };
        let (_, cells) = impossible(refused(bench.measurement_by(&text, settings)));
        let last = cells.last().unwrap();
        assert!(last.label.contains("depth 2, buffered"), "{}", last.label);
        assert_eq!(last.why.remedy(), Some(remedy), "{engine:?}");
        assert!(entries(&target).is_empty(), "{engine:?} left a test file");
    }
    for (engine, mode) in [(EngineOptions { sqpoll: true, ..EngineOptions::default() }, "SQPOLL"), (polled, "IOPOLL")] {
        let settings = Settings { engine, ..Settings::of(sole_target("null")) };
        let (_, cells) = impossible(refused(bench.measurement_by(&format!("{HEAD}{direct}"), settings)));
        let told = cells[0].why.to_string();
        assert!(told.contains(mode) && told.contains("null answers without any engine"), "{told}");
    }
    assert_eq!(bench.runs(), 1);
}

#[test]
fn a_quick_measurement_that_an_engine_cannot_do_is_refused_before_it_fills() {
    let bench = Bench::new();
    let target = bench.target();
    let mut measurement = quick_on(&target);
    measurement.settings.engine = EngineOptions { engine: EngineChoice::Aio, sqpoll: true, ..EngineOptions::default() };
    measurement.size = Some(Bytes::mib(16));
    let mut course = Course::default();
    let error = measurement.run(&bench.options(), &mut course).unwrap_err();
    let Error::Refused(refusal) = error else { panic!("{}", words(&error)) };
    let (count, cells) = impossible(*refusal);
    assert!((count, cells.len()) == (16, 16) && course.said.is_empty(), "{}", course.says_all());
    assert!(entries(&target).is_empty());
}

#[test]
fn what_became_impossible_is_recorded_and_the_rest_goes_on() {
    let bench = Bench::new();
    let disk = bench.path("disk");
    let small = or_skip!(Sectors::attach(&disk, "512"), "it takes root and a loop device");
    let link = bench.path("link");
    std::os::unix::fs::symlink(&small.0, &link).unwrap();
    let text = format!("{HEAD}{}", load("block = [\"8 KiB\", \"512 B\", \"4 KiB\"]")).replace("30 ms", "300 ms");
    interrupted(bench.measurement(&text, link.to_str().unwrap()).read_only(), 1);
    // Meanwhile the disk was attached anew, with larger sectors.
    drop(small);
    let large = Sectors::attach(&disk, "4096").expect("it was attached before");
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(&large.0, &link).unwrap();
    let mut course = Course::default();
    let record = complete(bench.resume(&mut course));
    let told = course.says_all();
    assert!(told.contains("random read 512 B, depth 2") && told.contains("multiples of 4 KiB"), "{told}");
    assert_eq!(record.status, RunStatus::Finished);
    let trials: Vec<_> = record.cells.iter().map(|cell| &cell.trials[0]).collect();
    let measured: Vec<bool> = trials.iter().map(|trial| trial.iops().is_some_and(|rate| rate > 0.0)).collect();
    assert_eq!(measured, [true, false, true]);
    let Ending::Failed(how) = &trials[1].ending else { panic!("{:?}", trials[1].ending) };
    assert!(how.contains("multiples of 4 KiB"), "{how}");
    assert_eq!(loadline_analysis::trials_cut_short(&record), 1);
}
