//! Says which request comes when: the same answers to the engine on real devices and to the simulator in virtual time.

#![expect(
    clippy::inline_always,
    reason = "what is done for each simulated request is one piece of code: with calls between its steps it is a sixth slower"
)]

mod arrivals;
mod covering;
mod offsets;
mod permutation;
mod zipf;

use crate::{Distribution, FlushMethod, LoadSpec, Pattern};
use arrivals::Arrivals;
use loadline_block::{Operation, Request};
use loadline_units::{Bytes, Instant, Ratio};
use offsets::Offsets;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Where a load may put its requests: `files` alike, each `file_size` long, laid end to end in the volume's offsets.
/// Requests stay within `start .. start + size` of each file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// Number of files.
    pub files: u32,
    /// From the start of one file to the start of the next.
    pub file_size: Bytes,
    /// Where in each file the load begins.
    pub start: Bytes,
    /// How much of each file it uses.
    pub size: Bytes,
}

/// A region that cannot hold the load.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegionUnfit {
    /// A thread has no place for a request.
    #[error(
        "the load needs {needed} in each of {files} file(s) for every thread to place a request; the target offers {offered}"
    )]
    TooSmall {
        /// For each file.
        needed: Bytes,
        /// How many there are.
        files: u32,
        /// Of each file.
        offered: Bytes,
    },
    /// The map of what was asked would be too large.
    #[error(
        "a load that asks each byte once keeps a map of {places} blocks of {unit} for each thread, and {most} are the most: give \
         it a smaller size, or let blocks come again (norandommap, distribution = \"uniform\")"
    )]
    MapTooLarge {
        /// Of the smallest size.
        places: u64,
        /// That size.
        unit: Bytes,
        /// What a map may have.
        most: u64,
    },
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// This request, now.
    Request(Request),
    /// Nothing before this moment.
    At(Instant),
    /// Nothing before a request completes.
    Blocked,
}

/// When the next request may come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Now; it was due at this moment.
    Now(Instant),
    /// Not before this moment.
    At(Instant),
    /// Not before a request completes.
    Blocked,
}

/// One thread's stream of requests.
///
/// Which requests come, and in which order, depends on the specification, the region, the thread and the seed alone, never
/// on time or on the answers: a stream can be replayed (verification relies on it). Only *when* they come depends on time.
#[derive(Debug, Clone)]
pub struct LoadGenerator {
    random: Xoshiro256PlusPlus,
    offsets: Offsets,
    sizes: Sizes,
    kinds: Kinds,
    arrivals: Arrivals,
    flush: Flush,
    onward: Option<Onward>,
}

/// Requests that begin at the end of the last one of their kind.
#[derive(Debug, Clone, Copy)]
struct Onward {
    /// Over 32 bits: a draw below it goes on.
    threshold: u64,
    /// Ends of the last read, write and trim.
    ends: [u64; 3],
    /// Where the region ends.
    end: u64,
}

impl Onward {
    fn of(spec: &LoadSpec, region: &Region) -> Option<Self> {
        let begin = region.start.get();
        let onward = Self { threshold: spec.continued.threshold(), ends: [begin; 3], end: begin + region.size.get() };
        (spec.continued != Ratio::ZERO).then_some(onward)
    }

    const fn place(operation: Operation) -> usize {
        match operation {
            Operation::Write => 1,
            Operation::Trim => 2,
            _ => 0,
        }
    }
}

#[derive(Debug, Clone)]
enum Sizes {
    One(u32),
    /// Cumulated thresholds over 32 bits.
    Mix(Vec<(u64, u32)>),
}

impl Sizes {
    #[inline(always)]
    fn draw(&self, random: &mut Xoshiro256PlusPlus) -> u32 {
        match self {
            Self::One(length) => *length,
            Self::Mix(shares) => {
                let draw = random.next_u64() >> 32;
                // Counted to the end: which of them it is is chance, and a processor that guesses wrong loses more time than that.
                let place = shares.iter().filter(|(threshold, _)| *threshold <= draw).count();
                shares[place.min(shares.len() - 1)].1
            }
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Kinds {
    Only(Operation),
    /// Thresholds over 32 bits: below the first a trim, below the second a read, else a write.
    Mix {
        trims: u64,
        reads: u64,
    },
}

#[derive(Debug, Clone, Copy)]
enum Flush {
    Never,
    /// Writes left before the next flush; `due` when it is to come now.
    Separate {
        every: u64,
        left: u64,
        due: Option<Instant>,
    },
    Durable {
        every: u64,
        left: u64,
    },
}

/// Splits one seed into many that have nothing to do with each other (SplitMix64's finisher).
fn subseed(seed: u64, stream: u64) -> u64 {
    let mut z = seed ^ stream.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl LoadGenerator {
    /// The stream of thread number `thread` (from 0) of a load that begins at `start_at`.
    ///
    /// With `spec.verify` each thread keeps to its own part of the region, so that the last writer of a block is known.
    ///
    /// # Errors
    /// When the region cannot hold a request of every thread.
    pub fn new(
        spec: &LoadSpec,
        region: &Region,
        thread: u32,
        seed: u64,
        start_at: Instant,
    ) -> Result<Self, RegionUnfit> {
        assert!(thread < spec.threads, "thread {thread} of {}", spec.threads);
        let mut cumulated = 0;
        let sizes = match spec.blocks.as_slice() {
            [one] => Sizes::One(u32::try_from(one.size.get()).expect("blocks are small")),
            mix => Sizes::Mix(
                mix.iter()
                    .map(|block| {
                        cumulated += block.share.as_ppm();
                        let threshold = (u64::from(cumulated) << 32) / 1_000_000;
                        (threshold, u32::try_from(block.size.get()).expect("blocks are small"))
                    })
                    .collect(),
            ),
        };
        let kinds = match (spec.trims.as_ppm(), spec.reads.as_ppm()) {
            (1_000_000, _) => Kinds::Only(Operation::Trim),
            (0, 1_000_000) => Kinds::Only(Operation::Read),
            (0, 0) => Kinds::Only(Operation::Write),
            (_, reads) => {
                let trims = spec.trims.threshold();
                let rest = (1u64 << 32) - trims;
                let reads = u64::try_from(u128::from(rest) * u128::from(reads) / 1_000_000).expect("below 2^32");
                Kinds::Mix { trims, reads: trims + reads }
            }
        };
        let flush = match spec.flush {
            None => Flush::Never,
            Some(cadence) => match cadence.how {
                FlushMethod::Fdatasync => Flush::Separate { every: cadence.every, left: cadence.every, due: None },
                FlushMethod::Fua => Flush::Durable { every: cadence.every, left: cadence.every },
            },
        };
        Ok(Self {
            random: Xoshiro256PlusPlus::seed_from_u64(subseed(seed, u64::from(thread) * 2)),
            offsets: Offsets::new(spec, region, thread, seed)?,
            sizes,
            kinds,
            arrivals: Arrivals::new(spec, thread, subseed(seed, u64::from(thread) * 2 + 1), start_at),
            flush,
            onward: Onward::of(spec, region),
        })
    }

    /// Whoever issues the load begins at `now`, which may be later than planned: of a closed loop the places are free from then on. Of
    /// those who share a stream, the first one counts.
    pub fn begin(&mut self, now: Instant) {
        self.arrivals.begin(now);
    }

    /// What comes next at `now`. A request that is given out counts as outstanding until [`LoadGenerator::complete`].
    #[inline]
    pub fn next(&mut self, now: Instant) -> Next {
        match self.due(now) {
            Due::Now(due_at) => Next::Request(self.take(due_at)),
            Due::At(at) => Next::At(at),
            Due::Blocked => Next::Blocked,
        }
    }

    /// As [`LoadGenerator::next`], without the request itself: where it is due, [`LoadGenerator::take`] must be called.
    #[inline(always)]
    pub fn due(&mut self, now: Instant) -> Due {
        if let Flush::Separate { due: Some(due_at), .. } = self.flush {
            return self.flush_due(now, due_at);
        }
        self.arrivals.take(now)
    }

    /// The request that is due, by what [`LoadGenerator::due`] said.
    #[inline(always)]
    pub fn take(&mut self, due_at: Instant) -> Request {
        if let Flush::Separate { due: flush @ Some(_), .. } = &mut self.flush {
            *flush = None;
            return flush_request(due_at);
        }
        self.request(due_at)
    }

    /// A request was answered at `now`: in a closed loop its place is free again.
    #[inline]
    pub fn complete(&mut self, now: Instant) {
        self.arrivals.complete(now);
    }

    /// Whether each answer makes room for one request, which comes at once: a closed loop without think time, rate ceiling, and
    /// flushes of their own.
    #[must_use]
    pub const fn follows_at_once(&self) -> bool {
        matches!(self.arrivals, Arrivals::Closed(_)) && !matches!(self.flush, Flush::Separate { .. })
    }

    /// A request was answered at `now`, and the next takes its place: as [`LoadGenerator::complete`] and [`LoadGenerator::next`], where
    /// [`LoadGenerator::follows_at_once`] and all places are taken.
    #[inline(always)]
    pub fn follow(&mut self, now: Instant) -> Request {
        debug_assert!(self.follows_at_once(), "the next request may have to wait");
        self.request(now)
    }

    /// The next request's content, whatever the time: for replaying a stream.
    pub fn replay(&mut self) -> Request {
        if let Flush::Separate { due: Some(due_at), .. } = self.flush {
            return self.take(due_at);
        }
        self.request(Instant::ZERO)
    }

    fn flush_due(&mut self, now: Instant, due_at: Instant) -> Due {
        match self.arrivals.take_extra(now) {
            Due::Now(free_since) => Due::Now(due_at.max(free_since)),
            later => later,
        }
    }

    #[inline(always)]
    fn request(&mut self, due_at: Instant) -> Request {
        let operation = match self.kinds {
            Kinds::Only(operation) => operation,
            Kinds::Mix { trims, reads } => {
                let draw = self.random.next_u64() >> 32;
                if draw < trims {
                    Operation::Trim
                } else if draw < reads {
                    Operation::Read
                } else {
                    Operation::Write
                }
            }
        };
        let (offset, length) = if self.onward.is_some() {
            self.place_onward(operation)
        } else if self.offsets.cuts() {
            self.place_cut()
        } else {
            let length = self.sizes.draw(&mut self.random);
            (self.offsets.next(&mut self.random, length), length)
        };
        let durable = operation == Operation::Write && self.count_write(due_at);
        Request { operation, durable, length, offset, due_at }
    }

    /// Where a request goes that may go on from the last of its kind, and how long it is.
    #[inline(never)]
    fn place_onward(&mut self, operation: Operation) -> (u64, u32) {
        let onward = self.onward.as_ref().expect("the load has such a share");
        let last = onward.ends[Onward::place(operation)];
        let goes_on = self.random.next_u64() >> 32 < onward.threshold;
        let length = self.sizes.draw(&mut self.random);
        let (offset, length) = if goes_on && last + u64::from(length) <= onward.end {
            (last, length)
        } else if self.offsets.cuts() {
            self.place_cut()
        } else {
            (self.offsets.next(&mut self.random, length), length)
        };
        let onward = self.onward.as_mut().expect("the load has such a share");
        onward.ends[Onward::place(operation)] = offset + u64::from(length);
        (offset, length)
    }

    /// Where a request goes that ends before one that came already, and how long it is.
    #[inline(never)]
    fn place_cut(&mut self) -> (u64, u32) {
        let (gap, room) = self.offsets.gap(&mut self.random);
        let length = loop {
            let length = self.sizes.draw(&mut self.random);
            if u64::from(length) <= room {
                break length;
            }
        };
        self.offsets.take(gap, length)
    }

    /// Counts a write towards the flush cadence; says whether this one is to be durable itself.
    #[inline]
    fn count_write(&mut self, due_at: Instant) -> bool {
        match &mut self.flush {
            Flush::Never => false,
            Flush::Separate { every, left, due } => {
                *left -= 1;
                if *left == 0 {
                    (*left, *due) = (*every, Some(due_at));
                }
                false
            }
            Flush::Durable { every, left } => {
                *left -= 1;
                let now = *left == 0;
                if now {
                    *left = *every;
                }
                now
            }
        }
    }
}

const fn flush_request(due_at: Instant) -> Request {
    Request { operation: Operation::Flush, durable: false, length: 0, offset: 0, due_at }
}

/// Whether the pattern gives every thread a stretch of its own.
fn own_stretch(spec: &LoadSpec) -> bool {
    // A map of what was asked is of one thread, unless each goes over all of it.
    let is_cut = cuts_blocks(spec) && !spec.overlap;
    spec.verify || is_cut || matches!(spec.pattern, Pattern::Sequential { .. })
}

/// Whether blocks are cut where they would overlap others; of one size none is.
fn cuts_blocks(spec: &LoadSpec) -> bool {
    spec.pattern == Pattern::Random(Distribution::Covering) && spec.blocks.len() > 1
}

#[cfg(test)]
mod tests;
