//! loadline beside its peers: interleaved runs, medians, ratios with their spread. `docs/benchmarks.md` explains.

mod arguments;
mod bench;
mod fio;
mod job;
mod ours;
mod peak;
mod placement;
mod process;
mod sections;
mod server;
mod stage;
mod statistics;
mod table;

use anyhow::{Context, Result};
use arguments::{Arguments, USAGE};
use bench::Bench;
use loadline_units::Bytes;
use process::Stop;
use sections::simulate;
use std::process::ExitCode;
use table::Verdicts;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.as_slice() {
        [first, order] if first == ours::SUBCOMMAND => ours::run(order).map(|record| println!("{record}")),
        [first, days] if first == simulate::SUBCOMMAND => {
            simulate::simulate_days(days).map(|requests| println!("{requests}"))
        }
        [first, order] if first == server::SUBCOMMAND => server::serve(order),
        words => match Arguments::parse(words) {
            Err(error) => {
                eprintln!("{error:#}");
                return ExitCode::from(2);
            }
            Ok(None) => {
                print!("{USAGE}");
                Ok(())
            }
            Ok(Some(arguments)) => compare(arguments),
        },
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn compare(arguments: Arguments) -> Result<()> {
    let stop = Stop::watch()?;
    let fio = if arguments.sections.iter().any(|section| section.has_peer()) {
        process::tool("fio", &["--version"]).context("fio is the peer: apt-get install fio")?
    } else {
        "none".to_owned()
    };
    let host = loadline_engine::facts::host();
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let known = |fact: Option<String>| fact.unwrap_or_else(|| "unknown".to_owned());
    println!("CPUs:    {} x {}", known(host.cpus.map(|cpus| cpus.to_string())), known(host.cpu_model));
    println!("kernel:  {}, clock source {}", known(host.kernel), known(host.clock_source));
    println!("peer:    {fio}; load average before: {}", load.split(' ').next().unwrap_or("unknown"));
    println!("rounds:  {} of {}, as median (least..most)", arguments.rounds, arguments.length);
    let sections = arguments.sections.clone();
    let mut bench = Bench { arguments, stop, verdicts: Verdicts::default(), size: Bytes::gib(1) };
    for section in sections {
        bench.stop.check()?;
        match section.obstacle() {
            Some(why) => println!("\n## {}: skipped: {why}", section.name()),
            None => section.run(&mut bench).with_context(|| format!("section {}", section.name()))?,
        }
    }
    bench.verdicts.print();
    Ok(())
}
