//! The ends of bursts, and the limits before and after.

use crate::{binding, bound_by, known, load, model, near, put, seen_of};
use loadline_catalog::Draw;
use loadline_disk::Fullness;
use loadline_prediction::{Initially, RowMaker, SweepMethod};
use loadline_record::{BurstSide, Limit, ModelFact, Stage, TrialRecord, WaitedShare};
use loadline_units::{Duration, Iops};
use loadline_workload::{Arrival, LoadSpec, Plan, run_cells};

fn lasting(load: LoadSpec, minutes: u64) -> LoadSpec {
    LoadSpec { warm_up: Duration::ZERO, duration: Duration::from_s(60 * minutes), ..load }
}

fn gp2(gib: u32, minutes: u64, bursts: Fullness) -> TrialRecord {
    let text =
        format!("schema = 1\nname = \"x\"\n[volume.data]\ndisks = [{{ sku = \"aws/gp2\", size = \"{gib} GiB\" }}]");
    put(&model(&text, Draw::PUBLISHED), "data", &lasting(load(16, 100, 32), minutes), bursts)
}

/// 5.4 million credits, spent at 3,000 a second and filled at 100: 1,862 s.
#[test]
fn a_day_of_gp2_shows_when_its_burst_ends() {
    let record = gp2(20, 24 * 60, Fullness::Full);
    let ends = &known(&record).bursts_ended;
    assert_eq!(ends.len(), 1);
    assert_eq!(ends[0].stage, Stage::Disk);
    assert!(near(ends[0].at_ns as f64 / 1e9, 5_400_000.0 / 2_900.0, 0.01), "{:?}", ends[0]);
    assert!(near(ends[0].iops_before.unwrap(), 3_000.0, 0.01) && near(ends[0].iops_after.unwrap(), 100.0, 0.01));
    assert_eq!(bound_by(&record), Limit::BurstExhausted);
    assert_eq!(binding(&record).ceiling_iops, Some(100.0));
    assert!(record.series.seconds.len() <= loadline_prediction::INTERVALS_MAX);
    assert_eq!(record.series.seconds.iter().map(loadline_record::Second::count).sum::<u64>(), record.count());
}

/// A larger one has 768 IOPS for good: 5.4 million / (3,000 - 768) = 2,419 s.
#[test]
fn a_larger_gp2_bursts_for_longer() {
    let ends = known(&gp2(256, 60, Fullness::Full)).bursts_ended.clone();
    assert!(near(ends[0].at_ns as f64 / 1e9, 5_400_000.0 / 2_232.0, 0.01), "{ends:?}");
}

#[test]
fn while_credits_last_the_burst_binds_and_none_ends() {
    let record = gp2(20, 5, Fullness::Full);
    assert_eq!(known(&record).bursts_ended, []);
    assert_eq!((bound_by(&record), binding(&record).ceiling_iops), (Limit::DiskIops, Some(3_000.0)));
}

/// What a short simulation does not reach is known by limits: a row that left it out would sell the burst as the rate for good.
#[test]
fn a_row_says_when_a_burst_ends_that_outlasts_its_trial() {
    let text = "schema = 1\nname = \"x\"\n[volume.data]\ndisks = [{ sku = \"aws/gp2\", size = \"20 GiB\" }]";
    let plan = "schema = 1\nname = \"p\"\n[[load]]\nreads = \"100 %\"\nblock = \"16 KiB\"\nqueue_depth = 32\ntrials = 1\n\
                duration = \"4 s\"\nwarm_up = \"1 s\"\n";
    let cells = run_cells(&[Plan::parse(plan, "p").unwrap()], &["data".to_owned()]).unwrap().cells;
    let models = [model(text, Draw::PUBLISHED)];
    let row = |bursts| {
        let initially = Initially { bursts, ..Initially::default() };
        let maker = RowMaker { models: &models, method: SweepMethod::Simulation, seed: 7, initially };
        maker.row("x", ("data", "data"), 1, &cells[0]).figures
    };
    let full = row(Fullness::Full);
    assert!(near(full.iops.unwrap(), 3_000.0, 0.02), "{full:?}");
    assert!(near(full.burst_ends_s.unwrap(), 5_400_000.0 / 2_900.0, 0.01), "{full:?}");
    assert!(near(full.burst_iops.unwrap(), 3_000.0, 0.01) && near(full.lasting_iops.unwrap(), 100.0, 0.01), "{full:?}");
    assert_eq!(row(Fullness::Empty).burst_ends_s, None);
}

#[test]
fn what_spent_credits_leave_is_no_next_limit_of_a_row_while_they_last() {
    let text = "schema = 1\nname = \"x\"\n[volume.data]\ndisks = [{ sku = \"aws/gp2\", size = \"800 GiB\" }]";
    let plan = "schema = 1\nname = \"p\"\n[[load]]\nreads = \"100 %\"\nblock = \"16 KiB\"\nqueue_depth = 1\ntrials = 1\n\
                duration = \"2 s\"\nwarm_up = \"1 s\"\n";
    let cells = run_cells(&[Plan::parse(plan, "p").unwrap()], &["data".to_owned()]).unwrap().cells;
    let models = [model(text, Draw::PUBLISHED)];
    let next = |bursts| {
        let initially = Initially { bursts, ..Initially::default() };
        let maker = RowMaker { models: &models, method: SweepMethod::Simulation, seed: 7, initially };
        let figures = maker.row("x", ("data", "data"), 1, &cells[0]).figures;
        (figures.binding.map(|(limit, _)| limit), figures.next)
    };
    // 2,400 IOPS for good, 3,000 on credits; one request at a time does less than either.
    let (limit, after) = next(Fullness::Full);
    assert_eq!(limit.as_deref(), Some(Limit::Latency.name()));
    assert!(
        after.as_ref().is_some_and(|(name, iops)| name == Limit::DiskIops.name() && near(*iops, 3_000.0, 0.01)),
        "{after:?}"
    );
    let (_, after) = next(Fullness::Empty);
    assert!(after.as_ref().is_some_and(|(name, _)| name == Limit::BurstExhausted.name()), "{after:?}");
}

#[test]
fn an_empty_bucket_binds_from_the_beginning_and_has_no_end() {
    let record = gp2(20, 5, Fullness::Empty);
    assert_eq!(known(&record).bursts_ended, []);
    assert_eq!(bound_by(&record), Limit::BurstExhausted);
}

/// 501 and 505 a second of 500 for good: seconds in which nothing waits do not show that there are credits.
#[test]
fn what_begins_without_credits_ends_no_burst_however_late_it_waits() {
    let text = "schema = 1\nname = \"x\"\n[volume.data]\ndisks = [{ sku = \"azure/premium-p10\" }]";
    let rate = |iops| Arrival::Poisson { rate: Iops::per_second(iops).unwrap() };
    let open = |iops| LoadSpec { arrival: rate(iops), ..lasting(load(8, 0, 1), 60) };
    for rate in [501, 505] {
        let record = put(&model(text, Draw::PUBLISHED), "data", &open(rate), Fullness::Empty);
        assert_eq!((known(&record).bursts_ended.as_slice(), bound_by(&record)), (&[][..], Limit::BurstExhausted));
        let ModelFact::Waited { most, .. } = seen_of(&record) else { panic!("{:?}", seen_of(&record)) };
        assert_eq!(most.burst, None);
    }
}

/// Premium P10: 3,500 IOPS for 30 min, then 500.
#[test]
fn a_p10_bursts_for_half_an_hour() {
    let text = "schema = 1\nname = \"x\"\n[volume.data]\ndisks = [{ sku = \"azure/premium-p10\" }]";
    let record = put(&model(text, Draw::PUBLISHED), "data", &lasting(load(4, 100, 64), 40), Fullness::Full);
    let ends = &known(&record).bursts_ended;
    assert!(near(ends[0].at_ns as f64 / 1e9, 1_800.0, 0.01), "{ends:?}");
    assert!(near(ends[0].iops_before.unwrap(), 3_500.0, 0.01) && near(ends[0].iops_after.unwrap(), 500.0, 0.01));
}

/// 250 GiB: one bucket of I/O credits. Requests of 256 KiB take 1,000 credits a second at 250 MiB/s, 750 come back: 6
/// h. Then the baseline x 256 KiB is left, 187.5 MiB/s.
#[test]
fn bytes_of_a_gp2_between_171_and_333_gib_last_as_long_as_its_io_credits() {
    let text = "schema = 1\nname = \"x\"\n[volume.data]\ndisks = [{ sku = \"aws/gp2\", size = \"250 GiB\" }]";
    let record = put(&model(text, Draw::PUBLISHED), "data", &lasting(load(256, 100, 32), 8 * 60), Fullness::Full);
    let ends = &known(&record).bursts_ended;
    assert!(near(ends[0].at_ns as f64 / 1e9, 5_400_000.0 / 250.0, 0.01), "{ends:?}");
    let mib = |rate: Option<f64>| rate.unwrap() / f64::from(1 << 20);
    assert!(near(mib(ends[0].bytes_per_s_before), 250.0, 0.01) && near(mib(ends[0].bytes_per_s_after), 187.5, 0.01));
    // Smaller requests are limited by their number: 64 KiB take 3,000 a second, and end like those of 16 KiB.
    let record = put(&model(text, Draw::PUBLISHED), "data", &lasting(load(64, 100, 32), 60), Fullness::Full);
    let ends = &known(&record).bursts_ended;
    assert!(near(ends[0].at_ns as f64 / 1e9, 5_400_000.0 / 2_250.0, 0.01), "{ends:?}");
}

/// The VM's limit while the disk bursts, the disk's own once its credits are spent: neither for half of the time, both together for
/// nearly all of it.
#[test]
fn of_two_limits_that_share_the_waiting_the_greater_binds_and_the_other_is_told() {
    let text = "schema = 1\nname = \"x\"\nvm = \"azure/d2s-v3@2020\"\n[volume.data]\ndisks = [{ sku = \"azure/premium-p10\" }]\n\
                host_cache = \"none\"\n";
    let record = put(&model(text, Draw::MIDDLE), "data", &lasting(load(4, 100, 64), 60), Fullness::Full);
    let found = seen_of(&record);
    assert!(matches!(bound_by(&record), Limit::BurstExhausted | Limit::VmUncachedIops), "{found:?}");
    let ModelFact::Waited { most, beside, .. } = found else { panic!("{found:?}") };
    let all: Vec<&WaitedShare> = [most].into_iter().chain(beside).collect();
    let of = |stage| all.iter().find(|of| of.at.stage == stage).unwrap_or_else(|| panic!("{found:?}"));
    assert!(!of(Stage::VmUncached).at.credits_spent && of(Stage::Disk).at.credits_spent, "{found:?}");
    assert!(matches!(of(Stage::VmUncached).burst, Some(BurstSide::BeforeNs(_))), "{found:?}");
    assert!(matches!(of(Stage::Disk).burst, Some(BurstSide::AfterNs(_))), "{found:?}");
}
