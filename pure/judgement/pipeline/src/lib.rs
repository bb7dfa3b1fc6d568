//! An application's pipeline in virtual time: the replay of its items, what bound each source, and what a change would bring.

mod attribution;
mod compared;
mod confirmed;
mod crawl_plan;
mod elasticity;
mod item;
mod lever;
mod live;
mod recorded;
mod replay;
mod rules;
mod violations;
mod volume_limits;
mod what_if;

pub use attribution::{
    Attribution, BINDS, Bound, CoresTaken, Doubtful, Evidence, ITEMS_MIN, LEADS, REPLAY_ERROR_MAX, StationEvidence,
    TAKES_PART, WorkerShares, attribute,
};
pub use compared::{
    CrawlComparison, CrawlConfounder, CrawlFigures, CrawlFinding, CrawlTableError, RepositoryReading, SourceComparison,
    SourceFigures, compare_crawls,
};
pub use confirmed::{Confirmation, ConfirmedBy, MeasuredElasticity, confirm};
pub use crawl_plan::{
    CommitPlan, CrawlCaps, CrawlPlan, CrawlPlanError, DatabasePlan, ExtractPlan, IndexPlan, MadeUpPlan, QueuePlan,
    SearchPlan, SourceKind, SourcePlan,
};
pub use elasticity::{Elasticities, Elasticity, elasticities};
pub use item::{PipelineItem, Release};
pub use lever::{Lever, larger_commits};
pub use live::{LIVE_REPLAYED_MAX, LiveCrawl, LiveEpoch, LiveQueue, LiveShares, LiveSource, LiveStation};
pub use recorded::{REPLAYED_MAX, RecordedPipeline, recorded};
pub use replay::{Keep, ReplayError, Replayed, StorageModel, replay};
pub use rules::{CORES_BUSY, NamedShare, cores_busy, named_by_clocks};
pub use violations::{CrawlViolation, crawl_violations};
pub use volume_limits::{HeldVolumes, held_volumes};
pub use what_if::{
    Amount, Assumed, Change, ChangeError, ChangeTextError, DiskWish, Gain, SourceGain, VolumeSpeed, WhatIf,
    WhatIfError, what_if,
};
