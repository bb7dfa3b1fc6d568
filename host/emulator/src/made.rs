//! Bytes on their way to a client: some made here, some shared with the store.

use crate::store::Chunk;
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::ops::Range;

/// Parts handed to one system call.
pub(crate) const PARTS_MAX: usize = 128;
/// Reads shorter than this, in bytes, are copied into one piece with their headers; longer ones share the store's chunks.
const SHARE_MIN: u64 = 16 << 10;

static ZEROES: [u8; 64 << 10] = [0; 64 << 10];

#[derive(Debug)]
enum Piece {
    /// Of the bytes made here.
    Own(Range<usize>),
    /// Of a chunk, as it was when it was read.
    Shared(Chunk, Range<usize>),
    Zeroes(usize),
}

/// An end of [`Made`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    pieces: usize,
    last: usize,
    own: usize,
}

/// Bytes in the order in which they are to be sent.
#[derive(Debug, Default)]
pub(crate) struct Made {
    own: Vec<u8>,
    pieces: VecDeque<Piece>,
    share: bool,
}

impl Made {
    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// How many bytes were made and not sent.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.pieces.iter().map(Piece::len).sum()
    }

    /// Decides how the contents that follow are taken: a read of this many bytes.
    pub(crate) const fn expect(&mut self, length: u64) {
        self.share = length >= SHARE_MIN;
    }

    /// Appends what `write` appends.
    pub(crate) fn own<T>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        let start = self.own.len();
        let result = write(&mut self.own);
        let end = self.own.len();
        match self.pieces.back_mut() {
            _ if start == end => {}
            Some(Piece::Own(range)) if range.end == start => range.end = end,
            _ => self.pieces.push_back(Piece::Own(start..end)),
        }
        result
    }

    /// Appends a part of a chunk.
    pub(crate) fn chunk(&mut self, chunk: &Chunk, range: Range<usize>) {
        if self.share {
            self.pieces.push_back(Piece::Shared(chunk.clone(), range));
        } else {
            self.bytes(&chunk.bytes()[range]);
        }
    }

    /// Appends these bytes.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.own(|own| own.extend_from_slice(bytes));
    }

    /// Appends `count` zeroes.
    pub(crate) fn zeroes(&mut self, count: usize) {
        match self.pieces.back_mut() {
            _ if !self.share => self.own(|own| own.resize(own.len() + count, 0)),
            Some(Piece::Zeroes(before)) => *before += count,
            _ => self.pieces.push_back(Piece::Zeroes(count)),
        }
    }

    /// Appends `count` bytes that `read` fills in.
    ///
    /// # Errors
    /// Those of `read`; nothing is appended then.
    pub(crate) fn fill(&mut self, count: usize, read: impl FnOnce(&mut [u8]) -> io::Result<()>) -> io::Result<()> {
        self.own(|own| {
            let start = own.len();
            own.resize(start + count, 0);
            let result = read(&mut own[start..]);
            if result.is_err() {
                own.truncate(start);
            }
            result
        })
    }

    /// Appends what is to be sent to `slices`, as far as one system call takes it.
    pub(crate) fn slices<'a>(&'a self, slices: &mut [IoSlice<'a>; PARTS_MAX]) -> usize {
        let mut count = 0;
        for bytes in self.pieces.iter().take(PARTS_MAX).flat_map(|piece| self.bytes_of(piece)).take(PARTS_MAX) {
            slices[count] = IoSlice::new(bytes);
            count += 1;
        }
        count
    }

    /// Appends all that is to be sent to `slices`.
    pub(crate) fn all_slices<'a>(&'a self, slices: &mut Vec<IoSlice<'a>>) {
        slices.extend(self.pieces.iter().flat_map(|piece| self.bytes_of(piece)).map(IoSlice::new));
    }

    fn bytes_of<'a>(&'a self, piece: &'a Piece) -> impl Iterator<Item = &'a [u8]> {
        let (first, mut zeroes): (&[u8], usize) = match piece {
            Piece::Own(range) => (&self.own[range.clone()], 0),
            Piece::Shared(chunk, range) => (&chunk.bytes()[range.clone()], 0),
            Piece::Zeroes(length) => (&[], *length),
        };
        let zeroes = std::iter::from_fn(move || {
            let part = zeroes.min(ZEROES.len());
            zeroes -= part;
            (part > 0).then(|| &ZEROES[..part])
        });
        (!first.is_empty()).then_some(first).into_iter().chain(zeroes)
    }

    /// Takes `count` bytes off the front: they were sent.
    pub(crate) fn advance(&mut self, mut count: usize) {
        while count > 0 {
            let piece = self.pieces.front_mut().expect("no more is sent than was made");
            let length = piece.len();
            if length <= count {
                count -= length;
                self.pieces.pop_front();
                continue;
            }
            match piece {
                Piece::Own(range) | Piece::Shared(_, range) => range.start += count,
                Piece::Zeroes(left) => *left -= count,
            }
            count = 0;
        }
        if self.pieces.is_empty() {
            self.own.clear();
        }
    }

    /// Where it ends now.
    pub(crate) fn mark(&self) -> Mark {
        Mark { pieces: self.pieces.len(), last: self.pieces.back().map_or(0, Piece::len), own: self.own.len() }
    }

    /// Takes away what was appended since `mark`; nothing may have been sent since.
    pub(crate) fn back_to(&mut self, mark: Mark) {
        self.pieces.truncate(mark.pieces);
        self.own.truncate(mark.own);
        match self.pieces.back_mut() {
            Some(Piece::Own(range) | Piece::Shared(_, range)) => range.end = range.start + mark.last,
            Some(Piece::Zeroes(count)) => *count = mark.last,
            None => {}
        }
    }

    /// What was made of bytes that were not shared, in one piece.
    ///
    /// # Panics
    /// Where something was shared, or sent.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        assert!(!self.share && self.pieces.len() <= 1, "these bytes are in {} pieces", self.pieces.len());
        self.own
    }

    /// Everything in one piece, for tests.
    #[cfg(test)]
    pub(crate) fn to_vec(&self) -> Vec<u8> {
        let mut all = Vec::new();
        for piece in &self.pieces {
            match piece {
                Piece::Own(range) => all.extend_from_slice(&self.own[range.clone()]),
                Piece::Shared(chunk, range) => all.extend_from_slice(&chunk.bytes()[range.clone()]),
                Piece::Zeroes(length) => all.resize(all.len() + length, 0),
            }
        }
        all
    }
}

impl Piece {
    const fn len(&self) -> usize {
        match self {
            Self::Own(range) | Self::Shared(_, range) => range.end - range.start,
            Self::Zeroes(length) => *length,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::CHUNK;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_sent_in_parts_is_what_was_made(
            steps in prop::collection::vec((0u8..4, 1usize..200_000, any::<bool>()), 1..20), part in 1usize..300_000,
        ) {
            let mut made = Made::default();
            let mut expected: Vec<u8> = Vec::new();
            for (kind, length, share) in steps {
                made.share = share;
                match kind {
                    0 => made.own(|own| own.extend((0..length).map(|n| n as u8))),
                    1 => made.chunk(&Chunk::of(&vec![7; CHUNK]), 0..length % CHUNK),
                    2 => made.zeroes(length),
                    _ => made.fill(length, |bytes| { bytes.fill(9); Ok(()) }).unwrap(),
                }
                match kind {
                    0 => expected.extend((0..length).map(|n| n as u8)),
                    1 => expected.resize(expected.len() + length % CHUNK, 7),
                    2 => expected.resize(expected.len() + length, 0),
                    _ => expected.resize(expected.len() + length, 9),
                }
            }
            prop_assert_eq!(made.len(), expected.len());
            let mut sent: Vec<u8> = Vec::new();
            while !made.is_empty() {
                let mut slices = [IoSlice::new(&[]); PARTS_MAX];
                let count = made.slices(&mut slices);
                let now: Vec<u8> = slices[..count].iter().flat_map(|slice| slice.iter().copied()).take(part).collect();
                prop_assert!(!now.is_empty());
                made.advance(now.len());
                sent.extend(now);
            }
            prop_assert!(sent == expected);
        }
    }

    #[test]
    fn what_was_appended_since_a_mark_can_be_taken_away() {
        for share in [false, true] {
            let mut made = Made { share, ..Made::default() };
            made.own(|own| own.extend([1, 2, 3]));
            made.zeroes(2);
            let mark = made.mark();
            made.zeroes(5);
            made.own(|own| own.push(4));
            made.chunk(&Chunk::of(&vec![7; CHUNK]), 0..9);
            made.back_to(mark);
            made.own(|own| own.push(5));
            assert_eq!(made.to_vec(), [1, 2, 3, 0, 0, 5]);
        }
    }

    #[test]
    fn what_cannot_be_read_leaves_nothing_behind() {
        let mut made = Made::default();
        made.own(|own| own.push(1));
        made.fill(100, |_| Err(io::Error::other("no"))).unwrap_err();
        assert_eq!(made.to_vec(), [1]);
    }
}
