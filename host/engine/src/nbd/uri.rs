//! Where an export is: an NBD URI, as the NBD project's `doc/uri.md` has them.

use super::Stream;
use loadline_kernel::system_calls::connect_unix;
use loadline_units::Duration;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::fs::MetadataExt;
use std::path::{self, Path, PathBuf};
use std::{fs, io};

/// What a server listens on where the URI names no port.
const PORT: u16 = 10_809;
/// How long a socket, and each address of a host, may take to answer.
const CONNECT_TIME: Duration = Duration::from_s(10);
/// What an export's name may have, by the protocol.
const NAME_MAX: usize = 4096;

/// An export of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) server: Server,
    /// Empty for the one that the server gives whoever names none.
    pub(crate) export: String,
}

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Server {
    Socket(PathBuf),
    Host(String, u16),
}

/// Whether a target is meant as an NBD URI.
pub(crate) fn is_uri(target: &str) -> bool {
    let scheme = target.split_once("://").map_or("", |(scheme, _)| scheme);
    scheme == "nbd" || scheme == "nbds" || scheme.starts_with("nbd+") || scheme.starts_with("nbds+")
}

impl Place {
    /// Reads a URI.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub(crate) fn parse(uri: &str) -> Result<Self, String> {
        let (scheme, rest) = uri.split_once("://").ok_or("it is no URI")?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let export = decoded(path)?;
        if export.len() > NAME_MAX {
            return Err(format!("the export's name is longer than the {NAME_MAX} bytes that the protocol allows"));
        }
        let mut socket = None;
        for part in query.split('&').filter(|part| !part.is_empty()) {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            match key {
                "socket" => socket = Some(PathBuf::from(decoded(value)?)),
                _ => return Err(format!("{key:?} is nothing that loadline knows of a URI")),
            }
        }
        let server = match (scheme, socket) {
            ("nbd", None) => host(authority)?,
            ("nbd", Some(_)) => return Err("a socket is named, which goes with nbd+unix".to_owned()),
            ("nbd+unix", Some(_)) if !authority.is_empty() => {
                return Err(format!(
                    "{authority:?} stands where nbd+unix has nothing: three slashes precede the export"
                ));
            }
            ("nbd+unix", Some(path)) if !path.as_os_str().is_empty() => Server::Socket(path),
            ("nbd+unix", _) => return Err("?socket=PATH is missing".to_owned()),
            ("nbds" | "nbds+unix", _) => {
                return Err("loadline does not measure over TLS, which would be in every figure".to_owned());
            }
            (other, _) => return Err(format!("{other} is no way to a server that loadline knows")),
        };
        Ok(Self { server, export })
    }

    /// Whether both are the same export, however it is spelled: the socket by whatever path, the host by its name or by its address.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.export == other.export
            && match (&self.server, &other.server) {
                (Server::Socket(one), Server::Socket(other)) => is_same_socket(one, other),
                (Server::Host(one, a), Server::Host(other, b)) => is_same_host(one, other) && a == b,
                _ => false,
            }
    }

    /// The address that both lead to, where they are the same export of two hosts by name. Waits for whoever knows the names.
    pub(crate) fn meets(&self, other: &Self) -> Option<SocketAddr> {
        let (Server::Host(one, a), Server::Host(another, b)) = (&self.server, &other.server) else { return None };
        if self.export != other.export || a != b {
            return None;
        }
        let addresses = |host: &str| -> Option<Vec<SocketAddr>> {
            let plain = |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
            Some((host, *a).to_socket_addrs().ok()?.map(plain).collect())
        };
        let others = addresses(another)?;
        addresses(one)?.into_iter().find(|address| others.contains(address))
    }

    /// Connects to the server.
    pub(super) fn connect(&self) -> io::Result<Stream> {
        match &self.server {
            Server::Socket(path) => connect_unix(path, CONNECT_TIME).map(Stream::Unix),
            Server::Host(host, port) => {
                let mut failure = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
                for address in (host.as_str(), *port).to_socket_addrs()? {
                    match TcpStream::connect_timeout(&address, CONNECT_TIME.into()) {
                        // Requests are sent as they are due, not when enough of them have come together.
                        Ok(stream) => return stream.set_nodelay(true).map(|()| Stream::Tcp(stream)),
                        Err(error) => failure = error,
                    }
                }
                Err(failure)
            }
        }
    }
}

/// The URI with the path of its socket from the root on; `None` where it has none, or one that begins there already.
pub(crate) fn with_whole_socket(uri: &str) -> Option<String> {
    let Server::Socket(path) = Place::parse(uri).ok()?.server else { return None };
    if path.is_absolute() {
        return None;
    }
    // Nothing else is known of a URI behind its question mark.
    let (before, _) = uri.split_once('?')?;
    Some(format!("{before}?socket={}", encoded(path::absolute(path).ok()?.to_str()?)))
}

/// Whether both paths lead to one socket; where none is there yet, whether they would.
fn is_same_socket(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| fs::metadata(path).map(|there| (there.dev(), there.ino()));
    match (identity(one), identity(other)) {
        (Ok(one), Ok(other)) => one == other,
        (Err(_), Err(_)) => path::absolute(one).ok() == path::absolute(other).ok(),
        _ => false,
    }
}

/// Whether both are one name, or one address.
fn is_same_host(one: &str, other: &str) -> bool {
    match (one.parse::<IpAddr>(), other.parse::<IpAddr>()) {
        (Ok(one), Ok(other)) => one == other,
        _ => one.eq_ignore_ascii_case(other),
    }
}

fn host(authority: &str) -> Result<Server, String> {
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let (name, port) = match authority.strip_prefix('[').map(|rest| rest.split_once(']').ok_or("] is missing")) {
        Some(parts) => {
            let (name, rest) = parts?;
            (name, rest.strip_prefix(':').unwrap_or(rest))
        }
        None => authority.split_once(':').unwrap_or((authority, "")),
    };
    if name.is_empty() {
        return Err("no host is named".to_owned());
    }
    let port = if port.is_empty() { Ok(PORT) } else { port.parse() };
    let port = port.map_err(|_| format!("{authority:?} has no port that is a number up to 65535"))?;
    Ok(Server::Host(decoded(name)?, port))
}

/// With %XX in place of what means something in a URI, or may.
fn encoded(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    let each = |byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    path.bytes().map(each).collect()
}

/// With each %XX as the byte that it stands for.
fn decoded(text: &str) -> Result<String, String> {
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
            return Err(format!("in {text:?} a % is not followed by two hexadecimal digits"));
        };
        bytes.push((high << 4 | low) as u8);
    }
    match String::from_utf8(bytes) {
        Ok(text) if text.contains('\0') => Err(format!("{text:?} has a zero byte in it")),
        Ok(text) => Ok(text),
        Err(_) => Err(format!("{text:?} is no UTF-8")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn socket(path: &str, export: &str) -> Place {
        Place { server: Server::Socket(path.into()), export: export.into() }
    }
    fn tcp(host: &str, port: u16, export: &str) -> Place {
        Place { server: Server::Host(host.into(), port), export: export.into() }
    }
    fn read(uri: &str) -> Place {
        Place::parse(uri).unwrap()
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
    fn what_is_none_is_told_with_why() {
        let wrong = |uri: &str, why: &str| {
            let said = Place::parse(uri).unwrap_err();
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
        assert!(is_uri("nbds+unix:///a") && is_uri("nbd://") && !is_uri("/dev/nbd0") && !is_uri("nbd"));
    }
}
