//! The URI by which a client reaches an export.
//!
//! The form is that of the NBD project (NetworkBlockDevice/nbd, `doc/uri.md`, read 2026-11).

use core::net::SocketAddr;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Where a server listens for clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenAddress {
    /// A unix socket, by its path from the root.
    Unix(PathBuf),
    /// TCP.
    Tcp(SocketAddr),
}

/// What a client needs to encrypt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientEncryption {
    /// Nothing: connections are not encrypted.
    None,
    /// TLS with certificates.
    Certificates,
}

impl ListenAddress {
    /// The URI of an export. Over a unix socket nobody has to encrypt, and its URI does not ask for it.
    #[must_use]
    pub fn uri(&self, export: &str, encryption: ClientEncryption) -> String {
        match self {
            Self::Unix(path) => {
                format!("nbd+unix:///{export}?socket={}", escaped(path.as_os_str().as_encoded_bytes()))
            }
            Self::Tcp(address) => {
                let scheme = if encryption == ClientEncryption::None { "nbd" } else { "nbds" };
                format!("{scheme}://{address}/{export}")
            }
        }
    }
}

/// Characters besides letters and digits that mean themselves in the query of a URI.
const IN_QUERY: &[u8] = b"/-._~";

/// A path, as it stands in the query of a URI.
fn escaped(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        if byte.is_ascii_alphanumeric() || IN_QUERY.contains(byte) {
            text.push(char::from(*byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_other_characters_is_escaped_in_a_uri() {
        let address = ListenAddress::Unix(PathBuf::from("/run/a b&c.sock"));
        for encryption in [ClientEncryption::None, ClientEncryption::Certificates] {
            assert_eq!(address.uri("data/0", encryption), "nbd+unix:///data/0?socket=/run/a%20b%26c.sock");
        }
    }

    #[test]
    fn a_uri_says_whether_it_is_encrypted() {
        let tcp = ListenAddress::Tcp("127.0.0.1:10809".parse().unwrap());
        assert_eq!(tcp.uri("data", ClientEncryption::Certificates), "nbds://127.0.0.1:10809/data");
        assert_eq!(tcp.uri("data", ClientEncryption::None), "nbd://127.0.0.1:10809/data");
    }
}
