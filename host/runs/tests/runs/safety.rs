//! What exists is not written unless it was handed over, and nothing is written where no record can be kept.

use crate::support::{Bench, Course, cells, complete, quick_on, refused, whole, words};
use loadline_runs::{Error, Event, Observer, Refusal, Settings, Silent, Unneeded, settings_of, sole_target};
use std::fs;

const MIB: usize = 1 << 20;

/// Reads and writes, a fraction of a second.
const SMALL: &str = r#"
schema = 1
name = "small"
[[load]]
pattern = "random"
reads = ["100 %", "0 %"]
block = "4 KiB"
size = "4 MiB"
warm_up = "0 s"
duration = "40 ms"
trials = 1
"#;

#[test]
fn an_existing_file_is_written_only_when_it_is_named_again() {
    let bench = Bench::new();
    let mine = vec![b'x'; 4 * MIB];
    let file = bench.file("mine", &mine);
    let error = bench.measurement(SMALL, &file).run(&mut Silent::default()).unwrap_err();
    assert!(words(&error).contains("would be lost"), "{error}");
    assert_eq!(fs::read(&file).unwrap(), mine);
    let record = whole(bench.measurement(SMALL, &file).read_only());
    assert_eq!(fs::read(&file).unwrap(), mine);
    assert_eq!(record.cells.len(), 1, "what writes is left out");
    whole(bench.measurement(SMALL, &file).overwrite(&file));
    assert_ne!(fs::read(&file).unwrap(), mine);
}

/// Words of what was handed over for nothing.
#[derive(Default)]
struct NotNeeded(Vec<(String, Unneeded)>);

impl Observer for NotNeeded {
    fn event(&mut self, event: &Event<'_>) {
        if let Event::OverwriteUnneeded { word, why } = event {
            self.0.push(((*word).to_owned(), *why));
        }
    }
}

#[test]
fn what_was_handed_over_for_nothing_is_told() {
    let bench = Bench::new();
    let reads = SMALL.replace("reads = [\"100 %\", \"0 %\"]", "reads = \"100 %\"");
    let (file, target) = (bench.file("mine", vec![b'x'; 4 * MIB]), bench.target());
    let told = |text: &str, target: &str, words: &[&str]| {
        let mut settings = Settings::of(sole_target(target));
        settings.overwrite = words.iter().map(|word| (*word).to_owned()).collect();
        let mut observer = NotNeeded::default();
        complete(bench.measurement_by(text, settings).run(&mut observer));
        observer.0
    };
    assert_eq!(told(SMALL, &target, &[&target]), [(target.clone(), Unneeded::Directory)]);
    assert_eq!(told(&reads, &file, &[&file]), [(file.clone(), Unneeded::OnlyRead)]);
    assert_eq!(told(SMALL, &file, &[&file, "abcd-1234"]), [("abcd-1234".to_owned(), Unneeded::NoTarget)]);
}

#[test]
fn a_store_that_is_refused_stops_the_run_before_the_target_is_touched() {
    let bench = Bench::new();
    let mine = vec![b'x'; 4 * MIB];
    let file = bench.file("mine", &mine);
    let run = |store: &str| {
        let measurement = bench.measurement(SMALL, &file).overwrite(&file).stored_in(store);
        words(&measurement.run(&mut Silent::default()).unwrap_err())
    };
    let foreign = bench.file("foreign.db", "somebody else's");
    assert!(run(&foreign).contains("foreign.db"));
    assert_eq!(fs::read(&file).unwrap(), mine);
    assert_eq!(fs::read_to_string(&foreign).unwrap(), "somebody else's");
    // One that cannot be made is reported, too.
    assert!(run("/proc/no-such-place/runs.db").contains("no-such-place"));
}

#[test]
fn a_quick_measurement_that_only_reads_changes_nothing() {
    let bench = Bench::new();
    let mine = vec![b'x'; 4 * MIB];
    let file = bench.file("mine", &mine);
    assert!(matches!(quick_on(&file).run(&bench.options(), &mut Silent::default()), Err(Error::Target(_))));
    let mut reading = quick_on(&file);
    reading.settings.read_only = true;
    assert!(reading.run(&bench.options(), &mut Course::default()).unwrap().unwrap().ended.is_complete());
    assert_eq!(fs::read(&file).unwrap(), mine);
}

#[test]
fn a_target_below_the_largest_block_of_quick_is_refused_untouched() {
    let bench = Bench::new();
    let file = bench.file("small", vec![1; 512 << 10]);
    for target in [file.as_str(), "null:512 KiB"] {
        let mut measurement = quick_on(target);
        measurement.settings.overwrite.push(target.to_owned());
        let error = measurement.run(&bench.options(), &mut Silent::default()).unwrap_err();
        let Error::Refused(refusal) = &error else { panic!("{error}") };
        assert!(matches!(**refusal, Refusal::TooSmall { .. }), "{error}");
    }
    assert!(fs::read(&file).unwrap().iter().all(|byte| *byte == 1), "the file was written");
}

#[test]
fn a_relative_target_is_stored_from_the_root_on() {
    let bench = Bench::new();
    fs::File::create(bench.path("disk")).unwrap().set_len(4 << 20).unwrap();
    let here = std::env::current_dir().unwrap();
    // Up to the root, and down again.
    let up = "../".repeat(here.components().count() - 1);
    let absolute = bench.path("disk").canonicalize().unwrap().display().to_string();
    let relative = format!("{up}{}", &absolute[1..]);
    let record = whole(bench.measurement(SMALL, &relative).overwrite(&relative));
    let stored = settings_of(&record).unwrap();
    assert!(stored.targets[0].target.starts_with('/') && stored.overwrite[0].starts_with('/'), "{stored:?}");
    assert_eq!(fs::canonicalize(&stored.targets[0].target).unwrap().display().to_string(), absolute);
    assert_eq!(record.header.volumes[0].target, stored.targets[0].target);
}

#[test]
fn null_is_no_larger_than_it_was_said_to_be() {
    let bench = Bench::new();
    let sized = |size: &str| SMALL.replace("4 MiB", size);
    let error = bench.measurement(&sized("16 MiB"), "null:1MiB").run(&mut Silent::default()).unwrap_err();
    assert!(words(&error).contains("null:1MiB has 1 MiB, less than the 16 MiB asked for"), "{}", words(&error));
    let record = bench.measured(&sized("512 KiB"), "null:1MiB");
    assert_eq!((record.header.volumes[0].size_bytes, cells(&record).len()), (Some(512 << 10), 2));
    assert_eq!(bench.runs(), 1);
    let verified = SMALL.replace("trials", "verify = true\ntrials");
    assert!(matches!(refused(bench.measurement(&verified, "null:1 GiB")), Refusal::KeepsNothing { .. }));
}
