//! Storage that fails, goes away or stops answering: what is said, what is kept, and how a run goes on.

use crate::or_skip;
use crate::support::devices::{BadDisk, NO_BAD_DISK, run};
use crate::support::inputs::STEADY;
use crate::support::{Bench, Course, complete, entries, trial_count, trials, whole, words};
use loadline_analysis::{RunVerdict, run_verdict};
use loadline_record::{DoubtCode, RunRecord, RunStatus};
use loadline_runs::{Ended, Event, Observer, Settings, Silent};

/// Trials that each cell of a volume has.
fn trials_on(record: &RunRecord, volume: &str) -> Vec<usize> {
    record.cells.iter().filter(|cell| cell.volume == volume).map(|cell| cell.trials.len()).collect()
}

/// Trials of a volume with this doubt.
fn doubted(record: &RunRecord, volume: &str, code: DoubtCode) -> usize {
    let cells = record.cells.iter().filter(|cell| cell.volume == volume);
    cells.flat_map(|cell| &cell.trials).filter(|t| t.doubts.iter().any(|doubt| doubt.code == code)).count()
}

/// Follows a run, and lets something happen to the storage after so many trials.
struct Spoiler<F, S> {
    course: Course,
    after: usize,
    spoil: Option<F>,
    /// Until this is dropped.
    spoiled: Option<S>,
}

impl<F: FnOnce() -> S, S> Observer for Spoiler<F, S> {
    fn event(&mut self, event: &Event<'_>) {
        self.course.event(event);
        let has_begun = matches!(event, Event::RunBegins { .. } | Event::TrialFinished { .. });
        if has_begun && self.course.finished >= self.after {
            self.spoiled = self.spoil.take().map(|spoil| spoil()).or(self.spoiled.take());
        }
    }
}

impl<F: FnOnce() -> S, S> Spoiler<F, S> {
    fn new(after: usize, spoil: F) -> Self {
        Self { course: Course::default(), after, spoil: Some(spoil), spoiled: None }
    }
}

/// Runs the plan on a good volume and a bad one, lets `spoil` happen to the bad one after the first trials, and checks that
/// the good one is measured whole. A device that never answered stays claimed by this process: its run is resumed by another.
fn one_of_two_volumes<S>(disk: &BadDisk, said: &str, goes_on: bool, spoil: impl FnOnce() -> S) {
    let bench = Bench::new();
    let (bad, good) = (disk.node(), bench.target());
    let measurement = bench.measurement_by(STEADY, Settings::of(Vec::new())).on("bad", bad).on("good", &good);
    let mut spoiler = Spoiler::new(2, spoil);
    let outcome = measurement.overwrite(bad).run(&mut spoiler).unwrap_or_else(|error| panic!("{}", words(&error)));
    drop(spoiler.spoiled.take());
    let Ended::Broken { given_up, .. } = &outcome.ended else { panic!("{:?}", outcome.ended) };
    assert!(given_up.len() == 1 && given_up[0].0 == "bad" && given_up[0].1.how.contains(said), "{given_up:?}");
    assert!(spoiler.course.says_all().contains("VolumeGivenUp"), "{}", spoiler.course.says_all());
    assert!(entries(&good).is_empty());
    let record = outcome.record;
    assert_eq!(record.status, RunStatus::Failed);
    assert_eq!(trials_on(&record, "good"), [1; 6]);
    let on_bad = trials_on(&record, "bad");
    assert!(on_bad[0] == 1 && on_bad[5] == 0, "the rest is not tried in vain: {on_bad:?}");
    let early = |record: &RunRecord, volume| doubted(record, volume, DoubtCode::EndedEarly);
    assert_eq!((early(&record, "bad"), early(&record, "good")), (1, 0));

    if !goes_on {
        return;
    }
    // The target is back: nothing that was finished is measured again, and what was cut short still counts as such.
    disk.wait_until_free();
    let resumed = complete(bench.resume(&mut Silent::default()));
    assert_eq!(loadline_analysis::trials_cut_short(&resumed), 1);
    assert_eq!((resumed.status, trials_on(&resumed, "bad")), (RunStatus::Finished, vec![1; 6]));
    assert_eq!(trials(&resumed).next(), trials(&record).next());
}

#[test]
fn a_device_that_fails_ends_the_run_there_and_other_volumes_go_on() {
    let disk = or_skip!(BadDisk::new(16), NO_BAD_DISK);
    one_of_two_volumes(&disk, "not one read is answered any more", true, || disk.fail());
}

#[test]
fn a_device_that_stops_answering_ends_the_run_there_and_other_volumes_go_on() {
    let disk = or_skip!(BadDisk::new(16), NO_BAD_DISK);
    one_of_two_volumes(&disk, "it does not answer", false, || disk.pause());
}

#[test]
fn a_device_that_cannot_be_filled_ends_the_run_before_anything_is_measured_there() {
    let disk = or_skip!(BadDisk::new(512), NO_BAD_DISK);
    let bench = Bench::new();
    let text = STEADY.replace("4 MiB", "512 MiB");
    let mut spoiler = Spoiler::new(0, || disk.fail());
    let outcome = bench.measurement(&text, disk.node()).overwrite(disk.node()).run(&mut spoiler).unwrap();
    let Ended::Broken { given_up, .. } = &outcome.ended else { panic!("{:?}", outcome.ended) };
    assert!(given_up[0].1.how.contains("cannot fill volume data"), "{given_up:?}");
    let told = spoiler.course.says_all();
    assert!(told.contains("trials: 6") && trial_count(&outcome.record) == 0, "{told}");
}

#[test]
fn a_question_that_the_figures_cannot_answer_has_no_verdict() {
    let text = r#"
schema = 1
name = "too-short"
[[load]]
pattern = "random"
reads = "100 %"
block = "4 KiB"
arrival = { poisson = ["1 IOPS"] }
size = "4 MiB"
warm_up = "0 s"
duration = "1 ms"
trials = 1
objective = { p99 = "20 ms" }
"#;
    let bench = Bench::new();
    let record = whole(bench.measurement(text, "null").seeded(1));
    assert_eq!((record.status, run_verdict(&record)), (RunStatus::Finished, RunVerdict::Unknown));
    let judged = |limit: &str| {
        let keys = format!("objective = {{ mean = \"{limit}\" }}\nvolume = \"1 MiB\"");
        let text = STEADY.replace("hang_limit = \"1 s\"", &keys);
        run_verdict(&whole(bench.measurement(&text.replace("500 ms", "60 s"), "null")))
    };
    assert_eq!((judged("1 h"), judged("1 ns")), (RunVerdict::Kept, RunVerdict::Broken));
}

#[test]
fn a_loop_device_that_keeps_its_file_in_memory_is_told() {
    let bench = Bench::new();
    let image = bench.file("image", vec![b'x'; 8 << 20]);
    let node = or_skip!(run("losetup", &["--find", "--show", "--direct-io=off", &image]), "no loop device can be had");
    let outcome = bench.measurement(&STEADY.replace("500 ms", "50 ms"), &node).read_only().run(&mut Silent::default());
    run("losetup", &["--detach", &node]).expect("it is ours");
    assert_eq!(doubted(&complete(outcome), "data", DoubtCode::CachedBelow), 3);
}

#[test]
fn a_run_is_not_carried_on_with_on_other_storage() {
    let bench = Bench::new();
    let image = bench.file("image", vec![b'x'; 8 << 20]);
    let node = or_skip!(run("losetup", &["--find", "--show", &image]), "no loop device can be had");
    let text = STEADY.replace("500 ms", "30 ms");
    let outcome = bench.measurement(&text, &node).read_only().run(&mut Course::ending_after(1)).unwrap();
    assert!(matches!(outcome.ended, Ended::Interrupted), "{:?}", outcome.ended);
    // As if another disk had come by its name.
    let of_size = |mib: u64| {
        std::fs::OpenOptions::new().write(true).open(&image).unwrap().set_len(mib << 20).unwrap();
        run("losetup", &["--set-capacity", &node]).expect("it is ours");
    };
    of_size(9);
    let on_other = bench.resume(&mut Silent::default());
    let trials_after = bench.trials_stored();
    of_size(8);
    let on_its_own = bench.resume(&mut Silent::default());
    run("losetup", &["--detach", &node]).expect("it is ours");
    let refusal = words(&on_other.unwrap_err());
    assert!(
        refusal.contains("is not the storage that run") && refusal.contains("had 8.00 MiB and has 9.00 MiB"),
        "{refusal}"
    );
    assert_eq!(trials_after, 1, "nothing was measured there");
    complete(on_its_own);
}
