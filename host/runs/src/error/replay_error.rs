//! Why a trace is not replayed.

use loadline_units::Bytes;

/// A trace that cannot be replayed on an environment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// The trace was cut short before it held a request.
    #[error("it was cut short before it held a request: the recorder was killed, or could write no more")]
    CutShort,
    /// The trace holds no request.
    #[error("it holds no request: nothing was asked of the emulation")]
    NoRequest,
    /// A recorded volume is not in the environment.
    #[error(
        "the trace has requests to {volume}, and {environment} has no volume of that name; name its volumes as the recorded \
         environment does"
    )]
    NoVolume {
        /// The recorded volume.
        volume: String,
        /// The environment.
        environment: String,
    },
    /// A recorded volume has no target.
    #[error("the trace has requests to {volume}, and no target stands for it; those named are {}", known.join(", "))]
    NoTarget {
        /// The recorded volume.
        volume: String,
        /// The volumes that have targets.
        known: Vec<String>,
    },
    /// A volume of the environment is too small for the places that were asked for.
    #[error("the trace asks for {} of {volume}, in places of 1 MiB, and {environment} holds {size}", asked_for.human())]
    NoRoom {
        /// The volume.
        volume: String,
        /// The environment.
        environment: String,
        /// Bytes in the places that were asked for.
        asked_for: Bytes,
        /// Size of the volume.
        size: Bytes,
    },
}
