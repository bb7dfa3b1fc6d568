//! Where a server is on this machine or network: sockets and hosts are looked up, compared and connected to.

use super::NbdStream;
use loadline_kernel::system_calls::connect_unix;
use loadline_nbd::uri::{NbdUri, ServerAddress, percent_encoded};
use loadline_units::Duration;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::fs::MetadataExt;
use std::path::{self, Path};
use std::{fs, io};

/// How long a socket, and each address of a host, may take to answer.
const CONNECT_TIME: Duration = Duration::from_s(10);

/// Whether both are the same export, however it is spelled: the socket by any path, the host by its name or by its address.
pub(crate) fn is_same_export(one: &NbdUri, other: &NbdUri) -> bool {
    one.export == other.export
        && match (&one.server, &other.server) {
            (ServerAddress::Socket(one), ServerAddress::Socket(other)) => is_same_socket(one, other),
            (ServerAddress::Host(one, a), ServerAddress::Host(other, b)) => is_same_host(one, other) && a == b,
            _ => false,
        }
}

/// The address that both lead to, if they are the same export of two host names. Waits for the name service.
pub(crate) fn common_address(one: &NbdUri, other: &NbdUri) -> Option<SocketAddr> {
    let (ServerAddress::Host(host, a), ServerAddress::Host(another, b)) = (&one.server, &other.server) else {
        return None;
    };
    if one.export != other.export || a != b {
        return None;
    }
    let addresses = |host: &str| -> Option<Vec<SocketAddr>> {
        let plain = |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
        Some((host, *a).to_socket_addrs().ok()?.map(plain).collect())
    };
    let others = addresses(another)?;
    addresses(host)?.into_iter().find(|address| others.contains(address))
}

/// Connects to the server.
pub(super) fn connect(server: &ServerAddress) -> io::Result<NbdStream> {
    match server {
        ServerAddress::Socket(path) => connect_unix(path, CONNECT_TIME).map(NbdStream::Unix),
        ServerAddress::Host(host, port) => {
            let mut failure = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
            for address in (host.as_str(), *port).to_socket_addrs()? {
                match TcpStream::connect_timeout(&address, CONNECT_TIME.into()) {
                    // Requests are sent when they are due; TCP must not hold them back to send several together.
                    Ok(stream) => return stream.set_nodelay(true).map(|()| NbdStream::Tcp(stream)),
                    Err(error) => failure = error,
                }
            }
            Err(failure)
        }
    }
}

/// The URI with the absolute path of its socket; `None` if it has no socket, or an absolute path already.
pub(crate) fn with_absolute_socket(uri: &str) -> Option<String> {
    let ServerAddress::Socket(path) = NbdUri::parse(uri).ok()?.server else { return None };
    if path.is_absolute() {
        return None;
    }
    // The query of a URI that was read has nothing but the socket.
    let (before, _) = uri.split_once('?')?;
    Some(format!("{before}?socket={}", percent_encoded(path::absolute(path).ok()?.to_str()?)))
}

/// Whether both paths lead to one socket; if there is none yet, whether they would.
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
