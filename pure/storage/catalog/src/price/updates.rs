//! Updated price lists over those that come along: of a name in a region, the newer counts.

use super::{Price, Priced};
use crate::catalog::{Catalog, Kind};
use crate::file;
use loadline_document::DocumentError;
use std::collections::{BTreeMap, BTreeSet};

impl Catalog {
    /// This catalog with lists that an update wrote, the oldest first, each with its file's name and text. Of a name in a region
    /// the price with the newer date counts; of equal dates the updated one. A name that only one list has is taken from it.
    ///
    /// # Errors
    /// The problems of the first file that has any.
    pub fn with_updates(mut self, files: &[(&str, &str)]) -> Result<Self, DocumentError> {
        let mut newest: BTreeMap<(String, String), Priced> = BTreeMap::new();
        for (name, text) in files {
            let found = file::read(text, name, self.families.len())?;
            self.families.push(found.family);
            for priced in found.prices {
                let key = key(&priced);
                if newest.get(&key).is_none_or(|older| day(&older.price) <= day(&priced.price)) {
                    newest.insert(key, priced);
                }
            }
        }
        self.take_newer(newest);
        self.builtin_families = self.families.len();
        Ok(self)
    }

    /// This catalog without any prices.
    #[must_use]
    pub fn without_prices(mut self) -> Self {
        self.prices.clear();
        self
    }

    fn take_newer(&mut self, mut newest: BTreeMap<(String, String), Priced>) {
        if newest.is_empty() {
            return;
        }
        self.prices.retain(|old| {
            let key = key(old);
            match newest.get(&key) {
                Some(new) if day(&old.price) > day(&new.price) => {
                    newest.remove(&key);
                    true
                }
                Some(_) => false,
                None => true,
            }
        });
        self.prices.extend(newest.into_values());
    }

    /// The prices of a provider's machines or disks in a region, by names without the provider.
    #[must_use]
    pub fn listed(&self, provider: &str, region: &str, kind: Kind) -> BTreeMap<&str, &Price> {
        let disks: BTreeSet<&str> = self.disks().iter().map(|disk| disk.name.as_str()).collect();
        let of = |priced: &&Priced| {
            let is_disk = disks.contains(priced.name.as_str());
            priced.price.region.as_deref() == Some(region) && is_disk == (kind == Kind::Disk)
        };
        let mut found = BTreeMap::new();
        // Of several for a name the last counts, as everywhere.
        for Priced { name, price, .. } in self.prices.iter().filter(of) {
            let name = name.strip_prefix(provider).and_then(|rest| rest.strip_prefix('/'));
            found.extend(name.map(|name| (name, price)));
        }
        found
    }
}

/// The name and the region.
fn key(priced: &Priced) -> (String, String) {
    (priced.name.clone(), priced.price.region.clone().unwrap_or_default())
}

/// The day of a price for comparison; what is no day is older than any.
fn day(price: &Price) -> &str {
    price.date.as_deref().filter(|date| date.starts_with(|c: char| c.is_ascii_digit())).unwrap_or("")
}
