//! The simulator itself: requests per second and core, a whole matrix over two threads, memory.

mod cases;

use crate::bench::Bench;
use crate::process::{core_time, peak_memory};
use crate::statistics::MedianSpread;
use crate::table::{FigureTable, Goal};
use anyhow::{Context, Result, bail, ensure};
use cases::Case;
use loadline_catalog::{Catalog, Draw, Environment, environment_text};
use loadline_disk::{EnvironmentSpec, InitialState, Machine};
use loadline_record::{Ending, TrialRecord};
use loadline_simulator::{TrialSetup, simulate};
use loadline_units::{Bytes, Duration};
use loadline_workload::{LoadSpec, Plan, preset};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The hidden first argument that makes this program simulate some days of a slow disk.
pub(crate) const SUBCOMMAND: &str = "simulate-days";

const PLAN: &str = "matrix-200";
const POOLS: [&str; 4] = ["pool-1", "pool-2", "pool-4", "pool-8"];
/// Rounds of the whole matrix at most.
const MATRIX_ROUNDS_MAX: usize = 3;
const THREADS: usize = 2;

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    rates(bench)?;
    matrix(bench)?;
    memory(bench)
}

fn record(environment: &EnvironmentSpec, load: &LoadSpec) -> Result<TrialRecord> {
    let machine = Machine::new(environment, 1, InitialState::default())?;
    let target = machine.target("data").context("no volume is called data")?;
    let record = simulate(load, machine, target, TrialSetup { trial: 0, seed: 1, started_unix_s: 0 })?.record;
    ensure!(record.ending == Ending::Complete, "{load} ended with {:?}", record.ending);
    Ok(record)
}

/// Requests that were handed to the model, warm-up included.
fn requests(record: &TrialRecord) -> u64 {
    record.surroundings.asked.values().map(|(count, _)| count).sum()
}

fn rates(bench: &mut Bench) -> Result<()> {
    let mut table = FigureTable::new(
        "simulate: millions of requests simulated per second of core time, depth 32",
        &["", "requests", "millions per second", "goal", ""],
    );
    let cases = cases::all();
    let kept = bench.rounds(cases.len(), |_, place| {
        let Case { environment, load, .. } = &cases[place];
        let begun = core_time()?;
        let count = requests(&record(environment, load)?);
        let took = core_time()?.saturating_sub(begun).as_s_f64();
        Ok((count, count as f64 / took.max(1e-9) / 1e6))
    })?;
    for (case, figures) in cases.iter().zip(kept) {
        // The same in every round: it is simulated from one seed.
        let count = figures.first().map_or(0, |(count, _)| *count);
        let rates: Vec<f64> = figures.iter().map(|(_, rate)| *rate).collect();
        let spread = MedianSpread::of(&rates).context("no rounds")?;
        let what = format!("simulate, {}, millions of requests per second and core", case.name);
        let mark = case.goal.map_or("", |goal| bench.verdicts.judge(&what, spread.median, Goal::AtLeast(goal)));
        let goal = case.goal.map_or(String::new(), |goal| format!(">= {goal:.0}"));
        let cells = [case.name.to_owned(), count.to_string(), spread.to_string(), goal, mark.to_owned()];
        table.row(bench.marked(cells.to_vec()));
    }
    table.note("Full records: histograms by operation and a series of seconds. Requests of the load, not their parts.");
    bench.print(table)
}

fn matrix(bench: &mut Bench) -> Result<()> {
    let plan = preset(PLAN).with_context(|| format!("no plan {PLAN} comes with loadline"))?;
    let plan = Plan::parse(plan.text, PLAN)?;
    let mut loads: Vec<LoadSpec> = plan.cells().map(|(load, _)| load.clone()).collect();
    if bench.arguments.quick {
        for load in &mut loads {
            load.duration = Duration::from_s(20);
        }
    }
    let catalog = Catalog::builtin();
    let mut trials = Vec::new();
    for pool in POOLS {
        let text = environment_text(pool).with_context(|| format!("no environment {pool} comes with loadline"))?;
        let environment = Environment::parse(text, pool, &catalog)?.spec(&Draw::MIDDLE);
        trials.extend(loads.iter().map(|load| (environment.clone(), load)));
    }
    let (mut walls, mut count) = (Vec::new(), 0);
    for _ in 0..bench.arguments.rounds.min(MATRIX_ROUNDS_MAX) {
        bench.stop.check()?;
        let begun = std::time::Instant::now();
        count = in_parallel(&trials)?;
        walls.push(begun.elapsed().as_secs_f64());
    }
    let title = format!("simulate: {PLAN} on {} over {THREADS} threads, wall time in s", POOLS.join(", "));
    let mut table = FigureTable::new(title, &["trials", "requests", "wall time", "goal", ""]);
    let spread = MedianSpread::of(&walls).context("no rounds")?;
    let mark = bench.verdicts.judge("simulate, the matrix, s", spread.median, Goal::AtMost(60.0));
    let cells = [trials.len().to_string(), count.to_string(), spread.to_string(), "<= 60".to_owned(), mark.to_owned()];
    table.row(cells.to_vec());
    if bench.arguments.quick {
        table.note("--quick: 20 s of measurement in each cell instead of 300 s.");
    }
    bench.print(table)
}

/// Simulates every trial; gives the number of all their requests.
fn in_parallel(trials: &[(EnvironmentSpec, &LoadSpec)]) -> Result<u64> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<u64> {
        let mut sum = 0;
        while let Some((environment, load)) = trials.get(next.fetch_add(1, Ordering::Relaxed)) {
            sum += requests(&record(environment, load)?);
        }
        Ok(sum)
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().expect("a simulation does not panic")).sum()
    })
}

fn memory(bench: &mut Bench) -> Result<()> {
    let mut table = FigureTable::new(
        "simulate: most resident memory of a process that simulates days at 20 requests a second, MiB",
        &["2 days", "16 days", "ratio", ""],
    );
    let mut held = Vec::new();
    for days in ["2", "16"] {
        let mut command = Command::new(std::env::current_exe().context("where is this program?")?);
        command.args([SUBCOMMAND, days]);
        held.push(peak_memory(&mut command, &bench.stop)?.get() as f64 / Bytes::MIB.get() as f64);
    }
    let ratio = held[1] / held[0].max(1e-9);
    let mark = bench.verdicts.judge("simulate, memory of more days over fewer", ratio, Goal::AtMost(1.1));
    let mut row: Vec<String> = held.iter().map(|mib| format!("{mib:.1}")).collect();
    row.extend([format!("{ratio:.2}"), mark.to_owned()]);
    table.row(row);
    table.note("Within the first day the series grows by its seconds; then its neighbours are joined.");
    bench.print(table)
}

/// The child's part: simulates this many days.
///
/// # Errors
/// When `days` is no number above 0, or the simulation did not come to its end.
pub(crate) fn simulate_days(days: &str) -> Result<u64> {
    let days = days.parse().with_context(|| format!("{days:?} is no number of days"))?;
    if days == 0 {
        bail!("no days are no time to simulate");
    }
    let Case { environment, load, .. } = cases::slow(days);
    Ok(requests(&record(&environment, &load)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_can_be_simulated_and_its_limits_bind() {
        for Case { name, environment, load, .. } in cases::all() {
            let load = LoadSpec { duration: Duration::from_s(5), ..load };
            let record = record(&environment, &load).unwrap();
            assert!(requests(&record) > 10_000, "{name}: {}", requests(&record));
            assert!(!name.starts_with("one disk") || (record.iops().unwrap() / 5_000.0 - 1.0).abs() < 0.01, "{name}");
        }
    }

    #[test]
    fn threads_share_the_trials_and_count_all_their_requests() {
        let Case { environment, load, .. } = cases::slow(1);
        let short = LoadSpec { duration: Duration::from_s(60), ..load };
        let one = requests(&record(&environment, &short).unwrap());
        let trials = vec![(environment, &short); 5];
        assert_eq!(in_parallel(&trials).unwrap(), 5 * one);
    }
}
