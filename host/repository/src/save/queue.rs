//! A queue with a bound between threads of one save, which all end when one of them fails.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a thread waits before it looks whether all shall end.
const LOOK: Duration = Duration::from_millis(50);

/// A queue of at most so many things.
pub(crate) struct BoundedQueue<T> {
    state: Mutex<(VecDeque<T>, bool)>,
    changed: Condvar,
    limit: usize,
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T> BoundedQueue<T> {
    pub(crate) fn new(limit: usize) -> Self {
        Self { state: Mutex::new((VecDeque::new(), false)), changed: Condvar::new(), limit }
    }

    /// Waits for room. `false` when all shall end.
    pub(crate) fn push(&self, item: T, ended: &AtomicBool) -> bool {
        let mut state = locked(&self.state);
        while state.0.len() >= self.limit {
            if ended.load(Ordering::Relaxed) {
                return false;
            }
            state = self.changed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.0.push_back(item);
        self.changed.notify_all();
        true
    }

    /// Waits for an item. `None` when there will be none, or when all shall end.
    pub(crate) fn pop(&self, ended: &AtomicBool) -> Option<T> {
        let mut state = locked(&self.state);
        loop {
            if ended.load(Ordering::Relaxed) {
                return None;
            }
            if let Some(item) = state.0.pop_front() {
                self.changed.notify_all();
                return Some(item);
            }
            if state.1 {
                return None;
            }
            state = self.changed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Nothing more comes.
    pub(crate) fn close(&self) {
        locked(&self.state).1 = true;
        self.changed.notify_all();
    }
}
