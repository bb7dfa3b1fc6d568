//! Which answers recorded requests waited for, as far as a trace shows.

use crate::trace::TraceRecord;
use loadline_block::Operation;
use loadline_units::{Duration, Instant};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// No request.
const NONE: u32 = u32::MAX;
/// An asker waits for flushes of others if so many of its requests may have,
const HAND_OFFS_MIN: usize = 20;
/// and if half of them came after a flush in this part of the usual time between flushes, or sooner.
const HAND_OFF_SOON: u64 = 5;
/// A log is not free between requests that lie nearer to each other.
const HAND_OFF_GAP: Duration = Duration::from_us(50);

/// An asker writes in the background if so many of its writes came before any answer since its last, of so many.
const IN_BURSTS: (usize, usize) = (1, 2);

/// That a request waits for an answer.
#[derive(Debug, Clone, Copy)]
struct Wait {
    /// The request that waits.
    number: u32,
    /// How long after the answer it comes.
    think_time: Duration,
    /// The next that waits for the same answer.
    next: u32,
}

/// For each request, the requests that wait for its answer. One may wait for two answers: it comes after the later of both.
#[derive(Debug)]
pub(super) struct AnswerDependences {
    waits: Vec<Wait>,
    /// By request: its first place among the waits for its answer.
    first: Vec<u32>,
    /// By request: answers that it still waits for.
    missing: Vec<u8>,
    /// By request: when it comes, by the answers that were given.
    comes_at: Vec<Instant>,
    /// By request: the least time after an answer at which it comes.
    pub(super) think_time: Vec<Duration>,
}

impl AnswerDependences {
    fn new(count: usize) -> Self {
        Self {
            waits: Vec::new(),
            first: vec![NONE; count],
            missing: vec![0; count],
            comes_at: vec![Instant::ZERO; count],
            think_time: vec![Duration::ZERO; count],
        }
    }

    fn add(&mut self, number: usize, answer: u32, think_time: Duration) {
        let first = &mut self.first[answer as usize];
        self.waits.push(Wait { number: number as u32, think_time, next: *first });
        *first = (self.waits.len() - 1) as u32;
        let is_first = self.missing[number] == 0;
        let least = &mut self.think_time[number];
        *least = if is_first { think_time } else { think_time.min(*least) };
        self.missing[number] += 1;
    }

    /// Notes that a request was answered. Calls `comes` for each that waits for nothing else, with when it comes.
    pub(super) fn answer(&mut self, number: usize, at: Instant, comes: &mut dyn FnMut(usize, Instant)) {
        let mut place = self.first[number];
        while place != NONE {
            let Wait { number, think_time, next } = self.waits[place as usize];
            let own = number as usize;
            self.comes_at[own] = self.comes_at[own].max(at + think_time);
            self.missing[own] -= 1;
            if self.missing[own] == 0 {
                comes(own, self.comes_at[own]);
            }
            place = next;
        }
    }
}

/// Commits that are handed on: a log is written by one client at a time, and the next one begins when the flush before is answered.
#[derive(Debug)]
struct Log {
    /// By asker: whether it writes the log.
    writers: Vec<bool>,
    /// When the log was being written, in order and without overlaps.
    busy: Vec<(Instant, Instant)>,
    /// How long it had been busy before each of these.
    before: Vec<Duration>,
}

impl Log {
    /// The log of an export; `None` where no asker waits for the flushes of others.
    fn of(
        records: &[TraceRecord],
        (asker, askers): (&[u32], usize),
        own: &[Answers],
        (export, flushes): (usize, &Answers),
    ) -> Option<Self> {
        let mut after_flush: Vec<Vec<Duration>> = vec![Vec::new(); askers];
        let here = || records.iter().enumerate().filter(|(_, record)| usize::from(record.export) == export);
        for (number, record) in here() {
            if let Some((at, _)) = foreign_flush(records, flushes, own, (asker, number)) {
                after_flush[asker[number] as usize].push(record.submitted_at.since(at));
            }
        }
        let ((first, _), (last, _)) = (flushes.first()?, flushes.last()?);
        let usual_ns = last.since(*first).as_ns() / (flushes.len() as u64 - 1).max(1);
        let committing: BTreeSet<u32> = flushes.iter().map(|(_, number)| asker[*number as usize]).collect();
        let is_writer = |(one, after): (usize, &mut Vec<Duration>)| {
            after.sort_unstable();
            // By chance half of the requests would come later than half of the time between flushes.
            let is_soon = after.get(after.len() / 2).is_some_and(|soon| soon.as_ns() * HAND_OFF_SOON <= usual_ns);
            committing.contains(&(one as u32)) && after.len() >= HAND_OFFS_MIN && is_soon
        };
        let writers: Vec<bool> = after_flush.iter_mut().enumerate().map(is_writer).collect();
        if !writers.contains(&true) {
            return None;
        }
        let mut log = Self { writers, busy: Vec::new(), before: Vec::new() };
        let mut total = Duration::ZERO;
        let own = here().filter(|(number, _)| log.writers[asker[*number] as usize]);
        let spans: Vec<(Instant, Instant)> =
            own.filter_map(|(_, record)| Some((record.submitted_at, record.completed_at?))).collect();
        for (from, until) in spans {
            match log.busy.last_mut() {
                Some((_, end)) if from <= *end + HAND_OFF_GAP => {
                    total = total + until.max(*end).since(*end);
                    *end = until.max(*end);
                }
                _ => {
                    log.before.push(total);
                    log.busy.push((from, until));
                    total = total + until.since(from);
                }
            }
        }
        Some(log)
    }

    /// How long it was busy until then.
    fn busy_until(&self, at: Instant) -> Duration {
        let begun = self.busy.partition_point(|(from, _)| *from <= at);
        let Some(last) = begun.checked_sub(1) else { return Duration::ZERO };
        let (from, until) = self.busy[last];
        self.before[last] + at.min(until).since(from)
    }

    /// How much of the time it was free for.
    fn free_between(&self, from: Instant, until: Instant) -> Duration {
        let busy = self.busy_until(until).saturating_sub(self.busy_until(from));
        until.since(from).saturating_sub(busy)
    }
}

/// The last flush before a request, if it is another asker's and was answered after the asker's own last answer.
fn foreign_flush(
    records: &[TraceRecord],
    flushes: &Answers,
    own: &[Answers],
    (asker, number): (&[u32], usize),
) -> Option<(Instant, u32)> {
    let record = &records[number];
    let flush = last_before(flushes, record, number)?;
    let is_foreign = asker[flush.1 as usize] != asker[number];
    let before = last_before(&own[asker[number] as usize], record, number);
    (is_foreign && before.is_none_or(|(at, _)| at < flush.0)).then_some(flush)
}

/// The asker of each request, and the number of askers. An asker is a connection with its export.
pub(super) fn askers(records: &[TraceRecord]) -> (Vec<u32>, usize) {
    let mut known: BTreeMap<(u16, u32), u32> = BTreeMap::new();
    let number = |record: &TraceRecord| {
        let next = known.len() as u32;
        *known.entry((record.export, record.client)).or_insert(next)
    };
    let of = records.iter().map(number).collect();
    (of, known.len())
}

/// Answers in the order in which they were given, with the numbers of their requests.
type Answers = Vec<(Instant, u32)>;

/// The answers of each of so many groups, which `of` tells of the request of a number.
fn answers(records: &[TraceRecord], groups: usize, of: impl Fn(usize) -> Option<usize>) -> Vec<Answers> {
    let mut answers: Vec<Answers> = vec![Vec::new(); groups];
    for (number, record) in records.iter().enumerate() {
        if let (Some(group), Some(at)) = (of(number), record.completed_at) {
            answers[group].push((at, number as u32));
        }
    }
    for of in &mut answers {
        of.sort_unstable();
    }
    answers
}

/// The last answer before a request came, of the requests that came earlier. An answer at the same instant counts.
fn last_before(answers: &[(Instant, u32)], record: &TraceRecord, number: usize) -> Option<(Instant, u32)> {
    let before = answers.partition_point(|(at, _)| *at <= record.submitted_at);
    answers[..before].iter().rev().find(|(_, other)| (*other as usize) < number).copied()
}

/// By asker: whether it writes back what others left in memory. Nobody waits for such writes: they come by the clock. It shows by an
/// asker that only writes and makes nothing durable, beside others that do, and that hands over many at once.
pub(super) fn backgrounds(records: &[TraceRecord], (asker, askers): (&[u32], usize), exports: usize) -> Vec<bool> {
    let mut flushed = vec![false; exports];
    let mut writes_only = vec![true; askers];
    // Of each asker: its requests, those that came before any answer since the one before, and the earliest answer still to come.
    let mut came: Vec<(usize, usize, Instant)> = vec![(0, 0, Instant::ZERO); askers];
    let mut export_of = vec![0; askers];
    for (record, one) in records.iter().zip(asker.iter().map(|one| *one as usize)) {
        flushed[usize::from(record.export)] |= record.operation == Operation::Flush || record.durable;
        writes_only[one] &= record.operation == Operation::Write && !record.durable;
        export_of[one] = usize::from(record.export);
        let (all, in_bursts, first_answer) = &mut came[one];
        *all += 1;
        let done = record.completed_at.unwrap_or(Instant::MAX);
        if record.submitted_at < *first_answer {
            *in_bursts += 1;
            *first_answer = done.min(*first_answer);
        } else {
            *first_answer = done;
        }
    }
    let is_background = |(one, (all, in_bursts, _)): (usize, (usize, usize, Instant))| {
        writes_only[one] && flushed[export_of[one]] && in_bursts * IN_BURSTS.1 >= all * IN_BURSTS.0
    };
    came.into_iter().enumerate().map(is_background).collect()
}

/// Which answer each request waits for, by [`super::Dependence::Answers`]; which flushes wait for writes; and the requests that wait for
/// nothing.
pub(super) fn dependences(
    records: &[TraceRecord],
    (asker, askers): (&[u32], usize),
    exports: usize,
    backgrounds: &[bool],
) -> (AnswerDependences, FlushDependences, Vec<usize>) {
    let own = answers(records, askers, |number| Some(asker[number] as usize));
    let waits = |number: usize| !backgrounds[asker[number] as usize];
    let all = answers(records, exports, |number| waits(number).then(|| usize::from(records[number].export)));
    let is_flush = |number: usize| records[number].operation == Operation::Flush;
    let flushes = answers(records, exports, |number| is_flush(number).then(|| usize::from(records[number].export)));
    let logs: Vec<Option<Log>> = flushes
        .iter()
        .enumerate()
        .map(|(export, flushes)| Log::of(records, (asker, askers), &own, (export, flushes)))
        .collect();
    let mut waiting = AnswerDependences::new(records.len());
    let mut free = Vec::new();
    // From the last on, so that lists begin with the first.
    for (number, record) in records.iter().enumerate().rev() {
        if !waits(number) {
            free.push(number);
            continue;
        }
        let earlier = last_before(&own[asker[number] as usize], record, number)
            .or_else(|| last_before(&all[usize::from(record.export)], record, number));
        let export = usize::from(record.export);
        let handed = logs[export]
            .as_ref()
            .and_then(|log| Some((log, foreign_flush(records, &flushes[export], &own, (asker, number))?)));
        match (handed, earlier) {
            (Some((log, (before, flush))), Some((at, other))) => {
                waiting.add(number, flush, record.submitted_at.since(before));
                // Its own work was done while others wrote the log, or it waited for them: what shows is the rest.
                if other != flush && log.writers[asker[number] as usize] {
                    waiting.add(number, other, log.free_between(at, record.submitted_at));
                }
            }
            (_, Some((at, other))) => waiting.add(number, other, record.submitted_at.since(at)),
            (_, None) => free.push(number),
        }
    }
    let mut covering = FlushDependences::new(records, exports, waits);
    // A commit waits for its own write to the log, and not for what others write meanwhile.
    let commits = |number: usize| {
        let log = logs[usize::from(records[number].export)].as_ref();
        log.is_some_and(|log| log.writers[asker[number] as usize])
    };
    covering.commits = (0..records.len()).map(commits).collect();
    (waiting, covering, free)
}

/// The largest queue depth of each of so many askers.
pub(super) fn queue_depths(records: &[TraceRecord], (asker, askers): (&[u32], usize)) -> Vec<usize> {
    let mut most = vec![0; askers];
    let mut under_way: Vec<BinaryHeap<Reverse<Instant>>> = vec![BinaryHeap::new(); askers];
    for (record, asker) in records.iter().zip(asker) {
        let own = &mut under_way[*asker as usize];
        // As for dependences, who came at the same instant may have known of the answer.
        while own.peek().is_some_and(|Reverse(at)| *at <= record.submitted_at) {
            own.pop();
        }
        own.push(Reverse(record.completed_at.unwrap_or(Instant::MAX)));
        most[*asker as usize] = most[*asker as usize].max(own.len());
    }
    most
}

/// Flushes that wait for writes: a flush covers all writes that were answered before it.
#[derive(Debug)]
pub(super) struct FlushDependences {
    /// The writes of each export in the order in which they were answered then.
    writes: Vec<Answers>,
    /// By request: its place among these, or [`NONE`].
    place: Vec<u32>,
    /// By request: whether it is answered now.
    answered: Vec<bool>,
    /// How many of the first writes of each export are answered now, without a gap.
    first: Vec<usize>,
    /// By request: whether it is of a client that commits to a log. Its flushes wait for no writes of others.
    commits: Vec<bool>,
    /// Flushes of each export, with the count of first writes that they wait for.
    waiting: Vec<BinaryHeap<Reverse<(usize, usize)>>>,
}

impl FlushDependences {
    /// `counts`: whether a write, by its number, is one that flushes wait for.
    fn new(records: &[TraceRecord], exports: usize, counts: impl Fn(usize) -> bool) -> Self {
        let is_write = |number: usize| records[number].operation == Operation::Write && counts(number);
        let writes = answers(records, exports, |number| is_write(number).then(|| usize::from(records[number].export)));
        let mut place = vec![NONE; records.len()];
        for of in &writes {
            of.iter().enumerate().for_each(|(index, (_, number))| place[*number as usize] = index as u32);
        }
        let (first, waiting) = (vec![0; exports], vec![BinaryHeap::new(); exports]);
        Self {
            writes,
            place,
            answered: vec![false; records.len()],
            first,
            commits: vec![false; records.len()],
            waiting,
        }
    }

    /// Whether a request has to wait. If so, [`FlushDependences::answer`] returns it later.
    pub(super) fn holds(&mut self, record: &TraceRecord, number: usize) -> bool {
        if record.operation != Operation::Flush || self.commits[number] {
            return false;
        }
        let export = usize::from(record.export);
        let before = self.writes[export].partition_point(|write| *write < (record.submitted_at, number as u32));
        let holds = before > self.first[export];
        if holds {
            self.waiting[export].push(Reverse((before, number)));
        }
        holds
    }

    /// Notes that a request was answered. Returns the flushes that no longer wait.
    pub(super) fn answer(&mut self, record: &TraceRecord, number: usize) -> impl Iterator<Item = usize> {
        let export = usize::from(record.export);
        self.answered[number] = true;
        let first = &mut self.first[export];
        if self.place[number] as usize == *first {
            let done = self.writes[export][*first..].iter().take_while(|(_, write)| self.answered[*write as usize]);
            *first += done.count();
        }
        let (first, waiting) = (*first, &mut self.waiting[export]);
        std::iter::from_fn(move || {
            waiting
                .peek()
                .is_some_and(|Reverse((before, _))| *before <= first)
                .then(|| waiting.pop().expect("it is there").0.1)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::{Dependence, ReplaySchedule};

    const US: Duration = Duration::from_us(1);

    /// Clients that commit: each works, then writes to one log and flushes it, while the others wait for their turn. One in four works
    /// long. Returns their requests on a disk of this latency.
    fn commits(clients: u32, work: Duration, latency: Duration) -> Vec<TraceRecord> {
        let mut ready: Vec<(Instant, u32, u64)> = (0..clients).map(|client| (Instant::ZERO, client, 0)).collect();
        let mut free_at = Instant::ZERO;
        let mut records = Vec::new();
        let mut add = |operation, client, at: Instant| {
            records.push(TraceRecord {
                sequence: records.len() as u64,
                submitted_at: at,
                completed_at: Some(at + latency),
                operation,
                length: if operation == Operation::Flush { 0 } else { 8_192 },
                client,
                ..TraceRecord::default()
            });
            at + latency
        };
        for _ in 0..600 {
            ready.sort_unstable();
            let (at, client, count) = &mut ready[0];
            let written = add(Operation::Write, *client, (free_at + US * 100).max(*at));
            free_at = add(Operation::Flush, *client, written + US * 20);
            *count += 1;
            let work = if (*count * 7 + u64::from(*client)).is_multiple_of(4) { work * 4 } else { work };
            *at = free_at + work;
        }
        records
    }

    /// Commits per second when the requests come by answers on a disk of this latency, and how many requests came.
    fn commits_and_requests(records: &[TraceRecord], latency: Duration) -> (f64, usize) {
        let mut schedule = ReplaySchedule::new(records, 1, Dependence::Answers);
        let mut under_way: BinaryHeap<Reverse<(Instant, usize)>> = BinaryHeap::new();
        let mut now = Instant::ZERO;
        let (mut answered, mut flushes) = (0, 0_u32);
        loop {
            while let Some((number, _)) = schedule.take(now) {
                under_way.push(Reverse((now + latency, number)));
            }
            let answer_at = under_way.peek().map(|Reverse((at, _))| *at);
            let Some(next) = [schedule.next_at(), answer_at].into_iter().flatten().min() else { break };
            now = next;
            while let Some(Reverse((at, number))) = under_way.peek().copied().filter(|Reverse((at, _))| *at <= now) {
                under_way.pop();
                schedule.answer(number, at, now);
                answered += 1;
                flushes += u32::from(records[number].operation == Operation::Flush);
            }
        }
        (f64::from(flushes) / now.since(Instant::ZERO).as_s_f64(), answered)
    }

    fn replayed(records: &[TraceRecord], latency: Duration) -> f64 {
        let (commits, answered) = commits_and_requests(records, latency);
        assert_eq!(answered, records.len(), "every request comes once");
        commits
    }

    fn rate(records: &[TraceRecord]) -> f64 {
        let last = records.iter().filter_map(|record| record.completed_at).max().unwrap();
        records.len() as f64 / 2.0 / last.since(Instant::ZERO).as_s_f64()
    }

    #[test]
    fn commits_that_wait_for_the_flush_of_another_client_come_faster_on_a_faster_disk() {
        let (slow, fast) = (US * 4_000, US * 500);
        // What the log can take at most.
        let most = 1e6 / (2.0 * 500.0 + 120.0);
        for (clients, work, least_of, most_of) in [(2, 20_000, 0.9, 1.2), (4, 6_000, 0.9, 9.0), (8, 6_000, 0.9, 9.0)] {
            let recorded = commits(clients, US * work, slow);
            let same = replayed(&recorded, slow) / rate(&recorded);
            assert!((0.99..1.01).contains(&same), "{clients} clients on the same disk: {same}");
            let wanted = rate(&commits(clients, US * work, fast));
            let found = replayed(&recorded, fast);
            // Work that is done while others write the log does not show: where the log is always busy, it is taken for waiting.
            let is_right = (least_of..most_of).contains(&(found / wanted)) && found <= most * 1.01;
            assert!(is_right, "{clients} clients: {found} instead of {wanted} a second");
        }
    }

    #[test]
    fn what_the_page_cache_writes_back_comes_by_the_clock_and_holds_up_no_commit() {
        let (slow, fast) = (US * 4_000, US * 500);
        let alone = commits(4, US * 6_000, slow);
        let ended = alone.iter().filter_map(|record| record.completed_at).max().unwrap();
        let mut recorded = alone.clone();
        // Forty writes at once, each half second.
        let mut at = Instant::ZERO + US * 7;
        while at < ended {
            recorded.extend((0..40).map(|place| TraceRecord {
                submitted_at: at + US * place,
                completed_at: Some(at + slow),
                operation: Operation::Write,
                client: 99,
                ..alone[0]
            }));
            at = at + US * 500_000;
        }
        recorded.sort_by_key(|record| record.submitted_at);
        let written_back = recorded.len() - alone.len();
        let found = replayed(&alone, fast);
        let (beside, came) = commits_and_requests(&recorded, fast);
        assert!((beside / found - 1.0).abs() < 0.01, "{beside} commits a second, {found} without what is written back");
        // The rest of it would have come after the last commit.
        let left_out = recorded.len() - came;
        let sooner = 1.0 - rate(&alone) / beside;
        assert!((left_out as f64 / written_back as f64 - sooner).abs() < 0.1, "{left_out} of {written_back}");
        // Who writes one after the other waits for the answers, and is no background.
        let (asker, count) = askers(&alone);
        assert_eq!(backgrounds(&alone, (&asker, count), 1), vec![false; 4]);
        let as_other = |record: &TraceRecord| TraceRecord { client: 7, ..*record };
        let writes = alone.iter().filter(|record| record.operation == Operation::Write).map(as_other);
        let mut both: Vec<TraceRecord> = alone.iter().copied().chain(writes).collect();
        both.sort_by_key(|record| record.submitted_at);
        let (asker, count) = askers(&both);
        assert_eq!(backgrounds(&both, (&asker, count), 1), vec![false; 5]);
    }

    #[test]
    fn clients_that_flush_for_themselves_keep_their_own_pace() {
        // Two clients whose flushes come at unrelated times.
        let one = |client: u32, every_us: u64, count: u64| {
            (0..count)
                .flat_map(move |number| {
                    let at = Instant::ZERO + US * (number * every_us);
                    commits(1, Duration::ZERO, US * 500)[..2]
                        .iter()
                        .map(|record| record.operation)
                        .enumerate()
                        .map(move |(place, operation)| {
                            let submitted_at = at + US * (place as u64 * 520);
                            let completed_at = Some(submitted_at + US * 500);
                            let length = if operation == Operation::Flush { 0 } else { 8_192 };
                            let first = commits(1, Duration::ZERO, US)[0];
                            TraceRecord { submitted_at, completed_at, operation, length, client, ..first }
                        })
                        .collect::<Vec<_>>()
                })
                .collect::<Vec<_>>()
        };
        let mut records = [one(1, 10_000, 100), one(2, 7_130, 140)].concat();
        records.sort_by_key(|record| record.submitted_at);
        let (asker, count) = askers(&records);
        let own = answers(&records, count, |number| Some(asker[number] as usize));
        let flushes = answers(&records, 1, |number| (records[number].operation == Operation::Flush).then_some(0));
        assert!(Log::of(&records, (&asker, count), &own, (0, &flushes[0])).is_none());
    }
}
