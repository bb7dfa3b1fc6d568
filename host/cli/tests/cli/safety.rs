//! What exists is not written unless it was handed over: which options say so, and what is said of them.

use crate::devices::{Loop, Memory};
use crate::end_to_end::SMALL;
use crate::{Bench, entries, text};

const MIB: usize = 1 << 20;

#[test]
fn what_is_handed_over_is_named_a_second_time_and_no_more() {
    let bench = Bench::new();
    let plan = bench.file("small.toml", SMALL);
    let mine = vec![b'x'; 4 * MIB];
    let (file, target) = (bench.file("mine", &mine), bench.target());
    assert!(bench.refused(1, &["run", &plan, "--on", &file]).contains(&format!("--overwrite {file}")));
    let foreign = bench.file("foreign.db", "somebody else's");
    let told = bench.refused(1, &["run", &plan, "--on", &file, "--overwrite", &file, "--store", &foreign]);
    assert!(told.contains("foreign.db"), "{told}");
    assert_eq!(std::fs::read(&file).unwrap(), mine);
    let reads = bench.file("reads.toml", SMALL.replace("reads = [\"100 %\", \"0 %\"]", "reads = \"100 %\""));
    let unneeded = |words: &[&str], word: &str, why: &str| {
        let output = bench.run(&[&["run"], words].concat());
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{told}");
        assert!(told.contains(&format!("--overwrite {word} was not needed: {why}")), "{told}");
    };
    unneeded(&[&plan, "--on", &target, "--overwrite", &target], &target, "in a directory");
    unneeded(&[&reads, "--on", &file, "--overwrite", &file], &file, "nothing is written to it");
    unneeded(
        &[&plan, "--on", &file, "--overwrite", &file, "--overwrite", "abcd-1234"],
        "abcd-1234",
        "it is no target here",
    );
    assert_ne!(std::fs::read(&file).unwrap(), mine);
    // A path is kept from the root on.
    bench.done(&["quick", ".", "--size", "1 MiB", "--duration", "1 ms", "--quiet"]);
    let folder = bench.path("").canonicalize().unwrap().display().to_string();
    assert_eq!(bench.runs()[0]["volumes"], format!("data={}", folder.trim_end_matches('/')));
}

#[test]
fn what_is_not_filled_and_what_cannot_be_is_told_with_what_to_do() {
    let bench = Bench::new();
    let writes = SMALL.replace("reads = [\"100 %\", \"0 %\"]", "reads = \"0 %\"");
    let (writes, both) = (bench.file("w.toml", writes), bench.file("b.toml", SMALL.replace("4 MiB", "64 MiB")));
    let file = bench.file("image", vec![0; 4 * MIB]);
    let Some(device) = Loop::attach(file.as_ref()) else { return println!("skipped: no loop device can be had") };
    let output = bench.run(&["run", &writes, "--on", &device.node, "--overwrite", &device.node, "--trials", "1"]);
    let told = text(&output.stderr);
    assert!(told.contains("is not filled first, since no load reads it") && told.contains("at 200 MiB/s"), "{told}");
    let Some(memory) = Memory::mount(&bench.path("memory"), "size=24M") else { return };
    let mine = format!("{}/mine", memory.0);
    std::fs::File::create(&mine).unwrap().set_len(64 << 20).unwrap();
    let told = bench.refused(1, &["run", &both, "--on", &mine, "--overwrite", &mine]);
    assert!(told.contains("ask for less with --size") && told.contains("8 trials left out"), "{told}");
}

#[test]
fn results_and_stores_are_never_written_over_a_device() {
    let bench = Bench::new();
    bench.done(&["quick", "null", "--duration", "30 ms"]);
    let mine = vec![0; MIB];
    let file = bench.file("image", &mine);
    let Some(device) = Loop::attach(file.as_ref()) else { return println!("skipped: no loop device can be had") };
    let node = device.node.as_str();
    for refused in [
        &["export", "last", "--as", "json", "-o", node][..],
        &["export", "last", "--as", "parquet", "-o", node],
        &["quick", "null", "--duration", "30 ms", "--report", node],
    ] {
        let told = bench.refused(2, refused);
        assert!(told.contains("is a block device"), "{refused:?}: {told}");
    }
    for store in [&["list", "--store", node][..], &["quick", "null", "--store", node]] {
        let told = bench.refused(1, store);
        assert!(told.contains("is no regular file"), "{store:?}: {told}");
    }
    drop(device);
    assert_eq!(std::fs::read(&file).unwrap(), mine);
}

#[test]
fn files_for_results_replace_nothing_unasked() {
    let bench = Bench::new();
    bench.done(&["quick", "null", "--duration", "30 ms"]);
    let store = bench.file("store.html", std::fs::read(bench.path("store.db")).unwrap());
    let mine = bench.file("mine.html", "my own page");
    let export = ["export", "last", "--as", "csv", "-o"];
    for refused in [&export[..], &["report", "last", "-o"]] {
        let told = bench.refused(2, &[refused, &[&mine]].concat());
        assert!(told.contains("--force"), "{told}");
        for forced in [&[][..], &["--force"]] {
            let told = bench.refused(2, &[refused, &[&store], forced].concat());
            assert!(told.contains("is a database"), "{told}");
        }
    }
    assert_eq!(std::fs::read_to_string(&mine).unwrap(), "my own page");
    bench.done(&[&export[..], &[&mine, "--force"]].concat());
    assert!(std::fs::read_to_string(&mine).unwrap().starts_with("run_id,"));
    // A report replaces a report, and has a name where none is given.
    bench.done(&["report", "last", "-o", "r.html"]);
    bench.done(&["report", "last", "-o", "r.html"]);
    bench.done(&["report", "last"]);
    let names = entries(bench.folder.path());
    let is_page = |name: &str| std::path::Path::new(name).extension().is_some_and(|extension| extension == "html");
    assert!(names.iter().any(|name| name.starts_with("loadline-report-2") && is_page(name)), "{names:?}");
}

#[test]
fn nothing_of_a_job_file_steers_the_terminal() {
    let bench = Bench::new();
    let name = "[x\u{1b}]0;p\u{7}y\u{9b}2J]\n";
    let fine = bench.file("e\u{1b}]0;p\u{7}.fio", format!("{name}rw=read\nsize=1m\nruntime=1\n"));
    let wrong = bench.file("w\u{1b}[2J.fio", format!("{name}rw=read\nno\u{1b}]0;p\u{7}such=1\n"));
    let plan = bench.file("p.toml", "schema = 1\nname = \"p\"\n\"x\\u001b]0;p\\u0007\" = 1\n");
    let missing = "m\u{1b}]0;p\u{7}.toml";
    for arguments in [
        &["run", &fine, "--dry-run", "--on", "null:1 MiB"][..],
        &["run", &wrong, "--dry-run"],
        &["run", &plan, "--dry-run"],
        &["run", missing],
        &["predict", "quick", "--env", missing],
        &["replay", missing, "--env", "ds3-p30"],
        &["import", missing],
        &["run", &fine, "--on", "null:1 MiB", "--overwrite", missing],
        &["list"],
        &["show"],
        &["show", "--format", "markdown"],
        &["export", "last", "--as", "json"],
    ] {
        let output = bench.run(arguments);
        for text in [text(&output.stdout), text(&output.stderr)] {
            let steers = text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\r'));
            assert!(steers.is_none(), "{arguments:?}: {text:?}");
        }
    }
}
