//! The kernel's events of one device, in the order of time.

use crate::watch::WatchTarget;
use crate::{Error, RecordError};
use loadline_emulation::RecordedRequest;
use loadline_kernel::clock;
use loadline_kernel::facts::{BlockDevice, DeviceNumber, KernelView};
use loadline_kernel::trace_instance::{CpuBuffer, TraceFs, TraceInstance};
use loadline_recording::event::{BlockEvent, EventFormat, Formats, Happening};
use loadline_recording::page::{PAGE_MAX, events};
use loadline_recording::{Join, JoinCounts, Stacking};
use loadline_units::{Bytes, Duration, Instant, SECTOR};
use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};

/// Events of the last moment wait for those of other CPUs.
const SETTLED: Duration = Duration::from_ms(2);
/// Bytes of one buffer that are read before the others have their turn.
const TURN: usize = 2 << 20;

/// A device that can be recorded.
#[derive(Debug, Clone)]
pub(crate) struct Device {
    pub(crate) name: String,
    pub(crate) size_bytes: Option<u64>,
    /// Its own counter of flushes counts them all.
    pub(crate) counts_flushes: bool,
    pub(crate) block: BlockDevice,
    stacking: Stacking,
    /// Of the disk: requests have its number.
    disk: DeviceNumber,
    /// Of those whose bios are recorded.
    queued: Vec<DeviceNumber>,
    /// Sectors of the disk.
    range: (u64, u64),
}

impl Device {
    /// The one device that was named, or on which what was named lies: a path, a process, a program that runs.
    pub(crate) fn find(view: &KernelView, typed: &str) -> Result<Self, Error> {
        let by_node = || {
            let metadata = fs::metadata(typed).ok().filter(|found| found.file_type().is_block_device())?;
            BlockDevice::by_number(view, DeviceNumber::from_raw(metadata.rdev()))
        };
        let by_name = || BlockDevice::by_name(view, typed).filter(|_| !typed.contains('/'));
        // A device that is named itself is recorded even where the kernel does not count its requests.
        let block = by_node().or_else(by_name).map_or_else(|| Self::below(view, typed), Ok)?;
        let disk = block.parent();
        let number = |name: &str| block.attribute(name).and_then(|text| text.parse::<u64>().ok());
        let sectors = number("size").unwrap_or(0);
        let start = if disk.is_some() { number("start").unwrap_or(0) } else { 0 };
        let whole = disk.as_ref().unwrap_or(&block);
        // Devices with queues of requests show them; the others answer bios.
        let stacking = if has_requests(view, whole) { Stacking::Requests } else { Stacking::Bios };
        let mut queued = vec![block.number];
        queued.extend(block.partitions().iter().map(|part| part.number));
        Ok(Self {
            name: block.name.clone(),
            size_bytes: Some(sectors * SECTOR.get()),
            counts_flushes: disk.is_none() && stacking == Stacking::Requests,
            stacking,
            disk: whole.number,
            queued,
            range: (start, if disk.is_some() { start + sectors } else { u64::MAX }),
            block,
        })
    }

    fn below(view: &KernelView, typed: &str) -> Result<BlockDevice, Error> {
        let target = WatchTarget::find(view, Some(typed))?;
        match target.block_devices() {
            [one] => Ok(one.clone()),
            several => {
                let devices = several.iter().map(|device| format!("/dev/{}", device.name)).collect();
                Err(RecordError::SeveralDevices { typed: typed.to_owned(), devices }.into())
            }
        }
    }
}

fn has_requests(view: &KernelView, disk: &BlockDevice) -> bool {
    view.sys.join("class/block").join(&disk.name).join("mq").is_dir()
}

/// As events have it.
const fn event_number(number: DeviceNumber) -> u32 {
    number.major << 20 | number.minor
}

/// Reads events, and joins them.
#[derive(Debug)]
pub(crate) struct Reader {
    buffers: Vec<CpuBuffer>,
    instance: TraceInstance,
    formats: Formats,
    join: Join,
    /// Not yet settled, in no order.
    waiting: Vec<BlockEvent>,
    /// When flushes of applications were answered, since the caller took them.
    flushes: Vec<u64>,
    page: Vec<u8>,
}

impl Reader {
    pub(crate) fn create(device: &Device, buffer: Bytes) -> Result<Self, Error> {
        let tracefs = TraceFs::open().map_err(RecordError::from)?;
        let _ = tracefs.remove_stale();
        let instance = TraceInstance::create(tracefs, buffer.get() >> 10).map_err(RecordError::from)?;
        let mut formats = Formats::default();
        for (event, what, is_needed) in wanted(device.stacking) {
            let format = instance.format(event).map(|text| EventFormat::parse(&text));
            match format {
                Some(Ok(format)) => formats.push(what, format),
                Some(Err(source)) => return Err(RecordError::Format { event: event.to_owned(), source }.into()),
                None if is_needed => return Err(RecordError::NoEvent { event: event.to_owned() }.into()),
                None => {}
            }
        }
        let buffers = instance.buffers().map_err(RecordError::from)?;
        let join = Join::new(device.stacking, 0, device.range);
        Ok(Self { buffers, instance, formats, join, waiting: Vec::new(), flushes: Vec::new(), page: vec![0; PAGE_MAX] })
    }

    /// Lets the events begin.
    pub(crate) fn enable(&mut self, device: &Device, begun: Instant) -> Result<(), Error> {
        self.join = Join::new(device.stacking, begun.as_ns(), device.range);
        let is = |numbers: &[DeviceNumber]| {
            let all: Vec<String> = numbers.iter().map(|number| format!("dev == {}", event_number(*number))).collect();
            all.join(" || ")
        };
        // Arrivals first: of no request is the issue seen and the arrival not, if it came after that.
        for (event, what, is_needed) in wanted(device.stacking) {
            let filter = match (what, device.stacking) {
                (Happening::Queued, _) | (_, Stacking::Bios) => is(&device.queued),
                _ => is(&[device.disk]),
            };
            let enabled = self.instance.enable(event, &filter);
            if is_needed {
                enabled.map_err(RecordError::Events)?;
            }
        }
        Ok(())
    }

    pub(crate) fn stop(&mut self) -> Result<(), Error> {
        self.instance.stop().map_err(|error| RecordError::Events(error).into())
    }

    /// Takes in what the buffers hold, and gives the requests that are whole. Returns how many bytes were read.
    pub(crate) fn look(&mut self, each: &mut dyn FnMut(RecordedRequest) -> Result<(), Error>) -> Result<usize, Error> {
        let settled = clock::now().as_ns().saturating_sub(SETTLED.as_ns());
        let read = self.read()?;
        self.join_until(settled, each)?;
        Ok(read)
    }

    /// Takes in the rest, after the events stopped.
    pub(crate) fn finish(&mut self, each: &mut dyn FnMut(RecordedRequest) -> Result<(), Error>) -> Result<(), Error> {
        while self.read()? > 0 {}
        self.join_until(u64::MAX, each)
    }

    fn read(&mut self) -> Result<usize, Error> {
        let mut all = 0;
        for buffer in &mut self.buffers {
            let mut own = 0;
            while own < TURN {
                let length = buffer.read(&mut self.page).map_err(RecordError::Read)?;
                if length == 0 {
                    break;
                }
                own += length;
                let (formats, waiting) = (&self.formats, &mut self.waiting);
                events(&self.page[..length], |at_ns, data| waiting.extend(formats.decode(at_ns, data)))
                    .map_err(RecordError::Page)?;
            }
            all += own;
        }
        Ok(all)
    }

    fn join_until(
        &mut self,
        settled_ns: u64,
        each: &mut dyn FnMut(RecordedRequest) -> Result<(), Error>,
    ) -> Result<(), Error> {
        // What happens at one instant happens in the order of a request's life.
        self.waiting.sort_by_key(|event| (event.at_ns, event.what as u8));
        let count = self.waiting.partition_point(|event| event.at_ns < settled_ns);
        for event in self.waiting.drain(..count) {
            let answered = self.join.counts().flushes_answered;
            if let Some(request) = self.join.push(&event) {
                each(request)?;
            }
            if self.join.counts().flushes_answered > answered {
                self.flushes.push(event.at_ns);
            }
        }
        Ok(())
    }

    /// When flushes of applications were answered since the last call, ns of the clock.
    pub(crate) fn take_flushes(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.flushes)
    }

    /// The threads that asked, by their numbers in requests.
    pub(crate) fn threads(&self) -> &[u32] {
        self.join.threads()
    }

    pub(crate) fn lost(&self) -> u64 {
        self.buffers.iter().map(CpuBuffer::lost).sum()
    }

    pub(crate) fn counts(&self) -> JoinCounts {
        self.join.counts()
    }
}

/// The events of a device; some kernels lack those that are not needed.
fn wanted(stacking: Stacking) -> Vec<(&'static str, Happening, bool)> {
    match stacking {
        Stacking::Requests => vec![
            ("block/block_bio_queue", Happening::Queued, true),
            ("block/block_rq_requeue", Happening::Requeued, false),
            ("block/block_rq_issue", Happening::Issued, true),
            ("block/block_rq_complete", Happening::Completed, true),
        ],
        Stacking::Bios => vec![
            ("block/block_bio_queue", Happening::Queued, true),
            ("block/block_bio_complete", Happening::Completed, true),
        ],
    }
}
