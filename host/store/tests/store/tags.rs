//! What users say of runs: apart from the record, changed at any time, and found again.

use crate::made;
use loadline_record::RunStatus;
use loadline_store::{Filter, NOTE, Store, StoreError, Tag};

fn tag(text: &str) -> Tag {
    text.parse().unwrap()
}

fn texts(tags: &[Tag]) -> Vec<String> {
    tags.iter().map(Tag::to_string).collect()
}

#[test]
fn a_finished_run_is_tagged_and_its_record_stays() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("runs.db")).unwrap().with_tags(vec![tag("host=db1")]);
    store.begin_run(&made::header("a", "nightly", 0), &[made::cell(0, 1)]).unwrap();
    store.finish_trial("a", &made::cell(0, 1).id, &made::trial(0, 1, 3)).unwrap();
    store.set_status("a", RunStatus::Finished).unwrap();
    let before = store.load("a").unwrap();
    let note = Tag::new(NOTE, "before the new kernel").unwrap();
    let said = store.tag("a", &[tag("baseline"), note, tag("host=db2")], &[]).unwrap();
    assert_eq!(texts(&said), ["baseline", "host=db2", "note=before the new kernel"]);
    assert_eq!(texts(&store.tag("a", &[], &["baseline".into(), "absent".into()]).unwrap()), texts(&said[1..]));
    assert_eq!(store.tags("a").unwrap(), said[1..]);
    assert_eq!(store.load("a").unwrap(), before);
    assert!(matches!(store.tag("b", &[tag("x")], &[]), Err(StoreError::NoSuchRun { .. })));
    // What belongs to a run goes with it.
    store.remove("a").unwrap();
    store.begin_run(&made::header("a", "nightly", 0), &[made::cell(0, 1)]).unwrap();
    assert_eq!(texts(&store.tags("a").unwrap()), ["host=db1"]);
}

#[test]
fn a_run_that_is_stored_as_it_goes_on_keeps_what_was_said_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("runs.db")).unwrap().with_tags(vec![tag("first")]);
    store.begin_run(&made::header("a", "emulation", 0), &[]).unwrap();
    store.tag("a", &[tag("second=2")], &["first".into()]).unwrap();
    store.replace_run(&store.load("a").unwrap()).unwrap();
    assert_eq!(texts(&store.tags("a").unwrap()), ["second=2"]);
}

#[test]
fn runs_are_found_by_words_and_tags() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("runs.db")).unwrap();
    for (place, (id, name)) in [("a", "Nightly"), ("b", "nightly"), ("c", "other")].into_iter().enumerate() {
        store.begin_run(&made::header(id, name, place as u32), &[]).unwrap();
    }
    store.tag("a", &[tag("host=db1"), tag("baseline")], &[]).unwrap();
    store.tag("c", &[tag("host=db12")], &[]).unwrap();
    let found = |words: &[&str], tags: &[&str]| -> Vec<String> {
        let words = words.iter().map(|&word| word.to_owned()).collect();
        let tags = tags.iter().map(|text| tag(text)).collect();
        let filter = Filter { words, tags, ..Filter::default() };
        store.list(&filter).unwrap().into_iter().map(|line| line.id).collect()
    };
    assert_eq!(found(&["NIGHTLY"], &[]), ["b", "a"]);
    assert_eq!(found(&["nightly", "db1"], &[]), ["a"]);
    assert_eq!(found(&["db1"], &[]), ["c", "a"]);
    assert_eq!(found(&[], &["host=db1"]), ["a"]);
    assert_eq!(found(&[], &["host"]), ["c", "a"]);
    assert_eq!(found(&[], &["host", "baseline"]), ["a"]);
    assert_eq!(found(&["absent"], &[]), Vec::<String>::new());
    let first = store.list(&Filter::default()).unwrap().remove(2);
    assert_eq!(texts(&first.tags), ["baseline", "host=db1"]);
}

#[test]
fn what_is_no_tag_and_too_many_of_them_are_refused() {
    for text in
        ["", "=x", "two words=x", "a\u{1b}b", "key=\u{1b}[31m", &"k".repeat(65), &format!("key={}", "v".repeat(2_001))]
    {
        assert!(text.parse::<Tag>().is_err(), "{text:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("runs.db")).unwrap();
    store.begin_run(&made::header("a", "nightly", 0), &[]).unwrap();
    let many: Vec<Tag> = (0..65).map(|number| tag(&format!("k{number}"))).collect();
    assert!(matches!(store.tag("a", &many, &[]), Err(StoreError::ManyTags { most: 64, .. })));
    assert_eq!(store.tags("a").unwrap(), []);
    assert_eq!(store.tag("a", &many[1..], &[]).unwrap().len(), 64);
}
