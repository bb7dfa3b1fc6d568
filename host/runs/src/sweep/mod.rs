//! Sweeps: many environments under one plan, or many needs, in parts that other machines may carry out.
//!
//! A row depends on its own environment or need and on the seed alone. So the rows are the same with one thread and with many, in one
//! part and in a thousand, and when a part is carried out again.

mod advices;
mod part;
mod predictions;
mod side_by_side;

pub use advices::{AdviceRow, AdviceSweep, Completed, SweptNeed, advice_frame};
pub use loadline_prediction::{PredictionRow, RowFigures, SweepMethod};
pub use loadline_report::frame::prediction_frame;
pub use part::{Part, PartError};
pub use predictions::{PredictionSweep, SweptEnvironment};
pub use side_by_side::{Stopped, SweepProgress};

use crate::{Error, InputKind, Refusal, SweepRefusal, catalog_with};
use loadline_catalog::Catalog;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// The catalog that comes along, read once in a process: chunks of a sweep follow one another.
static BUILT_IN: OnceLock<Arc<Catalog>> = OnceLock::new();

/// The catalog of a sweep that asks no prices, with a folder's files beside it.
///
/// # Errors
/// A [`Refusal`] of the folder.
pub fn swept_catalog(folder: Option<&Path>) -> Result<Arc<Catalog>, Error> {
    match folder {
        None => Ok(Arc::clone(BUILT_IN.get_or_init(|| Arc::new(Catalog::builtin())))),
        Some(_) => Ok(Arc::new(catalog_with(folder)?)),
    }
}

/// The files of a folder, and of the folders in it, that end in `.toml`; sorted by path, so that every machine has them in one order.
///
/// # Errors
/// [`Error::Unlisted`], or a [`Refusal`] where there is none.
pub fn described_in(folder: &Path, kind: InputKind) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let unlisted = |source| Error::Unlisted { folder: folder.clone(), source };
        for entry in std::fs::read_dir(&folder).map_err(unlisted)? {
            let entry = entry.map_err(unlisted)?;
            let (path, file_type) = (entry.path(), entry.file_type().map_err(unlisted)?);
            // A link to a folder may lead back to it.
            if file_type.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "toml") {
                found.push(path);
            }
        }
    }
    if found.is_empty() {
        return Err(Refusal::from(SweepRefusal::NothingInFolder { folder: folder.to_owned(), kind }).into());
    }
    found.sort();
    Ok(found)
}
