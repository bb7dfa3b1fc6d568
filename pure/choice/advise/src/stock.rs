//! What is sold, as far as needs asked for it: no rate changes it, and a search asks at many rates.

use crate::disk_sets::EqualDisks;
use crate::flow::{Station, disk_stations};
use crate::machines::{Machines, MachinesSold, machines_sold};
use crate::need::Wanted;
use loadline_catalog::{Catalog, Draw, Provisioned};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// The limits of so many disks: `None` where the disk is not sold so.
type Limits = Option<Arc<[Station]>>;
/// Disks by name, number and whether their host caches them.
type DisksKey = (String, u32, bool);
/// Purchases whose limits are kept at most. Each takes about half a kilobyte.
const LIMITS_MAX: usize = 100_000;

/// What a catalog sells that needs may be met with: what one advice finds out, the next needs not. All are from one catalog.
#[derive(Default)]
pub struct Stock {
    shelf: RefCell<Shelf>,
}

/// What is wanted and under which draw, and what was found for it.
#[derive(Default)]
struct Shelf {
    kept_to: Option<(Wanted, Draw)>,
    sold: BTreeMap<String, MachinesSold>,
    /// By provider, then by region.
    priced: BTreeMap<String, BTreeMap<String, Rc<Machines>>>,
    limits: BTreeMap<DisksKey, BTreeMap<Provisioned, Limits>>,
    count: usize,
}

impl std::fmt::Debug for Stock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stock").finish_non_exhaustive()
    }
}

impl Stock {
    /// Forgets what was found for other wants, or under another draw.
    pub(crate) fn keep_to(&self, wanted: &Wanted, draw: Draw) {
        let mut found = self.shelf.borrow_mut();
        let is_same = found.kept_to.as_ref().is_some_and(|(own, at)| own == wanted && *at == draw);
        if !is_same || found.count > LIMITS_MAX {
            *found = Shelf { kept_to: Some((wanted.clone(), draw)), ..Shelf::default() };
        }
    }

    /// The machines of a provider at the prices of a region.
    pub(crate) fn machines(&self, catalog: &Catalog, provider: &str, region: &str) -> Rc<Machines> {
        let Shelf { kept_to, sold, priced, .. } = &mut *self.shelf.borrow_mut();
        let make = || {
            let (wanted, draw) = kept_to.clone().unwrap_or((Wanted::default(), Draw::MIDDLE));
            let of_provider = || machines_sold(catalog, provider, &wanted, &draw);
            let sold = sold.entry(provider.to_owned()).or_insert_with(of_provider);
            Rc::new(sold.priced(catalog, provider, region, wanted.os_disk))
        };
        let of_provider = priced.entry(provider.to_owned()).or_default();
        Rc::clone(of_provider.entry(region.to_owned()).or_insert_with(make))
    }

    /// The limits of disks that are bought so, if all reads that may hit do.
    pub(crate) fn limits(&self, disks: &EqualDisks<'_>, wanted: &Provisioned) -> Limits {
        let Shelf { limits, count, .. } = &mut *self.shelf.borrow_mut();
        let make = || {
            *count += 1;
            let (spec, volume) = disks.volume_spec(wanted)?;
            Some(disk_stations(&spec, &volume, disks.cached()).into())
        };
        let known = limits.entry(disks.key()).or_default();
        known.entry(wanted.clone()).or_insert_with(make).clone()
    }
}
