//! What every store must hold.

use super::*;
use proptest::prelude::*;
use std::sync::Arc;

const SIZE: u64 = 8 << 20;
/// Bytes of a long write.
const LONG: usize = 16 * PAGE;

fn file() -> Store {
    let file = tempfile::tempfile().unwrap();
    file.set_len(SIZE).unwrap();
    Store::File(FileStore::new(file, Arc::default()))
}

fn memory(max: u64) -> (Store, Arc<Budget>) {
    let budget = Arc::new(Budget::new(max));
    (Store::Memory(MemoryStore::new(Arc::clone(&budget))), budget)
}

fn bytes(store: &Store, offset: u64, length: u64) -> Vec<u8> {
    let mut made = Made::default();
    store.read(offset, length, &mut made).unwrap();
    made.to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn a_file_and_memory_hold_the_same(
        steps in prop::collection::vec((0u64..SIZE / 512, 1u64..3_000, any::<Option<u8>>()), 1..10),
    ) {
        let (file, (memory, _)) = (file(), memory(1 << 30));
        for (start, count, byte) in steps {
            let (offset, length) = (start * 512, (count * 512).min(SIZE - start * 512));
            for store in [&file, &memory] {
                match byte {
                    Some(byte) => store.write(offset, &vec![byte; length as usize]).unwrap(),
                    None => store.clear(offset, length).unwrap(),
                }
            }
        }
        let expected = bytes(&file, 0, SIZE);
        prop_assert!(bytes(&memory, 0, SIZE) == expected);
        for store in [&file, &memory] {
            let mut at = 0;
            while at < SIZE {
                let extent = store.extent(at, SIZE - at);
                prop_assert!(extent.length > 0 && at + extent.length <= SIZE);
                let range = at as usize..(at + extent.length) as usize;
                prop_assert!(!extent.hole || expected[range].iter().all(|byte| *byte == 0));
                at += extent.length;
            }
        }
    }
}

#[test]
fn memory_ends_where_its_bound_is_and_comes_back_with_what_is_cleared() {
    let page = PAGE as u64;
    // One for the region's own table.
    let (store, budget) = memory(4 * page);
    store.write(0, &[1; 3 * PAGE]).unwrap();
    assert_eq!(budget.used(), 4 * page);
    assert!(matches!(store.write(3 * page, &[1; PAGE]), Err(StoreError::NoSpace)));
    store.write(page, &[2; PAGE]).unwrap();
    store.clear(0, page).unwrap();
    store.write(3 * page, &[1; PAGE]).unwrap();
    store.clear(0, 2 << 20).unwrap();
    assert_eq!(budget.used(), 0);
}

#[test]
fn a_write_of_which_pages_are_cleared_takes_what_its_others_take() {
    let page = PAGE as u64;
    let (store, budget) = memory(1 << 20);
    store.write(0, &vec![1; LONG]).unwrap();
    store.clear(page, 2 * page).unwrap();
    store.clear(5 * page, 512).unwrap();
    assert_eq!(budget.used(), LONG as u64 - page);
    assert_eq!(store.extent(0, LONG as u64), Extent { length: page, hole: false });
    assert_eq!(store.extent(page, LONG as u64 - page), Extent { length: 2 * page, hole: true });
    let held = bytes(&store, 0, LONG as u64);
    for (place, byte) in held.into_iter().enumerate() {
        let cleared = (PAGE..3 * PAGE).contains(&place) || (5 * PAGE..5 * PAGE + 512).contains(&place);
        assert_eq!(byte, u8::from(!cleared), "at {place}");
    }
    store.write(0, &vec![2; LONG]).unwrap();
    assert_eq!(budget.used(), LONG as u64 + page);
}

#[test]
fn what_is_being_sent_does_not_change() {
    for length in [32 << 10, 128 << 10] {
        let (store, _) = memory(1 << 20);
        store.write(0, &vec![1; length]).unwrap();
        let mut made = Made::default();
        store.read(0, length as u64, &mut made).unwrap();
        store.write(512, &[3; 512]).unwrap();
        store.write(0, &vec![2; length]).unwrap();
        assert_eq!(made.to_vec(), vec![1; length]);
        assert_eq!(bytes(&store, 0, length as u64), vec![2; length]);
    }
}

#[test]
fn a_folder_is_kept_and_only_for_the_same_disks_and_one_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("disks");
    let disks = [("data/0".to_owned(), SIZE), ("data/1".to_owned(), SIZE)];
    let (first, mut files) = Folder::open(&path, &disks).unwrap();
    FileStore::new(files.remove(1), Arc::default()).write(4_096, &[7; 512]).unwrap();
    assert!(matches!(Folder::open(&path, &disks), Err(FolderError::Busy(_))));
    drop(first);
    let (second, mut files) = Folder::open(&path, &disks).unwrap();
    assert_eq!(bytes(&Store::File(FileStore::new(files.remove(1), Arc::default())), 4_096, 512), [7; 512]);
    drop(second);
    assert!(matches!(Folder::open(&path, &disks[..1]), Err(FolderError::Different { .. })));
    assert!(matches!(Folder::open(folder.path(), &disks), Err(FolderError::Foreign(_))));
}
