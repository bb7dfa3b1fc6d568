//! What goes wrong on purpose, as clients meet it.

use crate::client::{Ask, Client};
use crate::{SEED, Served, disk, environment, free, limited, memory};
use loadline_block::{ErrorKind, Operation};
use loadline_disk::{EnvironmentSpec, InitialState, Layout, Place};
use loadline_emulation::replay::repeat_trace;
use loadline_emulation::{Change, Fault, FaultKind, FaultSelection, FaultyMachine, RequestEnd, Trace};
use loadline_emulator::{
    CONTROL_CONNECTIONS_MAX, CONTROL_LINE_MAX, ControlAnswer, ControlRequest, EmulationSettings, TraceSettings,
    ask_control,
};
use loadline_nbd::request::code;
use loadline_units::{Bytes, Duration, Ratio};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};

fn fault(on: &str, kind: FaultKind) -> Fault {
    Fault { on: on.into(), kind, operations: Vec::new(), from: Bytes::ZERO, until: None, share: Ratio::ONE }
}

fn begin(served: &Served, on: &str, kind: FaultKind) -> u32 {
    served.emulation.change(&Change::Begin(fault(on, kind))).unwrap().fault.unwrap()
}

fn clear(served: &Served, number: u32) {
    served.emulation.change(&Change::Clear(FaultSelection::Number(number))).unwrap();
}

/// The error of a request.
fn error(client: &mut Client, kind: u16, offset: u64) -> u32 {
    client.ask(
        Ask { kind, offset, length: if kind == code::FLUSH { 0 } else { 512 }, ..Ask::default() },
        match kind {
            code::WRITE => &[9; 512],
            _ => &[],
        },
    );
    let (error, _) = client.reply();
    if kind == code::READ && error == 0 {
        client.take(512);
    }
    error
}

fn mirror() -> EnvironmentSpec {
    environment(Layout::Mirror { copies: 2 }, vec![disk(Bytes::mib(64)); 2])
}

#[test]
fn a_client_that_waits_for_room_under_a_hang_holds_up_neither_a_power_cut_nor_the_end() {
    let layout = Layout::Stripe { columns: 2, interleave: Bytes::kib(64) };
    let served = Served::new(&environment(layout, vec![disk(Bytes::gib(1)); 2]));
    begin(&served, "data", FaultKind::Hang);
    let more_than_there_may_be = || {
        let mut client = Client::simple(&served.socket(), "data");
        for cookie in 0..300 {
            client.ask(Ask { kind: code::TRIM, cookie, length: 1 << 30, ..Ask::default() }, &[]);
        }
        // As many as there may be of such parts: the others wait.
        let begun = std::time::Instant::now();
        while served.emulation.view().exports[0].queue < 250.0 {
            assert!(begun.elapsed().as_secs() < 120, "{:?}", served.emulation.view());
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        client
    };
    let mut client = more_than_there_may_be();
    assert_eq!(served.emulation.change(&Change::PowerCut { seed: 1 }).unwrap().closed, 1);
    assert!(client.is_closed());
    let mut client = more_than_there_may_be();
    served.emulation.end().unwrap();
    assert!(client.is_closed());
}

#[test]
fn a_client_that_leaves_while_a_hang_holds_its_requests_takes_its_thread_along() {
    let layout = Layout::Stripe { columns: 2, interleave: Bytes::kib(64) };
    let served = Served::new(&environment(layout, vec![disk(Bytes::gib(1)); 2]));
    begin(&served, "data", FaultKind::Hang);
    let until = |what: &str, enough: &dyn Fn() -> bool| {
        let begun = std::time::Instant::now();
        while !enough() {
            assert!(begun.elapsed().as_secs() < 120, "{what}: {:?}", served.emulation.view());
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    };
    let mut asked = 0.0;
    // It waits for answers; for room among its requests; among their parts, of which there may be so many.
    for (what, count, under_way, kind, length) in [
        ("answers", 1, 1, code::READ, 512),
        ("requests", 4_200, 4_096, code::READ, 512),
        ("parts", 300, 250, code::TRIM, 1 << 30),
    ] {
        let mut client = Client::simple(&served.socket(), "data");
        for cookie in 0..count {
            client.ask(Ask { kind, cookie, length, ..Ask::default() }, &[]);
        }
        asked += f64::from(under_way);
        until(what, &|| served.emulation.view().exports[0].queue > asked - 0.5);
        assert_eq!(served.emulation.clients(), 1);
        drop(client);
        until(what, &|| served.emulation.clients() == 0);
    }
    // One that only has nothing more to ask waits for its answers.
    let mut client = Client::simple(&served.socket(), "data");
    client.ask(Ask { kind: code::READ, cookie: 7, length: 512, ..Ask::default() }, &[]);
    client.stream.shutdown(std::net::Shutdown::Write).unwrap();
    // Others came and went meanwhile, and the thread looked whether it is still there.
    std::thread::sleep(std::time::Duration::from_millis(300));
    served.emulation.change(&Change::Clear(FaultSelection::All)).unwrap();
    assert_eq!(client.reply(), (0, 7));
}

#[test]
fn a_mirror_survives_a_lost_disk_and_is_whole_again_after_a_new_one_was_filled() {
    let served = Served::new(&mirror());
    let mut client = Client::simple(&served.socket(), "data");
    client.write(0, &[1; 8_192]);
    client.write(32 << 20, &[2; 4_096]);
    let lost = begin(&served, "data/0", FaultKind::Lost);
    assert_eq!(client.read(0, 8_192), [1; 8_192]);
    client.write(4_096, &[3; 4_096]);
    assert_eq!(error(&mut client, code::FLUSH, 0), 0);
    let mut single = Client::simple(&served.socket(), "data/0");
    assert_eq!(error(&mut single, code::READ, 0), 5);
    clear(&served, lost);
    // The new disk has everything, by itself.
    assert_eq!(single.read(0, 4_096), [1; 4_096]);
    assert_eq!(single.read(4_096, 4_096), [3; 4_096]);
    assert_eq!(single.read(32 << 20, 4_096), [2; 4_096]);
    begin(&served, "data/1", FaultKind::Lost);
    assert_eq!(client.read(4_096, 4_096), [3; 4_096]);
    begin(&served, "data/0", FaultKind::Lost);
    assert_eq!(error(&mut client, code::READ, 0), 5);
    served.emulation.change(&Change::Clear(FaultSelection::All)).unwrap();
    assert_eq!(client.read(0, 8_192), [0; 8_192]);
}

#[test]
fn a_stripe_fails_where_its_disk_is_gone_and_a_detached_one_comes_back_with_its_bytes() {
    let layout = Layout::Stripe { columns: 2, interleave: Bytes::kib(64) };
    let served = Served::new(&environment(layout, vec![disk(Bytes::mib(64)); 2]));
    let mut client = Client::simple(&served.socket(), "data");
    client.write(64 << 10, &[4; 512]);
    let gone = begin(&served, "data/1", FaultKind::Detached);
    assert_eq!(error(&mut client, code::READ, 64 << 10), 5);
    assert_eq!(error(&mut client, code::WRITE, 64 << 10), 5);
    assert_eq!(error(&mut client, code::FLUSH, 0), 5);
    assert_eq!(error(&mut client, code::READ, 0), 0);
    clear(&served, gone);
    assert_eq!(client.read(64 << 10, 512), [4; 512]);
}

#[test]
fn a_detached_copy_is_brought_up_to_date() {
    let served = Served::new(&mirror());
    let mut client = Client::simple(&served.socket(), "data");
    client.write(0, &[1; 4_096]);
    client.write(1 << 20, &[1; 4_096]);
    let gone = begin(&served, "data/0", FaultKind::Detached);
    client.write(0, &[2; 4_096]);
    client.ask(Ask { kind: code::TRIM, offset: 1 << 20, length: 4_096, ..Ask::default() }, &[]);
    assert_eq!(client.reply(), (0, 0));
    clear(&served, gone);
    let mut single = Client::simple(&served.socket(), "data/0");
    assert_eq!(single.read(0, 4_096), [2; 4_096]);
    assert_eq!(single.read(1 << 20, 4_096), [0; 4_096]);
}

#[test]
fn no_space_is_told_as_such_and_only_where_it_is_said() {
    let served = Served::new(&free());
    let full = Fault {
        operations: vec![Operation::Write],
        from: Bytes::mib(1),
        ..fault("data", FaultKind::Error(ErrorKind::NoSpace))
    };
    served.emulation.change(&Change::Begin(full)).unwrap();
    let mut client = Client::simple(&served.socket(), "data");
    assert_eq!(error(&mut client, code::WRITE, 0), 0);
    assert_eq!(error(&mut client, code::WRITE, 1 << 20), 28);
    assert_eq!(error(&mut client, code::READ, 1 << 20), 0);
    assert_eq!(served.emulation.figures()[0].errors_total(), 1);
}

#[test]
fn a_hung_disk_holds_its_requests_and_nobody_else() {
    let served = Served::new(&free());
    let hung = begin(&served, "data", FaultKind::Hang);
    let mut waits = Client::simple(&served.socket(), "data");
    waits.ask(Ask { kind: code::READ, cookie: 7, length: 512, ..Ask::default() }, &[]);
    // Connections and their talk go on.
    let _other = Client::simple(&served.socket(), "data");
    waits.stream.set_read_timeout(Some(std::time::Duration::from_millis(50))).unwrap();
    let mut nothing = [0];
    assert!(waits.stream.read(&mut nothing).is_err());
    waits.stream.set_read_timeout(Some(std::time::Duration::from_secs(120))).unwrap();
    clear(&served, hung);
    assert_eq!(waits.reply(), (0, 7));
}

#[test]
fn a_redeployed_machine_finds_the_disk_of_its_host_empty() {
    let mut environment = environment(Layout::Single, vec![disk(Bytes::mib(64))]);
    environment.volumes.push(environment.volumes[0].clone());
    environment.volumes[1].name = "scratch".into();
    environment.volumes[1].disks[0].place = Place::Local;
    let served = Served::new(&environment);
    let mut clients = ["data", "scratch"].map(|name| Client::simple(&served.socket(), name));
    for client in &mut clients {
        client.write(0, &[5; 512]);
    }
    let changed = served.emulation.change(&Change::Redeploy).unwrap();
    assert_eq!((changed.closed, &changed.emptied[..]), (2, &["scratch/0".to_owned()][..]));
    assert!(clients[0].is_closed());
    assert_eq!(Client::simple(&served.socket(), "data").read(0, 512), [5; 512]);
    assert_eq!(Client::simple(&served.socket(), "scratch").read(0, 512), [0; 512]);
}

#[test]
fn what_belongs_to_the_host_is_told_by_the_disks_that_are_there_now() {
    for (before, after) in [(Place::Local, Place::Network), (Place::Network, Place::Local)] {
        let mut environment = environment(Layout::Single, vec![disk(Bytes::mib(64))]);
        environment.volumes[0].disks[0].place = before;
        let served = Served::new(&environment);
        Client::simple(&served.socket(), "data").write(0, &[5; 512]);
        environment.volumes[0].disks[0].place = after;
        served.emulation.change(&Change::Environment(Box::new(environment))).unwrap();
        let emptied = served.emulation.change(&Change::Redeploy).unwrap().emptied;
        let (left, names) = if after == Place::Local { (0, vec!["data/0".to_owned()]) } else { (5, Vec::new()) };
        assert_eq!((emptied, Client::simple(&served.socket(), "data").read(0, 512)), (names, vec![left; 512]));
    }
}

#[test]
fn the_control_socket_answers_line_for_line() {
    let mut served = Served::new(&limited(1_000_000));
    let path = served.folder.path().join("c");
    served.emulation.listen_control(&path).unwrap();
    let change = ControlRequest::Change(Change::Begin(fault("data", FaultKind::Delay(Duration::from_ms(1)))));
    let ControlAnswer::Changed(changed) = ask_control(&path, &change).unwrap() else { panic!("no change") };
    assert_eq!(changed.fault, Some(1));
    let ControlAnswer::Faults(faults) = ask_control(&path, &ControlRequest::Faults).unwrap() else { panic!("no list") };
    assert_eq!((faults.len(), faults[0].text.as_str()), (1, "data: requests take 1 ms longer"));
    let ControlAnswer::Status(view) = ask_control(&path, &ControlRequest::Status).unwrap() else { panic!("no view") };
    let names: Vec<&str> = view.exports.iter().map(|export| export.export.as_str()).collect();
    assert_eq!(names, ["data", "data/0"]);
    // By hand, on one connection, with what makes no sense in between.
    let mut stream = UnixStream::connect(&path).unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    for (asked, answered) in [
        ("\"status\"", "{\"status\":"),
        ("what?", "{\"error\":\"this is no request"),
        ("{\"change\":{\"clear\":{\"number\":9}}}", "{\"error\":\"there is no fault 9"),
        ("{\"change\":{\"clear\":\"all\"}}", "{\"changed\":{\"fault\":null,\"cleared\":[1]"),
    ] {
        stream.write_all(format!("{asked}\n").as_bytes()).unwrap();
        let answer = lines.next().unwrap().unwrap();
        assert!(answer.starts_with(answered), "{asked}: {answer}");
    }
    // A line that is too long costs its answer only, and the last one needs no end.
    stream.write_all(&[&vec![b'x'; CONTROL_LINE_MAX + (1 << 20)][..], b"\n"].concat()).unwrap();
    assert!(lines.next().unwrap().unwrap().starts_with("{\"error\":\"a request is at most 4194304 bytes"));
    stream.write_all(b"\"faults\"").unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "{\"faults\":[]}");
    assert!(lines.next().is_none());
}

#[test]
fn control_connections_that_ask_nothing_keep_nobody_out() {
    let mut served = Served::new(&free());
    let path = served.folder.path().join("c");
    served.emulation.listen_control(&path).unwrap();
    let ask = |stream: &mut UnixStream| {
        stream.set_read_timeout(Some(std::time::Duration::from_secs(120))).unwrap();
        stream.write_all(b"\"faults\"\n").unwrap();
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer).unwrap();
        answer
    };
    let mut idle: Vec<UnixStream> = (0..CONTROL_CONNECTIONS_MAX).map(|_| UnixStream::connect(&path).unwrap()).collect();
    // All are let in; the first is idle longest, but for what it asks now.
    for stream in idle.iter_mut().rev() {
        assert_eq!(ask(stream), "{\"faults\":[]}\n");
    }
    for _ in 0..3 {
        assert!(matches!(ask_control(&path, &ControlRequest::Faults), Ok(ControlAnswer::Faults(_))));
    }
    assert_eq!(ask(&mut idle[0]), "{\"faults\":[]}\n", "it asked last of all");
    let gone = idle.pop().unwrap().read(&mut [0]).unwrap_or(0);
    assert_eq!(gone, 0, "it was idle longest");
}

#[test]
fn a_trace_with_faults_repeats_to_the_nanosecond() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    let trace = Some(TraceSettings { path: path.clone(), about: String::new() });
    let mut environment = environment(Layout::Mirror { copies: 2 }, vec![disk(Bytes::mib(64)); 2]);
    for disk in &mut environment.volumes[0].disks {
        let latency = loadline_disk::LatencySpec {
            median: Duration::from_us(50),
            p99: Duration::from_us(400),
            ..loadline_disk::LatencySpec::default()
        };
        disk.latency = loadline_disk::Latency { read: latency, write: latency, flush: None };
    }
    let served = Served::with(&environment, &EmulationSettings { trace, ..memory() });
    let changes = [
        Change::Begin(Fault { share: Ratio::percent(20), ..fault("data", FaultKind::Error(ErrorKind::Io)) }),
        Change::Begin(fault("data/0", FaultKind::Delay(Duration::from_us(300)))),
        Change::Begin(fault("data/1", FaultKind::Lost)),
        Change::Begin(fault(
            "data",
            FaultKind::Stall { lasting: Duration::from_ms(2), every: Some(Duration::from_ms(5)) },
        )),
        Change::Begin(Fault { share: Ratio::percent(5), ..fault("data", FaultKind::Hang) }),
        Change::Begin(Fault { share: Ratio::percent(50), ..fault("data/0", FaultKind::Hang) }),
        Change::Begin(Fault {
            share: Ratio::percent(50),
            ..fault("data", FaultKind::Stall { lasting: Duration::from_s(3_600), every: None })
        }),
        Change::Clear(FaultSelection::Number(5)),
        Change::Clear(FaultSelection::Number(6)),
        Change::Clear(FaultSelection::Number(7)),
        Change::Begin(fault("data", FaultKind::Delay(Duration::from_s(3_600)))),
        Change::Clear(FaultSelection::On("data".into())),
        Change::Environment(Box::new(environment.clone())),
        Change::Clear(FaultSelection::All),
    ];
    let rounds_done = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for number in 0..2 {
            let (socket, rounds_done) = (served.socket(), &rounds_done);
            scope.spawn(move || {
                let mut client = Client::simple(&socket, "data");
                let kind = [code::READ, code::WRITE][number];
                for round in 0..40 {
                    for cookie in 0..50 {
                        let offset = (round * 50 + cookie) * 512;
                        let data: &[u8] = if kind == code::WRITE { &[1; 512] } else { &[] };
                        client.ask(Ask { kind, cookie, offset, length: 512, ..Ask::default() }, data);
                    }
                    for _ in 0..50 {
                        let (error, _) = client.reply();
                        if kind == code::READ && error == 0 {
                            client.take(512);
                        }
                    }
                    rounds_done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        served.emulation.change(&changes[0]).unwrap();
        // The fault that clients notice has met some of their requests before others follow.
        while rounds_done.load(Ordering::Relaxed) < 8 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        for change in &changes[1..] {
            served.emulation.change(change).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    });
    served.emulation.end().unwrap();
    let trace = Trace::read(BufReader::new(std::fs::File::open(&path).unwrap())).unwrap();
    assert_eq!(trace.changes.len(), changes.len());
    assert_eq!(trace.records.len(), 4_000);
    assert!(trace.records.iter().any(|record| record.error == Some(ErrorKind::Io)));
    let mut model = FaultyMachine::new(&environment, SEED, InitialState::default()).unwrap();
    let repeated = repeat_trace(&mut model, &trace).unwrap();
    for (record, repeated) in trace.records.iter().zip(&repeated) {
        let recorded = record.completed_at.map(|at| RequestEnd { at, error: record.error });
        assert_eq!(recorded, *repeated, "{record:?}");
    }
    // Without what was done it is another story: the test can fail.
    let mut model = FaultyMachine::new(&environment, SEED, InitialState::default()).unwrap();
    assert_ne!(repeat_trace(&mut model, &Trace { changes: Vec::new(), ..trace }).unwrap(), repeated);
}
