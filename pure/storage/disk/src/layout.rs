//! The guest's layout: splits a request into parts on the disks of a volume.

use crate::Layout;
use loadline_block::Operation;

/// The place of a byte of a volume: its column, and its offset there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Location {
    /// Which column; every copy of it has the byte at the same place.
    pub column: usize,
    /// From the start of the column's disks.
    pub offset: u64,
    /// This many bytes from here on are contiguous on the column.
    pub run: u64,
}

impl Layout {
    /// Number of copies: column `c` has the disks from `c * copies` on.
    #[must_use]
    pub const fn copies(&self) -> usize {
        match *self {
            Self::Single | Self::Stripe { .. } => 1,
            Self::Mirror { copies } | Self::StripeOfMirrors { copies, .. } => copies as usize,
        }
    }

    /// The place of the byte at `offset` of a volume, as requests are split.
    #[must_use]
    pub const fn locate(&self, offset: u64) -> Location {
        match *self {
            Self::Stripe { columns, interleave } | Self::StripeOfMirrors { columns, interleave, .. } if columns > 1 => {
                let (columns, interleave) = (columns as u64, interleave.get());
                let (number, within) = (offset / interleave, offset % interleave);
                let (row, column) = (number / columns, number % columns);
                Location { column: column as usize, offset: row * interleave + within, run: interleave - within }
            }
            _ => Location { column: 0, offset, run: u64::MAX - offset },
        }
    }
}

/// A divisor in frequent use. Most are powers of two, which need no division.
#[derive(Debug, Clone, Copy)]
struct Divisor {
    value: u64,
    /// The exponent, if it is a power of two.
    shift: Option<u32>,
}

impl Divisor {
    fn new(value: u64) -> Self {
        Self { value, shift: value.is_power_of_two().then(|| value.trailing_zeros()) }
    }

    /// Quotient and remainder.
    #[inline]
    const fn divide(self, number: u64) -> (u64, u64) {
        match self.shift {
            Some(shift) => (number >> shift, number & (self.value - 1)),
            None => (number / self.value, number % self.value),
        }
    }
}

/// A layout over `disks` disks.
#[derive(Debug, Clone)]
pub(crate) struct Placement {
    columns: Divisor,
    copies: u64,
    interleave: Divisor,
    /// The copy of each column that is read next.
    turn: Vec<u64>,
    /// Disks that are not there, by their place; empty: all are.
    absent: Vec<bool>,
}

/// A part of a request: bytes of one disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Which disk of the volume.
    pub(crate) disk: usize,
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

impl Placement {
    pub(crate) fn new(layout: Layout) -> Self {
        let (columns, copies, interleave) = match layout {
            Layout::Single => (1, 1, 1),
            Layout::Stripe { columns, interleave } => (columns, 1, interleave.get()),
            Layout::Mirror { copies } => (1, copies, 1),
            Layout::StripeOfMirrors { columns, copies, interleave } => (columns, copies, interleave.get()),
        };
        Self {
            columns: Divisor::new(u64::from(columns)),
            copies: u64::from(copies),
            interleave: Divisor::new(interleave),
            turn: vec![0; columns as usize],
            absent: Vec::new(),
        }
    }

    /// The copy of a column that is read next.
    fn take_turn(&mut self, column: u64) -> u64 {
        let turn = &mut self.turn[column as usize];
        let mut copy = *turn;
        if !self.absent.is_empty() {
            let first = (column * self.copies) as usize;
            let copies = &self.absent[first..first + self.copies as usize];
            while copies[copy as usize] && (copy + 1) % self.copies != *turn {
                copy = (copy + 1) % self.copies;
            }
        }
        *turn = (copy + 1) % self.copies;
        copy
    }

    /// Whether a disk, by its index, is absent: no requests go to it.
    #[inline]
    pub(crate) fn is_absent(&self, disk: usize) -> bool {
        self.absent.get(disk).is_some_and(|absent| *absent)
    }

    /// Removes a disk, by its index, or puts it back. Reads go to other copies meanwhile.
    pub(crate) fn set_absent(&mut self, disk: usize, absent: bool) {
        self.absent.resize((self.columns.value * self.copies) as usize, false);
        self.absent[disk] = absent;
        if !self.absent.contains(&true) {
            self.absent.clear();
        }
    }

    /// The whole range as one part, if each byte lies on one disk, all disks are present, and the range lies within one
    /// interleave.
    #[inline]
    pub(crate) fn only_part(&self, offset: u64, length: u64) -> Option<Piece> {
        if self.copies != 1 || !self.absent.is_empty() {
            return None;
        }
        let (number, within) = self.interleave.divide(offset);
        let (row, column) = self.columns.divide(number);
        let is_one = within + length <= self.interleave.value;
        is_one.then(|| Piece { disk: column as usize, offset: row * self.interleave.value + within, length })
    }

    /// The next part: one for each interleave that the range touches. Writes and trims go to every copy, a read to one
    /// of them in turn, a flush to all disks.
    #[inline]
    pub(crate) fn next(&mut self, split: &mut Split) -> Option<Piece> {
        if split.operation == Operation::Flush {
            let disk = split.copy;
            split.copy += 1;
            return (disk < self.columns.value * self.copies).then_some(Piece {
                disk: disk as usize,
                offset: 0,
                length: 0,
            });
        }
        if split.over {
            return None;
        }
        let left = split.end - split.at;
        let (column, offset, length) = if self.columns.value == 1 {
            (0, split.at, left)
        } else {
            let (number, within) = self.interleave.divide(split.at);
            let (row, column) = self.columns.divide(number);
            let Divisor { value: interleave, .. } = self.interleave;
            (column, row * interleave + within, left.min(interleave - within))
        };
        let mut copy = split.copy;
        let mut last = true;
        if self.copies > 1 {
            if split.operation == Operation::Read {
                copy = self.take_turn(column);
            } else {
                split.copy = (copy + 1) % self.copies;
                last = split.copy == 0;
            }
        }
        if last {
            split.at += length;
            split.over = split.at >= split.end;
        }
        Some(Piece { disk: (column * self.copies + copy) as usize, offset, length })
    }
}

/// How far a request has been split.
#[derive(Debug, Clone)]
pub(crate) struct Split {
    operation: Operation,
    at: u64,
    end: u64,
    /// The copy that comes next; of a flush, the disk.
    copy: u64,
    over: bool,
}

impl Split {
    #[inline]
    pub(crate) const fn new(operation: Operation, offset: u64, length: u64) -> Self {
        Self { operation, at: offset, end: offset + length, copy: 0, over: false }
    }

    pub(crate) const fn operation(&self) -> Operation {
        self.operation
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_units::Bytes;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn pieces(layout: Layout, operation: Operation, offset: u64, length: u64) -> Vec<Piece> {
        all(&mut Placement::new(layout), operation, offset, length)
    }

    fn all(placement: &mut Placement, operation: Operation, offset: u64, length: u64) -> Vec<Piece> {
        let mut split = Split::new(operation, offset, length);
        std::iter::from_fn(|| placement.next(&mut split)).collect()
    }

    #[test]
    fn a_mebibyte_on_an_interleave_of_64_kib_is_16_parts() {
        let layout = Layout::Stripe { columns: 4, interleave: Bytes::kib(64) };
        let pieces = pieces(layout, Operation::Read, 0, 1 << 20);
        assert_eq!(pieces.len(), 16);
        for disk in 0..4 {
            let own: Vec<u64> = pieces.iter().filter(|piece| piece.disk == disk).map(|piece| piece.offset).collect();
            assert_eq!(own, [0, 65_536, 131_072, 196_608]);
        }
    }

    #[test]
    fn a_mirror_writes_everything_twice_and_reads_by_turns() {
        let layout = Layout::Mirror { copies: 2 };
        assert_eq!(pieces(layout, Operation::Write, 8192, 4096).len(), 2);
        let mut placement = Placement::new(layout);
        let disks: Vec<usize> =
            (0..4).flat_map(|_| all(&mut placement, Operation::Read, 0, 4096)).map(|piece| piece.disk).collect();
        assert_eq!(disks, [0, 1, 0, 1]);
    }

    #[test]
    fn a_flush_goes_to_every_disk() {
        let layout = Layout::StripeOfMirrors { columns: 3, copies: 2, interleave: Bytes::kib(64) };
        let disks: Vec<usize> = pieces(layout, Operation::Flush, 0, 0).iter().map(|piece| piece.disk).collect();
        assert_eq!(disks, [0, 1, 2, 3, 4, 5]);
    }

    proptest! {
        #[test]
        fn bytes_lie_where_requests_for_them_go(
            columns in 1u32..9, copies in 1u32..4, interleave in 1u64..64, offset in 0u64..100_000, length in 1u64..50_000,
        ) {
            let layout = Layout::StripeOfMirrors { columns, copies, interleave: Bytes::new(interleave * 512) };
            let (mut at, end) = (offset, offset + length);
            for piece in pieces(layout, Operation::Read, offset, length) {
                let location = layout.locate(at);
                prop_assert_eq!(location.column, piece.disk / layout.copies());
                prop_assert_eq!(location.offset, piece.offset);
                prop_assert_eq!(location.run.min(end - at), piece.length);
                at += piece.length;
            }
            prop_assert_eq!(at, end);
        }
        #[test]
        fn parts_have_the_bytes_of_the_whole_and_no_two_places_are_one(
            columns in 1u32..9, copies in 1u32..4, interleave in 1u64..64, offset in 0u64..100_000, length in 1u64..50_000,
        ) {
            let interleave = Bytes::new(interleave * 512);
            let layout = Layout::StripeOfMirrors { columns, copies, interleave };
            let written = pieces(layout, Operation::Write, offset, length);
            let read = pieces(layout, Operation::Read, offset, length);
            prop_assert_eq!(read.iter().map(|piece| piece.length).sum::<u64>(), length);
            prop_assert_eq!(written.iter().map(|piece| piece.length).sum::<u64>(), length * u64::from(copies));
            let mut ends: BTreeMap<(usize, u64), u64> = BTreeMap::new();
            for piece in written {
                let row = |at: u64| at / interleave.get();
                prop_assert!(columns == 1 || row(piece.offset) == row(piece.offset + piece.length - 1), "within an interleave");
                let before = ends.range(..(piece.disk, piece.offset + piece.length)).next_back();
                if let Some((&(disk, _), &end)) = before {
                    prop_assert!(disk < piece.disk || end <= piece.offset);
                }
                ends.insert((piece.disk, piece.offset), piece.offset + piece.length);
            }
        }
    }
}
