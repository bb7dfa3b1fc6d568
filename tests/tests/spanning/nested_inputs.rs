//! Text nested as deep as it is long: every reader ends, whatever the nesting, on the stack of a small thread.

use loadline_advise::NeedFile;
use loadline_catalog::{Catalog, Environment};
use loadline_demand::ReadOptions;
use loadline_emulation::Trace;
use loadline_emulator::parse_control;
use loadline_http::PageRequest;
use loadline_pipeline::CrawlPlan;
use loadline_shelter_format as format;
use loadline_shelter_policy::config::{Cloud, ShelterConfig};
use loadline_shelter_policy::manifest::Manifest;
use loadline_shelter_policy::marker::Marker;
use loadline_shelter_policy::notice::notices;
use loadline_workload::Plan;
use std::hint::black_box;

/// How deep.
const DEEP: usize = 100_000;
/// The stack of a thread, as small as one that reads may be.
const STACK: usize = 512 << 10;

/// A reader of text that others wrote.
type Reader = fn(&str);

const READERS: [(&str, Reader); 19] = [
    ("plan", |text| drop(black_box(Plan::parse(text, "file")))),
    ("environment", |text| drop(black_box(Environment::parse(text, "file", &Catalog::default())))),
    ("catalog", |text| drop(black_box(Catalog::default().with(&[("file", text)])))),
    ("need", |text| drop(black_box(NeedFile::parse(text, "file")))),
    ("crawl plan", |text| drop(black_box(CrawlPlan::read(text, "file")))),
    ("shelter", |text| drop(black_box(ShelterConfig::parse(text, "file")))),
    ("marker", |text| drop(black_box(Marker::parse(text)))),
    ("manifest", |text| drop(black_box(Manifest::parse(text)))),
    ("notice", |text| drop(black_box(notices(Cloud::Aws, 200, text)))),
    ("job file", |text| drop(black_box(loadline_workload::fio_jobs(text, "file")))),
    ("results", |text| drop(black_box(loadline_imported::read(text, "file", 0)))),
    ("demand", |text| drop(black_box(loadline_demand::read(text.as_bytes(), "file", &ReadOptions::default())))),
    ("trace", |text| drop(black_box(Trace::read(text.as_bytes())))),
    ("recording", |text| drop(black_box(loadline_recording::formats::read(text.as_bytes())))),
    ("prices", |text| drop(black_box(loadline_offers::read(text.as_bytes(), "2026-11-28")))),
    ("limits", |text| drop(black_box(loadline_offers::read_limits(text.as_bytes())))),
    ("control", |text| drop(black_box(parse_control(text.as_bytes())))),
    ("page", |text| drop(black_box(PageRequest::parse(text.as_bytes(), 80)))),
    ("repository", |text| {
        drop(black_box(format::decode_tree(text.as_bytes())));
        drop(black_box(format::SnapshotFile::decode(text.as_bytes())));
        drop(black_box(format::IndexFile::decode(text.as_bytes())));
        drop(black_box(format::KeyFile::decode(text.as_bytes())));
    }),
];

/// What opens and what closes, again and again; what leads there, for readers that look at the beginning.
const BRACKETS: [(&str, &str, &str); 30] = [
    ("", "[", "]"),
    ("", "{\"a\":", "}"),
    ("{\"jobs\":", "[", "]"),
    ("{\"jobs\":[{\"jobname\":", "{\"read\":", "}"),
    ("{\"fio version\":\"3.33\",\"client_stats\":", "[{\"a\":", "}]"),
    ("{\"sysstat\":{\"hosts\":", "[", "]"),
    ("{\"MetricDataResults\":", "[", "]"),
    ("[{\"Datapoints\":", "[", "]"),
    ("{\"timeseries\":", "{\"a\":", "}"),
    ("{\"timeSeries\":", "[", "]"),
    ("[{\"metric\":{\"__name__\":\"a\"},\"values\":", "[", "]"),
    ("{\"nodes\":", "[{\"a\":", "}]"),
    ("{\"offerCode\":\"AmazonEC2\",\"products\":", "{\"a\":", "}"),
    ("{\"Items\":", "[", "]"),
    ("{\"skus\":", "[", "]"),
    ("{\"InstanceTypes\":", "[", "]"),
    ("schema = 1\na = ", "[", "]"),
    ("schema = 1\nload = ", "{ a = ", " }"),
    ("schema = 1\na", ".a", ""),
    ("schema = 1\n[a", ".a", ""),
    ("schema = 1\n[[a", ".a", ""),
    ("", "<a>", "</a>"),
    ("<Results><System>", "<a>", "</a>"),
    ("<Results>", "<a b=\"c\" ", "/>"),
    ("<!DOCTYPE a [", "<!ENTITY a \"&a;\">", ""),
    ("[a]\nsize=", "(", ")"),
    ("[a]\nsize=(", "-", "1)"),
    ("[a]\nsize=(1", "^1", ")"),
    ("[a]\nrw=", "[a]\n", ""),
    ("[a]\nfilename=", "${a", "}"),
];

/// Each text whole, and cut off where it is deepest.
fn texts() -> impl Iterator<Item = String> {
    BRACKETS.into_iter().flat_map(|(lead, open, close)| {
        let cut = format!("{lead}{}", open.repeat(DEEP));
        let whole = format!("{cut}{}", close.repeat(DEEP));
        [format!("{whole}\n"), format!("{whole} = 1\n"), format!("{whole}]\n"), format!("{whole}]]\n"), cut]
    })
}

#[test]
fn no_nesting_is_too_deep_for_a_small_stack() {
    let all = || {
        for text in texts() {
            for (name, read) in READERS {
                // What ends the program has been named last.
                println!("{name}: {} ... of {} bytes", &text[..text.len().min(60)], text.len());
                read(&text);
            }
        }
    };
    let reading = std::thread::Builder::new().stack_size(STACK).spawn(all).expect("a thread");
    reading.join().expect("no reader panics");
}
