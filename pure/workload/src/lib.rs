//! Loads as data, and the generator that turns one into requests: which request, when.

mod generator;
mod spec;

pub use generator::{LoadGenerator, Next, Region, RegionTooSmall};
pub use spec::{
    Arrival, BLOCK_MAX, BlockShare, Content, Distribution, FILES_MAX, Fill, FlushCadence, FlushMethod, LatencyFigure,
    LoadSpec, Objective, Pattern, QUEUE_DEPTH_MAX, SECTOR, SpecError, SteadyStateRule, THREADS_MAX,
};
