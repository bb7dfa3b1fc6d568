//! The host's cache: present blocks, dirty blocks, and eviction by the clock algorithm.
//!
//! A block is present as soon as a request for it was admitted: of two requests for the same block at once, the second
//! is a hit. Eviction is the clock algorithm (second chance). Dirty blocks are never evicted.

use crate::Warmth;

/// Size of a block.
pub(crate) const BLOCK: u64 = 4096;
/// Words of 64 blocks in a chunk: 128 MiB of a disk.
const WORDS: usize = 512;
const CHUNK_BLOCKS: u64 = WORDS as u64 * 64;
/// Chunks of a disk at most: blocks past 128 TiB are never cached.
const CHUNKS_MAX: u64 = 1 << 20;

/// A run of blocks: the first and how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) first: u64,
    pub(crate) count: u64,
}

impl Run {
    /// The blocks that a range of bytes touches.
    #[inline]
    pub(crate) const fn of(offset: u64, length: u64) -> Self {
        let first = offset / BLOCK;
        let end = (offset + length).div_ceil(BLOCK);
        Self { first, count: end - first }
    }

    /// Chunk, word in it, and mask, if the run lies in one word.
    #[inline]
    const fn in_a_word(self) -> Option<(usize, usize, u64)> {
        let bit = self.first % 64;
        if self.count == 0 || bit + self.count > 64 {
            return None;
        }
        let mask = (u64::MAX >> (64 - self.count)) << bit;
        Some(((self.first / CHUNK_BLOCKS) as usize, (self.first % CHUNK_BLOCKS / 64) as usize, mask))
    }

    /// Chunk, word in it, and mask, for each word that the run touches.
    fn words(self) -> impl Iterator<Item = (usize, usize, u64)> {
        let (mut at, end) = (self.first, self.first + self.count);
        std::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            let (bit, in_word) = (at % 64, (64 - at % 64).min(end - at));
            let mask = if in_word == 64 { u64::MAX } else { ((1 << in_word) - 1) << bit };
            let place = ((at / CHUNK_BLOCKS) as usize, (at % CHUNK_BLOCKS / 64) as usize, mask);
            at += in_word;
            Some(place)
        })
    }
}

/// One bit per block and state. Each state has its own array: a look costs a miss of the processor's caches, and so
/// more of the bits stay there.
#[derive(Debug, Clone)]
struct Chunk {
    present: [u64; WORDS],
    /// Accessed since the hand last came by.
    touched: [u64; WORDS],
    dirty: [u64; WORDS],
    /// Two sets of words. One has work for the clock hand: blocks that may be evicted or were accessed. The other has
    /// dirty blocks. A search skips all other words 64 at a time.
    any_due: Marks,
    any_dirty: Marks,
}

impl Chunk {
    /// Makes `count` blocks of a word present, those of `mask`. Returns how many were not, and whether the word is new
    /// work for the clock hand.
    #[inline]
    fn insert(&mut self, word: usize, count: u64, mask: u64) -> (u64, bool) {
        let present = self.present[word];
        // Mostly all of them or none were there, which need not be counted.
        let new = if present & mask == 0 { count } else { u64::from((mask & !present).count_ones()) };
        self.present[word] = present | mask;
        // The dirty bits come last: they lie elsewhere in memory, and mostly the word is due already.
        (new, !self.any_due.has(word) && (present | mask) & !self.dirty[word] != 0)
    }
}

/// A bit for each word of a chunk.
#[derive(Debug, Clone, Copy)]
struct Marks([u64; WORDS / 64]);

impl Marks {
    const NONE: Self = Self([0; WORDS / 64]);
    const ALL: Self = Self([u64::MAX; WORDS / 64]);

    #[inline]
    const fn set(&mut self, word: usize) {
        self.0[word / 64] |= 1 << (word % 64);
    }
    #[inline]
    const fn clear(&mut self, word: usize) {
        self.0[word / 64] &= !(1 << (word % 64));
    }
    #[inline]
    const fn has(&self, word: usize) -> bool {
        self.0[word / 64] & (1 << (word % 64)) != 0
    }
    /// The first marked word from `from` on.
    fn next(&self, from: usize) -> Option<usize> {
        let mut mask = u64::MAX << (from % 64);
        for (index, bits) in self.0.iter().enumerate().skip(from / 64) {
            if bits & mask != 0 {
                return Some(index * 64 + (bits & mask).trailing_zeros() as usize);
            }
            mask = u64::MAX;
        }
        None
    }
}

/// The blocks of one disk.
#[derive(Debug, Clone, Default)]
pub(crate) struct BlockMap {
    chunks: Vec<Option<Box<Chunk>>>,
    /// A bit for each chunk: whether the hand of the clock may have something to do in it.
    due: Vec<u64>,
    /// Chunks that were never touched are present in full.
    warm: bool,
    dirty: u64,
    /// Start of the next search for blocks to write back, and the number of completed rounds.
    hand: u64,
    rounds: u64,
}

impl BlockMap {
    fn chunk(&mut self, index: usize) -> &mut Chunk {
        if self.chunks.len() <= index {
            self.chunks.resize(index + 1, None);
            self.due.resize(index / 64 + 1, 0);
        }
        if self.warm && self.chunks[index].is_none() {
            self.due[index / 64] |= 1 << (index % 64);
        }
        let (present, marks) = if self.warm { (u64::MAX, Marks::ALL) } else { (0, Marks::NONE) };
        self.chunks[index].get_or_insert_with(|| {
            Box::new(Chunk {
                present: [present; WORDS],
                touched: [0; WORDS],
                dirty: [0; WORDS],
                any_due: marks,
                any_dirty: Marks::NONE,
            })
        })
    }

    /// The hand of the clock has something to do at a word of a chunk that is there.
    #[inline]
    fn make_due(&mut self, index: usize, word: usize) {
        if let Some(Some(chunk)) = self.chunks.get_mut(index)
            && !chunk.any_due.has(word)
        {
            chunk.any_due.set(word);
            self.due[index / 64] |= 1 << (index % 64);
        }
    }

    /// The first chunk from `from` on in which the hand may have something to do.
    fn next_due(&self, from: usize) -> Option<usize> {
        let mut mask = u64::MAX << (from % 64);
        for (index, bits) in self.due.iter().enumerate().skip(from / 64) {
            if bits & mask != 0 {
                return Some(index * 64 + (bits & mask).trailing_zeros() as usize);
            }
            mask = u64::MAX;
        }
        None
    }

    /// Whether a cache tracks these blocks at all.
    pub(crate) const fn is_within(run: Run) -> bool {
        run.first + run.count <= CHUNKS_MAX * CHUNK_BLOCKS
    }

    /// Whether every block is present; if so they count as accessed.
    fn hit(&mut self, run: Run) -> bool {
        if !Self::is_within(run) {
            return false;
        }
        let present = |map: &Self, chunk: usize, word: usize, mask: u64| match map.chunks.get(chunk) {
            Some(Some(chunk)) => chunk.present[word] & mask == mask,
            _ => map.warm,
        };
        if !run.words().all(|(chunk, word, mask)| present(self, chunk, word, mask)) {
            return false;
        }
        for (chunk, word, mask) in run.words() {
            self.chunk(chunk).touched[word] |= mask;
            self.make_due(chunk, word);
        }
        true
    }

    /// [`BlockMap::hit`], or [`BlockMap::insert`] for a miss, in one look at the blocks. `None`: it was a hit.
    #[inline]
    fn ask(&mut self, run: Run) -> Option<u64> {
        let Some((index, word, mask)) = run.in_a_word() else { return self.ask_words(run) };
        let Some(Some(chunk)) = self.chunks.get_mut(index) else { return self.ask_words(run) };
        if chunk.present[word] & mask == mask {
            chunk.touched[word] |= mask;
            if !chunk.any_due.has(word) {
                self.make_due(index, word);
            }
            return None;
        }
        let (new, becomes_due) = chunk.insert(word, run.count, mask);
        if becomes_due {
            self.make_due(index, word);
        }
        Some(new)
    }

    #[inline(never)]
    fn ask_words(&mut self, run: Run) -> Option<u64> {
        if self.hit(run) { None } else { Some(self.insert(run)) }
    }

    /// Makes every block present; returns how many were not.
    #[inline]
    fn insert(&mut self, run: Run) -> u64 {
        let Some((index, word, mask)) = run.in_a_word() else { return self.insert_words(run) };
        let Some(Some(chunk)) = self.chunks.get_mut(index) else { return self.insert_words(run) };
        let (new, becomes_due) = chunk.insert(word, run.count, mask);
        if becomes_due {
            self.make_due(index, word);
        }
        new
    }

    #[inline(never)]
    fn insert_words(&mut self, run: Run) -> u64 {
        if !Self::is_within(run) {
            return 0;
        }
        let mut new = 0;
        for (index, word, mask) in run.words() {
            let (more, becomes_due) = self.chunk(index).insert(word, u64::from(mask.count_ones()), mask);
            new += more;
            if becomes_due {
                self.make_due(index, word);
            }
        }
        new
    }

    /// Marks every block as dirty; returns how many were clean.
    fn mark_dirty(&mut self, run: Run) -> u64 {
        let mut new = 0;
        for (chunk, word, mask) in run.words() {
            let chunk = self.chunk(chunk);
            let dirty = &mut chunk.dirty[word];
            new += u64::from((mask & !*dirty).count_ones());
            *dirty |= mask;
            chunk.any_dirty.set(word);
        }
        self.dirty += new;
        new
    }

    /// Blocks not yet on the disk nor on their way.
    pub(crate) const fn dirty(&self) -> u64 {
        self.dirty
    }

    /// How far the search for blocks to write back has come: rounds, then the place in a round.
    pub(crate) const fn swept(&self) -> (u64, u64) {
        (self.rounds, self.hand)
    }

    /// Returns the next run of at most `count_max` blocks to write back. The search goes upwards and round again.
    pub(crate) fn take_dirty(&mut self, count_max: u64) -> Option<Run> {
        if self.dirty == 0 {
            return None;
        }
        let end = self.chunks.len() as u64 * CHUNK_BLOCKS;
        let first = loop {
            if self.hand >= end {
                (self.hand, self.rounds) = (0, self.rounds + 1);
            }
            let Some(chunk) = &self.chunks[(self.hand / CHUNK_BLOCKS) as usize] else {
                self.hand = (self.hand / CHUNK_BLOCKS + 1) * CHUNK_BLOCKS;
                continue;
            };
            let number = (self.hand % CHUNK_BLOCKS / 64) as usize;
            let word = chunk.dirty[number] >> (self.hand % 64);
            if word != 0 {
                break self.hand + u64::from(word.trailing_zeros());
            }
            let begin = self.hand / CHUNK_BLOCKS * CHUNK_BLOCKS;
            let next = if number + 1 < WORDS { chunk.any_dirty.next(number + 1) } else { None };
            self.hand = begin + next.unwrap_or(WORDS) as u64 * 64;
        };
        let mut count = 0;
        while count < count_max && first + count < end {
            let block = first + count;
            let index = (block / CHUNK_BLOCKS) as usize;
            let Some(chunk) = &mut self.chunks[index] else { break };
            let number = (block % CHUNK_BLOCKS / 64) as usize;
            let word = &mut chunk.dirty[number];
            let mask = 1 << (block % 64);
            if *word & mask == 0 {
                break;
            }
            *word &= !mask;
            if *word == 0 {
                chunk.any_dirty.clear(number);
            }
            if !chunk.any_due.has(number) {
                self.make_due(index, number);
            }
            count += 1;
        }
        self.dirty -= count;
        self.hand = first + count;
        Some(Run { first, count })
    }
}

/// A cache, and the disks that share it: its members, by number.
#[derive(Debug, Clone)]
pub(crate) struct Cache {
    maps: Vec<BlockMap>,
    /// In blocks; `u64::MAX`: no bound.
    capacity: u64,
    used: u64,
    /// Blocks not yet on the disk, those on their way included, and the most that there may be.
    dirty: u64,
    dirty_max: u64,
    /// Position of the clock hand: member, chunk, word.
    hand: (usize, usize, usize),
}

/// A member of a cache: how much of the disk there is to cache.
pub(crate) struct Member {
    pub(crate) blocks: Option<u64>,
}

impl Cache {
    /// `dirty_max` is not above `capacity`.
    pub(crate) fn new(capacity: Option<u64>, dirty_max: u64, members: &[Member], warmth: Warmth) -> Self {
        let mut cache = Self {
            maps: vec![BlockMap::default(); members.len()],
            capacity: capacity.unwrap_or(u64::MAX),
            used: 0,
            dirty: 0,
            dirty_max,
            hand: (0, 0, 0),
        };
        if warmth == Warmth::Warm {
            let each = capacity.map(|blocks| blocks / members.len().max(1) as u64);
            for (map, member) in cache.maps.iter_mut().zip(members) {
                match each {
                    None => map.warm = true,
                    Some(each) => {
                        let count = each.min(member.blocks.unwrap_or(u64::MAX)).min(CHUNKS_MAX * CHUNK_BLOCKS);
                        cache.used += map.insert(Run { first: 0, count });
                    }
                }
            }
        }
        cache
    }

    pub(crate) fn member(&self, member: usize) -> &BlockMap {
        &self.maps[member]
    }

    /// Whether every block of a member's run is present. The blocks count as accessed; after a miss they are present
    /// from now on.
    #[inline]
    pub(crate) fn ask(&mut self, member: usize, run: Run) -> bool {
        let Some(new) = self.maps[member].ask(run) else { return true };
        self.grow(new);
        false
    }

    /// Makes blocks of a member present; a full cache evicts others.
    #[inline]
    pub(crate) fn insert(&mut self, member: usize, run: Run) {
        let new = self.maps[member].insert(run);
        self.grow(new);
    }

    #[inline]
    fn grow(&mut self, new: u64) {
        self.used += new;
        while self.used > self.capacity {
            self.evict(self.used - self.capacity);
        }
    }

    /// Whether the cache has room for a write of so many blocks. A write larger than the dirty limit is accepted alone.
    pub(crate) const fn has_room(&self, blocks: u64) -> bool {
        self.dirty == 0 || self.dirty + blocks <= self.dirty_max
    }

    /// Accepts a write.
    pub(crate) fn write(&mut self, member: usize, run: Run) {
        // Dirty first, so that these blocks are not evicted.
        self.dirty += self.maps[member].mark_dirty(run);
        self.insert(member, run);
    }

    /// Returns the next run of a member to write back.
    pub(crate) fn take_dirty(&mut self, member: usize, count_max: u64) -> Option<Run> {
        self.maps[member].take_dirty(count_max)
    }

    /// Records that this many blocks have reached their disk.
    pub(crate) const fn wrote_back(&mut self, blocks: u64) {
        self.dirty -= blocks;
    }

    /// Blocks not yet on their disk.
    pub(crate) const fn dirty(&self) -> u64 {
        self.dirty
    }

    /// Forgets every block that is on its disk.
    pub(crate) fn drop_clean(&mut self) {
        self.used = 0;
        for map in &mut self.maps {
            map.warm = false;
            map.due.fill(0);
            for chunk in map.chunks.iter_mut().flatten() {
                chunk.present = chunk.dirty;
                chunk.touched = [0; WORDS];
                chunk.any_due = Marks::NONE;
            }
            self.used += map.dirty;
        }
    }

    /// Moves the clock hand to the next word with work, or to the next chunk that has one. There it evicts at most
    /// `count_max` blocks that were not accessed since the hand last came by. Two rounds find every clean block. Clean
    /// blocks exist, since the dirty ones fit into the cache.
    ///
    /// The hand skips a word if all its blocks are dirty and none was accessed. So it does not search a cache full of
    /// writes word by word.
    fn evict(&mut self, count_max: u64) {
        let (member, number, from) = self.hand;
        let members = self.maps.len();
        let map = &mut self.maps[member];
        let Some((number, from)) = map.next_due(number).map(|due| (due, if due == number { from } else { 0 })) else {
            self.hand = ((member + 1) % members, 0, 0);
            return;
        };
        let beyond = (member, number + 1, 0);
        let chunk = map.chunks[number].as_mut().expect("only a chunk that is there has something due");
        let Some(place) = chunk.any_due.next(from) else {
            if from == 0 {
                map.due[number / 64] &= !(1 << (number % 64));
            }
            self.hand = beyond;
            return;
        };
        self.hand = if place + 1 < WORDS { (member, number, place + 1) } else { beyond };
        let mut victims = chunk.present[place] & !chunk.touched[place] & !chunk.dirty[place];
        chunk.touched[place] = 0;
        let mut count = 0;
        while victims != 0 && count < count_max {
            chunk.present[place] &= !(victims & victims.wrapping_neg());
            victims &= victims - 1;
            count += 1;
        }
        if chunk.present[place] & !chunk.dirty[place] == 0 {
            chunk.any_due.clear(place);
        }
        self.used -= count;
    }
}

#[cfg(test)]
mod tests;
