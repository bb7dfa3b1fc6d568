//! An advice in words, as a page, and as a document.

use loadline_advise::{
    Advice, AdviceOptions, Need, NotLookedAt, Rates, ReplayedFigures, ReplayedRange, RequestTiming, advise,
};
use loadline_catalog::Catalog;
use loadline_report::words::advice::{
    advice_lines, advice_rows, advice_sections, advice_table, advice_verdict, give_way,
};
use loadline_report::{About, Colour, Columns, Draft, TerminalOptions, advice_document, advice_html};
use loadline_units::{Bytes, Duration};
use loadline_workload::{LatencyFigure, Objective};

fn advised(simulate: bool) -> Advice {
    let rates = Rates { reads_per_s: 6_300.0, writes_per_s: 2_700.0, read_size: 8192.0, write_size: 8192.0 };
    let mut need = Need::steady("orders", rates, Bytes::gib(500));
    need.objective = Some(Objective { of: LatencyFigure::P99, limit: Duration::from_ms(10) });
    need.wanted.providers = vec!["azure".to_owned()];
    let options = AdviceOptions { simulate, rows: 2, ..AdviceOptions::default() };
    advise(&need, &Catalog::builtin(), &options).unwrap()
}

fn text(advice: &Advice, about: &About) -> Option<String> {
    advice_lines(advice).into_iter().find(|line| line.about == *about).map(|line| line.text)
}

#[test]
fn the_verdict_says_what_to_take_for_which_need() {
    let advice = advised(true);
    let winner = advice.winner().unwrap();
    assert!(advice_lines(&advice).len() <= 9 && advice_verdict(&advice).starts_with("Take azure/"));
    let need = text(&advice, &About::Need).unwrap();
    assert_eq!(need, "9,000 IOPS of 8 KiB, 70 % reads (73.73 MB/s) on 500 GiB; p99 of 10 ms.");
    let take = text(&advice, &About::Take).unwrap();
    assert!(take.contains(&winner.sized_words()) && take.contains("of which the system's disk is "), "{take}");
}

#[test]
fn limits_alone_say_so_and_what_was_left_out_is_named_where_nothing_meets_the_need() {
    let mut advice = advised(false);
    assert!(text(&advice, &About::Need).unwrap().ends_with("; limits alone were judged, no latency."));
    advice.candidates.clear();
    advice.unpriced.clear();
    advice.not_looked_at.push(NotLookedAt::MachinesWithoutMemory { provider: "gcp".to_owned(), count: 3 });
    assert!(advice_verdict(&advice).starts_with("Nothing among "));
    let left_out = text(&advice, &About::LeftOut).unwrap();
    let wanted =
        "3 machines of gcp without a known memory: a need that asks for no memory and no vCPUs looks at them, too.";
    assert_eq!(left_out, wanted);
}

#[test]
fn recorded_requests_stand_beside_what_they_would_meet() {
    let mut advice = advised(false);
    let of = |by, middle, keeps| {
        let p99_ns = ReplayedRange { middle, low: middle, high: middle };
        ReplayedFigures { by, requests: 3_000, iops: 2_300.0, flushes_per_s: None, p99_ns, keeps }
    };
    advice.recorded = Some(of(RequestTiming::Recorded, 16_000_000, None));
    for row in &mut advice.candidates {
        row.replayed = vec![of(RequestTiming::Answers, 14_000_000, Some(false))];
    }
    let line = text(&advice, &About::SameRequests).unwrap();
    let wanted = "The recorded requests would have there, after the answers that they waited for 2,300 IOPS, p99 14.0 ms. That breaks the \
                  objective for an application that waits for its answers. Recorded: 2,300 IOPS, p99 16.0 ms.";
    assert_eq!(line, wanted);
    let (_, rows) = &advice_sections(&advice)[0];
    assert_eq!(rows[..2], ["as recorded: 2,300 IOPS, p99 16.0 ms", "row 1: by answers 2,300 IOPS, p99 14.0 ms"]);
    assert!(advice_html(&advice).contains("<li>row 1: by answers 2,300 IOPS"));
    // Commits wait for flushes: what an application gets done follows these and not all requests.
    advice.recorded.as_mut().unwrap().flushes_per_s = Some(193.0);
    for row in &mut advice.candidates {
        row.replayed[0].flushes_per_s = Some(540.0);
    }
    let line = text(&advice, &About::SameRequests).unwrap();
    assert!(line.contains("waited for 2,300 IOPS, 540 flushes/s, p99 14.0 ms."), "{line}");
    assert!(
        line.ends_with(
            "Recorded: 2,300 IOPS, 193 flushes/s, p99 16.0 ms. Commits wait for flushes: 2.80 times as many."
        ),
        "{line}"
    );
}

#[test]
fn rows_fit_terminals_of_80_and_100_columns() {
    let advice = advised(false);
    for width in [80, 100] {
        let options = TerminalOptions { colour: Colour::Never, width, columns: Columns::Fitting };
        let mut draft = Draft::default();
        advice_rows(&mut draft, &advice.candidates, &options);
        let text = draft.whole();
        assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for row in &advice.candidates {
            assert!(words.contains(&row.words()) && words.contains(&row.price_words()), "{text}");
        }
    }
}

#[test]
fn the_page_has_what_the_terminal_has_and_scrolls_its_tables() {
    let advice = advised(false);
    let page = advice_html(&advice);
    assert!(page.contains("Take azure/") && page.ends_with("</html>\n"));
    assert!(advice_sections(&advice).iter().all(|(heading, _)| page.contains(heading)));
    // On a phone a table scrolls by itself, and the page does not.
    assert_eq!(page.matches("<table>").count(), page.matches("<div class=\"scroll\" tabindex=\"0\"><table>").count());
    assert_eq!(advice_table(&advice.candidates).csv().lines().count(), advice.candidates.len() + 1);
}

#[test]
fn the_document_is_as_its_schema_says() {
    let schema = serde_json::from_str(include_str!("../../../../docs/formats/advice.schema.json")).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let document = serde_json::to_value(advice_document(&advised(false))).unwrap();
    let problems: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
    assert!(problems.is_empty(), "{problems:?}");
    assert_eq!(document["left_out"].as_array().unwrap().len(), document["not_looked_at"].as_array().unwrap().len());
}

#[test]
fn lines_give_way_in_their_order_until_there_is_room() {
    let mut lines = vec![About::Take.says("a"), About::ForTests.says("b"), About::Cheaper.says("c")];
    give_way(&mut lines, &[About::ForTests, About::Cheaper], 2);
    assert_eq!(lines, [About::Take.says("a"), About::Cheaper.says("c")]);
}
