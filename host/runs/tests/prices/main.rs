//! Price lists over the network, from a server of recorded answers that is well-behaved, broken or hostile.

mod server;

use flate2::Compression;
use flate2::write::GzEncoder;
use loadline_catalog::{Catalog, Currency, ListRefusal};
use loadline_offers::{GaveUp, Provider, WalkError};
use loadline_runs::prices::{
    AddressError, ApiKey, FetchError, FetchedUpdate, KeyError, LeftOutProvider, PageError, UpdatedList, WhyLeftOut,
};
use loadline_units::Duration as Span;
use loadline_web::WebError;
use serde_json::{Value, json};
use server::{Asked, Bench, Reply, Server, reply};
use std::collections::BTreeMap;
use std::error::Error as _;
use std::io::Write as _;
use std::sync::OnceLock;
use std::time::Duration;

const MACHINES: &str = include_str!("../../../../pure/strangers/offers/tests/corpus/azure-machines.json");
const DISKS: &str = include_str!("../../../../pure/strangers/offers/tests/corpus/azure-disks.json");
const SKUS: &str = include_str!("../../../../pure/strangers/offers/tests/corpus/gcp-skus.json");
const AWS_MACHINES: &str = include_str!("../../../../pure/strangers/offers/tests/corpus/aws-page-machines.json");
const AWS_DISKS: &str = include_str!("../../../../pure/strangers/offers/tests/corpus/aws-page-ebs.json");
/// Requests for two lists in one page each, whose walks are made three times.
const TWO_LISTS: usize = 2 * 3;

fn machines() -> String {
    MACHINES.replace("francecentral", "xx-test-1")
}

fn disks() -> String {
    DISKS.replace("westeurope", "xx-test-1")
}

fn is_for_disks(asked: &Asked) -> bool {
    asked.target.contains("%27Storage%27")
}

/// Both lists, each in one page.
fn whole(asked: &Asked) -> Reply {
    reply(200, "", if is_for_disks(asked) { disks() } else { machines() })
}

/// The items of an answer from one on, some of them, with the address of the next page.
fn part_of(text: &str, from: usize, count: usize, next: Option<&str>) -> String {
    let mut answer: Value = serde_json::from_str(text).unwrap();
    let items: Vec<Value> = answer["Items"].as_array().unwrap().iter().skip(from).take(count).cloned().collect();
    answer["Items"] = items.into();
    answer["NextPageLink"] = json!(next);
    answer.to_string()
}

/// Machines of which the first page leads to `link`; disks in one page.
fn leading_to(link: &'static str) -> impl Fn(&Asked) -> Reply + Send + 'static {
    move |asked| {
        if is_for_disks(asked) { whole(asked) } else { reply(200, "", part_of(&machines(), 0, 20, Some(link))) }
    }
}

/// The place in the answer that a page begins with.
fn skipped(asked: &Asked) -> usize {
    asked.target.split("$skip=").nth(1).map_or(0, |skip| skip.parse().unwrap())
}

/// The prices that the saved answers are kept as.
fn expected() -> Bench {
    let bench = Bench::new();
    bench.keep(vec![bench.file("machines.json", &machines()), bench.file("disks.json", &disks())]);
    bench
}

fn assert_whole(bench: &Bench) {
    static EXPECTED: OnceLock<BTreeMap<String, Vec<String>>> = OnceLock::new();
    assert_eq!(&bench.prices(), EXPECTED.get_or_init(|| expected().prices()));
    assert!(bench.prices().values().all(|lines| lines.len() > 3), "{:?}", bench.prices());
    assert!(!bench.shelf().folder().join(".fetched").exists(), "the journal is still there");
}

/// The one address without an answer, which is that of machines.
fn failed(fetched: Result<FetchedUpdate, FetchError>) -> AddressError {
    let mut failed = fetched.unwrap().failed;
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert_eq!(failed[0].file, "azure-xx-test-1-machines");
    failed.remove(0).error
}

fn gave_up(error: AddressError) -> (GaveUp, Option<WebError>) {
    match error {
        AddressError::Page(PageError::GaveUp { why, source }) => (why, source),
        other => panic!("{other}"),
    }
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Answers the first requests for machines so, and all others well.
fn first(answers: Vec<Reply>) -> impl Fn(&Asked) -> Reply + Send + 'static {
    move |asked| answers.get(asked.number).cloned().unwrap_or_else(|| whole(asked))
}

#[test]
fn linked_pages_become_the_list_that_a_saved_answer_becomes() {
    let server = Server::new(|asked| {
        if is_for_disks(asked) {
            return whole(asked);
        }
        let from = skipped(asked);
        // The port of the links that Azure sends.
        let next = format!("https://prices.azure.com:443/api/retail/prices?page&$skip={}", from + 25);
        reply(200, "", part_of(&machines(), from, 25, (from < 50).then_some(next.as_str())))
    });
    let bench = Bench::new();
    let fetched = bench.fetch(&server).unwrap();
    assert!(fetched.failed.is_empty() && fetched.left_out.is_empty(), "{fetched:?}");
    // A walk that added nothing leaves no answer: what is read is one walk.
    assert_eq!(fetched.done[0].answers.values().sum::<usize>(), 3 + 1);
    assert_whole(&bench);
    assert_eq!(server.asked().len(), 3 * (3 + 1));
    let heard = &server.asked()[0];
    assert!(heard.text.contains("\r\nhost: prices.azure.com\r\n"), "{heard:?}");
    assert_eq!(server.asked()[1].target, "/api/retail/prices?page&$skip=25");
    assert_eq!(bench.paused(), 0);
}

#[test]
fn links_that_lead_away_or_back_are_not_followed() {
    for link in [
        "https://prices.azure.com.example/api/retail/prices?$skip=20",
        "https://prices.azure.com@example.org/$skip=20",
        "https://prices.azure.com:444/$skip=20",
        "http://prices.azure.com/api/retail/prices?$skip=20",
        "//prices.azure.com/api/retail/prices?$skip=20",
        "file:///etc/passwd",
    ] {
        let bench = Bench::new();
        let server = Server::new(leading_to(link));
        let error = failed(bench.fetch(&server));
        assert!(matches!(&error, AddressError::Walk(WalkError::OtherHost { .. })), "{link}: {error}");
        assert_eq!(server.asked().len(), 1 + TWO_LISTS / 2, "{link}");
        assert_eq!(bench.prices().len(), 1, "machines are kept of {link}");
    }
    let bench = Bench::new();
    let server = Server::new(leading_to("https://prices.azure.com/api/retail/prices?again"));
    let error = failed(bench.fetch(&server));
    assert!(matches!(&error, AddressError::Walk(WalkError::Back { page: 2 })), "{error}");
}

#[test]
fn a_walk_without_an_end_is_ended() {
    let mut bench = Bench::new();
    bench.bounds.pages = 7;
    let server = Server::new(|asked| {
        if is_for_disks(asked) {
            return whole(asked);
        }
        let next = format!("https://prices.azure.com/api/retail/prices?$skip={}", skipped(asked) + 1);
        reply(200, "", part_of(&machines(), 0, 20, Some(&next)))
    });
    let error = failed(bench.fetch(&server));
    assert!(matches!(&error, AddressError::Walk(WalkError::Endless(7))), "{error}");
    assert_eq!(server.asked().len(), 7 + TWO_LISTS / 2);
}

#[test]
fn a_server_that_is_overloaded_is_left_alone_as_long_as_it_asks() {
    for (headers, paused) in [
        ("Retry-After: 7\r\n", 7),
        ("", 15),
        ("Retry-After: soon\r\n", 15),
        ("Retry-After: Sun, 29 Nov 2026 10:00:42 GMT\r\n", 42),
        ("Retry-After: Sun, 29 Nov 2026 09:00:00 GMT\r\n", 0),
    ] {
        for status in [429, 503] {
            let bench = Bench::new();
            let server = Server::new(first(vec![reply(status, headers, "slow down")]));
            bench.fetch(&server).unwrap();
            assert_eq!(bench.paused(), paused, "{status} {headers:?}");
            assert_eq!(server.asked().len(), TWO_LISTS + 1);
            assert_whole(&bench);
        }
    }
    for headers in ["Retry-After: 31536000\r\n", "Retry-After: Mon, 29 Nov 2027 10:00:00 GMT\r\n"] {
        let bench = Bench::new();
        let (why, _) = gave_up(failed(bench.fetch(&Server::new(first(vec![reply(429, headers, "")])))));
        let year = Span::from_s(31_536_000);
        assert_eq!(why, GaveUp::Wait { status: 429, asked: year, most: Span::from_s(300) });
        assert_eq!(bench.paused(), 0);
    }
    // One that is always overloaded: 15, 30, 60 and 120 s, and no fifth pause.
    let bench = Bench::new();
    let (why, _) = gave_up(failed(bench.fetch(&Server::new(first(vec![reply(429, "", ""); 5])))));
    assert_eq!((why, bench.paused()), (GaveUp::Tries(5), 225));
}

#[test]
fn errors_that_pass_are_waited_out_and_others_are_not() {
    let bench = Bench::new();
    bench.fetch(&Server::new(first(vec![reply(500, "", ""), reply(502, "", "")]))).unwrap();
    assert_eq!(bench.paused(), 1 + 2);
    assert_whole(&bench);
    for (status, expected) in [(404, GaveUp::Status(404)), (301, GaveUp::Redirect(301)), (307, GaveUp::Redirect(307))] {
        let bench = Bench::new();
        let server = Server::new(first(vec![reply(status, "Location: https://prices.azure.com/elsewhere\r\n", "")]));
        assert_eq!(gave_up(failed(bench.fetch(&server))).0, expected);
        assert_eq!((server.asked().len(), bench.paused()), (1 + TWO_LISTS / 2, 0));
        // The others' pages stay for the next time, which asks for the missing one alone.
        assert_eq!(bench.journal().len(), 3);
        bench.fetch(&server).unwrap();
        assert_eq!(server.asked().len(), 1 + TWO_LISTS);
        assert_whole(&bench);
    }
}

#[test]
fn a_wrong_key_is_shown_nowhere() {
    let mut bench = Bench::new();
    let secret = "AIzaSy-very_secret";
    bench.key = Some(ApiKey::read(&bench.file("key", &format!("{secret}\n"))).unwrap());
    (bench.provider, bench.regions) = (Provider::Gcp, vec!["us-central1".to_owned()]);
    for status in [400, 403] {
        let refusal = format!("{{\"error\":{{\"message\":\"{secret} is no key\"}}}}");
        let server = Server::new(move |_| reply(status, "", &refusal));
        let fetched = bench.fetch(&server).unwrap();
        let error = &fetched.failed[0].error;
        assert!(matches!(error, AddressError::Page(PageError::Key(found)) if *found == status), "{error}");
        assert_eq!(server.asked().len(), 1);
        let asked = &server.asked()[0];
        assert!(asked.text.contains(&format!("\r\nx-goog-api-key: {}\r\n", secret.to_lowercase())), "{asked:?}");
        assert!(!asked.target.contains(secret));
        let shown = format!("{fetched:?} {error} {:?} {:?}", error.source().map(ToString::to_string), bench.key);
        assert!(!shown.contains(secret) && !bench.has_text(secret), "{shown}");
    }
    for no_key in ["", "two keys", "key\r\nX-Other: 1", "\u{fffd}", &"k".repeat(2_000)] {
        let error = ApiKey::read(&bench.file("key", no_key)).unwrap_err();
        assert!(matches!(error, KeyError::NoKey), "{no_key:?}: {error}");
    }
}

#[test]
fn pages_with_tokens_follow_one_another() {
    let mut bench = Bench::new();
    bench.key = Some(ApiKey::read(&bench.file("key", "k")).unwrap());
    (bench.provider, bench.regions) = (Provider::Gcp, vec!["us-central1".to_owned()]);
    let server = Server::new(|asked| {
        let mut answer: Value = serde_json::from_str(SKUS).unwrap();
        answer["nextPageToken"] = json!(if asked.number == 0 { "a/b=&c" } else { "" });
        reply(200, "", answer.to_string())
    });
    let fetched = bench.fetch(&server).unwrap();
    assert!(fetched.failed.is_empty(), "{fetched:?}");
    assert_eq!(fetched.done[0].answers.values().sum::<usize>(), 2);
    let asked: Vec<String> = server.asked().into_iter().map(|asked| asked.target).collect();
    assert_eq!(asked[1], format!("{}&pageToken=a%2Fb%3D%26c", asked[0]));
    assert_eq!(asked.len(), 2, "walks over tokens lose nothing");
    // A token that comes again.
    let server = Server::new(|_| {
        let mut answer: Value = serde_json::from_str(SKUS).unwrap();
        answer["nextPageToken"] = json!("again");
        reply(200, "", answer.to_string())
    });
    let fetched = bench.fetch(&server).unwrap();
    let error = &fetched.failed[0].error;
    assert!(matches!(error, AddressError::Walk(WalkError::Back { page: 2 })), "{error}");
}

#[test]
fn the_addresses_of_the_printed_commands_are_asked_for_and_no_others() {
    let mut bench = Bench::new();
    (bench.provider, bench.regions) = (Provider::Aws, vec!["EU (Frankfurt)".to_owned()]);
    let server = Server::new(|asked| reply(200, "", if asked.number == 0 { AWS_DISKS } else { AWS_MACHINES }));
    let fetched = bench.fetch(&server).unwrap();
    let asked: Vec<String> = server.asked().into_iter().map(|asked| asked.target).collect();
    let printed = loadline_offers::addresses(Provider::Aws, &["eu-central-1".to_owned()], None);
    let printed: Vec<&str> =
        printed.iter().map(|it| it.url.strip_prefix("https://b0.p.awsstatic.com").unwrap()).collect();
    assert_eq!(asked, printed);
    // The recorded answer is of 2024, and the guards of saved answers judge.
    let lists: Vec<_> = fetched.done.iter().flat_map(|of| &of.lists).collect();
    assert!(!lists.is_empty() && lists.iter().all(|list| list.found.list.region == "eu-central-1"));
    let refusals = |list: &&UpdatedList| list.found.refusals.iter().map(ListRefusal::name).collect::<Vec<_>>();
    let refusals: Vec<Vec<&str>> = lists.iter().map(refusals).collect();
    assert!(refusals.iter().any(|of| of.contains(&"older-than")), "{refusals:?}");
    assert!(bench.journal().is_empty() && bench.prices().is_empty());
}

#[test]
fn what_cannot_be_asked_is_said() {
    let mut bench = Bench::new();
    let server = Server::new(whole);
    let named = bench.fetch_of(&server, vec![Provider::Gcp]).unwrap_err();
    let no_key = LeftOutProvider { provider: Provider::Gcp, why: WhyLeftOut::NoKey };
    assert!(matches!(named, FetchError::LeftOut(left_out) if left_out == no_key), "{named}");
    bench.regions = vec!["westeurop".to_owned()];
    let unknown = bench.fetch_of(&server, Vec::new()).unwrap_err();
    assert!(
        matches!(&unknown, FetchError::UnknownRegion { near: Some(near), .. } if near == "westeurope"),
        "{unknown}"
    );
    assert!(server.asked().is_empty());
    // Of a region of Azure, Azure alone is asked.
    bench.regions = vec!["West Europe".to_owned()];
    let fetched = bench.fetch_of(&server, Vec::new());
    assert!(server.asked().iter().all(|asked| asked.text.contains("host: prices.azure.com")));
    assert!(matches!(fetched, Err(FetchError::Update(_))), "nothing in the answers is of westeurope: {fetched:?}");
}

#[test]
fn packed_pages_are_read_and_a_bomb_is_not() {
    let bench = Bench::new();
    let server = Server::new(|asked| {
        let body = if is_for_disks(asked) { disks() } else { machines() };
        reply(200, "Content-Encoding: gzip\r\n", packed(body.as_bytes()))
    });
    bench.fetch(&server).unwrap();
    assert_whole(&bench);

    let mut bench = Bench::new();
    bench.bounds.bytes = 200_000;
    let bomb = packed(format!("{{\"Items\":[{}]}}", " ".repeat(1 << 20)).as_bytes());
    assert!(bomb.len() < 5_000);
    let error = failed(bench.fetch(&Server::new(first(vec![reply(200, "Content-Encoding: gzip\r\n", bomb)]))));
    let shown = format!("{error}");
    assert!(matches!(error, AddressError::Answer { page: 1, .. }) && shown.contains("unpacked"), "{shown}");

    for (headers, body) in [("", vec![b' '; 200_001]), ("Content-Encoding: br\r\n", vec![1])] {
        let error = failed(bench.fetch(&Server::new(first(vec![reply(200, headers, body)]))));
        let is_said = matches!(&error, AddressError::Page(PageError::TooLarge(_) | PageError::Coding(_)));
        assert!(is_said, "{error}");
    }
    // The same without a length: no more than the bound is written.
    let endless = [b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n".to_vec(), vec![b' '; 1 << 20]].concat();
    let error = failed(bench.fetch(&Server::new(first(vec![Reply::Cut(endless)]))));
    assert!(matches!(&error, AddressError::Page(PageError::TooLarge(_))), "{error}");
}

/// The head of an answer of so many bytes, with a tag, and the first of its bytes.
fn cut(status: u16, headers: &str, body: &str, length: usize, sent: usize) -> Reply {
    let head = format!("HTTP/1.1 {status} X\r\n{headers}Content-Length: {length}\r\n\r\n");
    Reply::Cut([head.as_bytes(), &body.as_bytes()[..sent]].concat())
}

#[test]
fn lengths_that_are_wrong_keep_nothing() {
    let text = machines();
    let all = text.len();
    // Too small: what is stated is no whole answer.
    let bench = Bench::new();
    let small = cut(200, "", &text, all - 100, all);
    let error = failed(bench.fetch(&Server::new(first(vec![small]))));
    assert!(matches!(&error, AddressError::Answer { page: 1, .. }), "{error}");
    assert!(!bench.prices().contains_key("azure xx-test-1 machines"));
    // Too large: it ends before its end, each time.
    let bench = Bench::new();
    let (why, source) = gave_up(failed(bench.fetch(&Server::new(first(vec![cut(200, "", &text, all + 1, all); 5])))));
    assert_eq!((why, bench.paused()), (GaveUp::Tries(5), 1 + 2 + 4 + 8));
    assert!(matches!(source, Some(WebError::ShortBody)), "{source:?}");
    // Two lengths.
    let bench = Bench::new();
    let two = cut(200, "Content-Length: 3\r\n", &text, all, all);
    let (why, source) = gave_up(failed(bench.fetch(&Server::new(first(vec![two; 5])))));
    assert!(why == GaveUp::Tries(5) && matches!(source, Some(WebError::TwoLengths)), "{source:?}");
}

#[test]
fn a_page_that_is_cut_goes_on_where_it_was_if_it_is_still_the_same() {
    let text = machines();
    let (all, sent) = (text.len(), text.len() * 6 / 10);
    let rest = |from: usize, etag: &str| {
        let headers = format!("ETag: {etag}\r\nContent-Range: bytes {from}-{}/{all}\r\n", all - 1);
        reply(206, &headers, &machines()[from..])
    };
    for (etag, second, asked_for) in [
        ("\"a\"", rest(sent, "\"a\""), Some("\"a\"")),
        // Another one by now: it comes anew, and its beginning is not the old one.
        ("\"a\"", reply(200, "ETag: \"b\"\r\n", &text), Some("\"a\"")),
        // A weak tag is no promise about bytes, and without one there is none.
        ("W/\"a\"", reply(200, "", &text), None),
        ("", reply(200, "", &text), None),
    ] {
        let bench = Bench::new();
        let begun = "x".repeat(sent);
        let begun = if second_is_rest(&second) { &text } else { &begun };
        let server = Server::new(first(vec![cut(200, &format!("ETag: {etag}\r\n"), begun, all, sent), second]));
        bench.fetch(&server).unwrap();
        assert_whole(&bench);
        let asked = &server.asked()[1].text;
        match asked_for {
            Some(tag) => {
                assert!(asked.contains(&format!("\r\nrange: bytes={sent}-\r\nif-range: {tag}\r\n")), "{asked}");
            }
            None => assert!(!asked.contains("range:"), "{asked}"),
        }
    }
    // A rest of another place or of another page is not put behind it: the page comes anew.
    for wrong in [rest(sent - 7, "\"a\""), rest(sent, "\"b\""), reply(416, "", "")] {
        let bench = Bench::new();
        let server = Server::new(first(vec![cut(200, "ETag: \"a\"\r\n", &text, all, sent), wrong]));
        bench.fetch(&server).unwrap();
        assert_whole(&bench);
        assert!(!server.asked()[2].text.contains("range:"));
    }
}

fn second_is_rest(reply: &Reply) -> bool {
    matches!(reply, Reply::Send(bytes) if bytes.starts_with(b"HTTP/1.1 206"))
}

#[test]
fn a_server_that_falls_silent_is_not_waited_for() {
    let mut bench = Bench::new();
    bench.request_time = Duration::from_millis(150);
    bench.bounds.tries = 2;
    let silent = b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{\"Items\"".to_vec();
    let server = Server::new(move |_| Reply::Hang(silent.clone()));
    let fetched = bench.fetch(&server).unwrap();
    for of in fetched.failed {
        let (why, source) = gave_up(of.error);
        assert!(why == GaveUp::Tries(2) && matches!(source, Some(WebError::LateBody)), "{source:?}");
    }
    assert_eq!(server.asked().len(), 2 * 2);
}

#[test]
fn a_server_that_is_not_there_ends_the_fetch() {
    let bench = Bench::new();
    let server = Server::new(|_| Reply::Cut(Vec::new()));
    let fetched = bench.fetch(&server);
    assert!(fetched.is_ok_and(|fetched| fetched.failed.len() == 2), "an answer of nothing is one of this address");
    let error = bench.fetch(&Server::absent()).unwrap_err();
    let is_named = matches!(&error, FetchError::Ended { pages: 0, source: PageError::NotReached { host, .. }, .. } if host == "prices.azure.com");
    assert!(is_named, "{error:?}");
}

#[test]
fn the_time_for_all_has_an_end_and_the_next_fetch_goes_on() {
    let mut bench = Bench::new();
    bench.bounds.time = Span::from_s(500);
    // After the machines' first walk: 300 s, and 300 s more would be too long.
    let server = Server::new(|asked| match asked.number {
        1 | 2 => reply(503, "Retry-After: 300\r\n", ""),
        _ => whole(asked),
    });
    let error = bench.fetch(&server).unwrap_err();
    assert!(matches!(&error, FetchError::Ended { pages: 1, source: PageError::Late, .. }), "{error:?}");
    assert_eq!(bench.journal().len(), 1);
    bench.fetch(&server).unwrap();
    assert_eq!(server.asked().len(), TWO_LISTS + 2);
    assert_whole(&bench);
}

#[test]
fn a_fetch_that_was_ended_goes_on_where_it_was() {
    let mut bench = Bench::new();
    let server = Server::new(whole);
    for page in 1..=TWO_LISTS {
        bench.ends_before = Some(page);
        let error = bench.fetch(&server).unwrap_err();
        assert!(matches!(&error, FetchError::Ended { source: PageError::Stopped, .. }), "{error:?}");
        // What a kill leaves: half of a page, without its name.
        std::fs::write(bench.shelf().folder().join(".fetched/part"), "{\"Items\":[{").unwrap();
        assert!(bench.prices().is_empty());
    }
    let before = server.asked().len();
    bench.ends_before = None;
    bench.fetch(&server).unwrap();
    assert!(before >= TWO_LISTS - 1 && server.asked().len() == TWO_LISTS, "no page is asked for twice");
    assert_whole(&bench);
}

#[test]
fn a_journal_of_another_day_or_another_currency_is_not_gone_on_with() {
    let mut bench = Bench::new();
    let server = Server::new(whole);
    bench.ends_before = Some(3);
    bench.fetch(&server).unwrap_err();
    let before = server.asked().len();
    bench.clock.set(86_401);
    bench.ends_before = None;
    bench.fetch(&server).unwrap();
    assert_eq!(server.asked().len(), before + TWO_LISTS);
    assert_whole(&bench);

    let mut bench = Bench::new();
    bench.ends_before = Some(3);
    bench.fetch(&server).unwrap_err();
    let before = server.asked().len();
    bench.currency = Currency::parse("EUR");
    bench.ends_before = None;
    bench.fetch(&server).unwrap();
    let asked = &server.asked()[before..];
    assert!(asked.len() == TWO_LISTS && asked.iter().all(|asked| asked.target.contains("currencyCode=%27EUR%27")));
    assert!(bench.prices().is_empty(), "the server has but USD");
}

/// With a blank after each key.
fn pretty(text: &str) -> String {
    serde_json::to_string_pretty(&serde_json::from_str::<Value>(text).unwrap()).unwrap()
}

#[test]
fn hostile_answers_meet_the_guards_of_saved_ones() {
    for (from, to, refusal) in [
        ("\"retailPrice\": 0.0944,", "\"retailPrice\": 0,", "zero"),
        ("\"currencyCode\": \"USD\"", "\"currencyCode\": \"EUR\"", "other-currency"),
    ] {
        let bench = expected();
        let before = bench.prices();
        let (machines, disks) = (pretty(&machines()).replace(from, to), pretty(&disks()).replace(from, to));
        let server = Server::new(move |asked| reply(200, "", if is_for_disks(asked) { &disks } else { &machines }));
        let fetched = bench.fetch(&server).unwrap();
        let lists = fetched.done.iter().flat_map(|of| &of.lists);
        let refusals: Vec<&str> = lists.flat_map(|list| list.found.refusals.iter().map(ListRefusal::name)).collect();
        assert!(refusals.contains(&refusal), "{refusal}: {refusals:?}");
        assert_eq!(bench.prices(), before);
    }
    for body in [
        pretty(&machines()).replace("\"retailPrice\": ", "\"retailPrice\": \"NaN\", \"x\": "),
        "[".repeat(10_000),
        "<html>busy</html>".to_owned(),
        String::new(),
    ] {
        let bench = Bench::new();
        let error = failed(bench.fetch(&Server::new(first(vec![reply(200, "", body)]))));
        assert!(matches!(&error, AddressError::Answer { page: 1, .. }), "{error}");
    }
    // Another provider's prices from this host.
    let bench = Bench::new();
    let error = failed(bench.fetch(&Server::new(first(vec![reply(200, "", AWS_MACHINES)]))));
    assert!(matches!(&error, AddressError::Walk(WalkError::OtherForm(_))), "{error}");
}

/// Machines of the catalog, each with a price, and the anchors that a whole list has.
fn many_machines() -> Vec<Value> {
    let names: Vec<String> =
        Catalog::builtin().vms().iter().filter_map(|vm| vm.name.strip_prefix("azure/")).map(str::to_owned).collect();
    let sample: Value = serde_json::from_str(&machines()).unwrap();
    let one = |name: &String| {
        let mut item = sample["Items"][0].clone();
        for (key, value) in [
            ("armSkuName", json!(format!("Standard_{name}"))),
            ("meterName", json!(name)),
            ("skuName", json!(name)),
            ("productName", json!("Virtual Machines")),
            ("type", json!("Consumption")),
            ("retailPrice", json!(0.5)),
        ] {
            item[key] = value;
        }
        item
    };
    names.iter().map(one).collect()
}

/// A server that loses a row of machines where `loses` says so, by the request and the row.
fn losing(items: Vec<Value>, loses: impl Fn(usize, usize) -> bool + Send + 'static) -> Server {
    Server::new(move |asked| {
        if is_for_disks(asked) {
            return whole(asked);
        }
        let from = skipped(asked);
        let rows = items.iter().enumerate().skip(from).take(100);
        let rows: Vec<&Value> = rows.filter(|(row, _)| !loses(asked.number, *row)).map(|(_, item)| item).collect();
        let next = format!("https://prices.azure.com:443/api/retail/prices?$skip={}", from + 100);
        let next = (from + 100 < items.len()).then_some(next);
        reply(200, "", json!({ "BillingCurrency": "USD", "Items": rows, "NextPageLink": next }).to_string())
    })
}

#[test]
fn walks_that_lose_rows_are_whole_together_or_refused() {
    let items = many_machines();
    let names = items.len();
    assert!(names > 500);
    let machines = |bench: &Bench| bench.prices()["azure xx-test-1 machines"].len();
    let bench = Bench::new();
    bench.fetch(&losing(items.clone(), |_, _| false)).unwrap();
    let all = machines(&bench);
    for seed in 1..=5_u64 {
        let server = losing(items.clone(), move |request, row| {
            let mixed = (seed << 40 ^ (request as u64) << 20 ^ row as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (mixed >> 32).is_multiple_of(10)
        });
        let bench = Bench::new();
        bench.fetch(&server).unwrap();
        assert_eq!(machines(&bench), all, "seed {seed}");
        assert!(server.asked().len() > 3 * names.div_ceil(100), "walks that add rows are followed by others");
    }
    // Rows that never come: the list that was there stays.
    let server = losing(items, |_, row| row % 10 == 0);
    let fetched = bench.fetch(&server).unwrap();
    let list =
        fetched.done.iter().flat_map(|of| &of.lists).find(|list| list.found.list.family() == "machines").unwrap();
    assert!(list.found.refusals.iter().any(|refusal| refusal.name() == "too-few"), "{:?}", list.found.refusals);
    assert_eq!(machines(&bench), all);
}
