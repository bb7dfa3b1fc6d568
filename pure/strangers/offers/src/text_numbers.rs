//! A JSON text with its numbers as texts, so that a price stays the digits that were written and never is a float.
//! On the way the length of every text is bounded: a hostile one would be kept whole.

use std::io::{self, BufRead, Read};

/// Bytes of a text or a number at most.
const TEXT_MAX: usize = 64 << 10;

/// See the head of this file.
#[derive(Debug)]
pub(crate) struct TextNumbers<R> {
    inner: R,
    place: Place,
    /// Bytes since the text or the number began.
    length: usize,
    ready: Vec<u8>,
    taken: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Between,
    Text,
    Escape,
    Number,
}

impl<R: BufRead> TextNumbers<R> {
    pub(crate) fn new(inner: R) -> Self {
        Self { inner, place: Place::Between, length: 0, ready: Vec::new(), taken: 0 }
    }

    /// Translates what the reader has at hand; `false`: it has ended.
    fn fill(&mut self) -> io::Result<bool> {
        self.ready.clear();
        self.taken = 0;
        let chunk = self.inner.fill_buf()?;
        if chunk.is_empty() {
            if self.place == Place::Number {
                self.place = Place::Between;
                self.ready.push(b'"');
            }
            return Ok(!self.ready.is_empty());
        }
        for byte in chunk {
            let (next, quote) = match (self.place, byte) {
                (Place::Between, b'-' | b'0'..=b'9') => (Place::Number, true),
                (Place::Text, b'"') => (Place::Between, false),
                (Place::Text, b'\\') => (Place::Escape, false),
                (Place::Between, b'"') | (Place::Escape, _) => (Place::Text, false),
                (Place::Number, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9') => (Place::Number, false),
                (Place::Number, b'"') => (Place::Text, true),
                (Place::Number, _) => (Place::Between, true),
                (place, _) => (place, false),
            };
            let is_within = |place| matches!(place, Place::Text | Place::Escape | Place::Number);
            self.length = if is_within(self.place) && is_within(next) { self.length + 1 } else { 0 };
            if self.length > TEXT_MAX {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a text in it is longer than 64 KiB"));
            }
            self.ready.extend(quote.then_some(b'"'));
            self.ready.push(*byte);
            self.place = next;
        }
        let read = chunk.len();
        self.inner.consume(read);
        Ok(true)
    }
}

impl<R: BufRead> Read for TextNumbers<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.ready.len() && !self.fill()? {
            return Ok(0);
        }
        let count = bytes.len().min(self.ready.len() - self.taken);
        bytes[..count].copy_from_slice(&self.ready[self.taken..self.taken + count]);
        self.taken += count;
        Ok(count)
    }
}
