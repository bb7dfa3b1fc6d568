//! Requests to the model on behalf of clients, and their answers.

use crate::contents::Settles;
use loadline_block::{ErrorKind, Operation};
use loadline_emulation::Slicing;
use loadline_nbd::NbdError;
use loadline_nbd::reply::ReplyTo;
use loadline_units::Instant;

/// The shortest read with early send.
const AHEAD_MIN: u64 = 64 << 10;

/// The body of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplyBody {
    /// The bytes of the range.
    Data,
    /// Success.
    Done,
    /// Success of a write, for receivers that report its length.
    Written,
    /// An error; `read`: of a read.
    Error { error: NbdError, read: bool },
    /// The extents of data and holes; `one`: the first one only.
    Extents { one: bool },
}

/// A request to the model on behalf of a receiver of answers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ModelRequest {
    pub(crate) connection: u32,
    /// Which of the exports.
    pub(crate) export: u16,
    pub(crate) cut: Slicing,
    pub(crate) operation: Operation,
    pub(crate) durable: bool,
    pub(crate) offset: u64,
    pub(crate) length: u64,
    pub(crate) to: ReplyTo,
    pub(crate) body: ReplyBody,
    /// What a successful answer settles.
    pub(crate) settles: Settles,
    /// A long read may be sent early.
    pub(crate) ahead: bool,
    /// When it was submitted to the model.
    pub(crate) due_at: Instant,
}

/// Which part of a reply may leave: `send_queue` explains early send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerPart {
    /// The whole reply.
    Whole,
    /// A read's bytes except the last page: it completes soon.
    Early,
    /// The rest of an early read, which is complete.
    Rest,
}

/// An answer for a client.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer {
    pub(crate) connection: u32,
    pub(crate) to: ReplyTo,
    pub(crate) body: ReplyBody,
    /// Which of the exports.
    pub(crate) export: u16,
    /// What it settles when it leaves: `Export::settle`.
    pub(crate) settles: Settles,
    /// Of the range.
    pub(crate) length: u64,
    pub(crate) part: AnswerPart,
    /// Its times in the model; `None`: the model was not asked.
    pub(crate) timed: Option<ModelTimes>,
}

impl Answer {
    /// Why it is not a success.
    pub(crate) const fn error(&self) -> Option<ErrorKind> {
        if let ReplyBody::Error { error, .. } = self.body { Some(error.kind()) } else { None }
    }

    /// Whether it carries bytes, at most `length` of them.
    pub(crate) fn has_at_most(&self, length: u64) -> bool {
        self.body == ReplyBody::Data && self.length <= length
    }
}

/// The times of a request in the model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ModelTimes {
    pub(crate) operation: Operation,
    pub(crate) due_at: Instant,
    pub(crate) completed_at: Instant,
}

impl ModelRequest {
    /// The answer at `completed_at`, with the model's error if it failed.
    pub(crate) fn answer(&self, completed_at: Instant, error: Option<ErrorKind>) -> Answer {
        let timed = ModelTimes { operation: self.operation, due_at: self.due_at, completed_at };
        let read = self.body == ReplyBody::Data;
        let body = error.map_or(self.body, |error| ReplyBody::Error { error: protocol_error(error), read });
        Answer {
            connection: self.connection,
            to: self.to,
            body,
            export: self.export,
            settles: self.settles,
            length: self.length,
            part: AnswerPart::Whole,
            timed: Some(timed),
        }
    }

    /// Whether it is sent early.
    #[inline]
    pub(crate) fn goes_ahead(&self) -> bool {
        self.ahead && self.body == ReplyBody::Data && self.length >= AHEAD_MIN
    }
}

/// The protocol's error for an error of the model.
const fn protocol_error(error: ErrorKind) -> NbdError {
    match error {
        ErrorKind::NoSpace => NbdError::NoSpace,
        ErrorKind::Denied => NbdError::Denied,
        _ => NbdError::Io,
    }
}
