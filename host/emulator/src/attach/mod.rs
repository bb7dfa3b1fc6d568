//! Volumes as files of a folder (FUSE), for the kernel to make block devices of (loop), and these block devices.
//!
//! The kernel hands requests to whichever thread of the mount asks first. From there on they go the way of an NBD client's:
//! contents at once, the model under the real clock, the answer when it is due.

mod block_device;
mod message;
mod mount;
mod mounted;

pub use block_device::{BlockDevice, BlockDeviceError, BlockDeviceMaking};
pub use message::ATTACHED_IN_FLIGHT_MAX;
pub(crate) use mount::Mount;
pub use mount::{AttachError, Released, detach};
pub(crate) use mounted::MountedFile;
