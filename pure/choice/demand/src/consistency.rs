//! The figures of a device held against each other: size against bytes, latency against requests in flight, busy time against both.
//!
//! A file that says one thing twice may contradict itself: a unit that its heading does not show, a counter of another kernel, a column
//! of another version. Then both figures are said, and nothing rests on the one that cannot be.

use crate::combined::Block;
use crate::series::DemandInterval;

/// Figures that differ by less are the same: tools round them, and requests that are under way at the end of an interval count in the next.
const SAME: f64 = 0.25;
/// Requests in flight that differ by less are the same.
const IN_FLIGHT_SAME: f64 = 0.3;
/// Bytes per second that differ by less are the same: rates are printed with two digits behind the point, and sizes of KiB, too.
const BYTES_SAME: f64 = 4096.0;
/// What rates at the level of a device come to at least: requests are of whole sectors.
const SECTOR: f64 = loadline_units::SECTOR.get() as f64;
/// No request of a device is larger on average.
const SIZE_MAX: f64 = 64.0 * 1024.0 * 1024.0;

/// Whether two figures are the same, but for how they were rounded.
fn are_same(one: f64, other: f64, slack: f64) -> bool {
    (one - other).abs() <= slack.max(SAME * one.max(other))
}

/// The sums over time of one device's figures.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    time_s: f64,
    requests: f64,
    bytes: f64,
    sized_bytes: Option<f64>,
    in_flight: Option<f64>,
    by_latency: Option<f64>,
    busy: Option<f64>,
}

impl Sums {
    fn of<'a>(rows: impl Iterator<Item = (f64, &'a DemandInterval)>) -> Self {
        let mut sums = Self {
            sized_bytes: Some(0.0),
            in_flight: Some(0.0),
            by_latency: Some(0.0),
            busy: Some(0.0),
            ..Self::default()
        };
        // A row that no storage does is left out later on.
        for (length_s, row) in rows.filter(|(_, row)| row.impossible().is_none()) {
            let requests = row.requests_per_s();
            // Where nothing was asked, nothing took time.
            let latency = row.latency_ns.or((requests <= 0.0).then_some(0.0));
            let add = |sum: Option<f64>, figure: Option<f64>| Some(sum? + figure? * length_s);
            sums.time_s += length_s;
            sums.requests += requests * length_s;
            sums.bytes += row.bytes_per_s() * length_s;
            sums.sized_bytes = add(sums.sized_bytes, row.sized_bytes_per_s);
            sums.in_flight = add(sums.in_flight, row.in_flight);
            sums.by_latency = add(sums.by_latency, latency.map(|ns| ns / 1e9 * requests));
            sums.busy = add(sums.busy, row.busy);
        }
        sums
    }
}

/// Holds the figures of each chosen device against each other, takes back those that cannot be, and says both.
pub(crate) fn hold(blocks: &mut [Block], devices: &[&str]) -> Vec<String> {
    let mut notes = Vec::new();
    for device in devices {
        let rows = blocks.iter().flat_map(|block| {
            block.rows.iter().filter(|(name, _)| name == device).map(|(_, row)| (block.length_s, row))
        });
        let sums = Sums::of(rows);
        if sums.time_s <= 0.0 || sums.requests <= 0.0 {
            continue;
        }
        let mut change = |of: &dyn Fn(&mut DemandInterval)| {
            for (_, row) in blocks.iter_mut().flat_map(|block| &mut block.rows).filter(|(name, _)| name == device) {
                of(row);
            }
        };
        let mean = |sum: f64| sum / sums.time_s;
        if let Some(sized) = sums.sized_bytes.filter(|sized| !are_same(*sized, sums.bytes, BYTES_SAME * sums.time_s)) {
            let kib = |bytes: f64| bytes / 1024.0;
            notes.push(format!(
                "{device}: {:.0} KiB a second are told, and its requests with their sizes come to {:.0} KiB: the latter count",
                kib(mean(sums.bytes)),
                kib(mean(sized)),
            ));
            change(&|row| {
                let (own, sized) = (row.bytes_per_s(), row.sized_bytes_per_s.unwrap_or(0.0));
                if own > 0.0 {
                    row.read_bytes_per_s *= sized / own;
                    row.write_bytes_per_s *= sized / own;
                }
            });
        } else if sums.bytes > 0.0 {
            let size = sums.bytes / sums.requests;
            if !(0.98 * SECTOR..=SIZE_MAX).contains(&size) {
                notes.push(format!(
                    "{device}: {:.2} requests and {:.0} bytes a second come to {size:.0} bytes a request, which no disk has: one of them has \
                     another unit than is taken, so say the need yourself",
                    mean(sums.requests),
                    mean(sums.bytes),
                ));
            }
        }
        if let Some((in_flight, by_latency)) = sums.in_flight.zip(sums.by_latency)
            && !are_same(in_flight, by_latency, IN_FLIGHT_SAME * sums.time_s)
        {
            notes.push(format!(
                "{device}: {:.2} requests in flight are told, and rates and latencies come to {:.2}: nothing rests on either",
                mean(in_flight),
                mean(by_latency)
            ));
            change(&|row| (row.in_flight, row.latency_ns) = (None, None));
        } else if let Some((busy, in_flight)) = sums.busy.zip(sums.in_flight)
            // Whoever has a request in flight is busy.
            && busy > in_flight * (1.0 + SAME) + IN_FLIGHT_SAME * sums.time_s
        {
            notes.push(format!(
                "{device}: busy for {:.0} % of the time, and {:.2} requests in flight on average: nothing rests on the latter",
                100.0 * mean(busy),
                mean(in_flight)
            ));
            change(&|row| row.in_flight = None);
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(row: DemandInterval) -> (DemandInterval, Vec<String>) {
        let block = || Block { length_s: 60.0, rows: vec![("sdb".to_owned(), row)] };
        let mut blocks = vec![block(), block(), block()];
        let notes = hold(&mut blocks, &["sdb"]);
        (blocks[0].rows[0].1, notes)
    }

    /// 500 requests of 8 KiB a second, each of 4 ms: two in flight.
    const SOUND: DemandInterval = DemandInterval {
        length_s: 60.0,
        reads_per_s: 400.0,
        writes_per_s: 100.0,
        read_bytes_per_s: 400.0 * 8192.0,
        write_bytes_per_s: 100.0 * 8192.0,
        in_flight: Some(2.0),
        latency_ns: Some(4e6),
        at_limit: None,
        limited_part: None,
        busy: Some(0.9),
        sized_bytes_per_s: Some(500.0 * 8192.0),
    };

    #[test]
    fn what_agrees_is_left_as_it_is() {
        for row in [
            SOUND,
            DemandInterval { in_flight: Some(2.4), ..SOUND },
            DemandInterval { busy: None, latency_ns: None, sized_bytes_per_s: None, ..SOUND },
            DemandInterval { sized_bytes_per_s: Some(500.0 * 8300.0), ..SOUND },
            // Little is asked: rounding is all there is.
            DemandInterval { reads_per_s: 0.03, writes_per_s: 0.0, in_flight: Some(0.0), ..SOUND },
        ] {
            let row = if row.reads_per_s < 1.0 {
                DemandInterval { busy: Some(0.01), sized_bytes_per_s: None, ..row }
            } else {
                row
            };
            let (held, notes) = held(row);
            let notes: Vec<_> = notes.into_iter().filter(|note| !note.contains("no disk has")).collect();
            assert_eq!((held, notes), (row, vec![]));
        }
    }

    #[test]
    fn bytes_that_sizes_contradict_are_those_of_the_sizes() {
        // A unit that the heading does not show: 1,024 times as much.
        let (held, notes) = held(DemandInterval { read_bytes_per_s: SOUND.read_bytes_per_s * 1024.0, ..SOUND });
        assert!((held.bytes_per_s() - 500.0 * 8192.0).abs() < 1.0, "{held:?}");
        assert_eq!(notes.len(), 1);
        assert!(
            notes[0].starts_with("sdb: 3277600 KiB a second are told, and") && notes[0].contains(" 4000 KiB"),
            "{notes:?}"
        );
        let (_, notes) = held_without_sizes(SOUND.bytes_per_s() / 64.0);
        assert!(notes[0].contains("128 bytes a request"), "{notes:?}");
    }

    fn held_without_sizes(bytes: f64) -> (DemandInterval, Vec<String>) {
        held(DemandInterval { read_bytes_per_s: bytes, write_bytes_per_s: 0.0, sized_bytes_per_s: None, ..SOUND })
    }

    #[test]
    fn neither_of_two_queues_that_contradict_counts() {
        for in_flight in [0.2, 9.0] {
            let (held, notes) = held(DemandInterval { in_flight: Some(in_flight), ..SOUND });
            assert_eq!((held.in_flight, held.latency_ns), (None, None));
            assert!(
                notes[0].contains(&format!("{in_flight:.2} requests in flight")) && notes[0].contains("come to 2.00"),
                "{notes:?}"
            );
        }
    }

    #[test]
    fn a_busy_disk_has_requests_in_flight() {
        let (held, notes) = held(DemandInterval { in_flight: Some(0.1), latency_ns: None, ..SOUND });
        assert_eq!(held.in_flight, None);
        assert!(notes[0].contains("busy for 90 %") && notes[0].contains("0.10 requests"), "{notes:?}");
    }
}
