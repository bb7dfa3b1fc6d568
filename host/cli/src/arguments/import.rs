//! The options of `import`.

use super::{Own, Printing};
use clap::Args;
use std::path::PathBuf;

/// `import`.
#[derive(Debug, Args)]
pub(crate) struct ImportArguments {
    /// Results as the tool wrote them: fio (JSON, normal text, terse), diskspd, CrystalDiskMark, KDiskMark, Iometer, elbencho, vdbench,
    /// sysbench fileio, ioping, hdparm, dd (docs/formats/import.md). The same job in several files, run
    /// one after the other, makes the trials of one cell. Of a folder, each folder in it becomes a run. Or a table of crawls (CSV:
    /// crawl,source,items,duration,rate,latency)
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// What was measured: an environment file (TOML), or a name from `loadline environments`; names limits by its ceilings
    #[arg(long, value_name = "FILE")]
    pub(crate) env: Option<String>,
    /// Which volume a target in the results is: of the environment, or the name that it gets here
    #[arg(long, value_name = "VOLUME=TARGET")]
    pub(crate) on: Vec<String>,
    /// What to call the run; by default the file's name
    #[arg(long, value_parser = super::name, value_name = "NAME")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) own: Own,
    #[command(flatten)]
    pub(crate) printing: Printing,
}
