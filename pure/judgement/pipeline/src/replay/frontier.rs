//! The gate of a source: eligible items by host, and which of them may be fetched now.

use loadline_record::{GateRule, Politeness};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Where a host stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// No item waits.
    Idle,
    /// Its next item may be fetched.
    Ready,
    /// Its next item may be fetched at a time that is known.
    Timed(GateRule),
    /// Its next item may be fetched when one of its fetches ends.
    Parked,
}

#[derive(Debug, Clone)]
struct Host {
    waiting: VecDeque<u32>,
    in_flight: u32,
    next_ns: u64,
    /// The rule that set `next_ns`.
    rule: GateRule,
    standing: Standing,
}

/// The eligible items of a source.
///
/// Hosts take turns, in the order in which they became ready. A host with no rule to wait for is always ready.
#[derive(Debug, Clone)]
pub(super) struct Frontier {
    delay_ns: u64,
    per_host: u32,
    hosts: Vec<Host>,
    ready: VecDeque<u32>,
    timed: BinaryHeap<Reverse<(u64, u32)>>,
    waiting: u64,
    /// Items of hosts that are timed or parked, by rule.
    held: [u64; 3],
    /// Hosts with items waiting or in flight.
    live: u32,
}

impl Frontier {
    pub(super) fn new(politeness: Politeness, hosts: u32) -> Self {
        let host = Host {
            waiting: VecDeque::new(),
            in_flight: 0,
            next_ns: 0,
            rule: GateRule::CrawlDelay,
            standing: Standing::Idle,
        };
        Self {
            delay_ns: politeness.crawl_delay.map_or(0, loadline_units::Duration::as_ns),
            per_host: politeness.per_host.unwrap_or(u32::MAX),
            hosts: vec![host; hosts as usize],
            ready: VecDeque::new(),
            timed: BinaryHeap::new(),
            waiting: 0,
            held: [0; 3],
            live: 0,
        }
    }
    /// Items that no slot has taken.
    pub(super) const fn waiting(&self) -> u64 {
        self.waiting
    }
    /// Hosts with items waiting or in flight.
    pub(super) const fn live(&self) -> u32 {
        self.live
    }
    /// Items kept back, by rule.
    pub(super) const fn held(&self) -> &[u64; 3] {
        &self.held
    }
    /// An item is eligible.
    pub(super) fn add(&mut self, now_ns: u64, host: u32, item: u32) {
        self.waiting += 1;
        let of = &mut self.hosts[host as usize];
        if of.waiting.is_empty() && of.in_flight == 0 {
            self.live += 1;
        }
        of.waiting.push_back(item);
        match of.standing {
            Standing::Idle => self.stand(now_ns, host),
            Standing::Ready => {}
            Standing::Timed(rule) => self.held[rule.index()] += 1,
            Standing::Parked => self.held[GateRule::PerHost.index()] += 1,
        }
    }
    /// Finds a host's standing anew; it stands nowhere now.
    fn stand(&mut self, now_ns: u64, host: u32) {
        let of = &mut self.hosts[host as usize];
        let items = of.waiting.len() as u64;
        of.standing = if items == 0 {
            Standing::Idle
        } else if of.in_flight >= self.per_host {
            self.held[GateRule::PerHost.index()] += items;
            Standing::Parked
        } else if of.next_ns > now_ns {
            self.held[of.rule.index()] += items;
            self.timed.push(Reverse((of.next_ns, host)));
            Standing::Timed(of.rule)
        } else {
            self.ready.push_back(host);
            Standing::Ready
        };
    }
    /// When a host that waits for a time is ready.
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.timed.peek().map(|Reverse((at, _))| *at)
    }
    /// Hosts whose time has come are ready.
    pub(super) fn open(&mut self, now_ns: u64) {
        while let Some(Reverse((at, host))) = self.timed.peek().copied() {
            if at > now_ns {
                return;
            }
            self.timed.pop();
            let of = &mut self.hosts[host as usize];
            if let Standing::Timed(rule) = of.standing {
                self.held[rule.index()] -= of.waiting.len() as u64;
            }
            self.stand(now_ns, host);
        }
    }
    /// The next item that may be fetched.
    pub(super) fn take(&mut self, now_ns: u64) -> Option<u32> {
        let host = self.ready.pop_front()?;
        let of = &mut self.hosts[host as usize];
        let item = of.waiting.pop_front().expect("a ready host has an item");
        self.waiting -= 1;
        of.in_flight += 1;
        if self.delay_ns > 0 && now_ns + self.delay_ns > of.next_ns {
            (of.next_ns, of.rule) = (now_ns + self.delay_ns, GateRule::CrawlDelay);
        }
        self.stand(now_ns, host);
        Some(item)
    }
    /// A fetch from the host ended, and it wants to be left alone for so long.
    pub(super) fn done(&mut self, now_ns: u64, host: u32, retry_after_ns: u64) {
        let of = &mut self.hosts[host as usize];
        of.in_flight -= 1;
        if of.waiting.is_empty() && of.in_flight == 0 {
            self.live -= 1;
        }
        if retry_after_ns > 0 && now_ns + retry_after_ns > of.next_ns {
            (of.next_ns, of.rule) = (now_ns + retry_after_ns, GateRule::RetryAfter);
            match of.standing {
                Standing::Ready => {
                    self.ready.retain(|ready| *ready != host);
                    self.stand(now_ns, host);
                }
                Standing::Timed(rule) => {
                    self.held[rule.index()] -= of.waiting.len() as u64;
                    self.timed.retain(|Reverse((_, timed))| *timed != host);
                    self.stand(now_ns, host);
                }
                Standing::Idle | Standing::Parked => {}
            }
        }
        let of = &self.hosts[host as usize];
        if of.standing == Standing::Parked && of.in_flight < self.per_host {
            self.held[GateRule::PerHost.index()] -= of.waiting.len() as u64;
            self.stand(now_ns, host);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_units::Duration;

    fn polite(crawl_delay: Option<u64>, per_host: Option<u32>) -> Politeness {
        Politeness { crawl_delay: crawl_delay.map(Duration::from_ns), per_host }
    }

    #[test]
    fn hosts_take_turns_and_a_delay_counts_from_the_start_of_a_fetch() {
        let mut frontier = Frontier::new(polite(Some(10), None), 2);
        for (host, item) in [(0, 0), (0, 1), (1, 2)] {
            frontier.add(0, host, item);
        }
        assert_eq!((frontier.take(0), frontier.take(0), frontier.take(0)), (Some(0), Some(2), None));
        assert_eq!((frontier.waiting(), frontier.held(), frontier.next_ns()), (1, &[1, 0, 0], Some(10)));
        frontier.done(3, 0, 0);
        frontier.open(9);
        assert_eq!(frontier.take(9), None);
        frontier.open(10);
        assert_eq!((frontier.take(10), frontier.held()), (Some(1), &[0, 0, 0]));
    }

    #[test]
    fn a_limit_per_host_opens_when_a_fetch_ends() {
        let mut frontier = Frontier::new(polite(None, Some(1)), 1);
        frontier.add(0, 0, 0);
        frontier.add(0, 0, 1);
        assert_eq!((frontier.take(0), frontier.take(0)), (Some(0), None));
        assert_eq!((frontier.held(), frontier.next_ns()), (&[0, 1, 0], None));
        frontier.done(5, 0, 0);
        assert_eq!(frontier.take(5), Some(1));
    }

    #[test]
    fn a_host_that_asks_for_it_is_left_alone() {
        let mut frontier = Frontier::new(polite(None, None), 1);
        (0..3).for_each(|item| frontier.add(0, 0, item));
        assert_eq!(frontier.take(0), Some(0));
        frontier.done(5, 0, 100);
        assert_eq!((frontier.take(5), frontier.held(), frontier.next_ns()), (None, &[0, 0, 2], Some(105)));
        frontier.open(105);
        assert_eq!((frontier.take(105), frontier.held()), (Some(1), &[0, 0, 0]));
    }
}
