//! The limit of open files, as far as it bounds the number of clients.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Other files of this process: sockets, timers, the store, what the system's libraries open for a moment.
const OTHERS: usize = 96;
/// Sockets of an encrypted client: its own, and both ends of the plain one.
const ENCRYPTED: usize = 3;

/// Files that clients may have open together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Descriptors(usize);

impl Descriptors {
    /// Raises the limit of open files to what the system allows: mostly 1,024 are set although many more are allowed. `reserved`
    /// files are for disks and control connections.
    pub(crate) fn raised(reserved: usize) -> Self {
        let limit = getrlimit(Resource::Nofile);
        // Where it is refused there are fewer clients.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
        let most = getrlimit(Resource::Nofile).current.and_then(|most| usize::try_from(most).ok());
        Self(most.unwrap_or(usize::MAX).saturating_sub(OTHERS + reserved))
    }

    /// Clients that there is room for; at least one.
    pub(crate) const fn clients(self, encrypted: bool) -> usize {
        let each = if encrypted { ENCRYPTED } else { 1 };
        let clients = self.0 / each;
        if clients == 0 { 1 } else { clients }
    }
}
