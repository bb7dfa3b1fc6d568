//! The kernel's events of the watched device: each request with its latency and size, and the thread that asked for it.

use crate::Error;
use crate::recording::events::{Device, Reader};
use loadline_block::Operation;
use loadline_emulation::RecordedRequest;
use loadline_kernel::clock;
use loadline_kernel::counters::watching::process_stat;
use loadline_kernel::facts::KernelView;
use loadline_record::{AnswersInClusters, EventAsker, Histogram, HistogramSnapshot, WatchEvents};
use loadline_recording::clusters;
use loadline_units::{Bytes, Duration};
use std::collections::BTreeMap;

/// The kernel's buffer for each CPU: it is read ten times a second.
const BUFFER: Bytes = Bytes::mib(8);
/// The last answers that are looked at for clusters.
const ANSWERS_MAX: usize = 1 << 19;
/// Programs by name that are kept; what others ask is one more.
const ASKERS_MAX: usize = 64;
/// Programs in a record.
const RECORDED_MAX: usize = 8;
/// The name of all others.
const OTHERS: &str = "others";

/// What the events showed so far.
#[derive(Debug)]
pub(super) struct EventsSeen {
    reader: Reader,
    device: Device,
    /// Of each thread, by its number: its program.
    threads: Vec<usize>,
    askers: Vec<Asker>,
    places: BTreeMap<String, usize>,
    latencies: [Histogram; 4],
    /// Of all operations, since the last look.
    latest: Histogram,
    answers: Vec<(u64, u64)>,
    requests: u64,
    cpu: Duration,
}

/// One program.
#[derive(Debug, Default)]
struct Asker {
    name: String,
    pid: u32,
    counts: [u64; 4],
    bytes: [u64; 4],
    latency: Histogram,
}

impl EventsSeen {
    /// Prepares for the events of a device.
    ///
    /// # Errors
    /// The kernel's events cannot be had.
    pub(super) fn prepare(view: &KernelView, device: &str) -> Result<Self, Error> {
        let cpu = clock::thread_time_total();
        let found = Device::find(view, device)?;
        let reader = Reader::create(&found, BUFFER)?;
        Ok(Self {
            reader,
            device: found,
            threads: Vec::new(),
            askers: Vec::new(),
            places: BTreeMap::new(),
            latencies: Default::default(),
            latest: Histogram::default(),
            answers: Vec::new(),
            requests: 0,
            cpu: clock::thread_time_total().saturating_sub(cpu),
        })
    }

    /// Lets the events begin.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(super) fn begin(&mut self) -> Result<(), Error> {
        let cpu = clock::thread_time_total();
        self.reader.enable(&self.device, clock::now())?;
        self.cpu = self.cpu + clock::thread_time_total().saturating_sub(cpu);
        Ok(())
    }

    /// Takes in what the buffers hold.
    pub(super) fn look(&mut self, view: &KernelView) -> Result<(), Error> {
        let cpu = clock::thread_time_total();
        let mut found: Vec<RecordedRequest> = Vec::new();
        self.reader.look(&mut |request| {
            found.push(request);
            Ok(())
        })?;
        self.take(view, &found);
        self.cpu = self.cpu + clock::thread_time_total().saturating_sub(cpu);
        Ok(())
    }

    /// The device, and the latencies since this was asked last.
    pub(super) fn latest(&mut self) -> (String, Histogram) {
        (self.device.name.clone(), std::mem::take(&mut self.latest))
    }

    /// All latencies so far, where the events are of this device.
    pub(super) fn latencies_of(&self, device: &str) -> Option<BTreeMap<Operation, Histogram>> {
        let by_operation = Operation::ALL.into_iter().zip(&self.latencies);
        let seen = by_operation.filter(|(_, latencies)| latencies.count() > 0);
        (self.device.name == device).then(|| seen.map(|(operation, seen)| (operation, seen.clone())).collect())
    }

    fn take(&mut self, view: &KernelView, found: &[RecordedRequest]) {
        self.name_threads(view);
        for request in found {
            let latency = request.completed_at.since(request.arrived_at);
            let place = request.operation.index();
            self.requests += 1;
            self.latencies[place].record(latency);
            self.latest.record(latency);
            self.answers.push((request.issued_at.as_ns(), request.completed_at.as_ns()));
            if let Some(asker) = self.threads.get(request.client as usize).map(|place| &mut self.askers[*place]) {
                asker.counts[place] += 1;
                asker.bytes[place] += request.length;
                asker.latency.record(latency);
            }
        }
        if self.answers.len() > 2 * ANSWERS_MAX {
            self.answers.drain(..self.answers.len() - ANSWERS_MAX);
        }
    }

    /// Threads are named while they are there.
    fn name_threads(&mut self, view: &KernelView) {
        let mut buffer = String::new();
        for pid in &self.reader.threads()[self.threads.len()..] {
            let found = process_stat(view, *pid, &mut buffer).map_or_else(|| OTHERS.to_owned(), |stat| stat.name);
            let name = if self.askers.len() < ASKERS_MAX { program(&found) } else { OTHERS };
            let place = *self.places.entry(name.to_owned()).or_insert_with(|| {
                self.askers.push(Asker { name: name.to_owned(), pid: *pid, ..Asker::default() });
                self.askers.len() - 1
            });
            self.threads.push(place);
        }
    }

    /// The device, what its events showed, and its latencies by operation.
    ///
    /// # Errors
    /// The kernel's events cannot be read.
    pub(super) fn end(mut self, view: &KernelView) -> Result<SeenByEvents, Error> {
        self.reader.stop()?;
        let mut found: Vec<RecordedRequest> = Vec::new();
        self.reader.finish(&mut |request| {
            found.push(request);
            Ok(())
        })?;
        self.take(view, &found);
        let mut askers: Vec<EventAsker> = self.askers.iter().map(Asker::figures).collect();
        askers.sort_by_key(|asker| std::cmp::Reverse(asker.reads + asker.writes));
        askers.truncate(RECORDED_MAX);
        self.answers.sort_unstable_by_key(|(_, done)| *done);
        let rhythm = clusters(&self.answers).map(|found| AnswersInClusters {
            every_us: found.every_ns / 1_000,
            answers: found.answers,
            share: found.share,
        });
        let events = WatchEvents {
            requests: self.requests,
            lost: self.reader.lost(),
            askers,
            clusters: rhythm,
            cpu_us: self.cpu.as_ns() / 1_000,
        };
        let latencies = Operation::ALL
            .into_iter()
            .filter_map(|operation| Some((operation, self.latencies[operation.index()].snapshot()?)))
            .collect();
        Ok(SeenByEvents { device: self.device.name, events, latencies })
    }
}

/// What the events of a device came to.
#[derive(Debug)]
pub(super) struct SeenByEvents {
    pub(super) device: String,
    pub(super) events: WatchEvents,
    pub(super) latencies: BTreeMap<Operation, HistogramSnapshot>,
}

impl Asker {
    fn figures(&self) -> EventAsker {
        let (read, write) = (Operation::Read.index(), Operation::Write.index());
        EventAsker {
            name: self.name.clone(),
            pid: self.pid,
            reads: self.counts[read],
            writes: self.counts[write],
            flushes: self.counts[Operation::Flush.index()],
            read_bytes: self.bytes[read],
            write_bytes: self.bytes[write],
            latency_mean_ns: self.latency.mean_ns().unwrap_or(0.0) as u64,
            latency_p99_ns: self.latency.quantile(0.99).map_or(0, Duration::as_ns),
        }
    }
}

/// A kernel worker has its last work in its name: all of them are one program.
fn program(name: &str) -> &str {
    let kernel = ["kworker", "jbd2", "xfsaild"].into_iter().find(|worker| name.starts_with(worker));
    kernel.unwrap_or(name)
}
