//! An environment served to other programs.

use crate::attach::{AttachError, FolderMount, Links, UblkDevice};
use crate::changes::{ChangeFailure, ChangeOutcome};
use crate::client::{self, Encrypted};
use crate::contents::{Contents, WriteTickets};
use crate::control::{CONTROL_CONNECTIONS_MAX, ControlSocket};
use crate::descriptors::Descriptors;
use crate::disks::{DiskSet, VolumeDisk};
use crate::driver::Driver;
use crate::export::Export;
use crate::listener::{self, ListenError, Listener};
use crate::meter::{ExportFigures, Meter};
use crate::refusal::Refused;
use crate::service::Service;
use crate::store::{
    BackingTrouble, Budget, FileStore, Folder, FolderError, Keeping, MemoryStore, PAGE, Store, StoredDisk,
};
use crate::tls::Tls;
use crate::trace_file::{TraceSettings, TraceWriter};
use crate::view::View;
use loadline_disk::{DiskSpec, EnvironmentError, EnvironmentSpec, InitialState, Layout, VolumeSpec};
use loadline_emulation::{Change, Fault, FaultKind, FaultyMachine, History, LateExport, Slicing, TimeAccount};
use loadline_kernel::scheduling::Turns;
use loadline_nbd::BLOCK_MIN;
use loadline_nbd::negotiation::ExportInfo;
use loadline_record::Series;
use loadline_units::{Bytes, Duration, Instant, Ratio};
use parking_lot::RwLock;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

/// The size of what has none, as clients see it: 1 PiB.
const ENDLESS: u64 = 1 << 50;

/// Between two looks at whether the thread that looks once a second has begun.
const FIRST_LOOK: std::time::Duration = std::time::Duration::from_micros(50);

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
pub struct EmulationSettings {
    /// Decides service times and where windows begin.
    pub seed: u64,
    /// Credits and caches at the beginning.
    pub initial: InitialState,
    /// Where contents are kept.
    pub backing: Backing,
    /// A file that receives every request with its times; `None`: nothing is recorded.
    pub trace: Option<TraceSettings>,
    /// Bytes that a disk's own cache of writes holds, which a power cut may take; zero: every write is durable at once.
    pub write_cache: Bytes,
    /// Flushes and durable writes are answered, and nothing is made durable by them.
    pub lie_about_flush: bool,
    /// The thread that delivers answers watches the clock, rather than sleep, while one is due soon.
    pub spin: bool,
    /// Threads run as soon as they wake, before others that want the processor, as far as the system lets them.
    pub hasten: bool,
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
    /// The file of the trace.
    #[error("cannot make the trace {path}: {error}; name a file that does not exist, in a folder that does")]
    Trace {
        /// The file.
        path: String,
        /// The answer.
        error: std::io::Error,
    },
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
    service: Arc<Service>,
    budget: Arc<Budget>,
    backing_trouble: Arc<BackingTrouble>,
    caught_up: Vec<String>,
    deliverer: Option<JoinHandle<()>>,
    viewer: Option<JoinHandle<()>>,
    listeners: Vec<Listener>,
    mounts: Vec<FolderMount>,
    tls: Option<Tls>,
}

impl Emulation {
    /// Begins to emulate; clients can come once it listens somewhere.
    ///
    /// # Errors
    /// An environment that contradicts itself, a folder that cannot be used, a system that refuses a thread or a timer.
    pub fn start(environment: &EnvironmentSpec, settings: &EmulationSettings) -> Result<Self, EmulationError> {
        let model = FaultyMachine::new(environment, settings.seed, settings.initial)?;
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
        let backing_trouble = Arc::new(BackingTrouble::default());
        let (folder, stores): (Option<Folder>, Vec<Store>) = match &settings.backing {
            Backing::Memory { .. } => {
                let store = |_| Store::Memory(MemoryStore::new(Arc::clone(&budget)));
                (None, disks.iter().map(store).collect())
            }
            Backing::Folder(path) => {
                let laid = |volume: &VolumeSpec| (volume.name.clone(), describe(volume));
                let volumes: Vec<(String, String)> = environment.volumes.iter().map(laid).collect();
                let (folder, files) = Folder::open(path, &volumes, &disks)?;
                let store = |file| Store::File(FileStore::new(file, Arc::clone(&backing_trouble)));
                (Some(folder), files.into_iter().map(store).collect())
            }
        };
        // A cache of less than a page holds one.
        let pages_max = settings.write_cache.get().div_ceil(PAGE as u64) as usize;
        let keeping = Keeping { pages_max, lies: settings.lie_about_flush };
        let members = members(environment, stores, &disks, keeping);
        let exports = exports(environment, &model, &members);
        let system = |what| move |error: std::io::Error| EmulationError::System { what, error };
        let recorder = match &settings.trace {
            Some(trace) => Some(TraceWriter::create(trace, &exports).map_err(|error| {
                let path = trace.path.display().to_string();
                EmulationError::Trace { path, error }
            })?),
            None => None,
        };
        let driver =
            Driver::start(model, recorder, settings.spin).map_err(|error| system("make a timer")(error.into()))?;
        let descriptors = Descriptors::raised(CONTROL_CONNECTIONS_MAX + members.len());
        let disks = DiskSet::new(members, folder);
        let service = Arc::new(Service::new(exports, disks, driver, descriptors, settings.hasten));
        let behind = service.disks().folder().map_or(Ok(Vec::new()), Folder::behind)?;
        let caught_up = service.catch_up(&behind).map_err(catching_up)?;
        let own = Arc::clone(&service);
        let thread = std::thread::Builder::new().name("deliverer".into());
        let deliverer = thread.spawn(move || own.deliver_due()).map_err(system("start a thread"))?;
        let own = Arc::clone(&service);
        let thread = std::thread::Builder::new().name("viewer".into());
        let viewer = thread.spawn(move || own.watch()).map_err(system("start a thread"))?;
        // The view is complete from now on.
        while service.view().exports.len() < service.exports().len() {
            std::thread::sleep(FIRST_LOOK);
        }
        let (deliverer, viewer) = (Some(deliverer), Some(viewer));
        Ok(Self {
            service,
            budget,
            backing_trouble,
            caught_up,
            deliverer,
            viewer,
            listeners: Vec::new(),
            mounts: Vec::new(),
            tls: None,
        })
    }

    /// Takes clients on a unix socket. A socket that an emulation left behind when it was killed is replaced; anything else
    /// that is there is not.
    ///
    /// # Errors
    /// Something is there, or the system refuses.
    pub fn listen_unix(&mut self, path: &Path) -> Result<(), ListenError> {
        let encrypted = self.tls.clone().map(|tls| Encrypted { tls, required: false });
        self.listeners.push(listener::unix(client::welcome_all(&self.service, encrypted), path)?);
        Ok(())
    }

    /// Whether [`listen_unix`](Self::listen_unix) could take clients there.
    ///
    /// # Errors
    /// Something is there, the path is too long, or it has no folder.
    pub fn check_unix(path: &Path) -> Result<(), ListenError> {
        listener::check_unix(path)
    }

    /// How soon the thread that delivers answers runs where others want the processor.
    #[must_use]
    pub fn turns(&self) -> Turns {
        self.service.turns()
    }

    /// Encrypts connections that come from here on: over TCP all, over a unix socket those that ask for it.
    pub fn encrypt(&mut self, tls: Tls) {
        self.tls = Some(tls);
    }

    /// Takes clients over TCP; gives the address, with the port that was chosen for port 0.
    ///
    /// # Errors
    /// The system refuses.
    pub fn listen_tcp(&mut self, address: SocketAddr) -> Result<SocketAddr, ListenError> {
        let encrypted = self.tls.clone().map(|tls| Encrypted { tls, required: true });
        let (listener, address) = listener::tcp(client::welcome_all(&self.service, encrypted), address)?;
        self.listeners.push(listener);
        Ok(address)
    }

    /// Shows every export as a file of an empty folder, for direct I/O by this machine's programs and kernel: each with the
    /// name of its export, in which a dot stands for a slash. Gives the files, in the order of the exports.
    ///
    /// # Errors
    /// The folder is not empty, or the system refuses: mounting needs root.
    pub fn mount(&mut self, folder: &Path) -> Result<Vec<PathBuf>, AttachError> {
        let mount = FolderMount::start(&self.service, folder)?;
        let files = mount.files().collect();
        self.mounts.push(mount);
        Ok(files)
    }

    /// Takes down what [`Emulation::mount`] shows. Programs that still use the files, or block devices made of them, get errors, also for
    /// unanswered requests. Other clients are served as before.
    pub fn unmount(&mut self) {
        for mount in self.mounts.drain(..) {
            let numbers: Vec<u32> = mount.numbers().collect();
            drop(mount);
            for number in numbers {
                self.service.leave(number);
            }
        }
    }

    /// Takes an empty folder for links to the devices of [`Emulation::start_device`].
    ///
    /// # Errors
    /// The folder is not empty, or the system refuses.
    pub fn link(&self, folder: &Path) -> Result<Links, AttachError> {
        Links::open(folder)
    }

    /// Begins to make a block device of an export, by ublk, of the id wanted where that is free. It is to be dropped before the emulation
    /// ends.
    ///
    /// # Errors
    /// The kernel has no ublk that does, or refuses: it needs root.
    ///
    /// # Panics
    /// There is no such export.
    pub fn start_device(&self, export: &str, links: &Links, id: Option<u32>) -> Result<UblkDevice, AttachError> {
        let found = self.service.exports().iter().find(|found| found.info.name == export).expect("one of the exports");
        Ok(UblkDevice::start(&self.service, found, links.mark(), id)?)
    }

    /// A fault in force by which some request to a volume or its disks may not be answered within `most`; one whose stall is over
    /// counts until it is cleared.
    #[must_use]
    pub fn hang(&self, volume: &str, most: Duration) -> Option<Fault> {
        let own = |on: &str| on.strip_prefix(volume).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let hangs = |fault: &&Fault| match fault.kind {
            FaultKind::Hang => true,
            FaultKind::Delay(by) => by >= most,
            FaultKind::Stall { lasting, .. } => lasting >= most,
            FaultKind::Error(_) | FaultKind::Lost | FaultKind::Detached => false,
        };
        let meant = |fault: &&Fault| own(&fault.on) && hangs(fault);
        self.service.driver().look(|model, _| model.faults().map(|(_, fault)| fault).find(meant).cloned())
    }

    /// How often the storage was switched off and on, by a power cut or a redeployment: files opened before the last time give
    /// errors, and so do block devices made of them.
    #[must_use]
    pub fn boots(&self) -> u64 {
        *self.service.boot()
    }

    /// Takes control connections on a unix socket: `docs/formats/control.md`.
    ///
    /// # Errors
    /// Something is there, or the system refuses.
    pub fn listen_control(&mut self, path: &Path) -> Result<(), ListenError> {
        let control = ControlSocket::new(&self.service);
        self.listeners.push(listener::unix(Box::new(move |client| control.welcome(client)), path)?);
        Ok(())
    }

    /// What it was doing over the last second.
    #[must_use]
    pub fn view(&self) -> View {
        self.service.view()
    }

    /// What clients may ask for; the first also goes without a name.
    #[must_use]
    pub fn exports(&self) -> &[ExportInfo] {
        self.service.infos()
    }

    /// Exports that are smaller than in the environment, which asks for a size that is no multiple of 512 B: the name, the size asked
    /// for, and the size that clients see.
    #[must_use]
    pub fn cut_short(&self) -> Vec<(&str, Bytes, Bytes)> {
        let sizes: Vec<Option<Bytes>> = self
            .service
            .driver()
            .look(|model, _| (0..self.service.exports().len()).map(|export| model.size(export)).collect());
        let exports = self.service.infos().iter().zip(sizes);
        let sizes = exports.filter_map(|(export, asked)| Some((&*export.name, asked?, Bytes::new(export.size))));
        sizes.filter(|(_, asked, seen)| asked != seen).collect()
    }

    /// What each export did so far, in their order.
    #[must_use]
    pub fn figures(&self) -> Vec<ExportFigures> {
        self.service.exports().iter().map(|export| export.meter.figures()).collect()
    }

    /// What became of the time of each export so far, in their order.
    #[must_use]
    pub fn accounts(&self) -> Vec<TimeAccount> {
        let exports = 0..self.service.exports().len();
        self.service.driver().look(|model, now| exports.map(|export| model.account(now, export)).collect())
    }

    /// What became of the time of each export so far, and the share of burst credits that is left on its way, in their order; with the
    /// time at which that is so.
    #[must_use]
    pub fn standing(&self) -> (Instant, Vec<(TimeAccount, Option<Ratio>)>) {
        let exports = 0..self.service.exports().len();
        self.service.driver().look(|model, now| {
            (now, exports.map(|export| (model.account(now, export), model.credits(now, export))).collect())
        })
    }

    /// What became of the time of each export so far, and how that went second by second, in their order.
    #[must_use]
    pub fn accounts_and_series(&self) -> Vec<(TimeAccount, Series)> {
        (0..self.service.exports().len()).map(|export| self.service.driver().account_and_series(export)).collect()
    }

    /// What was done to it so far: faults, spent credits, other machines.
    #[must_use]
    pub fn history(&self) -> History {
        self.service.driver().history()
    }

    /// Since the beginning.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.service.driver().clock.now().since(Instant::ZERO)
    }

    /// Clients at the moment.
    #[must_use]
    pub fn clients(&self) -> usize {
        self.service.clients().count()
    }

    /// Clients that got no export since this was last asked, the first ones by name, and how many more there were.
    #[must_use]
    pub fn take_refused(&self) -> (Vec<Refused>, u64) {
        self.service.refusals().take()
    }

    /// Memory that contents use.
    #[must_use]
    pub fn memory(&self) -> Bytes {
        Bytes::new(self.budget.used())
    }

    /// The memory that contents may use, once a write had to fail for want of more.
    #[must_use]
    pub fn memory_was_full(&self) -> Option<Bytes> {
        self.budget.was_full().map(Bytes::new)
    }

    /// What the file system said when a file of [`Backing::Folder`] failed for the first time; `None`: none did.
    #[must_use]
    pub fn backing_trouble(&self) -> Option<&str> {
        self.backing_trouble.first()
    }

    /// Disks that had missed writes when an emulation with the same [`Backing::Folder`] was killed, and were filled from their copies at
    /// the beginning; those without a current copy wait for one.
    #[must_use]
    pub fn caught_up(&self) -> &[String] {
        &self.caught_up
    }

    /// Does something to the emulation: a fault, a power cut, another machine.
    ///
    /// # Errors
    /// What makes no sense here, and contents that cannot be changed.
    pub fn change(&self, change: &Change) -> Result<ChangeOutcome, ChangeFailure> {
        self.service.change(change)
    }

    /// [Closes](Self::close) and keeps what is to be kept.
    ///
    /// # Errors
    /// The trace is not whole, or contents could not be handed to the device below. All else is kept then.
    pub fn end(mut self) -> Result<(), EmulationError> {
        self.close();
        let system = |what| move |error| EmulationError::System { what, error };
        let late = |export: &Arc<Export>| {
            let (late, modelled) = export.meter.figures().late()?;
            let export = export.info.name.clone();
            Some(LateExport { export, late_p99_ns: late.as_ns(), modelled_p99_ns: modelled.as_ns() })
        };
        let late = self.service.exports().iter().filter_map(late).collect();
        let traced = self.service.driver().end_recording(late).map_err(system("write the trace"));
        let current = match self.service.disks().folder() {
            Some(_) => self.service.bring_all_back().map_err(catching_up),
            None => Ok(()),
        };
        let mut kept = Ok(());
        for member in self.service.disks().iter() {
            kept = kept.and(member.disk.store.sync());
        }
        let kept = kept.map_err(std::io::Error::other).map_err(system("write contents to their device"));
        traced.and(current).and(kept)
    }

    /// Takes no more clients, closes the connections of those who are there, and waits until nobody is served any more. What was done is
    /// known in full from then on, also of answers that a client had not taken.
    pub fn close(&mut self) {
        self.listeners.clear();
        self.unmount();
        self.service.end();
        // A client's last request may have set the alarm anew before the thread woke; nobody is left who could.
        self.service.driver().waiter.set(Instant::ZERO);
        for thread in [self.deliverer.take(), self.viewer.take()].into_iter().flatten() {
            // It panicked where this fails, and said so.
            let _ = thread.join();
        }
    }
}

impl Drop for Emulation {
    fn drop(&mut self) {
        self.close();
    }
}

/// Copies could not be filled.
fn catching_up(failure: ChangeFailure) -> EmulationError {
    EmulationError::System { what: "bring copies up to date", error: std::io::Error::other(failure) }
}

/// The disks, in the order of their volumes.
fn members(
    environment: &EnvironmentSpec,
    stores: Vec<Store>,
    disks: &[(String, u64)],
    keeping: Keeping,
) -> Vec<VolumeDisk> {
    let mut stores = stores.into_iter().zip(disks);
    let mut members = Vec::new();
    for (volume, spec) in environment.volumes.iter().enumerate() {
        let writing: Arc<RwLock<()>> = Arc::default();
        for number in 0..spec.disks.len() {
            let (store, (_, size)) = stores.next().expect("there is a store for each disk");
            members.push(VolumeDisk {
                disk: Arc::new(StoredDisk::new(store, keeping)),
                size: *size,
                volume,
                number,
                copies: spec.layout.copies(),
                writing: Arc::clone(&writing),
            });
        }
    }
    members
}

/// Every volume, then every disk.
fn exports(environment: &EnvironmentSpec, model: &FaultyMachine, members: &[VolumeDisk]) -> Vec<Arc<Export>> {
    let order = WriteTickets::default();
    let make = |(name, description, layout, disks, members): Exported<'_>, number: usize| {
        let size = model.size(number).map_or(ENDLESS, Bytes::get);
        let rotational = disks.iter().any(|disk| disk.spinning.is_some());
        let stores = members.iter().map(|member| Arc::clone(&member.disk)).collect();
        let writing = Arc::clone(&members[0].writing);
        Arc::new(Export {
            info: ExportInfo { name, description, size: size - size % u64::from(BLOCK_MIN), rotational },
            number: number as u16,
            cut: Slicing::of(layout),
            contents: Contents::new(layout, stores, writing, order.clone()),
            meter: Meter::default(),
        })
    };
    let (mut volumes, mut single) = (Vec::new(), Vec::new());
    let mut first = 0;
    for volume in &environment.volumes {
        let members = &members[first..first + volume.disks.len()];
        first += volume.disks.len();
        volumes.push((volume.name.clone(), describe(volume), volume.layout, &volume.disks[..], members));
        for number in 0..volume.disks.len() {
            let name = format!("{}/{number}", volume.name);
            let about = format!("disk {number} of volume {} of {}", volume.name, environment.name);
            let one = number..=number;
            single.push((name, about, Layout::Single, &volume.disks[one.clone()], &members[one]));
        }
    }
    volumes.append(&mut single);
    volumes.into_iter().enumerate().map(|(number, export)| make(export, number)).collect()
}

/// Name, description, layout, disks as specified and as they are.
type Exported<'a> = (String, String, Layout, &'a [DiskSpec], &'a [VolumeDisk]);

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
