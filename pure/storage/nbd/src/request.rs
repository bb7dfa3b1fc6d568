//! Requests, as a server gets them: parsed while their bytes arrive, and checked against the export.

use super::reply::COMPACT_DATA_MAX;
use super::{
    BLOCK_MIN, EXTENDED_REQUEST_MAGIC, NbdError, PAYLOAD_MAX, REQUEST_MAGIC, ReplyForm, WireReader,
    command_flag as flag,
};

/// Bytes of a request's header.
pub const HEADER: usize = 28;
/// Bytes of an extended request's header.
pub const EXTENDED_HEADER: usize = 32;

/// Writes are passed on in stretches that end at multiples of this, counted from the export's beginning, or at the write's
/// end. A stretch is never split.
pub const STRETCH: u64 = 64 << 10;

/// Numbers of the commands.
pub mod code {
    /// Bytes from the export.
    pub const READ: u16 = 0;
    /// Bytes to the export.
    pub const WRITE: u16 = 1;
    /// The client leaves.
    pub const DISCONNECT: u16 = 2;
    /// Make writes durable.
    pub const FLUSH: u16 = 3;
    /// Contents no longer needed.
    pub const TRIM: u16 = 4;
    /// Read ahead.
    pub const CACHE: u16 = 5;
    /// Zeroes to the export.
    pub const WRITE_ZEROES: u16 = 6;
    /// Which ranges are data, and which are holes.
    pub const BLOCK_STATUS: u16 = 7;
}

/// A command whose arguments were checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Bytes from the export.
    Read,
    /// Bytes to the export; they were passed on before as [`Message::Data`].
    Write,
    /// Make writes durable.
    Flush,
    /// Contents no longer needed.
    Trim,
    /// Zeroes.
    Zero {
        /// The space may be given back.
        hole: bool,
    },
    /// Read ahead.
    Cache,
    /// Which ranges are holes.
    Status {
        /// One extent, within the range.
        one: bool,
    },
}

/// A request that the export can answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NbdRequest {
    /// Its command.
    pub command: Command,
    /// It must be durable when it is answered.
    pub durable: bool,
    /// Returned with the reply.
    pub cookie: u64,
    /// Where the range begins; 0 for a flush.
    pub offset: u64,
    /// How long it is, in bytes; 0 for a flush.
    pub length: u64,
}

/// A message from a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message<'a> {
    /// A request, whole.
    Request(NbdRequest),
    /// A request that cannot be answered but with an error.
    Refused {
        /// Returned with the reply.
        cookie: u64,
        /// Returned with an extended reply.
        offset: u64,
        /// Whether it was a read, which is answered in chunks where those were agreed on.
        read: bool,
        /// The answer.
        error: NbdError,
    },
    /// Some of the bytes of a write, in their order; with the last ones the write is whole.
    Data {
        /// Where they go.
        offset: u64,
        /// The bytes.
        bytes: &'a [u8],
        /// The write, once all its bytes are here.
        whole: Option<NbdRequest>,
    },
    /// The client ends the connection, once its requests were answered.
    Disconnect,
}

/// Why bytes are not a request. The connection cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// Something else stands where a request begins.
    #[error("the client sent {0:#010x} where a request begins")]
    Magic(u32),
    /// A request with more bytes than the server accepts.
    #[error("the client announced {0} bytes of data, more than are taken")]
    Payload(u64),
}

/// The limits that requests are checked against.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// The export's size in bytes.
    pub size: u64,
    /// How headers look.
    pub form: ReplyForm,
    /// Whether `base:allocation` was selected.
    pub allocation: bool,
    /// Whether the client knows the block sizes. Then it must keep to them, and to at most [`PAYLOAD_MAX`] bytes a request.
    /// By the specification a client that does not know them may ask for any bytes.
    pub knows_block_sizes: bool,
}

/// Turns the bytes of a connection into messages. It stores no bytes itself.
#[derive(Debug, Clone)]
pub struct Incoming {
    rules: Rules,
    payload: Option<Payload>,
}

/// Bytes of a request that are still to come.
#[derive(Debug, Clone, Copy)]
struct Payload {
    /// The write they belong to; `None`: the request was refused, and the bytes are skipped.
    write: Option<NbdRequest>,
    refused: Option<NbdError>,
    read: bool,
    cookie: u64,
    offset: u64,
    /// Bytes that have arrived.
    taken: u64,
    left: u64,
}

impl Payload {
    /// How many of the available bytes are passed on now: up to the end of the last complete stretch.
    fn count(&self, here: u64) -> u64 {
        let here = here.min(self.left);
        if here == self.left || self.refused.is_some() {
            return here;
        }
        let at = self.offset % STRETCH + self.taken;
        ((at + here) / STRETCH * STRETCH).saturating_sub(at)
    }
}

/// The bytes of a write that are still to arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Awaited {
    /// Where the first one goes.
    pub offset: u64,
    /// How many.
    pub left: u64,
}

/// A header as it is on the wire.
#[derive(Debug, Clone, Copy)]
struct Header {
    flags: u16,
    kind: u16,
    cookie: u64,
    offset: u64,
    length: u64,
}

impl Incoming {
    /// At the first request.
    #[must_use]
    pub const fn new(rules: Rules) -> Self {
        Self { rules, payload: None }
    }

    /// Removes the next message from `input`; `None`: more bytes are needed.
    ///
    /// # Errors
    /// Bytes that are not a request. Where the next one begins is unknown then.
    pub fn next<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<Message<'a>>, Violation> {
        loop {
            if let Some(payload) = &mut self.payload {
                let count = payload.count(input.len() as u64);
                if count == 0 {
                    return Ok(None);
                }
                let (bytes, rest) = input.split_at(count as usize);
                *input = rest;
                payload.left -= count;
                let Payload { write, refused, read, cookie, offset, taken, left } = *payload;
                payload.taken += count;
                if left == 0 {
                    self.payload = None;
                }
                match refused {
                    None => {
                        // It was checked, so its range lies within the export.
                        let offset = offset + taken;
                        return Ok(Some(Message::Data { offset, bytes, whole: write.filter(|_| left == 0) }));
                    }
                    Some(error) if left == 0 => return Ok(Some(Message::Refused { cookie, offset, read, error })),
                    Some(_) => continue,
                }
            }
            let Some(header) = self.header(input)? else { return Ok(None) };
            let extended = self.rules.form == ReplyForm::Extended;
            let announced = if extended { header.flags & flag::PAYLOAD_LEN != 0 } else { header.kind == code::WRITE };
            let bytes = if announced { header.length } else { 0 };
            if bytes > self.rules.payload_max() {
                return Err(Violation::Payload(bytes));
            }
            let Header { kind, cookie, offset, .. } = header;
            if kind == code::DISCONNECT {
                return Ok(Some(Message::Disconnect));
            }
            let checked = self.rules.check(&header);
            let read = kind == code::READ;
            if bytes > 0 {
                self.payload = Some(Payload {
                    write: checked.ok(),
                    refused: checked.err(),
                    read,
                    cookie,
                    offset,
                    taken: 0,
                    left: bytes,
                });
                continue;
            }
            return Ok(Some(match checked {
                Ok(request) => Message::Request(request),
                Err(error) => Message::Refused { cookie, offset, read, error },
            }));
        }
    }

    /// The offsets of the writes that are complete in `input`.
    pub fn writes_ahead<'a>(&self, mut input: &'a [u8]) -> impl Iterator<Item = u64> + use<'a> {
        let mut ahead = self.clone();
        let messages = std::iter::from_fn(move || ahead.next(&mut input).ok().flatten());
        messages.filter_map(|message| match message {
            Message::Data { whole: Some(write), .. } => Some(write.offset),
            _ => None,
        })
    }

    /// Bytes of a header.
    #[must_use]
    #[inline]
    pub fn header_bytes(&self) -> usize {
        if self.rules.form == ReplyForm::Extended { EXTENDED_HEADER } else { HEADER }
    }

    /// The bytes still to arrive of a write that was accepted.
    #[must_use]
    #[inline]
    pub fn awaited(&self) -> Option<Awaited> {
        let Payload { write, offset, taken, left, .. } = self.payload?;
        write.map(|_| Awaited { offset: offset + taken, left })
    }

    /// Notes that the caller received `count` of the [awaited](Self::awaited) bytes by itself. Returns the write if these were
    /// its last bytes.
    ///
    /// # Panics
    /// When fewer bytes were awaited.
    pub fn came(&mut self, count: u64) -> Option<NbdRequest> {
        let payload =
            self.payload.as_mut().filter(|payload| payload.left >= count).expect("no more came than was awaited");
        payload.taken += count;
        payload.left -= count;
        let write = payload.write.filter(|_| payload.left == 0);
        if payload.left == 0 {
            self.payload = None;
        }
        write
    }

    fn header(&self, input: &mut &[u8]) -> Result<Option<Header>, Violation> {
        let extended = self.rules.form == ReplyForm::Extended;
        let expected = if extended { EXTENDED_REQUEST_MAGIC } else { REQUEST_MAGIC };
        let mut take = WireReader(input);
        match take.u32() {
            Some(magic) if magic != expected => return Err(Violation::Magic(magic)),
            None => return Ok(None),
            Some(_) => {}
        }
        if input.len() < self.header_bytes() {
            return Ok(None);
        }
        let whole = "the header is there in full";
        let (flags, kind) = (take.u16().expect(whole), take.u16().expect(whole));
        let (cookie, offset) = (take.u64().expect(whole), take.u64().expect(whole));
        let length = if extended { take.u64().expect(whole) } else { u64::from(take.u32().expect(whole)) };
        *input = take.0;
        Ok(Some(Header { flags, kind, cookie, offset, length }))
    }
}

impl Rules {
    /// Bytes that a read or write may carry.
    fn payload_max(self) -> u64 {
        let most = u64::from(PAYLOAD_MAX);
        if self.knows_block_sizes { most } else { self.size.clamp(most, u64::from(u32::MAX)) }
    }

    /// The longest read. A structured reply has its length in 32 bits, including the offset before the bytes. Only a client that
    /// does not know the block sizes asks for more, and the specification allows refusing it.
    fn read_max(self) -> u64 {
        let most = self.payload_max();
        if self.form == ReplyForm::Structured { most.min(COMPACT_DATA_MAX) } else { most }
    }

    /// The request, or the error that the specification wants for it.
    fn check(&self, header: &Header) -> Result<NbdRequest, NbdError> {
        let Header { flags, kind, cookie, offset, length } = *header;
        let extended = self.form == ReplyForm::Extended;
        let (command, known) = match kind {
            code::READ => (Command::Read, if self.form == ReplyForm::Simple { 0 } else { flag::DF }),
            code::WRITE => (Command::Write, if extended { flag::PAYLOAD_LEN } else { 0 }),
            code::FLUSH => (Command::Flush, 0),
            code::TRIM => (Command::Trim, 0),
            code::CACHE => (Command::Cache, 0),
            code::WRITE_ZEROES => (Command::Zero { hole: flags & flag::NO_HOLE == 0 }, flag::NO_HOLE | flag::FAST_ZERO),
            code::BLOCK_STATUS if self.allocation => {
                (Command::Status { one: flags & flag::REQ_ONE != 0 }, flag::REQ_ONE)
            }
            _ => return Err(NbdError::Invalid),
        };
        // Clients are known to set FUA on commands that write nothing.
        if flags & !(known | flag::FUA) != 0 {
            return Err(NbdError::Invalid);
        }
        if extended && kind == code::WRITE && flags & flag::PAYLOAD_LEN == 0 {
            return Err(NbdError::Invalid);
        }
        let request = NbdRequest { command, durable: flags & flag::FUA != 0, cookie, offset, length };
        if command == Command::Flush {
            return if offset == 0 && length == 0 { Ok(request) } else { Err(NbdError::Invalid) };
        }
        let block = if self.knows_block_sizes { u64::from(BLOCK_MIN) } else { 1 };
        if length == 0 || !offset.is_multiple_of(block) || !length.is_multiple_of(block) {
            return Err(NbdError::Invalid);
        }
        if offset.checked_add(length).is_none_or(|end| end > self.size) {
            let writes = matches!(command, Command::Write | Command::Zero { .. });
            return Err(if writes { NbdError::NoSpace } else { NbdError::Invalid });
        }
        if command == Command::Read && length > self.read_max() {
            return Err(if self.form == ReplyForm::Simple { NbdError::Invalid } else { NbdError::Overflow });
        }
        // Zeroes that keep their space are written like any others, so they are not faster.
        if flags & flag::FAST_ZERO != 0 && flags & flag::NO_HOLE != 0 {
            return Err(NbdError::NotSupported);
        }
        Ok(request)
    }
}

#[cfg(test)]
mod tests;
