//! What strangers send, and what must hold whatever they send: the entry functions of `fuzz/`, which every gate also runs
//! over the kept inputs and mutations of them.

use crate::plausible::{wrong_demand, wrong_results};
use loadline_advise::NeedFile;
use loadline_block::{Operation, Request};
use loadline_catalog::{Catalog, Environment, Kind, Price};
use loadline_demand::ReadOptions;
use loadline_disk::{DiskSpec, EnvironmentSpec, InitialState, Layout, VolumeSpec};
use loadline_emulation::{Change, FaultSelection, FaultyMachine, Trace};
use loadline_emulator::{ControlRequest, parse_control};
use loadline_http::{HEAD_MAX, PageRequest, RequestRefusal};
use loadline_nbd::negotiation::{ExportInfo, Negotiation, NegotiationStep, OPTIONS_MAX};
use loadline_nbd::reply::ReplyTo;
use loadline_nbd::request::{Command, Incoming, Message, NbdRequest, Rules};
use loadline_nbd::{BLOCK_MIN, PAYLOAD_MAX, ReplyForm};
use loadline_offers::{KeptLimits, LimitsOrigin, read_limits};
use loadline_pipeline::CrawlPlan;
use loadline_record::Histogram;
use loadline_shelter_policy::config::{Cloud, ShelterConfig};
use loadline_shelter_policy::notice::notices;
use loadline_units::{ByteRate, Bytes, Duration, Instant, Iops, Ratio};
use loadline_workload::Plan;
use std::fmt::{Debug, Display};
use std::str::FromStr;
use std::sync::LazyLock;

/// A fuzz target: panics when something does not hold.
pub type Target = fn(&[u8]);

/// Every target by its name, which is that of its program in `fuzz/fuzz_targets` and of its folder in `fuzz/corpus`.
pub const TARGETS: [(&str, Target); 20] = [
    ("control", control),
    ("fio_jobs", fio_jobs),
    ("fio_results", fio_results),
    ("histogram_decode", histogram_decode),
    ("http_request", http_request),
    ("limits_answer", limits_answer),
    ("monitoring_files", monitoring_files),
    ("nbd_negotiation", nbd_negotiation),
    ("nbd_requests", nbd_requests),
    ("plan_parse", plan_parse),
    ("price_offer", price_offer),
    ("price_offer_csv", price_offer_csv),
    ("price_page", price_page),
    ("price_retail", price_retail),
    ("price_skus", price_skus),
    ("recordings", recordings),
    ("repository_files", repository_files),
    ("settings", settings),
    ("trace_read", trace_read),
    ("units", units),
];

/// The head of a request is answered only by a name of this machine with the server's port, and is the same whatever comes after it.
pub fn http_request(bytes: &[u8]) {
    const PORT: u16 = 9_100;
    let read = PageRequest::parse(bytes, PORT);
    if read == Ok(None) {
        assert!(bytes.len() < HEAD_MAX, "what is not whole may still become so");
        return;
    }
    let mut longer = bytes.to_vec();
    longer.extend_from_slice(b"GET / HTTP/1.1\r\n\r\n");
    let again = PageRequest::parse(&longer, PORT);
    let Ok(Some(request)) = &read else {
        assert!(again.is_err(), "a refusal stays one: {again:?}");
        return;
    };
    assert_eq!(again, read);
    assert!(request.path.starts_with('/') && !request.path.contains('?'), "{request:?}");
    let text = bytes.to_ascii_lowercase();
    let has = |name: &[u8]| text.windows(name.len()).any(|part| part == name);
    assert!(has(b"127.0.0.1:9100") || has(b"[::1]:9100") || has(b"localhost:9100"), "{request:?}");
    let forged = PageRequest::parse(bytes, PORT + 1);
    assert_eq!(forged, Err(RequestRefusal::Host), "the port is a part of the name");
}

/// A line of the control socket is a request that can be written again, or refused; a model that is told to do it
/// does, or refuses, and goes on.
pub fn control(bytes: &[u8]) {
    let Ok(request) = parse_control(bytes) else { return };
    let text = serde_json::to_vec(&request).expect("a request is plain data");
    assert_eq!(parse_control(&text).as_ref(), Ok(&request));
    let ControlRequest::Change(change) = request else { return };
    let disk = DiskSpec { size: Some(Bytes::mib(1)), ..DiskSpec::default() };
    let layout = Layout::Mirror { copies: 2 };
    let volume = VolumeSpec { name: "data".into(), disks: vec![disk.clone(), disk], layout, ..VolumeSpec::default() };
    let environment = EnvironmentSpec { volumes: vec![volume], ..EnvironmentSpec::default() };
    let mut model = FaultyMachine::new(&environment, 1, InitialState::default()).expect("it is sound");
    let mut now = Instant::ZERO;
    for _ in 0..2 {
        now = now + Duration::from_ms(1);
        // Refusals are fine; what is done must leave a model that answers.
        let _ = model.change(now, &change);
        let request = Request { operation: Operation::Read, durable: false, length: 512, offset: 0, due_at: now };
        model.submit(now, 0, request);
    }
    now = now + Duration::from_ms(1);
    model.change(now, &Change::Clear(FaultSelection::All)).expect("all can always be cleared");
    let mut answered = 0;
    while let Some(next) = model.next_event_at() {
        while model.pop_ended(next).is_some() {
            answered += 1;
        }
    }
    assert_eq!(answered, 2);
}

/// A trace of any bytes, ours or another tool's, is refused, or its requests stand in the order of time.
pub fn trace_read(bytes: &[u8]) {
    let other = loadline_recording::formats::read(bytes).ok().map(|(_, trace)| trace);
    Trace::read(bytes).ok().into_iter().chain(other).for_each(|trace| trace_makes_sense(&trace));
}

/// A trace of another tool is refused, or its requests stand in the order of time.
pub fn recordings(bytes: &[u8]) {
    trace_read(bytes);
}

/// A monitoring file is refused, or its intervals are such as storage can have.
pub fn monitoring_files(bytes: &[u8]) {
    let Ok(demand) = loadline_demand::read(bytes, "fuzz", &ReadOptions::default()) else { return };
    assert_eq!(wrong_demand(&demand), None);
}

/// A file of settings of any kind is read, or refused with its problems.
pub fn settings(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let refused = [
        Plan::parse(text, "fuzz").err().map(|error| error.problems.len()),
        NeedFile::parse(text, "fuzz").err().map(|error| error.problems.len()),
        Environment::parse(text, "fuzz", &SMALL).err().map(|error| error.problems.len()),
        ShelterConfig::parse(text, "fuzz").err().map(|error| error.problems.len()),
        Catalog::default().with(&[("fuzz", text)]).err().map(|error| error.problems.len()),
    ];
    assert!(refused.into_iter().flatten().all(|problems| problems > 0));
    if let Ok(plan) = CrawlPlan::read(text, "fuzz") {
        let _ = plan.check();
    }
    let _ = notices(Cloud::Azure, 200, text).map(|all| assert!(all.len() <= text.len()));
    let _ = notices(Cloud::Aws, 200, text);
}

fn trace_makes_sense(trace: &Trace) {
    assert!(trace.records.is_sorted_by_key(|record| record.submitted_at));
    assert!(trace.records.iter().all(|record| usize::from(record.export) < trace.exports.len()));
    assert!(trace.changes.is_sorted_by_key(|done| done.sequence));
}

/// Machines as far as their prices need them.
const AWS_MACHINES: &str = "schema = 1\nkind = \"vm\"\nprovider = \"aws\"\nfamily = \"a\"\ntitle = \"a\"\nsource = \"a\"\n[vm]\n\
    \"m5.large\" = { vcpus = 2 }\n\"m5.metal\" = { vcpus = 96 }\n\"c6i.metal\" = { vcpus = 128 }\n";
const AZURE_MACHINES: &str = "schema = 1\nkind = \"vm\"\nprovider = \"azure\"\nfamily = \"a\"\ntitle = \"a\"\nsource = \"a\"\n[vm]\n\
    d4s-v3 = { vcpus = 4 }\nd2-v2 = { vcpus = 2 }\n";

/// An offer file of AWS (JSON): refused, or lists as they were meant.
pub fn price_offer(bytes: &[u8]) {
    price_answers(bytes);
}

/// An offer file of AWS (CSV): refused, or lists as they were meant.
pub fn price_offer_csv(bytes: &[u8]) {
    price_answers(bytes);
}

/// A file of AWS's price page: refused, or lists as they were meant.
pub fn price_page(bytes: &[u8]) {
    price_answers(bytes);
}

/// Azure's retail prices: refused, or lists as they were meant.
pub fn price_retail(bytes: &[u8]) {
    price_answers(bytes);
}

/// SKUs of Google: refused, or lists as they were meant.
pub fn price_skus(bytes: &[u8]) {
    price_answers(bytes);
}

/// A catalog of little.
static SMALL: LazyLock<Catalog> = LazyLock::new(|| {
    let files = [
        ("gp3", include_str!("../../catalog/aws/gp3.toml")),
        ("aws", AWS_MACHINES),
        ("premium", include_str!("../../catalog/azure/premium.toml")),
        ("azure", AZURE_MACHINES),
        ("disks", include_str!("../../catalog/gcp/pd-balanced.toml")),
    ];
    Catalog::default().with(&files).expect("they come along")
});

/// A provider's answer about its machines is refused, or becomes files that a catalog reads, with the machines that are new.
pub fn limits_answer(bytes: &[u8]) {
    let Ok(answer) = read_limits(bytes) else { return };
    let origin = LimitsOrigin { today: "2026-11-28", fetched: "2026-11-28T12:00:00Z", digest: "d", version: "1" };
    let update = answer.update(&SMALL, &KeptLimits::default(), &origin);
    let files: Vec<(&str, &str)> = update.files.iter().map(|(kind, text)| (*kind, text.as_str())).collect();
    let catalog = SMALL.clone().with_limits(&files).expect("what is kept reads");
    for name in &update.changes.added {
        assert!(catalog.vm_entry(&format!("{}/{name}", update.changes.provider)).is_some(), "{name}");
    }
}

/// A provider's answer about prices, of any form, is refused, or becomes lists; what nothing speaks against is read by a catalog as it was
/// meant, with prices above 0.
fn price_answers(bytes: &[u8]) {
    let today = "2026-11-28";
    let Ok(answer) = loadline_offers::read(bytes, today) else { return };
    let request = loadline_offers::Assembly {
        before: &SMALL,
        regions: &[],
        currency: None,
        today,
        fetched: "2026-11-28T12:00:00Z",
        version: "1",
    };
    let provider = answer.form.provider();
    let found = loadline_offers::assemble(provider, &[answer], &|_| "digest".to_owned(), &request);
    for found in found.into_iter().filter(|found| found.refusals.is_empty()) {
        let text = found.list.text();
        let read = Catalog::default().with(&[("list", &text)]).expect("a written list is read");
        let listed = read.listed(provider.name(), &found.list.region, Kind::Vm);
        let meant = found.list.prices.iter().map(|(name, charges)| (name.as_str(), charges));
        assert!(listed.iter().map(|(name, price)| (name.as_str(), &price.charges)).eq(meant), "{text}");
        assert!(listed.values().all(|price: &Price| price.hourly().is_none_or(|amount| amount > 0)));
    }
}

/// What a repository holds is read and can be written again with the same meaning, or refused.
pub fn repository_files(bytes: &[u8]) {
    use loadline_shelter_format as format;
    if let Ok(nodes) = format::decode_tree(bytes) {
        assert!(nodes.is_sorted_by(|a, b| a.name < b.name));
        assert!(nodes.iter().all(|node| !node.name.contains(&b'/') && node.raw_link_target.is_empty()));
        assert_eq!(format::decode_tree(&format::encode_tree(&nodes)).as_ref(), Ok(&nodes));
    }
    if let Ok(index) = format::IndexFile::decode(bytes) {
        assert_eq!(format::IndexFile::decode(&index.encode()).as_ref(), Ok(&index));
    }
    if let Ok(snapshot) = format::SnapshotFile::decode(bytes) {
        assert_eq!(format::SnapshotFile::decode(&snapshot.encode()).as_ref(), Ok(&snapshot));
        let _ = snapshot.order();
    }
    if let Ok(config) = format::RepositoryConfig::decode(bytes) {
        assert_eq!(format::RepositoryConfig::decode(&config.encode()).as_ref(), Ok(&config));
        let _ = format::RabinChunker::new(config.chunker_polynomial);
    }
    if let Ok(key) = format::KeyFile::decode(bytes) {
        let again = format::KeyFile::decode(&key.encode()).expect("it was written so");
        assert_eq!(again.encode(), key.encode());
    }
    let _ = format::decode_unpacked(bytes.to_vec());
    // A writer with the key could have sealed any header.
    let key = format::MasterKey::from_random([7; 64]);
    let mut sealed = Vec::new();
    key.seal([1; 16], bytes, &mut sealed);
    let length = (sealed.len() as u32).to_le_bytes();
    sealed.extend_from_slice(&length);
    if let Ok(blobs) = format::pack_header(&key, &sealed, 1 << 20) {
        assert!(blobs.iter().all(|blob| blob.end() <= 1 << 20));
        assert!(blobs.windows(2).all(|pair| pair[0].end() == u64::from(pair[1].offset)));
    }
    let _ = format::pack_header(&key, bytes, bytes.len() as u64);
}

/// Results of fio are read into trials that add up, or refused.
pub fn fio_results(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(results) = loadline_imported::read(text, "fuzz", 1_700_000_000) else { return };
    assert_eq!(wrong_results(&results), None);
    for job in &results.jobs {
        // Buffered blocks may have had any size; loadline could run the rest.
        let mut spec = job.spec.clone();
        for block in &mut spec.blocks {
            assert!(block.size > Bytes::ZERO);
            block.size = Bytes::new(block.size.get().next_multiple_of(512));
        }
        assert_eq!(spec.check(), Ok(()));
        assert!(job.span_ms.0 <= job.span_ms.1, "{:?}", job.span_ms);
        let trial = &job.trial;
        assert!(trial.measured_ns > 0 && trial.count() > 0);
        assert!(trial.iops().is_some_and(f64::is_finite) && trial.bytes_per_s().is_some_and(f64::is_finite));
        for record in trial.operations.values() {
            assert!(record.told.is_none() || record.latency.count() == 0);
            let Some(figures) = record.figures() else { continue };
            assert!(figures.min.unwrap_or(0) <= figures.max && figures.mean.is_finite(), "{figures:?}");
        }
        // What is read can be stored: it comes back the same.
        let text = serde_json::to_string(trial).expect("a trial is plain data");
        assert_eq!(&serde_json::from_str::<loadline_record::TrialRecord>(&text).expect("it was written so"), trial);
    }
}

/// A stored histogram decodes to one that keeps its own rules and encodes to the same again, or is refused.
pub fn histogram_decode(bytes: &[u8]) {
    let Ok(histogram) = Histogram::decode(bytes) else { return };
    let again = Histogram::decode(&histogram.encode()).expect("what was encoded decodes");
    assert_eq!(again, histogram);
    let counted: u64 = histogram.buckets().map(|(_, _, count)| count).sum();
    assert_eq!(counted, histogram.count());
    let Some(figures) = histogram.snapshot() else {
        assert_eq!(histogram.count(), 0);
        return;
    };
    let rising = [
        figures.min,
        figures.p50,
        figures.p90,
        figures.p95,
        figures.p99,
        figures.p99_9,
        figures.p99_99,
        Some(figures.max),
    ];
    assert!(rising.iter().all(Option::is_some), "{figures:?}");
    assert!(rising.is_sorted(), "{figures:?}");
    // The mean is a float of sums that can exceed 2^53.
    let slack = 1e-9;
    let (low, high) = (figures.min.unwrap_or(0) as f64 * (1.0 - slack), figures.max as f64 * (1.0 + slack));
    assert!((low..=high).contains(&figures.mean), "{figures:?}");
}

/// A job file is read, with loads that can be run, or refused with lines that are there.
pub fn fio_jobs(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match loadline_workload::fio_jobs(text, "any.fio") {
        Ok(jobs) => {
            assert!(jobs.plan.cells().count() > 0);
            for (spec, _) in jobs.plan.cells() {
                spec.check().expect("what was read can be run");
            }
        }
        Err(error) => {
            let lines = text.lines().count();
            assert!(!error.problems.is_empty() && error.problems.iter().all(|p| p.line <= lines), "{error}");
        }
    }
}

/// A client's bytes at the beginning lead to the same answers however they are cut, and to no more of them than there are
/// options.
pub fn nbd_negotiation(bytes: &[u8]) {
    let export =
        |name: &str, size| ExportInfo { name: name.into(), description: "a disk".into(), size, rotational: false };
    let exports = [export("data", 1 << 40), export("data/0", 1 << 30)];
    let talk = |pieces: &[&[u8]]| {
        let (mut negotiation, mut out, mut buffer) = (Negotiation::default(), Vec::new(), Vec::new());
        let mut last = NegotiationStep::More;
        for piece in pieces {
            buffer.extend_from_slice(piece);
            let mut input = &buffer[..];
            loop {
                last = negotiation.feed(&mut input, &exports, &mut out);
                if last != NegotiationStep::Next {
                    break;
                }
            }
            if last != NegotiationStep::More {
                break;
            }
            let left = input.len();
            buffer.drain(..buffer.len() - left);
        }
        (out, last)
    };
    let whole = talk(&[bytes]);
    let (first, second) = bytes.split_at(bytes.len() / 2);
    assert_eq!(talk(&[first, second]), whole);
    let options = (bytes.len() / 16).min(OPTIONS_MAX as usize);
    assert!(whole.0.len() <= options * 512, "{} bytes answer {options} options", whole.0.len());
    if let NegotiationStep::Transmit(agreement) = whole.1 {
        assert!(agreement.export < exports.len());
        assert!(!agreement.allocation || agreement.form != ReplyForm::Simple);
    }
}

/// A client's requests, of a form that the first byte chooses, become the same messages however they are cut; what is let
/// through lies within the export.
pub fn nbd_requests(bytes: &[u8]) {
    let Some((form, bytes)) = bytes.split_first() else { return };
    let knows_block_sizes = *form < 128;
    // The second one ends where numbers do.
    let size = if *form & 64 == 0 { 1 << 30 } else { u64::MAX - 511 };
    let form = [ReplyForm::Simple, ReplyForm::Structured, ReplyForm::Extended][usize::from(*form) % 3];
    let rules = Rules { size, form, allocation: form != ReplyForm::Simple, knows_block_sizes };
    let within = |request: &NbdRequest| {
        assert!(request.offset.checked_add(request.length).is_some_and(|end| end <= size), "{request:?}");
        assert!(!knows_block_sizes || request.offset.is_multiple_of(u64::from(BLOCK_MIN)), "{request:?}");
        if request.command == Command::Read {
            // What stands before its bytes tells all of them.
            let mut header = Vec::new();
            ReplyTo { form, cookie: request.cookie, offset: request.offset }.data(&mut header, request.length);
            let told = header.get(16..20).map(|told| u32::from_be_bytes(told.try_into().expect("four bytes")));
            assert!(form != ReplyForm::Structured || told.map(u64::from) == Some(request.length + 8), "{request:?}");
        }
    };
    let messages = |pieces: &[&[u8]]| {
        let (mut incoming, mut buffer, mut found) = (Incoming::new(rules), Vec::new(), Vec::new());
        let mut data: Vec<u8> = Vec::new();
        for piece in pieces {
            buffer.extend_from_slice(piece);
            let mut input = &buffer[..];
            loop {
                match incoming.next(&mut input) {
                    Ok(None) => break,
                    Ok(Some(Message::Data { offset, bytes, whole })) => {
                        assert!(!bytes.is_empty() && offset + bytes.len() as u64 <= size);
                        data.extend_from_slice(bytes);
                        if let Some(request) = whole {
                            within(&request);
                            assert_eq!(data.len() as u64, request.length);
                            found.push(format!("{request:?} {}", data.escape_ascii()));
                            data.clear();
                        }
                    }
                    Ok(Some(message)) => {
                        if let Message::Request(request) = &message {
                            within(request);
                        }
                        found.push(format!("{message:?}"));
                        if message == Message::Disconnect {
                            return found;
                        }
                    }
                    Err(violation) => {
                        found.push(violation.to_string());
                        return found;
                    }
                }
                assert!(data.len() <= PAYLOAD_MAX as usize);
            }
            let left = input.len();
            buffer.drain(..buffer.len() - left);
        }
        found
    };
    let (first, second) = bytes.split_at(bytes.len() / 2);
    assert_eq!(messages(&[first, second]), messages(&[bytes]));
}

/// A text is refused with places in it, or is a plan whose cells all keep the rules of a load and tell themselves apart.
pub fn plan_parse(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Plan::parse(text, "input.toml") {
        Ok(plan) => {
            for (cell, _) in plan.cells() {
                assert_eq!(cell.check(), Ok(()), "{cell:?}");
                assert!(!cell.to_string().is_empty());
            }
            assert_eq!(Plan::parse(text, "input.toml").as_ref(), Ok(&plan), "the same text is the same plan");
        }
        Err(error) => {
            assert!(!error.problems.is_empty());
            let lines = text.lines().count().max(1);
            for problem in &error.problems {
                // The end of a text that ends in a line feed is the start of a line that `lines` does not count.
                assert!((1..=lines + 1).contains(&problem.line), "{problem:?} lies outside {lines} lines");
                assert!(problem.column >= 1 && !problem.message.is_empty(), "{problem:?}");
            }
            assert!(error.to_string().starts_with("input.toml:"), "{error}");
        }
    }
}

/// A text is refused by every quantity, or printed so that it parses to the same value.
pub fn units(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    round_trip::<Bytes>(text);
    round_trip::<ByteRate>(text);
    round_trip::<Iops>(text);
    round_trip::<Duration>(text);
    round_trip::<Ratio>(text);
}

fn round_trip<T: FromStr + Display + Debug + PartialEq>(text: &str)
where
    T::Err: Display,
{
    match text.parse::<T>() {
        Ok(value) => {
            let printed = value.to_string();
            assert_eq!(printed.parse::<T>().ok().as_ref(), Some(&value), "{text:?} was printed as {printed:?}");
        }
        Err(error) => assert!(!error.to_string().is_empty(), "{text:?} was refused without a word"),
    }
}
