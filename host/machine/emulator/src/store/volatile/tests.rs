//! A model of what a power cut may leave, and disks held against it.

use super::*;
use crate::send_buffer::SendBuffer;
use crate::store::Fresh;
use crate::store::{Budget, FileStore, Keeping, MemoryStore, StoredDisk};
use proptest::prelude::*;
use std::sync::Arc;

/// Sectors of the disk: two long writes and a half.
const SIZE: usize = 320;
/// Sectors of a long write.
const LONG: usize = (64 << 10) / SECTOR;

#[derive(Debug, Clone)]
enum VolatileAction {
    /// First sector, sectors, durable, answered.
    Write(usize, usize, bool, bool),
    /// Whether it was answered.
    Flush(bool),
    Trim(usize, usize),
}

fn step() -> impl Strategy<Value = VolatileAction> {
    // Around the end of the first long one, and long ones.
    let near = LONG - 40..LONG + 24;
    let range = prop_oneof![
        3 => (near, 1usize..=20),
        1 => (0..3usize, 0..2usize, 0..20usize)
            .prop_map(|(number, more, rest)| (number * LONG, (1 + more) * LONG + rest)),
    ]
    .prop_map(|(first, count)| (first, count.min(SIZE - first)));
    prop_oneof![
        8 => (range.clone(), any::<bool>(), prop::bool::weighted(0.8))
            .prop_map(|((first, count), durable, answered)| VolatileAction::Write(first, count, durable && count < 3, answered)),
        1 => any::<bool>().prop_map(VolatileAction::Flush),
        1 => range.prop_map(|(first, count)| VolatileAction::Trim(first, count)),
    ]
}

/// What a sector may hold after a cut: what was durable last, and whatever was written there later. By the number of the write; 0
/// stands for zeroes.
#[derive(Debug, Clone)]
struct Sector {
    may_be: Vec<(u8, Option<u64>)>,
}

impl Sector {
    /// Nothing before this write is left.
    fn durable(&mut self, write: u8) {
        if let Some(place) = self.may_be.iter().position(|(own, _)| *own == write) {
            self.may_be.drain(..place);
        }
    }
}

fn disk(file: bool, pages_max: usize, lies: bool) -> StoredDisk {
    let store = if file {
        let file = tempfile::tempfile().unwrap();
        file.set_len((SIZE * SECTOR) as u64).unwrap();
        Store::File(FileStore::new(file, Arc::default()))
    } else {
        Store::Memory(MemoryStore::new(Arc::new(Budget::new(1 << 30))))
    };
    StoredDisk::new(store, Keeping { pages_max, lies })
}

/// The number of the write that each sector holds now. A sector of two numbers fails.
fn held(disk: &StoredDisk) -> Vec<u8> {
    let mut buffer = SendBuffer::default();
    disk.read(0, (SIZE * SECTOR) as u64, &mut buffer).unwrap();
    let bytes = buffer.to_vec();
    bytes
        .chunks(SECTOR)
        .map(|sector| {
            assert!(sector.iter().all(|byte| *byte == sector[0]), "a sector is torn");
            sector[0]
        })
        .collect()
}

/// Runs the steps on a disk and on the model of what may be.
fn run(disk: &StoredDisk, steps: &[VolatileAction]) -> Vec<Sector> {
    let mut sectors = vec![Sector { may_be: vec![(0, None)] }; SIZE];
    let mut order = 0;
    for (number, step) in steps.iter().enumerate() {
        let write = number as u8 + 1;
        order += 1;
        match *step {
            VolatileAction::Write(first, count, durable, answered) => {
                let bytes = vec![write; count * SECTOR];
                disk.write((first * SECTOR) as u64, Fresh::Bytes(&bytes), u64::from(write)).unwrap();
                order += 1;
                let answered_at = answered.then_some(order);
                for sector in &mut sectors[first..first + count] {
                    sector.may_be.push((write, answered_at));
                }
                if answered && durable {
                    disk.durable(u64::from(write));
                    sectors[first..first + count].iter_mut().for_each(|sector| sector.durable(write));
                } else if answered {
                    disk.answered(u64::from(write), order);
                }
            }
            VolatileAction::Flush(answered) => {
                if answered {
                    disk.flushed(order);
                    for sector in &mut sectors {
                        let covered = |(_, at): &(u8, Option<u64>)| at.is_some_and(|at| at <= order);
                        if let Some(place) = sector.may_be.iter().rposition(covered) {
                            sector.may_be.drain(..place);
                        }
                    }
                }
            }
            VolatileAction::Trim(first, count) => {
                disk.clear((first * SECTOR) as u64, (count * SECTOR) as u64).unwrap();
                for sector in &mut sectors[first..first + count] {
                    sector.may_be = vec![(0, None)];
                }
            }
        }
    }
    sectors
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn every_sector_is_what_was_durable_or_was_written_later(
        steps in prop::collection::vec(step(), 1..60), seed: u64, file: bool, pages_max in prop_oneof![Just(4), Just(1_000usize)],
    ) {
        let disk = disk(file, pages_max, false);
        let sectors = run(&disk, &steps);
        let newest = held(&disk);
        let losses = Losses::of(seed, &disk.cut(seed).unwrap());
        for (place, (held, sector)) in held(&disk).into_iter().zip(&sectors).enumerate() {
            prop_assert!(sector.may_be.iter().any(|(write, _)| *write == held), "sector {place} holds {held}: {sector:?}");
        }
        prop_assert_eq!(losses.writes, losses.kept + losses.lost + losses.torn);
        for (sector, newest) in sectors.iter().zip(newest) {
            prop_assert_eq!(sector.may_be.last().unwrap().0, newest);
        }
        // What survived is durable: another cut takes nothing.
        let survived = held(&disk);
        prop_assert!(disk.cut(!seed).unwrap().is_empty());
        prop_assert_eq!(held(&disk), survived);
    }
}

#[test]
fn whatever_may_be_is_what_some_seed_leaves() {
    let steps = [
        VolatileAction::Write(0, 8, true, true),
        VolatileAction::Write(0, 8, false, true),
        VolatileAction::Write(4, 8, false, true),
        VolatileAction::Write(2, 2, false, false),
    ];
    let mut seen = vec![std::collections::BTreeSet::new(); SIZE];
    let mut torn = 0;
    for seed in 0..200 {
        let disk = disk(false, 1_000, false);
        let sectors = run(&disk, &steps);
        disk.cut(seed).unwrap();
        let held = held(&disk);
        torn += u32::from(held[8..12].contains(&3) && held[8..12].contains(&0));
        for ((seen, held), sector) in seen.iter_mut().zip(held).zip(&sectors) {
            seen.insert(held);
            assert!(sector.may_be.iter().any(|(write, _)| *write == held));
        }
    }
    assert_eq!(seen[2], [1, 2, 4].into());
    assert_eq!(seen[5], [1, 2, 3].into());
    assert_eq!(seen[10], [0, 3].into());
    assert!(torn > 20, "{torn} of 200 tore a write");
}

#[test]
fn a_disk_that_lies_loses_what_it_said_was_durable() {
    let lost = (0..50).filter(|seed| {
        let disk = disk(false, 1_000, true);
        run(
            &disk,
            &[
                VolatileAction::Write(0, 2, true, true),
                VolatileAction::Write(8, 2, false, true),
                VolatileAction::Flush(true),
            ],
        );
        disk.cut(*seed).unwrap();
        let held = held(&disk);
        held[0] != 1 || held[8] != 2
    });
    assert!(lost.count() > 20);
}

#[test]
fn a_write_is_found_wherever_it_stands_among_the_others() {
    let mut volatile = Volatile::default();
    assert_eq!(volatile.place(7), Err(0));
    let tickets: Vec<u64> = (0..200).map(|number| 3 * number + 1).collect();
    volatile.writes =
        tickets.iter().map(|ticket| Write { ticket: *ticket, answered: None, first: 0, entries: 1 }).collect();
    for ticket in 0..=600 {
        assert_eq!(volatile.place(ticket), tickets.binary_search(&ticket), "{ticket}");
    }
}
