//! loadline beside its peers: interleaved runs, medians, ratios with their spread. `docs/inside/benchmarks.md` explains.

mod arguments;
mod bench;
mod fio;
mod job;
mod ours;
mod peak;
mod placement;
mod process;
mod section;
mod sections;
mod server;
mod stage;
mod statistics;
mod table;

use anyhow::{Context, Result};
use arguments::{Arguments, USAGE};
use bench::Bench;
use process::Stop;
use sections::simulate;
use std::process::ExitCode;

/// The exit status of a program that was ended by Ctrl-C, as shells have it.
const INTERRUPTED: u8 = 130;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.as_slice() {
        [first, order] if first == ours::SUBCOMMAND => ours::run(order).map(|record| succeed(&record)),
        [first, days] if first == simulate::SUBCOMMAND => {
            simulate::simulate_days(days).map(|requests| succeed(&requests))
        }
        [first, order] if first == server::SUBCOMMAND => server::serve(order).map(|()| ExitCode::SUCCESS),
        words => match Arguments::parse(words) {
            Err(error) => {
                eprintln!("{error:#}");
                return ExitCode::from(2);
            }
            Ok(None) => {
                print!("{USAGE}");
                Ok(ExitCode::SUCCESS)
            }
            Ok(Some(arguments)) => compare(arguments),
        },
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn succeed(result: &impl std::fmt::Display) -> ExitCode {
    println!("{result}");
    ExitCode::SUCCESS
}

/// Measures section by section. A failure ends one section; the user's interruption ends all. Either way the measured
/// part is printed, and the exit status says that it is not all.
fn compare(arguments: Arguments) -> Result<ExitCode> {
    let stop = Stop::watch()?;
    let fio = if arguments.sections.iter().any(|section| section.has_peer()) {
        process::tool("fio", &["--version"]).context("fio is the peer: apt-get install fio")?
    } else {
        "none".to_owned()
    };
    let host = loadline_kernel::facts::host();
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let known = |fact: Option<String>| fact.unwrap_or_else(|| "unknown".to_owned());
    println!("CPUs:    {} x {}", known(host.cpus.map(|cpus| cpus.to_string())), known(host.cpu_model));
    println!("kernel:  {}, clock source {}", known(host.kernel), known(host.clock_source));
    println!("peer:    {fio}; load average before: {}", load.split(' ').next().unwrap_or("unknown"));
    println!("rounds:  {} of {}, as median (least..most)", arguments.rounds, arguments.length);
    let sections = arguments.sections.clone();
    let mut bench = Bench::new(arguments, stop);
    let mut incomplete = Vec::new();
    for section in sections {
        bench.begin();
        let done = bench.stop.check().and_then(|()| match section.obstacle() {
            Some(why) => {
                println!("\n## {}: skipped: {why}", section.name());
                Ok(())
            }
            None => section.run(&mut bench),
        });
        if let Err(error) = done {
            eprintln!("section {}: {error:#}", section.name());
            incomplete.push(section.name());
        }
    }
    bench.verdicts.print();
    if incomplete.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    println!("\nIncomplete: {}", incomplete.join(", "));
    Ok(if bench.stop.check().is_err() { ExitCode::from(INTERRUPTED) } else { ExitCode::FAILURE })
}
