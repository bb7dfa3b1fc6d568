//! What an emulated disk does, told the time: the disk model with fault injection, its time accounting, the trace format, and
//! the replay of traces. The emulator puts it under the real clock.

mod history;
mod machine;
pub mod replay;
mod series_builder;
mod slicing;
mod time_shares;
mod trace;

pub use history::{HISTORY_MAX, History, HistoryEntry};
pub use machine::{
    Change, ChangeError, FAULTS_MAX, Fault, FaultKind, FaultSelection, FaultyMachine, RequestEnd, scramble,
};
pub use series_builder::{EndedRequest, SeriesBuilder};
pub use slicing::Slicing;
pub use time_shares::{OtherCause, Standstill, TimeAccount, TimeCause, TimeShare, TimeShares, standstills};
pub use trace::{
    BLOCK_REQUESTS, LateExport, RECORD, RecordedChange, RecordedRequest, Recording, RecordingNotes, SlicePart, Trace,
    TraceError, TraceRecord, encode_block, encode_end, encode_head, encode_recording_end, encode_recording_head,
};
