//! The arguments of `shelter`.

use super::Printing;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `shelter`.
#[derive(Debug, Args)]
#[command(
    disable_help_subcommand = true,
    after_help = "The file is explained in docs/formats/shelter.md, the whole in docs/shelter.md.\n\n\
                  Examples:\n  \
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
    /// Runs the service: prepares the disk, restores, saves until SIGTERM, then saves once more
    Run,
    /// Shows the service's report, and what a start would do now
    Status {
        #[command(flatten)]
        printing: Printing,
    },
    /// Takes the disk as it is into the shelter: keeps its folders, saves its files, confirms deletions
    Adopt,
    /// Restores onto an empty disk, as a start does
    Restore {
        /// Replace what is on the disk: its folder, named once more
        #[arg(long, value_name = "FOLDER")]
        over: Option<PathBuf>,
        /// Restore this generation instead of the newest one
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
