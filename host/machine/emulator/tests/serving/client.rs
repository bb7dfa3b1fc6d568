//! A client written for these tests: it can say anything.

use loadline_nbd::{
    EXTENDED_REPLY_MAGIC, EXTENDED_REQUEST_MAGIC, OPTION_MAGIC, OPTION_REPLY_MAGIC, REQUEST_MAGIC, SIMPLE_REPLY_MAGIC,
    command_flag, option::code as option_code, request::code,
};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

pub(crate) struct Client {
    pub(crate) stream: UnixStream,
    extended: bool,
}

/// A request as it goes out.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Ask {
    pub(crate) flags: u16,
    pub(crate) kind: u16,
    pub(crate) cookie: u64,
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

/// A chunk of an extended reply.
#[derive(Debug)]
pub(crate) struct ReplyChunk {
    pub(crate) kind: u16,
    pub(crate) cookie: u64,
    pub(crate) offset: u64,
    pub(crate) data: Vec<u8>,
}

impl Client {
    /// After the greeting, before anything was chosen.
    pub(crate) fn greeted(socket: &Path) -> Self {
        let mut client = Self { stream: UnixStream::connect(socket).unwrap(), extended: false };
        client.stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        client.take(18);
        client.put(&3u32.to_be_bytes());
        client
    }
    /// On an export, with simple replies.
    pub(crate) fn simple(socket: &Path, export: &str) -> Self {
        let mut client = Self::greeted(socket);
        client.option(option_code::EXPORT_NAME, export.as_bytes());
        client.take(10);
        client
    }
    /// On an export, with simple replies, and told which blocks there are.
    pub(crate) fn told(socket: &Path, export: &str) -> Self {
        let mut client = Self::greeted(socket);
        client.option(option_code::GO, &[&(export.len() as u32).to_be_bytes(), export.as_bytes(), &[0, 0]].concat());
        client.acknowledged(1);
        client
    }
    /// On an export, with extended headers and `base:allocation`.
    pub(crate) fn extended(socket: &Path, export: &str) -> Self {
        let mut client = Self::greeted(socket);
        let named = [&(export.len() as u32).to_be_bytes()[..], export.as_bytes()].concat();
        let context = [&named[..], &1u32.to_be_bytes(), &15u32.to_be_bytes(), b"base:allocation"].concat();
        client.option(option_code::EXTENDED_HEADERS, &[]);
        client.option(option_code::SET_META_CONTEXT, &context);
        client.option(option_code::GO, &[&named[..], &[0, 0]].concat());
        client.acknowledged(3);
        client.extended = true;
        client
    }
    /// Takes replies to options until so many were acknowledged.
    fn acknowledged(&mut self, count: u32) {
        let mut acks = 0;
        while acks < count {
            assert_eq!(self.take(8), OPTION_REPLY_MAGIC.to_be_bytes());
            let header = self.take(12);
            assert!(header[4] < 0x80, "refused: {header:?}");
            let length = u32::from_be_bytes(header[8..].try_into().unwrap());
            self.take(length as usize);
            acks += u32::from(header[4..8] == [0, 0, 0, 1]);
        }
    }
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }
    pub(crate) fn take(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.stream.read_exact(&mut bytes).unwrap();
        bytes
    }
    /// Whether the server has closed the connection: nothing more comes.
    pub(crate) fn is_closed(&mut self) -> bool {
        let mut rest = Vec::new();
        self.stream.read_to_end(&mut rest).is_ok() || rest.is_empty()
    }
    pub(crate) fn option(&mut self, code: u32, data: &[u8]) {
        let length = (data.len() as u32).to_be_bytes();
        self.put(&[&OPTION_MAGIC.to_be_bytes()[..], &code.to_be_bytes(), &length, data].concat());
    }
    pub(crate) fn bytes(&self, ask: Ask) -> Vec<u8> {
        let magic = if self.extended { EXTENDED_REQUEST_MAGIC } else { REQUEST_MAGIC };
        let writes = self.extended && ask.kind == code::WRITE;
        let flags = ask.flags | if writes { command_flag::PAYLOAD_LEN } else { 0 };
        let mut bytes = magic.to_be_bytes().to_vec();
        bytes.extend(flags.to_be_bytes());
        bytes.extend(ask.kind.to_be_bytes());
        bytes.extend(ask.cookie.to_be_bytes());
        bytes.extend(ask.offset.to_be_bytes());
        if self.extended {
            bytes.extend(ask.length.to_be_bytes());
        } else {
            bytes.extend((ask.length as u32).to_be_bytes());
        }
        bytes
    }
    pub(crate) fn ask(&mut self, ask: Ask, data: &[u8]) {
        let bytes = self.bytes(ask);
        self.put(&[&bytes[..], data].concat());
    }
    /// A simple reply: error and cookie.
    pub(crate) fn reply(&mut self) -> (u32, u64) {
        let header = self.take(16);
        assert_eq!(header[..4], SIMPLE_REPLY_MAGIC.to_be_bytes());
        (u32::from_be_bytes(header[4..8].try_into().unwrap()), u64::from_be_bytes(header[8..].try_into().unwrap()))
    }
    /// The last chunk of a reply.
    pub(crate) fn chunk(&mut self) -> ReplyChunk {
        self.chunk_with(1)
    }
    /// A chunk on which others follow.
    pub(crate) fn part(&mut self) -> ReplyChunk {
        self.chunk_with(0)
    }
    fn chunk_with(&mut self, flags: u8) -> ReplyChunk {
        let header = self.take(32);
        assert_eq!(header[..6], [&EXTENDED_REPLY_MAGIC.to_be_bytes()[..], &[0, flags]].concat());
        let number = |at: usize| u64::from_be_bytes(header[at..at + 8].try_into().unwrap());
        let kind = u16::from_be_bytes(header[6..8].try_into().unwrap());
        let (cookie, offset) = (number(8), number(16));
        let data = self.take(number(24) as usize);
        ReplyChunk { kind, cookie, offset, data }
    }
    pub(crate) fn write(&mut self, offset: u64, data: &[u8]) {
        self.ask(Ask { kind: code::WRITE, offset, length: data.len() as u64, ..Ask::default() }, data);
        assert_eq!(self.reply(), (0, 0));
    }
    pub(crate) fn read(&mut self, offset: u64, length: u64) -> Vec<u8> {
        self.ask(Ask { kind: code::READ, offset, length, ..Ask::default() }, &[]);
        assert_eq!(self.reply(), (0, 0));
        self.take(length as usize)
    }
}
