//! Small seeded changes to kept inputs: the same seed gives the same bytes on every machine.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Inputs never grow beyond this.
const LENGTH_MAX: usize = 64 << 10;
/// Numbers and marks that parsers stumble over.
const WORDS: [&[u8]; 12] = [
    b"\0",
    b"\xff",
    b"\x80",
    b"\xff\xff\xff\xff\xff\xff\xff\xff",
    b"18446744073709551616",
    b"-1",
    b"0.",
    b"\"",
    b"[",
    b"\n",
    b"\xc2\xb5",
    b"99999999999999999999 %",
];

/// Changes inputs.
#[derive(Debug, Clone)]
pub struct Mutator {
    random: Xoshiro256PlusPlus,
}

impl Mutator {
    /// The mutator whose changes follow from `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { random: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }
    /// `input` after one to four changes; `other` lends parts.
    #[must_use]
    pub fn mutate(&mut self, input: &[u8], other: &[u8]) -> Vec<u8> {
        let mut bytes = input.to_vec();
        for _ in 0..=self.below(4) {
            self.change(&mut bytes, other);
        }
        bytes.truncate(LENGTH_MAX);
        bytes
    }
    /// A number from 0 to `count - 1`; 0 when `count` is 0.
    pub fn below(&mut self, count: usize) -> usize {
        (self.random.next_u64() % count.max(1) as u64) as usize
    }
    fn change(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        let at = self.below(bytes.len() + 1);
        let end = at + self.below(bytes.len() - at + 1).min(16);
        match self.below(6) {
            0 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
            1 if at < bytes.len() => bytes[at] = self.below(256) as u8,
            2 => drop(bytes.drain(at..end)),
            3 => {
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
            4 => {
                let from = self.below(other.len() + 1);
                let to = from + self.below(other.len() - from + 1).min(32);
                bytes.splice(at..end, other[from..to].iter().copied());
            }
            _ => {
                let word = WORDS[self.below(WORDS.len())];
                bytes.splice(at..at, word.iter().copied());
            }
        }
    }
}
