//! What spans crates: documents, kept inputs, the catalog, fits and limits against the model's truth, published figures.

mod absurd_figures;
mod application_steps;
mod catalog_limits;
mod document_examples;
mod fio_drawn;
mod fio_examples;
mod fio_field_forms;
mod fio_loads;
mod fio_values;
mod fitted_disks;
mod fitted_evidence;
mod growing_files;
mod kept_inputs;
mod named_limits;
mod nested_inputs;
mod published_percentiles;
mod published_rates;
