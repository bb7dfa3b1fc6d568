//! The eviction search gives the same result as a search that looks at every word.

use super::*;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Chunks of each of two disks.
const CHUNKS: usize = 3;
const MEMBERS: usize = 2;

/// The clock algorithm word by word, without marks.
struct Plain {
    present: Vec<u64>,
    touched: Vec<u64>,
    dirty: Vec<u64>,
    hand: usize,
}

impl Plain {
    fn new() -> Self {
        let none = vec![0; MEMBERS * CHUNKS * WORDS];
        Self { present: none.clone(), touched: none.clone(), dirty: none, hand: 0 }
    }
    fn words(member: usize, run: Run) -> impl Iterator<Item = (usize, u64)> {
        run.words().map(move |(chunk, word, mask)| ((member * CHUNKS + chunk) * WORDS + word, mask))
    }
    fn used(&self) -> u64 {
        self.present.iter().map(|word| u64::from(word.count_ones())).sum()
    }
    fn hit(&mut self, member: usize, run: Run) -> bool {
        let hit = Self::words(member, run).all(|(word, mask)| self.present[word] & mask == mask);
        if hit {
            Self::words(member, run).for_each(|(word, mask)| self.touched[word] |= mask);
        }
        hit
    }
    fn insert(&mut self, member: usize, run: Run, capacity: u64) {
        Self::words(member, run).for_each(|(word, mask)| self.present[word] |= mask);
        let mut beyond = self.used().saturating_sub(capacity);
        while beyond > 0 {
            let word = self.hand;
            self.hand = (word + 1) % self.present.len();
            let mut victims = self.present[word] & !self.touched[word] & !self.dirty[word];
            self.touched[word] = 0;
            while victims != 0 && beyond > 0 {
                self.present[word] &= !(victims & victims.wrapping_neg());
                victims &= victims - 1;
                beyond -= 1;
            }
        }
    }
}

fn words_of(cache: &Cache) -> Vec<u64> {
    let empty = [0; WORDS];
    let of = |map: &BlockMap, index: usize| match map.chunks.get(index) {
        Some(Some(chunk)) => chunk.present,
        _ => empty,
    };
    cache.maps.iter().flat_map(|map| (0..CHUNKS).flat_map(|index| of(map, index))).collect()
}

#[test]
fn the_same_blocks_give_way_as_where_every_word_is_looked_at() {
    let capacity = 4_000;
    let members = [Member { blocks: None }, Member { blocks: None }];
    let mut cache = Cache::new(Some(capacity), capacity, &members, Warmth::Cold);
    let mut plain = Plain::new();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
    for step in 0..20_000 {
        let member = (random.next_u64() % MEMBERS as u64) as usize;
        // Now and then on one disk alone, or within few blocks, so that there are hits.
        let span = if step % 3 == 0 { 6_000 } else { CHUNKS as u64 * CHUNK_BLOCKS };
        let count = 1 + random.next_u64() % 16;
        let run = Run { first: random.next_u64() % (span - count), count };
        match random.next_u64() % 4 {
            0 => {
                let hit = plain.hit(member, run);
                assert_eq!(cache.ask(member, run), hit, "step {step}");
                if !hit {
                    plain.insert(member, run, capacity);
                }
            }
            1 => {
                cache.insert(member, run);
                plain.insert(member, run, capacity);
            }
            2 if cache.has_room(count) => {
                cache.write(member, run);
                Plain::words(member, run).for_each(|(word, mask)| plain.dirty[word] |= mask);
                plain.insert(member, run, capacity);
            }
            _ => {
                let taken = cache.take_dirty(member, 64);
                if let Some(run) = taken {
                    cache.wrote_back(run.count);
                    Plain::words(member, run).for_each(|(word, mask)| plain.dirty[word] &= !mask);
                }
            }
        }
    }
    assert_eq!(words_of(&cache), plain.present);
    assert_eq!(cache.used, plain.used());
    assert!(cache.dirty() > 0 && cache.used == capacity, "{} {}", cache.dirty(), cache.used);
}

/// The cache is full of writes to every 16th block of a disk, and one was just written back. The hand finds it without
/// a look at the others.
#[test]
fn of_a_cache_full_of_writes_only_what_may_give_way_is_looked_at() {
    let capacity = 40 * CHUNK_BLOCKS / 16;
    let mut cache = Cache::new(Some(capacity), capacity, &[Member { blocks: None }], Warmth::Cold);
    (0..capacity).for_each(|number| cache.write(0, Run { first: number * 16, count: 1 }));
    // Once round: everything was looked at when it was clean or new.
    assert!(cache.take_dirty(0, 64).is_some_and(|run| run.first == 0));
    cache.insert(0, Run { first: 1, count: 1 });
    let run = cache.take_dirty(0, 64).expect("nearly all are dirty");
    cache.hand = (0, (run.first / CHUNK_BLOCKS) as usize, (run.first % CHUNK_BLOCKS / 64) as usize + 1);
    let used = cache.used;
    let looks = (1..100).find(|_| {
        cache.evict(1);
        cache.used < used
    });
    assert!(looks.is_some_and(|looks| looks <= 4), "{looks:?}");
}
