//! One job for every tool, and a tool's results.

use loadline_block::Operation;
use loadline_units::{Bytes, Duration, Iops};
use std::path::{Path, PathBuf};

/// Every request is this large.
pub(crate) const BLOCK: Bytes = Bytes::kib(4);

/// Random requests of 4 KiB by one thread.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) target: Target,
    pub(crate) operation: Operation,
    pub(crate) pace: Pace,
    /// The load before the measurement.
    pub(crate) warm_up: Duration,
    pub(crate) length: Length,
    /// Latency counts from the moment the tool took the request up, submitting included, if it could begin later.
    pub(crate) with_submission: bool,
    /// Tools that may wait awake for answers sleep until they are woken.
    pub(crate) asleep: bool,
    /// The control group that the tool joins first.
    pub(crate) group: Option<PathBuf>,
    /// Decides places and arrivals.
    pub(crate) seed: u64,
}

/// The target of the requests.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    /// Nothing at all.
    Null,
    /// A block device, past the page cache.
    Device(PathBuf),
    /// A file on a file system, past the page cache.
    File(PathBuf),
    /// A file that lies in the page cache, through it.
    CachedFile(PathBuf),
    /// An export of an NBD server that listens on this socket, the one without a name.
    Export(PathBuf),
}

impl Target {
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Null | Self::Export(_) => None,
            Self::Device(path) | Self::File(path) | Self::CachedFile(path) => Some(path),
        }
    }
    /// The URI of an export.
    pub(crate) fn uri(&self) -> Option<String> {
        match self {
            Self::Export(socket) => Some(format!("nbd+unix:///?socket={}", socket.display())),
            Self::Null | Self::Device(_) | Self::File(_) | Self::CachedFile(_) => None,
        }
    }
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Device(_) => "loop",
            Self::File(_) => "file",
            Self::CachedFile(_) => "cached file",
            Self::Export(_) => "export",
        }
    }
}

/// When requests come.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Pace {
    /// This many requests outstanding.
    Depth(u32),
    /// Evenly.
    Constant(Iops),
    /// Independently of each other.
    Poisson(Iops),
}

/// When it is over.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Length {
    Time(Duration),
    /// After one request: for the cost of starting and ending.
    OneRequest,
}

impl Job {
    /// `pace` on `target`, counted from the first request on.
    pub(crate) fn new(target: Target, operation: Operation, pace: Pace, length: Length) -> Self {
        Self {
            target,
            operation,
            pace,
            warm_up: Duration::ZERO,
            length,
            with_submission: false,
            asleep: false,
            group: None,
            seed: 1,
        }
    }
    pub(crate) fn name(&self) -> String {
        let pace = match self.pace {
            Pace::Depth(depth) => format!("depth {depth}"),
            Pace::Constant(rate) => format!("constant {}/s", rate.get()),
            Pace::Poisson(rate) => format!("Poisson {}/s", rate.get()),
        };
        format!("{} {}, {pace}", self.target.name(), self.operation.name())
    }
}

/// A tool's results of a job.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Told {
    pub(crate) requests: u64,
    pub(crate) requests_per_s: f64,
    pub(crate) latency: Option<Latency>,
    /// The mean of the latencies whose percentiles are reported.
    pub(crate) latency_mean_ns: Option<f64>,
    /// From submitted to completed, if the tool reports it separately.
    pub(crate) service_mean_ns: Option<f64>,
    /// From submitted to completed, if the tool reports it separately.
    pub(crate) service_p50: Option<Duration>,
    /// From due to submitted, if requests have due times.
    pub(crate) waiting_p50: Option<Duration>,
    /// Arrivals per second that the load wanted.
    pub(crate) offered_per_s: Option<f64>,
}

/// A latency distribution in brief.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Latency {
    pub(crate) p50: Duration,
    pub(crate) p90: Duration,
    pub(crate) p99: Duration,
    pub(crate) max: Duration,
}
