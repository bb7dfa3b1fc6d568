//! What applications ask of storage over time: a series of intervals, read from monitoring files, stored runs and
//! traces.
//!
//! Readers go by the names of columns and metrics, never by position. A name that they do not know is an error that shows
//! it. [`mark_limited`] finds the intervals in which the source could not do more: there the demand is only a lower bound.

mod azure_monitor;
mod cloud_watch;
mod combined;
mod consistency;
mod dool;
mod error;
mod google_metrics;
mod iostat;
mod limited;
mod number;
mod options;
mod other_tools;
mod perfmon;
mod prometheus;
mod reading;
mod run;
mod sadf;
mod series;
mod served;
mod shown_latency;
mod stamp;
mod sysstat_json;
mod trace;

pub use error::DemandError;
pub use limited::mark_limited;
pub use options::ReadOptions;
pub use reading::{Form, form_of, read};
pub use run::demand_of_run;
pub use series::{AtLimit, Demand, DemandInterval};
pub use shown_latency::shown_p99;
pub use trace::demand_of_trace;
