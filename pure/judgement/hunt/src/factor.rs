//! The properties of a load and its storage that are varied.

use serde::{Deserialize, Serialize};

/// A property of a load or its storage that is varied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Factor {
    /// Requests outstanding of each thread.
    Depth,
    /// Load threads.
    Threads,
    /// Test files.
    Files,
    /// Block size.
    Block,
    /// What offsets are multiples of.
    Alignment,
    /// Length of a stripe's pieces.
    Interleave,
    /// Disks side by side.
    Layout,
    /// The virtual machine's limits.
    Vm,
    /// The way to the device.
    Engine,
    /// Past the page cache or through it.
    Direct,
}

impl Factor {
    /// Every factor.
    pub const ALL: [Self; 10] = [
        Self::Depth,
        Self::Threads,
        Self::Files,
        Self::Block,
        Self::Alignment,
        Self::Interleave,
        Self::Layout,
        Self::Vm,
        Self::Engine,
        Self::Direct,
    ];
    /// Its name, as typed.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Depth => "depth",
            Self::Threads => "threads",
            Self::Files => "files",
            Self::Block => "block",
            Self::Alignment => "alignment",
            Self::Interleave => "interleave",
            Self::Layout => "layout",
            Self::Vm => "vm",
            Self::Engine => "engine",
            Self::Direct => "direct",
        }
    }
    /// The factor of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|factor| factor.name() == name)
    }
    /// Whether the setting changes how many bytes a request has, so that bytes and not requests per second are compared.
    #[must_use]
    pub const fn in_bytes(self) -> bool {
        matches!(self, Self::Block)
    }
}

/// A way to submit requests to a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoEngine {
    /// `io_uring`.
    IoUring,
    /// Linux AIO.
    Aio,
    /// A thread for each outstanding request.
    Threads,
}

impl IoEngine {
    /// Every engine.
    pub const ALL: [Self; 3] = [Self::IoUring, Self::Aio, Self::Threads];
    /// Its name, as typed.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::IoUring => "io_uring",
            Self::Aio => "aio",
            Self::Threads => "threads",
        }
    }
    /// The engine of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|engine| engine.name() == name)
    }
}
