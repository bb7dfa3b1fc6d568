//! Sentences about a device that others use.

use loadline_record::HiddenProcesses;
use loadline_units::words::number;

/// "12 processes of other users cannot be seen: run as root to see them".
pub(crate) fn hidden(hidden: HiddenProcesses) -> String {
    let processes = match hidden.processes {
        1 => "1 process".to_owned(),
        several => format!("{} processes", number(f64::from(several))),
    };
    if hidden.by_root {
        return format!(
            "{processes} cannot be seen from here: run this with CAP_SYS_PTRACE, or outside of the container"
        );
    }
    format!("{processes} of other users cannot be seen: run as root to see them")
}
