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
use loadline_catalog::{Catalog, CatalogTexts};
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
    /// The files that lie over the catalog that comes along, where these prices count.
    ///
    /// # Errors
    /// Lists that cannot be read; none where those of updates alone are to count.
    pub fn texts(&self) -> Result<CatalogTexts, Error> {
        let updates = |without_prices: bool| match PriceShelf::at_default() {
            // Without a home nothing was updated.
            Err(Error::NoHome) if without_prices => Err(ShelfError::Empty.into()),
            Err(Error::NoHome) => Ok(CatalogTexts::default()),
            found => {
                let texts = found?.texts()?;
                let is_empty = without_prices && texts.updates.is_empty();
                if is_empty { Err(ShelfError::Empty.into()) } else { Ok(CatalogTexts { without_prices, ..texts }) }
            }
        };
        match self {
            Self::Shipped => Ok(CatalogTexts::default()),
            Self::Newest => updates(false),
            Self::Updated => updates(true),
            Self::List(path) => {
                let name = path.display().to_string();
                let text =
                    std::fs::read_to_string(path).map_err(|source| Error::Unreadable { what: name.clone(), source })?;
                let updates = vec![(name, text)];
                Ok(CatalogTexts { without_prices: true, updates, ..CatalogTexts::default() })
            }
        }
    }
}

impl PriceShelf {
    /// What this shelf has: limits, and of each name in a region the newest price.
    fn texts(&self) -> Result<CatalogTexts, Error> {
        let (limits, updates) = (self.newest_texts(true)?, self.newest_texts(false)?);
        Ok(CatalogTexts { limits, updates, ..CatalogTexts::default() })
    }

    /// A catalog with them.
    fn over(&self, catalog: Catalog) -> Result<Catalog, Error> {
        Ok(self.texts()?.over(catalog)?)
    }
}
