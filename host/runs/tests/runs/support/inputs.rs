//! Loads, environments and results that tests of the library and of the command begin with.

use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Reads, a mix, writes with flushes, and an open loop.
pub(crate) const VARIED: &str = r#"
schema = 1
name = "varied"
[[load]]
pattern = "random"
reads = ["100 %", "50 %"]
block = "4 KiB"
queue_depth = [1, 4]
size = "4 MiB"
warm_up = "0 s"
duration = "300 ms"
trials = 2
[[load]]
name = "log, \"quoted\""
pattern = "sequential"
reads = "0 %"
block = "8 KiB"
queue_depth = 1
flush = { every = 4, how = "fdatasync" }
size = "4 MiB"
warm_up = "0 s"
duration = "60 ms"
trials = 1
[[load]]
pattern = "random"
reads = "100 %"
block = "4 KiB"
arrival = { poisson = ["2000 IOPS"] }
size = "4 MiB"
warm_up = "0 s"
duration = "300 ms"
trials = 1
"#;

pub(crate) const CELLS: usize = 6;

/// A small sweep.
pub(crate) const SWEEP: &str = r#"
schema = 1
name = "sweep"
[[load]]
pattern = "random"
reads = ["100 %", "0 %"]
block = "8 KiB"
queue_depth = [1, 64]
warm_up = "1 s"
duration = "3 s"
trials = 1
objective = { mean = "20 ms" }
"#;

/// A volume whose burst is soon over, and one without limits.
pub(crate) const TWO: &str = r#"
schema = 1
name = "two"
[[volume.bursting.disks]]
size = "10 GiB"
[volume.bursting.disks.limit]
iops = "100 IOPS"
burst = { iops = "1000 IOPS" }
burst_span = "10 min"
[volume.bursting.disks.latency.read]
median = { low = "500 us", mid = "1 ms", high = "2 ms" }
[[volume.plain.disks]]
size = "10 GiB"
[volume.plain.disks.latency.read]
median = { low = "500 us", mid = "1 ms", high = "2 ms" }
"#;

/// Six trials of half a second, in the order in which they stand.
pub(crate) const STEADY: &str = r#"
schema = 1
name = "steady"
[[load]]
pattern = "random"
reads = ["100 %", "50 %"]
block = "4 KiB"
queue_depth = [1, 2, 4]
size = "4 MiB"
warm_up = "0 s"
duration = "500 ms"
trials = 1
order = "as-listed"
hang_limit = "1 s"
"#;

/// Four standard disks whose pieces are as long as the requests, so that each request lies on one of them.
pub(crate) const STRIPE: &str = r#"
schema = 1
name = "stripe"
[volume.data]
disks = [{ sku = "azure/classic-standard", count = 4 }]
layout = { stripe = { columns = 4, interleave = "1 MiB" } }
"#;

/// One disk of the same latency wherever a request falls.
pub(crate) const EVEN: &str = r#"
schema = 1
name = "even"
[[volume.data.disks]]
size = "10 GiB"
[volume.data.disks.latency.read]
median = "1 ms"
p99 = "8 ms"
"#;

pub(crate) fn random_reads(block: &str, depth: u32) -> String {
    format!(
        "schema = 1\nname = \"one\"\n[[load]]\npattern = \"random\"\nreads = \"100 %\"\nblock = \"{block}\"\n\
         queue_depth = {depth}\nwarm_up = \"0 s\"\nduration = \"4 s\"\nsize = \"8 GiB\"\n"
    )
}

pub(crate) const ENDED_MS: u64 = 1_769_871_000_000;

/// A direction of fio's results: so many requests of so many bytes in 60 s, half of which take 0.9 of the mean and half 1.1.
pub(crate) fn fio_direction(count: u64, bytes: u64, mean_ns: u64, plus: bool) -> Value {
    let (low, high) = (mean_ns * 9 / 10, mean_ns * 11 / 10);
    let mut clat = json!({ "min": low, "max": high, "mean": mean_ns as f64, "stddev": 0.0, "N": count,
        "percentile": { "50.000000": low, "90.000000": high, "95.000000": high, "99.000000": high, "99.900000": high,
                        "99.990000": high } });
    if plus {
        clat["bins"] = json!({ low.to_string(): count / 2, high.to_string(): count - count / 2 });
    }
    json!({ "io_bytes": count * bytes, "io_kbytes": count * bytes / 1024, "iops": count as f64 / 60.0, "runtime": 60_000,
            "total_ios": count, "clat_ns": clat })
}

/// Random reads on a disk of 5,000 IOPS and 400 us.
pub(crate) fn fio_job(group: usize, depth: u64, block: u64, plus: bool) -> Value {
    let rate = (depth * 2_500).min(5_000);
    let reads = fio_direction(rate * 60, block, depth * 1_000_000_000 / rate, plus);
    json!({ "jobname": format!("rr-{}k-{depth}", block / 1024), "groupid": group, "error": 0, "elapsed": 600,
            "job options": { "rw": "randread", "bs": format!("{}k", block / 1024), "iodepth": depth.to_string() },
            "job_runtime": 60_000, "usr_cpu": 2.0, "sys_cpu": 5.0, "read": reads })
}

pub(crate) fn fio_document(jobs: &[Value], ended_ms: u64) -> String {
    let document = json!({ "fio version": "fio-3.33", "timestamp_ms": ended_ms, "jobs": jobs, "disk_util": [],
        "global options": { "ioengine": "libaio", "direct": "1", "filename": "/dev/nvme1n1", "runtime": "60" } });
    serde_json::to_string_pretty(&document).unwrap() + "\n"
}

pub(crate) fn fio_sweep(plus: bool) -> String {
    let loads = [1, 2, 4, 8, 16].map(|depth| (depth, 4096)).into_iter().chain([(16, 16384), (32, 16384)]);
    let jobs: Vec<Value> =
        loads.enumerate().map(|(group, (depth, block))| fio_job(group, depth, block, plus)).collect();
    fio_document(&jobs, ENDED_MS)
}

/// Sixteen trials of a few milliseconds each.
pub(crate) const MANY: &str = r#"
schema = 1
name = "many"
[[load]]
pattern = ["random", "sequential"]
reads = ["100 %", "0 %"]
block = "4 KiB"
queue_depth = [1, 4]
size = "256 KiB"
warm_up = "0 s"
duration = "1 ms"
trials = 2
"#;
pub(crate) const TRIALS: usize = 16;

/// Rows of an RFC 4180 text, each by its column's name.
pub(crate) fn csv_rows(text: &str) -> Vec<BTreeMap<String, String>> {
    let (mut rows, mut row, mut field, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '"' if quoted && characters.peek() == Some(&'"') => field.extend(characters.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut field)),
            '\r' if !quoted => {}
            '\n' if !quoted => {
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            c => field.push(c),
        }
    }
    assert!(!quoted && field.is_empty() && row.is_empty(), "the text ends with a line break");
    let headings: Vec<String> = rows.remove(0);
    let named = |row: Vec<String>| {
        assert_eq!(row.len(), headings.len(), "{row:?}");
        headings.iter().cloned().zip(row).collect()
    };
    rows.into_iter().map(named).collect()
}
