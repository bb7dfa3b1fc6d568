//! fio: its command line for a job, and its JSON.

use crate::job::{BLOCK, Job, Latency, Length, Pace, Target, Told};
use anyhow::{Context, Result, bail};
use loadline_block::Operation;
use loadline_units::{Bytes, Duration};
use serde_json::Value;
use std::process::Command;

/// How much the user of fio knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tuning {
    /// `io_uring`, everything else as it comes: random map, submission and total latency beside completion latency.
    Default,
    /// The cheapest setup with completion latency percentiles: registered files and buffers, no random map, batches, no
    /// other latency, no bandwidth samples. Its written blocks differ by fio's default: each 512 bytes get their offset
    /// (`scramble_buffers`). `refill_buffers` would make every block anew, which loadline does not.
    Best,
    /// The same, but each buffer is written again and again unchanged: less work than loadline's, whose blocks never
    /// repeat.
    BestRepeating,
}

/// The most requests submitted or collected at once, as in `t/io_uring`.
const BATCH: u32 = 32;
/// Requests in flight that an open loop may have in fio: its `iodepth` bounds those too.
const OPEN_DEPTH: u32 = 128;

pub(crate) fn command(job: &Job, size: Bytes, tuning: Tuning) -> Command {
    let mut command = Command::new("fio");
    let depth = match job.pace {
        Pace::Depth(depth) => depth,
        Pace::Constant(_) | Pace::Poisson(_) => OPEN_DEPTH,
    };
    let way = if job.operation == Operation::Write { "randwrite" } else { "randread" };
    command.args(["--name=bench", "--output-format=json", "--group_reporting"]);
    command.arg(format!("--randseed={}", job.seed));
    command.arg(format!("--rw={way}")).arg(format!("--bs={}", BLOCK.get()));
    command.arg(format!("--size={}", size.get())).arg(format!("--iodepth={depth}"));
    match &job.target {
        Target::Null => {
            command.arg("--ioengine=null");
        }
        Target::Device(path) | Target::File(path) => {
            command.args(["--ioengine=io_uring", "--direct=1"]).arg(format!("--filename={}", path.display()));
        }
        Target::CachedFile(path) => {
            // By default fio throws the file out of the page cache first.
            command.args(["--ioengine=io_uring", "--direct=0", "--invalidate=0"]);
            command.arg(format!("--filename={}", path.display()));
        }
        Target::Export(_) => {
            command.arg("--ioengine=nbd").arg(format!("--uri={}", job.target.uri().unwrap_or_default()));
        }
    }
    match job.pace {
        Pace::Depth(_) => {}
        Pace::Constant(rate) => {
            command.arg(format!("--rate_iops={}", rate.get()));
        }
        Pace::Poisson(rate) => {
            command.arg(format!("--rate_iops={}", rate.get())).arg("--rate_process=poisson");
        }
    }
    match job.length {
        Length::Time(time) => {
            if job.warm_up != Duration::ZERO {
                command.arg(format!("--ramp_time={}ms", job.warm_up.as_ns() / 1_000_000));
            }
            command.args(["--time_based".to_owned(), format!("--runtime={}ms", time.as_ns() / 1_000_000)]);
        }
        Length::OneRequest => {
            command.arg("--number_ios=1");
        }
    }
    if job.with_submission {
        command.args(["--lat_percentiles=1", "--clat_percentiles=0"]);
    }
    if tuning != Tuning::Default {
        command.args(["--norandommap", "--randrepeat=0", "--refill_buffers=0"]);
        command.arg(format!("--scramble_buffers={}", u8::from(tuning == Tuning::Best)));
        command.args(["--disable_slat=1", "--disable_bw_measurement=1"]);
        command.arg(format!("--disable_lat={}", u8::from(!job.with_submission)));
        if !matches!(job.target, Target::Null | Target::Export(_)) {
            command.args(["--registerfiles", "--fixedbufs"]);
        }
        match job.pace {
            Pace::Depth(depth) => {
                let batch = depth.min(BATCH);
                command.arg(format!("--iodepth_batch_submit={batch}"));
                command.arg("--iodepth_batch_complete_min=1").arg(format!("--iodepth_batch_complete_max={batch}"));
            }
            // It waits for an answer after each request, and gets it in time if it keeps up: then one is in flight.
            Pace::Constant(_) | Pace::Poisson(_) if job.with_submission => {
                command.arg("--iodepth_batch_complete_min=0");
            }
            Pace::Constant(_) | Pace::Poisson(_) => {}
        }
    }
    command
}

/// Reads fio's output for one job.
///
/// # Errors
/// When it is not fio's JSON, or reports an error.
pub(crate) fn parse(stdout: &str, operation: Operation) -> Result<Told> {
    // Warnings come before the JSON, on standard output.
    let start = stdout.find('{').context("fio printed no JSON")?;
    let all: Value = serde_json::from_str(&stdout[start..]).context("fio's JSON cannot be read")?;
    let job = all["jobs"].get(0).context("fio's JSON has no job")?;
    if job["error"].as_i64() != Some(0) {
        bail!("fio reports error {}", job["error"]);
    }
    let way = &job[operation.name()];
    let number = |value: &Value, key: &str| value[key].as_f64().with_context(|| format!("fio's JSON has no {key}"));
    // The requested latency has percentiles.
    let asked_for = |name: &&str| way[*name]["percentile"].is_object();
    let latency = &way[["clat_ns", "lat_ns"].into_iter().find(asked_for).unwrap_or("clat_ns")];
    let mean = latency["mean"].as_f64();
    let at = |percent: &str| latency["percentile"][percent].as_u64().map(Duration::from_ns);
    let latency = match (at("50.000000"), at("90.000000"), at("99.000000"), latency["max"].as_u64()) {
        (Some(p50), Some(p90), Some(p99), Some(max)) => Some(Latency { p50, p90, p99, max: Duration::from_ns(max) }),
        _ => None,
    };
    Ok(Told {
        requests: number(way, "total_ios")? as u64,
        requests_per_s: number(way, "iops")?,
        latency,
        latency_mean_ns: mean,
        ..Told::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = r#"fio: warning before the JSON
{
  "fio version" : "fio-3.33",
  "jobs" : [ { "jobname" : "bench", "error" : 0,
      "read" : { "iops" : 247000.25, "total_ios" : 741001, "runtime" : 3000,
        "clat_ns" : { "min" : 900, "max" : 5000000, "mean" : 120.5, "stddev" : 1.0, "N" : 741001,
          "percentile" : { "1.000000" : 1000, "50.000000" : 118272, "90.000000" : 130000, "99.000000" : 209000 } } },
      "write" : { "iops" : 0.0, "total_ios" : 0, "runtime" : 0, "clat_ns" : { "min" : 0, "max" : 0 } }
  } ]
}"#;

    #[test]
    fn rate_count_and_percentiles_are_read_for_the_operation_asked_for() {
        let told = parse(PRINTED, Operation::Read).unwrap();
        assert_eq!(told.requests, 741_001);
        assert!((told.requests_per_s - 247_000.25).abs() < 1e-9);
        let latency = told.latency.unwrap();
        assert_eq!((latency.p50.as_ns(), latency.p99.as_ns(), latency.max.as_ns()), (118_272, 209_000, 5_000_000));
        assert_eq!(told.latency_mean_ns, Some(120.5));
        let told = parse(PRINTED, Operation::Write).unwrap();
        assert_eq!((told.requests, told.latency), (0, None));
    }

    #[test]
    fn percentiles_of_the_whole_latency_are_read_where_they_were_asked_for() {
        let printed = PRINTED.replace("clat_ns\" : { \"min\" : 900", "lat_ns\" : { \"min\" : 900");
        assert_eq!(parse(&printed, Operation::Read).unwrap().latency.unwrap().p50.as_ns(), 118_272);
    }

    #[test]
    fn what_is_no_success_of_fio_is_an_error() {
        for broken in ["", "fio: no such engine", "{\"jobs\": []}", "{"] {
            assert!(parse(broken, Operation::Read).is_err(), "{broken:?}");
        }
        let failed = PRINTED.replace("\"error\" : 0", "\"error\" : 5");
        assert!(parse(&failed, Operation::Read).unwrap_err().to_string().contains("error 5"));
    }

    #[test]
    fn tuned_fio_writes_what_differs_unless_it_is_to_repeat_itself() {
        let target = Target::Device("/dev/loop7".into());
        let job = Job::new(target, Operation::Write, Pace::Depth(32), Length::Time(Duration::from_s(3)));
        let line = |tuning| format!("{:?}", command(&job, Bytes::gib(1), tuning));
        assert!(line(Tuning::Best).contains("--scramble_buffers=1\""));
        assert!(line(Tuning::BestRepeating).contains("--scramble_buffers=0\""));
        // As fio's default is.
        assert!(!line(Tuning::Default).contains("scramble"));
    }

    #[test]
    fn batches_are_never_larger_than_the_depth() {
        let target = Target::Device("/dev/loop7".into());
        let job = Job::new(target, Operation::Read, Pace::Depth(1), Length::Time(Duration::from_s(3)));
        let line = format!("{:?}", command(&job, Bytes::gib(1), Tuning::Best));
        assert!(line.contains("--iodepth_batch_submit=1\"") && line.contains("--runtime=3000ms"), "{line}");
    }
}
