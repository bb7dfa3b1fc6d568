//! Encryption by keys that both sides had before (TLS-PSK), with OpenSSL.

use super::carrier::{Impatient, Session, WAITING_MAX, now};
use super::keys::Keys;
use openssl::error::ErrorStack;
use openssl::ssl::{
    ErrorCode, Ssl, SslContext, SslContextBuilder, SslMethod, SslOptions, SslSessionCacheMode, SslStream, SslVersion,
};
use std::io::{self, Read, Write};

/// Of TLS 1.2: with a fresh exchange for each connection, so that who learns the key later reads nothing that was recorded.
const SUITES: &str = "ECDHE-PSK-CHACHA20-POLY1305:ECDHE-PSK-AES256-CBC-SHA384:ECDHE-PSK-AES128-CBC-SHA256";
/// Of TLS 1.3, where keys shared in advance go with SHA-256, and OpenSSL makes a fresh exchange unless it is told not to.
const SUITES_13: &str = "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256";

/// What a file's keys come to.
pub(super) fn context(keys: Keys) -> Result<SslContext, ErrorStack> {
    let mut builder = SslContextBuilder::new(SslMethod::tls_server())?;
    builder.set_min_proto_version(Some(SslVersion::TLS1_2))?;
    builder.set_cipher_list(SUITES)?;
    builder.set_ciphersuites(SUITES_13)?;
    builder.set_options(
        SslOptions::NO_COMPRESSION
            | SslOptions::NO_RENEGOTIATION
            | SslOptions::NO_TICKET
            | SslOptions::CIPHER_SERVER_PREFERENCE,
    );
    // Each connection shows that it knows the key; none is taken for the continuation of another.
    builder.set_session_cache_mode(SslSessionCacheMode::OFF);
    builder.set_num_tickets(0)?;
    builder.set_psk_server_callback(move |_, identity, room| {
        let key = identity.and_then(|identity| keys.key_of(identity)).unwrap_or_default();
        // A key of no bytes is none.
        Ok(room.get_mut(..key.len()).map_or(0, |room| {
            room.copy_from_slice(key);
            key.len()
        }))
    });
    Ok(builder.build())
}

/// Encrypted bytes on either way between OpenSSL and the socket.
struct Wires {
    came: Vec<u8>,
    /// Bytes of `came` that OpenSSL took.
    taken: usize,
    goes: Vec<u8>,
    /// Bytes of `goes` that the socket took.
    gone: usize,
}

impl Read for Wires {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match (&self.came[self.taken..]).read(bytes)? {
            0 if !bytes.is_empty() => Err(io::ErrorKind::WouldBlock.into()),
            count => {
                self.taken += count;
                Ok(count)
            }
        }
    }
}

impl Write for Wires {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.goes.extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The two sides did not agree on a key.
#[derive(Debug, thiserror::Error)]
#[error("{}; mostly the user is not among the keys here, or has another one", reason(.0))]
struct Unagreed(openssl::ssl::Error);

/// Why, in the library's words, without where in its source that is.
fn reason(error: &openssl::ssl::Error) -> String {
    let first = error.ssl_error().and_then(|all| all.errors().first());
    first.and_then(openssl::error::Error::reason).map_or_else(|| error.to_string(), str::to_owned)
}

/// A connection that OpenSSL encrypts.
pub(super) struct BySharedKey {
    stream: SslStream<Wires>,
    agreed: bool,
    /// The client said good-bye; whatever it sends after it is nothing.
    over: bool,
}

impl BySharedKey {
    pub(super) fn new(context: &SslContext) -> io::Result<Self> {
        let wires = Wires { came: Vec::new(), taken: 0, goes: Vec::new(), gone: 0 };
        let stream = SslStream::new(Ssl::new(context)?, wires)?;
        Ok(Self { stream, agreed: false, over: false })
    }

    /// Goes on with what came.
    fn go_on(&mut self, part: &mut [u8], arrived: &mut Vec<u8>) -> Result<(), openssl::ssl::Error> {
        if !self.agreed {
            self.stream.accept()?;
            self.agreed = true;
        }
        while !self.over {
            match self.stream.ssl_read(part) {
                Ok(count) => arrived.extend_from_slice(&part[..count]),
                Err(error) if error.code() == ErrorCode::ZERO_RETURN => self.over = true,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Session for BySharedKey {
    fn is_handshaking(&self) -> bool {
        !self.agreed
    }
    fn wants_read(&self) -> bool {
        // Answers to a client that asks for fresh keys and does not read them must not pile up.
        self.stream.get_ref().goes.len() < WAITING_MAX
    }
    fn wants_write(&self) -> bool {
        !self.stream.get_ref().goes.is_empty()
    }
    fn receive(&mut self, mut socket: Impatient<'_>, part: &mut [u8], arrived: &mut Vec<u8>) -> io::Result<bool> {
        let Some(count) = now(socket.read(part))? else { return Ok(true) };
        if count == 0 {
            return Ok(false);
        }
        let wires = self.stream.get_mut();
        wires.came.drain(..wires.taken);
        wires.taken = 0;
        if !self.over {
            wires.came.extend_from_slice(&part[..count]);
        }
        match self.go_on(part, arrived) {
            Err(error) if error.code() == ErrorCode::WANT_READ => Ok(true),
            Err(error) if !self.agreed => Err(io::Error::other(Unagreed(error))),
            Err(error) => Err(io::Error::other(error)),
            _ => Ok(true),
        }
    }
    fn encrypt(&mut self, plain: &[u8]) -> io::Result<()> {
        self.stream.write_all(plain)
    }
    fn close(&mut self) {
        // Where it does not go, the end of the socket says the same.
        let _ = self.stream.shutdown();
    }
    fn send(&mut self, mut socket: Impatient<'_>) -> io::Result<()> {
        let wires = self.stream.get_mut();
        while wires.gone < wires.goes.len() {
            let Some(count) = now(socket.write(&wires.goes[wires.gone..]))? else { return Ok(()) };
            wires.gone += count;
        }
        wires.goes.clear();
        wires.gone = 0;
        Ok(())
    }
}
