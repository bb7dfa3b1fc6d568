//! Sites and tables: links, redirects, what goes wrong on real servers, and rows.

use crate::files::{agreement, crawl_of};
use loadline_crawl::{CrawlMode, of_record};
use loadline_pipeline::{CrawlPlan, MadeUpPlan, SourcePlan};
use loadline_record::{PipelineRecord, SourceRecord};
use loadline_runs::RunOutcome;
use loadline_units::{Bytes, Duration};

fn site(bad: bool) -> CrawlPlan {
    let site = MadeUpPlan { pages: 150, size: Bytes::kib(2), latency: Duration::ZERO, bad, ..MadeUpPlan::default() };
    let mut plan = CrawlPlan::of("site", vec![SourcePlan::of_made_up("site", site)]);
    plan.caps.bytes = Bytes::mib(1);
    plan.caps.fetch_time = Duration::from_s(5);
    plan.caps.per_prefix = 155;
    plan
}

fn pipeline(outcome: &RunOutcome) -> &PipelineRecord {
    outcome.record.pipeline().unwrap()
}

fn source(outcome: &RunOutcome) -> &SourceRecord {
    &pipeline(outcome).sources[0]
}

#[test]
fn a_site_is_crawled_from_link_to_link_and_what_goes_wrong_costs_one_item_each() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = crawl_of(folder.path(), site(true), CrawlMode::Full);
    let of = source(&outcome);
    for (reason, count) in [
        ("HTTP 404", 1),
        ("HTTP 500", 1),
        ("larger than caps.bytes", 1),
        ("larger than caps.inflated when it is decompressed", 1),
        ("more redirects than caps.redirects", 1),
        ("no kind of file that has text", 1),
        ("the body is shorter than stated", 1),
    ] {
        let capped =
            if reason.contains("inflated") { "larger than caps.ratio when it is decompressed" } else { reason };
        let found = of.failures.get(reason).or_else(|| of.failures.get(capped));
        assert_eq!(found, Some(&count), "{reason}: {:?}", of.failures);
    }
    for note in [
        "the declared charset is wrong",
        "put off by the host, and asked for again",
        "pages that robots.txt forbids are left out",
        "links deeper than caps.depth are left out",
    ] {
        assert!(of.notes.contains_key(note), "{note}: {:?}", of.notes);
    }
    // 150 pages, those of the chain of days, and four that are odd and have text or none.
    assert!(of.items > 150 + 25 && of.items < 150 + 40, "{}", of.items);
    assert_eq!(agreement(folder.path()).items, of.items);
    // A page was found in another, but for the first.
    let found = pipeline(&outcome).items.iter().filter(|item| item.found_in.is_some()).count() as u64;
    assert_eq!(found, of.items - 1);
}

#[test]
fn a_second_crawl_of_a_site_finds_it_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    crawl_of(folder.path(), site(false), CrawlMode::Full);
    let outcome = crawl_of(folder.path(), site(false), CrawlMode::Incremental);
    assert_eq!((source(&outcome).items, source(&outcome).unchanged), (0, 150));
    assert_eq!(agreement(folder.path()).items, 150);
}

#[test]
fn slots_that_wait_for_a_repository_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut plan = site(false);
    // Few pages that come late: processors that others use are no limit beside that.
    let made_up = plan.sources[0].made_up.as_mut().unwrap();
    (made_up.pages, made_up.latency) = (30, Duration::from_ms(400));
    plan.sources[0].slots = Some(4);
    let outcome = crawl_of(folder.path(), plan, CrawlMode::Full);
    let of = &of_record(&outcome.record).unwrap()[0];
    assert!(of.evidence.slots.busy > 0.0, "{of:?}");
    assert!(of.evidence.repository_latency_ns > 3e8, "{of:?}");
}

#[test]
fn rows_of_a_table_are_items() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("people.db");
    let connection = rusqlite::Connection::open(&database).unwrap();
    connection.execute_batch("CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, photo BLOB)").unwrap();
    // The first and the last key that there are, too.
    for id in (0..118).map(|id| id * 3).chain([i64::MIN, i64::MAX]) {
        connection.execute("INSERT INTO people VALUES (?1, ?2, x'00ff')", (id, format!("Person {id}"))).unwrap();
    }
    let rows = SourcePlan {
        files: None,
        sql: Some(database),
        table: Some("people".to_owned()),
        key: Some("id".to_owned()),
        ..SourcePlan::of_files("people", folder.path().to_owned())
    };
    let outcome = crawl_of(folder.path(), CrawlPlan::of("people", vec![rows.clone()]), CrawlMode::Full);
    assert_eq!((source(&outcome).items, source(&outcome).failed()), (120, 0));
    assert_eq!(agreement(folder.path()).items, 120);
    connection.execute("UPDATE people SET name = 'Somebody' WHERE id = 3", ()).unwrap();
    connection.execute("DELETE FROM people WHERE id = 6", ()).unwrap();
    let outcome = crawl_of(folder.path(), CrawlPlan::of("people", vec![rows]), CrawlMode::Incremental);
    let of = source(&outcome);
    assert_eq!((of.items, of.unchanged, of.removed), (1, 118, 1));
    assert_eq!(agreement(folder.path()).items, 119);
}

#[test]
fn a_host_that_is_not_reached_is_named_with_what_failed() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    // A server that speaks no TLS, and one whose answer to robots.txt is that it cannot.
    let busy = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = busy.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for client in busy.incoming() {
            use std::io::{Read as _, Write as _};
            let mut client = client.unwrap();
            let _ = client.read(&mut [0; 4096]);
            let _ = client.write_all(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        }
    });
    for (url, says) in [
        (
            "http://nowhere.invalid/".to_owned(),
            vec!["nowhere.invalid/robots.txt", "find the address of nowhere.invalid: "],
        ),
        (format!("http://127.0.0.1:{closed}/"), vec!["robots.txt: connect to 127.0.0.1:", "connection refused"]),
        (format!("https://127.0.0.1:{port}/"), vec!["robots.txt: encrypt the connection: "]),
        (format!("http://127.0.0.1:{port}/"), vec!["/robots.txt: HTTP 503"]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let plan = CrawlPlan::of("site", vec![SourcePlan::of_web("site", &url)]);
        let outcome = crawl_of(folder.path(), plan, CrawlMode::Full);
        let failures = &source(&outcome).failures;
        let [reason] = failures.keys().collect::<Vec<_>>()[..] else { panic!("{url}: {failures:?}") };
        assert!(says.iter().all(|part| reason.contains(part)), "{url}: {reason}");
        assert!(!reason.contains("out of order"), "{reason}");
    }
}
