//! Prices and limits as they are today: providers' answers out of files, judged, and kept beside what comes along.

mod fetch;
mod files;
mod journal;
mod limits;
mod network;
mod page;
mod shelf;
mod update;

pub use fetch::{
    AddressError, FailedAddress, FetchError, FetchedUpdate, LeftOutProvider, PriceFetch, WhyLeftOut, fetch_update,
};
pub use files::{FileError, FileProblem};
pub use limits::{LimitsFile, run_limits_update};
pub use network::{ApiKey, KeyError, Network};
pub use page::PageError;
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
        let updates = |builtin: Catalog| match PriceShelf::at_default() {
            // Without a home nothing was updated.
            Err(Error::NoHome) if *self == Self::Updated => Err(ShelfError::Empty.into()),
            Err(Error::NoHome) => Ok(builtin),
            found => {
                let updated = found?;
                let is_empty = *self == Self::Updated && updated.newest_texts(false)?.is_empty();
                if is_empty { Err(ShelfError::Empty.into()) } else { updated.over(builtin) }
            }
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

impl PriceShelf {
    /// A catalog with what this shelf has: limits, and of each name in a region the newest price.
    fn over(&self, catalog: Catalog) -> Result<Catalog, Error> {
        fn named(texts: &[(String, String)]) -> Vec<(&str, &str)> {
            texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect()
        }
        let (limits, prices) = (self.newest_texts(true)?, self.newest_texts(false)?);
        let catalog = catalog.with_limits(&named(&limits))?;
        Ok(if prices.is_empty() { catalog } else { catalog.with_updates(&named(&prices))? })
    }
}
