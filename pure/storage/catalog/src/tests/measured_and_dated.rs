//! Names with years, shares that one disk was measured to deliver, and known deviations.

use super::*;

/// By the date of its source, or by the year of the other name.
#[test]
fn a_plain_name_with_older_limits_than_one_with_a_year_is_named() {
    let disks = |plain: &str, dated: &str| {
        let entry = |name: &str, date: &str| {
            format!("{name} = {{ size = \"1 TiB\", iops = \"900 IOPS\", source = \"x\"{date} }}\n")
        };
        let head = OWN.split("[disk]").next().unwrap();
        format!("{head}[disk]\n{}{}", entry("small", plain), entry("\"small@2024\"", dated))
    };
    let problems = |plain: &str, dated: &str| {
        let found = Catalog::default().with(&[("own.toml", &disks(plain, dated))]).unwrap().check();
        found.into_iter().filter(|p| p.kind == ProblemKind::Outdated).collect::<Vec<_>>()
    };
    assert_eq!(problems(", date = \"2024-03\"", ", date = \"2023-05\""), []);
    assert_eq!(problems(", date = \"2024\"", ", date = \"2024-05\""), [], "the month is not known");
    for (plain, dated) in [("2023-05", "2022-01"), ("2024-03", "2024-05"), ("2024-03-01", "2024-03-02")] {
        let found = problems(&format!(", date = \"{plain}\""), &format!(", date = \"{dated}\""));
        assert_eq!(found.len(), 1, "{plain} {dated}");
        assert_eq!(found[0].name, "own/small");
        assert!(found[0].text.contains("own/small@2024 has those of"), "{}", found[0].text);
    }
    // The entry itself may stand for years.
    let with_years = |years: &str| disks(", date = \"2024\"", "").replacen("size", &format!("{years}, size"), 1);
    let catalog = Catalog::default().with(&[("own.toml", &with_years("years = [2023, 2022]"))]).unwrap();
    assert!(catalog.disk_entry("own/small@2022").is_ok() && catalog.disk_entry("own/small@2021").is_err());
    let text = with_years("years = [2023]").replace("small =", "\"small@2020\" =");
    let error = Catalog::default().with(&[("own.toml", &text)]).unwrap_err();
    assert!(error.to_string().contains("does not belong to a name with a year, @2020"), "{error}");
}

/// Published figures stay what they are; draws have what one disk was measured to deliver.
#[test]
fn a_disk_may_deliver_another_share_than_its_family_and_of_writes_another_than_of_reads() {
    let head = OWN.split("[disk]").next().unwrap();
    let disk = "small = { size = \"1 TiB\", iops = { read = \"1000 IOPS\", write = \"1000 IOPS\" }, \
                delivered = { iops = \"110 %\", write_iops = \"50 %\" } }";
    let catalog = Catalog::default().with(&[("own.toml", &format!("{head}[disk]\n{disk}\n"))]).unwrap();
    let of = |draw: &Draw| {
        let spec = catalog.disk_figures("own/small", &Provisioned::default()).unwrap().spec(draw);
        let Some(Directions::Apart { read: Some(read), write: Some(write) }) = spec.limit.iops else {
            // Equal figures are one budget only if both directions deliver alike.
            panic!("{:?}", spec.limit.iops)
        };
        (read.rate.get(), write.rate.get())
    };
    assert_eq!(of(&Draw::MIDDLE), (1_100, 500));
    assert_eq!(of(&Draw::PUBLISHED), (1_000, 1_000));
}

/// Sizes without premium disks: reads and writes through the host apart, as for their temporary disks.
#[test]
fn a_machines_cached_throughput_may_differ_for_reads_and_writes() {
    let vm = Catalog::builtin().vm_figures("azure/d2-v2").unwrap().spec(&Draw::PUBLISHED, false);
    let Some(Directions::Apart { read: Some(read), write: Some(write) }) = vm.cached.unwrap().throughput else {
        panic!()
    };
    assert_eq!((read.rate.get(), write.rate.get()), (98_304_000, 49_152_000));
    assert!(!vm.cached_estimated);
}
