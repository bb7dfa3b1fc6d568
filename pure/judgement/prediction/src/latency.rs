//! Mean service times, computed from the specification.

use crate::demand::{RequestKind, Spread, request_kinds};
use loadline_block::Operation;
use loadline_disk::{DiskSpec, HostCache, LatencySpec, NORMAL_P99, Place, VolumeSpec};
use loadline_units::{Bytes, NS_PER_S};
use loadline_workload::{Arrival, FlushMethod, LoadSpec, Pattern};

/// Steps of an integral over a distribution, and its bounds in standard deviations.
const STEPS: usize = 240;
const DEVIATIONS: (f64, f64) = (-6.0, 9.0);
/// Places within an interleave that are looked at for the slowest part.
const EXAMPLES: usize = 8;
/// Mean of the square root of the distance between two places on a line of length 1.
const MEAN_ROOT_OF_DISTANCE: f64 = 8.0 / 15.0;

/// A log-normal time.
#[derive(Debug, Clone, Copy)]
struct Time {
    /// Logarithms of the median in ns and of one standard deviation.
    location: f64,
    scale: f64,
    per_byte: f64,
}

impl Time {
    fn of(spec: LatencySpec) -> Self {
        let median = spec.median.as_ns() as f64;
        let spread = median > 0.0 && spec.p99 > spec.median;
        Self {
            location: if median > 0.0 { libm::log(median) } else { f64::NEG_INFINITY },
            scale: if spread { libm::log(spec.p99.as_ns() as f64 / median) / NORMAL_P99 } else { 0.0 },
            per_byte: spec.per_kib.as_ns() as f64 / 1024.0,
        }
    }

    /// The mean for one request, ns.
    fn mean(self, length: u64) -> f64 {
        self.per_byte * length as f64 + libm::exp(self.location + self.scale * self.scale / 2.0)
    }

    /// The mean of the slowest of several that begin at once, ns: the integral of how often one of them is not done.
    fn mean_of_slowest(self, pieces: &[(u64, u64)]) -> f64 {
        let longest = self.per_byte * pieces.iter().map(|(length, _)| *length).max().unwrap_or(0) as f64;
        if self.scale == 0.0 {
            return longest + libm::exp(self.location);
        }
        // How often all are done `time` after the transfer of the longest.
        let all_done = |time: f64| -> f64 {
            pieces
                .iter()
                .map(|(length, count)| {
                    let own = longest + time - self.per_byte * *length as f64;
                    let deviations = (libm::log(own) - self.location) / self.scale;
                    libm::pow(0.5 * libm::erfc(-deviations / std::f64::consts::SQRT_2), *count as f64)
                })
                .product()
        };
        let (from, to) = DEVIATIONS;
        let (mut sum, mut before, mut unfinished) = (0.0, 0.0, 1.0);
        for step in 0..=STEPS {
            let deviations = from + (to - from) * step as f64 / STEPS as f64;
            let time = libm::exp(self.location + self.scale * deviations);
            let now = 1.0 - all_done(time);
            sum += (time - before) * f64::midpoint(unfinished, now);
            (before, unfinished) = (time, now);
        }
        longest + sum
    }
}

/// Mean time from the answer of a request to the answer of its successor, in a closed loop without waiting, ns. `hits`
/// is the share of reads that a cache answers. `None` if it depends on the queue: a spinning disk with several
/// requests.
pub(crate) fn turn_ns(volume: &VolumeSpec, load: &LoadSpec, hits: f64) -> Option<f64> {
    let spread = Spread::of(volume.layout);
    let mut all = 0.0;
    for disk in &volume.disks {
        let mechanics = disk.spinning.is_some().then(|| mechanics_ns(volume, disk, load));
        let mechanics = match mechanics {
            Some(None) => return None,
            Some(Some(ns)) => ns,
            None => 0.0,
        };
        let cached = volume.host_cache.mode != HostCache::None && disk.place != Place::Local;
        for kind in request_kinds(load) {
            let of = |spec| slowest(spread, load, kind, Time::of(spec));
            let by_disk = |spec| of(spec) + mechanics;
            let hit = volume.host_cache.latency;
            let time = match kind.operation {
                Operation::Read if cached => hits * of(hit) + (1.0 - hits) * by_disk(disk.latency.read),
                Operation::Read => by_disk(disk.latency.read),
                Operation::Write if cached && volume.host_cache.mode == HostCache::ReadWrite => of(hit),
                Operation::Write | Operation::Trim | Operation::Flush => by_disk(disk.latency.write),
            };
            all += kind.share * time;
        }
        if let Some(flush) = load.flush.filter(|flush| flush.how == FlushMethod::Fdatasync) {
            let writes: f64 =
                request_kinds(load).iter().filter(|k| k.operation == Operation::Write).map(|k| k.share).sum();
            let spec = disk.latency.flush.unwrap_or(disk.latency.write);
            let one = Time::of(spec).mean_of_slowest(&[(0, volume.disks.len() as u64)]);
            all += writes / flush.every as f64 * one;
        }
    }
    let think = match load.arrival {
        Arrival::Closed { think_time, .. } => think_time.as_ns() as f64,
        Arrival::Constant { .. } | Arrival::Poisson { .. } => 0.0,
    };
    Some(all / volume.disks.len().max(1) as f64 + think)
}

/// The mean time of a request, the slowest of its parts, ns.
fn slowest(spread: Spread, load: &LoadSpec, kind: RequestKind, time: Time) -> f64 {
    if kind.operation == Operation::Trim {
        return time.mean(0);
    }
    let copies = spread.copies_of(kind.operation);
    let examples = spread.examples(load, kind, EXAMPLES);
    let sum: f64 = examples
        .iter()
        .map(|pieces| match pieces[..] {
            [(length, 1)] if copies == 1 => time.mean(length),
            _ => {
                let pieces: Vec<(u64, u64)> = pieces.iter().map(|(length, count)| (*length, count * copies)).collect();
                time.mean_of_slowest(&pieces)
            }
        })
        .sum();
    sum / examples.len() as f64
}

/// Mean time of seek, rotation and transfer of a single spinning disk with one request before it, ns; `None` for others.
fn mechanics_ns(volume: &VolumeSpec, disk: &DiskSpec, load: &LoadSpec) -> Option<f64> {
    let spinning = disk.spinning.filter(|_| volume.disks.len() == 1 && load.outstanding() == Some(1))?;
    let transfer = load.block_mean().get() as f64 * NS_PER_S as f64 / spinning.transfer.get() as f64;
    match &load.pattern {
        Pattern::Sequential { stride: None } if request_kinds(load).len() == 1 => Some(transfer),
        Pattern::Sequential { .. } => None,
        Pattern::Random(_) => {
            let size = disk.size.map_or(1, Bytes::get) as f64;
            let share = (load.size.map_or(size, |size| size.get() as f64) / size).min(1.0);
            let (least, most) = (spinning.seek_min.as_ns() as f64, spinning.seek_max.as_ns() as f64);
            let seek = least + (most - least) * libm::sqrt(share) * MEAN_ROOT_OF_DISTANCE;
            let revolution = 60.0 * NS_PER_S as f64 / f64::from(spinning.revolutions_per_minute);
            Some(seek + revolution / 2.0 + transfer)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_units::Duration;

    fn time(median_us: u64, p99_us: u64) -> Time {
        let (median, p99) = (Duration::from_us(median_us), Duration::from_us(p99_us));
        Time::of(LatencySpec { median, p99, per_kib: Duration::from_us(20) })
    }

    #[test]
    fn the_mean_of_a_log_normal_time_is_above_its_median() {
        // sigma = ln(3) / 2.3263 = 0.47225; exp(sigma^2 / 2) = 1.11795.
        assert!((time(1_000, 3_000).mean(8_192) - 1_277_950.0).abs() < 100.0);
        assert!((time(1_000, 1_000).mean(0) - 1_000_000.0).abs() < 0.5);
    }

    #[test]
    fn one_part_is_its_own_slowest() {
        let time = time(1_000, 3_000);
        let (slowest, mean) = (time.mean_of_slowest(&[(4_096, 1)]), time.mean(4_096));
        assert!((slowest / mean - 1.0).abs() < 2e-3, "{slowest} {mean}");
    }

    #[test]
    fn the_slowest_of_several_is_slower_and_the_longest_counts() {
        let time = time(1_000, 3_000);
        // The largest of four standard normal draws is 1.0294 on average; the mean of its exponential a little above.
        let four = time.mean_of_slowest(&[(0, 4)]);
        assert!(four > 1e6 * libm::exp(0.472_25 * 1.029_4) && four < 1e6 * libm::exp(0.472_25 * 1.29), "{four}");
        let uneven = time.mean_of_slowest(&[(65_536, 1), (4_096, 1)]);
        assert!(uneven >= time.mean(65_536) && uneven < time.mean_of_slowest(&[(65_536, 2)]));
    }
}
