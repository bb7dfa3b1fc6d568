//! Run records in, findings out: statistics with intervals, doubts, binding limits, the load that an objective allows.

mod clusters;
mod compare;
mod conclusion;
mod conclusions;
mod curves;
mod device_throttle;
mod doubts;
mod draws_kept;
#[cfg(any(test, feature = "example"))]
pub mod example;
mod finding;
mod findings;
mod held_by;
mod held_limits;
mod hosts;
mod known_disk;
mod lasting;
mod limits;
mod live;
mod load_details;
mod load_keys;
mod load_limit;
mod more_in_flight;
mod past;
mod recorded_source;
#[cfg(any(test, feature = "example"))]
pub mod rules;
mod run_verdict;
mod search;
mod search_question;
mod stalls;
mod standing;
pub mod statistics;
mod summarize;
mod summary;
mod trials;
mod unfinished;
mod verdict;
mod verdict_block;
mod verdict_objective;
mod verdict_of_others;
mod watch_figures;
mod watching;
mod words;

pub use clusters::{Clusters, in_two};
pub use compare::{
    Against, ApplicationSide, AskedApart, Basis, COMPARISON_SCHEMA, CellComparison, CompareError, CompareOptions,
    ComparedSide, Comparison, Counts, DeviceModel, Differing, DifferingBytes, DrawRange, EngineWithOptions, Figure,
    FigureValue, Gain, InCommon, LatencyEstimate, MARGIN_DEFAULT, MonthlyPrice, NextStep, NoFigure, Note, Overall,
    RankedSide, RatioEstimate, Scaling, ScalingCell, ScalingPoint, ScalingStep, ScalingTotal, SideSetting,
    TRIALS_TO_DECIDE, ThrottledSide, Undecided, Unmatched, Unpriced, Verdict, Whose, compare, latency_estimate,
    scaling_of,
};
pub use conclusion::{
    AdvisedStep, ClosedReached, Conclusion, DeeperWait, DepthKept, DepthObjective, DiskCheck, DoubtMeant,
    InsteadOfRange, KnownLimit, LevelRate, LimitKnown, LoadReached, LoadStop, Meaning, NextMeasurement, RateBefore,
    StopWay, UncertainRate,
};
pub use device_throttle::HeldBy;
pub use doubts::doubts;
pub use draws_kept::DrawsKept;
pub use finding::{
    AloneLatency, ArrivalsResult, CameTo, CeilingUse, CellDoubts, DamageAt, DepthAndThreads, DepthResult, DeviceMoves,
    EventsCost, Finding, FindingCode, FindingSeen, FlushRule, HostsTogether, InFlight, KeptLoad, LoadAt, MostOf,
    ObjectiveRule, ObjectiveSeen, ObjectiveTurn, PlateauLimit, PlateauSeen, RateCourse, RateStep, RiseSeen,
    SearchDraws, SearchedTurn, SharesOfAnother, StallsSeen, StrayLoad, TogetherLatency, TogetherLoad, TrialLevels,
    TrialsApart, TriedLoad, UnansweredShare, WatchSeen,
};
pub use findings::{OBJECTIVE_USUAL, best_cell};
pub use held_limits::{HeldCount, HeldLimit, RUNS_BACK};
pub use hosts::{
    ClockExchange, ClockOffset, ClockReading, ClockState, HostRun, HostView, HostsLimit, HostsPoint, HostsScaling,
    HostsView, MergeError, Straggler, StragglerSeen, clock_at, merge_hosts, name_on_hosts,
};
pub use known_disk::{KnownDisk, KnownLevels};
pub use limits::{LimitFigure, Quantity, known_limits, limits};
pub use live::{
    LIVE_CELLS_MAX, LIVE_SCHEMA, LIVE_WINDOW_MIN_S, LIVE_WINDOW_S, LiveCause, LiveCell, LiveEmulation, LiveExport,
    LiveFault, LiveFrame, LiveItems, LiveLimit, LiveMachine, LivePhase, LiveProgram, LiveStep, LiveTotals, LiveTrace,
    LiveVerdict, LiveVolume,
};
pub use load_details::{BlockInMix, LoadDetails};
pub use load_keys::{KeyWords, LoadIdentity, LoadKey, LoadKeys, LoadsApart, distinct_words, spoken_keys, told_apart};
pub use load_limit::{LoadAtLimit, loads_at_limits};
pub use loadline_record::{Binding, Ceiling, Limit, LiveMark};
pub use loadline_units::words::listed;
pub use past::{Incident, Incidents, past_frames};
pub use run_verdict::{RunVerdict, run_verdict, trials_cut_short};
pub use search::{Probed, Search};
pub use search_question::SearchQuestion;
pub use standing::{StandingLimit, StandingRule, standing_limits};
pub use summarize::summarize;
pub use summary::{
    BestOf, CauseShare, CellSummary, CpuFigures, ExceededView, LastingFigures, LastingLatency, LatencyIntervals,
    LatencyRange, LoadView, OperationFigures, PredictionView, ProgramFigures, RunInfo, RunSummary, SCHEMA, StepFigures,
    ThrottleUse, TotalFigures, WaitAbove, WatchView,
};
pub use verdict_block::{
    Advised, Answered, Because, Certainty, HeldBesides, Holder, LimitHolder, LoadAnswers, LoadsMissing, MoreInFlight,
    ObjectiveFound, ObjectiveVerdict, Reached, RecordedSource, VerdictBlock, VerdictFigure, VerdictSubject,
    VolumeVerdict,
};
pub use watching::{
    CourseSecond, OtherProgram, WatchBeside, WatchCourse, WatchHeld, WatchHolder, WatchNext, WatchStep, watch_course,
};
