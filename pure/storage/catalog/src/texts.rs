//! A catalog as the texts that it is read from: what a program hands on to another.

use crate::catalog::Catalog;
use loadline_document::DocumentError;
use serde::{Deserialize, Serialize};

/// A file: its name in errors, and its text.
pub type NamedText = (String, String);

/// What lies over the catalog that comes along.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CatalogTexts {
    /// The prices that come along do not count.
    pub without_prices: bool,
    /// Limits that providers answered since.
    pub limits: Vec<NamedText>,
    /// Prices that they did; of each name in a region the newest counts.
    pub updates: Vec<NamedText>,
    /// Files of the user, whose entries and prices count before all.
    pub own: Vec<NamedText>,
}

impl CatalogTexts {
    /// The whole catalog, over the one that comes along.
    ///
    /// # Errors
    /// The problems of the first file that has any.
    pub fn over(&self, builtin: Catalog) -> Result<Catalog, DocumentError> {
        let mut catalog = if self.without_prices { builtin.without_prices() } else { builtin };
        if !self.limits.is_empty() {
            catalog = catalog.with_limits(&borrowed(&self.limits))?;
        }
        if !self.updates.is_empty() {
            catalog = catalog.with_updates(&borrowed(&self.updates))?;
        }
        if self.own.is_empty() { Ok(catalog) } else { catalog.with(&borrowed(&self.own)) }
    }
}

fn borrowed(texts: &[NamedText]) -> Vec<(&str, &str)> {
    texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect()
}
