//! The NBD protocol, for servers and clients: bytes in, typed messages out.
//!
//! It follows the specification of the NBD project (NetworkBlockDevice/nbd, `doc/proto.md`, read 2026-11). All numbers are
//! big-endian. Nothing here touches a socket, and nothing grows with what the other side sends.

pub mod client;
pub mod export_uri;
pub mod negotiation;
pub mod option;
pub mod reply;
pub mod request;
pub mod uri;

use loadline_block::ErrorKind;

/// "NBDMAGIC": with this the server greets.
pub const GREETING_MAGIC: u64 = 0x4e42_444d_4147_4943;
/// "IHAVEOPT": a newstyle server says it, and a client before each option.
pub const OPTION_MAGIC: u64 = 0x4948_4156_454f_5054;
/// Before each reply to an option.
pub const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
/// Before each request.
pub const REQUEST_MAGIC: u32 = 0x2560_9513;
/// Before each request with extended headers.
pub const EXTENDED_REQUEST_MAGIC: u32 = 0x21e4_1c71;
/// Before each simple reply.
pub const SIMPLE_REPLY_MAGIC: u32 = 0x6744_6698;
/// Before each chunk of a structured reply.
pub const STRUCTURED_REPLY_MAGIC: u32 = 0x668e_33ef;
/// Before each chunk of an extended reply.
pub const EXTENDED_REPLY_MAGIC: u32 = 0x6e8a_278c;

/// Flags of the greeting and the client's answer to it; the two have the same values.
pub mod handshake_flag {
    /// Replies to options have a fixed form, so that options can be negotiated.
    pub const FIXED_NEWSTYLE: u16 = 1 << 0;
    /// No 124 zeroes at the end of the oldest way to choose an export.
    pub const NO_ZEROES: u16 = 1 << 1;
}

/// Flags of an export: which commands and features it supports.
pub mod transmission_flag {
    /// Always set.
    pub const HAS_FLAGS: u16 = 1 << 0;
    /// Writes are refused.
    pub const READ_ONLY: u16 = 1 << 1;
    /// Flushes are understood.
    pub const SEND_FLUSH: u16 = 1 << 2;
    /// Durable writes are understood.
    pub const SEND_FUA: u16 = 1 << 3;
    /// The disk turns.
    pub const ROTATIONAL: u16 = 1 << 4;
    /// Trims are understood.
    pub const SEND_TRIM: u16 = 1 << 5;
    /// Writes of zeroes are understood.
    pub const SEND_WRITE_ZEROES: u16 = 1 << 6;
    /// Reads in one chunk are understood.
    pub const SEND_DF: u16 = 1 << 7;
    /// A flush on one connection covers writes on all.
    pub const CAN_MULTI_CONN: u16 = 1 << 8;
    /// Reading ahead is understood.
    pub const SEND_CACHE: u16 = 1 << 10;
    /// Writes of zeroes that are to fail rather than be slow are understood.
    pub const SEND_FAST_ZERO: u16 = 1 << 11;
}

/// Flags of a request.
pub mod command_flag {
    /// Durable when it is answered.
    pub const FUA: u16 = 1 << 0;
    /// Zeroes that keep their space.
    pub const NO_HOLE: u16 = 1 << 1;
    /// One chunk only.
    pub const DF: u16 = 1 << 2;
    /// One extent only.
    pub const REQ_ONE: u16 = 1 << 3;
    /// Zeroes only if that is faster than writing them.
    pub const FAST_ZERO: u16 = 1 << 4;
    /// The length is that of bytes that follow (extended headers).
    pub const PAYLOAD_LEN: u16 = 1 << 5;
}

/// The smallest block that this server announces, in bytes: a disk's sector. Offsets and lengths are multiples of it.
pub const BLOCK_MIN: u32 = 512;
/// The block size that this server recommends, in bytes.
pub const BLOCK_PREFERRED: u32 = 4_096;
/// The longest read or write that this server announces, in bytes.
pub const PAYLOAD_MAX: u32 = 1 << 25;
/// The number under which the context `base:allocation` is selected.
pub const ALLOCATION_CONTEXT: u32 = 1;
/// The context that distinguishes holes from data.
pub const ALLOCATION: &str = "base:allocation";

/// Errors that the protocol knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum NbdError {
    /// Not permitted.
    Denied = 1,
    /// The device could not do it.
    Io = 5,
    /// Out of memory.
    NoMemory = 12,
    /// Malformed, out of bounds or not aligned.
    Invalid = 22,
    /// No space left, or a write beyond the end.
    NoSpace = 28,
    /// More than is answered at once.
    Overflow = 75,
    /// Not faster than writing.
    NotSupported = 95,
    /// The device is going away.
    Shutdown = 108,
}

impl NbdError {
    /// Its number on the wire, which is also the error number of Linux.
    #[must_use]
    #[inline]
    pub const fn code(self) -> u32 {
        self as u32
    }

    /// The error of this number. A number that the protocol does not know is a failure like any other.
    #[must_use]
    pub const fn of_code(code: u32) -> Self {
        match code {
            1 => Self::Denied,
            12 => Self::NoMemory,
            22 => Self::Invalid,
            28 => Self::NoSpace,
            75 => Self::Overflow,
            95 => Self::NotSupported,
            108 => Self::Shutdown,
            _ => Self::Io,
        }
    }

    /// What kind of error it is.
    #[must_use]
    pub const fn kind(self) -> ErrorKind {
        match self {
            Self::Denied => ErrorKind::Denied,
            Self::Io | Self::NoMemory => ErrorKind::Io,
            Self::NoSpace => ErrorKind::NoSpace,
            Self::Invalid | Self::Overflow | Self::NotSupported => ErrorKind::Refused,
            Self::Shutdown => ErrorKind::Gone,
        }
    }
}

/// How replies look, as agreed at the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReplyForm {
    /// A header, and the bytes of a read.
    #[default]
    Simple,
    /// Chunks that say what they are.
    Structured,
    /// The same with headers of 32 bytes, for requests too.
    Extended,
}

/// Reads big-endian numbers from the front of bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WireReader<'a>(pub(crate) &'a [u8]);

impl<'a> WireReader<'a> {
    pub(crate) fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }
    pub(crate) fn u16(&mut self) -> Option<u16> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u16::from_be_bytes(*taken))
    }
    pub(crate) fn u32(&mut self) -> Option<u32> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_be_bytes(*taken))
    }
    pub(crate) fn u64(&mut self) -> Option<u64> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_be_bytes(*taken))
    }
    /// Bytes behind their length in 32 bits.
    pub(crate) fn counted(&mut self) -> Option<&'a [u8]> {
        let length = self.u32()?;
        self.bytes(length as usize)
    }
}
