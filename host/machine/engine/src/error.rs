//! What can keep a trial from running at all. Failures of single requests are counted in the record instead.

use crate::remedy::Remedy;
use loadline_units::Bytes;
use loadline_workload::{RegionUnfit, SpecError};

/// A trial that could not be started.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The load contradicts itself.
    #[error("the load cannot be run: {0}")]
    Spec(#[from] SpecError),
    /// The volume cannot hold the load.
    #[error("volume {volume}: {source}; give a smaller size, a smaller block or fewer threads")]
    Region {
        /// The volume's name.
        volume: String,
        /// What does not fit.
        source: RegionUnfit,
    },
    /// The load writes and the volume may not be written.
    #[error("volume {volume} was opened for reading only, and {load} writes")]
    ReadOnly {
        /// The volume's name.
        volume: String,
        /// The load, for people.
        load: String,
    },
    /// The load is to be verified, and the target is null.
    #[error(
        "volume {volume} is null, which keeps nothing, so nothing could be read back; leave verify out or name storage"
    )]
    KeepsNothing {
        /// The volume's name.
        volume: String,
    },
    /// An engine that was asked for cannot be had here.
    #[error("{engine} cannot be used on volume {volume}: {reason}")]
    Unavailable {
        /// The engine or the option.
        engine: &'static str,
        /// The volume's name.
        volume: String,
        /// Why not.
        reason: String,
    },
    /// An NBD server that lacks what the load asks for.
    #[error("volume {volume}: {load} needs {what}; {remedy}")]
    Lacking {
        /// The volume's name.
        volume: String,
        /// The load, for people.
        load: String,
        /// What the server does not do.
        what: String,
        /// What to change.
        remedy: &'static str,
    },
    /// Blocks are not what direct I/O takes.
    #[error(
        "volume {volume}: direct I/O needs multiples of {logical_block}, the load asks for {asked}; use a larger block or align, or buffered = true"
    )]
    Alignment {
        /// The volume's name.
        volume: String,
        /// The device's logical block.
        logical_block: Bytes,
        /// What the load asks for.
        asked: Bytes,
    },
    /// The load needs too much memory for its buffers.
    #[error(
        "the load keeps {needed} of buffers in flight, more than the {allowed} that loadline takes; lower the depth, the threads or the block"
    )]
    Buffers {
        /// What it would take.
        needed: Bytes,
        /// The bound.
        allowed: Bytes,
    },
    /// The volume became full while it was being filled.
    #[error(
        "no room on volume {volume} to fill it: {} were to be written before the load, and {} were ({source})",
        wanted.human(), written.human()
    )]
    NoRoom {
        /// The volume's name.
        volume: String,
        /// What was to be written.
        wanted: Bytes,
        /// What was.
        written: Bytes,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The operating system refused something that the engine needs.
    #[error("cannot {attempted}: {source}")]
    Os {
        /// What was attempted, on what.
        attempted: String,
        /// The system's answer.
        source: std::io::Error,
    },
}

impl EngineError {
    /// Whether the same load on the same volume would be refused every time; otherwise the system may think better of it.
    #[must_use]
    pub const fn is_lasting(&self) -> bool {
        match self {
            Self::Spec(_)
            | Self::Region { .. }
            | Self::ReadOnly { .. }
            | Self::KeepsNothing { .. }
            | Self::Unavailable { .. }
            | Self::Lacking { .. }
            | Self::Alignment { .. }
            | Self::Buffers { .. } => true,
            Self::NoRoom { .. } | Self::Os { .. } => false,
        }
    }
    /// What would let the load run; `None` where the text says it, or nothing is known.
    #[must_use]
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::ReadOnly { .. } => Some(Remedy::AllowWrites),
            Self::NoRoom { .. } => Some(Remedy::SmallerSize),
            Self::Unavailable { engine: "SQPOLL", .. } => Some(Remedy::NoSubmissionThread),
            Self::Unavailable { engine: "IOPOLL", .. } => Some(Remedy::NoCompletionPolling),
            Self::Unavailable { .. } => Some(Remedy::AutomaticEngine),
            _ => None,
        }
    }
    pub(crate) fn os(attempted: impl Into<String>, source: std::io::Error) -> Self {
        Self::Os { attempted: attempted.into(), source }
    }
}
