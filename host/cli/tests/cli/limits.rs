//! `show --limits`: what is known of a run's limits, as programs get it.

use crate::Bench;
use serde_json::Value;

#[test]
fn limits_follow_their_published_schema() {
    let bench = Bench::new();
    let plan = bench.file("sweep.toml", crate::inputs::SWEEP);
    let shown = || {
        let known = |limit: &Value| limit["known"].as_str().unwrap().to_owned();
        bench.rows(&["show", "last", "--limits"]).iter().map(known).collect::<Vec<String>>()
    };
    bench.done(&["predict", &plan, "--env", "ds3-p30", "--draws", "1"]);
    let of_model = shown();
    assert!(!of_model.is_empty() && of_model.iter().all(|known| known == "declared"), "{of_model:?}");
    bench.done(&["run", &plan, "--on", &bench.target(), "--duration", "2 s", "--warm-up", "0 s", "--size", "32 MiB"]);
    let measured = shown();
    // On a machine that is busy its figures may show none.
    assert!(measured.iter().all(|known| known != "declared"), "{measured:?}");
}
