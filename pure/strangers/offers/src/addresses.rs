//! Where answers are fetched: the addresses of a region, and how their pages follow one another.

use crate::answer::Provider;
use loadline_catalog::Currency;

/// The header in which Google Cloud takes the key, so that it stands in no address.
pub const KEY_HEADER: &str = "X-Goog-Api-Key";

/// An answer that can be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceAddress {
    /// The address of its only or first page, without a key.
    pub url: String,
    /// A name for the file that it is saved as, without its ending.
    pub file: String,
    /// Its pages.
    pub pages: Pages,
}

/// How an answer is parted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pages {
    /// One file.
    One,
    /// A page has the address of the next as `NextPageLink`.
    Links,
    /// A page has a token for the next as `nextPageToken`; a key is needed.
    Tokens,
}

/// What has to be fetched for a provider's machines and disks in these regions. Regions that the provider has not are left out.
#[must_use]
pub fn addresses(provider: Provider, regions: &[String], currency: Option<Currency>) -> Vec<PriceAddress> {
    let usual = provider.currencies().first().map_or("USD", String::as_str);
    let currency = currency.map_or_else(|| usual.to_owned(), |currency| currency.to_string());
    match provider {
        Provider::Aws => {
            let page = format!("https://b0.p.awsstatic.com/pricing/2.0/meteredUnitMaps/ec2/{currency}/current");
            let disks =
                PriceAddress { url: format!("{page}/ebs.json"), file: "aws-disks".to_owned(), pages: Pages::One };
            let machines = regions.iter().filter_map(|region| {
                let place = provider.place(region)?.replace(' ', "%20");
                let url = format!("{page}/ec2-ondemand-without-sec-sel/{place}/Linux/index.json");
                Some(PriceAddress { url, file: format!("aws-{region}"), pages: Pages::One })
            });
            std::iter::once(disks).chain(machines).collect()
        }
        Provider::Azure => {
            let of = |region: &String, service: &str, file: &str| PriceAddress {
                url: format!(
                    "https://prices.azure.com/api/retail/prices?api-version=2023-01-01-preview&currencyCode=%27{currency}%27&$filter=\
                     serviceName%20eq%20%27{service}%27%20and%20armRegionName%20eq%20%27{region}%27%20and%20priceType%20eq%20%27Consumption%27"
                ),
                file: format!("azure-{region}-{file}"),
                pages: Pages::Links,
            };
            let both = |region| [of(region, "Virtual%20Machines", "machines"), of(region, "Storage", "disks")];
            regions.iter().flat_map(both).collect()
        }
        Provider::Gcp => vec![PriceAddress {
            url: format!(
                "https://cloudbilling.googleapis.com/v1/services/6F81-5844-456A/skus?currencyCode={currency}&pageSize=5000"
            ),
            file: "gcp-skus".to_owned(),
            pages: Pages::Tokens,
        }],
    }
}

impl Provider {
    /// The name of a region in addresses of the price page, "EU (Frankfurt)". Of several, the older, which the page's folders keep.
    fn place(self, region: &str) -> Option<&'static str> {
        let of = self.feed().places.iter().filter(|(place, code)| *code == region && place.contains('('));
        of.map(|(place, _)| place.as_str()).min()
    }
}
