//! Volumes as block devices of this machine: requests that the kernel sends here (ublk), or files of a folder (FUSE) for the kernel to make
//! block devices of (loop).
//!
//! The kernel hands requests to whichever thread of the mount asks first, or to that of the queue. From there on they go the way of an NBD
//! client's: contents at once, the model under the real clock, the answer when it is due.

mod attached_device;
mod block_device;
mod delivery;
mod links;
mod message;
mod mount;
mod mounted_file;
mod ublk_device;
mod ublk_target;

pub use attached_device::{AttachedDevice, AttachedDeviceMaking};
pub use block_device::{BlockDevice, BlockDeviceError, BlockDeviceMaking};
pub use links::Links;
pub use message::ATTACHED_IN_FLIGHT_MAX;
pub(crate) use mount::FolderMount;
pub use mount::{AttachError, Released, detach};
pub use ublk_device::{UblkDevice, ublk_is_here};
