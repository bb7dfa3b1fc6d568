//! One answer: its form, told by content, and the rows that were taken from it.

use crate::amount::{AmountError, billionths};
use crate::feed::Feed;
use loadline_catalog::{Kind, LeftOut};
use std::collections::BTreeMap;
use std::io;

/// Who answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Provider {
    /// Amazon Web Services.
    Aws,
    /// Microsoft Azure.
    Azure,
    /// Google Cloud.
    Gcp,
}

impl Provider {
    /// Every provider.
    pub const ALL: [Self; 3] = [Self::Aws, Self::Azure, Self::Gcp];

    /// As names of the catalog begin.
    #[must_use]
    pub fn name(self) -> &'static str {
        &self.feed().provider
    }

    /// The currencies in which it lists prices, the usual one first.
    #[must_use]
    pub fn currencies(self) -> &'static [String] {
        &self.feed().currencies
    }
}

/// What an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// An AWS offer file, JSON.
    AwsOffer,
    /// An AWS offer file, CSV.
    AwsOfferCsv,
    /// A file of AWS's price page.
    AwsPage,
    /// Azure's retail prices.
    AzureRetail,
    /// SKUs of Google's billing catalog.
    GcpSkus,
}

impl Form {
    /// In words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::AwsOffer => "AWS offer file (JSON)",
            Self::AwsOfferCsv => "AWS offer file (CSV)",
            Self::AwsPage => "file of AWS's price page",
            Self::AzureRetail => "Azure retail prices",
            Self::GcpSkus => "SKUs of Google's billing catalog",
        }
    }
    /// Whose it is.
    #[must_use]
    pub const fn provider(self) -> Provider {
        match self {
            Self::AwsOffer | Self::AwsOfferCsv | Self::AwsPage => Provider::Aws,
            Self::AzureRetail => Provider::Azure,
            Self::GcpSkus => Provider::Gcp,
        }
    }
    /// Where such answers are published.
    pub(crate) const fn source(self) -> &'static str {
        match self {
            Self::AwsOffer | Self::AwsOfferCsv => {
                "https://pricing.us-east-1.amazonaws.com/offers/v1.0/aws/AmazonEC2/current/region_index.json"
            }
            Self::AwsPage => "https://b0.p.awsstatic.com/pricing/2.0/meteredUnitMaps/ec2/USD/current/",
            Self::AzureRetail => "https://prices.azure.com/api/retail/prices",
            Self::GcpSkus => "https://cloudbilling.googleapis.com/v1/services/6F81-5844-456A/skus",
        }
    }
}

/// A row that was taken.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quote {
    /// The region's code.
    pub region: String,
    /// What is sold.
    pub item: QuotedItem,
    /// In billionths.
    pub amount: u64,
    /// Its three letters.
    pub currency: String,
    /// It is of a meter that is shared: another row of the same thing counts before it, if there is one.
    pub is_second: bool,
}

/// What a row is the price of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum QuotedItem {
    /// A machine for an hour.
    Machine {
        /// Its name in the catalog, without the provider.
        name: String,
    },
    /// A charge of a disk, by their places in the provider's words.
    Charge {
        /// Which disk.
        disk: usize,
        /// Which of its charges.
        charge: usize,
        /// For which time, where the row says so: "hour" or "month".
        span: Option<&'static str>,
    },
    /// A disk of a tier for a month, or 10,000 operations on it.
    Tier {
        /// Which kind of disk, by its place in the provider's words.
        tiered: usize,
        /// The tier in lower case.
        tier: String,
        /// Whether it is of operations.
        operations: bool,
    },
    /// A core of a family for an hour.
    Core {
        /// Its place in the provider's words.
        family: usize,
    },
    /// A GiB of memory of a family for an hour.
    Memory {
        /// Its place in the provider's words.
        family: usize,
    },
}

/// What was taken from one answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceAnswer {
    /// What it is.
    pub form: Form,
    /// The rows that were taken.
    pub quotes: Vec<Quote>,
    /// What has a price of 0 in a region.
    pub zeros: Vec<(String, QuotedItem)>,
    /// Rows that were not taken, by reason.
    pub left_out: BTreeMap<LeftOut, u64>,
    /// The date that the answer gives itself, or the newest day from which any of its rows holds.
    pub date: Option<String>,
    /// Where the next page of it is, if there is one.
    pub next: Option<String>,
}

/// Why an answer is not read.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// Its content is of no known form.
    #[error(
        "is no provider's answer: it begins with {begins:?}; pass an AWS offer file or price page, Azure retail prices, or SKUs of Google's \
         billing catalog, as they were sent"
    )]
    Unknown {
        /// Its first characters.
        begins: String,
    },
    /// It is a list of whole machines in YAML.
    #[error("is a list in YAML, which is not read here; pass the SKUs of Google's billing catalog (JSON) instead")]
    Yaml,
    /// It is empty.
    #[error("is empty; fetch it once more")]
    Empty,
    /// It has limits of machines.
    #[error("has limits of machines and no prices; pass it as such")]
    Limits,
    /// It is an index of files and has no prices.
    #[error("is an index without prices; fetch the file that it names for a region (currentVersionUrl), and pass that")]
    Index,
    /// It has no prices of machines or disks at all.
    #[error("has no prices of machines or disks; fetch it once more, or pass another file")]
    NoPrices,
    /// The offer is of another service.
    #[error("is the offer {offer:?}; pass that of AmazonEC2")]
    OtherOffer {
        /// The code of the offer.
        offer: String,
    },
    /// The provider refused to answer.
    #[error("is a refusal of the provider: {message:?}; mend that, and fetch it once more")]
    Refused {
        /// What the provider says.
        message: String,
    },
    /// Terms stand before products.
    #[error(
        "has its terms before its products: to choose among its prices all of them would have to be kept; fetch it once more from AWS, \
         which writes products first"
    )]
    TermsFirst,
    /// A product is there twice.
    #[error("has the product {sku} twice; fetch it once more")]
    Twice {
        /// Its SKU.
        sku: String,
    },
    /// A price is no amount.
    #[error("has {text:?} as the price of {name}, which {source}; fetch it once more")]
    Amount {
        /// What it is the price of.
        name: String,
        /// As written.
        text: String,
        /// Why not.
        source: AmountError,
    },
    /// A price is in a unit that is not understood.
    #[error(
        "has the price of {name} in the unit {unit:?}, which is not known for it; report it, the list may have changed its form"
    )]
    Unit {
        /// What it is the price of.
        name: String,
        /// As written.
        unit: String,
    },
    /// A line of a comma-separated file.
    #[error("line {line} {problem}; fetch it once more")]
    Line {
        /// Counted from 1.
        line: u64,
        /// What is wrong.
        problem: &'static str,
    },
    /// It is cut off, or no JSON.
    #[error("is cut off or broken: {0}; fetch it once more")]
    Json(#[from] serde_json::Error),
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Read(#[from] io::Error),
}

/// An answer that is being read.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) today: String,
    pub(crate) form: Option<Form>,
    pub(crate) quotes: Vec<Quote>,
    zeros: Vec<(String, QuotedItem)>,
    left_out: BTreeMap<LeftOut, u64>,
    pub(crate) date: Option<String>,
    /// The newest day from which a row holds.
    newest: Option<String>,
    pub(crate) next: Option<String>,
    /// Of quotes whose rows have none.
    pub(crate) currency: Option<String>,
    /// It was seen to be an index of files.
    pub(crate) is_index: bool,
    /// It was seen to have limits of machines.
    pub(crate) has_limits: bool,
    /// What went wrong within serde, whose errors have no room for it.
    pub(crate) error: Option<AnswerError>,
    /// Everything wanted was read: the rest is not.
    pub(crate) is_done: bool,
}

impl Reading {
    pub(crate) fn new(today: &str) -> Self {
        Self {
            today: today.to_owned(),
            form: None,
            quotes: Vec::new(),
            zeros: Vec::new(),
            left_out: BTreeMap::new(),
            date: None,
            newest: None,
            next: None,
            currency: None,
            is_index: false,
            has_limits: false,
            error: None,
            is_done: false,
        }
    }

    /// Notes from when a row of a live answer holds; whether that is still to come.
    pub(crate) fn begins(&mut self, since: Option<&String>) -> bool {
        let is_to_come = since.is_some_and(|since| *since > self.today);
        if !is_to_come {
            self.newest = self.newest.take().max(since.cloned());
        }
        is_to_come
    }

    pub(crate) fn leave_out(&mut self, reason: LeftOut) {
        *self.left_out.entry(reason).or_default() += 1;
    }

    /// Takes a row: its price as text, times `multiply`, by `divide`.
    pub(crate) fn take(
        &mut self,
        (region, item): (String, QuotedItem),
        text: &str,
        (multiply, divide): (u64, u64),
        currency: &str,
    ) -> Result<(), AnswerError> {
        let named = |source| AnswerError::Amount {
            name: item.words(self.form.map_or(Provider::Aws, Form::provider).feed()),
            text: text.chars().take(60).collect(),
            source,
        };
        let amount = billionths(text).map_err(named)?;
        let amount = u128::from(amount) * u128::from(multiply);
        let amount = (amount + u128::from(divide) / 2) / u128::from(divide);
        let amount = u64::try_from(amount).map_err(|_| named(AmountError::TooLarge))?;
        self.put(region, item, amount, currency);
        Ok(())
    }

    /// Takes a row with its amount.
    pub(crate) fn put(&mut self, region: String, item: QuotedItem, amount: u64, currency: &str) {
        if amount == 0 {
            self.leave_out(LeftOut::Zero);
            self.zeros.push((region, item));
            return;
        }
        let currency = currency.chars().take(8).collect();
        self.quotes.push(Quote { region, item, amount, currency, is_second: false });
    }

    pub(crate) fn finish(mut self) -> Result<PriceAnswer, AnswerError> {
        if self.has_limits {
            return Err(AnswerError::Limits);
        }
        let Some(form) = self.form else {
            return Err(if self.is_index { AnswerError::Index } else { AnswerError::NoPrices });
        };
        if self.quotes.is_empty() && self.zeros.is_empty() && self.left_out.is_empty() && self.next.is_none() {
            return Err(if self.is_index { AnswerError::Index } else { AnswerError::NoPrices });
        }
        if let Some(currency) = &self.currency {
            self.quotes
                .iter_mut()
                .filter(|quote| quote.currency.is_empty())
                .for_each(|quote| quote.currency.clone_from(currency));
        }
        let Self { quotes, zeros, left_out, date, newest, next, .. } = self;
        let date = date.or(newest);
        Ok(PriceAnswer { form, quotes, zeros, left_out, date, next })
    }
}

impl QuotedItem {
    /// What its list is of.
    pub(crate) const fn kind(&self) -> Kind {
        match self {
            Self::Machine { .. } | Self::Core { .. } | Self::Memory { .. } => Kind::Vm,
            Self::Charge { .. } | Self::Tier { .. } => Kind::Disk,
        }
    }
    /// A name for people.
    pub(crate) fn words(&self, feed: &Feed) -> String {
        match self {
            Self::Machine { name, .. } => name.clone(),
            Self::Charge { disk, charge, .. } => {
                let words = &feed.disk[*disk];
                format!("{}, per {}", words.names[0], words.charge[*charge].unit)
            }
            Self::Tier { tiered, tier, operations } => {
                let of = if *operations { ", operations" } else { "" };
                format!("{}{tier}{of}", feed.tiered[*tiered].names[0])
            }
            Self::Core { family } => format!("a core of {}", feed.family[*family].name),
            Self::Memory { family } => format!("memory of {}", feed.family[*family].name),
        }
    }
}

/// The day of a time in UTC, if it is one.
pub(crate) fn day(text: &str) -> Option<String> {
    let day = text.get(..10)?;
    loadline_units::Date::of_text(day).map(|_| day.to_owned())
}

/// Whether a text can be a name of a machine in the catalog.
pub(crate) fn is_name(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
    (1..=60).contains(&text.len()) && text.chars().all(fits)
}

/// Whether a text can be a region's code, and so the name of a folder.
pub(crate) fn is_region(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (2..=40).contains(&text.len()) && text.chars().all(fits) && text.starts_with(|c: char| c.is_ascii_lowercase())
}
