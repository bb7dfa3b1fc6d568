//! Figures against the unit that their family states: a figure that is no whole number of it was copied as it stood.

use crate::catalog::Catalog;
use crate::check::{CatalogProblem, ProblemKind};
use crate::entry::{BurstRule, DiskEntry, Figure, VmEntry};
use crate::figure::Rule;
use crate::megabytes::{Megabyte, PublishedUnits};
use loadline_disk::{Directions, Limit, ThroughputBudget};
use loadline_units::ByteRate;
use loadline_units::words::rate_text;

impl Catalog {
    /// Names figures that are no whole number of the stated unit: probably copied from the page as they stood.
    pub(crate) fn check_units(&self, problems: &mut Vec<CatalogProblem>) {
        let mut tell = |place: String, name: &str, rate: ByteRate, unit: Megabyte| {
            if !unit.is_whole(rate) {
                let text = format!(
                    "has {}, no whole number of {}, which its family takes the published figures for",
                    rate_text(rate),
                    unit.words()
                );
                problems.push(CatalogProblem { place, name: name.to_owned(), kind: ProblemKind::Contradiction, text });
            }
        };
        for disk in &self.disks {
            let family = self.disk_family(disk);
            let Some(units) = &family.units else { continue };
            for rate in disk_rates(disk) {
                tell(family.at(disk.line), &disk.name, rate, units.taken_as);
            }
        }
        for vm in &self.vms {
            let family = self.vm_family(vm);
            let Some(units) = &family.units else { continue };
            for (limit, unit) in vm_limits(vm, units) {
                for rate in limit_rates(limit) {
                    tell(family.at(vm.line), &vm.name, rate, unit);
                }
            }
        }
    }
}

/// Every throughput in a disk's entry.
fn disk_rates(disk: &DiskEntry) -> Vec<ByteRate> {
    let mut found = Vec::new();
    match &disk.throughput {
        Some(Figure::Together(provision)) => {
            found.extend(rule_rates(&provision.rule));
            if let crate::Choice::Provisioned { default, least } = provision.choice {
                found.extend(default.into_iter().chain(least));
            }
        }
        Some(Figure::Apart { read, write }) => found.extend(rule_rates(read).into_iter().chain(rule_rates(write))),
        None => {}
    }
    if let Some(BurstRule { throughput: Some(rule), .. }) = &disk.burst {
        found.extend(rule_rates(rule));
    }
    found.extend(disk.options.iter().map(|option| option.throughput));
    found.extend(disk.published.iter().flat_map(|row| [row.throughput, row.burst_throughput]).flatten());
    found
}

fn rule_rates(rule: &Rule<ByteRate>) -> Vec<ByteRate> {
    match rule {
        Rule::Fixed(rate) => vec![*rate],
        Rule::Steps(steps) => steps.iter().map(|(_, rate)| *rate).collect(),
        Rule::Formulas(formulas) => formulas.iter().flat_map(|f| [f.base, f.least, f.most]).flatten().collect(),
    }
}

fn vm_limits<'a>(vm: &'a VmEntry, units: &PublishedUnits) -> Vec<(&'a Limit, Megabyte)> {
    let uncached = vm.uncached.iter().chain(vm.uncached_for.iter().map(|(_, limit)| limit));
    let mut found: Vec<_> = uncached.map(|limit| (limit, units.taken_as)).collect();
    found.extend(vm.cached.iter().map(|limit| (limit, units.cached_taken_as)));
    found
}

fn limit_rates(limit: &Limit) -> Vec<ByteRate> {
    let of = |budget: ThroughputBudget| [Some(budget.rate), budget.burst.map(|burst| burst.rate)];
    let budgets = match limit.throughput {
        None => [None, None],
        Some(Directions::Together(both)) => [Some(both), None],
        Some(Directions::Apart { read, write }) => [read, write],
        Some(Directions::Traded { read, write }) => [Some(read), Some(write)],
    };
    budgets.into_iter().flatten().flat_map(of).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Draw, Provisioned};

    /// Disks sold by size, as Microsoft's tables have them: names, MB/s, and MB/s in a burst on credits.
    const TABLES: &[(&str, &[&str], u64, Option<u64>)] = &[
        ("premium", &["p1", "p2", "p3", "p4"], 25, Some(170)),
        ("premium", &["p6"], 50, Some(170)),
        ("premium", &["p10"], 100, Some(170)),
        ("premium", &["p15"], 125, Some(170)),
        ("premium", &["p20"], 150, Some(170)),
        ("premium", &["p30"], 200, None),
        ("premium", &["p40", "p50"], 250, None),
        ("premium", &["p60"], 500, None),
        ("premium", &["p70"], 750, None),
        ("premium", &["p80"], 900, None),
        ("standard-ssd", &["e1", "e2", "e3", "e4", "e6", "e10", "e15", "e20"], 60, Some(150)),
        ("standard-ssd", &["e30"], 60, Some(250)),
        ("standard-ssd", &["e40", "e50"], 60, None),
        ("standard-ssd", &["e60"], 400, None),
        ("standard-ssd", &["e70"], 600, None),
        ("standard-ssd", &["e80"], 750, None),
        ("standard-hdd", &["s4", "s6", "s10", "s15", "s20", "s30", "s40", "s50"], 60, None),
        ("standard-hdd", &["s60"], 300, None),
        ("standard-hdd", &["s70", "s80"], 500, None),
        ("classic-premium", &["p10"], 100, None),
        ("classic-premium", &["p20"], 150, None),
        ("classic-premium", &["p30"], 200, None),
    ];

    fn budget(name: &str, wanted: &Provisioned) -> ThroughputBudget {
        let figures = Catalog::builtin().disk_figures(name, wanted).unwrap_or_else(|error| panic!("{error}"));
        match figures.spec(&Draw::PUBLISHED).limit.throughput {
            Some(Directions::Together(budget)) => budget,
            other => panic!("{name}: {other:?}"),
        }
    }

    #[test]
    fn disks_sold_by_size_have_their_tables_figures_in_mib() {
        let mut rows = 0;
        for (family, names, plain, burst) in TABLES {
            for name in *names {
                let found = budget(&format!("azure/{family}-{name}"), &Provisioned::default());
                assert_eq!(found.rate.get(), plain * Megabyte::Binary.bytes(), "{family}-{name}");
                let bursts = found.burst.map(|burst| burst.rate.get());
                assert_eq!(bursts, burst.map(|mega| mega * Megabyte::Binary.bytes()), "{family}-{name}");
                rows += 1;
            }
        }
        let sold = ["premium", "standard-ssd", "standard-hdd", "classic-premium"];
        let catalog = Catalog::builtin();
        let listed =
            catalog.disks().iter().filter(|disk| sold.contains(&catalog.disk_family(disk).name.as_str())).count();
        assert_eq!(rows, listed, "every disk of these families is in the tables");
    }

    /// Figures provisioned in MB/s are in the provider's definition, 10^6 bytes.
    #[test]
    fn disks_whose_throughput_is_chosen_have_what_was_chosen() {
        let wanted = Provisioned {
            size: Some("1 TiB".parse().unwrap()),
            iops: Some("20000 IOPS".parse().unwrap()),
            throughput: Some("300 MB/s".parse().unwrap()),
            option: None,
        };
        for name in ["azure/premium-v2", "azure/ultra"] {
            assert_eq!(budget(name, &wanted).rate.get(), 300_000_000, "{name}");
        }
    }

    const OWN: &str = "schema = 1\nkind = \"disk\"\nprovider = \"own\"\nfamily = \"array\"\ntitle = \"x\"\nsource = \"x\"\n\
                       date = \"2024-03\"\n[units]\npublished = \"MB/s\"\ntaken_as = \"MiB/s\"\nbecause = \"measured\"\n[latency.read]\nmedian = \"1 ms\"\n\
                       [disk]\narray = { size = \"1 TiB\", iops = \"9 IOPS\", throughput = \"200 MiB/s\" }\n";

    #[test]
    fn a_figure_copied_as_it_stands_on_the_page_is_named() {
        let problems = |text: &str| Catalog::default().with(&[("own.toml", text)]).unwrap().check();
        assert_eq!(problems(OWN), []);
        let copied = problems(&OWN.replace("200 MiB/s", "200 MB/s"));
        assert_eq!(copied.len(), 1, "{copied:?}");
        assert_eq!((copied[0].kind, copied[0].place.as_str()), (ProblemKind::Contradiction, "own.toml:15"));
        assert!(copied[0].text.contains("has 200 MB/s, no whole number of MiB/s"), "{}", copied[0].text);
    }

    #[test]
    fn units_are_told_with_their_reason_and_refused_where_they_are_not_complete() {
        let catalog = Catalog::default().with(&[("own.toml", OWN)]).unwrap();
        let facts = catalog.describe("own/array").unwrap();
        let units = facts.iter().find(|fact| fact.key == "units").unwrap();
        assert_eq!(units.text, "published in MB/s, taken for MiB/s (2^20 bytes/s): measured");
        let machine = Catalog::builtin().describe("azure/ds3").unwrap();
        let units = machine.iter().find(|fact| fact.key == "units").unwrap();
        let both =
            "1000 KiB/s (1,024,000 bytes/s) through the host's cache and for MB/s (10^6 bytes/s) to network disks";
        assert!(units.text.contains(both), "{}", units.text);
        for (from, to, message) in [
            ("because = \"measured\"\n", "", "units: is not complete"),
            ("taken_as = \"MiB/s\"", "taken_as = \"MB\"", "units.taken_as: \"MB\" is not known here"),
            ("taken_as = \"MiB/s\"", "taken_as = { cached = \"MB/s\" }", "units: is not complete"),
        ] {
            let error = Catalog::default().with(&[("own.toml", &OWN.replace(from, to))]).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}
