//! What rules and models see, by what it is about: each with the figures that it rests on, none in words.

mod beside;
mod course;
mod declaration;
mod hosts;
mod level;
mod load;
mod machine;
mod model;
mod wait;

pub use beside::{BesideFact, DevicesAlike, LevelOnEach, LimitShown, LoadRate, LoadShare};
pub use course::{CourseFact, FallAt, RateHeld};
pub use declaration::{DeclaredFact, DeclaredLimit, WaitsByDeclared};
pub use hosts::{HostsFact, HostsGain, HostsTotal, InFlightRate};
pub use level::{KindShown, LevelFact, LevelShown, OtherSizes, PresumedBy, RoundUnit};
pub use load::{Asked, DepthRate, LoadFact, OwnTimeShown};
pub use machine::MachineFact;
pub use model::{
    AccountReason, BurstSide, LimitDraws, ModelFact, TimeHeld, WaitPlace, WaitedBeside, WaitedEach, WaitedShare,
};
pub use wait::{TakenTime, WaitingFact};

#[cfg(test)]
mod tests;
