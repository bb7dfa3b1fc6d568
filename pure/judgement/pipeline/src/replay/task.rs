//! A piece of work in hand: what it needs, one thing after the other.

use loadline_record::{BatchCost, VolumeRole, WorkerState};

/// Whose work it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// A slot of a source fetches an item.
    Slot { source: u32, item: u32 },
    /// A worker of a station of the line (its place) works for an item.
    Line { station: usize, worker: u32, item: u32 },
    /// An index worker writes its segment.
    Flush { worker: u32 },
    /// Segments are joined.
    Merge { level: usize },
    /// The index half of a commit.
    CommitIndex,
    /// The database half of a commit.
    CommitDatabase,
}

/// What the work needs, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Needs {
    pub(super) connection: bool,
    pub(super) other_ns: u64,
    pub(super) network_bytes: u64,
    pub(super) body_ns: u64,
    pub(super) cpu_ns: u64,
    pub(super) device_ns: u64,
    pub(super) writes: u64,
    pub(super) write_bytes: u64,
    pub(super) sync_ns: u64,
    pub(super) syncs: u32,
}

/// A phase of the work, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    New,
    Pool,
    Other,
    Network,
    Body,
    Cpu,
    Device,
    Write,
    SyncDelay,
    Sync,
    Done,
}

impl Phase {
    /// The worker's state meanwhile.
    pub(super) const fn state(self) -> WorkerState {
        match self {
            Self::Pool => WorkerState::Pool,
            Self::Network | Self::Body => WorkerState::Network,
            Self::New | Self::Cpu | Self::Done => WorkerState::Cpu,
            Self::Device | Self::Write | Self::SyncDelay | Self::Sync => WorkerState::Device,
            Self::Other => WorkerState::Other,
        }
    }
}

/// Work in hand.
#[derive(Debug, Clone, Copy)]
pub(super) struct Task {
    pub(super) owner: Owner,
    pub(super) needs: Needs,
    pub(super) role: VolumeRole,
    pub(super) write: u32,
    pub(super) depth: u32,
    pub(super) units: u64,
    pub(super) early: bool,
    pub(super) phase: Phase,
    pub(super) began_ns: u64,
    pub(super) phase_ns: u64,
    /// Requests not yet submitted, and in flight.
    pub(super) left: u64,
    pub(super) in_flight: u32,
    /// What it took: processor, writes and device, syncs, other.
    pub(super) took: Took,
}

/// How long each part took, and when the parts of a fetch were over, ns.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_field_names, reason = "the unit belongs to each name")]
pub(super) struct Took {
    pub(super) cpu_ns: u64,
    pub(super) device_ns: u64,
    pub(super) sync_ns: u64,
    pub(super) other_ns: u64,
    pub(super) connected_ns: u64,
    pub(super) first_byte_ns: u64,
    pub(super) last_byte_ns: u64,
}

impl Task {
    pub(super) fn new(now_ns: u64, owner: Owner, needs: Needs, role: VolumeRole) -> Self {
        Self {
            owner,
            needs,
            role,
            write: 0,
            depth: 1,
            units: 0,
            early: false,
            phase: Phase::New,
            began_ns: now_ns,
            phase_ns: now_ns,
            left: 0,
            in_flight: 0,
            took: Took { connected_ns: now_ns, first_byte_ns: now_ns, last_byte_ns: now_ns, ..Took::default() },
        }
    }
    /// A batch of so many units. On a model its requests take the place of its waits.
    pub(super) fn batch(
        now_ns: u64,
        owner: Owner,
        cost: &BatchCost,
        units: u64,
        role: VolumeRole,
        model: bool,
    ) -> Self {
        let mut needs = Needs { cpu_ns: cost.cpu_ns + cost.cpu_per_unit_ns * units, ..Needs::default() };
        let requests = cost.requests.filter(|_| model);
        if let Some(requests) = requests {
            let bytes = requests.bytes_per_unit.get() * units;
            needs.writes = bytes.div_ceil(requests.write.get().max(1));
            needs.write_bytes = bytes;
            needs.syncs = requests.syncs;
        } else {
            needs.device_ns = cost.write_ns + cost.write_per_unit_ns * units;
            needs.sync_ns = cost.sync_ns;
        }
        let mut task = Self::new(now_ns, owner, needs, role);
        if let Some(requests) = requests {
            task.write = u32::try_from(requests.write.get()).unwrap_or(u32::MAX);
            task.depth = requests.queue_depth.max(1);
        }
        task.units = units;
        task
    }
    /// The phase after this one that has something to do.
    pub(super) fn next_phase(&self) -> Phase {
        let needs = &self.needs;
        let phases = [
            (Phase::Pool, needs.connection),
            (Phase::Other, needs.other_ns > 0),
            (Phase::Network, needs.network_bytes > 0),
            (Phase::Body, needs.body_ns > 0),
            (Phase::Cpu, needs.cpu_ns > 0),
            (Phase::Device, needs.device_ns > 0),
            (Phase::Write, needs.writes > 0),
            (Phase::SyncDelay, needs.sync_ns > 0),
            (Phase::Sync, needs.syncs > 0),
        ];
        phases
            .into_iter()
            .find(|(phase, wanted)| *wanted && *phase > self.phase)
            .map_or(Phase::Done, |(phase, _)| phase)
    }
    /// Notes the end of the phase. Returns the time on a processor.
    pub(super) fn end_phase(&mut self, now_ns: u64) -> u64 {
        let span = now_ns - self.phase_ns;
        let took = &mut self.took;
        match self.phase {
            Phase::Pool => took.connected_ns = now_ns,
            Phase::Other => took.other_ns += span,
            Phase::Device | Phase::Write => took.device_ns += span,
            Phase::SyncDelay | Phase::Sync => took.sync_ns += span,
            Phase::New | Phase::Network | Phase::Body | Phase::Cpu | Phase::Done => {}
        }
        if self.phase <= Phase::Other {
            took.first_byte_ns = now_ns;
        }
        if self.phase <= Phase::Body {
            took.last_byte_ns = now_ns;
        }
        self.phase_ns = now_ns;
        if self.phase == Phase::Cpu {
            took.cpu_ns = self.needs.cpu_ns;
            return self.needs.cpu_ns;
        }
        0
    }
}
