//! NBD URIs, as the NBD project's `doc/uri.md` defines them: where a server listens, and which of its exports is meant.

use std::path::PathBuf;

/// The port of a server whose URI names none.
pub const DEFAULT_PORT: u16 = 10_809;
/// The longest name of an export, in bytes, by the protocol.
pub const EXPORT_NAME_MAX: usize = 4096;

/// An export of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NbdUri {
    /// Where the server listens.
    pub server: ServerAddress,
    /// Empty for the server's default export.
    pub export: String,
}

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerAddress {
    /// A unix socket.
    Socket(PathBuf),
    /// A host, by name or address, and its TCP port.
    Host(String, u16),
}

/// Why a text is not a URI of an export that loadline can reach.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UriError {
    /// There is no `://`.
    #[error("it is no URI")]
    NoScheme,
    /// The export's name is longer than [`EXPORT_NAME_MAX`].
    #[error("the export's name is longer than the {EXPORT_NAME_MAX} bytes that the protocol allows")]
    ExportNameTooLong,
    /// A key of the query that is not `socket`.
    #[error("{0:?} is nothing that loadline knows of a URI")]
    UnknownKey(String),
    /// A host with a socket.
    #[error("a socket is named, which goes with nbd+unix")]
    SocketWithHost,
    /// A socket with a host.
    #[error("{0:?} stands where nbd+unix has nothing: three slashes precede the export")]
    HostWithSocket(String),
    /// `nbd+unix` without the path of its socket.
    #[error("?socket=PATH is missing")]
    NoSocket,
    /// `nbds`, `nbds+unix`.
    #[error("loadline does not measure over TLS, which would be in every figure")]
    Tls,
    /// Any other scheme.
    #[error("{0} is no way to a server that loadline knows")]
    UnknownScheme(String),
    /// An IPv6 address without its closing bracket.
    #[error("] is missing")]
    NoBracket,
    /// `nbd:///export`.
    #[error("no host is named")]
    NoHost,
    /// The port is not a number of 16 bits.
    #[error("{0:?} has no port that is a number up to 65535")]
    Port(String),
    /// A `%` without its two digits.
    #[error("in {0:?} a % is not followed by two hexadecimal digits")]
    PercentDigits(String),
    /// `%00`.
    #[error("{0:?} has a zero byte in it")]
    ZeroByte(String),
    /// Bytes that are not UTF-8.
    #[error("{0:?} is no UTF-8")]
    NotUtf8(String),
}

/// Whether a target is meant as an NBD URI.
#[must_use]
pub fn is_nbd_uri(target: &str) -> bool {
    let scheme = target.split_once("://").map_or("", |(scheme, _)| scheme);
    scheme == "nbd" || scheme == "nbds" || scheme.starts_with("nbd+") || scheme.starts_with("nbds+")
}

impl NbdUri {
    /// Reads a URI.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(uri: &str) -> Result<Self, UriError> {
        let (scheme, rest) = uri.split_once("://").ok_or(UriError::NoScheme)?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let export = percent_decoded(path)?;
        if export.len() > EXPORT_NAME_MAX {
            return Err(UriError::ExportNameTooLong);
        }
        let mut socket = None;
        for part in query.split('&').filter(|part| !part.is_empty()) {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            match key {
                "socket" => socket = Some(PathBuf::from(percent_decoded(value)?)),
                _ => return Err(UriError::UnknownKey(key.to_owned())),
            }
        }
        let server = match (scheme, socket) {
            ("nbd", None) => host(authority)?,
            ("nbd", Some(_)) => return Err(UriError::SocketWithHost),
            ("nbd+unix", Some(_)) if !authority.is_empty() => {
                return Err(UriError::HostWithSocket(authority.to_owned()));
            }
            ("nbd+unix", Some(path)) if !path.as_os_str().is_empty() => ServerAddress::Socket(path),
            ("nbd+unix", _) => return Err(UriError::NoSocket),
            ("nbds" | "nbds+unix", _) => return Err(UriError::Tls),
            (other, _) => return Err(UriError::UnknownScheme(other.to_owned())),
        };
        Ok(Self { server, export })
    }
}

fn host(authority: &str) -> Result<ServerAddress, UriError> {
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let (name, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (name, rest) = rest.split_once(']').ok_or(UriError::NoBracket)?;
            (name, rest.strip_prefix(':').unwrap_or(rest))
        }
        None => authority.split_once(':').unwrap_or((authority, "")),
    };
    if name.is_empty() {
        return Err(UriError::NoHost);
    }
    let port = if port.is_empty() { Ok(DEFAULT_PORT) } else { port.parse() };
    let port = port.map_err(|_| UriError::Port(authority.to_owned()))?;
    Ok(ServerAddress::Host(percent_decoded(name)?, port))
}

/// A path with %XX in place of each character that has, or may have, a meaning in a URI.
#[must_use]
pub fn percent_encoded(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    let each = |byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    path.bytes().map(each).collect()
}

/// A text with each %XX replaced by its byte.
fn percent_decoded(text: &str) -> Result<String, UriError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |of: Option<u8>| of.and_then(|c| char::from(c).to_digit(16));
        let (high, low) = (digit(rest.next()), digit(rest.next()));
        let (Some(high), Some(low)) = (high, low) else {
            return Err(UriError::PercentDigits(text.to_owned()));
        };
        bytes.push((high << 4 | low) as u8);
    }
    match String::from_utf8(bytes) {
        Ok(text) if text.contains('\0') => Err(UriError::ZeroByte(text)),
        Ok(text) => Ok(text),
        Err(_) => Err(UriError::NotUtf8(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn socket(path: &str, export: &str) -> NbdUri {
        NbdUri { server: ServerAddress::Socket(path.into()), export: export.into() }
    }
    fn tcp(host: &str, port: u16, export: &str) -> NbdUri {
        NbdUri { server: ServerAddress::Host(host.into(), port), export: export.into() }
    }
    fn read(uri: &str) -> NbdUri {
        NbdUri::parse(uri).unwrap()
    }

    #[test]
    fn sockets_hosts_and_exports_are_read() {
        assert_eq!(read("nbd+unix:///data/0?socket=/run/x.sock"), socket("/run/x.sock", "data/0"));
        assert_eq!(read("nbd+unix:///?socket=/run/a%20b%26c"), socket("/run/a b&c", ""));
        assert_eq!(read("nbd+unix://?socket=x"), socket("x", ""));
        assert_eq!(read("nbd://localhost"), tcp("localhost", 10_809, ""));
        assert_eq!(read("nbd://localhost:10810/data"), tcp("localhost", 10_810, "data"));
        assert_eq!(read("nbd://me@[::1]:10810/data"), tcp("::1", 10_810, "data"));
        assert_eq!(read("nbd://[::1]/gr%C3%B6%C3%9Fe"), tcp("::1", 10_809, "größe"));
    }

    #[test]
    fn errors_say_what_is_wrong_with_a_uri() {
        let wrong = |uri: &str, why: &str| {
            let said = NbdUri::parse(uri).unwrap_err().to_string();
            assert!(said.contains(why), "{uri}: {said}");
        };
        wrong("nbd+unix:///data", "?socket=PATH is missing");
        wrong("nbd+unix:///data?socket=", "?socket=PATH is missing");
        wrong("nbd+unix://data?socket=/x", "three slashes");
        wrong("nbd://localhost/data?socket=/x", "nbd+unix");
        wrong("nbd:///data", "no host");
        wrong("nbd://host:http/data", "no port");
        wrong("nbd://[::1/data", "] is missing");
        wrong("nbds://host/data", "TLS");
        wrong("nbd+vsock://2/data", "nbd+vsock");
        wrong("nbd://host/a%2", "hexadecimal");
        wrong("nbd://host/a%00b", "zero byte");
        wrong("nbd://host/%ff", "no UTF-8");
        wrong("nbd+unix:///a?socket=/x&tls-psk-file=y", "tls-psk-file");
        assert!(is_nbd_uri("nbds+unix:///a") && is_nbd_uri("nbd://") && !is_nbd_uri("/dev/nbd0") && !is_nbd_uri("nbd"));
    }
}
