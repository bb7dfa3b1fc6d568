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

/// Two figures of a device that cannot both be, as means over the file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Disagreement {
    /// Bytes a second; the second are those of requests with their sizes.
    Bytes(f64, f64),
    /// Requests and bytes a second whose size no disk has.
    Size(f64, f64),
    /// Requests in flight; the second are those of rates and latencies.
    InFlight(f64, f64),
    /// The share of the time in which it is busy, and requests in flight.
    Busy(f64, f64),
}

impl std::fmt::Display for Disagreement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bytes(own, sized) => write!(
                f,
                "the file has {:.0} KiB a second, and its requests with their sizes come to {:.0} KiB: the latter count",
                own / 1024.0,
                sized / 1024.0
            ),
            Self::Size(requests, bytes) => write!(
                f,
                "{requests:.2} requests and {bytes:.0} bytes a second come to {:.0} bytes a request, which no disk has: one of them has \
                 another unit than is taken, so say the need yourself",
                bytes / requests
            ),
            Self::InFlight(own, by_latency) => write!(
                f,
                "the file has {own:.2} requests in flight, and rates and latencies come to {by_latency:.2}: nothing rests on either"
            ),
            Self::Busy(busy, in_flight) => write!(
                f,
                "busy for {:.0} % of the time, and {in_flight:.2} requests in flight on average: nothing rests on the latter",
                100.0 * busy
            ),
        }
    }
}

/// Holds the figures of each chosen device against each other, takes back those that cannot be, and gives both with the device.
pub(crate) fn hold(blocks: &mut [Block], devices: &[&str]) -> Vec<(String, Disagreement)> {
    let mut found = Vec::new();
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
            found.push(((*device).to_owned(), Disagreement::Bytes(mean(sums.bytes), mean(sized))));
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
                found.push(((*device).to_owned(), Disagreement::Size(mean(sums.requests), mean(sums.bytes))));
            }
        }
        if let Some((in_flight, by_latency)) = sums.in_flight.zip(sums.by_latency)
            && !are_same(in_flight, by_latency, IN_FLIGHT_SAME * sums.time_s)
        {
            found.push(((*device).to_owned(), Disagreement::InFlight(mean(in_flight), mean(by_latency))));
            change(&|row| (row.in_flight, row.latency_ns) = (None, None));
        } else if let Some((busy, in_flight)) = sums.busy.zip(sums.in_flight)
            // A device with a request in flight is busy.
            && busy > in_flight * (1.0 + SAME) + IN_FLIGHT_SAME * sums.time_s
        {
            found.push(((*device).to_owned(), Disagreement::Busy(mean(busy), mean(in_flight))));
            change(&|row| row.in_flight = None);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(row: DemandInterval) -> (DemandInterval, Vec<Disagreement>) {
        let block = || Block { length_s: 60.0, rows: vec![("sdb".to_owned(), row)] };
        let mut blocks = vec![block(), block(), block()];
        let found = hold(&mut blocks, &["sdb"]);
        assert!(found.iter().all(|(device, _)| device == "sdb"));
        (blocks[0].rows[0].1, found.into_iter().map(|(_, disagreement)| disagreement).collect())
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
            DemandInterval {
                reads_per_s: 0.03,
                writes_per_s: 0.0,
                read_bytes_per_s: 0.03 * 8192.0,
                write_bytes_per_s: 0.0,
                in_flight: Some(0.0),
                busy: Some(0.01),
                sized_bytes_per_s: None,
                ..SOUND
            },
        ] {
            assert_eq!(held(row), (row, vec![]));
        }
    }

    #[test]
    fn bytes_that_sizes_contradict_are_those_of_the_sizes() {
        // A unit that the heading does not show: 1,024 times as much.
        let (held, found) = held(DemandInterval { read_bytes_per_s: SOUND.read_bytes_per_s * 1024.0, ..SOUND });
        assert!((held.bytes_per_s() - 500.0 * 8192.0).abs() < 1.0, "{held:?}");
        let wrong = SOUND.read_bytes_per_s * 1024.0 + SOUND.write_bytes_per_s;
        assert_eq!(found, [Disagreement::Bytes(wrong, 500.0 * 8192.0)]);
        let (_, found) = held_without_sizes(SOUND.bytes_per_s() / 64.0);
        assert_eq!(found, [Disagreement::Size(500.0, 64_000.0)]);
    }

    fn held_without_sizes(bytes: f64) -> (DemandInterval, Vec<Disagreement>) {
        held(DemandInterval { read_bytes_per_s: bytes, write_bytes_per_s: 0.0, sized_bytes_per_s: None, ..SOUND })
    }

    #[test]
    fn neither_of_two_queues_that_contradict_counts() {
        for in_flight in [0.2, 9.0] {
            let (held, found) = held(DemandInterval { in_flight: Some(in_flight), ..SOUND });
            assert_eq!((held.in_flight, held.latency_ns), (None, None));
            assert_eq!(found, [Disagreement::InFlight(in_flight, 2.0)]);
        }
    }

    #[test]
    fn a_busy_disk_has_requests_in_flight() {
        let (held, found) = held(DemandInterval { in_flight: Some(0.1), latency_ns: None, ..SOUND });
        assert_eq!(held.in_flight, None);
        assert_eq!(found, [Disagreement::Busy(0.9, 0.1)]);
    }
}
