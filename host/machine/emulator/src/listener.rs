//! Listening sockets, unix and TCP.

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, fchmod};
use rustix::net::{
    AddressFamily, Shutdown, SocketAddrUnix, SocketFlags, SocketType, bind, listen, shutdown, socket_with, sockopt,
};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration as Span;

/// Asked of the system for what waits to be sent; it gives what it allows.
const SEND_BUFFER: usize = 1 << 20;
/// Before the next try where the system is short of something.
const PAUSE: Span = Span::from_millis(50);

/// A client of TCP is asked whether it is still there after so long without a word, so often, and so many times before it is not.
const KEEP_IDLE: Span = Span::from_secs(60);
const KEEP_INTERVAL: Span = Span::from_secs(10);
const KEEP_COUNT: u32 = 6;

/// Bytes of a unix socket's path: the kernel's `sun_path` holds one more, which ends it.
const PATH_MAX: usize = 107;

/// Why nothing listens.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Something is there.
    #[error("{0} exists and is not a socket; name another place for the socket")]
    Taken(String),
    /// Somebody listens there.
    #[error("another program listens on {0}; end it or name another place")]
    Busy(String),
    /// A path that the system has no room for.
    #[error("{place} has {length} bytes, and the path of a unix socket may have {PATH_MAX}; name a shorter one")]
    Long {
        /// The path.
        place: String,
        /// Its bytes.
        length: usize,
    },
    /// The folder for it is not there.
    #[error("cannot make the socket {0}: its folder is not there; make it, or name another place")]
    NoFolder(String),
    /// The system's answer.
    #[error("cannot listen on {place}: {error}")]
    System {
        /// Where.
        place: String,
        /// The answer.
        error: io::Error,
    },
}

/// A thread that takes clients in. Dropped, it ends, and a unix socket's file is removed if it is still the same.
#[derive(Debug)]
pub struct Listener {
    socket: Arc<OwnedFd>,
    ending: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    file: Option<SocketFile>,
}

#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    identity: (u64, u64),
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let metadata = std::fs::symlink_metadata(path)?;
    Ok((metadata.dev(), metadata.ino()))
}

/// Clients that wait to be let in.
const CLIENTS_WAITING: i32 = 128;

/// What is done with each client.
pub type Welcome = Box<dyn Fn(OwnedFd) + Send>;

/// Whether a unix socket could be there: nothing is, or one that nobody listens on.
pub(crate) fn check_unix(path: &Path) -> Result<(), ListenError> {
    let place = || path.display().to_string();
    let length = path.as_os_str().len();
    if length > PATH_MAX {
        return Err(ListenError::Long { place: place(), length });
    }
    if let Ok(metadata) = std::fs::symlink_metadata(path) {
        if !metadata.file_type().is_socket() {
            return Err(ListenError::Taken(place()));
        }
        if UnixStream::connect(path).is_ok() {
            return Err(ListenError::Busy(place()));
        }
    }
    if path.parent().is_some_and(|folder| !folder.as_os_str().is_empty() && !folder.is_dir()) {
        return Err(ListenError::NoFolder(place()));
    }
    Ok(())
}

/// Listens on a unix socket that this user alone can reach.
///
/// # Errors
/// Something is there, or the system refuses.
pub fn unix(welcome: Welcome, path: &Path) -> Result<Listener, ListenError> {
    check_unix(path)?;
    let failed = |error| ListenError::System { place: path.display().to_string(), error };
    if std::fs::symlink_metadata(path).is_ok() {
        std::fs::remove_file(path).map_err(failed)?;
    }
    let socket = private_socket(path).map_err(failed)?;
    let file = SocketFile { path: path.to_owned(), identity: identity(path).map_err(failed)? };
    start(welcome, socket, false, Some(file)).map_err(failed)
}

/// A listening socket that only this user can reach, from its first moment on and whatever the umask.
fn private_socket(path: &Path) -> io::Result<OwnedFd> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    // The file gets the mode that the socket has when it is bound.
    fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    bind(&socket, &SocketAddrUnix::new(path)?)?;
    listen(&socket, CLIENTS_WAITING)?;
    Ok(socket)
}

/// Listens on a TCP port.
pub(crate) fn tcp(welcome: Welcome, address: SocketAddr) -> Result<(Listener, SocketAddr), ListenError> {
    let failed = |error: io::Error| {
        let place = address.to_string();
        if error.kind() == io::ErrorKind::AddrInUse {
            ListenError::Busy(place)
        } else {
            ListenError::System { place, error }
        }
    };
    let listener = TcpListener::bind(address).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((start(welcome, listener.into(), true, None).map_err(failed)?, address))
}

fn start(welcome: Welcome, socket: OwnedFd, tcp: bool, file: Option<SocketFile>) -> io::Result<Listener> {
    let (socket, ending) = (Arc::new(socket), Arc::new(AtomicBool::new(false)));
    let (own, over) = (Arc::clone(&socket), Arc::clone(&ending));
    let thread = std::thread::Builder::new().name("listener".into());
    let thread = thread.spawn(move || {
        while !over.load(Ordering::Acquire) {
            match rustix::net::accept_with(&*own, SocketFlags::CLOEXEC) {
                Ok(client) => {
                    if tcp {
                        let _ = sockopt::set_tcp_nodelay(&client, true);
                        // A client whose machine is gone, or that closed its end while nothing is to be sent to it, is found out.
                        let _ = sockopt::set_socket_keepalive(&client, true)
                            .and_then(|()| sockopt::set_tcp_keepidle(&client, KEEP_IDLE))
                            .and_then(|()| sockopt::set_tcp_keepintvl(&client, KEEP_INTERVAL))
                            .and_then(|()| sockopt::set_tcp_keepcnt(&client, KEEP_COUNT));
                    }
                    // Beyond what everyone may have, if the system lets us.
                    if sockopt::set_socket_send_buffer_size_force(&client, SEND_BUFFER).is_err() {
                        let _ = sockopt::set_socket_send_buffer_size(&client, SEND_BUFFER);
                    }
                    welcome(client);
                }
                Err(rustix::io::Errno::INTR | rustix::io::Errno::CONNABORTED) => {}
                // Out of descriptors or memory: it may be better soon.
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
    })?;
    Ok(Listener { socket, ending, thread: Some(thread), file })
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::Release);
        if let Some(file) = &self.file
            && identity(&file.path).is_ok_and(|now| now == file.identity)
        {
            let _ = std::fs::remove_file(&file.path);
        }
        // Wakes the thread.
        let _ = shutdown(&*self.socket, Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_socket_is_for_its_user_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        // The umask is the whole process's, and other tests run: what is seen is what this one asks for.
        let _listener = unix(Box::new(|_| {}), &path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o177, 0);
        UnixStream::connect(&path).unwrap();
    }
}
