//! Slows one station at a time by a tenth, in windows drawn at random, and counts what passes in each.

use crate::clock::{CrawlClock, WorkedSpan, lock};
use loadline_record::{SlowedStation, SlowedWindow, SlowedWindows, Station};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// By how much of its own work a station is slowed.
const SHARE: f64 = 0.1;
/// A worker sleeps when it owes so much: shorter sleeps are not exact.
const SLEEP_FROM_NS: i64 = 300_000;
/// A worker computes when it owes so much.
const SPIN_FROM_NS: i64 = 20_000;
/// Windows at most.
const WINDOWS_MAX: usize = 100_000;

/// The windows of a crawl, and what passed in each.
#[derive(Debug)]
pub(crate) struct Slowing {
    clock: CrawlClock,
    window_ns: u64,
    seed: u64,
    stations: Vec<SlowedStation>,
    counts: Mutex<Counts>,
}

#[derive(Debug)]
struct Counts {
    /// By window, then by source.
    passed: Vec<Vec<f64>>,
    /// When the last item of each source passed.
    last_ns: Vec<u64>,
}

/// What a worker owes: time in which it is to compute, and in which it is to wait.
#[derive(Debug, Default)]
pub(crate) struct SlowedDebt {
    spin_ns: i64,
    sleep_ns: i64,
}

/// splitmix64.
fn draw(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Slowing {
    pub(crate) fn new(clock: CrawlClock, window: loadline_units::Duration, sources: usize, seed: u64) -> Self {
        let fetch = (0..sources as u32).map(SlowedStation::Fetch);
        let stations = fetch.chain(Station::LINE.map(SlowedStation::Line)).collect();
        let counts = Mutex::new(Counts { passed: Vec::new(), last_ns: vec![0; sources] });
        Self { clock, window_ns: window.as_ns().max(1), seed, stations, counts }
    }
    /// Windows of a block: every station once, and half as many without any.
    fn block(&self) -> usize {
        self.stations.len() + self.stations.len().div_ceil(2)
    }
    /// What is slowed in a window. Every block has its own order.
    fn slowed(&self, window: u64) -> Option<SlowedStation> {
        let block = self.block() as u64;
        let mut order: Vec<usize> = (0..self.block()).collect();
        let mut state = self.seed ^ (window / block).wrapping_mul(0x2545_f491_4f6c_dd1d);
        for last in (1..order.len()).rev() {
            order.swap(last, (draw(&mut state) % (last as u64 + 1)) as usize);
        }
        self.stations.get(order[(window % block) as usize]).copied()
    }
    /// A worker of a station did work: where it is the station's turn, it takes a tenth longer. Returns whether it did.
    pub(crate) fn after(&self, station: SlowedStation, span: WorkedSpan, debt: &mut SlowedDebt) -> bool {
        if self.slowed(self.clock.ns() / self.window_ns) != Some(station) {
            return false;
        }
        debt.spin_ns += (span.on_cpu_ns as f64 * SHARE) as i64;
        debt.sleep_ns += (span.waited_ns as f64 * SHARE) as i64;
        let began = Instant::now();
        let since = |began: Instant| i64::try_from(began.elapsed().as_nanos()).unwrap_or(i64::MAX);
        let mut has_paid = false;
        // What computing owes is computed, so that it costs processors what more work would cost.
        if debt.spin_ns >= SPIN_FROM_NS {
            while since(began) < debt.spin_ns {
                std::hint::spin_loop();
            }
            debt.spin_ns -= since(began);
            has_paid = true;
        }
        if debt.sleep_ns >= SLEEP_FROM_NS {
            let began = Instant::now();
            std::thread::sleep(Duration::from_nanos(debt.sleep_ns as u64));
            // What it overslept is paid in advance.
            debt.sleep_ns -= since(began);
            has_paid = true;
        }
        has_paid
    }
    /// An item passed the last station. The time since the one before it is spread over the windows in between.
    pub(crate) fn passed(&self, source: u32, at_ns: u64) {
        let mut counts = lock(&self.counts);
        let Counts { passed, last_ns } = &mut *counts;
        let sources = last_ns.len();
        let from_ns = std::mem::replace(&mut last_ns[source as usize], at_ns).min(at_ns);
        let last = (at_ns / self.window_ns) as usize;
        if last >= WINDOWS_MAX {
            return;
        }
        if passed.len() <= last {
            passed.resize_with(last + 1, || vec![0.0; sources]);
        }
        let length = (at_ns - from_ns).max(1) as f64;
        let first = (from_ns / self.window_ns) as usize;
        for (window, passed) in passed.iter_mut().enumerate().skip(first) {
            if window > last {
                break;
            }
            let begin = from_ns.max(window as u64 * self.window_ns);
            let end = at_ns.min((window as u64 + 1) * self.window_ns);
            let part = if at_ns == from_ns { 1.0 } else { (end - begin) as f64 / length };
            passed[source as usize] += part;
        }
    }
    /// All whole windows.
    pub(crate) fn record(&self, wall_ns: u64) -> SlowedWindows {
        let counts = lock(&self.counts);
        let whole = (wall_ns / self.window_ns) as usize;
        let windows = counts.passed.iter().take(whole).enumerate().map(|(window, passed)| SlowedWindow {
            end_ns: (window as u64 + 1) * self.window_ns,
            slowed: self.slowed(window as u64),
            passed: passed.clone(),
        });
        SlowedWindows { share: SHARE, block: self.block() as u32, windows: windows.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slowing() -> Slowing {
        Slowing::new(CrawlClock::start(), loadline_units::Duration::from_ns(1_000), 2, 7)
    }

    #[test]
    fn every_block_has_each_station_once_in_an_order_of_its_own() {
        let slowing = slowing();
        let block = slowing.block() as u64;
        let order = |of: u64| (of * block..(of + 1) * block).map(|window| slowing.slowed(window)).collect::<Vec<_>>();
        for of in 0..20 {
            for station in &slowing.stations {
                assert_eq!(order(of).iter().filter(|slowed| **slowed == Some(*station)).count(), 1);
            }
        }
        assert!((1..20).any(|of| order(of) != order(0)));
    }

    #[test]
    fn items_count_in_the_windows_that_they_took() {
        let slowing = slowing();
        // Of one source every 400 ns, of the other two at 2,500 ns.
        for item in 1..=10 {
            slowing.passed(0, item * 400);
        }
        slowing.passed(1, 2_500);
        slowing.passed(1, 2_500);
        let record = slowing.record(3_999);
        assert_eq!(record.windows.len(), 3);
        for window in &record.windows {
            assert!((window.passed[0] - 2.5).abs() < 1e-9, "{window:?}");
        }
        let of: Vec<f64> = record.windows.iter().map(|window| window.passed[1]).collect();
        assert!((of[0] - 0.4).abs() < 1e-9 && (of[2] - 1.2).abs() < 1e-9, "{of:?}");
        assert_eq!(record.windows[2].end_ns, 3_000);
    }

    #[test]
    fn a_worker_pays_a_tenth_when_it_is_its_turn_and_nothing_else() {
        let slowing = Slowing::new(CrawlClock::start(), loadline_units::Duration::from_s(3_600), 1, 3);
        let turn = slowing.slowed(0);
        let span = WorkedSpan::of(0, 20_000_000, (10_000_000, 0));
        for station in &slowing.stations {
            let mut debt = SlowedDebt::default();
            let began = Instant::now();
            let has_paid = slowing.after(*station, span, &mut debt);
            assert_eq!(has_paid, turn == Some(*station));
            assert!(!has_paid || began.elapsed() >= Duration::from_millis(2));
            assert!(debt.spin_ns <= 0 && debt.sleep_ns <= 0);
        }
    }
}
