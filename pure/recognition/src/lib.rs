//! The environment of the machine at hand: what the metadata service of its cloud answers and what its devices say of
//! themselves, put into the words of the catalog.
//!
//! Nothing here asks anybody: answers and devices are handed in, and the same ones give the same text.

mod answers;
mod disks;
mod text;

pub use answers::{AnswerError, CachingTold, DiskTold, Provider, Role, Told, aws, azure, gcp};
pub use disks::{Attached, Layout, Place};
pub use text::{Recognised, recognised};
