//! Which answers recorded requests waited for, as far as a trace shows.

use crate::trace::TraceRecord;
use loadline_block::Operation;
use loadline_units::{Duration, Instant};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// No request.
pub(super) const NONE: u32 = u32::MAX;

/// For each request, the requests that wait for its answer.
#[derive(Debug)]
pub(super) struct AnswerDependences {
    /// By request: the first that waits for it.
    pub(super) first: Vec<u32>,
    /// By request: the next that waits for the same.
    pub(super) next: Vec<u32>,
    /// By request: how long after the answer it comes.
    pub(super) think_time: Vec<Duration>,
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

/// Which answer each request waits for, by [`super::Dependence::Answers`]; and the requests that wait for none.
pub(super) fn dependences(
    records: &[TraceRecord],
    (asker, askers): (&[u32], usize),
    exports: usize,
) -> (AnswerDependences, Vec<usize>) {
    let own = answers(records, askers, |number| Some(asker[number] as usize));
    let all = answers(records, exports, |number| Some(usize::from(records[number].export)));
    let count = records.len();
    let mut waiting = AnswerDependences {
        first: vec![NONE; count],
        next: vec![NONE; count],
        think_time: vec![Duration::ZERO; count],
    };
    let mut free = Vec::new();
    // From the last on, so that lists begin with the first.
    for (number, record) in records.iter().enumerate().rev() {
        let earlier = last_before(&own[asker[number] as usize], record, number)
            .or_else(|| last_before(&all[usize::from(record.export)], record, number));
        match earlier {
            Some((at, other)) => {
                waiting.think_time[number] = record.submitted_at.since(at);
                waiting.next[number] = waiting.first[other as usize];
                waiting.first[other as usize] = number as u32;
            }
            None => free.push(number),
        }
    }
    (waiting, free)
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
    /// Flushes of each export, with the count of first writes that they wait for.
    waiting: Vec<BinaryHeap<Reverse<(usize, usize)>>>,
}

impl FlushDependences {
    pub(super) fn new(records: &[TraceRecord], exports: usize) -> Self {
        let own = |record: &TraceRecord| (record.operation == Operation::Write).then_some(usize::from(record.export));
        let writes = answers(records, exports, |number| own(&records[number]));
        let mut place = vec![NONE; records.len()];
        for of in &writes {
            of.iter().enumerate().for_each(|(index, (_, number))| place[*number as usize] = index as u32);
        }
        let (first, waiting) = (vec![0; exports], vec![BinaryHeap::new(); exports]);
        Self { writes, place, answered: vec![false; records.len()], first, waiting }
    }

    /// Whether a request has to wait. If so, [`FlushDependences::answer`] returns it later.
    pub(super) fn holds(&mut self, record: &TraceRecord, number: usize) -> bool {
        if record.operation != Operation::Flush {
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
