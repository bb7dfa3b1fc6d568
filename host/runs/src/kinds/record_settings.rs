//! What of an application is recorded, and for how long.

use loadline_units::{Bytes, Duration};
use std::path::PathBuf;

/// What is recorded, and for how long.
#[derive(Debug, Clone)]
pub struct RecordSettings {
    /// The device: its node or its kernel name.
    pub device: String,
    /// The trace. It must not exist.
    pub file: PathBuf,
    /// How long; `None`: until the observer wants an end.
    pub duration: Option<Duration>,
    /// The trace gets no larger.
    pub size_max: Bytes,
    /// The kernel's buffer for each CPU.
    pub buffer: Bytes,
}

impl RecordSettings {
    /// The size that a trace may have by default.
    pub const SIZE_MAX: Bytes = Bytes::gib(2);
    /// The buffer by default: at 200,000 requests a second on one CPU it lasts for some 200 ms.
    pub const BUFFER: Bytes = Bytes::mib(8);
}
