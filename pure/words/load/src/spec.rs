//! One cell's load, with every dimension set to one value.

use crate::steady::SteadyStateRule;
use loadline_units::{Bytes, Duration, Iops, NS_PER_S, Ratio};
use serde::{Deserialize, Serialize};

/// What is asked of storage in one cell: which requests, how many at once or how often, for how long, and with what data.
///
/// Invariants, kept by [`LoadSpec::check`]: at least one block size, every size a multiple of 512 bytes, shares that add
/// up to the whole, at least one thread, a bound in time or volume.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of a plan, by the name that it has there")]
pub struct LoadSpec {
    /// The load's name in its plan, if it has one.
    pub name: Option<String>,
    /// Where requests fall.
    pub pattern: Pattern,
    /// Share of reads among reads and writes, drawn for each request.
    pub reads: Ratio,
    /// Share of trims among all requests.
    pub trims: Ratio,
    /// Block sizes with their shares; one entry for a fixed size.
    pub blocks: Vec<BlockShare>,
    /// Offsets are multiples of this; by default the block size.
    pub align: Option<Bytes>,
    /// When requests come.
    pub arrival: Arrival,
    /// Load threads, each with its own stream of requests.
    pub threads: u32,
    /// Bytes the load spreads over; by default the whole target, or what the tool chooses for a test file.
    pub size: Option<Bytes>,
    /// In place of `size`: the share of the target that the load spreads over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_share: Option<Ratio>,
    /// Each thread begins so much behind the one before it; stretches may overlap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub staggered: Option<Staggered>,
    /// Where in the target the load begins.
    pub start: Bytes,
    /// Test files that `size` is spread over.
    pub files: u32,
    /// After so many requests a thread goes to its next file, and after the last file to the first. By default a sequential load goes
    /// through one file after the other, and a random one draws a file for each request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_turn: Option<u32>,
    /// Share of the requests of a random load that begin at the end of the last one of their kind.
    #[serde(default, skip_serializing_if = "is_no_share")]
    pub continued: Ratio,
    /// A sequential load goes from zone to zone, and leaves out what lies between them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zones: Option<ZoneGaps>,
    /// Flush cadence.
    pub flush: Option<FlushCadence>,
    /// Ends with a flush of what was written, whose time is measured as well.
    #[serde(default, skip_serializing_if = "is_off")]
    pub end_flush: bool,
    /// Use the page cache on purpose.
    pub buffered: bool,
    /// What written data looks like.
    pub content: Content,
    /// Mark and check every block.
    pub verify: bool,
    /// Whether the target is written in full before the load.
    pub fill: Fill,
    /// Drop the machine's caches before each trial, where that is allowed.
    pub drop_caches: bool,
    /// Load before the measurement.
    pub warm_up: Duration,
    /// Load after the measurement.
    pub cool_down: Duration,
    /// Ends the warm-up when the rate has settled.
    pub steady_state: Option<SteadyStateRule>,
    /// Measured time.
    pub duration: Duration,
    /// Ends the measurement after so many bytes, of which each thread moves an equal part; if that comes first.
    pub volume: Option<Bytes>,
    /// Ends the measurement when as many bytes were moved as its range has, so many times; if that comes first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passes: Option<u32>,
    /// How a sequential load goes on at the end of its stretch, and in which direction.
    #[serde(default, skip_serializing_if = "Walk::is_onward")]
    pub walk: Walk,
    /// Each thread of a sequential load goes through the whole range, not through a stretch of its own; each of one that asks every block
    /// once does so in an order of its own.
    #[serde(default, skip_serializing_if = "is_off")]
    pub overlap: bool,
    /// Trials of this cell.
    pub trials: u32,
    /// Rest before each trial.
    pub pause: Duration,
    /// A request unanswered for longer ends the trial.
    pub hang_limit: Duration,
    /// Latency to keep.
    pub objective: Option<Objective>,
    /// Whether the best of the trials is shown beside their median, for comparison with tools that print it.
    #[serde(default, skip_serializing_if = "is_off")]
    pub best_of_trials: bool,
}

/// A switch that is off is left out: what was stored before it was there reads the same.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands references")]
const fn is_off(switch: &bool) -> bool {
    !*switch
}

/// A share of nothing is left out for the same reason.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands references")]
fn is_no_share(share: &Ratio) -> bool {
    *share == Ratio::ZERO
}

/// Threads that begin at places of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Staggered {
    /// From where one thread begins to where the next does.
    pub step: Bytes,
    /// How much each goes through; by default up to the end of the load's range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<Bytes>,
}

/// Zones of a sequential load: one is gone through, then so much is left out before the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ZoneGaps {
    /// How long each zone is.
    pub size: Bytes,
    /// What is left out behind each.
    pub skip: Bytes,
}

impl ZoneGaps {
    /// What the zones of a range have together, if the end of the range cuts off the last one: there a pass ends.
    #[must_use]
    pub fn up_to_a_cut(self, range: Bytes) -> Option<Bytes> {
        let step = self.size.get().saturating_add(self.skip.get()).max(1);
        let (whole, rest) = (range.get() / step, range.get() % step);
        (rest > 0 && rest < self.size.get()).then(|| Bytes::new(whole * self.size.get() + rest))
    }
}

/// Where requests fall.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Anywhere, by the given distribution.
    Random(Distribution),
    /// One after another; each thread has its own stretch.
    Sequential {
        /// From the start of one request to the start of the next; by default the block size.
        stride: Option<Bytes>,
    },
}

/// How a sequential load with a stride moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Walk {
    /// Forward; at the end one block further, until the gaps of the stride are covered.
    #[default]
    Onward,
    /// Forward; at the end the same places come again.
    Again,
    /// Backward by the stride; at the begin of the stretch the same places come again, from its end.
    Back,
}

impl Walk {
    /// The way that loads have unless they say otherwise.
    #[must_use]
    pub const fn is_onward(&self) -> bool {
        matches!(self, Self::Onward)
    }
}

/// Which blocks a random load prefers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Distribution {
    /// All alike.
    Uniform,
    /// Each block once, in random order, then again in another order.
    Permutation,
    /// Blocks of several sizes that never overlap: one ends where another begins that came before. When all bytes were asked once,
    /// they are asked again in another order.
    Covering,
    /// The block of rank k is asked for in proportion to 1 / k^theta; ranks are spread over the volume.
    Zipf {
        /// The exponent in thousandths: 1200 for 1.2.
        theta_milli: u32,
    },
    /// A share of the requests goes to a share of the blocks.
    HotCold {
        /// Share of the requests that go to the hot blocks.
        requests: Ratio,
        /// Share of the blocks that are hot.
        blocks: Ratio,
    },
    /// The lowest share u of the blocks gets the share `u^(ln(1 - h) / ln h)` of the requests: at h = 0.2, 80 % go to 20 % and 64 %
    /// to 4 %. The blocks are spread over the volume.
    Pareto {
        /// h in thousandths: 200 for 0.2.
        h_milli: u32,
    },
    /// Blocks of middle rank are asked for most: a rank is the mean of twelve draws, and up to half of `deviation` of all ranks away from
    /// it. The ranks are spread over the volume.
    Normal {
        /// A share of all blocks.
        deviation: Ratio,
    },
    /// The volume is cut into zones, one behind the other; each gets its share of the requests, drawn uniformly within it.
    Zoned {
        /// From the start of the volume on.
        zones: Vec<Zone>,
    },
}

/// A zone of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Zone {
    /// Its share of the requests.
    pub requests: Ratio,
    /// Its share of the blocks.
    pub blocks: Ratio,
}

/// One size in a mix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockShare {
    /// Block size.
    pub size: Bytes,
    /// Share of requests of this size.
    pub share: Ratio,
}

/// When requests come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrival {
    /// Closed loop: each thread keeps `queue_depth` requests outstanding.
    Closed {
        /// Requests outstanding per thread.
        queue_depth: u32,
        /// At most this rate over all threads.
        rate_max: Option<Iops>,
        /// From a completion to the request that takes its place.
        think_time: Duration,
    },
    /// Open loop: a request every `1 / rate` over all threads, whatever the answers.
    Constant {
        /// Arrivals per second over all threads.
        rate: Iops,
    },
    /// Open loop: independent arrivals at this mean rate over all threads.
    Poisson {
        /// Mean arrivals per second over all threads.
        rate: Iops,
    },
}

/// How often and how writes are made durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlushCadence {
    /// After so many writes of a thread.
    pub every: u64,
    /// How.
    pub how: FlushMethod,
}

/// How writes are made durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FlushMethod {
    /// A flush request of its own, which waits for none: `fdatasync`.
    Fdatasync,
    /// The write itself is durable (`RWF_DSYNC`, force unit access).
    Fua,
}

/// What written data looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Content {
    /// Share of each block that compresses away.
    pub compressible: Ratio,
    /// Share of blocks that repeat others.
    pub duplicate: Ratio,
}

/// Whether the target is written in full before the load, where it may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fill {
    /// What loadline made always; what it found where the load reads.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
    /// Never, and not even the space of a file that loadline makes is reserved: it is a hole that writes fill.
    Hole,
}

impl Fill {
    /// Whether it may be written first at all.
    #[must_use]
    pub const fn may_fill(self) -> bool {
        matches!(self, Self::Auto | Self::Always)
    }
}

/// Where a target comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// loadline made it: nothing was ever written to it.
    Made,
    /// It was there: a device, or somebody's file.
    Found,
}

/// A latency to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Objective {
    /// Of which figure.
    pub of: LatencyFigure,
    /// The most it may be.
    pub limit: Duration,
}

/// A figure of a latency distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LatencyFigure {
    /// Arithmetic mean.
    Mean,
    /// Median.
    P50,
    /// 90th percentile.
    P90,
    /// 95th percentile.
    P95,
    /// 99th percentile.
    P99,
    /// 99.9th percentile.
    #[serde(rename = "p99_9")]
    P999,
}

impl LatencyFigure {
    /// Every figure, the lowest percentile first after the mean.
    pub const ALL: [Self; 6] = [Self::Mean, Self::P50, Self::P90, Self::P95, Self::P99, Self::P999];

    /// Its name in plans and tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::P999 => "p99_9",
        }
    }
    /// Its name for people: "mean", "p99.9".
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::P999 => "p99.9",
            _ => self.name(),
        }
    }
    /// The share of requests that take at most as long; `None` for the mean.
    #[must_use]
    pub const fn share(self) -> Option<f64> {
        match self {
            Self::Mean => None,
            Self::P50 => Some(0.5),
            Self::P90 => Some(0.9),
            Self::P95 => Some(0.95),
            Self::P99 => Some(0.99),
            Self::P999 => Some(0.999),
        }
    }
}

impl Default for LoadSpec {
    /// Random 4 KiB reads at depth 1, one thread, 30 s after 5 s of warm-up.
    fn default() -> Self {
        Self {
            name: None,
            pattern: Pattern::Random(Distribution::Uniform),
            reads: Ratio::ONE,
            trims: Ratio::ZERO,
            blocks: vec![BlockShare { size: Bytes::kib(4), share: Ratio::ONE }],
            align: None,
            arrival: Arrival::Closed { queue_depth: 1, rate_max: None, think_time: Duration::ZERO },
            threads: 1,
            size: None,
            size_share: None,
            staggered: None,
            start: Bytes::ZERO,
            files: 1,
            in_turn: None,
            continued: Ratio::ZERO,
            zones: None,
            flush: None,
            end_flush: false,
            buffered: false,
            content: Content::default(),
            verify: false,
            fill: Fill::Auto,
            drop_caches: false,
            warm_up: Duration::from_s(5),
            cool_down: Duration::ZERO,
            steady_state: None,
            duration: Duration::from_s(30),
            volume: None,
            passes: None,
            walk: Walk::Onward,
            overlap: false,
            trials: 5,
            pause: Duration::ZERO,
            hang_limit: Duration::from_s(60),
            objective: None,
            best_of_trials: false,
        }
    }
}

/// A load that contradicts itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {reason}")]
pub struct SpecError {
    /// The plan's key that is wrong.
    pub key: &'static str,
    /// Why, and what to write instead.
    pub reason: String,
}

/// Load threads at most.
pub const THREADS_MAX: u32 = 1_024;
/// Requests outstanding per thread at most.
pub const QUEUE_DEPTH_MAX: u32 = 16_384;
/// Trials of a cell at most.
pub const TRIALS_MAX: u32 = 1_000;
/// Largest block.
pub const BLOCK_MAX: Bytes = Bytes::mib(64);
/// Where files and devices end at the latest: the largest signed 64-bit offset, rounded down.
pub const OFFSET_MAX: Bytes = Bytes::new((1 << 63) - (1 << 20));

impl LoadSpec {
    /// The largest block of the mix.
    #[must_use]
    pub fn block_max(&self) -> Bytes {
        self.blocks.iter().map(|b| b.size).max().expect("a load has a block size")
    }
    /// The smallest block of the mix.
    #[must_use]
    pub fn block_min(&self) -> Bytes {
        self.blocks.iter().map(|b| b.size).min().expect("a load has a block size")
    }
    /// The mean block size, weighted by share.
    #[must_use]
    pub fn block_mean(&self) -> Bytes {
        let sum: u128 = self.blocks.iter().map(|b| u128::from(b.size.get()) * u128::from(b.share.as_ppm())).sum();
        let shares: u128 = self.blocks.iter().map(|b| u128::from(b.share.as_ppm())).sum();
        Bytes::new(u64::try_from(sum / shares.max(1)).expect("a mean of u64 is a u64"))
    }
    /// What offsets are multiples of: `align`, or the smallest block.
    #[must_use]
    pub fn alignment(&self) -> Bytes {
        self.align.unwrap_or_else(|| self.block_min())
    }
    /// Whether any request reads.
    #[must_use]
    pub fn reads_any(&self) -> bool {
        self.reads != Ratio::ZERO && self.trims != Ratio::ONE
    }
    /// Whether any request changes what is stored.
    #[must_use]
    pub fn writes_any(&self) -> bool {
        self.reads != Ratio::ONE || self.trims != Ratio::ZERO
    }
    /// Whether any request trims.
    #[must_use]
    pub fn trims_any(&self) -> bool {
        self.trims != Ratio::ZERO
    }
    /// Whether this load alone is reason to write a target in full before it, where that may be written.
    #[must_use]
    pub fn wants_full(&self, target: Origin) -> bool {
        match self.fill {
            // Reads of what was never written need no disk. Writes to it are also work for the file system that allocates, and
            // of what is new all would be such.
            Fill::Auto => target == Origin::Made || self.reads_any(),
            Fill::Always => true,
            Fill::Never | Fill::Hole => false,
        }
    }
    /// What each thread moves of `volume`: as many of the largest blocks, one more or less, and what is no whole block goes to the last.
    #[must_use]
    pub fn volume_of(&self, thread: u32, volume: Bytes) -> Bytes {
        let block = self.block_max().get().max(1);
        let (blocks, rest) = (volume.get() / block, volume.get() % block);
        let up_to = |threads: u32| u128::from(blocks) * u128::from(threads) / u128::from(self.threads.max(1));
        let own = u64::try_from(up_to(thread + 1) - up_to(thread)).expect("a part of the whole");
        Bytes::new(own * block + if thread + 1 == self.threads { rest } else { 0 })
    }
    /// The bytes that end the measurement, where the load's range has so many; `None` if only time ends it.
    #[must_use]
    pub fn volume_over(&self, range: Bytes) -> Option<Bytes> {
        let once = self.zones.and_then(|zones| zones.up_to_a_cut(range)).unwrap_or(range);
        let passes = self.passes.map(|passes| Bytes::new(once.get().saturating_mul(passes.into())));
        [self.volume, passes].into_iter().flatten().min()
    }
    /// How much of `room` the load spreads over, all files together: what it says, or its share of it.
    #[must_use]
    pub fn size_in(&self, room: Bytes) -> Bytes {
        match (self.size, self.size_share) {
            (Some(size), _) => size,
            (None, Some(share)) => Bytes::new(share.of(room.get())).round_down(self.block_min()),
            (None, None) => room,
        }
    }
    /// Whether bytes may end the measurement before its time.
    #[must_use]
    pub const fn is_bound_in_bytes(&self) -> bool {
        self.volume.is_some() || self.passes.is_some()
    }
    /// Requests outstanding over all threads, in a closed loop.
    #[must_use]
    pub fn outstanding(&self) -> Option<u64> {
        match self.arrival {
            Arrival::Closed { queue_depth, .. } => Some(u64::from(queue_depth) * u64::from(self.threads)),
            Arrival::Constant { .. } | Arrival::Poisson { .. } => None,
        }
    }
    /// Arrivals per second over all threads, in an open loop.
    #[must_use]
    pub fn offered(&self) -> Option<Iops> {
        match self.arrival {
            Arrival::Closed { .. } => None,
            Arrival::Constant { rate } | Arrival::Poisson { rate } => Some(rate),
        }
    }
    /// Whether requests have due times of their own, so that waiting to be issued is worth a histogram.
    #[must_use]
    pub fn has_due_times(&self) -> bool {
        match self.arrival {
            Arrival::Closed { rate_max, think_time, .. } => rate_max.is_some() || think_time != Duration::ZERO,
            Arrival::Constant { .. } | Arrival::Poisson { .. } => true,
        }
    }
    /// The longest that one trial takes apart from its fill: pause, warm-up, measurement, cool-down.
    #[must_use]
    pub fn trial_time(&self) -> Duration {
        let warm_up = self.steady_state.map_or(self.warm_up, |rule| {
            // Rounds begin with a second.
            Duration::from_s(self.warm_up.as_ns().div_ceil(NS_PER_S)) + rule.round * u64::from(rule.rounds_max)
        });
        self.pause + warm_up + self.duration + self.cool_down
    }
}

/// Test files at most.
pub const FILES_MAX: u32 = 4_096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_that_ends_past_every_device_is_refused() {
        let start = Bytes::new((1 << 63) - 512);
        let error = LoadSpec { start, size: Some(Bytes::GIB), ..LoadSpec::default() }.check().unwrap_err();
        assert_eq!(error.key, "size");
        assert_eq!(LoadSpec { start, ..LoadSpec::default() }.check().unwrap_err().key, "start");
    }

    #[test]
    fn a_verified_load_strides_by_whole_blocks() {
        let stride = |bytes| LoadSpec {
            pattern: Pattern::Sequential { stride: Some(Bytes::new(bytes)) },
            ..LoadSpec::default()
        };
        assert_eq!(stride(6144).check(), Ok(()));
        assert_eq!(LoadSpec { verify: true, ..stride(6144) }.check().unwrap_err().key, "verify");
        assert_eq!(LoadSpec { verify: true, ..stride(8192) }.check(), Ok(()));
    }

    #[test]
    fn rounds_are_of_whole_seconds_and_the_time_of_a_trial_holds_them() {
        let load = |round| LoadSpec {
            steady_state: Some(SteadyStateRule { round, rounds_max: 8, ..SteadyStateRule::default() }),
            warm_up: Duration::from_ms(1_500),
            duration: Duration::from_s(5),
            ..LoadSpec::default()
        };
        let error = load(Duration::from_ms(500)).check().unwrap_err();
        assert_eq!(error.key, "steady_state");
        assert!(error.reason.contains("500 ms is not of whole seconds"), "{error}");
        assert_eq!(load(Duration::from_ms(1_500)).check().unwrap_err().key, "steady_state");
        assert_eq!(load(Duration::from_s(1)).check(), Ok(()));
        assert_eq!(load(Duration::from_s(1)).trial_time(), Duration::from_s(2 + 8 + 5));
    }

    #[test]
    fn what_loadline_made_is_filled_for_every_load_and_what_it_found_for_those_that_read() {
        let load = |reads, trims, fill| LoadSpec { reads, trims, fill, ..LoadSpec::default() };
        let (none, all) = (Ratio::ZERO, Ratio::ONE);
        for (reads, trims, reads_any) in [(all, none, true), (none, none, false), (all, all, false), (none, all, false)]
        {
            assert!(load(reads, trims, Fill::Auto).wants_full(Origin::Made));
            assert_eq!(load(reads, trims, Fill::Auto).wants_full(Origin::Found), reads_any);
            for origin in [Origin::Made, Origin::Found] {
                assert!(load(reads, trims, Fill::Always).wants_full(origin));
                assert!(!load(reads, trims, Fill::Never).wants_full(origin));
            }
        }
    }

    #[test]
    fn depths_are_of_each_thread_and_rates_of_all_together() {
        let told = |arrival| LoadSpec { arrival, threads: 2, ..LoadSpec::default() }.to_string();
        let rate: Iops = "400 IOPS".parse().unwrap();
        let closed = Arrival::Closed { queue_depth: 8, rate_max: Some(rate), think_time: Duration::from_ms(1) };
        assert_eq!(told(closed), "random read 4 KiB, depth 8 x 2 threads, at most 400 IOPS, think 1 ms");
        assert_eq!(told(Arrival::Poisson { rate }), "random read 4 KiB, 400 IOPS Poisson over 2 threads");
    }

    #[test]
    fn bytes_and_passes_end_a_load_whichever_comes_first() {
        let over = |volume: Option<u64>, passes| {
            let load = LoadSpec { volume: volume.map(Bytes::mib), passes, ..LoadSpec::default() };
            load.volume_over(Bytes::mib(100))
        };
        assert_eq!(over(None, None), None);
        assert_eq!(over(None, Some(2)), Some(Bytes::mib(200)));
        assert_eq!(over(Some(150), Some(2)), Some(Bytes::mib(150)));
        assert_eq!(over(Some(250), Some(2)), Some(Bytes::mib(200)));
        assert_eq!(LoadSpec { passes: Some(0), ..LoadSpec::default() }.check().unwrap_err().key, "passes");
    }

    #[test]
    fn ways_of_sequential_loads_are_refused_where_they_mean_nothing() {
        let stride = Pattern::Sequential { stride: Some(Bytes::kib(8)) };
        let back = LoadSpec { pattern: stride, walk: Walk::Back, ..LoadSpec::default() };
        assert_eq!(back.check(), Ok(()));
        assert_eq!(LoadSpec { pattern: Pattern::Sequential { stride: None }, ..back }.check().unwrap_err().key, "walk");
        let together = LoadSpec { overlap: true, threads: 2, ..LoadSpec::default() };
        assert_eq!(together.check().unwrap_err().key, "overlap");
        let verified = LoadSpec { pattern: Pattern::Sequential { stride: None }, verify: true, ..together };
        assert_eq!(verified.check().unwrap_err().key, "overlap");
        assert_eq!(LoadSpec { verify: false, ..verified }.check(), Ok(()));
    }

    #[test]
    fn zones_have_all_requests_and_all_blocks() {
        let check = |zones: &[(u32, u32)]| {
            let zone = |(requests, blocks): &(u32, u32)| Zone {
                requests: Ratio::percent(*requests),
                blocks: Ratio::percent(*blocks),
            };
            let zones = zones.iter().map(zone).collect();
            LoadSpec { pattern: Pattern::Random(Distribution::Zoned { zones }), ..LoadSpec::default() }.check()
        };
        assert_eq!(check(&[(50, 5), (30, 15), (20, 80)]), Ok(()));
        for wrong in [&[(50, 5), (30, 15)][..], &[(50, 50), (50, 40)], &[(100, 0), (0, 100)], &[]] {
            assert_eq!(check(wrong).unwrap_err().key, "distribution");
        }
    }

    #[test]
    fn the_default_load_holds_its_own_rules() {
        assert_eq!(LoadSpec::default().check(), Ok(()));
    }
}
