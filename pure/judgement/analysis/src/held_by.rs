//! Which throttle of the kernel holds a cell: a limit that was read from its file, and that the load reaches.

use crate::clusters::clusters;
use crate::device_throttle::{HeldBy, SLICES_PER_S, counted_by, in_slices};
use crate::doubts::held_back;
use crate::limits::has_turns;
use crate::summary::CellSummary;
use crate::trials::trials_used;
use loadline_record::{
    Binding, CellRecord, DeclaredFact, DeviceFacts, Evidence, Fact, KernelThrottle, Limit, LoadFact, RunRecord,
    ThrottledQuantity, ThrottledRequests, TrialRecord, VolumeFacts,
};
use std::cmp::Ordering;

/// A load whose requests wait above the device is at a throttle if it comes as near to it from below.
const BELOW_MOST: f64 = 0.05;
/// One of which nothing shows that they do has its figure.
const EXACT: f64 = 0.01;
/// What seems to be the device's own latency, or busy CPUs, has to come as near where requests wait above the device.
const NEAR: f64 = 0.03;
/// And from above.
const ABOVE_MOST: f64 = 0.08;

/// A slice's share is given out as it begins: a load that just began, or that ends within one, is served as much more.
const SLICE_NS: f64 = 1e9 / SLICES_PER_S as f64;

/// Names the throttle that holds each cell, after the limits are named from the figures. What was read is known: its value and its name
/// take the place of what the figures show.
pub(crate) fn name_holders(record: &RunRecord, cells: &mut [CellSummary]) {
    let found: Vec<Option<Reached>> = cells.iter().map(|cell| held_by(record, cells, cell)).collect();
    for (cell, found) in cells.iter_mut().zip(found) {
        let Some(found) = found else { continue };
        cell.binding = Some(found.binding(cell));
        cell.held_by = Some(found.held);
    }
}

/// Whether the limit that the figures show can be a throttle's that the load comes so near to. A load that another limit stops is near a
/// throttle by chance, and so is one whose requests take their own time, unless they are seen to wait above the device.
fn may_be_a_throttle(cell: &CellSummary, share: f64, waits_above: bool) -> bool {
    let below_most = if waits_above { BELOW_MOST } else { EXACT };
    match cell.binding.as_ref().map(|binding| binding.limit) {
        // What of a load in memory reaches the device is what a throttle counts.
        None | Some(Limit::DiskIops | Limit::DiskThroughput | Limit::Unexplained | Limit::Cache) => {
            share >= 1.0 - below_most
        }
        // More than the throttle lets through is what it gives out at once, and cannot last.
        Some(Limit::Latency | Limit::Parallelism | Limit::Cpu | Limit::Arrival) if share > 1.0 + NEAR => true,
        Some(limit @ (Limit::Latency | Limit::Parallelism | Limit::Cpu | Limit::Flush)) => {
            let in_flight = cell.load.queue_depth.unwrap_or(1) * cell.load.threads;
            let is_shown = limit == Limit::Flush || (limit == Limit::Latency && !is_of_one_depth(cell));
            let is_exact = !is_shown && share >= 1.0 - EXACT;
            in_flight > 1 && (is_exact || (waits_above && share >= 1.0 - NEAR))
        }
        Some(_) => false,
    }
}

/// Whether latency is named for want of another depth: nothing shows that more would not wait.
fn is_of_one_depth(cell: &CellSummary) -> bool {
    let facts = cell.binding.as_ref().map_or(&[][..], |binding| binding.seen.facts());
    facts.iter().any(|fact| matches!(fact, Fact::Load(LoadFact::TwiceAsMany { .. })))
}

/// A throttle that a load reaches.
struct Reached {
    held: HeldBy,
    /// What it lets through of one device in a second: its limit, or whole requests in each slice.
    through: u64,
    /// The share of that which the load had.
    own_share: f64,
    /// The same with what ran beside it.
    share: f64,
}

/// The throttle that the cell's rate is nearest to.
fn held_by(record: &RunRecord, cells: &[CellSummary], cell: &CellSummary) -> Option<Reached> {
    let volume = record.header.volumes.iter().find(|volume| volume.name == cell.volume)?;
    let own = record.cells.iter().find(|own| own.id == cell.id && own.volume == cell.volume)?;
    let above_most = ABOVE_MOST + at_once(record, cell);
    let waits_above = waits_above(own, volume);
    let reached = volume.devices.iter().flat_map(|device| device.throttles.iter().map(move |limit| (device, limit)));
    reached
        .filter_map(|(device, limit)| {
            let alike = devices_alike(&volume.devices, limit);
            let of_host = share_of_host(own, device, alike);
            let among = if of_host.is_some() { 1 } else { alike };
            let own_asked = match of_host {
                Some(share) => asked(cell, device, limit)? * share,
                None => asked_of_each(cell, own, device, limit, among)?,
            };
            let beside = || asked_beside(record, cells, own, (device, limit), among);
            let asked = own_asked + if of_host.is_some() { 0.0 } else { beside() };
            let share = |per_s: u64| (per_s, asked / per_s as f64);
            let shares = [limit.per_s, in_slices(limit)].map(share);
            let (through, share) = shares.into_iter().min_by(|left, right| nearer(left.1, right.1))?;
            let is_reached = share <= 1.0 + above_most && may_be_a_throttle(cell, share, waits_above);
            is_reached.then(|| {
                let held = HeldBy { device: device.name.clone(), devices: among, limit: limit.clone() };
                Reached { held, through, own_share: own_asked / through as f64, share }
            })
        })
        .min_by(|left, right| nearer(left.share, right.share))
}

/// Of hosts that ran together: the share of the requests that came from the one whose device this is ("sdb of db2"). `None` where each of
/// them has such a throttle, so that one stands for all.
fn share_of_host(own: &CellRecord, device: &DeviceFacts, alike: u32) -> Option<f64> {
    let together: Vec<_> = own.trials.iter().filter_map(|trial| trial.hosts.as_ref()).collect();
    let hosts = || together.iter().flat_map(|hosts| &hosts.hosts);
    if together.iter().any(|of| of.hosts.len() <= alike as usize) {
        return None;
    }
    let is_its = |name: &str| device.name.strip_suffix(name).is_some_and(|rest| rest.ends_with(" of "));
    let count = |is_counted: &dyn Fn(&str) -> bool| -> u64 {
        hosts().filter(|host| is_counted(&host.host)).map(|host| host.window_count).sum()
    };
    let (its, all) = (count(&is_its), count(&|_| true));
    (its > 0).then(|| its as f64 / all as f64)
}

/// Whether requests are seen to wait above the devices, as at a throttle: the devices have few of them, or they are let through in turns.
fn waits_above(own: &CellRecord, volume: &VolumeFacts) -> bool {
    let load = own.load.figures();
    own.trials.iter().any(|trial| held_back(&load, trial, volume).is_some())
        || has_turns(own)
        || clusters(own).is_some()
}

/// How much more than a throttle's rate a trial as short as the cell's shortest may show: one slice's share over its time.
fn at_once(record: &RunRecord, cell: &CellSummary) -> f64 {
    let trials = record.cells.iter().filter(|of| of.id == cell.id).flat_map(|of| &of.trials);
    let shortest = trials.map(|trial| trial.measured_ns).filter(|ns| *ns > 0).min();
    shortest.map_or(0.0, |ns| SLICE_NS / ns as f64)
}

/// Which of two shares comes nearer to the whole.
fn nearer(left: f64, right: f64) -> Ordering {
    (left - 1.0).abs().total_cmp(&(right - 1.0).abs())
}

/// Devices of the volume that have the same limit: a stripe over them gets it so many times.
fn devices_alike(devices: &[DeviceFacts], limit: &KernelThrottle) -> u32 {
    let is_alike = |other: &&KernelThrottle| {
        (other.requests, other.counts, other.per_s) == (limit.requests, limit.counts, limit.per_s)
    };
    devices.iter().filter(|device| device.throttles.iter().any(|other| is_alike(&other))).count() as u32
}

/// What the load asked of each such device in a second, counted as the throttle does: what the device itself counted, where caches
/// answered a part or a file system wrote more.
fn asked_of_each(
    cell: &CellSummary,
    own: &CellRecord,
    device: &DeviceFacts,
    limit: &KernelThrottle,
    among: u32,
) -> Option<f64> {
    let is_other = cell.load.buffered || cell.binding.as_ref().is_some_and(|binding| binding.amplification.is_some());
    if let Some(counted) = counted(own, device, limit).filter(|_| is_other) {
        return Some(counted);
    }
    Some(asked(cell, device, limit)? / f64::from(among))
}

/// What the device counted in a second over the trials of a cell.
fn counted(own: &CellRecord, device: &DeviceFacts, limit: &KernelThrottle) -> Option<f64> {
    let trials = trials_used(own);
    let of = |trial: &TrialRecord| {
        let counters = trial.surroundings.devices.iter().find(|counters| counters.name == device.name)?;
        Some((counted_by(limit, counters) as f64, trial.surroundings.elapsed_ns as f64 / 1e9))
    };
    let all: Vec<(f64, f64)> = trials.iter().map(|trial| of(trial)).collect::<Option<_>>()?;
    let (count, seconds) = all.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    (seconds > 0.0).then(|| count / seconds)
}

/// What loads that ran at the same time asked of the same device.
fn asked_beside(
    record: &RunRecord,
    cells: &[CellSummary],
    own: &CellRecord,
    (device, limit): (&DeviceFacts, &KernelThrottle),
    among: u32,
) -> f64 {
    // The device's own counters have all of them.
    if own.load.figures().buffered {
        return 0.0;
    }
    let has_it = |name: &str| {
        let volume = record.header.volumes.iter().find(|volume| volume.name == name);
        volume.is_some_and(|volume| {
            volume.devices.iter().any(|other| other.name == device.name && other.throttles.contains(limit))
        })
    };
    let beside = own.beside.iter().filter(|beside| has_it(&beside.volume));
    let others = beside.filter_map(|beside| cells.iter().find(|cell| cell.id == beside.cell));
    others.filter_map(|cell| asked(cell, device, limit)).sum::<f64>() / f64::from(among)
}

/// What the load asked in a second, over all devices that are alike.
fn asked(cell: &CellSummary, device: &DeviceFacts, limit: &KernelThrottle) -> Option<f64> {
    let of = match limit.requests {
        ThrottledRequests::Reads => cell.read.as_ref()?,
        ThrottledRequests::Writes => cell.write.as_ref()?,
    };
    Some(match limit.counts {
        ThrottledQuantity::Bytes => of.throughput_bytes_per_s,
        ThrottledQuantity::Requests => {
            let largest = device.request_bytes_max.filter(|largest| *largest > 0).unwrap_or(u64::MAX);
            of.iops * cell.load.block_bytes.div_ceil(largest).max(1) as f64
        }
    })
}

impl Reached {
    /// The limit as it was read, for the cell that reaches it.
    fn binding(&self, cell: &CellSummary) -> Binding {
        let Self { held, through, own_share, share } = self;
        let limit = match held.limit.counts {
            ThrottledQuantity::Requests => Limit::DiskIops,
            ThrottledQuantity::Bytes => Limit::DiskThroughput,
        };
        let seen = cell.binding.as_ref().filter(|binding| binding.limit == limit);
        let seen = seen.map_or_else(Evidence::default, |binding| binding.seen.clone());
        let evidence = Evidence::from(DeclaredFact::Throttle {
            share: *share,
            device: held.device.clone(),
            devices: held.devices,
            throttle: held.limit.clone(),
            through_per_s: Some(*through).filter(|through| *through != held.limit.per_s),
        });
        let evidence = evidence.joined(seen);
        let amplification = cell.binding.as_ref().and_then(|binding| binding.amplification);
        let ceiling = cell.total.as_ref().map(|total| total.iops / own_share);
        Binding { amplification, ..Binding::known(limit, ceiling, Some(*share), evidence) }
    }
}

impl HeldBy {
    /// A throttle on one of a volume's devices.
    pub(crate) fn on(devices: &[DeviceFacts], device: &DeviceFacts, limit: &KernelThrottle) -> Self {
        Self { device: device.name.clone(), devices: devices_alike(devices, limit), limit: limit.clone() }
    }

    /// The command that lifts the limit, for a shell.
    #[must_use]
    pub fn lifting_command(&self) -> String {
        self.limit.lifting_command()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{self, ExampleDisk};
    use crate::summarize;
    use crate::words::shows;
    use crate::{AdvisedStep, Holder, LimitHolder, LoadReached, LoadStop, StopWay};
    use loadline_record::{HostClock, HostTrial, HostsRecord, LimitSource};

    fn limit(requests: ThrottledRequests, counts: ThrottledQuantity, per_s: u64) -> KernelThrottle {
        let file = "/sys/fs/cgroup/blkio/db/blkio.throttle.read_iops_device".to_owned();
        KernelThrottle { requests, counts, per_s, group: "/db".into(), file, lifted_by: "7:0 0".into() }
    }

    fn run(limits: Vec<KernelThrottle>, devices: usize) -> RunRecord {
        let disk = ExampleDisk { iops: 3_000.0, ..ExampleDisk::default() };
        let load = |depth| example::closed("random", 1.0, 4096, depth);
        let cells = [1, 8, 32].map(|depth| example::cell(load(depth), &disk, &[1.0])).into();
        let mut record = example::run(cells);
        let volume = &mut record.header.volumes[0];
        volume.devices[0].throttles = limits;
        volume.devices = vec![volume.devices[0].clone(); devices];
        record
    }

    #[test]
    fn a_throttle_on_one_of_several_hosts_is_named_by_its_share() {
        let mut record = run(vec![limit(ThrottledRequests::Reads, ThrottledQuantity::Requests, 100)], 1);
        record.cells.retain(|cell| cell.load.figures().queue_depth == Some(32));
        let host = |name: &str, window_count| HostTrial {
            host: name.to_owned(),
            run: "run".to_owned(),
            clock: HostClock::Same,
            from_ns: 0,
            measured_ns: 1_000_000_000,
            count: window_count,
            bytes: window_count * 4096,
            window_count,
            window_bytes: window_count * 4096,
            errors: 0,
            offered_iops: None,
            latency: None,
            histogram: None,
            stopped_ns: 0,
            interval_s: 1,
            counts: vec![window_count],
        };
        let named = |device: &str, hosts: Vec<HostTrial>| {
            let mut record = record.clone();
            record.header.volumes[0].devices[0].name = device.to_owned();
            for trial in &mut record.cells[0].trials {
                let together = HostsRecord { hosts: hosts.clone(), window: None, missing: Vec::new() };
                trial.hosts = Some(Box::new(together));
            }
            let found = summarize(&record).cells.remove(0).binding.unwrap();
            found.seen.facts().iter().find_map(|fact| match fact {
                Fact::Declared(DeclaredFact::Throttle { device, .. }) => Some(device.clone()),
                _ => None,
            })
        };
        let three = || vec![host("a", 1_450), host("b", 1_450), host("c", 100)];
        assert_eq!(named("sdb of c", three()), Some("sdb of c".to_owned()));
        assert_eq!(named("sdb of a", three()), None);
        assert_eq!(named("sdb", three()), None);
    }

    #[test]
    fn a_throttle_is_named_by_the_cells_that_reach_it_and_by_no_other() {
        let limits = vec![
            limit(ThrottledRequests::Writes, ThrottledQuantity::Requests, 3_000),
            limit(ThrottledRequests::Reads, ThrottledQuantity::Requests, 3_000),
            limit(ThrottledRequests::Reads, ThrottledQuantity::Bytes, 125_000_000),
        ];
        let summary = summarize(&run(limits, 1));
        let conclusion = &summary.conclusions[0];
        let LoadReached::Closed(reached) = &conclusion.reached else { panic!("{conclusion:?}") };
        let Some(LoadStop { way: StopWay::Throttled(held), .. }) = &reached.stop else { panic!("{reached:?}") };
        assert_eq!((&*held.limit.group, &*held.device, held.devices, held.limit.per_s), ("/db", "vda", 1, 3_000));
        let [AdvisedStep::Lift { command }] = &conclusion.steps[..] else { panic!("{conclusion:?}") };
        assert!(command.contains("echo '7:0 0' | sudo tee"), "{command}");
        let of = |held: &HeldBy| (held.limit.requests, held.limit.counts, held.limit.per_s);
        let held: Vec<_> = summary.cells.iter().map(|cell| cell.held_by.as_ref().map(of)).collect();
        let reads = Some((ThrottledRequests::Reads, ThrottledQuantity::Requests, 3_000));
        assert_eq!(held, [None, reads, reads]);
        let binding = summary.cells[2].binding.as_ref().expect("named");
        let named = (binding.limit, binding.inferred, binding.presumed);
        assert_eq!(named, (Limit::DiskIops, false, false), "{binding:?}");
        assert!((binding.ceiling_iops.expect("read") - 3_000.0).abs() < 1e-6, "{binding:?}");
        assert!(
            shows!(binding, Fact::Declared(DeclaredFact::Throttle { device, throttle, .. })
                if device == "vda" && throttle.group == "/db" && throttle.per_s == 3_000),
            "{binding:?}"
        );
    }

    #[test]
    fn the_listing_of_limits_has_a_throttle_once_and_no_limit_of_the_disk_in_its_place() {
        let of = |limits| crate::known_limits(&run(limits, 1));
        let rates = |figures: &[crate::LimitFigure]| {
            let rates = figures.iter().filter(|figure| figure.quantity == crate::Quantity::RequestsPerS);
            rates.map(|figure| (figure.inferred, figure.loads.clone(), figure.cells.len())).collect::<Vec<_>>()
        };
        let throttled = of(vec![limit(ThrottledRequests::Reads, ThrottledQuantity::Requests, 3_000)]);
        assert_eq!(rates(&throttled), [(false, "all reads".to_owned(), 2)], "{throttled:?}");
        assert!(
            matches!(&throttled[0].source, LimitSource::Throttle { file } if file.starts_with("/sys/fs/cgroup")),
            "{throttled:?}"
        );
        assert!(rates(&of(Vec::new())).iter().all(|(inferred, ..)| *inferred));
    }

    /// One cell alone shows no limit: the one that was read is known all the same, for the share of the load that it counts.
    #[test]
    fn a_throttle_that_was_read_needs_no_second_cell() {
        let throttled = limit(ThrottledRequests::Reads, ThrottledQuantity::Requests, 2_100);
        let mut record = run(vec![throttled], 1);
        let disk = ExampleDisk { iops: 3_000.0, ..ExampleDisk::default() };
        record.cells = vec![example::cell(example::closed("random", 0.7, 4096, 32), &disk, &[1.0])];
        let cell = summarize(&record).cells.remove(0);
        let binding = cell.binding.expect("named");
        assert_eq!((binding.limit, binding.inferred), (Limit::DiskIops, false), "{binding:?}");
        assert!((binding.ceiling_iops.expect("read") / 3_000.0 - 1.0).abs() < 0.02, "{binding:?}");
    }

    #[test]
    fn of_a_limit_on_requests_the_kernel_lets_whole_ones_through_in_each_slice() {
        let mut record = run(vec![limit(ThrottledRequests::Reads, ThrottledQuantity::Requests, 298)], 1);
        let disk = ExampleDisk { iops: 290.0, ..ExampleDisk::default() };
        record.cells = vec![example::cell(example::closed("random", 1.0, 4096, 32), &disk, &[1.0])];
        let binding = summarize(&record).cells.remove(0).binding.expect("named");
        assert!((binding.ceiling_iops.expect("read") / 290.0 - 1.0).abs() < 0.01, "{binding:?}");
        let rounded = shows!(binding, Fact::Declared(DeclaredFact::Throttle { through_per_s: Some(290), .. }));
        assert!(rounded, "{binding:?}");
        // Where as many as the limit went through, none is rounded.
        let disk = ExampleDisk { iops: 298.0, ..ExampleDisk::default() };
        record.cells = vec![example::cell(example::closed("random", 1.0, 4096, 32), &disk, &[1.0])];
        let binding = summarize(&record).cells.remove(0).binding.expect("named");
        assert!((binding.ceiling_iops.expect("read") / 298.0 - 1.0).abs() < 0.01, "{binding:?}");
    }

    #[test]
    fn a_stripe_gets_the_limit_of_each_of_its_devices() {
        let limits = vec![limit(ThrottledRequests::Reads, ThrottledQuantity::Requests, 1_500)];
        let summary = summarize(&run(limits, 2));
        let held = summary.cells[2].held_by.as_ref().expect("held");
        assert_eq!((&*held.device, held.devices, held.limit.per_s), ("vda", 2, 1_500));
        assert_eq!(
            held.lifting_command(),
            "echo '7:0 0' | sudo tee /sys/fs/cgroup/blkio/db/blkio.throttle.read_iops_device"
        );
    }

    #[test]
    fn a_load_that_something_else_limits_is_near_a_throttle_by_chance() {
        // One request at a time takes 1 ms: 1,000 a second, with or without the throttle.
        let limits = vec![limit(ThrottledRequests::Reads, ThrottledQuantity::Requests, 1_020)];
        let summary = summarize(&run(limits, 1));
        assert_eq!(summary.cells[0].binding.as_ref().map(|binding| binding.limit), Some(Limit::Latency));
        assert_eq!(summary.cells[0].held_by, None);
    }

    /// A busy machine does not explain a rate that is a throttle's.
    #[test]
    fn a_throttle_that_is_reached_outranks_busy_processors() {
        let limits = vec![limit(ThrottledRequests::Reads, ThrottledQuantity::Requests, 3_000)];
        let mut record = run(limits, 1);
        record.cells.remove(1);
        for cell in &mut record.cells {
            cell.trials[0].surroundings.machine.as_mut().expect("seen").busy = 0.98;
        }
        let held = |record: &RunRecord| {
            let cells = summarize(record).cells;
            cells
                .into_iter()
                .map(|cell| (cell.binding.expect("named").limit, cell.held_by.is_some()))
                .collect::<Vec<_>>()
        };
        assert_eq!(held(&record)[1], (Limit::DiskIops, true));
        record.header.volumes[0].devices[0].throttles.clear();
        assert_eq!(held(&record)[1], (Limit::Cpu, false), "without the throttle it is the processors");
    }

    #[test]
    fn a_limit_that_the_load_stays_below_holds_nothing() {
        let limits = vec![limit(ThrottledRequests::Reads, ThrottledQuantity::Requests, 5_000)];
        assert!(summarize(&run(limits, 1)).cells.iter().all(|cell| cell.held_by.is_none()));
    }

    /// A pass of a second gets a slice's share more than the throttle's rate: that is its limit all the same.
    #[test]
    fn a_short_pass_that_gets_more_than_the_throttle_lets_through_has_reached_it() {
        let named = |duration_ns: u64| {
            let mut record = run(vec![limit(ThrottledRequests::Reads, ThrottledQuantity::Requests, 3_000)], 1);
            // One request at a time, 3,300 a second.
            let disk = ExampleDisk { iops: 50_000.0, latency_ns: 1e9 / 3_300.0, ..ExampleDisk::default() };
            let load = loadline_record::LoadFigures { duration_ns, ..example::closed("random", 1.0, 4096, 1) };
            record.cells = vec![example::cell(load, &disk, &[1.0])];
            let summary = summarize(&record);
            let verdict = summary.verdict.expect("measured");
            (summary.cells[0].held_by.is_some(), verdict.volumes[0].held_by.clone())
        };
        let short = named(1_000_000_000);
        assert!(short.0 && matches!(short.1, Holder::Throttles { .. }), "{short:?}");
        // Over a minute no throttle of 3,000 lets 3,300 through: it is not this one that is met.
        let long = named(60_000_000_000);
        assert!(!long.0, "{long:?}");
        assert!(matches!(long.1, Holder::Limit(LimitHolder { limit: Limit::Latency, .. })), "{long:?}");
    }
}
