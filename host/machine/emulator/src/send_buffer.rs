//! The send buffer of a connection: bytes on their way to a client.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::ops::Range;

/// Parts handed to one system call.
pub(crate) const PARTS_MAX: usize = 128;
/// Runs of at least so many zeroes are not stored.
const ZEROES_MIN: usize = 16 << 10;

/// Zeroes to send.
pub(crate) static ZEROES: [u8; 64 << 10] = [0; 64 << 10];

#[derive(Debug)]
enum BufferPiece {
    /// A range of the stored bytes.
    Own(Range<usize>),
    Zeroes(usize),
}

/// An end of [`SendBuffer`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct BufferMark {
    pieces: usize,
    last: usize,
    own: usize,
}

/// Bytes in the order in which they are to be sent.
#[derive(Debug, Default)]
pub(crate) struct SendBuffer {
    own: Vec<u8>,
    pieces: VecDeque<BufferPiece>,
}

impl SendBuffer {
    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Bytes that were not sent yet.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.pieces.iter().map(BufferPiece::len).sum()
    }

    /// Appends what `write` appends.
    pub(crate) fn own<T>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        let start = self.own.len();
        let result = write(&mut self.own);
        let end = self.own.len();
        match self.pieces.back_mut() {
            _ if start == end => {}
            Some(BufferPiece::Own(range)) if range.end == start => range.end = end,
            _ => self.pieces.push_back(BufferPiece::Own(start..end)),
        }
        result
    }

    /// Appends these bytes.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.own(|own| own.extend_from_slice(bytes));
    }

    /// Appends `count` zeroes.
    pub(crate) fn zeroes(&mut self, count: usize) {
        match self.pieces.back_mut() {
            Some(BufferPiece::Zeroes(before)) => *before += count,
            _ if count < ZEROES_MIN => self.own(|own| own.resize(own.len() + count, 0)),
            _ => self.pieces.push_back(BufferPiece::Zeroes(count)),
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

    fn bytes_of<'a>(&'a self, piece: &'a BufferPiece) -> impl Iterator<Item = &'a [u8]> {
        let (first, mut zeroes): (&[u8], usize) = match piece {
            BufferPiece::Own(range) => (&self.own[range.clone()], 0),
            BufferPiece::Zeroes(length) => (&[], *length),
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
                BufferPiece::Own(range) => range.start += count,
                BufferPiece::Zeroes(left) => *left -= count,
            }
            count = 0;
        }
        if self.pieces.is_empty() {
            self.own.clear();
        }
    }

    /// Where it ends now.
    pub(crate) fn mark(&self) -> BufferMark {
        BufferMark {
            pieces: self.pieces.len(),
            last: self.pieces.back().map_or(0, BufferPiece::len),
            own: self.own.len(),
        }
    }

    /// Takes away what was appended since `mark`; nothing may have been sent since.
    pub(crate) fn back_to(&mut self, mark: BufferMark) {
        self.pieces.truncate(mark.pieces);
        self.own.truncate(mark.own);
        match self.pieces.back_mut() {
            Some(BufferPiece::Own(range)) => range.end = range.start + mark.last,
            Some(BufferPiece::Zeroes(count)) => *count = mark.last,
            None => {}
        }
    }

    /// Everything, in one piece.
    pub(crate) fn to_vec(&self) -> Vec<u8> {
        self.pieces.iter().flat_map(|piece| self.bytes_of(piece)).collect::<Vec<_>>().concat()
    }
}

impl BufferPiece {
    const fn len(&self) -> usize {
        match self {
            Self::Own(range) => range.end - range.start,
            Self::Zeroes(length) => *length,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_sent_in_parts_is_what_was_made(
            steps in prop::collection::vec((0u8..4, prop_oneof![1usize..9_000, 1usize..200_000]), 1..20), part in 1usize..300_000,
        ) {
            let mut made = SendBuffer::default();
            let mut expected: Vec<u8> = Vec::new();
            for (kind, length) in steps {
                match kind {
                    0 => made.own(|own| own.extend((0..length).map(|n| n as u8))),
                    1 => made.bytes(&vec![7; length]),
                    2 => made.zeroes(length),
                    _ => made.fill(length, |bytes| { bytes.fill(9); Ok(()) }).unwrap(),
                }
                match kind {
                    0 => expected.extend((0..length).map(|n| n as u8)),
                    1 => expected.resize(expected.len() + length, 7),
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
        for count in [2, ZEROES_MIN] {
            let mut made = SendBuffer::default();
            made.own(|own| own.extend([1, 2, 3]));
            made.zeroes(count);
            let mark = made.mark();
            made.zeroes(5);
            made.own(|own| own.push(4));
            made.bytes(&[7; 9]);
            made.back_to(mark);
            made.own(|own| own.push(5));
            let expected = [&[1, 2, 3][..], &vec![0; count], &[5]].concat();
            assert_eq!(made.to_vec(), expected);
        }
    }

    #[test]
    fn what_cannot_be_read_leaves_nothing_behind() {
        let mut made = SendBuffer::default();
        made.own(|own| own.push(1));
        made.fill(100, |_| Err(io::Error::other("no"))).unwrap_err();
        assert_eq!(made.to_vec(), [1]);
    }
}
