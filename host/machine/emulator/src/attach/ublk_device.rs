//! A volume as a block device of the kernel's driver for such (ublk): made, started, taken down.

use super::block_device;
use super::ublk_target::{TRANSFER_MAX, UblkTarget};
use crate::export::Export;
use crate::service::{AnswerReceiver, Service};
use loadline_kernel::ublk::{Control, Information, Parameters, UblkError};
use loadline_nbd::{BLOCK_MIN, BLOCK_PREFERRED};
use loadline_units::SECTOR;
use rustix::io::Errno;
use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Queues of a device at most, each with a thread; it has no more than there are processors.
const QUEUES_MAX: usize = 4;
/// Requests under way in each queue.
const DEPTH: u16 = 256;
/// Sectors of the longest discard (1 GiB) and of the longest write of zeroes (32 MiB), which may be as many bytes.
const DISCARD_MAX: u32 = 1 << 21;
const ZEROES_MAX: u32 = 1 << 16;
/// A thread needs little: its buffer is elsewhere.
const STACK: usize = 256 << 10;
/// File systems may be written back for so long when a device is stopped; then requests fail.
const STOP_MAX: Duration = Duration::from_secs(5);
/// How long the kernel may take for what waits for nobody's storage.
const END_MAX: Duration = Duration::from_secs(2);

/// Between two looks at whether the kernel has started a device.
const LOOK: Duration = Duration::from_millis(2);

/// Whether this machine's kernel can have devices by ublk, for this user.
///
/// # Errors
/// Why not.
pub fn ublk_is_here() -> Result<(), UblkError> {
    Control::open().map(drop)
}

/// A block device of a volume. Dropped, it is taken down; one that is in use is gone when its last user is.
#[derive(Debug)]
pub struct UblkDevice {
    id: u32,
    path: PathBuf,
    service: Arc<Service>,
    /// Until it is taken down.
    target: Option<Arc<UblkTarget>>,
    threads: Vec<JoinHandle<()>>,
    /// Ends when the kernel has shown the device to everybody.
    starting: Option<JoinHandle<Result<(), UblkError>>>,
}

impl UblkDevice {
    /// Begins to make one, of the id wanted where that is free. Waits for no storage.
    pub(crate) fn start(
        service: &Arc<Service>,
        export: &Arc<Export>,
        mark: u64,
        id: Option<u32>,
    ) -> Result<Self, UblkError> {
        let mut control = Control::open()?;
        let queues = std::thread::available_parallelism().map_or(1, usize::from).min(QUEUES_MAX) as u16;
        let any = Information { id: u32::MAX, queues, depth: DEPTH, transfer_max: TRANSFER_MAX, mark };
        let wanted = Information { id: id.unwrap_or(u32::MAX), ..any };
        let made = match control.add(wanted) {
            Err(error) if id.is_some() && error.code() == Some(Errno::EXIST.raw_os_error()) => control.add(any)?,
            made => made?,
        };
        let mut device = Self {
            id: made.id,
            path: path(made.id),
            service: Arc::clone(service),
            target: None,
            threads: Vec::new(),
            starting: None,
        };
        control.set_parameters(made.id, parameters(export))?;
        let file = OpenOptions::new().read(true).write(true).open(format!("/dev/ublkc{}", made.id));
        let file = file.map_err(UblkError::system("open the file of a new ublk device"))?;
        let target = UblkTarget::new(service, export, file, made.queues);
        let target = Arc::new(target.map_err(UblkError::system("make an eventfd"))?);
        service.enter(target.number(), Arc::clone(&target) as Arc<dyn AnswerReceiver>);
        device.target = Some(Arc::clone(&target));
        let (told, opened) = mpsc::channel();
        for number in 0..made.queues {
            let (service, target, told) = (Arc::clone(service), Arc::clone(&target), told.clone());
            let thread = std::thread::Builder::new().name(format!("device-{}.{number}", made.id)).stack_size(STACK);
            let thread = thread.spawn(move || {
                let mut queue = match target.open_queue(number, made.depth) {
                    Ok(queue) => queue,
                    Err(error) => return drop(told.send(Err(error))),
                };
                let _ = told.send(Ok(()));
                drop(told);
                // Where the system refuses to go on, leaving the queue stops the device, and its users get errors.
                let _ = target.serve(&service, number, &mut queue);
            });
            device.threads.push(thread.map_err(UblkError::system("start a thread"))?);
        }
        drop(told);
        for result in opened {
            result.map_err(UblkError::system("open a queue of a ublk device"))?;
        }
        let id = device.id;
        // The kernel looks for partitions, and waits for the volume's answers.
        let thread = std::thread::Builder::new().name(format!("start-{id}")).stack_size(STACK);
        let thread = thread
            .spawn(move || control.start(id, || !target.is_left()))
            .map_err(UblkError::system("start a thread"))?;
        device.starting = Some(thread);
        Ok(device)
    }

    /// Whether it is there for everybody by now.
    ///
    /// # Errors
    /// The kernel refuses to have it.
    pub fn poll(&mut self) -> Result<bool, UblkError> {
        match self.starting.take_if(|starting| starting.is_finished()) {
            None => Ok(self.starting.is_none()),
            Some(ended) => ended.join().unwrap_or_else(|_| Err(stopped())).map(|()| true),
        }
    }

    /// `/dev/ublkbN`.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// N of `/dev/ublkbN`.
    #[must_use]
    pub const fn id(&self) -> u32 {
        self.id
    }

    /// As [`super::BlockDevice::in_use`].
    #[must_use]
    pub fn in_use(&self) -> bool {
        block_device::in_use(&self.path)
    }

    fn take_down(&mut self) -> Result<(), UblkError> {
        let mut control = Control::open();
        if let Some(target) = self.target.take() {
            let started = self.poll();
            // Of a machine without power nothing is written back, and what looks for partitions need not go on.
            if target.boot() != *self.service.boot() || !matches!(started, Ok(true)) {
                target.fail(&self.service);
            }
            let begun_at = Instant::now();
            while self.starting.as_ref().is_some_and(|starting| !starting.is_finished())
                && begun_at.elapsed() < STOP_MAX
            {
                std::thread::sleep(LOOK);
            }
            let mut stop = || control.as_mut().is_ok_and(|control| control.stop(self.id, Some(STOP_MAX)).is_ok());
            if !stop() {
                target.fail(&self.service);
                if !stop() {
                    target.leave(&self.service);
                }
            }
            if self.starting.as_ref().is_some_and(|starting| !starting.is_finished()) {
                target.leave(&self.service);
            }
            if let Some(starting) = self.starting.take() {
                let _ = starting.join();
            }
            for thread in self.threads.drain(..) {
                // It panicked where this fails, and said so.
                let _ = thread.join();
            }
            self.service.leave(target.number());
        }
        let mut control = control?;
        match control.delete(self.id, Some(END_MAX)) {
            // It goes with its last user.
            Err(UblkError::System { error, .. }) if error.kind() == io::ErrorKind::TimedOut => Ok(()),
            deleted => deleted,
        }
    }
}

impl Drop for UblkDevice {
    fn drop(&mut self) {
        let _ = self.take_down();
    }
}

fn stopped() -> UblkError {
    UblkError::System { what: "start a ublk device", error: io::Error::other("the thread that did ended") }
}

/// What everybody uses a device by.
fn path(id: u32) -> PathBuf {
    format!("/dev/ublkb{id}").into()
}

fn parameters(export: &Export) -> Parameters {
    Parameters {
        sectors: export.info.size / SECTOR.get(),
        block: BLOCK_MIN,
        block_preferred: BLOCK_PREFERRED,
        sectors_max: TRANSFER_MAX / SECTOR.get() as u32,
        discard_max: DISCARD_MAX,
        zeroes_max: ZEROES_MAX,
        rotational: export.info.rotational,
    }
}

/// A device with this mark that nobody serves, and that was deleted: its path, and whether somebody still uses it.
pub(super) fn delete_marked(mark: u64) -> Result<Vec<(PathBuf, bool)>, UblkError> {
    let mut control = Control::open()?;
    let mut deleted = Vec::new();
    for id in ids() {
        if !control.information(id).is_ok_and(|there| there.mark == mark) {
            continue;
        }
        let timed_out = |error: &UblkError| matches!(error, UblkError::System { error, .. } if error.kind() == io::ErrorKind::TimedOut);
        // The kernel does that by itself where the process that served it is gone; here it is waited for.
        match control.stop(id, Some(STOP_MAX)) {
            Err(error) if !timed_out(&error) => return Err(error),
            _ => {}
        }
        let in_use = match control.delete(id, Some(END_MAX)) {
            Err(error) if timed_out(&error) => true,
            Err(error) => return Err(error),
            Ok(()) => false,
        };
        deleted.push((path(id), in_use));
    }
    Ok(deleted)
}

/// Of all devices of the driver.
fn ids() -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/sys/class/ublk-char") else { return Vec::new() };
    let id = |name: std::ffi::OsString| name.to_str()?.strip_prefix("ublkc")?.parse().ok();
    let mut ids: Vec<u32> = entries.flatten().filter_map(|entry| id(entry.file_name())).collect();
    ids.sort_unstable();
    ids
}
