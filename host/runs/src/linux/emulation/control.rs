//! Asks a running emulation over its control socket: for its state, for faults, for changes.

use super::serving::control_beside;
use loadline_emulator::{ControlAnswer, ControlRequest, NumberedFault, ask_control};
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

/// Why an emulation gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// It cannot be reached.
    #[error("cannot reach an emulation at {}: {why}", socket.display())]
    Unreachable {
        /// The socket that was named.
        socket: PathBuf,
        /// Why not.
        why: ControlSilence,
        /// As the system says it.
        source: std::io::Error,
    },
    /// It has no such volume or disk.
    #[error("{}: there is no volume or disk {volume:?}; there are {}", socket.display(), known.join(", "))]
    NoVolume {
        /// The socket that was named.
        socket: PathBuf,
        /// What was asked for.
        volume: String,
        /// What there is.
        known: Vec<String>,
    },
}

/// Why nobody answers at a control socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ControlSilence {
    /// What is there is no socket.
    #[error("it is no socket")]
    NoSocket,
    /// Nobody listens.
    #[error("nobody listens there: its emulation was killed, and can be started again on the same socket")]
    NobodyListens,
    /// Nothing is there.
    #[error("there is no such socket")]
    NotThere,
    /// Another reason, which the system gives.
    #[error("it does not answer")]
    Other,
}

/// Asks over the control socket; the socket of clients may be named in its place. Of a state or of faults, what concerns
/// other volumes than `volume` is left out.
///
/// # Errors
/// [`ControlError`].
pub fn ask_emulation(
    socket: &Path,
    request: &ControlRequest,
    volume: Option<&str>,
) -> Result<ControlAnswer, ControlError> {
    let mut answer = ask(socket, request)?;
    if let (Some(volume), ControlRequest::Status | ControlRequest::Faults) = (volume, request) {
        narrow(&mut answer, volume, socket)?;
    }
    Ok(answer)
}

fn ask(socket: &Path, request: &ControlRequest) -> Result<ControlAnswer, ControlError> {
    let beside = control_beside(socket);
    let control = if beside.exists() { &beside } else { socket };
    ask_control(control, request).map_err(|source| {
        let is_socket = std::fs::metadata(control).is_ok_and(|found| found.file_type().is_socket());
        let why = match source.kind() {
            ErrorKind::ConnectionRefused if !is_socket => ControlSilence::NoSocket,
            ErrorKind::ConnectionRefused => ControlSilence::NobodyListens,
            ErrorKind::NotFound => ControlSilence::NotThere,
            _ => ControlSilence::Other,
        };
        ControlError::Unreachable { socket: socket.to_owned(), why, source }
    })
}

/// Leaves what an answer has of a volume and its disks, or of one disk.
fn narrow(answer: &mut ControlAnswer, volume: &str, socket: &Path) -> Result<(), ControlError> {
    let own = |name: &str| name.strip_prefix(volume).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let there = match ask(socket, &ControlRequest::Status)? {
        ControlAnswer::Status(view) => view.exports,
        _ => Vec::new(),
    };
    let Some(named) = there.iter().find(|export| export.export == volume) else {
        return Err(ControlError::NoVolume {
            socket: socket.to_owned(),
            volume: volume.to_owned(),
            known: there.into_iter().map(|export| export.export).collect(),
        });
    };
    // A disk that is asked for by itself meets what takes its volume away, too.
    let meets = |fault: &NumberedFault| own(&fault.fault.on) || named.faults.contains(&fault.number);
    match answer {
        ControlAnswer::Status(view) => {
            view.exports.retain(|export| own(&export.export));
            view.faults.retain(meets);
        }
        ControlAnswer::Faults(faults) => faults.retain(meets),
        _ => {}
    }
    Ok(())
}
