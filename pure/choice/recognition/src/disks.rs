//! Matches the machine's devices with the disks that its cloud reports.

use crate::answers::{CloudDisk, Role};
use loadline_record::DeviceFacts;
use loadline_units::Bytes;

/// A device of the machine.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Attached {
    /// The kernel's facts about it.
    pub facts: DeviceFacts,
    /// Its names below /dev/disk, such as `azure/scsi1/lun0`.
    pub links: Vec<String>,
    /// The number of an NVMe namespace in its controller.
    pub namespace: Option<u32>,
    /// The mount point of the device itself.
    pub mounted_at: Option<String>,
    /// Whether anything is built upon it or mounted from it.
    pub used: bool,
}

/// A volume on several devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The mount point.
    pub path: String,
    /// The kernel's names of its devices.
    pub devices: Vec<String>,
    /// Its layout over them; `None` if unknown.
    pub layout: Option<Layout>,
}

/// How a volume lies on its devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Striped, in pieces of this size.
    Striped(Bytes),
    /// The same on each.
    Mirrored,
}

/// The controller of Azure's remote disks by NVMe; the namespaces of data disks begin at 2.
const AZURE_REMOTE: &str = "MSFT NVMe Accelerator";
/// Controllers of disks in the host, in part of their model.
const LOCAL: [&str; 3] = ["Amazon EC2 NVMe Instance Storage", "Microsoft NVMe Direct Disk", "nvme_card_lssd"];
/// Of EBS volumes.
const EBS: &str = "Amazon Elastic Block Store";

impl Attached {
    fn model(&self) -> &str {
        self.facts.model.as_deref().unwrap_or_default().trim()
    }
    fn has_link(&self, link: &str) -> bool {
        self.links.iter().any(|own| own == link)
    }
    /// Whether it comes by the NVMe controller of Azure's remote disks.
    pub(crate) fn is_azure_nvme(&self) -> bool {
        self.model().starts_with(AZURE_REMOTE)
    }
    /// Whether it lies in the host rather than in the network.
    pub(crate) fn is_local(&self) -> bool {
        LOCAL.iter().any(|model| self.model().starts_with(model)) || self.has_link("azure/resource")
    }
    /// The id of the EBS volume that it is: the serial is the id without its dash.
    pub(crate) fn ebs_volume(&self) -> Option<String> {
        let digits = self.facts.serial.as_deref()?.trim().strip_prefix("vol")?;
        let is_volume = self.model() == EBS && !digits.is_empty();
        is_volume.then(|| format!("vol-{}", digits.trim_start_matches('-')))
    }
    /// Whether the system lies on it.
    pub(crate) fn is_system(&self) -> bool {
        self.mounted_at.as_deref() == Some("/") || self.has_link("azure/root") || self.has_link("azure/os")
    }
    /// Whether it is the reported disk.
    pub(crate) fn is(&self, told: &CloudDisk) -> bool {
        match &told.role {
            Role::System => self.is_system() || (self.is_azure_nvme() && self.namespace == Some(1)),
            Role::Unit(unit) => {
                self.has_link(&format!("azure/scsi1/lun{unit}"))
                    || self.has_link(&format!("azure/data/by-lun/{unit}"))
                    || (self.is_azure_nvme() && self.namespace == unit.checked_add(2))
            }
            Role::Named(name) => {
                self.has_link(&format!("by-id/google-{name}")) || self.facts.serial.as_deref() == Some(name.as_str())
            }
            Role::Volume(id) => self.ebs_volume().as_deref() == Some(id.as_str()),
        }
    }
}
