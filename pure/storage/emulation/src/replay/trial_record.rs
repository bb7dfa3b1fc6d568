//! The trial of a replay: what one export was asked and how its requests went, as a record of a run.

use super::{Dependence, ReplayedRequest};
use crate::time_shares::TimeAccount;
use crate::trace::TraceRecord;
use loadline_block::Operation;
use loadline_disk::Waits;
use loadline_record::{EngineUsed, OperationRecord, Series, SeriesInterval, Surroundings, TrialRecord};
use loadline_units::{Duration, Instant, NS_PER_S};
use std::collections::BTreeMap;

/// The time account of the replayed requests to one export; `waits` are those of the machine.
#[must_use]
pub fn account(requests: &[(TraceRecord, ReplayedRequest)], waits: Waits) -> TimeAccount {
    let mut account = TimeAccount { waits, ..TimeAccount::default() };
    // The end of the busy time that was counted so far.
    let mut counted = Instant::ZERO;
    let mut spans: Vec<ReplayedRequest> = requests.iter().map(|(_, replayed)| *replayed).collect();
    spans.sort_unstable_by_key(|replayed| replayed.submitted_at);
    for ReplayedRequest { submitted_at, completed_at } in spans {
        account.requests += 1;
        account.first.get_or_insert(submitted_at);
        account.last = account.last.max(completed_at);
        account.at_disk = account.at_disk + completed_at.since(submitted_at);
        account.busy = account.busy + completed_at.since(submitted_at.max(counted));
        counted = counted.max(completed_at);
    }
    account
}

/// Arrivals per second. The span is that from the first request to the last answer, less the time in which the storage worked off
/// its backlog after the last arrival. So storage that keeps up achieves as much as is offered, however long nothing arrives at the
/// end. Flushes are not counted, as they are not counted in what is achieved.
fn offered(requests: &[(TraceRecord, ReplayedRequest)], measured_ns: u64) -> Option<f64> {
    let arrivals = || requests.iter().filter(|(record, _)| record.operation != Operation::Flush);
    let last_came = arrivals().map(|(_, replayed)| replayed.submitted_at).max()?;
    let last_answered = arrivals().map(|(_, replayed)| replayed.completed_at).max()?;
    let came_ns = measured_ns.saturating_sub(last_answered.since(last_came).as_ns());
    let count = arrivals().count();
    (count > 1 && came_ns > 0).then(|| count as f64 * 1e9 / came_ns as f64)
}

/// What happens to a request. If both happen at one time, it comes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ReplayEvent {
    Arrival,
    Answer,
}

/// The most intervals. A longer replay has longer intervals.
const INTERVALS_MAX: u64 = 86_400;

/// The requests of one export as a trial, from its first request to its last answer. `None`: there are none.
#[must_use]
pub fn trial(
    requests: &[(TraceRecord, ReplayedRequest)],
    started_unix_s: u64,
    dependence: Dependence,
) -> Option<TrialRecord> {
    let from = requests.iter().map(|(_, replayed)| replayed.submitted_at).min()?;
    let until = requests.iter().map(|(_, replayed)| replayed.completed_at).max()?;
    let measured_ns = until.since(from).as_ns();
    let mut interval_s = 1;
    while measured_ns / NS_PER_S / interval_s >= INTERVALS_MAX {
        interval_s *= 2;
    }
    // Arrivals and answers in the order of time.
    let mut events: Vec<(Instant, ReplayEvent, u32)> = Vec::with_capacity(requests.len() * 2);
    for (number, (_, replayed)) in requests.iter().enumerate() {
        events.push((replayed.submitted_at, ReplayEvent::Arrival, number as u32));
        events.push((replayed.completed_at, ReplayEvent::Answer, number as u32));
    }
    events.sort_unstable();
    let mut series = Series { interval_s: interval_s as u32, ..Series::default() };
    let step = Duration::from_s(interval_s);
    let (mut interval, mut in_flight, mut at, mut boundary) = (SeriesInterval::default(), 0_u64, from, from + step);
    let mut operations: BTreeMap<Operation, OperationRecord> = BTreeMap::new();
    let mut asked: BTreeMap<Operation, (u64, u64)> = BTreeMap::new();
    for (then, event, number) in events {
        while then >= boundary {
            interval.add_in_flight(in_flight, boundary.since(at));
            series.seconds.push(interval.second(step));
            interval.clear();
            (at, boundary) = (boundary, boundary + step);
        }
        interval.add_in_flight(in_flight, then.since(at));
        at = then;
        let (record, replayed) = requests[number as usize];
        if event == ReplayEvent::Arrival {
            in_flight += 1;
            let asked = asked.entry(record.operation).or_default();
            *asked = (asked.0 + 1, asked.1 + record.length);
            continue;
        }
        in_flight -= 1;
        let latency = replayed.completed_at.since(replayed.submitted_at);
        interval.complete(record.operation, record.length, latency);
        let own = operations.entry(record.operation).or_default();
        own.count += 1;
        own.bytes += record.length;
        own.latency.record(latency);
    }
    let last_ns = step.as_ns() - boundary.since(until).as_ns();
    if last_ns > 0 || series.seconds.is_empty() {
        series.seconds.push(interval.second(Duration::from_ns(last_ns)));
        series.last_ns = last_ns;
    } else {
        series.last_ns = step.as_ns();
    }
    let reason = match dependence {
        Dependence::Time => "requests come when they came",
        Dependence::Answers => "each request comes as long after the answer before it on its connection as it did",
        Dependence::Haste => "each request comes as soon as its connection has fewer in flight than it ever had",
    };
    Some(TrialRecord {
        measured_ns,
        operations,
        offered_iops: if dependence == Dependence::Time { offered(requests, measured_ns) } else { None },
        series,
        surroundings: Surroundings { asked, ..Surroundings::default() },
        ..TrialRecord::empty(
            0,
            started_unix_s,
            EngineUsed { name: "replay".into(), reason: reason.into(), options: Vec::new() },
        )
    })
}
