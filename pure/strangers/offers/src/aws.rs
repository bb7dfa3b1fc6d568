//! AWS: offer files (JSON; the same rows as CSV) and the files of its price page.

use crate::answer::{AnswerError, Form, Provider, QuotedItem, Reading, day, is_name, is_region};
use crate::feed::Feed;
use loadline_catalog::LeftOut;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A product of an offer, as far as it says what is sold.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Product {
    #[serde(rename = "productFamily")]
    pub(crate) family: String,
    pub(crate) attributes: Attributes,
}

/// See [`Product`].
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Attributes {
    pub(crate) tenancy: String,
    #[serde(rename = "capacitystatus")]
    pub(crate) capacity: String,
    #[serde(rename = "operatingSystem")]
    pub(crate) system: String,
    #[serde(rename = "preInstalledSw")]
    pub(crate) software: String,
    pub(crate) operation: String,
    #[serde(rename = "marketoption")]
    pub(crate) market: String,
    #[serde(rename = "locationType")]
    pub(crate) location_type: String,
    pub(crate) location: String,
    #[serde(rename = "regionCode")]
    pub(crate) region: String,
    #[serde(rename = "instanceType")]
    pub(crate) machine: String,
    #[serde(rename = "volumeApiName")]
    pub(crate) volume: String,
    #[serde(rename = "usagetype")]
    pub(crate) usage: String,
}

/// A product that is wanted, and what its price is multiplied and divided by.
#[derive(Debug, Clone)]
pub(crate) struct WantedProduct {
    pub(crate) region: String,
    pub(crate) item: QuotedItem,
    pub(crate) scale: (u64, u64),
}

impl Product {
    /// What it is in the catalog's words, or why it is nothing here.
    pub(crate) fn wanted(&self) -> Result<WantedProduct, LeftOut> {
        let feed = Provider::Aws.feed();
        let Self { family, attributes } = self;
        let (item, scale) = match family.as_str() {
            "Compute Instance" | "Compute Instance (bare metal)" => (attributes.machine()?, (1, 1)),
            "Storage" | "System Operation" | "Provisioned Throughput" => attributes.disk(feed)?,
            _ => return Err(LeftOut::OtherProduct),
        };
        if !attributes.location_type.is_empty() && attributes.location_type != "AWS Region" {
            return Err(LeftOut::OtherPlace);
        }
        let code = Some(&attributes.region).filter(|code| !code.is_empty());
        let region = code.or_else(|| feed.places.get(&attributes.location)).ok_or(LeftOut::OtherPlace)?;
        if !is_region(region) {
            return Err(LeftOut::OtherPlace);
        }
        Ok(WantedProduct { region: region.clone(), item, scale })
    }
}

impl Attributes {
    fn machine(&self) -> Result<QuotedItem, LeftOut> {
        let rules = [
            (self.tenancy == "Shared", LeftOut::OtherTenancy),
            (self.capacity == "Used", LeftOut::ReservedCapacity),
            (self.system == "Linux", LeftOut::OtherSystem),
            (self.software == "NA", LeftOut::WithSoftware),
            (self.operation == "RunInstances", LeftOut::WithSoftware),
            (["", "OnDemand"].contains(&self.market.as_str()), LeftOut::Spot),
            (is_name(&self.machine), LeftOut::OtherProduct),
        ];
        match rules.into_iter().find(|(holds, _)| !holds) {
            Some((_, reason)) => Err(reason),
            None => Ok(QuotedItem::Machine { name: self.machine.clone() }),
        }
    }

    fn disk(&self, feed: &Feed) -> Result<(QuotedItem, (u64, u64)), LeftOut> {
        // The region's prefix for billing stands before the usage type.
        let ends = |usage: &str| {
            let rest = self.usage.strip_suffix(usage);
            !usage.is_empty() && rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('-'))
        };
        for (disk, words) in feed.disk.iter().enumerate() {
            if words.volume == self.volume && self.usage.contains("EBS:VolumeUsage") {
                return Ok((QuotedItem::Charge { disk, charge: 0, span: None }, (1, 1)));
            }
            if let Some(charge) = words.charge.iter().position(|charge| ends(&charge.usage)) {
                let of = &words.charge[charge];
                return Ok((QuotedItem::Charge { disk, charge, span: None }, (of.multiply, of.divide)));
            }
        }
        Err(LeftOut::OtherMeter)
    }
}

impl WantedProduct {
    /// Takes its price, in the unit that belongs to it.
    pub(crate) fn price(
        &self,
        reading: &mut Reading,
        (text, unit, currency): (&str, &str, &str),
        since: &str,
    ) -> Result<(), AnswerError> {
        let feed = Provider::Aws.feed();
        let units: &[&str] = match &self.item {
            QuotedItem::Charge { disk, charge, .. } => match feed.disk[*disk].charge[*charge].unit.as_str() {
                "GiB-month" => &["GB-Mo", "GB-month"],
                "IOPS-month" => &["IOPS-Mo", "IOPS-month"],
                "MiB/s-month" => &["GiBps-mo", "GiBps-Mo"],
                _ => &["IOs"],
            },
            _ => &["Hrs", "Hours"],
        };
        if !units.contains(&unit) {
            let unit = unit.chars().take(40).collect();
            return Err(AnswerError::Unit { name: self.item.words(feed), unit });
        }
        if reading.begins(day(since).as_ref()) {
            reading.leave_out(LeftOut::NotYet);
            return Ok(());
        }
        reading.take((self.region.clone(), self.item.clone()), text, self.scale, currency)
    }
}

/// The terms of a product, by their codes.
pub(crate) type Offers = BTreeMap<String, Offer>;

/// One of the terms.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Offer {
    #[serde(rename = "effectiveDate")]
    since: String,
    #[serde(rename = "priceDimensions")]
    dimensions: BTreeMap<String, Dimension>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Dimension {
    unit: String,
    #[serde(rename = "pricePerUnit")]
    price: BTreeMap<String, String>,
}

impl WantedProduct {
    /// Takes the prices of its terms.
    pub(crate) fn offers(&self, reading: &mut Reading, offers: &Offers) -> Result<(), AnswerError> {
        for offer in offers.values() {
            for dimension in offer.dimensions.values() {
                for (currency, text) in &dimension.price {
                    self.price(reading, (text, &dimension.unit, currency), &offer.since)?;
                }
            }
        }
        Ok(())
    }
}

/// What a file of the price page says of itself.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Manifest {
    #[serde(rename = "serviceId")]
    pub(crate) service: String,
    #[serde(rename = "currencyCode")]
    pub(crate) currency: String,
    #[serde(rename = "hawkFilePublicationDate")]
    pub(crate) published: String,
}

/// A row of the price page.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PageRow {
    price: String,
    #[serde(rename = "Instance Type")]
    machine: String,
    #[serde(rename = "Operating System")]
    system: String,
    #[serde(rename = "Pre Installed S/W")]
    software: String,
    #[serde(rename = "LeaseContractLength")]
    lease: String,
}

impl PageRow {
    /// Takes it as the row `key` of a place.
    pub(crate) fn take(&self, reading: &mut Reading, place: &str, key: &str) -> Result<(), AnswerError> {
        reading.form = Some(Form::AwsPage);
        match self.wanted(place, key) {
            Ok(wanted) => reading.take((wanted.region, wanted.item), &self.price, wanted.scale, ""),
            Err(reason) => {
                reading.leave_out(reason);
                Ok(())
            }
        }
    }

    fn wanted(&self, place: &str, key: &str) -> Result<WantedProduct, LeftOut> {
        let feed = Provider::Aws.feed();
        let region = feed.places.get(place).ok_or(LeftOut::OtherPlace)?.clone();
        if self.machine.is_empty() {
            for (disk, words) in feed.disk.iter().enumerate() {
                let named = words.charge.iter().position(|charge| charge.page.iter().any(|page| page == key));
                if let Some(charge) = named {
                    let scale = (words.charge[charge].multiply, words.charge[charge].divide);
                    return Ok(WantedProduct { region, item: QuotedItem::Charge { disk, charge, span: None }, scale });
                }
            }
            return Err(LeftOut::OtherMeter);
        }
        let rules = [
            (self.lease.is_empty(), LeftOut::OtherTerms),
            (self.system == "Linux", LeftOut::OtherSystem),
            (["NA", ""].contains(&self.software.as_str()), LeftOut::WithSoftware),
            (is_name(&self.machine), LeftOut::OtherProduct),
        ];
        if let Some((_, reason)) = rules.into_iter().find(|(holds, _)| !holds) {
            return Err(reason);
        }
        let item = QuotedItem::Machine { name: self.machine.clone() };
        Ok(WantedProduct { region, item, scale: (1, 1) })
    }
}
