//! What only Linux has, as types without a value.

use crate::RunFrames;
use loadline_analysis::LiveFrame;
use std::fmt;

/// Types without a value, each with what it says on Linux.
macro_rules! absent {
    ($($name:ident: $what:literal),+) => {$(
        #[doc = $what]
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum $name {}

        impl fmt::Display for $name {
            fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
                match *self {}
            }
        }

        impl std::error::Error for $name {}
    )+};
}

absent!(
    AttachEvent: "What happens to attached volumes. None here.",
    EmulationEvent: "What happens in an emulation. None here.",
    EmulationError: "Why an emulation cannot begin. None here.",
    EngineError: "What keeps a trial from running. None here.",
    EngineProgress: "How far a trial on a device has come. None here.",
    MetadataError: "Why a cloud's metadata service does not answer. None here.",
    Refused: "A client that an emulation refused. None here.",
    Remedy: "What would let a refused request pass. None here.",
    TargetError: "Why a target may not or cannot be used. None here.",
    TraceFsError: "Why the kernel's events cannot be had. None here.",
    View: "What an emulation is doing. None here."
);

impl TraceFsError {
    pub(crate) const fn is_denied(&self) -> bool {
        match *self {}
    }
}

impl RunFrames {
    pub(crate) fn emulated(&mut self, view: &View) -> LiveFrame {
        match *view {}
    }

    pub(crate) fn advanced(&mut self, progress: &EngineProgress) -> LiveFrame {
        match *progress {}
    }
}
