//! Answers in JSON, streamed: every form has keys of its own, so one pass tells what an answer is and reads it.
//!
//! An AWS offer has `products` before `terms`: the products that are wanted are kept, then their terms are taken, and the rest, which is
//! mostly reservations, is not read.

use crate::answer::{AnswerError, Form, Reading, day};
use crate::aws::{Manifest, Offers, PageRow, Product, WantedProduct};
use crate::azure::RetailItem;
use crate::gcp::Sku;
use crate::text_numbers::TextNumbers;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;
use std::io::BufRead;

/// Reads an answer, or several after one another (JSON lines), into `reading`.
pub(crate) fn read(input: impl BufRead, reading: &mut Reading) -> Result<(), AnswerError> {
    let mut json = serde_json::Deserializer::from_reader(TextNumbers::new(input));
    let mut products = None;
    loop {
        let read = Element { reading, products: &mut products }.deserialize(&mut json);
        if let Some(error) = reading.error.take() {
            return Err(error);
        }
        if reading.is_done {
            return Ok(());
        }
        read?;
        if json.end().is_ok() {
            return Ok(());
        }
    }
}

/// Products that are wanted, by SKU; `None`: none were read yet.
type Products = Option<BTreeMap<String, WantedProduct>>;

/// An answer, a page of it, an item of it, or a list of these.
struct Element<'r> {
    reading: &'r mut Reading,
    products: &'r mut Products,
}

impl Element<'_> {
    fn again(&mut self) -> Element<'_> {
        Element { reading: &mut *self.reading, products: &mut *self.products }
    }

    /// Ends the reading with an error that serde's errors have no room for.
    fn fail<E: serde::de::Error>(&mut self, error: AnswerError) -> E {
        self.reading.error = Some(error);
        E::custom("")
    }

    /// A key of the whole of an answer; `false`: it is none.
    fn of_answer<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<bool, A::Error> {
        match key {
            "offerCode" => {
                let offer: String = map.next_value()?;
                if offer != "AmazonEC2" {
                    return Err(self.fail(AnswerError::OtherOffer { offer: offer.chars().take(60).collect() }));
                }
            }
            "publicationDate" => self.reading.date = day(&map.next_value::<String>()?),
            "products" => {
                self.reading.form = Some(Form::AwsOffer);
                map.next_value_seed(ProductMap(self.again()))?;
            }
            "terms" if self.products.is_none() => return Err(self.fail(AnswerError::TermsFirst)),
            "terms" => map.next_value_seed(Terms(self.again()))?,
            "manifest" => {
                let Manifest { service, currency, published } = map.next_value()?;
                if service != "ec2" {
                    return Err(self.fail(AnswerError::OtherOffer { offer: service.chars().take(60).collect() }));
                }
                (self.reading.currency, self.reading.date) = (Some(currency), day(&published));
            }
            "regions" => map.next_value_seed(Places(self.again()))?,
            "Items" => {
                self.reading.form = Some(Form::AzureRetail);
                map.next_value_seed(self.again())?;
            }
            "skus" => {
                self.reading.form = Some(Form::GcpSkus);
                map.next_value_seed(self.again())?;
            }
            "NextPageLink" | "nextPageToken" => {
                self.reading.next = map.next_value::<Option<String>>()?.filter(|next| !next.is_empty());
            }
            "error" | "Error" => {
                let Refusal { message, upper } = map.next_value()?;
                let message = if message.is_empty() { upper } else { message };
                let message = message.chars().filter(|c| !c.is_control()).take(200).collect();
                return Err(self.fail(AnswerError::Refused { message }));
            }
            "InstanceTypes" | "capabilities" | "Capabilities" => {
                self.reading.has_limits = true;
                map.next_value::<IgnoredAny>()?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// What providers answer in place of prices.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Refusal {
    message: String,
    #[serde(rename = "Message")]
    upper: String,
}

impl<'de> DeserializeSeed<'de> for Element<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Element<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an answer of a provider, or a list of them")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut sequence: A) -> Result<(), A::Error> {
        while sequence.next_element_seed(self.again())?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let (mut item, mut sku) = (RetailItem::default(), Sku::default());
        while let Some(key) = map.next_key::<String>()? {
            if self.of_answer(&key, &mut map)? {
                continue;
            }
            if let Some(field) = item.field(&key) {
                *field = map.next_value::<Option<String>>()?.unwrap_or_default();
                continue;
            }
            match key.as_str() {
                "isPrimaryMeterRegion" => *item.primary() = map.next_value()?,
                "description" => sku.description = map.next_value::<Option<String>>()?.unwrap_or_default(),
                "category" => sku.category = map.next_value()?,
                "serviceRegions" => sku.regions = map.next_value()?,
                "pricingInfo" => sku.pricing = map.next_value()?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        let taken = if item.is_there() {
            item.take(self.reading)
        } else if sku.is_there() {
            sku.take(self.reading)
        } else {
            Ok(())
        };
        taken.map_err(|error| self.fail(error))
    }
}

/// `products` of an offer.
struct ProductMap<'r>(Element<'r>);

impl<'de> DeserializeSeed<'de> for ProductMap<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ProductMap<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("products by SKU")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let mut found = self.0.products.take().unwrap_or_default();
        while let Some(sku) = map.next_key::<String>()? {
            match map.next_value::<Product>()?.wanted() {
                Ok(wanted) => {
                    if found.insert(sku.clone(), wanted).is_some() {
                        return Err(self.0.fail(AnswerError::Twice { sku: sku.chars().take(60).collect() }));
                    }
                }
                Err(reason) => self.0.reading.leave_out(reason),
            }
        }
        *self.0.products = Some(found);
        Ok(())
    }
}

/// `terms` of an offer.
struct Terms<'r>(Element<'r>);

impl<'de> DeserializeSeed<'de> for Terms<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Terms<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("terms by their kind")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(kind) = map.next_key::<String>()? {
            if kind == "OnDemand" {
                map.next_value_seed(OnDemand(self.0.again()))?;
                self.0.reading.is_done = true;
                return Err(A::Error::custom("nothing more is wanted"));
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

/// Terms by SKU.
struct OnDemand<'r>(Element<'r>);

impl<'de> DeserializeSeed<'de> for OnDemand<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for OnDemand<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("terms by SKU")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(sku) = map.next_key::<String>()? {
            let wanted = self.0.products.as_ref().and_then(|products| products.get(&sku)).cloned();
            if let Some(wanted) = wanted {
                let offers: Offers = map.next_value()?;
                wanted.offers(self.0.reading, &offers).map_err(|error| self.0.fail(error))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

/// `regions` of a file of the price page, or of an index of files.
struct Places<'r>(Element<'r>);

impl<'de> DeserializeSeed<'de> for Places<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Places<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("rows by region")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(place) = map.next_key::<String>()? {
            map.next_value_seed(Rows { element: self.0.again(), place })?;
        }
        Ok(())
    }
}

/// The rows of one region.
struct Rows<'r> {
    element: Element<'r>,
    place: String,
}

impl<'de> DeserializeSeed<'de> for Rows<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Rows<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("rows by name")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match map.next_value::<Row>()? {
                Row::Page(row) => {
                    row.take(self.element.reading, &self.place, &key).map_err(|error| self.element.fail(error))?;
                }
                Row::Link(link) => self.element.reading.is_index |= !link.is_empty(),
            }
        }
        Ok(())
    }
}

/// A row of the price page, or the text of an index.
#[derive(Deserialize)]
#[serde(untagged)]
enum Row {
    Link(String),
    Page(Box<PageRow>),
}
