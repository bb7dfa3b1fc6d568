//! An update of limits: machines that the catalog has not, or has with other limits, out of saved answers.

use super::files::{SavedAnswer, read_all};
use super::shelf::{EVERYWHERE, PriceShelf, ShelfPlace, StoredList};
use super::update::{UpdateError, digest_of};
use crate::wall_clock;
use loadline_catalog::Catalog;
use loadline_offers::{KeptLimits, LimitsAnswer, LimitsOrigin, LimitsUpdate, Provider, read_limits};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// What an update of limits found, and where that is kept.
#[derive(Debug)]
pub struct LimitsFile {
    /// What it changes.
    pub update: LimitsUpdate,
    /// The day of the answer.
    pub date: String,
    /// When it was read, in UTC.
    pub fetched: String,
    /// The digest of the answers.
    pub digest: String,
    /// The file with limits; `None`: nothing is new, or nothing was to be kept.
    pub path: Option<PathBuf>,
}

/// Updates limits from saved answers, of these providers alone where there are any.
///
/// # Errors
/// [`UpdateError`]. What was kept before is left as it was.
pub fn run_limits_update(
    from: &[PathBuf],
    providers: &[Provider],
    is_dry: bool,
    shelf: &PriceShelf,
) -> Result<Vec<LimitsFile>, UpdateError> {
    let fetched = wall_clock::now().to_string();
    let today = fetched.split('T').next().unwrap_or_default().to_owned();
    let _lock = if is_dry { None } else { Some(shelf.lock()?) };
    let mut found: BTreeMap<Provider, (LimitsAnswer, Vec<blake3::Hash>)> = BTreeMap::new();
    for SavedAnswer { answer, digest } in read_all(from, &|input| Ok(read_limits(input)?))? {
        match found.get_mut(&answer.provider) {
            None => {
                found.insert(answer.provider, (answer, vec![digest]));
            }
            Some((whole, digests)) => {
                whole.join(answer)?;
                digests.push(digest);
            }
        }
    }
    found.retain(|provider, _| providers.is_empty() || providers.contains(provider));
    if found.is_empty() {
        return Err(UpdateError::NothingAskedFor);
    }
    // By what comes along: a file holds all that differs from that.
    let before = Catalog::builtin();
    let kept = shelf.newest()?;
    let mut files = Vec::new();
    for (answer, digests) in found.into_values() {
        let digest = digest_of(&digests, &(0..digests.len()).collect::<BTreeSet<_>>());
        let version = env!("CARGO_PKG_VERSION");
        let provider = answer.provider.name();
        let text = |kind: &str| {
            let list = kept.iter().find(|list| list.is_of(&ShelfPlace { provider, region: EVERYWHERE, kind }));
            list.map_or(Ok(String::new()), StoredList::text)
        };
        let (limits, memory) = (text("limits")?, text("memory")?);
        let kept = KeptLimits { limits: &limits, memory: &memory };
        let origin = LimitsOrigin { today: &today, fetched: &fetched, digest: &digest, version };
        let update = answer.update(&before, &kept, &origin);
        let texts: Vec<(&str, &str)> = update.files.iter().map(|(kind, text)| (*kind, text.as_str())).collect();
        // Nothing is kept that does not read.
        before.clone().with_limits(&texts).map_err(crate::Error::from)?;
        let mut path = None;
        for (kind, text) in update.files.iter().filter(|_| !is_dry) {
            let place = ShelfPlace { provider, region: EVERYWHERE, kind };
            let stored = shelf.store(&place, text, &today)?;
            path.get_or_insert(stored);
        }
        files.push(LimitsFile { update, date: today.clone(), fetched: fetched.clone(), digest, path });
    }
    Ok(files)
}
