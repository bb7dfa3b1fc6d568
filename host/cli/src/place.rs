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
    SharedKeys {
        /// One of those who have a key, as bytes of any kind.
        user: Vec<u8>,
        file: PathBuf,
    },
}

impl Place {
    /// Over a unix socket nobody has to encrypt: there a URI does where it can name all that it takes.
    pub(crate) fn uri(&self, export: &str, secrecy: &Secrecy) -> String {
        let (user, keys) = match secrecy {
            Secrecy::SharedKeys { user, file } => {
                (format!("{}@", escaped(user, UNRESERVED)), Some(format!("tls-psk-file={}", in_query(file))))
            }
            Secrecy::None | Secrecy::Certificates => (String::new(), None),
        };
        match self {
            Self::Unix(path) => {
                let scheme = if keys.is_some() { "nbds+unix" } else { "nbd+unix" };
                let socket = format!("socket={}", in_query(path));
                let query = [Some(socket), keys].into_iter().flatten().collect::<Vec<_>>().join("&");
                format!("{scheme}://{user}/{export}?{query}")
            }
            Self::Tcp(address) => {
                let scheme = if matches!(secrecy, Secrecy::None) { "nbd" } else { "nbds" };
                let query = keys.map(|keys| format!("?{keys}")).unwrap_or_default();
                format!("{scheme}://{user}{address}/{export}{query}")
            }
        }
    }
}

/// Characters besides letters and digits that mean themselves anywhere in a URI, and those of a path in its query.
const UNRESERVED: &[u8] = b"-._~";
const IN_QUERY: &[u8] = b"/-._~";

/// A path, from the root, as it stands in the query of a URI.
fn in_query(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    escaped(path.as_os_str().as_bytes(), IN_QUERY)
}

fn escaped(bytes: &[u8], plain: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        if byte.is_ascii_alphanumeric() || plain.contains(byte) {
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
    fn a_uri_names_what_encryption_takes() {
        let keys = Secrecy::SharedKeys { user: b"al/ice@home".to_vec(), file: "/etc/my keys.psk".into() };
        assert_eq!(
            Place::Unix("/s".into()).uri("data", &keys),
            "nbds+unix://al%2Fice%40home@/data?socket=/s&tls-psk-file=/etc/my%20keys.psk"
        );
        let tcp = Place::Tcp("127.0.0.1:10809".parse().unwrap());
        assert_eq!(
            tcp.uri("data", &keys),
            "nbds://al%2Fice%40home@127.0.0.1:10809/data?tls-psk-file=/etc/my%20keys.psk"
        );
        assert_eq!(tcp.uri("data", &Secrecy::Certificates), "nbds://127.0.0.1:10809/data");
        assert_eq!(tcp.uri("data", &Secrecy::None), "nbd://127.0.0.1:10809/data");
    }
}
