//! Refusals: clients that got no export, or lost theirs by what they sent, and why.

use loadline_nbd::negotiation::NegotiationError;
use loadline_nbd::request::Violation;
use parking_lot::Mutex;
use rustix::fd::OwnedFd;
use rustix::net::{getpeername, sockopt};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// Refusals kept until they are taken; of those beyond only the number.
pub const REFUSALS_MAX: usize = 16;
/// The time within which a client must choose an export.
pub const NEGOTIATION_MAX: Duration = Duration::from_secs(30);
/// The most characters of a program's name that are shown.
const NAME_MAX: usize = 32;

/// Who came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Peer {
    /// Over a unix socket; with the program's name, if it was still there.
    Process(i32, Option<String>),
    /// Over TCP.
    Address(SocketAddr),
    /// The system does not tell.
    Unknown,
}

impl Peer {
    /// Who is at the other end of a socket.
    pub(crate) fn of(socket: &OwnedFd) -> Self {
        if let Ok(Some(address)) = getpeername(socket)
            && let Ok(address) = SocketAddr::try_from(address)
        {
            return Self::Address(address);
        }
        // A process of another namespace has no number here; that is an error too.
        let Ok(credentials) = sockopt::socket_peercred(socket) else { return Self::Unknown };
        let process = credentials.pid.as_raw_nonzero().get();
        let name = std::fs::read_to_string(format!("/proc/{process}/comm")).ok();
        let plain = |c: char| if c.is_control() { '?' } else { c };
        Self::Process(process, name.map(|name| name.trim_end().chars().take(NAME_MAX).map(plain).collect()))
    }
}

impl std::fmt::Display for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Process(process, Some(name)) => write!(f, "process {process} ({name})"),
            Self::Process(process, None) => write!(f, "process {process}"),
            Self::Address(address) => write!(f, "{address}"),
            Self::Unknown => f.write_str("somebody"),
        }
    }
}

/// Why a client got no export, or lost it.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    /// Others are there.
    #[error("{0} clients are there, and there is room for no more")]
    TooMany(usize),
    /// The same, by a bound of the system's.
    #[error(
        "{0} clients are there, and this process may open no more files; let it open more (`ulimit -n`) before it starts"
    )]
    TooManyFiles(usize),
    /// What was agreed on, or not.
    #[error(transparent)]
    Negotiation(#[from] NegotiationError),
    /// It took its time.
    #[error("it chose no export within {} s", NEGOTIATION_MAX.as_secs())]
    Slow,
    /// Encryption did not come about.
    #[error("the TLS handshake failed: {0}")]
    Tls(io::Error),
    /// It had an export, and sent what cannot be gone on with.
    #[error(transparent)]
    Violation(#[from] Violation),
    /// Without chunks it learns of a failed read only by the end of its connection.
    #[error("a read failed after its first bytes had left, as a disk went away")]
    Unfinished,
    /// The system's answer.
    #[error("cannot serve it: {0}")]
    System(io::Error),
}

/// A client that got no export, or lost it.
#[derive(Debug)]
pub struct Refused {
    /// Who.
    pub peer: Peer,
    /// Why.
    pub reason: Reason,
}

/// What the user of the emulation can change, so that such a client is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalRemedy {
    /// Give it certificates or keys.
    OfferTls,
}

impl Refused {
    /// What would let the client in; `None`: nothing on this side.
    #[must_use]
    pub const fn remedy(&self) -> Option<RefusalRemedy> {
        match self.reason {
            Reason::Negotiation(NegotiationError::NoTls) => Some(RefusalRemedy::OfferTls),
            _ => None,
        }
    }
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = if matches!(self.reason, Reason::Violation(_) | Reason::Unfinished) { "Dropped" } else { "Refused" };
        write!(f, "{what} a client, {}: {}.", self.peer, self.reason)
    }
}

/// The refusals that nobody took yet, and the number of all.
#[derive(Debug, Default)]
pub(crate) struct Refusals(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    total: u64,
    kept: Vec<Refused>,
    more: u64,
}

impl Refusals {
    pub(crate) fn add(&self, peer: Peer, reason: Reason) {
        let mut inner = self.0.lock();
        inner.total += 1;
        if inner.kept.len() < REFUSALS_MAX {
            inner.kept.push(Refused { peer, reason });
        } else {
            inner.more += 1;
        }
    }

    pub(crate) fn total(&self) -> u64 {
        self.0.lock().total
    }

    /// Those since the last time, and how many more there were.
    pub(crate) fn take(&self) -> (Vec<Refused>, u64) {
        let mut inner = self.0.lock();
        (std::mem::take(&mut inner.kept), std::mem::take(&mut inner.more))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_counted_and_as_many_kept_as_there_is_room_for() {
        let refusals = Refusals::default();
        (0..REFUSALS_MAX + 3).for_each(|_| refusals.add(Peer::Unknown, Reason::Slow));
        let (kept, more) = refusals.take();
        assert_eq!((kept.len(), more, refusals.total()), (REFUSALS_MAX, 3, REFUSALS_MAX as u64 + 3));
        refusals.add(Peer::Process(7, Some("fio".into())), NegotiationError::TlsRequired.into());
        let (kept, more) = refusals.take();
        let told: Vec<String> = kept.iter().map(Refused::to_string).collect();
        assert_eq!(
            (told, more),
            (vec![format!("Refused a client, process 7 (fio): {}.", NegotiationError::TlsRequired)], 0)
        );
    }
}
