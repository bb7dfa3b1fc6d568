//! Several volumes in a run, and loads that want different things of one volume.

use crate::bad_disk::{Loop, run};
use crate::{Bench, entries, or_skip, text};

const HEAD: &str = "schema = 1\nname = \"p\"\n";

fn load(keys: &str) -> String {
    format!(
        "[[load]]\npattern = \"random\"\nblock = \"4 KiB\"\nqueue_depth = 2\nwarm_up = \"0 s\"\nduration = \"30 ms\"\ntrials = 2\n{keys}\n"
    )
}

/// For each cell, as exported: its label and its doubts' codes.
fn doubts(run: &serde_json::Value) -> Vec<(String, Vec<String>)> {
    let cells = run["cells"].as_array().unwrap().iter();
    cells
        .map(|cell| {
            let codes = cell["doubts"].as_array().unwrap().iter().map(|d| d["code"].as_str().unwrap().to_owned());
            (cell["label"].as_str().unwrap().to_owned(), codes.collect())
        })
        .collect()
}

#[test]
fn buffered_and_direct_loads_share_a_volume_and_each_is_what_it_says() {
    let bench = Bench::new();
    let loads =
        [load("reads = \"100 %\"\nsize = \"2 MiB\"\nbuffered = true"), load("reads = \"50 %\"\nsize = \"2 MiB\"")];
    let (plan, target) = (bench.file("p.toml", format!("{HEAD}{}", loads.concat())), bench.target());
    bench.done(&["run", &plan, "--on", &target]);
    let run = bench.last();
    if run["run"]["volumes"][0]["direct"] != true {
        println!("skipped: the file system under the build folder takes no direct I/O");
        return;
    }
    let doubts = doubts(&run);
    assert!(doubts[0].1.contains(&"buffered".to_owned()), "{doubts:?}");
    assert!(!doubts[1].1.contains(&"buffered".to_owned()), "{doubts:?}");
    assert!(entries(target.as_ref()).is_empty());
    // Only buffered loads: the volume is what they say.
    let plan = bench.file("b.toml", format!("{HEAD}{}", loads[0]));
    bench.done(&["run", &plan, "--on", &target]);
    assert_eq!(bench.last()["run"]["volumes"][0]["direct"], false);
}

#[test]
fn loads_on_different_numbers_of_files_run_with_and_without_a_size() {
    let bench = Bench::new();
    let target = bench.target();
    for keys in [
        "files = [1, 4]\nreads = [\"100 %\", \"0 %\"]\nsize = \"4 MiB\"",
        "files = [1, 3]\nreads = \"0 %\"\nfill = \"never\"",
    ] {
        let plan = bench.file("p.toml", format!("{HEAD}{}", load(keys)));
        bench.done(&["run", &plan, "--on", &target]);
        let run = bench.last();
        let cells = run["cells"].as_array().unwrap();
        assert!(cells.len() >= 2 && cells.iter().all(|cell| cell["trials"] == 2 && cell["errors"] == 0));
        assert!(run["run"]["volumes"][0]["size_reason"].as_str().unwrap().contains("number of files: 1, "));
        assert!(entries(target.as_ref()).is_empty());
    }
}

#[test]
fn a_load_on_several_files_is_refused_where_the_target_is_no_directory() {
    let bench = Bench::new();
    let file = bench.file("mine", vec![b'x'; 4 << 20]);
    let plan = bench.file("p.toml", format!("{HEAD}{}", load("files = [1, 4]\nreads = \"100 %\"")));
    for target in [file.as_str(), "null"] {
        let told = bench.refused(2, &["run", &plan, "--on", target]);
        assert!(told.contains("files = 4 makes test files in a directory") && told.contains(target), "{told}");
    }
    assert!(bench.runs().is_empty(), "nothing was begun");
}

#[test]
fn a_load_to_be_verified_is_refused_on_null_before_anything_starts() {
    let bench = Bench::new();
    let plan = bench.file("p.toml", format!("{HEAD}{}", load("reads = \"0 %\"\nverify = true")));
    for target in ["data=null", "data=null:1 GiB"] {
        let told = bench.refused(2, &["run", &plan, "--on", target]);
        assert!(told.contains("verify = true reads back what was written") && told.contains("keeps nothing"), "{told}");
    }
    assert!(bench.runs().is_empty(), "nothing was begun");
}

#[test]
fn files_of_different_numbers_are_verified_and_kept_side_by_side() {
    let bench = Bench::new();
    let target = bench.target();
    let keys = "files = [2, 1, 4]\nreads = \"0 %\"\nsize = \"4 MiB\"\nverify = true";
    let plan = bench.file("p.toml", format!("{HEAD}{}", load(keys)));
    bench.done(&["run", &plan, "--on", &target, "--keep"]);
    assert_eq!(entries(target.as_ref()).len(), 7);
    let output = bench.run(&["run", "--verify-only", "last"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains(" 0 faulty"));
}

#[test]
fn one_file_is_two_volumes_only_where_nothing_is_written() {
    let bench = Bench::new();
    let file = bench.file("mine", vec![b'x'; 4 << 20]);
    let (a, b) = (format!("a={file}"), format!("b={file}"));
    let plan = bench.file("p.toml", format!("{HEAD}{}", load("reads = [\"100 %\", \"0 %\"]")));
    let on = ["run", &plan, "--on", &a, "--on", &b];
    let told = bench.refused(2, &[&on[..], &["--overwrite", &file]].concat());
    assert!(told.contains("volumes a and b: both are ") && !told.contains("another process"), "{told}");
    bench.done(&[&on[..], &["--read-only"]].concat());
    assert_eq!(bench.last()["cells"].as_array().unwrap().len(), 2);
}

#[test]
fn volumes_take_turns_and_are_shown_apart() {
    let bench = Bench::new();
    let (a, b) = (bench.path("a"), bench.path("b"));
    for folder in [&a, &b] {
        std::fs::create_dir(folder).unwrap();
    }
    let keys = "reads = [\"100 %\", \"0 %\"]\nsize = \"2 MiB\"\n";
    let plan = bench.file("p.toml", format!("{HEAD}{}", load(keys)));
    let on = |name: &str, folder: &std::path::Path| format!("{name}={}", folder.display());
    let output = bench.run(&["run", &plan, "--on", &on("fast", &a), "--on", &on("slow", &b), "--trials", "6"]);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    // Each of the 24 trials says on which volume it was; interleaved, neither volume is done before the other has begun.
    let order: Vec<bool> =
        told.lines().filter(|line| line.contains(" of 24: ")).map(|line| line.contains(" on fast, trial ")).collect();
    assert_eq!((order.len(), order.iter().filter(|fast| **fast).count()), (24, 12), "{told}");
    let turns = order.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(turns >= 4, "{told}");
    let printed = text(&output.stdout);
    for name in ["fast", "slow"] {
        let rows =
            printed.lines().filter(|line| line.contains(name) && line.contains("random ") && line.contains("depth 2"));
        assert!(rows.count() >= 2, "{printed}");
    }
    assert!(entries(&a).is_empty() && entries(&b).is_empty());
    let run = bench.last();
    let names: Vec<&str> =
        run["run"]["volumes"].as_array().unwrap().iter().map(|v| v["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["fast", "slow"]);
}

/// Unmounts when dropped.
struct Mount(std::path::PathBuf);

impl Drop for Mount {
    fn drop(&mut self) {
        run("umount", &[self.0.to_str().unwrap()]);
    }
}

#[test]
fn a_mounted_device_is_measured_by_reading_and_never_written() {
    let bench = Bench::new();
    let image = bench.path("image");
    std::fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
    or_skip!(run("mkfs.ext4", &["-q", "-F", image.to_str().unwrap()]), "no mkfs.ext4");
    let device = or_skip!(Loop::attach(&image), "it takes root and a loop device");
    let point = bench.path("point");
    std::fs::create_dir(&point).unwrap();
    or_skip!(run("mount", &[&device.node, point.to_str().unwrap()]), "cannot mount");
    let mount = Mount(point);
    let file = mount.0.join("file");
    std::fs::write(&file, vec![b'x'; 4 << 20]).unwrap();
    run("sync", &["-f", file.to_str().unwrap()]);
    let quick = |target: &str, more: &[&str]| {
        bench.run(&[&["quick", target, "--duration", "30 ms", "--report", "r.html"], more].concat())
    };
    for target in [device.node.as_str(), file.to_str().unwrap()] {
        let refused = quick(target, &[]);
        assert_eq!(refused.status.code(), Some(1));
        let done = quick(target, &["--read-only"]);
        assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
        assert!(text(&done.stderr).contains("reads only"));
        assert!((11..=12).contains(&bench.last()["cells"].as_array().unwrap().len()));
    }
    assert_eq!(std::fs::read(&file).unwrap(), vec![b'x'; 4 << 20]);
    // What is full says so, and by how much.
    let told = text(&quick(mount.0.to_str().unwrap(), &["--size", "1 GiB"]).stderr);
    assert!(told.contains("no room") && told.contains("ask for at most"), "{told}");
}

#[test]
fn quick_foretells_what_it_does_and_calls_memory_memory() {
    let bench = Bench::new();
    let Ok(folder) = tempfile::tempdir_in("/dev/shm") else {
        println!("skipped: no /dev/shm");
        return;
    };
    let target = folder.path().to_str().unwrap();
    let output = bench.run(&["quick", target, "--duration", "30 ms", "--size", "4 MiB"]);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    let first = told.lines().next().unwrap();
    assert!(
        first.contains("fills 4.00 MiB first, then 16 or 17 loads") && first.contains("after the filling"),
        "{told}"
    );
    assert!(told.contains("this is memory, not storage"), "{told}");
    assert!(told.contains("curve 10 %: random read 4 KiB"), "{told}");
    assert!(entries(folder.path()).is_empty());
}

#[test]
fn rounds_of_the_steady_state_are_of_whole_seconds_and_what_came_of_them_is_told() {
    let bench = Bench::new();
    let rounds = |round| {
        let rule =
            format!("{{ round = \"{round}\", rounds = 2, rounds_max = 2, range = \"100 %\", slope = \"100 %\" }}");
        // A ceiling that a busy machine reaches, too: without one its rounds are as unlike as its CPUs are free.
        load(&format!("reads = \"100 %\"\nrate_max = \"1000 IOPS\"\nsteady_state = {rule}"))
    };
    let plan = bench.file("odd.toml", format!("{HEAD}{}", rounds("500 ms")));
    let told = bench.refused(2, &["run", &plan, "--on", "null", "--dry-run"]);
    assert!(told.contains("500 ms is not of whole seconds"), "{told}");
    let plan = bench.file("p.toml", format!("{HEAD}{}", rounds("1 s")));
    let planned: serde_json::Value =
        serde_json::from_str(&bench.done(&["run", &plan, "--dry-run", "--format", "json"])).unwrap();
    assert_eq!(planned["time_s"], 4.06, "two trials of 2 s and 30 ms");
    bench.done(&["run", &plan, "--on", "null", "--trials", "1"]);
    let run = bench.last();
    let steady = &run["cells"][0]["steady_state"][0];
    assert_eq!((&steady["reached"], &steady["round_ns"]), (&true.into(), &1_000_000_000.into()), "{steady}");
    assert_eq!(steady["rounds_iops"].as_array().unwrap().len(), 2);
    assert!(
        bench.done(&["show", "last"]).contains("The rate was steady before the measurement, after 2 rounds of 1 s.")
    );
}
