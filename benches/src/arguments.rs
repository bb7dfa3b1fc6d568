//! The command line.

use crate::section::Section;
use anyhow::{Context, Result, bail};
use loadline_units::Duration;
use std::path::PathBuf;

pub(crate) const USAGE: &str = "\
loadline beside its peers: prints tables of medians and of ratios, pair by pair.

Usage: versus-peers [SECTION...] [OPTIONS]

Sections (all by default):
  rate       requests per second and user CPU per request, closed loop
  null       the tool itself: requests per second and core, memory
  start      from the start of the program to its first request
  open       open loop: achieved rate and lateness
  stall      one second of a stalled device, as each tool tells it
  agree      the same figures from fio and loadline
  throttle   a device throttled by the kernel to a known rate
  exports    our engine over NBD beside fio's, asking nbdkit
  simulate   the simulator: requests per second and core, a matrix of 800 trials, memory; without a peer
  emulate    the emulator over NBD beside nbdkit's memory plugin, by a pipelining client and by fio
  attached   the emulator as a block device beside nbdkit's memory plugin, nbdfuse and a loop device
  truth      rates and latencies of emulated disks as fio sees them, over the model's, and lateness
  busy       what busy emulated disks cost: one P30, eight behind one machine's budgets
  growth     how time grows with the jobs, cells and runs that a user brings; without a peer

Options:
  --rounds N          rounds, each tool once in each [5]
  --seconds N         seconds of each run, 2 or more [3]
  --only TEXT         in `rate`, `exports`, `emulate` and `truth`, only rows whose name contains TEXT, such as 'write, depth 32' or 'one CPU'
  --t-io-uring PATH   fio's t/io_uring, to be compared with in `rate`
  --as-scheduled      in `rate`, `agree` and `emulate`, leave everything where the scheduler puts it
  --all               every case of `truth`: depths 1 to 256, 4 KiB to 1 MiB, both ways; else a selection
  --quick             two rounds of 2 s: whether it works, not what it says
  --help

Loop devices take root; sections that need them are skipped without.
";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arguments {
    pub(crate) sections: Vec<Section>,
    pub(crate) rounds: usize,
    /// Of each run.
    pub(crate) length: Duration,
    pub(crate) peak: Option<PathBuf>,
    /// Only rows of `rate` and `truth` whose name contains this.
    pub(crate) only: Option<String>,
    pub(crate) quick: bool,
    /// Tools and kernel threads are not pinned to processors.
    pub(crate) as_scheduled: bool,
    /// Every case, not a selection.
    pub(crate) all: bool,
}

impl Arguments {
    /// Reads the words after the program's name; `None` if help was requested.
    ///
    /// # Errors
    /// Words that mean nothing, and values missing or out of range.
    pub(crate) fn parse(words: &[String]) -> Result<Option<Self>> {
        let mut read = Self {
            sections: Vec::new(),
            rounds: 5,
            length: Duration::from_s(3),
            peak: None,
            only: None,
            quick: false,
            as_scheduled: false,
            all: false,
        };
        let (mut rounds, mut seconds) = (None, None);
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word} wants a value"));
            match word.as_str() {
                "--help" | "-h" => return Ok(None),
                "--quick" => read.quick = true,
                "--as-scheduled" => read.as_scheduled = true,
                "--all" => read.all = true,
                "--only" => read.only = Some(value()?.clone()),
                "--rounds" => rounds = Some(whole(value()?, 1).context("--rounds")?),
                "--seconds" => seconds = Some(whole(value()?, 2).context("--seconds")?),
                "--t-io-uring" => {
                    let path = PathBuf::from(value()?);
                    read.peak = Some(path.canonicalize().with_context(|| format!("no {}", path.display()))?);
                }
                name => match Section::ALL.iter().find(|section| section.name() == name) {
                    Some(section) => read.sections.push(*section),
                    None => bail!("{name:?} is no section and no option; see --help"),
                },
            }
        }
        if read.sections.is_empty() {
            read.sections = Section::ALL.to_vec();
        }
        read.rounds = rounds.unwrap_or(if read.quick { 2 } else { 5 }) as usize;
        read.length = Duration::from_s(seconds.unwrap_or(if read.quick { 2 } else { 3 }));
        Ok(Some(read))
    }
    /// Whether the row called `name` is to be measured.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| name.contains(only.as_str()))
    }
}

fn whole(text: &str, least: u64) -> Result<u64> {
    let number = text.parse().with_context(|| format!("{text:?} is no whole number"))?;
    if number < least {
        bail!("{number} is too few: {least} or more");
    }
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Option<Arguments>> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Arguments::parse(&words)
    }

    #[test]
    fn all_sections_run_unless_some_are_named() {
        let all = parse("").unwrap().unwrap();
        assert_eq!((all.sections.as_slice(), all.rounds), (Section::ALL, 5));
        let some = parse("null --rounds 7 rate --seconds 4").unwrap().unwrap();
        assert_eq!(some.sections, [Section::Null, Section::Rate]);
        assert_eq!((some.rounds, some.length), (7, Duration::from_s(4)));
    }

    #[test]
    fn rows_are_picked_by_a_part_of_their_name() {
        let words = ["rate", "--only", "write, depth 32"].map(str::to_owned);
        let read = Arguments::parse(&words).unwrap().unwrap();
        assert!(read.wants("loop write, depth 32, two CPUs") && !read.wants("loop read, depth 32, two CPUs"));
        assert!(parse("rate").unwrap().unwrap().wants("anything"));
        assert!(parse("rate --only").is_err());
    }

    #[test]
    fn quick_shortens_what_is_not_given() {
        let quick = parse("--rounds 3 --quick").unwrap().unwrap();
        assert_eq!((quick.rounds, quick.length), (3, Duration::from_s(2)));
    }

    #[test]
    fn nonsense_is_refused_and_help_is_given() {
        for line in ["--rounds", "--rounds 0", "--seconds 1", "--rounds many", "speed", "--t-io-uring /no/such/file"] {
            assert!(parse(line).is_err(), "{line}");
        }
        assert_eq!(parse("rate --help").unwrap(), None);
        for section in Section::ALL {
            assert!(USAGE.contains(&format!("\n  {} ", section.name())));
        }
    }
}
