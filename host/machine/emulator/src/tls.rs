//! Encryption of connections by certificates: a thread carries bytes between an encrypted socket and a plain one.

mod carrier;
mod certificates;

use crate::clock::Clock;
use crate::priority::ThreadPriority;
use carrier::{Carried, Session};
use parking_lot::Mutex;
use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, Shutdown, SocketFlags, SocketType, shutdown, socketpair};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What encrypted connections take.
#[derive(Clone)]
pub struct Tls {
    config: Arc<rustls::ServerConfig>,
    exposed_key: Option<PathBuf>,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}

/// Why certificates cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read, or holds something else.
    #[error("cannot read {what} in {path}: {error}")]
    File {
        /// What it should hold.
        what: &'static str,
        /// The file.
        path: String,
        /// Why not.
        error: rustls::pki_types::pem::Error,
    },
    /// They do not fit together.
    #[error("the certificates in {path} cannot be used: {error}")]
    Unfit {
        /// The folder.
        path: String,
        /// Why not.
        error: String,
    },
}

impl Tls {
    /// Certificate and key of the server out of a folder, by the names that libnbd, nbdkit and QEMU use: `server-cert.pem`,
    /// `server-key.pem`. With `clients_too`, clients must have a certificate that `ca-cert.pem` signed.
    ///
    /// # Errors
    /// Files that are not there, hold something else, or do not fit together.
    pub fn read(folder: &Path, clients_too: bool) -> Result<Self, TlsError> {
        Ok(Self { config: certificates::read(folder, clients_too)?, exposed_key: certificates::exposed_key(folder) })
    }

    /// The server's key, if every user of this machine may read or write it.
    #[must_use]
    pub fn exposed_key(&self) -> Option<&Path> {
        self.exposed_key.as_deref()
    }

    /// Encrypts what goes over `socket`: gives the plain end of a pair of sockets; a thread carries bytes between the two until
    /// either is closed. The outcome of the handshake is separate.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn encrypt(&self, socket: Arc<OwnedFd>, turns: CarrierTurns) -> io::Result<(OwnedFd, Handshake)> {
        carry(certificates::ByCertificate::new(&self.config)?, socket, turns)
    }
}

/// The talk about how to encrypt.
#[derive(Debug, Clone, Default)]
pub(crate) struct Handshake(Arc<Mutex<Option<io::Error>>>);

impl Handshake {
    /// Why it failed, once the plain end was closed for it; given once.
    pub(crate) fn failure(&self) -> Option<io::Error> {
        self.0.lock().take()
    }
}

/// When a thread that carries bytes runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CarrierTurns {
    /// As soon as it wakes, as long as that is seldom: [`ThreadPriority`].
    pub(crate) hastens: bool,
    pub(crate) clock: Clock,
}

/// A byte that is encrypted takes about as long as so many that are copied.
const ENCRYPTED: u64 = 4;

impl CarrierTurns {
    /// Follows what is carried. Strangers get no priority: it begins with the first bytes of a client that was let in.
    fn follow(self) -> impl FnMut(Carried) {
        let mut priority = None;
        move |carried| {
            let (requests, bytes) = match carried {
                Carried::FromClient(bytes) => (1, bytes),
                Carried::ToClient(bytes) => (0, bytes),
            };
            let priority = priority.get_or_insert_with(|| ThreadPriority::new(self.hastens));
            priority.count(requests, ENCRYPTED * bytes as u64);
            priority.adapt(self.clock);
        }
    }
}

fn carry(
    mut session: impl Session + Send + 'static,
    socket: Arc<OwnedFd>,
    turns: CarrierTurns,
) -> io::Result<(OwnedFd, Handshake)> {
    let (plain, own) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    let thread = std::thread::Builder::new().name("tls".into());
    let handshake = Handshake::default();
    let told = handshake.clone();
    thread.spawn(move || {
        // However it ends, both sides learn of it by the end of their sockets.
        let ended = carrier::carry(&mut session, &socket, &own, turns.follow());
        if session.is_handshaking() {
            *told.0.lock() = ended.err();
        }
        let _ = shutdown(&*socket, Shutdown::Both);
        let _ = shutdown(&own, Shutdown::Both);
    })?;
    Ok((plain, handshake))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The scheduling class of the calling thread: 0 is the normal one.
    fn class() -> u32 {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        // The fields from the third on come behind the name, which is in brackets; the class is the forty-first.
        stat.rsplit(')').next().unwrap().split_whitespace().nth(38).unwrap().parse().unwrap()
    }

    fn on_a_thread<T: Send>(what: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| scope.spawn(what).join().unwrap())
    }

    #[test]
    fn a_thread_that_encrypts_has_the_turns_of_one_that_takes_requests_once_its_client_was_let_in() {
        let clock = Clock::start();
        let hastened = on_a_thread(|| {
            let _haste = ThreadPriority::new(true);
            class()
        });
        if hastened == 0 {
            println!("skipped: the real-time class is not to be had here");
            return;
        }
        for (hastens, expected) in [(true, hastened), (false, 0)] {
            on_a_thread(|| {
                let mut carried = CarrierTurns { hastens, clock }.follow();
                assert_eq!(class(), 0);
                carried(Carried::FromClient(28));
                assert_eq!(class(), expected);
                // Of a disk that nothing holds back it would keep its client from asking.
                let mut stands_back = || {
                    carried(Carried::ToClient(64 << 10));
                    class() != hastened
                };
                assert!((0..2_000).any(|_| stands_back()));
            });
        }
    }
}
