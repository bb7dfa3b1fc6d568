//! What a load asks of storage, as data: which requests, how many at once or how often, for how long.
//!
//! Plans are read into a [`LoadSpec`], engines and the simulator carry it out, and records keep it.

mod label;
mod rules;
mod spec;
mod steady;
mod whole;

pub use spec::{
    Arrival, BLOCK_MAX, BlockShare, Content, Distribution, FILES_MAX, Fill, FlushCadence, FlushMethod, LatencyFigure,
    LoadSpec, OFFSET_MAX, Objective, Origin, Pattern, QUEUE_DEPTH_MAX, SpecError, Staggered, THREADS_MAX, TRIALS_MAX,
    Walk, Zone, ZoneGaps,
};
pub use steady::SteadyStateRule;
