//! The client's side: options and requests as bytes, and the server's replies out of bytes.
//!
//! It is as much as a client of one export needs: the fixed newstyle handshake with `NBD_OPT_GO`, and simple replies.

use crate::option::info_type;
use crate::{
    GREETING_MAGIC, NbdError, OPTION_MAGIC, OPTION_REPLY_MAGIC, PAYLOAD_MAX, REQUEST_MAGIC, SIMPLE_REPLY_MAGIC,
    WireReader, command_flag, handshake_flag, request, transmission_flag,
};
use loadline_units::Bytes;

/// Bytes of the greeting that show whether it is one; two bytes of flags follow.
pub const GREETING_MAGICS: usize = 16;
/// Bytes of the header of a reply to an option.
pub const OPTION_REPLY_HEADER: usize = 20;
/// Bytes of a simple reply, without the bytes of a read.
pub const SIMPLE_REPLY: usize = 16;
/// Replies to options from this number on are refusals.
pub const OPTION_REPLY_ERROR: u32 = 1 << 31;

/// Why a handshake cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HandshakeError {
    /// Another protocol.
    #[error("what listens there is no NBD server")]
    NotNbd,
    /// Oldstyle negotiation.
    #[error("the server speaks the old form of NBD, which chooses no export")]
    Oldstyle,
    /// Newstyle negotiation that is not fixed.
    #[error("the server speaks a form of NBD from before 2011")]
    NotFixed,
    /// A reply with another magic, or to another option.
    #[error("what the server sent is no answer to what was asked")]
    NotAReply,
    /// A reply of a kind that does not belong to the option.
    #[error("the server answered what was not asked")]
    UnexpectedReply,
    /// The export was chosen without its size.
    #[error("the server did not tell the size of the export")]
    NoSize,
    /// More replies to one option than anybody has to say.
    #[error("the server did not come to an end about the export")]
    Endless,
    /// Information about the export of the wrong length.
    #[error("what the server tells of the export has not the length that it should have")]
    Length,
    /// Block sizes that are no powers of two, or in the wrong order.
    #[error("the sizes of blocks that the server tells contradict each other")]
    BlockSizes,
}

/// Checks that a greeting offers options.
///
/// # Errors
/// Another protocol, or oldstyle negotiation.
pub fn check_greeting(magics: &[u8; GREETING_MAGICS]) -> Result<(), HandshakeError> {
    let mut reader = WireReader(magics);
    match (reader.u64(), reader.u64()) {
        (Some(GREETING_MAGIC), Some(OPTION_MAGIC)) => Ok(()),
        (Some(GREETING_MAGIC), _) => Err(HandshakeError::Oldstyle),
        _ => Err(HandshakeError::NotNbd),
    }
}

/// The client's flags, in reply to those of the greeting.
///
/// # Errors
/// The server does not offer fixed newstyle negotiation.
pub fn client_flags(offered: u16) -> Result<[u8; 4], HandshakeError> {
    if offered & handshake_flag::FIXED_NEWSTYLE == 0 {
        return Err(HandshakeError::NotFixed);
    }
    let known = handshake_flag::FIXED_NEWSTYLE | handshake_flag::NO_ZEROES;
    Ok(u32::from(offered & known).to_be_bytes())
}

/// An option, as it is sent.
#[must_use]
pub fn encode_option(option: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(16 + data.len());
    bytes.extend(OPTION_MAGIC.to_be_bytes());
    bytes.extend(option.to_be_bytes());
    bytes.extend((data.len() as u32).to_be_bytes());
    bytes.extend(data);
    bytes
}

/// The data of the option that chooses `export` and asks for its block sizes.
#[must_use]
pub fn encode_export_choice(export: &str) -> Vec<u8> {
    let mut data = Vec::with_capacity(export.len() + 8);
    data.extend((export.len() as u32).to_be_bytes());
    data.extend(export.as_bytes());
    data.extend(1_u16.to_be_bytes());
    data.extend(info_type::BLOCK_SIZE.to_be_bytes());
    data
}

/// The header of a reply to an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionReplyHeader {
    /// Its kind: an [`OptionReply`](crate::option::OptionReply), or one that this client does not know.
    pub kind: u32,
    /// Bytes of data that follow.
    pub length: u32,
}

impl OptionReplyHeader {
    /// Reads the header of a reply to `option`.
    ///
    /// # Errors
    /// It is something else.
    pub fn parse(bytes: &[u8; OPTION_REPLY_HEADER], option: u32) -> Result<Self, HandshakeError> {
        let mut reader = WireReader(bytes);
        let is_reply = reader.u64() == Some(OPTION_REPLY_MAGIC) && reader.u32() == Some(option);
        match (reader.u32(), reader.u32()) {
            (Some(kind), Some(length)) if is_reply => Ok(Self { kind, length }),
            _ => Err(HandshakeError::NotAReply),
        }
    }
}

/// Splits the data of an information reply into its kind and the rest; `None`: it is too short.
#[must_use]
pub fn info(data: &[u8]) -> Option<(u16, &[u8])> {
    let mut reader = WireReader(data);
    reader.u16().map(|kind| (kind, reader.0))
}

/// The name of an export in a list of them; `None`: the data is malformed.
#[must_use]
pub fn listed_name(data: &[u8]) -> Option<String> {
    WireReader(data).counted().map(|name| String::from_utf8_lossy(name).into_owned())
}

/// What a server says about an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of the protocol")]
pub struct ExportFacts {
    /// How large it is.
    pub size: Bytes,
    /// Writes are refused.
    pub read_only: bool,
    /// It takes `NBD_CMD_FLUSH`.
    pub flushes: bool,
    /// It takes writes that are durable when they are answered.
    pub durable_writes: bool,
    /// It takes `NBD_CMD_TRIM`.
    pub trims: bool,
    /// What one connection wrote and flushed the others see, so several may write.
    pub several_connections: bool,
    /// Offsets and lengths are multiples of this.
    pub block_min: Bytes,
    /// The longest read or write.
    pub block_max: Bytes,
}

impl ExportFacts {
    /// Reads the information of kind [`info_type::EXPORT`], and that of [`info_type::BLOCK_SIZE`] if the server sent it.
    ///
    /// # Errors
    /// A wrong length, or block sizes that contradict each other.
    pub fn parse(export: &[u8], block_sizes: Option<&[u8]>) -> Result<Self, HandshakeError> {
        let mut reader = WireReader(export);
        let (Some(size), Some(flags), []) = (reader.u64(), reader.u16(), reader.0) else {
            return Err(HandshakeError::Length);
        };
        let (block_min, block_max) = match block_sizes {
            Some(sizes) if sizes.len() == 12 => {
                let mut reader = WireReader(sizes);
                let (min, _, max) = (reader.u32(), reader.u32(), reader.u32());
                let (min, max) = (min.unwrap_or_default(), max.unwrap_or_default());
                if !min.is_power_of_two() || max < min {
                    return Err(HandshakeError::BlockSizes);
                }
                (Bytes::new(min.into()), Bytes::new(max.into()))
            }
            // By the specification every server takes as much.
            _ => (Bytes::new(1), Bytes::new(PAYLOAD_MAX.into())),
        };
        let has = |flag: u16| flags & transmission_flag::HAS_FLAGS != 0 && flags & flag != 0;
        Ok(Self {
            size: Bytes::new(size),
            read_only: has(transmission_flag::READ_ONLY),
            flushes: has(transmission_flag::SEND_FLUSH),
            durable_writes: has(transmission_flag::SEND_FUA),
            trims: has(transmission_flag::SEND_TRIM),
            several_connections: has(transmission_flag::CAN_MULTI_CONN),
            block_min,
            block_max,
        })
    }
}

/// A request, as a client sends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientRequest {
    /// A number of [`request::code`].
    pub command: u16,
    /// It must be durable when it is answered.
    pub durable: bool,
    /// Returned with the reply.
    pub cookie: u64,
    /// Where the range begins.
    pub offset: u64,
    /// How long it is, in bytes.
    pub length: u32,
}

impl ClientRequest {
    /// Its header; the bytes of a write follow.
    #[must_use]
    #[inline]
    pub fn encode(&self) -> [u8; request::HEADER] {
        let flags = if self.durable { command_flag::FUA } else { 0 };
        let mut bytes = [0; request::HEADER];
        bytes[0..4].copy_from_slice(&REQUEST_MAGIC.to_be_bytes());
        bytes[4..6].copy_from_slice(&flags.to_be_bytes());
        bytes[6..8].copy_from_slice(&self.command.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.cookie.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.offset.to_be_bytes());
        bytes[24..28].copy_from_slice(&self.length.to_be_bytes());
        bytes
    }
}

/// A simple reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimpleReply {
    /// The request's.
    pub cookie: u64,
    /// `None`: success; the bytes of a read follow.
    pub error: Option<NbdError>,
}

impl SimpleReply {
    /// Reads a reply; `None`: the bytes are something else.
    #[must_use]
    #[inline]
    pub fn parse(bytes: &[u8; SIMPLE_REPLY]) -> Option<Self> {
        let word = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let cookie = u64::from(word(8)) << 32 | u64::from(word(12));
        let error = match word(4) {
            0 => None,
            code => Some(NbdError::of_code(code)),
        };
        (word(0) == SIMPLE_REPLY_MAGIC).then_some(Self { cookie, error })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::code;

    #[test]
    fn a_request_is_laid_out_as_the_protocol_says() {
        let request = ClientRequest {
            command: code::WRITE,
            durable: true,
            cookie: 0x0102_0304_0506_0708,
            offset: 1 << 40,
            length: 4096,
        };
        let expected =
            [0x25, 0x60, 0x95, 0x13, 0, 1, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0x10, 0];
        assert_eq!(request.encode(), expected);
    }

    #[test]
    fn a_reply_with_another_magic_is_not_a_reply() {
        let mut bytes = [0x67, 0x44, 0x66, 0x98, 0, 0, 0, 28, 0, 0, 0, 0, 0, 0, 0, 9];
        assert_eq!(SimpleReply::parse(&bytes), Some(SimpleReply { cookie: 9, error: Some(NbdError::NoSpace) }));
        // An error that the protocol does not know is still an error.
        bytes[4..8].copy_from_slice(&0xFFFF_FFFF_u32.to_be_bytes());
        assert_eq!(SimpleReply::parse(&bytes), Some(SimpleReply { cookie: 9, error: Some(NbdError::Io) }));
        bytes[4..8].fill(0);
        assert_eq!(SimpleReply::parse(&bytes), Some(SimpleReply { cookie: 9, error: None }));
        bytes[0] = 0;
        assert_eq!(SimpleReply::parse(&bytes), None);
    }

    #[test]
    fn every_error_comes_back_from_its_number() {
        for code in [1, 5, 12, 22, 28, 75, 95, 108] {
            assert_eq!(NbdError::of_code(code).code(), code);
        }
    }
}
