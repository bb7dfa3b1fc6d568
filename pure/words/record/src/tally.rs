//! What one operation did in a stretch of time.

use crate::{Histogram, SecondOperation};

/// One operation in a stretch of time. The order of fields matters: compilers join two adjacent sums into one of two
/// parts, which takes more instructions than both.
#[derive(Debug, Clone, Default)]
#[repr(C)]
pub struct Tally {
    /// Requests.
    pub count: u64,
    /// From when a request was due.
    pub latency: Histogram,
    /// Until it was issued.
    pub waiting: Histogram,
    /// From when it was submitted.
    pub service: Histogram,
    /// Bytes of the requests.
    pub bytes: u64,
}

impl Tally {
    /// Adds another stretch.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.bytes += other.bytes;
        self.latency.merge(&other.latency);
        self.waiting.merge(&other.waiting);
        self.service.merge(&other.service);
    }
    /// Begins anew; histograms keep their memory.
    pub fn clear(&mut self) {
        (self.count, self.bytes) = (0, 0);
        self.latency.clear();
        self.waiting.clear();
        self.service.clear();
    }
    /// As a second of a series.
    #[must_use]
    pub fn in_second(&self) -> SecondOperation {
        SecondOperation { count: self.count, ..SecondOperation::of(&self.latency, self.bytes) }
    }
}
