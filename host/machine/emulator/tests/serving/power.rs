//! Power cuts under a database that commits by flush.

use crate::client::{Ask, Client};
use crate::{Served, disk, environment, free, memory};
use loadline_disk::Layout;
use loadline_emulation::Change;
use loadline_emulator::EmulationSettings;
use loadline_nbd::request::code;
use loadline_units::Bytes;
use std::path::Path;

/// Cuts in one run of the tests; `LOADLINE_POWER_CUTS` asks for another number, such as 200.
const CUTS: u64 = 10;

fn cuts() -> u64 {
    std::env::var("LOADLINE_POWER_CUTS").map_or(CUTS, |text| text.parse().expect("LOADLINE_POWER_CUTS is a number"))
}

/// Bytes of a row, of the table, and where the journal begins.
const ROW: u64 = 4_096;
const ROWS: u64 = 64;
const JOURNAL: u64 = 8 << 20;
/// Rows that a transaction changes.
const CHANGED: u64 = 5;

fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A row at a version: its number, its version, and bytes that follow from both.
fn row(number: u64, version: u64) -> Vec<u8> {
    let mut bytes = vec![(number * 31 + version) as u8; ROW as usize];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    bytes[8..16].copy_from_slice(&version.to_le_bytes());
    let end = ROW as usize - 8;
    let sum = sum(&bytes[..end]);
    bytes[end..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

fn version(number: u64, bytes: &[u8]) -> Option<u64> {
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let end = ROW as usize - 8;
    (sum(&bytes[..end]) == word(end) && word(0) == number).then(|| word(8))
}

/// A table of rows with a journal before it: a transaction writes its rows to the journal, flushes, writes them to their places,
/// and flushes again before the journal is used anew. It is committed after the first flush.
struct Database {
    client: Client,
}

impl Database {
    fn open(socket: &Path) -> Self {
        let mut database = Self { client: Client::simple(socket, "data") };
        // What the journal holds in full is done again.
        let (length, mut at) = (CHANGED * ROW, 0);
        let head = database.client.read(JOURNAL, 512);
        let word = |place: usize| u64::from_le_bytes(head[place..place + 8].try_into().unwrap());
        let journal = database.client.read(JOURNAL + 512, length);
        if word(0) == sum(&journal) {
            while at < length {
                let bytes = &journal[at as usize..(at + ROW) as usize];
                let number = u64::from_le_bytes(bytes[..8].try_into().unwrap());
                database.client.write(number * ROW, bytes);
                at += ROW;
            }
            database.flush();
        }
        database
    }

    fn flush(&mut self) {
        self.client.ask(Ask { kind: code::FLUSH, ..Ask::default() }, &[]);
        assert_eq!(self.client.reply(), (0, 0));
    }

    /// Sets rows to a version. `committed` is told once it would survive.
    fn transact(&mut self, first: u64, new: u64, committed: impl FnOnce()) {
        let rows: Vec<(u64, Vec<u8>)> =
            (0..CHANGED).map(|step| (first + step * 11) % ROWS).map(|number| (number, row(number, new))).collect();
        let journal: Vec<u8> = rows.iter().flat_map(|(_, bytes)| bytes.iter().copied()).collect();
        let mut head = vec![0; 512];
        head[..8].copy_from_slice(&sum(&journal).to_le_bytes());
        self.client.write(JOURNAL + 512, &journal);
        self.client.write(JOURNAL, &head);
        self.flush();
        committed();
        // Several at once, as databases do.
        for (number, bytes) in &rows {
            let ask = Ask { kind: code::WRITE, cookie: *number, offset: number * ROW, length: ROW, ..Ask::default() };
            self.client.ask(ask, bytes);
        }
        for _ in &rows {
            assert_eq!(self.client.reply().0, 0);
        }
        self.flush();
    }

    fn versions(&mut self) -> Vec<Option<u64>> {
        (0..ROWS).map(|number| version(number, &self.client.read(number * ROW, ROW))).collect()
    }
}

/// Runs transactions, cuts the power in the middle of one, and opens again. Gives rows that are not as committed, or corrupt.
fn lost_after_a_cut(seed: u64, lies: bool) -> usize {
    let settings = EmulationSettings { seed, lie_about_flush: lies, ..memory() };
    let served = Served::with(&free(), &settings);
    let mut expected = vec![0; ROWS as usize];
    let mut database = Database::open(&served.socket());
    for number in 0..ROWS {
        database.client.write(number * ROW, &row(number, 0));
    }
    database.flush();
    let whole = 3 + seed % 5;
    for new in 1..=whole {
        let first = new * 7 + seed;
        database.transact(first, new, || {});
        (0..CHANGED).for_each(|step| expected[((first + step * 11) % ROWS) as usize] = new);
    }
    // One more, of which a part was written: not committed, so that either is right.
    let first = (whole + 1) * 7 + seed;
    let halfway = seed % 3;
    let half: Vec<u8> = (0..CHANGED).flat_map(|step| row((first + step * 11) % ROWS, whole + 1)).collect();
    if halfway > 0 {
        database.client.write(JOURNAL + 512, &half);
    }
    if halfway > 1 {
        let mut head = vec![0; 512];
        head[..8].copy_from_slice(&sum(&half).to_le_bytes());
        database.client.write(JOURNAL, &head);
    }
    let changed = served.emulation.change(&Change::PowerCut { seed }).unwrap();
    assert!(changed.losses.unwrap().writes >= halfway && changed.closed == 1);
    assert!(database.client.is_closed());
    let found = Database::open(&served.socket()).versions();
    let touched: Vec<u64> = (0..CHANGED).map(|step| (first + step * 11) % ROWS).collect();
    // All of it or nothing of it.
    let done = touched.iter().filter(|number| found[**number as usize] == Some(whole + 1)).count();
    let partly = usize::from(done > 0 && done < touched.len());
    if done == touched.len() {
        for number in &touched {
            expected[*number as usize] = whole + 1;
        }
    }
    partly + found.iter().zip(&expected).filter(|(found, expected)| **found != Some(**expected)).count()
}

#[test]
fn what_was_committed_survives_every_cut() {
    for seed in 0..cuts() {
        assert_eq!(lost_after_a_cut(seed, false), 0, "seed {seed}");
    }
}

#[test]
fn a_disk_that_lies_about_flushing_is_found_out() {
    let caught = (0..CUTS).filter(|seed| lost_after_a_cut(*seed, true) > 0).count();
    assert!(caught as u64 > CUTS / 2, "{caught} of {CUTS}");
}

#[test]
fn what_a_cut_takes_depends_on_the_seed_alone() {
    let after = |seed: u64| {
        let served = Served::new(&free());
        let mut client = Client::simple(&served.socket(), "data");
        for number in 0..64 {
            client.write(number * 4_096, &[7; 4_096]);
        }
        served.emulation.change(&Change::PowerCut { seed }).unwrap();
        Client::simple(&served.socket(), "data").read(0, 64 * 4_096)
    };
    assert!(after(3) == after(3) && after(3) != after(4));
}

#[test]
fn a_durable_write_survives_without_a_flush() {
    for seed in 0..20 {
        let served = Served::new(&free());
        let mut client = Client::simple(&served.socket(), "data");
        let fua = 1;
        client.ask(Ask { flags: fua, kind: code::WRITE, offset: 4_096, length: 4_096, ..Ask::default() }, &[8; 4_096]);
        assert_eq!(client.reply(), (0, 0));
        client.write(8_192, &[9; 4_096]);
        served.emulation.change(&Change::PowerCut { seed }).unwrap();
        assert_eq!(Client::simple(&served.socket(), "data").read(4_096, 4_096), [8; 4_096], "seed {seed}");
    }
}

#[test]
fn a_write_to_several_disks_is_one_that_a_cut_takes_or_leaves_on_all_of_them() {
    let stripes = Layout::StripeOfMirrors { columns: 2, copies: 2, interleave: Bytes::kib(64) };
    let mut all = [0; 3];
    for seed in 0..12 {
        let served = Served::new(&environment(stripes, vec![disk(Bytes::mib(64)); 4]));
        let mut client = Client::simple(&served.socket(), "data");
        // Over both columns, and on one of them; always on two copies.
        client.write(0, &vec![1; 128 << 10]);
        client.write(1 << 20, &vec![1; 64 << 10]);
        let losses = served.emulation.change(&Change::PowerCut { seed }).unwrap().losses.unwrap();
        let disks: Vec<Vec<u8>> =
            (0..4).map(|number| Client::simple(&served.socket(), &format!("data/{number}")).read(0, 1 << 20)).collect();
        assert!(disks[0] == disks[1] && disks[2] == disks[3], "copies differ with seed {seed}");
        let mut client = Client::simple(&served.socket(), "data");
        let mut found = [0; 3];
        for (offset, length) in [(0, 128 << 10), (1 << 20, 64 << 10)] {
            let there = client.read(offset, length).iter().map(|byte| u64::from(*byte)).sum::<u64>();
            let fate = if there == 0 { 0 } else { 1 + usize::from(there < length) };
            found[fate] += 1;
            all[fate] += 1;
        }
        assert_eq!((losses.writes, [losses.lost, losses.kept, losses.torn]), (2, found), "seed {seed}");
    }
    assert!(all.iter().all(|count| *count > 0), "each befell some: {all:?}");
}
