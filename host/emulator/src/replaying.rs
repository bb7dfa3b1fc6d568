//! A recorded application on another disk, in virtual time.

mod dependence;
mod moved;
mod slices;

use crate::driver::Cut;
use crate::held::Account;
use crate::trace::Record;
use dependence::{Flushes, NONE, askers, dependences, outstanding_most};
use loadline_block::{Operation, Request};
use loadline_disk::{Machine, Target, Waits};
use loadline_record::{
    Ending, EngineUsed, Histogram, OperationRecord, Second, SecondOperation, Series, Surroundings, TrialRecord,
};
use loadline_units::{Duration, Instant, NS_PER_S};
pub use moved::{Moved, NoRoom, move_into};
pub use slices::requests;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// What makes a request come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dependence {
    /// The clock: it comes when it came.
    Time,
    /// The answer on its client's connection that had come last before it, of the first on a connection that on its export: it
    /// comes as long after that answer as it did. A flush waits besides for every write of its export that had been answered before
    /// it, whoever asked for that. And a connection never has more outstanding than it had then. Exports do not wait for each other.
    Answers,
}

/// How one request went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replayed {
    /// When it came.
    pub submitted_at: Instant,
    /// When it was answered.
    pub completed_at: Instant,
}

/// Between two looks at how far a replay has come.
const LOOK: Duration = Duration::from_s(1);

/// Requests of one asker that are outstanding, and those that wait for a place among them.
#[derive(Clone)]
struct Places {
    free: usize,
    held: VecDeque<usize>,
}

/// How far a replay has come.
#[derive(Debug, Clone, Copy)]
pub struct Reached<'a> {
    /// The time.
    pub now: Instant,
    /// The machine at that time.
    pub machine: &'a Machine,
    /// Of each export: when its first request came.
    pub first: &'a [Option<Instant>],
    /// Of each export: requests answered.
    pub answered: &'a [u64],
}

/// Puts recorded [`requests`] on a machine, long ones in slices as an emulation of it would. `targets` are the places of the exports that records count. They come when they
/// came, counted from the beginning of machine and recording alike. `watch` is told every second of that time, and at the end.
#[must_use]
pub fn replay_on(
    machine: &mut Machine,
    targets: &[Target],
    records: &[Record],
    dependence: Dependence,
    watch: &mut dyn FnMut(Reached<'_>),
) -> Vec<Replayed> {
    let (asker, count) = askers(records);
    let (mut waiting, free, most) = match dependence {
        Dependence::Time => (None, (0..records.len()).collect(), vec![usize::MAX; count]),
        Dependence::Answers => {
            let (waiting, free) = dependences(records, (&asker, count), targets.len());
            let flushes = Flushes::new(records, targets.len());
            (Some((waiting, flushes)), free, outstanding_most(records, (&asker, count)))
        }
    };
    let mut places: Vec<Places> = most.into_iter().map(|free| Places { free, held: VecDeque::new() }).collect();
    // Not from the first request on: where limits count in windows, it matters in which part of one requests come.
    let due = |number: usize| records[number].submitted_at;
    let mut coming: BinaryHeap<Reverse<(Instant, usize)>> =
        free.into_iter().map(|number| Reverse((due(number), number))).collect();
    let never = Replayed { submitted_at: Instant::MAX, completed_at: Instant::MAX };
    let mut replayed = vec![never; records.len()];
    let cuts: Vec<Cut> = targets.iter().map(|target| Cut::of(machine.layout(*target))).collect();
    // Of each of the machine's numbers: the request, and where the slice of it that is under way ends.
    let mut under_way: Vec<(usize, u64)> = Vec::new();
    let submit = |machine: &mut Machine, under_way: &mut Vec<(usize, u64)>, (number, from): (usize, u64), now| {
        let Record { operation, durable, length, offset, export, .. } = records[number];
        let export = usize::from(export);
        let length = (length - from).min(cuts[export].slice(operation)) as u32;
        let request = Request { operation, durable, length, offset: offset + from, due_at: now };
        let id = machine.submit(now, targets[export], request).index();
        if under_way.len() <= id {
            under_way.resize(id + 1, (0, 0));
        }
        under_way[id] = (number, from + u64::from(length));
    };
    let (mut first, mut answered) = (vec![None; targets.len()], vec![0; targets.len()]);
    let mut look_at = machine.now() + LOOK;
    loop {
        let comes = coming.peek().map(|Reverse((at, _))| *at);
        let now = match (comes, machine.next_event_at()) {
            (None, None) => break,
            (Some(at), None) | (None, Some(at)) => at,
            (Some(one), Some(other)) => one.min(other),
        };
        while look_at <= now {
            watch(Reached { now: look_at, machine, first: &first, answered: &answered });
            look_at = look_at + LOOK;
        }
        while let Some((id, completion)) = machine.pop_completed(now) {
            let (number, until) = under_way[id.index()];
            if until < records[number].length {
                submit(machine, &mut under_way, (number, until), now);
                continue;
            }
            replayed[number].completed_at = completion.completed_at;
            answered[usize::from(records[number].export)] += 1;
            let own = &mut places[asker[number] as usize];
            own.free += 1;
            coming.extend(own.held.pop_front().map(|held| Reverse((now, held))));
            if let Some((waiting, flushes)) = &mut waiting {
                for flush in flushes.answer(&records[number], number) {
                    let at = completion.completed_at + waiting.thinking[flush];
                    coming.push(Reverse((at.max(now), flush)));
                }
                let mut next = waiting.first[number];
                while next != NONE {
                    let at = completion.completed_at + waiting.thinking[next as usize];
                    coming.push(Reverse((at.max(now), next as usize)));
                    next = waiting.next[next as usize];
                }
            }
        }
        while let Some(Reverse((at, number))) = coming.peek().copied()
            && at <= now
        {
            coming.pop();
            if waiting.as_mut().is_some_and(|(_, flushes)| flushes.holds(&records[number], number)) {
                continue;
            }
            let Record { export, .. } = records[number];
            let own = &mut places[asker[number] as usize];
            if own.free == 0 {
                own.held.push_back(number);
                continue;
            }
            own.free -= 1;
            submit(machine, &mut under_way, (number, 0), now);
            replayed[number].submitted_at = now;
            first[usize::from(export)].get_or_insert(now);
        }
    }
    watch(Reached { now: machine.now(), machine, first: &first, answered: &answered });
    replayed
}

/// What became of the time of replayed requests to one export, which waited as the machine tells.
#[must_use]
pub fn account(requests: &[(Record, Replayed)], waits: Waits) -> Account {
    let mut account = Account { waits, ..Account::default() };
    // When what was counted as busy so far ends.
    let mut counted = Instant::ZERO;
    let mut spans: Vec<Replayed> = requests.iter().map(|(_, replayed)| *replayed).collect();
    spans.sort_unstable_by_key(|replayed| replayed.submitted_at);
    for Replayed { submitted_at, completed_at } in spans {
        account.requests += 1;
        account.first.get_or_insert(submitted_at);
        account.last = account.last.max(completed_at);
        account.at_disk = account.at_disk + completed_at.since(submitted_at);
        account.busy = account.busy + completed_at.since(submitted_at.max(counted));
        counted = counted.max(completed_at);
    }
    account
}

/// What one interval holds so far.
#[derive(Default)]
struct Tally {
    latencies: [Histogram; 4],
    bytes: [u64; 4],
    outstanding_ns: u64,
}

impl Tally {
    fn close(&mut self, length_ns: u64) -> Second {
        let operations = std::array::from_fn(|index| SecondOperation::of(&self.latencies[index], self.bytes[index]));
        let second =
            Second { operations, outstanding: self.outstanding_ns as f64 / length_ns.max(1) as f64, errors: 0 };
        self.latencies.iter_mut().for_each(Histogram::clear);
        (self.bytes, self.outstanding_ns) = ([0; 4], 0);
        second
    }
}

/// Arrivals per second, over the time from the first request to the last answer, less that in which the storage still worked off what
/// had come: where it keeps up, as many as are achieved, however long nothing comes at the end or only a flush. Flushes are no
/// arrivals, as they are none of what is achieved.
fn offered(requests: &[(Record, Replayed)], measured_ns: u64) -> Option<f64> {
    let arrivals = || requests.iter().filter(|(record, _)| record.operation != Operation::Flush);
    let last_came = arrivals().map(|(_, replayed)| replayed.submitted_at).max()?;
    let last_answered = arrivals().map(|(_, replayed)| replayed.completed_at).max()?;
    let came_ns = measured_ns.saturating_sub(last_answered.since(last_came).as_ns());
    let count = arrivals().count();
    (count > 1 && came_ns > 0).then(|| count as f64 * 1e9 / came_ns as f64)
}

/// What happens to a request. One that is answered at once comes before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Happens {
    Comes,
    IsAnswered,
}

/// Seconds of a replay kept one by one; in a longer one neighbours are joined.
const INTERVALS_MAX: u64 = 86_400;

/// The requests of one export as a trial, from its first request to its last answer: each with what was asked and how it went.
/// `None`: there are none.
#[must_use]
pub fn trial(requests: &[(Record, Replayed)], started_unix_s: u64, dependence: Dependence) -> Option<TrialRecord> {
    let from = requests.iter().map(|(_, replayed)| replayed.submitted_at).min()?;
    let until = requests.iter().map(|(_, replayed)| replayed.completed_at).max()?;
    let measured_ns = until.since(from).as_ns();
    let mut interval_s = 1;
    while measured_ns / NS_PER_S / interval_s >= INTERVALS_MAX {
        interval_s *= 2;
    }
    // What happens, in the order of time: a request comes, or is answered.
    let mut events: Vec<(Instant, Happens, u32)> = Vec::with_capacity(requests.len() * 2);
    for (number, (_, replayed)) in requests.iter().enumerate() {
        events.push((replayed.submitted_at, Happens::Comes, number as u32));
        events.push((replayed.completed_at, Happens::IsAnswered, number as u32));
    }
    events.sort_unstable();
    let mut series = Series { interval_s: interval_s as u32, ..Series::default() };
    let step = Duration::from_s(interval_s);
    let (mut tally, mut outstanding, mut at, mut boundary) = (Tally::default(), 0_u64, from, from + step);
    let mut operations: BTreeMap<Operation, OperationRecord> = BTreeMap::new();
    let mut asked: BTreeMap<Operation, (u64, u64)> = BTreeMap::new();
    for (then, happens, number) in events {
        while then >= boundary {
            tally.outstanding_ns += outstanding * boundary.since(at).as_ns();
            series.seconds.push(tally.close(step.as_ns()));
            (at, boundary) = (boundary, boundary + step);
        }
        tally.outstanding_ns += outstanding * then.since(at).as_ns();
        at = then;
        let (record, replayed) = requests[number as usize];
        if happens == Happens::Comes {
            outstanding += 1;
            let asked = asked.entry(record.operation).or_default();
            *asked = (asked.0 + 1, asked.1 + record.length);
            continue;
        }
        outstanding -= 1;
        let latency = replayed.completed_at.since(replayed.submitted_at);
        let index = record.operation.index();
        tally.latencies[index].record(latency);
        tally.bytes[index] += record.length;
        let own = operations.entry(record.operation).or_default();
        own.count += 1;
        own.bytes += record.length;
        own.latency.record(latency);
    }
    let last_ns = step.as_ns() - boundary.since(until).as_ns();
    if last_ns > 0 || series.seconds.is_empty() {
        series.seconds.push(tally.close(last_ns));
        series.last_ns = last_ns;
    } else {
        series.last_ns = step.as_ns();
    }
    let reason = match dependence {
        Dependence::Time => "requests come when they came",
        Dependence::Answers => "each request comes as long after the answer before it on its connection as it did",
    };
    Some(TrialRecord {
        trial: 0,
        started_unix_s,
        engine: EngineUsed { name: "replay".into(), reason: reason.into(), options: Vec::new() },
        warm_up_ns: 0,
        measured_ns,
        operations,
        offered_iops: if dependence == Dependence::Time { offered(requests, measured_ns) } else { None },
        missed: 0,
        series,
        errors: BTreeMap::new(),
        error_samples: Vec::new(),
        surroundings: Surroundings { asked, ..Surroundings::default() },
        told_scatter: None,
        steady_state: None,
        verify: None,
        model: None,
        ending: Ending::Complete,
        doubts: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Part;
    use loadline_disk::{DiskSpec, EnvironmentSpec, InitialState, Latency, LatencySpec, Layout, VolumeSpec};
    use loadline_units::Bytes;

    const MS: Duration = Duration::from_ms(1);

    /// A disk of which each request takes so long.
    fn machine(latency: Duration) -> (Machine, Target) {
        let spec = LatencySpec { median: latency, p99: latency, ..LatencySpec::default() };
        let disk = DiskSpec { latency: Latency { read: spec, write: spec, flush: None }, ..DiskSpec::default() };
        let volume = VolumeSpec { name: "data".into(), disks: vec![disk], ..VolumeSpec::default() };
        let environment = EnvironmentSpec { volumes: vec![volume], ..EnvironmentSpec::default() };
        let machine = Machine::new(&environment, 1, InitialState::default()).unwrap();
        let target = machine.target("data").unwrap();
        (machine, target)
    }

    fn record(sequence: u64, submitted_ms: u64, completed_ms: u64) -> Record {
        Record {
            sequence,
            submitted_at: Instant::ZERO + MS * submitted_ms,
            completed_at: Some(Instant::ZERO + MS * completed_ms),
            error: None,
            export: 0,
            operation: Operation::Read,
            durable: false,
            offset: 0,
            length: 4_096,
            client: 0,
            part: Part::Whole,
        }
    }

    /// One after the other with 3 ms of thinking, on a disk of 2 ms, from 10 ms after the recording began.
    fn recorded() -> Vec<Record> {
        vec![record(0, 10, 12), record(1, 10, 12), record(2, 15, 17), record(3, 20, 22), record(4, 20, 22)]
    }

    fn replay(latency: Duration, dependence: Dependence) -> Vec<(u64, u64)> {
        let (mut machine, target) = machine(latency);
        let ms = |at: Instant| at.as_ns() / 1_000_000;
        let replayed = replay_on(&mut machine, &[target], &recorded(), dependence, &mut |_| ());
        replayed.into_iter().map(|one| (ms(one.submitted_at), ms(one.completed_at))).collect()
    }

    #[test]
    fn whoever_watches_is_told_every_second_and_the_end() {
        let (mut machine, target) = machine(MS * 500);
        let records: Vec<Record> = (0..4).map(|number| record(number, 890 + number * 600, 0)).collect();
        let mut told = Vec::new();
        let mut watch = |reached: Reached<'_>| {
            let first = reached.first[0].map(|at| at.as_ns() / 1_000_000);
            told.push((reached.now.as_ns() / 1_000_000, first, reached.answered[0]));
        };
        let _ = replay_on(&mut machine, &[target], &records, Dependence::Time, &mut watch);
        assert_eq!(told, [(1_000, Some(890), 0), (2_000, Some(890), 2), (3_000, Some(890), 3), (3_190, Some(890), 4)]);
    }

    #[test]
    fn by_time_requests_come_when_they_came() {
        assert_eq!(replay(MS * 2, Dependence::Time), [(10, 12), (10, 12), (15, 17), (20, 22), (20, 22)]);
        assert_eq!(replay(MS * 9, Dependence::Time), [(10, 19), (10, 19), (15, 24), (20, 29), (20, 29)]);
    }

    #[test]
    fn flushes_are_neither_offered_nor_achieved() {
        let replayed = |sequence: u64, operation| {
            let record = Record { operation, ..record(sequence, sequence * 5, sequence * 5 + 1) };
            let at = |ms: u64| Instant::ZERO + MS * ms;
            (record, Replayed { submitted_at: at(sequence * 5), completed_at: at(sequence * 5 + 1) })
        };
        let pairs = [0, 2, 4, 6].into_iter().flat_map(|at| [(at, Operation::Write), (at + 1, Operation::Flush)]);
        let requests: Vec<_> = pairs.map(|(sequence, operation)| replayed(sequence, operation)).collect();
        let told = trial(&requests, 0, Dependence::Time).unwrap();
        // Four writes, and 36 ms until the last answer, of which the storage took one for the last of them.
        assert_eq!((told.offered_iops.unwrap() as u64, told.iops().unwrap() as u64), (114, 111));
        assert_eq!(trial(&requests, 0, Dependence::Answers).unwrap().offered_iops, None);
        assert_eq!(trial(&requests[1..2], 0, Dependence::Time).unwrap().offered_iops, None);
    }

    #[test]
    fn time_in_which_nothing_comes_is_not_offered_faster_and_a_backlog_is() {
        let at = |ms: u64| Instant::ZERO + MS * ms;
        let replayed = |came: u64, answered: u64, operation| {
            let record = Record { operation, ..record(came, came, answered) };
            (record, Replayed { submitted_at: at(came), completed_at: at(answered) })
        };
        // A hundred writes in as many ms; after eight seconds of nothing a flush.
        let writes = |latency: fn(u64) -> u64| -> Vec<(Record, Replayed)> {
            (0..100).map(|came| replayed(came, came + latency(came), Operation::Write)).collect()
        };
        let mut quiet = writes(|_| 1);
        quiet.push(replayed(8_099, 8_100, Operation::Flush));
        let rates = |requests: &[(Record, Replayed)]| {
            let told = trial(requests, 0, Dependence::Time).unwrap();
            (told.offered_iops.unwrap(), told.iops().unwrap())
        };
        let (offered, achieved) = rates(&quiet);
        assert!((offered / achieved - 1.0).abs() < 0.001, "{offered} {achieved}");
        // Each takes longer than the one before: the last one is answered after twice the time.
        let (offered, achieved) = rates(&writes(|came| came + 1));
        assert!((offered / achieved - 2.0).abs() < 0.02, "{offered} {achieved}");
    }

    #[test]
    fn by_answers_requests_come_as_long_after_the_answer_before() {
        assert_eq!(replay(MS * 2, Dependence::Answers), [(10, 12), (10, 12), (15, 17), (20, 22), (20, 22)]);
        assert_eq!(replay(MS * 9, Dependence::Answers), [(10, 19), (10, 19), (22, 31), (34, 43), (34, 43)]);
        assert_eq!(replay(MS, Dependence::Answers), [(10, 11), (10, 11), (14, 15), (18, 19), (18, 19)]);
    }

    /// Two volumes whose requests take so long in the middle, and at times three times as long.
    fn pair(medians: [Duration; 2]) -> (Machine, [Target; 2]) {
        let volume = |(name, median): (&str, Duration)| {
            let spec = LatencySpec { median, p99: median * 3, ..LatencySpec::default() };
            let disk = DiskSpec { latency: Latency { read: spec, write: spec, flush: None }, ..DiskSpec::default() };
            VolumeSpec { name: name.into(), disks: vec![disk], ..VolumeSpec::default() }
        };
        let volumes = ["data", "logs"].into_iter().zip(medians).map(volume).collect();
        let environment = EnvironmentSpec { volumes, ..EnvironmentSpec::default() };
        let machine = Machine::new(&environment, 1, InitialState::default()).unwrap();
        let targets = ["data", "logs"].map(|name| machine.target(name).unwrap());
        (machine, targets)
    }

    /// What two clients do for a second, each with its own depth on its own volume.
    fn two_closed_loops(medians: [Duration; 2], depths: [usize; 2]) -> Vec<Record> {
        let (mut machine, targets) = pair(medians);
        let (mut records, mut numbers) = (Vec::new(), vec![0; depths.iter().sum()]);
        let mut coming: Vec<u16> = (0..2).flat_map(|export| vec![export; depths[usize::from(export)]]).collect();
        let mut now = Instant::ZERO;
        loop {
            for export in coming.drain(..) {
                let asked = record(records.len() as u64, 0, 0);
                let Record { operation, durable, length, offset, .. } = asked;
                let request = Request { operation, durable, length: length as u32, offset, due_at: now };
                numbers[machine.submit(now, targets[usize::from(export)], request).index()] = records.len();
                records.push(Record { export, submitted_at: now, ..asked });
            }
            let Some(next) = machine.next_event_at() else { return records };
            now = next;
            while let Some((id, completion)) = machine.pop_completed(now) {
                let answered = &mut records[numbers[id.index()]];
                answered.completed_at = Some(completion.completed_at);
                if now < Instant::ZERO + MS * 1_000 {
                    coming.push(answered.export);
                }
            }
        }
    }

    /// Of one asker.
    fn most_outstanding(records: &[Record]) -> usize {
        outstanding_most(records, (&vec![0; records.len()], 1))[0]
    }

    /// The most that an export had outstanding at once, and how many of its requests were answered within a second.
    fn depth_and_rate(records: &[Record], export: u16) -> (usize, usize) {
        let own = records.iter().filter(|record| record.export == export);
        let second = Instant::ZERO + MS * 1_000;
        let answered = own.filter(|record| record.completed_at.is_some_and(|at| at <= second)).count();
        let mut own: Vec<Record> = records.iter().filter(|record| record.export == export).copied().collect();
        own.sort_by_key(|record| record.submitted_at);
        (most_outstanding(&own), answered)
    }

    #[test]
    fn two_closed_loops_on_two_volumes_keep_their_depth_each() {
        let depths = [32, 4];
        for (before, after) in [([8, 2], [2, 2]), ([2, 2], [8, 2]), ([8, 2], [8, 20]), ([2, 2], [2, 1])] {
            let recorded = two_closed_loops(before.map(|ms| MS * ms), depths);
            let wanted = two_closed_loops(after.map(|ms| MS * ms), depths);
            let (mut machine, targets) = pair(after.map(|ms| MS * ms));
            let replayed = replay_on(&mut machine, &targets, &recorded, Dependence::Answers, &mut |_| ());
            let mut replayed: Vec<Record> = recorded
                .iter()
                .zip(replayed)
                .map(|(record, Replayed { submitted_at, completed_at })| Record {
                    submitted_at,
                    completed_at: Some(completed_at),
                    ..*record
                })
                .collect();
            replayed.sort_by_key(|record| record.submitted_at);
            for export in [0, 1] {
                let ((most, rate), (depth, wanted)) =
                    (depth_and_rate(&replayed, export), depth_and_rate(&wanted, export));
                assert_eq!(most, depth, "{before:?} {after:?}");
                // A faster one runs out of recorded requests before the second is over.
                let recorded = depth_and_rate(&recorded, export).1;
                let wanted = wanted.min(recorded);
                assert!(
                    rate.abs_diff(wanted) * 20 <= wanted + 20 * depth,
                    "{before:?} {after:?} {export}: {rate} {wanted}"
                );
            }
        }
    }

    #[test]
    fn no_more_is_outstanding_than_was_though_one_answer_set_off_several() {
        // Two answers at once, then two requests: both wait for the later one here, and that may come first.
        let mut records = vec![record(0, 0, 9), record(1, 0, 10), record(2, 10, 12), record(3, 10, 12)];
        records[0].offset = 4_096;
        let (mut machine, target) = machine(MS * 5);
        let replayed = replay_on(&mut machine, &[target], &records, Dependence::Answers, &mut |_| ());
        let mut spans: Vec<Record> = records
            .iter()
            .zip(&replayed)
            .map(|(record, one)| Record {
                submitted_at: one.submitted_at,
                completed_at: Some(one.completed_at),
                ..*record
            })
            .collect();
        spans.sort_by_key(|record| record.submitted_at);
        assert_eq!(most_outstanding(&spans), 2);
    }

    /// One after the other, with so long between, on a connection of their own.
    fn one_by_one(client: u32, thinking_ms: u64, latency_ms: u64, count: u64) -> Vec<Record> {
        let at = |number| number * (thinking_ms + latency_ms);
        let one = |number| Record { client, ..record(0, at(number), at(number) + latency_ms) };
        (0..count).map(one).collect()
    }

    #[test]
    fn clients_of_one_volume_keep_their_own_pace_each() {
        for latency in [1, 4, 10, 40] {
            let mut records = [one_by_one(7, 10, 4, 50), one_by_one(8, 3, 4, 50)].concat();
            records.sort_by_key(|record| (record.submitted_at, record.client));
            (0..).zip(&mut records).for_each(|(sequence, record)| record.sequence = sequence);
            let (mut machine, target) = machine(MS * latency);
            let replayed = replay_on(&mut machine, &[target], &records, Dependence::Answers, &mut |_| ());
            for (client, thinking) in [(7, 10), (8, 3)] {
                let wanted: Vec<Instant> =
                    one_by_one(client, thinking, latency, 50).iter().map(|record| record.submitted_at).collect();
                let own = records.iter().zip(&replayed).filter(|(record, _)| record.client == client);
                let came: Vec<Instant> = own.map(|(_, replayed)| replayed.submitted_at).collect();
                assert_eq!(came, wanted, "client {client} on a disk of {latency} ms");
            }
        }
    }

    #[test]
    fn a_second_client_begins_after_what_was_answered_before_it() {
        // A program that ends, then another one.
        let first = [record(0, 0, 2), record(1, 2, 4)];
        let second = [(2, 9, 11), (3, 11, 13)].map(|(number, from, until)| record(number, from, until));
        let records = [first, second.map(|record| Record { client: 9, ..record })].concat();
        let (mut machine, target) = machine(MS * 20);
        let replayed = replay_on(&mut machine, &[target], &records, Dependence::Answers, &mut |_| ());
        let came: Vec<u64> = replayed.iter().map(|one| one.submitted_at.as_ns() / 1_000_000).collect();
        assert_eq!(came, [0, 20, 45, 65]);
    }

    /// A stripe of a fast disk and a slow one.
    fn uneven() -> (Machine, Target) {
        let disk = |latency: Duration| {
            let spec = LatencySpec { median: latency, p99: latency, ..LatencySpec::default() };
            DiskSpec { latency: Latency { read: spec, write: spec, flush: None }, ..DiskSpec::default() }
        };
        let disks = vec![disk(MS), disk(MS * 50)];
        let layout = Layout::Stripe { columns: 2, interleave: Bytes::kib(64) };
        let volume = VolumeSpec { name: "data".into(), disks, layout, ..VolumeSpec::default() };
        let environment = EnvironmentSpec { volumes: vec![volume], ..EnvironmentSpec::default() };
        let machine = Machine::new(&environment, 1, InitialState::default()).unwrap();
        let target = machine.target("data").unwrap();
        (machine, target)
    }

    #[test]
    fn a_flush_waits_for_every_write_that_was_answered_before_it() {
        // The one to the slow disk was not the last to be answered then; another client's went on meanwhile.
        let of = |number, from, until, operation, offset| Record { operation, offset, ..record(number, from, until) };
        let records = vec![
            of(0, 0, 1, Operation::Write, 0),
            of(1, 0, 3, Operation::Write, 64 << 10),
            of(2, 1, 4, Operation::Write, 0),
            Record { client: 5, ..of(3, 2, 30, Operation::Write, 0) },
            Record { length: 0, ..of(4, 6, 7, Operation::Flush, 0) },
        ];
        let (mut machine, target) = uneven();
        let replayed = replay_on(&mut machine, &[target], &records, Dependence::Answers, &mut |_| ());
        let all = replayed[..3].iter().map(|one| one.completed_at).max().unwrap();
        assert_eq!((all, replayed[4].submitted_at), (Instant::ZERO + MS * 50, all + MS * 2), "{replayed:?}");
        assert!(replayed.iter().all(|one| one.completed_at < Instant::MAX));
    }

    #[test]
    fn requests_that_take_no_time_count_too() {
        let (mut machine, target) = machine(Duration::ZERO);
        let replayed = replay_on(&mut machine, &[target], &recorded(), Dependence::Answers, &mut |_| ());
        let requests: Vec<(Record, Replayed)> = recorded().into_iter().zip(replayed).collect();
        assert_eq!(trial(&requests, 0, Dependence::Answers).unwrap().count(), 5);
    }

    #[test]
    fn an_account_counts_time_with_something_outstanding_once() {
        let requests: Vec<(Record, Replayed)> = [(5, 9), (0, 2), (6, 7), (8, 12)]
            .map(|(from, until)| {
                let at = |ms| Instant::ZERO + MS * ms;
                (record(0, from, until), Replayed { submitted_at: at(from), completed_at: at(until) })
            })
            .into();
        let account = account(&requests, Waits::default());
        assert_eq!((account.busy, account.at_disk), (MS * (2 + 7), MS * (4 + 2 + 1 + 4)));
        assert_eq!(account.span(), MS * 12);
    }

    #[test]
    fn a_trial_counts_each_request_once_and_keeps_its_seconds() {
        let (mut machine, target) = machine(MS * 500);
        let records: Vec<Record> = (0..4).map(|number| record(number, number * 600, number * 600 + 1)).collect();
        let replayed = replay_on(&mut machine, &[target], &records, Dependence::Time, &mut |_| ());
        let requests: Vec<(Record, Replayed)> = records.into_iter().zip(replayed).collect();
        let trial = trial(&requests, 0, Dependence::Time).unwrap();
        // From 0 s to 1.8 s + 0.5 s.
        assert_eq!(trial.measured_ns, 2_300_000_000);
        assert_eq!((trial.count(), trial.bytes()), (4, 4 * 4_096));
        assert_eq!(trial.series.seconds.iter().map(Second::count).collect::<Vec<_>>(), [1, 2, 1]);
        assert_eq!(trial.series.last_ns, 300_000_000);
        assert!((trial.series.seconds[0].outstanding - 0.9).abs() < 1e-9);
        assert!((trial.series.seconds[1].outstanding - 0.8).abs() < 1e-9);
    }
}
