//! `t/io_uring`, fio's tester of peak rates: its command line for a job, and its output.

use crate::job::{BLOCK, Job, Length, Pace, Target, Told};
use anyhow::{Context, Result};
use loadline_block::Operation;
use std::path::Path;
use std::process::Command;

/// The command for `job`, with latencies tracked; `None` if the program cannot run it: it only reads, from files, in a
/// closed loop, for whole seconds.
pub(crate) fn command(program: &Path, job: &Job) -> Option<Command> {
    let (Operation::Read, Pace::Depth(depth), Length::Time(time)) = (job.operation, job.pace, job.length) else {
        return None;
    };
    let path = job.target.path()?;
    let direct = u8::from(matches!(job.target, Target::Device(_) | Target::File(_)));
    let batch = depth.min(32);
    let mut command = Command::new(program);
    command.args([format!("-d{depth}"), format!("-s{batch}"), format!("-c{batch}"), format!("-b{}", BLOCK.get())]);
    command.args(["-p0", "-B1", "-F1", "-n1", "-t1", "-R1", "-X1"]).arg(format!("-O{direct}"));
    // It ends without a word in its last second.
    command.arg(format!("-r{}", time.as_s_f64().ceil() as u64 + 1)).arg(path);
    Some(command)
}

/// Reads the lines that it prints each second; the rate is their mean, the count follows from the time.
///
/// # Errors
/// When it printed none.
pub(crate) fn parse(stdout: &str) -> Result<Told> {
    let rates: Vec<f64> = stdout.lines().filter_map(rate).collect();
    let seconds = rates.len() as f64;
    let mean = rates.iter().sum::<f64>() / seconds;
    mean.is_finite().then_some(()).context("t/io_uring printed no rate; it wants to run for 2 s or more")?;
    // The unreported last second went on at the same rate.
    Ok(Told { requests: (mean * (seconds + 1.0)) as u64, requests_per_s: mean, ..Told::default() })
}

/// "IOPS=197.06K, BW=769MiB/s, IOS/call=32/32": requests per second.
fn rate(line: &str) -> Option<f64> {
    let figure = line.strip_prefix("IOPS=")?.split(',').next()?;
    let (digits, factor) = match figure.as_bytes().last()? {
        b'K' => (&figure[..figure.len() - 1], 1e3),
        b'M' => (&figure[..figure.len() - 1], 1e6),
        _ => (figure, 1.0),
    };
    Some(digits.parse::<f64>().ok()? * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_the_mean_of_the_lines_of_each_second() {
        let printed = "submitter=0, tid=1\nIOPS=197.00K, BW=769MiB/s, IOS/call=32/32\nIOPS=1.003M, BW=3GiB/s, \
                       IOS/call=1/1\nIOPS=900, BW=3MiB/s, IOS/call=1/1\nExiting on timeout\nMaximum IOPS=1.00M\n";
        let told = parse(printed).unwrap();
        assert!((told.requests_per_s - (197_000.0 + 1_003_000.0 + 900.0) / 3.0).abs() < 1e-6);
        assert!(parse("Exiting on timeout\n").is_err());
    }
}
