//! How many files this process may have open, as far as that bounds its clients.

use crate::control::CONTROL_CONNECTIONS_MAX;
use crate::metrics::SCRAPES_MAX;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that are open beside those of clients, disks, control connections and scrapes: sockets, timers, the store, what the system's
/// libraries open for a moment.
const OTHERS: usize = 64;
/// Sockets of an encrypted client: its own, and both ends of the plain one.
const ENCRYPTED: usize = 3;

/// Files that clients may have open together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Descriptors(usize);

impl Descriptors {
    /// Lets this process open as many files as the system allows: mostly 1,024 are set where many more are allowed. A file is set
    /// aside for each of so many disks.
    pub(crate) fn raised(disks: usize) -> Self {
        let limit = getrlimit(Resource::Nofile);
        // Where it is refused there are fewer clients.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
        let most = getrlimit(Resource::Nofile).current.and_then(|most| usize::try_from(most).ok());
        Self(most.unwrap_or(usize::MAX).saturating_sub(OTHERS + CONTROL_CONNECTIONS_MAX + SCRAPES_MAX + disks))
    }

    /// Clients that there is room for; at least one.
    pub(crate) const fn clients(self, encrypted: bool) -> usize {
        let each = if encrypted { ENCRYPTED } else { 1 };
        let clients = self.0 / each;
        if clients == 0 { 1 } else { clients }
    }
}
