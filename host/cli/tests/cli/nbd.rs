//! Exports of NBD servers as targets, those of an emulation among them.

use crate::emulate::{end, start_on};
use crate::{Bench, schema_errors};

/// A disk that lets through 500 requests a second, in steady distances.
const SLOW: &str = r#"
schema = 1
name = "slow"
[volume.data]
[[volume.data.disks]]
size = "64 MiB"
[volume.data.disks.limit]
iops = "500 IOPS"
"#;

const PLAN: &str = r#"
schema = 1
name = "small"
[[load]]
pattern = "random"
reads = ["100 %", "0 %"]
block = "4 KiB"
queue_depth = [1, 32]
size = "4 MiB"
fill = "never"
warm_up = "1 s"
duration = "1 s"
trials = 1
"#;

fn uri(bench: &Bench) -> String {
    format!("nbd+unix:///data?socket={}", bench.path("s").display())
}

#[test]
fn an_emulated_disk_is_measured_by_its_uri() {
    let bench = Bench::new();
    let emulation = start_on(&bench, SLOW, &[]);
    let (plan, uri) = (bench.file("plan.toml", PLAN), uri(&bench));
    let said = bench.refused(1, &["run", &plan, "--on", &uri]);
    assert!(said.contains(&format!("--overwrite {uri}")), "{said}");
    bench.done(&["run", &plan, "--on", &format!("disk={uri}"), "--overwrite", &uri]);
    let run = bench.last();
    assert_eq!(schema_errors(&run), [""; 0]);
    let volume = &run["run"]["volumes"][0];
    assert_eq!(
        (&volume["kind"], &volume["name"], &volume["target"]),
        (&"nbd".into(), &"disk".into(), &uri.as_str().into())
    );
    assert_eq!((&volume["direct"], &volume["size_bytes"]), (&true.into(), &(4 << 20).into()));
    let cells = run["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 4);
    for cell in cells {
        // The model lets no more through than this, however late anybody is.
        let iops = cell["total"]["iops"].as_f64().unwrap();
        assert!(iops > 0.0 && iops < 510.0, "{iops}");
    }
    bench.done(&["report", "last", "-o", "r.html"]);
    let report = std::fs::read_to_string(bench.path("r.html")).unwrap();
    assert!(report.contains("export of an NBD server"));
    assert!(bench.done(&["show", "last"]).contains("over NBD"));

    // An environment may say where its volume is, too.
    let placed = SLOW.replace("[volume.data]", &format!("[volume.data]\npath = {uri:?}"));
    let placed = bench.file("placed.toml", placed);
    bench.done(&["run", &plan, "--env", &placed, "--read-only"]);
    assert_eq!(bench.last()["run"]["volumes"][0]["target"], uri.as_str());
    // Another spelling of it is no other target.
    let reading = bench.file("reading.toml", PLAN.replace(r#", "0 %""#, ""));
    let spelled = "nbd+unix:///d%61ta?socket=./s";
    let output = bench.run(&["run", &reading, "--on", &uri, "--overwrite", spelled]);
    let told = crate::text(&output.stderr);
    assert!(told.contains(&format!("--overwrite {spelled} was not needed: nothing is written to it")), "{told}");
    let (status, _, told) = end(emulation, "-INT");
    assert_eq!(status, 0, "{told}");
}

#[test]
fn data_written_over_nbd_is_checked_by_a_later_run() {
    let bench = Bench::new();
    let emulation = start_on(&bench, &SLOW.replace("500 IOPS", "100000 IOPS"), &[]);
    let verified = PLAN.replace("trials = 1", "trials = 1\nverify = true").replace("1 s", "200 ms");
    let (plan, uri) = (bench.file("plan.toml", verified), uri(&bench));
    bench.done(&["run", &plan, "--on", &uri, "--overwrite", &uri]);
    bench.done(&["run", "--verify-only", "last"]);
    // Written over by somebody else, it is not what the run left.
    bench.done(&["quick", &uri, "--overwrite", &uri, "--size", "16 MiB", "--duration", "200 ms", "--quiet"]);
    bench.done(&["rm", "last"]);
    let output = bench.run(&["run", "--verify-only", "last"]);
    assert_eq!(output.status.code(), Some(1), "{}", crate::text(&output.stdout));
    end(emulation, "-INT");
}

#[test]
fn what_an_export_cannot_do_is_told_before_anything_is_measured() {
    let bench = Bench::new();
    let emulation = start_on(&bench, SLOW, &[]);
    let uri = uri(&bench);
    let run = |change: &str, more: &[&str], status: i32| {
        let plan = bench.file("plan.toml", PLAN.replace("trials = 1", change));
        bench.refused(status, &[&["run", &plan, "--on", &uri, "--overwrite", &uri], more].concat())
    };
    assert!(run("buffered = true", &[], 2).contains("page cache"));
    assert!(run("files = 2", &[], 2).contains("a directory"));
    assert!(run("trials = 1", &["--engine", "aio"], 2).contains("over a socket"));
    let wrong = bench.refused(1, &["quick", &uri.replace("data?", "date?"), "--read-only"]);
    assert!(wrong.contains("no export \"date\"") && wrong.contains("\"data\""), "{wrong}");
    let two = format!("b={}", uri.replace("data", "d%61ta"));
    let plan = bench.file("plan.toml", PLAN);
    let both = bench.refused(2, &["run", &plan, "--on", &format!("a={uri}"), "--on", &two]);
    assert!(both.contains("volumes a and b"), "{both}");
    assert!(bench.runs().iter().all(|run| run["verb"] == "emulate"));
    assert!(bench.done(&["doctor", &uri]).contains("past this machine's page cache"));
    end(emulation, "-INT");
}
