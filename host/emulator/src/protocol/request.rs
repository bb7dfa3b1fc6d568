//! Requests: parsed as their bytes come, checked against the export.

use super::reply::COMPACT_DATA_MAX;
use super::{
    BLOCK_MIN, EXTENDED_REQUEST_MAGIC, NbdError, PAYLOAD_MAX, REQUEST_MAGIC, ReplyForm, Take, command_flag as flag,
};

/// Bytes of a request's header.
pub const HEADER: usize = 28;
/// Bytes of an extended request's header.
pub const EXTENDED_HEADER: usize = 32;

/// Bytes of a write are handed over up to a multiple of so many from the export's beginning, or up to the write's end: what
/// belongs in one piece comes in one piece.
pub const STRETCH: u64 = 64 << 10;

/// Numbers of the commands.
pub mod code {
    /// Bytes from the export.
    pub const READ: u16 = 0;
    /// Bytes to the export.
    pub const WRITE: u16 = 1;
    /// Good-bye.
    pub const DISCONNECT: u16 = 2;
    /// Make writes durable.
    pub const FLUSH: u16 = 3;
    /// Contents no longer needed.
    pub const TRIM: u16 = 4;
    /// Read ahead.
    pub const CACHE: u16 = 5;
    /// Zeroes to the export.
    pub const WRITE_ZEROES: u16 = 6;
    /// What is where.
    pub const BLOCK_STATUS: u16 = 7;
}

/// What is asked for, checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Bytes from the export.
    Read,
    /// Bytes to the export; they have been handed over before.
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
    /// What is asked for.
    pub command: Command,
    /// It must be durable when it is answered.
    pub durable: bool,
    /// Goes back with the answer.
    pub cookie: u64,
    /// Where the range begins; 0 for a flush.
    pub offset: u64,
    /// How long it is, in bytes; 0 for a flush.
    pub length: u64,
}

/// What came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message<'a> {
    /// A request, whole.
    Request(NbdRequest),
    /// A request that cannot be answered but with an error.
    Refused {
        /// Goes back with the answer.
        cookie: u64,
        /// Goes back with an extended answer.
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
    /// The client ends the connection, once what it asked for was answered.
    Disconnect,
}

/// Bytes that are no request: the connection cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// Where a request was to begin, something else did.
    #[error("the client sent {0:#010x} where a request begins")]
    Magic(u32),
    /// A request with more bytes than are taken.
    #[error("the client announced {0} bytes of data, more than are taken")]
    Payload(u64),
}

/// What requests are checked against.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// The export's size in bytes.
    pub size: u64,
    /// How headers look.
    pub form: ReplyForm,
    /// Whether `base:allocation` was selected.
    pub allocation: bool,
    /// Whether the client was told which blocks there are: then it keeps to them, and carries at most [`PAYLOAD_MAX`] bytes.
    /// Who was not may ask for any bytes, as the specification has it.
    pub sizes_told: bool,
}

/// Turns a connection's bytes into messages. It keeps no bytes itself.
#[derive(Debug, Clone)]
pub struct Incoming {
    rules: Rules,
    payload: Option<Payload>,
}

/// Bytes of a request that are still to come.
#[derive(Debug, Clone, Copy)]
struct Payload {
    /// Where they go; `None`: nowhere, the request was refused.
    write: Option<NbdRequest>,
    refused: Option<NbdError>,
    read: bool,
    cookie: u64,
    offset: u64,
    /// Bytes that have come.
    taken: u64,
    left: u64,
}

impl Payload {
    /// How many of the bytes that are here are taken now: up to where the last stretch ends that is here in full.
    fn count(&self, here: u64) -> u64 {
        let here = here.min(self.left);
        if here == self.left || self.refused.is_some() {
            return here;
        }
        let at = self.offset % STRETCH + self.taken;
        ((at + here) / STRETCH * STRETCH).saturating_sub(at)
    }
}

/// Bytes of a write that are still to come.
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

    /// Takes the next message off `input`; `None`: more bytes are needed.
    ///
    /// # Errors
    /// Bytes that are no request; where the next one begins is unknown then.
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
                        // It was let through, so that its range lies within the export.
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

    /// Where the writes begin whose bytes are all in `input`, as far as it is understood.
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
    pub fn header_bytes(&self) -> usize {
        if self.rules.form == ReplyForm::Extended { EXTENDED_HEADER } else { HEADER }
    }

    /// The bytes of a write that are still to come, if it is one that was let through.
    #[must_use]
    pub fn awaited(&self) -> Option<Awaited> {
        let Payload { write, offset, taken, left, .. } = self.payload?;
        write.map(|_| Awaited { offset: offset + taken, left })
    }

    /// So many of the bytes that are [awaited](Self::awaited) were taken off what comes next, without [`Incoming::next`]; gives the
    /// write if these were the last ones.
    ///
    /// # Panics
    /// Where so many were not awaited.
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
        let mut take = Take(input);
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
        if self.sizes_told { most } else { self.size.clamp(most, u64::from(u32::MAX)) }
    }

    /// Bytes that a read may ask for: where their number stands in 32 bits together with what comes before them, as many as fit. Only
    /// who was told of no sizes asks for more than is promised, and the specification lets it be refused.
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
        let block = if self.sizes_told { u64::from(BLOCK_MIN) } else { 1 };
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
