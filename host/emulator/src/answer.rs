//! What is asked of the model on behalf of a client, and what the client gets in the end.

use crate::contents::Settles;
use loadline_block::{ErrorKind, Operation};
use loadline_emulation::Slicing;
use loadline_nbd::NbdError;
use loadline_nbd::reply::ReplyTo;
use loadline_units::Instant;

/// Shorter reads leave in one piece when they end.
const AHEAD_MIN: u64 = 64 << 10;

/// What an answer consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Body {
    /// The bytes of the range.
    Data,
    /// Success.
    Done,
    /// Success of a write, for those who are told its length.
    Written,
    /// An error; `read`: of a read.
    Error { error: NbdError, read: bool },
    /// What is data and what is hole; `one`: the first run only.
    Extents { one: bool },
}

/// A request to the model, for a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ask {
    pub(crate) connection: u32,
    /// Which of the exports.
    pub(crate) export: u16,
    pub(crate) cut: Slicing,
    pub(crate) operation: Operation,
    pub(crate) durable: bool,
    pub(crate) offset: u64,
    pub(crate) length: u64,
    pub(crate) to: ReplyTo,
    pub(crate) body: Body,
    /// What an answer without error settles.
    pub(crate) settles: Settles,
    /// Bytes of a long read may leave before it ends, up to its last ones.
    pub(crate) ahead: bool,
    /// When it was handed to the model.
    pub(crate) due_at: Instant,
}

/// How much of an answer may leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaves {
    /// All of it.
    Whole,
    /// A read's bytes but for the last ones: it ends soon.
    Ahead,
    /// What [`Leaves::Ahead`] kept back.
    Rest,
}

/// An answer for a client.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer {
    pub(crate) connection: u32,
    pub(crate) to: ReplyTo,
    pub(crate) body: Body,
    /// Which of the exports.
    pub(crate) export: u16,
    /// What it settles when it leaves: [`crate::export::Export::settle`].
    pub(crate) settles: Settles,
    /// Of the range.
    pub(crate) length: u64,
    pub(crate) leaves: Leaves,
    /// What the model did; `None`: it was not asked.
    pub(crate) timed: Option<Timed>,
}

impl Answer {
    /// Why it tells of no success.
    pub(crate) const fn error(&self) -> Option<ErrorKind> {
        if let Body::Error { error, .. } = self.body { Some(error.kind()) } else { None }
    }

    /// Whether it carries bytes, at most `length` of them.
    pub(crate) fn has_at_most(&self, length: u64) -> bool {
        self.body == Body::Data && self.length <= length
    }
}

/// How a request went in the model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timed {
    pub(crate) operation: Operation,
    pub(crate) due_at: Instant,
    pub(crate) completed_at: Instant,
}

impl Ask {
    /// The answer, which came at `completed_at`; with `error` where the model says that it failed.
    pub(crate) fn answer(&self, completed_at: Instant, error: Option<ErrorKind>) -> Answer {
        let timed = Timed { operation: self.operation, due_at: self.due_at, completed_at };
        let read = self.body == Body::Data;
        let body = error.map_or(self.body, |error| Body::Error { error: told(error), read });
        Answer {
            connection: self.connection,
            to: self.to,
            body,
            export: self.export,
            settles: self.settles,
            length: self.length,
            leaves: Leaves::Whole,
            timed: Some(timed),
        }
    }

    /// Whether bytes of it leave before it ends.
    #[inline]
    pub(crate) fn goes_ahead(&self) -> bool {
        self.ahead && self.body == Body::Data && self.length >= AHEAD_MIN
    }
}

/// What a client is told of an error of the model.
const fn told(error: ErrorKind) -> NbdError {
    match error {
        ErrorKind::NoSpace => NbdError::NoSpace,
        ErrorKind::Denied => NbdError::Denied,
        _ => NbdError::Io,
    }
}
