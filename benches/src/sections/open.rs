//! Open loops: achieved over offered rate, and the lateness of issued requests.

use crate::bench::{Bench, Sample, Tool, of};
use crate::job::{Job, Pace, Target};
use crate::stage::{self, MemoryDisk};
use crate::statistics::MedianSpread;
use crate::table::{FigureTable, Goal};
use anyhow::{Context, Result};
use loadline_block::Operation;
use loadline_units::{Duration, Iops};

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    let mut table = FigureTable::new(
        "open: achieved over offered rate, median lateness of issue",
        &["4 KiB random", "fio", "loadline", "within 0.1 %", "lateness p50, us", "< 20 us", "latency p50, us"],
    );
    let disk = match stage::obstacle() {
        Some(why) => {
            table.note(format!("No loop device: {why}."));
            None
        }
        None => Some(MemoryDisk::new(bench.size, &bench.stop)?),
    };
    let mut targets = vec![(Target::Null, 100_000)];
    targets.extend(disk.as_ref().map(|disk| (Target::Device(disk.device.node.clone()), 20_000)));
    for (target, rate) in targets {
        let rate = Iops::per_second(rate).context("not zero")?;
        for pace in [Pace::Constant(rate), Pace::Poisson(rate)] {
            let job = Job::new(target.clone(), Operation::Read, pace, bench.time());
            let runs = bench.interleaved(&[Tool::FioDefault, Tool::Loadline], &job)?;
            // fio does not report its offered rate: this is the mean.
            let fio =
                of(&runs, Tool::FioDefault).map(|runs| runs.figures(|s| s.told.requests_per_s / rate.get() as f64));
            let ours = of(&runs, Tool::Loadline).context("loadline ran")?;
            let achieved = ours.figures(|s| s.told.requests_per_s / s.told.offered_per_s.unwrap_or(rate.get() as f64));
            let us = |span: Option<Duration>| span.map_or(f64::NAN, |span| span.as_ns() as f64 / 1e3);
            let lateness = ours.figures(|s: &Sample| us(s.told.waiting_p50));
            let latency = ours.figures(|s: &Sample| us(s.told.latency.map(|latency| latency.p50)));
            let median = |figures: &[f64]| MedianSpread::of(figures).map_or(f64::NAN, |spread| spread.median);
            let exact = |figures: &[f64]| {
                MedianSpread::of(figures)
                    .map_or("-".into(), |s| format!("{:.4} ({:.4}..{:.4})", s.median, s.least, s.most))
            };
            let plain = |figures: &[f64]| MedianSpread::of(figures).map_or("-".into(), |spread| spread.to_string());
            let (name, ours) = (job.name(), median(&achieved));
            let off =
                bench.verdicts.judge(&format!("open, {name}, share missed"), (ours - 1.0).abs(), Goal::AtMost(0.001));
            let late =
                bench.verdicts.judge(&format!("open, {name}, lateness in us"), median(&lateness), Goal::AtMost(20.0));
            table.row(bench.marked(vec![
                name,
                exact(&fio.unwrap_or_default()),
                exact(&achieved),
                off.into(),
                plain(&lateness),
                late.into(),
                plain(&latency),
            ]));
        }
    }
    table.note("fio's figure is over the rate asked for, which Poisson arrivals reach only on average.");
    bench.print(table)
}
