//! Updated price lists over those that come along: of a name in a region, the newer counts. Prices in two currencies are two.

use super::columns::{PriceKey, day};
use super::{Price, Priced, Prices};
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
        let mut newest: BTreeMap<PriceKey, Priced> = BTreeMap::new();
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

    /// This catalog with updated limits of machines: an entry replaces that of its name.
    ///
    /// # Errors
    /// The problems of the first file that has any.
    pub fn with_limits(self, files: &[(&str, &str)]) -> Result<Self, DocumentError> {
        let mut catalog = self.with(files)?;
        catalog.builtin_families = catalog.families.len();
        Ok(catalog)
    }

    /// This catalog without any prices.
    #[must_use]
    pub fn without_prices(mut self) -> Self {
        self.prices = Prices::default();
        self
    }

    fn take_newer(&mut self, mut newest: BTreeMap<PriceKey, Priced>) {
        if newest.is_empty() {
            return;
        }
        let mut each = std::mem::take(&mut self.prices.each);
        each.retain(|old| {
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
        for list in &mut self.prices.columns {
            list.give_way(&mut newest);
        }
        each.extend(newest.into_values());
        self.prices.replace(each);
    }

    /// The prices of a provider's machines or disks in a region, by names without the provider.
    #[must_use]
    pub fn listed(&self, provider: &str, region: &str, kind: Kind) -> BTreeMap<String, Price> {
        let disks: BTreeSet<&str> = self.disks().iter().map(|disk| disk.name.as_str()).collect();
        let names = self.prices.names_in(region).into_iter();
        let of_kind = names.filter(|name| disks.contains(name.as_str()) == (kind == Kind::Disk));
        of_kind
            .filter_map(|name| {
                let plain = name.strip_prefix(provider)?.strip_prefix('/')?.to_owned();
                Some((plain, self.price_in(&name, region)?))
            })
            .collect()
    }
}

fn key(priced: &Priced) -> PriceKey {
    (priced.name.clone(), priced.price.region.clone().unwrap_or_default(), priced.price.currency())
}
