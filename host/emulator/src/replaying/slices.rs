//! What was asked, of a trace that holds what went to the model.

use crate::trace::{Part, Record};
use loadline_block::Operation;
use std::collections::HashMap;

/// Whose a slice is that goes on with another one, and where it begins.
type Place = (u16, u32, Operation, u64);

/// Requests as they were asked for, in the order in which they came: of one that was handed over in slices a single record, from when it
/// came to the answer to the last slice. What was not asked of the model, because a slice before it failed, is not in it.
#[must_use]
pub fn requests(records: &[Record]) -> Vec<Record> {
    let mut requests: Vec<Record> = Vec::with_capacity(records.len());
    // Requests of which another slice is to come, by its place: the earliest is the last of them.
    let mut open: HashMap<Place, Vec<usize>> = HashMap::new();
    for record in records {
        let begins = (record.export, record.client, record.operation, record.offset);
        let goes_on = matches!(record.part, Part::Middle | Part::Last);
        let earlier = if goes_on { open.get_mut(&begins).and_then(Vec::pop) } else { None };
        let number = earlier.unwrap_or(requests.len());
        match requests.get_mut(number) {
            Some(request) => {
                request.length += record.length;
                (request.completed_at, request.error) = (record.completed_at, record.error);
            }
            None => requests.push(Record { part: Part::Whole, ..*record }),
        }
        if matches!(record.part, Part::First | Part::Middle) {
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

    fn slice(sequence: u64, from_ms: u64, until_ms: u64, offset: u64, length: u64, part: Part) -> Record {
        let at = |ms: u64| Instant::from_ns(ms * 1_000_000);
        Record {
            sequence,
            submitted_at: at(from_ms),
            completed_at: Some(at(until_ms)),
            error: None,
            export: 0,
            operation: Operation::Trim,
            durable: false,
            offset,
            length,
            client: 1,
            part,
        }
    }

    #[test]
    fn slices_are_the_request_that_they_were_whoever_asks_meanwhile() {
        let other = |record: Record| Record { client: 2, ..record };
        let records = [
            slice(0, 0, 5, 0, GIB, Part::First),
            // The same range, of another client, and of the same one again.
            other(slice(1, 1, 6, 0, GIB, Part::First)),
            slice(2, 2, 7, 0, GIB, Part::First),
            // Begins where another one goes on, and is none of it.
            slice(3, 3, 4, GIB, 4_096, Part::Whole),
            slice(4, 5, 9, GIB, GIB, Part::Middle),
            other(slice(5, 6, 8, GIB, 512, Part::Last)),
            Record { error: Some(ErrorKind::Io), ..slice(6, 7, 11, GIB, 1_024, Part::Last) },
            slice(7, 9, 14, 2 * GIB, GIB, Part::Last),
            Record { completed_at: None, ..slice(8, 20, 20, 7 * GIB, 512, Part::Last) },
        ];
        let joined = requests(&records);
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
        assert!(joined.iter().all(|one| one.part == Part::Whole));
    }
}
