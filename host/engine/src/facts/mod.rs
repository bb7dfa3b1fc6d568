//! What is known of the machine, its devices, its file systems and its page cache. A fact that cannot be had is missing.

mod attached;
pub(crate) mod devices;
mod extents;
mod file_system;
mod firmware;
pub(crate) mod groups;
mod host;
pub(crate) mod mounts;
mod page_cache;
mod waking;

pub use attached::{AttachedDisk, Spread, SpreadVolume, attached};
pub use extents::extents;
pub(crate) use file_system::{PSEUDO_FILE_SYSTEMS, Storage, btrfs_groups};
pub use firmware::{Firmware, firmware};
pub(crate) use host::clock_source;
pub use host::{host, memory_available, memory_unwritten};
pub(crate) use page_cache::drop_machine_caches;
pub use page_cache::{CacheScope, cached_share, drop_caches};
pub use waking::{Waking, waking};
