//! One second of a stalled device within six, as each tool reports it.

use crate::bench::{Bench, Tool};
use crate::job::Target;
use crate::job::{Job, Length, Pace};
use crate::stage::StallingDisk;
use crate::statistics::median;
use crate::table::{FigureTable, Goal};
use anyhow::{Context, Result, anyhow};
use loadline_block::Operation;
use loadline_units::{Bytes, Duration, Iops};
use std::time::Duration as Span;

const TOOLS: [Tool; 2] = [Tool::FioDefault, Tool::Loadline];

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    let mut table = FigureTable::new(
        "stall: 1000 Poisson arrivals per second for 6 s, the device stalled for 1 s; ms",
        &["4 KiB random writes", "p50", "p90", "p99", "max"],
    );
    let size = Bytes::mib(256);
    let disk = StallingDisk::new(size, &bench.stop)?;
    bench.size = size;
    let pace = Pace::Poisson(Iops::per_second(1_000).context("not zero")?);
    let target = Target::Device(disk.device.node.clone());
    let job = Job::new(target, Operation::Write, pace, Length::Time(Duration::from_s(6)));
    let figures = bench.rounds(TOOLS.len(), |bench, place| {
        let stall = disk.stall(Span::from_secs(3), Span::from_secs(1))?;
        let sample = bench.once(TOOLS[place], &job);
        stall.join().map_err(|_| anyhow!("the thread that stalls the device panicked"))??;
        let latency = sample?.told.latency.context("no latency was told")?;
        Ok([latency.p50, latency.p90, latency.p99, latency.max].map(|span| span.as_s_f64() * 1e3))
    })?;
    for (tool, figures) in TOOLS.into_iter().zip(&figures) {
        let column = |index: usize| {
            let column: Vec<f64> = figures.iter().map(|row| row[index]).collect();
            median(&column).unwrap_or(f64::NAN)
        };
        let mut row = vec![tool.name().to_owned()];
        row.extend((0..4).map(|index| format!("{:.2}", column(index))));
        table.row(bench.marked(row));
        if tool == Tool::Loadline {
            // 1000 of 6000 arrivals wait for the rest of the second: p90 is 0.4 s of it, p99 0.94 s.
            let marks =
                [("p90", column(1), 0.35, 0.50), ("p99", column(2), 0.85, 1.05)].map(|(name, ms, least, most)| {
                    let what = format!("stall, {name} in s");
                    let low = bench.verdicts.judge(&what, ms / 1e3, Goal::AtLeast(least));
                    let high = bench.verdicts.judge(&what, ms / 1e3, Goal::AtMost(most));
                    format!("{name} {}", if low == "ok" { high } else { low })
                });
            table.note(format!("Due for loadline: p90 near 400, p99 near 940: {}.", marks.join(", ")));
        }
    }
    table.note("The stall is a frozen ext4 below the loop device. fio: io_uring, depth 128, completion latency.");
    bench.print(table)
}
