//! Sweeps by the command: parts that are one file each, written whole or not at all.

use crate::{Bench, text};
use std::fs;
use std::path::Path;

const PLAN: &str =
    "schema = 1\nname = \"one\"\n[[load]]\nblock = \"8 KiB\"\nqueue_depth = [1, 32]\nduration = \"10 s\"\n";

fn environments(folder: &Path, count: usize) {
    fs::create_dir_all(folder).unwrap();
    for number in 0..count {
        let text = format!(
            "schema = 1\nname = \"e\"\n[[volume.data.disks]]\nsize = \"10 GiB\"\nlimit = {{ iops = \"{} IOPS\" }}\n\
             [volume.data.disks.latency.read]\nmedian = \"1 ms\"\np99 = \"2 ms\"\n",
            500 + number
        );
        fs::write(folder.join(format!("{number:04}.toml")), text).unwrap();
    }
}

#[test]
fn parts_have_the_rows_of_the_whole_and_a_second_try_the_same_bytes() {
    let bench = Bench::new();
    environments(&bench.path("envs"), 11);
    fs::write(bench.path("plan.toml"), PLAN).unwrap();
    let sweep = |words: &[&str]| {
        let mut all = vec!["predict", "plan.toml", "--env", "envs", "--limits-only", "--quiet"];
        all.extend(words);
        bench.done(&all)
    };
    sweep(&["-o", "all.csv"]);
    let whole = fs::read_to_string(bench.path("all.csv")).unwrap();
    assert_eq!(whole.lines().count(), 1 + 22);
    let mut rows = Vec::new();
    for number in 1..=3 {
        let (part, csv, parquet) = (format!("{number}/3"), format!("p{number}.csv"), format!("p{number}.parquet"));
        sweep(&["--part", &part, "-o", &csv, "--threads", "2"]);
        let first = fs::read_to_string(bench.path(&csv)).unwrap();
        sweep(&["--part", &part, "-o", &csv]);
        assert_eq!(fs::read_to_string(bench.path(&csv)).unwrap(), first);
        sweep(&["--part", &part, "-o", &parquet]);
        let first_parquet = fs::read(bench.path(&parquet)).unwrap();
        sweep(&["--part", &part, "-o", &parquet]);
        assert_eq!(fs::read(bench.path(&parquet)).unwrap(), first_parquet);
        rows.extend(first.lines().skip(1).map(str::to_owned));
    }
    assert_eq!(rows, whole.lines().skip(1).collect::<Vec<_>>());
    // What stands on standard output is the same table.
    assert_eq!(sweep(&["--format", "csv"]), whole);
    // A file of somebody else is left alone.
    fs::write(bench.path("own.csv"), "my,own\n").unwrap();
    fs::write(bench.path("own.parquet"), "PAR1 of another tool PAR1").unwrap();
    for own in ["own.csv", "own.parquet"] {
        let output = bench.run(&["predict", "plan.toml", "--env", "envs", "--limits-only", "-o", own]);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    }
}

#[test]
fn a_killed_part_leaves_no_half_of_a_file() {
    let bench = Bench::new();
    environments(&bench.path("envs"), 400);
    fs::write(bench.path("plan.toml"), PLAN).unwrap();
    let words = ["predict", "plan.toml", "--env", "envs", "--limits-only", "--quiet", "-o", "rows.csv"];
    for ms in [5, 20, 60] {
        let mut child = bench.command(&words).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(ms));
        let _ = child.kill();
        child.wait().unwrap();
        if let Ok(found) = fs::read_to_string(bench.path("rows.csv")) {
            assert_eq!(found.lines().count(), 1 + 800, "killed after {ms} ms");
        }
    }
    bench.done(&words);
    assert_eq!(fs::read_to_string(bench.path("rows.csv")).unwrap().lines().count(), 1 + 800);
    let left: Vec<_> = fs::read_dir(bench.path(".")).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with('.')), "{left:?}");
}

#[test]
fn needs_of_a_folder_are_advised_on_and_what_is_of_a_folder_wants_one() {
    let bench = Bench::new();
    fs::create_dir(bench.path("needs")).unwrap();
    for iops in [800, 3_000] {
        let text =
            format!("schema = 1\niops = \"{iops} IOPS\"\nsize = \"200 GiB\"\nplace = {{ providers = [\"azure\"] }}\n");
        fs::write(bench.path(&format!("needs/{iops}.toml")), text).unwrap();
    }
    let printed = bench.done(&["advise", "needs", "--limits-only", "--rows", "1"]);
    assert!(printed.contains("meets 2 of 2 needs"), "{printed}");
    bench.done(&["advise", "needs", "--limits-only", "--rows", "1", "--part", "2/2", "-o", "two.csv", "--quiet"]);
    // The text of the environment has several lines.
    let rows = fs::read_to_string(bench.path("two.csv")).unwrap();
    assert_eq!(rows.lines().filter(|line| line.starts_with("needs/800.toml,1,true,azure")).count(), 1, "{rows}");
    assert!(!rows.contains("3000.toml"), "{rows}");
    for words in [
        &["advise", "--iops", "900", "--size", "10GiB", "--part", "1/2"][..],
        &["predict", "quick-look", "--env", "ds3-p30", "--part", "1/2"],
        &["predict", "quick-look", "--env", "needs", "--find-objective"],
    ] {
        let output = bench.run(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", text(&output.stderr));
    }
}
