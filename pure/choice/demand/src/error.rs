//! Why a file gives no demand.

/// Why a file gives no demand.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DemandError {
    /// Nothing in the file says what it is.
    #[error(
        "{source_name} is none of the known forms: iostat text, sysstat JSON (iostat -o JSON, sadf -j), sadf -d, sar -d, dool CSV, Windows \
         performance log (CSV), Azure Monitor JSON, CloudWatch JSON, Google Cloud Monitoring JSON, Prometheus JSON. Results of a \
         measurement go to `loadline import`. A trace is named by itself: `loadline advise TRACE`"
    )]
    Unknown {
        /// The file.
        source_name: String,
    },
    /// What a known tool writes, and no demand can be read from.
    #[error("{source_name} is {what}: {remedy}")]
    OtherTool {
        /// The file.
        source_name: String,
        /// What it is.
        what: &'static str,
        /// What to record or to run instead.
        remedy: &'static str,
    },
    /// A binary performance log.
    #[error("{source_name} is a binary performance log: convert it with `relog {source_name} -f CSV -o log.csv`")]
    BinaryLog {
        /// The file.
        source_name: String,
    },
    /// It is not what it seems to be.
    #[error("{source_name}:{line}: {message}")]
    Broken {
        /// The file.
        source_name: String,
        /// From 1; 0 for the file as a whole.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// A metric that is not known to be about disks.
    #[error("{source_name}: no metric in it is known; it has {}", .found.join(", "))]
    UnknownMetrics {
        /// The file.
        source_name: String,
        /// The names found.
        found: Vec<String>,
    },
    /// What is needed is not in it.
    #[error("{source_name} lacks {missing}: {remedy}")]
    Missing {
        /// The file.
        source_name: String,
        /// What.
        missing: String,
        /// What to do.
        remedy: String,
    },
    /// Nothing in it says how long an interval is.
    #[error("{source_name} does not say how long an interval is: say it")]
    NoTimes {
        /// The file.
        source_name: String,
    },
    /// The device was asked for and is not there.
    #[error("{source_name} has no device {device:?}; it has {}", .known.join(", "))]
    NoDevice {
        /// The file.
        source_name: String,
        /// The name asked for.
        device: String,
        /// The names in the file.
        known: Vec<String>,
    },
    /// All of its intervals have figures that no storage has.
    #[error("{source_name}: {what}, and no other interval is left: see whether its counters ran over")]
    Impossible {
        /// The file.
        source_name: String,
        /// The first of them.
        what: String,
    },
    /// Nothing was asked in any interval.
    #[error(
        "{source_name}: no interval has a request to {devices}: record while the application works, or name another device"
    )]
    Idle {
        /// The file.
        source_name: String,
        /// The devices that were added up.
        devices: String,
    },
    /// The file has no complete interval.
    #[error("{source_name} has no interval with disk activity figures")]
    Empty {
        /// The file.
        source_name: String,
    },
}

/// An error about the whole file.
pub(crate) fn broken(source_name: &str, line: usize, message: impl Into<String>) -> DemandError {
    DemandError::Broken { source_name: source_name.to_owned(), line, message: message.into() }
}
