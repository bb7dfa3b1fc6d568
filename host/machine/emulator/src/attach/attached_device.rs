//! A volume's block device, whichever way the kernel has it.

use super::block_device::{BlockDevice, BlockDeviceMaking};
use super::mount::AttachError;
use super::ublk_device::UblkDevice;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a device may take to be made where somebody waits for it.
const MAKE_MAX: Duration = Duration::from_secs(30);
/// Between two looks at whether it is.
const LOOK: Duration = Duration::from_millis(2);

/// A volume's block device. Dropped, it is taken down.
#[derive(Debug)]
pub enum AttachedDevice {
    /// Over a file.
    Loop(BlockDevice),
    /// By requests that the kernel sends here.
    Ublk(UblkDevice),
}

impl AttachedDevice {
    /// What programs use it by.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Loop(device) => device.path(),
            Self::Ublk(device) => device.path(),
        }
    }

    /// Whether a file system on it is mounted, or a program holds it; so it is too where the kernel does not tell in time.
    #[must_use]
    pub fn in_use(&self) -> bool {
        match self {
            Self::Loop(device) => device.in_use(),
            Self::Ublk(device) => device.in_use(),
        }
    }
}

/// A device that is being made.
#[derive(Debug)]
pub enum AttachedDeviceMaking {
    /// Over a file. Other programs' `losetup` waits for it.
    Loop(BlockDeviceMaking),
    /// By ublk, until it was given. Nobody else waits for it.
    Ublk(Option<UblkDevice>),
}

impl AttachedDeviceMaking {
    /// The device, once it is made; `None`: not yet, or it was given already.
    ///
    /// # Errors
    /// The system refuses.
    pub fn poll(&mut self) -> Result<Option<AttachedDevice>, AttachError> {
        match self {
            Self::Loop(making) => Ok(making.poll()?.map(AttachedDevice::Loop)),
            Self::Ublk(device) => {
                let made = device.as_mut().map_or(Ok(false), UblkDevice::poll)?;
                Ok(if made { device.take().map(AttachedDevice::Ublk) } else { None })
            }
        }
    }

    /// The device.
    ///
    /// # Errors
    /// The system refuses, or the storage does not answer in time.
    pub fn wait(mut self) -> Result<AttachedDevice, AttachError> {
        let begun_at = Instant::now();
        loop {
            if let Some(device) = self.poll()? {
                return Ok(device);
            }
            if begun_at.elapsed() > MAKE_MAX {
                return Err(AttachError::Slow { seconds: MAKE_MAX.as_secs() });
            }
            std::thread::sleep(LOOK);
        }
    }
}
