//! Checks the catalog against the model: every entry, simulated, reaches its own published limits and does not exceed
//! them.

use loadline_block::Operation;
use loadline_catalog::{
    Cap, Catalog, CatalogProblem, DiskEntry, Draw, ProblemKind, Provisioned, PurchasePart, VmEntry,
};
use loadline_disk::{
    Directions, DiskSpec, Enforcement, EnvironmentSpec, Fullness, InitialState, Latency, LatencySpec, Limit, Machine,
    Place, VmSpec, VolumeSpec,
};
use loadline_simulator::{TrialSetup, simulate};
use loadline_units::{ByteRate, Bytes, Duration, Iops, Ratio};
use loadline_workload::{Arrival, BlockShare, LoadSpec};

/// Too small to meet a limit on bytes, and large enough to meet one.
const BLOCKS: [Bytes; 2] = [Bytes::new(512), Bytes::MIB];
/// Requests in a measurement at least.
const REQUESTS_MIN: f64 = 400.0;
/// Requests after which an even mechanism has shown its rate, however short that is: some times as many as are outstanding.
const REQUESTS_ENOUGH: f64 = 8_192.0;
/// Depths of a token bucket after which it is empty although large requests found it full, if the other limit passes
/// 1.04 times as many. If it passes less, the savings are within the tolerance.
const SPENT_DEPTHS: f64 = 26.0;
/// Seconds before other measurements.
const BEFORE_S: f64 = 0.2;
/// The depth of buckets does not change the lasting rate, so they are as shallow as possible.
const DRAW: Draw = Draw { enforcement: Ratio::ZERO, ..Draw::PUBLISHED };
/// In so many seconds of measurement one window is a small part, in or out. Other mechanisms are even, once the bucket
/// is empty.
const MEASURED_S: f64 = 2.0;
const MEASURED_EVENLY_S: f64 = 0.4;
/// A measurement ends within a window of quota.
const TOLERANCE: f64 = 0.04;
/// Never short of requests.
const QUEUE_DEPTH: u32 = 2_048;

/// Entries to check: one, or several disks, machines or limits that are equal in a simulation.
#[derive(Debug, Clone)]
pub struct EntryGroup<'c>(Vec<Which<'c>>);

#[derive(Debug, Clone, Copy)]
enum Which<'c> {
    Disk(&'c DiskEntry),
    Vm(&'c VmEntry),
    Cap(&'c Cap),
}

/// The simulated form of an entry.
#[derive(PartialEq)]
enum Subject {
    /// The purchases, and the request size of its IOPS.
    Disk(Vec<(Option<Bytes>, DiskSpec)>, Option<Bytes>),
    Vm(Box<VmSpec>),
    Cap(Limit),
}

impl EntryGroup<'_> {
    /// How many entries these are.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "there is always one")]
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

/// Every entry of the catalog, those that do not differ together: most sizes of machines have the limits of others, and the same disks in
/// their hosts.
#[must_use]
pub fn entry_groups(catalog: &Catalog) -> Vec<EntryGroup<'_>> {
    let disks = catalog.disks().iter().map(|disk| {
        let iops_at = catalog.disk_family(disk).iops_at;
        (Subject::Disk(bought(catalog, disk), iops_at), Which::Disk(disk))
    });
    let vms = catalog.vms().iter().filter_map(|vm| {
        let figures = catalog.vm_figures(&vm.name).ok()?;
        // Its name makes no difference, nor does anything that one disk without guest queues does not use.
        let spec = VmSpec { name: String::new(), vcpus: None, disks_max: None, ..figures.spec(&DRAW, false) };
        Some((Subject::Vm(Box::new(spec)), Which::Vm(vm)))
    });
    let caps = catalog.caps().iter().map(|cap| (Subject::Cap(catalog.cap_limit(cap, &DRAW)), Which::Cap(cap)));
    let mut apart: Vec<(Subject, EntryGroup<'_>)> = Vec::new();
    for (subject, which) in disks.chain(vms).chain(caps) {
        match apart.iter_mut().find(|(other, _)| *other == subject) {
            Some((_, alike)) => alike.0.push(which),
            None => apart.push((subject, EntryGroup(vec![which]))),
        }
    }
    apart.into_iter().map(|(_, entries)| entries).collect()
}

/// Entries that, simulated under their published limits with spent credits, deliver less or more than these. Disks are
/// checked at every size in their source, machines through the host and past it, and the machines' totals by type of
/// disk.
#[must_use]
pub fn unreached(catalog: &Catalog, entries: &EntryGroup<'_>) -> Vec<CatalogProblem> {
    let texts = unreached_by(catalog, entries.0[0]);
    let of = |which: &Which<'_>| {
        let (place, name, disk) = match which {
            Which::Disk(disk) => (catalog.disk_place(disk), disk.name.clone(), None),
            Which::Vm(vm) => (catalog.vm_place(vm), vm.name.clone(), None),
            Which::Cap(cap) => {
                let (place, name) = catalog.cap_place(cap);
                (place, name, Some(&cap.disk))
            }
        };
        let problem = |text: &String| CatalogProblem {
            place: place.clone(),
            name: name.clone(),
            kind: ProblemKind::Unreached,
            text: disk.map_or_else(|| text.clone(), |disk| format!("{disk}: {text}")),
        };
        texts.iter().map(problem).collect::<Vec<_>>()
    };
    entries.0.iter().flat_map(of).collect()
}

fn unreached_by(catalog: &Catalog, entry: Which<'_>) -> Vec<String> {
    let mut texts = Vec::new();
    match entry {
        Which::Disk(disk) => {
            for (size, spec) in bought(catalog, disk) {
                let at = size.map_or_else(String::new, |size| format!("at {size}, "));
                let limit = spec.limit.clone();
                let environment = environment(spec, None);
                let mut wrong = hold(&limit, &environment);
                wrong.extend(hold_at(&limit, &environment, catalog.disk_family(disk).iops_at));
                texts.extend(wrong.into_iter().map(|text| format!("{at}{text}")));
            }
        }
        Which::Vm(vm) => {
            if let Ok(figures) = catalog.vm_figures(&vm.name) {
                let spec = figures.spec(&DRAW, false);
                for (limit, place) in [(&spec.uncached, Place::Network), (&spec.cached, Place::Local)] {
                    let Some(limit) = limit.as_ref().filter(|_| place == Place::Network || !spec.cached_estimated)
                    else {
                        continue;
                    };
                    let disk = DiskSpec { place, ..brief() };
                    texts.extend(hold(limit, &environment(disk, Some(spec.clone()))));
                }
            }
        }
        Which::Cap(cap) => {
            let limit = catalog.cap_limit(cap, &DRAW);
            let disk = DiskSpec { limit: limit.clone(), ..brief() };
            texts.extend(hold(&limit, &environment(disk, None)));
        }
    }
    texts
}
/// A disk without limits that answers in 0.1 ms.
fn brief() -> DiskSpec {
    let (median, p99) = (Duration::from_us(100), Duration::from_us(100));
    let latency = LatencySpec { median, p99, per_kib: Duration::ZERO };
    let latency = Latency { read: latency, write: latency, flush: None };
    DiskSpec { size: Some(Bytes::gib(1024)), latency, ..DiskSpec::default() }
}

fn environment(disk: DiskSpec, vm: Option<VmSpec>) -> EnvironmentSpec {
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

/// Requests per second of random `block`s in one direction that `limit` passes without credits.
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
fn simulated(
    environment: &EnvironmentSpec,
    reads: bool,
    block: Bytes,
    wanted: f64,
    (before_s, measured_s): (f64, f64),
) -> Result<f64, String> {
    let initial = InitialState { bursts: Fullness::Empty, ..InitialState::default() };
    let machine = Machine::new(environment, 1, initial).map_err(|error| error.to_string())?;
    let target = machine.target("data").expect("there is a volume of this name");
    let span = |seconds: f64| Duration::from_ns((seconds * 1e9) as u64);
    let load = LoadSpec {
        reads: if reads { Ratio::ONE } else { Ratio::ZERO },
        blocks: vec![BlockShare { size: block, share: Ratio::ONE }],
        arrival: Arrival::Closed { queue_depth: QUEUE_DEPTH, rate_max: None, think_time: Duration::ZERO },
        warm_up: span((REQUESTS_MIN / wanted).max(before_s)),
        duration: span((REQUESTS_MIN / wanted).max(measured_s)),
        trials: 1,
        ..LoadSpec::default()
    };
    let setup = TrialSetup { trial: 0, seed: 1, started_unix_s: 0 };
    let record = simulate(&load, machine, target, setup).map_err(|error| error.to_string())?.record;
    let operation = if reads { Operation::Read } else { Operation::Write };
    let count = record.of(operation).map_or(0, |of| of.count);
    Ok(count as f64 / (record.measured_ns as f64 / 1e9))
}

/// Seconds before a measurement of an even mechanism, and of it. The time before is no shorter where requests are many: it spends buckets,
/// whose depth is a time.
fn spans_evenly(wanted: f64) -> (f64, f64) {
    (BEFORE_S, MEASURED_EVENLY_S.min(REQUESTS_ENOUGH / wanted))
}

/// Seconds before a measurement, and of it.
fn spans(limit: &Limit, block: Bytes, wanted: f64) -> (f64, f64) {
    match limit.enforcement {
        Enforcement::Window { .. } => (BEFORE_S, MEASURED_S),
        Enforcement::Bucket { depth } if block >= Bytes::MIB => {
            (BEFORE_S.max(SPENT_DEPTHS * depth.as_s_f64()), spans_evenly(wanted).1)
        }
        _ => spans_evenly(wanted),
    }
}

/// Checks one limit against the model, in both directions and with both blocks.
fn hold(limit: &Limit, environment: &EnvironmentSpec) -> Vec<String> {
    let mut wrong = Vec::new();
    for reads in directions(limit, environment) {
        for block in BLOCKS {
            let Some(wanted) = ceiling(limit, reads, block) else { continue };
            let direction = if reads { "reads" } else { "writes" };
            match simulated(environment, reads, block, wanted, spans(limit, block, wanted)) {
                Ok(found) if (found - wanted).abs() <= TOLERANCE * wanted => {}
                Ok(found) => wrong.push(format!(
                    "{direction} of {block} come to {found:.1}/s when simulated, and {wanted:.1}/s are published"
                )),
                Err(error) => wrong.push(format!("{direction} of {block} cannot be simulated: {error}")),
            }
        }
    }
    wrong
}

/// If a source gives IOPS for a request size, requests of this size must reach them, whatever the limit on bytes.
fn hold_at(limit: &Limit, environment: &EnvironmentSpec, block: Option<Bytes>) -> Vec<String> {
    let Some(block) = block else { return Vec::new() };
    let mut wrong = Vec::new();
    for reads in directions(limit, environment) {
        let Some(wanted) = side(limit.iops, reads, |budget| budget.rate.get() as f64) else { continue };
        let direction = if reads { "reads" } else { "writes" };
        match simulated(environment, reads, block, wanted, spans_evenly(wanted)) {
            Ok(found) if (found - wanted).abs() <= TOLERANCE * wanted => {}
            Ok(found) => wrong.push(format!(
                "{direction} of {block} come to {found:.1}/s when simulated, and {wanted:.1}/s of this size are published"
            )),
            Err(error) => wrong.push(format!("{direction} of {block} cannot be simulated: {error}")),
        }
    }
    wrong
}

/// Reads, and writes if they differ from reads.
fn directions(limit: &Limit, environment: &EnvironmentSpec) -> impl Iterator<Item = bool> {
    let alike = matches!(limit.iops, None | Some(Directions::Together(_)))
        && matches!(limit.throughput, None | Some(Directions::Together(_)))
        && environment
            .volumes
            .iter()
            .flat_map(|volume| &volume.disks)
            .all(|disk| disk.latency.read == disk.latency.write);
    std::iter::once(true).chain((!alike).then_some(false))
}

/// A disk in every size of [`purchases`], without its name, which makes no difference.
fn bought(catalog: &Catalog, disk: &DiskEntry) -> Vec<(Option<Bytes>, DiskSpec)> {
    let spec = |wanted: Provisioned| {
        let figures = catalog.disk_figures(&disk.name, &wanted).ok()?;
        Some((wanted.size, DiskSpec { name: String::new(), place: Place::Network, ..figures.spec(&DRAW) }))
    };
    purchases(catalog, disk).into_iter().filter_map(spec).collect()
}

/// The purchases of an entry: every row of its source, or one size.
fn purchases(catalog: &Catalog, disk: &DiskEntry) -> Vec<Provisioned> {
    let rows: Vec<(Option<Bytes>, Option<Iops>, Option<ByteRate>)> = if disk.published.is_empty() {
        let (iops, throughput) = (Iops::per_second(10_000), ByteRate::per_second(100_000_000));
        let sizes =
            [None, Some(Bytes::gib(2_048)), Some(Bytes::gib(1_024)), Some(Bytes::gib(128)), Some(Bytes::gib(16))];
        let size = sizes.into_iter().find(|size| comes_with(catalog, disk, *size)).flatten();
        vec![(size, iops, throughput)]
    } else {
        disk.published.iter().map(|row| (Some(row.size), row.iops, row.throughput)).collect()
    };
    let possible = rows.into_iter().filter_map(|(size, iops, throughput)| {
        let ways = [(iops, throughput), (iops, None), (None, throughput), (None, None)]
            .map(|(iops, throughput)| Provisioned { size, iops, throughput, option: None });
        ways.into_iter().find(|way| catalog.disk(&disk.name, way).is_ok())
    });
    possible.collect()
}

/// Whether the disk comes in this size, whatever else it needs.
fn comes_with(catalog: &Catalog, disk: &DiskEntry, size: Option<Bytes>) -> bool {
    let wanted = Provisioned { size, ..Provisioned::default() };
    !matches!(catalog.disk(&disk.name, &wanted), Err(error) if error.part() == PurchasePart::Size)
}
