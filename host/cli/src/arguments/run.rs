//! The options of `run`.

use super::{Driving, LiveArguments, Own, Printing};
use clap::{ArgGroup, Args};
use loadline_record::HostRank;
use loadline_runs::StartTime;
use loadline_units::{Bytes, Duration};
use loadline_workload::Objective;

/// `run`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("fresh").multiple(true))]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct RunArguments {
    /// Plan files (TOML), fio job files, names from `loadline plans`, or `-- fio --name=...`
    #[arg(required_unless_present_any = ["resume", "verify_only"], group = "fresh")]
    pub(crate) plan: Vec<String>,
    /// What to measure: a directory, a file, a block device or an NBD URI; the same plan runs on each volume
    #[arg(long, value_name = "VOLUME=TARGET")]
    pub(crate) on: Vec<String>,
    /// What the storage is: an environment file (TOML), or a name from `loadline environments`; names limits by its ceilings,
    /// and its volumes are measured where their path says unless --on does
    #[arg(long, value_name = "FILE", group = "fresh")]
    pub(crate) env: Option<String>,
    #[command(flatten)]
    pub(crate) own: Own,
    /// Trials of each cell, in place of the plan's
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..), group = "fresh")]
    pub(crate) trials: Option<u32>,
    /// Measured time of each trial, in place of the plan's
    #[arg(long, value_name = "TIME", group = "fresh")]
    pub(crate) duration: Option<Duration>,
    /// Load before each measurement, in place of the plan's
    #[arg(long, value_name = "TIME", group = "fresh")]
    pub(crate) warm_up: Option<Duration>,
    /// Bytes that the load spreads over, in place of the plan's
    #[arg(long, value_name = "SIZE", group = "fresh")]
    pub(crate) size: Option<Bytes>,
    /// The latency to keep, in place of the plan's: "20 ms" (mean) or p99="5 ms"
    #[arg(long, value_parser = super::objective, value_name = "LATENCY", group = "fresh")]
    pub(crate) objective: Option<Objective>,
    /// Keep the plan's shape, cut its times short: one trial of 3 s each at most
    #[arg(long, group = "fresh")]
    pub(crate) short: bool,
    /// Look for the deepest queue, or the highest rate of arrivals, that keeps the plan's objective; its own depths and rates
    /// are only where to begin. Exits with 3 where nothing keeps it
    #[arg(long, conflicts_with_all = ["resume", "trials", "verify_only"])]
    pub(crate) find_objective: bool,
    /// Begin the first trial at this time in UTC, as in 2026-01-31T14:22:33Z, or @SECONDS since 1970: hosts with the same start run
    /// every trial together, and `loadline merge` makes one run of theirs
    #[arg(long, value_name = "TIME", conflicts_with_all = ["find_objective", "resume", "verify_only", "dry_run"])]
    pub(crate) start_at: Option<StartTime>,
    /// Which of the hosts this one is, counted from 0: --rank 2/8, or --rank $SLURM_PROCID/$SLURM_NTASKS
    #[arg(long, value_name = "RANK/HOSTS", conflicts_with_all = ["find_objective", "resume", "verify_only"])]
    pub(crate) rank: Option<HostRank>,
    /// Load in steps, each with the first so many hosts; `loadline merge` shows how the total grows, and whose limit it is
    #[arg(long, value_name = "1,2,4,8", value_delimiter = ',', requires = "rank", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) hosts: Vec<u32>,
    /// Load this host's own part alone of a file or device that all hosts share; its size is the plan's, or --size
    #[arg(long, requires = "rank")]
    pub(crate) own_range: bool,
    /// Print every cell and how long it all takes, and with --on what cannot be run there; measure nothing, change nothing
    #[arg(long, group = "fresh")]
    pub(crate) dry_run: bool,
    /// Carry on with a run that was interrupted or killed
    #[arg(long, value_name = "RUN", conflicts_with_all = ["fresh", "on", "driven", "seed", "verify_only"])]
    pub(crate) resume: Option<String>,
    /// Read back and check what a stored run with verify = true wrote; measure nothing
    #[arg(long, value_name = "RUN", conflicts_with_all = ["fresh", "seed"])]
    pub(crate) verify_only: Option<String>,
    /// Leave test files in place
    #[arg(long, group = "fresh")]
    pub(crate) keep: bool,
    /// What to call the run; by default the plan's name
    #[arg(long, value_parser = super::name, value_name = "NAME", group = "fresh")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) driving: Driving,
    #[command(flatten)]
    pub(crate) live: LiveArguments,
    #[command(flatten)]
    pub(crate) printing: Printing,
}

#[cfg(test)]
mod tests {
    use crate::arguments::CommandLine;
    use clap::Parser;

    #[test]
    fn a_stored_run_takes_no_option_of_a_fresh_one() {
        let parse = |verb: &str, stored: &str, more: &str| {
            let words = format!("loadline {verb} {stored} r {more}");
            CommandLine::try_parse_from(words.split_whitespace()).map(drop).map_err(|error| error.kind())
        };
        let fresh = "p.toml|--env e|--trials 3|--duration 1s|--warm-up 1s|--size 1GiB|--objective 5ms|--short|--dry-run|--seed 1|--name n";
        let driven =
            "--keep|--on a=b|--read-only|--overwrite t|--engine aio|--sqpoll|--iopoll|--wait asleep|--verify-only r";
        let modelled = "--volume v|--on a=b|--together|--catalog d|--draws 3|--published|--bursts empty|--caches cold|--carry|--hours 1|\
                        --part 1/2|--threads 2|--output f";
        let crawled = "w|--into d|--on a=b|--incremental|--name n|--seed 1";
        for (verb, stored, options) in [
            ("run", "--resume", [fresh, driven].join("|")),
            ("run", "--verify-only", [fresh, "--keep"].join("|")),
            ("predict", "--resume", [fresh, modelled].join("|")),
            ("crawl", "--resume", [crawled, "--stored r"].join("|")),
            ("crawl", "--stored", crawled.to_owned()),
        ] {
            for option in options.split('|') {
                let refused = Err(clap::error::ErrorKind::ArgumentConflict);
                assert_eq!(parse(verb, stored, option), refused, "{verb} {stored} {option}");
            }
            parse(verb, stored, "").unwrap();
        }
        parse("run", "--resume", "--yes").unwrap();
        parse("run", "--verify-only", "--on a=b --engine aio").unwrap();
    }
}
