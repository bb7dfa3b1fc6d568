//! Stations that are slowed on purpose: the one that binds has an effect, and no other.

use loadline_crawl::{Crawl, of_record};
use loadline_pipeline::{Bound, ConfirmedBy, CrawlPlan, Lever, MadeUpPlan, SourcePlan, confirm};
use loadline_record::{PipelineRecord, SlowedStation};
use loadline_runs::{RunOptions, RunOutcome, Silent};
use loadline_units::{Bytes, Duration};

/// A crawl, slowed in turns, of a site whose pages take a fixed time, fetched in one slot: nothing else can bind.
fn slowed(pages: u64, latency: Duration, turn: Duration) -> RunOutcome {
    let (size, spread, bad) = (Bytes::kib(1), 0.0, false);
    let made_up = MadeUpPlan { pages, size, latency, spread, bad, ..MadeUpPlan::default() };
    let mut source = SourcePlan::of_made_up("site", made_up);
    source.slots = Some(1);
    let folder = tempfile::tempdir().unwrap();
    let crawl = Crawl {
        folder: Some(folder.path().join("made")),
        confirm: Some(turn),
        options: RunOptions::default().seeded(1).stored_in(folder.path().join("runs.db")),
        ..Crawl::of(CrawlPlan::of("site", vec![source]))
    };
    crawl.run(&mut Silent::default()).unwrap()
}

fn pipeline(outcome: &RunOutcome) -> &PipelineRecord {
    outcome.record.pipeline().unwrap()
}

#[test]
fn what_passed_in_the_turns_of_slowing_are_items_of_the_crawl() {
    let outcome = slowed(60, Duration::from_ms(2), Duration::from_ms(10));
    let windows = &pipeline(&outcome).slowed.as_ref().unwrap().windows;
    assert!(windows.iter().any(|window| window.slowed == Some(SlowedStation::Fetch(0))));
    let passed: f64 = windows.iter().map(|window| window.passed[0]).sum();
    assert!(passed > 0.0 && passed <= pipeline(&outcome).sources[0].items as f64 + 1e-6, "{passed}");
}

#[test]
#[ignore = "long: measures this machine"]
fn slowing_confirms_what_binds_where_the_truth_is_known() {
    let outcome = slowed(4_000, Duration::from_ms(10), Duration::from_ms(200));
    let pipeline = pipeline(&outcome);
    let attributions = of_record(&outcome.record).unwrap();
    assert_eq!(attributions[0].bound, Bound::By(Lever::Repository(0)));
    let confirmed = &confirm(pipeline, &attributions)[0];
    assert_eq!(confirmed.agreement, ConfirmedBy::Agrees, "{confirmed:?}");
    assert_eq!(confirmed.measured[0].slowed, SlowedStation::Fetch(0), "{confirmed:?}");
}
