//! Recording: the requests of an application on a real device, into a trace, by the kernel's own events.
//!
//! [`Recorder::prepare`] refuses what cannot be recorded, and [`Recorder::run`] records until the time or the file is full, or the
//! observer wants an end. The trace is readable up to its last block whatever happens.

pub(crate) mod events;
mod place;
mod trace_file;

pub(crate) use place::{beneath, beneath_path};

pub use crate::files::trace_file::read_trace;
pub use crate::kinds::record_settings::RecordSettings;

use crate::watch::SurroundingsWatch;
use crate::{Error, Event, Observer, RecordError};
use events::{Device, Reader};
use loadline_analysis::{LiveFrame, LiveTrace};
use loadline_emulation::RecordingNotes;
use loadline_kernel::clock;
use loadline_kernel::counters::watching::{DeviceReading, DeviceStat};
use loadline_kernel::facts::KernelView;
use loadline_recording::JoinCounts;
use loadline_units::{Bytes, Duration, Instant};
use std::path::PathBuf;
use trace_file::TraceFile;

/// A moment between two looks where little happens.
const REST: std::time::Duration = std::time::Duration::from_millis(20);
/// The same where more does.
const REST_SHORT: std::time::Duration = std::time::Duration::from_millis(1);
/// A look that read so many bytes is followed by a short rest,
const MUCH: usize = 256 << 10;
/// and one that read so many by none.
const VERY_MUCH: usize = 4 << 20;
/// The counters of a device count a request some time after its completion is an event.
const COUNTED_LATE: Duration = Duration::from_us(200);
/// Around the beginning and the end, completions may be on either side.
const ENDS: Duration = Duration::from_ms(5);
/// Between two looks of an observer.
const OBSERVE: Duration = Duration::from_s(1);

/// Why a recording ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordEnd {
    /// Its time was over.
    Time,
    /// The trace has the size that it may have.
    Size,
    /// The observer wanted it.
    Wanted,
}

/// What was recorded.
#[derive(Debug, Clone)]
pub struct RecordOutcome {
    /// The device.
    pub device: String,
    /// The trace.
    pub file: PathBuf,
    /// Its size.
    pub size: Bytes,
    /// What is known of it as a whole.
    pub notes: RecordingNotes,
    /// What was joined, and what could not be.
    pub counts: JoinCounts,
    /// Why it ended.
    pub end: RecordEnd,
    /// CPU time of the recording, as a share of one CPU.
    pub own_share: f64,
}

/// A recording that is about to begin.
#[derive(Debug)]
pub struct Recorder {
    settings: RecordSettings,
    device: Device,
    view: KernelView,
    reader: Reader,
}

impl Recorder {
    /// Finds the device, looks whether its trace would be written to it, and whether this user may have the kernel's events.
    ///
    /// # Errors
    /// [`RecordError`]; nothing was done.
    pub fn prepare(settings: RecordSettings) -> Result<Self, Error> {
        if settings.duration == Some(Duration::ZERO) {
            return Err(RecordError::NoTime.into());
        }
        let view = KernelView::live();
        let device = Device::find(&view, &settings.device)?;
        if settings.file.exists() {
            return Err(RecordError::Exists { file: settings.file }.into());
        }
        place::refuse_feedback(&view, &device, &settings.file)?;
        let reader = Reader::create(&device, settings.buffer)?;
        Ok(Self { settings, device, view, reader })
    }

    /// The kernel's name of the device.
    #[must_use]
    pub fn device(&self) -> &str {
        &self.device.name
    }

    /// Records.
    ///
    /// # Errors
    /// The kernel's events cannot be had, or the trace cannot be written. What was written until then can be read.
    pub fn run(self, observer: &mut dyn Observer) -> Result<RecordOutcome, Error> {
        let Self { settings, device, view, reader } = self;
        let cpu_begun = clock::thread_time_total();
        let counter = DeviceStat::open(&view, &device.name).ok();
        let begun = clock::now();
        let mut recording = Recording {
            reader,
            counter,
            device: &device,
            begun,
            cpu_begun,
            before: None,
            after: None,
            completions: Completions::default(),
        };
        recording.begin()?;
        let surroundings = SurroundingsWatch::begin(vec![device.block.clone()], None).ok();
        // A load that waits for this file is recorded whole.
        let mut file = TraceFile::create(&settings.file, &device.name, device.size_bytes, settings.size_max)?;
        let end = recording.go(&settings, &mut file, surroundings.as_ref(), observer)?;
        // A device of which the kernel counts nothing, or that is gone by now, has no surroundings: the trace says so.
        let surroundings = surroundings.and_then(|surroundings| surroundings.end().ok()).map(Box::new);
        let (notes, counts) = recording.conclude(&mut file)?;
        let watched = surroundings.iter().flat_map(|run| &run.cells).flat_map(|cell| &cell.trials);
        let watching: f64 = watched.filter_map(|trial| Some(trial.watched.as_ref()?.cost.share())).sum();
        let notes = RecordingNotes { surroundings, ..notes };
        let own_share = recording.own_share() + watching;
        drop(recording);
        let size = file.end(&notes)?;
        Ok(RecordOutcome { device: device.name, file: settings.file, size, notes, counts, end, own_share })
    }
}

/// The device's counters at a moment, between two readings of the clock.
#[derive(Debug, Clone, Copy)]
struct Counted {
    from: Instant,
    to: Instant,
    reading: DeviceReading,
}

/// Completions around the ends, of which it matters on which side of the counters they are.
#[derive(Debug, Default)]
struct Completions {
    /// At the beginning.
    first: Vec<Instant>,
    /// The last ones.
    last: std::collections::VecDeque<Instant>,
}

impl Completions {
    fn push(&mut self, at: Instant, begun: Instant) {
        if at.since(begun).as_ns() < Duration::from_s(1).as_ns() && self.first.len() < 1 << 20 {
            self.first.push(at);
        }
        self.last.push_back(at);
        while self.last.front().is_some_and(|first| at.since(*first).as_ns() > Duration::from_s(1).as_ns()) {
            self.last.pop_front();
        }
    }
}

struct Recording<'a> {
    reader: Reader,
    counter: Option<DeviceStat>,
    device: &'a Device,
    begun: Instant,
    cpu_begun: Duration,
    before: Option<Counted>,
    after: Option<Counted>,
    completions: Completions,
}

impl Recording<'_> {
    fn counted(&self) -> Option<Counted> {
        let counter = self.counter.as_ref()?;
        let from = clock::now();
        let reading = counter.read()?;
        Some(Counted { from, to: clock::now(), reading })
    }

    /// From here on the kernel's events are kept.
    fn begin(&mut self) -> Result<(), Error> {
        self.reader.enable(self.device, self.begun)?;
        self.before = self.counted();
        Ok(())
    }

    fn go(
        &mut self,
        settings: &RecordSettings,
        file: &mut TraceFile,
        surroundings: Option<&SurroundingsWatch>,
        observer: &mut dyn Observer,
    ) -> Result<RecordEnd, Error> {
        let mut seen_at = self.begun;
        let end = loop {
            let read = self.look(file)?;
            let now = clock::now();
            if settings.duration.is_some_and(|duration| now >= self.begun + duration) {
                break RecordEnd::Time;
            }
            if file.is_full() {
                break RecordEnd::Size;
            }
            if observer.wants_an_end() {
                break RecordEnd::Wanted;
            }
            if now >= seen_at + OBSERVE {
                seen_at = now;
                observer.event(&Event::Live(&self.frame(settings, file, surroundings)));
            }
            match read {
                read if read >= VERY_MUCH => {}
                read if read >= MUCH => std::thread::sleep(REST_SHORT),
                _ => std::thread::sleep(REST),
            }
        };
        self.after = self.counted();
        // What was completed before the counters were read is an event by then.
        std::thread::sleep(REST);
        self.reader.stop()?;
        Ok(end)
    }

    /// What the watch beside it saw last, with how far the trace is.
    fn frame(
        &self,
        settings: &RecordSettings,
        file: &TraceFile,
        surroundings: Option<&SurroundingsWatch>,
    ) -> LiveFrame {
        let name = settings.file.display().to_string();
        let verb = "record".to_owned();
        let seen = surroundings.and_then(SurroundingsWatch::latest);
        let watching = seen.as_ref().and_then(|frame| frame.own_cpu_share).unwrap_or(0.0);
        let trace = LiveTrace { requests: file.requests, events_lost: self.reader.lost(), bytes: file.size.get() };
        LiveFrame {
            run: String::new(),
            elapsed_ns: clock::now().since(self.begun).as_ns(),
            planned_ns: settings.duration.map(Duration::as_ns),
            own_cpu_share: Some(self.own_share() + watching),
            trace: Some(trace),
            verb: verb.clone(),
            name: name.clone(),
            ..seen.unwrap_or_else(|| LiveFrame::new(String::new(), verb, name))
        }
    }

    /// Takes in what the buffers hold. Returns how many bytes that were.
    fn look(&mut self, file: &mut TraceFile) -> Result<usize, Error> {
        let (completions, begun) = (&mut self.completions, self.begun);
        let read = self.reader.look(&mut |request| {
            completions.push(begun + request.completed_at.since(Instant::ZERO), begun);
            file.push(request)
        })?;
        self.take_flushes();
        file.write_if_due()?;
        Ok(read)
    }

    /// Flushes of applications count among the device's writes, beside the one flush that served them.
    fn take_flushes(&mut self) {
        for at_ns in self.reader.take_flushes() {
            self.completions.push(Instant::from_ns(at_ns), self.begun);
        }
    }

    /// The last events, and what the whole comes to.
    fn conclude(&mut self, file: &mut TraceFile) -> Result<(RecordingNotes, JoinCounts), Error> {
        self.look(file)?;
        let (completions, begun) = (&mut self.completions, self.begun);
        self.reader.finish(&mut |request| {
            completions.push(begun + request.completed_at.since(Instant::ZERO), begun);
            file.push(request)
        })?;
        self.take_flushes();
        file.write()?;
        let counts = self.reader.counts();
        let mut notes = RecordingNotes {
            requests: file.requests,
            events_lost: self.reader.lost(),
            without_issue: counts.without_issue,
            without_arrival: counts.without_arrival,
            elapsed_ns: clock::now().since(self.begun).as_ns(),
            ..RecordingNotes::default()
        };
        if let Some((before, after)) = self.before.zip(self.after) {
            let counted = |reading: &DeviceReading| {
                let flushes = if self.device.counts_flushes { reading.flushes } else { 0 };
                reading.reads + reading.writes + reading.discards + flushes
            };
            let delta = counted(&after.reading).saturating_sub(counted(&before.reading));
            // Requests of the trace that the counters surely do not span.
            let early = self.completions.first.iter().filter(|at| **at + ENDS < before.from).count();
            let late = self.completions.last.iter().filter(|at| **at > after.to).count();
            let near = |at: &Instant, counted: &Counted| *at + COUNTED_LATE >= counted.from && *at <= counted.to;
            let early_near = self.completions.first.iter().filter(|at| **at + ENDS >= before.from && **at <= before.to);
            let late_near = self.completions.last.iter().filter(|at| near(at, &after));
            let counted = delta + early as u64 + late as u64;
            notes.counted = Some(counted.saturating_sub(counts.flushes_answered + file.without_room));
            notes.at_the_ends = (early_near.count() + late_near.count()) as u64;
        }
        Ok((notes, counts))
    }

    fn own_share(&self) -> f64 {
        let cpu = clock::thread_time_total().saturating_sub(self.cpu_begun);
        cpu.as_ns() as f64 / clock::now().since(self.begun).as_ns().max(1) as f64
    }
}
