//! What the firmware says of who made the machine.

use super::devices::read_trimmed;
use std::path::Path;

/// The firmware's names (DMI); empty where there are none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Firmware {
    /// Who made the system.
    pub system_vendor: String,
    /// What the system is.
    pub product: String,
    /// The chassis's number in an inventory; clouds put a constant there.
    pub asset_tag: String,
    /// Version of the firmware.
    pub bios_version: String,
}

/// The names of this machine's firmware: four small files of the kernel, readable for anybody.
#[must_use]
pub fn firmware() -> Firmware {
    let read = |name: &str| read_trimmed(&Path::new("/sys/class/dmi/id").join(name)).unwrap_or_default();
    Firmware {
        system_vendor: read("sys_vendor"),
        product: read("product_name"),
        asset_tag: read("chassis_asset_tag"),
        bios_version: read("bios_version"),
    }
}
