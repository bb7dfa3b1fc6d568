//! The arguments of `shelter`.

use super::{Own, Paying, Priced, Printing};
use clap::{Args, Subcommand};
use loadline_advise::iops;
use loadline_units::{ByteRate, Bytes, Iops, Ratio};
use std::path::PathBuf;

/// `shelter`.
#[derive(Debug, Args)]
#[cfg_attr(
    not(feature = "shelter"),
    command(
        before_help = "This build has no shelter. `cargo build --release --features shelter` makes one that has it."
    )
)]
#[command(
    disable_help_subcommand = true,
    after_help = "The file is explained in docs/formats/shelter.md, the whole in docs/shelter.md.\n\n\
                  Examples:\n  \
                  loadline shelter fast.toml plan --env auto --changes 20MiB/s --iops 2000\n  \
                  loadline shelter fast.toml status\n  \
                  loadline shelter fast.toml adopt     take the disk as it is into the shelter\n  \
                  loadline shelter fast.toml unit      print the systemd unit"
)]
pub(crate) struct ShelterArguments {
    /// The shelter: a TOML file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// What to do with it
    #[command(subcommand)]
    pub(crate) action: ShelterAction,
}

/// What to do with a shelter.
#[derive(Debug, Subcommand)]
pub(crate) enum ShelterAction {
    /// Foresees recovery point, recovery time, cost and the application's p99, beside a mirror and a plain persistent disk
    Plan(Box<PlanArguments>),
    /// Runs the service: prepares the disk, restores, saves until SIGTERM, then saves once more
    Run,
    /// Shows the service's report, and what a start would do now
    Status {
        #[command(flatten)]
        printing: Printing,
    },
    /// Takes the disk as it is into the shelter: keeps its folders, saves its files, confirms deletions
    Adopt {
        /// Take over the plain copy that an earlier version kept in this folder, instead of the disk
        #[arg(long, value_name = "FOLDER")]
        from_copy: Option<PathBuf>,
    },
    /// Restores onto an empty disk, as a start does
    Restore {
        /// Replace what is on the disk: its folder, named once more
        #[arg(long, value_name = "FOLDER")]
        over: Option<PathBuf>,
        /// Restore this generation instead of the newest one
        #[arg(long, value_name = "NUMBER")]
        generation: Option<u64>,
    },
    /// Writes what is saved as plain files into a new or empty folder
    Export {
        /// The folder
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
        /// This generation instead of the newest one
        #[arg(long, value_name = "NUMBER")]
        generation: Option<u64>,
    },
    /// Reads everything that is saved and compares it with its hashes
    Verify,
    /// Restores into a scratch folder, compares, and removes it: how long a restore takes
    Drill {
        /// An empty folder with room for everything that is saved
        #[arg(value_name = "FOLDER")]
        scratch: PathBuf,
    },
    /// Prints the systemd unit and the drop-ins of the services behind it
    Unit {
        /// Write them below this folder, such as /etc/systemd/system
        #[arg(long, value_name = "FOLDER")]
        write: Option<PathBuf>,
    },
}

/// `shelter FILE plan`.
#[derive(Debug, Args)]
#[command(
    after_help = "What is unknown is named, with the option that gives it. The exit status is 3 if a recovery point or the\n\
                        objective cannot be kept, and 4 if something is unknown.\n\n\
                        Examples:\n  \
                        loadline shelter fast.toml plan\n  \
                        loadline shelter fast.toml plan --env vm.toml --changes 20MiB/s --iops 2000 --reads 70% --block 8KiB\n  \
                        loadline shelter fast.toml plan --env vm.toml --size 400GiB --files 200 --changes 5MiB/s --format json"
)]
pub(crate) struct PlanArguments {
    /// Machine and disks: a file, a name of `loadline environments`, or auto for this machine
    #[arg(long, value_name = "ENV")]
    pub(crate) env: Option<String>,
    /// The volume of the environment that is the ephemeral disk; by default by its path, else the only local one
    #[arg(long, value_name = "VOLUME", requires = "env")]
    pub(crate) disk: Option<String>,
    /// The volume of the environment that has the destination; by default by its path, else the only other one
    #[arg(long, value_name = "VOLUME", requires = "env")]
    pub(crate) destination: Option<String>,
    /// A stored run that measured the destination
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Bytes that the application writes; by default what the file says, else what the service saved, else the times of the files
    #[arg(long, value_name = "RATE")]
    pub(crate) changes: Option<ByteRate>,
    /// Size of the data, instead of the files on the disk
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<Bytes>,
    /// In how many files it will be; by default one for each GiB
    #[arg(long, value_name = "COUNT", requires = "size", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) files: Option<u64>,
    /// Requests per second of the application
    #[arg(long, value_name = "RATE", value_parser = iops)]
    pub(crate) iops: Option<Iops>,
    /// Its share of reads; by default 70 %
    #[arg(long, value_name = "SHARE", requires = "iops")]
    pub(crate) reads: Option<Ratio>,
    /// The size of its requests; by default 8 KiB
    #[arg(long, value_name = "SIZE", requires = "iops")]
    pub(crate) block: Option<Bytes>,
    /// Prices of this region; by default of the first that has all
    #[arg(long, value_name = "NAME")]
    pub(crate) region: Option<String>,
    #[command(flatten)]
    pub(crate) own: Own,
    #[command(flatten)]
    pub(crate) priced: Priced,
    #[command(flatten)]
    pub(crate) paying: Paying,
    #[command(flatten)]
    pub(crate) printing: Printing,
}
