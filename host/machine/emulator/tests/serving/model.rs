//! What clients get is what the model says.

use crate::client::{Ask, Client};
use crate::{SEED, Served, environment, limited, memory, slow};
use loadline_disk::{
    Directions, DiskSpec, Enforcement, EnvironmentSpec, HostCache, HostCacheSpec, InitialState, IopsBudget, Latency,
    LatencySpec, Layout, Limit, Machine, Parallelism, Target, VmSpec, VolumeSpec,
};
use loadline_emulation::replay::repeat_requests;
use loadline_emulation::{Change, Fault, FaultKind, Trace};
use loadline_emulator::{EmulationSettings, TraceSettings};
use loadline_nbd::request::code;
use loadline_units::{Bytes, Duration, Iops};

/// Reads of 4 KiB, `depth` at a time, until `count` were answered.
fn closed_loop(client: &mut Client, depth: u64, count: u64) {
    let ask = |number: u64| Ask {
        kind: code::READ,
        cookie: number,
        offset: number % 1_000 * 4_096,
        length: 4_096,
        ..Ask::default()
    };
    for number in 0..depth {
        client.ask(ask(number), &[]);
    }
    for number in depth..count + depth {
        let (error, _) = client.reply();
        assert_eq!(error, 0);
        client.take(4_096);
        if number < count {
            client.ask(ask(number), &[]);
        }
    }
}

#[test]
fn a_modelled_rate_is_the_rate_that_is_delivered() {
    for depth in [64, 512] {
        let served = Served::new(&limited(5_000));
        let mut client = Client::simple(&served.socket(), "data");
        let begun = std::time::Instant::now();
        closed_loop(&mut client, depth, 10_000);
        // The client's own clock: whatever the machine does, no answer comes before its time.
        assert!(begun.elapsed().as_micros() >= 9_999 * 200, "{:?} at depth {depth}", begun.elapsed());
        served.figures(10_000);
        // In the model's time, as long as something is outstanding: a machine too busy to ask changes nothing of that.
        // What comes after a pause is answered at once, so that many pauses leave less than 2 s.
        let busy = served.emulation.accounts()[0].busy.as_s_f64();
        assert!(busy <= 2.0, "10,000 requests at 5,000 IOPS and depth {depth} took {busy} s");
    }
}

/// With 102 ms in the queue, only a machine that stops for longer leaves the disk idle.
#[test]
#[ignore = "long: measures this machine"]
fn a_modelled_rate_is_delivered_all_the_time() {
    let served = Served::new(&limited(5_000));
    closed_loop(&mut Client::simple(&served.socket(), "data"), 512, 10_000);
    let figures = served.figures(10_000).swap_remove(0);
    let iops = figures.iops(served.emulation.accounts()[0].span()).unwrap();
    println!("{iops:.0} IOPS of 5,000");
    assert!((4_950.0..=5_050.0).contains(&iops));
}

/// The shares of an account, and what bound it.
fn held(served: &Served) -> (Vec<&'static str>, &'static str) {
    let held = served.emulation.accounts()[0].shares();
    let sum: f64 = held.shares.iter().map(|share| share.share).sum();
    assert!((sum - 1.0).abs() < 1e-9, "{held:?}");
    (held.shares.iter().map(|share| share.by.name()).collect(), held.bound_by.unwrap().name())
}

#[test]
fn what_holds_requests_is_told() {
    let served = Served::new(&limited(5_000));
    assert!(served.emulation.accounts()[0].shares().shares.is_empty(), "nothing was asked for");
    closed_loop(&mut Client::simple(&served.socket(), "data"), 512, 5_000);
    served.figures(5_000);
    let (shares, bound) = held(&served);
    assert_eq!((shares[0], bound), ("disk-iops", "disk-iops"));
    assert!(shares[1..].iter().all(|other| *other == "idle"), "{shares:?}");

    // So long that a client who is late on a busy machine is idle for less.
    let served = Served::new(&slow(Duration::from_ms(200)));
    let mut client = Client::simple(&served.socket(), "data");
    (0..3).for_each(|_| drop(client.read(0, 512)));
    served.figures(3);
    assert_eq!(held(&served), (vec!["latency", "idle"], "latency"));
    // Whoever thinks longer than the disk takes sets the pace.
    std::thread::sleep(std::time::Duration::from_secs(1));
    client.read(0, 512);
    served.figures(4);
    assert_eq!(held(&served), (vec!["idle", "latency"], "arrival"));

    let served = Served::new(&slow(Duration::from_ms(1)));
    let delay = Fault::of_all("data", FaultKind::Delay(Duration::from_ms(200)));
    served.emulation.change(&Change::Begin(delay)).unwrap();
    let mut client = Client::simple(&served.socket(), "data");
    (0..3).for_each(|_| drop(client.read(0, 512)));
    served.figures(3);
    let (shares, bound) = held(&served);
    assert_eq!((shares[0], bound), ("faults", "faults"));
}

#[test]
fn no_answer_comes_before_its_time() {
    let served = Served::new(&slow(Duration::from_ms(5)));
    let mut client = Client::simple(&served.socket(), "data");
    let begun = std::time::Instant::now();
    for _ in 0..20 {
        client.read(0, 512);
    }
    assert!(begun.elapsed().as_millis() >= 100);
    let figures = served.figures(20).swap_remove(0);
    assert_eq!(figures.latency().quantile(0.5), Some(Duration::from_ms(5)));
    assert_eq!(figures.lateness.count(), 20);
}

/// Two striped disks with bursts of latency behind limits and a cache, and one on its own, all behind one machine.
fn everything() -> EnvironmentSpec {
    let iops = |rate| Some(Directions::Together(IopsBudget::steady(Iops::per_second(rate).unwrap())));
    let latency = LatencySpec { median: Duration::from_us(40), p99: Duration::from_us(400), ..LatencySpec::default() };
    let disk = DiskSpec {
        limit: Limit {
            iops: iops(300_000),
            enforcement: Enforcement::Window { length: Duration::from_ms(5), jitter: Duration::from_ms(1) },
            ..Limit::default()
        },
        latency: Latency { read: latency, write: latency, flush: None },
        parallelism: Parallelism { requests: Some(64), throughput: None },
        ..crate::disk(Bytes::mib(64))
    };
    let mut environment =
        environment(Layout::Stripe { columns: 2, interleave: Bytes::kib(64) }, vec![disk.clone(), disk.clone()]);
    environment.volumes[0].host_cache =
        HostCacheSpec { mode: HostCache::ReadOnly, capacity: Some(Bytes::mib(16)), ..HostCacheSpec::default() };
    environment.volumes.push(VolumeSpec { name: "log".into(), disks: vec![disk], ..VolumeSpec::default() });
    let uncached = Some(Limit { iops: iops(500_000), ..Limit::default() });
    environment.vm = Some(VmSpec { name: "machine".into(), uncached, ..VmSpec::default() });
    environment
}

/// Requests of all kinds, until `count` were answered.
fn mixture(client: &mut Client, depth: u64, count: u64, seed: u64) {
    let mut state = seed;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut kinds = std::collections::HashMap::new();
    let mut batch = Vec::new();
    let (mut asked, mut answered) = (0, 0);
    while answered < count {
        while asked < count && asked - answered < depth {
            let draw = next();
            let (kind, length) = match draw % 64 {
                0 => (code::FLUSH, 0),
                1 => (code::TRIM, 128 << 10),
                2..20 => (code::WRITE, 512),
                20 => (code::READ, 256 << 10),
                _ => (code::READ, 512),
            };
            let offset = if kind == code::FLUSH { 0 } else { (draw >> 8) % 100_000 * 512 };
            let flags = u16::from(kind == code::WRITE && draw & 128 != 0);
            batch.extend(client.bytes(Ask { flags, kind, cookie: asked, offset, length }));
            batch.resize(batch.len() + if kind == code::WRITE { 512 } else { 0 }, 1);
            kinds.insert(asked, if kind == code::READ { length } else { 0 });
            asked += 1;
        }
        client.put(&batch);
        batch.clear();
        // At least half of them, so that requests go in batches, as they do in practice.
        for _ in 0..((asked - answered) / 2).max(1) {
            let (error, cookie) = client.reply();
            assert_eq!(error, 0);
            client.take(kinds.remove(&cookie).unwrap() as usize);
            answered += 1;
        }
    }
}

#[test]
fn a_million_requests_replayed_complete_at_the_same_nanosecond() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    let trace = Some(TraceSettings { path: path.clone(), about: "a test".into() });
    let environment = everything();
    let served = Served::with(&environment, &EmulationSettings { trace, ..memory() });
    std::thread::scope(|scope| {
        for (number, export) in ["data", "data", "log", "data/1"].into_iter().enumerate() {
            let socket = served.socket();
            scope.spawn(move || mixture(&mut Client::simple(&socket, export), 256, 250_000, number as u64 + 1));
        }
    });
    served.figures(1_000_000);
    served.emulation.end().unwrap();
    let trace = Trace::read(std::io::BufReader::new(std::fs::File::open(&path).unwrap())).unwrap();
    assert_eq!(trace.records.len(), 1_000_000);
    assert_eq!(trace.exports, ["data", "log", "data/0", "data/1", "log/0"]);
    let mut machine = Machine::new(&environment, SEED, InitialState::default()).unwrap();
    let targets: Vec<Target> = trace.exports.iter().map(|name| machine.target(name).unwrap()).collect();
    let replayed = repeat_requests(&mut machine, &targets, &trace.records);
    for (record, completed_at) in trace.records.iter().zip(&replayed) {
        assert_eq!(record.completed_at, Some(*completed_at), "{record:?}");
    }
    // Another seed is another disk: the test can fail.
    let mut other = Machine::new(&environment, SEED + 1, InitialState::default()).unwrap();
    assert_ne!(repeat_requests(&mut other, &targets, &trace.records), replayed);
}

#[test]
fn what_is_under_way_at_the_end_is_recorded_as_not_completed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    let trace = Some(TraceSettings { path: path.clone(), about: String::new() });
    let served = Served::with(&slow(Duration::from_s(100)), &EmulationSettings { trace, ..memory() });
    let mut client = Client::simple(&served.socket(), "data");
    client.ask(Ask { kind: code::READ, offset: 4_096, length: 1_024, ..Ask::default() }, &[]);
    // The next answer comes after the request was handed over.
    client.ask(Ask { kind: 77, ..Ask::default() }, &[]);
    client.reply();
    served.emulation.end().unwrap();
    let trace = Trace::read(std::fs::File::open(&path).unwrap()).unwrap();
    let [record] = trace.records[..] else { panic!("{trace:?}") };
    assert_eq!((record.completed_at, record.offset, record.length), (None, 4_096, 1_024));
}
