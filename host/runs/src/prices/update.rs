//! An update of prices: answers are read, lists are made and judged, and those that nothing speaks against are kept.

use super::files::{FileError, SavedAnswer, read_all};
use super::shelf::{PriceShelf, ShelfError, ShelfPlace, StoredList};
use crate::wall_clock;
use loadline_catalog::{Catalog, Currency, LeftOut};
use loadline_offers::{Assembly, Candidate, LimitsError, PriceAnswer, Provider, assemble, read};
use loadline_units::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// What is asked of an update.
#[derive(Debug, Clone, Default)]
pub struct PriceUpdate {
    /// Saved answers: files, archives, folders.
    pub from: Vec<PathBuf>,
    /// Only these providers; empty: all.
    pub providers: Vec<Provider>,
    /// Only these regions; empty: all.
    pub regions: Vec<String>,
    /// The currency of the lists; `None`: the usual one of each provider.
    pub currency: Option<Currency>,
    /// Keeps nothing.
    pub is_dry: bool,
}

/// Why an update ends without having kept anything, or before its end.
#[derive(Debug, thiserror::Error)]
pub enum UpdateError {
    /// A file.
    #[error(transparent)]
    File(#[from] FileError),
    /// Files that do not fit together.
    #[error("the files, taken together: {0}")]
    Limits(#[from] LimitsError),
    /// The place of the lists.
    #[error(transparent)]
    Shelf(#[from] ShelfError),
    /// The prices that count so far.
    #[error(transparent)]
    Before(#[from] crate::Error),
    /// Nothing in the files is of what was asked for.
    #[error("the files have nothing of the providers and regions that were asked for")]
    NothingAskedFor,
    /// There is no update to undo.
    #[error("no update is there to undo")]
    NothingToUndo,
}

/// What became of one list.
#[derive(Debug)]
pub struct UpdatedList {
    /// The list, what speaks against it, and what it changes.
    pub found: Candidate,
    /// Where it is kept; `None`: refused, the same as before, or nothing was to be kept.
    pub path: Option<PathBuf>,
    /// The same answer was kept before.
    pub is_unchanged: bool,
}

/// What became of a provider's answers.
#[derive(Debug)]
pub struct ProviderUpdate {
    /// The provider.
    pub provider: Provider,
    /// How many answers there were, by their form in words.
    pub answers: BTreeMap<&'static str, usize>,
    /// Rows of all answers that were left out, by reason.
    pub left_out: BTreeMap<LeftOut, u64>,
    /// The lists, in the order of regions.
    pub lists: Vec<UpdatedList>,
}

/// Updates prices from saved answers.
///
/// # Errors
/// [`UpdateError`]. What was kept before is left as it was.
pub fn run_update(update: &PriceUpdate, shelf: &PriceShelf) -> Result<Vec<ProviderUpdate>, UpdateError> {
    let _lock = if update.is_dry { None } else { Some(shelf.lock()?) };
    update_locked(update, shelf, wall_clock::now())
}

/// The same of one who holds the shelf's lock.
pub(super) fn update_locked(
    update: &PriceUpdate,
    shelf: &PriceShelf,
    now: Timestamp,
) -> Result<Vec<ProviderUpdate>, UpdateError> {
    let (fetched, today) = (now.to_string(), day_of(now));
    let before = shelf.over(Catalog::builtin())?;
    let mut by_provider: BTreeMap<Provider, (Vec<PriceAnswer>, Vec<blake3::Hash>)> = BTreeMap::new();
    for SavedAnswer { answer, digest } in read_all(&update.from, &|input| Ok(read(input, &today)?))? {
        let (answers, digests) = by_provider.entry(answer.form.provider()).or_default();
        digests.push(digest);
        answers.push(answer);
    }
    by_provider.retain(|provider, _| update.providers.is_empty() || update.providers.contains(provider));
    let request = Assembly {
        before: &before,
        regions: &update.regions,
        currency: update.currency,
        today: &today,
        fetched: &fetched,
        version: env!("CARGO_PKG_VERSION"),
    };
    let kept = shelf.newest()?;
    let mut done = Vec::new();
    for (provider, (answers, digests)) in by_provider {
        let digest = |places: &BTreeSet<usize>| digest_of(&digests, places);
        let mut of =
            ProviderUpdate { provider, answers: BTreeMap::new(), left_out: BTreeMap::new(), lists: Vec::new() };
        for answer in &answers {
            *of.answers.entry(answer.form.words()).or_default() += 1;
            for (reason, rows) in &answer.left_out {
                *of.left_out.entry(*reason).or_default() += rows;
            }
        }
        for found in assemble(provider, &answers, &digest, &request) {
            // What only a list shows: answers have counted the rest.
            for reason in [LeftOut::NotInCatalog, LeftOut::Unchecked, LeftOut::SecondMeter, LeftOut::Repeated] {
                if let Some(rows) = found.list.left_out.get(&reason) {
                    *of.left_out.entry(reason).or_default() += rows;
                }
            }
            of.lists.push(keep(found, update, shelf, &kept, &today)?);
        }
        done.push(of);
    }
    if done.iter().all(|of| of.lists.is_empty()) {
        return Err(UpdateError::NothingAskedFor);
    }
    Ok(done)
}

/// The day in UTC.
pub(super) fn day_of(now: Timestamp) -> String {
    now.to_string().split('T').next().unwrap_or_default().to_owned()
}

/// The digest of one answer, or of the digests of several.
pub(super) fn digest_of(digests: &[blake3::Hash], places: &BTreeSet<usize>) -> String {
    let mut of = places.iter().filter_map(|place| digests.get(*place));
    if let (Some(one), 1) = (of.clone().next(), places.len()) {
        return one.to_hex().to_string();
    }
    let all: Vec<u8> = of.by_ref().flat_map(|digest| *digest.as_bytes()).collect();
    blake3::hash(&all).to_hex().to_string()
}

fn keep(
    found: Candidate,
    update: &PriceUpdate,
    shelf: &PriceShelf,
    kept: &[StoredList],
    today: &str,
) -> Result<UpdatedList, UpdateError> {
    let list = &found.list;
    let is_same = |stored: &&StoredList| {
        let of_region = stored.provider == list.provider && stored.region == list.region;
        of_region && stored.of_kind(list.kind)
    };
    let noted = kept.iter().find(is_same).and_then(StoredList::noted);
    let is_unchanged = noted.is_some_and(|(digest, _)| digest == list.origin.digest);
    let is_kept = found.refusals.is_empty() && !is_unchanged && !update.is_dry;
    let path = if is_kept { Some(shelf.store(&ShelfPlace::of(list), &list.text(), today)?) } else { None };
    Ok(UpdatedList { found, path, is_unchanged })
}

impl PriceShelf {
    /// Takes the last update back: its lists are removed, and those before them count again. Of these providers and regions alone, where
    /// there are any.
    ///
    /// # Errors
    /// There is none; the system refuses.
    pub fn undo(
        &self,
        providers: &[Provider],
        regions: &[String],
        is_dry: bool,
    ) -> Result<Vec<StoredList>, UpdateError> {
        let _lock = if is_dry { None } else { Some(self.lock()?) };
        let is_meant = |list: &StoredList| {
            (providers.is_empty() || providers.iter().any(|provider| provider.name() == list.provider))
                && (regions.is_empty() || regions.contains(&list.region))
        };
        let noted = self.newest()?.into_iter().filter(is_meant).map(|list| (list.noted().map(|(_, at)| at), list));
        let noted: Vec<(Option<String>, StoredList)> = noted.collect();
        let last = noted.iter().filter_map(|(at, _)| at.clone()).max();
        let lists: Vec<StoredList> = noted.into_iter().filter(|(at, _)| *at == last).map(|(_, list)| list).collect();
        if lists.is_empty() {
            return Err(UpdateError::NothingToUndo);
        }
        if !is_dry {
            lists.iter().try_for_each(Self::remove)?;
        }
        Ok(lists)
    }
}
