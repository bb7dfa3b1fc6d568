//! Reading of prices, their sums, and the errors for missing ones.

use crate::price::{CommitmentTerm, Currency, Discount, PaidTerms, ReductionReason};
use crate::{Catalog, Charge, CostError, Estimated, ProblemKind, Provisioned};
use loadline_units::{ByteRate, Bytes, Iops};

const LIST: &str = "schema = 1\nkind = \"prices\"\nprovider = \"own\"\nfamily = \"prices\"\ntitle = \"x\"\nsource = \"a list\"\n\
                    date = \"2026-10-06\"\nterms = \"on demand\"\n";
const DISKS: &str = "schema = 1\nkind = \"disk\"\nprovider = \"own\"\nfamily = \"d\"\ntitle = \"x\"\nsource = \"x\"\n\
                     date = \"2026\"\n[latency.read]\nmedian = \"1 ms\"\n[disk]\n";
const FREE: &str = "size = { least = \"1 GiB\", most = \"16 TiB\" }, \
                    iops = { provisioned = true, default = \"3000 IOPS\", most = \"16000 IOPS\" }, \
                    throughput = { provisioned = true, default = \"125 MiB/s\", most = \"1000 MiB/s\" }";

const WIDE: &str =
    "size = { least = \"1 GiB\", most = \"16 TiB\" }, iops = { provisioned = true, most = \"200000 IOPS\" }";

fn iops(count: u64) -> Option<Iops> {
    Iops::per_second(count)
}
fn rate(text: &str) -> Option<ByteRate> {
    text.parse().ok()
}
fn sized(size: Bytes) -> Provisioned {
    Provisioned { size: Some(size), ..Provisioned::default() }
}
/// A disk that may be provisioned freely, at this price.
fn catalog(price: &str) -> Catalog {
    let text = format!("{DISKS}free = {{ {FREE}, price = {price} }}\n");
    Catalog::default().with(&[("own.toml", &text)]).unwrap_or_else(|error| panic!("{error}"))
}
fn at(amount: &str) -> String {
    format!("{{ amount = {amount}, region = \"here\", date = \"2026\", source = \"x\" }}")
}
fn cost(amount: &str, wanted: &Provisioned) -> String {
    match catalog(&at(amount)).monthly_cost("own/free", wanted, "here") {
        Ok(money) => money.to_string(),
        Err(error) => error.to_string(),
    }
}
/// The error, without its place.
fn refusal(amount: &str) -> String {
    let text = format!("{DISKS}free = {{ {FREE}, price = {} }}\n", at(amount));
    let error = Catalog::default().with(&[("own.toml", &text)]).unwrap_err().to_string();
    error.split_once("amount: ").unwrap_or_else(|| panic!("{error}")).1.to_owned()
}

#[test]
fn charges_add_up_and_what_is_included_is_free() {
    let amount = "[\"0.08 USD per GiB-month\", \"0.005 USD per IOPS-month above 3000 IOPS\", \
                  \"0.04 USD per MiB/s-month above 125 MiB/s\"]";
    assert_eq!(cost(amount, &sized(Bytes::gib(100))), "8.00 USD");
    let more = Provisioned { iops: iops(4_000), throughput: rate("130 MiB/s"), ..sized(Bytes::gib(40)) };
    assert_eq!(cost(amount, &more), "8.40 USD", "3.20 for the size, 5.00 for 1,000 IOPS, 0.20 for 5 MiB/s");
    let megabytes = Provisioned { throughput: rate("250 MB/s"), ..sized(Bytes::gib(1)) };
    assert_eq!(cost(amount, &megabytes), "4.62 USD", "250 MB/s are 238.42 MiB/s");
}

#[test]
fn tiers_each_count_what_lies_between_their_bounds() {
    let amount = "[\"0.065 USD per IOPS-month up to 6000 IOPS\", \"0.05 USD per IOPS-month above 6000 IOPS up to 8000 IOPS\", \
                  \"0.03 USD per IOPS-month above 8000 IOPS\"]";
    let of = |count| cost(amount, &Provisioned { iops: iops(count), ..sized(Bytes::gib(1)) });
    assert_eq!([of(6_000), of(7_000), of(10_000)], ["390.00 USD", "440.00 USD", "550.00 USD"]);
}

#[test]
fn an_hour_is_a_730th_and_a_year_twelve_months() {
    assert_eq!(cost("\"0.192 USD per hour\"", &sized(Bytes::gib(1))), "140.16 USD");
    assert_eq!(cost("\"120 EUR per year\"", &sized(Bytes::gib(1))), "10.00 EUR");
    assert_eq!(cost("\"0.000164 USD per GiB-hour\"", &sized(Bytes::gib(2_048))), "245.19 USD");
    assert_eq!(cost("\"0.08 USD per GB-month\"", &sized(Bytes::gib(1_000))), "85.90 USD", "as many as it says");
}

#[test]
fn a_part_that_a_price_leaves_out_is_not_taken_as_free() {
    let more = Provisioned { iops: iops(4_000), ..sized(Bytes::gib(100)) };
    assert_eq!(cost("\"0.08 USD per GiB-month\"", &sized(Bytes::gib(100))), "8.00 USD");
    assert_eq!(cost("\"0.08 USD per GiB-month\"", &more), "the price of own/free in here says nothing of its IOPS");
    let faster = Provisioned { throughput: rate("200 MiB/s"), ..sized(Bytes::gib(100)) };
    assert!(cost("\"8 USD per month\"", &faster).ends_with("says nothing of its throughput"));
    let facts = catalog(&at("\"0.08 USD per GiB-month\"")).describe("own/free").unwrap();
    let unpriced = facts.iter().find(|fact| fact.key == "unpriced").unwrap();
    assert_eq!(unpriced.text, "IOPS above 3000 IOPS and throughput above 125 MiB/s in here");
}

#[test]
fn a_price_by_iops_is_none_without_iops() {
    // As pd-extreme: IOPS follow from the size unless they are bought.
    let disk = "fast = { size = { least = \"1 GiB\", most = \"1 TiB\" }, iops = { per_size = \"3 IOPS per GiB\" }, \
                by_iops = { least = \"2500 IOPS\", most = \"9000 IOPS\", throughput = \"400 MiB/s\" }, price = ";
    let price = at("[\"0.125 USD per GiB-month\", \"0.065 USD per IOPS-month\"]");
    let catalog = Catalog::default().with(&[("own.toml", &format!("{DISKS}{disk}{price} }}\n"))]).unwrap();
    assert_eq!(catalog.check(), []);
    let by_iops = Provisioned { iops: iops(5_000), ..sized(Bytes::gib(40)) };
    assert_eq!(catalog.monthly_cost("own/fast", &by_iops, "here").unwrap().to_string(), "330.00 USD");
    let error = catalog.monthly_cost("own/fast", &sized(Bytes::gib(40)), "here").unwrap_err();
    assert!(matches!(error, CostError::Unpriced { .. }), "{error}");
}

#[test]
fn what_cannot_be_bought_or_is_not_priced_there_has_no_cost() {
    let catalog = catalog(&at("\"0.08 USD per GiB-month\""));
    let error = catalog.monthly_cost("own/free", &sized(Bytes::gib(100)), "there").unwrap_err();
    assert_eq!(error.to_string(), "no price of own/free in there is in the catalog: there is one in here");
    let error = catalog.monthly_cost("own/free", &sized(Bytes::gib(20_480)), "here").unwrap_err();
    assert!(matches!(error, CostError::Entry(_)), "{error}");
    let error = catalog.monthly_cost("own/fre", &sized(Bytes::gib(1_024)), "here").unwrap_err();
    assert!(error.to_string().ends_with("did you mean own/free?"), "{error}");
}

#[test]
fn a_charge_that_cannot_be_read_is_told_with_what_to_write() {
    let cases = [
        ("\"19.71 per month\"", "\"19.71 per month\" does not begin with an amount and a currency's three letters"),
        ("\"19.71 usd per month\"", "does not begin with an amount"),
        ("\"0.08 USD per GiB\"", "is per \"GiB\", which is none of month, hour, year, GiB-month"),
        ("\"0.08 USD per fortnight\"", "is per \"fortnight\", which is none of"),
        ("\"0.08 USD per IOPS-month above 3000\"", "is bounded by \"3000\", which is no request rate"),
        (
            "\"0.08 USD per month up to 4 GiB\"",
            "is bounded by \"4 GiB\", which is no bound of what is charged as a whole",
        ),
        ("\"0.08 USD per GiB-month above 4 GiB up to 4 GiB\"", "is for nothing"),
        ("[\"1 USD per month\", \"1 EUR per GiB-month\"]", "mixes USD and EUR"),
        ("19.71", "is the number 19.71: write \"135.17 USD per month\" or a list"),
    ];
    for (amount, wanted) in cases {
        let told = refusal(amount);
        assert!(told.contains(wanted), "{amount}: {told}");
    }
}

#[test]
fn a_list_of_prices_gives_them_by_region_with_its_source_and_date() {
    let list = format!("{LIST}[region.here]\nfree = \"8 USD per month\"\n[region.there]\nfree = \"9 USD per month\"\n");
    let disks = format!("{DISKS}free = {{ {FREE} }}\n\"free@2020\" = {{ {FREE} }}\n");
    let catalog = Catalog::default().with(&[("own.toml", &disks), ("prices.toml", &list)]).unwrap();
    assert_eq!(catalog.check(), []);
    let shown: Vec<String> = catalog.prices("own/free").iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            "8 USD per month (on demand; 2026-10-06; here; a list)",
            "9 USD per month (on demand; 2026-10-06; there; a list)"
        ]
    );
    assert_eq!(catalog.prices("own/free@2020").len(), 2, "the same product under the limits of another year");
    let cost = catalog.monthly_cost("own/free@2020", &sized(Bytes::gib(1)), "there").unwrap();
    assert_eq!(cost.to_string(), "9.00 USD");
    assert!(catalog.check_region("here").is_ok());
    assert!(catalog.check_region("hare").unwrap_err().to_string().contains("did you mean here?"));
}

#[test]
fn a_list_that_cannot_be_read_is_told_at_its_place() {
    let told = |text: &str| Catalog::default().with(&[("prices.toml", text)]).unwrap_err().to_string();
    assert!(told(LIST).contains("region: is missing: write [region.NAME]"), "{}", told(LIST));
    let disks = told(&format!("{LIST}[region.here]\nfree = \"8 USD per month\"\n[disk.free]\nsize = \"1 GiB\"\n"));
    assert!(disks.contains("disk: does not belong to a family of this kind"), "{disks}");
    let flat = told(&format!("{LIST}[region]\nhere = \"8 USD per month\"\n"));
    assert!(flat.contains("prices.toml:10:8: region.here: is the text \"8 USD per month\": write names"), "{flat}");
    let wrong = told(&format!("{LIST}[region.here]\nfree = \"8 per month\"\n"));
    assert!(wrong.contains("prices.toml:10:8: region.here.free: \"8 per month\" does not begin"), "{wrong}");
}

#[test]
fn a_price_of_ones_own_stands_in_place_of_one_that_comes_along() {
    let own = LIST.replace("\"own\"", "\"azure\"");
    let own = format!("{own}[region.eastus]\npremium-p30 = \"99 USD per month\"\n");
    let catalog = Catalog::builtin().with(&[("mine.toml", &own)]).unwrap();
    assert_eq!(catalog.check(), []);
    let cost = catalog.monthly_cost("azure/premium-p30", &Provisioned::default(), "eastus").unwrap();
    assert_eq!(cost.to_string(), "99.00 USD", "whatever its terms");
    let twice = own.replace("[region.eastus]\n", "[region.eastus]\nPremium = \"1 USD per month\"\n");
    let problems = Catalog::builtin().with(&[("mine.toml", &twice)]).unwrap().check();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(problems[0].text, "has a price, and is not in the catalog");
}

#[test]
fn a_price_without_region_or_date_is_named() {
    let kinds = |price: &str| {
        let found = catalog(price).check();
        found.into_iter().map(|problem| (problem.kind, problem.text)).collect::<Vec<_>>()
    };
    assert_eq!(kinds(&at("\"8 USD per month\"")), []);
    let found = kinds("{ amount = \"8 USD per month\", date = \"2026\", source = \"a letter\" }");
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, ProblemKind::Unplaced);
    assert!(found[0].1.starts_with("has a price without a region, of a letter: write region"), "{}", found[0].1);
    let found = kinds("{ amount = \"8 USD per month\", region = \"here\", source = \"a letter\" }");
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, ProblemKind::Undated);
    assert!(found[0].1.starts_with("has a price without a date, of a letter: write date"), "{}", found[0].1);
    assert_eq!(kinds("{ amount = \"8 USD per month\", source = \"a letter\" }").len(), 2);
    // A list is reported once.
    let list = format!("{}[region.here]\nfree = \"8 USD per month\"\n", LIST.replace("date = \"2026-10-06\"\n", ""));
    let text = format!("{DISKS}free = {{ {FREE} }}\n");
    let found = Catalog::default().with(&[("own.toml", &text), ("prices.toml", &list)]).unwrap().check();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].name.as_str(), found[0].kind), ("own/prices", ProblemKind::Undated));
}

#[test]
fn a_price_that_contradicts_what_is_sold_or_is_there_twice_is_named() {
    let texts = |text: &str| {
        let found = Catalog::default().with(&[("own.toml", text)]).unwrap().check();
        found.into_iter().map(|problem| (problem.kind, problem.text)).collect::<Vec<_>>()
    };
    let fixed = "small = { size = \"1 TiB\", iops = \"900 IOPS\", price = ";
    let found = texts(&format!("{DISKS}{fixed}{} }}\n", at("\"1 USD per IOPS-month\"")));
    assert_eq!(found, [(ProblemKind::Contradiction, "is priced by IOPS, which are not provisioned".to_owned())]);
    let twice = format!("[{}, {}]", at("\"1 USD per month\""), at("\"2 USD per month\""));
    let found = texts(&format!("{DISKS}{fixed}{twice} }}\n"));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, ProblemKind::Duplicate);
    assert!(found[0].1.starts_with("has a price for the same region at own.toml:"), "{}", found[0].1);
}

/// Prices that the catalog has, as their sources give them.
#[test]
fn prices_that_come_along_come_to_what_their_sources_say() {
    let catalog = Catalog::builtin();
    let cost = |name: &str, wanted: Provisioned, region: &str| match catalog.monthly_cost(name, &wanted, region) {
        Ok(money) => money.to_string(),
        Err(error) => error.to_string(),
    };
    let as_sold = Provisioned::default;
    assert_eq!(cost("azure/premium-p30", as_sold(), "eastus"), "135.17 USD");
    assert_eq!(cost("azure/premium-p30", as_sold(), "eastus2"), "122.88 USD");
    assert_eq!(cost("azure/classic-premium-p20", as_sold(), "eastus"), "73.22 USD");
    assert_eq!(cost("azure/d14", as_sold(), "eastus"), "1125.66 USD", "1.542 USD an hour");
    assert_eq!(cost("gcp/n2-standard-8", as_sold(), "us-central1"), "283.58 USD");
    assert_eq!(cost("gcp/local-ssd-nvme", as_sold(), "us-central1"), "30.00 USD");
    assert_eq!(cost("aws/gp3", sized(Bytes::gib(1_000)), "us-east-1"), "80.00 USD");
    let io2 = Provisioned { iops: iops(40_000), ..sized(Bytes::gib(1_000)) };
    assert_eq!(cost("aws/io2", io2, "us-east-1"), "2569.00 USD", "125 + 2,080 + 364");
    let ultra = Provisioned { iops: iops(4_000), throughput: rate("20 MB/s"), ..sized(Bytes::gib(2_048)) };
    assert_eq!(cost("azure/ultra", ultra, "eastus"), "450.74 USD");
    let v2 = Provisioned { iops: iops(5_000), ..sized(Bytes::gib(100)) };
    assert_eq!(cost("azure/premium-v2", sized(Bytes::gib(100)), "eastus"), "8.10 USD");
    assert_eq!(cost("azure/premium-v2", v2.clone(), "eastus"), "18.32 USD", "8.10 and an estimate");
    let plain = Provisioned { throughput: rate("500 MB/s"), iops: iops(2_000), ..sized(Bytes::gib(100)) };
    assert!(cost("azure/ultra", plain, "westeurope").ends_with("says nothing of its throughput"));
    assert_eq!(cost("azure/premium-v2", v2, "brazilsouth"), "34.16 USD");
    let option = Provisioned { option: Some("on-demand-burst".to_owned()), ..Provisioned::default() };
    assert!(cost("azure/premium-p30", option, "eastus").ends_with("says nothing of its option on-demand-burst"));
    assert_eq!(catalog.prices("aws/m5.8xlarge@2019"), catalog.prices("aws/m5.8xlarge"), "as the plain name");
}

/// A list in columns, and its rows.
fn columns(rows: &str) -> String {
    format!("{LIST}per = \"USD per month\"\nregions = [\"here\", \"there\", \"far\"]\n[price]\n{rows}")
}

#[test]
fn a_row_has_a_price_for_each_region_that_sells_it() {
    let list = columns("free = \"8 - ~9.5\"\n");
    let disks = format!("{DISKS}free = {{ {FREE} }}\n");
    let catalog = Catalog::default().with(&[("own.toml", &disks), ("prices.toml", &list)]).unwrap();
    assert_eq!(catalog.check(), []);
    let shown: Vec<String> = catalog.prices("own/free").iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            "about 9.5 USD per month (on demand; 2026-10-06; far; a list)",
            "8 USD per month (on demand; 2026-10-06; here; a list)",
        ]
    );
    assert_eq!(catalog.price_in("own/free", "there"), None);
    assert_eq!(catalog.price_regions("own"), ["far", "here"]);
    let cost = |region: &str| catalog.cost("own/free", &sized(Bytes::gib(1)), region).unwrap();
    assert_eq!((cost("here").estimated, cost("far").estimated), (vec![], vec![Estimated::Whole]));
    // A list that is added later counts.
    let newer = columns("free = \"7 - -\"\n");
    let catalog = catalog.with(&[("newer.toml", &newer)]).unwrap();
    assert_eq!(catalog.price_in("own/free", "here").unwrap().amount(), "7 USD per month");
    assert_eq!(catalog.price_in("own/free", "far").unwrap().amount(), "about 9.5 USD per month");
}

#[test]
fn a_list_in_columns_that_cannot_be_read_is_told_at_its_place() {
    let told = |text: &str| Catalog::default().with(&[("prices.toml", text)]).unwrap_err().to_string();
    let cases = [
        ("free = \"8 -\"\n", "price.free: has 2 prices for 3 regions: write one for each"),
        ("free = \"8 - x\"\n", "price.free: has \"x\" for far, which is no amount"),
        ("free = \"8 - 0\"\n", "price.free: has \"0\" for far, which is no amount"),
        ("free = \"8 - NaN\"\n", "price.free: has \"NaN\" for far, which is no amount"),
        ("free = \"8 - -1\"\n", "price.free: has \"-1\" for far, which is no amount"),
        ("free = 8\n", "price.free: is the number 8"),
    ];
    for (rows, wanted) in cases {
        let found = told(&columns(rows));
        assert!(found.contains(wanted), "{rows}: {found}");
    }
    let twice = columns("free = \"8 - -\"\n").replace("\"far\"", "\"here\"");
    assert!(told(&twice).contains("regions: has \"here\" twice"), "{}", told(&twice));
    let none = columns("free = \"8 - -\"\n").replace("per = \"USD per month\"\n", "");
    assert!(told(&none).contains("price: has no columns: write per = "), "{}", told(&none));
    let unit = columns("free = \"8 - -\"\n").replace("USD per month", "USD");
    assert!(told(&unit).contains("per: \"USD\" is no currency and unit"), "{}", told(&unit));
}

proptest::proptest! {
    /// Any text is either a charge that prints as it was written, or an error.
    #[test]
    fn a_text_is_a_charge_as_it_stands_or_none(text in "(about )?[0-9.]{0,9} ?[A-Za-z]{0,4} ?(per|for)? [A-Za-z/0-9 -]{0,20}( above [0-9A-Za-z ]{0,9})?( up to [0-9A-Za-z ]{0,9})?") {
        if let Ok(charge) = text.parse::<Charge>() {
            proptest::prop_assert_eq!(charge.to_string(), text);
        }
    }

    /// Consecutive tiers cost as much as one charge for all of it: whole billionths are not rounded.
    #[test]
    fn tiers_at_one_rate_are_one_charge(billionths in 0u64..1_000_000_000, count in 1u64..200_000, bound in 1u64..200_000) {
        let rate = format!("0.{billionths:09} USD per IOPS-month");
        let bought = Provisioned { iops: iops(count), ..sized(Bytes::gib(1)) };
        let amounts = [format!("[\"{rate}\"]"), format!("[\"{rate} up to {bound} IOPS\", \"{rate} above {bound} IOPS\"]")];
        let of = |amount: &String| {
            let text = format!("{DISKS}free = {{ {WIDE}, price = {} }}\n", at(amount));
            let catalog = Catalog::default().with(&[("own.toml", &text)]).unwrap();
            catalog.monthly_cost("own/free", &bought, "here").unwrap().billionths()
        };
        proptest::prop_assert_eq!(of(&amounts[0]), of(&amounts[1]));
    }
}

#[test]
fn a_discount_is_of_what_it_names_and_the_most_exact_counts() {
    let discounts = |all: &[&str]| PaidTerms {
        discounts: all.iter().map(|text| text.parse().unwrap()).collect(),
        ..PaidTerms::default()
    };
    let month = |terms: PaidTerms, name: &str| {
        let catalog = Catalog::builtin().with_terms(terms);
        let wanted = if name == "aws/gp3" { sized(Bytes::gib(100)) } else { Provisioned::default() };
        catalog.cost(name, &wanted, "us-east-1").unwrap()
    };
    let listed = |name: &str| month(PaidTerms::default(), name).month.amount();
    for (all, name, left) in [
        (&["10%"][..], "aws/m5.large", 0.9),
        (&["10%"], "aws/gp3", 0.9),
        (&["machines=10%"], "aws/gp3", 1.0),
        (&["azure=10%"], "aws/gp3", 1.0),
        (&["10%", "aws/disks=20%"], "aws/gp3", 0.8),
        (&["aws/machines/m5=30%", "aws/machines=20%", "10%"], "aws/m5.large", 0.7),
        (&["aws/machines/m5=30%", "aws/machines=20%", "10%"], "aws/c5.large", 0.8),
    ] {
        let cost = month(discounts(all), name);
        assert!((cost.month.amount() - left * listed(name)).abs() < 1e-6, "{all:?} {name}: {cost:?}");
        assert_eq!(cost.at_list().to_string(), month(PaidTerms::default(), name).month.to_string());
        assert_eq!(cost.reductions.len(), usize::from(left < 1.0));
    }
    for wrong in ["100%", "ten", "aws/m5=10%", "aws/machines/disks/m5=1%", "aws=", "150%"] {
        assert!(wrong.parse::<Discount>().unwrap_err().to_string().contains("write 12%, aws=12%"), "{wrong}");
    }
}

#[test]
fn a_commitment_takes_off_a_machines_price_and_says_whose_share_that_is() {
    let terms = |commitment| PaidTerms { commitment: Some(commitment), discounts: vec!["aws=10%".parse().unwrap()] };
    let catalog = Catalog::builtin().with_terms(terms(CommitmentTerm::OneYear));
    let cost = catalog.cost("aws/m5.large", &Provisioned::default(), "us-east-1").unwrap();
    let [commitment, discount] = &cost.reductions[..] else { panic!("{cost:?}") };
    let ReductionReason::Commitment { share, source, date, .. } = &commitment.why else { panic!("{cost:?}") };
    assert!(source.contains("ec2.shop") && date.is_some() && share.as_f64() > 0.6 && share.as_f64() < 0.7, "{cost:?}");
    assert!(matches!(discount.why, ReductionReason::Discount { .. }));
    let listed = cost.at_list().amount();
    assert!((cost.month.amount() - listed * share.as_f64() * 0.9).abs() < 1e-6, "the discount comes off the rest");
    assert_eq!(cost.estimated, [Estimated::Commitment], "one share stands for all machines of a kind");
    let longer = Catalog::builtin().with_terms(terms(CommitmentTerm::ThreeYears));
    assert!(
        longer.monthly_cost("aws/m5.large", &Provisioned::default(), "us-east-1").unwrap().amount()
            < cost.month.amount()
    );
    // Disks are not committed to, nor machines of which no share is known.
    assert_eq!(catalog.cost("aws/gp3", &sized(Bytes::gib(100)), "us-east-1").unwrap().reductions.len(), 1);
    let other = catalog.cost("azure/d8s-v5", &Provisioned::default(), "eastus").unwrap();
    assert!(other.reductions.is_empty() && catalog.lacks_commitment("azure/d8s-v5"));
    assert_eq!(catalog.committed_providers(), ["aws"]);
}

#[test]
fn prices_in_one_currency_alone_may_count() {
    let catalog = Catalog::builtin().with(&[("own.toml", OWN_EUROS)]).unwrap();
    let price = |catalog: &Catalog| catalog.price_in("azure/premium-p30", "westeurope").map(|price| price.amount());
    assert_eq!(price(&catalog).as_deref(), Some("120 EUR per month"));
    assert_eq!(
        price(&catalog.clone().in_currency(Currency::parse("EUR").unwrap())).as_deref(),
        Some("120 EUR per month")
    );
    let dollars = catalog.clone().in_currency(Currency::parse("USD").unwrap());
    assert!(price(&dollars).unwrap().ends_with("USD per month"));
    assert!(catalog.in_currency(Currency::parse("JPY").unwrap()).regions().is_empty());
}

#[test]
fn a_price_names_its_list_by_date_and_digest() {
    let catalog = Catalog::builtin().with(&[("own.toml", OWN_EUROS)]).unwrap();
    let own = catalog.list_of("azure/premium-p30", "westeurope").unwrap();
    assert_eq!((own.file.as_str(), own.date.as_deref()), ("own.toml", Some("2026-11-01")));
    // As `sha256sum` prints it.
    assert_eq!(own.sha256.as_deref(), Some("de2550db5dc94e297be08554620c5c4365a59f7b4aa269e5ab700b5dfaf40c5d"));
    let shipped = catalog.list_of("azure/d8s-v5", "westeurope").unwrap();
    assert!(
        shipped.file.starts_with("azure/prices-machines") && shipped.sha256.is_some_and(|digest| digest.len() == 64)
    );
    assert_eq!(catalog.list_of("azure/d8s-v5", "atlantis"), None);
}

const OWN_EUROS: &str = "schema = 1\nkind = \"prices\"\nprovider = \"azure\"\nfamily = \"euros\"\ntitle = \"Our agreement\"\n\
                         source = \"contract\"\ndate = \"2026-11-01\"\n\n[region.westeurope]\npremium-p30 = \"120 EUR per month\"\n";
