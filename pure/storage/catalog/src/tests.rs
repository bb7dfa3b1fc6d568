//! The built-in catalog: its entries and their figures.

mod measured_and_dated;

use super::*;
use loadline_disk::{Directions, Enforcement, IopsBudget, IopsBurst, Limit, Place, ThroughputBudget};
use loadline_units::{ByteRate, Bytes, Iops, Ratio};

fn iops(count: u64) -> Iops {
    Iops::per_second(count).unwrap()
}
fn rate(text: &str) -> ByteRate {
    text.parse().unwrap()
}
fn sized(size: Bytes) -> Provisioned {
    Provisioned { size: Some(size), ..Provisioned::default() }
}
/// The limit as published.
fn published(name: &str, wanted: &Provisioned) -> Limit {
    let catalog = Catalog::builtin();
    catalog.disk_figures(name, wanted).unwrap_or_else(|error| panic!("{error}")).spec(&Draw::PUBLISHED).limit
}
fn steady(limit: &Limit) -> (u64, u64) {
    let (Some(Directions::Together(iops)), Some(Directions::Together(bytes))) = (limit.iops, limit.throughput) else {
        panic!("{limit:?}")
    };
    (iops.rate.get(), bytes.rate.get())
}

#[test]
fn nothing_is_wrong_with_the_catalog() {
    assert_eq!(Catalog::builtin().check(), []);
}

#[test]
fn the_catalog_has_the_entries_that_it_should() {
    let catalog = Catalog::builtin();
    let of = |provider: &str| {
        let begins = |name: &str| name.starts_with(&format!("{provider}/"));
        let disks = catalog.disks().iter().filter(|disk| begins(&disk.name)).count();
        let rows: usize = catalog.disks().iter().filter(|disk| begins(&disk.name)).map(|d| d.published.len()).sum();
        let vms = catalog.vms().iter().filter(|vm| begins(&vm.name)).count();
        let caps = catalog.caps().iter().filter(|cap| catalog.cap_family(cap).provider == provider).count();
        (disks, rows, vms, caps)
    };
    assert_eq!(of("azure"), (638, 26, 1225 + 245, 0));
    assert_eq!(of("aws"), (260, 34, 1530, 0));
    assert_eq!(of("gcp"), (10, 4, 0, 273 + 16 + 6));
}

/// Published limits, each figure as its source has it.
#[test]
fn machines_have_the_limits_on_hyperdisks_that_were_published() {
    let catalog = Catalog::builtin();
    let told = |machine: &str, disk: &str| {
        let facts = catalog.describe(&format!("gcp/{machine}")).unwrap();
        facts.into_iter().find(|fact| fact.key == format!("cap_{disk}")).map(|fact| fact.text)
    };
    let balanced = |machine: &str| told(machine, "hyperdisk-balanced").unwrap();
    assert_eq!(balanced("c3-highmem-4"), "25000 IOPS, 400 MiB/s");
    assert_eq!(balanced("c3-standard-22"), "120000 IOPS, 1800 MiB/s");
    assert_eq!(balanced("c3-standard-176"), "160000 IOPS, 10000 MiB/s");
    assert_eq!(balanced("c4d-highcpu-2"), "22500 IOPS, 400 MiB/s");
    assert_eq!(balanced("c4d-standard-96"), "160000 IOPS, 3125 MiB/s");
    assert_eq!(balanced("c4d-standard-384"), "320000 IOPS, 12500 MiB/s");
    assert_eq!(balanced("c4d-standard-384-metal"), "320000 IOPS, 10000 MiB/s");
    assert_eq!(told("c3d-standard-360", "hyperdisk-ml").unwrap(), "38400 IOPS, 2400 MiB/s");
    assert_eq!(told("n2-standard-8", "hyperdisk-balanced"), None);
}

#[test]
fn limits_of_a_machine_from_several_files_have_the_source_of_each() {
    let facts = Catalog::builtin().describe("gcp/c3-standard-8").unwrap();
    let of = |key: &str| facts.iter().find(|fact| fact.key == key).map(|fact| (fact.label.as_str(), &*fact.text));
    assert!(of("source").is_some_and(|(_, text)| text.contains("gcpdiag")), "{facts:?}");
    let (label, text) = of("source_2").unwrap();
    assert_eq!(label, "source of hyperdisk-balanced");
    assert!(text.contains("vmrs_gcp"), "{text}");
    assert_eq!(of("date_2").unwrap().1, "2025-06-03");
    assert!(of("file_2").unwrap().1.starts_with("gcp/vm-hyperdisk-c3.toml"), "{facts:?}");
    assert_eq!(facts.iter().filter(|fact| fact.key.starts_with("enforcement")).count(), 1, "all are held alike");
}

#[test]
fn instances_have_the_limits_that_the_providers_api_told() {
    let catalog = Catalog::builtin();
    let of = |name: &str| {
        let facts = catalog.describe(name).unwrap();
        let text = |key: &str| facts.iter().find(|fact| fact.key == key).map(|fact| fact.text.clone()).unwrap();
        (text("uncached"), text("vcpus"))
    };
    let limits = ("20000 IOPS (burst 40000 IOPS), 625 MB/s (burst 1250 MB/s)".to_owned(), "16".to_owned());
    assert_eq!(of("aws/c7i.4xlarge"), limits);
    assert_eq!(of("aws/m6in.32xlarge").0, "400000 IOPS, 12500 MB/s");
    assert_eq!(of("aws/m6in.32xlarge@2026").0, "400000 IOPS, 12500 MB/s");
    assert_eq!(of("aws/m6in.32xlarge@2023").0, "350000 IOPS, 10000 MB/s");
}

#[test]
fn names_are_those_that_people_write() {
    let catalog = Catalog::builtin();
    let disks = [
        "azure/premium-p30",
        "azure/standard-ssd-e20",
        "azure/standard-hdd-s30",
        "azure/premium-v2",
        "azure/ultra",
        "azure/classic-premium-p30",
        "azure/classic-standard",
        "aws/gp3",
        "aws/gp2",
        "gcp/pd-ssd",
    ];
    for name in disks {
        assert!(catalog.disk_entry(name).is_ok(), "{name}");
    }
    for name in ["azure/ds3", "azure/d8s-v3", "aws/m5.8xlarge", "gcp/n2-standard-8"] {
        assert!(catalog.vm_figures(name).is_ok(), "{name}");
    }
}

#[test]
fn an_unknown_name_is_answered_with_the_nearest() {
    let catalog = Catalog::builtin();
    let error = catalog.disk("azure/premium-30", &Provisioned::default()).unwrap_err();
    assert!(error.to_string().ends_with("did you mean azure/premium-p30?"), "{error}");
    assert_eq!(error.part(), PurchasePart::Sku);
    let error = catalog.disk("premium-p30", &Provisioned::default()).unwrap_err();
    assert!(error.to_string().ends_with("did you mean azure/premium-p30?"), "{error}");
    let error = catalog.describe("azure/p30").unwrap_err();
    assert!(error.to_string().ends_with("did you mean azure/premium-p30?"), "{error}");
    assert!(catalog.vm("azure/standard-ds3").unwrap_err().to_string().contains("no VM size"));
}

/// As a provider writes it, or with a number that is not sold.
#[test]
fn a_name_written_otherwise_or_with_another_number_leads_to_what_is_there() {
    let catalog = Catalog::builtin();
    let near = |error: EntryError| match error {
        EntryError::Unknown { near, .. } => near.unwrap_or_default(),
        other => panic!("{other}"),
    };
    for (typed, meant) in [
        ("azure/Standard_D8s_v3", "azure/d8s-v3"),
        ("Standard_D8s_v3", "azure/d8s-v3"),
        ("azure/D8S_V3", "azure/d8s-v3"),
        ("n2-standard-6", "gcp/n2-standard-4"),
        ("gcp/n2-standard-7", "gcp/n2-standard-8"),
        ("gcp/n2-standard-416", "gcp/n2-standard-128"),
        ("gcp/n2-highcpu-128", "gcp/n2-highcpu-96"),
        ("gcp/e2-standard-416", "gcp/e2-standard-32"),
        ("gcp/n1-standard-360", "gcp/n1-standard-96"),
        ("gcp/n2-foo-8", "gcp/n2-standard-8"),
    ] {
        assert_eq!(near(catalog.vm(typed).unwrap_err()), meant, "{typed}");
        assert_eq!(near(catalog.describe(typed).unwrap_err()), meant, "{typed}");
    }
    for (typed, meant) in [("premium-p31", "azure/premium-p30"), ("azure/Premium_P42", "azure/premium-p40")] {
        assert_eq!(near(catalog.disk_entry(typed).unwrap_err()), meant, "{typed}");
        assert_eq!(near(catalog.describe(typed).unwrap_err()), meant, "{typed}");
    }
}

/// Every machine that is sold has its own row, and common ones are sold.
#[test]
fn machines_that_are_sold_have_limits() {
    let catalog = Catalog::builtin();
    let sold: Vec<String> = (catalog.families.iter())
        .flat_map(|family| {
            family.sold_names().map(|machine| format!("{}/{machine}", family.provider)).collect::<Vec<_>>()
        })
        .collect();
    assert!(sold.len() > 150, "{}", sold.len());
    for name in sold {
        assert!(!catalog.vm_figures(&name).unwrap_or_else(|error| panic!("{error}")).caps.is_empty(), "{name}");
    }
    for name in
        ["n1-standard-1", "n2-standard-48", "n2d-standard-224", "e2-highcpu-32", "c2-standard-30", "c3-highmem-22"]
    {
        assert!(catalog.vm(&format!("gcp/{name}")).is_ok(), "{name}");
    }
}

#[test]
fn an_entry_with_a_source_of_its_own_does_not_show_the_date_of_the_familys() {
    let catalog = Catalog::builtin();
    let origin = |name: &str| {
        let facts = catalog.describe(name).unwrap();
        let of = |key: &str| facts.iter().find(|fact| fact.key == key).unwrap().text.clone();
        (of("source"), of("date"))
    };
    assert_eq!(origin("aws/gp3@2023").1, "2023-05");
    assert_eq!(origin("aws/gp3"), origin("aws/gp3@2025"));
    let (source, date) = origin("aws/gp3@2025");
    assert!(source.contains("ivanvari.com") && date == "2026-03", "{source} {date}");
    let (source, date) = origin("azure/ultra@2024");
    assert!(source.ends_with("120002") && date == "2024-02", "{source} {date}");
    let (source, date) = origin("azure/d4s-v3@2020");
    assert!(source.ends_with("dv3-dsv3-series.md") && date == "2020-02-03", "{source}");
    // An entry with its own source does not inherit the file's date.
    let own = OWN.replace("\"9000 IOPS\" }", "\"9000 IOPS\", source = \"a letter\" }");
    let catalog = Catalog::default().with(&[("own.toml", &own)]).unwrap();
    let facts = catalog.describe("own/small").unwrap();
    let of = |key: &str| facts.iter().find(|fact| fact.key == key).map(|fact| fact.text.clone());
    assert_eq!((of("source"), of("date")), (Some("a letter".to_owned()), Some("not recorded".to_owned())));
}

const OWN_MACHINES: &str = "schema = 1\nkind = \"vm\"\nprovider = \"own\"\nfamily = \"m\"\ntitle = \"x\"\nsource = \"x\"\n\
                            date = \"2024-03\"\n[mechanism]\nburst_span = \"30 min\"\n[vm]\n\
                            m4 = { vcpus = 4, uncached = { iops = \"1000 IOPS\", burst = { iops = \"3000 IOPS\" } } }\n\
                            m8 = { vcpus = 8, uncached = { iops = \"1100 IOPS\", burst = { iops = \"4000 IOPS\" } } }\n\
                            x16 = { vcpus = 16, uncached = { iops = \"100 IOPS\" } }\n";

#[test]
fn a_machine_with_more_processors_and_less_than_its_like_is_named() {
    let problems = |text: &str| {
        let found = Catalog::default().with(&[("own.toml", text)]).unwrap().check();
        found.into_iter().map(|p| (p.name, p.kind, p.text)).collect::<Vec<_>>()
    };
    assert_eq!(problems(OWN_MACHINES), [], "another kind of machine may have less");
    let falls = [(
        "own/m8".to_owned(),
        ProblemKind::Falls,
        "has less to network disks than own/m4, which has fewer processors".to_owned(),
    )];
    assert_eq!(problems(&OWN_MACHINES.replace("1100 IOPS", "900 IOPS")), falls);
    assert_eq!(problems(&OWN_MACHINES.replace("4000 IOPS", "2000 IOPS")), falls);
    let for_arrays = |iops: &str| format!("uncached_for = {{ families = [\"array\"], iops = \"{iops}\" }}");
    let machines = OWN_MACHINES.replace("vcpus = 4,", &format!("vcpus = 4, {},", for_arrays("2000 IOPS")));
    let machines = machines.replace("vcpus = 8,", &format!("vcpus = 8, {},", for_arrays("1500 IOPS")));
    let fewer: Vec<String> = problems(&machines).into_iter().map(|(_, _, text)| text).collect();
    let text = "has less to network disks of some families than own/m4, which has fewer processors";
    assert!(fewer.iter().any(|found| found == text), "{fewer:?}");
    let foreign = problems(&OWN_MACHINES.replace("vcpus = 16,", "vcpus = 16, takes_no = [\"tapes\"],"));
    assert_eq!(foreign[0].2, "takes no disks of the family \"tapes\", which is not in the catalog");
}

#[test]
fn a_machine_with_less_in_a_burst_than_without_is_refused() {
    let read = |text: &str| Catalog::default().with(&[("own.toml", text)]);
    assert!(read(&OWN_MACHINES.replace("3000 IOPS", "1000 IOPS")).is_ok(), "as much is no burst");
    let Err(error) = read(&OWN_MACHINES.replace("3000 IOPS", "900 IOPS")) else { panic!("was taken") };
    assert!(error.to_string().contains("has less in a burst than without one"), "{error}");
}

/// As their pages have them: limits apart for ultra disks, and local disks each by itself.
#[test]
fn azures_newer_sizes_have_what_their_pages_say() {
    let told = |name: &str, key: &str| {
        let facts = Catalog::builtin().describe(&format!("azure/{name}")).unwrap();
        facts.into_iter().find(|fact| fact.key == key).map(|fact| fact.text).unwrap_or_default()
    };
    let premium = "12800 IOPS (burst 40000 IOPS), 424 MB/s (burst 1250 MB/s)";
    let ultra = "16667 IOPS (burst 52083 IOPS), 496 MB/s (burst 1463 MB/s)";
    assert_eq!((told("d8s-v6", "uncached").as_str(), told("d8s-v6", "uncached_for").as_str()), (premium, ultra));
    assert_eq!(told("e96ads-v7", "data_disks"), "64 at most");
    assert_eq!(told("e2bds-v5@2022", "uncached"), "5500 IOPS (burst 10000 IOPS), 156 MB/s (burst 1200 MB/s)");
    assert_eq!(told("e2bds-v5", "uncached"), "6000 IOPS (burst 10000 IOPS), 170 MB/s (burst 1200 MB/s)");
    assert_eq!(told("e2bds-v5@2024", "uncached"), "6000 IOPS (burst 10000 IOPS), 170 MB/s (burst 1200 MB/s)");
    assert_eq!(told("l32aos-v4", "caches_none"), "caches no network disks");
    // 1,800,000 and 720,000 of six.
    assert_eq!(told("d96ds-v6-temp", "iops"), "reads 300000 IOPS; writes 120000 IOPS");
    assert_eq!(told("d96ds-v6-temp", "note"), "one of 6 that come with the machine");
}

#[test]
fn a_larger_disk_with_less_of_a_burst_is_named() {
    let text = OWN.replace("[latency.read]", "[mechanism]\nburst_span = \"30 min\"\n[latency.read]");
    let disks = "small = { size = \"1 TiB\", iops = \"100 IOPS\", burst = { iops = \"900 IOPS\" } }\n\
                 large = { size = \"2 TiB\", iops = \"200 IOPS\", burst = { iops = \"800 IOPS\" } }\n";
    let text = format!("{}[disk]\n{disks}", text.split("[disk]").next().unwrap());
    let problems = Catalog::default().with(&[("own.toml", &text)]).unwrap().check();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!((problems[0].name.as_str(), problems[0].kind), ("own/large", ProblemKind::Falls));
    assert!(problems[0].text.starts_with("has fewer IOPS in a burst"), "{}", problems[0].text);
}

/// Requests of 4 KiB in the source: the throughput beside the IOPS allows them.
#[test]
fn throughput_that_lets_fewer_through_than_the_iops_of_their_size_is_named() {
    let disks = |rate: &str| {
        let text = OWN.replace("[latency.read]", "iops_at = \"4 KiB\"\n[latency.read]");
        let disk = format!("small = {{ size = \"1 TiB\", iops = \"170000 IOPS\", throughput = \"{rate}\" }}");
        format!("{}[disk]\n{disk}\n", text.split("[disk]").next().unwrap())
    };
    let problems = |rate: &str| Catalog::default().with(&[("own.toml", &disks(rate))]).unwrap().check();
    assert_eq!(problems("660 MiB/s"), []);
    let found = problems("660 MB/s");
    assert!(!found.is_empty() && found.iter().all(|p| p.kind == ProblemKind::Contradiction), "{found:?}");
    assert!(found[0].text.contains("170000 IOPS read at 1 TiB, which are of requests of 4 KiB"), "{}", found[0].text);
    assert!(found[0].text.contains("let 161132 of them through"), "{}", found[0].text);
}

#[test]
fn every_name_that_is_listed_is_described() {
    let catalog = Catalog::builtin();
    for row in catalog.list(&Filter::default()) {
        let facts = catalog.describe(&row.name).unwrap_or_else(|error| panic!("{error}"));
        let mut keys: Vec<&str> = facts.iter().map(|fact| fact.key.as_str()).collect();
        keys.sort_unstable();
        assert!(keys.windows(2).all(|pair| pair[0] != pair[1]), "{}: {keys:?}", row.name);
    }
    let facts = catalog.describe("gcp/c2-*-#").unwrap();
    assert!(facts.iter().any(|fact| fact.label == "all pd-standard, 30 vCPUs" && fact.text.contains("8000 IOPS")));
}

#[test]
fn a_disk_of_fixed_size_has_what_its_row_says_and_its_family_holds_it() {
    let limit = published("azure/premium-p30", &Provisioned::default());
    assert_eq!(steady(&limit), (5_000, 200 << 20));
    assert_eq!(limit.counted_size, Some(Bytes::kib(256)));
    assert!(matches!(limit.enforcement, Enforcement::Window { length, .. } if length.as_ns() == 50_000_000));
    let spec = Catalog::builtin().disk("azure/premium-p30", &Provisioned::default()).unwrap();
    let delivered = (5_100, (200 << 20) * 99 / 100);
    assert_eq!(
        steady(&spec.limit),
        delivered,
        "1.02 x the published IOPS and 0.99 x the published MiB/s are delivered"
    );
    assert_eq!((spec.size, spec.place), (Some(Bytes::gib(1024)), Place::Network));
    assert_eq!(spec.latency.read.median.as_ns(), 2_400_000);
}

#[test]
fn a_full_bucket_of_a_small_disk_lasts_half_an_hour() {
    let limit = published("azure/premium-p10", &Provisioned::default());
    let burst = IopsBurst { rate: iops(3_500), credits: 3_000 * 1_800 };
    assert_eq!(limit.iops, Some(Directions::Together(IopsBudget { rate: iops(500), burst: Some(burst) })));
}

#[test]
fn an_option_replaces_the_limits() {
    let with = |option: &str| Provisioned { option: Some(option.to_owned()), ..Provisioned::default() };
    let limit = published("azure/premium-p30", &with("on-demand-burst"));
    assert_eq!(steady(&limit), (30_000, 1_000 << 20));
    let error = Catalog::builtin().disk("azure/premium-p30", &with("burst")).unwrap_err();
    assert!(error.to_string().contains("it has on-demand-burst, performance-plus"), "{error}");
}

#[test]
fn figures_that_follow_from_the_size_cannot_be_chosen() {
    assert_eq!(steady(&published("aws/gp2", &sized(Bytes::gib(1_000)))), (3_000, 250 << 20));
    let Some(Directions::Together(budget)) = published("aws/gp2", &sized(Bytes::gib(20))).iops else { panic!() };
    assert_eq!(
        budget,
        IopsBudget { rate: iops(100), burst: Some(IopsBurst { rate: iops(3_000), credits: 5_400_000 }) }
    );
    let wanted = Provisioned { iops: Some(iops(500)), ..sized(Bytes::gib(20)) };
    let error = Catalog::builtin().disk("aws/gp2", &wanted).unwrap_err();
    assert_eq!(error.part(), PurchasePart::Iops);
    let error = Catalog::builtin().disk("aws/gp2", &Provisioned::default()).unwrap_err();
    assert!(error.to_string().contains("give a size from 1 GiB to 16 TiB"), "{error}");
}

#[test]
fn what_is_provisioned_has_a_default_and_bounds() {
    let catalog = Catalog::builtin();
    assert_eq!(steady(&published("aws/gp3", &sized(Bytes::gib(1_000)))), (3_000, 125 << 20));
    let full =
        Provisioned { iops: Some(iops(16_000)), throughput: Some(rate("1000 MB/s")), ..sized(Bytes::gib(1_000)) };
    assert_eq!(steady(&published("aws/gp3", &full)), (16_000, 1_000_000_000));
    let error =
        catalog.disk("aws/gp3", &Provisioned { iops: Some(iops(16_000)), ..sized(Bytes::gib(16)) }).unwrap_err();
    assert_eq!(
        error.to_string(),
        "aws/gp3 can be provisioned with at most 8000 IOPS at 16 GiB, not with 16000 IOPS (limits as of 2026-03)"
    );
    let wanted = Provisioned { iops: Some(iops(2_000)), ..sized(Bytes::gib(16)) };
    let error = catalog.disk("azure/premium-v2", &wanted).unwrap_err();
    assert!(error.to_string().ends_with("2000 IOPS is below (limits as of 2026-08-11)"), "{error}");
    let error = catalog.disk("azure/ultra", &sized(Bytes::gib(64))).unwrap_err();
    assert_eq!(error.to_string(), "azure/ultra has no iops of its own: give iops up to 64000 IOPS");
}

#[test]
fn a_bucket_of_bytes_grows_with_the_disk() {
    let limit = published("aws/st1", &sized(Bytes::gib(2_048)));
    let Some(Directions::Together(ThroughputBudget { rate, burst: Some(burst) })) = limit.throughput else { panic!() };
    assert_eq!((rate.get(), burst.rate.get(), burst.credits), (80 << 20, 500 << 20, Bytes::gib(2_048)));
    assert_eq!(limit.least_charge, Some(Bytes::MIB));
    assert_eq!(limit.merge.unwrap().larger_than, Bytes::kib(32));
}

#[test]
fn io1_throughput_rises_twice() {
    let at = |count| {
        let wanted = Provisioned { iops: Some(iops(count)), ..sized(Bytes::gib(2_000)) };
        steady(&published("aws/io1", &wanted)).1 >> 20
    };
    assert_eq!([at(1_000), at(2_000), at(32_000), at(64_000)], [250, 500, 500, 1_000]);
}

#[test]
fn reads_and_writes_of_one_budget_are_traded() {
    let limit = published("gcp/pd-standard", &sized(Bytes::gib(1_000)));
    let (read, write) = (IopsBudget::steady(iops(750)), IopsBudget::steady(iops(1_500)));
    assert_eq!(limit.iops, Some(Directions::Traded { read, write }));
}

#[test]
fn a_machine_has_its_budgets() {
    let vm = Catalog::builtin().vm_figures("azure/ds3").unwrap().spec(&Draw::PUBLISHED, false);
    // The page's 128 MB/s, which the provider's API answers as 128 x 1,000 KiB.
    assert_eq!(steady(&vm.cached.unwrap()), (16_000, 128_000 << 10));
    assert_eq!(steady(&vm.uncached.unwrap()), (12_800, 128_000_000));
    assert_eq!(vm.cache_size, Some(Bytes::gib(172)));
    let vm = Catalog::builtin().vm("azure/a3").unwrap();
    assert_eq!((vm.disks_max, vm.vcpus, vm.cached_estimated), (Some(8), Some(4), true));
}

/// No cached limit of an A3's host was published. The estimate for its 4 processors begins with what the provider's API
/// answers for one of its time. Newer sizes have another estimate, with a bound.
#[test]
fn what_a_host_may_answer_is_estimated_by_processors_where_it_was_not_published() {
    let figures = Catalog::builtin().vm_figures("azure/a3").unwrap();
    let at = |percent| {
        let place = Ratio::percent(percent);
        let draw = Draw { delivered: Some(place), ..Draw::MIDDLE };
        steady(&figures.spec(&draw, false).cached.unwrap())
    };
    assert_eq!([at(0), at(50), at(100)], [(4_000, 40 << 20), (4_000, 80 << 20), (16_000, 128 << 20)]);
    let cached = |name: &str| {
        let figures = Catalog::builtin().vm_figures(name).unwrap();
        steady(&figures.spec(&Draw::MIDDLE, false).cached.unwrap())
    };
    // The API answers 9,000 and 125 MB/s for two processors, 450,000 and 4,000 MB/s for 128.
    assert_eq!(cached("azure/d2as-v6"), (9_376, 125_000_000));
    assert_eq!(cached("azure/d128ds-v6"), (450_000, 4_000_000_000));
    assert_eq!(Catalog::builtin().vm_figures("azure/ds3").unwrap().cached_estimate, None);
}

#[test]
fn machines_known_by_a_pattern_have_processors_in_numbers_that_are_sold() {
    let error = Catalog::builtin().vm_figures("gcp/n2-standard-7").unwrap_err();
    assert!(error.to_string().ends_with("did you mean gcp/n2-standard-8?"), "{error}");
}

/// A bucket without a published size: 30 min at the full burst, or the full burst x 30 min.
#[test]
fn the_size_of_buckets_is_drawn_where_it_was_not_published() {
    let figures = Catalog::builtin().disk_figures("azure/premium-p10", &Provisioned::default()).unwrap();
    let credits = |percent| {
        let spec = figures.spec(&Draw { bursts: Ratio::percent(percent), ..Draw::PUBLISHED });
        let Some(Directions::Together(budget)) = spec.limit.iops else { panic!("one budget") };
        budget.burst.unwrap().credits
    };
    assert_eq!([credits(0), credits(50), credits(100)], [3_500 * 1_800, 3_000 * 1_800, 3_000 * 1_800]);
}

#[test]
fn limits_once_in_force_are_kept_by_year() {
    let catalog = Catalog::builtin();
    let at = |name: &str| steady(&catalog.vm_figures(name).unwrap().spec(&Draw::PUBLISHED, false).uncached.unwrap()).0;
    assert_eq!((at("aws/m5.4xlarge"), at("aws/m5.4xlarge@2019")), (18_750, 20_000));
    let full = |name: &str, most: u64| {
        let throughput = name.starts_with("azure/").then(|| rate("1000 MB/s"));
        let wanted = Provisioned { iops: Some(iops(most)), throughput, ..sized(Bytes::gib(1_000)) };
        catalog.disk(name, &wanted).is_ok()
    };
    // Names with a year keep the limits that they had, whatever the plain name means today.
    assert!(full("aws/gp3@2025", 80_000) && full("aws/gp3", 80_000));
    assert!(full("aws/gp3@2023", 16_000) && !full("aws/gp3@2023", 16_001));
    assert!(full("azure/ultra", 400_000) && full("azure/ultra@2022", 160_000) && !full("azure/ultra@2022", 160_001));
    let burst = |name: &str| catalog.vm_figures(name).unwrap().uncached.unwrap().limit.throughput;
    assert_eq!(burst("azure/d4s-v3"), burst("azure/d4s-v3@2024"));
    assert_ne!(burst("azure/d4s-v3"), burst("azure/d4s-v3@2020"));
}

#[test]
fn a_machine_is_found_by_its_pattern_and_an_exact_row_wins() {
    let catalog = Catalog::builtin();
    let vm = catalog.vm_figures("gcp/n2-standard-8").unwrap();
    assert_eq!(vm.vcpus, Some(8));
    let names: Vec<&str> = vm.caps.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["gcp/pd-standard", "gcp/pd-balanced", "gcp/pd-ssd"]);
    let rows = catalog.caps_of("gcp/n2-standard-64");
    let kinds: Vec<(&str, bool)> = rows.iter().map(|(cap, _)| (cap.disk.as_str(), cap.vcpus.is_none())).collect();
    assert_eq!(kinds, [("pd-standard", false), ("pd-balanced", false), ("pd-ssd", false), ("pd-extreme", true)]);
    assert!(catalog.vm_figures("gcp/n2-standard-x").is_err());
}

#[test]
fn a_draw_moves_only_what_is_uncertain() {
    let figures = Catalog::builtin().disk_figures("azure/premium-p30", &Provisioned::default()).unwrap();
    let at = |percent| {
        let place = Ratio::percent(percent);
        figures.spec(&Draw { latency: place, enforcement: place, delivered: Some(place), bursts: place })
    };
    let (low, high) = (at(0), at(100));
    assert_eq!((steady(&low.limit).0, steady(&high.limit).0), (4_600, 5_200));
    assert!(low.latency.read.median < high.latency.read.median);
    assert_eq!((low.size, low.limit.counted_size), (high.size, high.limit.counted_size));
}

#[test]
fn filters_leave_what_can_do_enough() {
    let catalog = Catalog::builtin();
    let names = |filter: Filter| -> Vec<String> { catalog.list(&filter).into_iter().map(|row| row.name).collect() };
    let premium = Filter { provider: Some("azure".into()), family: Some("premium".into()), ..Filter::default() };
    assert_eq!(names(premium.clone()).len(), 14);
    let wanted = ["azure/premium-p60", "azure/premium-p70", "azure/premium-p80"];
    assert_eq!(names(Filter { iops_min: Some(iops(16_000)), ..premium.clone() }), wanted);
    assert_eq!(names(Filter { throughput_min: Some(rate("901 MiB/s")), ..premium.clone() }), [""; 0]);
    assert_eq!(names(Filter { size_min: Some(Bytes::gib(32_767)), ..premium.clone() }), ["azure/premium-p80"]);
    let called = |part: &str, filter: Filter| names(Filter { name: Some(part.into()), ..filter });
    assert_eq!(called("P3", premium), ["azure/premium-p3", "azure/premium-p30"]);
    assert_eq!(called("gp3", Filter::default()), ["aws/gp3", "aws/gp3@2025", "aws/gp3@2023"]);
    assert_eq!(called("c7i.4x", Filter::default()), ["aws/c7i.4xlarge"]);
    // Machines that only a pattern names, by the rows that are about them: one for each type of disk.
    assert_eq!(called("c3-standard-22", Filter::default()), ["gcp/c3-*-#"; 3]);
    assert_eq!(called("gcp/c3-standard-22", Filter::default()), ["gcp/c3-*-#"; 3]);
    assert_eq!(called("c3-standard-23", Filter::default()), [""; 0], "none is sold");
}

/// For a disk that machines limit, the list shows the highest total of a machine. For a disk with its own limits, it
/// shows no more than these.
#[test]
fn no_disk_is_listed_with_more_than_any_machine_allows_it() {
    let catalog = Catalog::builtin();
    let rows = catalog.list(&Filter { provider: Some("gcp".into()), ..Filter::default() });
    let mut held = (0, 0);
    for disk in rows.iter().filter(|row| row.kind == Kind::Disk) {
        let machines = || {
            rows.iter().filter(|row| {
                row.kind == Kind::Vm && format!("gcp/{}", row.detail.split(',').next().unwrap()) == disk.name
            })
        };
        let Some(most) = machines().filter_map(|row| row.iops).max() else { continue };
        let rate = machines().filter_map(|row| row.throughput).max();
        if catalog.disk_family(catalog.disk_entry(&disk.name).unwrap()).mechanism.shared_by_type {
            assert_eq!(disk.iops, Some(most), "{}", disk.name);
            assert_eq!(disk.throughput, rate, "{}", disk.name);
            held.0 += 1;
        } else {
            assert!(disk.iops <= Some(most) && disk.throughput <= rate, "{}", disk.name);
            held.1 += 1;
        }
    }
    assert_eq!(held, (4, 2));
}

const OWN: &str = r#"
schema = 1
kind = "disk"
provider = "own"
family = "array"
title = "An array"
source = "its data sheet"
date = "2024-03"
[latency.read]
median = "1 ms"
[disk]
small = { size = "1 TiB", iops = "9000 IOPS" }
large = { size = "2 TiB", iops = "8000 IOPS", published = [{ size = "2 TiB", iops = "8500 IOPS" }] }
"#;

#[test]
fn a_folder_of_ones_own_is_read_beside_the_one_that_comes_along() {
    let catalog = Catalog::builtin().with(&[("own.toml", OWN)]).unwrap();
    assert_eq!(catalog.disk("own/small", &Provisioned::default()).unwrap().name, "own/small");
    assert!(catalog.disk_entry("azure/premium-p30").is_ok());
    let problems: Vec<(String, ProblemKind)> = catalog.check().into_iter().map(|p| (p.name, p.kind)).collect();
    let wanted = [("own/large".to_owned(), ProblemKind::Falls), ("own/large".to_owned(), ProblemKind::Contradiction)];
    assert_eq!(problems, wanted);
    let twice = catalog.with(&[("again.toml", OWN)]).unwrap();
    let duplicates = twice.check().into_iter().filter(|problem| problem.kind == ProblemKind::Duplicate).count();
    assert_eq!(duplicates, 2);
}

/// Dates of the file, and of each entry with its own source; one does not stand for the other.
#[test]
fn a_source_without_a_date_is_named() {
    let problems = |text: &str| {
        let found = Catalog::default().with(&[("own.toml", text)]).unwrap().check();
        found.into_iter().filter(|problem| problem.kind == ProblemKind::Undated).collect::<Vec<_>>()
    };
    assert_eq!(problems(OWN), []);
    let of_file = problems(&OWN.replace("date = \"2024-03\"\n", ""));
    assert_eq!(of_file.len(), 1, "{of_file:?}");
    assert_eq!((of_file[0].place.as_str(), of_file[0].name.as_str()), ("own.toml", "own/array"));
    assert!(
        of_file[0].text.starts_with("has no date for its source, its data sheet: write date ="),
        "{}",
        of_file[0].text
    );
    let letter = OWN.replace("\"9000 IOPS\" }", "\"9000 IOPS\", source = \"a letter\" }");
    let of_entry = problems(&letter);
    assert_eq!(of_entry.len(), 1, "{of_entry:?}");
    assert_eq!((of_entry[0].place.as_str(), of_entry[0].name.as_str()), ("own.toml:12", "own/small"));
    assert_eq!(problems(&letter.replace("a letter\"", "a letter\", date = \"2025\"")), []);
    let machine = OWN_MACHINES.replace("vcpus = 16,", "vcpus = 16, source = \"a letter\",");
    assert!(matches!(problems(&machine).as_slice(), [one] if one.name == "own/x16"), "{:?}", problems(&machine));
}

#[test]
fn what_a_file_may_not_say_is_told_at_its_place() {
    let refuses = |from: &str, to: &str, message: &str| {
        assert!(OWN.contains(from), "{from}");
        let error = Catalog::default().with(&[("own.toml", &OWN.replace(from, to))]).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    };
    refuses("source =", "sources =", "own.toml:7:1: sources: is not a key of a catalog file: did you mean source?");
    refuses("9000 IOPS", "9000", "own.toml:12:34: disk.small.iops: \"9000\" has no unit");
    refuses("small =", "Small =", "disk.Small: is no name for a catalog");
    refuses("\"1 ms\"", "{ low = \"2 ms\", mid = \"1 ms\", high = \"3 ms\" }", "latency.read.median: does not rise");
    refuses("\"9000 IOPS\" }", "\"9000 IOPS\", burst = { iops = \"9 IOPS\" } }", "neither credits nor burst_span");
    refuses("kind = \"disk\"", "kind = \"vm\"", "does not belong to a family of this kind");
}

/// The TOML blocks of a document that are whole files.
fn examples(document: &str) -> Vec<&str> {
    let blocks = document.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks.filter(|block| block.starts_with("schema = 1")).collect()
}

#[test]
fn the_examples_of_the_documents_are_read_and_nothing_is_wrong_with_them() {
    let files = examples(include_str!("../../../../docs/formats/catalog.md"));
    assert_eq!(files.len(), 2, "of disks and of what they cost");
    let files: Vec<(&str, &str)> = files.into_iter().map(|text| ("catalog.md", text)).collect();
    let catalog = Catalog::builtin().with(&files).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(catalog.check(), []);
    let environments = examples(include_str!("../../../../docs/formats/environment.md"));
    assert_eq!(environments.len(), 3);
    for text in environments {
        Environment::parse(text, "environment.md", &catalog).unwrap_or_else(|error| panic!("{error}"));
    }
}

/// A user's entry replaces a built-in one; two entries of the user are duplicates.
#[test]
fn an_entry_of_ones_own_may_stand_in_place_of_one_that_comes_along() {
    let own = |family: &str| {
        format!(
            "schema = 1\nkind = \"disk\"\nprovider = \"azure\"\nfamily = \"{family}\"\ntitle = \"x\"\nsource = \"x\"\n\
             date = \"2024-03\"\n[latency.read]\nmedian = \"1 ms\"\n[disk]\npremium-p30 = {{ size = \"1 TiB\", iops = \"6000 IOPS\" }}\n"
        )
    };
    let catalog = Catalog::builtin().with(&[("own.toml", own("own").as_str())]).unwrap();
    assert_eq!(catalog.check(), []);
    let name = "azure/premium-p30";
    assert_eq!(steady_iops(&catalog.disk(name, &Provisioned::default()).unwrap().limit), 6_000);
    let twice = catalog.with(&[("other.toml", own("other").as_str())]).unwrap().check();
    assert_eq!(twice.len(), 1);
    assert!(twice[0].place.starts_with("other.toml:") && twice[0].text.contains("own.toml:"), "{twice:?}");
}

/// A copy of a built-in file with one changed row has no duplicates; a repeated row is reported once.
#[test]
fn rows_of_ones_own_may_stand_in_place_of_those_that_come_along() {
    let own = |rows: usize| {
        let rates = "{ iops = \"9000 IOPS\", throughput = \"400 MiB/s\" }";
        let row = format!("{{ machines = \"n2-*-#\", vcpus = \"8 to 15\", read = {rates}, write = {rates} }},\n");
        let rows = row.repeat(rows);
        format!(
            "schema = 1\nkind = \"vm\"\nprovider = \"gcp\"\nfamily = \"own\"\ntitle = \"x\"\nsource = \"x\"\n\
             date = \"2024-03\"\n[caps]\npd-balanced = [\n{rows}]\n"
        )
    };
    let with = |rows: usize| Catalog::builtin().with(&[("own.toml", own(rows).as_str())]).unwrap();
    assert_eq!(with(1).check(), []);
    let catalog = with(1);
    let (cap, _) = catalog.caps_of("gcp/n2-standard-8").into_iter().find(|(cap, _)| cap.disk == "pd-balanced").unwrap();
    assert!(matches!(cap.limit.iops, Some(Directions::Apart { read: Some(read), .. }) if read.rate.get() == 9_000));
    let problems = with(3).check();
    assert_eq!(problems.len(), 2, "{problems:?}");
}

fn steady_iops(limit: &Limit) -> u64 {
    match limit.iops {
        Some(Directions::Together(budget)) => budget.rate.get(),
        other => panic!("{other:?}"),
    }
}
