//! Holds our own I/O to the controller's rate.

use loadline_kernel::counters::disk_counters;
use loadline_kernel::facts::{BlockDevice, KernelView};
use loadline_shelter_policy::config::OwnLimits;
use loadline_shelter_policy::controller::{ApplicationLoad, ByteBucket, DeviceCount, PERIOD, RateController};
use loadline_units::{ByteRate, Bytes, Duration, Instant};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The longest wait before looking whether the wait still holds.
const WAIT_MAX: std::time::Duration = std::time::Duration::from_millis(50);

/// Our own I/O, held to a rate; shared by those who save and the service around them.
#[derive(Debug)]
pub(crate) struct Pace {
    origin: std::time::Instant,
    inner: Mutex<Inner>,
    /// Own reads since the controller decided last, and their bytes.
    requests: AtomicU64,
    bytes: AtomicU64,
    is_off: AtomicBool,
    ends: AtomicBool,
}

#[derive(Debug)]
struct Inner {
    controller: RateController,
    bucket: ByteBucket,
    /// Name of the device, and its counters when the controller decided last.
    device: Option<String>,
    before: Option<CountersThen>,
    /// The largest request that the kernel makes of our reads.
    request: Bytes,
    floor: Option<ByteRate>,
}

/// Counters of a device at a moment: reads, writes, and the time in which it had requests.
#[derive(Debug, Clone, Copy)]
struct CountersThen {
    reads: DeviceCount,
    writes: DeviceCount,
    busy_ms: u64,
    at: std::time::Instant,
}

/// The kernel's read-ahead, where a device does not say its own.
const READ_AHEAD_USUAL: Bytes = Bytes::kib(128);

/// The largest request that the kernel makes of reads in a row through the page cache: as far as it reads ahead, and as large as the
/// device takes.
fn largest_read(name: &str) -> Bytes {
    let view = KernelView::live();
    let facts = BlockDevice::by_name(&view, name).map(|device| device.facts(&view));
    let (Some(folder), largest) = facts.map_or((None, None), |facts| (facts.queue_folder, facts.request_bytes_max))
    else {
        return READ_AHEAD_USUAL;
    };
    let text = std::fs::read_to_string(std::path::Path::new(&folder).join("read_ahead_kb"));
    let ahead = text.ok().and_then(|text| text.trim().parse::<u64>().ok()).filter(|kib| *kib > 0);
    let ahead = ahead.map_or(READ_AHEAD_USUAL, Bytes::kib);
    largest.filter(|largest| *largest > 0).map_or(ahead, |largest| ahead.min(Bytes::new(largest)))
}

/// What the controller does now.
#[derive(Debug, Clone)]
pub(crate) struct PaceView {
    pub(crate) rate: Option<ByteRate>,
    pub(crate) conflict: Option<String>,
}

impl Pace {
    pub(crate) fn new(limits: OwnLimits, device: Option<String>) -> Self {
        let controller = RateController::new(limits);
        let bucket = ByteBucket::default();
        let request = device.as_deref().map_or(READ_AHEAD_USUAL, largest_read);
        Self {
            origin: std::time::Instant::now(),
            inner: Mutex::new(Inner { controller, bucket, device, before: None, request, floor: None }),
            requests: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            is_off: AtomicBool::new(false),
            ends: AtomicBool::new(false),
        }
    }

    /// Nothing is held back from now on: the disk is about to be lost.
    pub(crate) fn switch_off(&self) {
        self.is_off.store(true, Ordering::Relaxed);
    }

    /// Work in hand ends without harm at its next step.
    #[cfg(test)]
    pub(crate) fn end(&self) {
        self.ends.store(true, Ordering::Relaxed);
    }

    pub(crate) fn ends(&self) -> bool {
        self.ends.load(Ordering::Relaxed)
    }

    /// Bytes per second that keep the recovery point.
    pub(crate) fn set_floor(&self, floor: Option<ByteRate>) {
        self.lock().floor = floor;
    }

    pub(crate) fn view(&self) -> PaceView {
        let inner = self.lock();
        PaceView {
            rate: inner.controller.rate(),
            conflict: inner.controller.conflict().map(|conflict| conflict.to_string()),
        }
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, Inner> {
        self.inner.lock()
    }

    fn now(&self) -> Instant {
        Instant::from_ns(u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Waits until `bytes` may be read from the disk. Whether the work goes on.
    pub(crate) fn before(&self, bytes: u64) -> bool {
        if self.is_off.load(Ordering::Relaxed) || bytes == 0 {
            return !self.ends();
        }
        let wait = {
            let mut inner = self.lock();
            let now = self.now();
            inner.decide(now, &self.requests, &self.bytes);
            match inner.controller.rate() {
                Some(rate) => inner.bucket.take(now, rate, Bytes::new(bytes)),
                None => Duration::ZERO,
            }
        };
        let until = std::time::Instant::now() + std::time::Duration::from_nanos(wait.as_ns());
        while !self.ends() && !self.is_off.load(Ordering::Relaxed) {
            let left = until.saturating_duration_since(std::time::Instant::now());
            if left.is_zero() {
                break;
            }
            std::thread::sleep(left.min(WAIT_MAX));
        }
        !self.ends()
    }

    /// One of our own reads was made.
    pub(crate) fn done(&self, bytes: u64) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl Inner {
    fn decide(&mut self, now: Instant, requests: &AtomicU64, bytes: &AtomicU64) {
        let due =
            self.before.as_ref().is_none_or(|before| before.at.elapsed().as_nanos() >= u128::from(PERIOD.as_ns()));
        if !due {
            return;
        }
        let (own, own_bytes) = (requests.swap(0, Ordering::Relaxed), bytes.swap(0, Ordering::Relaxed));
        let counted = self
            .device
            .as_ref()
            .and_then(|name| disk_counters(&KernelView::live(), std::slice::from_ref(name)).into_iter().next());
        let mut load = ApplicationLoad::default();
        let (mut reads, mut writes, mut busy_ms) = (DeviceCount::default(), DeviceCount::default(), 0);
        if let Some(counters) = counted {
            reads = DeviceCount { requests: counters.reads, time: Duration::from_ms(counters.read_ms) };
            writes = DeviceCount { requests: counters.writes, time: Duration::from_ms(counters.write_ms) };
            busy_ms = counters.busy_ms;
            if let Some(before) = self.before {
                let since = |now: DeviceCount, then: DeviceCount| DeviceCount {
                    requests: now.requests.saturating_sub(then.requests),
                    time: now.time.saturating_sub(then.time),
                };
                let elapsed_ms = before.at.elapsed().as_millis().max(1) as u64;
                let busy = (busy_ms.saturating_sub(before.busy_ms) * 1000 / elapsed_ms).min(1000);
                let (reads, writes) = (since(reads, before.reads), since(writes, before.writes));
                load = ApplicationLoad::beside(reads, writes, Bytes::new(own_bytes), self.request, busy);
            }
        }
        self.before = Some(CountersThen { reads, writes, busy_ms, at: std::time::Instant::now() });
        let request = Bytes::new(own_bytes.checked_div(own).unwrap_or(0));
        self.controller.decide(now, &load, request, self.floor);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cap_holds_and_a_notice_lifts_it() {
        let limits = OwnLimits { throughput: ByteRate::per_second(1 << 20), ..OwnLimits::default() };
        let pace = Pace::new(limits, None);
        let begun = std::time::Instant::now();
        for _ in 0..3 {
            assert!(pace.before(64 << 10));
        }
        assert!(begun.elapsed() >= std::time::Duration::from_millis(100));
        pace.switch_off();
        assert!(pace.before(1 << 40), "nothing is held back");
        pace.end();
        assert!(!pace.before(1));
    }
}
