//! A load on the disk model in virtual time: what a trial on storage that one does not have would yield.
//!
//! The same [`LoadGenerator`](loadline_workload::LoadGenerator) that drives real devices asks, the same
//! [`Machine`](loadline_disk::Machine) that an emulated disk consists of answers, and the same record comes out.

mod guest;
mod log;
mod simulation;
mod together;
mod volume_bound;

pub use simulation::{
    OPEN_OUTSTANDING_MAX, Reached, Simulated, Simulation, SimulationError, TrialSetup, UNBOUNDED_SIZE, simulate,
};
pub use together::Together;
