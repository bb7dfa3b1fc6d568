//! Disks that the kernel holds to known rates, told apart by the comparison of one run's volumes.

use crate::or_skip;
use crate::support::devices::{Group, Loop};
use crate::support::{Bench, whole};
use loadline_analysis::CompareOptions;
use loadline_runs::Settings;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

const PLAN: &str = r#"
schema = 1
name = "two-depths"
[[load]]
pattern = "random"
reads = "100 %"
block = "4 KiB"
queue_depth = [16, 32]
warm_up = "500 ms"
duration = "1 s"
trials = 3
"#;

const NO_LOOP: &str = "it takes root and a loop device";
const READS: &str = "read_iops_device";
/// 64 MiB of written data in memory, where no other load slows it down.
fn image(folder: &tempfile::TempDir, name: &str) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, vec![0x5a; 64 << 20]).unwrap();
    path
}

#[test]
#[ignore = "long: measures this machine"]
fn disks_that_the_kernel_holds_to_known_rates_are_told_apart() {
    let bench = Bench::new();
    let folder = or_skip!(tempfile::tempdir_in("/dev/shm").ok(), "no /dev/shm");
    let attach = |name: &str| Loop::attach(&image(&folder, name));
    let (a, b, c) = (or_skip!(attach("a"), NO_LOOP), or_skip!(attach("b"), NO_LOOP), or_skip!(attach("c"), NO_LOOP));
    let group = or_skip!(
        Group::new("compare", &[(&a, READS, 2_000), (&b, READS, 2_000), (&c, READS, 1_000)]),
        "no blkio.throttle"
    );
    let volumes = [("a", &a), ("b", &b), ("c", &c)];
    let measurement = volumes
        .into_iter()
        .fold(bench.measurement_by(PLAN, Settings::of(Vec::new())).read_only(), |measurement, (name, device)| {
            measurement.on(name, &device.node)
        });
    let record = group.within(|| whole(measurement));
    let compared = |names: [&str; 2]| {
        let options = CompareOptions { volumes: names.map(str::to_owned).into(), ..CompareOptions::default() };
        let comparison = loadline_analysis::compare(&[&record], &options).unwrap();
        println!("{}", loadline_report::comparison_markdown(&comparison));
        serde_json::to_value(loadline_report::ComparisonDocument::of(&comparison)).unwrap()["against"][0].clone()
    };
    let verdicts = |against: &Value| {
        let cells = against["cells"].as_array().unwrap().iter().map(|c| &c["verdict"]);
        let all: Vec<String> =
            cells.chain([&against["overall"][0]["verdict"]]).map(|v| v.as_str().unwrap().to_owned()).collect();
        all
    };
    let worse = compared(["a", "c"]);
    assert_eq!(&verdicts(&worse)[..2], ["worse", "worse"]);
    let overall = &worse["overall"][0];
    if overall["doubted"] == 2 {
        // Where the hypervisor took its share from both, no cell is left for the whole, and that is said.
        assert_eq!((&overall["verdict"], &overall["why"]), (&json!("cannot-tell"), &json!("every cell is in doubt")));
    } else {
        let ratio = overall["ratio"].as_f64().unwrap();
        assert!(overall["verdict"] == "worse" && (ratio - 0.5).abs() < 0.03, "{overall}");
    }
    // A machine that is short of time for one of them leaves something untold, and calls nothing different.
    let told = verdicts(&compared(["a", "b"]));
    assert!(told.iter().all(|v| v == "same" || v == "cannot-tell"), "{told:?}");
}
