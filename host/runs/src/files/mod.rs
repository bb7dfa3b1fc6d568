//! People's files: plans, environments, catalogs, records and stores, opened, read and written.

pub(crate) mod catalog_folder;
pub(crate) mod environment_file;
pub(crate) mod input_file;
pub(crate) mod output_file;
pub(crate) mod page_folder;
pub(crate) mod plan_file;
pub(crate) mod record_file;
pub mod store_location;
pub(crate) mod trace_file;
