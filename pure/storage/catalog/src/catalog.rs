//! The whole catalog: look-up of entries by name, listing, and resolution to the disk model's specs.

use crate::builtin::BUILTIN;
use crate::entry::{Cap, DiskEntry, Family, HostCacheEntry, SizeRule, VmEntry};
use crate::file;
use crate::near_name::{nearest_name, plain_name};
use crate::price::{CommitmentShare, Money, PaidTerms, Price, Prices, some_of};
use crate::resolve::{DiskFigures, Draw, EntryError, EstimatedLimit, LimitFigures, Provisioned, VmFigures};
use loadline_disk::{Directions, DiskSpec, Limit, Place, VmSpec};
use loadline_document::{DocumentError, nearest, nearest_spelled};
use loadline_units::{ByteRate, Bytes, Iops};
use std::collections::BTreeMap;

/// Disks and virtual machines as sold.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    pub(crate) families: Vec<Family>,
    pub(crate) disks: Vec<DiskEntry>,
    pub(crate) vms: Vec<VmEntry>,
    /// Where disks and machines stand, by name: of several the last.
    disk_places: BTreeMap<String, usize>,
    vm_places: BTreeMap<String, usize>,
    pub(crate) caps: Vec<Cap>,
    pub(crate) host_caches: Vec<HostCacheEntry>,
    pub(crate) prices: Prices,
    pub(crate) commitments: Vec<CommitmentShare>,
    pub(crate) paid: PaidTerms,
    /// Memory of machines, by name.
    pub(crate) memories: BTreeMap<String, Bytes>,
    /// Provider, region, and what its place is called.
    pub(crate) places: Vec<(String, String, String)>,
    /// How many of the families come with loadline; they are the first.
    pub(crate) builtin_families: usize,
}

/// The kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A disk.
    Disk,
    /// A virtual machine.
    Vm,
}

impl Kind {
    /// "disk" or "vm".
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Disk => "disk",
            Self::Vm => "vm",
        }
    }
}

/// A filter for lists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Part of the name; for machines known by a pattern, part of the names that it stands for.
    pub name: Option<String>,
    /// Of this provider.
    pub provider: Option<String>,
    /// Of this family.
    pub family: Option<String>,
    /// That can do at least this, reads or writes, without bursts.
    pub iops_min: Option<Iops>,
    /// That can do at least this, reads or writes, without bursts.
    pub throughput_min: Option<ByteRate>,
    /// Disks that can be at least this large.
    pub size_min: Option<Bytes>,
}

/// A filter names a provider, a family or a region of prices that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no {kind} {name:?} is in the catalog: {}", .near.as_ref().map_or_else(|| format!("there are {}", .known.join(", ")), |near| format!("did you mean {near}?")))]
pub struct FilterUnknown {
    /// "provider", "family" or "price's region".
    kind: &'static str,
    /// The name in the filter.
    name: String,
    /// The nearest that is there.
    near: Option<String>,
    /// All that are there.
    known: Vec<String>,
}

impl FilterUnknown {
    /// That `name` is one of `known`.
    pub(crate) fn check(kind: &'static str, name: &str, known: Vec<String>) -> Result<(), Self> {
        if known.iter().any(|known| known == name) {
            return Ok(());
        }
        let near = nearest(name, known.iter().map(String::as_str)).map(str::to_owned);
        Err(Self { kind, name: name.to_owned(), near, known })
    }

    /// The same of a region: those of one continent look alike, so only a slip of the pen is near.
    pub(crate) fn check_region(name: &str, known: &[String]) -> Result<(), Self> {
        if known.iter().any(|known| known == name) {
            return Ok(());
        }
        let near = nearest_spelled(name, known.iter().map(String::as_str)).map(str::to_owned);
        Err(Self { kind: "price's region", name: name.to_owned(), near, known: vec![some_of(known)] })
    }
}

/// A line of the list: an entry with the most that it can do for good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The name for look-ups; for machines known by a pattern, the pattern.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Its family.
    pub family: String,
    /// The largest size; `None` for machines, and if not recorded.
    pub size: Option<Bytes>,
    /// `None`: without a known limit.
    pub iops: Option<Iops>,
    /// `None`: without a known limit.
    pub throughput: Option<ByteRate>,
    /// The direction or budget of the limit, for machines with more than one row.
    pub detail: String,
    /// Prices, if known: one for each region.
    pub prices: Vec<Price>,
    /// Whether a disk keeps its data when the machine is stopped; `None` for machines.
    pub persistent: Option<bool>,
    /// What the whole of a disk of this size, or a machine, costs a month by the first of these prices; `None`: not known.
    pub monthly: Option<Money>,
}

/// An order of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListOrder {
    /// The cheapest first; without a price last.
    Price,
    /// The most IOPS first; without a known limit last.
    Iops,
}

impl ListOrder {
    /// Puts the lines into this order; equal ones stay as they were.
    pub fn sort(self, lines: &mut [Listing]) {
        match self {
            Self::Price => lines.sort_by_key(|line| {
                let cost = line.monthly.map(|cost| (cost.currency(), cost.billionths()));
                (cost.is_none(), cost)
            }),
            Self::Iops => lines.sort_by_key(|line| std::cmp::Reverse(line.iops.map(Iops::get))),
        }
    }
}

impl Listing {
    /// Keeps the prices of a region alone.
    pub fn keep_region(&mut self, region: &str, catalog: &Catalog) {
        self.prices.retain(|price| price.region.as_deref() == Some(region));
        self.monthly = catalog.cost_as_listed(&self.name, self.kind, self.size, &self.prices);
    }
}

impl Catalog {
    /// The catalog that comes with loadline.
    ///
    /// # Panics
    /// Never: a test reads it.
    #[must_use]
    pub fn builtin() -> Self {
        Self::shipped(BUILTIN).unwrap_or_else(|error| panic!("the catalog that comes along: {error}"))
    }

    /// The same out of its files, each with its name and text: for programs that are given them.
    ///
    /// # Errors
    /// The problems of the first file that has any.
    pub fn shipped(files: &[(&str, &str)]) -> Result<Self, DocumentError> {
        let mut catalog = Self::default().with(files)?;
        catalog.builtin_families = catalog.families.len();
        Ok(catalog)
    }

    /// The files that it is read from: folder and name.
    pub fn builtin_files() -> impl Iterator<Item = &'static str> {
        BUILTIN.iter().map(|(name, _)| *name)
    }

    /// The text of one of these files.
    #[must_use]
    pub fn builtin_text(file: &str) -> Option<&'static str> {
        BUILTIN.iter().find(|(name, _)| *name == file).map(|(_, text)| *text)
    }

    /// This catalog and the files of a folder, each with its name and text. An entry of theirs replaces one of the same
    /// name.
    ///
    /// # Errors
    /// The problems of the first file that has any.
    pub fn with(mut self, files: &[(&str, &str)]) -> Result<Self, DocumentError> {
        let first = self.families.len();
        for (name, text) in files {
            let found = file::read(text, name, self.families.len())?;
            self.families.push(found.family);
            found.disks.into_iter().for_each(|disk| self.add_disk(disk));
            found.vms.into_iter().for_each(|vm| self.add_vm(vm));
            self.caps.extend(found.caps);
            self.host_caches.extend(found.host_cache);
            self.prices.extend(found.prices, found.columns);
            self.memories.extend(found.memories);
            self.places.extend(found.places);
            self.commitments.extend(found.commitments);
        }
        self.add_fewer_cores(first);
        Ok(self)
    }

    fn add_disk(&mut self, disk: DiskEntry) {
        self.disk_places.insert(disk.name.clone(), self.disks.len());
        self.disks.push(disk);
    }
    pub(crate) fn add_vm(&mut self, vm: VmEntry) {
        self.vm_places.insert(vm.name.clone(), self.vms.len());
        self.vms.push(vm);
    }

    /// Every disk, in the order of the files.
    #[must_use]
    pub fn disks(&self) -> &[DiskEntry] {
        &self.disks
    }
    /// Every virtual machine with its own entry, in the order of the files.
    #[must_use]
    pub fn vms(&self) -> &[VmEntry] {
        &self.vms
    }
    /// The totals that machines allow all disks of a type, in the order of the files.
    #[must_use]
    pub fn caps(&self) -> &[Cap] {
        &self.caps
    }
    /// The disk's family.
    #[must_use]
    pub fn disk_family(&self, disk: &DiskEntry) -> &Family {
        &self.families[disk.family]
    }
    /// The machine's family.
    #[must_use]
    pub fn vm_family(&self, vm: &VmEntry) -> &Family {
        &self.families[vm.family]
    }
    /// The family of a cap's machines.
    #[must_use]
    pub fn cap_family(&self, cap: &Cap) -> &Family {
        &self.families[cap.family]
    }

    /// How hosts of any provider cache disks; of several, the one that was added last.
    pub(crate) fn any_host_cache(&self) -> Option<&HostCacheEntry> {
        self.host_caches.last()
    }

    /// The file and line of a disk.
    #[must_use]
    pub fn disk_place(&self, disk: &DiskEntry) -> String {
        self.disk_family(disk).at(disk.line)
    }
    /// The file and line of a machine.
    #[must_use]
    pub fn vm_place(&self, vm: &VmEntry) -> String {
        self.vm_family(vm).at(vm.line)
    }
    /// The file and line of a cap, and the pattern of its machines with their provider.
    #[must_use]
    pub fn cap_place(&self, cap: &Cap) -> (String, String) {
        let family = self.cap_family(cap);
        (family.at(cap.line), format!("{}/{}", family.provider, cap.machines))
    }
    /// The enforced figure of a cap under `draw`.
    #[must_use]
    pub fn cap_limit(&self, cap: &Cap, draw: &Draw) -> Limit {
        let mechanism = self.cap_family(cap).mechanism.clone();
        LimitFigures { limit: cap.limit.clone(), mechanism }.enforced(draw)
    }

    /// How the hosts of this provider cache disks; of several, the one that was added last.
    #[must_use]
    pub fn host_cache(&self, provider: &str) -> Option<&HostCacheEntry> {
        self.host_caches.iter().rev().find(|cache| cache.provider == provider)
    }

    /// The disk of this name; of several, the one that was added last.
    ///
    /// # Errors
    /// [`EntryError::Unknown`], with the nearest name.
    pub fn disk_entry(&self, name: &str) -> Result<&DiskEntry, EntryError> {
        self.known_disk(name).ok_or_else(|| {
            let near = nearest_name(&plain_name(name), self.disks.iter().map(|disk| disk.name.as_str()));
            EntryError::Unknown { name: name.to_owned(), kind: "disk", near }
        })
    }

    pub(crate) fn known_disk(&self, name: &str) -> Option<&DiskEntry> {
        self.disk_places.get(name).map(|place| &self.disks[*place])
    }

    /// A disk's figures with the provisioned ones.
    ///
    /// # Errors
    /// No disk is called so, or it cannot be provisioned like that.
    pub fn disk_figures(&self, name: &str, provisioned: &Provisioned) -> Result<DiskFigures, EntryError> {
        let entry = self.disk_entry(name)?;
        entry.resolve(self.disk_family(entry), provisioned).map_err(|error| match error {
            EntryError::SizeOutside { name, size, least, most, .. } => {
                let larger = self.larger(entry, size);
                EntryError::SizeOutside { name, size, least, most, larger }
            }
            other => other,
        })
    }

    /// The smallest disk of the same family with at least this size.
    fn larger(&self, than: &DiskEntry, size: Bytes) -> Option<String> {
        let holds =
            |disk: &&DiskEntry| disk.family == than.family && matches!(disk.size, SizeRule::Fixed(own) if own >= size);
        let size_of = |disk: &&DiskEntry| if let SizeRule::Fixed(own) = disk.size { own } else { Bytes::ZERO };
        self.disks.iter().filter(holds).min_by_key(size_of).map(|disk| disk.name.clone())
    }

    /// A disk for the model, at the middle of all intervals.
    ///
    /// # Errors
    /// As [`Catalog::disk_figures`].
    pub fn disk(&self, name: &str, provisioned: &Provisioned) -> Result<DiskSpec, EntryError> {
        self.disk_figures(name, provisioned).map(|figures| figures.spec(&Draw::MIDDLE))
    }

    /// The virtual machine of this name; of several, the one that was added last.
    #[must_use]
    pub fn vm_entry(&self, name: &str) -> Option<&VmEntry> {
        self.vm_places.get(name).map(|place| &self.vms[*place])
    }

    /// The caps of this machine, one row for each type of disk. Their processors are those in its name, if it has them.
    #[must_use]
    pub fn caps_of(&self, name: &str) -> Vec<(&Cap, Option<u32>)> {
        let mut found: Vec<(&Cap, Option<u32>)> = Vec::new();
        for cap in &self.caps {
            let provider = &self.cap_family(cap).provider;
            let machine = name.strip_prefix(provider.as_str()).and_then(|rest| rest.strip_prefix('/'));
            let Some(fit) = machine.and_then(|machine| cap.fits(machine)) else { continue };
            let sells = |vcpus| machine.is_some_and(|machine| self.cap_family(cap).sells(machine, vcpus));
            if fit.vcpus.is_some_and(|vcpus| !sells(vcpus)) {
                continue;
            }
            match found.iter_mut().find(|(other, _)| other.disk == cap.disk) {
                Some(other) if cap.is_exact() || !other.0.is_exact() => *other = (cap, fit.vcpus),
                Some(_) => {}
                None => found.push((cap, fit.vcpus)),
            }
        }
        found
    }

    /// A virtual machine's figures.
    ///
    /// # Errors
    /// [`EntryError::Unknown`], with the nearest name.
    pub fn vm_figures(&self, name: &str) -> Result<VmFigures, EntryError> {
        let caps = self.caps_of(name);
        let entry = self.vm_entry(name);
        if entry.is_none() && caps.is_empty() {
            return Err(self.unknown_vm(name));
        }
        let vcpus = caps.iter().find_map(|(_, vcpus)| *vcpus).or(entry.and_then(|entry| entry.vcpus));
        let caps = caps
            .into_iter()
            .map(|(cap, _)| {
                let family = self.cap_family(cap);
                let figures = LimitFigures { limit: cap.limit.clone(), mechanism: family.mechanism.clone() };
                (format!("{}/{}", family.provider, cap.disk), figures)
            })
            .collect();
        let figures = |limit: &Limit| {
            let mechanism = entry.map(|entry| self.vm_family(entry).mechanism.clone()).unwrap_or_default();
            LimitFigures { limit: limit.clone(), mechanism }
        };
        let field = |of: fn(&VmEntry) -> Option<&Limit>| entry.and_then(of).map(&figures);
        let provider = name.split_once('/').map_or("", |(provider, _)| provider);
        let cached_estimate = match (entry.map(|entry| entry.cached.is_none() && !entry.caches_none), vcpus) {
            (Some(true), Some(vcpus)) => {
                let family = entry.map_or("", |entry| self.vm_family(entry).name.as_str());
                self.host_cache(provider).and_then(|cache| cache.estimate_for(family)).map(|estimate| {
                    let mechanism = entry.map(|entry| self.vm_family(entry).mechanism.clone()).unwrap_or_default();
                    // A size with fewer processors has the limits of the whole.
                    let vcpus = entry.and_then(|entry| entry.whole.as_ref()?.vcpus).unwrap_or(vcpus);
                    EstimatedLimit { estimate, vcpus, mechanism }
                })
            }
            _ => None,
        };
        Ok(VmFigures {
            name: name.to_owned(),
            cached_estimate,
            uncached: field(|entry| entry.uncached.as_ref()),
            uncached_for: entry.and_then(|entry| {
                entry.uncached_for.as_ref().map(|(families, limit)| (families.clone(), figures(limit)))
            }),
            cached: field(|entry| entry.cached.as_ref()),
            caps,
            disks_max: entry.and_then(|entry| entry.data_disks),
            cache_size: entry.and_then(|entry| entry.cache_size),
            vcpus,
            queues_in_order: entry.is_some_and(|entry| entry.queues_in_order),
            device_queues: entry.and_then(|entry| entry.device_queues),
            caches_none: entry.is_some_and(|entry| entry.caches_none),
            takes_no: entry.map(|entry| entry.takes_no.clone()).unwrap_or_default(),
        })
    }

    /// A virtual machine for the model, at the middle of all intervals.
    ///
    /// # Errors
    /// As [`Catalog::vm_figures`].
    pub fn vm(&self, name: &str) -> Result<VmSpec, EntryError> {
        self.vm_figures(name).map(|figures| figures.spec(&Draw::MIDDLE, false))
    }

    /// The nearest machine that is sold: by its words, except the first, and then by its number of processors.
    fn nearest_sold(&self, name: &str) -> Option<String> {
        let words = |name: &str| name.split('-').map(str::to_owned).collect::<Vec<String>>();
        let number = |words: &[String]| words.iter().rev().find_map(|word| word.parse::<u32>().ok());
        let asked = words(name);
        let wanted = number(&asked)?;
        let off = |known: &String| {
            let known = words(known);
            let pairs = || known.iter().zip(&asked);
            let is_number = |word: &String| word.parse::<u32>().is_ok();
            let alike = known.len() == asked.len()
                && known[0] == asked[0]
                && pairs().all(|(known, asked)| is_number(known) == is_number(asked));
            let others = pairs().filter(|(known, asked)| !is_number(known) && known != asked).count();
            alike.then(|| Some((others, number(&known)?.abs_diff(wanted)))).flatten()
        };
        let sold = self.families.iter().flat_map(|family| {
            family.sold_names().map(|machine| format!("{}/{machine}", family.provider)).collect::<Vec<String>>()
        });
        let nearest = sold.filter_map(|known| Some((off(&known)?, known))).min_by_key(|(off, _)| *off);
        nearest.map(|(_, known)| known).or_else(|| self.nearest_number(name))
    }

    /// The name with the nearest number of processors that is sold, if only that number is wrong.
    fn nearest_number(&self, name: &str) -> Option<String> {
        let (provider, machine) = name.split_once('/')?;
        let fits =
            |cap: &&Cap| self.cap_family(cap).provider == provider && !self.cap_family(cap).sold_vcpus.is_empty();
        let words: Vec<&str> = machine.split('-').collect();
        let place = words.iter().rposition(|word| word.parse::<u32>().is_ok())?;
        let wanted: u32 = words[place].parse().ok()?;
        let mut sold: Vec<u32> =
            self.caps.iter().filter(fits).flat_map(|cap| self.cap_family(cap).sold_vcpus.clone()).collect();
        sold.sort_unstable_by_key(|vcpus| (vcpus.abs_diff(wanted), *vcpus));
        sold.into_iter().find_map(|vcpus| {
            let mut words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            words[place] = vcpus.to_string();
            let near = format!("{provider}/{}", words.join("-"));
            (!self.caps_of(&near).is_empty()).then_some(near)
        })
    }

    fn unknown_vm(&self, name: &str) -> EntryError {
        let near = self.nearest_of(name, &self.vm_names());
        EntryError::Unknown { name: name.to_owned(), kind: "VM size", near }
    }

    /// Neither a disk nor a virtual machine is called so.
    pub(crate) fn unknown(&self, name: &str) -> EntryError {
        let names: Vec<String> = self.disks.iter().map(|disk| disk.name.clone()).chain(self.vm_names()).collect();
        let near = self.nearest_of(name, &names);
        EntryError::Unknown { name: name.to_owned(), kind: "disk or VM size", near }
    }

    /// The one of `names`, or the machine known by a pattern, that was most probably meant.
    fn nearest_of(&self, name: &str, names: &[String]) -> Option<String> {
        let plain = plain_name(name);
        let mut providers: Vec<&str> = self.families.iter().map(|family| family.provider.as_str()).collect();
        providers.dedup();
        let full: Vec<String> = if plain.contains('/') {
            vec![plain.clone()]
        } else {
            providers.iter().map(|provider| format!("{provider}/{plain}")).collect()
        };
        let exists = |name: &&String| names.contains(*name) || !self.caps_of(name).is_empty();
        (full.iter().find(exists).cloned())
            .or_else(|| full.iter().find_map(|name| self.nearest_sold(name)))
            .or_else(|| nearest_name(&plain, names.iter().map(String::as_str)))
    }

    /// Every machine with a name, also in a row of its own. Those known by a pattern have none.
    fn vm_names(&self) -> Vec<String> {
        let exact = self.caps.iter().filter(|cap| cap.is_exact());
        let machines = exact.map(|cap| format!("{}/{}", self.cap_family(cap).provider, cap.machines));
        self.vms.iter().map(|vm| vm.name.clone()).chain(machines).collect()
    }

    /// The rows of the pattern that the list shows in place of a name.
    pub(crate) fn rows_of_pattern(&self, pattern: &str) -> Vec<&Cap> {
        let named = |cap: &&Cap| {
            let rest = pattern.strip_prefix(self.cap_family(cap).provider.as_str());
            !cap.is_exact() && rest.and_then(|rest| rest.strip_prefix('/')) == Some(cap.machines.as_str())
        };
        self.caps.iter().filter(named).collect()
    }

    /// The entries that pass `filter`, disks before machines, in the order of the files.
    #[must_use]
    pub fn list(&self, filter: &Filter) -> Vec<Listing> {
        let disks = self.disks.iter().map(|disk| (self.disk_family(disk), self.disk_listing(disk), None));
        let vms = self.vms.iter().map(|vm| (self.vm_family(vm), self.vm_listing(vm), None));
        let caps = self.caps.iter().map(|cap| (self.cap_family(cap), self.cap_listing(cap), Some(cap)));
        disks
            .chain(vms)
            .chain(caps)
            .filter(|(family, listing, cap)| filter.leaves(family, listing, *cap))
            .map(|(_, listing, _)| {
                let monthly = self.cost_as_listed(&listing.name, listing.kind, listing.size, &listing.prices);
                Listing { monthly, ..listing }
            })
            .collect()
    }

    /// What an entry costs a month as it is listed, by the first of `prices`.
    fn cost_as_listed(&self, name: &str, kind: Kind, size: Option<Bytes>, prices: &[Price]) -> Option<Money> {
        let region = prices.first()?.region.as_deref()?;
        let chosen = |disk: &&DiskEntry| matches!(disk.size, SizeRule::Chosen { .. });
        let is_chosen = kind == Kind::Disk && self.known_disk(name).as_ref().is_some_and(chosen);
        let wanted = Provisioned { size: size.filter(|_| is_chosen), ..Provisioned::default() };
        self.monthly_cost(name, &wanted, region).ok()
    }

    /// The provider or family of a filter that is not in the catalog, with those that are.
    ///
    /// # Errors
    /// [`FilterUnknown`], which names the nearest.
    pub fn check_filter(&self, filter: &Filter) -> Result<(), FilterUnknown> {
        // A family that only describes host caches has nothing to list.
        let has_entries = |index: usize| {
            self.disks.iter().any(|disk| disk.family == index)
                || self.vms.iter().any(|vm| vm.family == index)
                || self.caps.iter().any(|cap| cap.family == index)
        };
        let known = |of: fn(&Family) -> &str, within: Option<&str>| {
            let families =
                self.families.iter().enumerate().filter(|(index, _)| has_entries(*index)).map(|(_, family)| family);
            let families = families.filter(|family| within.is_none_or(|name| family.provider == name));
            let mut names: Vec<String> = families.map(|family| of(family).to_owned()).collect();
            names.sort_unstable();
            names.dedup();
            names
        };
        let unknown = |kind, wanted: &Option<String>, known: Vec<String>| {
            wanted.as_ref().map_or(Ok(()), |name| FilterUnknown::check(kind, name, known))
        };
        unknown("provider", &filter.provider, known(|family| &family.provider, None))?;
        unknown("family", &filter.family, known(|family| &family.name, filter.provider.as_deref()))
    }

    fn disk_listing(&self, disk: &DiskEntry) -> Listing {
        let family = self.disk_family(disk);
        let size = match disk.size {
            SizeRule::Fixed(size) | SizeRule::Chosen { most: size, .. } => Some(size),
            SizeRule::Unknown => None,
        };
        let (iops, throughput) = disk.highest(size);
        let detail = match disk.size {
            SizeRule::Fixed(_) => String::new(),
            SizeRule::Chosen { least, most } => format!("{least} to {most}; the most at any size"),
            SizeRule::Unknown => "size not recorded".to_owned(),
        };
        Listing {
            name: disk.name.clone(),
            kind: Kind::Disk,
            family: family.name.clone(),
            size,
            iops,
            throughput,
            detail,
            prices: self.prices(&disk.name),
            persistent: Some(family.mechanism.place != Place::Local),
            monthly: None,
        }
    }

    fn vm_listing(&self, vm: &VmEntry) -> Listing {
        let limit = vm.uncached.clone().unwrap_or_default();
        let mut detail: Vec<String> = vm.data_disks.map(|disks| format!("{disks} data disks")).into_iter().collect();
        if let Some(cached) = &vm.cached {
            let iops = cached.iops.as_ref().map(|found| highest_of(found, |budget| budget.rate));
            detail.extend(iops.flatten().map(|iops| format!("cached {iops}")));
        }
        Listing {
            name: vm.name.clone(),
            kind: Kind::Vm,
            family: self.vm_family(vm).name.clone(),
            size: None,
            iops: limit.iops.as_ref().and_then(|found| highest_of(found, |budget| budget.rate)),
            throughput: limit.throughput.as_ref().and_then(|found| highest_of(found, |budget| budget.rate)),
            detail: detail.join(", "),
            prices: self.prices(&vm.name),
            persistent: None,
            monthly: None,
        }
    }

    fn cap_listing(&self, cap: &Cap) -> Listing {
        let family = self.cap_family(cap);
        let name = format!("{}/{}", family.provider, cap.machines);
        Listing {
            prices: self.prices(&name),
            name,
            kind: Kind::Vm,
            family: family.name.clone(),
            size: None,
            iops: cap.limit.iops.as_ref().and_then(|found| highest_of(found, |budget| budget.rate)),
            throughput: cap.limit.throughput.as_ref().and_then(|found| highest_of(found, |budget| budget.rate)),
            detail: format!("{}{}", cap.disk, vcpus_text(cap)),
            persistent: None,
            monthly: None,
        }
    }
}

/// Which numbers of processors a row is about: ", 8 to 15 vCPUs".
pub(crate) fn vcpus_text(cap: &Cap) -> String {
    match cap.vcpus {
        Some((1, Some(1))) => ", 1 vCPU".to_owned(),
        Some((least, Some(most))) if least == most => format!(", {least} vCPUs"),
        Some((least, Some(most))) => format!(", {least} to {most} vCPUs"),
        Some((least, None)) => format!(", {least} or more vCPUs"),
        None => String::new(),
    }
}

/// The largest of the directions' figures.
fn highest_of<T, U: Ord>(found: &Directions<T>, of: impl Fn(&T) -> U) -> Option<U> {
    match found {
        Directions::Together(both) => Some(of(both)),
        Directions::Apart { read, write } => read.iter().chain(write).map(of).max(),
        Directions::Traded { read, write } => Some(of(read).max(of(write))),
    }
}

impl Filter {
    fn leaves(&self, family: &Family, listing: &Listing, cap: Option<&Cap>) -> bool {
        let called = |part: &String| {
            let part = plain_name(part);
            let machine = part.strip_prefix(&format!("{}/", family.provider)).unwrap_or(&part);
            let stands_for = |cap: &Cap| {
                let fit = cap.fits(machine).filter(|_| !cap.is_exact());
                fit.is_some_and(|fit| fit.vcpus.is_none_or(|vcpus| family.sells(machine, vcpus)))
            };
            listing.name.contains(&part) || cap.is_some_and(stands_for)
        };
        let same = |wanted: &Option<String>, is: &str| wanted.as_ref().is_none_or(|wanted| wanted == is);
        // An unknown figure does not pass a filter.
        self.name.as_ref().is_none_or(called)
            && same(&self.provider, &family.provider)
            && same(&self.family, &family.name)
            && self.iops_min.is_none_or(|least| listing.iops.is_some_and(|iops| iops >= least))
            && self.throughput_min.is_none_or(|least| listing.throughput.is_some_and(|rate| rate >= least))
            && self.size_min.is_none_or(|least| listing.size.is_some_and(|size| size >= least))
    }
}
