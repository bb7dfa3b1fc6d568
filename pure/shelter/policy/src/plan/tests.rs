//! Plans of small configurations: what can be kept, what limits it, what is unknown.

use super::*;
use crate::config::ShelterConfig;
use proptest::prelude::*;

const CONFIG: &str = "schema = 1\nname = \"a\"\nstate = \"/var/lib/a\"\n[disk]\npath = \"/mnt/fast\"\n\
                      [destination]\nfolder = \"/persist\"\n\
                      [group.data]\nclass = \"files\"\npaths = [\"data\"]\nrecovery_point = \"60 s\"\n\
                      [group.t]\nclass = \"recreate\"\npaths = [\"t\"]\n";

fn config(more: &str) -> ShelterConfig {
    ShelterConfig::parse(&format!("{CONFIG}{more}"), "a").unwrap()
}

fn rate(mb: u64, limit: &str) -> LimitedRate {
    let throughput = ByteRate::per_second(mb * 1_000_000).unwrap();
    LimitedRate { throughput, iops: Iops::per_second(mb * 20), limit: limit.to_owned() }
}

fn files(count: u64, size: u64) -> FoundFiles {
    let mut found = FoundFiles::default();
    found.see_many(count, size, u64::MAX);
    found
}

fn question(config: &ShelterConfig, found: FoundFiles, changed: u64) -> PlanQuestion<'_> {
    PlanQuestion {
        config,
        found: Some(vec![found]),
        changes: Changes::Written(ByteRate::per_second(changed).unwrap(), ChangesSource::Typed),
        reading: vec![rate(400, "the disk")],
        writing: vec![rate(200, "the destination")],
        returning: vec![rate(200, "the destination")],
        application: None,
        price: None,
    }
}

#[test]
fn a_large_file_is_read_whole_whatever_little_changed_and_the_limit_is_named() {
    let config = config("");
    let plan = ShelterPlan::of(&question(&config, files(4, 25_000_000_000), 1_000_000));
    let group = &plan.groups[0];
    let save = group.save.as_ref().unwrap();
    assert!((save.time_s - 250.0).abs() < 1.0, "100 GB at 400 MB/s: {save:?}");
    assert_eq!(save.limit, "the disk");
    assert!(group.shortest_s.unwrap() >= 500.0, "{group:?}");
    assert_eq!((group.advice.verdict, plan.outcome()), (GroupVerdict::Missed, PlanOutcome::Missed));
    assert_eq!(group.advice.recovery_point_s, Some(540.0), "{:?}", group.advice);
}

#[test]
fn small_files_that_change_little_are_kept_by_files() {
    let config = config("");
    let plan = ShelterPlan::of(&question(&config, files(100_000, 6_000), 100_000));
    let group = &plan.groups[0];
    assert_eq!((group.advice.class, group.advice.verdict), (Some(AdvisedClass::Files), GroupVerdict::Kept));
    assert!(group.save_reads_bytes.unwrap() < 30_000_000, "{group:?}");
    assert_eq!(plan.groups[1].advice.class, Some(AdvisedClass::Recreate));
    assert_eq!(plan.outcome(), PlanOutcome::Kept);
    let recovery = plan.recovery.clone().unwrap();
    assert!((recovery.time_s - 25.1).abs() < 0.2, "100,600 requests at 4,000 a second: {recovery:?}");
}

#[test]
fn what_is_unknown_is_named_and_never_zero() {
    let config = config("[limits]\nobjective = \"5 ms\"\n");
    let nothing = PlanQuestion {
        found: None,
        changes: Changes::Seen,
        reading: Vec::new(),
        writing: Vec::new(),
        returning: Vec::new(),
        ..question(&config, FoundFiles::default(), 1)
    };
    let plan = ShelterPlan::of(&nothing);
    assert_eq!((plan.outcome(), &plan.recovery, plan.stored_bytes), (PlanOutcome::Unknown, &None, None));
    let all = [
        MissingFigure::Files,
        MissingFigure::Changes,
        MissingFigure::DiskRate,
        MissingFigure::DestinationRate,
        MissingFigure::ReturnRate,
        MissingFigure::Application,
        MissingFigure::Price,
    ];
    assert_eq!(plan.missing, all);
    let text = serde_json::to_string(&plan).unwrap();
    assert!(text.contains("\"recovery\":null") && !text.contains("\"stored_bytes\":0"), "{text}");
    // Files that nobody touched for a day say nothing of a day of work.
    let idle = PlanQuestion { changes: Changes::Seen, ..question(&config, files(10, 1_000), 1) };
    assert!(ShelterPlan::of(&idle).missing.contains(&MissingFigure::Changes));
}

#[test]
fn the_times_of_files_say_what_a_save_reads() {
    let config = config("");
    let mut found = files(10, 1_000_000);
    found.see_many(5, 2_000_000, 4_000_000_000);
    let plan = ShelterPlan::of(&PlanQuestion { changes: Changes::Seen, ..question(&config, found, 1) });
    assert_eq!(plan.groups[0].save_reads_bytes, Some(10_000_000), "five files changed within 30 s");
    assert_eq!(plan.changes_from, ChangesSource::FileTimes);
    assert!((plan.changes_bytes_per_s.unwrap() - 1e7 / 600.0).abs() < 1.0);
}

#[test]
fn the_file_may_say_how_fast_a_group_changes_and_what_is_typed_counts_more() {
    let text = CONFIG.replace("recovery_point = \"60 s\"", "recovery_point = \"60 s\"\nchanges = \"3 MB/s\"");
    let config = ShelterConfig::parse(&text, "a").unwrap();
    let asked = question(&config, files(1_000, 1_000_000), 9_000_000);
    let typed = ShelterPlan::of(&asked);
    let of_file = ShelterPlan::of(&PlanQuestion { changes: Changes::Seen, ..asked });
    assert_eq!((typed.changes_from, of_file.changes_from), (ChangesSource::Typed, ChangesSource::File));
    assert_eq!(of_file.changes_bytes_per_s, Some(3e6));
    assert!(typed.groups[0].save_reads_bytes > of_file.groups[0].save_reads_bytes);
}

#[test]
fn a_mirror_is_advised_where_its_writes_are_fast_enough() {
    let config = config("[limits]\nobjective = \"5 ms\"\n");
    let latency = |ms: u64| ForecastLatency { p99_ns: 3 * ms * 1_000_000, mean_ns: ms * 1_000_000, keeps_up: true };
    let forecast = |mirror_ms| ApplicationForecast {
        load: "1000 requests/s".to_owned(),
        alone: latency(1),
        saving: Some(latency(2)),
        saving_bytes_per_s: Some(1),
        persistent: Some(latency(mirror_ms)),
        mirror_writes: Some(latency(mirror_ms)),
    };
    let plan = |mirror_ms| {
        let asked = question(&config, files(4, 25_000_000_000), 1_000_000);
        ShelterPlan::of(&PlanQuestion { application: Some(forecast(mirror_ms)), ..asked })
    };
    assert_eq!(plan(4).groups[0].advice.class, Some(AdvisedClass::Mirror));
    assert_eq!(plan(9).groups[0].advice.class, Some(AdvisedClass::Files), "its writes are too slow");
    assert_eq!(plan(4).keeps_objective(), Some(true));
    assert_eq!(plan(4).application.and_then(|of| of.mirror_writes), Some(latency(4)));
}

#[test]
fn a_notice_holds_what_a_save_writes_or_says_that_it_does_not() {
    let config = config("[notices]\ncloud = \"azure\"\n");
    let plan = |found, changed| ShelterPlan::of(&question(&config, found, changed));
    assert_eq!(plan(files(1_000, 10_000), 1_000_000).fits_in_notice, Some(true));
    let large = plan(files(1, 100_000_000_000), 1_000_000_000);
    assert_eq!(large.fits_in_notice, Some(false), "30 s are enough for 4.2 GB");
}

#[test]
fn a_repository_stores_chunks_that_changed_and_the_generations_that_it_keeps() {
    let config = config("");
    let found = files(1, 10_000_000_000);
    let plan = ShelterPlan::of(&question(&config, found, 100_000));
    let group = &plan.groups[0];
    assert!(group.save_writes_bytes.unwrap() < group.save_reads_bytes.unwrap() / 5, "{group:?}");
    assert!(plan.stored_bytes.unwrap() > 2e10, "{:?}", plan.stored_bytes);
    assert_eq!(plan.objects_month, None, "a folder has no price by requests");
}

proptest! {
    #[test]
    fn recovery_points_grow_with_the_rate_and_recovery_times_with_the_bytes(
        count in 1_u64..100_000, size in 1_u64..100_000_000, changed in 1_u64..50_000_000, more in 1_u64..50_000_000,
    ) {
        let config = config("");
        let plan = |count, changed| ShelterPlan::of(&question(&config, files(count, size), changed));
        let (less, fast) = (plan(count, changed), plan(count, changed + more));
        let point = |plan: &ShelterPlan| plan.groups[0].shortest_s.unwrap_or(f64::INFINITY);
        prop_assert!(point(&less) <= point(&fast));
        let larger = plan(count + 1, changed);
        prop_assert!(less.recovery.unwrap().time_s < larger.recovery.unwrap().time_s);
    }

    #[test]
    fn what_is_touched_is_never_more_than_there_is(count in 0_u64..10_000, size in 0_u64..1_000_000_000, changed in 0.0_f64..1e13) {
        let found = files(count, size);
        let (bytes, chunks, touched) = found.touched_by(changed);
        if found.bytes() > 0 {
            prop_assert!(bytes <= found.bytes() as f64 * 1.0001 && chunks <= bytes && touched <= count as f64 * 1.0001);
        }
        prop_assert!(bytes >= 0.0 && chunks >= 0.0);
    }
}
