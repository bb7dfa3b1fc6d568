//! What can be typed: every verb and option, once, for parsing, help, man pages and completions.

pub(crate) mod advise;
pub(crate) mod catalog;
pub(crate) mod clock;
pub(crate) mod compare;
pub(crate) mod convert;
pub(crate) mod crawl;
pub(crate) mod doctor;
pub(crate) mod emulate;
pub(crate) mod explore;
pub(crate) mod export;
pub(crate) mod fault;
pub(crate) mod hunt;
pub(crate) mod import;
pub(crate) mod list;
pub(crate) mod live;
pub(crate) mod merge;
pub(crate) mod quick;
pub(crate) mod record;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod shelter;
pub(crate) mod sweep;
pub(crate) mod time;
pub(crate) mod watch;

use crate::examples::with_examples;
use advise::AdviseArguments;
use catalog::CatalogArguments;
use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Args, Command, CommandFactory, Parser, Subcommand, ValueEnum};
use clock::ClockArguments;
use compare::CompareArguments;
use convert::ConvertArguments;
use crawl::CrawlArguments;
use doctor::DoctorArguments;
use emulate::EmulateArguments;
use explore::ExploreArguments;
use export::ExportArguments;
use fault::FaultArguments;
use hunt::HuntArguments;
use import::ImportArguments;
use list::{ListArguments, TagArguments};
use live::AttachArguments;
pub(crate) use live::{LiveArguments, MetricsArguments, ShownArguments};
use loadline_catalog::{CommitmentTerm, Currency, Discount};
use loadline_disk::BurstCredits;
use loadline_prediction::{DRAWS_DEFAULT, DRAWS_MAX};
use loadline_runs::prices::PriceChoice;
use loadline_store::Tag;
use loadline_units::{Bytes, Duration};
use loadline_workload::{Objective, parse_objective};
use merge::MergeArguments;
use quick::QuickArguments;
use record::RecordArguments;
use replay::ReplayArguments;
use report::ReportArguments;
use run::RunArguments;
use shelter::ShelterArguments;
use std::path::PathBuf;
use sweep::{RowsArguments, SweepArguments};
use time::TimeArguments;
use watch::WatchArguments;

/// Measures, or predicts, how much load storage can take, and what stops it.
#[derive(Debug, Parser)]
#[command(
    name = "loadline",
    bin_name = "loadline",
    version,
    max_term_width = 100,
    propagate_version = false,
    disable_help_subcommand = true,
    after_help = "`loadline help VERB` explains a verb.\n\
                  Exit status: 0 done; 1 failed; 2 usage; 3 an objective, a comparison or a check came out against; 4 inconclusive; \
                  130 interrupted (what was finished is kept).\n\
                  Sizes, rates and times carry their unit: \"8 KiB\", \"200 MB/s\", \"5000 IOPS\", \"20 ms\"."
)]
pub(crate) struct CommandLine {
    /// Options that every verb takes.
    #[command(flatten)]
    pub(crate) common: Common,
    /// What to do.
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// Options that every verb takes.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// Where runs are kept; by default loadline/runs.db under the user's data directory [env: LOADLINE_STORE]
    #[arg(long, global = true, display_order = 900, value_name = "FILE")]
    pub(crate) store: Option<PathBuf>,
    /// No progress; results and errors only
    #[arg(long, short, global = true, display_order = 901)]
    pub(crate) quiet: bool,
}

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Format {
    /// For people
    #[default]
    Table,
    /// For programs
    Json,
    /// For spreadsheets
    Csv,
    /// For issues and wikis
    Markdown,
}

/// The option of every verb that prints results.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Printing {
    /// How results are printed to standard output
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", hide_possible_values = true)]
    #[arg(help = "How results are printed: table, json, csv or markdown")]
    pub(crate) format: Format,
}

/// Verbs that answer a question: they print a screen of it, and all on request.
const ANSWERING: [&str; 14] = [
    "quick", "run", "predict", "hunt", "crawl", "advise", "show", "compare", "replay", "watch", "doctor", "import",
    "merge", "emulate",
];
/// The option that prints all.
const ALL: &str = "all";

/// Verbs that make runs, which they can tag.
const RUN_MAKING: [&str; 10] =
    ["quick", "run", "predict", "hunt", "crawl", "replay", "watch", "import", "merge", "emulate"];
/// The option that tags.
const TAG: &str = "tag";

/// What chooses runs for a folder of pages, and is of no use to other reports.
const FILTERS: [&str; 6] = ["tag", "name", "volume", "status", "verb", "limit"];

/// All that can be typed, with examples.
pub(crate) fn command_line() -> Command {
    let all = Arg::new(ALL).long(ALL).action(ArgAction::SetTrue);
    let all = all.help("Every row, finding and doubt, not only a screen of those that carry the verdict");
    let tag = Arg::new(TAG).long(TAG).action(ArgAction::Append).value_name("KEY=VALUE");
    let tag = tag
        .value_parser(|typed: &str| typed.parse::<Tag>())
        .help("Say this of the run, as in host=db1, or a word, as in baseline");
    let line = with_examples(CommandLine::command());
    let line = ANSWERING.iter().fold(line, |line, verb| line.mut_subcommand(verb, |of| of.arg(&all)));
    let line = RUN_MAKING.iter().fold(line, |line, verb| line.mut_subcommand(verb, |of| of.arg(&tag)));
    line.mut_subcommand("report", |of| {
        FILTERS.iter().fold(of, |of, filter| of.mut_arg(filter, |filter| filter.requires(ALL)))
    })
}

/// What is to be said of the runs that a verb makes.
pub(crate) fn tags_of_new_runs(found: &ArgMatches) -> Vec<Tag> {
    let of_verb = found.subcommand().filter(|(verb, _)| RUN_MAKING.contains(verb));
    let tags = of_verb.and_then(|(_, of)| of.get_many::<Tag>(TAG));
    tags.into_iter().flatten().cloned().collect()
}

/// Whether all is to be printed.
pub(crate) fn is_all_wanted(found: &ArgMatches) -> bool {
    let of_verb = found.subcommand().filter(|(verb, _)| ANSWERING.contains(verb));
    of_verb.is_some_and(|(_, of)| of.get_flag(ALL))
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Measures the storage under PATH in about a minute: table, findings, loadline-report.html
    Quick(QuickArguments),
    /// Measures a plan on one or more volumes
    Run(RunArguments),
    /// Predicts what a plan would do on storage that is described, in virtual time
    Predict(PredictArguments),
    /// Varies one factor at a time around a cell: what moves its ceiling, what is ruled out
    Hunt(HuntArguments),
    /// Crawls folders, sites and tables into an index and a database: what bound each source
    Crawl(CrawlArguments),
    /// The process that reads PDF and Office files for a crawl, which starts it
    #[command(hide = true)]
    ReadDocuments,
    /// From a need to a ranked list: machine, disks, layout and cache by monthly price, with what binds each
    Advise(Box<AdviseArguments>),
    /// Lists stored runs
    List(ListArguments),
    /// Says something of a stored run, to find it again: words, keys with values, a note
    Tag(TagArguments),
    /// Shows a stored run: its findings, its figures and what to doubt
    Show(ShowArguments),
    /// Compares stored runs, or volumes of one: better, worse, same, cannot tell
    Compare(CompareArguments),
    /// Makes a modelled disk of a measured one: an environment file that predict and emulate take
    Fit(FitArguments),
    /// Makes one run of those that several hosts made together on one shared storage
    Merge(MergeArguments),
    /// Compares the wall clocks of hosts, for `merge`
    Clock(ClockArguments),
    /// Removes stored runs
    Rm(RmArguments),
    /// Writes a report of stored runs, or a folder of pages about all of them
    Report(ReportArguments),
    /// Stores what another tool measured, as a run: fio, diskspd, vdbench and ten others
    Import(ImportArguments),
    /// Writes a stored run for other programs
    Export(ExportArguments),
    /// Lists the plans that come with loadline
    Plans(PlansArguments),
    /// Lists the environments that come with loadline
    Environments(EnvironmentsArguments),
    /// Disks and VM sizes as sold: their limits, how these are held, and where that is from
    Catalog(CatalogArguments),
    /// Serves the volumes and disks of an environment over NBD, so that any program can run on them
    Emulate(EmulateArguments),
    /// Lets things go wrong in a running emulation: errors, delays, lost disks, power cuts
    Fault(FaultArguments),
    /// Puts recorded requests on other storage: modelled, in virtual time, or real
    Replay(ReplayArguments),
    /// Shows what others ask of storage now, and what limits them; makes no load
    Watch(WatchArguments),
    /// Shows what a watch or a recording of another terminal sees now
    Live(AttachArguments),
    /// Records an application's requests on a real device, to replay them elsewhere
    Record(RecordArguments),
    /// Writes a trace in the format of another tool, or a plan as its commands
    Convert(ConvertArguments),
    /// Writes the page that computes: what to buy and what storage would do, in a browser without network
    Explore(ExploreArguments),
    /// Keeps the data of an ephemeral disk: saves it, and restores it before services start
    Shelter(ShelterArguments),
    /// Says what this machine can do and what would spoil a measurement here
    Doctor(DoctorArguments),
    /// Prints shell completions
    Completions(CompletionsArguments),
    /// Writes the man pages
    Man(ManArguments),
}

/// Where entries come from beside those that come along.
#[derive(Debug, Args)]
pub(crate) struct Own {
    /// A folder of catalog files of your own; an entry in it counts before one of the same name that comes along
    #[arg(long, value_name = "DIR")]
    pub(crate) catalog: Option<PathBuf>,
}

/// Which prices count.
#[derive(Debug, Args)]
pub(crate) struct Priced {
    /// Which prices count: newest (of each name in a region, of those that come along and of `catalog update`), shipped, updated, or a price
    /// list's file
    #[arg(long, value_name = "WHICH", default_value = "newest", value_parser = price_choice, hide_default_value = true)]
    pub(crate) prices: PriceChoice,
}

/// Reads [`Priced`].
#[allow(clippy::unnecessary_wraps, reason = "clap's parsers return results")]
fn price_choice(typed: &str) -> Result<PriceChoice, String> {
    Ok(match typed {
        "newest" => PriceChoice::Newest,
        "shipped" => PriceChoice::Shipped,
        "updated" => PriceChoice::Updated,
        file => PriceChoice::List(PathBuf::from(file)),
    })
}

/// What is paid in place of list prices.
#[derive(Debug, Default, Args)]
pub(crate) struct Paying {
    /// A discount on list prices: 12%, or of a provider, of machines or disks, of names that begin so: aws=12%, aws/machines=12%,
    /// aws/machines/m5=15%. May be given several times; of several the most exact counts
    #[arg(long, value_name = "SHARE")]
    pub(crate) discount: Vec<Discount>,
    /// What machines cost for who pays for 1y or 3y by the month (AWS)
    #[arg(long, value_name = "TERM", value_parser = commitment)]
    pub(crate) commit: Option<CommitmentTerm>,
    /// Only prices in this currency, as the provider lists them
    #[arg(long, value_name = "LETTERS", value_parser = currency)]
    pub(crate) currency: Option<Currency>,
}

/// For how long one commits to pay.
fn commitment(typed: &str) -> Result<CommitmentTerm, String> {
    let found = CommitmentTerm::ALL.into_iter().find(|term| term.name() == typed);
    found.ok_or_else(|| "write 1y or 3y".to_owned())
}

/// A currency's three letters.
fn currency(typed: &str) -> Result<Currency, String> {
    Currency::parse(&typed.to_uppercase()).ok_or_else(|| "write its three letters, as in EUR".to_owned())
}

/// What may be done to targets, and how they are driven.
#[derive(Debug, Clone, Args)]
#[command(group = ArgGroup::new("driven").multiple(true))]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Driving {
    /// Write nothing to the target, whatever the plan says
    #[arg(long, conflicts_with = "overwrite", group = "driven")]
    pub(crate) read_only: bool,
    /// Allow writing to a target that exists: name it again; once more with the serial or UUID that a refusal asks for
    #[arg(long, value_name = "TARGET", group = "driven")]
    pub(crate) overwrite: Vec<String>,
    /// The way to the device: auto, io_uring, aio or threads
    #[arg(long, value_enum, default_value_t, value_name = "ENGINE", hide_possible_values = true, group = "driven")]
    pub(crate) engine: EngineName,
    /// Let a kernel thread submit (io_uring only)
    #[arg(long, group = "driven")]
    pub(crate) sqpoll: bool,
    /// Poll for completions (io_uring only, on devices that can)
    #[arg(long, group = "driven")]
    pub(crate) iopoll: bool,
    /// How load threads wait for answers: auto (awake where that brings more of them) or asleep, as applications and fio do
    #[arg(long, value_enum, default_value_t, value_name = "HOW", hide_possible_values = true, group = "driven")]
    pub(crate) wait: WaitName,
    /// Say yes beforehand where loadline would ask or refuse: others keep the device busy for 80 % of the time, or the target of
    /// `quick` is memory
    #[arg(long)]
    pub(crate) yes: bool,
    /// Seed of every random choice; by default drawn anew and stored with the run
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
}

/// Ways of waiting by the names that people type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum WaitName {
    /// Awake where that brings more answers
    #[default]
    Auto,
    /// Asleep only
    Asleep,
}

/// Engines by the names that people type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum EngineName {
    /// The best that machine and target allow
    #[default]
    Auto,
    /// `io_uring`
    #[value(name = "io_uring", alias = "io-uring", alias = "uring")]
    IoUring,
    /// Linux AIO
    Aio,
    /// One thread for each outstanding request
    Threads,
}

/// What a prediction takes for true.
#[derive(Debug, Args)]
pub(crate) struct Modelling {
    #[command(flatten)]
    pub(crate) own: Own,
    /// How often what is not known exactly is drawn within its uncertainty; the first draw is the most plausible
    #[arg(long, value_name = "COUNT", default_value_t = DRAWS_DEFAULT, value_parser = clap::value_parser!(u32).range(1..=i64::from(DRAWS_MAX)))]
    pub(crate) draws: u32,
    /// Limits exactly as published, not as they are known to be delivered
    #[arg(long)]
    pub(crate) published: bool,
    /// Credits of bursts when a load begins: full, empty, or apart for disks and the VM, as in disks=full,vm=empty
    #[arg(long, default_value = "full", value_name = "STATE")]
    pub(crate) bursts: BurstCredits,
    /// What hosts' caches hold when a load begins: cold for nothing, warm for the beginning of each disk. By default warm
    /// for loads whose target is filled first, as it is before they are measured
    #[arg(long, value_enum, value_name = "STATE", hide_possible_values = true)]
    pub(crate) caches: Option<CachesName>,
    /// Each trial goes on where the one before it left the storage; one draw, as many trials as the plan wants
    #[arg(long, conflicts_with = "draws")]
    pub(crate) carry: bool,
}

/// `predict`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("fresh").multiple(true))]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct PredictArguments {
    /// Plan files (TOML), fio job files, names from `loadline plans`, or `-- fio --name=...`
    #[arg(required_unless_present = "resume", group = "fresh")]
    pub(crate) plan: Vec<String>,
    /// The storage: an environment file (TOML), or a name from `loadline environments`. Given several times: each is predicted, and
    /// they are compared. A folder of such files: a row for each
    #[arg(long, value_name = "FILE", required_unless_present = "resume", group = "fresh")]
    pub(crate) env: Vec<String>,
    /// Only this volume of the environment; data/0 is the first disk of data. By default the plan runs on each volume
    #[arg(long, value_name = "NAME", group = "fresh")]
    pub(crate) volume: Vec<String>,
    /// The same, with the name that it has in the results
    #[arg(long, value_name = "NAME=VOLUME", conflicts_with = "volume", group = "fresh")]
    pub(crate) on: Vec<String>,
    /// Load all volumes at the same time: one plan for all of them, or one for each in their order. Loads that stand at the same
    /// place run together
    #[arg(long, conflicts_with = "carry", group = "fresh")]
    pub(crate) together: bool,
    #[command(flatten)]
    pub(crate) modelling: Modelling,
    /// Time of each load in hours, in place of the plan's, without warm-up: shows when a burst ends
    #[arg(long, value_name = "HOURS", conflicts_with_all = ["short", "duration", "warm_up"], group = "fresh")]
    pub(crate) hours: Option<Hours>,
    /// Trials of each cell at least; there is one for each draw in any case
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
    #[arg(long, value_parser = objective, value_name = "LATENCY", group = "fresh")]
    pub(crate) objective: Option<Objective>,
    /// Keep the plan's shape, cut its times short: 3 s each at most
    #[arg(long, group = "fresh")]
    pub(crate) short: bool,
    /// By ceilings and burst credits alone, as a fluid: microseconds for each load, no percentiles. Prints a row for each load
    #[arg(long, conflicts_with_all = ["resume", "find_objective", "dry_run", "carry", "together"])]
    pub(crate) limits_only: bool,
    #[command(flatten)]
    pub(crate) sweep: SweepArguments,
    #[command(flatten)]
    pub(crate) rows: RowsArguments,
    /// Look for the deepest queue, or the highest rate of arrivals, that keeps the plan's objective; its own depths and rates
    /// are only where to begin. Exits with 3 where nothing keeps it
    #[arg(long, conflicts_with_all = ["resume", "trials", "hours", "together", "carry"])]
    pub(crate) find_objective: bool,
    /// Print every cell and how much virtual time it takes; predict nothing
    #[arg(long, group = "fresh")]
    pub(crate) dry_run: bool,
    /// Carry on with a prediction that was interrupted or killed
    #[arg(long, value_name = "RUN", conflicts_with_all = ["fresh", "catalog", "draws", "published", "bursts", "caches", "carry", "part", "threads", "output"])]
    pub(crate) resume: Option<String>,
    /// Seed of every random choice; by default drawn anew and stored with the run
    #[arg(long, value_name = "NUMBER", group = "fresh")]
    pub(crate) seed: Option<u64>,
    /// What to call the run; by default the names of the plan and the environment
    #[arg(long, value_parser = name, value_name = "NAME", group = "fresh")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) printing: Printing,
}

/// A time in hours, such as 24 or 1.5: a second at least, a year at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hours(pub(crate) Duration);

impl std::str::FromStr for Hours {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const YEAR: f64 = 8_760.0;
        let hours = text.trim().parse::<f64>().ok().filter(|hours| (1.0 / 3_600.0..=YEAR).contains(hours));
        let ms = hours.map(|hours| (hours * 3_600e3).round() as u64);
        ms.map(|ms| Self(Duration::from_ms(ms)))
            .ok_or_else(|| format!("write a number of hours up to {YEAR}, such as 24 or 1.5"))
    }
}

/// What caches hold, by the names that people type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CachesName {
    /// Nothing
    Cold,
    /// The beginning of each disk
    Warm,
}

/// `show`.
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct ShowArguments {
    /// The run: its id, the beginning of it, its name, or "last" for the one added last, imports among them. By default the last or,
    /// with a time, the newest watch that holds it
    pub(crate) run: Option<String>,
    #[command(flatten)]
    pub(crate) time: TimeArguments,
    /// Of a watch: when which limit held. Of a recorder all of its hours, or those of --since and --until
    #[arg(long, conflicts_with_all = ["series", "cell", "limits", "objective", "plan", "env"])]
    pub(crate) incidents: bool,
    /// Only this cell, by its number in the table (from 1); or those whose id begins with, or label contains, this
    #[arg(long, value_name = "CELL")]
    pub(crate) cell: Option<String>,
    /// Judge by this latency in place of the run's own, "20 ms" (mean) or p99="5 ms"; exits with 3 where it is missed
    #[arg(long, value_parser = objective, value_name = "LATENCY")]
    pub(crate) objective: Option<Objective>,
    /// Every limit known: those that the environment declares, and those inferred from the measurements with their intervals
    #[arg(long, conflicts_with_all = ["series", "cell"])]
    pub(crate) limits: bool,
    /// The one-second series of each trial in place of the summary
    #[arg(long)]
    pub(crate) series: bool,
    /// The text of the plan in place of the summary, to run it again or hunt with it; of several plans the one called NAME. Values
    /// from the command line of the run are not in it, and told on standard error
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true, default_missing_value = "", conflicts_with_all = ["series", "cell", "limits", "format"])]
    pub(crate) plan: Option<String>,
    /// The text of the environment in place of the summary, to predict or hunt with it
    #[arg(long, conflicts_with_all = ["series", "cell", "limits", "format", "plan"])]
    pub(crate) env: bool,
    #[command(flatten)]
    pub(crate) printing: Printing,
}

/// `fit`.
#[derive(Debug, Args)]
pub(crate) struct FitArguments {
    /// The run: its id, the beginning of it, its name, or "last" for the one added last, imports among them
    #[arg(default_value = "last")]
    pub(crate) run: String,
    /// Where the environment goes; by default to standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write it in the place of a file that is there
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// What to call the environment; by default the run's name
    #[arg(long, value_parser = name, value_name = "NAME")]
    pub(crate) name: Option<String>,
}

/// `rm`.
#[derive(Debug, Args)]
pub(crate) struct RmArguments {
    /// The runs: ids, or the beginnings of them
    #[arg(required = true)]
    pub(crate) runs: Vec<String>,
    /// Print what would be removed; remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// `plans`.
#[derive(Debug, Args)]
pub(crate) struct PlansArguments {
    #[command(subcommand)]
    pub(crate) verb: Option<PlansVerb>,
    #[command(flatten)]
    pub(crate) printing: Printing,
}

/// What to do with plans other than list them.
#[derive(Debug, Subcommand)]
pub(crate) enum PlansVerb {
    /// Prints a plan as it is written
    Show {
        /// Its name
        name: String,
    },
}

/// `environments`.
#[derive(Debug, Args)]
pub(crate) struct EnvironmentsArguments {
    #[command(subcommand)]
    pub(crate) verb: Option<EnvironmentsVerb>,
    #[command(flatten)]
    pub(crate) printing: Printing,
}

/// What to do with environments other than list them.
#[derive(Debug, Subcommand)]
pub(crate) enum EnvironmentsVerb {
    /// Prints an environment as it is written
    Show {
        /// Its name
        name: String,
    },
    /// What environments cost in a month, by the prices of a region in the catalog: machine and disks
    Cost {
        /// Names of environments that come with loadline, or files
        #[arg(required = true, value_name = "ENVIRONMENT")]
        environments: Vec<String>,
        /// The region, as in "us-east-1"
        #[arg(long, value_name = "NAME")]
        region: String,
        #[command(flatten)]
        own: Own,
        #[command(flatten)]
        priced: Priced,
        #[command(flatten)]
        paying: Paying,
        #[command(flatten)]
        printing: Printing,
    },
    /// Prints the environment of this machine: what its cloud (Azure, AWS, Google Cloud) and its devices tell
    Recognise {
        /// What `aws ec2 describe-volumes` printed (JSON): an AWS machine is not told the types of its volumes
        #[arg(long, value_name = "FILE")]
        volumes: Option<PathBuf>,
    },
}

/// `completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// bash, elvish, fish, powershell or zsh
    #[arg(value_name = "SHELL", hide_possible_values = true)]
    pub(crate) shell: clap_complete::Shell,
}

/// `man`.
#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// The directory that receives them; made if it is missing
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
}

/// A latency to keep.
pub(crate) fn objective(typed: &str) -> Result<Objective, String> {
    parse_objective(typed).map_err(|error| error.to_string())
}

/// A name, as plans have it too: one line, so that tables stay tables.
pub(crate) fn name(typed: &str) -> Result<String, String> {
    let (length, most) = (typed.chars().count(), loadline_workload::NAME_MAX);
    if typed.trim().is_empty() || length > most || typed.chars().any(char::is_control) {
        return Err(format!("write one line of 1 to {most} characters"));
    }
    Ok(typed.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_do_not_contradict_each_other() {
        command_line().debug_assert();
    }

    #[test]
    fn a_size_without_a_unit_is_refused() {
        let parsed = CommandLine::try_parse_from(["loadline", "run", "p.toml", "--size", "4096"]);
        assert_eq!(parsed.unwrap_err().kind(), clap::error::ErrorKind::ValueValidation);
    }

    #[test]
    fn a_name_is_one_line() {
        let run = |name: &str| CommandLine::try_parse_from(["loadline", "run", "p.toml", "--name", name]).map(drop);
        run("Größe, 2nd try").unwrap();
        for name in ["", " ", "two\nlines", "\u{1b}[31mred", &"x".repeat(101)] {
            assert_eq!(run(name).unwrap_err().kind(), clap::error::ErrorKind::ValueValidation, "{name:?}");
        }
    }

    #[test]
    fn resume_takes_its_settings_from_the_run() {
        let parsed = CommandLine::try_parse_from(["loadline", "run", "--resume", "last", "--size", "1 GiB"]);
        assert_eq!(parsed.unwrap_err().kind(), clap::error::ErrorKind::ArgumentConflict);
    }

    #[test]
    fn read_only_and_overwrite_exclude_each_other() {
        let parsed = CommandLine::try_parse_from(["loadline", "quick", "--read-only", "--overwrite", "/dev/x"]);
        assert_eq!(parsed.unwrap_err().kind(), clap::error::ErrorKind::ArgumentConflict);
    }
}
