//! Gives jobs to tools, in turns, and keeps what each said and cost.

use crate::arguments::Arguments;
use crate::fio::{self, Tuning};
use crate::job::{Job, Length, Told};
use crate::process::{self, Ended, Stop};
use crate::statistics::{median, order};
use crate::table::Verdicts;
use crate::{ours, peak};
use anyhow::{Context, Result};
use loadline_block::Operation;
use loadline_units::{Bytes, Duration};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// Rest before each run: the kernel takes an ended process's rings down a moment later, and only then gives its files back.
pub(crate) const SETTLE: std::time::Duration = std::time::Duration::from_millis(200);

/// Runs of one request, for what starting and ending costs.
const STARTS: u64 = 5;

/// Who does a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {
    FioDefault,
    FioBest,
    /// Writes only: tuned, and each buffer written again and again.
    FioRepeating,
    Peak,
    Loadline,
}

impl Tool {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::FioDefault => "fio",
            Self::FioBest => "fio tuned",
            Self::FioRepeating => "fio repeating",
            Self::Peak => "t/io_uring",
            Self::Loadline => "loadline",
        }
    }
}

/// One run of one tool.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    pub(crate) told: Told,
    pub(crate) ended: Ended,
}

/// The runs of one tool at one job, one for each round.
#[derive(Debug)]
pub(crate) struct Runs {
    pub(crate) tool: Tool,
    pub(crate) samples: Vec<Sample>,
    /// What starting and ending costs it in user mode.
    start_user: Duration,
}

impl Runs {
    pub(crate) fn figures(&self, figure: impl Fn(&Sample) -> f64) -> Vec<f64> {
        self.samples.iter().map(figure).collect()
    }
    pub(crate) fn rates(&self) -> Vec<f64> {
        self.figures(|sample| sample.told.requests_per_s)
    }
    /// User-mode microseconds for each request, less what starting and ending costs.
    pub(crate) fn user_us(&self) -> Vec<f64> {
        self.figures(|sample| self.less_start(sample) / sample.told.requests.max(1) as f64)
    }
    /// The same over all rounds together. Kernels count by the tick: the user time of a round may be a handful of them, and
    /// the sum of all rounds says more than the middle one.
    pub(crate) fn user_us_pooled(&self) -> f64 {
        let user: f64 = self.samples.iter().map(|sample| self.less_start(sample)).sum();
        let requests: u64 = self.samples.iter().map(|sample| sample.told.requests).sum();
        user.max(0.0) / requests.max(1) as f64
    }
    /// Microseconds; below nothing where fewer ticks fell into the run than into one that does nothing.
    fn less_start(&self, sample: &Sample) -> f64 {
        (sample.ended.user.as_ns() as f64 - self.start_user.as_ns() as f64) / 1e3
    }
    pub(crate) fn rate(&self) -> f64 {
        median(&self.rates()).unwrap_or(0.0)
    }
}

/// What every section needs.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) arguments: Arguments,
    pub(crate) stop: Arc<Stop>,
    pub(crate) verdicts: Verdicts,
    /// Bytes that the requests spread over.
    pub(crate) size: Bytes,
}

impl Bench {
    pub(crate) fn time(&self) -> Length {
        Length::Time(self.arguments.length)
    }
    /// The command line of `tool` for `job`; `None` where it cannot do it.
    pub(crate) fn command(&self, tool: Tool, job: &Job) -> Result<Option<Command>> {
        let command = match tool {
            Tool::FioDefault => Some(fio::command(job, self.size, Tuning::Default)),
            Tool::FioBest => Some(fio::command(job, self.size, Tuning::Best)),
            Tool::FioRepeating => {
                (job.operation == Operation::Write).then(|| fio::command(job, self.size, Tuning::BestRepeating))
            }
            Tool::Peak => self.arguments.peak.as_deref().and_then(|program| peak::command(program, job)),
            Tool::Loadline => Some(ours::command(job, self.size)?),
        };
        Ok(command.map(|mut command| {
            // t/io_uring leaves a file where it stands.
            command.current_dir(std::env::temp_dir());
            match &job.group {
                None => command,
                Some(group) => joining(group, &command),
            }
        }))
    }
    fn sample(&self, tool: Tool, job: &Job, mut command: Command) -> Result<Sample> {
        std::thread::sleep(SETTLE);
        let ended = process::run(&mut command, &self.stop)?;
        let told = match tool {
            Tool::FioDefault | Tool::FioBest | Tool::FioRepeating => fio::parse(&ended.stdout, job.operation),
            Tool::Peak => peak::parse(&ended.stdout),
            Tool::Loadline => ours::parse(&ended.stdout, job.operation),
        };
        let told = told.with_context(|| format!("{} at {}", tool.name(), job.name()))?;
        eprintln!("{:<12} {:<34} {:>11.0}/s", tool.name(), job.name(), told.requests_per_s);
        Ok(Sample { told, ended })
    }
    /// One run of `tool`.
    pub(crate) fn once(&self, tool: Tool, job: &Job) -> Result<Sample> {
        let command = self.command(tool, job)?.with_context(|| format!("{} cannot do {}", tool.name(), job.name()))?;
        self.sample(tool, job, command)
    }
    /// Each of `tools` at `job` once in every round, each round beginning with another; those that cannot do it are left
    /// out.
    pub(crate) fn interleaved(&self, tools: &[Tool], job: &Job) -> Result<Vec<Runs>> {
        let mut runs = Vec::new();
        for &tool in tools {
            if self.command(tool, job)?.is_some() {
                let start_user = self.start_user(tool, job)?;
                runs.push(Runs { tool, samples: Vec::new(), start_user });
            }
        }
        for round in 0..self.arguments.rounds {
            for place in order(round, runs.len()) {
                let sample = self.once(runs[place].tool, job)?;
                runs[place].samples.push(sample);
            }
        }
        Ok(runs)
    }
    /// User-mode time of a run of one request: the mean of [`STARTS`], for each is a few ticks at most.
    fn start_user(&self, tool: Tool, job: &Job) -> Result<Duration> {
        let job = Job { length: Length::OneRequest, group: None, ..job.clone() };
        let mut sum = 0;
        for _ in 0..STARTS {
            let Some(mut command) = self.command(tool, &job)? else { return Ok(Duration::ZERO) };
            std::thread::sleep(SETTLE);
            sum += process::run(&mut command, &self.stop)?.user.as_ns();
        }
        Ok(Duration::from_ns(sum / STARTS))
    }
}

/// `command`, started by a shell that joins the control group first.
fn joining(group: &Path, command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(group.join("cgroup.procs"));
    shell.arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        shell.current_dir(folder);
    }
    shell
}

/// The runs of `tool`.
pub(crate) fn of(runs: &[Runs], tool: Tool) -> Option<&Runs> {
    runs.iter().find(|runs| runs.tool == tool)
}
