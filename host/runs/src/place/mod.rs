//! Where trials happen: open volumes, their filling, and the disks that carry out a trial.

pub(crate) mod engine_watch;
pub mod filling;
pub(crate) mod model;
pub(crate) mod open_volumes;
pub(crate) mod storage_identity;
pub(crate) mod volumes;
