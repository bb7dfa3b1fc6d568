//! `hunt`: what it prints, and as what kind of run it is kept. It is one like others, resumed and shown.

use crate::crash::started;
use crate::inputs::{EVEN, STRIPE, random_reads};
use crate::{Bench, text};

#[test]
fn what_moved_the_ceiling_is_printed_kept_and_shown() {
    let bench = Bench::new();
    let one = random_reads("512 KiB", 1);
    let (plan, env) = (bench.file("p.toml", random_reads("1 MiB", 1)), bench.file("e.toml", STRIPE));
    let hunt = ["hunt", &plan, "--env", &env, "--vary", "interleave=256KiB,layout=8", "--seed", "5"];
    let planned = bench.done(&[&hunt[..], &["--dry-run"]].concat());
    assert!(planned.contains("interleave") && planned.contains("8 disks"), "{planned}");
    let printed = bench.done(&hunt);
    for told in [printed, bench.done(&["show", "last"])] {
        assert!(told.contains("moved the ceiling") && told.contains("ruled out"), "{told}");
    }
    let csv = bench.done(&[&hunt[..], &["--format", "csv", "--quiet"]].concat());
    assert!(csv.contains("interleave,1 MiB,256 KiB,"), "{csv}");
    assert_eq!((&bench.runs()[0]["verb"], &bench.runs()[0]["status"]), (&"hunt".into(), &"finished".into()));
    let file = bench.file("small", vec![0; 1 << 20]);
    let small = bench.file("s.toml", one.replace("4 s", "20 ms").replace("8 GiB", "1 MiB"));
    bench.run(&["hunt", &small, "--on", &file, "--read-only", "--quiet"]);
    let shown = bench.done(&["show", "last"]);
    assert!(shown.contains("not tried: block 2 MiB ("), "{shown}");
}

#[test]
fn a_hunt_around_a_load_that_gets_all_it_asks_for_says_only_that() {
    let bench = Bench::new();
    let load = random_reads("8 KiB", 4).replace("queue_depth = 4", "queue_depth = 4\nthink_time = \"100 ms\"");
    let (plan, env) = (bench.file("p.toml", load), bench.file("e.toml", EVEN));
    let told = bench.done(&["hunt", &plan, "--env", &env, "--vary", "block=32KiB,threads=2", "--seed", "5", "--quiet"]);
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("Nothing bound this cell: ") && told.contains("Hunt without think time"), "{told}");
    for word in ["moved the ceiling", "possible:", "ruled out", "cannot tell", "Intervals hold"] {
        assert!(!told.contains(word), "{word}: {told}");
    }
}

#[test]
fn a_killed_hunt_is_resumed_as_a_run() {
    let bench = Bench::new();
    let load = random_reads("4 KiB", 2).replace("4 s", "20 ms").replace("8 GiB", "8 MiB");
    let (plan, target) = (bench.file("p.toml", load), bench.target());
    let mut child =
        started(&bench, &["hunt", &plan, "--on", &target, "--vary", "depth=4,engine=threads", "--margin", "1%"]);
    while bench.runs().first().is_none_or(|run| run["trials"] == 0) {
        assert!(child.try_wait().unwrap().is_none(), "it was over before it could be killed");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let output = bench.run(&["run", "--resume", "last", "--quiet"]);
    assert!(matches!(output.status.code(), Some(0 | 4)), "{}", text_of(&output));
    assert!(text(&output.stdout).contains("depth") && bench.runs()[0]["status"] == "finished", "{}", text_of(&output));
}

fn text_of(output: &std::process::Output) -> String {
    text(&output.stdout) + &text(&output.stderr)
}
