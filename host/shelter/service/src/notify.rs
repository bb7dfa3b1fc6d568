//! The messages to systemd: one datagram for each state (sd_notify(3)).

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The service manager that started this process, if one did.
#[derive(Debug, Default)]
pub struct ServiceManager {
    socket: Option<(UnixDatagram, SocketAddr)>,
}

impl ServiceManager {
    /// The one that `NOTIFY_SOCKET` names.
    #[must_use]
    pub fn of_environment() -> Self {
        std::env::var("NOTIFY_SOCKET").map(|name| Self::at(&name)).unwrap_or_default()
    }

    /// The one that listens at this address: a path, or `@` and an abstract name.
    #[must_use]
    pub fn at(name: &str) -> Self {
        let address = match name.strip_prefix('@') {
            Some(name) => SocketAddr::from_abstract_name(name),
            None => SocketAddr::from_pathname(name),
        };
        let socket = UnixDatagram::unbound().ok().zip(address.ok());
        Self { socket }
    }

    /// Sends a state, such as `READY=1`. A manager that does not listen misses it.
    pub(crate) fn tell(&self, state: &str) {
        if let Some((socket, address)) = &self.socket {
            let _ = socket.send_to_addr(state.as_bytes(), address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_arrive_at_a_path_and_at_an_abstract_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let abstract_name = format!("loadline-notify-{}", std::process::id());
        let abstract_address = SocketAddr::from_abstract_name(&abstract_name).unwrap();
        for (socket, name) in [
            (UnixDatagram::bind(&path).unwrap(), path.to_str().unwrap().to_owned()),
            (UnixDatagram::bind_addr(&abstract_address).unwrap(), format!("@{abstract_name}")),
        ] {
            ServiceManager::at(&name).tell("READY=1");
            let mut bytes = [0; 64];
            let length = socket.recv(&mut bytes).unwrap();
            assert_eq!(&bytes[..length], b"READY=1");
        }
        ServiceManager::default().tell("READY=1");
    }
}
