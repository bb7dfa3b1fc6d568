//! Outstanding requests of a machine, and their planned events.

#![expect(
    clippy::inline_always,
    reason = "what is done for each simulated request is one piece of code: with calls between its steps it is a sixth slower"
)]

use loadline_block::{Completion, ErrorKind, Operation, Request};
use loadline_units::Instant;

/// Low bits of a queue entry that identify its owner; the bits above are the order of insertion.
pub(super) const NUMBER_BITS: u32 = 24;

/// A request that was not answered yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outstanding {
    pub(super) operation: Operation,
    pub(super) durable: bool,
    pub(super) refused: bool,
    pub(super) length: u32,
    pub(super) offset: u64,
    pub(super) due: u64,
    /// Parts without a known end.
    pub(super) parts: u32,
    pub(super) submitted: u64,
    pub(super) admitted: u64,
    pub(super) completed: u64,
}

impl Outstanding {
    #[inline(always)]
    pub(super) const fn new(now: u64, request: &Request) -> Self {
        let Request { operation, durable, length, offset, due_at } = *request;
        let due = due_at.as_ns();
        Self {
            operation,
            durable,
            refused: false,
            length,
            offset,
            due,
            parts: 1,
            submitted: now,
            admitted: now,
            completed: now,
        }
    }

    /// The answer, once it is certain. Field by field: a wide read of narrow writes is slow.
    #[inline(always)]
    pub(super) const fn answer(&self) -> Completion {
        let Self { operation, durable, refused, length, offset, due, submitted, admitted, completed, .. } = *self;
        Completion {
            request: Request { operation, durable, length, offset, due_at: Instant::from_ns(due) },
            submitted_at: Instant::from_ns(submitted),
            admitted_at: Instant::from_ns(admitted),
            completed_at: Instant::from_ns(completed),
            outcome: if refused { Err(ErrorKind::Refused) } else { Ok(()) },
        }
    }
}

/// The known times of a request or part at submission: when it has passed the limits and when it is answered, unless
/// they depend on later events.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnownTimes {
    pub(super) admitted: u64,
    pub(super) completed: u64,
}

impl KnownTimes {
    pub(super) const fn nothing(now: u64) -> Self {
        Self { admitted: now, completed: now }
    }
}

/// A part without a known end, or a run of blocks in write-back.
#[derive(Debug, Clone, Copy)]
pub(super) struct PendingPart {
    pub(super) owner: Owner,
    pub(super) disk: usize,
    pub(super) operation: Operation,
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) since: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    Request(u32),
    /// The number of the write-back on its disk.
    WriteBack(u64),
}

/// Internal events, by the bits above the number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// A part has passed the limits before a disk with limited places.
    Admitted(u32),
    /// A part reaches the head of a spinning disk.
    Arrives(u32),
    /// A disk's head is done with a part.
    Turned(u32),
    /// Blocks have reached their disk.
    WroteBack(u32),
}

impl Event {
    pub(super) const fn encode(self, sequence: u64) -> u64 {
        let (kind, number) = match self {
            Self::Arrives(part) => (0, part),
            Self::Turned(disk) => (1, disk),
            Self::WroteBack(part) => (2, part),
            Self::Admitted(part) => (3, part),
        };
        (sequence << (NUMBER_BITS + 2)) | (kind << NUMBER_BITS) | number as u64
    }
    pub(super) const fn decode(what: u64) -> Self {
        let number = (what & ((1 << NUMBER_BITS) - 1)) as u32;
        match (what >> NUMBER_BITS) & 3 {
            0 => Self::Arrives(number),
            1 => Self::Turned(number),
            2 => Self::WroteBack(number),
            _ => Self::Admitted(number),
        }
    }
}
