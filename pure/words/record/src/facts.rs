//! What was known of the machine, the volumes and their devices when the run began. A missing fact is `None`, never 0.

use loadline_units::Bytes;
use loadline_verdict::{CpuQuota, KernelThrottle, ShortQueue};
use serde::{Deserialize, Serialize};

/// File systems whose files are memory: nothing to bypass, nothing below.
pub const MEMORY_FILE_SYSTEMS: [&str; 5] = ["tmpfs", "ramfs", "devtmpfs", "hugetlbfs", "rootfs"];
/// Requests that the kernel's queue of a device holds where nobody sets another number. A queue of fewer than half is a short one.
const QUEUE_USUAL: u64 = 128;

/// The machine that ran the tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HostFacts {
    /// The machine's own name.
    pub hostname: Option<String>,
    /// Kernel release.
    pub kernel: Option<String>,
    /// Distribution.
    pub os: Option<String>,
    /// CPU model name.
    pub cpu_model: Option<String>,
    /// CPUs that this process may run on, whatever quota limits its time on them.
    pub cpus: Option<u32>,
    /// Main memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Hypervisor or cloud, as the firmware names it.
    pub virtualization: Option<String>,
    /// The kernel's clock source.
    pub clock_source: Option<String>,
    /// The kernel's id of its boot: processes with the same one share a wall clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// CPU quotas of the control groups that the process was in, the tightest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpu_quotas: Vec<CpuQuota>,
}

/// A disk that hardware or a hypervisor gives this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RealDisk {
    /// The kernel's name.
    pub name: String,
    /// Its size.
    pub size: Bytes,
    /// Folders whose files lie on it, the shortest first; none where nothing of it is mounted here.
    pub folders: Vec<String>,
}

/// What kind of thing is measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TargetKind {
    /// Nothing at all: measures the tool.
    #[default]
    Null,
    /// A test file that the tool made in a directory and removes.
    TestFile,
    /// A file that was there before.
    File,
    /// A block device.
    BlockDevice,
    /// An export of an NBD server.
    Nbd,
    /// A volume of an environment: nothing real, a model of it.
    Modelled,
}

/// One volume of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct VolumeFacts {
    /// The name in the plan or the environment.
    pub name: String,
    /// The target as the user wrote it, from the root on where it is a path.
    pub target: String,
    /// What kind of target.
    pub kind: TargetKind,
    /// The path after symbolic links were resolved.
    pub path: Option<String>,
    /// Bytes available to the load; `None` where another tool measured it and did not say.
    pub size_bytes: Option<u64>,
    /// How that size was chosen, in words.
    pub size_reason: String,
    /// Whether the page cache is bypassed.
    pub direct: bool,
    /// Why not, where it is not.
    pub direct_reason: Option<String>,
    /// Where a file lies.
    pub file_system: Option<FileSystemFacts>,
    /// The block devices below, as far as they could be found.
    pub devices: Vec<DeviceFacts>,
    /// What of the file is really stored, before the load began.
    pub extents: Option<Extents>,
}

impl VolumeFacts {
    /// Where it is: its target, but its path where that says nothing to who was not there, as "." does, which runs of earlier versions
    /// have.
    #[must_use]
    pub fn place(&self) -> &str {
        let path = self.path.as_deref().filter(|path| path.starts_with('/') && !self.target.starts_with('/'));
        path.unwrap_or(&self.target)
    }
}

/// A mounted file system.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FileSystemFacts {
    /// Its type: ext4, xfs, btrfs, tmpfs, ...
    pub kind: String,
    /// What is mounted.
    pub source: String,
    /// Where.
    pub mount_point: String,
    /// With which options.
    pub options: String,
    /// Free bytes before the run.
    pub free_bytes: Option<u64>,
    /// Of one that shows the files of another (overlay): the type of the other, as far as it can be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beneath: Option<String>,
}

impl FileSystemFacts {
    /// The type of the file system, its own or that beneath it, that has its files in memory.
    #[must_use]
    pub fn in_memory(&self) -> Option<&str> {
        let kinds = [Some(self.kind.as_str()), self.beneath.as_deref()];
        kinds.into_iter().flatten().find(|kind| MEMORY_FILE_SYSTEMS.contains(kind))
    }
}

/// A block device as the kernel describes it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceFacts {
    /// The kernel's name: vda, nvme0n1, loop3.
    pub name: String,
    /// "major:minor".
    pub number: Option<String>,
    /// Model string.
    pub model: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// Whether the kernel takes it for a spinning disk.
    pub rotational: Option<bool>,
    /// The active I/O scheduler.
    pub scheduler: Option<String>,
    /// Requests that the queue holds.
    pub queue_requests: Option<u64>,
    /// The largest request that reaches the device, in bytes; larger ones are split.
    pub request_bytes_max: Option<u64>,
    /// The most pieces of memory, each without a gap, that one request may have; one of more is split.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_segments_max: Option<u64>,
    /// Logical block size in bytes.
    pub logical_block_bytes: Option<u64>,
    /// Physical block size in bytes.
    pub physical_block_bytes: Option<u64>,
    /// "write back" or "write through".
    pub write_cache: Option<String>,
    /// Size in bytes.
    pub size_bytes: Option<u64>,
    /// The file behind a loop device.
    pub backing_file: Option<String>,
    /// The type of the file system in which that file lies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backing_file_system: Option<String>,
    /// Whether that file is read and written past the page cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backing_direct: Option<bool>,
    /// Whether the device takes polled I/O.
    pub polled: Option<bool>,
    /// Requests that the device's own queue takes: `queue_requests` can be raised so far, with a scheduler farther.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_requests_hardware: Option<u64>,
    /// Queues of the device, each of which holds `queue_requests`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queues: Option<u64>,
    /// The folder with the settings of its queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_folder: Option<String>,
    /// The largest request that the hardware takes, in bytes: `request_bytes_max` can be raised so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_bytes_hardware: Option<u64>,
    /// Writes from the page cache are held back while reads take longer than this, us; 0 is never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writeback_latency_us: Option<u64>,
    /// Rate limits that the kernel puts on this process's requests to it; of a partition, those on its disk.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub throttles: Vec<KernelThrottle>,
}

impl DeviceFacts {
    /// Whether the device takes more requests at once than the kernel's queue of it holds.
    #[must_use]
    pub fn takes_more_than_its_queue(&self) -> bool {
        let is_more = self.queue_requests_hardware.zip(self.queue_requests).map(|(hardware, held)| hardware > held);
        is_more.unwrap_or_else(|| self.has_scheduler())
    }
    /// Whether a scheduler keeps requests before the device.
    #[must_use]
    pub fn has_scheduler(&self) -> bool {
        self.scheduler.as_deref().is_some_and(|scheduler| scheduler != "none")
    }
    /// Its queue, if it was set to hold few requests though the device takes more.
    #[must_use]
    pub fn short_queue(&self) -> Option<ShortQueue> {
        let (requests, folder) = (self.queue_requests?, self.queue_folder.as_ref()?);
        let queues = self.queues.unwrap_or(1).max(1);
        let is_short = requests * queues < QUEUE_USUAL / 2 && self.takes_more_than_its_queue();
        let most = self.queue_requests_hardware.filter(|_| !self.has_scheduler()).unwrap_or(QUEUE_USUAL);
        is_short.then(|| ShortQueue {
            device: self.name.clone(),
            requests,
            queues,
            file: format!("{folder}/nr_requests"),
            lifted_by: QUEUE_USUAL.min(most).to_string(),
        })
    }
}

/// What of a file is stored, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extents {
    /// Written extents.
    pub written_bytes: u64,
    /// Allocated, never written.
    pub unwritten_bytes: u64,
    /// Not allocated.
    pub hole_bytes: u64,
    /// Compressed or otherwise encoded.
    pub encoded_bytes: u64,
    /// Shared with other files.
    pub shared_bytes: u64,
    /// Number of extents.
    pub count: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_short_if_it_was_set_so_and_the_device_takes_more() {
        let of = |requests, hardware, scheduler: &str| {
            let device = DeviceFacts {
                name: "vda".into(),
                queue_requests: Some(requests),
                queue_requests_hardware: hardware,
                queue_folder: Some("/sys/block/vda/queue".into()),
                scheduler: Some(scheduler.into()),
                ..DeviceFacts::default()
            };
            device.short_queue().map(|queue| queue.lifting_command())
        };
        let to = |requests: u64| Some(format!("echo {requests} | sudo tee /sys/block/vda/queue/nr_requests"));
        assert_eq!(of(4, Some(32), "none"), to(32));
        assert_eq!(of(4, Some(32), "mq-deadline"), to(128));
        assert_eq!(of(4, Some(4), "mq-deadline"), None, "the device has no more room");
        assert_eq!(of(4, None, "none"), None, "it is not known whether it has");
        assert_eq!(of(128, Some(1_024), "none"), None, "it is the usual one");
    }
}
