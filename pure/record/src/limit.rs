//! The limits that bind loads, by name, and what is known of one for a load.

use serde::{Deserialize, Serialize};

/// The limits by name (`docs/how-limits-are-named.md`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// The disk's requests per second.
    DiskIops,
    /// The disk's bytes per second.
    DiskThroughput,
    /// The VM's uncached requests per second.
    VmUncachedIops,
    /// The VM's uncached bytes per second.
    VmUncachedThroughput,
    /// The VM's cached requests per second.
    VmCachedIops,
    /// The VM's cached bytes per second.
    VmCachedThroughput,
    /// A burst allowance ran out.
    BurstExhausted,
    /// A cache answered.
    Cache,
    /// Queue depth over latency (Little's law).
    Latency,
    /// The offered load was met: nothing bound it.
    Arrival,
    /// The machine's CPUs.
    Cpu,
    /// The tool itself.
    Generator,
    /// Something between the devices and the machine.
    Interface,
    /// The storage serves only so many requests at once.
    Parallelism,
    /// Writes that are made durable: each waits for its flush and for what the journal writes.
    Flush,
    /// Below every known ceiling.
    Unexplained,
}

impl Limit {
    /// Its name, as in the JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::DiskIops => "disk-iops",
            Self::DiskThroughput => "disk-throughput",
            Self::VmUncachedIops => "vm-uncached-iops",
            Self::VmUncachedThroughput => "vm-uncached-throughput",
            Self::VmCachedIops => "vm-cached-iops",
            Self::VmCachedThroughput => "vm-cached-throughput",
            Self::BurstExhausted => "burst-exhausted",
            Self::Cache => "cache",
            Self::Latency => "latency",
            Self::Arrival => "arrival",
            Self::Cpu => "cpu",
            Self::Generator => "generator",
            Self::Interface => "interface",
            Self::Parallelism => "parallelism",
            Self::Flush => "flush",
            Self::Unexplained => "unexplained",
        }
    }
}

/// What bound a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Binding {
    /// Its name.
    pub limit: Limit,
    /// Its value as requests per second of this load, where it has one.
    pub ceiling_iops: Option<f64>,
    /// Achieved over ceiling.
    pub utilization: Option<f64>,
    /// What was seen.
    pub evidence: String,
    /// Whether the limit was inferred from the data rather than declared.
    pub inferred: bool,
    /// Whether the rate was seen to be limited, and which limit it is was only presumed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub presumed: bool,
    /// Of a load that makes its writes durable: requests that the devices wrote for each one asked, the journal's among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amplification: Option<f64>,
}

impl Binding {
    /// A limit that is known, not inferred.
    #[must_use]
    pub const fn known(limit: Limit, ceiling_iops: Option<f64>, utilization: Option<f64>, evidence: String) -> Self {
        Self { limit, ceiling_iops, utilization, evidence, inferred: false, presumed: false, amplification: None }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// A limit put as requests per second for one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// Its name.
    pub limit: Limit,
    /// Requests per second of this load.
    pub iops: f64,
    /// Where the figure comes from.
    pub source: String,
}
