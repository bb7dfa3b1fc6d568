//! Runs of several hosts: begun at one time, clocks compared, merged.

use crate::{Bench, text};
use serde_json::Value as Json;
use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const PLAN: &str = "schema = 1\nname = \"shared\"\n[[load]]\nblock = \"4 KiB\"\narrival = { constant = \"2000 IOPS\" }\n\
                    warm_up = \"0 s\"\nduration = \"1 s\"\npause = \"0 s\"\ntrials = 1\n";

/// Seconds from a command to the start that it names: all hosts are there by then, also where each gets a small part of a processor.
pub(crate) const LEAD_S: u64 = 20;

/// A command that answers as a host does, by the shell of this machine.
fn answering() -> String {
    format!("env HOST={{}} {} clock serve", env!("CARGO_BIN_EXE_loadline"))
}

#[test]
fn hosts_that_began_together_are_merged_with_their_clocks_compared() {
    let bench = Bench::new();
    fs::write(bench.path("plan.toml"), PLAN).unwrap();
    let by = answering();
    let compare =
        || bench.done(&["clock", "compare", "node1", "node2", "--by", &by, "--count", "20", "-o", "clocks.json"]);
    let printed = compare();
    assert!(printed.contains("node1") && printed.contains("loadline merge node1=node1.db"), "{printed}");
    let start = SystemTime::now().duration_since(UNIX_EPOCH).unwrap() + Duration::from_secs(LEAD_S);
    let start = format!("@{}.{:09}", start.as_secs(), start.subsec_nanos());
    let ranks: Vec<_> = ["node1", "node2"]
        .map(|node| {
            let store = format!("{node}.db");
            let words = ["run", "plan.toml", "--on", "data=null", "--start-at", &start, "--quiet", "--store", &store];
            bench.command(&words).stdout(std::process::Stdio::null()).spawn().unwrap()
        })
        .into();
    for mut rank in ranks {
        assert!(rank.wait().unwrap().success());
    }
    compare();
    assert_eq!(fs::read_to_string(bench.path("clocks.json")).unwrap().lines().count(), 2);
    let merge = |more: &[&str]| {
        let mut words = vec!["merge", "node1=node1.db", "node2=node2.db", "--format", "json"];
        words.extend(more);
        serde_json::from_str::<Json>(&bench.done(&words)).unwrap()
    };
    let merged = merge(&["--clocks", "clocks.json"]);
    let cell = &merged["cells"][0];
    assert!(cell["total"]["iops"].as_f64().unwrap() > 0.0, "{cell}");
    for host in cell["hosts"]["hosts"].as_array().unwrap() {
        // One machine, one clock: the truth is 0.
        let (offset, error) = (host["clock_offset_ns"].as_i64().unwrap(), host["clock_error_ns"].as_i64().unwrap());
        assert!(offset.abs() <= error && error > 0, "{host}");
        assert!(host["clock_drift_ppb"].is_i64(), "{host}");
    }
    // Without a comparison there is none to tell.
    assert!(merge(&[])["cells"][0]["hosts"]["hosts"][0]["clock_error_ns"].is_null());
    let shown = bench.done(&["show", "last"]);
    assert!(shown.contains("Hosts") && shown.contains("began after"), "{shown}");
}

#[test]
fn clocks_that_cannot_be_compared_are_said_so_and_no_file_of_others_is_taken() {
    let bench = Bench::new();
    let refused = bench.refused(1, &["clock", "compare", "a", "--by", "echo no loadline on {}"]);
    assert!(
        refused.contains("the clock of a was not compared") && refused.contains("it ended after \"no loadline on a\""),
        "{refused}"
    );
    let refused = bench.refused(2, &["clock", "compare", "a;touch x", "--by", &answering()]);
    assert!(refused.contains("is no name of a host"), "{refused}");
    assert!(!bench.path("x").exists());
    fs::write(bench.path("own.json"), "{}\n").unwrap();
    bench.refused(2, &["clock", "compare", "a", "--by", &answering(), "-o", "own.json"]);
    let output = bench.run(&["merge", "a=a.db", "b=b.db", "--clocks", "own.json"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
}

/// The pages about hosts, one after the other.
const PAGES: &str = concat!(
    include_str!("../../../../docs/hosts.md"),
    include_str!("../../../../docs/kubernetes.md"),
    include_str!("../../../../docs/sweeps.md")
);

/// The blocks of code in a language under a heading of the pages about hosts.
pub(crate) fn examples(heading: &str, language: &str) -> Vec<String> {
    let (_, section) = PAGES.split_once(&format!("\n## {heading}\n")).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let fence = format!("```{language}\n");
    let blocks = section.split(&fence).skip(1);
    blocks.map(|block| block.split_once("```").unwrap().0.to_owned()).collect()
}

/// The first script under a heading.
pub(crate) fn example(heading: &str) -> String {
    examples(heading, "sh").swap_remove(0)
}

/// Runs a script of the page where programs of a cluster do their work on this machine.
fn scripted(bench: &Bench, script: &str, programs: &[(&str, &str)]) {
    let path = programs_in(bench, programs);
    let mut shell = bench.command_by(&["env", &format!("PATH={path}"), "sh", "-euc", script], &[]);
    let output = shell.env("BENCH", bench.path(".")).env("HOME", bench.path("home")).output().unwrap();
    assert!(output.status.success(), "{}\n{}", text(&output.stdout), text(&output.stderr));
}

/// Makes programs that a script finds before all others, the command among them; the path to them.
pub(crate) fn programs_in(bench: &Bench, programs: &[(&str, &str)]) -> String {
    let folder = bench.path("bin");
    fs::create_dir_all(&folder).unwrap();
    let own = ("loadline", format!("#!/bin/sh\nexec {} \"$@\"\n", env!("CARGO_BIN_EXE_loadline")));
    let others = programs.iter().map(|(name, text)| (*name, format!("#!/bin/sh\n{text}\n")));
    for (name, text) in others.chain([own]) {
        fs::write(folder.join(name), text).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(folder.join(name), mode).unwrap();
    }
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap())
}

/// A plan of a second on a small file, in time for a start that is a few seconds ahead.
pub(crate) fn small_plan(bench: &Bench) {
    let plan = PLAN.replace("duration", "size = \"1 MiB\"\nduration").replace("2000 IOPS", "100 IOPS");
    fs::write(bench.path("plan.toml"), plan).unwrap();
}

/// The numbers of hosts of a merged run, of which a limit is named.
pub(crate) fn scaled(merged: &Json) -> Vec<i64> {
    let scaling = &merged["hosts_scaling"][0];
    assert!(scaling["limit"].is_string(), "{scaling}");
    scaling["points"].as_array().unwrap().iter().map(|point| point["hosts"].as_i64().unwrap()).collect()
}

#[test]
fn the_example_for_ssh_goes_from_nothing_to_a_report() {
    let bench = Bench::new();
    small_plan(&bench);
    let here = bench.path("shared").display().to_string();
    fs::create_dir(&here).unwrap();
    let script =
        example("Plain ssh").replace("+60 seconds", &format!("+{LEAD_S} seconds")).replace("/mnt/shared", &here);
    // Every host has a folder of its own in the place of its /tmp and of its home.
    let script = script.replace("/tmp/hosts", "hosts");
    let ssh = "while [ \"$1\" = -o ]; do shift 2; done\nhost=$1; shift\nmkdir -p $BENCH/$host\ncd $BENCH/$host && exec sh -c \"$*\"";
    let scp = "case $1 in *:*) exec cp $BENCH/${1%%:*}/${1#*:} $2 ;; esac\nhost=${2%:}\nmkdir -p $BENCH/$host && exec cp $1 $BENCH/$host/";
    scripted(&bench, &script, &[("ssh", ssh), ("scp", scp)]);
    assert!(fs::read_to_string(bench.path("hosts.html")).unwrap().contains("node3"));
    let merged = bench.last();
    assert_eq!(merged["cells"][0]["hosts"]["hosts"].as_array().unwrap().len(), 3);
    assert!(merged["cells"][0]["hosts"]["hosts"][0]["clock_drift_ppb"].is_i64(), "{merged}");
}

#[test]
fn the_script_for_slurm_ends_with_the_verdict_over_hosts() {
    let bench = Bench::new();
    small_plan(&bench);
    let here = |name: &str| {
        fs::create_dir(bench.path(name)).unwrap();
        bench.path(name).display().to_string()
    };
    let script =
        example("Slurm").replace("+60 seconds", &format!("+{LEAD_S} seconds")).replace("/mnt/shared", &here("shared"));
    let script = script.replace("--hosts 1,2,4", "--hosts 1,2").replace("$SLURM_JOB_ID", "7");
    here("home");
    let srun = "for rank in 0 1; do SLURM_NTASKS=2 SLURM_PROCID=$rank \"$@\" & done; wait";
    scripted(&bench, &script, &[("srun", srun)]);
    let merged = bench.last();
    assert_eq!(scaled(&merged), [1, 2]);
    assert_eq!(merged["verdict"]["volumes"][0]["held_by"], merged["hosts_scaling"][0]["text"]);
    let shown = bench.done(&["show", "last"]);
    assert!(shown.contains("With more hosts") && shown.contains("efficiency"), "{shown}");
    assert_eq!(crate::entries(&bench.path("home/loadline-7")).len(), 4, "a store and a report of each rank");
}

#[test]
fn a_host_with_a_range_of_its_own_writes_nothing_else_of_the_file() {
    let bench = Bench::new();
    let writes = PLAN.replace("block", "reads = \"0 %\"\nsize = \"6 MiB\"\nblock").replace("\"1 s\"", "\"300 ms\"");
    fs::write(bench.path("plan.toml"), writes).unwrap();
    fs::write(bench.path("file"), vec![0; 7 << 20]).unwrap();
    let mut before = vec![0_u8; 7 << 20];
    for rank in [1, 0, 2] {
        let (rank_of, store) = (format!("{rank}/3"), format!("rank-{rank}.db"));
        let words = ["run", "plan.toml", "--on", "file", "--overwrite", "file", "--own-range", "--rank", &rank_of];
        bench.done(&[&words[..], &["--store", &store, "--quiet"]].concat());
        let after = fs::read(bench.path("file")).unwrap();
        let own = rank * (2 << 20)..(rank + 1) * (2 << 20);
        for (index, (old, new)) in before.chunks(4_096).zip(after.chunks(4_096)).enumerate() {
            assert!(old == new || own.contains(&(index * 4_096)), "rank {rank} wrote at {}", index * 4_096);
        }
        assert!(after[own.clone()].iter().any(|byte| *byte != 0), "rank {rank} wrote nothing");
        before = after;
    }
    // They did not run together, and their loads are one all the same.
    let merged = bench.done(&["merge", "rank-0.db", "rank-1.db", "rank-2.db", "--format", "json"]);
    let merged: Json = serde_json::from_str(&merged).unwrap();
    assert_eq!(merged["cells"][0]["load"]["size_bytes"], 6 << 20, "{merged}");
    let refused = bench.refused(2, &["merge", "a=rank-0.db", "b=rank-0.db"]);
    assert!(refused.contains("is named twice"), "{refused}");
}

#[test]
fn a_host_that_says_too_little_of_its_part_is_refused_with_the_option_that_mends_it() {
    let bench = Bench::new();
    small_plan(&bench);
    fs::create_dir(bench.path("folder")).unwrap();
    fs::write(bench.path("file"), vec![0; 3 << 20]).unwrap();
    let ended = |status, words: &[&str], wanted: &str| {
        let mut all = vec!["run", "plan.toml"];
        all.extend(words);
        let text = bench.refused(status, &all);
        assert!(text.contains(wanted), "{words:?}: {text}");
    };
    let said = |words: &[&str], wanted: &str| ended(2, words, wanted);
    said(&["--on", "null", "--hosts", "1,2"], "--rank");
    said(&["--on", "null", "--own-range"], "--rank");
    said(&["--on", "null", "--rank", "2/2"], "0/8 to 7/8");
    said(&["--on", "null", "--hosts", "1,2", "--rank", "0/2"], "--start-at");
    said(&["--on", "null", "--hosts", "1,4", "--rank", "0/2"], "1 to 2 hosts");
    said(&["--on", "folder", "--own-range", "--rank", "0/2", "--size", "4 MiB"], "leave --own-range out");
    said(&["--on", "null", "--own-range", "--rank", "0/2"], "--size");
    // The part of the first host fits, and that of the last does not.
    ended(
        1,
        &["--on", "file", "--own-range", "--rank", "0/4", "--size", "4 MiB", "--read-only"],
        "less than the 4 MiB asked for",
    );
    assert_eq!(fs::read(bench.path("file")).unwrap(), vec![0; 3 << 20]);
}
