//! Describes the machine at hand as an environment: from the answers of its cloud's metadata service and the facts of
//! its devices, in the catalog's words.
//!
//! Nothing here sends a request: answers and devices are arguments, and the same ones give the same text.

mod answers;
mod disks;
mod text;

pub use answers::{AnswerError, CloudAnswers, CloudDisk, DiskCaching, Provider, Role, aws, azure, gcp};
pub use disks::{Attached, Layout, Place};
pub use text::{Recognised, recognised};
