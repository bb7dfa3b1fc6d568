//! Long reads and writes: their bytes take ways of their own.

use crate::client::{Ask, Client};
use crate::{Served, disk, environment, free, memory, slow};
use loadline_disk::{Layout, VolumeSpec};
use loadline_emulator::{Backing, EmulationSettings};
use loadline_nbd::request::code;
use loadline_units::{Bytes, Duration};
use std::io::Write;

const PAGE: usize = 4_096;
const LONG: usize = 256 << 10;

/// Bytes that tell where they belong and to whom.
fn pattern(seed: u64, offset: u64, length: usize) -> Vec<u8> {
    (offset..offset + length as u64)
        .map(|at| ((at ^ seed.wrapping_mul(0x9e37)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8)
        .collect()
}

/// Layouts whose pieces are pages, and whose are not.
fn layouts() -> Vec<(Layout, usize)> {
    vec![
        (Layout::Single, 1),
        (Layout::Mirror { copies: 2 }, 2),
        (Layout::Stripe { columns: 3, interleave: Bytes::kib(64) }, 3),
        (Layout::Stripe { columns: 2, interleave: Bytes::new(5 * 512) }, 2),
    ]
}

#[test]
fn long_writes_are_read_back_whatever_is_below_and_wherever_they_begin() {
    let folder = tempfile::tempdir().unwrap();
    for (number, (layout, disks)) in layouts().into_iter().enumerate() {
        for in_folder in [false, true] {
            let path = folder.path().join(format!("{number}"));
            let backing = if in_folder { Backing::Folder(path) } else { memory().backing };
            for write_cache in [Bytes::ZERO, Bytes::mib(1)] {
                let settings = EmulationSettings { backing: backing.clone(), write_cache, ..memory() };
                let served = Served::with(&environment(layout, vec![disk(Bytes::mib(16)); disks]), &settings);
                let mut client = Client::simple(&served.socket(), "data");
                let mut expected = vec![0; 4 << 20];
                client.write(0, &expected);
                for (step, (offset, length)) in
                    [(0, LONG), (512, LONG), (4_096, LONG + 512), (70_000 / 512 * 512, 1 << 20), (1 << 20, 2 << 20)]
                        .into_iter()
                        .enumerate()
                {
                    let bytes = pattern(step as u64, offset, length);
                    client.write(offset, &bytes);
                    expected[offset as usize..offset as usize + length].copy_from_slice(&bytes);
                    assert!(client.read(offset, length as u64) == bytes, "{layout:?}, write {step}");
                }
                assert!(client.read(0, 4 << 20) == expected, "{layout:?}");
                assert!(client.read(512, LONG as u64) == expected[512..512 + LONG], "{layout:?}");
            }
        }
    }
}

#[test]
fn writes_that_come_in_any_pieces_and_one_after_the_other_are_kept_in_their_order() {
    let served = Served::new(&free());
    let mut client = Client::simple(&served.socket(), "data");
    let mut expected = vec![0; 2 << 20];
    let mut stream = Vec::new();
    let lengths = [LONG, 4_096, 512, 33 << 10, LONG + 4_096, 64 << 10, 36 << 10, 300 << 10];
    for (cookie, length) in (0..24).zip(lengths.into_iter().cycle()) {
        let offset = cookie * 37 % 60 * 12_800 / 512 * 512;
        let bytes = pattern(cookie, offset, length);
        expected[offset as usize..offset as usize + length].copy_from_slice(&bytes);
        stream.extend(client.bytes(Ask { kind: code::WRITE, cookie, offset, length: length as u64, ..Ask::default() }));
        stream.extend(bytes);
    }
    for piece in [stream.len(), 100_001, 4_097, 28] {
        let mut sender = client.stream.try_clone().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| stream.chunks(piece).for_each(|piece| sender.write_all(piece).unwrap()));
            (0..24).for_each(|_| assert_eq!(client.reply().0, 0));
        });
        assert!(client.read(0, 2 << 20) == expected, "in pieces of {piece}");
        client.write(0, &vec![0; 2 << 20]);
    }
}

#[test]
fn reads_whose_bytes_leave_before_they_end_are_whole_and_hold_up_nothing_for_good() {
    const SIZE: u64 = 8 << 20;
    let served = Served::new(&slow(Duration::from_ms(3)));
    let expected = pattern(1, 0, SIZE as usize);
    Client::simple(&served.socket(), "data").write(0, &expected);
    std::thread::scope(|scope| {
        for number in 0..3_u64 {
            let (mut client, expected) = (Client::simple(&served.socket(), "data"), &expected);
            scope.spawn(move || {
                let lengths = [LONG as u64, 4_096, 64 << 10, 2 << 20, 512, 100_000 / 512 * 512];
                let ranges: Vec<(u64, u64)> = (0..90)
                    .map(|step| ((step * 7_919 + number * 512) % 12_000 * 512, lengths[step as usize % lengths.len()]))
                    .collect();
                for round in ranges.chunks(9) {
                    for (cookie, (offset, length)) in (0..).zip(round) {
                        let ask = Ask { kind: code::READ, cookie, offset: *offset, length: *length, ..Ask::default() };
                        client.ask(ask, &[]);
                    }
                    for _ in round {
                        let (error, cookie) = client.reply();
                        let (offset, length) = round[cookie as usize];
                        assert_eq!(error, 0);
                        let bytes = client.take(length as usize);
                        assert!(bytes == expected[offset as usize..(offset + length) as usize], "{offset}, {length}");
                    }
                }
            });
        }
    });
}

#[test]
fn of_a_write_whose_bytes_do_not_all_come_each_page_is_kept_or_not() {
    let served = Served::new(&free());
    for came in [1, 4_095, 32 << 10, 100_000, 200_000, 400_000, (1 << 20) - 1] {
        let mut client = Client::simple(&served.socket(), "data");
        client.write(0, &vec![1; 1 << 20]);
        // One that is whole lets the next one come into pages of its own.
        client.write(2 << 20, &vec![1; 1 << 20]);
        let bytes = client.bytes(Ask { kind: code::WRITE, offset: 0, length: 1 << 20, ..Ask::default() });
        client.put(&bytes);
        client.put(&vec![2; came]);
        client.stream.shutdown(std::net::Shutdown::Write).unwrap();
        assert!(client.is_closed());
        let found = Client::simple(&served.socket(), "data").read(0, 1 << 20);
        let kept = found.iter().take_while(|byte| **byte == 2).count();
        assert!(kept <= came && kept % PAGE == 0, "{kept} of {came} bytes were kept");
        assert!(found[kept..].iter().all(|byte| *byte == 1), "of {came} bytes");
    }
}

#[test]
fn whoever_reads_slowly_sees_no_page_half_written_and_holds_up_no_writer() {
    const COUNT: u64 = 64;
    let served = Served::new(&free());
    let mut writer = Client::simple(&served.socket(), "data");
    writer.write(0, &vec![1; LONG]);
    let mut reader = Client::simple(&served.socket(), "data");
    for cookie in 0..COUNT {
        reader.ask(Ask { kind: code::READ, cookie, offset: 512, length: (LONG - 1_024) as u64, ..Ask::default() }, &[]);
    }
    // More than any socket holds is asked for, and not read: writes are answered all the same.
    for round in 2..=20 {
        writer.write(0, &vec![round; LONG]);
        writer.write(4_096 * 3, &[round + 100; 4_096]);
    }
    let check = |bytes: Vec<u8>| {
        let (first, others) = bytes.split_at(PAGE - 512);
        for page in std::iter::once(first).chain(others.chunks(PAGE)) {
            assert!(page.iter().all(|byte| *byte == page[0]), "a page holds bytes of two writes");
        }
    };
    let mut last = 0;
    std::thread::scope(|scope| {
        let overwriting = scope.spawn(|| {
            for round in 21..=60 {
                writer.write(0, &vec![round; LONG]);
            }
        });
        for _ in 0..COUNT {
            assert_eq!(reader.reply().0, 0);
            let bytes = reader.take(LONG - 1_024);
            last = bytes[bytes.len() - 1];
            check(bytes);
        }
        overwriting.join().unwrap();
    });
    assert!(last > 1, "what was not sent yet is sent as it is then");
    assert_eq!(reader.read(512, 512), [60; 512]);
}

#[test]
fn clients_that_read_and_write_at_once_find_their_own_bytes() {
    const SHARE: u64 = 8 << 20;
    let served = Served::new(&free());
    std::thread::scope(|scope| {
        for seed in 0..6_u64 {
            let socket = served.socket();
            scope.spawn(move || {
                let mut client = Client::simple(&socket, "data");
                let mut expected = vec![0; SHARE as usize];
                let mut state = seed + 88_172_645_463_325_252;
                for step in 0..120 {
                    state ^= state << 13;
                    state ^= state >> 7;
                    state ^= state << 17;
                    let length = [4_096, 512, 40 << 10, LONG as u64, 700 << 10][(state % 5) as usize];
                    let aligned = if state & 64 == 0 { 4_096 } else { 512 };
                    let at = (state >> 8) % (SHARE - length) / aligned * aligned;
                    if step % 2 == 0 {
                        let bytes = pattern(seed + step, at, length as usize);
                        client.write(seed * SHARE + at, &bytes);
                        expected[at as usize..(at + length) as usize].copy_from_slice(&bytes);
                    } else {
                        let found = client.read(seed * SHARE + at, length);
                        assert!(found == expected[at as usize..(at + length) as usize], "client {seed}, step {step}");
                    }
                }
            });
        }
    });
}

#[test]
fn whoever_trims_what_is_finely_striped_keeps_nobody_else_from_an_answer() {
    const TRIMS: u64 = 16;
    let striped = Layout::Stripe { columns: 2, interleave: Bytes::new(512) };
    let mut spec = environment(striped, vec![disk(Bytes::gib(1)); 2]);
    spec.volumes.push(VolumeSpec { name: "log".into(), disks: vec![disk(Bytes::mib(64))], ..VolumeSpec::default() });
    let served = Served::new(&spec);
    let mut reader = Client::simple(&served.socket(), "log");
    let mut trimmer = Client::simple(&served.socket(), "data");
    let trim = |cookie| Ask { kind: code::TRIM, cookie, length: 2 << 30, ..Ask::default() };
    trimmer.put(&(0..TRIMS).flat_map(|cookie| trimmer.bytes(trim(cookie))).collect::<Vec<u8>>());
    // Each goes to the model in 128 slices; whoever asks for something small has its turn between two of them.
    let mut reads = 0;
    while served.emulation.figures()[0].requests() == 0 {
        assert_eq!(reader.read(reads % 1_000 * 4_096, 4_096), vec![0; 4_096]);
        reads += 1;
    }
    assert!(reads >= 10, "{reads} reads within {TRIMS} trims");
    (0..TRIMS).for_each(|_| assert_eq!(trimmer.reply().0, 0));
}
