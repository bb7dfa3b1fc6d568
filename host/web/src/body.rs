//! The body of an answer, read as it comes.

use crate::client::{Deadline, HEAD_MAX, Head, Slot, WebConnection};
use crate::error::WebError;
use std::io::{self, Read};

/// How the end of a body is known.
#[derive(Debug, Clone, Copy)]
enum Coding {
    /// By the bytes that are still to come.
    Length(u64),
    /// By a chunk of 0 bytes; so many of the current one are still to come.
    Chunks(u64),
    /// By the end of the connection.
    Close,
    /// It is here.
    Ended,
}

/// A body. Errors of reading are [`WebError`]s within (see [`WebError::of_body`]). Read to its end, it leaves the connection to the next
/// request; dropped before, it closes it.
pub struct Body<'c> {
    slot: Slot<'c>,
    deadline: Deadline<'c>,
    coding: Coding,
    /// The connection may be used again.
    stays: bool,
}

impl<'c> Body<'c> {
    pub(crate) fn new(mut slot: Slot<'c>, head: &Head, deadline: Deadline<'c>) -> Result<Self, WebError> {
        let has = |name: &str, word: &str| head.header(name).is_some_and(|it| it.to_ascii_lowercase().contains(word));
        let coding = if head.status == 204 || head.status == 304 {
            Coding::Ended
        } else if has("transfer-encoding", "chunked") {
            Coding::Chunks(0)
        } else {
            // Where a body of unknown length ends, the next answer would begin.
            match head.length().inspect_err(|_| slot.connection = None)? {
                Some(0) => Coding::Ended,
                Some(length) => Coding::Length(length),
                None => Coding::Close,
            }
        };
        let closes = head.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
        Ok(Self { slot, deadline, coding, stays: !closes && !matches!(coding, Coding::Close) })
    }

    fn connection(&mut self) -> &mut WebConnection {
        self.slot.connection.as_mut().expect("an answer came over it")
    }

    /// Reads more of the connection; 0: the other side ended.
    fn fill(&mut self) -> Result<usize, WebError> {
        let connection = self.slot.connection.as_mut().expect("an answer came over it");
        connection.fill(&self.deadline).map_err(WebError::body)
    }

    /// Bytes that may be taken out of `unread` now; 0: the end.
    fn ahead(&mut self) -> Result<usize, WebError> {
        if let Coding::Chunks(0) = self.coding {
            self.next_chunk()?;
        }
        let most = match self.coding {
            Coding::Ended => return Ok(0),
            Coding::Length(left) | Coding::Chunks(left) => left,
            Coding::Close => u64::MAX,
        };
        if self.connection().unread.is_empty() && self.fill()? == 0 {
            return match self.coding {
                Coding::Length(_) => Err(WebError::ShortBody),
                Coding::Chunks(_) => Err(WebError::ShortChunk),
                Coding::Close | Coding::Ended => {
                    self.coding = Coding::Ended;
                    Ok(0)
                }
            };
        }
        Ok(most.min(self.connection().unread.len() as u64) as usize)
    }

    /// Reads the size of the next chunk; the last one ends the body.
    fn next_chunk(&mut self) -> Result<(), WebError> {
        let size = loop {
            match httparse::parse_chunk_size(&self.connection().unread) {
                Ok(httparse::Status::Complete((start, size))) => {
                    self.connection().unread.drain(..start);
                    break size;
                }
                Ok(httparse::Status::Partial) if self.connection().unread.len() < HEAD_MAX => {}
                _ => return Err(WebError::NoChunks),
            }
            self.more_of_chunk()?;
        };
        if size == 0 {
            self.line_break()?;
        }
        self.coding = if size == 0 { Coding::Ended } else { Coding::Chunks(size) };
        Ok(())
    }

    /// The line break after a chunk.
    fn line_break(&mut self) -> Result<(), WebError> {
        while self.connection().unread.len() < 2 {
            self.more_of_chunk()?;
        }
        self.connection().unread.drain(..2);
        Ok(())
    }

    fn more_of_chunk(&mut self) -> Result<(), WebError> {
        if self.fill()? == 0 { Err(WebError::ShortChunk) } else { Ok(()) }
    }

    /// So many bytes were taken.
    fn taken(&mut self, count: usize) -> Result<(), WebError> {
        self.connection().unread.drain(..count);
        match &mut self.coding {
            Coding::Length(left) => {
                *left -= count as u64;
                if *left == 0 {
                    self.coding = Coding::Ended;
                }
            }
            Coding::Chunks(left) => {
                *left -= count as u64;
                if *left == 0 {
                    self.line_break()?;
                }
            }
            Coding::Close | Coding::Ended => {}
        }
        Ok(())
    }
}

impl Read for Body<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        let count = self.ahead().map_err(io::Error::other)?.min(bytes.len());
        bytes[..count].copy_from_slice(&self.connection().unread[..count]);
        self.taken(count).map_err(io::Error::other)?;
        Ok(count)
    }
}

impl Drop for Body<'_> {
    fn drop(&mut self) {
        // A server that sent more than it stated is not trusted with another request.
        let stays = self.stays && matches!(self.coding, Coding::Ended) && self.connection().unread.is_empty();
        if !stays {
            self.slot.connection = None;
        }
    }
}
