//! What machines allow, as the providers' own tools print it.

use loadline_catalog::{Catalog, LimitChanges};
use loadline_offers::{KeptLimits, LimitsAnswer, LimitsError, LimitsOrigin, LimitsUpdate, Provider, read_limits};

const TYPES: &str = include_str!("../corpus/aws-instance-types.json");
const SKUS: &str = include_str!("../corpus/azure-skus.json");
const ORIGIN: LimitsOrigin<'static> =
    LimitsOrigin { today: "2026-11-28", fetched: "2026-11-28T12:00:00Z", digest: "d1", version: "1.2.3" };

fn answer(text: &str) -> LimitsAnswer {
    read_limits(text.as_bytes()).unwrap()
}

fn update(text: &str, kept: &KeptLimits<'_>) -> LimitsUpdate {
    answer(text).update(&Catalog::builtin(), kept, &ORIGIN)
}

/// The catalog with the files of an update.
fn with(update: &LimitsUpdate) -> Catalog {
    let files: Vec<(&str, &str)> = update.files.iter().map(|(kind, text)| (*kind, text.as_str())).collect();
    Catalog::builtin().with_limits(&files).unwrap()
}

/// One type as AWS answers, with its limits.
fn one(name: &str, [iops, megabytes, iops_most, megabytes_most]: [&str; 4]) -> String {
    format!(
        r#"{{"InstanceTypes": [{{"InstanceType": "{name}", "VCpuInfo": {{"DefaultVCpus": 2}}, "MemoryInfo": {{"SizeInMiB": 8192}},
        "ProcessorInfo": {{"SupportedArchitectures": ["arm64"]}}, "BurstablePerformanceSupported": true,
        "EbsInfo": {{"EbsOptimizedInfo": {{"BaselineIops": {iops}, "BaselineThroughputInMBps": {megabytes},
        "MaximumIops": {iops_most}, "MaximumThroughputInMBps": {megabytes_most}}}}}}}]}}"#
    )
}

#[test]
fn types_of_aws_are_read_as_its_tool_prints_them() {
    let found = answer(TYPES);
    assert_eq!(
        (found.provider, found.machines.len(), found.without_limits),
        (Provider::Aws, 6, 1),
        "a t2 has no limits there"
    );
    let large = &found.machines["m5.large"];
    assert_eq!((large.plain.iops, large.plain.bytes, large.vcpus, large.memory_mib), (3600, 81_250_000, 2, Some(8192)));
    assert_eq!(large.burst.map(|burst| (burst.iops, burst.bytes)), Some((18_750, 593_750_000)));
    let largest = &found.machines["r9g.48xlarge"];
    assert_eq!((largest.plain.iops, largest.burst, largest.is_arm64), (288_000, None, true));
}

#[test]
fn what_the_catalog_has_in_the_same_way_is_no_change() {
    let LimitChanges { changed, .. } = update(TYPES, &KeptLimits::default()).changes;
    assert_eq!(changed, []);
}

#[test]
fn a_new_machine_is_in_the_catalog_with_its_limits_memory_and_architecture() {
    let text = one("zz9g.large", ["4000", "90.5", "40000", "1250"]);
    let update = update(&text, &KeptLimits::default());
    assert_eq!(update.changes.added, ["zz9g.large"]);
    let catalog = with(&update);
    let entry = catalog.vm_entry("aws/zz9g.large").unwrap();
    assert_eq!(entry.vcpus, Some(2));
    assert!(catalog.vm("aws/zz9g.large").is_ok(), "it can be simulated");
    assert!(update.files[0].1.contains("throughput = \"90500000 B/s\", burst = { iops = \"40000 IOPS\""));
    assert_eq!(catalog.architecture("aws/zz9g.large").unwrap().name(), "arm64");
    assert_eq!(catalog.check(), Vec::new());
    assert!(update.files[0].1.contains("cpu_credits = [\"zz9g.\"]"));
}

#[test]
fn changed_limits_of_aws_count_and_keep_what_the_answer_does_not_say() {
    let text = one("m4.large", ["5000", "100", "5000", "100"]);
    let update = update(&text, &KeptLimits::default());
    let changed = &update.changes.changed[0];
    assert_eq!((changed.before.iops, changed.after.iops, update.changes.replaces), (3600, 5000, true));
    let catalog = with(&update);
    let entry = catalog.vm_entry("aws/m4.large").unwrap();
    assert!(entry.queues_in_order, "the queues of its disks are no part of the answer");
}

#[test]
fn machines_of_the_update_before_are_kept() {
    let first = update(&one("zz9g.large", ["4000", "90", "4000", "90"]), &KeptLimits::default());
    let kept = KeptLimits { limits: &first.files[0].1, memory: &first.files[1].1 };
    let both = update(&one("zz9g.xlarge", ["8000", "180", "8000", "180"]), &kept);
    let catalog = with(&both);
    assert!(catalog.vm_entry("aws/zz9g.large").is_some() && catalog.vm_entry("aws/zz9g.xlarge").is_some());
    assert!(both.files[1].1.contains("\"zz9g.large\" = \"8192 MiB\""), "{}", both.files[1].1);
    // The same machine once more has the figures of the newer answer.
    let newer = update(&one("zz9g.large", ["5000", "90", "5000", "90"]), &kept);
    assert!(newer.files[0].1.contains("5000 IOPS") && !newer.files[0].1.contains("4000 IOPS"));
}

#[test]
fn sizes_of_azure_are_read_as_its_api_answers_and_the_catalogs_count_on() {
    let found = answer(SKUS);
    assert_eq!((found.provider, found.machines.len(), found.without_limits), (Provider::Azure, 1, 3));
    let (name, limits) = found.machines.first_key_value().unwrap();
    let update = update(SKUS, &KeptLimits::default());
    assert!(!update.changes.replaces && update.files.is_empty(), "{:?}", update.changes);
    assert!(Catalog::builtin().vm_entry(&format!("azure/{name}")).is_some());
    assert!(limits.vcpus > 0 && limits.memory_mib.is_some(), "{limits:?}");
}

#[test]
fn keys_of_powershell_and_bare_lists_are_read() {
    let capability = |name: &str, value: &str| format!(r#"{{"Name": "{name}", "Value": "{value}"}}"#);
    let all = [
        capability("vCPUs", "8"),
        capability("vCPUsAvailable", "4"),
        capability("MemoryGB", "64"),
        capability("UncachedDiskIOPS", "12800"),
        capability("UncachedDiskBytesPerSecond", "201326592"),
        capability("PremiumIO", "False"),
        // A thousand times what others have: not taken.
        capability("CombinedTempDiskAndCachedIOPS", "77000"),
        capability("CombinedTempDiskAndCachedReadBytesPerSecond", "77000000000"),
        capability("CombinedTempDiskAndCachedWriteBytesPerSecond", "77000000000"),
    ];
    let text = format!(
        r#"[{{"ResourceType": "virtualMachines", "Name": "Standard_Z8-4s_v9", "Capabilities": [{}]}},
        {{"ResourceType": "disks", "Name": "Premium_LRS", "Capabilities": null}}]"#,
        all.join(", ")
    );
    let update = update(&text, &KeptLimits::default());
    let catalog = with(&update);
    let entry = catalog.vm_entry("azure/z8-4s-v9").unwrap();
    assert_eq!((entry.vcpus, entry.cached.is_none()), (Some(4), true));
    assert!(entry.takes_no.contains(&"premium".to_owned()));
}

#[test]
fn what_is_no_answer_with_limits_is_refused_by_name() {
    let error = |text: &str| read_limits(text.as_bytes()).unwrap_err();
    for text in ["", "INSTANCETYPES\tTrue", "[]", "{}", r#"{"InstanceTypes": []}"#] {
        assert!(matches!(error(text), LimitsError::NoMachines), "{text}");
    }
    assert!(matches!(error(crate::OFFER), LimitsError::Prices));
    assert!(matches!(error(crate::AZURE_MACHINES), LimitsError::Prices));
    let cut = &TYPES[..TYPES.len() / 2];
    assert!(matches!(error(cut), LimitsError::Json(_)));
    for figures in [["0", "1", "1", "1"], ["-3", "1", "1", "1"], ["1e19", "1", "1", "1"], ["5", "1e30", "5", "1"]] {
        assert!(matches!(error(&one("m5.large", figures)), LimitsError::Figure { .. }), "{figures:?}");
    }
    let twice = one("zz.large", ["4000", "90", "4000", "90"]) + &one("zz.large", ["5000", "90", "5000", "90"]);
    assert!(matches!(error(&twice), LimitsError::Twice { .. }));
    let two = one("zz.large", ["4000", "90", "4000", "90"]) + SKUS;
    assert!(matches!(error(&two), LimitsError::TwoProviders));
    let deep = "[".repeat(100_000);
    assert!(matches!(error(&deep), LimitsError::Json(_)));
}
