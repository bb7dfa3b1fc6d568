//! A disk that was fitted to a run: its environment file, how well it stands for the run, and what nothing showed.

use crate::put;
use crate::rates::iops;
use crate::verdict_line::{About, VerdictLine};
use crate::words::throttle::standing;
use loadline_block::Operation;
use loadline_fitting::{Agreement, AssumedBudgets, FitAssumption, FitDoubt, Fitted};
use loadline_record::{Clock, Limit};
use loadline_units::Duration;
use loadline_units::words::{capital, counted};

/// The environment file. What is no evidence in it is marked as such.
#[must_use]
pub fn fitted_environment(fitted: &Fitted) -> String {
    let Fitted { run, started, version, doubts, assumptions, .. } = fitted;
    let name = fitted.name.replace(['"', '\\', '\n'], " ");
    let mut text = format!("# Fitted to run {run} ({started}), loadline {version}.\nschema = 1\nname = \"{name}\"\n");
    let remark = |text: &mut String, doubt: &FitDoubt| put!(text, "# {}.\n", capital(&fit_doubt(doubt)));
    let of_run = |doubt: &&FitDoubt| matches!(doubt, FitDoubt::OfPrediction | FitDoubt::AboveTheDisk { .. });
    doubts.iter().filter(of_run).for_each(|doubt| remark(&mut text, doubt));
    let known = known(fitted.clock);
    for volume in &fitted.volumes {
        put!(text, "\n[volume.{}]\n", volume.name);
        if let Some(rate) = volume.iops_unlimited {
            put!(text, "# No limit on requests was found; the most that were {known} are {rate}.\n");
        }
        if let Some(rate) = volume.throughput_unlimited {
            put!(text, "# No limit on bytes was found; the most that were {known} are {rate}.\n");
        }
        let of_volume = doubts.iter().filter(|doubt| doubt.volume() == Some(&volume.name));
        of_volume.for_each(|doubt| remark(&mut text, doubt));
        for assumption in assumptions.iter().filter(|assumption| assumption.volume == volume.name) {
            put!(text, "# Assumed: {}.\n", fit_assumption(assumption));
        }
        text.push_str(&volume.disk);
    }
    text
}

/// What the run's figures are.
#[must_use]
pub const fn known(clock: Clock) -> &'static str {
    match clock {
        Clock::Real => "measured",
        Clock::Virtual => "predicted",
    }
}

/// A statement with less evidence than a measurement; the first letter is small.
#[must_use]
pub fn fit_doubt(doubt: &FitDoubt) -> String {
    let both =
        |operation: &Operation| if *operation == Operation::Read { ("reads", "writes") } else { ("writes", "reads") };
    match doubt {
        FitDoubt::OfPrediction => {
            "the run is a prediction, so this is a model of a model: nothing was measured".to_owned()
        }
        FitDoubt::AboveTheDisk { limits } => {
            let names: Vec<&str> = limits.iter().copied().map(Limit::name).collect();
            format!(
                "in the prediction loads were bound by {}: the file has that as a limit of its disk",
                names.join(", ")
            )
        }
        FitDoubt::AtLimit { volume, limit, loads } => {
            let lift = limit.lifted_by.as_ref().map_or_else(String::new, |command| format!(": {command}"));
            format!(
                "{} on volume {volume} had the rate of a limit above it: {}. The file has that as a limit of its disk; lift it and measure \
                 again{lift}",
                counted(*loads, "load"),
                standing(limit)
            )
        }
        FitDoubt::NotMeasured { volume, operation } => {
            let (these, others) = both(operation);
            format!(
                "no {these} were measured on volume {volume}: what the file says of them is what was seen of {others}"
            )
        }
        FitDoubt::AllWaited { volume, operation, most } => format!(
            "no load of {} was measured on volume {volume} that did not wait at a limit: their own latency is at most {}, and the file \
             has a part of that at most, as a guess; measure them with one request outstanding, in small blocks",
            both(operation).0,
            most.map_or_else(String::new, Duration::human)
        ),
        FitDoubt::BucketUnknown { volume, explains, taken } => format!(
            "the loads on volume {volume} do not show how much its limits let through at once after a pause: a token bucket of {} \
             explains them as well, and the file has one of {}, as a guess; measure loads of a few seconds without a warm-up, with a \
             pause of ten seconds before each",
            explains.human(),
            taken.human()
        ),
        FitDoubt::OfTheTool { loads, first, volume } => format!(
            "{loads} of the run's loads had the rate of the tool itself and were left out, first {first} on volume {volume}"
        ),
    }
}

/// What was assumed, and the load that would decide.
#[must_use]
pub fn fit_assumption(assumption: &FitAssumption) -> String {
    let what = match assumption.budgets {
        AssumedBudgets::One => {
            "reads and writes draw on one budget, as disks whose limits are the same for both mostly do"
        }
        AssumedBudgets::Traded => {
            "reads and writes draw on one budget at a price each, as disks behind a network mostly do"
        }
        AssumedBudgets::Windowed => {
            "reads and writes have a budget each, as where a window is counted for each direction"
        }
        AssumedBudgets::Apart => "reads and writes have a budget each, as devices in the host mostly do",
    };
    let volume = &assumption.volume;
    format!(
        "{what}: no mix was measured on volume {volume}; reads = [\"100 %\", \"0 %\", \"50 %\"] in the plan would show it"
    )
}

/// A load of the run beside the fitted disk's result, in a line.
#[must_use]
pub fn agreement(of: &Agreement, clock: Clock) -> String {
    let Agreement { label, iops_measured, iops_fitted, p99_measured_ns, p99_fitted_ns, from_issue } = of;
    let from = if *from_issue { " from issue on" } else { "" };
    let off = |fitted: f64, measured: f64| format!("{:+.1} %", (fitted / measured - 1.0) * 100.0);
    let span = |ns: f64| Duration::from_ns(ns as u64).human();
    format!(
        "{label}: {} {}, p99{from} {}; on the fitted disk {} ({}), p99 {} ({})",
        known(clock),
        iops(*iops_measured),
        span(*p99_measured_ns),
        iops(*iops_fitted),
        off(*iops_fitted, *iops_measured),
        span(*p99_fitted_ns),
        off(*p99_fitted_ns, *p99_measured_ns)
    )
}

/// What to do with a fitted disk, with its command.
#[derive(Debug, Clone, Copy)]
pub enum FittedNext<'a> {
    /// Use it.
    Use {
        /// Its file.
        file: &'a str,
        /// The command.
        command: &'a str,
    },
    /// Write it to a file.
    Write {
        /// The option that takes the file.
        option: &'a str,
        /// The command.
        command: &'a str,
    },
}

/// How well the disk stands for the run, and what to do with it.
#[must_use]
pub fn fitted_lines(fitted: &Fitted, next: FittedNext<'_>) -> Vec<VerdictLine> {
    let loads = fitted.agreement.len();
    let far: Vec<&Agreement> = fitted.agreement.iter().filter(|agreement| !agreement.is_near()).collect();
    let stands = match far.first() {
        None => {
            let known = known(fitted.clock);
            format!("it does what was {known}: rates within 8 % and p99 within 25 % for all {loads} loads")
        }
        Some(first) => format!(
            "{} of {loads} loads come out with a rate off by over 8 % or a p99 off by over 25 %, first {}: the fitted disk stands for \
             the others at most",
            far.len(),
            first.label
        ),
    };
    let mut lines = vec![About::Verdict.says(stands)];
    lines.extend(match next {
        FittedNext::Use { file, command } => vec![
            About::Environment.says(file),
            About::Next.says("predict, hunt or emulate on it"),
            About::Command.says(command),
        ],
        FittedNext::Write { option, command } => vec![
            About::Next.says(format!("write it to a file: predict, hunt and emulate take that as {option}")),
            About::Command.says(command),
        ],
    });
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_analysis::{StandingLimit, StandingRule};

    #[test]
    fn what_is_no_evidence_stands_in_the_file_beside_its_volume() {
        let doubts = vec![
            FitDoubt::OfPrediction,
            FitDoubt::AboveTheDisk { limits: vec![Limit::Cache, Limit::VmUncachedIops] },
            FitDoubt::NotMeasured { volume: "data".to_owned(), operation: Operation::Write },
            FitDoubt::OfTheTool { loads: 2, first: "random reads".to_owned(), volume: "log".to_owned() },
            FitDoubt::AtLimit {
                volume: "data".to_owned(),
                limit: StandingLimit {
                    rule: StandingRule::CpuQuota { group: "/db".to_owned(), cpus: 0.5, of_cpus: 4 },
                    file: "/sys/fs/cgroup/db/cpu.max".to_owned(),
                    lifted_by: Some("echo max | sudo tee /sys/fs/cgroup/db/cpu.max".to_owned()),
                },
                loads: 2,
            },
        ];
        let data = loadline_fitting::FittedVolume {
            name: "data".to_owned(),
            iops_unlimited: loadline_units::Iops::per_second(700),
            throughput_unlimited: None,
            disk: "[[volume.data.disks]]\n".to_owned(),
        };
        let fitted = Fitted {
            name: "a \"b\"".to_owned(),
            run: "r1".to_owned(),
            started: "today".to_owned(),
            version: "1".to_owned(),
            clock: Clock::Virtual,
            volumes: vec![data],
            agreement: Vec::new(),
            doubts,
            assumptions: vec![FitAssumption { volume: "data".to_owned(), budgets: AssumedBudgets::Windowed }],
        };
        let wanted = "# Fitted to run r1 (today), loadline 1.\nschema = 1\nname = \"a  b \"\n\
            # The run is a prediction, so this is a model of a model: nothing was measured.\n\
            # In the prediction loads were bound by cache, vm-uncached-iops: the file has that as a limit of its disk.\n\
            \n[volume.data]\n\
            # No limit on requests was found; the most that were predicted are 700 IOPS.\n\
            # No writes were measured on volume data: what the file says of them is what was seen of reads.\n\
            # 2 loads on volume data had the rate of a limit above it: a CPU quota gives control group /db the time of 0.5 of 4 CPUs. \
            The file has that as a limit of its disk; lift it and measure again: echo max | sudo tee /sys/fs/cgroup/db/cpu.max.\n\
            # Assumed: reads and writes have a budget each, as where a window is counted for each direction: no mix was measured on volume \
            data; reads = [\"100 %\", \"0 %\", \"50 %\"] in the plan would show it.\n\
            [[volume.data.disks]]\n";
        assert_eq!(fitted_environment(&fitted), wanted);
        assert_eq!(
            fit_doubt(&fitted.doubts[3]),
            "2 of the run's loads had the rate of the tool itself and were left out, first random reads on volume log"
        );
    }
}
