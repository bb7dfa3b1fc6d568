//! The vocabulary of all layers: operations, requests, completions and errors of storage.

use loadline_units::{Bytes, Duration, Instant};

/// The kind of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// Bytes from storage.
    #[default]
    Read,
    /// Bytes to storage.
    Write,
    /// The range's contents are no longer needed.
    Trim,
    /// All completed writes are to be made durable.
    Flush,
}

impl Operation {
    /// Every operation, in the order of [`Operation::index`].
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Trim, Self::Flush];

    /// A dense index for tables.
    #[must_use]
    #[inline]
    pub const fn index(self) -> usize {
        self as usize
    }
    /// The field's word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Trim => "trim",
            Self::Flush => "flush",
        }
    }
}

/// One request to storage. `offset` and `length` are zero for a flush.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The operation.
    pub operation: Operation,
    /// A write that must be durable when it completes (force unit access).
    pub durable: bool,
    /// Length of the range, in bytes.
    pub length: u32,
    /// Start of the range, from the start of the volume.
    pub offset: u64,
    /// When the request is due; latency counts from here.
    pub due_at: Instant,
}

impl Request {
    /// Start of the range.
    #[must_use]
    pub const fn start(&self) -> Bytes {
        Bytes::new(self.offset)
    }
}

/// The times of one request: `due_at <= submitted_at <= admitted_at <= completed_at`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// The request that was completed.
    pub request: Request,
    /// When it was submitted to storage.
    pub submitted_at: Instant,
    /// When it had passed the limits (known to models only; for a real device it is the submission).
    pub admitted_at: Instant,
    /// When the answer came.
    pub completed_at: Instant,
    /// How it ended.
    pub outcome: Result<(), ErrorKind>,
}

impl Completion {
    /// From due to the answer: hides no waiting.
    #[must_use]
    pub const fn latency(&self) -> Duration {
        self.completed_at.since(self.request.due_at)
    }
    /// From due to submitted.
    #[must_use]
    pub const fn waiting(&self) -> Duration {
        self.submitted_at.since(self.request.due_at)
    }
}

/// Why a request failed, as far as it matters for the next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorKind {
    /// The device could not do it (EIO, EREMOTEIO, EILSEQ, ENODATA).
    Io,
    /// No space (ENOSPC, EDQUOT).
    NoSpace,
    /// The device is not there any more (ENXIO, ENODEV, EBADF, ESHUTDOWN).
    Gone,
    /// No answer within the limit set for a hung request, or ETIMEDOUT.
    TimedOut,
    /// The request was refused as malformed or not supported (EINVAL, EOPNOTSUPP).
    Refused,
    /// Not permitted (EPERM, EACCES, EROFS).
    Denied,
    /// Fewer bytes than requested.
    Short,
    /// Anything else.
    Other,
}

impl ErrorKind {
    /// The stable name used in records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Io => "io",
            Self::NoSpace => "no-space",
            Self::Gone => "gone",
            Self::TimedOut => "timed-out",
            Self::Refused => "refused",
            Self::Denied => "denied",
            Self::Short => "short",
            Self::Other => "other",
        }
    }
}

impl std::fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_follow_the_order_of_all() {
        for (index, operation) in Operation::ALL.into_iter().enumerate() {
            assert_eq!(operation.index(), index);
        }
    }

    #[test]
    fn latency_counts_from_when_the_load_wanted_it() {
        let request = Request {
            operation: Operation::Read,
            durable: false,
            length: 4096,
            offset: 0,
            due_at: Instant::from_ns(100),
        };
        let completion = Completion {
            request,
            submitted_at: Instant::from_ns(400),
            admitted_at: Instant::from_ns(400),
            completed_at: Instant::from_ns(1_000),
            outcome: Ok(()),
        };
        assert_eq!(completion.latency().as_ns(), 900);
        assert_eq!(completion.waiting().as_ns(), 300);
    }
}
