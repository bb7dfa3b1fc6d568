//! From a need to a ranked list: which machine with which disks, in which layout and under which cache setting, at which price.
//!
//! [`advise`] searches all that a catalog has of a provider's region. Limits judge every pair of machine and disks, a fluid
//! model with credits judges recorded needs, and simulation judges the latency of the few at the top (`docs/inside/advise.md`).

mod advice;
mod advisor;
mod cases;
mod day;
mod described;
mod disk_sets;
mod doubt;
mod environment_text;
mod exactness;
mod filters;
mod flow;
mod judging;
mod machines;
mod market;
mod miss;
mod misses;
mod need;
mod need_file;
mod need_words;
mod replaying;
mod script;
mod search;
mod short;
mod stock;
mod trial;
mod words;

pub use advice::{
    ADVICE_SCHEMA, Advice, Bound, Candidate, Cheapest, CurvePoint, DiskChoice, JudgedBy, LatencyRange, NeedFigures,
    NotLookedAt, PriceMonth, PriceStep, PricedItem, PricedPart, RegionPrice, ReplayedFigures, ReplayedRange,
    RequestTiming, ScenariosMet, SumKnown, VolumeChoice,
};
pub use advisor::{AdviceOptions, ROWS_ALIKE_MAX, ROWS_DEFAULT, advise, advise_from};
pub use doubt::{AdviceDoubt, AdviceDoubtCode, EstimatedItem};
pub use exactness::{PairCheck, check_against_every_pair};
pub use filters::{NeedFilter, unmatched_filter};
pub use loadline_demand::AtLimit;
pub use market::AdviseError;
pub use miss::{Fix, FixChange, Miss, Shortfall};
pub use need::{
    Asked, DISKS_DEFAULT, EVERY_REGION, Need, OS_DISK_DEFAULT, Rates, SURE_DEFAULT, TIME_MET_DEFAULT, Wanted,
    limit_words, objective_words,
};
pub use need_file::{BLOCK_DEFAULT, NEED_SCHEMA, NeedFile, NeedNumbers, READS_DEFAULT, is_need};
pub use need_words::{NEED_NAME, NO_LATENCY, NeedWords, architecture, iops, os_disk};
pub use script::{Script, ScriptError, script};
pub use short::short_share;
pub use stock::Stock;
pub use words::size as request_size;
