//! Runs on several hosts: who has which part, when they start, whose clock is right, and their records as one.

pub mod clocks;
pub(crate) mod host_part;
pub(crate) mod merging;
pub(crate) mod start_time;
