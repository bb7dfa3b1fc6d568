//! Encryption by certificates (x.509), with rustls.

use super::TlsError;
use super::carrier::{Impatient, Session, WAITING_MAX, now};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Names of the files in a folder of certificates, as the protocol's other programs use them.
const SERVER_CERTIFICATE: &str = "server-cert.pem";
const SERVER_KEY: &str = "server-key.pem";
const AUTHORITY: &str = "ca-cert.pem";
/// Bytes of a file of certificates that are read at most.
const CERTIFICATES_MAX: u64 = 4 << 20;
/// What users other than the owner and the group may do.
const OTHERS: u32 = 0o007;

/// What a folder's certificates come to.
pub(super) fn read(folder: &Path, clients_too: bool) -> Result<Arc<ServerConfig>, TlsError> {
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
        CertificateDer::pem_slice_iter(&contents(&path(name))?).collect()
    };
    let chain =
        certificates(SERVER_CERTIFICATE).map_err(failed("the certificate of the server", SERVER_CERTIFICATE))?;
    let key = contents(&path(SERVER_KEY)).and_then(|contents| PrivateKeyDer::from_pem_slice(&contents));
    let key = key.map_err(failed("the key of the server", SERVER_KEY))?;
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
    Ok(Arc::new(config))
}

/// What is in a file of certificates or keys, within a bound.
fn contents(path: &Path) -> Result<Vec<u8>, pem::Error> {
    let mut contents = Vec::new();
    let read = File::open(path).and_then(|file| file.take(CERTIFICATES_MAX + 1).read_to_end(&mut contents));
    read.map_err(pem::Error::Io)?;
    if contents.len() as u64 > CERTIFICATES_MAX {
        let why = format!("it has more than {} MiB", CERTIFICATES_MAX >> 20);
        return Err(pem::Error::Io(io::Error::new(io::ErrorKind::InvalidData, why)));
    }
    Ok(contents)
}

/// The server's key, if users other than its owner and group may read or write it.
pub(super) fn exposed_key(folder: &Path) -> Option<PathBuf> {
    let path = folder.join(SERVER_KEY);
    let mode = std::fs::metadata(&path).ok()?.permissions().mode();
    (mode & OTHERS != 0).then_some(path)
}

/// A connection that rustls encrypts.
pub(super) struct ByCertificate {
    connection: ServerConnection,
}

impl ByCertificate {
    pub(super) fn new(config: &Arc<ServerConfig>) -> io::Result<Self> {
        let mut connection = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
        connection.set_buffer_limit(Some(WAITING_MAX));
        Ok(Self { connection })
    }
}

impl Session for ByCertificate {
    fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }
    fn wants_read(&self) -> bool {
        self.connection.wants_read()
    }
    fn wants_write(&self) -> bool {
        self.connection.wants_write()
    }
    fn receive(&mut self, mut socket: Impatient<'_>, part: &mut [u8], arrived: &mut Vec<u8>) -> io::Result<bool> {
        if now(self.connection.read_tls(&mut socket))? == Some(0) {
            return Ok(false);
        }
        self.connection.process_new_packets().map_err(io::Error::other)?;
        while let Some(count @ 1..) = now(self.connection.reader().read(part))? {
            arrived.extend_from_slice(&part[..count]);
        }
        Ok(true)
    }
    fn encrypt(&mut self, plain: &[u8]) -> io::Result<()> {
        self.connection.writer().write_all(plain)
    }
    fn close(&mut self) {
        self.connection.send_close_notify();
    }
    fn send(&mut self, mut socket: Impatient<'_>) -> io::Result<()> {
        while self.connection.wants_write() && now(self.connection.write_tls(&mut socket))?.is_some() {}
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;

    #[test]
    fn no_file_is_read_beyond_its_bound() {
        let error = contents(Path::new("/dev/zero")).unwrap_err();
        assert!(error.to_string().contains("more than 4 MiB") || format!("{error:?}").contains("more than 4 MiB"));
    }

    #[test]
    fn a_key_that_everyone_may_read_is_told_of() {
        let folder = tempfile::tempdir().unwrap();
        let key = folder.path().join(SERVER_KEY);
        std::fs::write(&key, "").unwrap();
        for (mode, is_exposed) in [(0o600, false), (0o640, false), (0o644, true), (0o606, true)] {
            std::fs::set_permissions(&key, Permissions::from_mode(mode)).unwrap();
            assert_eq!(exposed_key(folder.path()).is_some(), is_exposed, "{mode:o}");
        }
    }
}
