//! Facts of the machine: its disks, mounts, file systems, page cache, memory, firmware. A fact that cannot be had is missing.
//!
//! Start with [`attached`] for the disks that hardware or a hypervisor gives this machine, [`mounts()`] for what is mounted,
//! [`Storage`] for the devices below a path, and [`in_use`] for what a device or file already serves.

mod attached;
mod control_groups;
mod cpu_quotas;
mod devices;
mod extents;
mod file_system;
mod firmware;
mod host;
pub mod in_use;
mod memory_limits;
mod mounts;
mod overlap;
mod page_cache;
mod places;
mod real_disks;
mod swap;
mod throttles;
mod wake_latency;

pub use attached::{AttachedDisk, Spread, SpreadVolume, attached};
pub use control_groups::{control_groups, control_groups_of, every_group, memory_left};
pub use cpu_quotas::{cpu_quota, cpu_quotas};
#[cfg(test)]
pub(crate) use devices::fake;
pub use devices::{BlockDevice, DeviceNumber, KernelView};
pub use extents::extents;
pub use file_system::{PSEUDO_FILE_SYSTEMS, Storage, btrfs_groups, mounted_on};
pub use firmware::{Firmware, firmware};
pub use host::{clock_source, host, memory_available, memory_unwritten};
pub use memory_limits::memory_limit;
pub use mounts::{Mount, mount_of, mounts};
pub use overlap::overlap;
pub use page_cache::{CacheScope, cached_share, drop_caches, drop_machine_caches};
pub use places::Places;
pub use real_disks::real_disks;
pub use swap::{swap_devices, swapped_bytes};
pub use throttles::throttles_of_every_group;
pub use wake_latency::{WakeLatency, wake_latency};
