//! What each section of the comparison does, a file for each.

mod agree;
mod attached;
mod busy;
mod emulate;
mod exports;
mod growth;
mod null;
mod open;
mod rate;
pub(crate) mod simulate;
mod stall;
mod start;
mod throttle;
mod truth;

use crate::bench::Bench;
use crate::section::Section;
use crate::stage;
use anyhow::Result;

impl Section {
    /// Why it cannot run here, if it cannot.
    pub(crate) fn obstacle(self) -> Option<String> {
        match self {
            Self::Null | Self::Open | Self::Simulate | Self::Truth | Self::Busy | Self::Growth => None,
            Self::Rate | Self::Start | Self::Stall | Self::Agree => stage::obstacle(),
            Self::Emulate | Self::Exports => emulate::obstacle(),
            Self::Attached => stage::obstacle().or_else(attached::obstacle),
            Self::Throttle => stage::obstacle().or_else(stage::Throttle::obstacle),
        }
    }
    pub(crate) fn run(self, bench: &mut Bench) -> Result<()> {
        match self {
            Self::Rate => rate::run(bench),
            Self::Null => null::run(bench),
            Self::Start => start::run(bench),
            Self::Open => open::run(bench),
            Self::Stall => stall::run(bench),
            Self::Agree => agree::run(bench),
            Self::Throttle => throttle::run(bench),
            Self::Exports => exports::run(bench),
            Self::Simulate => simulate::run(bench),
            Self::Emulate => emulate::run(bench),
            Self::Attached => attached::run(bench),
            Self::Truth => truth::run(bench),
            Self::Busy => busy::run(bench),
            Self::Growth => growth::run(bench),
        }
    }
}
