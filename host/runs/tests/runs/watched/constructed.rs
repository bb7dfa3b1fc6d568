//! The applications themselves, each with what limits it.

use super::cases::{Cases, Cause};
use crate::limits::Storage;
use crate::support::applications::{Application, PostgreSql};
use crate::support::devices::{Group, MemoryGroup, Mount, Quota, Swap, run};
use crate::support::emulated::Attached;
use crate::support::environment;
use loadline_disk::{BurstCredits, Fullness};
use loadline_runs::DeclaredEnvironment;
use std::path::Path;

/// Watches a case of this name; `None` where something that it takes is missing.
type WatchCase = Box<dyn FnOnce(&Cases, &str) -> Option<()> + Send>;

/// An application that is to be watched.
pub(super) struct Case {
    pub(super) name: String,
    /// Whether others may be watched beside it.
    pub(super) is_light: bool,
    pub(super) watch: WatchCase,
}

#[derive(Default)]
struct CaseList(Vec<Case>);

impl CaseList {
    fn light(&mut self, name: impl Into<String>, watch: impl FnOnce(&Cases, &str) -> Option<()> + Send + 'static) {
        self.0.push(Case { name: name.into(), is_light: true, watch: Box::new(watch) });
    }
    fn alone(&mut self, name: impl Into<String>, watch: impl FnOnce(&Cases, &str) -> Option<()> + Send + 'static) {
        self.0.push(Case { name: name.into(), is_light: false, watch: Box::new(watch) });
    }
}

const READS: &str = "--rw=randread";
const WRITES: &str = "--rw=randwrite";
/// A disk without limits that takes 2 ms for an answer, and nearly as long to make writes durable.
const SLOW: &str = "size = \"1 GiB\"\n[volume.data.disks.latency]\nread = { median = \"2 ms\", p99 = \"4 ms\" }\n\
                    write = { median = \"2 ms\", p99 = \"4 ms\" }\nflush = { median = \"2 ms\", p99 = \"4 ms\" }\n";
/// One that answers quicker.
const QUICK: &str = "size = \"1 GiB\"\n[volume.data.disks.latency]\nread = { median = \"300 us\", p99 = \"600 us\" }\n\
                     write = { median = \"300 us\", p99 = \"600 us\" }\nflush = { median = \"300 us\", p99 = \"600 us\" }\n";
/// One whose own cache takes writes at once, and which is slow to make them durable.
const SLOW_FLUSH: &str = "size = \"1 GiB\"\n[volume.data.disks.latency]\nread = { median = \"300 us\", p99 = \"600 us\" }\n\
                          write = { median = \"300 us\", p99 = \"600 us\" }\nflush = { median = \"4 ms\", p99 = \"6 ms\" }\n";
const P10: &str =
    "schema = 1\nname = \"p10\"\nvm = \"azure/d4s-v5\"\n[volume.data]\ndisks = [{ sku = \"azure/premium-p10\" }]\n";

/// An environment with one disk in full.
fn one_disk(disk: &str) -> String {
    format!("schema = 1\nname = \"watched\"\n[[volume.data.disks]]\n{disk}")
}

/// Without credits for bursts.
const EMPTY: BurstCredits = BurstCredits { disks: Fullness::Empty, vm: Fullness::Empty };

fn emulated(text: &str, credits: BurstCredits) -> Option<Attached> {
    Attached::new(text, |options| options.credits = credits)
}

fn short(node: &str) -> &str {
    node.trim_start_matches("/dev/")
}

/// fio on a loop device in memory, in a control group with throttles; `limits` are files of the throttle with their rates.
fn throttled(cases: &Cases, case: &str, limits: &[(&str, u64)], arguments: &[&str], truth: Cause) -> Option<()> {
    let storage = Storage::new(1)?;
    let device = &storage.devices[0];
    let all: Vec<_> = limits.iter().map(|(file, rate)| (device, *file, *rate)).collect();
    let group = Group::new(&format!("watched-{}", short(&device.node)), &all)?;
    let _application = group.within(|| Application::fio(&device.node, arguments))?;
    cases.watch(case, &device.node, None, truth);
    Some(())
}

/// fio on an emulated disk, which may be declared.
fn on_emulated(
    cases: &Cases,
    case: &str,
    (text, credits, is_declared): (&str, BurstCredits, bool),
    arguments: &[&str],
    truth: Cause,
) -> Option<()> {
    let disk = emulated(text, credits)?;
    let node = disk.node("data");
    let _application = Application::fio(&node, arguments)?;
    cases.watch(case, &node, is_declared.then(|| DeclaredEnvironment::new(environment(text))), truth);
    Some(())
}

/// fio with a share of a CPU, on a loop device in memory.
fn with_quota(cases: &Cases, case: &str, percent: u64, arguments: &[&str]) -> Option<()> {
    let storage = Storage::new(1)?;
    let node = &storage.devices[0].node;
    let quota = Quota::new(&format!("watched-{}", short(node)), percent)?;
    let _application = quota.within(|| Application::fio(node, arguments))?;
    cases.watch(case, node, None, Cause::of(&["cpu"]).with_words("CPU quota"));
    Some(())
}

/// A file system on an emulated disk, and what an application does there: `start` gets the folder.
fn on_files<T>(
    cases: &Cases,
    case: &str,
    disk: &str,
    start: impl FnOnce(&Path) -> Option<T>,
    truth: Cause,
) -> Option<()> {
    let disk = emulated(&one_disk(disk), BurstCredits::FULL)?;
    let node = disk.node("data");
    run("mkfs.ext4", &["-q", &node])?;
    let mount = Mount::of(&node, disk.emulated.bench.path("mounted"), &[])?;
    let _application = start(&mount.0)?;
    cases.watch(case, &node, None, truth);
    Some(())
}

/// SQLite that commits one row after the other.
fn sqlite(folder: &Path, journal: &str) -> Option<Application> {
    let database = folder.join("rows.db");
    run("sqlite3", &[database.to_str()?, &format!("pragma journal_mode = {journal}; create table rows (a text);")])?;
    let insert = "insert into rows values (hex(randomblob(200)));";
    Application::shell(&format!(
        "(echo 'pragma synchronous = full;'; while :; do echo '{insert}'; done) | sqlite3 {}",
        database.display()
    ))
}

/// PostgreSQL with clients that commit as fast as they can, or at a rate.
fn postgresql(folder: &Path, arguments: &[&str]) -> Option<(PostgreSql, Application)> {
    let server = PostgreSql::create(folder)?;
    server.fill(2);
    let clients = Application::start(&mut server.pgbench(&[&["-T", "300"], arguments].concat()))?;
    Some((server, clients))
}

/// Two volumes behind the budget of one machine, each with fio; both are watched.
fn shared_budget(
    cases: &Cases,
    case: &str,
    budget: &str,
    arguments: &[&str],
    truth: Cause,
    is_declared: bool,
) -> Option<()> {
    let text = |paths: [&str; 2]| {
        let volume = |name: &str, path: &str| {
            format!(
                "[volume.{name}]\n{path}\n[[volume.{name}.disks]]\nsize = \"1 GiB\"\n[volume.{name}.disks.limit]\niops = \"2000 IOPS\"\nthroughput = \"100 MB/s\"\n"
            )
        };
        format!(
            "schema = 1\nname = \"shared\"\n[vm]\nuncached = {{ {budget} }}\n{}{}",
            volume("data", paths[0]),
            volume("log", paths[1])
        )
    };
    let disks = emulated(&text(["", ""]), BurstCredits::FULL)?;
    let nodes = [disks.node("data"), disks.node("log")];
    let paths = nodes.each_ref().map(|node| format!("path = \"{node}\""));
    let declared =
        is_declared.then(|| DeclaredEnvironment::new(environment(&text(paths.each_ref().map(String::as_str)))));
    let both = format!("--filename={}:{}", nodes[0], nodes[1]);
    let application = Application::fio(&nodes[0], &[arguments, &[&both, "--file_service_type=random"]].concat())?;
    application.has_opened(&[&nodes[0], &nodes[1]]);
    cases.watch(case, &application.pid(), declared, truth);
    Some(())
}

/// All of them.
pub(super) fn all() -> Vec<Case> {
    let mut list = CaseList::default();
    throttles(&mut list);
    emulated_disks(&mut list);
    waits(&mut list);
    neighbours(&mut list);
    elsewhere(&mut list);
    small_page_caches(&mut list);
    applications(&mut list);
    swap(&mut list);
    nothing(&mut list);
    list.0
}

fn throttles(list: &mut CaseList) {
    let iops = || Cause::of(&["disk-iops"]).with_words("control group");
    let bytes = || Cause::of(&["disk-throughput"]).with_words("control group");
    for (rate, depth) in [(300_u64, "4"), (900, "16"), (2_000, "32")] {
        list.light(format!("throttle of {rate} reads/s, depth {depth}"), move |cases, case| {
            throttled(cases, case, &[("read_iops_device", rate)], &[READS, "--iodepth", depth], iops())
        });
        list.light(format!("throttle of {rate} writes/s, depth {depth}"), move |cases, case| {
            throttled(cases, case, &[("write_iops_device", rate)], &[WRITES, "--iodepth", depth], iops())
        });
    }
    for (mb, size) in [(5, "16k"), (20, "64k"), (60, "256k")] {
        list.light(format!("throttle of {mb} MB/s of reads, {size}"), move |cases, case| {
            let arguments = [READS, "--iodepth=8", "--bs", size];
            throttled(cases, case, &[("read_bps_device", mb * 1_000_000)], &arguments, bytes())
        });
        list.light(format!("throttle of {mb} MB/s of writes, {size}"), move |cases, case| {
            let arguments = [WRITES, "--iodepth=8", "--bs", size];
            throttled(cases, case, &[("write_bps_device", mb * 1_000_000)], &arguments, bytes())
        });
    }
    list.light("throttles of requests and bytes, the requests reached", move |cases, case| {
        let limits = [("read_iops_device", 400), ("read_bps_device", 20_000_000)];
        throttled(cases, case, &limits, &[READS, "--iodepth=8"], iops())
    });
    list.light("throttles of requests and bytes, the bytes reached", move |cases, case| {
        let limits = [("read_iops_device", 800), ("read_bps_device", 10_000_000)];
        throttled(cases, case, &limits, &[READS, "--iodepth=8", "--bs=64k"], bytes())
    });
    list.light("throttle of writes under a mix", move |cases, case| {
        let arguments = ["--rw=randrw", "--rwmixread=50", "--iodepth=16"];
        throttled(cases, case, &[("write_iops_device", 500)], &arguments, iops())
    });
    list.light("throttle of reads, one at a time", move |cases, case| {
        throttled(cases, case, &[("read_iops_device", 150)], &[READS, "--iodepth=1"], iops())
    });
    list.light("throttle of reads, reached half of the time", move |cases, case| {
        let storage = Storage::new(1)?;
        let device = &storage.devices[0];
        let group = Group::new(&format!("watched-{}", short(&device.node)), &[(device, "read_iops_device", 800)])?;
        let line = format!(
            "while :; do fio --name=app --thread --filename={} --direct=1 --ioengine=libaio --rw=randread --bs=4k \
             --iodepth=16 --number_ios=800 --size=32M; sleep 1; done",
            device.node
        );
        let _application = group.within(|| Application::shell(&line))?;
        cases.watch(case, &device.node, None, iops());
        Some(())
    });
}

fn emulated_disks(list: &mut CaseList) {
    let iops = &["disk-iops"][..];
    // A disk whose credits are gone is at its baseline for as long as it is watched. Declared, it has that name.
    for (what, arguments, names) in [
        ("reads", &[READS, "--iodepth=16"][..], iops),
        ("writes", &[WRITES, "--iodepth=16"], iops),
        ("a mix", &["--rw=randrw", "--iodepth=8"], iops),
        ("reads of 64 KiB", &[READS, "--iodepth=16", "--bs=64k"], iops),
        ("reads of 256 KiB", &[READS, "--iodepth=16", "--bs=256k"], &["disk-throughput"]),
    ] {
        for is_declared in [false, true] {
            let name = format!("P10 without credits, {what}{}", if is_declared { ", declared" } else { "" });
            list.light(name, move |cases, case| {
                let names = if is_declared { &["burst-exhausted"] } else { names };
                on_emulated(cases, case, (P10, EMPTY, is_declared), arguments, Cause::of(names))
            });
        }
    }
    for is_declared in [false, true] {
        let name = format!("P10 with credits{}", if is_declared { ", declared" } else { "" });
        list.alone(name, move |cases, case| {
            let arguments = [READS, "--iodepth=32"];
            on_emulated(cases, case, (P10, BurstCredits::FULL, is_declared), &arguments, Cause::of(&["disk-iops"]))
        });
    }
    list.light("a disk whose credits end meanwhile", move |cases, case| {
        let disk = one_disk(
            "size = \"1 GiB\"\n[volume.data.disks.limit]\niops = \"400 IOPS\"\nburst = { iops = \"1200 IOPS\" }\nburst_span = \"3 s\"\n",
        );
        let arguments = [READS, "--iodepth=16"];
        on_emulated(cases, case, (&disk, BurstCredits::FULL, false), &arguments, Cause::of(&["burst-exhausted"]))
    });
    let random = [READS, "--iodepth=16"];
    for is_declared in [false, true] {
        let declared = if is_declared { ", declared" } else { "" };
        let names: &[&str] = if is_declared { &["vm-uncached-iops"] } else { &["disk-iops", "vm-uncached-iops"] };
        list.light(format!("a machine's requests shared by two disks{declared}"), move |cases, case| {
            shared_budget(
                cases,
                case,
                "iops = \"600 IOPS\", throughput = \"200 MB/s\"",
                &random,
                Cause::of(names),
                is_declared,
            )
        });
        let names: &[&str] =
            if is_declared { &["vm-uncached-throughput"] } else { &["disk-throughput", "vm-uncached-throughput"] };
        list.light(format!("a machine's bytes shared by two disks{declared}"), move |cases, case| {
            let large = [READS, "--iodepth=16", "--bs=128k"];
            shared_budget(
                cases,
                case,
                "iops = \"3000 IOPS\", throughput = \"40 MB/s\"",
                &large,
                Cause::of(names),
                is_declared,
            )
        });
    }
}

fn waits(list: &mut CaseList) {
    for (what, arguments) in [
        ("one read at a time", &[READS, "--iodepth=1"][..]),
        ("two reads at a time", &[READS, "--iodepth=2"]),
        ("four reads at a time", &[READS, "--iodepth=4"]),
        ("eight reads at a time", &[READS, "--iodepth=8"]),
        ("one write at a time", &[WRITES, "--iodepth=1"]),
        ("four writes of 16 KiB at a time", &[WRITES, "--iodepth=4", "--bs=16k"]),
        ("a mix of two jobs", &["--rw=randrw", "--iodepth=1", "--numjobs=2"]),
    ] {
        list.light(format!("answers of 2 ms, {what}"), move |cases, case| {
            on_emulated(cases, case, (&one_disk(SLOW), BurstCredits::FULL, false), arguments, Cause::of(&["latency"]))
        });
    }
    let flush = || Cause::of(&["flush"]);
    for journal in ["delete", "wal"] {
        list.light(format!("SQLite that commits, journal {journal}"), move |cases, case| {
            on_files(cases, case, SLOW_FLUSH, |folder| sqlite(folder, journal), flush())
        });
    }
    list.light("SQLite that commits, writes as slow as flushes", move |cases, case| {
        on_files(cases, case, SLOW, |folder| sqlite(folder, "delete"), flush())
    });
    for clients in ["1", "4"] {
        list.alone(format!("PostgreSQL that commits, {clients} clients"), move |cases, case| {
            on_files(cases, case, SLOW_FLUSH, |folder| postgresql(folder, &["-c", clients, "-N"]), flush())
        });
    }
    for (what, arguments) in [
        ("a file made durable after each write", &["--rw=write", "--fdatasync=1", "--ioengine=psync"][..]),
        (
            "a file made durable after every eighth write",
            &["--rw=write", "--fdatasync=8", "--ioengine=psync", "--direct=0"],
        ),
    ] {
        list.light(what, move |cases, case| {
            let start = |folder: &Path| {
                let arguments = [arguments, &["--size=64M", "--overwrite=1"]].concat();
                Application::fio(folder.join("log").to_str()?, &arguments)
            };
            on_files(cases, case, SLOW_FLUSH, start, flush())
        });
    }
}

fn neighbours(list: &mut CaseList) {
    let slow_application = [READS, "--iodepth=1", "--rate_iops=20"];
    for (what, neighbour) in [
        ("reads", &[READS, "--iodepth=16"][..]),
        ("writes", &[WRITES, "--iodepth=16"]),
        ("reads of 64 KiB", &[READS, "--iodepth=16", "--bs=64k"]),
    ] {
        list.light(format!("a neighbour's {what} on a P10"), move |cases, case| {
            let disk = emulated(P10, EMPTY)?;
            let node = disk.node("data");
            let link = disk.emulated.bench.path("neighbour");
            let _neighbour = Application::fio_named(&link, &node, neighbour)?;
            let application = Application::fio(&node, &slow_application)?;
            application.has_opened(&[&node]);
            cases.watch(case, &application.pid(), None, Cause::of(&["disk-iops"]).with_words("neighbour"));
            Some(())
        });
    }
    list.alone("others want the CPU that the application has", move |cases, case| {
        let storage = Storage::new(1)?;
        let node = &storage.devices[0].node;
        let hog = "while :; do :; done";
        let _others = Application::shell(&format!("for n in 1 2 3 4; do taskset -c 1 sh -c '{hog}' & done; wait"))?;
        let line = format!(
            "exec taskset -c 1 fio --name=app --thread --filename={node} --direct=1 --ioengine=libaio --rw=randread \
             --bs=4k --iodepth=4 --time_based --runtime=300"
        );
        let _application = Application::shell(&line)?;
        cases.watch(case, node, None, Cause::of(&["cpu"]));
        Some(())
    });
}

fn elsewhere(list: &mut CaseList) {
    for (percent, arguments) in [
        (10, &[READS, "--iodepth=4"][..]),
        (20, &[READS, "--iodepth=16"]),
        (15, &[WRITES, "--iodepth=8"]),
        (10, &["--rw=randrw", "--iodepth=2", "--bs=16k"]),
    ] {
        list.alone(format!("{percent} % of a CPU, {}", arguments.join(" ")), move |cases, case| {
            with_quota(cases, case, percent, arguments)
        });
    }
    for (percent, arguments) in [(2, &[READS, "--iodepth=4"][..]), (10, &[WRITES, "--iodepth=1"])] {
        list.alone(format!("{percent} % of a CPU beside busy loops, {}", arguments.join(" ")), move |cases, case| {
            let _others = Application::shell("for n in 1 2 3 4 5 6; do sh -c 'while :; do :; done' & done; wait")?;
            with_quota(cases, case, percent, arguments)
        });
    }
    for (what, arguments) in [
        ("reads of a cached file", &["--rw=randread", "--rate_iops=3000"][..]),
        ("reads of 64 KiB of a cached file", &["--rw=randread", "--bs=64k", "--rate_iops=1000"]),
        ("reads in a row of a cached file", &["--rw=read", "--bs=16k", "--rate_iops=2000"]),
    ] {
        list.light(what, move |cases, case| {
            let start = |folder: &Path| {
                let file = folder.join("hot");
                run("dd", &["if=/dev/urandom", &format!("of={}", file.display()), "bs=1M", "count=32", "conv=fsync"])?;
                let cached = ["--direct=0", "--ioengine=psync", "--invalidate=0", "--size=32M"];
                Application::fio(file.to_str()?, &[arguments, &cached].concat())
            };
            on_files(cases, case, SLOW, start, Cause::of(&["cache"]))
        });
    }
}

/// Reads of a file that does not fit into the memory of the application's control group.
fn small_page_caches(list: &mut CaseList) {
    for (mib, arguments) in
        [(48_u64, &["--bs=64k"][..]), (64, &["--bs=32k", "--numjobs=2"]), (96, &["--bs=16k", "--numjobs=4"])]
    {
        list.light(format!("page cache of {mib} MiB, {}", arguments.join(" ")), move |cases, case| {
            let group = MemoryGroup::new(&format!("watched-{mib}"), mib)?;
            let start = |folder: &Path| {
                let file = folder.join("large");
                run("dd", &["if=/dev/urandom", &format!("of={}", file.display()), "bs=1M", "count=160", "conv=fsync"])?;
                // A map of what was read would empty the cache whenever it is full.
                let buffered = [READS, "--direct=0", "--ioengine=psync", "--size=160M", "--norandommap"];
                let started = || Application::fio(file.to_str()?, &[arguments, &buffered].concat());
                let application = group.within(started)?;
                // The page cache fills first.
                std::thread::sleep(std::time::Duration::from_secs(15));
                Some(application)
            };
            on_files(cases, case, QUICK, start, Cause::of(&["memory"]).with_words("memory limit"))
        });
    }
}

/// Applications that read a block now and then, and spend their time elsewhere.
fn applications(list: &mut CaseList) {
    for (at, what, cause) in [
        ("flock", "four processes take turns by flock", "locks"),
        ("lockf", "four processes take turns by fcntl", "locks"),
        ("asks", "a client that waits for a server's answers", "sockets"),
        ("polls", "a client that selects", "sockets"),
        ("serves", "a server whose client asks rarely", "sockets"),
        ("receives", "workers behind a thread that receives", "sockets"),
        ("piped", "a reader of a slow pipe", "processes"),
        ("child", "a program that runs another", "processes"),
        ("sleeps", "a program that pauses", "pauses"),
        ("pool", "workers behind a thread that pauses", "pauses"),
        ("computes", "a program that computes", "computing"),
    ] {
        list.light(what, move |cases, case| {
            let start = |folder: &Path| application(folder, at);
            on_files(cases, case, SLOW, start, Cause::of(&["arrival"]).at(cause))
        });
    }
    list.light("eight threads behind one lock", move |cases, case| {
        on_files(cases, case, SLOW, |folder| application(folder, "lock"), Cause::of(&["latency"]).behind())
    });
    for (what, script, clients) in [
        ("PostgreSQL, clients that update one row", "update pgbench_branches set bbalance = 1 where bid = 1", "8"),
        (
            "PostgreSQL, clients that lock a table",
            "lock table pgbench_tellers; update pgbench_branches set bbalance = 1 where bid = 2",
            "6",
        ),
    ] {
        list.alone(what, move |cases, case| {
            let start = |folder: &Path| {
                let file = folder.join("held.sql");
                let held = format!("begin; {script}; select pg_sleep(0.1); end;\n");
                std::fs::write(&file, held).ok()?;
                postgresql(folder, &["-c", clients, "-n", "-f", file.to_str()?])
            };
            on_files(cases, case, SLOW, start, Cause::of(&["arrival"]).at("locks"))
        });
    }
}

fn application(folder: &Path, at: &str) -> Option<Application> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/runs/watched/application.py");
    Application::shell(&format!("exec python3 {} {} {at}", script.display(), folder.display()))
}

/// Memory that is short: what a program uses goes to swap and comes back.
fn swap(list: &mut CaseList) {
    for mib in [48_u64, 64] {
        list.alone(format!("swap, {mib} MiB of memory"), move |cases, case| {
            let disk = emulated(&one_disk(QUICK), BurstCredits::FULL)?;
            let node = disk.node("data");
            run("mkswap", &[&node])?;
            let _swap = Swap::on(&node)?;
            let group = MemoryGroup::new(&format!("swapping-{mib}"), mib)?;
            let uses = "import random; used = bytearray(128 << 20)\nwhile True: used[random.randrange(len(used))] = 1";
            let _application = group.within(|| Application::shell(&format!("exec python3 -c '{uses}'")))?;
            std::thread::sleep(std::time::Duration::from_secs(5));
            cases.watch(case, &node, None, Cause::of(&["memory"]).at("swap"));
            Some(())
        });
    }
}

fn nothing(list: &mut CaseList) {
    let idle = || Cause::of(&["arrival"]);
    list.light("an application that does nothing", move |cases, case| {
        let start = |_: &Path| Application::shell("exec sleep 300");
        on_files(cases, case, SLOW, start, idle())
    });
    for (rate, allowed) in [("200", 1_000), ("600", 1_000)] {
        list.light(format!("{rate} reads/s under a throttle of {allowed}"), move |cases, case| {
            let arguments = [READS, "--iodepth=4", "--rate_iops", rate];
            throttled(cases, case, &[("read_iops_device", allowed)], &arguments, idle())
        });
    }
    list.light("a throttle of writes, and reads alone", move |cases, case| {
        let arguments = [READS, "--iodepth=1", "--rate_iops=300"];
        throttled(cases, case, &[("write_iops_device", 200)], &arguments, idle())
    });
    for (what, rate, is_declared) in
        [("100", "100", false), ("100", "100", true), ("200 at random times", "200", false)]
    {
        let name = format!("{what} reads/s on a P10{}", if is_declared { ", declared" } else { "" });
        list.light(name, move |cases, case| {
            let mut arguments = vec![READS, "--iodepth=16", "--rate_iops", rate];
            if what != rate {
                arguments.push("--rate_process=poisson");
            }
            // Answers of a P10 take about a millisecond: at 200 a second the device has a request for a fifth of the time.
            on_emulated(cases, case, (P10, EMPTY, is_declared), &arguments, idle())
        });
    }
    list.light("one read, then 20 ms of thought", move |cases, case| {
        let arguments = [READS, "--iodepth=1", "--thinktime=20000"];
        on_emulated(cases, case, (&one_disk(SLOW), BurstCredits::FULL, false), &arguments, idle())
    });
    list.light("20 durable writes a second", move |cases, case| {
        let start = |folder: &Path| {
            let arguments =
                ["--rw=write", "--fdatasync=1", "--ioengine=psync", "--size=64M", "--overwrite=1", "--rate_iops=20"];
            Application::fio(folder.join("log").to_str()?, &arguments)
        };
        on_files(cases, case, SLOW_FLUSH, start, idle())
    });
    list.alone("PostgreSQL with 10 transactions a second", move |cases, case| {
        on_files(cases, case, SLOW_FLUSH, |folder| postgresql(folder, &["-c", "2", "-N", "-R", "10"]), idle())
    });
    list.alone("a program that computes and reads a block at times", move |cases, case| {
        let disk = emulated(&one_disk(SLOW), BurstCredits::FULL)?;
        let node = disk.node("data");
        let line = format!(
            "while :; do dd if={node} of=/dev/null bs=4k count=4 iflag=direct; i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; done"
        );
        let _application = Application::shell(&line)?;
        cases.watch(case, &node, None, idle());
        Some(())
    });
}
