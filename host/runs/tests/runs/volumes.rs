//! Several volumes in a run, and loads that want different things of one volume.

use crate::or_skip;
use crate::support::devices::{Loop, Memory, Mount, run};
use crate::support::{
    Bench, Course, cells, complete, doubted, entries, plan, quick_on, refused, summary, whole, words,
};
use loadline_record::{DoubtCode, RunRecord, TargetKind};
use loadline_runs::{
    Concern, Consent, Error, Observer, Refusal, Settings, Silent, Work, settings_of, sole_target, verify,
};
use loadline_units::{Bytes, Duration};

const HEAD: &str = "schema = 1\nname = \"p\"\n";

fn load(keys: &str) -> String {
    format!(
        "[[load]]\npattern = \"random\"\nblock = \"4 KiB\"\nqueue_depth = 2\nwarm_up = \"0 s\"\nduration = \"30 ms\"\ntrials = 2\n{keys}\n"
    )
}

#[test]
fn buffered_and_direct_loads_share_a_volume_and_each_is_what_it_says() {
    let bench = Bench::new();
    let loads =
        [load("reads = \"100 %\"\nsize = \"2 MiB\"\nbuffered = true"), load("reads = \"50 %\"\nsize = \"2 MiB\"")];
    let target = bench.target();
    let record = bench.measured(&format!("{HEAD}{}", loads.concat()), &target);
    if !record.header.volumes[0].direct {
        println!("skipped: the file system under the build folder takes no direct I/O");
        return;
    }
    let is_buffered = |cell: usize| {
        let trials = &record.cells[cell].trials;
        trials.iter().all(|trial| trial.doubts.iter().any(|doubt| doubt.code == DoubtCode::Buffered))
    };
    assert_eq!((is_buffered(0), doubted(&record, DoubtCode::Buffered)), (true, 1));
    assert!(entries(&target).is_empty());
    // Only buffered loads: the volume is what they say.
    assert!(!bench.measured(&format!("{HEAD}{}", loads[0]), &target).header.volumes[0].direct);
}

#[test]
fn loads_on_different_numbers_of_files_run_with_and_without_a_size() {
    let bench = Bench::new();
    let target = bench.target();
    for keys in [
        "files = [1, 4]\nreads = [\"100 %\", \"0 %\"]\nsize = \"4 MiB\"",
        "files = [1, 3]\nreads = \"0 %\"\nfill = \"never\"",
    ] {
        let record = bench.measured(&format!("{HEAD}{}", load(keys)), &target);
        let cells = cells(&record);
        assert!(cells.len() >= 2 && cells.iter().all(|cell| cell["trials"] == 2 && cell["errors"] == 0));
        assert!(record.header.volumes[0].size_reason.contains("number of files: 1, "));
        assert!(entries(&target).is_empty());
    }
}

#[test]
fn files_of_different_numbers_are_verified_and_kept_side_by_side() {
    let bench = Bench::new();
    let target = bench.target();
    let keys = "files = [2, 1, 4]\nreads = \"0 %\"\nsize = \"4 MiB\"\nverify = true";
    let settings = Settings { keep: true, ..Settings::of(sole_target(&target)) };
    let record = whole(bench.measurement_by(&format!("{HEAD}{}", load(keys)), settings));
    assert_eq!(entries(&target).len(), 7);
    let found = verify(&record, &settings_of(&record).unwrap(), &mut Silent::default()).unwrap();
    assert!(found.iter().any(|one| one.found.blocks_checked > 0), "{found:?}");
    assert!(found.iter().all(|one| one.found.faults_total == 0), "{found:?}");
}

#[test]
fn one_file_is_two_volumes_only_where_nothing_is_written() {
    let bench = Bench::new();
    let file = bench.file("mine", vec![b'x'; 4 << 20]);
    let text = format!("{HEAD}{}", load("reads = [\"100 %\", \"0 %\"]"));
    let both = || bench.measurement_by(&text, Settings::of(Vec::new())).on("a", &file).on("b", &file);
    let refusal = refused(both().overwrite(&file));
    assert!(matches!(&refusal, Refusal::Overlap { volumes, .. } if *volumes == ["a", "b"]), "{refusal}");
    assert!(refusal.to_string().contains("both are ") && !refusal.to_string().contains("another process"), "{refusal}");
    assert_eq!(whole(both().read_only()).cells.len(), 2);
}

#[test]
fn volumes_take_turns_and_have_cells_of_their_own() {
    let bench = Bench::new();
    let (fast, slow) = (bench.folder("a"), bench.folder("b"));
    let text = format!("{HEAD}{}", load("reads = [\"100 %\", \"0 %\"]\nsize = \"2 MiB\"\n").replace("= 2\n", "= 6\n"));
    let mut course = Course::default();
    let measurement = bench.measurement_by(&text, Settings::of(Vec::new())).on("fast", &fast).on("slow", &slow);
    let record = complete(measurement.run(&mut course));
    // Each of the 24 trials says on which volume it was; interleaved, neither volume is done before the other has begun.
    let trials = course.said.iter().filter(|said| said.contains(" of 24: "));
    let order: Vec<bool> = trials.map(|said| said.contains(" on fast, trial ")).collect();
    assert_eq!((order.len(), order.iter().filter(|fast| **fast).count()), (24, 12), "{}", course.says_all());
    assert!(order.windows(2).filter(|pair| pair[0] != pair[1]).count() >= 4, "{}", course.says_all());
    let names: Vec<&str> = record.header.volumes.iter().map(|volume| volume.name.as_str()).collect();
    assert_eq!(names, ["fast", "slow"]);
    let on = |volume: &str| record.cells.iter().filter(|cell| cell.volume == volume).count();
    assert_eq!((on("fast"), on("slow")), (2, 2));
    assert!(entries(&fast).is_empty() && entries(&slow).is_empty());
}

/// Somebody who measures memory all the same.
struct Agreeing;

impl Observer for Agreeing {
    fn consents(&mut self, _: &Concern) -> Consent {
        Consent::Given
    }
}

/// A quick measurement's record.
fn quick(bench: &Bench, target: &str, read_only: bool) -> Result<RunRecord, Error> {
    let mut measurement = quick_on(target);
    measurement.settings.read_only = read_only;
    measurement.run(&bench.options(), &mut Agreeing).map(|outcome| outcome.unwrap().record)
}

#[test]
fn a_mounted_device_is_measured_by_reading_and_never_written() {
    let bench = Bench::new();
    let image = bench.sparse("image", 64);
    or_skip!(run("mkfs.ext4", &["-q", "-F", &image]), "no mkfs.ext4");
    let device = or_skip!(Loop::attach(image.as_ref()), "it takes root and a loop device");
    let mount = or_skip!(Mount::of(&device.node, bench.path("point"), &[]), "cannot mount");
    let file = mount.0.join("file");
    std::fs::write(&file, vec![b'x'; 4 << 20]).unwrap();
    run("sync", &["-f", file.to_str().unwrap()]);
    for target in [device.node.as_str(), file.to_str().unwrap()] {
        assert!(matches!(quick(&bench, target, false), Err(Error::Target(_))), "{target}");
        let record = quick(&bench, target, true).unwrap();
        assert!((11..=12).contains(&record.cells.len()), "{}", record.cells.len());
    }
    assert_eq!(std::fs::read(&file).unwrap(), vec![b'x'; 4 << 20]);
    // What is full says so, and by how much.
    let text = format!("{HEAD}{}", load("size = \"1 GiB\""));
    let error = bench.measurement(&text, mount.0.to_str().unwrap()).run(&mut Silent::default()).unwrap_err();
    let told = words(&error);
    assert!(told.contains("no room") && told.contains("ask for at most"), "{told}");
}

#[test]
fn memory_is_called_memory() {
    let bench = Bench::new();
    let folder = or_skip!(tempfile::tempdir_in("/dev/shm").ok(), "no /dev/shm");
    let record = bench.measured(&format!("{HEAD}{}", load("size = \"4 MiB\"")), folder.path().to_str().unwrap());
    let volume = &record.header.volumes[0];
    assert_eq!((volume.kind, volume.direct), (TargetKind::TestFile, false));
    let kind = volume.file_system.as_ref().unwrap().kind.as_str();
    assert!(loadline_record::MEMORY_FILE_SYSTEMS.contains(&kind), "{kind}");
    assert!(entries(folder.path()).is_empty());
}

#[test]
fn rounds_of_the_steady_state_are_of_whole_seconds_and_what_came_of_them_is_told() {
    let bench = Bench::new();
    let rounds = |round| {
        let rule =
            format!("{{ round = \"{round}\", rounds = 2, rounds_max = 2, range = \"100 %\", slope = \"100 %\" }}");
        // A ceiling that a busy machine reaches, too: without one its rounds are as unlike as its CPUs are free.
        let reads = "reads = \"100 %\"\nrate_max = \"1000 IOPS\"";
        format!("{HEAD}{}", load(&format!("{reads}\nsteady_state = {rule}")))
    };
    let error = loadline_workload::Plan::parse(&rounds("500 ms"), "odd").unwrap_err().to_string();
    assert!(error.contains("500 ms is not of whole seconds"), "{error}");
    let settings = Settings::of(sole_target("null"));
    let work = Work::of(vec![plan(&rounds("1 s"))], &settings.scope(), 1).unwrap();
    assert_eq!(work.time(), Duration::from_ms(4_060), "two trials of 2 s and 30 ms");
    let record = bench.measured(&rounds("1 s").replace("trials = 2", "trials = 1"), "null");
    let steady = &summary(&record)["cells"][0]["steady_state"][0];
    assert_eq!((&steady["reached"], &steady["round_ns"]), (&true.into(), &1_000_000_000.into()), "{steady}");
    assert_eq!(steady["rounds_iops"].as_array().unwrap().len(), 2);
}

#[test]
fn a_small_file_system_is_measured_and_what_is_refused_is_true() {
    let bench = Bench::new();
    let memory = or_skip!(Memory::mount(&bench.path("small"), "size=100m"), "cannot mount");
    let record = quick(&bench, &memory.0, false).unwrap();
    let volume = &record.header.volumes[0];
    assert_eq!(volume.size_bytes, Some(Bytes::mib(64).get()));
    assert!(volume.size_reason.contains("of 90.0 MiB of usable free space"), "{}", volume.size_reason);
    let tiny = or_skip!(Memory::mount(&bench.path("tiny"), "size=4m"), "cannot mount");
    let told = words(&quick(&bench, &tiny.0, false).unwrap_err());
    assert!(told.contains("no room for a test file of 4 MiB") && told.contains("at most 3680 KiB"), "{told}");
    let sealed = or_skip!(Memory::mount(&bench.path("sealed"), "size=4m,ro"), "cannot mount");
    let told = words(&quick(&bench, &sealed.0, false).unwrap_err());
    assert!(told.contains("read-only file system") && !told.contains("no room"), "{told}");
}
