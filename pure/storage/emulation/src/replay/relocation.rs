//! Relocation: requests of a recorded disk on a smaller one.

use crate::trace::TraceRecord;
use loadline_block::Operation;
use loadline_units::Bytes;
use std::collections::{BTreeMap, BTreeSet};

/// Requests are relocated in whole pieces of this many bytes, so that sequential requests within a piece stay sequential.
const PIECE: u64 = 1 << 20;

/// The requests that were beyond the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relocation {
    /// Requests that were relocated.
    pub requests: u64,
    /// Bytes of the pieces of 1 MiB that they touched.
    pub asked_for: Bytes,
    /// Trims that were shortened or relocated.
    pub trims: u64,
}

/// There is no room for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoRoom {
    /// Bytes of all pieces of 1 MiB that the requests touch.
    pub asked_for: Bytes,
}

/// Relocates requests of an export beyond `size` to the last unused pieces before it, in order. All other requests stay where they
/// are, and most that were sequential across pieces still are. A trim needs no room: it goes with the piece in which it begins, and
/// is cut at the end.
///
/// # Errors
/// The requests touch more than `size`.
pub fn relocate(records: &mut [TraceRecord], export: u16, size: Bytes) -> Result<Relocation, NoRoom> {
    let size = size.get();
    let places = size / PIECE;
    let own = |record: &TraceRecord| record.export == export && record.length > 0;
    let end = |record: &TraceRecord| record.offset + record.length;
    let mut asked_for = BTreeSet::new();
    for record in records.iter().filter(|record| own(record) && record.operation != Operation::Trim) {
        asked_for.extend(record.offset / PIECE..end(record).div_ceil(PIECE));
    }
    if asked_for.len() as u64 > places {
        return Err(NoRoom { asked_for: Bytes::new(asked_for.len() as u64 * PIECE) });
    }
    let beyond: Vec<u64> = asked_for.range(places..).copied().collect();
    let mut free: Vec<u64> = (0..places).rev().filter(|piece| !asked_for.contains(piece)).take(beyond.len()).collect();
    free.reverse();
    let places: BTreeMap<u64, u64> = beyond.iter().copied().zip(free).collect();
    let mut moved = Relocation { requests: 0, asked_for: Bytes::new(beyond.len() as u64 * PIECE), trims: 0 };
    for record in records
        .iter_mut()
        .filter(|record| own(record))
        .filter(|record| end(record) > size || places.contains_key(&(record.offset / PIECE)))
    {
        let trims = record.operation == Operation::Trim;
        let (piece, within) = (record.offset / PIECE, record.offset % PIECE);
        let offset = places.get(&piece).map_or(record.offset, |piece| piece * PIECE + within);
        if trims {
            let length = record.length;
            record.offset = if offset < size { offset } else { size - length.min(PIECE).min(size) };
            record.length = length.min(size - record.offset);
            moved.trims += 1;
        } else {
            record.offset = offset.min(size - record.length);
            moved.requests += 1;
        }
    }
    Ok(moved)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record(operation: Operation, offset: u64, length: u64) -> TraceRecord {
        TraceRecord { operation, offset, length, ..TraceRecord::default() }
    }

    fn places(records: &[TraceRecord]) -> Vec<(u64, u64)> {
        records.iter().map(|record| (record.offset, record.length)).collect()
    }

    #[test]
    fn what_lies_beyond_goes_to_the_last_free_places_in_order_and_the_rest_stays() {
        use Operation::{Read, Write};
        let at = |piece: u64, within: u64| piece * PIECE + within;
        let mut records = [
            record(Write, at(0, 0), 4_096),
            record(Write, at(900, 8_192), 4_096),
            // From one piece to the next.
            record(Read, at(900, PIECE - 4_096), 8_192),
            record(Write, at(7, 512), 512),
            record(Read, at(5_000, 0), 1 << 20),
            TraceRecord { export: 1, ..record(Read, at(900, 0), 512) },
            record(Operation::Flush, 0, 0),
        ];
        let moved = relocate(&mut records, 0, Bytes::new(8 * PIECE)).unwrap();
        assert_eq!(moved, Relocation { requests: 3, asked_for: Bytes::mib(3), trims: 0 });
        let expected = [
            (0, 4_096),
            (at(4, 8_192), 4_096),
            (at(4, PIECE - 4_096), 8_192),
            (at(7, 512), 512),
            (at(6, 0), 1 << 20),
            (at(900, 0), 512),
            (0, 0),
        ];
        assert_eq!(places(&records), expected);
    }

    #[test]
    fn trims_ask_for_no_place_and_end_where_the_storage_does() {
        let mut records = [
            record(Operation::Trim, 0, u32::MAX.into()),
            record(Operation::Trim, 100 * PIECE, 1 << 30),
            record(Operation::Write, 200 * PIECE, 512),
            record(Operation::Trim, 200 * PIECE + 512, 512),
        ];
        let moved = relocate(&mut records, 0, Bytes::mib(2)).unwrap();
        assert_eq!(moved, Relocation { requests: 1, asked_for: Bytes::mib(1), trims: 3 });
        assert_eq!(places(&records), [(0, 2 << 20), (PIECE, 1 << 20), (PIECE, 512), (PIECE + 512, 512)]);
    }

    #[test]
    fn more_than_there_is_room_for_is_refused_with_how_much_it_is() {
        let mut records = [record(Operation::Write, 0, 512), record(Operation::Read, 9 * PIECE - 512, 1_024)];
        assert_eq!(relocate(&mut records, 0, Bytes::mib(2)), Err(NoRoom { asked_for: Bytes::mib(3) }));
    }

    proptest! {
        #[test]
        fn everything_lies_within_and_nothing_is_put_on_anything_else(
            asked in prop::collection::vec((0_u64..64, 0_u64..2_048, 1_u64..256), 1..40), pieces in 1_u64..64,
        ) {
            let before: Vec<TraceRecord> =
                asked.iter().map(|(piece, sector, sectors)| record(Operation::Write, piece * PIECE + sector * 512, sectors * 512)).collect();
            let mut after = before.clone();
            let size = pieces * PIECE;
            if relocate(&mut after, 0, Bytes::new(size)).is_ok() {
                for (one, there) in before.iter().zip(&after) {
                    prop_assert!(there.offset + there.length <= size && there.length == one.length);
                    let whole = one.offset / PIECE == (one.offset + one.length - 1) / PIECE;
                    prop_assert!(!whole || there.offset % PIECE == one.offset % PIECE);
                    // Pieces are different ones as they were before.
                    for (other, elsewhere) in before.iter().zip(&after) {
                        let apart = |a: &TraceRecord, b: &TraceRecord| a.offset / PIECE != b.offset / PIECE;
                        prop_assert!(!whole || apart(one, other) == apart(there, elsewhere) || one.offset / PIECE != other.offset / PIECE);
                    }
                }
            }
        }
    }
}
