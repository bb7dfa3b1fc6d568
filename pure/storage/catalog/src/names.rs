//! What names say: a machine's architecture, the whole size of one with fewer processors, and the region that people mean.

use crate::builtin::BUILTIN;
use crate::catalog::{Catalog, FilterUnknown};
use crate::entry::{VmEntry, WholeSize};
use loadline_document::nearest_spelled;
use std::collections::{BTreeMap, BTreeSet};

/// What a machine's processors are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub enum Architecture {
    /// Of Intel and AMD.
    #[serde(rename = "x86_64")]
    X86_64,
    /// ARM.
    #[serde(rename = "arm64")]
    Arm64,
}

impl Architecture {
    /// Each.
    pub const ALL: [Self; 2] = [Self::X86_64, Self::Arm64];

    /// "`x86_64`" or "arm64".
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Arm64 => "arm64",
        }
    }
}

impl Catalog {
    /// A machine's architecture, by its name; `None` if nothing says which of its provider's names are ARM.
    #[must_use]
    pub fn architecture(&self, machine: &str) -> Option<Architecture> {
        let (provider, name) = machine.split_once('/')?;
        let mut rules =
            self.families.iter().filter(|family| family.provider == provider).flat_map(|f| &f.arm64).peekable();
        rules.peek()?;
        let is_arm = rules.any(|rule| begins(name, rule));
        Some(if is_arm { Architecture::Arm64 } else { Architecture::X86_64 })
    }

    /// The size of which a machine has fewer processors; `None` if it is a whole one.
    #[must_use]
    pub fn whole_size(&self, machine: &str) -> Option<&WholeSize> {
        self.vm_entry(machine)?.whole.as_ref()
    }

    /// Adds the sizes with fewer processors of the families from `first` on.
    pub(crate) fn add_fewer_cores(&mut self, first: usize) {
        for family in first..self.families.len() {
            let provider = self.families[family].provider.clone();
            for (whole, counts, line) in self.families[family].fewer_cores.clone() {
                let Some(entry) = self.vm_entry(&format!("{provider}/{whole}")).cloned() else { continue };
                let memory = self.memory(&entry.name);
                for vcpus in counts {
                    let name = format!("{provider}/{}", with_fewer(&whole, vcpus));
                    self.memories.extend(memory.map(|memory| (name.clone(), memory)));
                    let size = WholeSize { name: entry.name.clone(), vcpus: entry.vcpus };
                    self.add_vm(VmEntry { name, vcpus: Some(vcpus), whole: Some(size), line, ..entry.clone() });
                }
            }
        }
    }

    /// The region of a provider that people mean: by its code in any writing, by a zone in it, or by its place, as in "West Europe",
    /// "europe-west3-a" and "EU (Frankfurt)". `None` if there are no prices of it.
    #[must_use]
    pub fn region_meant(&self, provider: &str, typed: &str) -> Option<String> {
        let regions = self.price_regions(provider);
        let asked = ways(typed);
        let by_code = |wanted: &str| regions.iter().find(|region| squashed(region) == wanted);
        let zone = |wanted: &String| {
            let letter = wanted.strip_suffix(|c: char| c.is_ascii_lowercase())?;
            letter.ends_with(|c: char| c.is_ascii_digit()).then(|| by_code(letter)).flatten()
        };
        let place = |wanted: &String| {
            let is_there = |(of, _, place): &&(String, String, String)| of == provider && squashed(place) == *wanted;
            let (_, region, _) = self.places.iter().find(is_there)?;
            regions.iter().find(|known| *known == region)
        };
        let found = asked.iter().find_map(|wanted| by_code(wanted));
        found.or_else(|| asked.iter().find_map(place)).or_else(|| asked.iter().find_map(zone)).cloned()
    }

    /// The regions of a provider by the names of their places, as they are written; of the catalog that comes along.
    ///
    /// # Panics
    /// Never: a test reads the file.
    #[must_use]
    pub fn builtin_places(provider: &str) -> BTreeMap<String, String> {
        let name = format!("{provider}/regions.toml");
        let text = BUILTIN.iter().find(|(file, _)| *file == name).map_or("", |(_, text)| *text);
        if text.is_empty() {
            return BTreeMap::new();
        }
        let found = crate::file::read(text, &name, 0).unwrap_or_else(|error| panic!("{name}: {error}"));
        found.places.into_iter().map(|(_, region, place)| (place, region)).collect()
    }

    /// The region of a provider whose name is nearest to what was typed; `None` if none is near.
    #[must_use]
    pub fn region_near(&self, provider: &str, typed: &str) -> Option<String> {
        let regions = self.price_regions(provider);
        nearest_spelled(typed, regions.iter().map(String::as_str)).map(str::to_owned)
    }

    /// The region of any provider that people mean.
    ///
    /// # Errors
    /// [`FilterUnknown`], which names the nearest.
    pub fn region_named(&self, typed: &str) -> Result<String, FilterUnknown> {
        let meant = self.providers().into_iter().find_map(|provider| self.region_meant(&provider, typed));
        meant.map_or_else(|| self.check_region(typed).map(|()| typed.to_owned()), Ok)
    }
}

/// What was typed as a whole, what is in parentheses, and what is before them; letters and digits alone.
fn ways(typed: &str) -> Vec<String> {
    let parts = typed.split(['(', ')']).map(squashed).filter(|part| !part.is_empty());
    let mut ways: Vec<String> = std::iter::once(squashed(typed)).chain(parts).collect();
    // What is in parentheses says more: "US East (N. Virginia)".
    ways[1..].reverse();
    ways
}

fn squashed(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Whether a name begins as a rule says: `#` is a number, `*` any letters or none, and others are themselves.
fn begins(name: &str, rule: &str) -> bool {
    // Where in the name the rule may have come to so far. Following each apart would take ages for many `*`.
    let mut places = BTreeSet::from([0]);
    for part in rule.chars() {
        let reached = |place: usize| {
            let rest = &name[place..];
            let run = |is_of: fn(&char) -> bool| rest.chars().take_while(is_of).count();
            match part {
                '#' => {
                    let digits = run(char::is_ascii_digit);
                    (digits > 0).then_some(place + digits..=place + digits)
                }
                '*' => Some(place..=place + run(char::is_ascii_lowercase)),
                other => rest.starts_with(other).then(|| place + other.len_utf8()..=place + other.len_utf8()),
            }
        };
        places = places.into_iter().filter_map(reached).flatten().collect();
    }
    !places.is_empty()
}

/// The name of a size with fewer processors: their number stands after that of the whole.
fn with_fewer(whole: &str, vcpus: u32) -> String {
    let from = whole.find(|c: char| c.is_ascii_digit()).unwrap_or(whole.len());
    let digits = whole[from..].find(|c: char| !c.is_ascii_digit()).unwrap_or(whole.len() - from);
    let (begin, end) = whole.split_at(from + digits);
    format!("{begin}-{vcpus}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Provisioned;

    #[test]
    fn a_machine_is_arm_by_its_name() {
        let catalog = Catalog::builtin();
        let arm = [
            "aws/a1.large",
            "aws/m6g.large",
            "aws/im4gn.large",
            "aws/x2gd.large",
            "aws/t4g.micro",
            "aws/g5g.xlarge",
            "aws/c8gb.large",
            "aws/hpc7g.4xlarge",
            "aws/mac2.metal",
            "azure/d2ps-v5",
            "azure/b2pts-v2",
            "azure/e4pds-v6",
            "azure/d2plds-v5",
            "gcp/t2a-standard-4",
        ];
        let intel = [
            "aws/m5.large",
            "aws/g4dn.xlarge",
            "aws/g6.xlarge",
            "aws/g5.xlarge",
            "aws/i4i.large",
            "aws/trn1.2xlarge",
            "aws/mac1.metal",
            "aws/p3dn.24xlarge",
            "azure/d2s-v5",
            "azure/e8-4s-v5",
            "azure/l8s-v3",
            "gcp/t2d-standard-4",
            "gcp/n2-standard-8",
        ];
        for name in arm {
            assert_eq!(catalog.architecture(name), Some(Architecture::Arm64), "{name}");
        }
        for name in intel {
            assert_eq!(catalog.architecture(name), Some(Architecture::X86_64), "{name}");
        }
        assert_eq!(catalog.architecture("own/server"), None, "nothing says so");
    }

    #[test]
    fn a_rule_of_many_parts_takes_no_age() {
        let name = "a".repeat(100);
        assert!(!begins(&name, &("*".repeat(99) + "0")));
        assert!(!begins(&name, &("*a".repeat(50) + "0")));
        assert!(begins(&(name + "17b"), &("*".repeat(98) + "#b")));
    }

    #[test]
    fn a_size_with_fewer_processors_is_the_whole_size_otherwise() {
        let catalog = Catalog::builtin();
        let figures = |name: &str| catalog.vm_figures(name).unwrap();
        let (few, whole) = (figures("azure/e8-4s-v5"), figures("azure/e8s-v5"));
        assert_eq!((few.vcpus, whole.vcpus), (Some(4), Some(8)));
        assert_eq!((few.uncached, few.cached, few.disks_max), (whole.uncached, whole.cached, whole.disks_max));
        assert_eq!(catalog.memory("azure/e8-4s-v5"), catalog.memory("azure/e8s-v5"));
        for region in ["eastus", "westeurope"] {
            let cost = |name: &str| catalog.cost(name, &Provisioned::default(), region).unwrap();
            assert_eq!(cost("azure/e8-4s-v5"), cost("azure/e8s-v5"));
        }
        assert_eq!(catalog.whole_size("azure/e8-4s-v5").map(|whole| whole.name.as_str()), Some("azure/e8s-v5"));
        assert_eq!(catalog.whole_size("azure/e8s-v5"), None);
        let sold = catalog.machines_sold("azure");
        let few = sold.iter().filter(|name| catalog.whole_size(name).is_some()).count();
        assert!(few > 150, "{few}");
        assert!(sold.contains(&"azure/ds11-1-v2".to_owned()) && sold.contains(&"azure/gs5-16".to_owned()));
    }

    #[test]
    fn a_region_is_understood_as_people_write_it() {
        let catalog = Catalog::builtin();
        let cases = [
            ("azure", "West Europe", "westeurope"),
            ("azure", "west-europe", "westeurope"),
            ("azure", "WestEurope", "westeurope"),
            ("azure", "(Europe) West Europe", "westeurope"),
            ("azure", "eastus2", "eastus2"),
            ("azure", "East US", "eastus"),
            ("aws", "EU (Frankfurt)", "eu-central-1"),
            ("aws", "Europe (Frankfurt)", "eu-central-1"),
            ("aws", "eu_central_1", "eu-central-1"),
            ("aws", "eu-central-1b", "eu-central-1"),
            ("aws", "US East (N. Virginia)", "us-east-1"),
            ("aws", "frankfurt", "eu-central-1"),
            ("gcp", "europe-west3-a", "europe-west3"),
            ("gcp", "Frankfurt", "europe-west3"),
            ("gcp", "europe-west12", "europe-west12"),
        ];
        for (provider, typed, meant) in cases {
            assert_eq!(catalog.region_meant(provider, typed).as_deref(), Some(meant), "{provider} {typed}");
        }
        for (provider, typed) in [("azure", "eu-central-1"), ("aws", "atlantis"), ("gcp", ""), ("azure", "eastus9")] {
            assert_eq!(catalog.region_meant(provider, typed), None, "{provider} {typed}");
        }
        assert_eq!(catalog.region_named("North Europe").unwrap(), "northeurope");
        assert!(catalog.region_named("westeurop").unwrap_err().to_string().contains("did you mean westeurope?"));
    }
}
