//! Volumes as block devices of this machine: requests that the kernel sends here (ublk), or files of a folder (FUSE) for the kernel to make
//! block devices of (loop).
//!
//! The kernel hands requests to whichever thread of the mount asks first, or to that of the queue. From there on they go the way of an NBD
//! client's: contents at once, the model under the real clock, the answer when it is due.

mod attached_device;
mod block_device;
mod links;
mod message;
mod mount;
mod mounted;
mod served;
mod ublk_device;

use crate::answer::{Answer, Body};
use crate::export::Export;
use crate::meter::Delivered;
use crate::serving::Serving;
pub use attached_device::{AttachedDevice, AttachedDeviceMaking};
pub use block_device::{BlockDevice, BlockDeviceError, BlockDeviceMaking};
pub use links::Links;
use loadline_nbd::NbdError;
pub use message::ATTACHED_IN_FLIGHT_MAX;
pub(crate) use mount::Mount;
pub use mount::{AttachError, Released, detach};
pub(crate) use mounted::MountedFile;
pub(crate) use served::ServedDevice;
pub use ublk_device::{UblkDevice, ublk_is_here};

/// Has the kernel answered by `give` what it asked of `export` during `boot`, and leaves `answers` empty: of an earlier boot nothing is
/// left but errors. The boot does not end meanwhile.
fn deliver(export: &Export, serving: &Serving, boot: u64, answers: &mut Vec<Answer>, mut give: impl FnMut(&Answer)) {
    let now = serving.boot();
    for answer in answers.iter_mut() {
        if *now != boot {
            answer.body = Body::Error { error: NbdError::Io, read: false };
        }
        export.settle(answer);
        give(answer);
    }
    drop(now);
    export.meter.count(serving.driver.clock.now(), answers.iter().map(Delivered::of));
    answers.clear();
}
