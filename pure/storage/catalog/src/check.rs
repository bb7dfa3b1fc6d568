//! Checks a catalog: rules that miss their published rows, figures that fall with size, duplicates, and contradictions.

use crate::catalog::{Catalog, Kind};
use crate::entry::{Choice, DiskEntry, Family, Figure, Published, SizeRule, VmEntry};
use crate::figure::{Rule, Scalar};
use crate::near_name::words_and_numbers;
use crate::resolve::{Provisioned, PurchasePart};
use loadline_disk::{Directions, IopsBudget, Limit, ThroughputBudget};
use loadline_units::{ByteRate, Bytes, Iops, Ratio};
use std::collections::BTreeMap;

/// The kind of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProblemKind {
    /// Two entries have one name; the later one counts.
    Duplicate,
    /// A figure falls while the size, or the number of processors, rises.
    Falls,
    /// Two figures cannot both be true.
    Contradiction,
    /// Simulated, it does not come to its own published limits.
    Unreached,
    /// Its source has no date, or its price.
    Undated,
    /// Its price has no region.
    Unplaced,
    /// A name without a year has older limits than the same name with one.
    Outdated,
}

impl ProblemKind {
    /// A stable word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Duplicate => "duplicate",
            Self::Falls => "falls",
            Self::Contradiction => "contradiction",
            Self::Unreached => "unreached",
            Self::Undated => "undated",
            Self::Unplaced => "unplaced",
            Self::Outdated => "outdated",
        }
    }
}

/// Something wrong with an entry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CatalogProblem {
    /// The file and line.
    pub place: String,
    /// The entry's name.
    pub name: String,
    /// The kind of problem.
    pub kind: ProblemKind,
    /// In words.
    pub text: String,
}

/// Machines that differ in one number of their names: the common words, the other numbers, and the place of that one.
type Kin = (String, Vec<u64>);

/// How far a published figure may lie from its rule: sources round.
const ROUNDING: Ratio = Ratio::percent(1);
/// The tolerance for throughputs that are rounded to tens.
const TENS_ROUNDED: Bytes = Bytes::mib(5);

impl Catalog {
    /// Everything that is wrong, in the order of the files. Files that cannot be read are not here: [`Catalog::with`]
    /// refuses them.
    #[must_use]
    pub fn check(&self) -> Vec<CatalogProblem> {
        let mut problems = Vec::new();
        self.check_duplicates(&mut problems);
        self.check_dates(&mut problems);
        self.check_years(&mut problems);
        self.check_prices(&mut problems);
        for disk in &self.disks {
            self.check_disk(disk, &mut problems);
        }
        self.check_rise(&mut problems);
        self.check_machines_rise(&mut problems);
        for vm in &self.vms {
            self.check_vm(vm, &mut problems);
        }
        self.check_caps(&mut problems);
        self.check_units(&mut problems);
        self.check_iops_at(&mut problems);
        problems.sort();
        problems
    }

    fn check_duplicates(&self, problems: &mut Vec<CatalogProblem>) {
        let mut seen: BTreeMap<(Kind, &str, bool), String> = BTreeMap::new();
        let disks = self.disks.iter().map(|disk| (Kind::Disk, &disk.name, disk.family, self.disk_place(disk)));
        let vms = self.vms.iter().map(|vm| (Kind::Vm, &vm.name, vm.family, self.vm_place(vm)));
        for (kind, name, family, place) in disks.chain(vms) {
            // A user's entry may replace a built-in one.
            let is_own = family >= self.builtin_families;
            if let Some(first) = seen.insert((kind, name.as_str(), is_own), place.clone()) {
                let text = format!("is also at {first}; this one counts");
                problems.push(CatalogProblem { place, name: name.clone(), kind: ProblemKind::Duplicate, text });
            }
        }
    }

    /// Limits change, so each source must have its date: that of the file, or of an entry with its own source.
    fn check_dates(&self, problems: &mut Vec<CatalogProblem>) {
        let mut tell = |place: String, name: String, source: &str| {
            let text = format!(
                "has no date for its source, {source}: write date = \"...\" beside it, as the source states it"
            );
            problems.push(CatalogProblem { place, name, kind: ProblemKind::Undated, text });
        };
        for family in self.families.iter().filter(|family| family.date.is_none()) {
            tell(family.file.clone(), format!("{}/{}", family.provider, family.name), &family.source);
        }
        let disks = self.disks.iter().map(|disk| (self.disk_place(disk), &disk.name, &disk.origin));
        let vms = self.vms.iter().map(|vm| (self.vm_place(vm), &vm.name, &vm.origin));
        for (place, name, origin) in disks.chain(vms).filter(|(_, _, origin)| origin.date.is_none()) {
            if let Some(source) = &origin.source {
                tell(place, name.clone(), source);
            }
        }
    }

    /// The name without a year is what is sold today: no name with `@` has a later source, or a later year.
    fn check_years(&self, problems: &mut Vec<CatalogProblem>) {
        let disks = self.disks.iter().map(|disk| {
            let date = disk.origin.date_within(self.disk_family(disk));
            (Kind::Disk, disk.name.as_str(), disk.family, date, self.disk_place(disk))
        });
        let vms = self.vms.iter().map(|vm| {
            let date = vm.origin.date_within(self.vm_family(vm));
            (Kind::Vm, vm.name.as_str(), vm.family, date, self.vm_place(vm))
        });
        let all: Vec<_> = disks.chain(vms).collect();
        // Of several entries of one name, the last counts. A user's entry is compared with the user's alone.
        let mut plain: BTreeMap<(Kind, &str, bool), (&str, &str)> = BTreeMap::new();
        for (kind, name, family, date, place) in &all {
            if let Some(date) = date
                && !name.contains('@')
            {
                plain.insert((*kind, name, *family >= self.builtin_families), (date, place));
            }
        }
        for (kind, name, family, date, _) in &all {
            let Some((bare, year)) = name.split_once('@') else { continue };
            let Some((found, place)) = plain.get(&(*kind, bare, *family >= self.builtin_families)) else { continue };
            let later = [Some(year), *date].into_iter().flatten().find(|later| is_earlier(found, later));
            if let Some(later) = later {
                let text = format!(
                    "has limits of {found}, and {name} has those of {later}: the plain name must have the latest"
                );
                problems.push(CatalogProblem {
                    place: (*place).to_owned(),
                    name: bare.to_owned(),
                    kind: ProblemKind::Outdated,
                    text,
                });
            }
        }
    }

    fn check_disk(&self, disk: &DiskEntry, problems: &mut Vec<CatalogProblem>) {
        let family = self.disk_family(disk);
        let mut tell = |text: String| {
            problems.push(CatalogProblem {
                place: family.at(disk.line),
                name: disk.name.clone(),
                kind: ProblemKind::Contradiction,
                text,
            });
        };
        if disk.iops.is_none() && disk.throughput.is_none() {
            tell("has neither IOPS nor a throughput".to_owned());
        }
        for row in &disk.published {
            let texts =
                if row.highest { highest_differences(disk, family, row) } else { differences(disk, family, row) };
            texts.into_iter().for_each(&mut tell);
        }
        if let SizeRule::Fixed(size) = disk.size
            && let Err(error) = disk.resolve(family, &Provisioned { size: Some(size), ..Provisioned::default() })
        {
            tell(error.to_string());
        }
        let (iops, throughput) = disk.highest(match disk.size {
            SizeRule::Fixed(size) | SizeRule::Chosen { most: size, .. } => Some(size),
            SizeRule::Unknown => None,
        });
        for option in &disk.options {
            if iops.is_some_and(|iops| option.iops < iops) {
                tell(format!("with {} has {}, less than without", option.name, option.iops));
            }
            if throughput.is_some_and(|rate| option.throughput < rate) {
                tell(format!("with {} has {}, less than without", option.name, option.throughput));
            }
        }
        if let Some(burst) = &disk.burst {
            // A burst that is never above the plain figure is a slip of the pen.
            if let (Some(Rule::Fixed(burst)), Some(Figure::Together(plain))) = (&burst.iops, &disk.iops)
                && matches!(plain.rule, Rule::Fixed(rate) if rate >= *burst)
            {
                tell(format!("bursts to {burst}, which is not above its plain figure"));
            }
        }
    }

    /// Within a family, a larger disk of fixed size has at least the figures of a smaller one.
    fn check_rise(&self, problems: &mut Vec<CatalogProblem>) {
        for (index, family) in self.families.iter().enumerate() {
            let mut sized: Vec<(Bytes, &DiskEntry)> = (self.disks.iter().filter(|disk| disk.family == index))
                .filter_map(|disk| match disk.size {
                    SizeRule::Fixed(size) => Some((size, disk)),
                    _ => None,
                })
                .collect();
            sized.sort_by_key(|(size, _)| *size);
            for pair in sized.windows(2) {
                let [(small_size, small), (large_size, large)] = pair else { continue };
                if small_size == large_size {
                    continue;
                }
                let (low, high) = (small.highest(Some(*small_size)), large.highest(Some(*large_size)));
                let bursts = (small.bursts(*small_size), large.bursts(*large_size));
                let mut tell = |what: String| {
                    problems.push(CatalogProblem {
                        place: family.at(large.line),
                        name: large.name.clone(),
                        kind: ProblemKind::Falls,
                        text: format!("has {what} than {}, which is smaller", small.name),
                    });
                };
                if let (Some(low), Some(high)) = (low.0, high.0)
                    && high < low
                {
                    tell(format!("fewer IOPS ({high} against {low})"));
                }
                if let (Some(low), Some(high)) = (low.1, high.1)
                    && high < low
                {
                    tell(format!("less throughput ({high} against {low})"));
                }
                // A burst that a larger disk does not have at all is how some are sold.
                if let ((Some(low), _), (Some(high), _)) = bursts
                    && high < low
                {
                    tell(format!("fewer IOPS in a burst ({high} against {low})"));
                }
                if let ((_, Some(low)), (_, Some(high))) = bursts
                    && high < low
                {
                    tell(format!("less throughput in a burst ({high} against {low})"));
                }
            }
        }
    }

    /// Within a family, a machine with more processors has at least the figures of one with fewer, if their names
    /// differ in one number alone, the size. Other pairs may be of different kinds.
    fn check_machines_rise(&self, problems: &mut Vec<CatalogProblem>) {
        for (index, family) in self.families.iter().enumerate() {
            let mut kinds: BTreeMap<Kin, Vec<(u32, u64, &VmEntry)>> = BTreeMap::new();
            for vm in self.vms.iter().filter(|vm| vm.family == index) {
                let Some(vcpus) = vm.vcpus else { continue };
                let (words, numbers) = words_and_numbers(&vm.name);
                // Of one kind by each of its numbers.
                for place in 0..numbers.len() {
                    let mut others = numbers.clone();
                    others[place] = u64::MAX;
                    others.push(place as u64);
                    kinds.entry((words.clone(), others)).or_default().push((vcpus, numbers[place], vm));
                }
            }
            for (_, mut kind) in kinds {
                kind.sort_by_key(|(vcpus, number, _)| (*vcpus, *number));
                for pair in kind.windows(2) {
                    let [(few, number, small), (many, higher, large)] = pair else { continue };
                    // A number that does not rise with the processors is a generation.
                    if few == many || number >= higher {
                        continue;
                    }
                    let limits = [
                        ("to network disks", small.uncached.as_ref(), large.uncached.as_ref()),
                        ("to network disks of some families", for_some(small), for_some(large)),
                        ("through the host's cache", small.cached.as_ref(), large.cached.as_ref()),
                    ];
                    for (which, low, high) in limits {
                        if let (Some(low), Some(high)) = (low, high)
                            && (falls(low, high) || burst_falls(low, high))
                        {
                            problems.push(CatalogProblem {
                                place: family.at(large.line),
                                name: large.name.clone(),
                                kind: ProblemKind::Falls,
                                text: format!("has less {which} than {}, which has fewer processors", small.name),
                            });
                        }
                    }
                }
            }
        }
    }

    /// If a source gives IOPS for a request size, the throughput beside them must allow that many such requests.
    fn check_iops_at(&self, problems: &mut Vec<CatalogProblem>) {
        for disk in &self.disks {
            let family = self.disk_family(disk);
            let Some(block) = family.iops_at else { continue };
            for (iops, rate, direction) in disk.rates_by_size() {
                let let_through = rate.get() / block.get();
                // Sources round throughputs to tens.
                let rounded = ROUNDING.of(iops.get()).max(TENS_ROUNDED.get() / block.get());
                if let_through + rounded < iops.get() {
                    problems.push(CatalogProblem {
                        place: family.at(disk.line),
                        name: disk.name.clone(),
                        kind: ProblemKind::Contradiction,
                        text: format!(
                            "has {iops} {direction}, which are of requests of {block}, and {} let {let_through} of them through",
                            crate::rate_text(rate)
                        ),
                    });
                }
            }
        }
    }

    fn check_vm(&self, vm: &VmEntry, problems: &mut Vec<CatalogProblem>) {
        let family = self.vm_family(vm);
        if vm.uncached.is_none() && vm.cached.is_none() && vm.data_disks.is_none() {
            problems.push(CatalogProblem {
                place: family.at(vm.line),
                name: vm.name.clone(),
                kind: ProblemKind::Contradiction,
                text: "says nothing about its storage".to_owned(),
            });
        }
        let known = |name: &&String| self.families.iter().any(|f| f.provider == family.provider && f.name == **name);
        let limited = vm.uncached_for.iter().flat_map(|(families, _)| families).map(|name| ("has a limit for", name));
        let named = limited.chain(vm.takes_no.iter().map(|name| ("takes no disks of", name)));
        for (what, name) in named.filter(|(_, name)| !known(name)) {
            problems.push(CatalogProblem {
                place: family.at(vm.line),
                name: vm.name.clone(),
                kind: ProblemKind::Contradiction,
                text: format!("{what} the family {name:?}, which is not in the catalog"),
            });
        }
    }

    /// Rows of one pattern and disk do not overlap in processors and rise with them; the disks are in the catalog.
    fn check_caps(&self, problems: &mut Vec<CatalogProblem>) {
        for (index, cap) in self.caps.iter().enumerate() {
            let family = self.cap_family(cap);
            let mut tell = |kind, text| {
                let name = format!("{}/{}", family.provider, cap.machines);
                problems.push(CatalogProblem { place: family.at(cap.line), name, kind, text });
            };
            let disk = format!("{}/{}", family.provider, cap.disk);
            if self.disk_entry(&disk).is_err() {
                tell(ProblemKind::Contradiction, format!("has a limit for {disk}, which is not in the catalog"));
            }
            let Some((least, _)) = cap.vcpus else { continue };
            // A user's rows may replace built-in ones, like entries.
            let is_own = |cap: &crate::Cap| cap.family >= self.builtin_families;
            let alike = |other: &&crate::Cap| {
                other.machines == cap.machines && other.disk == cap.disk && is_own(other) == is_own(cap)
            };
            for other in self.caps[..index].iter().filter(alike) {
                let Some((_, most)) = other.vcpus else { continue };
                if most.is_none_or(|most| most >= least) {
                    tell(ProblemKind::Duplicate, format!("has two rows for {least} vCPUs and {}", cap.disk));
                    break;
                }
                if falls(&other.limit, &cap.limit) {
                    tell(ProblemKind::Falls, format!("has less for {least} vCPUs and {} than for fewer", cap.disk));
                }
            }
        }
    }
}

/// Whether one date is before another, as far as both are known: `2023` is not before `2023-05`.
fn is_earlier(date: &str, other: &str) -> bool {
    let known = date.len().min(other.len());
    date.as_bytes()[..known] < other.as_bytes()[..known]
}

/// The limit of a machine if all its network disks are of families that it names.
fn for_some(vm: &VmEntry) -> Option<&Limit> {
    vm.uncached_for.as_ref().map(|(_, limit)| limit)
}

/// Whether any figure of `large` is below that of `small`.
fn falls(small: &Limit, large: &Limit) -> bool {
    let iops = |limit: &Limit| limit.iops.map(|found| pair(found, |budget: IopsBudget| budget.rate.get()));
    let rate = |limit: &Limit| limit.throughput.map(|found| pair(found, |budget: ThroughputBudget| budget.rate.get()));
    let below = |small: Option<(u64, u64)>, large: Option<(u64, u64)>| match (small, large) {
        (Some(small), Some(large)) => large.0 < small.0 || large.1 < small.1,
        _ => false,
    };
    below(iops(small), iops(large)) || below(rate(small), rate(large))
}

/// Whether a burst of `large` is below that of `small`, if both have one.
fn burst_falls(small: &Limit, large: &Limit) -> bool {
    let iops = |limit: &Limit| limit.iops.map(|found| pair(found, |b: IopsBudget| b.burst.map_or(0, |b| b.rate.get())));
    let rate = |limit: &Limit| {
        limit.throughput.map(|found| pair(found, |b: ThroughputBudget| b.burst.map_or(0, |b| b.rate.get())))
    };
    let below = |small: Option<(u64, u64)>, large: Option<(u64, u64)>| {
        small.zip(large).is_some_and(|(small, large)| large.0 > 0 && large.0 < small.0)
    };
    below(iops(small), iops(large)) || below(rate(small), rate(large))
}

/// Reads and writes; a direction without limit has the most.
fn pair<T: Copy>(found: Directions<T>, of: impl Fn(T) -> u64) -> (u64, u64) {
    match found {
        Directions::Together(both) => (of(both), of(both)),
        Directions::Apart { read, write } => (read.map_or(u64::MAX, &of), write.map_or(u64::MAX, &of)),
        Directions::Traded { read, write } => (of(read), of(write)),
    }
}

impl DiskEntry {
    /// The highest lasting figure at this size, with any provisioning; the larger of reads and writes. `None`: no known
    /// bound.
    #[must_use]
    pub fn highest(&self, size: Option<Bytes>) -> (Option<Iops>, Option<ByteRate>) {
        let first = highest(self.iops.as_ref(), size, None);
        let throughput = highest(self.throughput.as_ref(), size, first.map(Iops::get));
        let iops = first.or_else(|| highest(self.iops.as_ref(), size, throughput.map(ByteRate::get)));
        (iops, throughput)
    }
}

impl DiskEntry {
    /// The burst at this size.
    fn bursts(&self, size: Bytes) -> (Option<Iops>, Option<ByteRate>) {
        let burst = self.burst.as_ref();
        let iops = burst.and_then(|burst| burst.iops.as_ref()?.at(Some(size), None).ok().flatten());
        let rate = burst.and_then(|burst| burst.throughput.as_ref()?.at(Some(size), None).ok().flatten());
        (iops, rate)
    }

    /// IOPS and throughput of each direction, at every size from which a figure counts.
    fn rates_by_size(&self) -> Vec<(Iops, ByteRate, String)> {
        fn rules<T>(figure: &Figure<T>) -> [&Rule<T>; 2] {
            match figure {
                Figure::Together(provision) => [&provision.rule, &provision.rule],
                Figure::Apart { read, write } => [read, write],
            }
        }
        let (Some(iops), Some(rate)) = (&self.iops, &self.throughput) else { return Vec::new() };
        let mut found = Vec::new();
        for ((iops, rate), direction) in rules(iops).into_iter().zip(rules(rate)).zip(["read", "written"]) {
            let own = match self.size {
                SizeRule::Fixed(size) => Some(size),
                SizeRule::Chosen { most, .. } => Some(most),
                SizeRule::Unknown => None,
            };
            let steps = match iops {
                Rule::Steps(steps) => steps.iter().map(|(from, _)| *from).collect(),
                Rule::Fixed(_) | Rule::Formulas(_) => Vec::new(),
            };
            for size in own.into_iter().chain(steps) {
                let at = (iops.at(Some(size), None).ok().flatten(), rate.at(Some(size), None).ok().flatten());
                let (Some(iops), Some(rate)) = at else { continue };
                found.push((iops, rate, format!("{direction} at {size}")));
            }
        }
        found
    }
}

fn highest<T: Scalar>(figure: Option<&Figure<T>>, size: Option<Bytes>, other: Option<u64>) -> Option<T> {
    let at = |rule: &Rule<T>| rule.at(size, other).ok().flatten();
    match figure? {
        Figure::Together(provision) => at(&provision.rule),
        Figure::Apart { read, write } => at(read).max(at(write)),
    }
}

/// Differences between the default at the row's size and the row.
fn differences(disk: &DiskEntry, family: &Family, row: &Published) -> Vec<String> {
    let figures = match disk.resolve(family, &Provisioned { size: Some(row.size), ..Provisioned::default() }) {
        Ok(figures) => figures,
        Err(error) => return vec![error.to_string()],
    };
    let limit = figures.limits.limit;
    let iops = limit.iops.map(|found| pair(found, |budget: IopsBudget| budget.rate.get()).0);
    let rate = limit.throughput.map(|found| pair(found, |budget: ThroughputBudget| budget.rate.get()).0);
    let burst = |found: Option<u64>| found.filter(|found| *found > 0);
    let burst_iops = limit.iops.map(|found| pair(found, |b: IopsBudget| b.burst.map_or(0, |b| b.rate.get())).0);
    let burst_rate =
        limit.throughput.map(|found| pair(found, |b: ThroughputBudget| b.burst.map_or(0, |b| b.rate.get())).0);
    let rows = [
        ("IOPS", row.iops.map(Iops::get), iops),
        ("bytes/s", row.throughput.map(ByteRate::get), rate),
        ("IOPS in a burst", row.burst_iops.map(Iops::get), burst(burst_iops)),
        ("bytes/s in a burst", row.burst_throughput.map(ByteRate::get), burst(burst_rate)),
    ];
    let wrong = |(what, published, ruled): (&str, Option<u64>, Option<u64>)| {
        let is_burst = what.ends_with("burst");
        let same = match (published, ruled) {
            (Some(published), Some(ruled)) => published.abs_diff(ruled) <= ROUNDING.of(published),
            (None, Some(_)) => !is_burst || published == ruled,
            (None, None) => true,
            // A burst that is not above the plain figure is none.
            (Some(published), None) => is_burst && Some(published) <= iops.max(rate),
        };
        let show = |figure: Option<u64>| figure.map_or("none".to_owned(), |figure| figure.to_string());
        (!same).then(|| {
            format!("at {} is published with {} {what}, and its rule gives {}", row.size, show(published), show(ruled))
        })
    };
    rows.into_iter().filter_map(wrong).collect()
}

/// Differences between the most that can be provisioned at the row's size and the row: the row itself must be possible,
/// and more must not.
fn highest_differences(disk: &DiskEntry, family: &Family, row: &Published) -> Vec<String> {
    let chosen = |part: PurchasePart| match part {
        PurchasePart::Iops => matches!(&disk.iops, Some(Figure::Together(p)) if p.choice != Choice::None),
        _ => matches!(&disk.throughput, Some(Figure::Together(p)) if p.choice != Choice::None),
    };
    let wanted = Provisioned {
        size: Some(row.size),
        iops: row.iops.filter(|_| chosen(PurchasePart::Iops)),
        throughput: row.throughput.filter(|_| chosen(PurchasePart::Throughput)),
        option: None,
    };
    let figures = match disk.resolve(family, &wanted) {
        Ok(figures) => figures,
        Err(error) => return vec![error.to_string()],
    };
    let limit = figures.limits.limit;
    let iops = limit.iops.map(|found| pair(found, |budget: IopsBudget| budget.rate.get()).0);
    let rate = limit.throughput.map(|found| pair(found, |budget: ThroughputBudget| budget.rate.get()).0);
    let mut texts = Vec::new();
    if iops != row.iops.map(Iops::get) || rate != row.throughput.map(ByteRate::get) {
        texts.push(format!("at {} does not come to what is published as its most", row.size));
    }
    let more_iops = Provisioned { iops: wanted.iops.map(|iops| Iops::of(iops.get() + 1)), ..wanted.clone() };
    let more_rate = Provisioned { throughput: wanted.throughput.map(|rate| ByteRate::of(rate.get() + 1)), ..wanted };
    if more_iops.iops.is_some() && disk.resolve(family, &more_iops).is_ok() {
        texts.push(format!("at {} can have more IOPS than what is published as its most", row.size));
    }
    if more_rate.throughput.is_some() && disk.resolve(family, &more_rate).is_ok() {
        texts.push(format!("at {} can have more throughput than what is published as its most", row.size));
    }
    texts
}
