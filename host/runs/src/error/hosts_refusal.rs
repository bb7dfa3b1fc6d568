//! Why runs of several hosts do not become one, or do not begin together.

use loadline_analysis::MergeError;
use loadline_units::Duration;
use std::path::PathBuf;

/// Why runs of several hosts do not become one, or do not begin together.
#[derive(Debug, thiserror::Error)]
pub enum HostsRefusal {
    /// A merged run was to be carried on with.
    #[error("run {run} was merged from runs of several hosts: it is those that are carried on with")]
    IsMerged {
        /// Its id.
        run: String,
    },
    /// The runs do not belong together.
    #[error(transparent)]
    NotMerged(#[from] MergeError),
    /// The clock of a host was given that none of the runs is of.
    #[error("no run is of the host {host}, whose clock was given; they are of {}", known.join(", "))]
    ClockOfNoHost {
        /// The host.
        host: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// A file of compared clocks cannot be read.
    #[error("{} has no compared clocks: {why}", file.display())]
    NoClocks {
        /// The file.
        file: PathBuf,
        /// Why not.
        why: String,
    },
    /// The time at which hosts were to begin together has passed.
    #[error("the start {start} passed {} ago, by this machine's clock", late.human())]
    StartPassed {
        /// As seconds since 1970.
        start: String,
        /// How long ago.
        late: Duration,
    },
}
