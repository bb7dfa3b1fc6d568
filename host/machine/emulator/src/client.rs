//! One NBD client from greeting to goodbye: admission, negotiation, and the thread that reads its requests.

use crate::connection::Connection;
use crate::listener::Welcome;
use crate::receive_buffer::ReceiveBuffer;
use crate::refusal::{NEGOTIATION_MAX, Peer, Reason};
use crate::request_reader::RequestReader;
use crate::service::{AnswerReceiver, Service};
use crate::tls::{CarrierTurns, Handshake, Tls};
use loadline_nbd::negotiation::{Agreement, Encryption, Negotiation, NegotiationError, NegotiationStep};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{SendFlags, Shutdown, send, shutdown};
use std::sync::Arc;

/// The stack of a client's thread. It needs little: its buffers are elsewhere.
const STACK: usize = 256 << 10;

/// A client that sends nothing for so long is at rest.
pub(crate) const REST_AFTER: std::time::Duration = std::time::Duration::from_secs(10);

/// How connections to an address are encrypted.
#[derive(Debug, Clone)]
pub(crate) struct Encrypted {
    pub(crate) tls: Tls,
    /// Unencrypted clients are refused.
    pub(crate) required: bool,
}

/// Serves every client that connects.
pub(crate) fn welcome_all(service: &Arc<Service>, encrypted: Option<Encrypted>) -> Welcome {
    let service = Arc::clone(service);
    Box::new(move |client| welcome(&service, client, encrypted.clone()))
}

/// Serves a client on a thread of its own; one too many is turned away.
fn welcome(service: &Arc<Service>, socket: OwnedFd, encrypted: Option<Encrypted>) {
    let number = service.fresh_number();
    let socket = Arc::new(socket);
    match service.clients().admit(number, &socket, encrypted.is_some(), || service.is_closed()) {
        Ok(()) => {}
        Err(None) => return,
        Err(Some(reason)) => return service.refusals().add(Peer::of(&socket), reason),
    }
    let own = Arc::clone(service);
    let thread = std::thread::Builder::new().name(format!("client-{number}")).stack_size(STACK);
    let spawned = thread.spawn(move || {
        let registration = Registration { service: &own, number };
        serve(&own, number, &socket, encrypted.as_ref());
        drop(registration);
    });
    if let Err(error) = spawned {
        service.refusals().add(Peer::Unknown, Reason::System(error));
        service.clients().forget(number);
    }
}

/// Removes a client from all lists, however its thread ends.
struct Registration<'a> {
    service: &'a Service,
    number: u32,
}

impl Drop for Registration<'_> {
    fn drop(&mut self) {
        self.service.leave(self.number);
        self.service.clients().forget(self.number);
    }
}

/// Serves one client.
fn serve(service: &Service, number: u32, outer: &Arc<OwnedFd>, encryption: Option<&Encrypted>) {
    let mut buffer = ReceiveBuffer::new();
    let peer = Peer::of(outer);
    let (agreement, socket) = match negotiate(service, outer, &mut buffer, encryption) {
        Ok(agreed) => agreed,
        Err(reason) => {
            // While all connections are closed, that is the reason.
            if let Some(reason) = reason.filter(|_| !service.is_closed()) {
                service.refusals().add(peer, reason);
            }
            let _ = shutdown(&**outer, Shutdown::Both);
            return;
        }
    };
    let export = Arc::clone(&service.exports()[agreement.export]);
    let connection = Arc::new(Connection::new(number, Arc::clone(&socket), export, agreement));
    service.enter(number, Arc::clone(&connection) as Arc<dyn AnswerReceiver>);
    if let Err(violation) = RequestReader::new(&connection, service).run(&mut buffer) {
        service.refusals().add(peer, violation.into());
    } else if connection.is_unfinished() {
        service.refusals().add(peer, Reason::Unfinished);
    }
    service.leave(number);
    // Requests in flight keep the connection until they are answered. The client need not wait for that.
    let _ = shutdown(&*socket, Shutdown::Both);
}

/// The negotiation. Returns the socket on which requests come: the same, or the plain side of an encrypted one.
///
/// # Errors
/// Why the client is not served; `None`: it just left.
fn negotiate(
    service: &Service,
    outer: &Arc<OwnedFd>,
    buffer: &mut ReceiveBuffer,
    encrypted: Option<&Encrypted>,
) -> Result<(Agreement, Arc<OwnedFd>), Option<Reason>> {
    let system = |error: Errno| Some(Reason::System(error.into()));
    let hurry = |socket: &OwnedFd| {
        let directions = [Timeout::Recv, Timeout::Send];
        directions
            .into_iter()
            .try_for_each(|direction| set_socket_timeout(socket, direction, Some(NEGOTIATION_MAX)))
            .map_err(system)
    };
    hurry(outer)?;
    let mut socket = Arc::clone(outer);
    let mut handshake = None;
    let begun = std::time::Instant::now();
    let mut negotiation = Negotiation::new(match encrypted {
        None => Encryption::None,
        Some(Encrypted { required: false, .. }) => Encryption::Offered,
        Some(Encrypted { required: true, .. }) => Encryption::Required,
    });
    send_all(&socket, &Negotiation::greeting()).ok_or(None)?;
    let mut out = Vec::new();
    loop {
        let mut input = buffer.unread();
        let step = negotiation.feed(&mut input, service.infos(), &mut out);
        let left = input.len();
        buffer.leave(left);
        // A client that leaves does so because of the last refusal, or for a reason of its own.
        let told = || {
            let failed = handshake.as_ref().and_then(Handshake::failure).map(Reason::Tls);
            failed.or_else(|| negotiation.error().cloned().map(Reason::Negotiation))
        };
        send_all(&socket, &out).ok_or_else(told)?;
        out.clear();
        match step {
            NegotiationStep::Next => {}
            NegotiationStep::Close => return Err(told()),
            NegotiationStep::More => {
                let slow = begun.elapsed() > NEGOTIATION_MAX;
                match if slow { Err(Errno::AGAIN) } else { buffer.read(&socket) } {
                    Ok(true) => {}
                    Err(Errno::AGAIN) => return Err(Some(Reason::Slow)),
                    Ok(false) | Err(_) => return Err(told()),
                }
            }
            NegotiationStep::Encrypt => {
                // Bytes that came unencrypted must not count as encrypted ones.
                let Some(Encrypted { tls, .. }) = encrypted.filter(|_| left == 0) else {
                    return Err(Some(NegotiationError::Plain.into()));
                };
                let turns = CarrierTurns { hastens: service.hastens(), clock: service.driver().clock };
                let encrypted = tls.encrypt(Arc::clone(outer), turns);
                let (plain, shaking) = encrypted.map_err(|error| Some(Reason::System(error)))?;
                (socket, handshake) = (Arc::new(plain), Some(shaking));
                hurry(&socket)?;
                negotiation.encrypted();
            }
            NegotiationStep::Transmit(agreement) => {
                set_socket_timeout(&*socket, Timeout::Recv, Some(REST_AFTER)).map_err(system)?;
                return Ok((agreement, socket));
            }
        }
    }
}

fn send_all(socket: &OwnedFd, mut bytes: &[u8]) -> Option<()> {
    while !bytes.is_empty() {
        match send(socket, bytes, SendFlags::NOSIGNAL) {
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::INTR) => {}
            Err(_) => return None,
        }
    }
    Some(())
}
