//! Options that a client sends during negotiation, and the server's replies to them.

use super::{OPTION_REPLY_MAGIC, WireReader};

/// The longest name or query, in bytes.
const STRING_MAX: usize = 4_096;
/// Queries for contexts in one option.
const QUERIES_MAX: u32 = 256;

/// Numbers of the options.
pub mod code {
    /// Chooses an export; the oldest option, without a reply for a refusal.
    pub const EXPORT_NAME: u32 = 1;
    /// Ends the negotiation.
    pub const ABORT: u32 = 2;
    /// Lists exports.
    pub const LIST: u32 = 3;
    /// Asks for encryption.
    pub const STARTTLS: u32 = 5;
    /// Asks about an export.
    pub const INFO: u32 = 6;
    /// Chooses an export.
    pub const GO: u32 = 7;
    /// Asks for structured replies.
    pub const STRUCTURED_REPLY: u32 = 8;
    /// Lists contexts.
    pub const LIST_META_CONTEXT: u32 = 9;
    /// Selects contexts.
    pub const SET_META_CONTEXT: u32 = 10;
    /// Asks for extended headers.
    pub const EXTENDED_HEADERS: u32 = 11;
}

/// An option with its data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientOption<'a> {
    /// Choose this export and go; there is no reply for a refusal.
    ExportName(&'a [u8]),
    /// The client ends the negotiation.
    Abort,
    /// List the exports.
    List,
    /// Encrypt from here on.
    StartTls,
    /// Describe this export. With `go`: and choose it.
    Info {
        /// The export's name.
        name: &'a [u8],
        /// Whether the client goes on with the export.
        go: bool,
        /// The name is wanted back.
        wants_name: bool,
        /// The description is wanted.
        wants_description: bool,
    },
    /// Use structured replies.
    StructuredReply,
    /// Contexts of an export, by queries; with `set` they are selected.
    MetaContext {
        /// The export's name.
        name: &'a [u8],
        /// Patterns of the contexts wanted.
        queries: Vec<&'a [u8]>,
        /// Whether they are selected rather than listed.
        set: bool,
    },
    /// Use extended headers.
    ExtendedHeaders,
}

/// Why an option is not understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionError {
    /// No such option.
    Unknown,
    /// Its data is not what the option takes.
    Malformed,
    /// More than is taken in.
    TooBig,
}

impl<'a> ClientOption<'a> {
    /// The option `code` with `data`.
    ///
    /// # Errors
    /// Unknown options and data that does not fit them.
    pub fn parse(code: u32, data: &'a [u8]) -> Result<Self, OptionError> {
        let bare = |option: Self| if data.is_empty() { Ok(option) } else { Err(OptionError::Malformed) };
        match code {
            code::EXPORT_NAME => Ok(Self::ExportName(data)),
            code::ABORT => Ok(Self::Abort),
            code::LIST => bare(Self::List),
            code::STARTTLS => bare(Self::StartTls),
            code::INFO | code::GO => info(data, code == code::GO),
            code::STRUCTURED_REPLY => bare(Self::StructuredReply),
            code::LIST_META_CONTEXT | code::SET_META_CONTEXT => meta_context(data, code == code::SET_META_CONTEXT),
            code::EXTENDED_HEADERS => bare(Self::ExtendedHeaders),
            _ => Err(OptionError::Unknown),
        }
    }
}

fn string(bytes: Option<&[u8]>) -> Result<&[u8], OptionError> {
    let bytes = bytes.ok_or(OptionError::Malformed)?;
    if bytes.len() > STRING_MAX { Err(OptionError::TooBig) } else { Ok(bytes) }
}

fn info(data: &[u8], go: bool) -> Result<ClientOption<'_>, OptionError> {
    let mut take = WireReader(data);
    let name = string(take.counted())?;
    let count = take.u16().ok_or(OptionError::Malformed)?;
    if take.0.len() != usize::from(count) * 2 {
        return Err(OptionError::Malformed);
    }
    let (mut wants_name, mut wants_description) = (false, false);
    while let Some(wanted) = take.u16() {
        wants_name |= wanted == info_type::NAME;
        wants_description |= wanted == info_type::DESCRIPTION;
    }
    Ok(ClientOption::Info { name, go, wants_name, wants_description })
}

fn meta_context(data: &[u8], set: bool) -> Result<ClientOption<'_>, OptionError> {
    let mut take = WireReader(data);
    let name = string(take.counted())?;
    let count = take.u32().ok_or(OptionError::Malformed)?;
    if count > QUERIES_MAX {
        return Err(OptionError::TooBig);
    }
    let queries: Result<Vec<&[u8]>, OptionError> = (0..count).map(|_| string(take.counted())).collect();
    let queries = queries?;
    if !take.0.is_empty() {
        return Err(OptionError::Malformed);
    }
    Ok(ClientOption::MetaContext { name, queries, set })
}

/// Kinds of information about an export.
pub mod info_type {
    /// Its size and what it can do.
    pub const EXPORT: u16 = 0;
    /// Its name.
    pub const NAME: u16 = 1;
    /// What it is, for people.
    pub const DESCRIPTION: u16 = 2;
    /// The sizes of its blocks.
    pub const BLOCK_SIZE: u16 = 3;
}

/// Kinds of replies to options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum OptionReply {
    /// Done.
    Ack = 1,
    /// An export.
    Server = 2,
    /// Something about an export.
    Info = 3,
    /// A context.
    MetaContext = 4,
    /// No such option.
    Unsupported = 0x8000_0001,
    /// Not here.
    Policy = 0x8000_0002,
    /// Malformed, or at the wrong time.
    Invalid = 0x8000_0003,
    /// Not before the connection is encrypted.
    TlsRequired = 0x8000_0005,
    /// No such export.
    Unknown = 0x8000_0006,
    /// Too much.
    TooBig = 0x8000_0009,
    /// Extended headers were agreed on before.
    ExtendedHeaderRequired = 0x8000_000a,
}

/// Appends a reply to the option `code` whose data are `parts`, one after the other.
pub fn reply(out: &mut Vec<u8>, code: u32, kind: OptionReply, parts: &[&[u8]]) {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    out.extend_from_slice(&OPTION_REPLY_MAGIC.to_be_bytes());
    out.extend_from_slice(&code.to_be_bytes());
    out.extend_from_slice(&(kind as u32).to_be_bytes());
    out.extend_from_slice(&(length as u32).to_be_bytes());
    for part in parts {
        out.extend_from_slice(part);
    }
}
