//! Keeps the data of an ephemeral disk: prepares the disk, saves what is on it, restores it before services start.
//!
//! [`Shelter`] is one configuration on this machine. What it decides is computed in `loadline_shelter_policy`; here it is looked, done
//! and made durable. [`DiskProbe`] shows the disk and makes file systems: a test has one of its own.

mod checking;
mod databases;
mod durable;
mod error;
mod frozen_files;
mod machine_probe;
mod metadata_client;
mod notify;
mod old_copy;
mod pace;
mod picture_tree;
mod planning;
mod probe;
mod repository_copy;
mod repository_place;
mod restoring;
mod saving;
mod service;
mod session;
mod shelter;
mod structure;
#[cfg(test)]
mod tests;
mod tree_files;

pub use checking::VerifyReport;
pub use error::ShelterError;
pub use machine_probe::MachineProbe;
pub use notify::ServiceManager;
pub use planning::{ApplicationRate, DescribedData, PlanError, PlanRequest, SURVEY_TIME_MAX, ShelterVolume, plan};
pub use probe::DiskProbe;
pub use restoring::RestoreReport;
pub use saving::SaveReport;
pub use service::{Ending, ServiceSettings, serve};
pub use shelter::{Adopted, Prepared, Shelter, ShelterFile, last_status};
