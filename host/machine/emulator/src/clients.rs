//! The NBD clients that have a thread: their sockets, how many there may be, and how they are all closed.

use crate::descriptors::Descriptors;
use crate::refusal::Reason;
use parking_lot::{Condvar, Mutex, MutexGuard};
use rustix::fd::OwnedFd;
use rustix::net::{Shutdown, shutdown};
use std::collections::HashMap;
use std::sync::Arc;

/// The most clients at once. One more is turned away.
pub const CONNECTIONS_MAX: usize = 4_096;

/// The sockets of all clients that have a thread.
#[derive(Debug)]
pub(crate) struct ClientThreads {
    /// By number.
    sockets: Mutex<HashMap<u32, Arc<OwnedFd>>>,
    left: Condvar,
    /// Files that may be open.
    descriptors: Descriptors,
}

impl ClientThreads {
    pub(crate) fn new(descriptors: Descriptors) -> Self {
        Self { sockets: Mutex::default(), left: Condvar::new(), descriptors }
    }

    fn sockets(&self) -> MutexGuard<'_, HashMap<u32, Arc<OwnedFd>>> {
        self.sockets.lock()
    }

    /// Registers a client. `is_closed` is asked under the lock that [`ClientThreads::close`] takes, so that no client escapes it.
    ///
    /// # Errors
    /// There are too many; `None`: everything is closed.
    pub(crate) fn admit(
        &self,
        number: u32,
        socket: &Arc<OwnedFd>,
        encrypted: bool,
        is_closed: impl Fn() -> bool,
    ) -> Result<(), Option<Reason>> {
        let mut sockets = self.sockets();
        let room = self.descriptors.clients(encrypted);
        match sockets.len() {
            _ if is_closed() => Err(None),
            there @ CONNECTIONS_MAX.. => Err(Some(Reason::TooMany(there))),
            there if there >= room => Err(Some(Reason::TooManyFiles(there))),
            _ => {
                sockets.insert(number, Arc::clone(socket));
                Ok(())
            }
        }
    }

    /// Removes a client whose thread ends.
    pub(crate) fn forget(&self, number: u32) {
        self.sockets().remove(&number);
        self.left.notify_all();
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.sockets().len()
    }

    /// Closes every connection, and waits until their threads have ended; `wake` ends what the threads wait for. Returns how many
    /// there were.
    pub(crate) fn close(&self, wake: impl FnOnce()) -> usize {
        let mut sockets = self.sockets();
        let count = sockets.len();
        for socket in sockets.values() {
            let _ = shutdown(&**socket, Shutdown::Both);
        }
        wake();
        while !sockets.is_empty() {
            self.left.wait(&mut sockets);
        }
        count
    }
}
