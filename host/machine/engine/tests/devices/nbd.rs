//! Exports of NBD servers as targets: a server made here, which fails as it is told to, and real ones.

use crate::nbd_server::{Behaviour, FLUSH, FUA, READ_ONLY, Server, TRIM, WRITE};
use crate::trials::{closed, run, short, take_over};
use loadline_block::{ErrorKind, Operation};
use loadline_engine::{
    Access, Control, EngineChoice, EngineError, EngineOptions, Filling, Need, Past, Remedy, TargetError, Volume, fill,
    run_trial, verify_only,
};
use loadline_record::{Ending, EngineName, TargetKind, TrialRecord, VerifyFaultKind};
use loadline_units::{Bytes, Duration, Iops, Ratio};
use loadline_workload::{Arrival, BlockShare, FlushCadence, FlushMethod, LoadSpec};
use std::net::ToSocketAddrs;
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::Instant;

fn mixed(queue_depth: u32) -> LoadSpec {
    LoadSpec { reads: Ratio::percent(50), arrival: closed(queue_depth), duration: Duration::from_s(1), ..short() }
}

fn blocks(of: &[u64]) -> Vec<BlockShare> {
    let (share, first) = (1_000_000 / of.len() as u32, 1_000_000 % of.len() as u32);
    let share = |at: usize| Ratio::ppm(if at == 0 { share + first } else { share }).unwrap();
    of.iter().enumerate().map(|(at, kib)| BlockShare { size: Bytes::kib(*kib), share: share(at) }).collect()
}

fn go(volume: &mut Volume, spec: &LoadSpec) -> TrialRecord {
    run(volume, spec, EngineChoice::Auto)
}

fn complete(record: &TrialRecord) {
    assert_eq!((&record.ending, record.errors_total()), (&Ending::Complete, 0), "{:?}", record.error_samples);
    assert!(record.count() > 0);
}

fn refused(target: &str, need: &Need, access: &Access) -> TargetError {
    Volume::open("data", target, need, access).unwrap_err()
}

fn handed(target: &str) -> Access {
    Access { overwrite: vec![target.to_owned()], ..Access::default() }
}

fn writing() -> Need {
    Need { files: 1, writes: true, ..Need::default() }
}

#[test]
fn replies_may_come_in_any_order_and_in_any_pieces() {
    for chopped in [false, true] {
        let server = Server::new(Behaviour { chopped, ..Behaviour::default() });
        let mut volume = take_over(&server.uri());
        assert_eq!((volume.facts.kind, volume.size()), (TargetKind::Nbd, Bytes::mib(16)));
        assert_eq!(volume.handed_over(), [server.uri()]);
        for sizes in [[4, 8].as_slice(), &[4, 64, 512]] {
            let spec = LoadSpec { verify: true, blocks: blocks(&[sizes[sizes.len() - 1]]), ..mixed(16) };
            let record = go(&mut volume, &spec);
            complete(&record);
            assert_eq!(record.engine.name, EngineName::Nbd);
            let verified = record.verify.clone().unwrap();
            assert!(verified.blocks_checked > 0 && verified.faults_total == 0, "{:?}", verified.faults);
            // What one flush made durable was written over other connections.
            let streams = &verified.streams;
            assert!(streams.iter().all(|stream| stream.durable == stream.acknowledged), "{streams:?}");
            complete(&go(&mut volume, &LoadSpec { blocks: blocks(sizes), ..mixed(16) }));
        }
    }
}

#[test]
fn what_reaches_the_server_is_what_was_asked() {
    let server = Server::new(Behaviour::default());
    let mut volume = take_over(&server.uri());
    // A connection that is made anew is looked at first.
    complete(&go(&mut volume, &LoadSpec { threads: 2, ..short() }));
    let before = server.counts();
    let spec = LoadSpec {
        reads: Ratio::percent(25),
        trims: Ratio::percent(25),
        flush: Some(FlushCadence { every: 4, how: FlushMethod::Fdatasync }),
        arrival: closed(4),
        threads: 2,
        ..short()
    };
    let record = go(&mut volume, &spec);
    complete(&record);
    let asked = |operation| record.surroundings.asked[&operation].0;
    let counts: Vec<u64> = server.counts().iter().zip(before).map(|(now, before)| now - before).collect();
    let told = [Operation::Read, Operation::Write, Operation::Flush, Operation::Trim].map(asked);
    assert_eq!([counts[0], counts[1], counts[3], counts[4]], told);
    assert!(told.iter().all(|count| *count > 0), "{told:?}");
    assert_eq!(server.durable_writes(), 0);

    let flush = Some(FlushCadence { every: 2, how: FlushMethod::Fua });
    let record = go(&mut volume, &LoadSpec { reads: Ratio::ZERO, flush, ..short() });
    complete(&record);
    let writes = record.surroundings.asked[&Operation::Write].0;
    assert!(server.durable_writes().abs_diff(writes / 2) <= 1, "{} of {writes}", server.durable_writes());
}

#[test]
fn every_arrival_is_answered_or_missed_and_filling_is_durable() {
    let server = Server::new(Behaviour::default());
    let mut volume = take_over(&server.uri());
    let report =
        fill(&mut volume, Bytes::mib(16), 1, Filling::default(), EngineOptions::default(), &Control::new()).unwrap();
    assert!(report.complete && report.bytes == Bytes::mib(16));
    assert_eq!((server.counts()[1], server.counts()[3]), (16, 1));
    assert!(server.memory().chunks(512).all(|sector| sector.iter().any(|byte| *byte != 0)));
    let rate = Iops::per_second(500).unwrap();
    let record = go(&mut volume, &LoadSpec { arrival: Arrival::Poisson { rate }, ..mixed(1) });
    complete(&record);
    let answered: u64 = record.operations.values().map(|kept| kept.latency.count()).sum();
    let offered = record.offered_iops.unwrap() * record.measured_ns as f64 / 1e9;
    assert!((offered - (answered + record.missed) as f64).abs() < 0.5, "{offered}: {answered}, {}", record.missed);
}

#[test]
fn a_server_of_short_requests_is_filled_with_such() {
    let server = Server::new(Behaviour { blocks: Some((512, 96 << 10)), ..Behaviour::default() });
    let mut volume = take_over(&server.uri());
    let report =
        fill(&mut volume, Bytes::mib(16), 1, Filling::default(), EngineOptions::default(), &Control::new()).unwrap();
    assert!(report.complete && report.bytes == Bytes::mib(16));
    assert_eq!(server.counts()[WRITE], 256);
}

#[test]
fn caches_that_cannot_be_dropped_are_told() {
    let server = Server::new(Behaviour::default());
    let mut volume = take_over(&server.uri());
    let record = go(&mut volume, &LoadSpec { drop_caches: true, ..mixed(1) });
    let said = record.surroundings.caches_dropped.unwrap();
    assert!(said.starts_with("what the NBD server caches stays; the machine's caches"), "{said}");
    assert_eq!(server.counts()[3], 1);
}

#[test]
fn a_block_that_changed_behind_the_load_is_found() {
    let server = Server::new(Behaviour::default());
    let mut volume = take_over(&server.uri());
    let spec = LoadSpec { verify: true, volume: Some(Bytes::mib(4)), reads: Ratio::ZERO, ..mixed(4) };
    let record = go(&mut volume, &spec);
    complete(&record);
    drop(volume);
    let written = {
        let mut memory = server.memory();
        let first = memory.chunks(4096).position(|block| block.iter().any(|byte| *byte != 0)).unwrap();
        memory[first * 4096 + 700] ^= 1;
        first as u64 * 4096
    };
    let volume = Volume::open("data", &server.uri(), &Need::default(), &Access::default()).unwrap();
    let past = Past { streams: &record.verify.as_ref().unwrap().streams, ..Past::default() };
    let found = verify_only(&volume, &spec, 0, 1, &past, &Control::new()).unwrap().unwrap();
    assert_eq!(found.faults_total, 1, "{:?}", found.faults);
    assert_eq!((found.faults[0].offset, found.faults[0].kind), (written, VerifyFaultKind::Corrupt));
}

#[test]
fn failures_are_counted_by_kind_and_the_next_trial_works() {
    let server = Server::new(Behaviour::default());
    let mut volume = take_over(&server.uri());
    for (errno, kind) in [(5, ErrorKind::Io), (28, ErrorKind::NoSpace), (1, ErrorKind::Denied), (108, ErrorKind::Gone)]
    {
        server.fails.store(errno, Ordering::Relaxed);
        let record = go(&mut volume, &LoadSpec { duration: Duration::from_s(20), ..mixed(8) });
        let Ending::Failed(why) = &record.ending else { panic!("{:?}", record.ending) };
        assert!(record.errors[&kind] > 0 && why.contains("at offset"), "{:?} {why}", record.errors);
        server.fails.store(0, Ordering::Relaxed);
        complete(&go(&mut volume, &mixed(8)));
    }
}

#[test]
fn a_server_that_goes_away_ends_the_trial_and_is_found_again() {
    let server = Server::new(Behaviour::default());
    let mut volume = take_over(&server.uri());
    for nonsense in [false, true] {
        server.nonsense.store(nonsense, Ordering::Relaxed);
        server.leaves_after.store(100, Ordering::Relaxed);
        let record = go(&mut volume, &LoadSpec { duration: Duration::from_s(20), ..mixed(8) });
        assert!(matches!(record.ending, Ending::Failed(_)), "{:?}", record.ending);
        assert_eq!(record.errors.keys().collect::<Vec<_>>(), [&ErrorKind::Gone], "{:?}", record.error_samples);
        server.leaves_after.store(u64::MAX, Ordering::Relaxed);
        complete(&go(&mut volume, &mixed(8)));
    }
    // What it carries then may be somebody's.
    server.leaves_after.store(0, Ordering::Relaxed);
    go(&mut volume, &mixed(1));
    server.leaves_after.store(u64::MAX, Ordering::Relaxed);
    server.memory()[..4].copy_from_slice(b"XFSB");
    let error = run_trial(&mut volume, &mixed(1), 0, 1, EngineOptions::default(), &Control::new()).unwrap_err();
    assert!(error.to_string().contains("another export now, which carries XFS"), "{error}");
    server.memory()[..4].fill(0);
    complete(&go(&mut volume, &mixed(8)));
    // One that came back as another export is not measured as the same.
    server.leaves_after.store(0, Ordering::Relaxed);
    go(&mut volume, &mixed(1));
    server.leaves_after.store(u64::MAX, Ordering::Relaxed);
    server.shrink();
    let error = run_trial(&mut volume, &mixed(1), 0, 1, EngineOptions::default(), &Control::new()).unwrap_err();
    assert!(error.to_string().contains("connect to the NBD server: the server shows another export"), "{error}");
}

#[test]
fn what_a_server_took_with_it_is_no_damage() {
    let server = Server::new(Behaviour { clients: 1, ..Behaviour::default() });
    let mut volume = take_over(&server.uri());
    server.leaves_after.store(100, Ordering::Relaxed);
    let record = go(&mut volume, &LoadSpec { verify: true, duration: Duration::from_s(20), ..mixed(8) });
    assert!(matches!(&record.ending, Ending::Failed(why) if why.contains("at offset")), "{:?}", record.ending);
    let verified = record.verify.unwrap();
    assert_eq!((verified.faults_total, verified.blocks_checked), (0, 0), "{:?}", verified.faults);
    assert!(verified.blocks_unknown > 0);
}

#[test]
fn threads_share_the_connections_that_there_are() {
    let server = Server::new(Behaviour { clients: 3, ..Behaviour::default() });
    let mut volume = take_over(&server.uri());
    for _ in 0..10 {
        complete(&go(&mut volume, &LoadSpec { threads: 3, ..mixed(2) }));
    }
}

#[test]
fn more_threads_than_the_server_takes_clients_are_refused_before_the_load_begins() {
    for (queues, how) in [(true, "lets the next one wait"), (false, "takes no more")] {
        let server = Server::new(Behaviour { clients: 2, queues, ..Behaviour::default() });
        let mut volume = take_over(&server.uri());
        let load = LoadSpec { threads: 4, ..short() };
        for _ in 0..2 {
            let error = loadline_engine::check(&volume, &load, EngineOptions::default()).unwrap_err();
            let said = error.to_string();
            assert!(error.is_lasting(), "{said}");
            assert!(said.contains(&format!("for each of its 4 threads, and its server has 2 and {how}; ")), "{said}");
            assert!(said.contains("fewer threads") && said.contains("--shared"), "{said}");
        }
        complete(&go(&mut volume, &LoadSpec { threads: 2, ..short() }));
        assert_eq!(server.clients.load(Ordering::Relaxed), 2);
    }
}

#[test]
fn a_server_that_has_another_client_is_told_as_that() {
    let server = Server::new(Behaviour { clients: 1, queues: true, ..Behaviour::default() });
    let _first = take_over(&server.uri());
    let said = refused(&server.uri(), &Need::default(), &Access::default()).to_string();
    assert!(said.contains("said nothing for 20 s") && said.contains("--shared"), "{said}");
}

#[test]
fn a_server_that_stops_answering_hangs_nothing() {
    let server = Server::new(Behaviour::default());
    let mut volume = take_over(&server.uri());
    for hang_limit in [Duration::from_s(1), Duration::from_ms(200)] {
        server.mute.store(false, Ordering::Relaxed);
        complete(&go(&mut volume, &mixed(4)));
        server.mute.store(true, Ordering::Relaxed);
        let duration = Duration::from_s(60);
        let record = go(&mut volume, &LoadSpec { hang_limit, duration, ..mixed(4) });
        let Ending::Hung(why) = &record.ending else { panic!("{:?}", record.ending) };
        assert_eq!(record.errors[&ErrorKind::TimedOut], 4, "{why}");
        assert!(record.measured_ns < duration.as_ns(), "it ends before its time: {} ns", record.measured_ns);
    }
}

#[test]
fn a_server_that_takes_one_client_ever_is_measured_over_one_connection() {
    let server = Server::new(Behaviour { clients: 1, flags: FLUSH | FUA | TRIM, ..Behaviour::default() });
    let mut volume = take_over(&server.uri());
    fill(&mut volume, Bytes::mib(16), 1, Filling::default(), EngineOptions::default(), &Control::new()).unwrap();
    for _ in 0..2 {
        let record = go(&mut volume, &LoadSpec { verify: true, ..mixed(8) });
        complete(&record);
        let verified = record.verify.as_ref().unwrap();
        assert_eq!(verified.faults_total, 0, "{:?}", verified.faults);
    }
    assert_eq!(server.clients.load(Ordering::Relaxed), 1);
    // It is left as the protocol says.
    drop(volume);
    server.wait_for(|server| server.counts()[2] == 1);
}

#[test]
fn an_export_is_written_only_when_it_is_handed_over() {
    let server = Server::new(Behaviour::default());
    let uri = server.uri();
    let error = refused(&uri, &writing(), &Access::default());
    assert_eq!(error.remedy(), Some(Remedy::HandOver(vec![uri.clone()])), "{error}");
    assert_eq!(server.clients.load(Ordering::Relaxed), 0, "it was connected to");
    // Another way to write the same name counts; another export does not.
    let other = uri.replace("data", "d%61ta");
    Volume::open("data", &uri, &writing(), &handed(&other)).unwrap();
    let other = uri.replace("data", "log");
    assert!(matches!(refused(&uri, &writing(), &handed(&other)), TargetError::NbdNotHandedOver { .. }));

    // What carries something is named by what it carries, too.
    server.memory()[..4].copy_from_slice(b"XFSB");
    let error = refused(&uri, &writing(), &handed(&uri));
    let TargetError::Signed { signatures, .. } = &error else { panic!("{error}") };
    assert_eq!(signatures[0].kind, "XFS");
    let identities = vec![signatures[0].identity.clone()];
    let access = Access { identities: identities.clone(), ..handed(&uri) };
    let volume = Volume::open("data", &uri, &writing(), &access).unwrap();
    assert_eq!(volume.handed_over(), [uri.clone(), identities[0].clone()]);
    drop(volume);

    // Reading needs nothing, and cannot write.
    let access = Access { read_only: true, ..handed(&uri) };
    let mut volume = Volume::open("data", &uri, &writing(), &access).unwrap();
    let error = run_trial(&mut volume, &mixed(1), 0, 1, EngineOptions::default(), &Control::new()).unwrap_err();
    assert!(matches!(error, EngineError::ReadOnly { .. }), "{error}");
    complete(&go(&mut volume, &short()));
    assert_eq!(server.counts()[WRITE], 0);

    let server = Server::new(Behaviour { flags: READ_ONLY, ..Behaviour::default() });
    let uri = server.uri();
    assert!(matches!(refused(&uri, &writing(), &handed(&uri)), TargetError::NbdReadOnly { .. }));
}

#[test]
fn what_cannot_be_opened_is_told_with_why() {
    let server = Server::new(Behaviour { blocks: Some((4096, 1 << 20)), ..Behaviour::default() });
    let uri = server.uri();
    let said = |target: &str, need: &Need| refused(target, need, &handed(target)).to_string();
    let large = Need { size: Some(Bytes::mib(17)), ..writing() };
    assert!(said(&uri, &large).contains("less than the 17 MiB asked for"));
    let sliver = Need { size: Some(Bytes::new(100)), ..writing() };
    assert!(said(&uri, &sliver).contains("less than 4 KiB"));
    assert!(said(&uri.replace("data", "dat"), &writing()).contains("no export \"dat\""));
    assert!(said(&uri.replace(".sock", ".no"), &writing()).contains("see that its NBD server runs"));
    assert!(said("nbds://localhost/data", &writing()).contains("TLS"));
    assert!(said("nbd+unix:///data", &writing()).contains("?socket=PATH is missing"));
    let empty = Server::new(Behaviour { size: 0, ..Behaviour::default() });
    assert!(said(&empty.uri(), &writing()).contains("is empty"));
    // Blocks smaller than the server's are not looked at by themselves.
    let volume = take_over(&uri);
    assert_eq!(volume.alignment().offset, Bytes::kib(4));
}

#[test]
fn a_load_that_the_server_cannot_carry_is_refused_before_it_begins() {
    let refused = |behaviour: Behaviour, spec: LoadSpec, options: EngineOptions| {
        let server = Server::new(behaviour);
        let mut volume = take_over(&server.uri());
        let error = loadline_engine::check(&volume, &spec, options).unwrap_err();
        assert!(error.is_lasting());
        assert_eq!(
            run_trial(&mut volume, &spec, 0, 1, options, &Control::new()).unwrap_err().to_string(),
            error.to_string()
        );
        error.to_string()
    };
    let plain = || Behaviour { flags: 0, blocks: Some((1, 1 << 16)), ..Behaviour::default() };
    let flush = |how| LoadSpec { flush: Some(FlushCadence { every: 1, how }), ..mixed(1) };
    for (spec, why) in [
        (LoadSpec { buffered: true, ..mixed(1) }, "page cache"),
        (flush(FlushMethod::Fdatasync), "flushes"),
        (flush(FlushMethod::Fua), "FUA"),
        (LoadSpec { trims: Ratio::percent(10), ..mixed(1) }, "trims"),
        (LoadSpec { blocks: blocks(&[128]), ..mixed(1) }, "64 KiB at most; use a smaller block"),
        (LoadSpec { threads: 2, ..mixed(1) }, "threads = 1"),
    ] {
        let said = refused(plain(), spec, EngineOptions::default());
        assert!(said.starts_with("volume data: ") && said.contains(why), "{said}");
    }
    let options = EngineOptions { engine: EngineChoice::IoUring, ..EngineOptions::default() };
    assert!(refused(plain(), mixed(1), options).contains("over a socket"));
    let options = EngineOptions { sqpoll: true, ..EngineOptions::default() };
    assert!(refused(plain(), mixed(1), options).contains("SQPOLL"));
    let odd = LoadSpec { blocks: blocks(&[4]), ..mixed(1) };
    let coarse = Behaviour { blocks: Some((8192, 1 << 20)), ..Behaviour::default() };
    let said = refused(coarse, odd, EngineOptions::default());
    assert!(said.contains("8 KiB; use a larger block") && !said.contains("buffered"), "{said}");
    // Where nothing is written, each thread has a connection of its own.
    let server = Server::new(plain());
    let mut volume = Volume::open("data", &server.uri(), &Need::default(), &Access::default()).unwrap();
    complete(&go(&mut volume, &LoadSpec { threads: 2, ..short() }));
    assert_eq!(server.clients.load(Ordering::Relaxed), 2);
}

/// A server whose queue of clients to take in is full, and stays so while both are there.
fn full(socket: &Path) -> (UnixListener, UnixStream) {
    let listener = UnixListener::bind(socket).unwrap();
    // SAFETY: no pointers are passed. The queue is made as short as it goes, which is one client.
    assert_eq!(unsafe { libc::listen(listener.as_raw_fd(), 0) }, 0);
    (listener, UnixStream::connect(socket).unwrap())
}

#[test]
fn a_server_that_takes_nobody_in_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("x.sock");
    let _server = full(&socket);
    let uri = format!("nbd+unix:///data?socket={}", socket.display());
    let error = refused(&uri, &Need::default(), &Access::default());
    assert!(matches!(error, TargetError::NbdUnreachable { .. }), "{error}");
    let said = error.to_string();
    assert!(said.starts_with(&format!("cannot connect to {uri}: it took nobody in for 10 s")), "{said}");
    assert!(said.ends_with("see that its NBD server runs and listens there"), "{said}");
}

#[test]
fn two_names_of_one_export_overlap() {
    let overlap = loadline_engine::target::overlap;
    assert!(overlap("nbd+unix:///data?socket=/x", "nbd+unix:///d%61ta?socket=/x").is_some());
    assert!(overlap("nbd+unix:///data?socket=/x", "nbd+unix:///log?socket=/x").is_none());
    assert!(overlap("nbd://localhost/a", "nbd://LOCALHOST:10809/a").is_some());
    let server = Server::new(Behaviour::default());
    let detour = server.uri().replace("/x.sock", "/../../tmp/x.sock");
    assert!(overlap(&server.uri(), &detour).is_none());
    let detour = server.uri().replace("/x.sock", "/./x.sock");
    assert!(overlap(&server.uri(), &detour).is_some());
    // A socket is what it is by whichever of its names.
    let socket = server.uri().split_once("socket=").unwrap().1.to_owned();
    let other = |name: &str| server.uri().replace("/x.sock", name);
    let path = |name: &str| Path::new(&socket).with_file_name(name);
    std::os::unix::fs::symlink(&socket, path("link")).unwrap();
    std::fs::hard_link(&socket, path("hard")).unwrap();
    assert!(overlap(&server.uri(), &other("/link")).is_some() && overlap(&other("/hard"), &other("/link")).is_some());
    // An address is what it is in any spelling, and a name leads where its addresses do.
    assert!(overlap("nbd://[::1]/a", "nbd://[0:0::1]:10809/a").is_some());
    let said = overlap("nbd://127.0.0.1:9/a", "nbd://[::ffff:127.0.0.1]:9/a").unwrap();
    assert_eq!(said, "nbd://127.0.0.1:9/a and nbd://[::ffff:127.0.0.1]:9/a both lead to 127.0.0.1:9");
    for (one, other) in [("127.0.0.1/a", "127.0.0.2/a"), ("127.0.0.1/a", "127.0.0.1/b"), ("[::1]/a", "[::1]:9/a")] {
        assert_eq!(overlap(&format!("nbd://{one}"), &format!("nbd://{other}")), None);
    }
    if ("localhost", 9).to_socket_addrs().is_ok_and(|mut all| all.any(|one| one.ip().is_ipv4())) {
        assert!(overlap("nbd://localhost:9/a", "nbd://127.0.0.1:9/a").is_some());
    } else {
        println!("skipped: localhost has no address here");
    }
}

#[test]
fn an_export_is_handed_over_by_any_spelling_of_its_name_and_by_no_other_name() {
    let same = loadline_engine::target::is_same_export;
    assert!(same("nbd://localhost", "nbd://LOCALHOST:10809/") && same("nbd://[::1]/a", "nbd://[0:0::1]/%61"));
    assert!(same("nbd+unix://?socket=no/x%2Ey", "nbd+unix:///?socket=./no/x.y"));
    let here = std::env::current_dir().unwrap();
    let absolute = format!("nbd+unix:///?socket={}/no/x", here.display());
    assert!(same(&absolute, "nbd+unix:///?socket=no/x") && !same(&absolute, "nbd+unix:///?socket=x"));
    // Where a name leads may change.
    assert!(!same("nbd://localhost/a", "nbd://127.0.0.1/a") && !same("nbd://localhost/a", "nbd://localhost/b"));
    assert!(!same("nbd://localhost/a", "a") && !same("a", "a"));
}

/// A real server; killed when it is dropped.
struct Peer(Child);

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn real_servers_are_measured() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    std::fs::File::create(&image).unwrap().set_len(16 << 20).unwrap();
    let socket = |name: &str| folder.path().join(name).display().to_string();
    let (kit, qemu, image) = (socket("kit.sock"), socket("qemu.sock"), image.display().to_string());
    // As it comes, qemu-nbd takes one client and ends with it.
    for (program, arguments, socket) in [
        ("nbdkit", vec!["-f", "-U", &kit, "memory", "16M"], &kit),
        ("qemu-nbd", vec!["-f", "raw", "-k", &qemu, &image], &qemu),
    ] {
        let started = Command::new(program).args(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let Ok(child) = started else {
            println!("skipped: {program} is not installed");
            continue;
        };
        let mut peer = Peer(child);
        let uri = format!("nbd+unix:///?socket={socket}");
        let begun = Instant::now();
        let mut volume = loop {
            match Volume::open("data", &uri, &writing(), &handed(&uri)) {
                Err(TargetError::NbdUnreachable { .. }) if begun.elapsed().as_secs() < 120 => {
                    std::thread::sleep(std::time::Duration::from_millis(10));
                }
                opened => break opened.unwrap(),
            }
        };
        let reading = LoadSpec { threads: 2, ..short() };
        match loadline_engine::check(&volume, &reading, EngineOptions::default()) {
            Ok(()) => complete(&go(&mut volume, &reading)),
            Err(error) => assert!(program == "qemu-nbd" && error.to_string().contains("has 1 and lets"), "{error}"),
        }
        let flush = Some(FlushCadence { every: 8, how: FlushMethod::Fdatasync });
        let trims = Ratio::percent(10);
        for spec in
            [LoadSpec { verify: true, ..mixed(16) }, LoadSpec { blocks: blocks(&[4, 256]), flush, trims, ..mixed(8) }]
        {
            let record = go(&mut volume, &spec);
            complete(&record);
            assert!(record.verify.is_none_or(|verify| verify.faults_total == 0), "{program}");
        }
        drop(volume);
        if program == "qemu-nbd" {
            peer.0.wait().unwrap();
        }
    }
}
