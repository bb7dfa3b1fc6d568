//! Google Cloud: SKUs of its billing catalog.

use crate::amount::AmountError;
use crate::answer::{AnswerError, Form, Provider, QuotedItem, Reading, day, is_region};
use loadline_catalog::LeftOut;
use serde::Deserialize;

/// Words of SKUs that are sold otherwise, or made otherwise.
const OTHERWISE: [&str; 9] = [
    "Regional",
    "High Availability",
    "Confidential",
    "Storage Pool",
    "Custom",
    "Sole Tenancy",
    "Reserved",
    "Commitment",
    "Preemptible",
];
const BILLIONTHS: u64 = 1_000_000_000;

/// A SKU, as far as it says what is sold.
#[derive(Debug, Default)]
pub(crate) struct Sku {
    pub(crate) description: String,
    pub(crate) category: Category,
    pub(crate) regions: Vec<String>,
    pub(crate) pricing: Vec<Pricing>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Category {
    #[serde(rename = "usageType")]
    usage: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Pricing {
    #[serde(rename = "effectiveTime")]
    since: String,
    #[serde(rename = "pricingExpression")]
    expression: Expression,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Expression {
    #[serde(rename = "usageUnit")]
    unit: String,
    #[serde(rename = "tieredRates")]
    rates: Vec<Rate>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Rate {
    #[serde(rename = "unitPrice")]
    price: UnitPrice,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct UnitPrice {
    #[serde(rename = "currencyCode")]
    currency: String,
    units: String,
    nanos: String,
}

impl UnitPrice {
    /// In billionths.
    fn amount(&self) -> Result<u64, AmountError> {
        let part = |text: &str| match text {
            "" => Ok(0),
            text if text.starts_with('-') => Err(AmountError::Negative),
            text => text.parse::<u64>().map_err(|_| AmountError::NotANumber),
        };
        let (units, nanos) = (part(&self.units)?, part(&self.nanos)?);
        if nanos >= BILLIONTHS {
            return Err(AmountError::NotANumber);
        }
        units.checked_mul(BILLIONTHS).and_then(|whole| whole.checked_add(nanos)).ok_or(AmountError::TooLarge)
    }
}

impl Sku {
    /// Whether it is a SKU at all.
    pub(crate) fn is_there(&self) -> bool {
        !self.description.is_empty() && !self.pricing.is_empty()
    }

    /// Takes it in each of its regions, or counts why not.
    pub(crate) fn take(&self, reading: &mut Reading) -> Result<(), AnswerError> {
        reading.form = Some(Form::GcpSkus);
        let is_to_come = reading.begins(day(&self.pricing[0].since).as_ref());
        let item = match self.wanted() {
            Ok(item) => item,
            Err(reason) => {
                reading.leave_out(reason);
                return Ok(());
            }
        };
        let expression = &self.pricing[0].expression;
        let name = || item.words(Provider::Gcp.feed());
        let units: &[&str] = match &item {
            QuotedItem::Core { .. } => &["h"],
            QuotedItem::Memory { .. } => &["GiBy.h"],
            QuotedItem::Charge { charge: 0, .. } => &["GiBy.mo"],
            _ => &["mo", "MiBy/s.mo", "count.mo"],
        };
        if !units.contains(&expression.unit.as_str()) {
            return Err(AnswerError::Unit { name: name(), unit: expression.unit.chars().take(40).collect() });
        }
        if is_to_come {
            reading.leave_out(LeftOut::NotYet);
            return Ok(());
        }
        let (mut amount, mut currency) = (0, "");
        // The first tier above 0: a free part is the account's and not the product's.
        for rate in &expression.rates {
            let found = rate.price.amount().map_err(|source| AnswerError::Amount {
                name: name(),
                text: format!("{} units and {} nanos", rate.price.units, rate.price.nanos),
                source,
            })?;
            if amount == 0 {
                (amount, currency) = (found, rate.price.currency.as_str());
            }
        }
        for region in &self.regions {
            if is_region(region) && region != "global" {
                reading.put(region.clone(), item.clone(), amount, currency);
            } else {
                reading.leave_out(LeftOut::OtherPlace);
            }
        }
        Ok(())
    }

    fn wanted(&self) -> Result<QuotedItem, LeftOut> {
        let feed = Provider::Gcp.feed();
        let is = |words: &str| {
            let place = self.description.strip_prefix(words);
            place
                .is_some_and(|place| place.is_empty() || place.starts_with(" in ") || place.starts_with(" running in "))
        };
        let item = feed
            .family
            .iter()
            .enumerate()
            .find_map(|(family, words)| {
                let core = is(&words.core).then_some(QuotedItem::Core { family });
                core.or_else(|| is(&words.memory).then_some(QuotedItem::Memory { family }))
            })
            .or_else(|| {
                feed.disk.iter().enumerate().find_map(|(disk, words)| {
                    let charge = words.charge.iter().position(|charge| is(&charge.description))?;
                    Some(QuotedItem::Charge { disk, charge, span: None })
                })
            })
            .ok_or(LeftOut::OtherProduct)?;
        if self.category.usage == "Preemptible" {
            return Err(LeftOut::Spot);
        }
        if self.category.usage != "OnDemand" || OTHERWISE.iter().any(|word| self.description.contains(word)) {
            return Err(LeftOut::OtherTerms);
        }
        Ok(item)
    }
}
