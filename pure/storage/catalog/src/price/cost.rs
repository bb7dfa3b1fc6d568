//! Prices by name and region, the monthly cost of a disk or machine, and checks of prices.

use super::{Backing, Basis, Bought, Money, Price, Reduction};
use crate::catalog::{Catalog, Kind};
use crate::check::{CatalogProblem, ProblemKind};
use crate::entry::{Choice, DiskEntry, Figure, SizeRule};
use crate::figure::Scalar;
use crate::resolve::{EntryError, Provisioned};
use std::collections::BTreeMap;

/// The key of a price: a name, its region and terms, and whether it is the user's.
type Sold<'p> = (&'p str, Option<&'p str>, Option<&'p str>, bool);

/// Why the catalog has no cost for an entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CostError {
    /// It cannot be bought like that.
    #[error(transparent)]
    Entry(#[from] EntryError),
    /// There is no price for it there.
    #[error("no price of {name} in {region} is in the catalog{}", others(.known))]
    NoPrice {
        /// The entry.
        name: String,
        /// The region.
        region: String,
        /// Regions for which there is one: the one with most prices first.
        known: Vec<String>,
    },
    /// Its price leaves out a part of the purchase.
    #[error("the price of {name} in {region} says nothing of its {part}")]
    Unpriced {
        /// The entry.
        name: String,
        /// The region.
        region: String,
        /// "IOPS", "throughput", "size" or the option.
        part: String,
    },
}

/// Regions that an error names.
const REGIONS_NAMED_MAX: usize = 5;

fn others(known: &[String]) -> String {
    if known.is_empty() { String::new() } else { format!(": there is one in {}", some_of(known)) }
}

/// The first regions, and how many more there are.
pub(crate) fn some_of(regions: &[String]) -> String {
    let named = regions[..regions.len().min(REGIONS_NAMED_MAX)].join(", ");
    match regions.len().saturating_sub(REGIONS_NAMED_MAX) {
        0 => named,
        more => format!("{named} and {more} other regions"),
    }
}

/// A cost of a month with what stands behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cost {
    /// What is paid.
    pub month: Money,
    /// What was taken off list prices for that, in this order.
    pub reductions: Vec<Reduction>,
    /// The dates of the lists that it is from, each once.
    pub dates: Vec<String>,
    /// The parts of it that are estimates.
    pub estimated: Vec<Estimated>,
}

impl Cost {
    /// Whether a part of it is an estimate.
    #[must_use]
    pub const fn is_estimated(&self) -> bool {
        !self.estimated.is_empty()
    }
    /// What it is at list prices.
    #[must_use]
    pub fn at_list(&self) -> Money {
        self.reductions.iter().fold(self.month, |sum, reduction| sum.plus(reduction.amount).unwrap_or(sum))
    }
}

/// A part of a cost that no list has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Estimated {
    /// All of it.
    Whole,
    /// Its size.
    Size,
    /// Provisioned requests.
    Iops,
    /// Provisioned bytes.
    Throughput,
    /// What a commitment takes off.
    Commitment,
}

impl Price {
    /// What so much costs a month. Only charges that come to something stand behind it.
    fn cost(&self, bought: &Bought) -> Cost {
        let (mut dates, mut estimated): (Vec<String>, Vec<Estimated>) = (Vec::new(), Vec::new());
        for charge in self.charges.iter().filter(|charge| charge.monthly(bought) > 0) {
            let date = match &charge.backing {
                Backing::List => self.date.clone(),
                Backing::Earlier(date) => Some(date.clone()),
                Backing::Estimate => {
                    estimated.push(match charge.basis {
                        Basis::Whole(_) | Basis::Requests(_) => Estimated::Whole,
                        Basis::Size(..) => Estimated::Size,
                        Basis::Iops(_) => Estimated::Iops,
                        Basis::Throughput(..) => Estimated::Throughput,
                    });
                    self.date.clone()
                }
            };
            dates.extend(date.filter(|date| !dates.contains(date)));
        }
        dates.sort_unstable();
        estimated.sort_unstable();
        estimated.dedup();
        Cost { month: self.monthly(bought), reductions: Vec::new(), dates, estimated }
    }
}

/// A dimension that may be provisioned, as far as prices go.
struct Chosen<T> {
    what: &'static str,
    /// The amount bought.
    amount: Option<T>,
    /// The default amount.
    unasked: Option<T>,
    /// Whether the price has a charge for it.
    is_charged: bool,
}

impl<T: Scalar> Chosen<T> {
    /// Whether the price covers it: by a charge for it, or because it is within the default.
    fn is_covered(&self) -> bool {
        if self.is_charged { self.amount.is_some() } else { self.amount == self.unasked }
    }
    /// The part without a price, if it has no charge.
    fn left_out(&self) -> Option<String> {
        let beyond = self.unasked.map_or(String::new(), |unasked| format!(" above {unasked}"));
        (!self.is_charged).then(|| format!("{}{beyond}", self.what))
    }
}

impl Catalog {
    /// What is paid a month ([`super::HOURS_PER_MONTH`]) of a provisioned disk, or of a machine, in a region, without
    /// charges for requests. Of several prices there the first counts.
    ///
    /// # Errors
    /// It is not in the catalog, cannot be provisioned like that, or has no price there that covers it.
    pub fn monthly_cost(&self, name: &str, wanted: &Provisioned, region: &str) -> Result<Money, CostError> {
        self.cost(name, wanted, region).map(|cost| cost.month)
    }

    /// The monthly cost as [`Catalog::monthly_cost`] gives it, with what stands behind it.
    ///
    /// # Errors
    /// As [`Catalog::monthly_cost`].
    pub fn cost(&self, name: &str, wanted: &Provisioned, region: &str) -> Result<Cost, CostError> {
        let disk = self.known_disk(name);
        if disk.is_none() && !self.is_machine(name) {
            return Err(self.unknown(name).into());
        }
        let Some(price) = self.price_in(name, region) else {
            let known = self.prices(name).into_iter().filter_map(|price| price.region).collect();
            return Err(CostError::NoPrice { name: name.to_owned(), region: region.to_owned(), known });
        };
        let unpriced = |part: &str| CostError::Unpriced {
            name: name.to_owned(),
            region: region.to_owned(),
            part: part.to_owned(),
        };
        let Some(disk) = disk else { return Ok(self.paid(name, Kind::Vm, price.cost(&Bought::default()))) };
        disk.resolve(self.disk_family(disk), wanted)?;
        if let Some(option) = &wanted.option {
            return Err(unpriced(&format!("option {option}")));
        }
        let size = match disk.size {
            SizeRule::Fixed(size) => Some(size),
            SizeRule::Chosen { .. } | SizeRule::Unknown => wanted.size,
        };
        if size.is_none() && price.charges.iter().any(|charge| matches!(charge.basis, Basis::Size(..))) {
            return Err(unpriced("size"));
        }
        let (iops, throughput) = disk.chosen_parts(&price, wanted);
        if let Some(what) = uncovered(&iops, &throughput) {
            return Err(unpriced(what));
        }
        let cost = price.cost(&Bought { size, iops: iops.amount, throughput: throughput.amount });
        Ok(self.paid(name, Kind::Disk, cost))
    }

    /// What so many completed requests on a disk cost; `None` if they are not charged for.
    #[must_use]
    pub fn requests_cost(&self, name: &str, region: &str, requests: u64) -> Option<Cost> {
        let price = self.price_in(name, region)?;
        let month = price.for_requests(requests)?;
        let dates = price.date.into_iter().collect();
        Some(self.paid(name, Kind::Disk, Cost { month, reductions: Vec::new(), dates, estimated: Vec::new() }))
    }

    fn is_machine(&self, name: &str) -> bool {
        self.vm_entry(name).is_some() || !self.caps_of(name).is_empty()
    }

    /// The provisionable parts of a disk that its prices leave out, each with the regions of such prices.
    pub(crate) fn unpriced(&self, disk: &DiskEntry) -> Vec<String> {
        let is_chosen = disk.is_chosen();
        let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for price in self.prices(&disk.name) {
            let (iops, throughput) = disk.chosen_parts(&price, &Provisioned::default());
            let missing = [(is_chosen.0, iops.left_out()), (is_chosen.1, throughput.left_out())];
            let missing: Vec<String> =
                missing.into_iter().filter(|(chosen, _)| *chosen).filter_map(|part| part.1).collect();
            if !missing.is_empty() {
                let region = price.region.unwrap_or_else(|| "a region not recorded".to_owned());
                found.entry(missing.join(" and ")).or_default().push(region);
            }
        }
        found.into_iter().map(|(missing, regions)| format!("{missing} in {}", some_of(&regions))).collect()
    }

    /// Prices change, and differ by region. So each must have a date and a region, name an entry of the catalog, and be
    /// unique.
    pub(crate) fn check_prices(&self, problems: &mut Vec<CatalogProblem>) {
        let mut seen: BTreeMap<Sold<'_>, String> = BTreeMap::new();
        for priced in &self.prices.each {
            let (price, place) = (&priced.price, self.families[priced.family].at(priced.line));
            let mut tell = |kind, text: String| {
                problems.push(CatalogProblem { place: place.clone(), name: priced.name.clone(), kind, text });
            };
            let disk = self.known_disk(&priced.name);
            if disk.is_none() && !self.is_machine(&priced.name) {
                tell(ProblemKind::Contradiction, "has a price, and is not in the catalog".to_owned());
            }
            if price.region.is_none() {
                let text = format!(
                    "has a price without a region, of {}: write region = \"...\" beside it, or leave the price to the note",
                    price.source
                );
                tell(ProblemKind::Unplaced, text);
            }
            // A list without a date is reported once, with its file.
            if price.date.is_none() && !priced.is_listed {
                let text = format!(
                    "has a price without a date, of {}: write date = \"...\" beside it, or leave the price to the note",
                    price.source
                );
                tell(ProblemKind::Undated, text);
            }
            let is_chosen = disk.map_or((false, false), DiskEntry::is_chosen);
            if has(price, is_iops) && !is_chosen.0 {
                tell(ProblemKind::Contradiction, "is priced by IOPS, which are not provisioned".to_owned());
            }
            if has(price, is_rate) && !is_chosen.1 {
                tell(ProblemKind::Contradiction, "is priced by throughput, which is not provisioned".to_owned());
            }
            if disk.is_none() && has(price, |basis| matches!(basis, Basis::Size(..) | Basis::Requests(_))) {
                tell(ProblemKind::Contradiction, "is priced by its size or its requests, and is no disk".to_owned());
            }
            let is_own = priced.family >= self.builtin_families;
            let sold = (priced.name.as_str(), price.region.as_deref(), price.terms.as_deref(), is_own);
            if let Some(first) = seen.insert(sold, place.clone()) {
                tell(
                    ProblemKind::Duplicate,
                    format!("has a price for the same region at {first}, too; this one counts"),
                );
            }
        }
    }
}

const fn is_iops(basis: &Basis) -> bool {
    matches!(basis, Basis::Iops(_))
}
const fn is_rate(basis: &Basis) -> bool {
    matches!(basis, Basis::Throughput(..))
}

fn has(price: &Price, charged: fn(&Basis) -> bool) -> bool {
    price.charges.iter().any(|charge| charged(&charge.basis))
}

fn uncovered<T: Scalar, U: Scalar>(one: &Chosen<T>, other: &Chosen<U>) -> Option<&'static str> {
    (!one.is_covered()).then_some(one.what).or_else(|| (!other.is_covered()).then_some(other.what))
}

impl DiskEntry {
    /// Whether IOPS and throughput are provisioned, always or as an option.
    fn is_chosen(&self) -> (bool, bool) {
        fn is<T>(figure: Option<&Figure<T>>) -> bool {
            matches!(figure, Some(Figure::Together(found)) if matches!(found.choice, Choice::Provisioned { .. }))
        }
        (is(self.iops.as_ref()) || self.by_iops.is_some(), is(self.throughput.as_ref()))
    }

    /// The provisioned parts, and whether `price` charges for them.
    fn chosen_parts(
        &self,
        price: &Price,
        wanted: &Provisioned,
    ) -> (Chosen<loadline_units::Iops>, Chosen<loadline_units::ByteRate>) {
        fn unasked<T: Scalar>(figure: Option<&Figure<T>>) -> Option<T> {
            match figure? {
                Figure::Together(found) => match found.choice {
                    Choice::Provisioned { default, .. } => default,
                    Choice::None => None,
                },
                Figure::Apart { .. } => None,
            }
        }
        let (iops, throughput) = (unasked(self.iops.as_ref()), unasked(self.throughput.as_ref()));
        (
            Chosen { what: "IOPS", amount: wanted.iops.or(iops), unasked: iops, is_charged: has(price, is_iops) },
            Chosen {
                what: "throughput",
                amount: wanted.throughput.or(throughput),
                unasked: throughput,
                is_charged: has(price, is_rate),
            },
        )
    }
}
