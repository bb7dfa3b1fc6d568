//! Runs as a library: what the `loadline` command does between what is typed and what is printed.
//!
//! Targets are opened under the safety rules, a run is begun in a store, its trials are carried out and judged, and each is
//! kept as soon as it is finished. Nothing here prints, ends the process or knows an option of a command line: an
//! [`Observer`] follows, and errors are typed.

pub mod advice;
mod catalog_folder;
pub mod checkup;
pub mod clocks;
mod declared_environment;
pub mod emulation;
mod engine_watch;
mod environment_file;
mod error;
mod feasibility;
mod fill_forecast;
pub mod filling;
mod host_part;
mod hunt;
mod import;
mod input_file;
pub mod leftovers;
mod look_first;
mod measurement;
mod merging;
mod objective_search;
mod observer;
pub mod open_volumes;
mod output_file;
mod pending_store;
mod plan_file;
mod prediction;
mod prediction_settings;
mod quick;
pub mod recognition;
mod record_file;
pub mod recording;
mod repeated;
pub mod replay_run;
mod run_header;
mod run_options;
mod run_outcome;
mod settings;
mod sold_storage;
mod start_time;
mod storage_identity;
mod storage_replay;
pub mod store_location;
mod stored_run;
pub mod sweep;
mod trials;
mod verification;
pub mod wall_clock;
pub mod watch;
mod work;

pub use catalog_folder::{catalog_with, environment_again, read_environment};
pub use declared_environment::DeclaredEnvironment;
pub use engine_watch::EngineWatch;
pub use environment_file::{EnvironmentFile, THIS_MACHINE, environment_named};
pub use error::{
    CellsOfPlan, CloudSilence, EntryKind, Error, HostsRefusal, HuntRefusal, ImpossibleCell, Loss, RecognitionError,
    RecordError, Refusal, ReplayError, SweepRefusal, WatchError,
};
pub use feasibility::{Tried, refusal_of, refuse_impossible};
pub use fill_forecast::FillForecast;
pub use hunt::{Hunt, HuntChoices, hunt_result};
pub use import::{FolderImport, Import};
pub use input_file::{InputKind, read_text};
pub use loadline_kernel::facts::RealDisk;
pub use look_first::{BUSY_SHARE, Concern, Consent, DeviceUse, MemoryTarget, look_first, refuse_memory};
pub use measurement::{Measurement, OpenedMeasurement, joined_names, placed, refuse_cells, settings_of, work_of};
pub use merging::Merge;
pub use objective_search::ObjectiveSearch;
pub use observer::{Activity, Advance, Ahead, Event, ItemsDone, Observer, QuickAhead, Silent, Unneeded};
pub use output_file::{OutputError, OutputFile, Replace};
pub use pending_store::{PendingStore, RunStore};
pub use plan_file::{
    PlanFile, PlanLength, in_their_folders, named, plans_again, read_again, read_command, read_plan, targets_named,
};
pub use prediction::{Prediction, check_predictable, prediction_settings_of, stored_environment};
pub use prediction_settings::{Course, PredictionSettings};
pub use quick::{QUICK_FILL_TIME, QuickMeasurement};
pub use record_file::{RecordFileError, RecordTextError, read_record, record_of_text, record_text};
pub use repeated::repeated;
pub use run_header::NewRun;
pub use run_options::RunOptions;
pub use run_outcome::{Ended, RunOutcome, TrialsPlanned};
pub use settings::{NamedTarget, Overrides, Settings, is_volume_name, sole_target};
pub use start_time::{StartTime, StartTimeError};
pub use storage_replay::{StorageReplay, StorageReplaySettings};
pub use stored_run::{RunKind, StoredRun, resume};
pub use trials::{
    Initially, MeasuredPlace, ModelledPlace, NoTrial, PlannedCell, RunUnderWay, TrialCell, TrialLoop, TrialPlace,
    TrialRound, TrialSchedule, answer_question, measure_hunt,
};
pub use verification::{VerifiedTrial, verify};
pub use work::{Scope, Work, cell_record, label};
