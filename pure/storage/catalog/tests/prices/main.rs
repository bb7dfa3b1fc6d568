//! The prices that come along: against a second list, against one another, and in every region.

use loadline_catalog::{Catalog, Charge, Estimated, Provisioned};
use loadline_units::{ByteRate, Bytes, Iops};
use std::collections::BTreeMap;

/// Nine machines of each region, by another list than the catalog's.
const SECOND: &str = include_str!("second-lists.csv");

#[test]
fn machines_cost_in_each_region_what_a_second_list_says() {
    let catalog = Catalog::builtin();
    let mut seen: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for line in SECOND.lines().filter(|line| !line.starts_with('#')).skip(1) {
        let [provider, region, machine, hour] = line.split(',').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let hour: f64 = hour.parse().unwrap();
        let cost = catalog.cost(&format!("{provider}/{machine}"), &Provisioned::default(), region);
        let cost = cost.unwrap_or_else(|error| panic!("{line}: {error}"));
        // The second list of GCP has five decimals.
        let off = (cost.month.amount() - hour * 730.0).abs();
        assert!(off <= 730.0 * (1e-5 + 2e-5 * hour), "{line}: {}", cost.month);
        assert_eq!(cost.estimated, [], "{line}");
        *seen.entry((provider, region)).or_default() += 1;
    }
    let regions = |provider: &str| seen.keys().filter(|(known, _)| *known == provider).count();
    assert_eq!([regions("aws"), regions("azure"), regions("gcp")], [34, 56, 43]);
    assert!(seen.values().all(|count| *count >= 5), "{seen:?}");
}

#[test]
fn there_are_prices_of_machines_and_their_usual_disks_in_136_regions() {
    let catalog = Catalog::builtin();
    // asia-southeast3 sells none of the machines that the catalog has limits of.
    for (provider, disk, count) in
        [("aws", "aws/gp3", 36), ("azure", "azure/premium-p10", 58), ("gcp", "gcp/pd-balanced", 42)]
    {
        let mut machines: BTreeMap<String, usize> = BTreeMap::new();
        for name in catalog.machines_sold(provider) {
            for region in catalog.prices(&name).into_iter().filter_map(|price| price.region) {
                *machines.entry(region).or_default() += 1;
            }
        }
        let both = machines.iter().filter(|(region, machines)| {
            **machines >= 30 && catalog.price_in(disk, region).is_some_and(|price| !price.charges.is_empty())
        });
        assert_eq!(both.count(), count, "{provider}: {machines:?}");
    }
    let first = |provider: &str| catalog.price_regions(provider).into_iter().next().unwrap();
    assert_eq!(["aws", "azure", "gcp"].map(first), ["us-east-1", "eastus", "us-central1"]);
}

#[test]
fn no_price_that_comes_along_is_wrong_beside_another() {
    assert_eq!(Catalog::builtin().price_problems(), []);
}

/// Whole hosts that had the price of dedicated ones, with what AWS's own lists say.
#[test]
fn whole_hosts_cost_what_a_host_of_ones_own_costs_on_demand() {
    let catalog = Catalog::builtin();
    let listed = [
        ("i8g.metal-24xl", "8.2368"),
        ("r7iz.metal-16xl", "5.952"),
        ("r7iz.metal-32xl", "11.904"),
        ("m5zn.metal", "3.9641"),
        ("m6g.metal", "2.464"),
        ("m6gd.metal", "2.8928"),
        ("c6g.metal", "2.176"),
        ("c6gd.metal", "2.4576"),
        ("r5b.metal", "7.152"),
        ("r6g.metal", "3.2256"),
        ("r6gd.metal", "3.6864"),
        ("x2gd.metal", "5.344"),
        ("c7i.metal-24xl", "4.284"),
        ("m8g.metal-24xl", "4.30848"),
    ];
    let amount = |name: &str| catalog.price_in(&format!("aws/{name}"), "us-east-1").unwrap().amount();
    for (name, hour) in listed {
        assert_eq!(amount(name), format!("{hour} USD per hour"), "{name}");
    }
    // No list has these: they are estimated as the size of their kind, and say so.
    let estimated = [
        ("i7i.metal-24xl", "i7i.24xlarge"),
        ("i7i.metal-48xl", "i7i.48xlarge"),
        ("i7ie.metal-24xl", "i7ie.24xlarge"),
        ("i7ie.metal-48xl", "i7ie.48xlarge"),
        ("i8ge.metal-24xl", "i8ge.24xlarge"),
        ("i8ge.metal-48xl", "i8ge.48xlarge"),
        ("i8g.metal-48xl", "i8g.48xlarge"),
        ("m8azn.metal-12xl", "m8azn.12xlarge"),
        ("m8azn.metal-24xl", "m8azn.24xlarge"),
        ("m8gb.metal-24xl", "m8gb.24xlarge"),
        ("r8gb.metal-24xl", "r8gb.24xlarge"),
        ("c9g.metal-48xl", "c9g.48xlarge"),
        ("c9gd.metal-48xl", "c9gd.48xlarge"),
        ("m9g.metal-48xl", "m9g.48xlarge"),
        ("m9gd.metal-48xl", "m9gd.48xlarge"),
    ];
    for (name, sibling) in estimated {
        assert_eq!(amount(name), format!("about {}", amount(sibling)), "{name}");
        let cost = catalog.cost(&format!("aws/{name}"), &Provisioned::default(), "us-east-1").unwrap();
        assert_eq!(cost.estimated, [Estimated::Whole], "{name}");
    }
}

#[test]
fn parts_that_no_list_has_are_estimates_and_others_keep_their_own_dates() {
    let catalog = Catalog::builtin();
    let cost = |name: &str, size, iops: u64, rate: Option<&str>, region: &str| {
        let throughput = rate.map(|rate| rate.parse::<ByteRate>().unwrap());
        let wanted =
            Provisioned { size: Some(Bytes::gib(size)), iops: Iops::per_second(iops), throughput, option: None };
        catalog.cost(name, &wanted, region).unwrap()
    };
    let v2 = cost("azure/premium-v2", 100, 5_000, Some("200 MB/s"), "eastus");
    assert_eq!(
        (v2.month.to_string().as_str(), v2.estimated),
        ("21.36 USD", vec![Estimated::Iops, Estimated::Throughput])
    );
    // What comes with any size is no part of the price.
    let included = cost("azure/premium-v2", 100, 3_000, None, "eastus");
    assert_eq!((included.month.to_string().as_str(), included.estimated), ("8.10 USD", Vec::new()));
    let gp3 = cost("aws/gp3", 100, 4_000, None, "eu-central-1");
    assert_eq!(
        (gp3.dates.as_slice(), gp3.estimated),
        (&["2024-07-18".to_owned(), "2026-09-21".to_owned()][..], Vec::new())
    );
    assert_eq!(cost("aws/gp3", 100, 3_000, None, "eu-central-1").dates, ["2026-09-21"]);
    // A region that is newer than the list of parts.
    assert_eq!(cost("aws/gp3", 100, 4_000, None, "mx-central-1").estimated, [Estimated::Iops]);
}

/// Each charge of every price prints as it stands in its file.
#[test]
fn every_price_can_be_read_again() {
    let catalog = Catalog::builtin();
    let mut count = 0;
    for provider in catalog.providers() {
        for name in catalog.machines_sold(&provider) {
            for price in catalog.prices(&name) {
                let charge = &price.charges[0];
                assert_eq!(charge.to_string().parse::<Charge>().as_ref(), Ok(charge), "{name}");
                count += 1;
            }
        }
    }
    assert!(count > 55_000, "{count}");
}
