//! The URI by which a client reaches an emulated volume.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Where clients find an emulation.
pub(crate) enum Place {
    Unix(PathBuf),
    Tcp(SocketAddr),
}

/// What clients need to encrypt.
pub(crate) enum Secrecy {
    None,
    Certificates,
}

impl Place {
    /// Over a unix socket nobody has to encrypt: there a URI does where it can name all that it takes.
    pub(crate) fn uri(&self, export: &str, secrecy: &Secrecy) -> String {
        match self {
            Self::Unix(path) => format!("nbd+unix:///{export}?socket={}", in_query(path)),
            Self::Tcp(address) => {
                let scheme = if matches!(secrecy, Secrecy::None) { "nbd" } else { "nbds" };
                format!("{scheme}://{address}/{export}")
            }
        }
    }
}

/// Characters besides letters and digits that mean themselves in the query of a URI.
const IN_QUERY: &[u8] = b"/-._~";

/// A path, from the root, as it stands in the query of a URI.
fn in_query(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    escaped(path.as_os_str().as_bytes())
}

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
        let place = Place::Unix(PathBuf::from("/run/a b&c.sock"));
        for secrecy in [Secrecy::None, Secrecy::Certificates] {
            assert_eq!(place.uri("data/0", &secrecy), "nbd+unix:///data/0?socket=/run/a%20b%26c.sock");
        }
    }

    #[test]
    fn a_uri_says_whether_it_is_encrypted() {
        let tcp = Place::Tcp("127.0.0.1:10809".parse().unwrap());
        assert_eq!(tcp.uri("data", &Secrecy::Certificates), "nbds://127.0.0.1:10809/data");
        assert_eq!(tcp.uri("data", &Secrecy::None), "nbd://127.0.0.1:10809/data");
    }
}
