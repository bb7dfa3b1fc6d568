//! The machine beside a crawl: processors, device counters of its volumes, and how late its threads wake.

use crate::clock::CrawlClock;
use crate::crawling::Crawling;
use crate::folders::CrawlFolders;
use loadline_kernel::clock::process_cpu_time;
use loadline_kernel::counters::{
    CpuTicks, cpu_shares, cpu_ticks, disk_change, disk_counters, pressure, pressure_change, throttled_ns,
};
use loadline_kernel::facts::{KernelView, Storage};
use loadline_record::{
    CpuRecord, DeviceCounters, Histogram, MachineCpu, Pressure, TargetKind, VolumeFacts, VolumeRole, VolumeSecond,
    VolumeUse,
};
use loadline_units::Duration;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
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
    pub(crate) machine: Option<MachineCpu>,
    pub(crate) pressure: Option<Pressure>,
    pub(crate) volumes: Vec<VolumeUse>,
    /// The counters of every device below, once each.
    pub(crate) devices: Vec<DeviceCounters>,
    pub(crate) hosts_left: Vec<Vec<u32>>,
    pub(crate) received_bytes: Vec<u64>,
    pub(crate) lag_p99_ns: Option<u64>,
    pub(crate) user_ns: u64,
    pub(crate) system_ns: u64,
}

/// Watches the machine on a thread of its own.
pub(crate) struct MachineWatch {
    clock: CrawlClock,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Series>,
    ticks: Option<CpuTicks>,
    throttled: Option<u64>,
    pressure: Option<Pressure>,
    cpu: loadline_kernel::clock::CpuTime,
    devices: Vec<DeviceCounters>,
}

#[derive(Debug, Default)]
struct Series {
    volumes: Vec<VolumeUse>,
    hosts_left: Vec<Vec<u32>>,
    received_bytes: Vec<u64>,
    late: Histogram,
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
    pub(crate) fn start(clock: CrawlClock, interval_ns: u64, folders: &CrawlFolders, crawl: &Arc<Crawling>) -> Self {
        let view = KernelView::live();
        let watched: Vec<WatchedVolume> = roles(folders)
            .into_iter()
            .map(|(role, folder)| WatchedVolume {
                role,
                devices: storage(folder).map(|storage| storage.counted).unwrap_or_default(),
            })
            .filter(|volume| !volume.devices.is_empty())
            .collect();
        let mut names: Vec<String> = watched.iter().flat_map(|volume| volume.devices.clone()).collect();
        names.sort();
        names.dedup();
        let devices = disk_counters(&view, &names);
        let stop: Arc<AtomicBool> = Arc::default();
        let (ends, weak) = (Arc::clone(&stop), Arc::downgrade(crawl));
        let thread = std::thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || watch(clock, interval_ns, &watched, &weak, &ends))
            .expect("a thread can be made");
        Self {
            clock,
            stop,
            thread,
            ticks: cpu_ticks(&view),
            throttled: throttled_ns(&view),
            pressure: pressure(&view),
            cpu: process_cpu_time(),
            devices,
        }
    }
    pub(crate) fn end(self) -> MachineRecord {
        let view = KernelView::live();
        let names: Vec<String> = self.devices.iter().map(|device| device.name.clone()).collect();
        let after = disk_counters(&view, &names);
        let devices = self.devices.iter().zip(&after).map(|(before, after)| disk_change(before, after)).collect();
        let wall_ns = self.clock.ns();
        let cpu = process_cpu_time().since(self.cpu);
        let crawl_ns = (cpu.user + cpu.system).as_ns();
        let machine = self.ticks.zip(cpu_ticks(&view)).and_then(|(before, after)| cpu_shares(before, after));
        let of_machine = |share: f64, cpus: u32| (share * wall_ns as f64 * f64::from(cpus)) as u64;
        let cpu_record = CpuRecord {
            crawl_ns,
            others_ns: machine.map_or(0, |of| of_machine(of.busy - of.steal, of.cpus).saturating_sub(crawl_ns)),
            steal_ns: machine.map_or(0, |of| of_machine(of.steal, of.cpus)),
            throttled_ns: self
                .throttled
                .zip(throttled_ns(&view))
                .map_or(0, |(before, after)| after.saturating_sub(before)),
        };
        self.stop.store(true, Ordering::Relaxed);
        let series = self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        MachineRecord {
            cpu: cpu_record,
            machine,
            pressure: self.pressure.zip(pressure(&view)).map(|(before, after)| pressure_change(before, after)),
            volumes: series.volumes,
            devices,
            hosts_left: series.hosts_left,
            received_bytes: series.received_bytes,
            lag_p99_ns: series.late.quantile(0.99).map(Duration::as_ns),
            user_ns: cpu.user.as_ns(),
            system_ns: cpu.system.as_ns(),
        }
    }
}

fn watch(
    clock: CrawlClock,
    interval_ns: u64,
    watched: &[WatchedVolume],
    crawl: &Weak<Crawling>,
    stop: &AtomicBool,
) -> Series {
    let view = KernelView::live();
    let counters =
        || -> Vec<Vec<DeviceCounters>> { watched.iter().map(|volume| disk_counters(&view, &volume.devices)).collect() };
    let mut before = counters();
    let mut received_before = 0;
    let mut series = Series {
        volumes: watched
            .iter()
            .map(|volume| VolumeUse { role: volume.role, name: volume.role.name().to_owned(), series: Vec::new() })
            .collect(),
        ..Series::default()
    };
    let mut next_ns = interval_ns;
    while !stop.load(Ordering::Relaxed) {
        let from_ns = clock.ns();
        std::thread::sleep(std::time::Duration::from_nanos(WAKE_EVERY.as_ns()));
        let now_ns = clock.ns();
        series.late.record(Duration::from_ns((now_ns - from_ns).saturating_sub(WAKE_EVERY.as_ns())));
        if now_ns < next_ns {
            continue;
        }
        next_ns += interval_ns;
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
    series
}
