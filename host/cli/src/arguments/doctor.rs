//! The arguments of `doctor`.

use super::Printing;
use clap::Args;
use std::path::PathBuf;

/// `doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// Directory, file or block device to look at
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,
    #[command(flatten)]
    pub(crate) printing: Printing,
}
