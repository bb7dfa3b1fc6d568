//! The results of a trial: open loops, bounds, steady state, endings.

use crate::environments::{SETUP, blocks, closed, disk, iops, latency, limit, record, run, single};
use loadline_block::Operation;
use loadline_disk::{Enforcement, EnvironmentSpec, InitialState, Limit, Machine};
use loadline_record::Ending;
use loadline_simulator::{Reached, Simulation, SimulationError, Together, simulate};
use loadline_units::{Bytes, Duration, Instant, Ratio};
use loadline_workload::{Arrival, GroupEnd, LoadSpec, SteadyStateRule};

fn environment(requests: u64) -> EnvironmentSpec {
    let latency = latency(Duration::from_ms(1), Duration::from_ms(2));
    single(disk(limit(requests, 1 << 40, Enforcement::Smooth), latency))
}

#[test]
fn an_open_loop_that_the_disk_can_serve_is_served_and_counts_from_when_it_was_due() {
    let load = LoadSpec { arrival: Arrival::Poisson { rate: iops(1_000) }, ..LoadSpec::default() };
    let record = record(&environment(5_000), &load);
    let reads = record.of(Operation::Read).unwrap();
    assert!((record.iops().unwrap() / 1_000.0 - 1.0).abs() < 0.02);
    assert!((record.offered_iops.unwrap() / 1_000.0 - 1.0).abs() < 0.02);
    assert_eq!((record.missed, reads.latency.count()), (0, reads.waiting.as_ref().unwrap().count()));
    assert!((1.0..1.4).contains(&(reads.latency.mean_ns().unwrap() / 1e6)));
}

#[test]
fn an_open_loop_beyond_the_disk_hides_no_waiting() {
    let load = LoadSpec {
        arrival: Arrival::Constant { rate: iops(1_000) },
        warm_up: Duration::ZERO,
        duration: Duration::from_s(60),
        ..LoadSpec::default()
    };
    let record = record(&environment(500), &load);
    let latency = &record.of(Operation::Read).unwrap().latency;
    assert!((record.iops().unwrap() / 500.0 - 1.0).abs() < 0.01);
    assert!((record.offered_iops.unwrap() / 1_000.0 - 1.0).abs() < 1e-3);
    // A queue that grows by 500 a second: requests served at the end have waited for nearly half the time. Beyond the
    // bound on requests outstanding, some are never issued.
    assert!(latency.max().unwrap() > Duration::from_s(25));
    assert!(record.missed > 20_000, "{}", record.missed);
}

/// Without a warm-up the measurement begins with the first request, and its waiting counts.
#[test]
fn waiting_counts_from_the_beginning_where_nothing_warms_up() {
    for seconds in [1, 2] {
        let load = LoadSpec {
            arrival: closed(256),
            warm_up: Duration::ZERO,
            duration: Duration::from_s(seconds),
            ..LoadSpec::default()
        };
        let simulated = run(&environment(5_000), &load);
        let waited = simulated.waits.disks.iops.as_s_f64();
        // The first 256 queue up; each of the others waits for all before it, less the service.
        let each = 256.0 / 5_000.0;
        let expected = each * each * 5_000.0 / 2.0 + (seconds as f64) * 5_000.0 * (each - 0.001);
        assert!((waited / expected - 1.0).abs() < 0.02, "{seconds} s: {waited} for {expected}");
    }
}

#[test]
fn a_bound_in_volume_ends_the_trial() {
    let load = LoadSpec {
        arrival: closed(8),
        volume: Some(Bytes::mib(100)),
        warm_up: Duration::ZERO,
        duration: Duration::from_s(1_000),
        ..LoadSpec::default()
    };
    let record = record(&environment(5_000), &load);
    assert_eq!(record.bytes(), 100 << 20);
    assert_eq!(record.ending, Ending::Complete);
    let expected = 25_600.0 / 5_000.0;
    assert!((record.measured_ns as f64 / 1e9 / expected - 1.0).abs() < 0.01, "{}", record.measured_ns);
    assert_eq!(record.series.seconds.len(), 6);
}

#[test]
fn a_bound_in_volume_is_on_what_is_measured() {
    let bound = |warm_up| LoadSpec {
        arrival: closed(8),
        volume: Some(Bytes::mib(100)),
        warm_up: Duration::from_s(warm_up),
        duration: Duration::from_s(1_000),
        ..LoadSpec::default()
    };
    for warm_up in [3, 60] {
        let record = record(&environment(5_000), &bound(warm_up));
        let measured = 25_600.0 / 5_000.0;
        assert!((record.measured_ns as f64 / 1e9 / measured - 1.0).abs() < 0.01, "{warm_up}: {}", record.measured_ns);
        assert!(record.bytes().abs_diff(100 << 20) <= 8 * 4_096, "{warm_up}: {}", record.bytes());
        assert_eq!((record.warm_up_ns, record.ending), (warm_up * 1_000_000_000, Ending::Complete));
    }
    let rule = SteadyStateRule { round: Duration::from_s(10), ..SteadyStateRule::default() };
    let settled = LoadSpec { steady_state: Some(rule), ..bound(3) };
    let record = record(&environment(5_000), &settled);
    assert!(record.bytes().abs_diff(100 << 20) <= 8 * 4_096, "{}", record.bytes());
}

#[test]
fn the_measurement_waits_for_a_steady_state() {
    let mut environment = environment(3_000);
    let budget = loadline_disk::IopsBudget::bursting(iops(500), iops(3_000), Duration::from_s(30));
    environment.volumes[0].disks[0].limit.iops = Some(loadline_disk::Directions::Together(budget));
    let rule = SteadyStateRule { round: Duration::from_s(10), ..SteadyStateRule::default() };
    let load = LoadSpec {
        arrival: closed(32),
        warm_up: Duration::from_s(2),
        steady_state: Some(rule),
        duration: Duration::from_s(20),
        ..LoadSpec::default()
    };
    let record = record(&environment, &load);
    let steady = record.steady_state.clone().unwrap();
    assert!(steady.reached);
    assert_eq!(record.warm_up_ns, (2 + 10 * steady.rounds.len() as u64) * 1_000_000_000);
    // Three rounds of burst, and five below it.
    assert_eq!(steady.rounds.len(), 8, "{:?}", steady.rounds);
    assert!((record.iops().unwrap() / 500.0 - 1.0).abs() < 0.01);
}

#[test]
fn a_request_unanswered_for_too_long_ends_the_trial() {
    let slow = latency(Duration::from_s(100), Duration::from_s(100));
    let record = record(&single(disk(Limit::default(), slow)), &LoadSpec::default());
    assert!(matches!(&record.ending, Ending::Hung(_)), "{:?}", record.ending);
    assert_eq!(record.errors_total(), 1);
}

#[test]
fn a_trial_that_is_left_counts_as_interrupted() {
    let machine = Machine::new(&environment(500), 1, InitialState::default()).unwrap();
    let target = machine.target("data").unwrap();
    let load = LoadSpec { arrival: closed(4), ..LoadSpec::default() };
    let mut simulation = Simulation::new(&load, machine, target, SETUP).unwrap();
    assert!(!simulation.run_until(Instant::ZERO + Duration::from_ms(8_500)).unwrap());
    assert!(!simulation.is_over());
    let simulated = simulation.finish();
    assert_eq!(simulated.record.ending, Ending::Interrupted);
    assert_eq!(simulated.record.series.seconds.len(), 4);
    assert!(simulated.record.measured_ns.abs_diff(3_500_000_000) < 5_000_000, "{}", simulated.record.measured_ns);
    assert_eq!(simulated.machine.outstanding(), 0);
}

#[test]
fn trials_on_one_machine_follow_one_another() {
    let load = LoadSpec { arrival: closed(16), pause: Duration::from_s(10), ..LoadSpec::default() };
    let first = run(&environment(500), &load);
    let ended = first.machine.now();
    assert!(ended >= Instant::ZERO + Duration::from_s(45));
    let target = first.machine.target("data").unwrap();
    let second = simulate(&load, first.machine, target, loadline_simulator::TrialSetup { trial: 1, ..SETUP }).unwrap();
    assert!((second.record.iops().unwrap() / 500.0 - 1.0).abs() < 0.01);
    assert!(second.machine.now().since(ended) >= Duration::from_s(45));
}

#[test]
fn the_same_seed_gives_the_same_record_and_another_one_another() {
    let load = LoadSpec { arrival: closed(16), reads: Ratio::percent(50), threads: 3, ..LoadSpec::default() };
    assert_eq!(record(&environment(5_000), &load), record(&environment(5_000), &load));
    let machine = Machine::new(&environment(5_000), 2, InitialState::default()).unwrap();
    let target = machine.target("data").unwrap();
    assert_ne!(simulate(&load, machine, target, SETUP).unwrap().record, record(&environment(5_000), &load));
}

#[test]
fn loads_that_cannot_be_simulated_are_refused() {
    let machine = Machine::new(&environment(500), 1, InitialState::default()).unwrap();
    let target = machine.target("data").unwrap();
    let attempt = |load: LoadSpec| simulate(&load, machine.clone(), target, SETUP).map(|s| s.record).unwrap_err();
    assert!(matches!(attempt(LoadSpec { buffered: true, ..LoadSpec::default() }), SimulationError::Buffered { .. }));
    let far = LoadSpec { start: Bytes::gib(2_000), ..LoadSpec::default() };
    assert!(matches!(attempt(far), SimulationError::Region(_)));
    assert!(matches!(
        attempt(LoadSpec { blocks: blocks(Bytes::new(100)), ..LoadSpec::default() }),
        SimulationError::Load(_)
    ));
}

/// Neither a limit nor a latency costs time: virtual time would never go on.
#[test]
fn a_load_whose_requests_cost_no_time_is_refused() {
    let free = |change: fn(&mut loadline_disk::DiskSpec)| {
        let mut free = disk(Limit::default(), latency(Duration::ZERO, Duration::ZERO));
        change(&mut free);
        single(free)
    };
    let load = LoadSpec { arrival: closed(4), ..LoadSpec::default() };
    for environment in [free(|_| ()), free(|disk| disk.parallelism.requests = Some(2))] {
        let machine = Machine::new(&environment, 1, InitialState::default()).unwrap();
        let target = machine.target("data").unwrap();
        let refused = simulate(&load, machine.clone(), target, SETUP).map(|s| s.record).unwrap_err();
        assert!(matches!(&refused, SimulationError::Timeless { volume, .. } if volume == "data"), "{refused}");
        let told = refused.to_string();
        assert!(told.contains("latency.read.median") && told.contains("limit.iops"), "{told}");
        let mut together = Together::new(&[(&load, target, SETUP)], GroupEnd::Each, machine).unwrap();
        assert!(matches!(together.run_until(Instant::MAX), Err(SimulationError::Timeless { .. })));
    }
}

/// A load that costs time now and then goes on: a bucket passes its whole depth at one instant, and a rate ceiling or
/// an open loop sets the pace.
#[test]
fn many_requests_at_one_instant_are_no_standstill() {
    let free = latency(Duration::ZERO, Duration::ZERO);
    let bucket = Enforcement::Bucket { depth: Duration::from_s(1) };
    let deep = single(disk(limit(300_000, 1 << 40, bucket), free));
    let short = LoadSpec { warm_up: Duration::ZERO, duration: Duration::from_s(3), ..LoadSpec::default() };
    let record = record(&deep, &LoadSpec { arrival: closed(4), ..short.clone() });
    assert!((record.count() as f64 / 1_200_000.0 - 1.0).abs() < 0.01, "{}", record.count());
    let unlimited = single(disk(Limit::default(), free));
    let paced = Arrival::Closed { queue_depth: 4, rate_max: Some(iops(1_000)), think_time: Duration::ZERO };
    for arrival in [paced, Arrival::Constant { rate: iops(1_000) }] {
        let record = crate::environments::record(&unlimited, &LoadSpec { arrival, ..short.clone() });
        assert!((record.iops().unwrap() / 1_000.0 - 1.0).abs() < 0.01, "{:?}", record.iops());
    }
}

#[test]
fn a_bound_on_events_gives_the_caller_a_look() {
    let machine = Machine::new(&environment(5_000), 1, InitialState::default()).unwrap();
    let target = machine.target("data").unwrap();
    let load = LoadSpec { arrival: closed(4), ..LoadSpec::default() };
    let whole = simulate(&load, machine.clone(), target, SETUP).unwrap().record;
    let mut simulation = Simulation::new(&load, machine, target, SETUP).unwrap();
    let mut looks = 0;
    while simulation.run_for(Instant::MAX, 1_000).unwrap() == Reached::Events {
        looks += 1;
    }
    assert!(looks > 100, "{looks}");
    assert_eq!(simulation.finish().record, whole);
}
