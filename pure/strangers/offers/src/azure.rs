//! Azure: items of its retail prices.

use crate::answer::{AnswerError, Form, Provider, QuotedItem, Reading, day, is_name, is_region};
use crate::feed::Feed;
use loadline_catalog::LeftOut;

/// An item, as far as it says what is sold. Its fields come one by one, as JSON has them.
#[derive(Debug, Default)]
pub(crate) struct RetailItem {
    currency: String,
    minimum: String,
    price: String,
    region: String,
    since: String,
    until: String,
    meter: String,
    sku: String,
    product: String,
    service: String,
    unit: String,
    terms: String,
    machine: String,
    is_primary: Option<bool>,
}

impl RetailItem {
    /// The field of a key that holds a text.
    pub(crate) fn field(&mut self, key: &str) -> Option<&mut String> {
        Some(match key {
            "currencyCode" => &mut self.currency,
            "tierMinimumUnits" => &mut self.minimum,
            "retailPrice" => &mut self.price,
            "armRegionName" => &mut self.region,
            "effectiveStartDate" => &mut self.since,
            "effectiveEndDate" => &mut self.until,
            "meterName" => &mut self.meter,
            "skuName" => &mut self.sku,
            "productName" => &mut self.product,
            "serviceName" => &mut self.service,
            "unitOfMeasure" => &mut self.unit,
            "type" => &mut self.terms,
            "armSkuName" => &mut self.machine,
            _ => return None,
        })
    }
    pub(crate) const fn primary(&mut self) -> &mut Option<bool> {
        &mut self.is_primary
    }
    /// Whether it is an item at all.
    pub(crate) fn is_there(&self) -> bool {
        !self.price.is_empty() && !self.meter.is_empty()
    }

    /// Takes it, or counts why not.
    pub(crate) fn take(&self, reading: &mut Reading) -> Result<(), AnswerError> {
        reading.form = Some(Form::AzureRetail);
        let is_to_come = reading.begins(day(&self.since).as_ref());
        match self.wanted(reading, is_to_come) {
            Ok(item) => {
                let (item, taken) = (self.in_unit(item)?, reading.quotes.len());
                reading.take((self.region.clone(), item), &self.price, (1, 1), &self.currency)?;
                reading.quotes[taken..].iter_mut().for_each(|quote| quote.is_second = self.is_primary == Some(false));
                Ok(())
            }
            Err(reason) => {
                reading.leave_out(reason);
                Ok(())
            }
        }
    }

    fn wanted(&self, reading: &Reading, is_to_come: bool) -> Result<QuotedItem, LeftOut> {
        let feed = Provider::Azure.feed();
        let item = match self.service.as_str() {
            "Virtual Machines" => self.machine(feed)?,
            "Storage" => self.disk(feed)?,
            _ => return Err(LeftOut::OtherProduct),
        };
        let is_before = |until: &String| *until <= reading.today;
        let rules = [
            (self.terms == "Consumption", LeftOut::OtherTerms),
            (is_region(&self.region), LeftOut::OtherPlace),
            (!is_to_come, LeftOut::NotYet),
            (!day(&self.until).is_some_and(|until| is_before(&until)), LeftOut::Ended),
        ];
        rules.into_iter().find(|(holds, _)| !holds).map_or(Ok(item), |(_, reason)| Err(reason))
    }

    fn machine(&self, feed: &Feed) -> Result<QuotedItem, LeftOut> {
        let names = [&self.sku, &self.meter];
        let has = |word: &str| names.iter().any(|name| name.contains(word));
        let of_services = ["CloudServices", "Cloud Services"].iter().any(|word| self.product.contains(word));
        let word = feed.machine.as_ref().map_or("", |words| words.word.as_str());
        let name = self.machine.strip_prefix(word).unwrap_or(&self.machine);
        let name = name.to_ascii_lowercase().replace(['_', ' '], "-");
        let rules = [
            (!self.product.ends_with(" Windows"), LeftOut::OtherSystem),
            (!has("Spot") && !has("Low Priority"), LeftOut::Spot),
            (!of_services, LeftOut::OtherProduct),
            (!self.product.contains("Dedicated Host"), LeftOut::OtherTenancy),
            (is_name(&name), LeftOut::OtherProduct),
        ];
        match rules.into_iter().find(|(holds, _)| !holds) {
            Some((_, reason)) => Err(reason),
            None => Ok(QuotedItem::Machine { name }),
        }
    }

    fn disk(&self, feed: &Feed) -> Result<QuotedItem, LeftOut> {
        if let Some(tiered) = feed.tiered.iter().position(|words| words.product == self.product) {
            let (meter, operations) =
                self.meter.strip_suffix(" Operations").map_or((self.meter.as_str(), false), |meter| (meter, true));
            let tier = meter.strip_suffix(" LRS Disk").ok_or(LeftOut::OtherMeter)?.to_ascii_lowercase();
            let is_tier = is_name(&tier) && tier.bytes().all(|byte| byte.is_ascii_alphanumeric());
            return if is_tier { Ok(QuotedItem::Tier { tiered, tier, operations }) } else { Err(LeftOut::OtherMeter) };
        }
        let disk = feed.disk.iter().position(|words| words.product == self.product).ok_or(LeftOut::OtherProduct)?;
        let charge = feed.disk[disk].charge.iter().position(|charge| charge.meter == self.meter);
        charge.map(|charge| QuotedItem::Charge { disk, charge, span: None }).ok_or(LeftOut::OtherMeter)
    }

    /// The item with the time for which one pays; refused in a unit that does not belong to it.
    fn in_unit(&self, item: QuotedItem) -> Result<QuotedItem, AnswerError> {
        let unit = self.unit.as_str();
        let item = match item {
            QuotedItem::Charge { disk, charge, .. } => {
                let span = ["1/Hour", "1 GiB/Hour", "1 GB/Hour"].contains(&unit).then_some("hour");
                let span = span.or_else(|| ["1/Month", "1 GiB/Month", "1 GB/Month"].contains(&unit).then_some("month"));
                span.map(|span| QuotedItem::Charge { disk, charge, span: Some(span) }).ok_or(item)
            }
            QuotedItem::Tier { operations: true, .. } if ["10K", "10K/Month"].contains(&unit) => Ok(item),
            QuotedItem::Tier { operations: false, .. } if ["1/Month", "1 /Month"].contains(&unit) => Ok(item),
            QuotedItem::Machine { .. } if ["1 Hour", "1/Hour"].contains(&unit) => Ok(item),
            _ => Err(item),
        };
        item.map_err(|item| AnswerError::Unit {
            name: item.words(Provider::Azure.feed()),
            unit: unit.chars().take(40).collect(),
        })
    }
}
