//! An environment served to other programs.

use crate::attach::{AttachError, Mount};
use crate::contents::Contents;
use crate::driver::{Cut, Driver, Place};
use crate::export::Export;
use crate::listening::{self, ListenError, Listener};
use crate::meter::{Figures, Meter};
use crate::protocol::BLOCK_MIN;
use crate::protocol::negotiation::ExportInfo;
use crate::serving::Serving;
use crate::store::{Budget, FileStore, Folder, FolderError, MemoryStore, Store};
use crate::trace::{Recorder, TraceSettings};
use loadline_disk::{DiskSpec, EnvironmentError, EnvironmentSpec, InitialState, Layout, Machine, VolumeSpec};
use loadline_units::{Bytes, Duration, Instant};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

/// The size of what has none, as clients see it: 1 PiB.
const ENDLESS: u64 = 1 << 50;

/// Where contents are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Backing {
    /// In memory, as far as they were written; gone at the end.
    Memory {
        /// For all disks together; a write beyond fails with "no space".
        max: Bytes,
    },
    /// In a folder with a sparse file for each disk, kept for the next time.
    Folder(PathBuf),
}

/// How an environment is emulated.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Decides service times and where windows begin.
    pub seed: u64,
    /// Credits and caches at the beginning.
    pub initial: InitialState,
    /// Where contents are kept.
    pub backing: Backing,
    /// A file that receives every request with its times; `None`: nothing is recorded.
    pub trace: Option<TraceSettings>,
}

/// Why an emulation cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum EmulationError {
    /// The environment contradicts itself.
    #[error("the environment cannot be emulated: {0}")]
    Environment(#[from] EnvironmentError),
    /// The folder for contents.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The system's answer.
    #[error("cannot {what}: {error}")]
    System {
        /// What was attempted.
        what: &'static str,
        /// The answer.
        error: std::io::Error,
    },
}

/// A running emulation. Dropped, it ends.
#[derive(Debug)]
pub struct Emulation {
    serving: Arc<Serving>,
    budget: Arc<Budget>,
    stores: Vec<Arc<Store>>,
    _folder: Option<Folder>,
    deliverer: Option<JoinHandle<()>>,
    listeners: Vec<Listener>,
    mounts: Vec<Mount>,
}

impl Emulation {
    /// Begins to emulate; clients can come once it listens somewhere.
    ///
    /// # Errors
    /// An environment that contradicts itself, a folder that cannot be used, a system that refuses a thread or a timer.
    pub fn start(environment: &EnvironmentSpec, settings: &Settings) -> Result<Self, EmulationError> {
        let machine = Machine::new(environment, settings.seed, settings.initial)?;
        let disks: Vec<(String, u64)> = environment
            .volumes
            .iter()
            .flat_map(|volume| volume.disks.iter().enumerate().map(move |(number, disk)| (volume, number, disk)))
            .map(|(volume, number, disk)| (format!("{}/{number}", volume.name), disk.size.map_or(ENDLESS, Bytes::get)))
            .collect();
        let most = match &settings.backing {
            Backing::Memory { max } => max.get(),
            Backing::Folder(_) => 0,
        };
        let budget = Arc::new(Budget::new(most));
        let (folder, stores): (Option<Folder>, Vec<Arc<Store>>) = match &settings.backing {
            Backing::Memory { .. } => {
                let store = |_| Arc::new(Store::Memory(MemoryStore::new(Arc::clone(&budget))));
                (None, disks.iter().map(store).collect())
            }
            Backing::Folder(path) => {
                let (folder, files) = Folder::open(path, &disks)?;
                (Some(folder), files.into_iter().map(|file| Arc::new(Store::File(FileStore::new(file)))).collect())
            }
        };
        let exports = exports(environment, &machine, &stores);
        let system = |what| move |error: std::io::Error| EmulationError::System { what, error };
        let recorder = match &settings.trace {
            Some(trace) => Some(Recorder::create(trace, &exports).map_err(system("make the trace"))?),
            None => None,
        };
        let driver = Driver::start(machine, recorder).map_err(|error| system("make a timer")(error.into()))?;
        let serving = Arc::new(Serving::new(exports, driver));
        let own = Arc::clone(&serving);
        let thread = std::thread::Builder::new().name("deliverer".into());
        let deliverer = thread.spawn(move || own.deliver_due()).map_err(system("start a thread"))?;
        Ok(Self {
            serving,
            budget,
            stores,
            _folder: folder,
            deliverer: Some(deliverer),
            listeners: Vec::new(),
            mounts: Vec::new(),
        })
    }

    /// Takes clients on a unix socket. A socket that an emulation left behind when it was killed is replaced; anything else
    /// that is there is not.
    ///
    /// # Errors
    /// Something is there, or the system refuses.
    pub fn listen_unix(&mut self, path: &Path) -> Result<(), ListenError> {
        self.listeners.push(listening::unix(&self.serving, path)?);
        Ok(())
    }

    /// Takes clients over TCP; gives the address, with the port that was chosen for port 0.
    ///
    /// # Errors
    /// The system refuses.
    pub fn listen_tcp(&mut self, address: SocketAddr) -> Result<SocketAddr, ListenError> {
        let (listener, address) = listening::tcp(&self.serving, address)?;
        self.listeners.push(listener);
        Ok(address)
    }

    /// Shows every export as a file of an empty folder, for direct I/O by this machine's programs and kernel: each with the
    /// name of its export, in which a dot stands for a slash. Gives the files, in the order of the exports.
    ///
    /// # Errors
    /// The folder is not empty, or the system refuses: mounting needs root.
    pub fn mount(&mut self, folder: &Path) -> Result<Vec<PathBuf>, AttachError> {
        let mount = Mount::start(&self.serving, folder)?;
        let files = mount.files().collect();
        self.mounts.push(mount);
        Ok(files)
    }

    /// What clients may ask for; the first also goes without a name.
    #[must_use]
    pub fn exports(&self) -> &[ExportInfo] {
        &self.serving.infos
    }

    /// What each export did so far, in their order.
    #[must_use]
    pub fn figures(&self) -> Vec<Figures> {
        self.serving.exports.iter().map(|export| export.meter.figures()).collect()
    }

    /// Since the beginning.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.serving.driver.clock.now().since(Instant::ZERO)
    }

    /// Clients at the moment.
    #[must_use]
    pub fn clients(&self) -> usize {
        self.serving.clients()
    }

    /// Memory that contents use.
    #[must_use]
    pub fn memory(&self) -> Bytes {
        Bytes::new(self.budget.used())
    }

    /// Takes no more clients, closes the connections of those who are there, and keeps what is to be kept.
    ///
    /// # Errors
    /// Contents could not be handed to the device below.
    pub fn end(mut self) -> Result<(), EmulationError> {
        self.close();
        let system = |error| EmulationError::System { what: "write the trace", error };
        self.serving.driver.end_recording().map_err(system)?;
        let system = |error| EmulationError::System { what: "write contents to their device", error };
        self.stores.iter().try_for_each(|store| store.sync()).map_err(|error| system(std::io::Error::other(error)))
    }

    fn close(&mut self) {
        self.listeners.clear();
        for mount in self.mounts.drain(..) {
            let numbers: Vec<u32> = mount.numbers().collect();
            drop(mount);
            for number in numbers {
                self.serving.leave(number);
            }
        }
        self.serving.end();
        if let Some(deliverer) = self.deliverer.take() {
            // It panicked where this fails, and said so.
            let _ = deliverer.join();
        }
    }
}

impl Drop for Emulation {
    fn drop(&mut self) {
        self.close();
    }
}

/// Every volume, then every disk.
fn exports(environment: &EnvironmentSpec, machine: &Machine, stores: &[Arc<Store>]) -> Vec<Arc<Export>> {
    let (mut volumes, mut single) = (Vec::new(), Vec::new());
    let mut first = 0;
    for volume in &environment.volumes {
        let disks = &stores[first..first + volume.disks.len()];
        first += volume.disks.len();
        volumes.push(export(machine, volume.name.clone(), describe(volume), volume.layout, &volume.disks, disks));
        for (number, disk) in volume.disks.iter().enumerate() {
            let name = format!("{}/{number}", volume.name);
            let about = format!("disk {number} of volume {} of {}", volume.name, environment.name);
            let spec = std::slice::from_ref(disk);
            single.push(export(machine, name, about, Layout::Single, spec, &disks[number..=number]));
        }
    }
    volumes.append(&mut single);
    volumes
}

fn describe(volume: &VolumeSpec) -> String {
    let disks = match volume.disks.len() {
        1 => "one disk".to_owned(),
        count => format!("{count} disks"),
    };
    match volume.layout {
        Layout::Single => disks,
        Layout::Stripe { interleave, .. } => format!("{disks}, striped by {interleave}"),
        Layout::Mirror { .. } => format!("{disks}, mirrored"),
        Layout::StripeOfMirrors { copies, interleave, .. } => {
            format!("{disks}, striped by {interleave} over mirrors of {copies}")
        }
    }
}

fn export(
    machine: &Machine,
    name: String,
    description: String,
    layout: Layout,
    disks: &[DiskSpec],
    stores: &[Arc<Store>],
) -> Arc<Export> {
    let target = machine.target(&name).expect("the machine has every volume and disk of its environment");
    let size = machine.size(target).map_or(ENDLESS, Bytes::get);
    let rotational = disks.iter().any(|disk| disk.spinning.is_some());
    Arc::new(Export {
        info: ExportInfo { name, description, size: size - size % u64::from(BLOCK_MIN), rotational },
        place: Place { target, cut: Cut::of(layout) },
        contents: Contents::new(layout, stores.to_vec()),
        meter: Meter::default(),
    })
}
