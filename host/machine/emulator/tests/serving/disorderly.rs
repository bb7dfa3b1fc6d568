//! Clients that do not keep to the protocol, vanish, or do not read.

use crate::client::{Ask, Client};
use crate::{Served, disk, environment, free, memory, slow};
use loadline_disk::Layout;
use loadline_emulation::{Change, Fault, FaultKind, FaultSelection, Trace};
use loadline_emulator::{EmulationSettings, IN_FLIGHT_BYTES_MAX, IN_FLIGHT_MAX, TraceSettings};
use loadline_nbd::option::code as option_code;
use loadline_nbd::request::code;
use loadline_units::{Bytes, Duration};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

/// That others are served as ever.
fn still_serves(served: &Served) {
    let mut client = Client::simple(&served.socket(), "data");
    client.write(0, &[3; 512]);
    assert_eq!(client.read(0, 512), [3; 512]);
}

/// What is told of so many clients that got no export or lost it.
fn refused(served: &Served, count: usize) -> Vec<String> {
    let begun = std::time::Instant::now();
    let mut told = Vec::new();
    while told.len() < count {
        assert!(begun.elapsed().as_secs() < 120, "not {count}: {told:?}");
        told.extend(served.emulation.take_refused().0.iter().map(ToString::to_string));
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    told
}

#[test]
fn garbage_closes_the_connection_and_nothing_else() {
    let served = Served::new(&free());
    for garbage in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 4_096], &[0; 100]] {
        let mut stream = UnixStream::connect(served.socket()).unwrap();
        stream.write_all(garbage).unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        assert!(rest.len() <= 18, "only the greeting comes");
    }
    let mut client = Client::simple(&served.socket(), "data");
    client.put(&[0xff; 64]);
    assert!(client.is_closed());
    let mut client = Client::simple(&served.socket(), "data");
    client.ask(Ask { kind: code::WRITE, length: u64::from(u32::MAX), ..Ask::default() }, &[]);
    assert!(client.is_closed());
    still_serves(&served);
    // Whoever runs it learns of each.
    let told = refused(&served, 5);
    let me = format!("a client, process {} (", std::process::id());
    assert!(told.iter().all(|told| told.contains(&me)), "{told:?}");
    let count = |what: &str| told.iter().filter(|told| told.contains(what)).count();
    assert_eq!((count("Refused"), count("Dropped"), count("not the beginning of an NBD")), (3, 2, 3), "{told:?}");
    assert_eq!(served.emulation.view().refused_total, 5);
}

#[test]
fn an_export_that_is_not_there_closes_the_oldest_way() {
    let served = Served::new(&free());
    let mut client = Client::greeted(&served.socket());
    client.option(option_code::EXPORT_NAME, b"nothing");
    assert!(client.is_closed());
    assert!(refused(&served, 1)[0].ends_with("it asked for the export \"nothing\", which is not there."));
}

#[test]
fn whoever_looks_and_leaves_or_comes_to_terms_is_not_called_refused() {
    let served = Served::new(&free());
    drop(UnixStream::connect(served.socket()).unwrap());
    let mut client = Client::greeted(&served.socket());
    client.option(option_code::LIST, &[]);
    client.option(option_code::ABORT, &[]);
    assert!(client.is_closed());
    // It would rather encrypt, but goes on without.
    let mut client = Client::greeted(&served.socket());
    client.option(option_code::STARTTLS, &[]);
    client.option(option_code::EXPORT_NAME, b"data");
    client.take(20 + b"there is no TLS here".len());
    client.take(10);
    drop(client);
    // One that insists comes last.
    let mut client = Client::greeted(&served.socket());
    client.option(option_code::STARTTLS, &[]);
    client.option(option_code::ABORT, &[]);
    assert!(client.is_closed());
    assert!(refused(&served, 1)[0].contains("it wants TLS, and there is none here"));
    assert_eq!(served.emulation.view().refused_total, 1);
}

#[test]
fn a_bad_request_is_an_error_and_the_next_one_is_answered() {
    let served = Served::new(&free());
    let mut client = Client::told(&served.socket(), "data");
    client.ask(Ask { kind: code::READ, cookie: 1, offset: 64 << 20, length: 512, ..Ask::default() }, &[]);
    assert_eq!(client.reply(), (22, 1));
    client.ask(Ask { kind: code::WRITE, cookie: 2, offset: 100, length: 512, ..Ask::default() }, &[1; 512]);
    assert_eq!(client.reply(), (22, 2));
    client.ask(Ask { kind: 77, cookie: 3, ..Ask::default() }, &[]);
    assert_eq!(client.reply(), (22, 3));
    assert_eq!(client.read(0, 512), [0; 512]);
}

#[test]
fn whoever_vanishes_leaves_nothing_behind() {
    let served = Served::new(&slow(Duration::from_ms(20)));
    for _ in 0..20 {
        let mut client = Client::simple(&served.socket(), "data");
        for cookie in 0..100 {
            client.ask(Ask { kind: code::READ, cookie, length: 4_096, ..Ask::default() }, &[]);
        }
        // In the middle of a write, too.
        client.ask(Ask { kind: code::WRITE, length: 4_096, ..Ask::default() }, &[1; 100]);
    }
    still_serves(&served);
    let begun = std::time::Instant::now();
    while served.emulation.clients() > 0 {
        assert!(begun.elapsed().as_secs() < 120, "{} threads stay", served.emulation.clients());
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn whoever_does_not_read_holds_up_nobody_and_gets_no_more_memory() {
    let served = Served::new(&free());
    let mut deaf = Client::simple(&served.socket(), "data");
    let ask = Ask { kind: code::READ, length: 1 << 20, ..Ask::default() };
    let one = deaf.bytes(ask);
    deaf.stream.set_nonblocking(true).unwrap();
    // Far more than is taken: the server stops reading at its bound, so that the client's own socket fills up.
    let all = one.repeat(64 << 10);
    let (mut sent, mut idle) = (0, 0);
    // Nothing more is taken for a while; a busy machine may need a minute to take what it is to take.
    while sent < all.len() && (idle < 20 || sent / one.len() < IN_FLIGHT_MAX && idle < 6_000) {
        if let Ok(count) = deaf.stream.write(&all[sent..]) {
            (sent, idle) = (sent + count, 0);
        } else {
            idle += 1;
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
    let (taken, socket) = (sent / one.len(), (1 << 20) / one.len());
    assert!(taken >= IN_FLIGHT_MAX && taken <= IN_FLIGHT_MAX + socket, "{taken} requests were taken");
    for _ in 0..100 {
        still_serves(&served);
    }
    let resident = std::fs::read_to_string("/proc/self/status").unwrap();
    let resident = resident.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kib: u64 = resident.trim().trim_end_matches("kB").trim().parse().unwrap();
    assert!(kib < 1 << 20, "{kib} KiB for 4 GiB of answers that nobody reads");
}

#[test]
fn a_thousand_clients_are_served_at_once() {
    // Both ends of every connection are in this process.
    let wanted = 2_600;
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    if limit.maximum.is_some_and(|most| most < wanted) {
        println!("skipped: this user may not open {wanted} files");
        return;
    }
    let raised = rustix::process::Rlimit { current: Some(wanted), ..limit };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, raised).unwrap();
    let served = Served::new(&slow(Duration::from_ms(1)));
    let mut clients: Vec<Client> = (0..1_000).map(|_| Client::simple(&served.socket(), "data")).collect();
    assert_eq!(served.emulation.clients(), 1_000);
    for round in 0..3 {
        for (number, client) in clients.iter_mut().enumerate() {
            let offset = number as u64 * 512;
            client.ask(
                Ask { kind: code::WRITE, cookie: round, offset, length: 512, ..Ask::default() },
                &[number as u8; 512],
            );
        }
        for client in &mut clients {
            assert_eq!(client.reply(), (0, round));
        }
    }
    assert_eq!(clients[77].read(900 * 512, 512), [(900 % 256) as u8; 512]);
}

#[test]
fn the_end_does_not_wait_for_anybody() {
    let served = Served::new(&slow(Duration::from_s(3_600)));
    let mut waits = Client::simple(&served.socket(), "data");
    waits.ask(Ask { kind: code::READ, length: 512, ..Ask::default() }, &[]);
    waits.ask(Ask { kind: code::DISCONNECT, ..Ask::default() }, &[]);
    let _idle = Client::simple(&served.socket(), "data");
    let _silent = UnixStream::connect(served.socket()).unwrap();
    served.emulation.end().unwrap();
    assert!(waits.is_closed());
}

#[test]
fn bytes_under_way_on_a_connection_are_bounded() {
    const LONG: u64 = 32 << 20;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    let trace = Some(TraceSettings { path: path.clone(), about: String::new() });
    let size = Bytes::new(LONG);
    let served = Served::with(&environment(Layout::Single, vec![disk(size)]), &EmulationSettings { trace, ..memory() });
    let fault = Fault::of_all("data", FaultKind::Hang);
    served.emulation.change(&Change::Begin(fault)).unwrap();
    let mut client = Client::simple(&served.socket(), "data");
    let most = IN_FLIGHT_BYTES_MAX / LONG;
    for cookie in 0..most + 100 {
        client.ask(Ask { kind: code::READ, length: LONG, cookie, ..Ask::default() }, &[]);
    }
    while served.emulation.view().exports[0].queue < most as f64 - 0.5 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    served.emulation.end().unwrap();
    let trace = Trace::read(std::fs::File::open(path).unwrap()).unwrap();
    assert_eq!(trace.records.len() as u64, most);
}

#[test]
fn what_was_done_for_clients_that_vanished_is_counted_as_done() {
    let latency = Duration::from_ms(300);
    let served = Served::new(&slow(latency));
    for ends in [false, true] {
        let mut client = Client::simple(&served.socket(), "data");
        for number in 0..20 {
            let ask = Ask { cookie: number, offset: number * 4_096, length: 4_096, ..Ask::default() };
            client.ask(Ask { kind: code::READ, ..ask }, &[]);
            client.ask(Ask { kind: code::WRITE, ..ask }, &[1; 4_096]);
        }
        if ends {
            // What it asked for before is done all the same.
            client.put(&[0xff; 64]);
        }
        drop(client);
        let figures = served.figures(if ends { 80 } else { 40 }).swap_remove(0);
        assert_eq!(served.emulation.accounts()[0].requests, figures.requests());
        assert_eq!(figures.transferred(), Bytes::new(figures.requests() * 4_096));
        assert_eq!(figures.latency().quantile(0.5), Some(latency));
        assert!(figures.lateness.count() < figures.requests(), "nobody was there for all of them");
    }
}

#[test]
fn when_it_is_closed_what_was_done_and_not_taken_is_counted() {
    let mut served = Served::new(&free());
    let mut client = Client::simple(&served.socket(), "data");
    for cookie in 0..64 {
        client.ask(Ask { kind: code::READ, length: 1 << 20, cookie, ..Ask::default() }, &[]);
    }
    while served.emulation.accounts()[0].requests < 64 {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert!(served.emulation.figures()[0].requests() < 64, "no socket holds so much");
    served.emulation.close();
    let (figures, account) = (served.emulation.figures().swap_remove(0), served.emulation.accounts().swap_remove(0));
    assert_eq!((figures.requests(), figures.errors_total(), account.requests), (64, 0, 64));
    served.emulation.end().unwrap();
}

#[test]
fn a_connection_broken_off_for_a_disk_that_went_away_is_told_and_its_read_failed() {
    let served = Served::new(&free());
    let mut client = Client::simple(&served.socket(), "data");
    client.ask(Ask { kind: code::READ, length: 32 << 20, ..Ask::default() }, &[]);
    client.take(16 + 4_096);
    served.emulation.change(&detached()).unwrap();
    let mut rest = Vec::new();
    assert!(client.stream.read_to_end(&mut rest).is_ok() && rest.len() < 32 << 20);
    let told = refused(&served, 1);
    assert!(told[0].starts_with("Dropped a client") && told[0].contains("a read failed"), "{told:?}");
    let figures = served.figures(1).swap_remove(0);
    assert_eq!((figures.errors_total(), figures.done()), (1, 0));
}

#[test]
fn whoever_takes_chunks_is_told_of_a_disk_that_went_away_in_the_middle_of_a_read_and_stays() {
    const LONG: u64 = 32 << 20;
    let served = Served::new(&free());
    let mut client = Client::extended(&served.socket(), "data");
    client.ask(Ask { kind: code::WRITE, length: 4_096, ..Ask::default() }, &[7; 4_096]);
    client.chunk();
    client.ask(Ask { kind: code::READ, length: LONG, cookie: 5, ..Ask::default() }, &[]);
    // Its answer has begun.
    client.stream.set_read_timeout(None).unwrap();
    let mut first = [0];
    rustix::net::recv(&client.stream, &mut first, rustix::net::RecvFlags::PEEK).unwrap();
    served.emulation.change(&detached()).unwrap();
    let data = client.part();
    assert_eq!((data.kind, data.cookie, data.data.len() as u64), (1, 5, 8 + LONG));
    assert!(data.data[8..8 + 4_096] == [7; 4_096]);
    let error = client.chunk();
    assert_eq!((error.kind, error.cookie, &error.data[..6]), (0x8002, 5, &[0, 0, 0, 5, 0, 0][..]));
    assert!((4_096..LONG).contains(&u64::from_be_bytes(error.data[6..].try_into().unwrap())));
    let figures = served.figures(2).swap_remove(0);
    assert_eq!((figures.errors_total(), figures.done()), (1, 1));
    // It is asked and answered as before when the disk is back.
    served.emulation.change(&Change::Clear(FaultSelection::All)).unwrap();
    client.ask(Ask { kind: code::READ, length: 4_096, cookie: 6, ..Ask::default() }, &[]);
    assert_eq!(client.chunk().data[8..], [7; 4_096]);
    assert_eq!(served.emulation.take_refused().0.len(), 0);
}

fn detached() -> Change {
    Change::Begin(Fault::of_all("data", FaultKind::Detached))
}
