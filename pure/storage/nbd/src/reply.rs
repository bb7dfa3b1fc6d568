//! Replies to requests, as a server sends them.

use super::{
    ALLOCATION_CONTEXT, EXTENDED_REPLY_MAGIC, NbdError, ReplyForm, SIMPLE_REPLY_MAGIC, STRUCTURED_REPLY_MAGIC,
};

/// The last chunk of a reply.
const DONE: u16 = 1;
/// Another one follows.
const MORE: u16 = 0;
/// Nothing more.
const CHUNK_NONE: u16 = 0;
/// Bytes at an offset.
const CHUNK_DATA: u16 = 1;
/// Extents of a context.
const CHUNK_STATUS: u16 = 5;
/// The same, in 64 bits.
const CHUNK_STATUS_EXTENDED: u16 = 6;
/// An error.
const CHUNK_ERROR: u16 = 0x8001;
/// An error at an offset: bytes before it that were sent are as they are on the disk.
const CHUNK_ERROR_OFFSET: u16 = 0x8002;

/// Bytes of a structured chunk's header, without its payload.
const CHUNK_HEADER: usize = 20;
/// The same of an extended one.
const CHUNK_HEADER_MAX: usize = 32;

/// The space is not allocated.
const STATE_HOLE: u32 = 1;
/// It reads as zeroes.
const STATE_ZERO: u32 = 2;

/// The most extents of one reply.
pub const EXTENTS_MAX: usize = 1_024;

/// The longest extent that 32 bits hold and that ends on a block.
const COMPACT_EXTENT_MAX: u64 = (1 << 32) - super::BLOCK_PREFERRED as u64;

/// The longest read in one structured chunk: its length has 32 bits and includes the offset.
pub const COMPACT_DATA_MAX: u64 = u32::MAX as u64 - 8;

/// A run of bytes that is all data or all hole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// In bytes.
    pub length: u64,
    /// Whether nothing is stored there.
    pub hole: bool,
}

/// Which request a reply belongs to, and its form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplyTo {
    /// As agreed.
    pub form: ReplyForm,
    /// The request's.
    pub cookie: u64,
    /// The request's.
    pub offset: u64,
}

/// A chunk's header as bytes: 20 of them, or 32 with extended headers; none where replies have no chunks.
#[derive(Debug, Clone, Copy)]
pub struct ChunkHeader {
    bytes: [u8; CHUNK_HEADER_MAX],
    length: usize,
}

impl std::ops::Deref for ChunkHeader {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl ReplyTo {
    fn header(&self, (flags, kind): (u16, u16), length: u64) -> ChunkHeader {
        let mut header = [0; CHUNK_HEADER_MAX];
        header[4..6].copy_from_slice(&flags.to_be_bytes());
        header[6..8].copy_from_slice(&kind.to_be_bytes());
        header[8..16].copy_from_slice(&self.cookie.to_be_bytes());
        match self.form {
            ReplyForm::Simple => unreachable!("simple replies have no chunks"),
            ReplyForm::Structured => {
                header[..4].copy_from_slice(&STRUCTURED_REPLY_MAGIC.to_be_bytes());
                let length = u32::try_from(length).expect("no chunk is longer than 32 bits can tell");
                header[16..CHUNK_HEADER].copy_from_slice(&length.to_be_bytes());
                ChunkHeader { bytes: header, length: CHUNK_HEADER }
            }
            ReplyForm::Extended => {
                header[..4].copy_from_slice(&EXTENDED_REPLY_MAGIC.to_be_bytes());
                header[16..24].copy_from_slice(&self.offset.to_be_bytes());
                header[24..].copy_from_slice(&length.to_be_bytes());
                ChunkHeader { bytes: header, length: CHUNK_HEADER_MAX }
            }
        }
    }

    fn chunk(&self, out: &mut Vec<u8>, flags_and_kind: (u16, u16), length: u64) {
        out.extend_from_slice(&self.header(flags_and_kind, length));
    }

    fn simple(&self, out: &mut Vec<u8>, error: u32) {
        let mut header = [0; 16];
        header[..4].copy_from_slice(&SIMPLE_REPLY_MAGIC.to_be_bytes());
        header[4..8].copy_from_slice(&error.to_be_bytes());
        header[8..].copy_from_slice(&self.cookie.to_be_bytes());
        out.extend_from_slice(&header);
    }

    /// Appends what precedes the `length` bytes of a read.
    ///
    /// # Panics
    /// In a structured reply, when they are more than [`COMPACT_DATA_MAX`].
    pub fn data(&self, out: &mut Vec<u8>, length: u64) {
        self.data_with(out, length, DONE);
    }

    /// As [`ReplyTo::data`], of a read that may still fail: [`ReplyTo::end`] or [`ReplyTo::failed`] follows the bytes.
    pub fn data_begun(&self, out: &mut Vec<u8>, length: u64) {
        self.data_with(out, length, MORE);
    }

    fn data_with(&self, out: &mut Vec<u8>, length: u64, flags: u16) {
        if self.form == ReplyForm::Simple {
            self.simple(out, 0);
        } else {
            self.chunk(out, (flags, CHUNK_DATA), length + 8);
            out.extend_from_slice(&self.offset.to_be_bytes());
        }
    }

    /// What follows the bytes of a read that was [begun](ReplyTo::data_begun) and succeeded; empty where replies have no chunks.
    #[must_use]
    pub fn end(&self) -> ChunkHeader {
        if !self.may_fail_late() {
            return ChunkHeader { bytes: [0; CHUNK_HEADER_MAX], length: 0 };
        }
        self.header((DONE, CHUNK_NONE), 0)
    }

    /// Whether an error can be reported after the first bytes of a read.
    #[must_use]
    #[inline]
    pub fn may_fail_late(&self) -> bool {
        self.form != ReplyForm::Simple
    }

    /// Appends an error at `offset` of a read that was [begun](ReplyTo::data_begun). All announced bytes were sent before it; those
    /// from `offset` on are meaningless.
    ///
    /// # Panics
    /// When replies have no chunks.
    pub fn failed(&self, out: &mut Vec<u8>, error: NbdError, offset: u64) {
        self.chunk(out, (DONE, CHUNK_ERROR_OFFSET), 14);
        out.extend_from_slice(&error.code().to_be_bytes());
        out.extend_from_slice(&0u16.to_be_bytes());
        out.extend_from_slice(&offset.to_be_bytes());
    }

    /// Appends success without bytes.
    pub fn done(&self, out: &mut Vec<u8>) {
        if self.form == ReplyForm::Extended {
            self.chunk(out, (DONE, CHUNK_NONE), 0);
        } else {
            self.simple(out, 0);
        }
    }

    /// Appends an error. `read`: of a read, which is answered in chunks if those were agreed on.
    pub fn error(&self, out: &mut Vec<u8>, error: NbdError, read: bool) {
        if self.form == ReplyForm::Extended || (self.form == ReplyForm::Structured && read) {
            self.chunk(out, (DONE, CHUNK_ERROR), 6);
            out.extend_from_slice(&error.code().to_be_bytes());
            out.extend_from_slice(&0u16.to_be_bytes());
        } else {
            self.simple(out, error.code());
        }
    }

    /// Appends the extents from the request's offset on, in `base:allocation`. There is at least one, and chunks were agreed on.
    pub fn extents(&self, out: &mut Vec<u8>, extents: &[Extent]) {
        let state = |hole: bool| if hole { STATE_HOLE | STATE_ZERO } else { 0 };
        if self.form == ReplyForm::Extended {
            self.chunk(out, (DONE, CHUNK_STATUS_EXTENDED), 8 + 16 * extents.len() as u64);
            out.extend_from_slice(&ALLOCATION_CONTEXT.to_be_bytes());
            out.extend_from_slice(&(extents.len() as u32).to_be_bytes());
            for extent in extents {
                out.extend_from_slice(&extent.length.to_be_bytes());
                out.extend_from_slice(&u64::from(state(extent.hole)).to_be_bytes());
            }
        } else {
            // An extent that does not fit into 32 bits ends the list cut short: extents follow one another without a gap.
            let long = extents.iter().position(|extent| extent.length > COMPACT_EXTENT_MAX);
            let extents = &extents[..long.map_or(extents.len(), |index| index + 1)];
            self.chunk(out, (DONE, CHUNK_STATUS), 4 + 8 * extents.len() as u64);
            out.extend_from_slice(&ALLOCATION_CONTEXT.to_be_bytes());
            for extent in extents {
                let length = extent.length.min(COMPACT_EXTENT_MAX) as u32;
                out.extend_from_slice(&length.to_be_bytes());
                out.extend_from_slice(&state(extent.hole).to_be_bytes());
            }
        }
    }
}
