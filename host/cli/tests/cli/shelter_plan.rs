//! `shelter FILE plan` as it is typed: what a described machine gives, word by word, and what a bare one leaves open.

use crate::golden::compare;
use crate::shelter::file;
use crate::{Bench, text};
use std::fs;

const ENVIRONMENT: &str = "schema = 1\nname = \"vm\"\nvm = \"azure/d8ds-v5\"\n\
                           [volume.fast]\ndisks = [{ sku = \"azure/d8ds-v5-temp\" }]\n\
                           [volume.persist]\ndisks = [{ sku = \"azure/premium-p30\" }]\n";

fn shelter(bench: &Bench) -> String {
    file(bench, "60 s", "[limits]\nobjective = \"2 ms\"\n")
}

#[test]
fn a_plan_on_a_described_machine_word_by_word() {
    if !cfg!(feature = "shelter") {
        println!("skipped: this build has no shelter");
        return;
    }
    let bench = Bench::new();
    let (file, env) = (shelter(&bench), bench.file("vm.toml", ENVIRONMENT));
    let asked = |more: &[&str]| {
        let options = ["shelter", &file, "plan", "--env", &env, "--iops", "2000", "--changes", "1MiB/s", "--size"];
        [&options[..], more].concat().into_iter().map(str::to_owned).collect::<Vec<String>>()
    };
    let run = |more: &[&str]| {
        let words = asked(more);
        bench.command(&words.iter().map(String::as_str).collect::<Vec<_>>()).output().unwrap()
    };
    let kept = run(&["20GiB", "--files", "100000"]);
    assert_eq!(kept.status.code(), Some(0), "{}", text(&kept.stderr));
    let root = bench.folder.path().display().to_string();
    compare("shelter-plan.txt", &text(&kept.stdout).replace(&root, "FOLDER"));
    // Large files are read whole: the recovery point cannot be kept, and the limit is named.
    let missed = run(&["400GiB"]);
    let told = text(&missed.stdout);
    assert_eq!(missed.status.code(), Some(3), "{told}");
    assert!(
        told.contains("NOT KEPT") && told.contains("volume persist") && told.contains("recovery_point ="),
        "{told}"
    );
    let verdict = told.split("Verdict\n").nth(1).unwrap();
    assert!(verdict.lines().filter(|line| line.as_bytes().get(2).is_some_and(|first| *first != b' ')).count() <= 9);
    let json = run(&["20GiB", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["schema"], "loadline.shelter-plan/1");
    assert!(json["application"]["alone"]["p99_ns"].as_u64() > Some(0) && json["objects_month"].is_null(), "{json}");
}

#[test]
fn a_plan_without_figures_names_what_gives_them() {
    if !cfg!(feature = "shelter") {
        println!("skipped: this build has no shelter");
        return;
    }
    let bench = Bench::new();
    let file = shelter(&bench);
    fs::create_dir_all(bench.path("disk/data")).unwrap();
    fs::write(bench.path("disk/data/a"), [0; 5_000]).unwrap();
    let told = bench.command(&["shelter", &file, "plan"]).output().unwrap();
    let (status, told) = (told.status.code(), text(&told.stdout));
    assert_eq!(status, Some(4), "{told}");
    for words in [
        "1 file, 4.88 KiB",
        "by the times of the files",
        "UNKNOWN",
        "--env auto",
        "how fast the destination takes data",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let two = ENVIRONMENT
        .replace("[volume.fast]", "[volume.other]\ndisks = [{ sku = \"azure/premium-p30\" }]\n[volume.fast]");
    let env = bench.file("two.toml", &two);
    let told = bench.refused(2, &["shelter", &file, "plan", "--env", &env]);
    assert!(told.contains("--destination VOLUME"), "{told}");
    let told = bench.refused(2, &["shelter", &file, "plan", "--env", &env, "--destination", "none"]);
    assert!(told.contains("no volume \"none\""), "{told}");
}
