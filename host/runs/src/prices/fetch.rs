//! An update of prices over the network: the same addresses as the printed commands fetch, and the same reader, guards and shelf as saved
//! answers have.

use super::files::{FileProblem, read_page};
use super::journal::PageJournal;
use super::network::{ApiKey, Network};
use super::page::{PageError, PageGetter};
use super::shelf::{PriceShelf, ShelfError};
use super::update::{PriceUpdate, ProviderUpdate, UpdateError, day_of, update_locked};
use crate::{Advance, Event, Observer, PagesFetched};
use loadline_catalog::Catalog;
use loadline_offers::{
    AnswerError, PagePlace, PageWalk, Pages, PriceAddress, PriceAnswer, Provider, WalkError, Walked, addresses,
};
use loadline_units::Timestamp;
use loadline_web::WebClient;
use std::cell::RefCell;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is to be fetched.
#[derive(Debug, Default)]
pub struct PriceFetch {
    /// Of what, and what becomes of it. Regions may be written as people know them; without any, all that are known are fetched. Saved
    /// answers are none.
    pub update: PriceUpdate,
    /// The key of Google Cloud.
    pub key: Option<ApiKey>,
}

/// Why a provider is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WhyLeftOut {
    /// It answers with a key alone.
    #[error("it answers those alone who have a key")]
    NoKey,
    /// It has no prices in this currency.
    #[error("it has no prices in the currency that was asked for")]
    Currency,
}

/// A provider that is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeftOutProvider {
    /// Which.
    pub provider: Provider,
    /// Why.
    pub why: WhyLeftOut,
}

/// Why an address has no answer, while others may have theirs.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// A page did not come.
    #[error(transparent)]
    Page(#[from] PageError),
    /// The pages do not follow one another.
    #[error(transparent)]
    Walk(#[from] WalkError),
    /// A page is no answer.
    #[error("its page {page} {source}")]
    Answer {
        /// From 1.
        page: u32,
        /// Why not.
        source: FileProblem,
    },
}

/// An address without an answer.
#[derive(Debug)]
pub struct FailedAddress {
    /// Its name as a file.
    pub file: String,
    /// Why.
    pub error: AddressError,
}

/// What became of a fetch.
#[derive(Debug)]
pub struct FetchedUpdate {
    /// As of saved answers.
    pub done: Vec<ProviderUpdate>,
    /// Providers that were not asked.
    pub left_out: Vec<LeftOutProvider>,
    /// Addresses without an answer. If there are any, the pages of the others are kept for a day.
    pub failed: Vec<FailedAddress>,
}

/// Why a fetch ends without having updated anything. Pages that came are kept for a day.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// A provider that was named cannot be asked.
    #[error("{} is not asked: {}", .0.provider.name(), .0.why)]
    LeftOut(LeftOutProvider),
    /// A region of nobody.
    #[error("no provider is known to have the region {region:?}{}", near.as_ref().map(|near| format!("; {near:?} is near")).unwrap_or_default())]
    UnknownRegion {
        /// As typed.
        region: String,
        /// What it may have meant.
        near: Option<String>,
    },
    /// It ended on the way.
    #[error("the fetch ended after {pages} pages")]
    Ended {
        /// Pages that are here.
        pages: usize,
        /// Why.
        source: PageError,
    },
    /// The place of the lists.
    #[error(transparent)]
    Shelf(#[from] ShelfError),
    /// What came was not kept.
    #[error(transparent)]
    Update(Box<UpdateError>),
}

impl From<UpdateError> for FetchError {
    fn from(error: UpdateError) -> Self {
        Self::Update(Box::new(error))
    }
}

/// Fetches prices and updates those that are kept.
///
/// # Errors
/// [`FetchError`].
pub fn fetch_update(
    fetch: &PriceFetch,
    network: &Network<'_>,
    shelf: &PriceShelf,
    observer: &mut dyn Observer,
) -> Result<FetchedUpdate, FetchError> {
    let _lock = shelf.lock()?;
    let begun = (network.now)();
    let mut update = fetch.update.clone();
    let known = shelf.over(Catalog::builtin()).map_err(UpdateError::from)?;
    let plan = FetchPlan::new(fetch, &known)?;
    update.regions = plan.regions;
    let journal = PageJournal::open(shelf, begun)?;
    let observer = RefCell::new(observer);
    let client = WebClient::new(1, network.only_to);
    let all = plan.addresses.len();
    let walker = Walker { network, client: &client, begun, journal: &journal, observer: &observer, all };
    let (mut failed, mut pages) = (Vec::new(), 0);
    for (done, (provider, address)) in plan.addresses.into_iter().enumerate() {
        let file = address.file.clone();
        match walker.walk(provider, address, fetch.key.as_ref(), done, &mut pages) {
            Ok(files) => update.from.extend(files),
            Err(AddressError::Page(
                source @ (PageError::Stopped | PageError::Late | PageError::File(_) | PageError::NotReached { .. }),
            )) => return Err(FetchError::Ended { pages, source }),
            Err(error) => failed.push(FailedAddress { file, error }),
        }
    }
    observer.borrow_mut().event(&Event::Idle);
    let done = match update_locked(&update, shelf, (network.now)()) {
        Err(UpdateError::NothingAskedFor) if !failed.is_empty() => Ok(Vec::new()),
        done => done,
    };
    if failed.is_empty() && !matches!(done, Err(UpdateError::Shelf(_))) {
        journal.remove()?;
    }
    Ok(FetchedUpdate { done: done?, left_out: plan.left_out, failed })
}

/// What is asked of whom.
struct FetchPlan {
    addresses: Vec<(Provider, PriceAddress)>,
    left_out: Vec<LeftOutProvider>,
    /// By the providers' codes.
    regions: Vec<String>,
}

impl FetchPlan {
    fn new(fetch: &PriceFetch, known: &Catalog) -> Result<Self, FetchError> {
        let PriceUpdate { providers: named, regions: typed, currency, .. } = &fetch.update;
        let mut plan = Self { addresses: Vec::new(), left_out: Vec::new(), regions: Vec::new() };
        let mut found = vec![false; typed.len()];
        for provider in Provider::ALL.into_iter().filter(|provider| named.is_empty() || named.contains(provider)) {
            let mut regions = known.price_regions(provider.name());
            regions.sort();
            if !typed.is_empty() {
                regions.clear();
                for (region, found) in typed.iter().zip(&mut found) {
                    // A region that is new is known by the one provider that was named.
                    let is_new = || (named.len() == 1).then(|| region.clone());
                    let meant = known.region_meant(provider.name(), region).or_else(is_new);
                    *found |= meant.is_some();
                    regions.extend(meant);
                }
                plan.regions.extend(regions.iter().cloned());
            }
            let is_listed =
                |currency: &loadline_catalog::Currency| provider.currencies().contains(&currency.to_string());
            let why = if currency.as_ref().is_some_and(|currency| !is_listed(currency)) {
                Some(WhyLeftOut::Currency)
            } else {
                (provider == Provider::Gcp && fetch.key.is_none()).then_some(WhyLeftOut::NoKey)
            };
            match why {
                _ if regions.is_empty() => {}
                None => {
                    let found = addresses(provider, &regions, *currency);
                    plan.addresses.extend(found.into_iter().map(|address| (provider, address)));
                }
                Some(why) if named.contains(&provider) => {
                    return Err(FetchError::LeftOut(LeftOutProvider { provider, why }));
                }
                Some(why) => plan.left_out.push(LeftOutProvider { provider, why }),
            }
        }
        if let Some((region, _)) = typed.iter().zip(found).find(|(_, found)| !found) {
            let near = Provider::ALL.iter().find_map(|provider| known.region_near(provider.name(), region));
            return Err(FetchError::UnknownRegion { region: region.clone(), near });
        }
        Ok(plan)
    }
}

/// Walks over addresses.
struct Walker<'f, 'o> {
    network: &'f Network<'f>,
    client: &'f WebClient,
    begun: Timestamp,
    journal: &'f PageJournal,
    observer: &'f RefCell<&'o mut dyn Observer>,
    /// Addresses in all.
    all: usize,
}

impl Walker<'_, '_> {
    /// The files of an address' answer: those of the first walk, and of each that added rows.
    fn walk(
        &self,
        provider: Provider,
        address: PriceAddress,
        key: Option<&ApiKey>,
        done: usize,
        pages: &mut usize,
    ) -> Result<Vec<PathBuf>, AddressError> {
        let (file, is_one) = (address.file.clone(), address.pages == Pages::One);
        let stop = || self.observer.borrow().wants_an_end();
        let left = || self.left();
        let getter = PageGetter {
            network: self.network,
            client: self.client,
            key: key.filter(|_| address.pages == Pages::Tokens),
            stop: &stop,
            left: &left,
        };
        let mut walk = PageWalk::new(provider, address, self.network.bounds);
        let (mut kept, mut of_walk) = (Vec::new(), Vec::new());
        while let Some((place, url)) = walk.next_page() {
            if stop() {
                return Err(PageError::Stopped.into());
            }
            if self.left().is_zero() {
                return Err(PageError::Late.into());
            }
            let tell = |waits: Option<Duration>| {
                let (all, elapsed) = (self.all, self.elapsed());
                let pages = PagesFetched { file: &file, walk: place.walk, page: place.page, waits, done, all, elapsed };
                self.observer.borrow_mut().event(&Event::Advances(Advance::Fetched(&pages)));
            };
            tell(None);
            let page = self.journal.page(&file, place, url);
            let answer = self.page(&getter, (place, url), &page, &mut |span| tell(Some(span)));
            let taken = answer.and_then(|answer| match answer {
                None if is_one => Err(AddressError::Answer { page: place.page, source: AnswerError::NoPrices.into() }),
                answer => Ok((answer.is_some(), walk.take(answer.as_ref())?)),
            });
            // What leads nowhere is asked for once more, the next time.
            let (has_prices, walked) = taken.inspect_err(|_| drop(std::fs::remove_file(&page)))?;
            *pages += 1;
            of_walk.extend(has_prices.then_some(page));
            if let Walked::Walk { is_new } = walked {
                let of_walk = std::mem::take(&mut of_walk);
                kept.extend(of_walk.into_iter().filter(|_| is_new));
            }
        }
        Ok(kept)
    }

    /// A page out of the journal, or over the network into it.
    fn page(
        &self,
        getter: &PageGetter<'_>,
        (place, url): (PagePlace, &str),
        page: &Path,
        waits: &mut dyn FnMut(Duration),
    ) -> Result<Option<PriceAnswer>, AddressError> {
        let today = day_of((self.network.now)());
        let read = |path: &Path| read_page(path, &today, self.network.bounds.bytes);
        if let Ok(answer) = read(page) {
            return Ok(answer);
        }
        let file = File::create(self.journal.part()).map_err(PageError::from)?;
        getter.get(url, &file, waits)?;
        let answer = read(&self.journal.part()).map_err(|source| AddressError::Answer { page: place.page, source })?;
        self.journal.put(&file, page).map_err(PageError::from)?;
        Ok(answer)
    }

    fn elapsed(&self) -> Duration {
        let ns = self.begun.nanoseconds_until((self.network.now)());
        Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    /// What is left of the time for everything.
    fn left(&self) -> Duration {
        Duration::from_nanos(self.network.bounds.time.as_ns()).saturating_sub(self.elapsed())
    }
}
