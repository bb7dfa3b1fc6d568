//! Runs a load on the disk model in virtual time, with the record of a measured trial.
//!
//! It has the same [`LoadGenerator`](loadline_workload::LoadGenerator) as real devices, the same
//! [`Machine`](loadline_disk::Machine) as an emulated disk, and the same record.

mod guest;
mod log;
mod simulation;
mod together;
mod transfer_budget;

pub use simulation::{
    OPEN_OUTSTANDING_MAX, Reached, Simulated, Simulation, SimulationError, TrialSetup, UNBOUNDED_SIZE, simulate,
};
pub use together::Together;
