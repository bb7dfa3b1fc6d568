//! Why runs of several hosts do not become one, or do not begin together.

use loadline_analysis::MergeError;
use loadline_record::HostRank;
use loadline_units::{Bytes, Duration};
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
    /// Hosts load in steps, or parts of a target, and this one does not say which it is.
    #[error("this host has no rank: which of the hosts is it?")]
    NoRank,
    /// A step has more hosts than there are.
    #[error("a step of {hosts} hosts is not one of 1 to {of} hosts")]
    StepOfMore {
        /// Hosts of the step.
        hosts: u32,
        /// Hosts that there are.
        of: u32,
    },
    /// Steps are not in order.
    #[error("the numbers of hosts must grow from step to step, and {hosts} does not")]
    StepsDoNotGrow {
        /// Hosts of the step.
        hosts: u32,
    },
    /// A host has nothing to do.
    #[error("rank {rank} loads in no step: the steps have fewer hosts")]
    InNoStep {
        /// The host.
        rank: HostRank,
    },
    /// Hosts cannot load in steps without a common start.
    #[error("hosts load in steps only from a common start on")]
    StepsWithoutStart,
    /// What is to be divided has no size that all hosts know.
    #[error("{load} has no size, and each host would divide what it sees: give one size for all hosts")]
    RangeWithoutSize {
        /// The load.
        load: String,
    },
    /// Parts of loads with ranges of their own would overlap.
    #[error("{} and {} spread over different ranges: the part of one host would lie in that of another", loads[0], loads[1])]
    RangesDiffer {
        /// The loads.
        loads: [String; 2],
    },
    /// There is too little to divide.
    #[error(
        "{whole} in {hosts} parts is too little for {load}: each part is a multiple of {unit} and has at least one block"
    )]
    RangeTooSmall {
        /// The load.
        load: String,
        /// What is divided.
        whole: Bytes,
        /// Into so many parts.
        hosts: u32,
        /// What parts are multiples of.
        unit: Bytes,
    },
    /// A directory has a test file for each host.
    #[error("{target} is a directory, in which each host makes a test file of its own: there is nothing to divide")]
    RangeOfDirectory {
        /// The target.
        target: String,
    },
}
