//! Why nothing is watched or recorded.

use crate::TraceFsError;
use loadline_emulation::TraceError;
use loadline_recording::event::FormatError;
use loadline_recording::formats::ImportTraceError;
use loadline_recording::page::PageError;
use std::path::PathBuf;

/// Something that cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// Nothing is there by that name.
    #[error(
        "{typed} is no device, no path, no number of a process and no program that runs: {source}. Name a folder on that storage, \
         as in `loadline watch /mnt/data`, a device, as in `loadline watch /dev/sda`, or a program while it runs"
    )]
    NoTarget {
        /// As typed.
        typed: String,
        /// Why not.
        source: std::io::Error,
    },
    /// Several processes run that program, each by itself.
    #[error("{} processes run {name}: give the number of one: {}", .pids.len(), .pids.iter().map(u32::to_string).collect::<Vec<_>>().join(", "))]
    SeveralProcesses {
        /// The program.
        name: String,
        /// Their ids.
        pids: Vec<u32>,
    },
    /// Nothing happens in no time.
    #[error("0 s shows nothing: watch for 10 s or longer, or without a time until Ctrl-C")]
    NoTime,
    /// Hours are the least that a recorder keeps.
    #[error("a recorder keeps hours: an hour is the least")]
    KeptTooShort,
    /// The store of a recorder lies on the disk that it watches.
    #[error("the store {} lies on the disk of {device}: each part that is written would be seen there", .store.display())]
    OwnStore {
        /// The device that was to be watched.
        device: String,
        /// The store.
        store: PathBuf,
    },
    /// A device has a recorder.
    #[error(
        "{device} is recorded into this store already{}: stop that one first",
        .pid.map_or_else(String::new, |pid| format!(" by process {pid}"))
    )]
    RecorderRuns {
        /// The device.
        device: String,
        /// The process, where it is known.
        pid: Option<u32>,
    },
    /// Only a watch has a course over time.
    #[error("run {run} is no watch, and times are of what was watched")]
    NotWatched {
        /// The run.
        run: String,
    },
    /// No watch is stored of that time.
    #[error("nothing that is stored was watched then (times are in UTC){}", watched_words(.watched.as_ref()))]
    NothingThen {
        /// The first and the last moment that were.
        watched: Option<(String, String)>,
    },
    /// A time that ends before it begins.
    #[error("the time ends before it begins")]
    EndsBefore,
    /// There is no such process.
    #[error("there is no process {pid}")]
    NoProcess {
        /// Its id.
        pid: u32,
    },
    /// This user may not see which files a process has open.
    #[error(
        "cannot look into {}: {source}. Which devices {name} ({pid}) uses is shown to its own user and to root: run this as root, or name \
         the device or a path on it",
        .folder.display()
    )]
    DeniedProcess {
        /// Its id.
        pid: u32,
        /// Its name.
        name: String,
        /// Where its open files are listed.
        folder: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// No block device lies below.
    #[error("below {typed} lies no block device whose requests the kernel counts")]
    NoDevice {
        /// As typed.
        typed: String,
    },
    /// Events of several devices are not followed at once.
    #[error("the kernel's events are followed of one device at a time: name one of {}", .devices.join(", "))]
    EventsOfSeveral {
        /// The devices.
        devices: Vec<String>,
    },
    /// An environment of several volumes does not say where they are.
    #[error("no volume of environment {environment} lies on {}: give its volumes a path", .devices.join(", "))]
    NotDeclared {
        /// Its name.
        environment: String,
        /// The devices.
        devices: Vec<String>,
    },
    /// The kernel was told not to count.
    #[error("the kernel does not count the requests of {device}: write 1 into /sys/class/block/{device}/queue/iostats")]
    NotCounted {
        /// The device.
        device: String,
    },
}

fn watched_words(watched: Option<&(String, String)>) -> String {
    watched.map_or_else(String::new, |(first, last)| format!("; watched is from {first} to {last}"))
}

/// Something that cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// A trace has the requests of one device.
    #[error("{typed} uses {} devices, and a trace has the requests of one: name one of {}", .devices.len(), .devices.join(", "))]
    SeveralDevices {
        /// As typed.
        typed: String,
        /// The devices.
        devices: Vec<String>,
    },
    /// Nothing happens in no time.
    #[error("0 s shows nothing: record for 10 s or longer, or without a time until Ctrl-C")]
    NoTime,
    /// The trace is there already.
    #[error("{file} exists; a trace replaces nothing")]
    Exists {
        /// The trace.
        file: PathBuf,
    },
    /// A trace cannot be opened.
    #[error("cannot open the trace {file}: {source}")]
    Open {
        /// The trace.
        file: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A trace of ours cannot be read.
    #[error("{file}: {source}")]
    Trace {
        /// The trace.
        file: PathBuf,
        /// Why not.
        source: TraceError,
    },
    /// A trace of another tool cannot be read.
    #[error("{file}: {source}")]
    Import {
        /// The trace.
        file: PathBuf,
        /// Why not.
        source: ImportTraceError,
    },
    /// The trace would be written to the device.
    #[error("{file} lies on {device}: writing it would be recorded, and written again")]
    Feedback {
        /// The trace.
        file: PathBuf,
        /// The device.
        device: String,
    },
    /// The trace cannot be written.
    #[error("cannot write {file}: {source}")]
    Write {
        /// The trace.
        file: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// This user may not have the kernel's events.
    #[error(
        "reading the kernel's block events takes root: run this as root, outside of containers without that right ({0})"
    )]
    EventsDenied(#[source] TraceFsError),
    /// The kernel's events cannot be had.
    #[error("the kernel's block events cannot be had (that takes a kernel with tracefs): {0}")]
    Events(#[source] TraceFsError),
    /// The kernel has no such event.
    #[error("the kernel has no event {event}")]
    NoEvent {
        /// Its name.
        event: String,
    },
    /// The description of an event lacks something.
    #[error("{event}: {source}")]
    Format {
        /// Its name.
        event: String,
        /// What is missing.
        source: FormatError,
    },
    /// A buffer cannot be read.
    #[error("cannot read the kernel's events: {0}")]
    Read(#[source] std::io::Error),
    /// A buffer makes no sense.
    #[error(transparent)]
    Page(PageError),
}

impl From<TraceFsError> for RecordError {
    fn from(error: TraceFsError) -> Self {
        if error.is_denied() { Self::EventsDenied(error) } else { Self::Events(error) }
    }
}
