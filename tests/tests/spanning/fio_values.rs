//! Values of job files mean here what they mean to fio: asked of the fio that is installed.

use loadline_tests::sample;
use loadline_workload::{Arrival, LoadSpec, fio_jobs};
use std::process::Command;

/// What fio makes of a value: the number that its parser hands on. `None` where it refuses.
fn to_fio(option: &str, value: &str, kb_base: u32) -> Option<u64> {
    let arguments = ["--debug=parse", "--parse-only", "--name=j", "--ioengine=null", "--size=64m"];
    let output = Command::new("fio")
        .args(arguments)
        .args([format!("--kb_base={kb_base}"), format!("--{option}={value}")])
        .output()
        .expect("fio was found before");
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    let (_, after) = text.rsplit_once(&format!(" handle_option={option}, "))?;
    let result = after.lines().find_map(|line| line.split_once("ret=")).map(|(_, result)| result)?;
    let (status, number) = result.split_once(", out=")?;
    (status == "0").then(|| number.trim().parse().ok())?
}

/// The load of a job with this option; `None` where it is refused.
fn to_us(option: &str, value: &str, kb_base: u32) -> Option<LoadSpec> {
    let rest = "size=64m\nruntime=10\ntime_based\nrw=randrw\nnorandommap\n";
    let text = format!("[global]\n{rest}[j]\nkb_base={kb_base}\n{option}={value}\n");
    fio_jobs(&text, "j").ok().map(|jobs| jobs.plan.loads[0].cells[0].clone())
}

/// The number that a load has of an option, in fio's unit.
fn of(option: &str, load: &LoadSpec) -> Option<u64> {
    let us = |duration: loadline_units::Duration| duration.as_ns() / 1_000;
    match (option, &load.arrival) {
        ("bs", _) => Some(load.blocks[0].size.get()),
        ("size", _) => load.size.map(loadline_units::Bytes::get),
        ("runtime", _) => Some(us(load.duration)),
        ("ramp_time", _) => Some(us(load.warm_up)),
        ("startdelay", _) => Some(us(load.pause)),
        ("rwmixread", _) => Some(u64::from(load.reads.as_ppm()) / 10_000),
        ("numjobs", _) => Some(u64::from(load.threads)),
        ("thinktime", Arrival::Closed { think_time, .. }) => Some(us(*think_time)),
        // The load is a mix, which fio holds to the rate in each direction.
        ("rate_iops", Arrival::Closed { rate_max, .. }) => rate_max.map(|rate| rate.get() / 2),
        _ => None,
    }
}

/// Options with values that must be taken, and values that may be refused but not taken for something else.
const CASES: [(&str, &[&str], &[&str]); 9] = [
    (
        "bs",
        // Whole sectors by either base.
        &[
            "512", "64k", "64K", "64ki", "64Ki", "64kb", "64KB", "64kib", "64KiB", "8m", "8mi", "8mb", "8mib",
            "0x1000", "4096B",
        ],
        &["4x", "4e", "1.5k", "k", "4kx", "4 k"],
    ),
    ("size", &["1g", "1gi", "1gb", "1gib", "64M", "2t", "1048576"], &["10z", "1e", "4m+", "1G5"]),
    ("rate_iops", &["1000", "1k", "1ki", "1kib", "2m"], &["1m/s", "1.5k"]),
    (
        "runtime",
        &["90", "5s", "5S", "500ms", "7msec", "2m", "2M", "1h", "2H", "1d"],
        &["3sec", "2min", "2hours", "3days", "1.5s"],
    ),
    ("ramp_time", &["4", "5s", "2m", "1500ms"], &["2min", "1.5"]),
    ("startdelay", &["3", "2s", "1m"], &["2min"]),
    ("thinktime", &["20", "20us", "5usec", "20ms", "2s", "1m"], &["1k", "3sec", "2min"]),
    ("rwmixread", &["0", "70", "100"], &["70%", "seventy"]),
    ("numjobs", &["1", "16"], &["4x", "2%"]),
];

#[test]
fn values_mean_what_they_mean_to_fio() {
    if Command::new("fio").arg("--version").output().is_err() {
        println!("skipped: fio is not installed");
        return;
    }
    let bases = sample::some("bases of fio's units", vec![1024, 1000], 1);
    let mut compared = 0;
    for (option, wanted, others) in CASES {
        for &kb_base in &bases {
            for value in wanted.iter().chain(others) {
                let theirs = to_fio(option, value, kb_base);
                let ours = to_us(option, value, kb_base);
                let Some(load) = ours else {
                    assert!(
                        !wanted.contains(value),
                        "{option}={value} (kb_base={kb_base}) is refused; to fio it is {theirs:?}"
                    );
                    continue;
                };
                assert_eq!(of(option, &load), theirs, "{option}={value} (kb_base={kb_base})");
                compared += 1;
            }
        }
    }
    assert!(compared >= 50 * bases.len(), "only {compared} values were compared");
}

/// The mean size of 4,000 requests of fio's null engine with these options, reads and writes apart.
fn mean_sizes(options: &[&str]) -> Option<[f64; 2]> {
    let fixed = ["--output-format=json", "--name=j", "--ioengine=null", "--filename=none", "--size=1g", "--rw=randrw"];
    let more = ["--number_ios=4000", "--norandommap", "--runtime=10"];
    let output = Command::new("fio").args(fixed).args(more).args(options).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let value: serde_json::Value = serde_json::from_str(&text[text.find('{')?..]).ok()?;
    let mean = |direction: &str| {
        let figures = &value["jobs"][0][direction];
        Some(figures["io_bytes"].as_f64()? / figures["total_ios"].as_f64()?)
    };
    Some([mean("read")?, mean("write")?])
}

#[test]
fn mixed_block_sizes_have_the_mean_that_fio_gives_them() {
    if Command::new("fio").arg("--version").output().is_err() {
        println!("skipped: fio is not installed");
        return;
    }
    for split in ["4k/60:64k/40", "4k/50:64k/", "4k:64k", "4k/50:16k/:64k/", "4ki/10:64kib/90"] {
        let theirs = mean_sizes(&[&format!("--bssplit={split}")]).unwrap_or_else(|| panic!("fio does not run {split}"));
        let ours =
            to_us("bssplit", split, 1024).unwrap_or_else(|| panic!("{split} is refused")).block_mean().get() as f64;
        for theirs in theirs {
            // 2,000 draws of two sizes: a standard error of about 2 %.
            assert!((theirs / ours - 1.0).abs() < 0.08, "{split}: {theirs} to fio, {ours} here");
        }
    }
    // Shares that do not add up, and other sizes for writes, are another thing to fio than they say, or none of ours.
    for split in ["4k/10:64k/20", "4k/80:64k/40", "4k/60:64k/40,8k/100"] {
        assert!(to_us("bssplit", split, 1024).is_none(), "{split}");
    }
}
