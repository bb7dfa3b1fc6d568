//! A running emulation as clients find it: orderly ones, and others.

mod client;
mod disorderly;
mod faults;
mod long;
mod mirrors;
mod model;
mod orderly;
mod power;

use loadline_disk::{Directions, Enforcement};
use loadline_disk::{
    DiskSpec, EnvironmentSpec, InitialState, IopsBudget, Latency, LatencySpec, Layout, Limit, VolumeSpec,
};
use loadline_emulator::{Backing, Emulation, EmulationSettings, ExportFigures};
use loadline_units::{Bytes, Duration, Iops};
use std::path::PathBuf;

/// An emulation that listens on a socket in a folder of its own.
struct Served {
    emulation: Emulation,
    folder: tempfile::TempDir,
}

const SEED: u64 = 7;

fn memory() -> EmulationSettings {
    EmulationSettings {
        seed: SEED,
        initial: InitialState::default(),
        backing: Backing::Memory { max: Bytes::gib(1) },
        trace: None,
        write_cache: Bytes::mib(16),
        lie_about_flush: false,
        spin: false,
        hasten: true,
    }
}

impl Served {
    fn new(environment: &EnvironmentSpec) -> Self {
        Self::with(environment, &memory())
    }
    fn with(environment: &EnvironmentSpec, settings: &EmulationSettings) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut emulation = Emulation::start(environment, settings).unwrap();
        emulation.listen_unix(&folder.path().join("s")).unwrap();
        Self { emulation, folder }
    }
    /// What every export did, once `count` answers were counted: that comes just after the client has them.
    fn figures(&self, count: u64) -> Vec<ExportFigures> {
        let begun = std::time::Instant::now();
        loop {
            let figures = self.emulation.figures();
            let counted: u64 = figures.iter().map(ExportFigures::requests).sum();
            assert!(counted <= count && begun.elapsed().as_secs() < 120, "{counted} answers of {count} were counted");
            if counted == count {
                return figures;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
    fn socket(&self) -> PathBuf {
        self.folder.path().join("s")
    }
}

fn disk(size: Bytes) -> DiskSpec {
    DiskSpec { size: Some(size), ..DiskSpec::default() }
}

fn environment(layout: Layout, disks: Vec<DiskSpec>) -> EnvironmentSpec {
    let volume = VolumeSpec { name: "data".into(), disks, layout, ..VolumeSpec::default() };
    EnvironmentSpec { name: "test".into(), volumes: vec![volume], ..EnvironmentSpec::default() }
}

/// One disk of 64 MiB that answers at once.
fn free() -> EnvironmentSpec {
    environment(Layout::Single, vec![disk(Bytes::mib(64))])
}

/// One disk of 64 MiB whose every request takes `latency`.
fn slow(latency: Duration) -> EnvironmentSpec {
    let spec = LatencySpec { median: latency, p99: latency, ..LatencySpec::default() };
    let latency = Latency { read: spec, write: spec, flush: None };
    environment(Layout::Single, vec![DiskSpec { latency, ..disk(Bytes::mib(64)) }])
}

/// One disk of 64 MiB that does so many requests a second, evenly.
fn limited(rate: u64) -> EnvironmentSpec {
    let iops = Some(Directions::Together(IopsBudget::steady(Iops::per_second(rate).unwrap())));
    let limit = Limit { iops, enforcement: Enforcement::Smooth, ..Limit::default() };
    environment(Layout::Single, vec![DiskSpec { limit, ..disk(Bytes::mib(64)) }])
}
