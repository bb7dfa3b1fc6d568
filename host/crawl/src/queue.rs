//! The queue before a station: bounded in items and bytes, with its integrals over time.

use crate::clock::{CrawlClock, lock};
use loadline_pipeline::LiveQueue;
use loadline_record::{QueueBound, QueueIntegral};
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, PoisonError};

/// A bounded queue. An item larger than its bytes enters while it is empty.
#[derive(Debug)]
pub(crate) struct BoundedQueue<T> {
    clock: CrawlClock,
    bound: QueueBound,
    state: Mutex<QueueState<T>>,
    filled: Condvar,
    emptied: Condvar,
}

#[derive(Debug)]
struct QueueState<T> {
    items: VecDeque<(T, u64)>,
    bytes: u64,
    /// Workers that have an item and no place to put it.
    blocked: u32,
    is_closed: bool,
    /// How often takers were called to something else.
    calls: u64,
    since_ns: u64,
    item_ns: u128,
    byte_ns: u128,
    empty_ns: u64,
    full_ns: u64,
}

/// What a taker gets.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Taken<T> {
    /// An item.
    Item(T),
    /// Takers are called to something else.
    Called,
    /// Nothing more will come.
    Closed,
}

impl<T> QueueState<T> {
    fn integrate(&mut self, now_ns: u64) {
        let now_ns = now_ns.max(self.since_ns);
        let span = now_ns - self.since_ns;
        self.item_ns += self.items.len() as u128 * u128::from(span);
        self.byte_ns += u128::from(self.bytes) * u128::from(span);
        if self.items.is_empty() {
            self.empty_ns += span;
        }
        if self.blocked > 0 {
            self.full_ns += span;
        }
        self.since_ns = now_ns;
    }
}

impl<T> BoundedQueue<T> {
    /// With these bounds.
    pub(crate) fn new(clock: CrawlClock, bound: QueueBound) -> Self {
        let state = QueueState {
            items: VecDeque::new(),
            bytes: 0,
            blocked: 0,
            is_closed: false,
            calls: 0,
            since_ns: 0,
            item_ns: 0,
            byte_ns: 0,
            empty_ns: 0,
            full_ns: 0,
        };
        Self { clock, bound, state: Mutex::new(state), filled: Condvar::new(), emptied: Condvar::new() }
    }
    fn has_room(&self, state: &QueueState<T>, bytes: u64) -> bool {
        state.items.is_empty()
            || (state.items.len() < self.bound.items as usize && state.bytes + bytes <= self.bound.bytes.get())
    }
    /// Puts an item, and waits for room. Gives it back where the queue was closed.
    ///
    /// # Errors
    /// The item: nobody will take it.
    pub(crate) fn put(&self, item: T, bytes: u64) -> Result<(), T> {
        let mut state = lock(&self.state);
        while !state.is_closed && !self.has_room(&state, bytes) {
            state.integrate(self.clock.ns());
            state.blocked += 1;
            state = self.emptied.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.integrate(self.clock.ns());
            state.blocked -= 1;
        }
        if state.is_closed {
            return Err(item);
        }
        state.integrate(self.clock.ns());
        state.items.push_back((item, bytes));
        state.bytes += bytes;
        drop(state);
        self.filled.notify_one();
        Ok(())
    }
    /// Takes the oldest item, and waits for one. `seen` counts the calls that the taker has followed.
    pub(crate) fn take(&self, seen: &mut u64) -> Taken<T> {
        let mut state = lock(&self.state);
        loop {
            if state.calls > *seen {
                *seen = state.calls;
                return Taken::Called;
            }
            if let Some((item, bytes)) = {
                state.integrate(self.clock.ns());
                state.items.pop_front()
            } {
                state.bytes -= bytes;
                drop(state);
                // A waiting thread may need more room than this item leaves.
                self.emptied.notify_all();
                return Taken::Item(item);
            }
            if state.is_closed {
                return Taken::Closed;
            }
            state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
    /// Calls every taker to something else.
    pub(crate) fn call(&self) {
        lock(&self.state).calls += 1;
        self.filled.notify_all();
    }
    /// Nothing more will come. What is there is taken still.
    pub(crate) fn close(&self) {
        lock(&self.state).is_closed = true;
        self.filled.notify_all();
        self.emptied.notify_all();
    }
    /// Nothing more will come, and what is there is dropped: the crawl failed.
    pub(crate) fn abandon(&self) {
        let mut state = lock(&self.state);
        state.integrate(self.clock.ns());
        state.items.clear();
        state.bytes = 0;
        state.is_closed = true;
        drop(state);
        self.filled.notify_all();
        self.emptied.notify_all();
    }
    /// Items in it, and for how many it has room.
    pub(crate) fn fill(&self) -> LiveQueue {
        LiveQueue { items: lock(&self.state).items.len() as u64, items_max: self.bound.items.into() }
    }
    /// Its integrals so far.
    pub(crate) fn integral(&self, wall_ns: u64) -> QueueIntegral {
        let mut state = lock(&self.state);
        state.integrate(wall_ns);
        QueueIntegral {
            item_us: (state.item_ns / 1_000) as u64,
            byte_us: (state.byte_ns / 1_000) as u64,
            empty_ns: state.empty_ns,
            full_ns: state.full_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_units::Bytes;
    use std::sync::Arc;

    fn queue(items: u32, bytes: u64) -> BoundedQueue<u32> {
        BoundedQueue::new(CrawlClock::start(), QueueBound { items, bytes: Bytes::new(bytes) })
    }

    #[test]
    fn bytes_bound_as_well_as_items_and_a_large_item_enters_while_empty() {
        let queue = queue(10, 100);
        queue.put(1, 1_000).unwrap();
        assert!(!queue.has_room(&lock(&queue.state), 1));
        let mut seen = 0;
        assert_eq!(queue.take(&mut seen), Taken::Item(1));
        queue.put(2, 60).unwrap();
        assert!(queue.has_room(&lock(&queue.state), 40));
        assert!(!queue.has_room(&lock(&queue.state), 41));
    }

    #[test]
    fn calls_come_before_items_and_every_taker_gets_each_once() {
        let queue = queue(10, 100);
        queue.put(7, 1).unwrap();
        queue.call();
        let (mut one, mut other) = (0, 0);
        assert_eq!(queue.take(&mut one), Taken::Called);
        assert_eq!(queue.take(&mut one), Taken::Item(7));
        assert_eq!(queue.take(&mut other), Taken::Called);
        queue.close();
        assert_eq!(queue.take(&mut one), Taken::Closed);
        assert_eq!(queue.put(8, 1), Err(8));
    }

    #[test]
    fn a_full_queue_blocks_and_counts_that() {
        let queue = Arc::new(queue(1, 100));
        queue.put(1, 1).unwrap();
        let putter = Arc::clone(&queue);
        let thread = std::thread::spawn(move || putter.put(2, 1));
        while lock(&queue.state).blocked == 0 {
            std::thread::yield_now();
        }
        let mut seen = 0;
        assert_eq!(queue.take(&mut seen), Taken::Item(1));
        assert_eq!(queue.take(&mut seen), Taken::Item(2));
        thread.join().unwrap().unwrap();
        let integral = queue.integral(queue.clock.ns());
        assert!(integral.full_ns > 0 && integral.byte_us >= integral.item_us, "{integral:?}");
    }
}
