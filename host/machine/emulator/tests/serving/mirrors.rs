//! Which copy of a mirror is believed when disks go and come.

use crate::client::{Ask, Client};
use crate::{Served, disk, environment, memory};
use loadline_disk::{EnvironmentSpec, Layout, Place};
use loadline_emulation::{Change, Fault, FaultKind, FaultSelection};
use loadline_emulator::{Backing, ChangeOutcome, ContentsState, EmulationSettings};
use loadline_nbd::command_flag;
use loadline_nbd::request::code;
use loadline_units::{Bytes, Ratio};
use proptest::prelude::*;

const BLOCK: usize = 4_096;

fn begin(served: &Served, on: &str, kind: FaultKind) {
    let fault =
        Fault { on: on.into(), kind, operations: Vec::new(), from: Bytes::ZERO, until: None, share: Ratio::ONE };
    served.emulation.change(&Change::Begin(fault)).unwrap();
}

fn clear(served: &Served, on: &str) -> ChangeOutcome {
    served.emulation.change(&Change::Clear(FaultSelection::On(on.into()))).unwrap()
}

fn clear_all(served: &Served) {
    assert!(served.emulation.change(&Change::Clear(FaultSelection::All)).unwrap().waiting.is_empty());
}

fn client(served: &Served, export: &str) -> Client {
    Client::simple(&served.socket(), export)
}

/// What a block holds, or the error.
fn read(client: &mut Client, offset: u64) -> Result<u8, u32> {
    client.ask(Ask { kind: code::READ, offset, length: BLOCK as u64, ..Ask::default() }, &[]);
    match client.reply().0 {
        0 => {
            let bytes = client.take(BLOCK);
            assert!(bytes.iter().all(|byte| *byte == bytes[0]), "a block of two writes");
            Ok(bytes[0])
        }
        error => Err(error),
    }
}

/// Writes a block and flushes.
fn write(client: &mut Client, offset: u64, byte: u8) -> Result<(), u32> {
    let ask = Ask { kind: code::WRITE, offset, length: BLOCK as u64, ..Ask::default() };
    client.ask(ask, &[byte; BLOCK]);
    let written = client.reply().0;
    client.ask(Ask { kind: code::FLUSH, ..Ask::default() }, &[]);
    match written.max(client.reply().0) {
        0 => Ok(()),
        error => Err(error),
    }
}

fn mirror(copies: u32) -> EnvironmentSpec {
    environment(Layout::Mirror { copies }, vec![disk(Bytes::mib(64)); copies as usize])
}

fn state(served: &Served, export: &str) -> ContentsState {
    served.emulation.view().exports.into_iter().find(|view| view.export == export).unwrap().state
}

#[test]
fn a_copy_that_missed_writes_waits_for_a_current_one() {
    let served = Served::new(&mirror(2));
    let mut data = client(&served, "data");
    write(&mut data, 0, 1).unwrap();
    begin(&served, "data/0", FaultKind::Detached);
    write(&mut data, 0, 2).unwrap();
    assert_eq!(state(&served, "data"), ContentsState::Degraded);
    begin(&served, "data/1", FaultKind::Detached);
    assert_eq!(clear(&served, "data/0").waiting, ["data/0"]);
    assert_eq!([state(&served, "data"), state(&served, "data/0")], [ContentsState::Waiting; 2]);
    assert_eq!(state(&served, "data/1"), ContentsState::Absent);
    assert_eq!(read(&mut data, 0), Err(5));
    assert_eq!(write(&mut data, 0, 3), Err(5));
    data.ask(Ask { kind: code::FLUSH, ..Ask::default() }, &[]);
    assert_eq!(data.reply().0, 5);
    assert_eq!(read(&mut client(&served, "data/0"), 0), Err(5));
    assert!(clear(&served, "data/1").waiting.is_empty());
    for export in ["data", "data/0", "data/1"] {
        assert_eq!(read(&mut client(&served, export), 0), Ok(2), "{export}");
        assert_eq!(state(&served, export), ContentsState::Present);
    }
}

#[test]
fn copies_that_went_without_a_write_between_are_both_current() {
    let served = Served::new(&mirror(2));
    let mut data = client(&served, "data");
    write(&mut data, 0, 1).unwrap();
    begin(&served, "data/0", FaultKind::Detached);
    begin(&served, "data/1", FaultKind::Detached);
    assert_eq!(write(&mut data, 0, 2), Err(5));
    clear(&served, "data/0");
    assert_eq!(read(&mut data, 0), Ok(1));
    write(&mut data, 0, 3).unwrap();
    clear(&served, "data/1");
    assert_eq!(read(&mut client(&served, "data/1"), 0), Ok(3));
}

#[test]
fn faults_on_disk_and_volume_that_end_together_bring_the_newest_back() {
    let served = Served::new(&mirror(2));
    let mut data = client(&served, "data");
    begin(&served, "data/0", FaultKind::Detached);
    write(&mut data, 0, 2).unwrap();
    begin(&served, "data", FaultKind::Detached);
    clear_all(&served);
    for export in ["data", "data/0", "data/1"] {
        assert_eq!(read(&mut client(&served, export), 0), Ok(2), "{export}");
    }
}

#[test]
fn a_lost_copy_is_stale_until_it_was_filled() {
    let served = Served::new(&mirror(3));
    let mut data = client(&served, "data");
    write(&mut data, 0, 1).unwrap();
    begin(&served, "data/0", FaultKind::Lost);
    begin(&served, "data/1", FaultKind::Detached);
    begin(&served, "data/2", FaultKind::Lost);
    assert_eq!(clear(&served, "data/0").waiting, ["data/0"]);
    assert_eq!(clear(&served, "data/2").waiting, ["data/0", "data/2"]);
    assert_eq!(read(&mut data, 0), Err(5));
    clear(&served, "data/1");
    for export in ["data", "data/0", "data/1", "data/2"] {
        assert_eq!(read(&mut client(&served, export), 0), Ok(1), "{export}");
    }
}

#[test]
fn a_disk_of_the_host_is_filled_from_its_copy_elsewhere_after_a_redeployment() {
    let mut environment = mirror(2);
    environment.volumes[0].disks[0].place = Place::Local;
    let served = Served::new(&environment);
    write(&mut client(&served, "data"), 0, 1).unwrap();
    served.emulation.change(&Change::Redeploy).unwrap();
    for export in ["data", "data/0", "data/1"] {
        assert_eq!(read(&mut client(&served, export), 0), Ok(1), "{export}");
    }
    // It waits for that copy where it is away.
    begin(&served, "data/1", FaultKind::Detached);
    assert_eq!(served.emulation.change(&Change::Redeploy).unwrap().waiting, ["data/0"]);
    assert_eq!(read(&mut client(&served, "data"), 0), Err(5));
    clear_all(&served);
    assert_eq!(read(&mut client(&served, "data/0"), 0), Ok(1));
}

#[test]
fn copies_are_alike_after_a_power_cut_that_follows_filling() {
    for seed in 0..8 {
        let served = Served::new(&mirror(2));
        let mut data = client(&served, "data");
        write(&mut data, 0, 1).unwrap();
        begin(&served, "data/0", FaultKind::Detached);
        data.write(0, &[2; BLOCK]);
        clear_all(&served);
        data.write(BLOCK as u64, &[3; BLOCK]);
        served.emulation.change(&Change::PowerCut { seed }).unwrap();
        let all = ["data/0", "data/1"].map(|export| client(&served, export).read(0, 2 * BLOCK as u64));
        assert!(all[0] == all[1], "seed {seed}");
        assert_eq!(all[0][..BLOCK], [2; BLOCK]);
    }
}

#[test]
fn copies_are_alike_the_next_time_whatever_was_away_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let settings = EmulationSettings { backing: Backing::Folder(folder.path().join("disks")), ..memory() };
    let served = Served::with(&mirror(2), &settings);
    let mut data = client(&served, "data");
    write(&mut data, 0, 1).unwrap();
    begin(&served, "data/0", FaultKind::Detached);
    write(&mut data, 0, 2).unwrap();
    begin(&served, "data/1", FaultKind::Detached);
    drop(data);
    served.emulation.end().unwrap();
    let served = Served::with(&mirror(2), &settings);
    for export in ["data", "data/0", "data/1"] {
        assert_eq!(read(&mut client(&served, export), 0), Ok(2), "{export}");
    }
}

#[derive(Debug, Clone)]
enum MirrorAction {
    Detach(u32),
    DetachAll,
    Clear(u32),
    Write(u64, u8),
    Slicing(u64),
}

fn step() -> impl Strategy<Value = MirrorAction> {
    prop_oneof![
        4 => (0u32..6).prop_map(MirrorAction::Detach),
        1 => Just(MirrorAction::DetachAll),
        4 => (0u32..7).prop_map(MirrorAction::Clear),
        6 => (0u64..2, 1u8..).prop_map(|(block, byte)| MirrorAction::Write(block, byte)),
        1 => any::<u64>().prop_map(MirrorAction::Slicing),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn what_is_read_is_what_was_answered_last_or_an_error(
        columns in 1u32..3, copies in 2u32..4, steps in prop::collection::vec(step(), 1..40),
    ) {
        let interleave = Bytes::new(BLOCK as u64);
        let disks = columns * copies;
        let layout = if columns == 1 { Layout::Mirror { copies } } else { Layout::StripeOfMirrors { columns, copies, interleave } };
        let served = Served::new(&environment(layout, vec![disk(Bytes::mib(1)); disks as usize]));
        let mut data = client(&served, "data");
        let mut answered = [0; 2];
        for step in &steps {
            match step {
                MirrorAction::Detach(number) => begin(&served, &format!("data/{}", number % disks), FaultKind::Detached),
                MirrorAction::DetachAll => begin(&served, "data", FaultKind::Detached),
                MirrorAction::Clear(number) if *number == 6 => drop(clear(&served, "data")),
                MirrorAction::Clear(number) => drop(clear(&served, &format!("data/{}", number % disks))),
                MirrorAction::Write(block, byte) => {
                    let (offset, length) = (block * BLOCK as u64, BLOCK as u64);
                    let ask = Ask { flags: command_flag::FUA, kind: code::WRITE, offset, length, ..Ask::default() };
                    data.ask(ask, &[*byte; BLOCK]);
                    if data.reply().0 == 0 {
                        answered[*block as usize] = *byte;
                    }
                }
                MirrorAction::Slicing(seed) => {
                    served.emulation.change(&Change::PowerCut { seed: *seed }).unwrap();
                    data = client(&served, "data");
                }
            }
            for (block, last) in answered.iter().enumerate() {
                let found = read(&mut data, (block * BLOCK) as u64);
                prop_assert!(found == Ok(*last) || found == Err(5), "{found:?} is not {last} after {step:?}");
            }
        }
        clear_all(&served);
        for (block, last) in answered.iter().enumerate() {
            prop_assert_eq!(read(&mut data, (block * BLOCK) as u64), Ok(*last));
        }
        let all: Vec<Vec<u8>> = (0..disks)
            .map(|number| client(&served, &format!("data/{number}")).read(0, 2 * BLOCK as u64))
            .collect();
        for column in all.chunks(copies as usize) {
            prop_assert!(column.iter().all(|copy| *copy == column[0]));
        }
    }
}

/// A folder as it is when whoever uses it is killed.
fn as_killed(folder: &std::path::Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
    }
    copy
}

#[test]
fn a_copy_that_missed_writes_is_not_believed_after_its_emulation_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    let in_folder =
        |path: &std::path::Path| EmulationSettings { backing: Backing::Folder(path.to_owned()), ..memory() };
    let served = Served::with(&mirror(2), &in_folder(folder.path()));
    let mut data = client(&served, "data");
    write(&mut data, 0, 1).unwrap();
    begin(&served, "data/0", FaultKind::Detached);
    write(&mut data, 0, 2).unwrap();
    let detached = as_killed(folder.path());
    clear_all(&served);
    begin(&served, "data/0", FaultKind::Lost);
    let lost = as_killed(folder.path());
    begin(&served, "data/1", FaultKind::Detached);
    assert_eq!(clear(&served, "data/0").waiting, ["data/0"]);
    let waiting = as_killed(folder.path());
    clear_all(&served);
    let whole = as_killed(folder.path());
    for killed in [&detached, &lost, &waiting] {
        let again = Served::with(&mirror(2), &in_folder(killed.path()));
        assert_eq!(again.emulation.caught_up(), ["data/0"]);
        for export in ["data", "data/0", "data/1"] {
            assert_eq!(read(&mut client(&again, export), 0), Ok(2), "{export}");
            assert_eq!(state(&again, export), ContentsState::Present);
        }
        // That is over with.
        let once_more = as_killed(killed.path());
        assert!(Served::with(&mirror(2), &in_folder(once_more.path())).emulation.caught_up().is_empty());
    }
    assert!(Served::with(&mirror(2), &in_folder(whole.path())).emulation.caught_up().is_empty());
}
