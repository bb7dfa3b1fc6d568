//! Where requests fall: random by distribution, sequential with strides, each block once.

use super::covering::{Covering, Gap, PLACES_MAX};
use super::permutation::Permutation;
use super::zipf::Zipf;
use super::{Region, RegionUnfit, cuts_blocks, own_stretch, subseed};
use crate::{Distribution, LoadSpec, Pattern, Staggered, Walk, Zone, ZoneGaps};
use loadline_units::Bytes;
use rand_core::Rng;

/// Draws of which a normal rank is the mean.
const NORMAL_DRAWS: u64 = 12;

/// Chooses offsets; every offset with its length lies in one file of the region.
#[derive(Debug, Clone)]
pub(super) struct Offsets {
    places: Places,
    choice: Choice,
}

/// The offsets that requests may have, numbered from 0: `per_file` in each file, `unit` apart.
#[derive(Debug, Clone, Copy)]
struct Places {
    unit: u64,
    per_file: u64,
    files: u64,
    file_size: u64,
    start: u64,
    /// Numbers that this thread uses: `first .. first + count`.
    first: u64,
    count: u64,
}

#[derive(Debug, Clone)]
enum Choice {
    Uniform,
    Zipf {
        zipf: Zipf,
        spread: Permutation,
    },
    HotCold {
        hot: u64,
        threshold: u64,
        spread: Permutation,
    },
    Pareto {
        /// `ln h / ln(1 - h)`.
        power: f64,
        spread: Permutation,
    },
    Normal {
        /// In ranks.
        deviation: u64,
        spread: Permutation,
    },
    /// Thresholds over 32 bits, each with the first number of its zone and how many it has.
    Zoned(Vec<(u64, u64, u64)>),
    /// This thread's numbers `from .. to` of an order that covers every block; then of another order.
    EachOnce {
        seed: u64,
        round: u64,
        from: u64,
        next: u64,
        to: u64,
        order: Permutation,
    },
    Sequential(Cursor),
    /// Places that were not asked yet.
    Cut(Box<Covering>),
    /// A sequential stream from zone to zone.
    Zones(ZoneCursor),
    /// Each file by itself, the next one after so many requests.
    InTurn(Turns),
}

/// A sequential stream that leaves out gaps. Positions are within the stretch.
#[derive(Debug, Clone)]
struct ZoneCursor {
    zones: ZoneGaps,
    /// Where the zone begins.
    zone: u64,
    /// What was asked in it.
    moved: u64,
    /// The next place in it.
    at: u64,
    end: u64,
}

impl ZoneCursor {
    fn next(&mut self, length: u64) -> u64 {
        if self.moved >= self.zones.size.get() {
            self.moved = 0;
            self.zone += self.zones.size.get() + self.zones.skip.get();
            if self.zone + length > self.end {
                self.zone = 0;
            }
            self.at = self.zone;
        }
        // A zone that the end cuts off begins again.
        if self.at + length > self.end {
            self.at = self.zone;
        }
        let at = self.at;
        self.at += length;
        self.moved += length;
        at
    }
}

/// Files of which a thread asks one after the other.
#[derive(Debug, Clone)]
struct Turns {
    files: Vec<Offsets>,
    /// Which of the load's files the first is.
    first: u64,
    file_size: u64,
    requests: u32,
    /// The file whose turn it is, and how many requests it has left.
    at: usize,
    left: u32,
}

impl Turns {
    fn new(spec: &LoadSpec, region: &Region, (thread, seed): (u32, u64), requests: u32) -> Result<Self, RegionUnfit> {
        let (files, threads) = (region.files, spec.threads);
        let is_sequential = matches!(spec.pattern, Pattern::Sequential { .. });
        // Files of its own, or a part of each file.
        let own_files = is_sequential && !spec.overlap && files.is_multiple_of(threads);
        let (first, count) = if own_files { (files / threads * thread, files / threads) } else { (0, files) };
        let alone = own_files || (is_sequential && spec.overlap);
        let (threads, thread) = if alone { (1, 0) } else { (threads, thread) };
        let each = LoadSpec { in_turn: None, files: 1, threads, ..spec.clone() };
        let one = Region { files: 1, ..*region };
        let file = |file: u32| Offsets::new(&each, &one, thread, subseed(seed, u64::from(file) | 1 << 40));
        let files = (first..first + count).map(file).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { files, first: u64::from(first), file_size: region.file_size.get(), requests, at: 0, left: requests })
    }

    /// The file whose turn it is, with where it begins.
    fn now(&mut self) -> (u64, &mut Offsets) {
        if self.left == 0 {
            self.left = self.requests;
            self.at = (self.at + 1) % self.files.len();
        }
        ((self.first + self.at as u64) * self.file_size, &mut self.files[self.at])
    }
}

/// A sequential stream: byte positions within the stretch, which counts only the usable bytes of each file.
#[derive(Debug, Clone)]
struct Cursor {
    at: u64,
    begin: u64,
    end: u64,
    stride: Option<u64>,
    walk: Walk,
    lane: u64,
    block: u64,
    usable: u64,
}

impl Places {
    #[inline]
    fn offset(&self, number: u64) -> u64 {
        let number = self.first + number;
        if self.files == 1 {
            return self.start + number * self.unit;
        }
        (number / self.per_file) * self.file_size + self.start + (number % self.per_file) * self.unit
    }
}

/// A number below `bound` (multiply and shift; its bias is below `bound / 2^64`).
#[inline]
fn below(random: &mut impl Rng, bound: u64) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(bound)) >> 64) as u64
}

impl Offsets {
    pub(super) fn new(spec: &LoadSpec, region: &Region, thread: u32, seed: u64) -> Result<Self, RegionUnfit> {
        let unit = spec.alignment().get();
        let block_max = spec.block_max().get();
        let (files, threads) = (u64::from(region.files), u64::from(spec.threads));
        let too_small = |needed: u64| RegionUnfit::TooSmall {
            needed: Bytes::new(needed),
            files: region.files,
            offered: region.size,
        };
        let fits = region.start.get() + region.size.get() <= region.file_size.get();
        if files == 0 || region.size.get() < block_max || !fits {
            return Err(too_small(block_max));
        }
        let cuts = cuts_blocks(spec);
        // What is cut needs no room for the largest block.
        let per_file = (region.size.get() - if cuts { unit } else { block_max }) / unit + 1;
        let total = per_file * files;
        let own = own_stretch(spec);
        let places = |first: u64, count: u64| Places {
            unit,
            per_file,
            files,
            file_size: region.file_size.get(),
            start: region.start.get(),
            first,
            count,
        };
        if let Some(requests) = spec.in_turn.filter(|_| files > 1) {
            let choice = Choice::InTurn(Turns::new(spec, region, (thread, seed), requests)?);
            return Ok(Self { places: places(0, total), choice });
        }
        if own && spec.verify && total < threads {
            return Err(too_small((threads.div_ceil(files) - 1) * unit + block_max));
        }
        let is_random = matches!(spec.pattern, Pattern::Random(_));
        // A stretch of its own where there is room for one; otherwise threads share the whole.
        let (first, count) = if let Some(staggered) = spec.staggered.filter(|_| is_random) {
            let (begin, end) = stretch(staggered, thread, unit, region.size.get());
            if begin.saturating_add(block_max) > end {
                return Err(too_small(begin.saturating_add(block_max)));
            }
            (begin / unit, (end - begin - if cuts { unit } else { block_max }) / unit + 1)
        } else if own && total >= threads {
            let bound =
                |t: u64| u64::try_from(u128::from(total) * u128::from(t) / u128::from(threads)).expect("within total");
            let first = bound(u64::from(thread));
            (first, bound(u64::from(thread) + 1) - first)
        } else {
            (0, total)
        };
        let places = places(first, count);
        // Which blocks are hot is a property of the load, the same for all its threads.
        let spread = Permutation::new(count, subseed(seed, u64::MAX));
        let choice = match &spec.pattern {
            Pattern::Random(Distribution::Uniform) => Choice::Uniform,
            Pattern::Random(Distribution::Zipf { theta_milli }) => {
                Choice::Zipf { zipf: Zipf::new(count, f64::from(*theta_milli) / 1e3), spread }
            }
            Pattern::Random(Distribution::HotCold { requests, blocks }) => {
                let hot = blocks.of(count).clamp(1, count);
                Choice::HotCold { hot, threshold: requests.threshold(), spread }
            }
            Pattern::Random(Distribution::Pareto { h_milli }) => {
                let h = f64::from(*h_milli) / 1e3;
                Choice::Pareto { power: libm::log(h) / libm::log1p(-h), spread }
            }
            Pattern::Random(Distribution::Normal { deviation }) => {
                let ranks = count - deviation.complement().of(count);
                Choice::Normal { deviation: ranks.min(count / 2), spread }
            }
            Pattern::Random(Distribution::Zoned { zones }) => Choice::Zoned(zones_of(zones, count)),
            Pattern::Random(Distribution::Covering) if cuts => {
                if count > PLACES_MAX {
                    let (unit, most) = (Bytes::new(unit), PLACES_MAX);
                    return Err(RegionUnfit::MapTooLarge { places: count, unit, most });
                }
                Choice::Cut(Box::new(Covering::new(count, per_file, first)))
            }
            Pattern::Random(Distribution::Permutation | Distribution::Covering) => {
                let is_alone = spec.overlap || spec.staggered.is_some();
                let seed = subseed(seed, u64::MAX - 1);
                let seed = if is_alone { subseed(seed, u64::from(thread)) } else { seed };
                // Threads without a stretch of their own share one order, each its slice of it.
                let slice = |t: u32| {
                    u64::try_from(u128::from(count) * u128::from(t) / u128::from(threads)).expect("within count")
                };
                let (from, to) = if own || is_alone { (0, count) } else { (slice(thread), slice(thread + 1)) };
                let (from, to) = if from < to { (from, to) } else { (0, count) };
                let order = Permutation::new(count, subseed(seed, 0));
                Choice::EachOnce { seed, round: 0, from, next: from, to, order }
            }
            Pattern::Sequential { stride } => {
                if let Some(zones) = spec.zones {
                    let end = region.size.get() / unit * unit;
                    let choice = Choice::Zones(ZoneCursor { zones, zone: 0, moved: 0, at: 0, end });
                    return Ok(Self { places, choice });
                }
                let usable = region.size.get() / unit * unit;
                let span = usable * files;
                let share = span / threads / unit * unit;
                let (begin, end) = if let Some(staggered) = spec.staggered {
                    let (begin, end) = stretch(staggered, thread, unit, span);
                    if begin.saturating_add(block_max) > end {
                        return Err(too_small(begin.saturating_add(block_max)));
                    }
                    (begin, end)
                } else if share >= block_max && !spec.overlap {
                    let begin = share * u64::from(thread);
                    (begin, begin + share)
                } else {
                    (0, span)
                };
                Choice::Sequential(Cursor {
                    at: begin,
                    begin,
                    end,
                    stride: stride.map(Bytes::get),
                    walk: spec.walk,
                    lane: 0,
                    block: block_max,
                    usable,
                })
            }
        };
        Ok(Self { places, choice })
    }

    /// Whether requests are cut: they have [`Offsets::gap`] and [`Offsets::take`] in place of [`Offsets::next`].
    #[inline(always)]
    pub(super) fn cuts(&self) -> bool {
        match &self.choice {
            Choice::Cut(_) => true,
            Choice::InTurn(turns) => matches!(turns.files[0].choice, Choice::Cut(_)),
            _ => false,
        }
    }

    /// Where the next request may begin, and how many bytes there are up to the end of the file.
    pub(super) fn gap(&mut self, random: &mut impl Rng) -> (Gap, u64) {
        let Self { places, choice } = self;
        match choice {
            Choice::Cut(covering) => {
                let gap = covering.gap(below(random, places.count));
                (gap, gap.room * places.unit)
            }
            Choice::InTurn(turns) => turns.now().1.gap(random),
            _ => unreachable!("nothing is cut"),
        }
    }

    /// The offset of a request that begins in a gap and would be so long, and how long it is.
    pub(super) fn take(&mut self, gap: Gap, length: u32) -> (u64, u32) {
        let Self { places, choice } = self;
        match choice {
            Choice::Cut(covering) => {
                let unit = u32::try_from(places.unit).expect("blocks are small");
                let taken = covering.take(gap.at, u64::from(length.div_ceil(unit)));
                let taken = u32::try_from(taken).expect("no more than were wanted");
                (places.offset(gap.at), length.min(taken * unit))
            }
            Choice::InTurn(turns) => {
                let (begin, file) = turns.now();
                let (offset, length) = file.take(gap, length);
                turns.left -= 1;
                (begin + offset, length)
            }
            _ => unreachable!("nothing is cut"),
        }
    }

    // Called for each request: beyond a size of the load loop the compiler would no longer do it by itself.
    #[inline(always)]
    pub(super) fn next(&mut self, random: &mut impl Rng, length: u32) -> u64 {
        match &mut self.choice {
            Choice::Uniform => self.places.offset(below(random, self.places.count)),
            _ => self.next_by_pattern(random, length),
        }
    }

    fn next_by_pattern(&mut self, random: &mut impl Rng, length: u32) -> u64 {
        match &mut self.choice {
            Choice::Uniform => self.places.offset(below(random, self.places.count)),
            Choice::Zipf { zipf, spread } => self.places.offset(spread.image(zipf.rank(random))),
            Choice::HotCold { hot, threshold, spread } => {
                let rank = if (random.next_u64() >> 32) < *threshold {
                    below(random, *hot)
                } else {
                    *hot + below(random, self.places.count - *hot)
                };
                self.places.offset(spread.image(rank))
            }
            Choice::Pareto { power, spread } => {
                let uniform = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
                let rank = (self.places.count as f64 * libm::pow(uniform, *power)) as u64;
                self.places.offset(spread.image(rank.min(self.places.count - 1)))
            }
            Choice::Normal { deviation, spread } => {
                let rank = normal_rank(random, self.places.count, *deviation);
                self.places.offset(spread.image(rank))
            }
            Choice::Zoned(zones) => {
                let draw = random.next_u64() >> 32;
                let place = zones.iter().filter(|(threshold, ..)| *threshold <= draw).count();
                let (_, first, count) = zones[place.min(zones.len() - 1)];
                self.places.offset(first + below(random, count))
            }
            Choice::EachOnce { seed, round, from, next, to, order } => {
                if next == to {
                    *next = *from;
                    *round += 1;
                    *order = Permutation::new(self.places.count, subseed(*seed, *round));
                }
                let number = order.image(*next);
                *next += 1;
                self.places.offset(number)
            }
            Choice::Zones(cursor) => self.places.start + cursor.next(u64::from(length)),
            Choice::InTurn(turns) => {
                let (begin, file) = turns.now();
                let offset = begin + file.next_by_pattern(random, length);
                turns.left -= 1;
                offset
            }
            Choice::Cut(_) => unreachable!("what is cut has no length before its place is known"),
            Choice::Sequential(cursor) => {
                let at = cursor.next(u64::from(length));
                let (file, within) =
                    if self.places.files == 1 { (0, at) } else { (at / cursor.usable, at % cursor.usable) };
                file * self.places.file_size + self.places.start + within
            }
        }
    }
}

/// From where to where a thread goes that begins behind the one before it, within `span` bytes.
fn stretch(Staggered { step, length }: Staggered, thread: u32, unit: u64, span: u64) -> (u64, u64) {
    let begin = step.get() * u64::from(thread) / unit * unit;
    (begin, length.map_or(span, |length| begin.saturating_add(length.get())).min(span))
}

/// A rank below `count`: the mean of draws that all are alike, and up to half of `deviation` away from it. As fio draws it: a distance that
/// leads out of the ranks is halved until it does not.
fn normal_rank(random: &mut impl Rng, count: u64, deviation: u64) -> u64 {
    let sum: u64 = (0..NORMAL_DRAWS).map(|_| below(random, count + 1)).sum();
    let mean = sum.div_ceil(NORMAL_DRAWS);
    let drawn = if deviation == 0 { 0 } else { below(random, deviation) };
    let mut distance = i128::from(drawn) - i128::from(deviation / 2);
    while distance != 0 && !(0..i128::from(count)).contains(&(i128::from(mean) + distance)) {
        distance /= 2;
    }
    u64::try_from(i128::from(mean) + distance).unwrap_or_default() % count
}

/// The zones in numbers of places: each with the threshold of its draws over 32 bits. A zone has a place at least.
fn zones_of(zones: &[Zone], count: u64) -> Vec<(u64, u64, u64)> {
    let (mut requests, mut blocks) = (0u64, 0u64);
    let of = |ppm: u64| u64::try_from(u128::from(count) * u128::from(ppm) / 1_000_000).expect("within count");
    zones
        .iter()
        .map(|zone| {
            let first = of(blocks).min(count - 1);
            requests += u64::from(zone.requests.as_ppm());
            blocks += u64::from(zone.blocks.as_ppm());
            let threshold = (requests << 32) / 1_000_000;
            (threshold, first, of(blocks).saturating_sub(first).max(1))
        })
        .collect()
}

impl Cursor {
    /// Where a request of `length` goes; moves on behind it, over the end of a file and back to the stretch's begin.
    #[inline]
    fn next(&mut self, length: u64) -> u64 {
        if self.walk == Walk::Back {
            return self.next_back(length);
        }
        let file_end = (self.at / self.usable + 1) * self.usable;
        if self.at + length > file_end.min(self.end) {
            self.at = if file_end < self.end { file_end } else { self.wrap() };
        }
        let at = self.at;
        self.at += self.stride.unwrap_or(length);
        at
    }

    /// Backward: the begin of the stretch first, then from its end on. That end is where fio turns: the stride and a block before
    /// the end of the stretch.
    fn next_back(&mut self, length: u64) -> u64 {
        let stride = self.stride.unwrap_or(length);
        let at = self.at;
        let next = at.checked_sub(stride).filter(|next| *next >= self.begin);
        let turned = self.end.saturating_sub(stride + self.block).max(self.begin);
        self.at = next.unwrap_or(turned);
        // A file of several ends within a block.
        let file_end = (at / self.usable + 1) * self.usable;
        if at + length > file_end { file_end - length } else { at }
    }

    /// The begin of the stretch; with a stride, one block further each time, until the gaps are covered.
    fn wrap(&mut self) -> u64 {
        let Some(stride) = self.stride.filter(|_| self.walk == Walk::Onward) else { return self.begin };
        self.lane = (self.lane + 1) % (stride / self.block).max(1);
        let at = self.begin + self.lane * self.block;
        if at + self.block <= self.end { at } else { self.begin }
    }
}
