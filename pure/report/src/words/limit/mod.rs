//! What rules see of limits, in sentences.

mod beside;
mod course;
mod declaration;
mod level;
mod load;
mod machine;
mod wait;

pub(super) use beside::beside;
pub(super) use course::course;
pub(super) use declaration::declared;
pub(super) use level::level;
pub(super) use load::load;
pub(super) use machine::machine;
pub(super) use wait::waiting;
