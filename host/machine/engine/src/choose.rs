//! Which way to the device, and why.

use crate::backend::{aio, uring};
use crate::error::EngineError;
use crate::target::Volume;
use loadline_record::{EngineChoice, EngineOptions};
use loadline_record::{EngineName, EngineUsed, TargetKind};
use loadline_workload::{Arrival, FlushMethod, LoadSpec};
use std::os::fd::AsRawFd;

/// An engine of this crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Engine {
    Null,
    Nbd,
    Uring,
    Aio,
    Threads,
}

/// What this machine lets the tool use; `Err` says why not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// `io_uring`.
    pub io_uring: Result<(), String>,
    /// Linux AIO.
    pub aio: Result<(), String>,
}

/// Tries each engine once.
#[must_use]
pub fn capabilities() -> Capabilities {
    Capabilities { io_uring: uring::available(), aio: aio::available() }
}

fn used(name: EngineName, reason: impl Into<String>) -> EngineUsed {
    EngineUsed { name, reason: reason.into(), options: Vec::new() }
}

/// Chooses the engine for `spec` on `volume`.
///
/// # Errors
/// When what was asked for cannot be had.
pub(crate) fn choose(
    volume: &Volume,
    spec: &LoadSpec,
    options: EngineOptions,
) -> Result<(Engine, EngineUsed), EngineError> {
    let refused =
        |engine, reason: String| EngineError::Unavailable { engine, volume: volume.facts.name.clone(), reason };
    if volume.facts.kind == TargetKind::Null {
        if let Some((mode, _)) = [("SQPOLL", options.sqpoll), ("IOPOLL", options.iopoll)].into_iter().find(|of| of.1) {
            return Err(refused(mode, "it is a mode of io_uring, and null answers without any engine".into()));
        }
        return Ok((Engine::Null, used(EngineName::Null, "the target is null")));
    }
    if volume.facts.kind == TargetKind::Nbd {
        let own = "an export of an NBD server is asked over a socket, whatever the engine";
        let modes = [("SQPOLL", options.sqpoll), ("IOPOLL", options.iopoll)];
        if let Some((mode, _)) = modes.into_iter().find(|of| of.1) {
            return Err(refused(mode, own.into()));
        }
        let engine = match options.engine {
            EngineChoice::Auto => {
                return Ok((Engine::Nbd, used(EngineName::Nbd, "the target is an export of an NBD server")));
            }
            EngineChoice::IoUring => "io_uring",
            EngineChoice::Aio => "Linux AIO",
            EngineChoice::Threads => "the threads engine",
        };
        return Err(refused(engine, own.into()));
    }
    let direct = volume.facts.direct && !spec.buffered;
    if options.sqpoll && !matches!(options.engine, EngineChoice::Auto | EngineChoice::IoUring) {
        return Err(refused("SQPOLL", "it is a mode of io_uring, and another engine was asked for".into()));
    }
    if options.iopoll {
        check_iopoll(volume, spec, direct).map_err(|reason| refused("IOPOLL", reason))?;
    }
    match options.engine {
        EngineChoice::IoUring => {
            uring::available().map_err(|reason| refused("io_uring", reason))?;
            Ok((Engine::Uring, used(EngineName::IoUring, "asked for")))
        }
        EngineChoice::Aio => {
            aio::available().map_err(|reason| refused("Linux AIO", reason))?;
            if !direct {
                let reason = "it is synchronous without direct I/O, so no depth above 1 would be reached".to_owned();
                return Err(refused("Linux AIO", reason));
            }
            Ok((Engine::Aio, used(EngineName::Aio, "asked for")))
        }
        EngineChoice::Threads => Ok((Engine::Threads, used(EngineName::Threads, "asked for"))),
        EngineChoice::Auto => {
            let wants_ring = options.sqpoll || options.iopoll;
            match uring::available() {
                Err(reason) if wants_ring => Err(refused("io_uring", reason)),
                Ok(()) if direct || wants_ring => Ok((
                    Engine::Uring,
                    used(EngineName::IoUring, "this machine allows it and the volume takes direct I/O"),
                )),
                Ok(()) if is_one_at_a_time(spec) => Ok((
                    Engine::Threads,
                    used(
                        EngineName::Threads,
                        "one request at a time through the page cache: a plain pread or pwrite does each with less ado than a \
                         ring, and io_uring hands writes to worker threads on most file systems",
                    ),
                )),
                Ok(()) if reads_without_waiting(volume) => Ok((
                    Engine::Uring,
                    used(
                        EngineName::IoUring,
                        "this machine allows it and the file system takes requests without waiting",
                    ),
                )),
                Ok(()) => Ok((
                    Engine::Threads,
                    used(
                        EngineName::Threads,
                        "without direct I/O this file system cannot take a request without waiting; io_uring would hand \
                         each one to a worker thread, far slower than pread",
                    ),
                )),
                Err(reason) if direct && aio::available().is_ok() => {
                    Ok((Engine::Aio, used(EngineName::Aio, format!("io_uring: {reason}"))))
                }
                Err(reason) => Ok((
                    Engine::Threads,
                    used(
                        EngineName::Threads,
                        format!("io_uring: {reason}; Linux AIO: not available, or no direct I/O"),
                    ),
                )),
            }
        }
    }
}

/// Whether each load thread waits for one request before the next.
const fn is_one_at_a_time(spec: &LoadSpec) -> bool {
    matches!(spec.arrival, Arrival::Closed { queue_depth: 1, .. })
}

fn check_iopoll(volume: &Volume, spec: &LoadSpec, direct: bool) -> Result<(), String> {
    if !direct {
        return Err("completions can be polled for with direct I/O only".into());
    }
    if spec.flush.is_some_and(|f| f.how == FlushMethod::Fdatasync) || spec.trims.as_ppm() > 0 {
        return Err("a polled ring takes reads and writes only, no flushes and no trims".into());
    }
    match volume.facts.devices.iter().find(|device| device.polled != Some(true)) {
        Some(device) => Err(format!(
            "{} has no queues to poll (queue/io_poll is 0; NVMe needs nvme.poll_queues above 0)",
            device.name
        )),
        None if volume.facts.devices.is_empty() => Err("the device below could not be found".into()),
        None => Ok(()),
    }
}

/// Whether the volume's file system takes a read that must not wait (`RWF_NOWAIT`): what `io_uring` tries first.
fn reads_without_waiting(volume: &Volume) -> bool {
    let Some(file) = volume.files.first() else { return true };
    let mut byte = [0u8; 1];
    let vector = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    // SAFETY: one vector of one byte that lives through the call.
    let result = unsafe { libc::preadv2(file.as_raw_fd(), &raw const vector, 1, 0, libc::RWF_NOWAIT) };
    // EAGAIN (not cached) and EINVAL (direct I/O wants alignment) come after the flag was accepted.
    result >= 0 || std::io::Error::last_os_error().raw_os_error() != Some(libc::EOPNOTSUPP)
}
