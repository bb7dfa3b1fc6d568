//! An update of prices in lines: what each region's lists are, what they change, and why one does not count.

use loadline_catalog::{
    AnsweredRates, Kind, LeftOut, LimitChange, LimitChanges, ListChanges, ListRefusal, PriceChange, PriceList,
};
use loadline_units::ByteRate;

/// A change of more is listed, in parts of a million.
const LARGE: u64 = 200_000;
/// Large changes that are listed.
const LARGE_MAX: usize = 10;
const MILLION: u64 = 1_000_000;

/// The lists of one region: machines, disks or both.
#[derive(Debug)]
pub struct RegionUpdate<'a> {
    /// Each with what it changes.
    pub lists: Vec<(&'a PriceList, &'a ListChanges)>,
    /// What became of them.
    pub became: Became,
}

/// What becomes of lists that nothing speaks against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Became {
    /// They are stored.
    Stored,
    /// They would be: nothing was to be stored.
    WouldBeStored,
    /// The same answer was stored before.
    Unchanged,
}

/// "aws eu-central-1: 771 machines, 34 prices of disks, list of 2026-11-27, 3 changed (largest -12 %: p5.48xlarge), 2 new".
#[must_use]
pub fn update_line(of: &RegionUpdate<'_>) -> String {
    let mut parts = Vec::new();
    let (mut dates, mut changed, mut added, mut gone) = (Vec::new(), Vec::<&PriceChange>::new(), 0, 0);
    for (list, changes) in &of.lists {
        parts.push(match list.kind {
            Kind::Vm => counted(list.prices.len(), "machine", "machines"),
            Kind::Disk => counted(list.charges(), "price of disks", "prices of disks"),
        });
        dates.push(list.origin.date.as_str());
        changed.extend(&changes.changed);
        (added, gone) = (added + changes.added.len(), gone + changes.gone.len());
    }
    dates.sort_unstable();
    dates.dedup();
    parts.push(format!("list of {}", dates.join(" and ")));
    let largest = changed.iter().max_by_key(|change| change.millionths.abs_diff(MILLION));
    parts.extend(largest.map(|largest| {
        format!("{} changed (largest {}: {})", changed.len(), percent(largest.millionths), largest.name)
    }));
    parts.extend((added > 0).then(|| format!("{added} new")));
    parts.extend((gone > 0).then(|| format!("{gone} only in the older list, which counts on for them")));
    parts.extend(match of.became {
        Became::Stored => None,
        Became::WouldBeStored => Some("not stored, as asked".to_owned()),
        Became::Unchanged => Some("stored before".to_owned()),
    });
    let place = of.lists.first().map(|(list, _)| format!("{} {}", list.provider, list.region));
    format!("{}: {}", place.unwrap_or_default(), parts.join(", "))
}

/// "aws: limits of 1395 machines, 27 new, 3 with other limits than before".
#[must_use]
pub fn limits_line(of: &LimitChanges, is_dry: bool) -> String {
    let mut parts = vec![format!("limits of {}", counted(of.machines, "machine", "machines"))];
    parts.push(if of.added.is_empty() { "none new".to_owned() } else { format!("{} new", of.added.len()) });
    let changed = of.changed.len();
    parts.extend((changed > 0).then(|| {
        let counting = if of.replaces { "which count now" } else { "and the catalog's count on" };
        format!("{changed} with other limits than the catalog has, {counting}")
    }));
    parts.extend((of.without_limits > 0).then(|| format!("{} without limits", of.without_limits)));
    parts.extend(is_dry.then(|| "not stored, as asked".to_owned()));
    format!("{}: {}", of.provider, parts.join(", "))
}

/// What changed, the first ones: "aws m5.large: was 3600 IOPS and 81.25 MB/s, is 5000 IOPS and 100 MB/s".
#[must_use]
pub fn limit_change_lines(of: &LimitChanges) -> Vec<String> {
    let rates = |rates: &AnsweredRates| {
        let bytes = ByteRate::per_second(rates.bytes).map_or_else(String::new, |rate| format!(" and {rate}"));
        format!("{} IOPS{bytes}", rates.iops)
    };
    let (known, answered) = if of.replaces { ("was", "is") } else { ("in the catalog", "in the answer") };
    let line = |change: &LimitChange| {
        format!(
            "{} {}: {known} {}, {answered} {}",
            of.provider,
            change.name,
            rates(&change.before),
            rates(&change.after)
        )
    };
    let mut lines: Vec<String> = of.changed.iter().take(LARGE_MAX).map(line).collect();
    let more = of.changed.len().saturating_sub(LARGE_MAX);
    lines.extend((more > 0).then(|| format!("and {more} more; the JSON lists all")));
    lines
}

/// Changes of more than 20 %, the largest first: "p5.48xlarge -44 %".
#[must_use]
pub fn large_changes(changes: &ListChanges) -> Vec<String> {
    let is_large = |change: &&PriceChange| change.millionths.abs_diff(MILLION) > LARGE;
    let large: Vec<&PriceChange> = changes.changed.iter().filter(is_large).collect();
    let mut lines: Vec<String> =
        large.iter().take(LARGE_MAX).map(|change| format!("{} {}", change.name, percent(change.millionths))).collect();
    let more = large.len().saturating_sub(LARGE_MAX);
    lines.extend((more > 0).then(|| format!("and {more} more")));
    lines
}

/// Why a list does not count, and what to do.
#[must_use]
pub fn refusal_text(refusal: &ListRefusal) -> String {
    match refusal {
        ListRefusal::TooFew { found, known, missing } => format!(
            "it has {found} of the {known} names that are known here, and {missing} is missing for one; fetch all of it once more"
        ),
        ListRefusal::NoAnchor { any_of } => {
            format!("it is not whole: it has no {}; fetch all of it once more", any_of.join(" and no "))
        }
        ListRefusal::Zero { name } => format!("{name} costs 0 in it; fetch it once more"),
        ListRefusal::TooHigh { name, price } => {
            format!("{name} costs {price} in it, more than 10,000 an hour; fetch it once more")
        }
        ListRefusal::TwoPrices { name, first, other } => {
            format!("{name} has two prices in it, {first} and {other}; pass answers of one day, each once")
        }
        ListRefusal::OtherCurrency { found, wanted } => {
            format!("its prices are in {found} and {wanted} was asked for; fetch it in {wanted}, or ask for {found}")
        }
        ListRefusal::ComponentOff { name, charge, expected } => format!(
            "{name} has {charge} in it, more than 5 % off the {} that follow from its other price; fetch it once more",
            expected.amount()
        ),
        ListRefusal::BareAbove { name, price, sibling, sibling_price } => format!(
            "{name} costs {price} in it and {sibling}, with as many processors, {sibling_price}: the first is likely the price of \
             dedicated tenancy; fetch it from the provider itself"
        ),
        ListRefusal::FromTheFuture { date } => {
            format!("its date, {date}, is yet to come; check the clock of this machine")
        }
        ListRefusal::OlderThan { newer } => {
            format!(
                "newer prices, of {newer}, count already; fetch the list of today, or undo the update that brought them"
            )
        }
        ListRefusal::NoDate => "it has no date; pass the answer as the provider sent it".to_owned(),
        ListRefusal::NoCurrency { name, found } => {
            format!("the price of {name} is in {found:?}, which is no currency; fetch it once more")
        }
        ListRefusal::Unfinished => "each of its pages names a next one; pass the last page, too".to_owned(),
        ListRefusal::PartMissing { name, before } => {
            format!("{name} has no price in it for a part that cost {before}; fetch all of it once more")
        }
    }
}

/// Why rows are no prices, in words that follow their number.
#[must_use]
pub const fn left_out_text(reason: LeftOut) -> &'static str {
    match reason {
        LeftOut::OtherProduct => "neither machines nor disks",
        LeftOut::OtherMeter => "of something else than a disk's size, IOPS or throughput",
        LeftOut::OtherSystem => "with Windows or another licensed system",
        LeftOut::WithSoftware => "with software on it",
        LeftOut::OtherTenancy => "of tenancy that is not shared",
        LeftOut::ReservedCapacity => "of reserved capacity",
        LeftOut::Spot => "of spot or low priority",
        LeftOut::OtherTerms => "of reservations, commitments or tests",
        LeftOut::OtherPlace => "of local zones and unknown regions",
        LeftOut::NotAskedFor => "of regions that were not asked for",
        LeftOut::NotYet => "to come",
        LeftOut::Ended => "ended",
        LeftOut::Zero => "with a price of 0",
        LeftOut::Repeated => "there twice",
        LeftOut::SecondMeter => "of a second meter",
        LeftOut::Unchecked => "of families without 3 known prices to check against",
        LeftOut::NotInCatalog => "of products whose limits the catalog does not have",
    }
}

/// "-12 %", "+0.4 %", "+2000 %".
fn percent(millionths: u64) -> String {
    let sign = if millionths < MILLION { '-' } else { '+' };
    let tenths = (millionths.abs_diff(MILLION) + 500) / 1000;
    if tenths < 100 && !tenths.is_multiple_of(10) {
        format!("{sign}{}.{} %", tenths / 10, tenths % 10)
    } else {
        format!("{sign}{} %", (tenths + 5) / 10)
    }
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_catalog::{ListOrigin, charge};

    fn list(kind: Kind, prices: &[(&str, u64)]) -> PriceList {
        let price = |(name, amount): &(&str, u64)| {
            ((*name).to_owned(), vec![charge(*amount, "USD", "hour", "").expect("it is a charge")])
        };
        PriceList {
            provider: "aws".into(),
            region: "eu-central-1".into(),
            kind,
            terms: String::new(),
            origin: ListOrigin { date: "2026-11-27".into(), ..ListOrigin::default() },
            prices: prices.iter().map(price).collect(),
            kept: 0,
            left_out: std::collections::BTreeMap::new(),
        }
    }

    fn change(name: &str, millionths: u64) -> PriceChange {
        PriceChange { name: name.into(), millionths }
    }

    #[test]
    fn a_region_is_one_line() {
        let (machines, disks) = (list(Kind::Vm, &[("a", 1), ("b", 2)]), list(Kind::Disk, &[("gp3", 3)]));
        let changes = ListChanges { changed: vec![change("b", 880_000)], added: vec!["a".into()], gone: vec![] };
        let nothing = ListChanges::default();
        let lists = vec![(&machines, &changes), (&disks, &nothing)];
        let stored = update_line(&RegionUpdate { lists, became: Became::Stored });
        assert_eq!(
            stored,
            "aws eu-central-1: 2 machines, 1 price of disks, list of 2026-11-27, 1 changed (largest -12 %: b), 1 new"
        );
        let tried = update_line(&RegionUpdate { lists: vec![(&disks, &nothing)], became: Became::WouldBeStored });
        assert_eq!(tried, "aws eu-central-1: 1 price of disks, list of 2026-11-27, not stored, as asked");
    }

    #[test]
    fn limits_say_what_is_new_and_which_of_two_figures_counts() {
        let rates = |iops, bytes| AnsweredRates { iops, bytes };
        let change =
            LimitChange { name: "m5.large".into(), before: rates(3600, 81_250_000), after: rates(5000, 100_000_000) };
        let mut of = LimitChanges {
            provider: "aws".into(),
            machines: 1376,
            without_limits: 19,
            added: vec!["r9g.large".into()],
            changed: vec![change; 11],
            replaces: true,
        };
        assert_eq!(
            limits_line(&of, true),
            "aws: limits of 1376 machines, 1 new, 11 with other limits than the catalog has, which count now, 19 without limits, not stored, as asked"
        );
        let lines = limit_change_lines(&of);
        assert_eq!(lines[0], "aws m5.large: was 3600 IOPS and 81250 kB/s, is 5000 IOPS and 100 MB/s");
        assert_eq!((lines.len(), &*lines[10]), (11, "and 1 more; the JSON lists all"));
        of.replaces = false;
        assert!(limits_line(&of, false).contains("and the catalog's count on"));
        assert!(limit_change_lines(&of)[0].contains("in the catalog 3600 IOPS"));
    }

    #[test]
    fn changes_are_in_percent_and_large_ones_are_listed() {
        assert_eq!(
            [995_600, 1_004_000, 500_000, 21_000_000, 1_100_000].map(percent),
            ["-0.4 %", "+0.4 %", "-50 %", "+2000 %", "+10 %"]
        );
        let changed = vec![change("a", 500_000), change("b", 1_210_000), change("c", 1_200_000)];
        assert_eq!(large_changes(&ListChanges { changed, ..ListChanges::default() }), ["a -50 %", "b +21 %"]);
    }

    #[test]
    fn a_refusal_names_what_was_found_and_what_to_do() {
        let price = |amount| charge(amount, "USD", "hour", "").expect("it is a charge");
        let two =
            ListRefusal::TwoPrices { name: "m5.large".into(), first: price(96_000_000), other: price(115_000_000) };
        assert_eq!(
            refusal_text(&two),
            "m5.large has two prices in it, 0.096 USD per hour and 0.115 USD per hour; pass answers of one day, each once"
        );
        let few = ListRefusal::TooFew { found: 700, known: 771, missing: "c5.large".into() };
        assert!(refusal_text(&few).starts_with("it has 700 of the 771 names that are known here, and c5.large"));
    }
}
