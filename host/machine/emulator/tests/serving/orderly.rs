//! Clients that keep to the protocol.

use crate::client::{Ask, Client};
use crate::{Served, disk, environment, free, memory};
use loadline_disk::Layout;
use loadline_emulator::{Backing, EmulationSettings};
use loadline_nbd::request::code;
use loadline_units::Bytes;

#[test]
fn a_disk_shows_its_share_of_a_stripe() {
    let layout = Layout::Stripe { columns: 2, interleave: Bytes::kib(64) };
    let served = Served::new(&environment(layout, vec![disk(Bytes::mib(64)); 2]));
    let mut volume = Client::simple(&served.socket(), "data");
    let bytes: Vec<u8> = (0..4 * (64 << 10)).map(|at| (at >> 16) as u8 + 1).collect();
    volume.write(0, &bytes);
    for (name, pieces) in [("data/0", [1, 3]), ("data/1", [2, 4])] {
        let mut member = Client::simple(&served.socket(), name);
        let found = member.read(0, 128 << 10);
        assert!(found[..64 << 10].iter().all(|byte| *byte == pieces[0]), "{name}");
        assert!(found[64 << 10..].iter().all(|byte| *byte == pieces[1]), "{name}");
        // What is written to the disk is in the volume.
        member.write(64 << 10, &[9; 512]);
    }
    assert_eq!(volume.read(128 << 10, 512), [9; 512]);
    assert_eq!(volume.read(192 << 10, 512), [9; 512]);
}

#[test]
fn every_disk_of_a_mirror_has_everything() {
    let served = Served::new(&environment(Layout::Mirror { copies: 2 }, vec![disk(Bytes::mib(64)); 2]));
    Client::simple(&served.socket(), "").write(4_096, &[5; 4_096]);
    for name in ["data/0", "data/1"] {
        assert_eq!(Client::simple(&served.socket(), name).read(4_096, 4_096), [5; 4_096]);
    }
}

#[test]
fn contents_in_a_folder_outlive_the_emulation() {
    let folder = tempfile::tempdir().unwrap();
    let settings = EmulationSettings { backing: Backing::Folder(folder.path().join("disks")), ..memory() };
    let layout = Layout::Stripe { columns: 2, interleave: Bytes::kib(64) };
    let environment = environment(layout, vec![disk(Bytes::mib(64)); 2]);
    let bytes: Vec<u8> = (0..1 << 20).map(|at: u32| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let served = Served::with(&environment, &settings);
    Client::simple(&served.socket(), "data").write(1 << 20, &bytes);
    served.emulation.end().unwrap();
    let served = Served::with(&environment, &settings);
    assert!(Client::simple(&served.socket(), "data").read(1 << 20, 1 << 20) == bytes);
}

#[test]
fn memory_that_is_used_up_is_no_space_and_nothing_worse() {
    let settings = EmulationSettings { backing: Backing::Memory { max: Bytes::mib(2) }, ..memory() };
    let served = Served::with(&free(), &settings);
    let mut client = Client::simple(&served.socket(), "data");
    client.write(0, &vec![1; 1 << 20]);
    client.ask(Ask { kind: code::WRITE, offset: 4 << 20, length: 2 << 20, ..Ask::default() }, &vec![2; 2 << 20]);
    assert_eq!(client.reply(), (28, 0));
    assert_eq!(client.read(0, 4_096), [1; 4_096]);
    client.ask(Ask { kind: code::TRIM, length: 64 << 20, ..Ask::default() }, &[]);
    assert_eq!(client.reply(), (0, 0));
    assert_eq!(served.emulation.memory(), Bytes::ZERO);
    client.write(4 << 20, &vec![2; 1 << 20]);
}

#[test]
fn who_was_told_of_no_blocks_may_ask_for_any_bytes() {
    let served = Served::new(&free());
    let mut client = Client::simple(&served.socket(), "data");
    let mut expected = vec![0_u8; 64 << 20];
    let mut state = 88_172_645_463_325_252_u64;
    let mut draw = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    for round in 0..400_u64 {
        // Now and then more than those who were told may carry.
        let longest = if round % 100 == 99 { 40 << 20 } else { 20_000 };
        let length = 1 + draw(longest);
        let offset = draw((64 << 20) - length);
        let range = offset as usize..(offset + length) as usize;
        match draw(4) {
            0 => {
                client.ask(Ask { kind: code::TRIM, offset, length, cookie: round, ..Ask::default() }, &[]);
                assert_eq!(client.reply(), (0, round));
                expected[range].fill(0);
            }
            1 => assert!(client.read(offset, length) == expected[range], "{length} bytes at {offset}"),
            _ => {
                let bytes: Vec<u8> = (0..length).map(|at| (at % 251) as u8 ^ round as u8).collect();
                client.write(offset, &bytes);
                expected[range].copy_from_slice(&bytes);
            }
        }
    }
    assert!(client.read(0, 64 << 20) == expected);
}

#[test]
fn large_reads_come_whole_and_others_are_answered_meanwhile() {
    let served = Served::new(&free());
    let mut client = Client::simple(&served.socket(), "data");
    let bytes: Vec<u8> = (0..8 << 20).map(|at: u32| (at >> 12) as u8).collect();
    client.write(0, &bytes);
    for cookie in 0..3 {
        client.ask(Ask { kind: code::READ, cookie, length: 8 << 20, ..Ask::default() }, &[]);
    }
    assert_eq!(Client::simple(&served.socket(), "data").read(4_096, 512), [1; 512]);
    for cookie in 0..3 {
        assert_eq!(client.reply(), (0, cookie));
        assert!(client.take(8 << 20) == bytes);
    }
}

#[test]
fn extended_headers_work_from_end_to_end() {
    let served = Served::new(&environment(Layout::Single, vec![disk(Bytes::gib(64))]));
    let mut client = Client::extended(&served.socket(), "data");
    client.ask(Ask { kind: code::WRITE, cookie: 1, offset: 8_192, length: 4_096, ..Ask::default() }, &[7; 4_096]);
    let chunk = client.chunk();
    assert_eq!((chunk.kind, chunk.cookie, chunk.offset, chunk.data.len()), (0, 1, 8_192, 0));
    client.ask(Ask { kind: code::READ, cookie: 2, offset: 8_192, length: 512, ..Ask::default() }, &[]);
    let chunk = client.chunk();
    assert_eq!((chunk.kind, chunk.offset), (1, 8_192));
    assert_eq!(chunk.data, [&8_192u64.to_be_bytes()[..], &[7; 512]].concat());
    // One question about far more than 32 bits hold.
    client.ask(Ask { kind: code::BLOCK_STATUS, cookie: 3, length: 64 << 30, ..Ask::default() }, &[]);
    let chunk = client.chunk();
    let extent = |length: u64, state: u64| [length.to_be_bytes(), state.to_be_bytes()].concat();
    let expected = [extent(8_192, 3), extent(4_096, 0), extent((64 << 30) - 12_288, 3)].concat();
    assert_eq!((chunk.kind, &chunk.data[..8]), (6, &[0, 0, 0, 1, 0, 0, 0, 3][..]));
    assert_eq!(chunk.data[8..], expected);
    // And one trim of everything.
    client.ask(Ask { kind: code::TRIM, cookie: 4, length: 64 << 30, ..Ask::default() }, &[]);
    assert_eq!(client.chunk().kind, 0);
    client.ask(Ask { kind: code::READ, cookie: 5, offset: 8_192, length: 512, ..Ask::default() }, &[]);
    assert_eq!(client.chunk().data[8..], [0; 512]);
    client.ask(Ask { kind: code::READ, cookie: 6, offset: 1, length: 512, ..Ask::default() }, &[]);
    let chunk = client.chunk();
    assert_eq!((chunk.kind, &chunk.data[..4]), (0x8001, &22u32.to_be_bytes()[..]));
}

#[test]
fn good_bye_waits_for_what_was_asked() {
    let served = Served::new(&crate::slow(loadline_units::Duration::from_ms(50)));
    let mut client = Client::simple(&served.socket(), "data");
    for cookie in 0..8 {
        client.ask(Ask { kind: code::READ, cookie, length: 512, ..Ask::default() }, &[]);
    }
    client.ask(Ask { kind: code::DISCONNECT, ..Ask::default() }, &[]);
    for cookie in 0..8 {
        assert_eq!(client.reply(), (0, cookie));
        client.take(512);
    }
    assert!(client.is_closed());
}

#[test]
fn a_spinning_emulation_answers_the_same() {
    let slow = crate::slow(loadline_units::Duration::from_us(700));
    let served = Served::with(&slow, &EmulationSettings { spin: true, ..memory() });
    let mut clients: Vec<Client> = (0..4).map(|_| Client::simple(&served.socket(), "data")).collect();
    for round in 0..50 {
        for (number, client) in clients.iter_mut().enumerate() {
            let offset = (number as u64) << 20;
            client.ask(
                Ask { kind: code::WRITE, cookie: round, offset, length: 1 << 16, ..Ask::default() },
                &vec![7; 1 << 16],
            );
        }
        for client in &mut clients {
            assert_eq!(client.reply(), (0, round));
        }
    }
    // A client that takes its answers late needs the thread that spins for something else.
    for cookie in 0..64 {
        clients[0].ask(Ask { kind: code::READ, cookie, length: 1 << 16, ..Ask::default() }, &[]);
    }
    std::thread::sleep(std::time::Duration::from_millis(20));
    for cookie in 0..64 {
        assert_eq!(clients[0].reply(), (0, cookie));
        assert!(clients[0].take(1 << 16) == vec![7; 1 << 16]);
    }
}

#[test]
fn tcp_serves_the_same() {
    let mut served = Served::new(&free());
    let address = served.emulation.listen_tcp("127.0.0.1:0".parse().unwrap()).unwrap();
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let mut greeting = [0; 18];
    std::io::Read::read_exact(&mut stream, &mut greeting).unwrap();
    assert_eq!(&greeting[..8], b"NBDMAGIC");
}

#[test]
fn the_socket_is_gone_at_the_end_and_one_left_behind_is_replaced() {
    let served = Served::new(&free());
    let socket = served.socket();
    let taken = served.folder.path().join("file");
    std::fs::write(&taken, "mine").unwrap();
    let mut other = loadline_emulator::Emulation::start(&free(), &memory()).unwrap();
    assert!(matches!(other.listen_unix(&socket), Err(loadline_emulator::ListenError::Busy(_))));
    assert!(matches!(other.listen_unix(&taken), Err(loadline_emulator::ListenError::Taken(_))));
    served.emulation.end().unwrap();
    assert!(!socket.exists());
    // As a killed one leaves it.
    std::fs::create_dir_all(socket.parent().unwrap()).unwrap();
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    other.listen_unix(&socket).unwrap();
    Client::simple(&socket, "data").write(0, &[1; 512]);
    std::fs::remove_dir_all(socket.parent().unwrap()).unwrap();
}
