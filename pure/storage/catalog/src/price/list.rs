//! A price list as an update keeps it: what a provider's answer says of the machines, or the disks, of one region.

mod changes;
mod guard;

pub use changes::{ListChanges, PriceChange};
pub use guard::{GuardRules, ListRefusal};

use super::Charge;
use crate::catalog::Kind;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Prices of one kind in one region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceList {
    /// The provider, as catalog names begin.
    pub provider: String,
    /// The region, as the provider writes it.
    pub region: String,
    /// Machines or disks.
    pub kind: Kind,
    /// For whom: "Linux, on demand".
    pub terms: String,
    /// Where it is from.
    pub origin: ListOrigin,
    /// Prices by names without the provider.
    pub prices: BTreeMap<String, Vec<Charge>>,
    /// Rows of the answer that were taken.
    pub kept: u64,
    /// Rows of the answer that were not, by reason.
    pub left_out: BTreeMap<LeftOut, u64>,
}

/// Where a list is from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListOrigin {
    /// Where the answer is published, without keys.
    pub source: String,
    /// The list's own date, `2026-11-27`.
    pub date: String,
    /// When it was read, in UTC.
    pub fetched: String,
    /// BLAKE3 of the answers, in hexadecimal digits.
    pub digest: String,
    /// The version of loadline that read it.
    pub version: String,
}

/// Why a row of an answer is no price here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LeftOut {
    /// Neither a machine nor a disk.
    OtherProduct,
    /// A disk's price of something else: snapshots, zone redundancy, mounts.
    OtherMeter,
    /// Windows or another system with a licence.
    OtherSystem,
    /// A system with software on it.
    WithSoftware,
    /// Tenancy that is not shared.
    OtherTenancy,
    /// Capacity that is reserved, used or not.
    ReservedCapacity,
    /// Spot and low priority.
    Spot,
    /// Reservations, savings plans, commitments, prices for tests.
    OtherTerms,
    /// Local zones, other partitions and regions without a known code.
    OtherPlace,
    /// A region or provider that was not asked for.
    NotAskedFor,
    /// A price to come.
    NotYet,
    /// A price that has ended.
    Ended,
    /// A price of 0: the included part, or no price.
    Zero,
    /// The same row once more.
    Repeated,
    /// A second meter of the same product.
    SecondMeter,
    /// A part whose product could not be checked against known prices.
    Unchecked,
    /// A product whose limits the catalog does not have.
    NotInCatalog,
}

impl LeftOut {
    /// Every reason.
    pub const ALL: [Self; 17] = [
        Self::OtherProduct,
        Self::OtherMeter,
        Self::OtherSystem,
        Self::WithSoftware,
        Self::OtherTenancy,
        Self::ReservedCapacity,
        Self::Spot,
        Self::OtherTerms,
        Self::OtherPlace,
        Self::NotAskedFor,
        Self::NotYet,
        Self::Ended,
        Self::Zero,
        Self::Repeated,
        Self::SecondMeter,
        Self::Unchecked,
        Self::NotInCatalog,
    ];

    /// A stable word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OtherProduct => "other-product",
            Self::OtherMeter => "other-meter",
            Self::OtherSystem => "other-system",
            Self::WithSoftware => "with-software",
            Self::OtherTenancy => "other-tenancy",
            Self::ReservedCapacity => "reserved-capacity",
            Self::Spot => "spot",
            Self::OtherTerms => "other-terms",
            Self::OtherPlace => "other-place",
            Self::NotAskedFor => "not-asked-for",
            Self::NotYet => "not-yet",
            Self::Ended => "ended",
            Self::Zero => "zero",
            Self::Repeated => "repeated",
            Self::SecondMeter => "second-meter",
            Self::Unchecked => "unchecked",
            Self::NotInCatalog => "not-in-catalog",
        }
    }
}

impl PriceList {
    /// Charges of all its prices.
    #[must_use]
    pub fn charges(&self) -> usize {
        self.prices.values().map(Vec::len).sum()
    }

    /// The word for what it lists, as in its file's name.
    #[must_use]
    pub const fn family(&self) -> &'static str {
        family(self.kind)
    }

    /// The list as a catalog file of the kind `prices`.
    #[must_use]
    pub fn text(&self) -> String {
        let Self { provider, region, terms, origin, .. } = self;
        let family = self.family();
        let mut text = format!(
            "# Written by `loadline catalog update`, which replaces it: prices of your own belong in another folder.\n\
             schema = 1\nkind = \"prices\"\nprovider = {}\nfamily = \"updated-{family}\"\ntitle = \"Updated prices of {family}\"\n\
             source = {}\ndate = {}\nterms = {}\n\n[update]\nfetched = {}\nblake3 = {}\nloadline = {}\nkept = {}\n",
            quoted(provider),
            quoted(&origin.source),
            quoted(&origin.date),
            quoted(terms),
            quoted(&origin.fetched),
            quoted(&origin.digest),
            quoted(&origin.version),
            self.kept,
        );
        let left_out: Vec<String> =
            self.left_out.iter().map(|(reason, rows)| format!("{} = {rows}", reason.name())).collect();
        let _ = writeln!(text, "left_out = {{ {} }}\n\n[region.{}]", left_out.join(", "), quoted(region));
        for (name, charges) in &self.prices {
            let charges: Vec<String> = charges.iter().map(|charge| quoted(&charge.to_string())).collect();
            let _ = match charges.as_slice() {
                [one] => writeln!(text, "{} = {one}", quoted(name)),
                several => writeln!(text, "{} = [{}]", quoted(name), several.join(", ")),
            };
        }
        text
    }
}

/// The word for a kind in lists and their files' names.
const fn family(kind: Kind) -> &'static str {
    match kind {
        Kind::Disk => "disks",
        Kind::Vm => "machines",
    }
}

/// A text as TOML writes it.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// An amount of money per unit, as a charge of a price. `bounds` are written after it: "above 3000 IOPS".
///
/// # Errors
/// As when a [`Charge`] is read.
pub fn charge(billionths: u64, currency: &str, unit: &str, bounds: &str) -> Result<Charge, super::ChargeError> {
    let (whole, rest) = (billionths / 1_000_000_000, billionths % 1_000_000_000);
    let fraction = format!("{rest:09}");
    let amount = format!("{whole}.{fraction}");
    let amount = amount.trim_end_matches('0').trim_end_matches('.');
    let bounds = if bounds.is_empty() { String::new() } else { format!(" {bounds}") };
    format!("{amount} {currency} per {unit}{bounds}").parse()
}
