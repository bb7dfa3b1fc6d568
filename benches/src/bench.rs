//! Runs jobs on tools, interleaved, and collects their results and costs.

use crate::arguments::Arguments;
use crate::fio::{self, Tuning};
use crate::job::{Job, Length, Target, Told};
use crate::process::{self, Ended, Stop};
use crate::statistics::{median, order};
use crate::table::{FigureTable, Verdicts};
use crate::{ours, peak};
use anyhow::{Context, Error, Result};
use loadline_block::Operation;
use loadline_units::{Bytes, Duration};
use std::cell::RefCell;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// Rest before each run: the kernel removes an ended process's rings a moment later, and only then releases its files.
pub(crate) const SETTLE: std::time::Duration = std::time::Duration::from_millis(200);

/// Bytes that the requests spread over, unless a section says otherwise.
const SIZE: Bytes = Bytes::gib(1);

/// Runs of one request, for the cost of starting and ending.
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
    /// Mean time from submitted to completed, as the kernel counts it for the device, independent of the tool.
    pub(crate) device_mean_ns: Option<f64>,
}

/// The runs of one tool at one job, one for each round.
#[derive(Debug)]
pub(crate) struct Runs {
    pub(crate) tool: Tool,
    pub(crate) samples: Vec<Sample>,
    /// Its user time for starting and ending.
    start_user: Duration,
}

impl Runs {
    pub(crate) fn figures(&self, figure: impl Fn(&Sample) -> f64) -> Vec<f64> {
        self.samples.iter().map(figure).collect()
    }
    pub(crate) fn rates(&self) -> Vec<f64> {
        self.figures(|sample| sample.told.requests_per_s)
    }
    /// User-mode microseconds for each request, less the cost of starting and ending.
    pub(crate) fn user_us(&self) -> Vec<f64> {
        self.figures(|sample| self.less_start(sample) / sample.told.requests.max(1) as f64)
    }
    /// The same over all rounds together. Kernels count by the tick: the user time of a round may be a handful of them,
    /// and the sum of all rounds is more exact than the middle one.
    pub(crate) fn user_us_pooled(&self) -> f64 {
        let user: f64 = self.samples.iter().map(|sample| self.less_start(sample)).sum();
        let requests: u64 = self.samples.iter().map(|sample| sample.told.requests).sum();
        user.max(0.0) / requests.max(1) as f64
    }
    /// Microseconds; negative if fewer ticks fell into the run than into an empty one.
    fn less_start(&self, sample: &Sample) -> f64 {
        (sample.ended.user.as_ns() as f64 - self.start_user.as_ns() as f64) / 1e3
    }
    pub(crate) fn rate(&self) -> f64 {
        median(&self.rates()).unwrap_or(0.0)
    }
}

/// The common state of all sections.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) arguments: Arguments,
    pub(crate) stop: Arc<Stop>,
    pub(crate) verdicts: Verdicts,
    /// Bytes that the requests spread over.
    pub(crate) size: Bytes,
    cut: RefCell<Option<Cut>>,
}

/// The reason for the end of a section in the middle of its rounds.
#[derive(Debug)]
struct Cut {
    error: Error,
    /// That were done by then.
    rounds: usize,
}

impl Bench {
    pub(crate) fn new(arguments: Arguments, stop: Arc<Stop>) -> Self {
        Self { arguments, stop, verdicts: Verdicts::default(), size: SIZE, cut: RefCell::new(None) }
    }
    /// A section begins: nothing of the one before it is left.
    pub(crate) fn begin(&mut self) {
        self.size = SIZE;
        self.cut.take();
    }
    /// An error if the rounds were interrupted, with the reason.
    fn check(&self) -> Result<()> {
        self.cut.take().map_or(Ok(()), |cut| Err(cut.error))
    }
    /// Runs the requested number of rounds. In each round `one` runs once for each of `places`, and each round begins
    /// with another place. Returns the results by place. If the user interrupts, or `one` fails, the whole rounds
    /// before it are returned, if there are any: they make a row, by [`Bench::marked`]. The section then ends with the
    /// reason at its next rounds, or when it prints its table.
    ///
    /// # Errors
    /// The reason of an interruption in the first round, or in rounds before these.
    pub(crate) fn rounds<T>(
        &self,
        places: usize,
        mut one: impl FnMut(&Self, usize) -> Result<T>,
    ) -> Result<Vec<Vec<T>>> {
        self.check()?;
        let mut kept: Vec<Vec<T>> = (0..places).map(|_| Vec::new()).collect();
        for round in 0..self.arguments.rounds {
            for place in order(round, places) {
                match self.stop.check().and_then(|()| one(self, place)) {
                    Ok(figure) => kept[place].push(figure),
                    Err(error) if round == 0 => return Err(error),
                    Err(error) => {
                        for figures in &mut kept {
                            figures.truncate(round);
                        }
                        *self.cut.borrow_mut() = Some(Cut { error, rounds: round });
                        return Ok(kept);
                    }
                }
            }
        }
        Ok(kept)
    }
    /// The cells of a row; the first one says so if its rounds were interrupted.
    pub(crate) fn marked(&self, mut cells: Vec<String>) -> Vec<String> {
        if let (Some(cut), Some(name)) = (self.cut.borrow().as_ref(), cells.first_mut()) {
            *name = format!("{name} ({} of {} rounds)", cut.rounds, self.arguments.rounds);
        }
        cells
    }
    /// Prints a table that has all its rows.
    ///
    /// # Errors
    /// The reason of an interruption in its last rounds; then the table is printed as incomplete.
    pub(crate) fn print(&self, table: FigureTable) -> Result<()> {
        self.check()?;
        table.print();
        Ok(())
    }
    pub(crate) fn time(&self) -> Length {
        Length::Time(self.arguments.length)
    }
    /// The command line of `tool` for `job`; `None` if the tool cannot run it.
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
            // t/io_uring leaves a file in its working directory.
            command.current_dir(std::env::temp_dir());
            match &job.group {
                None => command,
                Some(group) => joining(group, &command),
            }
        }))
    }
    fn sample(&self, tool: Tool, job: &Job, mut command: Command) -> Result<Sample> {
        std::thread::sleep(SETTLE);
        let counters = || match &job.target {
            Target::Device(node) => process::read_counters(node, job.operation),
            Target::Null | Target::File(_) | Target::CachedFile(_) | Target::Export(_) => None,
        };
        let before = counters();
        let ended = process::run(&mut command, &self.stop)?;
        let device_mean_ns = before.zip(counters()).and_then(|(before, after)| after.mean_ns_since(before));
        let told = match tool {
            Tool::FioDefault | Tool::FioBest | Tool::FioRepeating => fio::parse(&ended.stdout, job.operation),
            Tool::Peak => peak::parse(&ended.stdout),
            Tool::Loadline => ours::parse(&ended.stdout, job.operation),
        };
        let told = told.with_context(|| format!("{} at {}", tool.name(), job.name()))?;
        eprintln!("{:<12} {:<34} {:>11.0}/s", tool.name(), job.name(), told.requests_per_s);
        Ok(Sample { told, ended, device_mean_ns })
    }
    /// One run of `tool`.
    pub(crate) fn once(&self, tool: Tool, job: &Job) -> Result<Sample> {
        let command = self.command(tool, job)?.with_context(|| format!("{} cannot do {}", tool.name(), job.name()))?;
        self.sample(tool, job, command)
    }
    /// Runs each of `tools` on `job` once in every round. Each round begins with another tool, and has its own offsets
    /// and arrivals. Tools that cannot run the job are left out.
    pub(crate) fn interleaved(&self, tools: &[Tool], job: &Job) -> Result<Vec<Runs>> {
        self.check()?;
        let mut runs = Vec::new();
        for &tool in tools {
            if self.command(tool, job)?.is_some() {
                let start_user = self.start_user(tool, job)?;
                runs.push(Runs { tool, samples: Vec::new(), start_user });
            }
        }
        let mut seeds = vec![0; runs.len()];
        let samples = self.rounds(runs.len(), |bench, place| {
            seeds[place] += 1;
            bench.once(runs[place].tool, &Job { seed: seeds[place], ..job.clone() })
        })?;
        for (runs, samples) in runs.iter_mut().zip(samples) {
            runs.samples = samples;
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

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::bail;

    fn bench() -> Bench {
        let words = ["rate", "--rounds", "5"].map(str::to_owned);
        Bench::new(Arguments::parse(&words).unwrap().unwrap(), Arc::default())
    }

    #[test]
    fn rounds_that_are_broken_off_give_the_whole_ones_and_then_what_came_between() {
        let bench = bench();
        let mut runs = 0;
        let kept = bench.rounds(3, |_, place| {
            runs += 1;
            if runs == 8 {
                bail!("the peer failed");
            }
            Ok(place)
        });
        assert_eq!(kept.unwrap(), [[0, 0], [1, 1], [2, 2]]);
        assert_eq!(bench.marked(vec!["reads".into(), "1".into()]), ["reads (2 of 5 rounds)", "1"]);
        assert_eq!(bench.rounds(1, |_, _| Ok(())).unwrap_err().to_string(), "the peer failed");
        // It is reported once.
        assert_eq!(bench.rounds(1, |_, _| Ok(())).unwrap(), [[(); 5]]);
        assert_eq!(bench.marked(vec!["reads".into()]), ["reads"]);
    }

    #[test]
    fn without_a_whole_round_there_is_no_row() {
        let bench = bench();
        assert!(bench.rounds(2, |_, place| if place == 1 { bail!("failed") } else { Ok(()) }).is_err());
        assert!(bench.check().is_ok());
    }

    #[test]
    fn a_table_is_not_printed_as_whole_when_its_last_row_is_short() {
        let bench = bench();
        let mut runs = 0;
        let mut one = |_: &Bench, _| {
            runs += 1;
            if runs == 2 {
                bail!("failed");
            }
            Ok(())
        };
        bench.rounds(1, &mut one).unwrap();
        assert!(bench.print(FigureTable::new("title", &["a"])).is_err());
        assert!(bench.print(FigureTable::new("title", &["a"])).is_ok());
    }
}
