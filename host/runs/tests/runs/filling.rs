//! What is written in full before loads: for which of them, how often, and what is said of it.

use crate::or_skip;
use crate::support::devices::{Loop, Memory};
use crate::support::{Bench, Course, complete, doubted, interrupted, plan, summary, words};
use loadline_record::{DoubtCode, RunRecord};
use loadline_runs::{Ahead, Ended, Event, FillForecast, Loss, Observer, Settings, Silent, Work, sole_target};
use loadline_units::{Bytes, Duration};
use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

/// Short trials of one load, in the order in which they stand.
fn text(loads: &[&str]) -> String {
    let load = |keys: &&str| {
        format!(
            "[[load]]\nblock = \"4 KiB\"\nqueue_depth = 4\nwarm_up = \"0 s\"\nduration = \"30 ms\"\norder = \"as-listed\"\n{keys}\n"
        )
    };
    format!("schema = 1\nname = \"p\"\n{}", loads.iter().map(load).collect::<String>())
}

/// Runs a plan: each filling and each trial in a word.
fn course(bench: &Bench, loads: &[&str], settings: Settings) -> (RunRecord, Vec<String>) {
    let mut course = Course::default();
    let record = complete(bench.measurement_by(&text(loads), settings).run(&mut course));
    (record, course.steps)
}

fn on(target: &str) -> Settings {
    Settings::of(sole_target(target))
}

/// How many cells have the doubt.
fn unwritten(record: &RunRecord) -> usize {
    doubted(record, DoubtCode::UnwrittenExtents)
}

/// What is planned to be filled before these loads on `target`.
fn planned_on(target: &str, loads: &[&str]) -> FillForecast {
    let settings = on(target);
    let work = Work::of(vec![plan(&text(loads))], &settings.scope(), 1).unwrap();
    FillForecast::of(&work, &settings)
}

const WRITES: &str = "reads = \"0 %\"\nsize = \"4 MiB\"\ntrials = 2";
const NO_EXTENTS: &str = "skipped: the file system under the build folder tells of no extents";

#[test]
fn a_test_file_is_filled_once_before_loads_that_only_write_and_never_where_that_is_said() {
    let bench = Bench::new();
    let target = bench.target();
    let both = format!("pattern = [\"random\", \"sequential\"]\n{WRITES}");
    let [random, sequential] = ["random write 4 KiB", "sequential write 4 KiB"];
    let (record, steps) = course(&bench, &[&both], on(&target));
    assert_eq!(steps, ["volume data", random, random, sequential, sequential]);
    assert_eq!(unwritten(&record), 0);
    let (record, steps) = course(&bench, &[&format!("fill = \"never\"\n{both}")], on(&target));
    assert_eq!(steps, [random, random, sequential, sequential]);
    if unwritten(&record) == 0 {
        println!("{NO_EXTENTS}");
    }
}

#[test]
fn each_volume_and_each_number_of_files_is_filled_once() {
    let bench = Bench::new();
    let mut settings = Settings::of(Vec::new());
    for volume in ["a", "b"] {
        let mut one = sole_target(&bench.folder(volume));
        one[0].volume = volume.to_owned();
        settings.targets.append(&mut one);
    }
    let loads = format!("files = [1, 2]\n{WRITES}");
    let (_, steps) = course(&bench, &[&loads], settings.clone());
    let mut filled: Vec<&String> = steps.iter().filter(|step| step.starts_with("volume")).collect();
    filled.sort();
    assert_eq!(filled, ["volume a", "volume a", "volume b", "volume b"]);
    let work = Work::of(vec![plan(&text(&[&loads]))], &settings.scope(), 1).unwrap();
    assert_eq!(FillForecast::of(&work, &settings), FillForecast::Size(Bytes::mib(16)));
}

#[test]
fn what_was_trimmed_is_filled_again_before_the_next_load() {
    let bench = Bench::new();
    let target = bench.target();
    let loads = ["reads = \"50 %\"\nsize = \"1 MiB\"\ntrials = 2\ntrims = \"50 %\"", &WRITES.replace("4 MiB", "1 MiB")];
    let [mixed, writes] = ["random 50 % read 4 KiB", "random write 4 KiB"];
    let (_, steps) = course(&bench, &loads, on(&target));
    assert_eq!(steps, ["volume data", mixed, "volume data", mixed, "volume data", writes, writes]);
    assert_eq!(planned_on(&target, &loads), FillForecast::Size(Bytes::mib(3)));
}

#[test]
fn what_loadline_found_is_filled_where_a_load_reads_it_or_asks_for_it_and_else_doubted() {
    let bench = Bench::new();
    let [reads, writes] = ["random read 4 KiB", "random write 4 KiB"];
    let mine = bench.sparse("mine", 4);
    let run = |loads: &[&str], more: fn(&mut Settings)| {
        bench.sparse("mine", 4);
        let mut settings = on(&mine);
        more(&mut settings);
        let (record, steps) = course(&bench, loads, settings);
        (unwritten(&record), steps)
    };
    let over = |settings: &mut Settings| settings.overwrite = vec![settings.targets[0].target.clone()];
    let ones = |reads: &str| format!("reads = \"{reads}\"\ntrials = 1");
    // Nothing reads, and only the user knows what was there before.
    let (doubts, steps) = run(&[&ones("0 %")], over);
    assert_eq!(steps, [writes]);
    if doubts == 0 {
        println!("{NO_EXTENTS}");
    }
    let always = format!("fill = \"always\"\n{}", ones("0 %"));
    assert_eq!(run(&[&always], over), (0, vec!["volume data".to_owned(), writes.to_owned()]));
    // One load reads: all find it full, whichever is first.
    assert_eq!(run(&[&ones("0 %"), &ones("100 %")], over).1, ["volume data", writes, reads]);
    // Nothing may be written.
    assert_eq!(run(&[&ones("100 %")], |settings| settings.read_only = true).1, [reads]);
    assert_eq!(run(&[&ones("100 %")], |_| {}).1, [reads]);
    assert_eq!(File::open(&mine).unwrap().metadata().unwrap().blocks(), 0, "it is as it was");
}

/// The parts that an observer hears of as not filled.
#[derive(Default)]
struct NotFilled(Vec<Bytes>);

impl Observer for NotFilled {
    fn event(&mut self, event: &Event<'_>) {
        if let Event::NotFilledFirst { span, .. } = event {
            self.0.push(*span);
        }
    }
}

#[test]
fn a_device_that_is_not_filled_is_told_with_what_that_means() {
    let bench = Bench::new();
    let image = bench.sparse("image", 4);
    let device = or_skip!(Loop::attach(Path::new(&image)), "it takes root and a loop device");
    let spans = |loads: &[&str]| {
        let mut observer = NotFilled::default();
        let measurement = bench.measurement(&text(loads), &device.node).overwrite(&device.node);
        complete(measurement.run(&mut observer));
        observer.0
    };
    let writes = "reads = \"0 %\"\ntrials = 1";
    assert_eq!(spans(&[writes]), [Bytes::mib(4)]);
    for loads in [
        &[writes, "trials = 1"][..],
        &[&format!("fill = \"always\"\n{writes}")],
        &[&format!("fill = \"never\"\n{writes}")],
    ] {
        assert_eq!(spans(loads), [], "{loads:?}");
    }
}

#[test]
fn what_stands_before_the_start_of_the_loads_is_not_filled() {
    let bench = Bench::new();
    let mine = bench.file("mine", vec![b'x'; 4 << 20]);
    let loads = ["reads = \"50 %\"\nstart = \"1 MiB\"\nsize = \"1 MiB\"\ntrials = 1"];
    assert_eq!(planned_on(&mine, &loads), FillForecast::Size(Bytes::mib(1)));
    complete(bench.measurement(&text(&loads), &mine).overwrite(&mine).run(&mut Silent::default()));
    let mut bytes = vec![0; 4 << 20];
    File::open(&mine).unwrap().read_exact_at(&mut bytes, 0).unwrap();
    assert!(bytes[..1 << 20].iter().chain(&bytes[2 << 20..]).all(|byte| *byte == b'x'), "nobody touches it");
    assert!(bytes[1 << 20..2 << 20].chunks(4096).all(|block| block.iter().any(|byte| *byte != b'x')));
}

#[test]
fn what_would_be_filled_is_counted_without_opening_anything() {
    let bench = Bench::new();
    let (target, mine) = (bench.target(), bench.sparse("mine", 4));
    let never = format!("fill = \"never\"\n{WRITES}");
    let four = FillForecast::Size(Bytes::mib(4));
    for (loads, on, wanted) in [
        (WRITES, target.as_str(), four),
        (WRITES, &mine, FillForecast::Nothing),
        (WRITES, "null", FillForecast::Nothing),
        (&never, &target, FillForecast::Nothing),
        ("size = \"4 MiB\"", &target, four),
        // It is opened for reading.
        ("size = \"4 MiB\"", &mine, FillForecast::Nothing),
        ("reads = \"0 %\"", &target, FillForecast::Unknown),
        // Loads touch all of the existing data.
        ("reads = \"50 %\"\nstart = \"1 MiB\"", &mine, FillForecast::Size(Bytes::mib(3))),
    ] {
        assert_eq!(planned_on(on, &[loads]), wanted, "{loads} on {on}");
    }
}

/// What is ahead of a run that begins, and its steps.
#[derive(Default)]
struct Begun(Option<(Duration, Bytes)>, Course);

impl Observer for Begun {
    fn event(&mut self, event: &Event<'_>) {
        if let Event::RunBegins { ahead: Ahead::Measured { time, fill }, .. } = event {
            self.0 = Some((*time, *fill));
        }
        self.1.event(event);
    }
}

#[test]
fn a_resumed_run_fills_its_new_file_and_foretells_what_is_left() {
    let bench = Bench::new();
    let target = bench.target();
    interrupted(bench.measurement(&text(&[&WRITES.replace("trials = 2", "trials = 6")]), &target), 2);
    let mut begun = Begun::default();
    let record = complete(bench.resume(&mut begun));
    let writes = "random write 4 KiB";
    assert_eq!(begun.1.steps, ["volume data", writes, writes, writes, writes]);
    assert_eq!(begun.0, Some((Duration::from_ms(4 * 30), Bytes::mib(4))));
    assert_eq!(unwritten(&record), 0);
}

#[test]
fn a_file_system_that_fills_up_while_a_target_is_filled_is_told_with_how_much_was_wanted() {
    let bench = Bench::new();
    let memory = or_skip!(Memory::mount(&bench.path("memory"), "size=24M"), "it takes root to mount");
    let mine = Path::new(&memory.0).join("mine").display().to_string();
    File::create(&mine).unwrap().set_len(64 << 20).unwrap();
    let measurement = bench.measurement(&text(&["reads = \"50 %\"\ntrials = 2"]), &mine).overwrite(&mine);
    let mut course = Course::default();
    let outcome = measurement.run(&mut course).unwrap_or_else(|error| panic!("{}", words(&error)));
    let Ended::Broken { given_up, .. } = &outcome.ended else { panic!("{:?}", outcome.ended) };
    let (volume, Loss { how, remedy }) = &given_up[0];
    assert!(volume == "data" && remedy.is_some(), "{given_up:?}");
    assert!(how.contains("no room on volume data to fill it: 64.0 MiB were to be written"), "{how}");
    assert!(course.says_all().contains("trials: 2"), "{}", course.says_all());
    assert_eq!(summary(&outcome.record)["run"]["status"], "failed");
}
