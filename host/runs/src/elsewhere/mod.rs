//! On a machine that is no Linux, in place of Linux' own files: nothing is opened, watched, recorded or emulated.
//!
//! Types of what only Linux has hold no value here, so what the rest of the crate does with them never happens.

mod absent;
mod data_folder;
mod host;
pub(crate) mod open_volumes;
pub(crate) mod output_place;

pub use absent::{EmulationError, EngineError, EngineProgress, Refused, Remedy, TargetError, TraceFsError, View};
pub(crate) use data_folder::{NO_DATA_FOLDER, data_folder, make_private_folder, sync_folder};
pub(crate) use host::{host_facts, page_bytes};
pub(crate) use open_volumes::{MeasuredPlace, refuse_cells};

/// Measurements that are carried on with: on Linux alone.
pub(crate) mod measurement {
    use crate::{Error, Observer, Refusal, RunOutcome, RunStore};
    use loadline_record::RunRecord;

    pub(crate) fn resume(_: &RunRecord, _: RunStore, _: &mut dyn Observer) -> Result<RunOutcome, Error> {
        Err(Refusal::NoRealStorage.into())
    }
}

/// What happens in emulations.
pub mod emulation {
    pub use super::absent::{AttachEvent, EmulationEvent};
    pub use crate::begin::attach_method::AttachMethod;
}

/// What machine this is: not known.
pub mod recognition {
    pub use super::absent::MetadataError;
    use crate::{Error, RecognitionError};
    use loadline_catalog::Catalog;
    use loadline_recognition::Recognised;

    /// The environment of this machine, as text.
    ///
    /// # Errors
    /// [`RecognitionError::NotLinux`].
    pub fn recognise(_: Option<&str>, _: &Catalog) -> Result<Recognised, Error> {
        Err(RecognitionError::NotLinux.into())
    }
}

/// Recordings of other machines.
pub mod recording {
    pub use crate::files::trace_file::read_trace;
    pub use crate::kinds::record_settings::RecordSettings;
}

/// Watches of other machines.
pub mod watch {
    pub use crate::kinds::stored_watch::{StoredWatch, TypedRange};
}
