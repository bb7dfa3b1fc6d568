//! Answers of providers, recorded or made in their form, read row by row against tables written by hand.

mod hostile;
mod limits;
mod lists;
mod walks;

use loadline_catalog::{Catalog, LeftOut, PriceList};
use loadline_offers::{AnswerError, Assembly, Candidate, PriceAnswer, Provider, assemble, read};
use std::fmt::Write as _;

pub(crate) const OFFER: &str = include_str!("../corpus/aws-offer.json");
const OFFER_CSV: &str = include_str!("../corpus/aws-offer.csv");
const PAGE_EBS: &str = include_str!("../corpus/aws-page-ebs.json");
const PAGE_MACHINES: &str = include_str!("../corpus/aws-page-machines.json");
const PAGE_RESERVED: &str = include_str!("../corpus/aws-page-reserved.json");
pub(crate) const AZURE_MACHINES: &str = include_str!("../corpus/azure-machines.json");
const AZURE_DISKS: &str = include_str!("../corpus/azure-disks.json");
const SKUS: &str = include_str!("../corpus/gcp-skus.json");
pub(crate) const TODAY: &str = "2026-11-28";

pub(crate) fn answer(text: &str) -> Result<PriceAnswer, AnswerError> {
    read(text.as_bytes(), TODAY)
}

/// The lists of answers of one provider, by the catalog that comes along.
pub(crate) fn candidates(texts: &[&str]) -> Vec<Candidate> {
    let answers: Vec<PriceAnswer> = texts.iter().map(|text| answer(text).unwrap()).collect();
    of_answers(&answers, &Catalog::builtin())
}

pub(crate) fn of_answers(answers: &[PriceAnswer], before: &Catalog) -> Vec<Candidate> {
    let request = Assembly {
        before,
        regions: &[],
        currency: None,
        today: TODAY,
        fetched: "2026-11-28T12:00:00Z",
        version: "1.2.3",
    };
    assemble(answers[0].form.provider(), answers, &|_| "d1".to_owned(), &request)
}

/// A line for each price: region, name, charges.
fn table(lists: &[&PriceList]) -> String {
    let mut lines = String::new();
    for list in lists {
        for (name, charges) in &list.prices {
            let charges: Vec<String> = charges.iter().map(ToString::to_string).collect();
            let _ = writeln!(lines, "{} {name}: {}", list.region, charges.join(" + "));
        }
    }
    lines
}

fn table_of(texts: &[&str]) -> String {
    let found = candidates(texts);
    table(&found.iter().map(|candidate| &candidate.list).collect::<Vec<_>>())
}

fn left_out(text: &str) -> Vec<(LeftOut, u64)> {
    answer(text).unwrap().left_out.into_iter().collect()
}

/// What the made offer says, as JSON and as CSV.
const OFFER_TABLE: &str = "\
eu-central-1 gp2: 0.119 USD per GiB-month
eu-central-1 gp3: 0.0952 USD per GiB-month + 0.006 USD per IOPS-month above 3000 IOPS + 0.0476 USD per MiB/s-month above 125 MiB/s
eu-central-1 io1: 0.149 USD per GiB-month + 0.078 USD per IOPS-month
eu-central-1 io2: 0.149 USD per GiB-month + 0.078 USD per IOPS-month up to 32000 IOPS + 0.0546 USD per IOPS-month above 32000 IOPS up to 64000 IOPS + 0.03822 USD per IOPS-month above 64000 IOPS
eu-central-1 io2-block-express: 0.149 USD per GiB-month + 0.078 USD per IOPS-month up to 32000 IOPS + 0.0546 USD per IOPS-month above 32000 IOPS up to 64000 IOPS + 0.03822 USD per IOPS-month above 64000 IOPS
eu-central-1 m5.24xlarge: 5.52 USD per hour
eu-central-1 m5.large: 0.115 USD per hour
eu-central-1 m5.metal: 5.52 USD per hour
eu-central-1 m5.xlarge: 0.23 USD per hour
";

#[test]
fn an_offer_gives_shared_linux_machines_and_whole_disks() {
    assert_eq!(table_of(&[OFFER]), OFFER_TABLE);
    assert_eq!(answer(OFFER).unwrap().date.as_deref(), Some("2026-11-27"));
    // Dedicated, reserved capacity twice, Windows, SQL, bring your own, spot, local zone, outpost; snapshots twice, fast
    // restores, a balancer.
    let expected = [
        (LeftOut::OtherProduct, 3),
        (LeftOut::OtherMeter, 1),
        (LeftOut::OtherSystem, 1),
        (LeftOut::WithSoftware, 2),
        (LeftOut::OtherTenancy, 1),
        (LeftOut::ReservedCapacity, 2),
        (LeftOut::Spot, 1),
        (LeftOut::OtherPlace, 2),
    ];
    assert_eq!(left_out(OFFER), expected);
}

#[test]
fn an_offer_as_csv_says_the_same() {
    assert_eq!(table_of(&[OFFER_CSV]), OFFER_TABLE);
    assert_eq!(answer(OFFER_CSV).unwrap().date.as_deref(), Some("2026-11-27"));
    let rows = left_out(OFFER_CSV);
    assert!(rows.contains(&(LeftOut::OtherTerms, 1)), "the reservation: {rows:?}");
    assert_eq!(rows.iter().map(|(_, rows)| rows).sum::<u64>(), 14);
}

#[test]
fn the_price_page_gives_disks_of_regions_and_not_of_local_zones() {
    let table = table_of(&[PAGE_EBS]);
    let frankfurt: Vec<&str> = table.lines().filter(|line| line.starts_with("eu-central-1 ")).collect();
    let expected = [
        "eu-central-1 gp2: 0.119 USD per GiB-month",
        "eu-central-1 gp3: 0.0952 USD per GiB-month + 0.006 USD per IOPS-month above 3000 IOPS + 0.0476 USD per MiB/s-month above 125 MiB/s",
        "eu-central-1 io1: 0.149 USD per GiB-month + 0.078 USD per IOPS-month",
        "eu-central-1 io2: 0.149 USD per GiB-month + 0.078 USD per IOPS-month up to 32000 IOPS + 0.0546 USD per IOPS-month above 32000 IOPS up to 64000 IOPS + 0.03822 USD per IOPS-month above 64000 IOPS",
        "eu-central-1 io2-block-express: 0.149 USD per GiB-month + 0.078 USD per IOPS-month up to 32000 IOPS + 0.0546 USD per IOPS-month above 32000 IOPS up to 64000 IOPS + 0.03822 USD per IOPS-month above 64000 IOPS",
        "eu-central-1 sc1: 0.018 USD per GiB-month",
        "eu-central-1 st1: 0.054 USD per GiB-month",
        "eu-central-1 standard: 0.059 USD per GiB-month + 0.059 USD per 1000000 requests",
    ];
    assert_eq!(frankfurt, expected);
    let mut regions: Vec<&str> = table.lines().filter_map(|line| line.split(' ').next()).collect();
    regions.dedup();
    assert_eq!(regions, ["eu-central-1", "eu-central-2", "us-east-1", "us-gov-west-1"]);
    assert!(table.contains(
        "eu-central-2 gp3: 0.1142 USD per GiB-month + 0.007 USD per IOPS-month above 3000 IOPS + 0.05712002 USD"
    ));
    assert_eq!(answer(PAGE_EBS).unwrap().date.as_deref(), Some("2024-07-18"));
}

#[test]
fn the_price_page_gives_machines_of_a_region() {
    let expected = "\
ca-west-1 c6g.xlarge: 0.1488 USD per hour
ca-west-1 c6i.32xlarge: 5.952 USD per hour
ca-west-1 c6i.metal: 5.952 USD per hour
ca-west-1 i4i.2xlarge: 0.757 USD per hour
ca-west-1 m5.24xlarge: 5.136 USD per hour
ca-west-1 m5.large: 0.107 USD per hour
ca-west-1 m5.metal: 5.136 USD per hour
ca-west-1 m5.xlarge: 0.214 USD per hour
ca-west-1 m5d.24xlarge: 6.048 USD per hour
ca-west-1 m6i.large: 0.107 USD per hour
ca-west-1 r6g.16xlarge: 3.5328 USD per hour
ca-west-1 r6g.large: 0.1104 USD per hour
ca-west-1 r6g.metal: 3.5328 USD per hour
ca-west-1 t3.micro: 0.0116 USD per hour
";
    assert_eq!(table_of(&[PAGE_MACHINES]), expected);
    assert_eq!(left_out(PAGE_RESERVED), [(LeftOut::OtherTerms, 3)]);
}

#[test]
fn azure_gives_linux_by_the_hour_also_of_shared_meters() {
    let expected = "\
francecentral b2ms: 0.0944 USD per hour
francecentral d2-v2: 0.175 USD per hour
francecentral d2s-v3: 0.112 USD per hour
francecentral d4s-v3: 0.224 USD per hour
francecentral ds2-v2: 0.175 USD per hour
francecentral e4-2s-v3: 0.312 USD per hour
";
    let found = candidates(&[AZURE_MACHINES]);
    assert_eq!(table(&[&found[0].list]), expected);
    let kept = answer(AZURE_MACHINES).unwrap().quotes.len();
    assert_eq!(kept, 6);
    let known = [(LeftOut::OtherTerms, 23), (LeftOut::OtherSystem, 25), (LeftOut::Spot, 11)];
    let rows = answer(AZURE_MACHINES).unwrap().left_out;
    assert_eq!(rows.values().sum::<u64>() + kept as u64, 60);
    assert_eq!(rows.len(), known.len(), "{rows:?}");
    assert_eq!(found[0].list.origin.date, "2021-12-01");
}

#[test]
fn azure_gives_disks_by_tier_with_operations_and_components_by_the_hour() {
    let expected = "\
westeurope classic-premium-p10: 19.71 USD per month
westeurope classic-premium-p30: 135.17 USD per month
westeurope premium-p10: 19.71 USD per month
westeurope premium-p30: 135.17 USD per month
westeurope premium-v2: 0.000126 USD per GiB-hour + 0.000008 USD per IOPS-hour above 3000 IOPS + 0.000063 USD per MB/s-hour above 125 MB/s
westeurope standard-hdd-s10: 5.888 USD per month + 0.0005 USD per 10000 requests
westeurope standard-ssd-e10: 9.6 USD per month + 0.002 USD per 10000 requests
westeurope ultra: 0.000202 USD per GiB-hour + 0.000084 USD per IOPS-hour + 0.000589 USD per MB/s-hour
";
    let found = candidates(&[AZURE_DISKS]);
    assert_eq!(table(&[&found[0].list]), expected);
    let expected = [
        (LeftOut::OtherProduct, 1),
        (LeftOut::OtherMeter, 8),
        (LeftOut::OtherTerms, 1),
        (LeftOut::OtherPlace, 1),
        (LeftOut::NotYet, 1),
        (LeftOut::Zero, 3),
    ];
    assert_eq!(left_out(AZURE_DISKS), expected);
    assert_eq!(found[0].list.left_out.get(&LeftOut::Repeated), Some(&2), "P10 is there twice, in two names");
}

#[test]
fn google_gives_disks_and_machines_that_cost_their_parts() {
    let table = table_of(&[SKUS]);
    for line in [
        "us-central1 pd-standard: 0.04 USD per GiB-month",
        "us-central1 pd-balanced: 0.1 USD per GiB-month",
        "us-central1 pd-ssd: 0.17 USD per GiB-month",
        "us-central1 hyperdisk-balanced: 0.08 USD per GiB-month + 0.005 USD per IOPS-month above 3000 IOPS + 0.04 USD per MiB/s-month above 140 MiB/s",
        "us-east1 pd-standard: 0.04 USD per GiB-month",
        "us-central1 e2-standard-2: 0.06701142 USD per hour",
        "us-central1 n2-standard-8: 0.388472 USD per hour",
        "us-central1 n2-highmem-128: 7.706976 USD per hour",
        "us-east1 n2-highcpu-2: 0.071696 USD per hour",
    ] {
        assert!(table.lines().any(|found| found == line), "{line} is not in\n{table}");
    }
    assert!(!table.contains("pd-ssd: 0.16") && !table.contains("us-east1 pd-ssd"));
    assert_eq!(candidates(&[SKUS])[0].list.origin.date, "2026-11-20");
}

#[test]
fn json_lines_and_arrays_and_pages_say_the_same_as_one_answer() {
    let whole = candidates(&[AZURE_MACHINES]);
    let items: Vec<&str> = AZURE_MACHINES.lines().collect();
    let first = items[0].find("[{").unwrap() + 1;
    let cut = |line: &str| line.trim_end_matches(',').trim_end_matches('\n').to_owned();
    let mut rows: Vec<String> = items.iter().map(|line| cut(line)).collect();
    rows[0] = rows[0][first..].to_owned();
    let last = rows.pop().unwrap();
    rows.push(last[..=last.find("}]").unwrap()].to_owned());
    let lines = rows.join("\n");
    let array = format!("[{}]", rows.join(","));
    let pages: Vec<String> = rows.chunks(7).map(|rows| format!("{{\"Items\":[{}]}}", rows.join(","))).collect();
    let array_of_pages = format!("[{}]", pages.join(","));
    let page_lines = pages.join("\n");
    for text in [lines, array, array_of_pages, page_lines] {
        assert_eq!(candidates(&[&text])[0].list.prices, whole[0].list.prices);
    }
    let pages: Vec<&str> = pages.iter().rev().map(String::as_str).collect();
    assert_eq!(candidates(&pages)[0].list.prices, whole[0].list.prices);
}

#[test]
fn every_provider_has_words_of_its_own() {
    assert_eq!(Provider::ALL.map(Provider::name), ["aws", "azure", "gcp"]);
}
