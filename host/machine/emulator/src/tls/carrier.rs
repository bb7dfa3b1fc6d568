//! What carries bytes between an encrypted socket and a plain one.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::io::{self, Read, Write};
use std::time::Duration as Span;

/// Bytes carried at once.
const PART: usize = 64 << 10;
/// Bytes of the encrypted side that wait to be sent at most.
pub(super) const WAITING_MAX: usize = 1 << 20;

/// The server's side of an encrypted connection. It waits for nothing: what it cannot do at once it does when it is called again.
pub(super) trait Session {
    /// Whether the two sides still agree on how to encrypt; nothing plain can be sent before.
    fn is_handshaking(&self) -> bool;
    /// Whether [`Session::receive`] has room for what comes.
    fn wants_read(&self) -> bool;
    /// Whether something waits to be sent.
    fn wants_write(&self) -> bool;
    /// Takes what came, with `part` as room, and puts what was in it at the end of `arrived`. `false`: nothing more comes.
    ///
    /// # Errors
    /// The socket's; or what came is not to be gone on with, and the reason waits to be sent to the client.
    fn receive(&mut self, socket: Impatient<'_>, part: &mut [u8], arrived: &mut Vec<u8>) -> io::Result<bool>;
    /// Encrypts bytes, which wait to be sent from then on.
    ///
    /// # Errors
    /// The library's.
    fn encrypt(&mut self, plain: &[u8]) -> io::Result<()>;
    /// Says good-bye, which waits to be sent.
    fn close(&mut self);
    /// Sends what waits, as far as the socket takes it.
    ///
    /// # Errors
    /// The socket's.
    fn send(&mut self, socket: Impatient<'_>) -> io::Result<()>;
}

/// Bytes that were carried.
#[derive(Debug, Clone, Copy)]
pub(super) enum Carried {
    /// Requests and what they write.
    FromClient(usize),
    /// Answers and what was read.
    ToClient(usize),
}

/// A socket that does not wait.
#[derive(Clone, Copy)]
pub(super) struct Impatient<'a>(&'a OwnedFd);

impl Read for Impatient<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        Ok(recv(self.0, bytes, RecvFlags::DONTWAIT).map(|(count, _)| count)?)
    }
}

impl Write for Impatient<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(send(self.0, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)?)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// `None`: not now.
pub(super) fn now<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Carries until either side is closed, or the client takes too long to agree. From when the two agree on, `carried` gets each number of
/// bytes, in either direction.
///
/// # Errors
/// A socket's, or the session's; or the client left or took too long before the two agreed.
pub(super) fn carry(
    session: &mut impl Session,
    outer: &OwnedFd,
    inner: &OwnedFd,
    mut carried: impl FnMut(Carried),
) -> io::Result<()> {
    let mut part = vec![0; PART];
    // Plain bytes of the client that the plain socket has not taken.
    let mut arrived = Vec::new();
    // The plain side has nothing more to say.
    let mut ended = false;
    let begun = std::time::Instant::now();
    loop {
        let talks = session.is_handshaking();
        if talks && begun.elapsed() > crate::refusal::NEGOTIATION_MAX {
            let text = "the client took too long";
            return Err(io::Error::new(io::ErrorKind::TimedOut, text));
        }
        let wants_write = session.wants_write();
        if ended && !wants_write {
            return Ok(());
        }
        // Neither side is read while the other does not take what is there.
        let reads_outer = arrived.is_empty() && session.wants_read();
        let reads_inner = !wants_write && !talks && !ended;
        let flags = |read: bool, write: bool| {
            let mut flags = PollFlags::empty();
            flags.set(PollFlags::IN, read);
            flags.set(PollFlags::OUT, write);
            flags
        };
        let mut watched = [
            PollFd::from_borrowed_fd(outer.as_fd(), flags(reads_outer, wants_write)),
            PollFd::from_borrowed_fd(inner.as_fd(), flags(reads_inner, !arrived.is_empty())),
        ];
        let timeout = rustix::time::Timespec { tv_sec: 1, tv_nsec: 0 };
        match poll(&mut watched, talks.then_some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let [outer_is, inner_is] = watched.map(|watched| watched.revents());
        let gone = PollFlags::HUP | PollFlags::ERR;
        if reads_outer && outer_is.intersects(PollFlags::IN | gone) {
            match session.receive(Impatient(outer), &mut part, &mut arrived) {
                Ok(true) => {}
                Ok(false) if session.is_handshaking() => {
                    let text = "the client hung up in its middle";
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, text));
                }
                Ok(false) => return Ok(()),
                Err(error) => {
                    // The client gets the reason.
                    let _ = session.send(Impatient(outer));
                    return Err(error);
                }
            }
        }
        if !arrived.is_empty()
            && let Some(count) = now(Impatient(inner).write(&arrived))?
        {
            arrived.drain(..count);
            carried(Carried::FromClient(count));
        }
        if reads_inner && inner_is.intersects(PollFlags::IN | gone) {
            match now(Impatient(inner).read(&mut part))? {
                None => {}
                Some(0) => {
                    session.close();
                    ended = true;
                }
                Some(count) => {
                    session.encrypt(&part[..count])?;
                    carried(Carried::ToClient(count));
                }
            }
        }
        session.send(Impatient(outer))?;
        // A side that hung up and is not read from would wake us for ever.
        let inner_wakes = inner_is.intersects(gone) && (ended || !arrived.is_empty());
        if (outer_is.intersects(gone) && !reads_outer) || inner_wakes {
            std::thread::sleep(Span::from_millis(1));
            if outer_is.intersects(gone) {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, Shutdown, SocketFlags, SocketType, shutdown, socketpair};
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Has something to send that the client never takes.
    struct Stuck<'a>(&'a AtomicU64);

    impl Session for Stuck<'_> {
        fn is_handshaking(&self) -> bool {
            false
        }
        fn wants_read(&self) -> bool {
            true
        }
        fn wants_write(&self) -> bool {
            self.0.load(Ordering::Relaxed) > 0
        }
        fn receive(&mut self, _: Impatient<'_>, _: &mut [u8], _: &mut Vec<u8>) -> io::Result<bool> {
            Ok(false)
        }
        fn encrypt(&mut self, _: &[u8]) -> io::Result<()> {
            Ok(())
        }
        fn close(&mut self) {}
        fn send(&mut self, mut socket: Impatient<'_>) -> io::Result<()> {
            self.0.fetch_add(1, Ordering::Relaxed);
            while now(socket.write(&[0; 4_096]))?.is_some() {}
            Ok(())
        }
    }

    #[test]
    fn what_a_client_does_not_take_is_not_tried_again_and_again_when_the_plain_side_has_ended() {
        let pair = || socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
        let ((outer, client), (inner, plain)) = (pair(), pair());
        shutdown(&plain, Shutdown::Both).unwrap();
        let turns = AtomicU64::new(0);
        let begun = std::time::Instant::now();
        std::thread::scope(|scope| {
            let carrying = scope.spawn(|| carry(&mut Stuck(&turns), &outer, &inner, |_| {}));
            std::thread::sleep(Span::from_millis(100));
            shutdown(&client, Shutdown::Both).unwrap();
            let _ = carrying.join().unwrap();
        });
        // It pauses for a millisecond after each turn.
        let most = begun.elapsed().as_millis() as u64 + 3;
        let turns = turns.load(Ordering::Relaxed);
        assert!(turns <= most, "{turns} turns, {most} were enough");
    }
}
