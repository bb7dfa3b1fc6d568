//! The guest's device queues: threads wait for a place if the load has more requests outstanding than the queues have
//! places.
//!
//! This follows Linux (block/blk-mq-tag.c, lib/sbitmap.c). Each queue has its places. A thread submits to the queue of
//! its processor, and sleeps at the end of that queue's line if it is full. For each eighth of a queue's places that
//! became free, one sleeper wakes, on any processor. While a thread sleeps it issues nothing, and its answers lie until
//! it looks: one answer for each request that it issues. That is fio's default (`io_submit` and `io_getevents` with
//! `min_nr` and `nr` of 1). So the answers of a thread stay in order, and each takes as many turns of the thread as it
//! has requests outstanding. With one thread only the order of waiting changes, so nothing is modelled.
//!
//! `docs/inside/prediction.md`, "Device queues", compares it with measurements.

use loadline_block::{Completion, Operation, Request};
use loadline_disk::{DeviceQueues, Layout};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;

/// The share of a queue's places that must become free to wake one more sleeper (`SBQ_WAIT_QUEUES` in lib/sbitmap.c),
/// and the most places of a wake-up (`SBQ_WAKE_BATCH`).
const WAKE_SHARE: u32 = 8;
const WAKE_BATCH_MAX: u32 = 8;

/// The queues before a volume, and the threads that use them.
#[derive(Debug, Clone)]
pub(crate) struct GuestQueue {
    layout: Layout,
    /// Queues of each column.
    queues: usize,
    /// Those of the first column, then those of the second, and so on.
    lines: Vec<Line>,
    threads: Vec<Thread>,
    /// The queue in which each request has its places, by its number.
    taken: Vec<u32>,
    /// Threads that were woken and have not looked yet, and queues that became free of requests.
    woken: VecDeque<u32>,
    idle: Vec<usize>,
    random: Xoshiro256PlusPlus,
}

/// One queue of a column, with who waits for a place in it.
#[derive(Debug, Clone)]
struct Line {
    places: i64,
    /// A request of several places may leave a debt.
    free: i64,
    batch: u32,
    /// Places that become free until the next sleeper is woken.
    until_wake: u32,
    asleep: VecDeque<u32>,
}

#[derive(Debug, Clone, Default)]
struct Thread {
    /// The queue of the processor that it is on.
    queue: usize,
    /// The request for which it sleeps.
    blocked: Option<Request>,
    /// Answers that it has not looked at.
    answered: VecDeque<Completion>,
}

impl GuestQueue {
    /// The queues of each column, those of all its copies together, for the threads of a load on processors that chance gives them.
    pub(crate) fn new(layout: Layout, columns: &[DeviceQueues], threads: u32, seed: u64) -> Self {
        let queues = columns.iter().map(|of| of.queues).min().unwrap_or(1).max(1) as usize;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x6775_6573_7420_7175);
        let copies = u32::try_from(layout.copies()).expect("a layout has few copies").max(1);
        let line = |of: &DeviceQueues| {
            let batch = (of.depth / copies / WAKE_SHARE).clamp(1, WAKE_BATCH_MAX);
            let places = i64::from(of.depth);
            Line { places, free: places, batch, until_wake: batch, asleep: VecDeque::new() }
        };
        Self {
            layout,
            queues,
            lines: columns.iter().flat_map(|of| std::iter::repeat_n(line(of), queues)).collect(),
            threads: (0..threads).map(|_| Thread { queue: any(&mut random, queues), ..Thread::default() }).collect(),
            taken: Vec::new(),
            woken: VecDeque::new(),
            idle: Vec::new(),
            random,
        }
    }

    /// Whether a thread sleeps because there is no place.
    pub(crate) fn is_blocked(&self, thread: u32) -> bool {
        self.threads[thread as usize].blocked.is_some()
    }

    /// An awake thread requests the places of a request; without them it sleeps.
    pub(crate) fn enter(&mut self, thread: u32, request: &Request) -> bool {
        let queue = self.threads[thread as usize].queue;
        let (mut columns, each) = touched(self.layout, self.lines.len() / self.queues, request);
        let line = |column: usize| column * self.queues + queue;
        if let Some(full) = columns.clone().find(|column| self.lines[line(*column)].free <= 0) {
            let full = line(full);
            self.lines[full].asleep.push_back(thread);
            self.threads[thread as usize].blocked = Some(*request);
            return false;
        }
        columns.by_ref().for_each(|column| self.lines[line(column)].free -= each);
        true
    }

    /// A request with its places goes to the machine under this number.
    pub(crate) fn entered(&mut self, id: usize, thread: u32) {
        if self.taken.len() <= id {
            self.taken.resize(id + 1, 0);
        }
        self.taken[id] = self.threads[thread as usize].queue as u32;
    }

    /// A request of a thread was answered: its places are free, and the answer waits until the thread looks.
    pub(crate) fn leave(&mut self, id: usize, thread: u32, completion: &Completion) {
        let queue = self.taken[id] as usize;
        let (columns, each) = touched(self.layout, self.lines.len() / self.queues, &completion.request);
        for column in columns {
            let number = column * self.queues + queue;
            let line = &mut self.lines[number];
            line.free += each;
            line.until_wake = line.until_wake.saturating_sub(each.unsigned_abs() as u32);
            if line.until_wake == 0 {
                line.until_wake = line.batch;
                self.woken.extend(line.asleep.pop_front());
            }
            if line.free == line.places && !line.asleep.is_empty() {
                self.idle.push(number);
            }
        }
        self.threads[thread as usize].answered.push_back(*completion);
    }

    /// Whether a thread that waits for its answers goes before one that sleeps for a place, if one answer wakes both.
    pub(crate) fn is_answered_first(&mut self) -> bool {
        self.woken.is_empty() || self.random.next_u64().is_multiple_of(2)
    }

    /// The next answer of a thread that is awake.
    pub(crate) fn look(&mut self, thread: u32) -> Option<Completion> {
        self.threads[thread as usize].answered.pop_front()
    }

    /// The next thread that was woken, with the request for which it slept. None sleeps before a queue in which nothing is that could
    /// wake it.
    pub(crate) fn wake(&mut self) -> Option<(u32, Request)> {
        let thread = self.woken.pop_front().or_else(|| {
            while let Some(number) = self.idle.last() {
                let line = &mut self.lines[*number];
                if line.free == line.places
                    && let Some(thread) = line.asleep.pop_front()
                {
                    return Some(thread);
                }
                self.idle.pop();
            }
            None
        })?;
        let queue = any(&mut self.random, self.queues);
        let state = &mut self.threads[thread as usize];
        state.queue = queue;
        Some((thread, state.blocked.take().expect("who sleeps has a request")))
    }
}

/// One of `count`, by chance.
fn any(random: &mut Xoshiro256PlusPlus, count: usize) -> usize {
    (random.next_u64() % count as u64) as usize
}

/// The columns in which a request takes places, and how many in each: one for a read; one on every copy for a write or
/// trim. A flush takes none.
fn touched(layout: Layout, columns: usize, request: &Request) -> (impl Iterator<Item = usize> + Clone, i64) {
    let first = layout.locate(request.offset);
    let count = match (request.operation, layout) {
        (Operation::Flush, _) => 0,
        (_, Layout::Stripe { interleave, .. } | Layout::StripeOfMirrors { interleave, .. }) => {
            let beyond = u64::from(request.length).saturating_sub(first.run);
            (1 + beyond.div_ceil(interleave.get())).min(columns as u64) as usize
        }
        (_, Layout::Single | Layout::Mirror { .. }) => 1,
    };
    let copies = i64::try_from(layout.copies()).expect("a layout has few copies");
    let each = if request.operation == Operation::Read { 1 } else { copies };
    ((0..count).map(move |index| (first.column + index) % columns), each)
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_units::{Bytes, Instant};

    fn read(offset: u64, length: u32) -> Request {
        Request { operation: Operation::Read, durable: false, length, offset, due_at: Instant::ZERO }
    }

    fn answer(request: Request) -> Completion {
        let at = Instant::ZERO;
        Completion { request, submitted_at: at, admitted_at: at, completed_at: at, outcome: Ok(()) }
    }

    fn queue(columns: usize, queues: u32, depth: u32, threads: u32) -> GuestQueue {
        let layout = match columns {
            1 => Layout::Single,
            columns => Layout::Stripe { columns: columns as u32, interleave: Bytes::kib(64) },
        };
        GuestQueue::new(layout, &vec![DeviceQueues { queues, depth }; columns], threads, 1)
    }

    /// A thread requests a place under a number; returns whether it got it.
    fn ask(queue: &mut GuestQueue, id: usize, thread: u32, request: Request) -> bool {
        let found = queue.enter(thread, &request);
        if found {
            queue.entered(id, thread);
        }
        found
    }

    #[test]
    fn a_queue_has_room_for_its_places_and_a_sleeper_is_woken_when_one_is_free() {
        let mut queue = queue(1, 1, 2, 3);
        assert!(ask(&mut queue, 0, 0, read(0, 4096)) && ask(&mut queue, 1, 1, read(4096, 4096)));
        assert!(!ask(&mut queue, 2, 2, read(8192, 4096)) && queue.is_blocked(2));
        assert_eq!(queue.wake(), None);
        queue.leave(0, 0, &answer(read(0, 4096)));
        assert_eq!(queue.wake(), Some((2, read(8192, 4096))));
        assert!(!queue.is_blocked(2) && ask(&mut queue, 0, 2, read(8192, 4096)));
    }

    /// Of 32 places four become free before one sleeper is woken, in the order in which they fell asleep.
    #[test]
    fn one_sleeper_is_woken_for_each_eighth_of_the_places() {
        let mut queue = queue(1, 1, 32, 4);
        assert!((0..32).all(|id| ask(&mut queue, id, 0, read(0, 4096))));
        assert!((1..4).all(|thread| !ask(&mut queue, 32, thread, read(0, 4096))));
        let mut woken = Vec::new();
        for id in 0..12 {
            queue.leave(id, 0, &answer(read(0, 4096)));
            woken.push(queue.wake().map(|(thread, _)| thread));
        }
        let mut wanted = vec![None; 12];
        (wanted[3], wanted[7], wanted[11]) = (Some(1), Some(2), Some(3));
        assert_eq!(woken, wanted);
    }

    /// No thread stays asleep before an empty queue, however few places became free.
    #[test]
    fn the_last_answer_wakes_all_who_sleep() {
        let mut queue = queue(1, 1, 16, 4);
        assert!((0..16).all(|id| ask(&mut queue, id, 0, read(0, 4096))));
        assert!((1..4).all(|thread| !ask(&mut queue, 16, thread, read(0, 4096))));
        // Two wake the first; it does not go on, and no more come.
        for id in 0..16 {
            queue.leave(id, 0, &answer(read(0, 4096)));
        }
        let woken: Vec<u32> = std::iter::from_fn(|| queue.wake()).map(|(thread, _)| thread).collect();
        assert_eq!(woken, [1, 2, 3]);
    }

    #[test]
    fn answers_are_looked_at_in_their_order() {
        let mut queue = queue(1, 1, 4, 2);
        for id in 0..3 {
            assert!(ask(&mut queue, id, 1, read(id as u64 * 4096, 4096)));
        }
        for id in [2, 0, 1] {
            queue.leave(id, 1, &answer(read(id as u64 * 4096, 4096)));
        }
        assert_eq!(queue.look(0), None);
        let order: Vec<u64> = std::iter::from_fn(|| queue.look(1)).map(|found| found.request.offset / 4096).collect();
        assert_eq!(order, [2, 0, 1]);
    }

    /// The first of two columns is full: a thread that needs it sleeps, another goes on in the second.
    #[test]
    fn a_thread_sleeps_where_it_finds_no_place_and_others_go_on() {
        let (first, second) = (read(0, 4096), read(64 << 10, 4096));
        let mut queue = queue(2, 1, 1, 2);
        assert!(ask(&mut queue, 0, 0, first));
        assert!(!ask(&mut queue, 1, 0, first));
        assert!(ask(&mut queue, 1, 1, second));
        queue.leave(1, 1, &answer(second));
        assert_eq!(queue.wake(), None, "its request is for the first column");
        queue.leave(0, 0, &answer(first));
        assert_eq!(queue.wake(), Some((0, first)));
    }

    #[test]
    fn a_request_takes_places_in_each_column_that_it_touches() {
        let stripe = Layout::Stripe { columns: 4, interleave: Bytes::kib(64) };
        let touches = |layout, columns, request: Request| {
            let (found, each) = touched(layout, columns, &request);
            (found.collect::<Vec<_>>(), each)
        };
        assert_eq!(touches(stripe, 4, read(192 << 10, 4096)), (vec![3], 1));
        assert_eq!(touches(stripe, 4, read(160 << 10, 128 << 10)), (vec![2, 3, 0], 1));
        assert_eq!(touches(stripe, 4, read(0, 1 << 20)), (vec![0, 1, 2, 3], 1));
        let write = Request { operation: Operation::Write, ..read(0, 4096) };
        assert_eq!(touches(Layout::Mirror { copies: 2 }, 1, write), (vec![0], 2));
        let flush = Request { operation: Operation::Flush, ..read(0, 0) };
        assert_eq!(touches(stripe, 4, flush).0, [0; 0]);
    }
}
