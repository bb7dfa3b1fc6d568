//! What every store must hold.

use super::*;
use loadline_units::Bytes;
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
    let mut buffer = SendBuffer::default();
    store.read(offset, length, &mut buffer).unwrap();
    buffer.to_vec()
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
                let extent = store.extent(at, SIZE - at, &mut 0);
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
    assert_eq!(store.extent(0, LONG as u64, &mut 0), Extent { length: page, hole: false });
    assert_eq!(store.extent(page, LONG as u64 - page, &mut 0), Extent { length: 2 * page, hole: true });
    let held = bytes(&store, 0, LONG as u64);
    for (place, byte) in held.into_iter().enumerate() {
        let cleared = (PAGE..3 * PAGE).contains(&place) || (5 * PAGE..5 * PAGE + 512).contains(&place);
        assert_eq!(byte, u8::from(!cleared), "at {place}");
    }
    store.write(0, &vec![2; LONG]).unwrap();
    assert_eq!(budget.used(), LONG as u64 + page);
}

#[test]
fn an_extent_is_found_without_looking_at_much_of_the_disk_under_one_hold() {
    let (store, _) = memory(1 << 30);
    let (page, size) = (PAGE as u64, 64 << 40);
    let (far, dense) = ((40 << 40) + page, 64 << 20);
    store.write(far, &[1; PAGE]).unwrap();
    store.write(0, &vec![1; dense + PAGE]).unwrap();
    let (mut at, mut found): (u64, Vec<Extent>) = (0, Vec::new());
    while at < size {
        let mut looks = 0;
        let extent = store.extent(at, size - at, &mut looks);
        assert!(looks <= 20_000, "{looks} looks for {extent:?}");
        match found.last_mut() {
            Some(last) if last.hole == extent.hole => last.length += extent.length,
            _ => found.push(extent),
        }
        at += extent.length;
        assert!(found.len() < 5, "{found:?}");
    }
    let data = dense as u64 + page;
    let expected = [(data, false), (far - data, true), (page, false), (size - far - page, true)];
    assert_eq!(found, expected.map(|(length, hole)| Extent { length, hole }));
}

#[test]
fn a_trim_of_a_huge_disk_gives_back_what_was_written_wherever_it_lies() {
    let (store, budget) = memory(1 << 30);
    let (page, size, region) = (PAGE as u64, 64 << 40, 2 << 20);
    for at in [0, region - page, 7 * region, 40 << 40, size - page] {
        store.write(at, &[1; PAGE]).unwrap();
    }
    // But for the first half of a page, and the last page.
    store.clear(512, size - page - 512).unwrap();
    assert_eq!(budget.used(), 4 * page);
    assert_eq!(bytes(&store, 0, page), [vec![1; 512], vec![0; PAGE - 512]].concat());
    assert_eq!(bytes(&store, size - page, page), [1; PAGE]);
    store.clear(0, size).unwrap();
    assert_eq!(budget.used(), 0);
}

#[test]
fn what_is_being_sent_does_not_change() {
    for length in [32 << 10, 128 << 10] {
        let (store, _) = memory(1 << 20);
        store.write(0, &vec![1; length]).unwrap();
        let mut buffer = SendBuffer::default();
        store.read(0, length as u64, &mut buffer).unwrap();
        store.write(512, &[3; 512]).unwrap();
        store.write(0, &vec![2; length]).unwrap();
        assert_eq!(buffer.to_vec(), vec![1; length]);
        assert_eq!(bytes(&store, 0, length as u64), vec![2; length]);
    }
}

fn striped(interleave: &str) -> [(String, String); 1] {
    [("data".to_owned(), format!("2 disks, striped by {interleave}"))]
}

fn two_disks() -> [(String, u64); 2] {
    [("data/0".to_owned(), SIZE), ("data/1".to_owned(), SIZE)]
}

#[test]
fn a_folder_is_kept_and_only_for_the_same_disks_and_one_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("disks");
    let (volumes, disks) = (striped("64 KiB"), two_disks());
    let (first, mut files) = Folder::open(&path, &volumes, &disks).unwrap();
    FileStore::new(files.remove(1), Arc::default()).write(4_096, &[7; 512]).unwrap();
    assert!(matches!(Folder::open(&path, &volumes, &disks), Err(FolderError::Busy(_))));
    drop(first);
    let (second, mut files) = Folder::open(&path, &volumes, &disks).unwrap();
    assert_eq!(bytes(&Store::File(FileStore::new(files.remove(1), Arc::default())), 4_096, 512), [7; 512]);
    drop(second);
    assert!(matches!(Folder::open(&path, &volumes, &disks[..1]), Err(FolderError::Different { .. })));
    assert!(matches!(Folder::open(folder.path(), &volumes, &disks), Err(FolderError::Foreign(_))));
}

#[test]
fn a_folder_is_not_opened_for_a_layout_that_would_read_its_disks_in_another_order() {
    let folder = tempfile::tempdir().unwrap();
    drop(Folder::open(folder.path(), &striped("64 KiB"), &two_disks()).unwrap());
    let error = Folder::open(folder.path(), &striped("128 KiB"), &two_disks()).unwrap_err();
    let FolderError::Different { there, wanted, .. } = error else { panic!("{error}") };
    let size = Bytes::new(SIZE);
    assert_eq!(there, format!("data: 2 disks, striped by 64 KiB; data/0: {size}; data/1: {size}"));
    assert_eq!(wanted, format!("data: 2 disks, striped by 128 KiB; data/0: {size}; data/1: {size}"));
    drop(Folder::open(folder.path(), &striped("64 KiB"), &two_disks()).unwrap());
}

#[test]
fn a_folder_of_before_is_taken_for_its_disks_and_has_a_layout_from_then_on() {
    let folder = tempfile::tempdir().unwrap();
    drop(Folder::open(folder.path(), &striped("64 KiB"), &two_disks()).unwrap());
    let list = folder.path().join("loadline-disks.txt");
    std::fs::write(&list, format!("loadline disks 1\ndata/0 {SIZE}\ndata/1 {SIZE}\n")).unwrap();
    let other = [("data/0".to_owned(), SIZE)];
    let error = Folder::open(folder.path(), &striped("64 KiB"), &other).unwrap_err();
    assert!(matches!(&error, FolderError::Different { there, .. } if there.starts_with("data/0: ")), "{error}");
    drop(Folder::open(folder.path(), &striped("64 KiB"), &two_disks()).unwrap());
    let error = Folder::open(folder.path(), &striped("128 KiB"), &two_disks()).unwrap_err();
    assert!(matches!(error, FolderError::Different { .. }), "{error}");
}

#[test]
fn a_disk_of_a_folder_that_is_gone_or_has_another_size_is_told_and_not_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    drop(Folder::open(folder.path(), &striped("64 KiB"), &two_disks()).unwrap());
    let image = folder.path().join("data.1.img");
    std::fs::OpenOptions::new().write(true).open(&image).unwrap().set_len(512).unwrap();
    let open = || Folder::open(folder.path(), &striped("64 KiB"), &two_disks()).unwrap_err();
    assert!(matches!(open(), FolderError::Length { .. }));
    std::fs::remove_file(&image).unwrap();
    assert!(matches!(open(), FolderError::Missing { .. }));
    assert!(!image.exists());
}

#[test]
fn a_folder_that_was_not_finished_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    drop(Folder::open(folder.path(), &striped("64 KiB"), &two_disks()).unwrap());
    std::fs::write(folder.path().join("loadline-disks.txt"), "").unwrap();
    std::fs::remove_file(folder.path().join("data.1.img")).unwrap();
    drop(Folder::open(folder.path(), &striped("64 KiB"), &two_disks()).unwrap());
}
