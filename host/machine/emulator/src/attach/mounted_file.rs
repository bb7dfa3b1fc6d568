//! One file of a mounted folder: its requests, and their answers.

use super::delivery::deliver;
use super::message::{self, ANSWER_HEADER, Call, FuseRequest, Node};
use crate::answer::{Answer, ModelRequest, ReplyBody};
use crate::contents::Settles;
use crate::export::Export;
use crate::send_buffer::SendBuffer;
use crate::service::{AnswerReceiver, Service};
use loadline_block::Operation;
use loadline_nbd::reply::{Extent, ReplyTo};
use loadline_nbd::{BLOCK_PREFERRED, NbdError, ReplyForm};
use loadline_units::{Bytes, Instant};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::io::IoSlice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A volume or disk as a file.
#[derive(Debug)]
pub(crate) struct MountedFile {
    /// Among those to whom answers go.
    number: AtomicU32,
    pub(crate) name: String,
    pub(crate) node: Node,
    pub(crate) export: Arc<Export>,
    /// To the kernel.
    pub(crate) device: Arc<OwnedFd>,
}

/// Sends one answer to the kernel. One that nobody waits for any more is none: the asking program was interrupted, or the folder
/// is gone.
pub(crate) fn answer(device: &OwnedFd, unique: u64, error: Option<Errno>, body: &[u8]) {
    let body = if error.is_some() { &[] } else { body };
    let header = message::header(unique, error.map_or(0, Errno::raw_os_error), body.len());
    send(device, &[IoSlice::new(&header), IoSlice::new(body)]);
}

fn send(device: &OwnedFd, parts: &[IoSlice<'_>]) {
    while let Err(error) = rustix::io::writev(device, parts) {
        match error {
            Errno::INTR | Errno::AGAIN => {}
            // Memory for it is short, or the answer was not to the kernel's liking: who asked must not wait forever.
            Errno::NOMEM | Errno::INVAL if parts.len() > 1 => {
                let mut header: [u8; ANSWER_HEADER] = parts[0][..].try_into().expect("a header comes first");
                let unique = u64::from_ne_bytes(header[8..].try_into().expect("eight of sixteen bytes"));
                header = message::header(unique, Errno::IO.raw_os_error(), 0);
                return send(device, &[IoSlice::new(&header)]);
            }
            _ => return,
        }
    }
}

fn told(error: NbdError) -> Errno {
    Errno::from_raw_os_error(error.code().cast_signed())
}

fn done(kept: Result<(), NbdError>, well: ReplyBody) -> ReplyBody {
    kept.map_or_else(|error| ReplyBody::Error { error, read: false }, |()| well)
}

impl MountedFile {
    /// The attributes of an export, as the kernel gets them.
    pub(crate) fn node(number: u64, export: &Export, owner: (u32, u32)) -> Node {
        Node { number, size: Bytes::new(export.info.size), folder: false, owner, block: BLOCK_PREFERRED }
    }

    pub(crate) fn new(number: u32, name: String, node: Node, export: Arc<Export>, device: Arc<OwnedFd>) -> Self {
        Self { number: AtomicU32::new(number), name, node, export, device }
    }

    /// Among those to whom answers go.
    pub(crate) fn number(&self) -> u32 {
        self.number.load(Ordering::Acquire)
    }

    /// Takes a request for this file: answers it at once, or adds what the model is to be asked.
    pub(crate) fn take(&self, service: &Service, request: &FuseRequest<'_>, asks: &mut Vec<ModelRequest>) {
        let unique = request.unique;
        let reply = |error, body: &[u8]| answer(&self.device, unique, error, body);
        let boot = service.boot();
        let of_open_file = matches!(
            request.call,
            Call::Read { .. } | Call::Write { .. } | Call::Sync | Call::Clear { .. } | Call::Seek { .. }
        );
        if of_open_file && request.handle != *boot {
            return reply(Some(Errno::IO), &[]);
        }
        let contents = &self.export.contents;
        let mut out = Vec::new();
        match request.call {
            Call::Attributes => {
                self.node.attributes(&mut out);
                reply(None, &out);
            }
            Call::Set { more: true, .. } => reply(Some(Errno::PERM), &[]),
            // A program that opens it truncates it first, as it may do with a block device, which keeps its size too.
            Call::Set { size, .. } if size.is_none_or(|size| size == 0 || size == self.node.size.get()) => {
                self.node.attributes(&mut out);
                reply(None, &out);
            }
            Call::Set { .. } => reply(Some(Errno::INVAL), &[]),
            Call::Open => {
                message::opened(&mut out, *boot, false);
                reply(None, &out);
            }
            Call::Read { offset, length } => match self.within(offset, u64::from(length)) {
                // At the end of a file a read is short.
                0 => reply(None, &[]),
                length => {
                    asks.push(self.ask(unique, Operation::Read, (offset, length), ReplyBody::Data, Settles::Nothing));
                }
            },
            Call::Write { offset, bytes } => {
                let length = bytes.len() as u64;
                if length == 0 || self.within(offset, length) < length {
                    return reply(Some(Errno::NOSPC), &[]);
                }
                let ticket = contents.ticket();
                let body = done(contents.write(offset, bytes, ticket), ReplyBody::Written);
                asks.push(self.ask(unique, Operation::Write, (offset, length), body, Settles::Write(ticket)));
            }
            Call::Clear { offset, length, hole } => {
                if length == 0 || self.within(offset, length) < length {
                    return reply(Some(Errno::NOSPC), &[]);
                }
                let ticket = if hole { 0 } else { contents.ticket() };
                let body = done(contents.zero(offset, length, hole, ticket), ReplyBody::Done);
                let (operation, settles) =
                    if hole { (Operation::Trim, Settles::Nothing) } else { (Operation::Write, Settles::Write(ticket)) };
                asks.push(self.ask(unique, operation, (offset, length), body, settles));
            }
            Call::Sync => {
                let flush = contents.flush();
                let settles = flush.unwrap_or(Settles::Nothing);
                asks.push(self.ask(
                    unique,
                    Operation::Flush,
                    (0, 0),
                    done(flush.map(|_| ()), ReplyBody::Done),
                    settles,
                ));
            }
            Call::Seek { offset, hole } => match self.seek(offset, hole) {
                Some(found) => reply(None, &found.to_ne_bytes()),
                None => reply(Some(Errno::NXIO), &[]),
            },
            Call::Nothing => reply(None, &[]),
            Call::Unanswered => {}
            _ => reply(Some(Errno::NOSYS), &[]),
        }
    }

    /// How much of a range the file has. Any byte may be its first and last: the kernel cuts a long transfer where the
    /// asker's pages end.
    fn within(&self, offset: u64, length: u64) -> u64 {
        length.min(self.node.size.get().saturating_sub(offset))
    }

    fn ask(
        &self,
        unique: u64,
        operation: Operation,
        range: (u64, u64),
        body: ReplyBody,
        settles: Settles,
    ) -> ModelRequest {
        let (offset, length) = range;
        ModelRequest {
            connection: self.number(),
            export: self.export.number,
            cut: self.export.cut,
            operation,
            durable: false,
            offset,
            length,
            to: ReplyTo { form: ReplyForm::Simple, cookie: unique, offset },
            body,
            settles,
            ahead: false,
            due_at: Instant::ZERO,
        }
    }

    /// The next data, or the next hole, from `offset` on; the end counts as a hole.
    fn seek(&self, mut offset: u64, hole: bool) -> Option<u64> {
        let size = self.node.size.get();
        if offset >= size {
            return None;
        }
        while offset < size {
            for Extent { length, hole: found } in self.export.contents.extents(offset, size - offset, false) {
                if found == hole {
                    return Some(offset);
                }
                offset += length;
            }
        }
        hole.then_some(size)
    }

    fn deliver_one(&self, answered: &Answer) {
        let unique = answered.to.cookie;
        match answered.body {
            ReplyBody::Data => self.deliver_data(unique, answered.to.offset, answered.length),
            ReplyBody::Error { error, .. } => answer(&self.device, unique, Some(told(error)), &[]),
            ReplyBody::Done => answer(&self.device, unique, None, &[]),
            ReplyBody::Written => {
                let mut out = Vec::new();
                message::written(&mut out, answered.length as u32);
                answer(&self.device, unique, None, &out);
            }
            ReplyBody::Extents { .. } => unreachable!("the kernel asks a file for extents by seeking"),
        }
    }

    fn deliver_data(&self, unique: u64, offset: u64, length: u64) {
        let mut buffer = SendBuffer::default();
        if let Err(error) = self.export.contents.read(offset, length, &mut buffer) {
            return answer(&self.device, unique, Some(told(error)), &[]);
        }
        let header = message::header(unique, 0, length as usize);
        let mut parts = vec![IoSlice::new(&header)];
        buffer.all_slices(&mut parts);
        send(&self.device, &parts);
    }
}

impl AnswerReceiver for MountedFile {
    fn deliver(&self, service: &Service, boot: u64, answers: &mut Vec<Answer>, _bytes_max: usize) {
        deliver(&self.export, service, boot, answers, |answer| self.deliver_one(answer));
    }

    /// Programs may open it again.
    fn outlives_power_cut(&self) -> bool {
        true
    }

    fn renumber(&self, number: u32) {
        self.number.store(number, Ordering::Release);
    }
}
