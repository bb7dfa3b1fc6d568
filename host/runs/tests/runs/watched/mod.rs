//! A watch makes no load, ends when its observer wants it to, and leaves a run that names what limited the storage.

mod cases;
mod constructed;

use crate::folder;
use loadline_analysis::summarize;
use loadline_record::RunVerb;
use loadline_runs::watch::{Watch, WatchSettings};
use loadline_runs::{Error, Event, Observer, RunOptions, WatchError};
use loadline_units::Duration;

/// Ends a watch at its first look.
#[derive(Default)]
struct FirstLook {
    seen: usize,
}

impl Observer for FirstLook {
    fn event(&mut self, event: &Event<'_>) {
        let Event::Live(frame) = event else { panic!("{event:?}") };
        assert!(frame.planned_ns.is_some() && !frame.volumes.is_empty());
        assert_eq!((frame.judged_ns, frame.verb.as_str()), (0, "watch"), "a tenth of a second is too early");
        self.seen += 1;
    }
    fn wants_an_end(&self) -> bool {
        true
    }
}

#[test]
fn a_watch_leaves_a_run_that_says_what_its_time_went_to() {
    let folder = folder();
    let options = || RunOptions::default().seeded(0).stored_in(folder.path().join("runs.db"));
    let settings = || WatchSettings { duration: Some(Duration::from_s(60)), ..WatchSettings::default() };
    let watch = match Watch::prepare(&[], settings(), options()) {
        // A container may show no disk at all: then that is said.
        Err(Error::Watch(WatchError::NoDevice { typed })) => return assert_eq!(typed, "every disk"),
        other => other.unwrap(),
    };
    let mut observer = FirstLook::default();
    let outcome = watch.run(&mut observer).unwrap();
    assert_eq!((observer.seen, &outcome.record.header.verb), (1, &RunVerb::Watch));
    let summary = summarize(&outcome.record);
    let cell = &summary.cells[0];
    let watched = cell.watch.as_ref().expect("what was seen is there");
    let whole: f64 = watched.causes.iter().map(|cause| cause.share).sum();
    assert!((whole - 1.0).abs() < 1e-6, "{:?}", watched.causes);
    assert!(cell.binding.is_some() && cell.binding_share.is_some());
    let named = &summary.verdict.as_ref().expect("a verdict").volumes[0].cell;
    // Of several disks it is about the busiest.
    assert!(summary.cells.iter().any(|cell| cell.id == *named), "{named}");
}

#[test]
fn what_cannot_be_watched_is_refused_before_anything_is_stored() {
    let folder = folder();
    let store = folder.path().join("runs.db");
    let options = RunOptions::default().stored_in(&store);
    let error = Watch::prepare(&["no-such-disk".to_owned()], WatchSettings::default(), options).unwrap_err();
    assert!(matches!(error, Error::Watch(WatchError::NoTarget { .. })), "{error}");
    assert!(!store.exists());
}
