//! When a rate that moves is told.

use super::Scene;
use loadline_record::{ArrivalKind, DoubtCode, SteadyState};

#[test]
fn a_rate_that_falls_is_not_steady() {
    Scene::reads().with_rates(|i| 5_000.0 - 20.0 * i as f64).earns(DoubtCode::NotSteady, &["fell steadily", "IOPS"]);
    Scene::reads().with_rates(|i| if i < 45 { 5_000.0 } else { 500.0 }).earns(DoubtCode::NotSteady, &["fell"]);
    Scene::reads().with_rates(|i| if i < 20 { 4_000.0 } else { 5_000.0 }).earns(DoubtCode::NotSteady, &["rose"]);
    Scene::reads().with_rates(|_| 5_000.0).lacks(DoubtCode::NotSteady);
    // Within 5 %: significant, and of no weight.
    Scene::reads().with_rates(|i| 5_000.0 - 2.0 * i as f64).lacks(DoubtCode::NotSteady);
}

#[test]
fn a_rate_that_ends_in_nothing_fell_by_all_of_it_and_no_more() {
    let falling = Scene::reads().with_rates(|i| (5_000.0 - 88.0 * i as f64).max(0.0));
    falling.earns(DoubtCode::NotSteady, &["fell steadily by 100 %", "to 0 IOPS"]);
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
    rule(false).earns(DoubtCode::NotSteady, &["25 rounds of 60 s", "9,000"]);
    rule(true).lacks(DoubtCode::NotSteady);
}
