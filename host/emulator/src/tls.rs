//! Encryption of connections: certificates, and the thread that carries bytes between an encrypted socket and a plain one.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType, recv, send, shutdown, socketpair,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration as Span;

/// Names of the files in a folder of certificates, as the protocol's other programs use them.
const SERVER_CERTIFICATE: &str = "server-cert.pem";
const SERVER_KEY: &str = "server-key.pem";
const AUTHORITY: &str = "ca-cert.pem";
/// Bytes carried at once.
const PART: usize = 64 << 10;
/// Bytes of the encrypted side that wait to be sent at most.
const WAITING_MAX: usize = 1 << 20;

/// Certificates for encrypted connections.
#[derive(Clone)]
pub struct Tls(Arc<ServerConfig>);

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}

/// Why a folder of certificates cannot be used.
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
        let path = |name: &str| folder.join(name);
        let failed = |what: &'static str, name: &str| {
            let path = path(name).display().to_string();
            move |error| TlsError::File { what, path, error }
        };
        let unfit = |error: &dyn std::fmt::Display| TlsError::Unfit {
            path: folder.display().to_string(),
            error: error.to_string(),
        };
        let certificates = |name: &str| -> Result<Vec<CertificateDer<'static>>, _> {
            CertificateDer::pem_file_iter(path(name))?.collect()
        };
        let chain =
            certificates(SERVER_CERTIFICATE).map_err(failed("the certificate of the server", SERVER_CERTIFICATE))?;
        let key =
            PrivateKeyDer::from_pem_file(path(SERVER_KEY)).map_err(failed("the key of the server", SERVER_KEY))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_safe_default_protocol_versions().map_err(|error| unfit(&error))?;
        let builder = if clients_too {
            let mut roots = RootCertStore::empty();
            for certificate in certificates(AUTHORITY).map_err(failed("the certificate of the authority", AUTHORITY))? {
                roots.add(certificate).map_err(|error| unfit(&error))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(verifier.map_err(|error| unfit(&error))?)
        } else {
            builder.with_no_client_auth()
        };
        let config = builder.with_single_cert(chain, key).map_err(|error| unfit(&error))?;
        Ok(Self(Arc::new(config)))
    }

    /// Encrypts what goes over `socket`: gives the plain end of a pair of sockets; a thread carries bytes between the two until
    /// either is closed.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn encrypt(&self, socket: Arc<OwnedFd>) -> io::Result<OwnedFd> {
        let mut session = ServerConnection::new(Arc::clone(&self.0)).map_err(io::Error::other)?;
        session.set_buffer_limit(Some(WAITING_MAX));
        let (plain, own) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        let thread = std::thread::Builder::new().name("tls".into());
        thread.spawn(move || {
            let mut carrier = Carrier { session, outer: &socket, inner: &own, arrived: Vec::new(), ended: false };
            // However it ends, both sides learn of it by the end of their sockets.
            let _ = carrier.carry();
            let _ = shutdown(&*socket, Shutdown::Both);
            let _ = shutdown(&own, Shutdown::Both);
        })?;
        Ok(plain)
    }
}

/// Carries bytes between an encrypted socket and a plain one.
struct Carrier<'a> {
    session: ServerConnection,
    outer: &'a OwnedFd,
    inner: &'a OwnedFd,
    /// Plain bytes of the client that the plain socket has not taken.
    arrived: Vec<u8>,
    /// The plain side has nothing more to say.
    ended: bool,
}

/// A socket that does not wait.
struct Impatient<'a>(&'a OwnedFd);

impl Read for Impatient<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        Ok(recv(self.0, bytes, RecvFlags::DONTWAIT).map(|(count, _)| count)?)
    }
}

impl Write for Impatient<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(send(self.0, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)?)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// `None`: not now.
fn now<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(None),
        Err(error) => Err(error),
    }
}

impl Carrier<'_> {
    fn carry(&mut self) -> io::Result<()> {
        let mut part = vec![0; PART];
        let begun = std::time::Instant::now();
        loop {
            let talks = self.session.is_handshaking();
            if talks && begun.elapsed() > crate::connection::NEGOTIATION_MAX {
                return Ok(());
            }
            let wants_write = self.session.wants_write();
            if self.ended && !wants_write {
                return Ok(());
            }
            // Neither side is read while the other does not take what is there.
            let reads_outer = self.arrived.is_empty() && self.session.wants_read();
            let reads_inner = !wants_write && !talks && !self.ended;
            let flags = |read: bool, write: bool| {
                let mut flags = PollFlags::empty();
                flags.set(PollFlags::IN, read);
                flags.set(PollFlags::OUT, write);
                flags
            };
            let mut watched = [
                PollFd::from_borrowed_fd(self.outer.as_fd(), flags(reads_outer, wants_write)),
                PollFd::from_borrowed_fd(self.inner.as_fd(), flags(reads_inner, !self.arrived.is_empty())),
            ];
            let timeout = rustix::time::Timespec { tv_sec: 1, tv_nsec: 0 };
            match poll(&mut watched, talks.then_some(&timeout)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let [outer, inner] = watched.map(|watched| watched.revents());
            let gone = PollFlags::HUP | PollFlags::ERR;
            if reads_outer && outer.intersects(PollFlags::IN | gone) {
                if now(self.session.read_tls(&mut Impatient(self.outer)))? == Some(0) {
                    return Ok(());
                }
                let state = self.session.process_new_packets();
                if let Err(error) = state {
                    // The client is told why.
                    let _ = self.session.write_tls(&mut Impatient(self.outer));
                    return Err(io::Error::other(error));
                }
                while let Some(count @ 1..) = now(self.session.reader().read(&mut part))? {
                    self.arrived.extend_from_slice(&part[..count]);
                }
            }
            if !self.arrived.is_empty()
                && let Some(count) = now(Impatient(self.inner).write(&self.arrived))?
            {
                self.arrived.drain(..count);
            }
            if reads_inner && inner.intersects(PollFlags::IN | gone) {
                match now(Impatient(self.inner).read(&mut part))? {
                    None => {}
                    Some(0) => {
                        self.session.send_close_notify();
                        self.ended = true;
                    }
                    Some(count) => self.session.writer().write_all(&part[..count])?,
                }
            }
            while self.session.wants_write() && now(self.session.write_tls(&mut Impatient(self.outer)))?.is_some() {}
            // A side that hung up and is not read from would wake us for ever.
            if (outer.intersects(gone) && !reads_outer) || (inner.intersects(gone) && !self.arrived.is_empty()) {
                std::thread::sleep(Span::from_millis(1));
                if outer.intersects(gone) {
                    return Ok(());
                }
            }
        }
    }
}
