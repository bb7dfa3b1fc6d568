//! Stores run records in one SQLite file, trial by trial.
//!
//! The beginning of a run with its plan is one transaction, and each finished trial is one more. So a process killed at
//! any instant loses no finished trial, and the run can be resumed. `docs/formats/store.md` describes the file.

mod checksum;
mod claim;
mod error;
mod open;
mod read;
mod reading;
mod recorder;
mod series;
mod tag_rows;
mod tags;
// What the system shows of files.
#[cfg_attr(not(unix), path = "windows.rs")]
mod unix;
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
