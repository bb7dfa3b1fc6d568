//! The replay of a trace: a recorded application on another disk, in virtual time.

mod dependence;
mod exact;
mod relocation;
mod schedule;
mod slices;
mod trial_record;

use crate::slicing::Slicing;
use crate::trace::TraceRecord;
pub use exact::{repeat_requests, repeat_trace};
use loadline_block::Request;
use loadline_disk::{Machine, Target};
use loadline_units::{Duration, Instant};
pub use relocation::{NoRoom, Relocation, relocate};
pub use schedule::ReplaySchedule;
pub use slices::join_slices;
pub use trial_record::{account, trial};

/// What makes a request come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dependence {
    /// The clock: it comes when it came.
    Time,
    /// An answer: it comes as long after that answer as it did.
    ///
    /// - The answer is the last one before it on its client's connection; for the first request of a connection, the last one on its
    ///   export.
    /// - Where clients commit to one log, each waits for the flush of the client before it: the next one comes as long after that flush as
    ///   it did, and after its own last answer by as much as the log was free meanwhile. What others ask after a flush waits for it, too.
    /// - A flush also waits for every write of its export that had been answered before it, of any client.
    /// - What the page cache writes back comes by the clock: nobody waits for it. When all others have their answers, the rest of it is
    ///   left out.
    /// - A connection never has more requests in flight than it had.
    /// - Exports do not wait for each other.
    Answers,
    /// A place in the queue: it comes as soon as its connection has fewer in flight than it ever had, in the recorded order.
    Haste,
}

/// When one request came and was answered in the replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayedRequest {
    /// When it came.
    pub submitted_at: Instant,
    /// When it was answered.
    pub completed_at: Instant,
}

/// The interval of progress reports.
const PROGRESS: Duration = Duration::from_s(1);

/// How far a replay has come.
#[derive(Debug, Clone, Copy)]
pub struct ReplayProgress<'a> {
    /// The time.
    pub now: Instant,
    /// The machine at that time.
    pub machine: &'a Machine,
    /// Of each export: when its first request came.
    pub first: &'a [Option<Instant>],
    /// Of each export: requests answered.
    pub answered: &'a [u64],
}

/// Replays recorded requests, of which [`join_slices`] has joined the slices, on a machine. Long ones are cut again, for this machine.
///
/// `targets` are the targets of the exports that records count. Requests come when they came, counted from the beginning of machine
/// and recording alike, unless they depend on answers. `watch` is called every second of that time, and at the end. `None` stands for a
/// request that was left out ([`Dependence::Answers`]).
#[must_use]
pub fn replay_on(
    machine: &mut Machine,
    targets: &[Target],
    records: &[TraceRecord],
    dependence: Dependence,
    watch: &mut dyn FnMut(ReplayProgress<'_>),
) -> Vec<Option<ReplayedRequest>> {
    let mut replay = Replay::new(machine, targets, records, dependence);
    let mut report_at = replay.machine.now() + PROGRESS;
    while let Some(now) = replay.next_event_at() {
        while report_at <= now {
            watch(replay.progress(report_at));
            report_at = report_at + PROGRESS;
        }
        replay.take_answers(now);
        replay.submit_due(now);
    }
    watch(replay.progress(replay.machine.now()));
    let is_answered = |replayed: &ReplayedRequest| replayed.completed_at < Instant::MAX;
    replay.replayed.into_iter().map(|replayed| Some(replayed).filter(is_answered)).collect()
}

/// A replay in progress.
struct Replay<'a> {
    machine: &'a mut Machine,
    targets: &'a [Target],
    records: &'a [TraceRecord],
    slicings: Vec<Slicing>,
    schedule: ReplaySchedule<'a>,
    /// By the machine's own numbers: the request, and where its slice in flight ends.
    in_flight: Vec<(usize, u64)>,
    replayed: Vec<ReplayedRequest>,
    first: Vec<Option<Instant>>,
    answered: Vec<u64>,
}

impl<'a> Replay<'a> {
    fn new(
        machine: &'a mut Machine,
        targets: &'a [Target],
        records: &'a [TraceRecord],
        dependence: Dependence,
    ) -> Self {
        let never = ReplayedRequest { submitted_at: Instant::MAX, completed_at: Instant::MAX };
        Self {
            slicings: targets.iter().map(|target| Slicing::of(machine.layout(*target))).collect(),
            machine,
            targets,
            records,
            schedule: ReplaySchedule::new(records, targets.len(), dependence),
            in_flight: Vec::new(),
            replayed: vec![never; records.len()],
            first: vec![None; targets.len()],
            answered: vec![0; targets.len()],
        }
    }

    fn next_event_at(&mut self) -> Option<Instant> {
        [self.schedule.next_at(), self.machine.next_event_at()].into_iter().flatten().min()
    }

    fn progress(&self, now: Instant) -> ReplayProgress<'_> {
        ReplayProgress { now, machine: self.machine, first: &self.first, answered: &self.answered }
    }

    /// Takes the answers that are due: the next slice of a long request follows, or whatever depends on the answer.
    fn take_answers(&mut self, now: Instant) {
        while let Some((id, completion)) = self.machine.pop_completed(now) {
            let (number, until) = self.in_flight[id.index()];
            if until < self.records[number].length {
                self.submit_slice(number, until, now);
                continue;
            }
            self.replayed[number].completed_at = completion.completed_at;
            self.answered[usize::from(self.records[number].export)] += 1;
            self.schedule.answer(number, completion.completed_at, now);
        }
    }

    /// Submits the requests that are due, unless they wait for writes or for a place in the queue.
    fn submit_due(&mut self, now: Instant) {
        while let Some((number, _)) = self.schedule.take(now) {
            self.submit_slice(number, 0, now);
            self.replayed[number].submitted_at = now;
            self.first[usize::from(self.records[number].export)].get_or_insert(now);
        }
    }

    fn submit_slice(&mut self, number: usize, from: u64, now: Instant) {
        let TraceRecord { operation, durable, length, offset, export, .. } = self.records[number];
        let export = usize::from(export);
        let length = (length - from).min(self.slicings[export].slice_max(operation)) as u32;
        let request = Request { operation, durable, length, offset: offset + from, due_at: now };
        let id = self.machine.submit(now, self.targets[export], request).index();
        if self.in_flight.len() <= id {
            self.in_flight.resize(id + 1, (0, 0));
        }
        self.in_flight[id] = (number, from + u64::from(length));
    }
}

#[cfg(test)]
mod tests {
    use super::dependence::queue_depths;
    use super::*;
    use loadline_block::Operation;
    use loadline_disk::{DiskSpec, EnvironmentSpec, InitialState, Latency, LatencySpec, Layout, VolumeSpec, Waits};
    use loadline_record::Second;
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

    fn record(sequence: u64, submitted_ms: u64, completed_ms: u64) -> TraceRecord {
        TraceRecord {
            sequence,
            submitted_at: Instant::ZERO + MS * submitted_ms,
            completed_at: Some(Instant::ZERO + MS * completed_ms),
            length: 4_096,
            ..TraceRecord::default()
        }
    }

    /// One after the other with 3 ms of thinking, on a disk of 2 ms, from 10 ms after the recording began.
    fn recorded() -> Vec<TraceRecord> {
        vec![record(0, 10, 12), record(1, 10, 12), record(2, 15, 17), record(3, 20, 22), record(4, 20, 22)]
    }

    /// The replay of requests of which none is left out.
    fn all_on(
        machine: &mut Machine,
        targets: &[Target],
        records: &[TraceRecord],
        dependence: Dependence,
        watch: &mut dyn FnMut(ReplayProgress<'_>),
    ) -> Vec<ReplayedRequest> {
        let replayed = replay_on(machine, targets, records, dependence, watch);
        replayed.into_iter().map(|one| one.expect("every request comes")).collect()
    }

    fn replay(latency: Duration, dependence: Dependence) -> Vec<(u64, u64)> {
        let (mut machine, target) = machine(latency);
        let ms = |at: Instant| at.as_ns() / 1_000_000;
        let replayed = all_on(&mut machine, &[target], &recorded(), dependence, &mut |_| ());
        replayed.into_iter().map(|one| (ms(one.submitted_at), ms(one.completed_at))).collect()
    }

    #[test]
    fn whoever_watches_is_told_every_second_and_the_end() {
        let (mut machine, target) = machine(MS * 500);
        let records: Vec<TraceRecord> = (0..4).map(|number| record(number, 890 + number * 600, 0)).collect();
        let mut told = Vec::new();
        let mut watch = |reached: ReplayProgress<'_>| {
            let first = reached.first[0].map(|at| at.as_ns() / 1_000_000);
            told.push((reached.now.as_ns() / 1_000_000, first, reached.answered[0]));
        };
        let _ = all_on(&mut machine, &[target], &records, Dependence::Time, &mut watch);
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
            let record = TraceRecord { operation, ..record(sequence, sequence * 5, sequence * 5 + 1) };
            let at = |ms: u64| Instant::ZERO + MS * ms;
            (record, ReplayedRequest { submitted_at: at(sequence * 5), completed_at: at(sequence * 5 + 1) })
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
            let record = TraceRecord { operation, ..record(came, came, answered) };
            (record, ReplayedRequest { submitted_at: at(came), completed_at: at(answered) })
        };
        // A hundred writes in as many ms; after eight seconds of nothing a flush.
        let writes = |latency: fn(u64) -> u64| -> Vec<(TraceRecord, ReplayedRequest)> {
            (0..100).map(|came| replayed(came, came + latency(came), Operation::Write)).collect()
        };
        let mut quiet = writes(|_| 1);
        quiet.push(replayed(8_099, 8_100, Operation::Flush));
        let rates = |requests: &[(TraceRecord, ReplayedRequest)]| {
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
    fn two_closed_loops(medians: [Duration; 2], depths: [usize; 2]) -> Vec<TraceRecord> {
        let (mut machine, targets) = pair(medians);
        let (mut records, mut numbers) = (Vec::new(), vec![0; depths.iter().sum()]);
        let mut coming: Vec<u16> = (0..2).flat_map(|export| vec![export; depths[usize::from(export)]]).collect();
        let mut now = Instant::ZERO;
        loop {
            for export in coming.drain(..) {
                let asked = record(records.len() as u64, 0, 0);
                let TraceRecord { operation, durable, length, offset, .. } = asked;
                let request = Request { operation, durable, length: length as u32, offset, due_at: now };
                numbers[machine.submit(now, targets[usize::from(export)], request).index()] = records.len();
                records.push(TraceRecord { export, submitted_at: now, ..asked });
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
    fn most_outstanding(records: &[TraceRecord]) -> usize {
        queue_depths(records, (&vec![0; records.len()], 1))[0]
    }

    /// The most that an export had outstanding at once, and how many of its requests were answered within a second.
    fn depth_and_rate(records: &[TraceRecord], export: u16) -> (usize, usize) {
        let own = records.iter().filter(|record| record.export == export);
        let second = Instant::ZERO + MS * 1_000;
        let answered = own.filter(|record| record.completed_at.is_some_and(|at| at <= second)).count();
        let mut own: Vec<TraceRecord> = records.iter().filter(|record| record.export == export).copied().collect();
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
            let replayed = all_on(&mut machine, &targets, &recorded, Dependence::Answers, &mut |_| ());
            let mut replayed: Vec<TraceRecord> = recorded
                .iter()
                .zip(replayed)
                .map(|(record, ReplayedRequest { submitted_at, completed_at })| TraceRecord {
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
        let replayed = all_on(&mut machine, &[target], &records, Dependence::Answers, &mut |_| ());
        let mut spans: Vec<TraceRecord> = records
            .iter()
            .zip(&replayed)
            .map(|(record, one)| TraceRecord {
                submitted_at: one.submitted_at,
                completed_at: Some(one.completed_at),
                ..*record
            })
            .collect();
        spans.sort_by_key(|record| record.submitted_at);
        assert_eq!(most_outstanding(&spans), 2);
    }

    /// One after the other, with so long between, on a connection of their own.
    fn one_by_one(client: u32, thinking_ms: u64, latency_ms: u64, count: u64) -> Vec<TraceRecord> {
        let at = |number| number * (thinking_ms + latency_ms);
        let one = |number| TraceRecord { client, ..record(0, at(number), at(number) + latency_ms) };
        (0..count).map(one).collect()
    }

    #[test]
    fn clients_of_one_volume_keep_their_own_pace_each() {
        for latency in [1, 4, 10, 40] {
            let mut records = [one_by_one(7, 10, 4, 50), one_by_one(8, 3, 4, 50)].concat();
            records.sort_by_key(|record| (record.submitted_at, record.client));
            (0..).zip(&mut records).for_each(|(sequence, record)| record.sequence = sequence);
            let (mut machine, target) = machine(MS * latency);
            let replayed = all_on(&mut machine, &[target], &records, Dependence::Answers, &mut |_| ());
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
        let records = [first, second.map(|record| TraceRecord { client: 9, ..record })].concat();
        let (mut machine, target) = machine(MS * 20);
        let replayed = all_on(&mut machine, &[target], &records, Dependence::Answers, &mut |_| ());
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
        let of =
            |number, from, until, operation, offset| TraceRecord { operation, offset, ..record(number, from, until) };
        let records = vec![
            of(0, 0, 1, Operation::Write, 0),
            of(1, 0, 3, Operation::Write, 64 << 10),
            of(2, 1, 4, Operation::Write, 0),
            TraceRecord { client: 5, ..of(3, 2, 30, Operation::Write, 0) },
            TraceRecord { length: 0, ..of(4, 6, 7, Operation::Flush, 0) },
        ];
        let (mut machine, target) = uneven();
        let replayed = all_on(&mut machine, &[target], &records, Dependence::Answers, &mut |_| ());
        let all = replayed[..3].iter().map(|one| one.completed_at).max().unwrap();
        assert_eq!((all, replayed[4].submitted_at), (Instant::ZERO + MS * 50, all + MS * 2), "{replayed:?}");
        assert!(replayed.iter().all(|one| one.completed_at < Instant::MAX));
    }

    #[test]
    fn requests_that_take_no_time_count_too() {
        let (mut machine, target) = machine(Duration::ZERO);
        let replayed = all_on(&mut machine, &[target], &recorded(), Dependence::Answers, &mut |_| ());
        let requests: Vec<(TraceRecord, ReplayedRequest)> = recorded().into_iter().zip(replayed).collect();
        assert_eq!(trial(&requests, 0, Dependence::Answers).unwrap().count(), 5);
    }

    #[test]
    fn an_account_counts_time_with_something_outstanding_once() {
        let requests: Vec<(TraceRecord, ReplayedRequest)> = [(5, 9), (0, 2), (6, 7), (8, 12)]
            .map(|(from, until)| {
                let at = |ms| Instant::ZERO + MS * ms;
                (record(0, from, until), ReplayedRequest { submitted_at: at(from), completed_at: at(until) })
            })
            .into();
        let account = account(&requests, Waits::default());
        assert_eq!((account.busy, account.at_disk), (MS * (2 + 7), MS * (4 + 2 + 1 + 4)));
        assert_eq!(account.span(), MS * 12);
    }

    #[test]
    fn a_trial_counts_each_request_once_and_keeps_its_seconds() {
        let (mut machine, target) = machine(MS * 500);
        let records: Vec<TraceRecord> = (0..4).map(|number| record(number, number * 600, number * 600 + 1)).collect();
        let replayed = all_on(&mut machine, &[target], &records, Dependence::Time, &mut |_| ());
        let requests: Vec<(TraceRecord, ReplayedRequest)> = records.into_iter().zip(replayed).collect();
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
