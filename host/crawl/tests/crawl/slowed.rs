//! Stations that are slowed on purpose: the one that binds has an effect, and no other.

use loadline_crawl::{Crawl, SilentCrawl};
use loadline_pipeline::{Bound, ConfirmedBy, CrawlPlan, Lever, MadeUpPlan, SourcePlan, confirm};
use loadline_record::SlowedStation;
use loadline_runs::RunOptions;
use loadline_units::{Bytes, Duration};

/// A site whose pages take a fixed time, fetched in one slot: nothing else can bind.
#[test]
fn slowing_confirms_what_binds_where_the_truth_is_known() {
    let is_long = std::env::var_os("LOADLINE_TEST_LONG").is_some();
    let made_up = MadeUpPlan {
        pages: if is_long { 4_000 } else { 60 },
        size: Bytes::kib(1),
        latency: Duration::from_ms(if is_long { 10 } else { 2 }),
        spread: 0.0,
        bad: false,
        ..MadeUpPlan::default()
    };
    let mut source = SourcePlan::of_made_up("site", made_up);
    source.slots = Some(1);
    let folder = tempfile::tempdir().unwrap();
    let crawl = Crawl {
        folder: Some(folder.path().join("made")),
        confirm: Some(Duration::from_ms(if is_long { 200 } else { 10 })),
        options: RunOptions::default().seeded(1).stored_in(folder.path().join("runs.db")),
        ..Crawl::of(CrawlPlan::of("site", vec![source]))
    };
    let outcome = crawl.run(&mut SilentCrawl).unwrap();
    let pipeline = outcome.record.cells[0].trials[0].pipeline.as_deref().unwrap();
    let slowed = pipeline.slowed.as_ref().unwrap();
    assert!(slowed.windows.iter().any(|window| window.slowed == Some(SlowedStation::Fetch(0))));
    let passed: f64 = slowed.windows.iter().map(|window| window.passed[0]).sum();
    assert!(passed > 0.0 && passed <= pipeline.sources[0].items as f64 + 1e-6, "{passed}");
    if is_long {
        assert_eq!(outcome.attributions[0].bound, Bound::By(Lever::Repository(0)));
        let confirmed = &confirm(pipeline, &outcome.attributions)[0];
        eprintln!("{}", confirmed.sentence(&pipeline.spec, slowed.share));
        assert_eq!(confirmed.agreement, ConfirmedBy::Agrees, "{confirmed:?}");
        assert_eq!(confirmed.measured[0].slowed, SlowedStation::Fetch(0), "{confirmed:?}");
    }
}
