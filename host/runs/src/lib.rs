//! Runs as a library: what the `loadline` command does between what is typed and what is printed.
//!
//! Targets are opened under the safety rules, a run is begun in a store, its trials are carried out and judged, and each is
//! kept as soon as it is finished. Nothing here prints, ends the process or knows an option of a command line: an
//! [`Observer`] follows, and errors are typed.

mod declared_environment;
pub mod emulation;
mod engine_watch;
mod error;
mod feasibility;
pub mod filling;
mod hunt_trials;
mod input_file;
pub mod leftovers;
mod measured_trials;
mod measurement;
mod modelled_trials;
mod objective_search;
mod observer;
pub mod open_volumes;
mod output_file;
mod pending_store;
mod plan_file;
mod prediction;
mod prediction_settings;
mod quick;
pub mod replay_run;
mod run_header;
mod run_outcome;
mod search_trials;
mod settings;
mod storage_identity;
pub mod store_location;
mod trial_place;
mod verification;
pub mod wall_clock;
mod work;

pub use declared_environment::DeclaredEnvironment;
pub use engine_watch::EngineWatch;
pub use error::{Error, ImpossibleCell, Loss, Refusal};
pub use feasibility::{Tried, refusal_of, refuse_impossible};
pub use hunt_trials::measure_hunt;
pub use input_file::{InputKind, read_text};
pub use measured_trials::MeasuredTrials;
pub use measurement::{
    Measurement, OpenedMeasurement, joined_names, refuse_cells, resume_measurement, settings_of, work_of,
};
pub use modelled_trials::ModelledTrials;
pub use objective_search::{SearchedModel, resume_modelled_search, resume_search, search_measured, search_modelled};
pub use observer::{Activity, Advance, Ahead, Event, Observer, QuickAhead, Silent, Unneeded};
pub use output_file::{OutputError, OutputFile, Replace};
pub use pending_store::{PendingStore, RunStore};
pub use plan_file::{PlanFile, PlanLength, read_again, read_plan, target_named};
pub use prediction::{Prediction, check_predictable, prediction_settings_of, resume_prediction, stored_environment};
pub use prediction_settings::{Course, PredictionSettings};
pub use quick::{QUICK_FILL_TIME, QuickMeasurement};
pub use run_header::NewRun;
pub use run_outcome::{Ended, RunOutcome};
pub use search_trials::answer_question;
pub use settings::{NamedTarget, Overrides, Settings, is_volume_name, sole_target};
pub use trial_place::{Initially, Probe, Prober, TrialPlace, probe};
pub use verification::{VerifiedTrial, verify};
pub use work::{Scope, Work, cell_record, label};
