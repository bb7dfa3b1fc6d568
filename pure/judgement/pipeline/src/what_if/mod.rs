//! What a change would bring: changes read from text, made in the replay of a measured crawl.

mod assumption;
mod change;
mod gain;
mod parse;

pub use assumption::Assumed;
pub use change::{Amount, Change, ChangeError, DiskWish, VolumeSpeed};
pub use gain::{Gain, SourceGain, WhatIf, WhatIfError, what_if};
pub use parse::ChangeTextError;
