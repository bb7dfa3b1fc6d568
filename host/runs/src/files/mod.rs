//! People's files: plans, environments, catalogs and records, read and written.

pub(crate) mod catalog_folder;
pub(crate) mod environment_file;
pub(crate) mod input_file;
pub(crate) mod output_file;
pub(crate) mod plan_file;
pub(crate) mod record_file;
