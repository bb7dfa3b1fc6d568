//! The kernel's file system protocol (FUSE), as far as a folder of files of fixed size needs it: the requests, and what
//! answers look like as bytes. Numbers are in the machine's own order.

use loadline_units::Bytes;

/// The version of the protocol whose structures these are.
pub(crate) const MAJOR: u32 = 7;
const MINOR: u32 = 38;
/// Before it, files could not be opened for parallel direct writes, nor requests span more than 32 pages.
const MINOR_MIN: u32 = 31;

/// Bytes that one read or write carries.
pub(crate) const TRANSFER_MAX: u32 = 1 << 20;
/// Bytes of the longest message: a write with what stands before its bytes.
pub(crate) const MESSAGE_MAX: usize = TRANSFER_MAX as usize + 4_096;
/// Requests that the kernel has under way for files opened for direct I/O; more wait in the kernel.
pub const ATTACHED_IN_FLIGHT_MAX: u16 = 1_024;

/// Bytes of what stands before every request.
const REQUEST_HEADER: usize = 40;
/// Bytes of what stands before every answer.
pub(crate) const ANSWER_HEADER: usize = 16;

const ASYNC_READ: u32 = 1;
const BIG_WRITES: u32 = 1 << 5;
const ASYNC_DIRECT: u32 = 1 << 15;
const PARALLEL_FOLDERS: u32 = 1 << 18;
const MAX_PAGES: u32 = 1 << 22;

/// Of an opened file: no page cache in between.
const OPEN_DIRECT: u32 = 1;
/// Of an opened file: writes need not wait for one another.
const OPEN_PARALLEL_WRITES: u32 = 1 << 6;

const HOLE: u32 = 2;
const ZERO: u32 = 16;

/// Which attributes are set: mode, user and group; the size.
const SET_OWNER_OR_MODE: u32 = 7;
const SET_SIZE: u32 = 1 << 3;

const SEEK_DATA: u32 = 3;
const SEEK_HOLE: u32 = 4;

/// The folder itself.
pub(crate) const ROOT: u64 = 1;

/// A request of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FuseRequest<'a> {
    /// The answer carries the same.
    pub(crate) unique: u64,
    /// The file or folder.
    pub(crate) node: u64,
    /// What was given when the file was opened; 0 where the call is for no open file.
    pub(crate) handle: u64,
    pub(crate) call: Call<'a>,
}

/// A request of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call<'a> {
    Begin {
        major: u32,
        minor: u32,
        readahead: u32,
        flags: u32,
    },
    Lookup {
        name: &'a [u8],
    },
    Attributes,
    /// Sets attributes: the size, if that is among them; others than times are `more`.
    Set {
        size: Option<u64>,
        more: bool,
    },
    Open,
    OpenFolder,
    List {
        from: u64,
        room: u32,
    },
    Read {
        offset: u64,
        length: u32,
    },
    Write {
        offset: u64,
        bytes: &'a [u8],
    },
    Sync,
    /// Makes a range read as zeroes, as a hole or not.
    Clear {
        offset: u64,
        length: u64,
        hole: bool,
    },
    /// The next data, or the next hole.
    Seek {
        offset: u64,
        hole: bool,
    },
    Space,
    /// Success is all there is to say.
    Nothing,
    /// No answer is expected.
    Unanswered,
    /// What these files cannot do.
    Unknown,
}

/// Why bytes are no request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MessageError {
    #[error("a message of the kernel ends too early")]
    Short,
}

/// Takes numbers off the front of a message.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], MessageError> {
        let (head, rest) = self.0.split_first_chunk().ok_or(MessageError::Short)?;
        self.0 = rest;
        Ok(*head)
    }
    fn u32(&mut self) -> Result<u32, MessageError> {
        Ok(u32::from_ne_bytes(self.take()?))
    }
    fn u64(&mut self) -> Result<u64, MessageError> {
        Ok(u64::from_ne_bytes(self.take()?))
    }
    fn name(&self) -> &'a [u8] {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        &self.0[..end]
    }
}

impl<'a> FuseRequest<'a> {
    /// Reads one message, as the kernel gives it: whole.
    pub(crate) fn parse(message: &'a [u8]) -> Result<Self, MessageError> {
        let header = message.get(..REQUEST_HEADER).ok_or(MessageError::Short)?;
        let mut fields = Fields(header);
        let (_length, code) = (fields.u32()?, fields.u32()?);
        let (unique, node) = (fields.u64()?, fields.u64()?);
        let mut fields = Fields(&message[REQUEST_HEADER..]);
        let handle = if matches!(code, 15 | 16 | 20 | 43 | 46) { Fields(fields.0).u64()? } else { 0 };
        let call = match code {
            1 => Call::Lookup { name: fields.name() },
            3 => Call::Attributes,
            4 => {
                let (valid, _, _file, size) = (fields.u32()?, fields.u32()?, fields.u64()?, fields.u64()?);
                Call::Set { size: (valid & SET_SIZE != 0).then_some(size), more: valid & SET_OWNER_OR_MODE != 0 }
            }
            14 => Call::Open,
            15 | 28 => {
                let (_file, from, room) = (fields.u64()?, fields.u64()?, fields.u32()?);
                if code == 15 { Call::Read { offset: from, length: room } } else { Call::List { from, room } }
            }
            16 => {
                let (_file, offset, length) = (fields.u64()?, fields.u64()?, fields.u32()?);
                let _flags: [u8; 20] = fields.take()?;
                Call::Write { offset, bytes: fields.0.get(..length as usize).ok_or(MessageError::Short)? }
            }
            17 => Call::Space,
            // Closed, for the last time and before; looked at again; a folder synced; good-bye.
            18 | 25 | 29 | 30 | 34 | 38 => Call::Nothing,
            20 => Call::Sync,
            26 => Call::Begin {
                major: fields.u32()?,
                minor: fields.u32()?,
                readahead: fields.u32()?,
                flags: fields.u32()?,
            },
            27 => Call::OpenFolder,
            // Forgotten, one and many; interrupted.
            2 | 42 | 36 => Call::Unanswered,
            43 => {
                let (_file, offset, length, mode) = (fields.u64()?, fields.u64()?, fields.u64()?, fields.u32()?);
                match mode & (HOLE | ZERO) {
                    0 => Call::Unknown,
                    bits => Call::Clear { offset, length, hole: bits & HOLE != 0 },
                }
            }
            46 => {
                let (_file, offset, whence) = (fields.u64()?, fields.u64()?, fields.u32()?);
                match whence {
                    SEEK_DATA | SEEK_HOLE => Call::Seek { offset, hole: whence == SEEK_HOLE },
                    _ => Call::Unknown,
                }
            }
            _ => Call::Unknown,
        };
        Ok(Self { unique, node, handle, call })
    }
}

/// What a file or folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) number: u64,
    pub(crate) size: Bytes,
    pub(crate) folder: bool,
    pub(crate) owner: (u32, u32),
    /// Bytes of a block, as programs are advised.
    pub(crate) block: u32,
}

/// Seconds for which the kernel need not ask again: nothing of it ever changes.
const VALID_S: u64 = 1 << 32;

const KIND_FOLDER: u32 = 0o04;
const KIND_FILE: u32 = 0o10;

impl Node {
    const fn kind(&self) -> u32 {
        if self.folder { KIND_FOLDER } else { KIND_FILE }
    }

    fn put(&self, out: &mut Vec<u8>) {
        let size = self.size.get();
        for number in [self.number, size, size.div_ceil(512), 0, 0, 0] {
            out.extend_from_slice(&number.to_ne_bytes());
        }
        let mode = self.kind() << 12 | if self.folder { 0o500 } else { 0o600 };
        let links = if self.folder { 2 } else { 1 };
        for number in [0, 0, 0, mode, links, self.owner.0, self.owner.1, 0, self.block, 0] {
            out.extend_from_slice(&number.to_ne_bytes());
        }
    }

    /// The answer to [`Call::Attributes`].
    pub(crate) fn attributes(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&VALID_S.to_ne_bytes());
        out.extend_from_slice(&[0; 8]);
        self.put(out);
    }

    /// The answer to [`Call::Lookup`].
    pub(crate) fn entry(&self, out: &mut Vec<u8>) {
        for number in [self.number, 0, VALID_S, VALID_S, 0] {
            out.extend_from_slice(&number.to_ne_bytes());
        }
        self.put(out);
    }

    /// One line of the answer to [`Call::List`], as far as `room` bytes in all hold it; the next one begins at `next`.
    pub(crate) fn list(&self, out: &mut Vec<u8>, name: &[u8], next: u64, room: usize) -> bool {
        let length = (24 + name.len()).next_multiple_of(8);
        if out.len() + length > room {
            return false;
        }
        let end = out.len() + length;
        out.extend_from_slice(&self.number.to_ne_bytes());
        out.extend_from_slice(&next.to_ne_bytes());
        out.extend_from_slice(&(name.len() as u32).to_ne_bytes());
        out.extend_from_slice(&self.kind().to_ne_bytes());
        out.extend_from_slice(name);
        out.resize(end, 0);
        true
    }
}

/// What stands before an answer; `error`: a number of the system's, or 0.
pub(crate) fn header(unique: u64, error: i32, length: usize) -> [u8; ANSWER_HEADER] {
    let mut header = [0; ANSWER_HEADER];
    header[..4].copy_from_slice(&((ANSWER_HEADER + length) as u32).to_ne_bytes());
    header[4..8].copy_from_slice(&(-error).to_ne_bytes());
    header[8..].copy_from_slice(&unique.to_ne_bytes());
    header
}

/// The answer to [`Call::Begin`]; `None`: the kernel's protocol is too old.
pub(crate) fn begin(out: &mut Vec<u8>, major: u32, minor: u32, readahead: u32, flags: u32) -> Option<()> {
    if major != MAJOR || minor < MINOR_MIN {
        return None;
    }
    let wanted = ASYNC_READ | BIG_WRITES | ASYNC_DIRECT | PARALLEL_FOLDERS | MAX_PAGES;
    for number in [MAJOR, minor.min(MINOR), readahead, flags & wanted] {
        out.extend_from_slice(&number.to_ne_bytes());
    }
    for number in [ATTACHED_IN_FLIGHT_MAX, ATTACHED_IN_FLIGHT_MAX / 4 * 3] {
        out.extend_from_slice(&number.to_ne_bytes());
    }
    out.extend_from_slice(&TRANSFER_MAX.to_ne_bytes());
    // Times in units of a nanosecond.
    out.extend_from_slice(&1u32.to_ne_bytes());
    out.extend_from_slice(&((TRANSFER_MAX / 4_096) as u16).to_ne_bytes());
    out.resize(64, 0);
    Some(())
}

/// The answer to [`Call::Open`] and [`Call::OpenFolder`].
pub(crate) fn opened(out: &mut Vec<u8>, handle: u64, folder: bool) {
    let flags = if folder { 0 } else { OPEN_DIRECT | OPEN_PARALLEL_WRITES };
    out.extend_from_slice(&handle.to_ne_bytes());
    out.extend_from_slice(&flags.to_ne_bytes());
    out.extend_from_slice(&[0; 4]);
}

/// The answer to [`Call::Write`].
pub(crate) fn written(out: &mut Vec<u8>, length: u32) {
    out.extend_from_slice(&length.to_ne_bytes());
    out.extend_from_slice(&[0; 4]);
}

/// The answer to [`Call::Space`]: nothing is free, as everything belongs to the files.
pub(crate) fn space(out: &mut Vec<u8>, bytes: Bytes, files: u64) {
    for number in [bytes.get() / 4_096, 0, 0, files, 0] {
        out.extend_from_slice(&number.to_ne_bytes());
    }
    for number in [4_096u32, 255, 4_096, 0] {
        out.extend_from_slice(&number.to_ne_bytes());
    }
    out.extend_from_slice(&[0; 24]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message(code: u32, body: &[u8]) -> Vec<u8> {
        let mut message = Vec::new();
        message.extend_from_slice(&((REQUEST_HEADER + body.len()) as u32).to_ne_bytes());
        message.extend_from_slice(&code.to_ne_bytes());
        message.extend_from_slice(&77u64.to_ne_bytes());
        message.extend_from_slice(&2u64.to_ne_bytes());
        message.resize(REQUEST_HEADER, 0);
        message.extend_from_slice(body);
        message
    }

    fn call(code: u32, body: &[u8]) -> Result<(u64, u64), MessageError> {
        FuseRequest::parse(&message(code, body)).map(|request| (request.unique, request.node))
    }

    #[test]
    fn a_read_and_a_write_are_understood() {
        let mut body = Vec::new();
        for number in [0u64, 8_192] {
            body.extend_from_slice(&number.to_ne_bytes());
        }
        body.extend_from_slice(&4u32.to_ne_bytes());
        body.resize(40, 0);
        assert_eq!(call(15, &body), Ok((77, 2)));
        let read = message(15, &body);
        assert_eq!(FuseRequest::parse(&read).unwrap().call, Call::Read { offset: 8_192, length: 4 });
        assert_eq!(call(16, &body), Err(MessageError::Short));
        body.extend_from_slice(b"abcd");
        let write = message(16, &body);
        assert_eq!(FuseRequest::parse(&write).unwrap().call, Call::Write { offset: 8_192, bytes: b"abcd" });
    }

    #[test]
    fn the_kernel_of_another_version_is_refused() {
        let mut out = Vec::new();
        assert_eq!(begin(&mut out, 8, 0, 0, 0), None);
        assert_eq!(begin(&mut out, 7, 30, 0, 0), None);
        assert_eq!(begin(&mut out, 7, 45, 4_096, u32::MAX), Some(()));
        assert_eq!(out.len(), 64);
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_request_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200), code in 0u32..64) {
            let _ = FuseRequest::parse(&bytes);
            let _ = FuseRequest::parse(&message(code, &bytes));
        }

        #[test]
        fn a_list_never_exceeds_its_room(room in 0usize..200, names in prop::collection::vec("[a-z]{1,40}", 0..10)) {
            let node = Node { number: 2, size: Bytes::ZERO, folder: false, owner: (0, 0), block: 4_096 };
            let mut out = Vec::new();
            for (index, name) in names.iter().enumerate() {
                if !node.list(&mut out, name.as_bytes(), index as u64 + 1, room) {
                    break;
                }
            }
            prop_assert!(out.len() <= room && out.len() % 8 == 0);
        }
    }
}
