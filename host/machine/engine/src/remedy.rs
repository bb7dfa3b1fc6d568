//! Remedies: what would let a refused request pass.
//!
//! Errors name the cause and the kind of remedy. Only the program that was asked knows how its user gets the remedy: by an option of
//! a command, a setting, an argument.

/// What a caller can change so that the same request is not refused again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remedy {
    /// Allow writing, which the load needs.
    AllowWrites,
    /// Only read from this target.
    ReadOnly,
    /// Only read from a file that is there already.
    ReadOnlyFile,
    /// Allow overwriting by naming the target, and after it what identifies its contents: see `Access::overwrite`, `Access::identities`.
    HandOver(Vec<String>),
    /// Ask for less of the volume.
    SmallerSize,
    /// Leave the choice of the engine to the machine.
    AutomaticEngine,
    /// Submit without a kernel thread (SQPOLL).
    NoSubmissionThread,
    /// Wait for completions without polling the device (IOPOLL).
    NoCompletionPolling,
}
