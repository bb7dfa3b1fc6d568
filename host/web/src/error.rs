//! Why a request has no answer, or an answer no whole body.

use std::borrow::Cow;
use std::io;

/// See the head of this file.
#[derive(Debug, thiserror::Error)]
pub enum WebError {
    /// No address belongs to the host's name.
    #[error("find the address of {host}: {why}")]
    NoAddress {
        /// The host.
        host: String,
        /// What the resolver says.
        why: String,
    },
    /// The connection failed.
    #[error("{doing}: {source}")]
    Io {
        /// What was tried: "send the request".
        doing: Cow<'static, str>,
        /// Why it failed.
        source: io::Error,
    },
    /// The other side is not whom it says to be, or does not encrypt as we do.
    #[error("encrypt the connection: {0}")]
    Tls(#[from] rustls::Error),
    /// The machine trusts nobody.
    #[error("no trusted certificates on this machine")]
    NoCertificates,
    /// No certificate can be for such a name.
    #[error("the host's name is no name")]
    HostName,
    /// The head of the answer has no end.
    #[error("the answer's head is too long")]
    LongHead,
    /// The answer is of another protocol.
    #[error("the answer is no HTTP")]
    NoHttp,
    /// The connection ended before an answer.
    #[error("the connection was closed without an answer")]
    NoAnswer,
    /// The body ended before its stated length.
    #[error("the body is shorter than stated")]
    ShortBody,
    /// The body ended before its last chunk did.
    #[error("the body ended within a chunk")]
    ShortChunk,
    /// The body is not coded as the head says.
    #[error("the body's chunks are no chunks")]
    NoChunks,
    /// Two headers contradict each other.
    #[error("two lengths are stated, and they differ")]
    TwoLengths,
    /// The length is no number.
    #[error("the stated length is no number")]
    NoLength,
    /// The deadline came before the end of the body.
    #[error("the body took too long")]
    LateBody,
    /// The caller wants an end.
    #[error("an end was asked for")]
    Stopped,
}

impl WebError {
    /// Of an error that the reader of a body returned.
    #[must_use]
    pub fn of_body(error: io::Error) -> Self {
        match error.downcast::<Self>() {
            Ok(own) => own,
            Err(error) => Self::body(error),
        }
    }

    pub(crate) fn body(source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => Self::LateBody,
            _ => Self::io("read the body", source),
        }
    }

    /// A failure of the connection. A handshake happens with the first bytes, and fails as their sending or reading does.
    pub(crate) fn io(doing: impl Into<Cow<'static, str>>, source: io::Error) -> Self {
        match source.downcast::<rustls::Error>() {
            Ok(tls) => Self::Tls(tls),
            Err(source) => match source.downcast::<Self>() {
                Ok(own) => own,
                Err(source) => Self::Io { doing: doing.into(), source },
            },
        }
    }

    /// The other side closed the connection.
    pub(crate) fn is_closed(&self) -> bool {
        use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
        let kinds = [BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof];
        matches!(self, Self::NoAnswer) || matches!(self, Self::Io { source, .. } if kinds.contains(&source.kind()))
    }
}
