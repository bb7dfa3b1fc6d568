//! The same work on many things, on several threads: results in the order of the things.

use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Follows a sweep, from all of its threads.
pub trait SweepProgress: Sync {
    /// So many things of all are done. `false` ends the sweep.
    fn goes_on(&self, done: usize, of: usize) -> bool;
}

impl<F: Fn(usize, usize) -> bool + Sync> SweepProgress for F {
    fn goes_on(&self, done: usize, of: usize) -> bool {
        self(done, of)
    }
}

/// The sweep was ended by the one who followed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the sweep was stopped before its end; nothing of it is kept")]
pub struct Stopped;

/// Does `work` on `count` things. Without `threads`, as many as there are processors.
pub(super) fn side_by_side<T: Send>(
    count: usize,
    threads: Option<NonZero<usize>>,
    progress: &dyn SweepProgress,
    work: impl Fn(usize) -> T + Sync,
) -> Result<Vec<T>, Stopped> {
    let processors = || std::thread::available_parallelism().map_or(1, NonZero::get);
    let threads = threads.map_or_else(processors, NonZero::get).min(count).max(1);
    let (next, done, ends) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(!progress.goes_on(0, count)));
    let made = Mutex::new(Vec::with_capacity(count));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut own = Vec::new();
                while !ends.load(Ordering::Relaxed) {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    if place >= count {
                        break;
                    }
                    own.push((place, work(place)));
                    if !progress.goes_on(done.fetch_add(1, Ordering::Relaxed) + 1, count) {
                        ends.store(true, Ordering::Relaxed);
                    }
                }
                made.lock().expect("no thread panics with it").append(&mut own);
            });
        }
    });
    let mut made: Vec<(usize, T)> = made.into_inner().expect("no thread panics with it");
    if made.len() < count {
        return Err(Stopped);
    }
    made.sort_unstable_by_key(|(place, _)| *place);
    Ok(made.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_stand_in_the_order_of_the_things_with_any_number_of_threads() {
        for threads in [1, 2, 7, 64] {
            let found = side_by_side(50, NonZero::new(threads), &|_, _| true, |place| place * 2);
            assert_eq!(found, Ok((0..50).map(|place| place * 2).collect()));
        }
        assert_eq!(side_by_side(0, None, &|_, _| true, |place| place), Ok(Vec::new()));
    }

    #[test]
    fn a_sweep_that_is_stopped_gives_nothing() {
        assert_eq!(side_by_side(50, NonZero::new(2), &|done, _| done < 10, |place| place), Err(Stopped));
    }
}
