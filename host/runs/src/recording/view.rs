//! What an observer sees of a recording.

use loadline_units::{Bytes, Duration};

/// How far a recording is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RecordView {
    /// Since it began.
    pub elapsed: Duration,
    /// Requests in the trace.
    pub requests: u64,
    /// Those of the last second or so, per second.
    pub iops: f64,
    /// Events that the kernel dropped.
    pub events_lost: u64,
    /// Size of the trace.
    pub size: Bytes,
    /// CPU time of the recording, as a share of one CPU.
    pub own_share: f64,
}
