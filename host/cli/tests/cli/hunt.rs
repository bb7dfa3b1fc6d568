//! `hunt`: what moves a ceiling and what is ruled out, on models where the answer is known and on a throttled device.

use crate::bad_disk::Loop;
use crate::throttle::Group;
use crate::{Bench, or_skip, text};
use serde_json::Value;

fn plan(block: &str, depth: u32) -> String {
    format!(
        "schema = 1\nname = \"one\"\n[[load]]\npattern = \"random\"\nreads = \"100 %\"\nblock = \"{block}\"\n\
         queue_depth = {depth}\nwarm_up = \"0 s\"\nduration = \"4 s\"\nsize = \"8 GiB\"\n"
    )
}

/// Four standard disks whose pieces are as long as the requests, so that each request lies on one of them.
const STRIPE: &str = r#"
schema = 1
name = "stripe"
[volume.data]
disks = [{ sku = "azure/classic-standard", count = 4 }]
layout = { stripe = { columns = 4, interleave = "1 MiB" } }
"#;

/// Eight disks that could do 40,000 IOPS together, on a VM that lets 12,800 through.
const CAPPED: &str = r#"
schema = 1
name = "capped"
vm = "azure/ds3"
[volume.data]
disks = [{ sku = "azure/classic-premium-p30", count = 8 }]
layout = { stripe = { columns = 8, interleave = "64 KiB" } }
host_cache = "none"
"#;

/// One disk of the same latency wherever a request falls.
const EVEN: &str = r#"
schema = 1
name = "even"
[[volume.data.disks]]
size = "10 GiB"
[volume.data.disks.latency.read]
median = "1 ms"
p99 = "8 ms"
"#;

/// The same, held to 2,000 requests a second.
const HELD: &str = r#"
schema = 1
name = "held"
[[volume.data.disks]]
size = "10 GiB"
limit = { iops = "2000 IOPS" }
[volume.data.disks.latency.read]
median = "100 us"
p99 = "200 us"
"#;

fn hunted(bench: &Bench, arguments: &[&str]) -> Value {
    let output = bench.run(&[&["hunt"], arguments, &["--format", "json", "--quiet"]].concat());
    assert!(matches!(output.status.code(), Some(0 | 4)), "{}", text(&output.stderr));
    let found: Value = serde_json::from_str(&text(&output.stdout)).unwrap();
    let schema = include_str!("../../../../docs/formats/hunt.schema.json");
    let schema = jsonschema::draft202012::new(&serde_json::from_str(schema).unwrap()).unwrap();
    let errors: Vec<String> = schema.iter_errors(&found).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}\n{found}");
    found
}
/// "factor to: effect" of every row.
fn effects(found: &Value) -> Vec<String> {
    let rows = found["rows"].as_array().unwrap().iter();
    rows.map(|r| {
        format!("{} {}: {}", r["factor"].as_str().unwrap(), r["to"].as_str().unwrap(), r["effect"].as_str().unwrap())
    })
    .collect()
}
fn standing(found: &Value, what: &str) -> String {
    let suspect = found["suspects"].as_array().unwrap().iter().find(|s| s["what"] == what);
    suspect.unwrap_or_else(|| panic!("{what} in {found}"))["standing"].as_str().unwrap().to_owned()
}

#[test]
fn on_a_stripe_whose_pieces_are_too_long_the_interleave_moves_the_ceiling() {
    let bench = Bench::new();
    let (plan, env) = (bench.file("p.toml", plan("1 MiB", 1)), bench.file("e.toml", STRIPE));
    let found = hunted(&bench, &[&plan, "--env", &env, "--vary", "interleave=256KiB,layout=8", "--seed", "5"]);
    assert_eq!(effects(&found), ["interleave 256 KiB: moved", "layout 8 disks: ruled-out"]);
    assert_eq!(standing(&found, "how requests fall on the disks of a stripe"), "binds");
    assert_eq!(standing(&found, "the disks, by their number"), "ruled-out");
    // It is a run like others, and is shown with what was found.
    let shown = bench.done(&["show", "last"]);
    assert!(shown.contains("moved the ceiling") && shown.contains("ruled out"), "{shown}");
    assert_eq!(bench.runs()[0]["verb"], "hunt");
    assert_eq!(bench.runs()[0]["status"], "finished");
}

#[test]
fn under_the_cap_of_a_vm_the_disks_are_ruled_out() {
    let bench = Bench::new();
    let (plan, env) = (bench.file("p.toml", plan("8 KiB", 256)), bench.file("e.toml", CAPPED));
    let vary = ["--vary", "layout=4", "--vary", "vm", "--vary", "depth=512", "--duration", "1s", "--seed", "5"];
    let found = hunted(&bench, &[&[plan.as_str(), "--env", &env], &vary[..]].concat());
    assert_eq!(effects(&found), ["layout 4 disks: ruled-out", "vm none: moved", "depth 512: ruled-out"]);
    assert_eq!(standing(&found, "the VM's limits"), "binds");
    assert_eq!(standing(&found, "the disks, by their number"), "ruled-out");
    assert_eq!(standing(&found, "too few requests at once"), "ruled-out");
}

#[test]
fn where_nothing_has_an_effect_hardly_any_hunt_finds_one() {
    let bench = Bench::new();
    let (plan, env) = (bench.file("p.toml", plan("4 KiB", 4)), bench.file("e.toml", EVEN));
    // A margin far below the noise, so that only the interval stands in the way of an alarm.
    let alarms = (0..20).filter(|seed| {
        let seed = seed.to_string();
        let varied =
            ["--vary", "alignment=16KiB:64KiB:256KiB", "--margin", "0.1%", "--duration", "200ms", "--seed", &seed];
        let found = hunted(&bench, &[&[plan.as_str(), "--env", &env], &varied[..]].concat());
        effects(&found).iter().any(|e| e.ends_with("moved") || e.ends_with("lowered"))
    });
    // 5 % of 20 is 1; more than 4 would come up in one of 400 such tests.
    assert!(alarms.count() <= 4);
}

#[test]
fn around_a_load_that_gets_all_it_asks_for_a_hunt_says_so_after_its_first_trials_and_stops() {
    let bench = Bench::new();
    let open = plan("8 KiB", 1).replace("queue_depth = 1", "arrival = { poisson = [\"200 IOPS\"] }");
    let ceiling = plan("8 KiB", 4).replace("queue_depth = 4", "queue_depth = 4\nrate_max = \"200 IOPS\"");
    let thinking = plan("8 KiB", 4).replace("queue_depth = 4", "queue_depth = 4\nthink_time = \"100 ms\"");
    let env = bench.file("e.toml", EVEN);
    for (load, next) in [
        (open, "Hunt around a higher rate of arrivals, or around a closed loop"),
        (ceiling, "Hunt around a higher rate ceiling, or without it"),
        (thinking, "Hunt without think time, or with more requests outstanding"),
    ] {
        let plan = bench.file("p.toml", load);
        let arguments = ["hunt", &plan, "--env", &env, "--vary", "block=32KiB,threads=2", "--seed", "5", "--quiet"];
        let output = bench.run(&arguments);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let told = text(&output.stdout);
        assert!(told.contains("Nothing bound this cell: ") && told.contains(next), "{told}");
        for word in ["moved the ceiling", "possible:", "ruled out", "cannot tell", "Intervals hold"] {
            assert!(!told.contains(word), "{word}: {told}");
        }
        // Three trials of the baseline, and none of a setting.
        let trials = |run: &Value| -> Vec<u64> {
            run["cells"].as_array().unwrap().iter().map(|cell| cell["trials"].as_u64().unwrap()).collect()
        };
        assert_eq!(trials(&bench.last()), [3, 0, 0]);
        assert_eq!(bench.runs()[0]["status"], "finished");
    }
}

#[test]
fn an_open_loop_that_falls_short_is_hunted_around() {
    let bench = Bench::new();
    let open = plan("8 KiB", 1).replace("queue_depth = 1", "arrival = { poisson = [\"2500 IOPS\"] }");
    let (plan, env) = (bench.file("p.toml", open), bench.file("e.toml", HELD));
    let found = hunted(&bench, &[&plan, "--env", &env, "--vary", "block=32KiB,alignment=64KiB", "--seed", "5"]);
    assert_eq!(found["nothing_bound"], Value::Null);
    assert_eq!(effects(&found), ["block 32 KiB: moved", "alignment 64 KiB: ruled-out"]);
    assert_eq!(found["rows"][1]["rounds"], 4, "{found}");
}

#[test]
fn a_model_has_only_the_suspects_that_it_can_have() {
    let bench = Bench::new();
    let (closed, env) = (bench.file("c.toml", plan("8 KiB", 4)), bench.file("e.toml", EVEN));
    // A model has no file system, no threads that fall behind, and here no stripe.
    let found = hunted(&bench, &[&closed, "--env", &env, "--vary", "depth=8"]);
    let whats: Vec<&str> = found["suspects"].as_array().unwrap().iter().map(|s| s["what"].as_str().unwrap()).collect();
    let lacking = |what: &&str| ["file system", "a stripe", "load threads"].iter().any(|part| what.contains(part));
    assert!(!whats.iter().any(lacking), "{whats:?}");
}

#[test]
fn what_is_usually_varied_and_cannot_be_here_is_left_out_and_told() {
    let bench = Bench::new();
    let file = bench.file("small", "");
    std::fs::File::options().write(true).open(&file).unwrap().set_len(1 << 20).unwrap();
    let load = "schema = 1\nname = \"one\"\n[[load]]\npattern = \"random\"\nreads = \"100 %\"\nblock = \"512 KiB\"\nqueue_depth = 1\n\
                warm_up = \"0 s\"\nduration = \"20 ms\"\nfill = \"never\"\n";
    let plan = bench.file("p.toml", load);
    let base = [plan.as_str(), "--on", &file, "--read-only"];
    let found = hunted(&bench, &base);
    let left_out = found["not_tried"].as_array().unwrap();
    let told = |factor: &str| left_out.iter().find(|one| one["factor"] == factor).unwrap_or_else(|| panic!("{found}"));
    // A block of four times as much is larger than the file.
    assert_eq!(told("block")["to"], "2 MiB");
    assert!(told("files")["because"].as_str().unwrap().contains("the target is none"));
    assert!(effects(&found).iter().any(|row| row.starts_with("depth 2")), "{found}");
    let shown = bench.done(&["show", "last"]);
    assert!(shown.contains("not tried: block 2 MiB ("), "{shown}");
    // By name it is refused.
    let refused = bench.refused(2, &[&["hunt"], &base[..], &["--vary", "block=2MiB"]].concat());
    assert!(refused.contains("cannot be run"), "{refused}");
}

#[test]
fn in_memory_a_cache_binds_and_there_is_no_page_cache_to_go_past() {
    let bench = Bench::new();
    let folder = or_skip!(tempfile::tempdir_in("/dev/shm").ok(), "no /dev/shm");
    let target = folder.path().to_str().unwrap();
    let load = plan("4 KiB", 2).replace("4 s", "30 ms").replace("8 GiB", "8 MiB");
    let plan = bench.file("p.toml", load);
    let refused = bench.refused(2, &["hunt", &plan, "--on", target, "--vary", "direct"]);
    assert!(refused.contains("direct cannot be varied: all goes through the page cache"), "{refused}");
    let found = hunted(&bench, &[&plan, "--on", target, "--vary", "depth=4", "--margin", "50%"]);
    let first = &found["suspects"][0];
    assert_eq!((first["limits"][0].as_str(), first["standing"].as_str()), (Some("cache"), Some("binds")), "{found}");
    assert!(first["because"].as_str().unwrap().contains("tmpfs"), "{first}");
}

#[test]
fn what_cannot_be_varied_is_refused_with_the_reason() {
    let bench = Bench::new();
    let (one, env) = (bench.file("p.toml", plan("4 KiB", 4)), bench.file("e.toml", EVEN));
    let refused = |arguments: &[&str]| bench.refused(2, &[&["hunt"], arguments].concat());
    assert!(refused(&[&one, "--env", &env, "--vary", "interleave"]).contains("no stripe"));
    assert!(refused(&[&one, "--env", &env, "--vary", "engine"]).contains("hunt on a target"));
    assert!(refused(&[&one, "--on", "null", "--vary", "layout"]).contains("cannot make it anew"));
    assert!(refused(&[&one, "--on", "null", "--vary", "colour"]).contains("no such factor"));
    assert!(refused(&["matrix-200", "--env", &env]).contains("say around which cell"));
    assert!(refused(&["matrix-200", "--env", &env, "--cell", "201"]).contains("no cell 201"));
}

#[test]
fn a_hunt_on_a_target_varies_the_engine_too() {
    let bench = Bench::new();
    let plan = bench.file("p.toml", plan("4 KiB", 1).replace("4 s", "30 ms").replace("8 GiB", "8 MiB"));
    let output = bench.run(&["hunt", &plan, "--on", "null", "--vary", "depth=2", "--margin", "50%", "--format", "csv"]);
    assert!(matches!(output.status.code(), Some(0 | 4)), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("depth,1,2,"), "{}", text(&output.stdout));
}

#[test]
fn on_a_disk_that_the_kernel_holds_to_a_rate_more_depth_is_ruled_out() {
    let bench = Bench::new();
    let folder = or_skip!(tempfile::tempdir_in("/dev/shm").ok(), "no /dev/shm");
    let file = folder.path().join("held");
    std::fs::write(&file, vec![0x5a; 64 << 20]).unwrap();
    let device = or_skip!(Loop::attach(&file), "it takes root and a loop device");
    let group = or_skip!(Group::new("hunt", &[(&device, "read_iops_device", 500)]), "no blkio.throttle");
    let plan = bench.file("p.toml", plan("4 KiB", 8).replace("4 s", "2 s").replace("8 GiB", "32 MiB"));
    let varied = ["--vary", "depth=16", "--margin", "20%", "--read-only", "--quiet", "--format", "json"];
    let output = group.run(&bench, &[&["hunt", &plan, "--on", &device.node], &varied[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let found: Value = serde_json::from_str(&text(&output.stdout)).unwrap();
    assert_eq!(effects(&found), ["depth 16: ruled-out"], "{found}");
    assert_eq!(standing(&found, "too few requests at once"), "ruled-out");
}
