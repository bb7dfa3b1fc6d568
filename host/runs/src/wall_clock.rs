//! The wall clock and chance: when a run began, its id, and a seed for one that names none.

use loadline_units::Timestamp;
use std::hash::{BuildHasher, Hasher};
use std::time::{SystemTime, UNIX_EPOCH};

/// Now, by the wall clock, to the second.
#[must_use]
pub fn now() -> Timestamp {
    Timestamp::from_unix_s(unix_s())
}

/// Now, in seconds since 1970.
#[must_use]
pub fn unix_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |span| span.as_secs())
}

/// Now, in ms since 1970.
#[must_use]
pub fn unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |span| span.as_millis() as u64)
}

/// Now, in ns since 1970.
#[must_use]
pub fn unix_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |span| span.as_nanos() as u64)
}

/// Characters of every run's id.
pub(crate) const RUN_ID_LENGTH: usize = "20260131-142233-abcdef".len();

/// A new run's id: sorts by start, unique on this machine and most likely everywhere.
#[must_use]
pub fn run_id(started: Timestamp) -> String {
    let started = started.to_string().replace(['-', ':', 'Z'], "").replace('T', "-");
    format!("{started}-{:06x}", chance() & 0xff_ffff)
}

/// A seed for a run that names none. Small enough to be typed again.
#[must_use]
pub fn fresh_seed() -> u64 {
    chance() & 0xffff_ffff
}

/// A number that differs from call to call: the standard library keys its hashers from the system's source of randomness.
fn chance() -> u64 {
    std::hash::RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_begun_in_the_same_second_differ() {
        let started = Timestamp::from_unix_s(0);
        assert_ne!(run_id(started), run_id(started));
        assert!(run_id(started).starts_with("19700101-000000-"));
        assert_eq!(run_id(started).len(), RUN_ID_LENGTH);
    }
}
