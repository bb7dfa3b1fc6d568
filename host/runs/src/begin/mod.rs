//! Before a run: its settings, its work as cells, and what refuses it before anything is opened.

pub(crate) mod attach_method;
pub(crate) mod cells;
pub(crate) mod declared_environment;
pub(crate) mod fill_forecast;
pub(crate) mod prediction_settings;
pub(crate) mod run_header;
pub(crate) mod run_options;
pub(crate) mod settings;
pub(crate) mod work;
