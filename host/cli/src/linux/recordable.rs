//! Whether an application can be recorded here.

use loadline_runs::recording::{RecordSettings, Recorder};
use std::path::Path;

/// Whether the requests of a device can be recorded into a file.
pub(crate) fn can_record(device: &str, file: &Path) -> bool {
    let settings = RecordSettings {
        device: device.to_owned(),
        file: file.to_owned(),
        duration: None,
        size_max: RecordSettings::SIZE_MAX,
        buffer: RecordSettings::BUFFER,
    };
    Recorder::prepare(settings).is_ok()
}
