//! Loads as data, and the generator that turns one into requests: which request, when.

mod fio;
mod generator;
mod plan;
mod plan_cells;
mod presets;
mod quick;
mod schedule;

pub use fio::{
    FioError, FioFile, FioJobs, FioProblem, FioRemedy, FioSurroundings, FioTarget, ReportedJob, ReportedProblem,
    fio_command, fio_harmless, fio_jobs, fio_jobs_in, is_fio, is_fio_command, reported_job,
};
pub use generator::{Due, LoadGenerator, Next, Region, RegionUnfit};
pub use loadline_document::{NAME_MAX, PROBLEMS_MAX, Problem, text_hash};
pub use loadline_load::{
    Arrival, BLOCK_MAX, BlockShare, Content, Distribution, FILES_MAX, Fill, FlushCadence, FlushMethod, LatencyFigure,
    LoadSpec, OFFSET_MAX, Objective, Origin, Pattern, QUEUE_DEPTH_MAX, SpecError, Staggered, SteadyStateRule,
    THREADS_MAX, TRIALS_MAX, Walk, Zone, ZoneGaps,
};
pub use plan::{CELLS_MAX, GroupEnd, LoadGroup, Order, PLAN_SCHEMA, PLAN_TRIALS_MAX, Plan, PlanError, PlanLoad};
pub use plan_cells::{CARRIED_PLAN, CarriedPlan, SeveralVolumes};
pub use presets::{Preset, nearest_preset, preset, presets, short_form};
pub use quick::{ObjectiveError, QUICK_DEPTH_MAX, QUICK_SIZE_MIN, QuickPlan, RateReached, parse_objective};
pub use schedule::{CellGroup, NotOnRun, RunCell, RunCells, ScheduledTrial, cell_id, cell_seed, run_cells, schedule};
