//! What a later check finds of what a run wrote, and what it says of the rest.

use crate::support::{Bench, complete, entries, interrupted, words};
use loadline_runs::{Error, Settings, Silent, VerifiedTrial, settings_of, sole_target, verify};
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

const MIB: u64 = 1 << 20;
/// Blocks of 4 KiB in it.
const BLOCKS: u64 = MIB / 4096;

/// A load of sequential writes that begins at `start`, goes over `mib` MiB once and is done one load after the other.
fn once(start: &str, mib: u64, keys: &str) -> String {
    let trials = if keys.contains("trials") { "" } else { "trials = 1\n" };
    format!(
        "[[load]]\npattern = \"sequential\"\nreads = \"0 %\"\nblock = \"4 KiB\"\nqueue_depth = 4\nstart = \"{start}\"\n\
         size = \"{mib} MiB\"\nvolume = \"{mib} MiB\"\nwarm_up = \"0 s\"\nduration = \"60 s\"\norder = \"as-listed\"\n{trials}{keys}\n"
    )
}

fn text(loads: &[String]) -> String {
    format!("schema = 1\nname = \"v\"\n{}", loads.concat())
}

/// Runs the loads on a file that was there; gives its path.
fn run_on_a_file(bench: &Bench, loads: &[String]) -> String {
    let file = bench.file("mine", vec![b'x'; 8 * MIB as usize]);
    complete(bench.measurement(&text(loads), &file).overwrite(&file).seeded(3).run(&mut Silent::default()));
    file
}

/// Runs the loads on test files that stay.
fn run_and_keep(bench: &Bench, loads: &[String], target: &str) {
    let settings = Settings { keep: true, ..Settings::of(sole_target(target)) };
    complete(bench.measurement_by(&text(loads), settings).seeded(3).run(&mut Silent::default()));
}

fn zero(file: impl AsRef<Path>, from: u64, length: u64) {
    let file = OpenOptions::new().write(true).open(file).unwrap();
    file.write_all_at(&vec![0; length as usize], from).unwrap();
    file.sync_all().unwrap();
}

fn checked(bench: &Bench) -> Result<Vec<VerifiedTrial>, Error> {
    let record = bench.newest().unwrap();
    verify(&record, &settings_of(&record).unwrap(), &mut Silent::default())
}

/// What a check of the newest run finds.
fn check(bench: &Bench) -> Vec<VerifiedTrial> {
    checked(bench).unwrap_or_else(|error| panic!("{}", words(&error)))
}

/// Of each trial: blocks checked, never written, not judged, written over; faults.
fn counts(trials: &[VerifiedTrial]) -> Vec<[u64; 5]> {
    let count = |trial: &VerifiedTrial| {
        let found = &trial.found;
        [
            found.blocks_checked,
            found.blocks_unwritten,
            found.blocks_unknown,
            trial.blocks_overwritten,
            found.faults_total,
        ]
    };
    trials.iter().map(count).collect()
}

fn why(trial: &VerifiedTrial) -> &str {
    trial.why.as_deref().unwrap_or_default()
}

/// One MiB, checked in full.
const SOUND: [u64; 5] = [BLOCKS, 0, 0, 0, 0];
const UNKNOWN: [u64; 5] = [0, 0, BLOCKS, 0, 0];

#[test]
fn loads_that_keep_to_parts_of_their_own_are_each_checked() {
    let bench = Bench::new();
    let file = run_on_a_file(&bench, &[once("0 B", 4, "verify = true"), once("4 MiB", 4, "verify = true")]);
    let sound = [4 * BLOCKS, 0, 0, 0, 0];
    assert_eq!(counts(&check(&bench)), [sound, sound]);
    // The last is checked first.
    let faulty = [4 * BLOCKS, 0, 0, 0, 4 * BLOCKS];
    for (from, expected) in [(4 * MIB, [faulty, sound]), (0, [faulty, faulty])] {
        zero(&file, from, 4 * MIB);
        let trials = check(&bench);
        assert_eq!(counts(&trials), expected);
        // Not all of them are listed.
        let listed = &trials.iter().rfind(|trial| trial.found.faults_total > 0).unwrap().found.faults;
        assert_eq!((listed.len(), listed.last().unwrap().offset), (100, from + 99 * 4096));
    }
}

#[test]
fn each_number_of_files_is_checked_and_trials_that_were_written_over_are_told() {
    let bench = Bench::new();
    let target = bench.target();
    run_and_keep(&bench, &[once("0 B", 2, "verify = true\nfiles = [1, 2]\ntrials = 2")], &target);
    let (sound, overwritten) = ([2 * BLOCKS, 0, 0, 0, 0], [0, 0, 0, 2 * BLOCKS, 0]);
    let trials = check(&bench);
    let mut found = counts(&trials);
    found.sort_unstable();
    assert_eq!(found, [overwritten, overwritten, sound, sound]);
    let firsts = trials.iter().filter(|trial| trial.trial == 0);
    assert!(counts(&firsts.cloned().collect::<Vec<_>>()).iter().all(|one| *one == overwritten), "{trials:?}");
    let is_alone = |name: &String| Path::new(name).extension().is_some_and(|extension| extension == "data");
    let alone: Vec<String> = entries(&target).into_iter().filter(is_alone).collect();
    assert_eq!(alone.len(), 1);
    zero(Path::new(&target).join(&alone[0]), 0, 2 * MIB);
    let mut found = counts(&check(&bench));
    found.sort_unstable();
    assert_eq!(found, [overwritten, overwritten, sound, [2 * BLOCKS, 0, 0, 0, 2 * BLOCKS]]);
}

#[test]
fn of_a_load_that_was_written_over_in_part_the_rest_is_checked() {
    let bench = Bench::new();
    let file = run_on_a_file(&bench, &[once("0 B", 4, "verify = true"), once("2 MiB", 4, "verify = true")]);
    zero(&file, MIB, 2 * MIB);
    let trials = check(&bench);
    assert_eq!(counts(&trials), [[4 * BLOCKS, 0, 0, 0, BLOCKS], [2 * BLOCKS, 0, 0, 2 * BLOCKS, BLOCKS]]);
    let first = |trial: &VerifiedTrial| trial.found.faults[0].offset;
    assert_eq!((first(&trials[0]), first(&trials[1])), (2 * MIB, MIB));
}

#[test]
fn what_a_load_without_verify_wrote_over_is_not_judged() {
    let bench = Bench::new();
    let loads = [once("0 B", 1, "verify = true"), once("0 B", 1, ""), once("1 MiB", 1, "verify = true")];
    let file = run_on_a_file(&bench, &loads);
    let trials = check(&bench);
    assert_eq!(counts(&trials), [SOUND, UNKNOWN]);
    assert!(why(&trials[1]).contains("other loads of the run came after it"), "{trials:?}");
    // What came before, or went elsewhere, is judged in full.
    zero(&file, MIB, MIB);
    assert_eq!(counts(&check(&bench))[0][4], BLOCKS);
    let bench = Bench::new();
    run_on_a_file(&bench, &[once("0 B", 1, ""), once("0 B", 1, "verify = true"), once("1 MiB", 1, "")]);
    assert_eq!(counts(&check(&bench)), [SOUND]);
}

#[test]
fn what_other_loads_wrote_over_in_part_leaves_the_rest_judged() {
    let bench = Bench::new();
    let loads =
        [once("0 B", 1, "verify = true"), once("0 B", 1, "").replace("\"1 MiB\"\nvolume", "\"512 KiB\"\nvolume")];
    run_and_keep(&bench, &loads, &bench.target());
    let trials = check(&bench);
    assert_eq!(counts(&trials), [[BLOCKS / 2, 0, BLOCKS / 2, 0, 0]], "{trials:?}");
    assert!(why(&trials[0]).contains("other loads of the run came after it"), "{trials:?}");
}

#[test]
fn where_a_filling_may_have_come_after_a_trial_what_is_left_of_it_tells_that_none_did() {
    let bench = Bench::new();
    // Loads that read are reason to fill what was found, at each start of the run.
    let mixed = |start| once(start, 1, "verify = true").replace("\"0 %\"", "\"50 %\"");
    let file = run_on_a_file(&bench, &[mixed("0 B"), mixed("1 MiB")]);
    let before = counts(&check(&bench));
    zero(&file, 0, MIB / 2);
    let after = counts(&check(&bench));
    assert_eq!(before[0], after[0]);
    assert_eq!(before[1][0], after[1][0]);
    assert!(after[1][4] > 0, "{after:?}");
    // Where nothing is left, a filling may have done it.
    zero(&file, MIB / 2, MIB / 2);
    let trials = check(&bench);
    let after = counts(&trials);
    assert_eq!((after[1][4], after[1][2]), (0, before[1][0]), "{trials:?}");
    assert!(why(&trials[1]).contains("came after it"), "{trials:?}");
}

#[test]
fn what_stood_in_a_test_file_that_was_made_anew_is_not_judged() {
    let bench = Bench::new();
    let loads = [once("0 B", 1, "verify = true"), once("1 MiB", 1, "verify = true")];
    let settings = Settings { keep: true, ..Settings::of(sole_target(&bench.target())) };
    interrupted(bench.measurement_by(&text(&loads), settings), 1);
    // The moments at which trials begin are kept in whole seconds.
    std::thread::sleep(Duration::from_millis(1_100));
    complete(bench.resume(&mut Silent::default()));
    let trials = check(&bench);
    assert_eq!(counts(&trials), [SOUND, UNKNOWN]);
    assert!(why(&trials[1]).contains("carried on with after it"), "{trials:?}");
}

#[test]
fn a_test_file_that_the_run_removed_is_told_as_that() {
    let bench = Bench::new();
    let target = bench.target();
    let loads = [once("0 B", 1, "verify = true")];
    complete(bench.measurement(&text(&loads), &target).run(&mut Silent::default()));
    let error = checked(&bench).unwrap_err();
    assert!(matches!(error, Error::FilesRemoved { .. }), "{error}");
    // A copy of what was kept is as good, also where it is younger than all trials.
    run_and_keep(&bench, &loads, &target);
    let (from, elsewhere): (PathBuf, PathBuf) = (Path::new(&target).join(&entries(&target)[0]), bench.path("b"));
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::copy(&from, elsewhere.join(from.file_name().unwrap())).unwrap();
    std::fs::remove_file(from).unwrap();
    let record = bench.newest().unwrap();
    let mut settings = settings_of(&record).unwrap();
    settings.targets[0].target = elsewhere.display().to_string();
    assert_eq!(counts(&verify(&record, &settings, &mut Silent::default()).unwrap()), [SOUND]);
}

#[test]
fn a_changed_block_of_a_kept_file_is_named() {
    let bench = Bench::new();
    let target = bench.target();
    run_and_keep(&bench, &[once("0 B", 1, "verify = true")], &target);
    let path = Path::new(&target).join(&entries(&target)[0]);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[8 * 4096 + 2000] ^= 0xff;
    std::fs::write(&path, bytes).unwrap();
    let trials = check(&bench);
    let offsets: Vec<u64> = trials[0].found.faults.iter().map(|fault| fault.offset).collect();
    assert_eq!(offsets, [8 * 4096]);
}

#[test]
fn acknowledged_writes_that_are_gone_from_the_end_are_told_as_lost() {
    let bench = Bench::new();
    let target = bench.target();
    let flushed = "verify = true\nflush = { every = 1, how = \"fdatasync\" }";
    run_and_keep(&bench, &[once("0 B", 1, flushed).replace("queue_depth = 4", "queue_depth = 1")], &target);
    assert_eq!(counts(&check(&bench)), [SOUND]);
    let path = Path::new(&target).join(&entries(&target)[0]);
    for (from, lost) in [(MIB / 2, BLOCKS / 2), (0, BLOCKS)] {
        zero(&path, from, MIB - from);
        assert_eq!(counts(&check(&bench)), [[BLOCKS, 0, 0, 0, lost]]);
    }
}
