//! What a run leaves behind: histograms, one-second series, records with provenance and doubts.

mod engine_options;
mod facts;
mod histogram;
mod hosts;
mod load;
mod mark;
mod model;
mod names;
mod pipeline;
mod recorder;
mod run;
mod series;
mod series_interval;
mod step;
mod tag;
mod tally;
mod trial;
mod upkeep;
mod watched;
mod watched_limit;
mod watched_part;
mod watched_trial;

pub use engine_options::{EngineChoice, EngineOptions, WaitMode};
pub use facts::{
    DeviceFacts, Extents, FileSystemFacts, HostFacts, MEMORY_FILE_SYSTEMS, RealDisk, TargetKind, VolumeFacts,
};
pub use histogram::{DecodeError, Histogram, HistogramSnapshot};
pub use hosts::{HostClock, HostPart, HostRank, HostRankError, HostTrial, HostsRecord, SharedWindow};
pub use load::{Load, LoadFigures, OthersLoad, PlannedLoad};
pub use loadline_verdict::*;
pub use mark::LiveMark;
pub use model::{BurstEnd, CacheUse, DrawTaken, ModelRecord, StageWait, StateTaken};
pub use names::{Access, ArrivalKind, EngineName, RunVerb};
pub use pipeline::{
    BatchCost, BatchRecord, BatchRequests, BusySplit, CommitSpec, CpuRecord, GateRule, ItemRecord, ItemReservoir,
    MergeSpec, PipelineRecord, PipelineSpec, Politeness, QueueBound, QueueIntegral, SegmentSpec, SlowedStation,
    SlowedWindow, SlowedWindows, SourceRecord, SourceSpec, Span, Station, StationClock, StationInterval, StationRecord,
    StationSpec, VolumeRole, VolumeSecond, VolumeUse, WORKER_STATES, Work, WorkerClock, WorkerState,
};
pub use recorder::{RecordedHour, RecordedPart};
pub use run::{
    CellRecord, Clock, ImportedFile, ImportedFrom, LoadBeside, PlanText, RunHeader, RunRecord, RunStatus,
    VOLUME_DEFAULT,
};
pub use series::{Second, SecondOperation, Series};
pub use series_interval::SeriesInterval;
pub use step::{STEP_NAME_MAX, STEPS_MAX, Step, StepName, StepNameError, StepRecord, Steps, StepsFull};
pub use tag::{BASELINE, NOTE, Tag, TagError};
pub use tally::Tally;
pub use trial::{
    AskedBeside, BYTES_PER_S_MAX, ClockCheck, DeviceCounters, EngineUsed, Exceeded, MachineCpu, OperationRecord,
    Pressure, REQUESTS_PER_S_MAX, Residency, Scatter, SteadyState, Stops, StreamWritten, Surroundings, ThreadBusy,
    TrialRecord, Turns, VerifyRecord,
};
pub use upkeep::{KeptHour, Upkeep, upkeep};
pub use watched::{
    AnswersInClusters, EventAsker, HiddenProcesses, ProgramSecond, WatchCost, WatchEvents, WatchGap, WatchRecord,
    WatchSecond, WatchTick, WatchedCpu, WatchedPressure, WatchedProgram, WatchedThrottle,
};
pub use watched_limit::{SecondLimit, WatchedSecond};
