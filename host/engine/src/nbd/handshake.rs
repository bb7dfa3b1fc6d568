//! The handshake: the client chooses an export, the server tells what it is.

use super::ExportFacts;
use loadline_units::Bytes;
use std::io::{self, Read, Write};

/// What every server sends first.
const MAGIC: &[u8; 8] = b"NBDMAGIC";
/// And then one that negotiates, as its client before each option.
const NEGOTIATES: &[u8; 8] = b"IHAVEOPT";
/// Before the server's answer to an option.
const ANSWER: u64 = 0x0003_e889_0455_65a9;

/// Flags of both sides: answers to options have a fixed form; no zeroes are sent that nobody reads.
const FIXED: u16 = 1;
const NO_ZEROES: u16 = 2;

/// Options.
const ABORT: u32 = 2;
const LIST: u32 = 3;
const GO: u32 = 7;

/// Answers to options. From `ERROR` on they are refusals.
const ACKNOWLEDGED: u32 = 1;
const LISTED: u32 = 2;
const INFORMATION: u32 = 3;
const ERROR: u32 = 1 << 31;
const UNSUPPORTED: u32 = ERROR + 1;
const TLS_REQUIRED: u32 = ERROR + 5;
const UNKNOWN: u32 = ERROR + 6;

/// Kinds of information.
const EXPORT: u16 = 0;
const BLOCK_SIZE: u16 = 3;

/// Longer answers are read past.
const ANSWER_MAX: u32 = 64 << 10;
/// More answers to one option are none.
const ANSWERS_MAX: usize = 10_000;
/// Names of exports that are told.
const NAMES_MAX: usize = 8;
/// What every server takes, where it tells nothing else.
const BLOCK_MAX: Bytes = Bytes::mib(32);

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

fn broken(said: &str) -> Refusal {
    Refusal::Broken(io::Error::new(io::ErrorKind::InvalidData, said))
}

/// An answer to an option.
struct Answer {
    kind: u32,
    data: Vec<u8>,
}

/// Chooses `export` over `stream`.
pub(super) fn negotiate(stream: &mut (impl Read + Write), export: &str) -> Result<ExportFacts, Refusal> {
    let mut greeting = [0; 18];
    stream.read_exact(&mut greeting[..16])?;
    if &greeting[..8] != MAGIC {
        return Err(broken("what listens there is no NBD server"));
    }
    if &greeting[8..16] != NEGOTIATES {
        return Err(broken("the server speaks the old form of NBD, which chooses no export"));
    }
    stream.read_exact(&mut greeting[16..])?;
    let offered = u16::from_be_bytes([greeting[16], greeting[17]]);
    if offered & FIXED == 0 {
        return Err(broken("the server speaks a form of NBD from before 2011"));
    }
    stream.write_all(&u32::from(offered & (FIXED | NO_ZEROES)).to_be_bytes())?;

    let mut choice = Vec::with_capacity(export.len() + 8);
    choice.extend((export.len() as u32).to_be_bytes());
    choice.extend(export.as_bytes());
    choice.extend([0, 1]);
    choice.extend(BLOCK_SIZE.to_be_bytes());
    ask(stream, GO, &choice)?;
    let (mut told, mut blocks) = (None, None);
    for _ in 0..ANSWERS_MAX {
        let answer = hear(stream, GO)?;
        match answer.kind {
            INFORMATION => match answer.data.as_slice() {
                [0, kind, data @ ..] if u16::from(*kind) == EXPORT => told = Some(data.to_vec()),
                [0, kind, data @ ..] if u16::from(*kind) == BLOCK_SIZE => blocks = Some(data.to_vec()),
                _ => {}
            },
            ACKNOWLEDGED => {
                let told = told.ok_or_else(|| broken("the server did not tell the size of the export"))?;
                return facts(&told, blocks.as_deref());
            }
            kind if kind >= ERROR => return Err(refused(stream, kind, &answer.data, export)),
            _ => return Err(broken("the server answered what was not asked")),
        }
    }
    Err(broken("the server did not come to an end about the export"))
}

fn ask(stream: &mut impl Write, option: u32, data: &[u8]) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(16 + data.len());
    bytes.extend(NEGOTIATES);
    bytes.extend(option.to_be_bytes());
    bytes.extend((data.len() as u32).to_be_bytes());
    bytes.extend(data);
    stream.write_all(&bytes)
}

fn hear(stream: &mut impl Read, option: u32) -> Result<Answer, Refusal> {
    let mut header = [0; 20];
    stream.read_exact(&mut header)?;
    let word = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    if u64::from(word(0)) << 32 | u64::from(word(4)) != ANSWER || word(8) != option {
        return Err(broken("what the server sent is no answer to what was asked"));
    }
    let (kind, length) = (word(12), word(16));
    let mut data = vec![0; length.min(ANSWER_MAX) as usize];
    stream.read_exact(&mut data)?;
    let rest = u64::from(length) - data.len() as u64;
    if io::copy(&mut stream.take(rest), &mut io::sink())? < rest {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    Ok(Answer { kind, data })
}

fn facts(told: &[u8], blocks: Option<&[u8]>) -> Result<ExportFacts, Refusal> {
    let (size, flags) = match told {
        [size @ .., high, low] if size.len() == 8 => {
            (size.iter().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte)), u16::from_be_bytes([*high, *low]))
        }
        _ => return Err(broken("what the server tells of the export has not the length that it should have")),
    };
    let (block_min, block_max) = match blocks {
        Some(sizes) if sizes.len() == 12 => {
            let word = |at: usize| sizes[at..at + 4].iter().fold(0_u32, |sum, byte| sum << 8 | u32::from(*byte));
            let (min, max) = (word(0), word(8));
            if !min.is_power_of_two() || max < min {
                return Err(broken("the sizes of blocks that the server tells contradict each other"));
            }
            (Bytes::new(min.into()), Bytes::new(max.into()))
        }
        _ => (Bytes::new(1), BLOCK_MAX),
    };
    let has = |bit: u32| flags & 1 != 0 && flags & (1 << bit) != 0;
    Ok(ExportFacts {
        size: Bytes::new(size),
        read_only: has(1),
        flushes: has(2),
        durable_writes: has(3),
        trims: has(5),
        several_connections: has(8),
        block_min,
        block_max,
    })
}

/// Why the server refuses `export`, and what to do about it.
fn refused(stream: &mut (impl Read + Write), kind: u32, data: &[u8], export: &str) -> Refusal {
    let said = String::from_utf8_lossy(&data[..data.len().min(500)]).into_owned();
    let said = if said.is_empty() { said } else { format!(" ({said})") };
    let why = match kind {
        UNSUPPORTED => {
            format!("the server does not know NBD_OPT_GO{said}; it is of before 2017, attach it with nbd-client")
        }
        TLS_REQUIRED => {
            format!(
                "the server talks over TLS only{said}; have it serve a socket without, or attach it with nbd-client"
            )
        }
        UNKNOWN => {
            let names = listed(stream).unwrap_or_default();
            let has = if names.is_empty() { "ask it for its list (nbdinfo --list)".to_owned() } else { names };
            format!("the server has no export {export:?}{said}; {has}")
        }
        _ => format!("the server refuses export {export:?}{said}; error {} of the handshake", kind - ERROR),
    };
    let _ = ask(stream, ABORT, &[]);
    Refusal::Refused(why)
}

/// The names of the exports, in words.
fn listed(stream: &mut (impl Read + Write)) -> Option<String> {
    ask(stream, LIST, &[]).ok()?;
    let mut names = Vec::new();
    for _ in 0..ANSWERS_MAX {
        let answer = hear(stream, LIST).ok()?;
        match answer.kind {
            LISTED => {
                let length = u32::from_be_bytes(answer.data.get(..4)?.try_into().ok()?) as usize;
                names.push(format!("{:?}", String::from_utf8_lossy(answer.data.get(4..4 + length)?)));
            }
            ACKNOWLEDGED => break,
            _ => return None,
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
    use std::io::Cursor;

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
        let mut bytes = ANSWER.to_be_bytes().to_vec();
        for word in [option, kind, data.len() as u32] {
            bytes.extend(word.to_be_bytes());
        }
        bytes.extend(data);
        bytes
    }
    fn greeting() -> Vec<u8> {
        [MAGIC.as_slice(), NEGOTIATES, &[0, 3]].concat()
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

        // Unknown information is passed over; sizes of blocks need not be told; flags count where there are some.
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
        assert!(refusal(&[greeting(), answer(GO, TLS_REQUIRED, &[])]).contains("TLS only"));
        assert!(refusal(&[greeting(), answer(GO, UNSUPPORTED, &[])]).contains("nbd-client"));
        assert!(refusal(&[greeting(), answer(GO, ERROR + 2, &[])]).contains("error 2"));
    }

    #[test]
    fn what_is_not_the_protocol_ends_in_words() {
        let end = || answer(GO, ACKNOWLEDGED, &[]);
        let old = [MAGIC.as_slice(), &0x0000_4202_8186_1253_u64.to_be_bytes()].concat();
        for (parts, why) in [
            (vec![b"SSH-2.0-OpenSSH_9.2p1".to_vec()], "no NBD server"),
            (vec![old], "old form"),
            (vec![[MAGIC.as_slice(), NEGOTIATES, &[0, 0]].concat()], "before 2011"),
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
        // An answer that claims to be long is not kept, and one that ends early is told.
        let mut long = answer(GO, INFORMATION, &[0, 9]);
        long[16..20].copy_from_slice(&u32::MAX.to_be_bytes());
        assert!(refusal(&[greeting(), long]).contains("closed the connection"));
    }
}
