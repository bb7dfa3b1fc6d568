//! Processor sharing: tasks that progress at equal rates on what there is of a resource, in integer time.

use std::collections::BTreeSet;

/// Progress is kept in parts of 2^-32 of a unit.
const FRACTION_BITS: u32 = 32;

/// A resource that every task on it uses at the same rate.
///
/// `width` tasks run at full rate; `n` more than that run at `width / n` of it each. Progress of a task that stays is the same as
/// that of any other: so the resource keeps one level, and a task ends when the level has risen by what it asked.
#[derive(Debug, Clone)]
pub(super) struct SharedResource {
    /// Units a task at full rate uses in `full_ns`.
    full_units: u64,
    full_ns: u64,
    width: u64,
    level: u128,
    at_ns: u64,
    ends: BTreeSet<(u128, u32)>,
}

impl SharedResource {
    /// `width` processors, whose units are their own ns.
    pub(super) fn processors(width: u32) -> Self {
        Self::new(1, 1, u64::from(width))
    }
    /// A network whose units are bytes.
    pub(super) fn network(bytes_per_s: u64) -> Self {
        Self::new(bytes_per_s, 1_000_000_000, 1)
    }
    fn new(full_units: u64, full_ns: u64, width: u64) -> Self {
        Self { full_units, full_ns, width, level: 0, at_ns: 0, ends: BTreeSet::new() }
    }
    /// `width / n` or 1, over the resource's rate: (numerator, denominator) of the level's rise in a ns.
    fn rate(&self) -> (u128, u128) {
        let tasks = (self.ends.len() as u64).max(self.width);
        (u128::from(self.full_units) * u128::from(self.width), u128::from(self.full_ns) * u128::from(tasks))
    }
    fn advance(&mut self, now_ns: u64) {
        if !self.ends.is_empty() {
            let (units, ns) = self.rate();
            self.level += ((u128::from(now_ns - self.at_ns) * units) << FRACTION_BITS) / ns;
        }
        self.at_ns = now_ns;
    }
    /// A task wants `units` from now on.
    pub(super) fn add(&mut self, now_ns: u64, task: u32, units: u64) {
        self.advance(now_ns);
        self.ends.insert((self.level + (u128::from(units) << FRACTION_BITS), task));
    }
    /// When the first task ends, unless another comes.
    pub(super) fn next_end_ns(&self) -> Option<u64> {
        let (end, _) = self.ends.first()?;
        let (units, ns) = self.rate();
        let left = end.saturating_sub(self.level);
        Some(self.at_ns + (left * ns).div_ceil(units << FRACTION_BITS) as u64)
    }
    /// A task that has ended by now.
    pub(super) fn take_ended(&mut self, now_ns: u64) -> Option<u32> {
        self.advance(now_ns);
        let &(end, task) = self.ends.first()?;
        if end > self.level {
            return None;
        }
        self.ends.remove(&(end, task));
        Some(task)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(mut shared: SharedResource, tasks: &[(u64, u64)]) -> Vec<(u32, u64)> {
        let mut ended = Vec::new();
        let mut arrivals = tasks.iter().enumerate().peekable();
        loop {
            let next = shared.next_end_ns();
            match arrivals.peek() {
                Some((task, (at, units))) if next.is_none_or(|next| *at <= next) => {
                    shared.add(*at, *task as u32, *units);
                    arrivals.next();
                }
                _ => {
                    let Some(now) = next else { return ended };
                    while let Some(task) = shared.take_ended(now) {
                        ended.push((task, now));
                    }
                }
            }
        }
    }

    #[test]
    fn as_many_tasks_as_processors_run_at_full_rate() {
        assert_eq!(ends(SharedResource::processors(2), &[(0, 100), (10, 50)]), [(1, 60), (0, 100)]);
    }

    #[test]
    fn more_tasks_share_evenly() {
        // Two on one processor until the short one ends at 200; the long one has 200 left of 300.
        assert_eq!(ends(SharedResource::processors(1), &[(0, 100), (0, 300)]), [(0, 200), (1, 400)]);
        // Three on two: each at two thirds.
        assert_eq!(
            ends(SharedResource::processors(2), &[(0, 200), (0, 200), (0, 400)]),
            [(0, 300), (1, 300), (2, 500)]
        );
    }

    #[test]
    fn a_network_moves_its_bytes_in_the_time_that_they_take() {
        // 1 MB/s: 1,000 bytes in a ms.
        assert_eq!(
            ends(SharedResource::network(1_000_000), &[(0, 1_000), (0, 1_000)]),
            [(0, 2_000_000), (1, 2_000_000)]
        );
    }
}
