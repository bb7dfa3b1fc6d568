//! The pipeline in virtual time: exact, deterministic, with finite buffers, blocking, batched commits and shared processors.
//!
//! Nothing here is estimated. The same pipeline and items give the same nanosecond at every event.

mod cell;
mod check;
mod committing;
mod frontier;
mod line;
mod sharing;
mod task;
mod volumes;

pub use check::ReplayError;
pub use volumes::StorageModel;

use crate::{PipelineItem, Release};
use cell::WorkerCell;
use committing::Epoch;
use frontier::Frontier;
use line::LineStation;
use loadline_record::{
    BatchRecord, CpuRecord, ItemRecord, ItemReservoir, PipelineRecord, PipelineSpec, SourceRecord, Station,
    StationRecord, VolumeRole, WorkerState,
};
use sharing::SharedResource;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use task::{Needs, Owner, Phase, Task};
use volumes::Volumes;

/// Batches of a record at most.
const BATCHES_MAX: usize = 4_096;

/// What is kept of a replay.
#[derive(Debug, Clone, Copy, Default)]
pub struct Keep {
    /// Length of an interval of the series, ns; 0: no series.
    pub interval_ns: u64,
    /// Whole items at most; 0: none.
    pub items_max: usize,
    /// Which items are kept.
    pub seed: u64,
}

/// A replay's outcome.
#[derive(Debug, Clone)]
pub struct Replayed {
    /// As it would have been measured.
    pub record: PipelineRecord,
    /// Items in each source's slots, then in extract, index and database with their queues, integrated over time, item x ns.
    pub inside_item_ns: Vec<u128>,
}

impl Replayed {
    /// From the start to the last item of a source, ns.
    #[must_use]
    pub fn ended_ns(&self, source: usize) -> u64 {
        self.record.sources[source].ended_ns
    }
}

/// Runs `items` through a pipeline. `storage` is the model below it; without one, waits for volumes last as in the items.
///
/// # Errors
/// When the pipeline or an item contradicts itself.
pub fn replay(
    spec: &PipelineSpec,
    items: &[PipelineItem],
    storage: Option<&StorageModel>,
    keep: Keep,
) -> Result<Replayed, ReplayError> {
    check::check(spec, items)?;
    let volumes = storage.map(|model| Volumes::new(model, keep.interval_ns)).transpose()?;
    let mut run = Run::new(spec, items, volumes, keep);
    run.go();
    Ok(run.finish(keep))
}

/// What happens at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A delay of a task is over.
    Delay(u32),
    /// An item is eligible.
    Release(u32),
    /// A host of a source may be ready.
    Gate(u32),
    /// An epoch is as old as it may be.
    Commit(u64),
}

/// A source under way.
struct SourceState {
    frontier: Frontier,
    slots: WorkerCell,
    connections: u32,
    pool: VecDeque<u32>,
    left: u64,
    released: u64,
    ended_ns: u64,
    dry_ns: u64,
    gated_by_ns: [u64; 3],
    gate_at_ns: u64,
    waiting_ns: u128,
    waiting_at_ns: u64,
    gate_planned_ns: u64,
    interval_ns: u64,
    hosts_left: Vec<u32>,
    is_dirty: bool,
}

struct Run<'a> {
    spec: &'a PipelineSpec,
    items: &'a [PipelineItem],
    interval_ns: u64,
    now: u64,
    sequence: u64,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    tasks: Vec<Task>,
    free: Vec<u32>,
    /// Tasks whose phase is over.
    over: VecDeque<u32>,
    cores: SharedResource,
    network: Option<SharedResource>,
    volumes: Option<Volumes>,
    sources: Vec<SourceState>,
    line: [LineStation; 3],
    epoch: Epoch,
    /// The first item that an item leads to, and the next of the same.
    first_found: Vec<u32>,
    next_found: Vec<u32>,
    records: Vec<ItemRecord>,
    batches: Vec<BatchRecord>,
    received_bytes: Vec<u64>,
    left: u64,
}

const NONE: u32 = u32::MAX;

impl<'a> Run<'a> {
    fn new(spec: &'a PipelineSpec, items: &'a [PipelineItem], volumes: Option<Volumes>, keep: Keep) -> Self {
        let interval_ns = keep.interval_ns;
        let mut hosts = vec![0u32; spec.sources.len()];
        let mut left = vec![0u64; spec.sources.len()];
        for item in items {
            let source = item.source as usize;
            hosts[source] = hosts[source].max(item.host + 1);
            left[source] += 1;
        }
        let sources = spec.sources.iter().zip(hosts).zip(left).map(|((source, hosts), left)| SourceState {
            frontier: Frontier::new(source.politeness, hosts),
            slots: WorkerCell::new(source.slots, interval_ns),
            connections: source.connections.unwrap_or(u32::MAX),
            pool: VecDeque::new(),
            left,
            released: 0,
            ended_ns: 0,
            dry_ns: 0,
            gated_by_ns: [0; 3],
            gate_at_ns: 0,
            waiting_ns: 0,
            waiting_at_ns: 0,
            gate_planned_ns: u64::MAX,
            interval_ns,
            hosts_left: Vec::new(),
            is_dirty: true,
        });
        let line = [spec.extract, spec.index, spec.database].map(|station| LineStation::new(station, interval_ns));
        let mut run = Self {
            spec,
            items,
            interval_ns,
            now: 0,
            sequence: 0,
            events: BinaryHeap::new(),
            tasks: Vec::new(),
            free: Vec::new(),
            over: VecDeque::new(),
            cores: SharedResource::processors(spec.cores),
            network: spec.network.map(|rate| SharedResource::network(rate.get())),
            volumes,
            sources: sources.collect(),
            line,
            epoch: Epoch::new(spec, interval_ns),
            first_found: vec![NONE; items.len()],
            next_found: vec![NONE; items.len()],
            records: Vec::new(),
            batches: Vec::new(),
            received_bytes: Vec::new(),
            left: items.len() as u64,
        };
        run.plan_items(keep.items_max > 0);
        run
    }

    /// Plans every release, and prepares the records.
    fn plan_items(&mut self, records: bool) {
        let mut numbers = vec![0u32; self.spec.sources.len()];
        let mut number_of = Vec::new();
        for (place, item) in self.items.iter().enumerate() {
            let number = numbers[item.source as usize];
            numbers[item.source as usize] += 1;
            if records {
                number_of.push(number);
                let found_in = match item.release {
                    Release::At(_) => None,
                    Release::After(other) => Some(number_of[other as usize]),
                };
                let (source, host) = (item.source, item.host);
                let (bytes, text_bytes) = (item.bytes, item.text_bytes);
                let retry_after_ns = item.retry_after_ns;
                self.records.push(ItemRecord {
                    source,
                    number,
                    found_in,
                    host,
                    bytes,
                    text_bytes,
                    retry_after_ns,
                    ..ItemRecord::default()
                });
            }
            if let Release::At(at) = item.release {
                self.plan(at, Event::Release(place as u32));
            }
        }
        // From the last, so that each list is in the order of its items.
        for place in (0..self.items.len()).rev() {
            if let Release::After(other) = self.items[place].release {
                self.next_found[place] = self.first_found[other as usize];
                self.first_found[other as usize] = place as u32;
            }
        }
    }

    fn plan(&mut self, at: u64, event: Event) {
        self.events.push(Reverse((at, self.sequence, event)));
        self.sequence += 1;
    }

    fn go(&mut self) {
        loop {
            while let Some(task) = self.over.pop_front() {
                self.next_phase(task);
            }
            if self.settle() || !self.over.is_empty() {
                continue;
            }
            // Timers that nobody waits for any more are no part of the crawl.
            let is_over = self.left == 0 && self.epoch.is_done() && self.free.len() == self.tasks.len();
            let Some(at) = self.next_ns().filter(|_| !is_over) else { break };
            self.now = at;
            self.happen();
        }
        assert!(self.left == 0 && self.epoch.is_done(), "{} items are left and nothing happens", self.left);
    }

    fn next_ns(&self) -> Option<u64> {
        let event = self.events.peek().map_or(u64::MAX, |Reverse((at, ..))| *at);
        let cores = self.cores.next_end_ns().unwrap_or(u64::MAX);
        let network = self.network.as_ref().and_then(SharedResource::next_end_ns).unwrap_or(u64::MAX);
        let volumes = self.volumes.as_ref().map_or(u64::MAX, Volumes::next_ns);
        let next = event.min(cores).min(network).min(volumes);
        (next < u64::MAX).then_some(next)
    }

    /// Everything that happens now.
    fn happen(&mut self) {
        let now = self.now;
        while let Some(task) = self.volumes.as_mut().and_then(|volumes| volumes.take_done(now)) {
            self.answered(task);
        }
        while let Some(task) = self.cores.take_ended(now) {
            self.over.push_back(task);
        }
        while let Some(task) = self.network.as_mut().and_then(|network| network.take_ended(now)) {
            self.over.push_back(task);
        }
        while let Some(Reverse((at, _, event))) = self.events.peek().copied() {
            if at > now {
                return;
            }
            self.events.pop();
            match event {
                Event::Delay(task) => self.over.push_back(task),
                Event::Release(item) => self.release(item),
                Event::Gate(source) => {
                    let source = &mut self.sources[source as usize];
                    source.gate_planned_ns = u64::MAX;
                    source.is_dirty = true;
                }
                Event::Commit(epoch) => self.epoch.is_old |= self.epoch.number == epoch,
            }
        }
    }

    /// A request of a task was answered.
    fn answered(&mut self, task: u32) {
        let state = &mut self.tasks[task as usize];
        state.in_flight -= 1;
        if state.left == 0 {
            if state.in_flight == 0 {
                self.over.push_back(task);
            }
            return;
        }
        self.submit(task);
    }

    /// Submits what a task may have in flight.
    fn submit(&mut self, task: u32) {
        let volumes = self.volumes.as_mut().expect("requests go to a model");
        let state = &mut self.tasks[task as usize];
        let is_sync = state.phase == Phase::Sync;
        let depth = if is_sync { 1 } else { state.depth };
        while state.left > 0 && state.in_flight < depth {
            let length = match (is_sync, state.left) {
                (true, _) => 0,
                // The last is what is left over.
                (false, 1) => (state.needs.write_bytes - u64::from(state.write) * (state.needs.writes - 1)) as u32,
                (false, _) => state.write,
            };
            volumes.submit(self.now, state.role, task, length);
            state.left -= 1;
            state.in_flight += 1;
        }
    }

    fn start(&mut self, task: Task) {
        let number = self.free.pop().unwrap_or_else(|| {
            self.tasks.push(task);
            (self.tasks.len() - 1) as u32
        });
        self.tasks[number as usize] = task;
        self.over.push_back(number);
    }

    /// The workers that a task is of.
    fn cell(&mut self, owner: Owner) -> &mut WorkerCell {
        match owner {
            Owner::Slot { source, .. } => &mut self.sources[source as usize].slots,
            Owner::Line { station, .. } => &mut self.line[station].workers,
            Owner::Flush { .. } => &mut self.line[line::INDEX].workers,
            Owner::Merge { .. } => &mut self.epoch.merges,
            Owner::CommitIndex | Owner::CommitDatabase => &mut self.epoch.committer,
        }
    }

    /// A task's phase is over: the next begins.
    fn next_phase(&mut self, number: u32) {
        let now = self.now;
        let task = &mut self.tasks[number as usize];
        let before = task.phase;
        let on_cpu_ns = task.end_phase(now);
        task.phase = task.next_phase();
        let (owner, phase, needs, role) = (task.owner, task.phase, task.needs, task.role);
        let cell = self.cell(owner);
        cell.ran(on_cpu_ns);
        if phase != Phase::Done {
            cell.shift(now, before.state(), phase.state());
        } else if before.state() != WorkerState::Cpu {
            cell.shift(now, before.state(), WorkerState::Cpu);
        }
        match phase {
            Phase::New => unreachable!("a task is new once"),
            Phase::Pool => {
                let Owner::Slot { source, .. } = owner else { unreachable!("slots alone have connections") };
                let source = &mut self.sources[source as usize];
                if source.connections > 0 {
                    source.connections -= 1;
                    self.over.push_back(number);
                } else {
                    source.pool.push_back(number);
                }
            }
            Phase::Other => self.plan(now + needs.other_ns, Event::Delay(number)),
            Phase::Body => self.plan(now + needs.body_ns, Event::Delay(number)),
            Phase::Device => self.plan(now + needs.device_ns, Event::Delay(number)),
            Phase::SyncDelay => self.plan(now + needs.sync_ns, Event::Delay(number)),
            Phase::Network => match &mut self.network {
                Some(network) => network.add(now, number, needs.network_bytes),
                None => self.over.push_back(number),
            },
            Phase::Cpu => self.cores.add(now, number, needs.cpu_ns),
            Phase::Write | Phase::Sync => {
                let task = &mut self.tasks[number as usize];
                task.left = if phase == Phase::Sync { u64::from(needs.syncs) } else { needs.writes };
                assert!(self.volumes.as_ref().is_some_and(|volumes| volumes.serves(role)), "{role} is not modelled");
                self.submit(number);
            }
            Phase::Done => self.done(number),
        }
    }

    /// A task is done: its worker has an item to pass on, or is free.
    fn done(&mut self, number: u32) {
        let task = self.tasks[number as usize];
        self.free.push(number);
        match task.owner {
            Owner::Slot { source, item } => self.fetched(source, item, &task),
            Owner::Line { station, worker, item } => self.worked(station, worker, item, &task),
            Owner::Flush { worker } => self.flushed(worker, &task),
            Owner::Merge { level } => self.merged(level, &task),
            Owner::CommitIndex => self.index_committed(&task),
            Owner::CommitDatabase => self.database_committed(&task),
        }
    }

    fn release(&mut self, item: u32) {
        let now = self.now;
        let PipelineItem { source, host, .. } = self.items[item as usize];
        if let Some(record) = self.records.get_mut(item as usize) {
            record.eligible_ns = now;
        }
        let source = &mut self.sources[source as usize];
        source.charge(now);
        source.frontier.add(now, host, item);
        source.released += 1;
        source.dry_ns = now;
        source.is_dirty = true;
    }

    /// Starts what can be started. Returns whether something was.
    fn settle(&mut self) -> bool {
        let mut any = self.settle_line();
        any |= self.settle_epoch();
        for source in 0..self.sources.len() {
            any |= self.settle_source(source);
        }
        any
    }

    /// Fills a source's slots.
    fn settle_source(&mut self, number: usize) -> bool {
        if !self.sources[number].is_dirty {
            return false;
        }
        let now = self.now;
        let mut any = false;
        self.sources[number].is_dirty = false;
        self.sources[number].charge(now);
        self.sources[number].frontier.open(now);
        while self.sources[number].slots.idle() > 0
            && let Some(place) = self.sources[number].frontier.take(now)
        {
            any = true;
            let item = &self.items[place as usize];
            let source = &mut self.sources[number];
            source.slots.take(now, WorkerState::Cpu);
            source.slots.enter(now);
            let is_shared = self.network.is_some();
            let needs = Needs {
                connection: source.connections < u32::MAX,
                other_ns: item.first_byte_ns,
                network_bytes: if is_shared { item.bytes } else { 0 },
                body_ns: item.body_ns,
                cpu_ns: item.fetch_cpu_ns,
                ..Needs::default()
            };
            if let Some(record) = self.records.get_mut(place as usize) {
                record.sent_ns = now;
            }
            let owner = Owner::Slot { source: number as u32, item: place };
            self.start(Task::new(now, owner, needs, VolumeRole::Data));
        }
        let source = &mut self.sources[number];
        let gated = u64::from(source.slots.idle()).min(source.frontier.waiting()) as u32;
        source.slots.set_gated(now, gated);
        // A host's time matters to a free slot alone; a slot that becomes free looks by itself.
        if let Some(at) = source.frontier.next_ns()
            && gated > 0
            && at < source.gate_planned_ns
        {
            source.gate_planned_ns = at;
            self.plan(at, Event::Gate(number as u32));
        }
        any
    }

    /// A slot has its item: it goes on to extract.
    fn fetched(&mut self, number: u32, item: u32, task: &Task) {
        let now = self.now;
        let needs = &self.items[item as usize];
        let source = &mut self.sources[number as usize];
        source.charge(now);
        source.frontier.done(now, needs.host, needs.retry_after_ns);
        source.is_dirty = true;
        if task.needs.connection {
            match source.pool.pop_front() {
                Some(waiting) => self.over.push_back(waiting),
                None => source.connections += 1,
            }
        }
        if let Some(interval) = now.checked_div(self.interval_ns).map(|interval| interval as usize) {
            if self.received_bytes.len() <= interval {
                self.received_bytes.resize(interval + 1, 0);
            }
            self.received_bytes[interval] += needs.bytes;
        }
        if let Some(record) = self.records.get_mut(item as usize) {
            record.connected_ns = task.took.connected_ns;
            record.first_byte_ns = task.took.first_byte_ns;
            record.last_byte_ns = task.took.last_byte_ns;
            record.fetch_cpu_ns = task.took.cpu_ns;
        }
        let holder = line::Holder::Slot { source: number };
        if self.put(line::EXTRACT, item, holder) {
            self.slot_free(number);
        } else {
            self.sources[number as usize].slots.shift(now, WorkerState::Cpu, WorkerState::Blocked);
        }
    }

    /// A slot got rid of its item.
    fn slot_free(&mut self, number: u32) {
        let source = &mut self.sources[number as usize];
        let from = if source.slots.count(WorkerState::Blocked) > 0 { WorkerState::Blocked } else { WorkerState::Cpu };
        source.slots.shift(self.now, from, WorkerState::Starved);
        source.slots.leave(self.now);
        source.is_dirty = true;
    }

    fn finish(self, keep: Keep) -> Replayed {
        let wall_ns = self.now;
        let mut inside_item_ns: Vec<u128> = self.sources.iter().map(|source| source.slots.inside_item_ns()).collect();
        inside_item_ns.extend(self.line.iter().map(|station| station.workers.inside_item_ns()));
        let mut stations = Vec::new();
        let mut cpu_ns = 0;
        for (station, which) in self.line.into_iter().zip(Station::LINE) {
            let record = station.finish(which, wall_ns);
            cpu_ns += record.clock.busy.on_cpu_ns;
            stations.push(record);
        }
        for record in self.epoch.finish(wall_ns) {
            cpu_ns += record.clock.busy.on_cpu_ns;
            stations.push(record);
        }
        let mut sources = Vec::new();
        for (mut source, spec) in self.sources.into_iter().zip(&self.spec.sources) {
            source.charge(wall_ns);
            let items = source.slots.passed();
            let (clock, series) = source.slots.finish(wall_ns);
            cpu_ns += clock.busy.on_cpu_ns;
            let mut hosts_left = source.hosts_left;
            hosts_left.resize(series.len(), 0);
            sources.push(SourceRecord {
                name: spec.name.clone(),
                items,
                ended_ns: source.ended_ns,
                frontier_dry_ns: source.dry_ns,
                clock,
                gated_by_ns: source.gated_by_ns,
                waiting_item_us: (source.waiting_ns / 1_000) as u64,
                hosts_left,
                series,
                ..SourceRecord::default()
            });
        }
        let mut reservoir = ItemReservoir::new(keep.items_max.max(1), self.spec.sources.len(), keep.seed);
        self.records.into_iter().for_each(|item| reservoir.offer(item));
        let record = PipelineRecord {
            surroundings: None,
            spec: self.spec.clone(),
            wall_ns,
            interval_ns: self.interval_ns,
            sources,
            stations,
            cpu: CpuRecord { crawl_ns: cpu_ns, ..CpuRecord::default() },
            received_bytes: self.received_bytes,
            volumes: self.volumes.map(Volumes::finish).unwrap_or_default(),
            batches: self.batches,
            items: reservoir.into_items(),
            lag_p99_ns: None,
            slowed: None,
        };
        Replayed { record, inside_item_ns }
    }

    fn note_batch(&mut self, station: Station, task: &Task) {
        if self.interval_ns > 0 && self.batches.len() < BATCHES_MAX {
            self.batches.push(BatchRecord {
                station,
                units: task.units,
                start_ns: task.began_ns,
                end_ns: self.now,
                cpu_ns: task.took.cpu_ns,
                write_ns: task.took.device_ns,
                sync_ns: task.took.sync_ns,
                bytes: task.needs.write_bytes,
                writes: task.needs.writes,
                syncs: u64::from(task.needs.syncs),
                early: task.early,
            });
        }
    }
}

impl SourceState {
    /// Integrates what the gate keeps back. Slots have one state between two calls.
    fn charge(&mut self, now: u64) {
        let intervals = now.checked_div(self.interval_ns).unwrap_or_default() as usize;
        if self.hosts_left.len() < intervals {
            self.hosts_left.resize(intervals, self.frontier.live());
        }
        let span = now - self.waiting_at_ns;
        if span > 0 {
            self.waiting_ns += u128::from(self.frontier.waiting()) * u128::from(span);
            self.waiting_at_ns = now;
        }
        let gated = u64::from(self.slots.count(WorkerState::Gated)) * (now - self.gate_at_ns);
        self.gate_at_ns = now;
        if gated > 0 {
            // The rule that holds the most items has the time.
            let held = self.frontier.held();
            let most = (0..held.len()).max_by_key(|rule| (held[*rule], Reverse(*rule))).unwrap_or_default();
            self.gated_by_ns[most] += gated;
        }
    }
}

/// The numbers of a station record that a line station and an epoch fill alike.
fn station_record(station: Station, workers: u32, cell: WorkerCell, wall_ns: u64) -> StationRecord {
    let (passed, inside) = (cell.passed(), cell.inside_item_ns());
    let (clock, series) = cell.finish(wall_ns);
    StationRecord {
        station,
        workers,
        clock,
        queue: loadline_record::QueueIntegral::default(),
        passed,
        inside_item_us: (inside / 1_000) as u64,
        blocked_by_merges_ns: 0,
        busy_by_source_ns: Vec::new(),
        series,
    }
}
