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
    ] {
        let output = bench.run(wrong);
        assert_eq!(output.status.code(), Some(2), "{wrong:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
