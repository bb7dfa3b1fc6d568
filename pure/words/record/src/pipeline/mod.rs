//! An application's pipeline: what it is set to, how its workers spent their time, and the items that passed it.

mod clock;
mod items;
mod measured;
mod slowed;
mod spec;

pub use clock::{BusySplit, StationClock, WORKER_STATES, WorkerClock, WorkerState};
pub use items::{ItemRecord, ItemReservoir, Span, Work};
pub use measured::{
    BatchRecord, CpuRecord, PipelineRecord, QueueIntegral, SourceRecord, StationInterval, StationRecord, VolumeSecond,
    VolumeUse,
};
pub use slowed::{SlowedStation, SlowedWindow, SlowedWindows};
pub use spec::{
    BatchCost, BatchRequests, CommitSpec, GateRule, MergeSpec, PipelineSpec, Politeness, QueueBound, SegmentSpec,
    SourceSpec, Station, StationSpec, VolumeRole,
};
