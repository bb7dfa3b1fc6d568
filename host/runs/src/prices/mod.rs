//! Prices and limits as they are today: providers' answers out of files, judged, and kept beside what comes along.

mod files;
mod limits;
mod shelf;
mod update;

pub use files::{FileError, FileProblem};
pub use limits::{LimitsFile, run_limits_update};
pub use shelf::{PriceShelf, ShelfError, StoredList};
pub use update::{PriceUpdate, ProviderUpdate, UpdateError, UpdatedList, run_update};

use crate::Error;
use loadline_catalog::Catalog;
use std::path::PathBuf;

/// Which prices count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum PriceChoice {
    /// Of each name in a region the newest.
    #[default]
    Newest,
    /// Those that come along alone.
    Shipped,
    /// Those of updates alone.
    Updated,
    /// Those of a price list alone.
    List(PathBuf),
}

impl PriceChoice {
    /// The catalog that comes along, with these prices.
    ///
    /// # Errors
    /// Lists that cannot be read; none where those of updates alone are to count.
    pub fn catalog(&self) -> Result<Catalog, Error> {
        let builtin = Catalog::builtin();
        let kept = match PriceShelf::at_default() {
            // Without a home nothing was updated.
            Err(Error::NoHome) => None,
            found => Some(found?),
        };
        let texts = |of_limits| kept.as_ref().map_or(Ok(Vec::new()), |shelf| shelf.newest_texts(of_limits));
        let updates = |builtin: Catalog| -> Result<Catalog, Error> {
            let limits = texts(true)?;
            let limits: Vec<(&str, &str)> = limits.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
            let builtin = builtin.with_limits(&limits)?;
            let texts = texts(false)?;
            if texts.is_empty() {
                return if *self == Self::Updated { Err(ShelfError::Empty.into()) } else { Ok(builtin) };
            }
            let texts: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
            Ok(builtin.with_updates(&texts)?)
        };
        match self {
            Self::Shipped => Ok(builtin),
            Self::Newest => updates(builtin),
            Self::Updated => updates(builtin.without_prices()),
            Self::List(path) => {
                let text = std::fs::read_to_string(path)
                    .map_err(|source| Error::Unreadable { what: path.display().to_string(), source })?;
                Ok(builtin.without_prices().with_updates(&[(&path.display().to_string(), &text)])?)
            }
        }
    }
}
