//! One request at a time, outside loads: looking at an export, reading it back, making it durable.

use super::Connection;
use loadline_nbd::client::{ClientRequest, SIMPLE_REPLY, SimpleReply};
use loadline_nbd::request::code;
use std::io::{self, Read, Write};
use std::time::Duration;

/// How long making everything durable may take.
const FLUSH_TIME: Duration = Duration::from_secs(600);

/// A connection on which each request is waited for.
#[derive(Debug)]
pub(crate) struct Session {
    connection: Connection,
    /// Bytes of the longest read.
    longest: usize,
    /// Offsets and lengths are multiples of this.
    unit: u64,
    size: u64,
    cookie: u64,
}

impl Session {
    pub(super) fn new(connection: Connection) -> Self {
        let facts = connection.facts();
        let (unit, size) = (facts.block_min.get(), facts.size.get());
        let longest = (facts.block_max.get().min(1 << 20).max(unit) / unit * unit) as usize;
        Self { connection, longest, unit, size, cookie: 0 }
    }
    pub(super) fn into_connection(self) -> Connection {
        self.connection
    }
    /// Reads `bytes` from `offset` on; whole blocks of the export, where that is more.
    ///
    /// # Errors
    /// What the server answers; a connection that ends.
    pub(crate) fn read_exact_at(&mut self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let end = offset + bytes.len() as u64;
        let (from, to) = (offset / self.unit * self.unit, end.next_multiple_of(self.unit).min(self.size));
        if (from, to) == (offset, end) || to < end {
            return self.read_blocks(bytes, offset);
        }
        let mut whole = vec![0; (to - from) as usize];
        self.read_blocks(&mut whole, from)?;
        let begin = (offset - from) as usize;
        bytes.copy_from_slice(&whole[begin..begin + bytes.len()]);
        Ok(())
    }

    fn read_blocks(&mut self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let mut at = offset;
        for part in bytes.chunks_mut(self.longest) {
            self.ask(code::READ, at, part.len() as u32, part)?;
            at += part.len() as u64;
        }
        Ok(())
    }
    /// Makes durable what was written and answered, over any connection where the server says so.
    ///
    /// # Errors
    /// What the server answers; a connection that ends.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.connection.stream().set_read_timeout(Some(FLUSH_TIME))?;
        self.ask(code::FLUSH, 0, 0, &mut [])
    }

    /// Sends a request and reads its reply, and what was read into `bytes`.
    fn ask(&mut self, command: u16, offset: u64, length: u32, bytes: &mut [u8]) -> io::Result<()> {
        self.cookie += 1;
        self.connection.at_rest = false;
        let mut stream = self.connection.stream();
        let request = ClientRequest { command, durable: false, cookie: self.cookie, offset, length };
        stream.write_all(&request.encode())?;
        let mut reply = [0; SIMPLE_REPLY];
        stream.read_exact(&mut reply)?;
        let reply = SimpleReply::parse(&reply).filter(|reply| reply.cookie == self.cookie).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, "what the NBD server sent is no reply to what was asked")
        })?;
        if reply.error.is_none() {
            stream.read_exact(bytes)?;
        }
        self.connection.at_rest = true;
        // The protocol's error numbers are those of Linux.
        reply.error.map_or(Ok(()), |error| Err(io::Error::from_raw_os_error(error.code() as i32)))
    }
}
