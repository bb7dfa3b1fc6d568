//! Prices: charges as price lists write them, and their sum over a month.

mod bill;
mod columns;
mod commitment;
mod cost;
mod list;
mod lookup;
mod paid;
mod read;
mod rules;
mod updates;

pub use bill::{Item, ItemCost};
pub(crate) use columns::PriceColumns;
pub(crate) use commitment::CommitmentShare;
pub use commitment::CommitmentTerm;
pub(crate) use cost::some_of;
pub use cost::{Cost, CostError, Estimated};
pub use list::{GuardRules, LeftOut, ListChanges, ListOrigin, ListRefusal, PriceChange, PriceList, charge};
pub(crate) use lookup::Prices;
pub use lookup::UsedList;
pub use paid::{Discount, DiscountError, PaidTerms, Reduction, ReductionReason};
pub(crate) use read::{columns, commitments, lists, of_entry};
pub use rules::{PriceCause, PriceProblem};

use crate::figure::{Scalar, decimal};
use loadline_units::{ByteRate, Bytes, Iops, Ratio};

/// Hours of a month, as is usual in price lists: 365 days in twelve parts.
pub const HOURS_PER_MONTH: u64 = 730;
const MONTHS_PER_YEAR: u64 = 12;
/// Amounts are stored in parts of a currency unit: so many in one.
const PARTS: u128 = 1_000_000_000;

/// An amount of money.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Money {
    /// In billionths of the currency's unit.
    billionths: u128,
    currency: Currency,
}

/// A currency by its three letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Currency([u8; 3]);

impl Money {
    /// In billionths of the currency's unit.
    #[must_use]
    pub const fn billionths(self) -> u128 {
        self.billionths
    }
    /// In units of the currency, for comparing and printing.
    #[must_use]
    pub fn amount(self) -> f64 {
        self.billionths as f64 / PARTS as f64
    }
    /// Which currency it is in.
    #[must_use]
    pub const fn currency(self) -> Currency {
        self.currency
    }
    /// Multiplies a cost.
    #[must_use]
    pub const fn times(self, count: u32) -> Self {
        Self { billionths: self.billionths.saturating_mul(count as u128), ..self }
    }
    /// A part of it.
    #[must_use]
    pub fn share(self, share: Ratio) -> Self {
        const MILLION: u128 = 1_000_000;
        let billionths =
            self.billionths.saturating_mul(u128::from(share.as_ppm())).saturating_add(MILLION / 2) / MILLION;
        Self { billionths, ..self }
    }
    /// What is left without a part of it.
    #[must_use]
    pub(crate) const fn less(self, part: Self) -> Self {
        Self { billionths: self.billionths.saturating_sub(part.billionths), ..self }
    }
    /// The sum; `None` if the currencies differ.
    #[must_use]
    pub fn plus(self, other: Self) -> Option<Self> {
        let billionths = self.billionths.saturating_add(other.billionths);
        (self.currency == other.currency).then_some(Self { billionths, ..self })
    }
}

/// Rounded to hundredths, as in "135.17 USD".
impl std::fmt::Display for Money {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let hundredths = (self.billionths + PARTS / 200) / (PARTS / 100);
        f.pad(&format!("{}.{:02} {}", hundredths / 100, hundredths % 100, self.currency))
    }
}

impl Currency {
    /// Three capital letters.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let letters: [u8; 3] = text.as_bytes().try_into().ok()?;
        letters.iter().all(u8::is_ascii_uppercase).then_some(Self(letters))
    }
}

impl std::fmt::Display for Currency {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|letter| write!(f, "{}", char::from(*letter)))
    }
}

/// A price and its entry.
#[derive(Debug, Clone)]
pub(crate) struct Priced {
    /// `provider/name`.
    pub(crate) name: String,
    pub(crate) price: Price,
    /// The index in the catalog of the file that contains it.
    pub(crate) family: usize,
    /// The line of that file.
    pub(crate) line: usize,
    /// Whether it is in a list of prices, whose source and date are the file's.
    pub(crate) is_listed: bool,
}

/// The price of an entry in one region. Invariant: at least one charge, all in one currency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Price {
    /// They add up.
    pub charges: Vec<Charge>,
    /// The region, if known.
    pub region: Option<String>,
    /// The date of the price, if known.
    pub date: Option<String>,
    /// For whom or under which conditions: "Linux, on demand".
    pub terms: Option<String>,
    /// The source of the price.
    pub source: String,
    /// When an update read it, in UTC; `None` of prices that come along or are the user's.
    pub fetched: Option<String>,
}

impl Price {
    /// The charges as they are written: "0.08 USD per GiB-month + 0.005 USD per IOPS-month above 3000 IOPS".
    #[must_use]
    pub fn amount(&self) -> String {
        self.charges.iter().map(Charge::to_string).collect::<Vec<_>>().join(" + ")
    }
    /// The date of the price and, of an updated one, the day on which it was read: "2026-11-27, fetched 2026-11-28".
    #[must_use]
    pub fn dates(&self) -> String {
        let date = self.date.as_deref().unwrap_or("date not recorded");
        let day = self.fetched.as_deref().map(|fetched| fetched.split('T').next().unwrap_or(fetched));
        day.map_or_else(|| date.to_owned(), |day| format!("{date}, fetched {day}"))
    }
}

/// One charge of a price: an amount per unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charge {
    money: Money,
    basis: Basis,
    /// Only the part above this counts, in the basis' smallest unit.
    above: u64,
    /// And no more than this.
    up_to: Option<u64>,
    backing: Backing,
    text: String,
}

/// What stands behind a charge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Backing {
    /// The price's source, at the price's date.
    List,
    /// A list of this earlier date.
    Earlier(String),
    /// No list: an estimate by a rule that held in other regions.
    Estimate,
}

/// The basis of a charge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// For having it.
    Whole(Span),
    /// Per number of bytes of its size.
    Size(u64, Span),
    /// For each request per second that is provisioned.
    Iops(Span),
    /// Per number of provisioned bytes per second.
    Throughput(u64, Span),
    /// Per number of completed requests.
    Requests(u64),
}

/// The time for which one pays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// An hour.
    Hour,
    /// A month of [`HOURS_PER_MONTH`].
    Month,
    /// Twelve months.
    Year,
}

impl Span {
    /// By what an amount is multiplied and divided to be one of a month.
    const fn of_month(self) -> (u64, u64) {
        match self {
            Self::Hour => (HOURS_PER_MONTH, 1),
            Self::Month => (1, 1),
            Self::Year => (1, MONTHS_PER_YEAR),
        }
    }
}

/// Why a text is no charge.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChargeError {
    /// It does not begin with an amount and a currency.
    #[error("does not begin with an amount and a currency's three letters, as in \"0.08 USD per\"")]
    Amount,
    /// The charge has no basis.
    #[error(
        "is per {unit:?}, which is none of month, hour, year, GiB-month, IOPS-month, MiB/s-month and 1000000 requests"
    )]
    Unit {
        /// As written after "per".
        unit: String,
    },
    /// A bound on an unbounded basis, or in another unit.
    #[error("is bounded by {bound:?}, which is no {what}")]
    Bound {
        /// As written.
        bound: String,
        /// The basis.
        what: &'static str,
    },
    /// Nothing lies between its bounds.
    #[error("is for nothing: up to is not above what it begins at")]
    Empty,
}

impl std::str::FromStr for Charge {
    type Err = ChargeError;

    /// Reads "AMOUNT CURRENCY per UNIT", with "above X" and "up to Y" after it. Before it stands "about" if it is an estimate,
    /// and after it "of DATE" if it is of an earlier list than the rest of its price.
    fn from_str(text: &str) -> Result<Self, ChargeError> {
        let (plain, mut backing) = match text.strip_prefix("about ") {
            Some(plain) => (plain, Backing::Estimate),
            None => (text, Backing::List),
        };
        let plain = match plain.split_once(" of ") {
            Some((plain, date)) => {
                backing = Backing::Earlier(date.to_owned());
                plain
            }
            None => plain,
        };
        let (amount, rest) = plain.split_once(" per ").ok_or(ChargeError::Amount)?;
        let money = money(amount).ok_or(ChargeError::Amount)?;
        let (rest, up_to) = rest.split_once(" up to ").map_or((rest, None), |(rest, bound)| (rest, Some(bound)));
        let (unit, above) = rest.split_once(" above ").map_or((rest, None), |(unit, bound)| (unit, Some(bound)));
        let basis = Basis::parse(unit).ok_or_else(|| ChargeError::Unit { unit: unit.to_owned() })?;
        let bound = |text: Option<&str>| text.map(|text| basis.bound(text)).transpose();
        let (above, up_to) = (bound(above)?.unwrap_or(0), bound(up_to)?);
        if up_to.is_some_and(|up_to| up_to <= above) {
            return Err(ChargeError::Empty);
        }
        Ok(Self { money, basis, above, up_to, backing, text: text.to_owned() })
    }
}

impl std::fmt::Display for Charge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.text)
    }
}

fn money(text: &str) -> Option<Money> {
    let (mantissa, scale, currency) = decimal(text)?;
    Some(Money { billionths: mantissa.checked_mul(PARTS / scale)?, currency: Currency::parse(currency)? })
}

impl Basis {
    fn parse(unit: &str) -> Option<Self> {
        const SPANS: [(&str, Span); 3] = [("hour", Span::Hour), ("month", Span::Month), ("year", Span::Year)];
        if let Some(count) = unit.strip_suffix(" requests") {
            return count.parse().ok().filter(|count| *count > 0).map(Self::Requests);
        }
        let span = |word: &str| SPANS.iter().find(|(name, _)| *name == word).map(|(_, span)| *span);
        let Some((of, word)) = unit.rsplit_once('-') else { return span(unit).map(Self::Whole) };
        let (span, one) = (span(word)?, format!("1 {of}"));
        if of == "IOPS" {
            return Some(Self::Iops(span));
        }
        let rate = one.parse::<ByteRate>().ok().map(|rate| Self::Throughput(rate.get(), span));
        rate.or_else(|| one.parse::<Bytes>().ok().map(|size| Self::Size(size.get(), span)))
    }

    /// What it is of, and by what an amount is multiplied and divided to be one of a month.
    fn apart(self) -> (String, u128, u128) {
        let (what, span) = match self {
            Self::Whole(span) => ("whole".to_owned(), Some(span)),
            Self::Size(unit, span) => (format!("size {unit}"), Some(span)),
            Self::Iops(span) => ("iops".to_owned(), Some(span)),
            Self::Throughput(unit, span) => (format!("throughput {unit}"), Some(span)),
            Self::Requests(count) => (format!("requests {count}"), None),
        };
        let (times, divided) = span.map_or((1, 1), Span::of_month);
        (what, times.into(), divided.into())
    }

    /// A bound in the smallest unit.
    fn bound(self, text: &str) -> Result<u64, ChargeError> {
        fn read<T: Scalar + std::str::FromStr>(text: &str) -> Option<u64> {
            text.parse::<T>().ok().map(T::get)
        }
        let (found, what) = match self {
            Self::Size(..) => (read::<Bytes>(text), "size"),
            Self::Iops(_) => (read::<Iops>(text), "request rate"),
            Self::Throughput(..) => (read::<ByteRate>(text), "throughput"),
            Self::Whole(_) | Self::Requests(_) => (None, "bound of what is charged as a whole"),
        };
        found.ok_or_else(|| ChargeError::Bound { bound: text.to_owned(), what })
    }
}

/// The amounts bought, in the smallest units; `None`: nothing of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Bought {
    size: Option<Bytes>,
    iops: Option<Iops>,
    throughput: Option<ByteRate>,
}

impl Charge {
    /// The basis in words.
    #[must_use]
    pub const fn basis(&self) -> Basis {
        self.basis
    }
    /// What stands behind it.
    #[must_use]
    pub const fn backing(&self) -> &Backing {
        &self.backing
    }
    /// The amount of one unit of its basis.
    #[must_use]
    pub const fn money(&self) -> Money {
        self.money
    }

    /// In billionths, of a month; nothing for requests, which are counted as they are made.
    fn monthly(&self, bought: &Bought) -> u128 {
        let (quantity, unit, span) = match self.basis {
            Basis::Whole(span) => (1, 1, span),
            Basis::Size(unit, span) => (self.counted(bought.size.map(Bytes::get)), unit, span),
            Basis::Iops(span) => (self.counted(bought.iops.map(Iops::get)), 1, span),
            Basis::Throughput(unit, span) => (self.counted(bought.throughput.map(ByteRate::get)), unit, span),
            Basis::Requests(_) => return 0,
        };
        let (times, divided) = span.of_month();
        let product = self.money.billionths.saturating_mul(u128::from(quantity)).saturating_mul(u128::from(times));
        let divisor = u128::from(unit) * u128::from(divided);
        product.saturating_add(divisor / 2) / divisor
    }

    fn counted(&self, quantity: Option<u64>) -> u64 {
        let quantity = quantity.unwrap_or(0);
        self.up_to.map_or(quantity, |up_to| quantity.min(up_to)).saturating_sub(self.above)
    }
}

impl Price {
    pub(crate) fn currency(&self) -> Currency {
        self.charges[0].money.currency
    }

    /// What so many completed requests cost; `None` if they are not charged for.
    #[must_use]
    pub fn for_requests(&self, requests: u64) -> Option<Money> {
        let of = |charge: &Charge| match charge.basis {
            Basis::Requests(unit) => {
                Some(charge.money.billionths.saturating_mul(u128::from(requests)) / u128::from(unit))
            }
            _ => None,
        };
        let all: Vec<u128> = self.charges.iter().filter_map(of).collect();
        (!all.is_empty()).then(|| Money { billionths: all.into_iter().sum(), currency: self.currency() })
    }
    /// What it costs an hour, in billionths, if it is charged by the hour as a whole.
    #[must_use]
    pub fn hourly(&self) -> Option<u128> {
        let first = self.charges.first().filter(|charge| matches!(charge.basis, Basis::Whole(Span::Hour)));
        first.map(|charge| charge.money.billionths)
    }
    fn monthly(&self, bought: &Bought) -> Money {
        let billionths = self.charges.iter().fold(0, |sum: u128, charge| sum.saturating_add(charge.monthly(bought)));
        Money { billionths, currency: self.currency() }
    }
}

/// With terms, date, region and source.
impl std::fmt::Display for Price {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let date = self.dates();
        let region = self.region.as_deref().unwrap_or("region not recorded");
        let terms = self.terms.as_ref().map_or(String::new(), |terms| format!("{terms}; "));
        write!(f, "{} ({terms}{date}; {region}; {})", self.amount(), self.source)
    }
}

#[cfg(test)]
mod tests;
