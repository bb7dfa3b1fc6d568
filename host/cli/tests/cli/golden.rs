//! What is printed for people, word by word. `UPDATE_GOLDEN=1 cargo test -p loadline golden` takes over the present words;
//! they are read in review.

use crate::{Bench, text};
use std::path::Path;

pub(crate) fn compare(name: &str, printed: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, printed).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(printed, kept, "{name} has changed; UPDATE_GOLDEN=1 takes the new words over");
}

#[test]
fn help_of_every_verb() {
    let bench = Bench::new();
    compare("help.txt", &bench.done(&["--help"]));
    for verb in [
        "quick",
        "run",
        "predict",
        "list",
        "show",
        "compare",
        "rm",
        "report",
        "import",
        "export",
        "convert",
        "plans",
        "environments",
        "catalog",
        "emulate",
        "doctor",
        "completions",
        "man",
    ] {
        compare(&format!("help-{verb}.txt"), &bench.done(&[verb, "--help"]));
    }
}

#[test]
fn plans_that_come_along() {
    let bench = Bench::new();
    compare("plans.txt", &bench.done(&["plans"]));
    assert!(bench.done(&["plans", "show", "outstanding-sweep"]).contains("name = \"outstanding-sweep\""));
}

#[test]
fn environments_that_come_along() {
    let bench = Bench::new();
    compare("environments.txt", &bench.done(&["environments"]));
    assert!(bench.done(&["environments", "show", "ds3-p30"]).contains("name = \"ds3-p30\""));
}

#[test]
fn a_machine_in_no_cloud_says_so() {
    let bench = Bench::new();
    let vendor = std::fs::read_to_string("/sys/class/dmi/id/sys_vendor").unwrap_or_default();
    if ["Amazon", "Google", "Microsoft", "Xen"].iter().any(|cloud| vendor.starts_with(cloud)) {
        println!("skipped: this machine may be in a cloud ({})", vendor.trim());
        return;
    }
    let told = bench.refused(2, &["environments", "recognise"]);
    assert!(told.contains("none of Azure, AWS and Google Cloud"), "{told}");
    let told = bench.refused(2, &["predict", "quick-look", "--env", "auto"]);
    assert!(told.contains("docs/formats/environment.md"), "{told}");
    assert!(text(&bench.run(&["doctor", "."]).stdout).contains("none of Azure, AWS and Google Cloud, by its firmware"));
    compare("help-environments-recognise.txt", &bench.done(&["environments", "recognise", "--help"]));
}

#[test]
fn dry_run_of_two_volumes() {
    let bench = Bench::new();
    let arguments = ["run", "crystaldiskmark-8", "--on", "a=/x", "--on", "b=/y", "--dry-run", "--seed", "1"];
    compare("dry-run.txt", &bench.done(&arguments));
}

#[test]
fn dry_run_of_the_field_cases_tells_their_time() {
    let bench = Bench::new();
    let time = |plan: &str, more: &[&str]| {
        let arguments = [&["run", plan, "--dry-run", "--format", "json"], more].concat();
        let value: serde_json::Value = serde_json::from_str(&bench.done(&arguments)).unwrap();
        (value["cells"].as_array().unwrap().len(), value["time_s"].as_f64().unwrap())
    };
    assert_eq!(time("matrix-200", &[]), (200, 84_000.0));
    let (cells, short) = time("matrix-200", &["--short"]);
    assert_eq!(cells, 200);
    assert!(short <= 1_000.0, "{short}");
}
