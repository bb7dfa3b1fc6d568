//! Runs as a library: what the `loadline` command does between what is typed and what is printed.
//!
//! Targets are opened under the safety rules, a run is begun in a store, its trials are carried out and judged, and each is
//! kept as soon as it is finished. Nothing here prints, ends the process or knows an option of a command line: an
//! [`Observer`] follows, and errors are typed.

pub mod advice;
mod begin;
mod error;
mod files;
mod hosts;
mod import;
mod keep;
mod kinds;
// What is Linux' own; on any other machine `elsewhere` stands in its place, with what the rest of this crate needs of it.
#[cfg_attr(not(target_os = "linux"), path = "elsewhere/mod.rs")]
mod linux;
mod observer;
mod place;
pub mod prices;
pub mod sweep;
mod trials;
pub mod wall_clock;

pub use begin::cells::{PlannedCell, TrialCell};
pub use begin::declared_environment::DeclaredEnvironment;
pub use begin::fill_forecast::FillForecast;
pub use begin::prediction_settings::{Course, PredictionSettings};
pub use begin::run_header::NewRun;
pub use begin::run_options::RunOptions;
pub use begin::settings::{NamedTarget, Overrides, Settings, is_volume_name, placed, settings_of, sole_target};
pub use begin::work::{Scope, Work, label};
pub use error::{
    BUSY_SHARE, CellsOfPlan, CloudSilence, Concern, Consent, DeviceUse, EntryKind, Error, HostsRefusal, HuntRefusal,
    ImpossibleCell, InputKind, Loss, MemoryTarget, NotOfPlan, PlannedError, RecognitionError, RecordError, Refusal,
    ReplayError, SweepRefusal, WatchError,
};
pub use files::catalog_folder::{
    catalog_priced, catalog_texts, catalog_with, environment_again, read_environment, stored_environment,
};
pub use files::environment_file::{EnvironmentFile, environment_named};
pub use files::input_file::read_text;
pub use files::output_file::{OutputError, OutputFile, Replace};
pub use files::page_folder::{PageFolder, PagesWritten};
pub use files::plan_file::{
    PlanFile, PlanLength, in_their_folders, named, read_again, read_command, read_plan, targets_named,
};
pub use files::record_file::{RecordFileError, RecordTextError, read_record, record_of_text, record_text};
pub use files::store_location;
pub use hosts::clocks;
pub use hosts::merging::Merge;
pub use hosts::start_time::{StartTime, StartTimeError};
pub use import::{FolderImport, Import, crawl_cell, import_crawls, is_crawl_table};
pub use keep::leftovers;
pub use keep::pending_store::{PendingStore, RunStore};
pub use keep::run_outcome::{Ended, RunOutcome, TrialsPlanned};
pub use kinds::hunt::{Hunt, HuntChoices, hunt_result};
pub use kinds::objective_search::ObjectiveSearch;
pub use kinds::prediction::{Prediction, check_predictable, prediction_settings_of};
pub use kinds::repeated::repeated;
pub use kinds::replay_run;
pub use kinds::stored_run::{RunKind, StoredRun, resume};
pub use linux::*;
pub use loadline_record::RealDisk;
pub use observer::{
    Activity, Advance, Ahead, CellCounts, CrawlCounts, Event, ItemsDone, Observer, PagesFetched, QuickAhead, Silent,
    Unneeded,
};
pub use place::filling::{self, QUICK_FILL_TIME};
pub use trials::{NoTrial, RunFrames, RunUnderWay, TrialLoop, TrialPlace, TrialRound, TrialSchedule};

pub(crate) use begin::work::joined_names;
pub(crate) use files::plan_file::plans_again;
pub(crate) use place::model::ModelledPlace;
pub(crate) use trials::{answer_question, measure_hunt};
