//! When a measurement is too short to tell what lasts.

use super::{Scene, predicted};
use loadline_record::{DoubtCode, DoubtEvidence, Stage, StageWait, TargetKind};

/// Evidence of a bucket of so many milliseconds.
fn bucket_of(measured_ms: u64, bucket_ms: u64, warm_up_ms: u64) -> impl Fn(&DoubtEvidence) -> bool {
    move |seen| {
        let ms = |ns: &u64| ns / 1_000_000;
        matches!(seen, DoubtEvidence::BucketInShortRun { measured_ns, bucket_ns, warm_up_ns, .. }
            if [measured_ns, bucket_ns, warm_up_ns].map(ms) == [measured_ms, bucket_ms, warm_up_ms])
    }
}

#[test]
fn ten_seconds_are_short_and_thirty_are_not() {
    let lasting = |s: u64| Scene::reads().changed(|scene| scene.trial.measured_ns = s * 1_000_000_000);
    lasting(10).earns(DoubtCode::ShortRun, bucket_of(10_000, 1_000, 5_000));
    lasting(5).changed(|s| s.trial.warm_up_ns = 0).earns(DoubtCode::ShortRun, bucket_of(5_000, 1_000, 0));
    lasting(30).lacks(DoubtCode::ShortRun);
    let within = |ms: u64| Scene::reads().changed(|scene| scene.trial.measured_ns = ms * 1_000_000);
    within(300).earns(DoubtCode::ShortRun, bucket_of(300, 1_000, 5_000));
    Scene::reads().changed(|s| s.trial.measured_ns = 29_990_000_000).lacks(DoubtCode::ShortRun);
    lasting(5).changed(|s| s.volume.kind = TargetKind::Null).lacks(DoubtCode::ShortRun);
}

/// A model knows whether a token bucket is on the way, and how deep it is.
#[test]
fn a_short_prediction_is_doubted_only_where_a_bucket_may_still_be_full() {
    let short = |depth_ns: u64| {
        predicted().changed(move |s| {
            s.trial.measured_ns = 5_000_000_000;
            s.trial.warm_up_ns = 0;
            s.trial.model.as_mut().unwrap().bucket_ns = depth_ns;
        })
    };
    short(0).lacks(DoubtCode::ShortRun);
    short(500_000_000).earns(DoubtCode::ShortRun, bucket_of(5_000, 500, 0));
    // A bucket of which no more than one request in a hundred comes, and one that the warm-up spent.
    short(1_000_000).lacks(DoubtCode::ShortRun);
    short(500_000_000).changed(|s| s.trial.warm_up_ns = 500_000_000).lacks(DoubtCode::ShortRun);
    short(500_000_000)
        .changed(|s| s.trial.warm_up_ns = 400_000_000)
        .earns(DoubtCode::ShortRun, bucket_of(5_000, 500, 400));
}

/// A prediction of 130 ms, on limits that count in windows of 50 ms.
fn in_windows() -> Scene {
    predicted().changed(|s| {
        s.trial.measured_ns = 130_000_000;
        s.trial.model.as_mut().unwrap().window_ns = 50_000_000;
    })
}

/// Of windows of 50 ms three begin in 130 ms, or two.
#[test]
fn a_prediction_of_few_windows_is_doubted_where_it_waited_for_a_limit() {
    let windows = |seen: &DoubtEvidence| matches!(seen, DoubtEvidence::FewWindows { window_ns: 50_000_000, .. });
    in_windows().earns(DoubtCode::ShortRun, windows);
    // A warm-up empties no window: the next one is as full.
    in_windows().changed(|s| s.trial.warm_up_ns = 1_000_000_000).earns(DoubtCode::ShortRun, windows);
    in_windows().changed(|s| s.trial.measured_ns = 4_900_000_000).earns(DoubtCode::ShortRun, windows);
    in_windows().changed(|s| s.trial.measured_ns = 5_100_000_000).lacks(DoubtCode::ShortRun);
    // What never waited for a limit, but for a place in the disk, has nothing of a window's share.
    let wait = |stage| StageWait { stage, requests_ns: 4_000, bytes_ns: 0, credits_ns: 0 };
    for stage in [Stage::Service, Stage::Cache] {
        let elsewhere = |s: &mut Scene| s.trial.model.as_mut().unwrap().waits = vec![wait(stage)];
        in_windows().changed(elsewhere).lacks(DoubtCode::ShortRun);
    }
    // What an application asked for has a rate of its own.
    in_windows().changed(|s| s.load.arrival = loadline_record::ArrivalKind::Recorded).lacks(DoubtCode::ShortRun);
    // The deeper of both doubts tells.
    let both = |s: &mut Scene| s.trial.model.as_mut().unwrap().bucket_ns = 100_000_000;
    in_windows().changed(both).changed(|s| s.trial.warm_up_ns = 0).earns(DoubtCode::ShortRun, bucket_of(130, 100, 0));
}
