//! Write-back before a measurement: dirty pages of earlier writes go to the device first, not during the load.

use crate::control::Control;
use crate::error::EngineError;
use crate::target::Volume;
use loadline_kernel::clock;
use loadline_kernel::system_calls;
use loadline_record::TargetKind;
use loadline_units::Duration;
use std::sync::mpsc::{RecvTimeoutError, channel};

/// How often a waiting thread looks at the time and at the user's wish to stop.
const LOOK_EVERY: Duration = Duration::from_ms(20);

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settled {
    /// How long it was waited for.
    pub elapsed: Duration,
    /// Whether all was written back; otherwise the time was up, or the user stopped it, and the kernel goes on with it.
    pub complete: bool,
}

/// Has the file system that the volume's files are in write back all dirty pages of any program (`syncfs`), and waits for that
/// for `limit` at most. `None` where the volume is no file in a file system.
///
/// # Errors
/// When the file system says that something could not be written, now or since the file was opened.
pub fn settle(volume: &Volume, limit: Duration, control: &Control) -> Result<Option<Settled>, EngineError> {
    let attempt =
        || format!("write back what programs left in memory for the file system of volume {}", volume.facts.name);
    let in_file_system = matches!(volume.facts.kind, TargetKind::TestFile | TargetKind::File);
    let Some(file) = volume.files.first().filter(|_| in_file_system) else { return Ok(None) };
    let file = file.try_clone().map_err(|source| EngineError::os(attempt(), source))?;
    let started_at = clock::now();
    let (tell, told) = channel();
    // Nothing ends this call before the file system is through, so it is not joined.
    std::thread::spawn(move || {
        // Nobody listens any more where it took too long.
        let _ = tell.send(system_calls::write_back_file_system(&file));
    });
    loop {
        let elapsed = clock::now().since(started_at);
        let left = limit.saturating_sub(elapsed);
        if left == Duration::ZERO || control.stopped() {
            return Ok(Some(Settled { elapsed, complete: false }));
        }
        match told.recv_timeout(std::time::Duration::from_nanos(left.min(LOOK_EVERY).as_ns())) {
            Ok(Ok(())) => {
                let elapsed = clock::now().since(started_at);
                return Ok(Some(Settled { elapsed, complete: true }));
            }
            Ok(Err(source)) => return Err(EngineError::os(attempt(), source)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => unreachable!("the thread tells before it ends"),
        }
    }
}
