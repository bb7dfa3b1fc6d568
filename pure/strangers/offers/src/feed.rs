//! What providers call things in their lists, as data.

use crate::answer::Provider;
use loadline_catalog::Catalog;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// The words of one provider.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Feed {
    pub(crate) provider: String,
    /// The currencies in which it lists prices; the first is the usual one.
    pub(crate) currencies: Vec<String>,
    pub(crate) terms: Terms<String>,
    pub(crate) anchors: Terms<Vec<String>>,
    /// How limits are answered; of a provider that answers none, nothing.
    #[serde(default)]
    pub(crate) limits: LimitWords,
    pub(crate) machine: Option<MachineWords>,
    #[serde(default)]
    pub(crate) tiered: Vec<Tiered>,
    #[serde(default)]
    pub(crate) disk: Vec<DiskWords>,
    #[serde(default)]
    pub(crate) family: Vec<MachineFamily>,
    /// Regions by the names that people read, as the catalog has them.
    #[serde(skip)]
    pub(crate) places: BTreeMap<String, String>,
}

/// One for machines, one for disks.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Terms<T> {
    pub(crate) machines: T,
    pub(crate) disks: T,
}

/// How answers with limits are taken.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct LimitWords {
    /// What is asked.
    pub(crate) source: String,
    /// The file of the catalog whose mechanism machines of today have.
    pub(crate) like: String,
    /// Whether figures count for machines that the catalog has with others.
    pub(crate) replaces: bool,
    /// Families of disks that a machine without premium storage takes not.
    pub(crate) without_premium: Vec<String>,
}

impl LimitWords {
    /// The table of the mechanism, as catalog files write it.
    pub(crate) fn mechanism(&self) -> String {
        let text = Catalog::builtin_text(&self.like).unwrap_or_default();
        let lines = text.lines().skip_while(|line| *line != "[mechanism]").take_while(|line| !line.is_empty());
        lines.fold(String::new(), |text, line| text + line + "\n")
    }
}

/// How machines are named.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MachineWords {
    /// A name with this at its end is the same machine.
    pub(crate) same_with: String,
    /// What stands before the name.
    pub(crate) word: String,
}

/// Disks that are sold by tier.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tiered {
    pub(crate) product: String,
    /// What stands before the tier in names of the catalog.
    pub(crate) names: Vec<String>,
}

/// A disk whose charges have rows of their own.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DiskWords {
    pub(crate) names: Vec<String>,
    #[serde(default)]
    pub(crate) volume: String,
    #[serde(default)]
    pub(crate) product: String,
    pub(crate) charge: Vec<ChargeWords>,
}

/// One charge of a disk.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChargeWords {
    #[serde(default)]
    pub(crate) page: Vec<String>,
    #[serde(default)]
    pub(crate) usage: String,
    #[serde(default)]
    pub(crate) meter: String,
    #[serde(default)]
    pub(crate) description: String,
    /// What one pays for, as catalog files write it; without a time where the list says for which.
    pub(crate) unit: String,
    #[serde(default)]
    pub(crate) bounds: String,
    #[serde(default = "one")]
    pub(crate) multiply: u64,
    #[serde(default = "one")]
    pub(crate) divide: u64,
}

/// Machines that cost their cores and their memory.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MachineFamily {
    pub(crate) name: String,
    pub(crate) core: String,
    pub(crate) memory: String,
    /// By names with `#` for the cores.
    pub(crate) gib_thousandths_per_core: BTreeMap<String, u64>,
    /// Of machines with other memory.
    #[serde(default)]
    pub(crate) gib_thousandths: BTreeMap<String, u64>,
}

const fn one() -> u64 {
    1
}

impl MachineFamily {
    /// The cores and the memory, in thousandths of a GiB, of a machine of this family.
    pub(crate) fn parts(&self, machine: &str) -> Option<(u64, u64)> {
        let (words, cores) = machine.rsplit_once('-')?;
        let per_core = self.gib_thousandths_per_core.get(&format!("{words}-#"))?;
        let cores: u64 = cores.parse().ok().filter(|cores| (1..=10_000).contains(cores))?;
        Some((cores, self.gib_thousandths.get(machine).copied().unwrap_or(cores * per_core)))
    }
}

impl Provider {
    /// What it calls things.
    pub(crate) fn feed(self) -> &'static Feed {
        static FEEDS: OnceLock<[Feed; 3]> = OnceLock::new();
        let read = |text| {
            let mut feed: Feed =
                toml::from_str(text).unwrap_or_else(|error| panic!("the words of a provider: {error}"));
            feed.places = Catalog::builtin_places(&feed.provider);
            feed
        };
        let feeds = FEEDS.get_or_init(|| {
            [
                read(include_str!("../feeds/aws.toml")),
                read(include_str!("../feeds/azure.toml")),
                read(include_str!("../feeds/gcp.toml")),
            ]
        });
        &feeds[self as usize]
    }
}
