//! The frontier of a source: what is known and not fetched yet, by host, behind the gate's rules.

use crate::clock::{CrawlClock, WorkerTimer, lock};
use crate::item::{CrawlTarget, Identity};
use loadline_record::{GateRule, Politeness, WorkerState};
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration as RealDuration;

/// A feeder waits while so many items wait.
const WAITING_MAX: u64 = 20_000;

/// Items that wait for a slot.
#[derive(Debug)]
pub(crate) struct Frontier {
    source: u32,
    clock: CrawlClock,
    politeness: Politeness,
    /// Items at most, over the whole crawl.
    items_max: u64,
    stop: Arc<AtomicBool>,
    state: Mutex<FrontierState>,
    changed: Condvar,
    has_room: Condvar,
}

#[derive(Debug, Default)]
struct FrontierState {
    by_name: HashMap<String, u32>,
    hosts: Vec<HostQueue>,
    /// Hosts that have an item and a place, by when they may be asked.
    ready: BTreeSet<(u64, u32)>,
    known: HashSet<[u8; 16]>,
    /// Keys that the feeder will add, with what an earlier crawl knows of them.
    expected: HashSet<[u8; 16]>,
    waiting: u64,
    /// Items that were taken and may still lead to others.
    open: u64,
    /// Whatever else adds items.
    feeders: u32,
    next_number: u32,
    last_eligible_ns: u64,
    since_ns: u64,
    waiting_item_ns: u128,
}

#[derive(Debug, Default)]
struct HostQueue {
    items: VecDeque<Waiting>,
    in_flight: u32,
    next_ns: u64,
    /// The rule that set `next_ns`.
    is_retry: bool,
    /// Crawl delay of its own, as its robots.txt asks.
    delay_ns: u64,
}

#[derive(Debug)]
struct Waiting {
    key: String,
    depth: u32,
    number: u32,
    found_in: Option<u32>,
    redirects: u32,
    tries: u32,
    eligible_ns: u64,
    known: Option<Box<Identity>>,
}

/// An item to be added.
#[derive(Debug, Clone, Default)]
pub(crate) struct NewTarget {
    pub(crate) key: String,
    pub(crate) host: String,
    pub(crate) depth: u32,
    pub(crate) found_in: Option<u32>,
    /// Redirects in a row that led to it.
    pub(crate) redirects: u32,
    pub(crate) known: Option<Box<Identity>>,
}

/// What became of an item that was added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Added {
    /// It waits.
    New,
    /// It is known already.
    Known,
    /// The source has as many items as it may.
    Capped,
}

fn fingerprint(key: &str) -> [u8; 16] {
    let mut short = [0; 16];
    short.copy_from_slice(&blake3::hash(key.as_bytes()).as_bytes()[..16]);
    short
}

impl FrontierState {
    fn integrate(&mut self, now_ns: u64) {
        let now_ns = now_ns.max(self.since_ns);
        self.waiting_item_ns += u128::from(self.waiting) * u128::from(now_ns - self.since_ns);
        self.since_ns = now_ns;
    }
    fn enlist(&mut self, host: u32, per_host: Option<u32>) {
        let of = &self.hosts[host as usize];
        if !of.items.is_empty() && per_host.is_none_or(|most| of.in_flight < most) {
            self.ready.insert((of.next_ns, host));
        }
    }
}

impl Frontier {
    /// Of a source. It is empty, and one feeder is at work until [`Frontier::fed`].
    pub(crate) fn new(
        source: u32,
        clock: CrawlClock,
        politeness: Politeness,
        items_max: u64,
        stop: Arc<AtomicBool>,
    ) -> Self {
        let state = FrontierState { feeders: 1, ..FrontierState::default() };
        Self {
            source,
            clock,
            politeness,
            items_max,
            stop,
            state: Mutex::new(state),
            changed: Condvar::new(),
            has_room: Condvar::new(),
        }
    }
    /// Adds an item, if it is new. A feeder waits for room; links of items do not, as their number is bounded.
    pub(crate) fn add(&self, new: NewTarget, is_feeder: bool) -> Added {
        let print = fingerprint(&new.key);
        let mut state = lock(&self.state);
        while is_feeder && state.waiting >= WAITING_MAX && !self.stop.load(Ordering::Relaxed) {
            state = wait(&self.has_room, state, RealDuration::from_millis(100));
        }
        if is_feeder {
            state.expected.remove(&print);
        }
        // A link that comes before the feeder would have nothing of the earlier crawl.
        if state.known.contains(&print) || state.expected.contains(&print) {
            return Added::Known;
        }
        if state.known.len() as u64 >= self.items_max {
            return Added::Capped;
        }
        state.known.insert(print);
        let now_ns = self.clock.ns();
        state.integrate(now_ns);
        let NewTarget { key, host, depth, found_in, redirects, known } = new;
        let next = state.hosts.len() as u32;
        let host = *state.by_name.entry(host).or_insert(next);
        if host == next {
            let delay_ns = self.politeness.crawl_delay.map_or(0, loadline_units::Duration::as_ns);
            state.hosts.push(HostQueue { delay_ns, ..HostQueue::default() });
        }
        let number = state.next_number;
        state.next_number += 1;
        state.last_eligible_ns = now_ns;
        state.waiting += 1;
        let waiting = Waiting { key, depth, number, found_in, redirects, tries: 0, eligible_ns: now_ns, known };
        state.hosts[host as usize].items.push_back(waiting);
        if state.hosts[host as usize].items.len() == 1 {
            state.enlist(host, self.politeness.per_host);
        }
        drop(state);
        self.changed.notify_one();
        Added::New
    }
    /// Leaves these keys to the feeder: links to them that are found meanwhile add no item.
    pub(crate) fn expect<'k>(&self, keys: impl Iterator<Item = &'k str>) {
        lock(&self.state).expected.extend(keys.map(fingerprint));
    }
    /// Marks a key as known, without an item: an earlier part of the crawl did it.
    pub(crate) fn mark_known(&self, key: &str) {
        lock(&self.state).known.insert(fingerprint(key));
    }
    /// A host asks for this delay between fetches, at least.
    pub(crate) fn delay_host(&self, host: &str, delay_ns: u64) {
        let mut state = lock(&self.state);
        if let Some(host) = state.by_name.get(host).copied() {
            let of = &mut state.hosts[host as usize];
            of.delay_ns = of.delay_ns.max(delay_ns);
        }
    }
    /// An item that its host put off: it is the host's next, after what the host asked for.
    pub(crate) fn put_back(&self, target: CrawlTarget) {
        let mut state = lock(&self.state);
        state.integrate(self.clock.ns());
        let CrawlTarget { key, host, depth, number, found_in, redirects, tries, eligible_ns, known, .. } = target;
        let waiting = Waiting { key, depth, number, found_in, redirects, tries: tries + 1, eligible_ns, known };
        state.waiting += 1;
        state.open -= 1;
        state.hosts[host as usize].items.push_front(waiting);
        state.enlist(host, self.politeness.per_host);
        drop(state);
        self.changed.notify_one();
    }
    /// The feeder added all it has.
    pub(crate) fn fed(&self) {
        lock(&self.state).feeders -= 1;
        self.changed.notify_all();
    }
    /// The next item that may be fetched now; `None`: there will be none. The worker's time is charged to what it waited for.
    pub(crate) fn take(&self, timer: &mut WorkerTimer) -> Option<CrawlTarget> {
        let mut state = lock(&self.state);
        loop {
            if self.stop.load(Ordering::Relaxed) {
                drop(state);
                timer.spent(WorkerState::Starved);
                return None;
            }
            let now_ns = self.clock.ns();
            match state.ready.first().copied() {
                Some((at_ns, host)) if at_ns <= now_ns => {
                    state.ready.pop_first();
                    let target = self.begin(&mut state, host, now_ns);
                    drop(state);
                    timer.spent(WorkerState::Starved);
                    self.has_room.notify_one();
                    return Some(target);
                }
                Some((at_ns, host)) => {
                    let is_retry = state.hosts[host as usize].is_retry;
                    let rule = if is_retry { GateRule::RetryAfter } else { GateRule::CrawlDelay };
                    timer.spent(WorkerState::Starved);
                    let span = RealDuration::from_nanos(at_ns - now_ns).min(RealDuration::from_millis(100));
                    state = wait(&self.changed, state, span);
                    timer.gated(rule);
                }
                None if state.waiting > 0 => {
                    timer.spent(WorkerState::Starved);
                    state = wait(&self.changed, state, RealDuration::from_millis(100));
                    timer.gated(GateRule::PerHost);
                }
                None if state.open == 0 && state.feeders == 0 => {
                    drop(state);
                    timer.spent(WorkerState::Starved);
                    self.changed.notify_all();
                    return None;
                }
                None => {
                    state = wait(&self.changed, state, RealDuration::from_millis(100));
                    timer.spent(WorkerState::Starved);
                }
            }
        }
    }
    fn begin(&self, state: &mut FrontierState, host: u32, now_ns: u64) -> CrawlTarget {
        state.integrate(now_ns);
        state.waiting -= 1;
        state.open += 1;
        let of = &mut state.hosts[host as usize];
        let waiting = of.items.pop_front().expect("a host that is ready has an item");
        of.in_flight += 1;
        // Hosts take turns, also without a delay.
        of.next_ns = now_ns + of.delay_ns;
        of.is_retry = false;
        state.enlist(host, self.politeness.per_host);
        let Waiting { key, depth, number, found_in, redirects, tries, eligible_ns, known } = waiting;
        CrawlTarget { source: self.source, key, host, depth, number, found_in, redirects, tries, eligible_ns, known }
    }
    /// A fetch is over: its host may be asked again, after what it asked for.
    pub(crate) fn fetched(&self, host: u32, retry_after_ns: u64) {
        let mut state = lock(&self.state);
        let per_host = self.politeness.per_host;
        let next_ns = state.hosts[host as usize].next_ns;
        let was_ready = state.ready.remove(&(next_ns, host));
        let of = &mut state.hosts[host as usize];
        of.in_flight -= 1;
        if retry_after_ns > 0 {
            of.next_ns = of.next_ns.max(self.clock.ns() + retry_after_ns);
            of.is_retry = true;
        }
        let is_limited = per_host.is_some();
        state.enlist(host, per_host);
        drop(state);
        if is_limited || was_ready {
            self.changed.notify_one();
        }
    }
    /// An item led to all the others that it leads to.
    pub(crate) fn closed(&self) {
        let mut state = lock(&self.state);
        state.open -= 1;
        let is_last = state.open == 0;
        drop(state);
        if is_last {
            self.changed.notify_all();
        }
    }
    /// Hosts with items waiting or in flight.
    pub(crate) fn hosts_left(&self) -> u32 {
        lock(&self.state).hosts.iter().filter(|host| !host.items.is_empty() || host.in_flight > 0).count() as u32
    }
    /// Items that wait.
    pub(crate) fn waiting(&self) -> u64 {
        lock(&self.state).waiting
    }
    /// When the last item was added, and how long items waited together, item x µs.
    pub(crate) fn record(&self, wall_ns: u64) -> (u64, u64) {
        let mut state = lock(&self.state);
        state.integrate(wall_ns);
        (state.last_eligible_ns, (state.waiting_item_ns / 1_000) as u64)
    }
}

fn wait<'a>(
    condition: &Condvar,
    state: MutexGuard<'a, FrontierState>,
    most: RealDuration,
) -> MutexGuard<'a, FrontierState> {
    condition.wait_timeout(state, most).unwrap_or_else(PoisonError::into_inner).0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::StationBoard;
    use loadline_units::Duration;

    fn frontier(politeness: Politeness) -> (Frontier, WorkerTimer) {
        let clock = CrawlClock::start();
        let board = StationBoard::new(clock, 1_000_000_000, 1, 1);
        let frontier = Frontier::new(0, clock, politeness, 5, Arc::default());
        (frontier, WorkerTimer::start(&board))
    }

    fn target(key: &str, host: &str) -> NewTarget {
        NewTarget { key: key.to_owned(), host: host.to_owned(), ..NewTarget::default() }
    }

    #[test]
    fn hosts_take_turns_and_each_key_comes_once() {
        let (frontier, mut timer) = frontier(Politeness::default());
        for (key, host) in [("a1", "a"), ("a2", "a"), ("b1", "b"), ("a1", "a")] {
            frontier.add(target(key, host), true);
        }
        frontier.fed();
        let mut keys = Vec::new();
        while let Some(target) = frontier.take(&mut timer) {
            frontier.fetched(target.host, 0);
            frontier.closed();
            keys.push((target.key, target.number));
        }
        assert_eq!(keys, [("a1".into(), 0), ("b1".into(), 2), ("a2".into(), 1)]);
    }

    #[test]
    fn a_link_that_comes_before_the_feeder_leaves_the_item_to_it() {
        let (frontier, mut timer) = frontier(Politeness::default());
        frontier.expect(["a1", "a2"].into_iter());
        assert_eq!(frontier.add(target("a2", "a"), false), Added::Known);
        let known = || Some(Box::new(Identity { size: 7, ..Identity::default() }));
        for key in ["a1", "a2"] {
            assert_eq!(frontier.add(NewTarget { known: known(), ..target(key, "a") }, true), Added::New);
        }
        frontier.fed();
        let mut sizes = Vec::new();
        while let Some(target) = frontier.take(&mut timer) {
            frontier.fetched(target.host, 0);
            frontier.closed();
            sizes.push(target.known.map(|known| known.size));
        }
        assert_eq!(sizes, [Some(7), Some(7)]);
    }

    #[test]
    fn a_source_has_no_more_items_than_it_may() {
        let (frontier, _) = frontier(Politeness::default());
        let added: Vec<Added> = (0..7).map(|n| frontier.add(target(&n.to_string(), "a"), false)).collect();
        assert_eq!(added.iter().filter(|added| **added == Added::New).count(), 5);
        assert_eq!(added[6], Added::Capped);
    }

    #[test]
    fn a_limit_per_host_and_a_crawl_delay_keep_items_back() {
        let politeness = Politeness { crawl_delay: Some(Duration::from_ms(30)), per_host: Some(1) };
        let (frontier, mut timer) = frontier(politeness);
        frontier.add(target("a1", "a"), true);
        frontier.add(target("a2", "a"), true);
        frontier.fed();
        let began = frontier.clock.ns();
        let first = frontier.take(&mut timer).unwrap();
        assert!(lock(&frontier.state).ready.is_empty(), "one at a time");
        frontier.fetched(first.host, 0);
        frontier.closed();
        frontier.take(&mut timer).unwrap();
        assert!(frontier.clock.ns() - began >= 30_000_000);
    }
}
