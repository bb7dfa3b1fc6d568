//! Answers of the clouds' metadata services, in one form.

mod aws;
mod azure;
mod gcp;

pub use aws::aws;
pub use azure::azure;
pub use gcp::gcp;

use loadline_units::{ByteRate, Bytes, Iops};

/// A cloud whose machines are recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// Microsoft Azure.
    Azure,
    /// Amazon Web Services.
    Aws,
    /// Google Cloud.
    Gcp,
}

impl Provider {
    /// As people write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Azure => "Azure",
            Self::Aws => "AWS",
            Self::Gcp => "Google Cloud",
        }
    }
    /// As in names of the catalog.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Azure => "azure",
            Self::Aws => "aws",
            Self::Gcp => "gcp",
        }
    }
    /// The cloud of a machine by its firmware: the names of its system and product, its chassis's tag, and the firmware's
    /// version. `None`: none of those known here.
    #[must_use]
    pub fn of_firmware(system_vendor: &str, product: &str, asset_tag: &str, bios_version: &str) -> Option<Self> {
        // Hyper-V has the same vendor anywhere; only Azure's chassis have this tag.
        const AZURE_TAG: &str = "7783-7084-3265-9085-8269-3286-77";
        if system_vendor == "Amazon EC2" || (system_vendor == "Xen" && bios_version.contains("amazon")) {
            Some(Self::Aws)
        } else if product == "Google Compute Engine" {
            Some(Self::Gcp)
        } else if asset_tag == AZURE_TAG {
            Some(Self::Azure)
        } else {
            None
        }
    }
}

/// The facts of a metadata service about its machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloudAnswers {
    /// Which cloud.
    pub provider: Provider,
    /// The VM size in the cloud's own words.
    pub machine: String,
    /// Its disks, as far as they are known.
    pub disks: Vec<CloudDisk>,
}

/// The purpose of a disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// The system's.
    System,
    /// Data, at this logical unit.
    Unit(u32),
    /// Known by this name below /dev/disk/by-id, after the provider's prefix.
    Named(String),
    /// The volume of this id.
    Volume(String),
}

/// The facts about a disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloudDisk {
    /// Which it is.
    pub role: Role,
    /// Its family in the catalog's words, such as `premium`; `None` if unknown.
    pub family: Option<String>,
    /// Its type in the cloud's own words.
    pub told_as: String,
    /// Its size, if known.
    pub size: Option<Bytes>,
    /// Requests per second, if they are provisioned.
    pub iops: Option<Iops>,
    /// Bytes per second, if they are provisioned.
    pub throughput: Option<ByteRate>,
    /// How the host caches it.
    pub caching: DiskCaching,
}

/// How a host caches a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DiskCaching {
    /// Not at all, or there is no such thing.
    #[default]
    None,
    /// Reads.
    ReadOnly,
    /// Reads and writes.
    ReadWrite,
}

/// An answer that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// It is no JSON of the expected form.
    #[error("the answer of {provider}'s metadata service cannot be read ({reason}); write the environment by hand")]
    Form {
        /// The provider.
        provider: &'static str,
        /// serde's message.
        reason: serde_json::Error,
    },
    /// It does not name the machine's size.
    #[error("the answer of {provider}'s metadata service names no VM size; write the environment by hand")]
    NoMachine {
        /// The provider.
        provider: &'static str,
    },
}

fn read<'a, T: serde::Deserialize<'a>>(provider: Provider, answer: &'a str) -> Result<T, AnswerError> {
    serde_json::from_str(answer).map_err(|reason| AnswerError::Form { provider: provider.name(), reason })
}

/// A size in GiB; `None` for sizes that no disk has.
fn gib(count: u64) -> Option<Bytes> {
    const MOST: u64 = 1 << 24;
    (1..=MOST).contains(&count).then(|| Bytes::gib(count))
}

fn named(provider: Provider, machine: &str) -> Result<String, AnswerError> {
    let machine = machine.trim();
    if machine.is_empty() {
        return Err(AnswerError::NoMachine { provider: provider.name() });
    }
    Ok(machine.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_known_by_its_firmware() {
        let of = Provider::of_firmware;
        assert_eq!(of("Amazon EC2", "m5.large", "Amazon EC2", "1.0"), Some(Provider::Aws));
        assert_eq!(of("Xen", "HVM domU", "", "4.11.amazon"), Some(Provider::Aws));
        assert_eq!(of("Google", "Google Compute Engine", "", "Google"), Some(Provider::Gcp));
        let tag = "7783-7084-3265-9085-8269-3286-77";
        assert_eq!(of("Microsoft Corporation", "Virtual Machine", tag, "090008"), Some(Provider::Azure));
        assert_eq!(of("Microsoft Corporation", "Virtual Machine", "1234", "090008"), None, "Hyper-V elsewhere");
        assert_eq!(of("Xen", "HVM domU", "", "4.11"), None);
        assert_eq!(of("", "", "", ""), None);
    }
}
