//! The guest's device queues: where requests wait for a place when a load has more outstanding than they have room for.
//!
//! A thread that finds no place sleeps until there is one, and then goes on until all that waited of it has one, or it finds none on
//! another disk. Which of the sleeping threads is woken next is chance. So requests of one thread keep their order, while threads
//! overtake one another: the quickest requests take as long as the places do to be answered, and the others that and a time which is
//! nearly exponential. With one thread nothing changes, and nothing is kept.
//!
//! Held against measurements in `docs/prediction.md`, "Device queues".

use loadline_block::{Operation, Request};
use loadline_disk::Layout;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;

/// The queues before a volume, and what waits for a place in them.
#[derive(Debug, Clone)]
pub(crate) struct GuestQueue {
    layout: Layout,
    columns: Vec<Column>,
    /// What waits of each thread.
    waiting: Vec<VecDeque<Request>>,
    random: Xoshiro256PlusPlus,
}

/// The queues of one column's disks.
#[derive(Debug, Clone)]
struct Column {
    /// Places that are free. What takes several of them may leave a debt.
    free: i64,
    /// The thread that gets the next places, and how many requests of it waited when it was woken and wait still.
    next: Option<(u32, usize)>,
    /// Other threads whose next request waits for a place here.
    asleep: Vec<u32>,
}

impl Column {
    /// A thread that is awake gets the next place here, unless another does.
    fn stand(&mut self, thread: u32, left: usize) {
        if self.next.is_none() {
            self.next = Some((thread, left));
        } else {
            self.asleep.push(thread);
        }
    }
}

impl GuestQueue {
    /// `places` of each column.
    pub(crate) fn new(layout: Layout, places: &[u64], threads: u32, seed: u64) -> Self {
        let free = |places: &u64| i64::try_from(*places).unwrap_or(i64::MAX);
        Self {
            layout,
            columns: places
                .iter()
                .map(|places| Column { free: free(places), next: None, asleep: Vec::new() })
                .collect(),
            waiting: vec![VecDeque::new(); threads as usize],
            random: Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x6775_6573_7420_7175),
        }
    }

    /// A request of a thread wants a place.
    pub(crate) fn wait(&mut self, thread: u32, request: Request) {
        self.waiting[thread as usize].push_back(request);
        if self.waiting[thread as usize].len() == 1 {
            self.sleep(thread);
        }
    }

    /// A request was answered, and its places are free.
    pub(crate) fn leave(&mut self, request: &Request) {
        let (columns, each) = touched(self.layout, self.columns.len(), request);
        columns.for_each(|column| self.columns[column].free += each);
    }

    /// The next request that gets its places, and whose it is.
    pub(crate) fn enter(&mut self) -> Option<(u32, Request)> {
        loop {
            let next = self.columns.iter_mut().filter(|column| column.free > 0).find_map(|column| column.next.take());
            let (thread, left) = next.or_else(|| self.wake())?;
            let request = *self.waiting[thread as usize].front()?;
            let (mut columns, each) = touched(self.layout, self.columns.len(), &request);
            if let Some(full) = columns.clone().find(|column| self.columns[*column].free <= 0) {
                self.columns[full].stand(thread, left);
                continue;
            }
            columns.by_ref().for_each(|column| self.columns[column].free -= each);
            self.waiting[thread as usize].pop_front();
            if left > 1 {
                let column = self.first_column(thread);
                self.columns[column].stand(thread, left - 1);
            } else if !self.waiting[thread as usize].is_empty() {
                // What came since has its turn later: a thread that is answered quickly leaves room for others.
                self.sleep(thread);
            }
            return Some((thread, request));
        }
    }

    /// Where the next request of a thread first needs a place.
    fn first_column(&self, thread: u32) -> usize {
        let request = self.waiting[thread as usize].front();
        request.and_then(|request| touched(self.layout, self.columns.len(), request).0.next()).unwrap_or(0)
    }

    /// A thread lies down where its next request first needs a place.
    fn sleep(&mut self, thread: u32) {
        let column = self.first_column(thread);
        self.columns[column].asleep.push(thread);
    }

    /// Wakes one of the threads that wait where there is room, by chance, with how much of it waits.
    fn wake(&mut self) -> Option<(u32, usize)> {
        let roomy = |column: &&mut Column| column.free > 0;
        let count: usize = self.columns.iter_mut().filter(roomy).map(|column| column.asleep.len()).sum();
        let mut next = self.random.next_u64().checked_rem(count as u64)? as usize;
        for column in self.columns.iter_mut().filter(roomy) {
            if next < column.asleep.len() {
                let thread = column.asleep.swap_remove(next);
                return Some((thread, self.waiting[thread as usize].len()));
            }
            next -= column.asleep.len();
        }
        None
    }
}

/// The columns in which a request takes places, and how many in each: one, or for what changes data one on every copy. A flush takes
/// none.
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

    fn queue(places: &[u64], threads: u32, seed: u64) -> GuestQueue {
        let layout = match places.len() {
            1 => Layout::Single,
            columns => Layout::Stripe { columns: columns as u32, interleave: Bytes::kib(64) },
        };
        GuestQueue::new(layout, places, threads, seed)
    }

    #[test]
    fn a_thread_keeps_its_order_and_goes_on_until_nothing_of_it_waits() {
        let mut queue = queue(&[1], 3, 7);
        for number in 0..4 {
            for thread in 0..3 {
                queue.wait(thread, read(number * 4096, 4096));
            }
        }
        let mut order = Vec::new();
        while let Some((thread, found)) = queue.enter() {
            order.push((thread, found.offset / 4096));
            queue.leave(&found);
        }
        assert_eq!(order.len(), 12, "none is lost");
        for run in order.chunks(4) {
            let whose = run[0].0;
            assert_eq!(run, [(whose, 0), (whose, 1), (whose, 2), (whose, 3)]);
        }
    }

    #[test]
    fn no_more_enter_than_there_are_places() {
        let mut queue = queue(&[2], 2, 1);
        (0..6).for_each(|number| queue.wait(number % 2, read(0, 4096)));
        assert!(queue.enter().is_some() && queue.enter().is_some());
        assert_eq!(queue.enter(), None);
        queue.leave(&read(0, 4096));
        assert!(queue.enter().is_some());
        assert_eq!(queue.enter(), None);
    }

    /// Of two columns the first is full: a thread that needs it sleeps with all that comes after, another goes on.
    #[test]
    fn a_thread_sleeps_where_it_finds_no_place_and_others_go_on() {
        let (first, second) = (0, 64 << 10);
        let mut queue = queue(&[1, 3], 2, 1);
        queue.wait(0, read(first, 4096));
        assert_eq!(queue.enter(), Some((0, read(first, 4096))));
        queue.wait(0, read(first, 4096));
        queue.wait(0, read(second, 4096));
        queue.wait(1, read(second, 4096));
        assert_eq!(queue.enter(), Some((1, read(second, 4096))));
        assert_eq!(queue.enter(), None, "its request for the second column comes after that for the first");
        queue.leave(&read(first, 4096));
        assert_eq!(queue.enter(), Some((0, read(first, 4096))));
        assert_eq!(queue.enter(), Some((0, read(second, 4096))));
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

    #[test]
    fn every_thread_that_waits_has_its_turn() {
        let mut queue = queue(&[1], 16, 3);
        (0..16).for_each(|thread| queue.wait(thread, read(0, 4096)));
        let mut turns = [0; 16];
        for _ in 0..16_000 {
            let (thread, found) = queue.enter().unwrap();
            turns[thread as usize] += 1;
            queue.leave(&found);
            queue.wait(thread, found);
        }
        assert!(turns.iter().all(|count| (800..1_200).contains(count)), "{turns:?}");
    }
}
