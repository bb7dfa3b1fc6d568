//! The limits that bind loads, by name.

use serde::{Deserialize, Serialize};

/// The limits by name (`docs/limits.md`).
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
    /// The page cache has too little memory: what was read is read again.
    Memory,
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
            Self::Memory => "memory",
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
