//! From the rows of answers to price lists: one for the machines and one for the disks of each region, each judged before it may count.

use crate::answer::{Form, PriceAnswer, Provider, Quote, QuotedItem};
use crate::feed::Feed;
use loadline_catalog::{
    Catalog, Charge, Currency, GuardRules, Kind, LeftOut, ListChanges, ListOrigin, ListRefusal, PriceList, charge,
};
use std::collections::{BTreeMap, BTreeSet};

/// A family's machines must have known prices to be checked against, so many.
const CHECKS_MIN: usize = 3;
/// How far a computed machine may be from its known price, in percent: prices move, but not all of a family's by so much.
const CHECK_PERCENT: u128 = 25;

/// What is asked of an assembly.
#[derive(Debug, Clone)]
pub struct Assembly<'a> {
    /// The catalog with the prices that count so far.
    pub before: &'a Catalog,
    /// Only these regions; empty: all.
    pub regions: &'a [String],
    /// The currency; `None`: the usual one of each provider.
    pub currency: Option<Currency>,
    /// The day of the update.
    pub today: &'a str,
    /// The instant of the update.
    pub fetched: &'a str,
    /// The version of loadline.
    pub version: &'a str,
}

/// A list with what was found of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The list.
    pub list: PriceList,
    /// What speaks against it. Empty: it may count.
    pub refusals: Vec<ListRefusal>,
    /// What it changes.
    pub changes: ListChanges,
}

/// Rows of one region and kind.
#[derive(Debug, Default)]
struct Gathered {
    /// By name and the place of the charge.
    prices: BTreeMap<String, BTreeMap<usize, Charge>>,
    zeros: BTreeSet<String>,
    refusals: Vec<ListRefusal>,
    /// Names with a row of a meter of their own.
    first: BTreeSet<String>,
    /// The places of the answers that have rows of it.
    from: BTreeSet<usize>,
    kept: u64,
    left_out: BTreeMap<LeftOut, u64>,
}

/// The digest of some of the answers, by their places.
pub type DigestOf<'a> = &'a dyn Fn(&BTreeSet<usize>) -> String;

/// Lists of one provider's answers, in the order of regions. `digest` is that of the answers that a list is from.
#[must_use]
pub fn assemble(
    provider: Provider,
    answers: &[PriceAnswer],
    digest: DigestOf<'_>,
    request: &Assembly<'_>,
) -> Vec<Candidate> {
    let catalog = request.before;
    let of_all =
        catalog.vms().iter().map(|vm| vm.name.clone()).chain(catalog.disks().iter().map(|disk| disk.name.clone()));
    let names = of_all.chain(catalog.machines_sold(provider.name()));
    let plain = |name: String| Some(name.strip_prefix(provider.name())?.strip_prefix('/')?.to_owned());
    let known = names.filter_map(plain).collect();
    let maker = Maker { provider, feed: provider.feed(), answers, digest, request, known };
    maker.candidates()
}

struct Maker<'a> {
    provider: Provider,
    feed: &'static Feed,
    answers: &'a [PriceAnswer],
    digest: DigestOf<'a>,
    request: &'a Assembly<'a>,
    /// Names whose limits the catalog has.
    known: BTreeSet<String>,
}

impl Maker<'_> {
    fn candidates(&self) -> Vec<Candidate> {
        let mut found: BTreeMap<(String, Kind), Gathered> = BTreeMap::new();
        let mut components: BTreeMap<String, Vec<&Quote>> = BTreeMap::new();
        let mut not_asked_for = 0;
        let answers = self.answers.iter().enumerate();
        let all = || answers.clone().flat_map(|(place, answer)| answer.quotes.iter().map(move |quote| (place, quote)));
        // Many sizes share a meter with another and are second in all regions; rows of a meter of their own count before them.
        for (place, quote) in
            all().filter(|(_, quote)| !quote.is_second).chain(all().filter(|(_, quote)| quote.is_second))
        {
            let is_asked_for = self.request.regions.is_empty() || self.request.regions.contains(&quote.region);
            if !is_asked_for {
                not_asked_for += 1;
                continue;
            }
            let key = (quote.region.clone(), quote.item.kind());
            found.entry(key).or_default().from.insert(place);
            if matches!(quote.item, QuotedItem::Core { .. } | QuotedItem::Memory { .. }) {
                components.entry(quote.region.clone()).or_default().push(quote);
            } else {
                self.put(&mut found, quote);
            }
        }
        for (region, item) in self.answers.iter().flat_map(|answer| &answer.zeros) {
            for (kind, name, _) in self.places(item) {
                found.entry((region.clone(), kind)).or_default().zeros.insert(name);
            }
        }
        self.put_composed(&mut found, &components);
        found.retain(|(region, _), of| {
            (!of.prices.is_empty() || !of.refusals.is_empty())
                && (self.request.regions.is_empty() || self.request.regions.contains(region))
        });
        found.into_iter().map(|((region, kind), of)| self.candidate(region, kind, of, not_asked_for)).collect()
    }

    /// The names that an item stands for, with the kind and the place of the charge.
    fn places(&self, item: &QuotedItem) -> Vec<(Kind, String, usize)> {
        match item {
            QuotedItem::Machine { name } => {
                let same = self.feed.machine.as_ref().map(|words| format!("{name}{}", words.same_with));
                let same = same.filter(|same| self.is_known(same));
                same.into_iter().chain([name.clone()]).map(|name| (Kind::Vm, name, 0)).collect()
            }
            QuotedItem::Charge { disk, charge, .. } => {
                self.feed.disk[*disk].names.iter().map(|name| (Kind::Disk, name.clone(), *charge)).collect()
            }
            QuotedItem::Tier { tiered, tier, operations } => {
                let names = self.feed.tiered[*tiered].names.iter().map(|name| format!("{name}{tier}"));
                names.map(|name| (Kind::Disk, name, usize::from(*operations))).collect()
            }
            QuotedItem::Core { .. } | QuotedItem::Memory { .. } => Vec::new(),
        }
    }

    fn is_known(&self, name: &str) -> bool {
        self.known.contains(name)
    }

    fn put(&self, found: &mut BTreeMap<(String, Kind), Gathered>, quote: &Quote) {
        let (unit, bounds) = self.unit(&quote.item);
        for (kind, name, place) in self.places(&quote.item) {
            let of = found.entry((quote.region.clone(), kind)).or_default();
            if !self.is_known(&name) {
                *of.left_out.entry(LeftOut::NotInCatalog).or_default() += 1;
                continue;
            }
            if !quote.is_second {
                of.first.insert(name.clone());
            } else if of.first.contains(&name) {
                *of.left_out.entry(LeftOut::SecondMeter).or_default() += 1;
                continue;
            }
            of.take(name, place, quote, &unit, bounds);
        }
    }

    /// What one pays for, as a charge writes it, and its bounds.
    fn unit(&self, item: &QuotedItem) -> (String, &str) {
        match item {
            QuotedItem::Charge { disk, charge, span } => {
                let words = &self.feed.disk[*disk].charge[*charge];
                let unit = span.map_or_else(|| words.unit.clone(), |span| format!("{}-{span}", words.unit));
                (unit, &words.bounds)
            }
            QuotedItem::Tier { operations: true, .. } => ("10000 requests".to_owned(), ""),
            QuotedItem::Tier { .. } => ("month".to_owned(), ""),
            QuotedItem::Machine { .. } | QuotedItem::Core { .. } | QuotedItem::Memory { .. } => ("hour".to_owned(), ""),
        }
    }

    /// Machines whose price is that of their parts: of families that were checked against known prices.
    fn put_composed(&self, found: &mut BTreeMap<(String, Kind), Gathered>, components: &BTreeMap<String, Vec<&Quote>>) {
        let machines = self.request.before.machines_sold(self.provider.name());
        let mut checks = vec![(0_usize, 0_usize); self.feed.family.len()];
        let mut composed: Vec<(usize, Quote)> = Vec::new();
        for (region, quotes) in components {
            let known = self.request.before.listed(self.provider.name(), region, Kind::Vm);
            let rates = self.rates(quotes, region, found);
            for name in machines.iter().filter_map(|name| name.split_once('/').map(|(_, name)| name)) {
                for (family, words) in self.feed.family.iter().enumerate() {
                    let Some((cores, gib_thousandths)) = words.parts(name) else { continue };
                    let (Some((core, currency)), Some((memory, _))) =
                        (rates.get(&(family, false)), rates.get(&(family, true)))
                    else {
                        continue;
                    };
                    let memory = (u128::from(*memory) * u128::from(gib_thousandths) + 500) / 1000;
                    let amount = u128::from(*core) * u128::from(cores) + memory;
                    let amount = u64::try_from(amount).unwrap_or(u64::MAX);
                    let item = QuotedItem::Machine { name: name.to_owned() };
                    let (region, currency) = (region.clone(), currency.clone());
                    composed.push((family, Quote { region, item, amount, currency, is_second: false }));
                    if let Some(price) = known.get(name) {
                        checks[family].0 += 1;
                        checks[family].1 += usize::from(is_near(amount, price.hourly()));
                    }
                }
            }
        }
        for (family, quote) in composed {
            let (known, near) = checks[family];
            if near >= CHECKS_MIN && near * 2 > known {
                self.put(found, &quote);
            } else {
                let of = found.entry((quote.region.clone(), Kind::Vm)).or_default();
                *of.left_out.entry(LeftOut::Unchecked).or_default() += 1;
            }
        }
    }

    /// The rates of a region's families: of cores (`false`) and of memory (`true`). Two for one are reported with its machines.
    fn rates(
        &self,
        quotes: &[&Quote],
        region: &str,
        found: &mut BTreeMap<(String, Kind), Gathered>,
    ) -> BTreeMap<(usize, bool), (u64, String)> {
        let mut rates: BTreeMap<(usize, bool), (u64, String)> = BTreeMap::new();
        for quote in quotes {
            let key = match quote.item {
                QuotedItem::Core { family } => (family, false),
                QuotedItem::Memory { family } => (family, true),
                _ => continue,
            };
            let of = found.entry((region.to_owned(), Kind::Vm)).or_default();
            match rates.get(&key) {
                None => {
                    of.kept += 1;
                    rates.insert(key, (quote.amount, quote.currency.clone()));
                }
                Some((amount, currency)) if (*amount, currency) == (quote.amount, &quote.currency) => {
                    *of.left_out.entry(LeftOut::Repeated).or_default() += 1;
                }
                Some((amount, currency)) => {
                    let price = |amount, currency: &str| charge(amount, currency, "hour", "").ok();
                    if let (Some(first), Some(other)) = (price(*amount, currency), price(quote.amount, &quote.currency))
                    {
                        let name = quote.item.words(self.feed);
                        of.refusals.push(ListRefusal::TwoPrices { name, first, other });
                    }
                }
            }
        }
        rates
    }

    fn candidate(&self, region: String, kind: Kind, of: Gathered, not_asked_for: u64) -> Candidate {
        let mut left_out = of.left_out;
        let answers = || of.from.iter().filter_map(|place| self.answers.get(*place));
        for (reason, rows) in answers().flat_map(|answer| &answer.left_out) {
            *left_out.entry(*reason).or_default() += rows;
        }
        if not_asked_for > 0 {
            left_out.insert(LeftOut::NotAskedFor, not_asked_for);
        }
        // A disk without its first charge, which is that for its size, is no disk.
        let whole = |charges: &BTreeMap<usize, Charge>| charges.contains_key(&0);
        let prices = of.prices.into_iter().filter(|(_, charges)| whole(charges));
        let prices = prices.map(|(name, charges)| (name, charges.into_values().collect())).collect();
        let of_kind = |terms: &crate::feed::Terms<String>| match kind {
            Kind::Vm => terms.machines.clone(),
            Kind::Disk => terms.disks.clone(),
        };
        let list = PriceList {
            provider: self.provider.name().to_owned(),
            region,
            kind,
            terms: of_kind(&self.feed.terms),
            origin: ListOrigin {
                source: answers().next().map_or("", |answer| answer.form.source()).to_owned(),
                date: answers().filter_map(|answer| answer.date.clone()).max().unwrap_or_default(),
                fetched: self.request.fetched.to_owned(),
                digest: (self.digest)(&of.from),
                version: self.request.version.to_owned(),
            },
            prices,
            kept: of.kept,
            left_out,
        };
        let rules = self.rules(kind);
        let mut refusals = of.refusals;
        // A walk over pages ends with one that has no next.
        if !self.answers.iter().any(|answer| answer.next.is_none()) {
            refusals.push(ListRefusal::Unfinished);
        }
        refusals.extend(list.refusals(&rules, self.request.before, &of.zeros));
        let changes = ListChanges::between(self.request.before, &list);
        Candidate { list, refusals, changes }
    }

    fn rules(&self, kind: Kind) -> GuardRules {
        let usual = self.feed.currencies.first().and_then(|usual| Currency::parse(usual));
        let currency = self.request.currency.or(usual).expect("the words of a provider have a currency");
        let is_composed = self.answers.iter().any(|answer| answer.form == Form::GcpSkus);
        let possible = (is_composed && kind == Kind::Vm).then(|| {
            let names = self.request.before.machines_sold(self.provider.name());
            let names = names.iter().filter_map(|name| name.split_once('/').map(|(_, name)| name.to_owned()));
            names.filter(|name| self.feed.family.iter().any(|family| family.parts(name).is_some())).collect()
        });
        GuardRules {
            currency,
            anchors: match kind {
                Kind::Vm => self.feed.anchors.machines.clone(),
                Kind::Disk => self.feed.anchors.disks.clone(),
            },
            possible,
            today: self.request.today.to_owned(),
        }
    }
}

impl Gathered {
    fn take(&mut self, name: String, place: usize, quote: &Quote, unit: &str, bounds: &str) {
        let Ok(found) = charge(quote.amount, &quote.currency, unit, bounds) else {
            let found = quote.currency.clone();
            self.refusals.push(ListRefusal::NoCurrency { name, found });
            return;
        };
        let charges = self.prices.entry(name.clone()).or_default();
        match charges.get(&place) {
            None => {
                charges.insert(place, found);
                self.kept += 1;
            }
            Some(first) if *first == found => *self.left_out.entry(LeftOut::Repeated).or_default() += 1,
            Some(first) => {
                let first = first.clone();
                self.refusals.push(ListRefusal::TwoPrices { name, first, other: found });
            }
        }
    }
}

/// Whether a computed price is that of a known machine, as far as prices move.
fn is_near(amount: u64, known: Option<u128>) -> bool {
    known.is_some_and(|known| u128::from(amount).abs_diff(known) * 100 <= known * CHECK_PERCENT)
}
