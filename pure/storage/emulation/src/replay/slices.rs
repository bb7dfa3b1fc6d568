//! Requests out of slices: a trace records what went to the model, not what clients asked for.

use crate::trace::{SlicePart, TraceRecord};
use loadline_block::Operation;
use std::collections::BTreeMap;

/// Where a slice continues another one: export, client, operation, and offset.
type Continuation = (u16, u32, Operation, u64);

/// Joins slices into the requests of clients, in the order in which they came. A request that went to the model in slices becomes one
/// record, from its first slice to the answer of its last. Slices that never went to the model, because one before them failed, are
/// missing from its length.
#[must_use]
pub fn join_slices(records: &[TraceRecord]) -> Vec<TraceRecord> {
    let mut requests: Vec<TraceRecord> = Vec::with_capacity(records.len());
    // Incomplete requests, by where their next slice begins; the earliest is last.
    let mut open: BTreeMap<Continuation, Vec<usize>> = BTreeMap::new();
    for record in records {
        let begins = (record.export, record.client, record.operation, record.offset);
        let continues = matches!(record.part, SlicePart::Middle | SlicePart::Last);
        let earlier = if continues { open.get_mut(&begins).and_then(Vec::pop) } else { None };
        let number = earlier.unwrap_or(requests.len());
        match requests.get_mut(number) {
            Some(request) => {
                request.length += record.length;
                (request.completed_at, request.error) = (record.completed_at, record.error);
            }
            None => requests.push(TraceRecord { part: SlicePart::Whole, ..*record }),
        }
        if matches!(record.part, SlicePart::First | SlicePart::Middle) {
            let end = record.offset + record.length;
            open.entry((record.export, record.client, record.operation, end)).or_default().insert(0, number);
        }
    }
    requests
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_block::ErrorKind;
    use loadline_units::Instant;

    const GIB: u64 = 1 << 30;

    fn slice(sequence: u64, from_ms: u64, until_ms: u64, offset: u64, length: u64, part: SlicePart) -> TraceRecord {
        let at = |ms: u64| Instant::from_ns(ms * 1_000_000);
        TraceRecord {
            sequence,
            submitted_at: at(from_ms),
            completed_at: Some(at(until_ms)),
            operation: Operation::Trim,
            offset,
            length,
            client: 1,
            part,
            ..TraceRecord::default()
        }
    }

    #[test]
    fn slices_are_the_request_that_they_were_whoever_asks_meanwhile() {
        let other = |record: TraceRecord| TraceRecord { client: 2, ..record };
        let records = [
            slice(0, 0, 5, 0, GIB, SlicePart::First),
            // The same range, of another client, and of the same one again.
            other(slice(1, 1, 6, 0, GIB, SlicePart::First)),
            slice(2, 2, 7, 0, GIB, SlicePart::First),
            // Begins where another one goes on, and is none of it.
            slice(3, 3, 4, GIB, 4_096, SlicePart::Whole),
            slice(4, 5, 9, GIB, GIB, SlicePart::Middle),
            other(slice(5, 6, 8, GIB, 512, SlicePart::Last)),
            TraceRecord { error: Some(ErrorKind::Io), ..slice(6, 7, 11, GIB, 1_024, SlicePart::Last) },
            slice(7, 9, 14, 2 * GIB, GIB, SlicePart::Last),
            TraceRecord { completed_at: None, ..slice(8, 20, 20, 7 * GIB, 512, SlicePart::Last) },
        ];
        let joined = join_slices(&records);
        let told: Vec<(u64, u64, Option<u64>, u64)> = joined
            .iter()
            .map(|one| (one.sequence, one.length, one.completed_at.map(|at| at.as_ns() / 1_000_000), one.offset))
            .collect();
        let expected = [
            (0, 3 * GIB, Some(14), 0),
            (1, GIB + 512, Some(8), 0),
            (2, GIB + 1_024, Some(11), 0),
            (3, 4_096, Some(4), GIB),
            // Its beginning is missing.
            (8, 512, None, 7 * GIB),
        ];
        assert_eq!(told, expected);
        assert_eq!(
            joined.iter().map(|one| one.error).collect::<Vec<_>>(),
            [None, None, Some(ErrorKind::Io), None, None]
        );
        assert!(joined.iter().all(|one| one.part == SlicePart::Whole));
    }
}
