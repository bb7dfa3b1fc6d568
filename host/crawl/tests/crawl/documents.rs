//! PDF and Office files: read by a process of its own, and what goes wrong in them costs one item each.

use crate::files::agreement;
use loadline_crawl::{Crawl, ReaderCommand, serve_documents};
use loadline_pipeline::{CrawlPlan, MadeUpPlan, SourcePlan};
use loadline_runs::{RunOptions, Silent};
use loadline_units::{Bytes, Duration};
use std::ffi::OsString;

/// The process that reads documents.
#[test]
#[ignore = "the test of documents starts it"]
fn a_reader_of_documents() {
    serve_documents().unwrap();
}

#[test]
fn documents_of_every_kind_are_read_and_bad_ones_cost_one_item_each() {
    let folder = tempfile::tempdir().unwrap();
    let made_up = MadeUpPlan {
        pages: 16 * 7,
        size: Bytes::kib(1),
        latency: Duration::ZERO,
        bad: true,
        documents: true,
        ..MadeUpPlan::default()
    };
    let mut plan = CrawlPlan::of("site", vec![SourcePlan::of_made_up("site", made_up)]);
    plan.caps.bytes = Bytes::mib(4);
    plan.caps.extract_memory = Bytes::mib(48);
    // Memory is what ends the reader, also where it gets a small part of a processor.
    (plan.caps.extract_time, plan.caps.extract_cpu) = (Duration::from_s(600), Duration::from_s(300));
    plan.caps.inflated = Bytes::mib(16);
    let arguments = ["--exact", "documents::a_reader_of_documents", "--ignored", "--test-threads=1"];
    let documents =
        ReaderCommand { program: std::env::current_exe().unwrap(), arguments: arguments.map(OsString::from).to_vec() };
    let crawl = Crawl {
        folder: Some(folder.path().join("made")),
        documents: Some(documents),
        options: RunOptions::default().seeded(1).stored_in(folder.path().join("runs.db")),
        ..Crawl::of(plan)
    };
    let outcome = crawl.run(&mut Silent::default()).unwrap();
    let pipeline = outcome.record.cells[0].trials[0].pipeline.as_deref().unwrap();
    let failures = &pipeline.sources[0].failures;
    let mut expected = vec![("no Office file, or one that is encrypted", 1)];
    if cfg!(feature = "pdf") {
        expected.push(("a PDF without pages", 1));
        expected.push(("reading it takes more memory than caps.extract_memory", 1));
    } else {
        // One good document, and three that are bad.
        expected.push(("PDF takes a build with the feature pdf", 4));
    }
    for (reason, count) in expected {
        assert_eq!(failures.get(reason), Some(&count), "{reason}: {failures:?}");
    }
    // A page and the archive, and the PDF where it is read.
    let bombs: u64 =
        failures.iter().filter(|(reason, _)| reason.ends_with("when it is decompressed")).map(|of| of.1).sum();
    assert_eq!(bombs, 2 + u64::from(cfg!(feature = "pdf")), "{failures:?}");
    // The reader's processor time is that of the items.
    let cpu_ns: u64 = pipeline.items.iter().map(|item| item.work[0].cpu_ns).sum();
    assert!(cpu_ns > 0);
    assert_eq!(agreement(folder.path()).items, pipeline.sources[0].items);
}
