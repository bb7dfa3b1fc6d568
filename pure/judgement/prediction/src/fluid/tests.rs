//! The fluid against sums by hand, and against the simulation.

use super::*;
use crate::models::most_plausible;
use crate::trial::{Going, Putting, predict};
use loadline_catalog::{Catalog, Environment, environment_text};
use loadline_record::Limit;
use loadline_units::{Iops, Ratio};
use loadline_workload::{Arrival, BlockShare};

const BURSTING: &str = r#"schema = 1
name = "bursting"
[[volume.data.disks]]
size = "100 GiB"
[volume.data.disks.limit]
iops = "100 IOPS"
throughput = "500 MB/s"
burst = { iops = "3000 IOPS", iops_credits = 60000 }
[volume.data.disks.latency.read]
median = "1 ms"
p99 = "1 ms"
"#;

fn model(text: &str) -> Model {
    most_plausible(&Environment::parse(text, "test", &Catalog::builtin()).unwrap())
}
fn load(kib: u64, depth: u32) -> LoadSpec {
    LoadSpec {
        reads: Ratio::ONE,
        blocks: vec![BlockShare { size: Bytes::kib(kib), share: Ratio::ONE }],
        arrival: Arrival::Closed { queue_depth: depth, rate_max: None, think_time: Duration::ZERO },
        warm_up: Duration::ZERO,
        duration: Duration::from_s(60),
        ..LoadSpec::default()
    }
}
fn course(model: &Model, load: &LoadSpec, initial: InitialState) -> FluidCourse {
    fluid(model, "data", load, initial).unwrap()
}

#[test]
fn credits_carry_the_burst_until_they_are_spent() {
    let model = model(BURSTING);
    let deep = course(&model, &load(4, 32), InitialState::default());
    let (end, before) = deep.burst_end().unwrap();
    // 60,000 credits at 3,000 a second, of which 100 come back.
    assert!((end.as_s_f64() - 60_000.0 / 2_900.0).abs() < 1e-6, "{}", end.human());
    assert_eq!((before, deep.lasting_iops()), (3_000.0, Some(100.0)));
    let limits: Vec<Limit> = deep.phases.iter().map(|phase| phase.binding.limit).collect();
    assert_eq!(limits, [Limit::DiskIops, Limit::BurstExhausted]);
    let whole = deep.mean_iops(Duration::ZERO, Duration::from_s(60)).unwrap();
    assert!((whole - (60_000.0 / 60.0 + 100.0)).abs() < 1e-6, "{whole}");
    // One at a time takes 1 ms, which spends them more slowly.
    let shallow = course(&model, &load(4, 1), InitialState::default());
    assert!((shallow.burst_end().unwrap().0.as_s_f64() - 60_000.0 / 900.0).abs() < 1e-6);
    assert_eq!(shallow.phases[0].binding.limit, Limit::Latency);
}

#[test]
fn without_credits_there_is_no_burst_and_a_load_below_the_baseline_never_ends_one() {
    let model = model(BURSTING);
    let empty = InitialState { bursts: Fullness::Empty, ..InitialState::default() };
    let course_of = |load: &LoadSpec, initial| course(&model, load, initial);
    assert_eq!(course_of(&load(4, 32), empty).phases.len(), 1);
    assert_eq!(course_of(&load(4, 32), empty).lasting_iops(), Some(100.0));
    let slow = LoadSpec { arrival: Arrival::Constant { rate: Iops::per_second(90).unwrap() }, ..load(4, 1) };
    let found = course_of(&slow, InitialState::default());
    assert_eq!((found.burst_end(), found.lasting_iops()), (None, Some(90.0)));
    assert_eq!(found.phases[0].binding.limit, Limit::Arrival);
}

#[test]
fn a_simulation_comes_to_the_same_rates_away_from_the_knee() {
    let mut compared = 0;
    for name in ["ds3-p30", "d4s-v5-p10", "small-striped", "m5-xlarge-gp2", "on-premises-ssd"] {
        let model = model(environment_text(name).unwrap());
        let volume = crate::volume_names(&model).remove(0);
        for (kib, depth) in [(4, 1), (8, 256), (256, 64)] {
            let load = LoadSpec { duration: Duration::from_s(4), warm_up: Duration::from_s(2), ..load(kib, depth) };
            let initial = InitialState { bursts: Fullness::Empty, caches: Warmth::Cold, ..InitialState::default() };
            let found = fluid(&model, &volume, &load, initial).unwrap();
            let rate = found.mean_iops(load.warm_up, load.warm_up + load.duration).unwrap();
            let putting =
                Putting { model: &model, volume: &volume, load: &load, trial: 0, seed: 1, initial, started_unix_s: 0 };
            let record = predict(&putting, None, &mut |_| Going::On).unwrap().unwrap().record;
            let simulated = record.iops().unwrap();
            let ratio = simulated / rate;
            assert!((0.9..=1.06).contains(&ratio), "{name} {kib} KiB x {depth}: {rate} and {simulated} simulated");
            compared += 1;
        }
    }
    assert_eq!(compared, 15);
}
