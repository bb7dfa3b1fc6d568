//! The sections by name.

/// A section of the benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    Rate,
    Null,
    Start,
    Open,
    Stall,
    Agree,
    Throttle,
    Exports,
    Simulate,
    Emulate,
    Attached,
    Truth,
    Busy,
    Growth,
}

impl Section {
    pub(crate) const ALL: &[Self] = &[
        Self::Rate,
        Self::Null,
        Self::Start,
        Self::Open,
        Self::Stall,
        Self::Agree,
        Self::Throttle,
        Self::Exports,
        Self::Simulate,
        Self::Emulate,
        Self::Attached,
        Self::Truth,
        Self::Busy,
        Self::Growth,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Null => "null",
            Self::Start => "start",
            Self::Open => "open",
            Self::Stall => "stall",
            Self::Agree => "agree",
            Self::Throttle => "throttle",
            Self::Exports => "exports",
            Self::Simulate => "simulate",
            Self::Emulate => "emulate",
            Self::Attached => "attached",
            Self::Truth => "truth",
            Self::Busy => "busy",
            Self::Growth => "growth",
        }
    }
    /// Whether it has a peer to be compared with.
    pub(crate) fn has_peer(self) -> bool {
        !matches!(self, Self::Simulate | Self::Growth)
    }
}
