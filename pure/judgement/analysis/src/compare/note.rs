//! Something that differs between two sides and is no figure.

use serde::{Deserialize, Serialize};

/// What differs, or what else there is to know of two sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Note {
    /// Loads were measured once: a trial does not show how much trials differ.
    OneTrial {
        /// Whether all loads were.
        all_loads: bool,
    },
    /// A side is compared with itself.
    SameRun,
    /// One was measured, the other was not.
    Clock(Differing<String>),
    /// Tools that measured.
    Tool(Differing<String>),
    /// What was measured.
    Target(Differing<String>),
    /// What the load spreads over.
    VolumeSize(DifferingBytes),
    /// Whether requests pass the page cache.
    PageCache(Differing<bool>),
    /// Kinds of file systems.
    FileSystem(Differing<String>),
    /// Models of the devices.
    Device(Differing<Vec<DeviceModel>>),
    /// Names of the machines.
    Machine(Differing<String>),
    /// Models of their CPUs.
    CpuModel(Differing<String>),
    /// How many CPUs they have.
    Cpus(Differing<u32>),
    /// Their memory.
    Memory(DifferingBytes),
    /// Hypervisors.
    Virtualization(Differing<String>),
    /// Versions of the kernel.
    Kernel(Differing<String>),
    /// Engines that were used.
    Engine(Differing<Vec<EngineWithOptions>>),
    /// Versions of the tool.
    Version(Differing<String>),
    /// The plans are not the same text.
    Plan,
    /// Names of environments; the same where only their texts differ.
    Environment(Differing<Option<String>>),
    /// A run is not finished.
    Incomplete {
        /// Whose run.
        whose: Whose,
        /// Whether it is an emulation, which goes on until it is ended.
        emulated: bool,
    },
    /// Intervals are not about what models are uncertain about.
    Draws,
    /// What applications asked for.
    Asked(AskedApart),
    /// Nothing of a side has a price.
    Price {
        /// Whose price.
        whose: Whose,
        /// Why, each reason once.
        reasons: Vec<Unpriced>,
    },
}

/// A property of both sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Differing<T> {
    /// The volume, where several are compared.
    #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
    pub volume: Option<String>,
    /// The baseline's.
    pub baseline: T,
    /// The other's.
    pub other: T,
}

/// A size on both sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DifferingBytes {
    /// The volume, where several are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<String>,
    /// The baseline's.
    pub baseline_bytes: u64,
    /// The other's.
    pub other_bytes: u64,
}

/// Devices of one model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceModel {
    /// The model.
    pub model: String,
    /// How many there are.
    pub count: usize,
}

/// A way to the device.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct EngineWithOptions {
    /// Its name.
    pub engine: String,
    /// Its options.
    pub options: Vec<String>,
}

/// One of two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Whose {
    /// The baseline's.
    Baseline,
    /// The other's.
    Other,
}

/// What two applications asked for; what they asked alike is missing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AskedApart {
    /// The volume, where several are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<String>,
    /// Shares of reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_share: Option<[f64; 2]>,
    /// Mean sizes of requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_bytes: Option<[f64; 2]>,
    /// Flushes for each write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flushes_per_write: Option<[f64; 2]>,
    /// Requests in flight on average.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<[f64; 2]>,
}

impl AskedApart {
    /// Whether both asked for the same.
    #[must_use]
    pub fn is_alike(&self) -> bool {
        *self == Self { volume: self.volume.clone(), ..Self::default() }
    }
}

/// Why something has no price.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Unpriced {
    /// It is described in full, and is not for sale.
    NotSold,
    /// The catalog has none.
    NotInCatalog {
        /// What the catalog says.
        error: String,
    },
}
