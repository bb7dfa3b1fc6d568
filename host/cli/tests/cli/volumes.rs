//! Several volumes in a run, and loads that want different things of one volume.

use crate::{Bench, entries, text};

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
    for keys in ["files = [1, 4]\nreads = [\"100 %\", \"0 %\"]\nsize = \"4 MiB\"", "files = [1, 3]\nreads = \"0 %\""] {
        let plan = bench.file("p.toml", format!("{HEAD}{}", load(keys)));
        bench.done(&["run", &plan, "--on", &target]);
        let run = bench.last();
        let cells = run["cells"].as_array().unwrap();
        assert!(cells.len() >= 2 && cells.iter().all(|cell| cell["trials"] == 2 && cell["errors"] == 0));
        assert!(run["run"]["volumes"][0]["size_reason"].as_str().unwrap().contains("number of files: 1, "));
        assert!(entries(target.as_ref()).is_empty());
    }
    // What exists is one file, whatever the plan says.
    let file = bench.file("mine", vec![b'x'; 4 << 20]);
    let plan = bench.file("p.toml", format!("{HEAD}{}", load("files = [1, 4]\nreads = \"100 %\"")));
    bench.done(&["run", &plan, "--on", &file, "--read-only"]);
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
