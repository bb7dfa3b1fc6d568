//! What is judged, as values: the limit that binds, what was seen of it, how sure that is. `pure/report` makes sentences of them.

mod binding;
mod ceiling;
mod doubt;
mod doubt_evidence;
mod evidence;
mod facts;
mod kernel_limit;
mod limit;
mod limit_source;
mod rate;
mod source_limit;
mod stage;
mod throttle;
mod trial;
mod watch;

pub use binding::Binding;
pub use ceiling::{
    Budget, BudgetCredits, BudgetOwner, BudgetRate, BudgetRates, Ceiling, CeilingSource, DirectionLevel, RateFigure,
};
pub use doubt::{Doubt, DoubtCode, DoubtGrade};
pub use doubt_evidence::{
    AskedAndMoved, Compression, DoubtEvidence, DoubtedFigure, Excess, FewOfOperation, HostSpan, InFlight, MemoryBacked,
    OthersWaited, QueueFacts, QueueLimit, RateChange, Recut, RunTogether, SeenOnHost, SmallerStorage, StorageChange,
    WroteLess,
};
pub use evidence::{Evidence, Fact, Written};
pub use facts::{
    AccountReason, Asked, BesideFact, BurstSide, CourseFact, DeclaredFact, DeclaredLimit, DepthRate, DevicesAlike,
    FallAt, HostsFact, HostsGain, HostsTotal, InFlightRate, KindShown, LevelFact, LevelOnEach, LevelShown, LimitDraws,
    LimitShown, LoadFact, LoadRate, LoadShare, MachineFact, ModelFact, OtherSizes, OwnTimeShown, PresumedBy, RateHeld,
    RoundUnit, TakenTime, TimeHeld, WaitPlace, WaitedBeside, WaitedEach, WaitedShare, WaitingFact, WaitsByDeclared,
};
pub use kernel_limit::{CpuQuota, MemoryLimit, ShortQueue};
pub use limit::Limit;
pub use limit_source::{LimitSource, LoadsShown};
pub use rate::Rate;
pub use source_limit::SourceLimit;
pub use stage::Stage;
pub use throttle::{EXCEEDED_MIN, KernelThrottle, THROTTLE_REACHED, ThrottledQuantity, ThrottledRequests};
pub use trial::{Ending, KnownDeviation, OtherLoad, VerifyFault, VerifyFaultKind};
pub use watch::{ApplicationAt, ThreadsWaiting, WatchCause, WatchFact, WatchGain, WatchedLoop};
