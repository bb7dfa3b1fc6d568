//! The machine beside a crawl: processors, device counters of its volumes, and how late its threads wake.

use crate::clock::{CrawlClock, lock};
use crate::folders::CrawlFolders;
use crate::state::SharedCrawl;
use loadline_block::Operation;
use loadline_kernel::clock::now;
use loadline_kernel::counters::{disk_change, disk_counters, own_bytes};
use loadline_kernel::facts::{BlockDevice, KernelView, Storage};
use loadline_kernel::stalls::Stalls;
use loadline_kernel::surroundings::Observation;
use loadline_record::{
    CpuRecord, DeviceCounters, DeviceFacts, Histogram, RunRecord, Stops, Surroundings, TargetKind, VolumeFacts,
    VolumeRole, VolumeSecond, VolumeUse,
};
use loadline_runs::watch::SurroundingsWatch;
use loadline_units::Duration;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread::JoinHandle;

/// Between two wakings whose lateness is measured.
const WAKE_EVERY: Duration = Duration::from_ms(10);

/// A volume that is watched.
#[derive(Debug, Clone)]
struct WatchedVolume {
    role: VolumeRole,
    devices: Vec<String>,
}

/// What was seen of the machine.
#[derive(Debug, Clone, Default)]
pub(crate) struct MachineRecord {
    pub(crate) cpu: CpuRecord,
    /// As of every trial; it has the counters of every device below, once each.
    pub(crate) surroundings: Surroundings,
    /// What `watch` would have stored of the same devices and time.
    pub(crate) watch: Option<Box<RunRecord>>,
    pub(crate) volumes: Vec<VolumeUse>,
    pub(crate) hosts_left: Vec<Vec<u32>>,
    pub(crate) received_bytes: Vec<u64>,
    pub(crate) lag_p99_ns: Option<u64>,
}

/// Watches the machine on a thread of its own.
pub(crate) struct MachineWatch {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
    series: Arc<Mutex<Series>>,
    around: Observation,
    /// `None`: the kernel counts nothing of the devices.
    devices: Option<SurroundingsWatch>,
    /// Bytes that this process had read and written.
    own_bytes: Option<(u64, u64)>,
}

#[derive(Debug, Default)]
struct Series {
    volumes: Vec<VolumeUse>,
    hosts_left: Vec<Vec<u32>>,
    received_bytes: Vec<u64>,
    late: Histogram,
    stalls: Stalls,
}

/// The folder of each volume that counts.
fn roles(folders: &CrawlFolders) -> [(VolumeRole, &PathBuf); 3] {
    [
        (VolumeRole::Index, &folders.index),
        (VolumeRole::Data, &folders.data),
        (VolumeRole::Log, folders.log.as_ref().unwrap_or(&folders.data)),
    ]
}

/// What lies under a folder.
fn storage(folder: &Path) -> Option<Storage> {
    let path = folder.canonicalize().ok()?;
    Some(Storage::below(&KernelView::live(), &File::open(&path).ok()?, &path))
}

/// Facts of the volumes, for the run's header: `data` is that of the index, whatever else lies elsewhere has its own.
pub(crate) fn volume_facts(folders: &CrawlFolders) -> Vec<VolumeFacts> {
    let facts = |(role, folder): (VolumeRole, &PathBuf)| {
        let storage = storage(folder).unwrap_or_default();
        VolumeFacts {
            name: role.name().to_owned(),
            target: folder.display().to_string(),
            kind: TargetKind::File,
            path: folder.canonicalize().ok().map(|path| path.display().to_string()),
            size_bytes: None,
            size_reason: "as much as the crawl writes".to_owned(),
            direct: false,
            direct_reason: Some("a crawl writes through the page cache and makes it durable by commits".to_owned()),
            file_system: storage.file_system,
            devices: storage.devices,
            extents: None,
        }
    };
    roles(folders).into_iter().map(facts).collect()
}

/// Has the file system of a folder write what it holds back: an index that was never on its disk was not measured.
pub(crate) fn write_back(folder: &Path) {
    if let Ok(folder) = File::open(folder) {
        // A file system that cannot is no reason to lose the crawl; its commits are durable.
        let _ = loadline_kernel::system_calls::write_back_file_system(&folder);
    }
}

impl MachineWatch {
    pub(crate) fn start(clock: CrawlClock, interval_ns: u64, folders: &CrawlFolders, crawl: &Arc<SharedCrawl>) -> Self {
        let view = KernelView::live();
        let (mut watched, mut below): (Vec<WatchedVolume>, Vec<DeviceFacts>) = (Vec::new(), Vec::new());
        for (role, folder) in roles(folders) {
            let Some(Storage { counted, devices, .. }) = storage(folder) else { continue };
            below.extend(devices);
            if !counted.is_empty() {
                watched.push(WatchedVolume { role, devices: counted });
            }
        }
        below.sort_by(|a, b| a.name.cmp(&b.name));
        below.dedup_by(|a, b| a.name == b.name);
        let mut names: Vec<String> = watched.iter().flat_map(|volume| volume.devices.clone()).collect();
        names.sort();
        names.dedup();
        let below_all = names.iter().filter_map(|name| BlockDevice::by_name(&view, name)).collect();
        let devices = SurroundingsWatch::begin(below_all, Some(std::process::id())).ok();
        let stop: Arc<AtomicBool> = Arc::default();
        let (ends, weak) = (Arc::clone(&stop), Arc::downgrade(crawl));
        let series = Arc::<Mutex<Series>>::default();
        let own = Arc::clone(&series);
        let thread = std::thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || watch((clock, interval_ns), &watched, &weak, &ends, &own))
            .expect("a thread can be made");
        Self { stop, thread, series, around: Observation::begin(&below, &names), devices, own_bytes: own_bytes(&view) }
    }
    /// What was seen of volumes and sources so far.
    pub(crate) fn so_far(&self) -> MachineRecord {
        let series = lock(&self.series);
        MachineRecord {
            volumes: series.volumes.clone(),
            hosts_left: series.hosts_left.clone(),
            received_bytes: series.received_bytes.clone(),
            ..MachineRecord::default()
        }
    }
    /// What was seen of a crawl that took so long.
    pub(crate) fn end(self, wall_ns: u64) -> MachineRecord {
        let own = self.own_bytes.zip(own_bytes(&KernelView::live()));
        let mut around = self.around.end();
        let watch = self.devices.and_then(|devices| devices.end().ok()).map(Box::new);
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let series = std::mem::take(&mut *lock(&self.series));
        let throttled_ns = around.stops.and_then(|stops| stops.throttled_ns);
        around.stops = Some(Stops { throttled_ns, ..series.stalls.record() });
        // How many requests these were is not counted.
        around.asked = own.map_or_else(Default::default, |(before, after)| {
            let bytes = [(Operation::Read, after.0 - before.0), (Operation::Write, after.1 - before.1)];
            bytes.into_iter().map(|(operation, bytes)| (operation, (0, bytes))).collect()
        });
        let crawl_ns = around.tool_user_ns + around.tool_system_ns;
        let of_machine = |share: f64, cpus: u32| (share * wall_ns as f64 * f64::from(cpus)) as u64;
        let cpu = CpuRecord {
            crawl_ns,
            others_ns: around.machine.map_or(0, |of| of_machine(of.busy - of.steal, of.cpus).saturating_sub(crawl_ns)),
            steal_ns: around.machine.map_or(0, |of| of_machine(of.steal, of.cpus)),
            throttled_ns: throttled_ns.unwrap_or_default(),
        };
        MachineRecord {
            cpu,
            surroundings: around,
            watch,
            volumes: series.volumes,
            hosts_left: series.hosts_left,
            received_bytes: series.received_bytes,
            lag_p99_ns: series.late.quantile(0.99).map(Duration::as_ns),
        }
    }
}

fn watch(
    (clock, interval_ns): (CrawlClock, u64),
    watched: &[WatchedVolume],
    crawl: &Weak<SharedCrawl>,
    stop: &AtomicBool,
    series: &Mutex<Series>,
) {
    let view = KernelView::live();
    let counters =
        || -> Vec<Vec<DeviceCounters>> { watched.iter().map(|volume| disk_counters(&view, &volume.devices)).collect() };
    let mut before = counters();
    let mut received_before = 0;
    let volume = |volume: &WatchedVolume| VolumeUse {
        role: volume.role,
        name: volume.role.name().to_owned(),
        devices: volume.devices.clone(),
        series: Vec::new(),
    };
    lock(series).volumes = watched.iter().map(volume).collect();
    let began_at = now();
    let mut next_ns = interval_ns;
    while !stop.load(Ordering::Relaxed) {
        let wanted_at = now() + WAKE_EVERY;
        std::thread::sleep(std::time::Duration::from_nanos(WAKE_EVERY.as_ns()));
        let woken_at = now();
        let now_ns = clock.ns();
        let mut series = lock(series);
        series.late.record(woken_at.since(wanted_at));
        series.stalls.slept(wanted_at, woken_at, (began_at, woken_at));
        if now_ns < next_ns {
            continue;
        }
        next_ns += interval_ns;
        let series = &mut *series;
        let Some(crawl) = crawl.upgrade() else { break };
        let (left, received) = crawl.beside();
        drop(crawl);
        series.hosts_left.resize(left.len(), Vec::new());
        series.hosts_left.iter_mut().zip(left).for_each(|(series, left)| series.push(left));
        series.received_bytes.push(received - received_before);
        received_before = received;
        let after = counters();
        for ((volume, before), after) in series.volumes.iter_mut().zip(&before).zip(&after) {
            let change = before.iter().zip(after).map(|(before, after)| disk_change(before, after));
            let mut second = VolumeSecond::default();
            for of in change {
                second.requests += of.reads + of.writes;
                second.bytes += of.read_bytes + of.write_bytes;
                second.latency_ns += (of.read_ms + of.write_ms) * 1_000_000;
                second.busy_ns += of.busy_ms * 1_000_000;
            }
            volume.series.push(second);
        }
        before = after;
    }
}
