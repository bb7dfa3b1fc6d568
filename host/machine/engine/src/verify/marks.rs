//! The mark that every sector of a verified load carries, and what a block says of itself when it is read.

use loadline_record::VerifyFaultKind;
use loadline_units::SECTOR;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeSet;

const SECTOR_BYTES: usize = SECTOR.get() as usize;
const HEADER: usize = 32;
const MAGIC: u32 = 0x4c4f_4144;

/// One sector as it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sector {
    Valid {
        seed: u64,
        offset: u64,
        generation: u64,
    },
    Zero,
    /// It names this seed, and its checksum does not hold.
    Rotten,
    /// No mark at all.
    Unmarked,
}

/// The generation of write number `number` (from 1) of a thread.
pub(super) fn generation(thread: u32, number: u32) -> u64 {
    (u64::from(thread) << 32) | u64::from(number)
}

/// The thread and the number of a generation.
pub(super) const fn write_of(generation: u64) -> (usize, u32) {
    ((generation >> 32) as usize, generation as u32)
}

/// Writes header and contents of every sector of a block that begins at `offset`.
pub(super) fn mark(bytes: &mut [u8], seed: u64, offset: u64, generation: u64) {
    for (index, sector) in bytes.chunks_exact_mut(SECTOR_BYTES).enumerate() {
        let offset = offset + (index * SECTOR_BYTES) as u64;
        sector[..4].copy_from_slice(&MAGIC.to_le_bytes());
        sector[8..16].copy_from_slice(&seed.to_le_bytes());
        sector[16..24].copy_from_slice(&offset.to_le_bytes());
        sector[24..32].copy_from_slice(&generation.to_le_bytes());
        let mix = seed ^ offset.rotate_left(17) ^ generation.rotate_left(41);
        Xoshiro256PlusPlus::seed_from_u64(mix).fill_bytes(&mut sector[HEADER..]);
        let sum = crc32fast::hash(&sector[8..]);
        sector[4..8].copy_from_slice(&sum.to_le_bytes());
    }
}

fn parse(sector: &[u8], own: u64) -> Sector {
    let number = |range: std::ops::Range<usize>| u64::from_le_bytes(sector[range].try_into().expect("eight bytes"));
    let word = |range: std::ops::Range<usize>| u32::from_le_bytes(sector[range].try_into().expect("four bytes"));
    let seed = number(8..16);
    if sector.iter().all(|b| *b == 0) {
        Sector::Zero
    } else if word(0..4) != MAGIC {
        Sector::Unmarked
    } else if word(4..8) == crc32fast::hash(&sector[8..]) {
        Sector::Valid { seed, offset: number(16..24), generation: number(24..32) }
    } else if seed == own {
        Sector::Rotten
    } else {
        Sector::Unmarked
    }
}

/// What a block says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Block {
    /// Every sector is in its place and of this generation.
    Whole(u64),
    /// Nothing of this trial.
    Foreign(&'static str),
    /// What cannot be right where a write of the trial was acknowledged.
    Wrong(Box<Wrong>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) kind: VerifyFaultKind,
    pub(super) detail: String,
    /// The latest generation of sectors that are intact and in their place.
    pub(super) newest: Option<u64>,
    /// A sector names the trial and is not what was written, in any order of events.
    pub(super) rotten: bool,
}

impl Block {
    /// The block could not be read.
    pub(super) fn unreadable(detail: String) -> Self {
        Self::Wrong(Box::new(Wrong { kind: VerifyFaultKind::Unreadable, detail, newest: None, rotten: false }))
    }
    /// The latest generation of its intact sectors.
    pub(super) fn newest(&self) -> Option<u64> {
        match self {
            Self::Whole(generation) => Some(*generation),
            Self::Foreign(_) => None,
            Self::Wrong(wrong) => wrong.newest,
        }
    }
}

/// What stands at `offset`, where a block of the trial with this seed may belong.
pub(super) fn read_block(bytes: &[u8], seed: u64, offset: u64) -> Block {
    let mut generations = BTreeSet::new();
    let (mut count, mut zero, mut rotten, mut unmarked, mut foreign) = (0, 0, 0, 0, 0);
    let mut misplaced = None;
    for (index, sector) in bytes.chunks_exact(SECTOR_BYTES).enumerate() {
        let place = offset + (index * SECTOR_BYTES) as u64;
        count += 1;
        match parse(sector, seed) {
            Sector::Valid { seed: found, .. } if found != seed => foreign += 1,
            Sector::Valid { offset: found, .. } if found != place => {
                misplaced.get_or_insert((place, found));
            }
            Sector::Valid { generation, .. } => {
                generations.insert(generation);
            }
            Sector::Zero => zero += 1,
            Sector::Rotten => rotten += 1,
            Sector::Unmarked => unmarked += 1,
        }
    }
    let wrong = |kind, detail| {
        Block::Wrong(Box::new(Wrong { kind, detail, newest: generations.last().copied(), rotten: rotten > 0 }))
    };
    if let Some((place, found)) = misplaced {
        return wrong(VerifyFaultKind::Misplaced, format!("at {place} stands what was written for offset {found}"));
    }
    let broken = rotten + unmarked;
    let own = count - zero - broken - foreign;
    match generations.len() {
        0 if zero == count => Block::Foreign("zeros"),
        0 if foreign == count => Block::Foreign("a block of another trial"),
        0 if unmarked == count => Block::Foreign("bytes that carry no mark"),
        1 if own == count => Block::Whole(generations.first().copied().unwrap_or_default()),
        0 | 1 if broken > 0 => {
            wrong(VerifyFaultKind::Corrupt, format!("{broken} of {count} sectors fail their checksum"))
        }
        0 | 1 => wrong(
            VerifyFaultKind::Torn,
            format!("{own} of {count} sectors are of this write, {zero} zero, {foreign} of another trial"),
        ),
        _ => {
            let numbers: Vec<String> = generations.iter().map(|g| write_of(*g).1.to_string()).collect();
            wrong(VerifyFaultKind::Torn, format!("sectors of writes {}", numbers.join(" and ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(seed: u64, offset: u64, generation: u64) -> Vec<u8> {
        let mut bytes = vec![0; 4096];
        mark(&mut bytes, seed, offset, generation);
        bytes
    }

    fn wrong(bytes: &[u8], offset: u64) -> Wrong {
        match read_block(bytes, 1, offset) {
            Block::Wrong(wrong) => *wrong,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_block_says_what_it_is() {
        assert_eq!(read_block(&block(1, 8192, 5), 1, 8192), Block::Whole(5));
        assert_eq!(read_block(&block(2, 8192, 5), 1, 8192), Block::Foreign("a block of another trial"));
        assert_eq!(read_block(&[0; 4096], 1, 0), Block::Foreign("zeros"));
        assert_eq!(read_block(&[7; 4096], 1, 0), Block::Foreign("bytes that carry no mark"));
        assert_eq!(wrong(&block(1, 4096, 5), 8192).kind, VerifyFaultKind::Misplaced);
        let mut torn = block(1, 0, 6);
        torn[2048..].copy_from_slice(&block(1, 0, 5)[2048..]);
        assert_eq!((wrong(&torn, 0).kind, wrong(&torn, 0).newest), (VerifyFaultKind::Torn, Some(6)));
        let mut rotten = block(1, 0, 6);
        rotten[700] ^= 1;
        assert_eq!((wrong(&rotten, 0).kind, wrong(&rotten, 0).rotten), (VerifyFaultKind::Corrupt, true));
    }

    #[test]
    fn what_was_there_before_is_told_from_what_decayed() {
        // Half of a block over bytes that carry no mark: a write that was cut off would look like that.
        let mut half = block(1, 0, 6);
        half[2048..].fill(7);
        assert_eq!((wrong(&half, 0).kind, wrong(&half, 0).rotten), (VerifyFaultKind::Corrupt, false));
        // A sector of another trial that decayed is no sector of this one.
        let mut other = block(2, 0, 6);
        other[700] ^= 1;
        assert!(!wrong(&other, 0).rotten);
    }
}
