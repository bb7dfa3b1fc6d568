//! The handshake over a socket: the client chooses an export, the server describes it.

use loadline_nbd::client::{
    self, ExportFacts, GREETING_MAGICS, HandshakeError, OPTION_REPLY_ERROR, OPTION_REPLY_HEADER, OptionReplyHeader,
};
use loadline_nbd::option::{OptionReply, code, info_type};
use std::io::{self, Read, Write};

/// Replies longer than this are read and dropped.
const REPLY_MAX: u32 = 64 << 10;
/// The most replies to one option.
const REPLIES_MAX: usize = 10_000;
/// The most names of exports in a message.
const NAMES_MAX: usize = 8;

/// Why there is no connection to an export.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// Nobody listens.
    NoServer(io::Error),
    /// The connection ended, or what came is not the protocol.
    Broken(io::Error),
    /// The server said no; in words, with what to do.
    Refused(String),
}

impl From<Refusal> for io::Error {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NoServer(error) | Refusal::Broken(error) => error,
            Refusal::Refused(said) => Self::other(said),
        }
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        let said = match error.kind() {
            io::ErrorKind::UnexpectedEof => "the server closed the connection during the handshake",
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "the server stopped answering during the handshake",
            _ => return Self::Broken(error),
        };
        Self::Broken(io::Error::new(error.kind(), said))
    }
}

impl From<HandshakeError> for Refusal {
    fn from(error: HandshakeError) -> Self {
        Self::Broken(io::Error::new(io::ErrorKind::InvalidData, error))
    }
}

/// A reply to an option.
struct ReceivedReply {
    kind: u32,
    data: Vec<u8>,
}

impl ReceivedReply {
    const fn is(&self, kind: OptionReply) -> bool {
        self.kind == kind as u32
    }
}

/// Chooses `export` over `stream`.
pub(super) fn negotiate(stream: &mut (impl Read + Write), export: &str) -> Result<ExportFacts, Refusal> {
    // Something else than an NBD server may send less than a whole greeting.
    let mut magics = [0; GREETING_MAGICS];
    stream.read_exact(&mut magics)?;
    client::check_greeting(&magics)?;
    let mut offered = [0; 2];
    stream.read_exact(&mut offered)?;
    stream.write_all(&client::client_flags(u16::from_be_bytes(offered))?)?;

    send_option(stream, code::GO, &client::encode_export_choice(export))?;
    let (mut described, mut block_sizes) = (None, None);
    for _ in 0..REPLIES_MAX {
        let reply = receive_reply(stream, code::GO)?;
        if reply.is(OptionReply::Info) {
            match client::info(&reply.data) {
                Some((info_type::EXPORT, data)) => described = Some(data.to_vec()),
                Some((info_type::BLOCK_SIZE, data)) => block_sizes = Some(data.to_vec()),
                _ => {}
            }
        } else if reply.is(OptionReply::Ack) {
            let described = described.ok_or(HandshakeError::NoSize)?;
            return Ok(ExportFacts::parse(&described, block_sizes.as_deref())?);
        } else if reply.kind >= OPTION_REPLY_ERROR {
            return Err(refused(stream, &reply, export));
        } else {
            return Err(HandshakeError::UnexpectedReply.into());
        }
    }
    Err(HandshakeError::Endless.into())
}

fn send_option(stream: &mut impl Write, option: u32, data: &[u8]) -> io::Result<()> {
    stream.write_all(&client::encode_option(option, data))
}

fn receive_reply(stream: &mut impl Read, option: u32) -> Result<ReceivedReply, Refusal> {
    let mut header = [0; OPTION_REPLY_HEADER];
    stream.read_exact(&mut header)?;
    let OptionReplyHeader { kind, length } = OptionReplyHeader::parse(&header, option)?;
    let mut data = vec![0; length.min(REPLY_MAX) as usize];
    stream.read_exact(&mut data)?;
    let rest = u64::from(length) - data.len() as u64;
    if io::copy(&mut stream.take(rest), &mut io::sink())? < rest {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    Ok(ReceivedReply { kind, data })
}

/// Why the server refuses `export`, and what to do about it.
fn refused(stream: &mut (impl Read + Write), reply: &ReceivedReply, export: &str) -> Refusal {
    let text = String::from_utf8_lossy(&reply.data[..reply.data.len().min(500)]).into_owned();
    let text = if text.is_empty() { text } else { format!(" ({text})") };
    let why = if reply.is(OptionReply::Unsupported) {
        format!("the server does not know NBD_OPT_GO{text}; it is of before 2017, attach it with nbd-client")
    } else if reply.is(OptionReply::TlsRequired) {
        format!("the server talks over TLS only{text}; have it serve a socket without, or attach it with nbd-client")
    } else if reply.is(OptionReply::Unknown) {
        let names = listed(stream).unwrap_or_default();
        let has = if names.is_empty() { "ask it for its list (nbdinfo --list)".to_owned() } else { names };
        format!("the server has no export {export:?}{text}; {has}")
    } else {
        let number = reply.kind - OPTION_REPLY_ERROR;
        format!("the server refuses export {export:?}{text}; error {number} of the handshake")
    };
    let _ = send_option(stream, code::ABORT, &[]);
    Refusal::Refused(why)
}

/// The names of the exports, in words.
fn listed(stream: &mut (impl Read + Write)) -> Option<String> {
    send_option(stream, code::LIST, &[]).ok()?;
    let mut names = Vec::new();
    for _ in 0..REPLIES_MAX {
        let reply = receive_reply(stream, code::LIST).ok()?;
        if reply.is(OptionReply::Server) {
            names.push(format!("{:?}", client::listed_name(&reply.data)?));
        } else if reply.is(OptionReply::Ack) {
            break;
        } else {
            return None;
        }
    }
    let more = names.len().saturating_sub(NAMES_MAX);
    names.truncate(NAMES_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!names.is_empty()).then(|| format!("it has {}{more}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_nbd::{GREETING_MAGIC, OPTION_MAGIC, OPTION_REPLY_MAGIC};
    use loadline_units::Bytes;
    use std::io::Cursor;

    const GO: u32 = code::GO;
    const LIST: u32 = code::LIST;
    const ACKNOWLEDGED: u32 = OptionReply::Ack as u32;
    const LISTED: u32 = OptionReply::Server as u32;
    const INFORMATION: u32 = OptionReply::Info as u32;
    const UNKNOWN: u32 = OptionReply::Unknown as u32;
    const MAGIC: [u8; 8] = GREETING_MAGIC.to_be_bytes();
    const NEGOTIATES: [u8; 8] = OPTION_MAGIC.to_be_bytes();

    /// A server that says what it was given, whatever it hears.
    struct Scripted {
        says: Cursor<Vec<u8>>,
        heard: Vec<u8>,
    }

    impl Read for Scripted {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            self.says.read(bytes)
        }
    }
    impl Write for Scripted {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.heard.extend(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn answer(option: u32, kind: u32, data: &[u8]) -> Vec<u8> {
        let mut bytes = OPTION_REPLY_MAGIC.to_be_bytes().to_vec();
        for word in [option, kind, data.len() as u32] {
            bytes.extend(word.to_be_bytes());
        }
        bytes.extend(data);
        bytes
    }
    fn greeting() -> Vec<u8> {
        [MAGIC.as_slice(), &NEGOTIATES, &[0, 3]].concat()
    }
    fn export_of(size: u64, flags: u16) -> Vec<u8> {
        answer(GO, INFORMATION, &[[0, 0].as_slice(), &size.to_be_bytes(), &flags.to_be_bytes()].concat())
    }
    fn blocks(min: u32, max: u32) -> Vec<u8> {
        let data = [[0, 3].as_slice(), &min.to_be_bytes(), &4096_u32.to_be_bytes(), &max.to_be_bytes()].concat();
        answer(GO, INFORMATION, &data)
    }
    fn told(parts: &[Vec<u8>]) -> (Result<ExportFacts, Refusal>, Vec<u8>) {
        let mut server = Scripted { says: Cursor::new(parts.concat()), heard: Vec::new() };
        let told = negotiate(&mut server, "data");
        (told, server.heard)
    }
    fn refusal(parts: &[Vec<u8>]) -> String {
        match told(parts).0.unwrap_err() {
            Refusal::Refused(said) => said,
            other => io::Error::from(other).to_string(),
        }
    }

    #[test]
    fn what_the_server_tells_is_kept() {
        let end = answer(GO, ACKNOWLEDGED, &[]);
        let (facts, heard) = told(&[greeting(), export_of(1 << 40, 0x12D), blocks(512, 1 << 20), end.clone()]);
        let facts = facts.unwrap();
        assert_eq!((facts.size, facts.block_min, facts.block_max), (Bytes::gib(1024), Bytes::new(512), Bytes::mib(1)));
        assert!(facts.flushes && facts.durable_writes && facts.trims && facts.several_connections && !facts.read_only);
        assert_eq!(&heard[..4], &[0, 0, 0, 3]);
        assert_eq!(&heard[4..], b"IHAVEOPT\0\0\0\x07\0\0\0\x0c\0\0\0\x04data\0\x01\0\x03");

        // Unknown information is passed over; sizes of blocks need not be there; flags count where there are some.
        let other = answer(GO, INFORMATION, &[0, 2, b'x']);
        let facts = told(&[greeting(), other, export_of(4096, 2), end]).0.unwrap();
        assert_eq!((facts.block_min, facts.block_max, facts.read_only), (Bytes::new(1), Bytes::mib(32), false));
    }

    #[test]
    fn refusals_say_what_to_do() {
        let unknown = answer(GO, UNKNOWN, b"no such thing");
        let names = [answer(LIST, LISTED, b"\0\0\0\x01a"), answer(LIST, LISTED, b"\0\0\0\x03b/0")].concat();
        let said = refusal(&[greeting(), unknown.clone(), names, answer(LIST, ACKNOWLEDGED, &[])]);
        assert_eq!(said, "the server has no export \"data\" (no such thing); it has \"a\", \"b/0\"");
        assert!(refusal(&[greeting(), unknown]).ends_with("ask it for its list (nbdinfo --list)"));
        assert!(refusal(&[greeting(), answer(GO, OptionReply::TlsRequired as u32, &[])]).contains("TLS only"));
        assert!(refusal(&[greeting(), answer(GO, OptionReply::Unsupported as u32, &[])]).contains("nbd-client"));
        assert!(refusal(&[greeting(), answer(GO, OPTION_REPLY_ERROR + 2, &[])]).contains("error 2"));
    }

    #[test]
    fn what_is_not_the_protocol_ends_in_words() {
        let end = || answer(GO, ACKNOWLEDGED, &[]);
        let old = [MAGIC.as_slice(), &0x0000_4202_8186_1253_u64.to_be_bytes()].concat();
        for (parts, why) in [
            (vec![b"SSH-2.0-OpenSSH_9.2p1".to_vec()], "no NBD server"),
            (vec![old], "old form"),
            (vec![[MAGIC.as_slice(), &NEGOTIATES, &[0, 0]].concat()], "before 2011"),
            (vec![greeting()], "closed the connection"),
            (vec![greeting(), end()], "did not tell the size"),
            (vec![greeting(), answer(LIST, ACKNOWLEDGED, &[])], "no answer to what was asked"),
            (vec![greeting(), answer(GO, INFORMATION, &[0, 0, 1]), end()], "length"),
            (vec![greeting(), export_of(1, 1), blocks(3, 4096), end()], "contradict"),
            (vec![greeting(), export_of(1, 1), blocks(4096, 512), end()], "contradict"),
            (vec![greeting(), answer(GO, 9, &[])], "what was not asked"),
        ] {
            let said = refusal(&parts);
            assert!(said.contains(why), "{said}, not {why}");
        }
        // Whatever else comes, it ends.
        let whole =
            [greeting(), export_of(1 << 40, 0x12D), blocks(512, 1 << 20), answer(GO, UNKNOWN, b"no"), end()].concat();
        let mut state = 88_172_645_463_325_252_u64;
        for _ in 0..20_000 {
            let mut bytes = whole.clone();
            for _ in 0..3 {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                let at = (state >> 16) as usize % bytes.len();
                bytes[at] = (state >> 8) as u8;
            }
            bytes.truncate((state >> 32) as usize % (2 * bytes.len()));
            let _ = told(&[bytes]);
        }
        // An answer that claims to be long is not kept, and one that ends early is an error.
        let mut long = answer(GO, INFORMATION, &[0, 9]);
        long[16..20].copy_from_slice(&u32::MAX.to_be_bytes());
        assert!(refusal(&[greeting(), long]).contains("closed the connection"));
    }
}
