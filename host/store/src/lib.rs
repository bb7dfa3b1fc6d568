//! Run records in one SQLite file, written trial by trial.
//!
//! A run begins with its plan in one transaction; each finished trial is one transaction more. So a process killed at any
//! instant loses nothing that was finished, and the run can be taken up again. `docs/formats/store.md` describes the file.

mod claim;
mod error;
mod open;
mod read;
mod reading;
mod series;
mod write;

pub use claim::Claim;
pub use error::{PartError, StoreError};
pub use open::Store;
pub use read::{Filter, RunLine, VolumeLine, check_since};
pub use reading::Unwritable;
pub use series::SeriesError;
