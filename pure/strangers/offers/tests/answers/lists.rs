//! What is found of a list: refusals, changes, and the file that it becomes.

use crate::{AZURE_MACHINES, OFFER, answer, candidates, of_answers};
use loadline_catalog::{Catalog, Kind, ListRefusal};

/// The catalog as if nothing had come along for any region.
fn unpriced() -> Catalog {
    Catalog::builtin().without_prices()
}

/// The same with the made offer as an updated list.
fn updated() -> Catalog {
    let lists: Vec<String> = candidates(&[OFFER]).iter().map(|candidate| candidate.list.text()).collect();
    let files: Vec<(&str, &str)> = lists.iter().map(|text| ("list.toml", text.as_str())).collect();
    unpriced().with_updates(&files).unwrap()
}

#[test]
fn a_list_is_a_catalog_file_that_says_where_it_is_from() {
    let catalog = updated();
    let listed = catalog.listed("aws", "eu-central-1", Kind::Vm);
    assert_eq!(
        listed["m5.large"].to_string(),
        "0.115 USD per hour (Linux, on demand; 2026-11-27, fetched 2026-11-28; eu-central-1; https://pricing.us-east-1.amazonaws.com/offers/v1.0/aws/AmazonEC2/current/region_index.json)"
    );
    let text = candidates(&[OFFER])[1].list.text();
    assert!(
        text.contains("blake3 = \"d1\"\nloadline = \"1.2.3\"\nkept = 4\nleft_out = { other-product = 3,"),
        "{text}"
    );
    // As a folder of the user's, too.
    Catalog::builtin().with(&[("own.toml", &text)]).unwrap();
}

#[test]
fn nothing_speaks_against_the_same_list_again_and_nothing_changes() {
    for candidate in of_answers(&[answer(OFFER).unwrap()], &updated()) {
        assert_eq!(candidate.refusals, []);
        assert_eq!(candidate.changes, loadline_catalog::ListChanges::default());
    }
}

#[test]
fn a_change_is_found_with_its_size_and_so_are_new_and_gone_names() {
    let text = OFFER.replace("\"0.2300000000\"", "\"0.2024000000\"");
    let after = of_answers(&[answer(&text).unwrap()], &updated());
    let changed = &after[1].changes.changed;
    assert_eq!((changed.len(), changed[0].name.as_str(), changed[0].millionths), (1, "m5.xlarge", 880_000));
    assert!(after[1].changes.added.is_empty() && after[0].changes.changed.is_empty());
    let gone = of_answers(&[answer(&OFFER.replace("m5.24xlarge", "m5.12xlarge")).unwrap()], &updated());
    assert_eq!(
        (gone[1].changes.added.clone(), gone[1].changes.gone.clone()),
        (vec!["m5.12xlarge".into()], vec!["m5.24xlarge".into()])
    );
}

fn refusals(text: &str, before: &Catalog, kind: Kind) -> Vec<ListRefusal> {
    let found = of_answers(&[answer(text).unwrap()], before);
    found.into_iter().filter(|candidate| candidate.list.kind == kind).flat_map(|candidate| candidate.refusals).collect()
}

#[test]
fn a_list_that_lost_names_does_not_count() {
    let found = refusals(&OFFER.replace("m5.xlarge", "zz.unknown"), &updated(), Kind::Vm);
    assert!(
        matches!(found.as_slice(), [ListRefusal::TooFew { found: 3, known: 4, missing }] if missing == "m5.xlarge"),
        "{found:?}"
    );
    let found = refusals(AZURE_MACHINES, &unpriced(), Kind::Vm);
    assert_eq!(found, [], "of a region without a list nothing is known but the anchor");
}

#[test]
fn a_list_without_its_anchor_does_not_count() {
    let found = refusals(&OFFER.replace("m5.large", "r5.large"), &unpriced(), Kind::Vm);
    assert!(matches!(found.as_slice(), [ListRefusal::NoAnchor { .. }]), "{found:?}");
}

#[test]
fn a_price_of_0_where_there_was_one_does_not_count() {
    let found = refusals(&OFFER.replace("\"0.2300000000\"", "\"0.0000000000\""), &updated(), Kind::Vm);
    assert!(found.contains(&ListRefusal::Zero { name: "m5.xlarge".into() }), "{found:?}");
}

#[test]
fn two_prices_for_a_name_do_not_count_and_both_are_named() {
    // The dedicated product says that it is shared.
    let found = refusals(&OFFER.replace("\"Dedicated\"", "\"Shared\""), &unpriced(), Kind::Vm);
    let texts = found.iter().find_map(|refusal| match refusal {
        ListRefusal::TwoPrices { name, first, other } => Some((name.clone(), first.to_string(), other.to_string())),
        _ => None,
    });
    let (name, first, other) = texts.unwrap();
    assert_eq!(name, "m5.large");
    assert_eq!([first, other], ["0.115 USD per hour", "0.122 USD per hour"]);
}

#[test]
fn a_price_above_any_does_not_count() {
    let found = refusals(&OFFER.replace("\"0.2300000000\"", "\"10000.0000000001\""), &unpriced(), Kind::Vm);
    assert_eq!(found, [], "rounded to billionths it is the most that is taken");
    let found = refusals(&OFFER.replace("\"0.2300000000\"", "\"10001\""), &unpriced(), Kind::Vm);
    assert!(matches!(found.as_slice(), [ListRefusal::TooHigh { name, .. }] if name == "m5.xlarge"), "{found:?}");
}

#[test]
fn another_currency_does_not_count() {
    let found = refusals(&OFFER.replace("\"USD\"", "\"CNY\""), &unpriced(), Kind::Vm);
    assert!(matches!(found.as_slice(), [ListRefusal::OtherCurrency { found, .. }] if found == "CNY"), "{found:?}");
    let found = refusals(&OFFER.replace("\"USD\"", "\"U\\u001bSD\""), &unpriced(), Kind::Vm);
    assert!(matches!(found.first(), Some(ListRefusal::NoCurrency { .. })), "{found:?}");
}

#[test]
fn a_component_off_its_rule_does_not_count() {
    let rule = |price: &str| {
        let text = OFFER.replace("\"0.0060000000\"", &format!("{price:?}"));
        refusals(&text, &unpriced(), Kind::Disk)
    };
    assert_eq!(rule("0.0062"), []);
    assert!(matches!(rule("0.0066").as_slice(), [ListRefusal::ComponentOff { name, .. }] if name == "gp3"));
}

#[test]
fn a_bare_machine_above_its_sibling_does_not_count() {
    // M3 and M4 have one price; the second is the bare machine's.
    let place = OFFER.rfind("\"5.5200000000\"").unwrap();
    let text = format!("{}\"6.0720000000\"{}", &OFFER[..place], &OFFER[place + 14..]);
    let found = refusals(&text, &unpriced(), Kind::Vm);
    assert!(
        matches!(found.as_slice(), [ListRefusal::BareAbove { name, sibling, .. }] if name == "m5.metal" && sibling == "m5.24xlarge"),
        "{found:?}"
    );
}

#[test]
fn a_disk_that_lost_a_part_does_not_count() {
    let text = OFFER.replace("EBS:VolumeP-IOPS.gp3", "EBS:Other.gp3");
    let found = refusals(&text, &updated(), Kind::Disk);
    assert!(matches!(found.as_slice(), [ListRefusal::PartMissing { name, .. }] if name == "gp3"), "{found:?}");
}

#[test]
fn a_list_from_the_future_does_not_count() {
    let found = refusals(&OFFER.replace("2026-11-27T12", "2026-11-29T12"), &unpriced(), Kind::Vm);
    assert_eq!(found, [ListRefusal::FromTheFuture { date: "2026-11-29".into() }]);
}

#[test]
fn a_walk_without_its_last_page_does_not_count() {
    let text = AZURE_MACHINES.replace("\"NextPageLink\":null", "\"NextPageLink\":\"https://prices.azure.com/2\"");
    let found = refusals(&text, &unpriced(), Kind::Vm);
    assert_eq!(found, [ListRefusal::Unfinished]);
}

#[test]
fn of_shipped_and_updated_prices_the_newer_counts() {
    let list = |date: &str| {
        let text = OFFER.replace("2026-11-27T12", &format!("{date}T12")).replace("eu-central-1", "us-east-1");
        candidates(&[&text])[1].list.text()
    };
    let price = |date: &str| {
        let text = list(date);
        let catalog = Catalog::builtin().with_updates(&[("list.toml", &text)]).unwrap();
        let prices = catalog.listed("aws", "us-east-1", Kind::Vm);
        (prices["m5.large"].amount(), prices["m6i.large"].dates())
    };
    let shipped = Catalog::builtin();
    let shipped = shipped.listed("aws", "us-east-1", Kind::Vm);
    assert_eq!(price("2026-11-27"), ("0.115 USD per hour".into(), shipped["m6i.large"].dates()));
    assert_eq!(price("2020-01-01").0, shipped["m5.large"].amount());
    assert_eq!(Catalog::builtin().without_prices().regions(), Vec::<String>::new());
}

#[test]
fn a_list_that_is_older_than_what_counts_does_not_count() {
    let text = OFFER.replace("2026-11-27T12", "2020-01-01T12").replace("eu-central-1", "us-east-1");
    let found = refusals(&text, &Catalog::builtin(), Kind::Vm);
    assert!(found.iter().any(|refusal| matches!(refusal, ListRefusal::OlderThan { .. })), "{found:?}");
    let found = refusals(&OFFER.replace("2026-11-27T12", "2026-11-26T12"), &updated(), Kind::Vm);
    assert_eq!(found, [ListRefusal::OlderThan { newer: "2026-11-27".into() }]);
}
