//! `advise`: the command from a need to its list, its files and its exit status.

use crate::Bench;
use serde_json::Value as Json;

/// The need that examples use, on one provider and by limits alone, so that it is quick.
const NEED: [&str; 13] = [
    "advise",
    "--iops",
    "9000",
    "--reads",
    "70%",
    "--block",
    "8KiB",
    "--size",
    "500GiB",
    "--provider",
    "azure",
    "--region",
    "eastus",
];

#[test]
fn numbers_become_a_list_whose_environment_and_script_are_written() {
    let bench = Bench::new();
    let env = bench.path("advised.toml");
    let mut typed = NEED.to_vec();
    typed.extend(["--limits-only", "--format", "json", "--write-env", env.to_str().unwrap()]);
    let output = bench.run(&typed);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let json: Json = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["schema"], "loadline.advice/1");
    assert_eq!(json["candidates"][0]["rank"], 1);
    assert!(json["candidates"][0]["binding"]["headroom"].as_f64().unwrap() > 0.0);
    let text = std::fs::read_to_string(&env).unwrap();
    assert!(text.contains("vm = \"azure/"), "{text}");
    let mut typed = NEED.to_vec();
    typed.extend(["--limits-only", "--script", "azure-cli", "--quiet"]);
    let script = bench.run(&typed);
    assert!(String::from_utf8_lossy(&script.stdout).contains("az disk create"));
}

#[test]
fn a_throttled_day_is_a_lower_bound_and_mistakes_are_usage() {
    let bench = Bench::new();
    let day = bench.path("day.txt");
    let block = |minute: u32, rate: f64, queue: f64| {
        format!(
            "05/06/24 {:02}:{:02}:00\nDevice r/s w/s rkB/s wkB/s r_await w_await aqu-sz %util\nsdb {:.2} {:.2} {:.2} {:.2} {queue} {queue} {queue} 99\n\n",
            minute / 60,
            minute % 60,
            rate * 0.7,
            rate * 0.3,
            rate * 5.6,
            rate * 2.4
        )
    };
    let text: String =
        (0..120).map(|m| if m < 60 { block(m, 200.0 + f64::from(m), 0.3) } else { block(m, 500.0, 24.0) }).collect();
    std::fs::write(&day, text).unwrap();
    let day = day.to_str().unwrap();
    let base = ["advise", "--from", day, "--size", "100GiB", "--provider", "aws", "--limits-only", "--quiet"];
    let output = bench.run(&base);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(4), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("source-limited") && text.trim_end().lines().count() > 10, "{text}");
    for wrong in [
        &["advise", "--size", "1GiB"][..],
        &["advise", "--iops", "9000"],
        &["advise", "--iops", "5", "--from", day, "--size", "1GiB"],
        &["advise", "--iops", "5", "--size", "1GiB", "--p99", "5ms", "--limits-only"],
        &["advise", "--iops", "5", "--size", "1GiB", "--objective", "5ms", "--limits-only"],
    ] {
        let output = bench.run(wrong);
        assert_eq!(output.status.code(), Some(2), "{wrong:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_predicted_run_is_one_draw_long_and_brings_its_objective() {
    let bench = Bench::new();
    let plan = bench.file(
        "steady.toml",
        "schema = 1\nname = \"steady\"\n[[load]]\npattern = \"random\"\nreads = \"70 %\"\nblock = \"8 KiB\"\n\
         arrival = { poisson = [\"2000 IOPS\"] }\nsize = \"10 GiB\"\nwarm_up = \"1 s\"\nduration = \"5 s\"\n\
         objective = { p99 = \"12 ms\" }\n",
    );
    bench.done(&["predict", &plan, "--env", "ds3-p30", "--name", "steady", "--quiet"]);
    let run = bench.runs()[0]["run"].as_str().unwrap().to_owned();
    let typed = ["advise", "--run", &run, "--size", "100GiB", "--provider", "azure", "--format", "json"];
    let output = bench.run(&typed);
    let told = String::from_utf8_lossy(&output.stderr);
    let advice: Json = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {told}"));
    let need = &advice["need"];
    assert_eq!((need["recorded_s"].as_f64(), need["limited_share"].as_f64()), (Some(5.0), Some(0.0)), "{told}");
    assert_eq!(need["p99_ns"].as_u64(), Some(12_000_000));
    assert!(told.contains("the run's own objective is to be kept: p99 within 12 ms (--p99 sets another)"), "{told}");
    assert!(told.contains("other draws"), "{told}");
    assert_eq!(output.status.code(), Some(0), "{told}");
    // Limits alone keep no latency, and say so.
    let mut typed = typed.to_vec();
    typed.push("--limits-only");
    let output = bench.run(&typed);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("--limits-only judges none"), "{told}");
    assert_eq!(bench.run(&["advise", "--run", &run, "--cell", "0", "--size", "1GiB"]).status.code(), Some(2));
}
