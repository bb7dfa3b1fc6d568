//! A loop device with a known kernel throttle: delivered over due rate.

use crate::bench::{Bench, Tool, of};
use crate::job::{Job, Length, Pace, Target};
use crate::stage::{MemoryDisk, Throttle};
use crate::statistics::MedianSpread;
use crate::table::{FigureTable, Goal};
use anyhow::{Context, Result};
use loadline_block::Operation;
use loadline_units::{Duration, Iops};

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    let mut table = FigureTable::new(
        "throttle: reads bounded by the kernel to 5000 per second, depth 64: delivered over due",
        &["", "delivered / due", "within 1 %"],
    );
    let due = Iops::per_second(5_000).context("not zero")?;
    let disk = MemoryDisk::new(bench.size, &bench.stop)?;
    let throttle = Throttle::reads(&disk.device, due)?;
    let seconds = if bench.arguments.quick { 10 } else { 30 };
    let target = Target::Device(disk.device.node.clone());
    let job = Job {
        // The kernel grants its first slices in advance.
        warm_up: Duration::from_s(2),
        group: Some(throttle.group.clone()),
        ..Job::new(target, Operation::Read, Pace::Depth(64), Length::Time(Duration::from_s(seconds)))
    };
    let tools = [Tool::FioDefault, Tool::Loadline];
    let runs = bench.interleaved(&tools, &job)?;
    for tool in tools {
        let rates = of(&runs, tool).context("both ran")?.figures(|s| s.told.requests_per_s / due.get() as f64);
        let spread = MedianSpread::of(&rates).context("no rounds")?;
        let mark = if tool == Tool::Loadline {
            let off = (spread.median - 1.0).abs();
            bench.verdicts.judge("throttle, share off the due rate", off, Goal::AtMost(0.01))
        } else {
            ""
        };
        let shown = format!("{:.4} ({:.4}..{:.4})", spread.median, spread.least, spread.most);
        table.row(bench.marked(vec![tool.name().to_owned(), shown, mark.to_owned()]));
    }
    table.note(format!("Runs of {seconds} s after 2 s of warm-up."));
    bench.print(table)
}
