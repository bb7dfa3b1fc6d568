//! Before a run: its settings, its work as cells, and what refuses it before anything is opened.

pub(crate) mod cells;
pub(crate) mod declared_environment;
pub(crate) mod feasibility;
pub(crate) mod fill_forecast;
pub(crate) mod look_first;
pub(crate) mod prediction_settings;
pub(crate) mod run_header;
pub(crate) mod run_options;
pub(crate) mod settings;
pub(crate) mod sold_storage;
pub(crate) mod work;
