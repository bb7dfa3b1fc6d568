//! Stores run records in one SQLite file, trial by trial.
//!
//! The beginning of a run with its plan is one transaction, and each finished trial is one more. So a process killed at
//! any instant loses no finished trial, and the run can be resumed. `docs/formats/store.md` describes the file.

mod checksum;
mod claim;
mod error;
// What Linux shows of files; on any other machine `elsewhere` says as much of it as every system does.
#[cfg_attr(not(target_os = "linux"), path = "elsewhere.rs")]
mod linux;
mod open;
mod read;
mod reading;
mod recorder;
mod series;
mod tag_rows;
mod tags;
mod without_space;
mod write;

pub use claim::Claim;
pub use error::{PartError, StoreError};
pub use loadline_record::{NOTE, Tag, TagError};
pub use open::Store;
pub use read::{Filter, RunLine, VolumeLine, check_since};
pub use reading::Unwritable;
pub use recorder::WatchLine;
pub use series::SeriesError;
