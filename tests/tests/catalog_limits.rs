//! The catalog against the model: every disk and every virtual machine as sold, simulated, reaches its own published
//! limits and does not pass them; and no product is named in code.

use loadline_block::Operation;
use loadline_catalog::{Catalog, DiskEntry, Draw, Provisioned};
use loadline_disk::{
    Directions, DiskSpec, EnvironmentSpec, Fullness, InitialState, Latency, LatencySpec, Limit, Machine, VmSpec,
    VolumeSpec,
};
use loadline_simulator::{TrialSetup, simulate};
use loadline_units::{ByteRate, Bytes, Duration, Iops, Ratio};
use loadline_workload::{Arrival, BlockShare, LoadSpec};
use std::path::Path;

/// Too small to meet a limit on bytes, and large enough to meet one.
const BLOCKS: [Bytes; 2] = [Bytes::new(512), Bytes::MIB];
/// Requests in a measurement at least.
const REQUESTS_MIN: f64 = 400.0;
/// Seconds after which a token bucket of 1 s that large requests found full is empty, where the other limit lets through
/// 1.04 times as many; where it lets through less than that, what was saved is within the tolerance.
const SPENT_S: f64 = 26.0;
/// A measurement ends within a window of quota.
const TOLERANCE: f64 = 0.04;

/// One disk that answers in 0.1 ms, with these limits.
fn environment(limit: Limit, vm: Option<VmSpec>) -> EnvironmentSpec {
    let (median, p99) = (Duration::from_us(100), Duration::from_us(100));
    let brief = LatencySpec { median, p99, per_kib: Duration::ZERO };
    let latency = Latency { read: brief, write: brief, flush: None };
    let disk = DiskSpec { size: Some(Bytes::gib(1024)), limit, latency, ..DiskSpec::default() };
    let volume = VolumeSpec { name: "data".to_owned(), disks: vec![disk], ..VolumeSpec::default() };
    EnvironmentSpec { vm, volumes: vec![volume], ..EnvironmentSpec::default() }
}

/// The rate in one direction.
fn side<T: Copy, U>(found: Option<Directions<T>>, reads: bool, of: impl Fn(T) -> U) -> Option<U> {
    match found? {
        Directions::Together(both) => Some(of(both)),
        Directions::Apart { read, write } => if reads { read } else { write }.map(of),
        Directions::Traded { read, write } => Some(of(if reads { read } else { write })),
    }
}

/// Requests per second of random `block`s in one direction that `limit` lets through, when no credits are left.
fn ceiling(limit: &Limit, reads: bool, block: Bytes) -> Option<f64> {
    let iops = side(limit.iops, reads, |budget| budget.rate.get() as f64);
    let bytes = side(limit.throughput, reads, |budget| budget.rate.get() as f64);
    let units = limit.counted_size.map_or(1, |size| block.get().div_ceil(size.get()));
    let charge = limit.least_charge.map_or(block, |least| least.max(block));
    let by_iops = iops.map(|rate| rate / units as f64);
    let by_bytes = bytes.map(|rate| rate / charge.get() as f64);
    by_iops.into_iter().chain(by_bytes).min_by(f64::total_cmp)
}

/// Requests per second of a closed loop that is never short of requests, with credits spent.
fn simulated(environment: &EnvironmentSpec, reads: bool, block: Bytes, wanted: f64) -> f64 {
    let initial = InitialState { bursts: Fullness::Empty, ..InitialState::default() };
    let machine = Machine::new(environment, 1, initial).unwrap();
    let target = machine.target("data").unwrap();
    let span = |seconds: f64| Duration::from_ns((seconds * 1e9) as u64);
    let load = LoadSpec {
        reads: if reads { Ratio::ONE } else { Ratio::ZERO },
        blocks: vec![BlockShare { size: block, share: Ratio::ONE }],
        arrival: Arrival::Closed { queue_depth: 2_048, rate_max: None, think_time: Duration::ZERO },
        warm_up: span((REQUESTS_MIN / wanted).max(if block < Bytes::MIB { 0.2 } else { SPENT_S })),
        duration: span((REQUESTS_MIN / wanted).max(1.0)),
        trials: 1,
        ..LoadSpec::default()
    };
    let setup = TrialSetup { trial: 0, seed: 1, started_unix_s: 0 };
    let record = simulate(&load, machine, target, setup).unwrap().record;
    let operation = if reads { Operation::Read } else { Operation::Write };
    record.operations[&operation].count as f64 / (record.measured_ns as f64 / 1e9)
}

/// Holds one limit against the model, in both directions and with both blocks.
fn hold(name: &str, limit: &Limit, environment: &EnvironmentSpec) -> Vec<String> {
    let mut wrong = Vec::new();
    for reads in [true, false] {
        for block in BLOCKS {
            let Some(wanted) = ceiling(limit, reads, block) else { continue };
            let found = simulated(environment, reads, block, wanted);
            if (found - wanted).abs() > TOLERANCE * wanted {
                let direction = if reads { "reads" } else { "writes" };
                wrong.push(format!("{name}: {direction} of {block}: {found:.1}/s in place of {wanted:.1}/s"));
            }
        }
    }
    wrong
}

/// What an entry can be bought as: every row that its source lists, or one size.
fn purchases(catalog: &Catalog, disk: &DiskEntry) -> Vec<Provisioned> {
    let rows: Vec<(Option<Bytes>, Option<Iops>, Option<ByteRate>)> = if disk.published.is_empty() {
        let (iops, throughput) = (Iops::per_second(10_000), ByteRate::per_second(100_000_000));
        let any =
            if catalog.disk(&disk.name, &Provisioned::default()).is_ok() { None } else { Some(Bytes::gib(2_048)) };
        let smaller = any.filter(|size| !sizes(catalog, disk, *size)).map_or(any, |_| Some(Bytes::gib(1_024)));
        vec![(smaller, iops, throughput)]
    } else {
        disk.published.iter().map(|row| (Some(row.size), row.iops, row.throughput)).collect()
    };
    let mut found = Vec::new();
    for (size, iops, throughput) in rows {
        let ways = [(iops, throughput), (iops, None), (None, throughput), (None, None)]
            .map(|(iops, throughput)| Provisioned { size, iops, throughput, option: None });
        let possible = ways.into_iter().find(|way| catalog.disk(&disk.name, way).is_ok());
        found.push(possible.unwrap_or_else(|| panic!("{} can be had with {size:?}", disk.name)));
    }
    found
}

/// Whether the disk comes with this size, whatever else it wants to be told.
fn sizes(catalog: &Catalog, disk: &DiskEntry, size: Bytes) -> bool {
    let wanted = Provisioned { size: Some(size), ..Provisioned::default() };
    !matches!(catalog.disk(&disk.name, &wanted), Err(error) if error.part() == loadline_catalog::Part::Size)
}

#[test]
fn every_disk_reaches_its_published_limits() {
    let catalog = Catalog::builtin();
    let mut wrong = Vec::new();
    let mut held = 0;
    for disk in catalog.disks() {
        for wanted in purchases(&catalog, disk) {
            let limit = catalog.disk_figures(&disk.name, &wanted).unwrap().spec(&Draw::PUBLISHED).limit;
            let name = wanted.size.map_or(disk.name.clone(), |size| format!("{} of {size}", disk.name));
            wrong.extend(hold(&name, &limit, &environment(limit.clone(), None)));
            held += 1;
        }
    }
    assert_eq!(wrong, [""; 0]);
    assert!(held > 100, "{held}");
}

#[test]
fn every_machine_reaches_its_published_limits() {
    let catalog = Catalog::builtin();
    let mut wrong = Vec::new();
    for vm in catalog.vms() {
        let spec = catalog.vm_figures(&vm.name).unwrap().spec(&Draw::PUBLISHED, false);
        let Some(limit) = spec.uncached.clone() else { continue };
        wrong.extend(hold(&vm.name, &limit, &environment(Limit::default(), Some(spec))));
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn no_product_is_named_in_code() {
    let catalog = Catalog::builtin();
    let names: Vec<String> = (catalog.disks().iter().map(|disk| disk.name.clone()))
        .chain(catalog.vms().iter().map(|vm| vm.name.clone()))
        .collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut folders = vec![root.join("pure"), root.join("host")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let is_code = path.extension().is_some_and(|extension| extension == "rs")
                && !path.components().any(|part| part.as_os_str() == "tests" || part.as_os_str() == "tests.rs");
            // The list of embedded files names files, which are families.
            if !is_code || path.ends_with("catalog/src/builtin.rs") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
            found.extend(
                names.iter().filter(|name| code.contains(*name)).map(|name| format!("{}: {name}", path.display())),
            );
        }
    }
    assert_eq!(found, [""; 0]);
}
