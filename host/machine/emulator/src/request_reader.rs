//! The thread of a connection that reads requests: bytes from the socket into batches for the model.

use crate::answer::ReplyBody;
use crate::connection::{Batch, Connection};
use crate::priority::ThreadPriority;
use crate::receive_buffer::{ReceiveBuffer, WritePages};
use crate::receive_policy::ReceivePolicy;
use crate::service::Service;
use loadline_nbd::NbdError;
use loadline_nbd::request::{Incoming, Message, NbdRequest, Violation};
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_send_buffer_size;
use std::ops::ControlFlow;

/// Up to so many clients, sockets are given as much memory as their policy asks for: the kernel's memory is not bounded otherwise.
const ROOMY_CLIENTS: usize = 64;
/// The most writes of a batch whose pages are prefetched.
const PREFETCH_MAX: usize = 64;

/// Why no more requests are read.
enum ReadingEnd {
    /// The client sends nothing more. It may still want its answers.
    Orderly,
    /// The connection is broken, or everything ends.
    Broken,
    /// The client sent something that is not a request.
    Violation(Violation),
}

/// Reads the requests of one connection, on its thread.
pub(crate) struct RequestReader<'a> {
    connection: &'a Connection,
    service: &'a Service,
    incoming: Incoming,
    batch: Batch,
    priority: ThreadPriority,
    policy: ReceivePolicy,
    pages: WritePages,
    /// The socket may be given more memory.
    roomy: bool,
    /// Bytes that the socket was last asked to hold.
    socket_room: Option<usize>,
    /// The first error of the write in progress.
    write_error: Option<NbdError>,
    /// The ticket of the write in progress.
    ticket: Option<u64>,
}

impl<'a> RequestReader<'a> {
    pub(crate) fn new(connection: &'a Connection, service: &'a Service) -> Self {
        Self {
            connection,
            service,
            incoming: Incoming::new(connection.rules()),
            batch: Batch::new(),
            priority: ThreadPriority::new(service.hastens()),
            policy: ReceivePolicy::new(),
            pages: WritePages::default(),
            roomy: service.clients().count() <= ROOMY_CLIENTS,
            socket_room: None,
            write_error: None,
            ticket: None,
        }
    }

    /// Reads until nothing more comes, or something that is not a request; then waits for the answers of a client that ended in order.
    pub(crate) fn run(mut self, buffer: &mut ReceiveBuffer) -> Result<(), Violation> {
        let end = loop {
            if let ControlFlow::Break(end) = self.read_batch(buffer) {
                break end;
            }
        };
        self.submit();
        match end {
            ReadingEnd::Orderly => {
                self.connection.drain(self.service);
                Ok(())
            }
            ReadingEnd::Broken => Ok(()),
            ReadingEnd::Violation(violation) => Err(violation),
        }
    }

    /// Takes what was received, submits it, and receives more.
    fn read_batch(&mut self, buffer: &mut ReceiveBuffer) -> ControlFlow<ReadingEnd> {
        self.resize_socket();
        let mut served = self.take_messages(buffer)?;
        served |= self.submit();
        if self.receive_pages(buffer)? {
            return ControlFlow::Continue(());
        }
        self.receive(buffer, served)
    }

    /// Asks for the socket's memory that the policy wants.
    fn resize_socket(&mut self) {
        let wanted = self.policy.room(self.service.driver().early_send.is_used());
        if self.roomy && self.socket_room != Some(wanted) {
            self.socket_room = Some(wanted);
            // If the system gives less, sending is slower.
            let _ = set_socket_send_buffer_size(self.connection.socket(), wanted);
        }
    }

    /// Takes all messages from the buffer. Full batches are submitted on the way; returns whether any of their answers left.
    fn take_messages(&mut self, buffer: &mut ReceiveBuffer) -> ControlFlow<ReadingEnd, bool> {
        let mut input = buffer.unread();
        let mut served = false;
        self.connection.contents().fetch_places(self.incoming.writes_ahead(input).take(PREFETCH_MAX));
        loop {
            if !self.connection.has_room() {
                served |= self.submit();
                if !self.connection.wait_for_room(self.service) {
                    return ControlFlow::Break(ReadingEnd::Broken);
                }
            }
            if self.batch.requests.len() >= self.policy.batch_max() {
                served |= self.submit();
            }
            if self.batch.client_gone {
                return ControlFlow::Break(ReadingEnd::Broken);
            }
            match self.incoming.next(&mut input) {
                Ok(None) => break,
                Ok(Some(Message::Request(request))) => self.accept(&request, None, None),
                Ok(Some(Message::Data { offset, bytes, whole })) => {
                    let contents = self.connection.contents();
                    let ticket = *self.ticket.get_or_insert_with(|| contents.ticket());
                    if self.write_error.is_none() {
                        self.write_error = contents.write(offset, bytes, ticket).err();
                    }
                    self.end_write(whole);
                }
                Ok(Some(Message::Refused { cookie, offset, read, error })) => {
                    self.connection.refuse(&mut self.batch, cookie, offset, ReplyBody::Error { error, read });
                }
                Ok(Some(Message::Disconnect)) => return ControlFlow::Break(ReadingEnd::Orderly),
                Err(violation) => return ControlFlow::Break(ReadingEnd::Violation(violation)),
            }
        }
        let left = input.len();
        buffer.leave(left);
        ControlFlow::Continue(served)
    }

    /// Receives the rest of a long write directly into pages. Returns whether there was one.
    fn receive_pages(&mut self, buffer: &mut ReceiveBuffer) -> ControlFlow<ReadingEnd, bool> {
        let Some(awaited) = self.incoming.awaited() else { return ControlFlow::Continue(false) };
        let Some(count) = self.pages.room(awaited) else { return ControlFlow::Continue(false) };
        // After the whole write a header follows.
        let next = if count as u64 == awaited.left { self.incoming.header_bytes() } else { 0 };
        if self.policy.shares() {
            self.pages.fetch(count);
        }
        let (clock, polling) = (self.service.driver().clock, self.service.polling());
        let (connection, policy) = (self.connection, &mut self.policy);
        let received = self
            .pages
            .receive(count, buffer, connection.socket(), next, |look| policy.receive(true, clock, polling, look));
        let pages = match received {
            Ok(Some(pages)) => pages,
            Ok(None) => return ControlFlow::Break(ReadingEnd::Orderly),
            Err(_) => return ControlFlow::Break(ReadingEnd::Broken),
        };
        let contents = connection.contents();
        let ticket = *self.ticket.get_or_insert_with(|| contents.ticket());
        if self.write_error.is_none() {
            self.write_error = contents.place(awaited.offset, pages, ticket).err();
        }
        let whole = self.incoming.came(count as u64);
        self.end_write(whole);
        ControlFlow::Continue(true)
    }

    /// Receives more bytes. After an answer (`served`) the client is likely to send at once. One that sends nothing for
    /// [`REST_AFTER`](crate::client::REST_AFTER) gives memory back.
    fn receive(&mut self, buffer: &mut ReceiveBuffer, served: bool) -> ControlFlow<ReadingEnd> {
        let socket = self.connection.socket();
        let received = if served {
            let idle = self.connection.is_idle();
            let (clock, polling) = (self.service.driver().clock, self.service.polling());
            self.policy.receive(idle, clock, polling, |flags| buffer.receive(socket, flags))
        } else {
            buffer.read(socket)
        };
        match received {
            Ok(true) => ControlFlow::Continue(()),
            // Nothing more comes, but the client may still want its answers.
            Ok(false) => ControlFlow::Break(ReadingEnd::Orderly),
            Err(Errno::AGAIN) => {
                buffer.rest();
                self.pages.rest();
                ControlFlow::Continue(())
            }
            Err(_) => ControlFlow::Break(ReadingEnd::Broken),
        }
    }

    /// Accepts the write in progress if it is complete.
    fn end_write(&mut self, whole: Option<NbdRequest>) {
        if let Some(request) = whole {
            let (error, ticket) = (self.write_error.take(), self.ticket.take());
            self.accept(&request, error, ticket);
        }
    }

    fn accept(&mut self, request: &NbdRequest, error: Option<NbdError>, ticket: Option<u64>) {
        let before = self.batch.requests.len();
        let bytes = self.connection.accept(&mut self.batch, request, error, ticket);
        self.priority.count(self.batch.requests.len() - before, bytes);
    }

    /// Submits the batch. Returns whether answers for this client left.
    fn submit(&mut self) -> bool {
        // Requests that are answered without the model.
        self.priority.count(self.batch.answers.len(), 0);
        self.priority.adapt(self.service.driver().clock);
        self.connection.submit(self.service, &mut self.batch)
    }
}
