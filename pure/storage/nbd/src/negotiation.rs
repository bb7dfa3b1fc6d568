//! The server's side of the negotiation: which export the client gets, and which form replies have.

use super::option::{self, ClientOption, OptionError, OptionReply, info_type};
use super::{
    ALLOCATION, ALLOCATION_CONTEXT, BLOCK_MIN, BLOCK_PREFERRED, GREETING_MAGIC, OPTION_MAGIC, PAYLOAD_MAX, ReplyForm,
    WireReader, handshake_flag, transmission_flag,
};

/// Data of an option beyond this is skipped and the option refused, in bytes.
pub const OPTION_DATA_MAX: u32 = 64 << 10;
/// The most options of one connection. A client that sends more is disconnected.
pub const OPTIONS_MAX: u32 = 1_024;
/// Bytes before an option's data.
const OPTION_HEADER: usize = 16;

/// An export as clients see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportInfo {
    /// Its name.
    pub name: String,
    /// What it is, for people.
    pub description: String,
    /// In bytes, a multiple of [`BLOCK_MIN`].
    pub size: u64,
    /// Whether its disks turn.
    pub rotational: bool,
}

impl ExportInfo {
    /// What it can do under this form of replies.
    #[must_use]
    pub const fn flags(&self, form: ReplyForm) -> u16 {
        use transmission_flag as flag;
        let mut flags = flag::HAS_FLAGS
            | flag::SEND_FLUSH
            | flag::SEND_FUA
            | flag::SEND_TRIM
            | flag::SEND_WRITE_ZEROES
            | flag::CAN_MULTI_CONN
            | flag::SEND_CACHE
            | flag::SEND_FAST_ZERO;
        if !matches!(form, ReplyForm::Simple) {
            flags |= flag::SEND_DF;
        }
        if self.rotational {
            flags |= flag::ROTATIONAL;
        }
        flags
    }
}

/// What client and server agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Agreement {
    /// Which of the exports.
    pub export: usize,
    /// How replies look.
    pub form: ReplyForm,
    /// Whether `base:allocation` may be asked for.
    pub allocation: bool,
    /// Whether the client knows the block sizes: not if it chose the export by the oldest option.
    pub knows_block_sizes: bool,
}

/// What the caller does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NegotiationStep {
    /// The bytes given so far end within a message.
    More,
    /// A message was handled; there may be another one in the input.
    Next,
    /// Encryption begins after what is to be sent was sent; then [`Negotiation::encrypted`].
    Encrypt,
    /// Requests follow.
    Transmit(Agreement),
    /// The connection is to be closed, after what is to be sent was sent.
    Close,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NegotiationState {
    Flags,
    Option,
    /// The rest of an option's data, which is not looked at.
    Skip(u32),
}

/// Whether a connection is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encryption {
    /// It cannot be.
    #[default]
    None,
    /// It can be.
    Offered,
    /// It must be before anything else.
    Required,
    /// It is.
    Done,
}

/// Why a client may leave without an export.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NegotiationError {
    /// There is no export of this name, of which the beginning is here.
    #[error("it asked for the export {0:?}, which is not there")]
    NoExport(String),
    /// It asked for something unencrypted where that is not served.
    #[error("it does not encrypt, and this address takes TLS only")]
    TlsRequired,
    /// It wants to encrypt, and this server has neither certificates nor keys.
    #[error("it wants TLS, and there is none here")]
    NoTls,
    /// It sent plain bytes where encrypted ones were to come.
    #[error("it asked for TLS and went on unencrypted")]
    Plain,
    /// It speaks another protocol, or this one wrongly.
    #[error("what it sent is not the beginning of an NBD connection")]
    Foreign,
    /// It sends options without end.
    #[error("it sent more than {OPTIONS_MAX} options and chose no export")]
    Endless,
}

/// Characters of an export's name that are repeated.
const NAME_SHOWN_MAX: usize = 64;

impl NegotiationError {
    fn no_export(name: &[u8]) -> Self {
        Self::NoExport(String::from_utf8_lossy(name).chars().take(NAME_SHOWN_MAX).collect())
    }
}

/// The server's state machine of the negotiation.
#[derive(Debug, Clone)]
pub struct Negotiation {
    /// The last refusal, unless the client got what it wanted since.
    error: Option<NegotiationError>,
    encryption: Encryption,
    state: NegotiationState,
    no_zeroes: bool,
    form: ReplyForm,
    /// The export for which `base:allocation` was selected.
    allocation: Option<usize>,
    options: u32,
}

impl Default for Negotiation {
    fn default() -> Self {
        Self::new(Encryption::None)
    }
}

impl Negotiation {
    /// Before the first message.
    #[must_use]
    pub const fn new(encryption: Encryption) -> Self {
        let (state, form) = (NegotiationState::Flags, ReplyForm::Simple);
        Self { error: None, encryption, state, no_zeroes: false, form, allocation: None, options: 0 }
    }

    /// Goes on over the encrypted connection. What was agreed on before no longer counts.
    pub fn encrypted(&mut self) {
        self.encryption = Encryption::Done;
        self.error = None;
        (self.form, self.allocation) = (ReplyForm::Simple, None);
    }

    /// Why the client may leave without an export; `None`: it got whatever it asked for.
    #[must_use]
    pub const fn error(&self) -> Option<&NegotiationError> {
        self.error.as_ref()
    }

    /// Ends the connection.
    fn give_up(&mut self, error: NegotiationError) -> NegotiationStep {
        self.error = Some(error);
        NegotiationStep::Close
    }

    /// The server's first bytes.
    #[must_use]
    pub fn greeting() -> [u8; 18] {
        let mut greeting = [0; 18];
        greeting[..8].copy_from_slice(&GREETING_MAGIC.to_be_bytes());
        greeting[8..16].copy_from_slice(&OPTION_MAGIC.to_be_bytes());
        let flags = handshake_flag::FIXED_NEWSTYLE | handshake_flag::NO_ZEROES;
        greeting[16..].copy_from_slice(&flags.to_be_bytes());
        greeting
    }

    /// Handles the first message in `input`, removes it from there, and appends the reply to `out`.
    pub fn feed(&mut self, input: &mut &[u8], exports: &[ExportInfo], out: &mut Vec<u8>) -> NegotiationStep {
        match self.state {
            NegotiationState::Flags => {
                let mut take = WireReader(input);
                let Some(flags) = take.u32() else { return NegotiationStep::More };
                *input = take.0;
                let known = u32::from(handshake_flag::FIXED_NEWSTYLE | handshake_flag::NO_ZEROES);
                if flags & !known != 0 {
                    return self.give_up(NegotiationError::Foreign);
                }
                self.no_zeroes = flags & u32::from(handshake_flag::NO_ZEROES) != 0;
                self.state = NegotiationState::Option;
                NegotiationStep::Next
            }
            NegotiationState::Skip(left) => {
                let skipped = (left as usize).min(input.len());
                *input = &input[skipped..];
                let left = left - skipped as u32;
                self.state = if left == 0 { NegotiationState::Option } else { NegotiationState::Skip(left) };
                if left == 0 { NegotiationStep::Next } else { NegotiationStep::More }
            }
            NegotiationState::Option => self.option(input, exports, out),
        }
    }

    fn option(&mut self, input: &mut &[u8], exports: &[ExportInfo], out: &mut Vec<u8>) -> NegotiationStep {
        let mut take = WireReader(input);
        let Some(magic) = take.u64() else { return NegotiationStep::More };
        if magic != OPTION_MAGIC {
            return self.give_up(NegotiationError::Foreign);
        }
        let (Some(code), Some(length)) = (take.u32(), take.u32()) else { return NegotiationStep::More };
        if length > OPTION_DATA_MAX {
            if self.counts_too_many() {
                return self.give_up(NegotiationError::Endless);
            }
            if code == option::code::EXPORT_NAME {
                return self.give_up(NegotiationError::Foreign);
            }
            *input = &input[OPTION_HEADER..];
            self.state = NegotiationState::Skip(length);
            option::reply(out, code, OptionReply::TooBig, &[b"the option's data is too long"]);
            return NegotiationStep::Next;
        }
        let Some(data) = take.bytes(length as usize) else { return NegotiationStep::More };
        *input = take.0;
        if self.counts_too_many() {
            return self.give_up(NegotiationError::Endless);
        }
        match ClientOption::parse(code, data) {
            Ok(option) => self.answer(code, &option, exports, out),
            Err(error) => {
                let (kind, text): (_, &[u8]) = match error {
                    OptionError::Unknown => (OptionReply::Unsupported, b"no such option"),
                    OptionError::Malformed => (OptionReply::Invalid, b"the option's data is malformed"),
                    OptionError::TooBig => (OptionReply::TooBig, b"the option's data is too long"),
                };
                option::reply(out, code, kind, &[text]);
                NegotiationStep::Next
            }
        }
    }

    const fn counts_too_many(&mut self) -> bool {
        self.options += 1;
        self.options > OPTIONS_MAX
    }

    fn answer(
        &mut self,
        code: u32,
        option: &ClientOption<'_>,
        exports: &[ExportInfo],
        out: &mut Vec<u8>,
    ) -> NegotiationStep {
        let ack = |out: &mut Vec<u8>| option::reply(out, code, OptionReply::Ack, &[]);
        // A client that goes on unencrypted did not insist.
        if self.error == Some(NegotiationError::NoTls)
            && !matches!(option, ClientOption::StartTls | ClientOption::Abort)
        {
            self.error = None;
        }
        if self.encryption == Encryption::Required && !matches!(option, ClientOption::StartTls | ClientOption::Abort) {
            self.error = Some(NegotiationError::TlsRequired);
            if matches!(option, ClientOption::ExportName(_)) {
                return NegotiationStep::Close;
            }
            option::reply(out, code, OptionReply::TlsRequired, &[b"encrypt first: this address takes TLS only"]);
            return NegotiationStep::Next;
        }
        match option {
            ClientOption::ExportName(name) => {
                let Some(export) = find(exports, name) else { return self.give_up(NegotiationError::no_export(name)) };
                if self.form == ReplyForm::Extended {
                    return self.give_up(NegotiationError::Foreign);
                }
                out.extend_from_slice(&exports[export].size.to_be_bytes());
                out.extend_from_slice(&exports[export].flags(self.form).to_be_bytes());
                if !self.no_zeroes {
                    out.extend_from_slice(&[0; 124]);
                }
                self.agree(export, false)
            }
            ClientOption::Abort => {
                ack(out);
                NegotiationStep::Close
            }
            ClientOption::List => {
                for export in exports {
                    let length = (export.name.len() as u32).to_be_bytes();
                    let parts = [&length[..], export.name.as_bytes(), export.description.as_bytes()];
                    option::reply(out, code, OptionReply::Server, &parts);
                }
                ack(out);
                NegotiationStep::Next
            }
            ClientOption::StartTls => self.start_tls(code, out),
            ClientOption::Info { name, go, wants_name, wants_description } => {
                let Some(number) = find(exports, name) else {
                    self.error = Some(NegotiationError::no_export(name));
                    option::reply(out, code, OptionReply::Unknown, &[b"no such export"]);
                    return NegotiationStep::Next;
                };
                self.describe(code, &exports[number], (*wants_name, *wants_description), out);
                self.error = None;
                ack(out);
                if *go { self.agree(number, true) } else { NegotiationStep::Next }
            }
            ClientOption::StructuredReply => {
                if self.form == ReplyForm::Extended {
                    let text = b"extended headers were agreed on";
                    option::reply(out, code, OptionReply::ExtendedHeaderRequired, &[text]);
                } else {
                    self.form = ReplyForm::Structured;
                    ack(out);
                }
                NegotiationStep::Next
            }
            ClientOption::ExtendedHeaders => {
                self.form = ReplyForm::Extended;
                ack(out);
                NegotiationStep::Next
            }
            ClientOption::MetaContext { name, queries, set } => {
                self.contexts(code, name, queries, *set, exports, out);
                NegotiationStep::Next
            }
        }
    }

    fn start_tls(&mut self, code: u32, out: &mut Vec<u8>) -> NegotiationStep {
        let (kind, text, step): (_, &[&[u8]], _) = match self.encryption {
            Encryption::Offered | Encryption::Required => (OptionReply::Ack, &[], NegotiationStep::Encrypt),
            Encryption::None => {
                self.error = Some(NegotiationError::NoTls);
                (OptionReply::Policy, &[b"there is no TLS here"], NegotiationStep::Next)
            }
            Encryption::Done => {
                (OptionReply::Invalid, &[b"the connection is encrypted already"], NegotiationStep::Next)
            }
        };
        option::reply(out, code, kind, text);
        step
    }

    /// Sends size, flags and block sizes of an export, and its name and description if the client wants them.
    fn describe(
        &self,
        code: u32,
        export: &ExportInfo,
        (wants_name, wants_description): (bool, bool),
        out: &mut Vec<u8>,
    ) {
        let mut info = |kind: u16, parts: [&[u8]; 3]| {
            let parts = [&kind.to_be_bytes()[..], parts[0], parts[1], parts[2]];
            option::reply(out, code, OptionReply::Info, &parts);
        };
        let flags = export.flags(self.form).to_be_bytes();
        info(info_type::EXPORT, [&export.size.to_be_bytes(), &flags, &[]]);
        let sizes = [BLOCK_MIN, BLOCK_PREFERRED, PAYLOAD_MAX].map(u32::to_be_bytes);
        info(info_type::BLOCK_SIZE, [&sizes[0], &sizes[1], &sizes[2]]);
        if wants_name {
            info(info_type::NAME, [export.name.as_bytes(), &[], &[]]);
        }
        if wants_description {
            info(info_type::DESCRIPTION, [export.description.as_bytes(), &[], &[]]);
        }
    }

    fn contexts(
        &mut self,
        code: u32,
        name: &[u8],
        queries: &[&[u8]],
        set: bool,
        exports: &[ExportInfo],
        out: &mut Vec<u8>,
    ) {
        if set {
            self.allocation = None;
        }
        if self.form == ReplyForm::Simple {
            option::reply(out, code, OptionReply::Invalid, &[b"ask for structured replies first"]);
            return;
        }
        let Some(export) = find(exports, name) else {
            option::reply(out, code, OptionReply::Unknown, &[b"no such export"]);
            return;
        };
        let exact = queries.contains(&ALLOCATION.as_bytes());
        let listed = exact || queries.is_empty() || queries.contains(&b"base:".as_slice());
        if if set { exact } else { listed } {
            let number = if set { ALLOCATION_CONTEXT } else { 0 };
            let parts = [&number.to_be_bytes()[..], ALLOCATION.as_bytes()];
            option::reply(out, code, OptionReply::MetaContext, &parts);
            if set {
                self.allocation = Some(export);
            }
        }
        option::reply(out, code, OptionReply::Ack, &[]);
    }

    fn agree(&self, export: usize, knows_block_sizes: bool) -> NegotiationStep {
        let allocation = self.allocation == Some(export);
        NegotiationStep::Transmit(Agreement { export, form: self.form, allocation, knows_block_sizes })
    }
}

/// The export of this name; the first one also goes without.
fn find(exports: &[ExportInfo], name: &[u8]) -> Option<usize> {
    if name.is_empty() && !exports.is_empty() {
        return Some(0);
    }
    exports.iter().position(|export| export.name.as_bytes() == name)
}

#[cfg(test)]
mod tests;
