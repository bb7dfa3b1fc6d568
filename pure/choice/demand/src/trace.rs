//! The demand in a trace: requests by the second in which they arrived, with their true latencies.

use crate::error::DemandError;
use crate::limited::mark_limited;
use crate::run::mark_watched;
use crate::series::{Demand, DemandInterval};
use crate::served::{ServedLimit, is_data};
use loadline_block::Operation;
use loadline_emulation::replay::join_slices;
use loadline_emulation::{Trace, TraceRecord};
use loadline_record::WatchRecord;
use loadline_units::NS_PER_S;

/// Intervals at most. Those of a longer trace are longer than a second.
const INTERVALS_MAX: u64 = 14_400;
/// What is said of a recording without them.
const NO_SURROUNDINGS: &str = "the trace has no surroundings: whether a throttle or a quota held the application back is judged by its rates \
                               alone";

/// What a trace's requests asked for; `devices` are those to add up, all where none is named. The trace's times begin with 0.
///
/// A request counts in the interval in which it arrived. So an interval shows what was asked, also if the answers came later.
///
/// # Errors
/// [`DemandError::NoDevice`]; or the trace has no read or write.
pub fn demand_of_trace(trace: &Trace, source_name: &str, devices: &[String]) -> Result<Demand, DemandError> {
    for device in devices {
        if !trace.exports.contains(device) {
            return Err(DemandError::NoDevice {
                source_name: source_name.to_owned(),
                device: device.clone(),
                known: trace.exports.clone(),
            });
        }
    }
    let is_wanted = |record: &TraceRecord| {
        is_data(record) && (devices.is_empty() || devices.contains(&trace.exports[usize::from(record.export)]))
    };
    let records: Vec<TraceRecord> = join_slices(&trace.records).into_iter().filter(is_wanted).collect();
    let Some(last) = records.iter().map(|record| record.submitted_at.as_ns()).max() else {
        return Err(DemandError::Empty { source_name: source_name.to_owned() });
    };
    let mut chosen: Vec<&String> = records.iter().map(|record| &trace.exports[usize::from(record.export)]).collect();
    chosen.sort_unstable();
    chosen.dedup();
    let recorded_ns = trace.recording.as_ref().map_or(0, |notes| notes.elapsed_ns).max(last + 1);
    let mut demand = Demand {
        source: format!("a trace, {source_name}"),
        devices: chosen.into_iter().cloned().collect(),
        intervals: intervals(&records, recorded_ns),
        notes: notes(trace, &records),
    };
    if demand.devices.len() > 1 {
        let text =
            format!("{} devices are added up as one volume: {}", demand.devices.len(), demand.devices.join(", "));
        demand.notes.push(text);
    }
    for watch in surroundings(trace, &demand.devices) {
        mark_watched(&mut demand, watch);
    }
    mark_limited(&mut demand);
    if let Some(limit) = ServedLimit::of(&records) {
        limit.mark(&mut demand);
    }
    Ok(demand)
}

/// What was watched of these devices while they were recorded.
fn surroundings<'a>(trace: &'a Trace, devices: &[String]) -> Vec<&'a WatchRecord> {
    let run = trace.recording.as_ref().and_then(|notes| notes.surroundings.as_ref());
    let cells = run.into_iter().flat_map(|run| &run.cells).filter(|cell| devices.contains(&cell.volume));
    cells.flat_map(|cell| &cell.trials).filter_map(|trial| trial.watched.as_deref()).collect()
}

fn notes(trace: &Trace, records: &[TraceRecord]) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(recording) = &trace.recording {
        let missing = recording.missing().unwrap_or(0);
        if missing > 0 || recording.events_lost > 0 {
            notes.push(format!("the recording is not whole: {missing} requests are missing, so the need is higher"));
        }
        if recording.surroundings.is_none() {
            notes.push(NO_SURROUNDINGS.to_owned());
        }
        if recording.left_out > 0 {
            notes.push(format!("{} lines or records of the trace were no requests", recording.left_out));
        }
    }
    if trace.cut_short {
        notes.push("the trace has no end: the last second or two of its recording are missing".to_owned());
    }
    if records.iter().any(|record| record.completed_at.is_none()) {
        notes.push("some requests have no answer in the trace: latencies are those of the others".to_owned());
    }
    notes
}

/// The sums of one interval.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    reads: u64,
    writes: u64,
    read_bytes: u64,
    write_bytes: u64,
    answered: u64,
    took_ns: u64,
    in_flight_ns: u64,
}

fn intervals(records: &[TraceRecord], recorded_ns: u64) -> Vec<DemandInterval> {
    let step_ns = recorded_ns.div_ceil(NS_PER_S).div_ceil(INTERVALS_MAX).max(1) * NS_PER_S;
    // What is left over at the end is an interval of its own, unless it is so short that rates over it mean nothing.
    let count = ((recorded_ns + step_ns / 2) / step_ns).max(1);
    let place = |at_ns: u64| (at_ns / step_ns).min(count - 1) as usize;
    let begins = |place: usize| place as u64 * step_ns;
    let ends = |place: usize| if place as u64 + 1 == count { recorded_ns } else { begins(place + 1) };
    let mut sums = vec![Sum::default(); count as usize];
    for record in records {
        let (came, bytes) = (record.submitted_at.as_ns(), record.length);
        let own = &mut sums[place(came)];
        if record.operation == Operation::Read {
            (own.reads, own.read_bytes) = (own.reads + 1, own.read_bytes + bytes);
        } else {
            (own.writes, own.write_bytes) = (own.writes + 1, own.write_bytes + bytes);
        }
        let Some(done) = record.completed_at.map(|at| at.as_ns().min(recorded_ns)) else { continue };
        own.answered += 1;
        own.took_ns += done.saturating_sub(came);
        let (first, last) = (place(came), place(done.max(came)));
        for (at, sum) in sums.iter_mut().enumerate().take(last + 1).skip(first) {
            sum.in_flight_ns += done.min(ends(at)).saturating_sub(came.max(begins(at)));
        }
    }
    let is_answered = records.iter().any(|record| record.completed_at.is_some());
    let of = |(at, sum): (usize, &Sum)| {
        let length_s = (ends(at) - begins(at)) as f64 / NS_PER_S as f64;
        DemandInterval {
            length_s,
            reads_per_s: sum.reads as f64 / length_s,
            writes_per_s: sum.writes as f64 / length_s,
            read_bytes_per_s: sum.read_bytes as f64 / length_s,
            write_bytes_per_s: sum.write_bytes as f64 / length_s,
            in_flight: is_answered.then(|| sum.in_flight_ns as f64 / NS_PER_S as f64 / length_s),
            latency_ns: (sum.answered > 0).then(|| sum.took_ns as f64 / sum.answered as f64),
            at_limit: None,
            ..DemandInterval::default()
        }
    };
    sums.iter().enumerate().map(of).collect()
}

/// Recordings for tests.
#[cfg(test)]
pub(crate) mod example {
    use super::*;
    use loadline_emulation::RecordingNotes;
    use loadline_units::{Duration, Instant};

    /// A request of 4 KiB.
    pub(crate) fn record(
        sequence: u64,
        submitted_at: Instant,
        completed_at: Option<Instant>,
        operation: Operation,
    ) -> TraceRecord {
        TraceRecord { sequence, submitted_at, completed_at, operation, length: 4_096, ..TraceRecord::default() }
    }

    /// A recording of these devices that took so long.
    pub(crate) fn trace(devices: &[&str], records: Vec<TraceRecord>, elapsed: Duration) -> Trace {
        Trace {
            about: String::new(),
            exports: devices.iter().map(|device| (*device).to_owned()).collect(),
            records,
            changes: Vec::new(),
            late: Vec::new(),
            cut_short: false,
            recording: Some(RecordingNotes { elapsed_ns: elapsed.as_ns(), ..RecordingNotes::default() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AtLimit;
    use loadline_units::{Duration, Instant};

    fn trace(requests: &[(u64, Option<u64>, Operation)], elapsed_ms: u64) -> Trace {
        let at = |ms: u64| Instant::from_ns(ms * 1_000_000);
        let records = (0..).zip(requests);
        let records = records.map(|(number, (came, done, of))| example::record(number, at(*came), done.map(at), *of));
        example::trace(&["vdb", "vdc"], records.collect(), Duration::from_ms(elapsed_ms))
    }

    #[test]
    fn requests_count_when_they_arrive_and_are_in_flight_until_they_are_answered() {
        use Operation::{Flush, Read, Write};
        let requests =
            [(0, Some(500), Read), (900, Some(1_400), Write), (950, Some(960), Flush), (3_100, Some(3_200), Read)];
        let demand = demand_of_trace(&trace(&requests, 3_400), "t", &[]).unwrap();
        let rates: Vec<(f64, f64)> =
            demand.intervals.iter().map(|one| (one.reads_per_s * one.length_s, one.writes_per_s)).collect();
        // The last 0.4 s belong to the third second: a rate over less than half a second says nothing.
        assert_eq!(rates, [(1.0, 1.0), (0.0, 0.0), (1.0, 0.0)]);
        assert_eq!(demand.intervals.iter().map(|one| one.length_s).collect::<Vec<_>>(), [1.0, 1.0, 1.4]);
        let in_flight: Vec<f64> = demand.intervals.iter().map(|one| one.in_flight.unwrap()).collect();
        for (found, expected) in in_flight.iter().zip([0.6, 0.4, 0.1 / 1.4]) {
            assert!((found - expected).abs() < 1e-9, "{in_flight:?}");
        }
        assert_eq!(demand.intervals[0].latency_ns, Some(5e8));
        assert_eq!(demand.devices, ["vdb"]);
    }

    #[test]
    fn a_closed_loop_asks_for_at_least_what_was_recorded() {
        // Four at a time, each for 4 ms, for ten seconds.
        let requests: Vec<_> = (0..10_000).map(|ms| (ms, Some(ms + 4), Operation::Read)).collect();
        let demand = demand_of_trace(&trace(&requests, 10_000), "t", &[]).unwrap();
        assert!((demand.limited_share() - 1.0).abs() < 1e-9);
        assert_eq!(demand.limited_by(), Some(AtLimit::LevelRequests));
    }

    #[test]
    fn traces_without_answers_or_requests_say_so() {
        let iolog = trace(&[(0, None, Operation::Read), (10, None, Operation::Write)], 0);
        let demand = demand_of_trace(&iolog, "t", &["vdb".to_owned()]).unwrap();
        assert_eq!((demand.intervals[0].in_flight, demand.intervals[0].latency_ns), (None, None));
        assert!(demand.notes[0].contains("no surroundings"), "{:?}", demand.notes);
        assert!(demand.notes[1].contains("no answer"), "{:?}", demand.notes);
        let none = demand_of_trace(&iolog, "t", &["vdc".to_owned()]);
        assert!(matches!(none, Err(DemandError::Empty { .. })));
        let known = demand_of_trace(&iolog, "t", &["sda".to_owned()]).unwrap_err().to_string();
        assert!(known.contains("vdb, vdc"), "{known}");
    }
}
