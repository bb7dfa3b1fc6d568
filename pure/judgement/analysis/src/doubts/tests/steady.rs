//! When a rate that moves is told.

use super::{Scene, seen};
use loadline_record::{ArrivalKind, DoubtCode, DoubtEvidence, RateChange, SteadyState};

#[test]
fn a_rate_that_falls_is_not_steady() {
    let change = |scene: Scene| match scene.seen(DoubtCode::NotSteady) {
        Some(DoubtEvidence::RateMoves { rate } | DoubtEvidence::RateStepped { rate, .. }) => {
            rate.to_iops - rate.from_iops
        }
        other => panic!("{other:?}"),
    };
    let steadily = Scene::reads().with_rates(|i| 5_000.0 - 20.0 * i as f64);
    steadily.earns(DoubtCode::NotSteady, seen!(DoubtEvidence::RateMoves { .. }));
    assert!(change(steadily) < 0.0);
    assert!(change(Scene::reads().with_rates(|i| if i < 45 { 5_000.0 } else { 500.0 })) < 0.0);
    assert!(change(Scene::reads().with_rates(|i| if i < 20 { 4_000.0 } else { 5_000.0 })) > 0.0);
    Scene::reads().with_rates(|_| 5_000.0).lacks(DoubtCode::NotSteady);
    // Within 5 %: significant, and of no weight.
    Scene::reads().with_rates(|i| 5_000.0 - 2.0 * i as f64).lacks(DoubtCode::NotSteady);
}

#[test]
fn a_rate_that_ends_in_nothing_fell_by_all_of_it_and_no_more() {
    let falling = Scene::reads().with_rates(|i| (5_000.0 - 88.0 * i as f64).max(0.0));
    falling.earns(
        DoubtCode::NotSteady,
        seen!(DoubtEvidence::RateMoves { rate: RateChange { from_iops, to_iops: 0.0 } } if *from_iops > 0.0),
    );
}

#[test]
fn how_the_rate_of_an_application_rises_and_falls_is_its_own() {
    for arrival in [ArrivalKind::Recorded, ArrivalKind::Application] {
        let falling = Scene::reads().with_rates(|i| (5_000.0 - 88.0 * i as f64).max(0.0));
        falling.changed(|s| s.load.arrival = arrival).lacks(DoubtCode::NotSteady);
    }
}

#[test]
fn a_steady_state_that_was_not_reached_is_told() {
    let rule = |reached| {
        Scene::reads().changed(|s| {
            s.trial.steady_state = Some(SteadyState { reached, rounds: vec![9_000.0; 25], round_ns: 60_000_000_000 });
        })
    };
    let ends = RateChange { from_iops: 9_000.0, to_iops: 9_000.0 };
    rule(false).earns(
        DoubtCode::NotSteady,
        seen!(DoubtEvidence::SteadyStateMissed { rounds: 25, round_ns: 60_000_000_000, ends: Some(of) } if *of == ends),
    );
    rule(true).lacks(DoubtCode::NotSteady);
}
