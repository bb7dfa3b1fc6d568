//! Ambiguous megabytes. Publishers use "MB/s" for 10^6 bytes and for 2^20. Catalog files use the unit that is meant. If
//! the unit is ambiguous, the family states the reading and the reason.

use crate::text_bounds;
use loadline_document::{Item, Reader};
use loadline_units::ByteRate;

/// The reading of a publisher's megabyte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Megabyte {
    /// 10^6.
    Decimal,
    /// 2^20.
    Binary,
    /// 1,000 KiB.
    ThousandKib,
}

const MEGABYTES: &[(&str, Megabyte)] =
    &[("MB/s", Megabyte::Decimal), ("MiB/s", Megabyte::Binary), ("1000 KiB/s", Megabyte::ThousandKib)];

impl Megabyte {
    /// Its bytes.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        match self {
            Self::Decimal => 1_000_000,
            Self::Binary => 1 << 20,
            Self::ThousandKib => 1_000 << 10,
        }
    }

    /// The unit that is meant, in words.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Decimal => "MB/s (10^6 bytes/s)",
            Self::Binary => "MiB/s (2^20 bytes/s)",
            Self::ThousandKib => "1000 KiB/s (1,024,000 bytes/s)",
        }
    }

    pub(crate) fn is_whole(self, rate: ByteRate) -> bool {
        rate.get().is_multiple_of(self.bytes())
    }
}

/// The published unit of a family's figures, and how to read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedUnits {
    /// The publisher's word.
    pub published: String,
    /// For a disk's throughput, or a machine's to network disks.
    pub taken_as: Megabyte,
    /// For a machine's throughput through its host's cache; for disks the same as the other.
    pub cached_taken_as: Megabyte,
    /// Why.
    pub because: String,
}

impl std::fmt::Display for PublishedUnits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { published, taken_as, cached_taken_as, because } = self;
        let taken = if taken_as == cached_taken_as {
            taken_as.words().to_owned()
        } else {
            format!(
                "{} through the host's cache and for {} to network disks",
                cached_taken_as.words(),
                taken_as.words()
            )
        };
        write!(f, "published in {published}, taken for {taken}: {because}")
    }
}

const WANTED: &str = "[units] with published = \"MB/s\", taken_as = \"MiB/s\" (or { uncached = ..., cached = ... }) and because = \"...\"";

/// Reads `[units]`.
pub(crate) fn read(reader: &mut Reader<'_>, item: &Item<'_>) -> Option<PublishedUnits> {
    let found = reader.fields("units", item, WANTED, |t| {
        (t.get("published", text_bounds::text), t.get("taken_as", read_taken), t.get("because", text_bounds::text))
    })?;
    let (Some(published), Some((taken_as, cached_taken_as)), Some(because)) = found else {
        reader.problem(item.span(), "units", format!("is not complete: write {WANTED}"));
        return None;
    };
    Some(PublishedUnits { published, taken_as, cached_taken_as, because })
}

/// The reading for network disks or for a disk, and that for a host's cache.
fn read_taken(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<(Megabyte, Megabyte)> {
    if item.get_ref().as_table().is_none() {
        return reader.word(key, item, MEGABYTES, "").map(|both| (both, both));
    }
    let word = |reader: &mut Reader<'_>, key: &str, item: &Item<'_>| reader.word(key, item, MEGABYTES, "");
    let [uncached, cached] =
        reader.fields(key, item, WANTED, |t| ["uncached", "cached"].map(|name| t.get(name, word)))?;
    uncached.zip(cached)
}
