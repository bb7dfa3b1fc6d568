//! The guest's device queues: where requests wait for a place when a load has more outstanding than they have room for.
//!
//! A thread that finds no place sleeps until it gets one, and then goes on until all that waited of it has one. Which of the sleeping
//! threads is woken next is chance. So requests of one thread keep their order, while threads overtake one another: the
//! quickest requests take as long as the places do to be answered, and the others that and a time which is nearly
//! exponential. With one thread nothing changes, and nothing is kept.
//!
//! Held against measurements in `docs/prediction.md`, "Device queues".

use loadline_block::Request;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;

/// The queues before a volume, and what waits for a place in them.
#[derive(Debug, Clone)]
pub(crate) struct GuestQueue {
    /// Places that are free.
    free: u64,
    /// What waits of each thread.
    waiting: Vec<VecDeque<Request>>,
    /// Threads of which something waits, but for the one that takes places.
    asleep: Vec<u32>,
    /// The thread that takes places, and how many requests of it waited when it was woken and wait still.
    awake: Option<(u32, usize)>,
    random: Xoshiro256PlusPlus,
}

impl GuestQueue {
    pub(crate) fn new(places: u64, threads: u32, seed: u64) -> Self {
        Self {
            free: places,
            waiting: vec![VecDeque::new(); threads as usize],
            asleep: Vec::new(),
            awake: None,
            random: Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x6775_6573_7420_7175),
        }
    }

    /// A request of a thread wants a place.
    pub(crate) fn wait(&mut self, thread: u32, request: Request) {
        let waiting = &mut self.waiting[thread as usize];
        if waiting.is_empty() {
            self.asleep.push(thread);
        }
        waiting.push_back(request);
    }

    /// A request was answered, and its place is free.
    pub(crate) fn leave(&mut self) {
        self.free += 1;
    }

    /// The next request that gets a place, and whose it is.
    pub(crate) fn enter(&mut self) -> Option<(u32, Request)> {
        if self.free == 0 {
            return None;
        }
        let (thread, left) = match self.awake.take() {
            Some(awake) => awake,
            None => {
                let next = self.random.next_u64().checked_rem(self.asleep.len() as u64)?;
                let thread = self.asleep.swap_remove(next as usize);
                (thread, self.waiting[thread as usize].len())
            }
        };
        let waiting = &mut self.waiting[thread as usize];
        let request = waiting.pop_front()?;
        if left > 1 {
            self.awake = Some((thread, left - 1));
        } else if !waiting.is_empty() {
            // What came since has its turn later: a thread that is answered quickly leaves room for others.
            self.asleep.push(thread);
        }
        self.free -= 1;
        Some((thread, request))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_block::Operation;
    use loadline_units::Instant;

    fn request(number: u64) -> Request {
        Request {
            operation: Operation::Read,
            durable: false,
            length: 4096,
            offset: number * 4096,
            due_at: Instant::ZERO,
        }
    }

    #[test]
    fn a_thread_keeps_its_order_and_goes_on_until_nothing_of_it_waits() {
        let mut queue = GuestQueue::new(1, 3, 7);
        for number in 0..4 {
            for thread in 0..3 {
                queue.wait(thread, request(number));
            }
        }
        let mut order = Vec::new();
        while let Some((thread, found)) = queue.enter() {
            order.push((thread, found.offset / 4096));
            queue.leave();
        }
        assert_eq!(order.len(), 12, "none is lost");
        for run in order.chunks(4) {
            let whose = run[0].0;
            assert_eq!(run, [(whose, 0), (whose, 1), (whose, 2), (whose, 3)]);
        }
    }

    #[test]
    fn no_more_enter_than_there_are_places() {
        let mut queue = GuestQueue::new(2, 2, 1);
        (0..6).for_each(|number| queue.wait(number as u32 % 2, request(number)));
        assert!(queue.enter().is_some() && queue.enter().is_some());
        assert_eq!(queue.enter(), None);
        queue.leave();
        assert!(queue.enter().is_some());
        assert_eq!(queue.enter(), None);
    }

    #[test]
    fn every_thread_that_waits_has_its_turn() {
        let mut queue = GuestQueue::new(1, 16, 3);
        (0..16).for_each(|thread| queue.wait(thread, request(0)));
        let mut turns = [0; 16];
        for _ in 0..16_000 {
            let (thread, found) = queue.enter().unwrap();
            turns[thread as usize] += 1;
            queue.leave();
            queue.wait(thread, found);
        }
        assert!(turns.iter().all(|count| (800..1_200).contains(count)), "{turns:?}");
    }
}
