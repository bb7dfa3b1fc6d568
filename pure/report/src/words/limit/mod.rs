//! What rules see of limits, in sentences.

mod beside;
mod course;
mod declared;
mod level;
mod load;
mod machine;
mod waiting;

pub(super) use beside::beside;
pub(super) use course::course;
pub(super) use declared::declared;
pub(super) use level::level;
pub(super) use load::load;
pub(super) use machine::machine;
pub(super) use waiting::waiting;
