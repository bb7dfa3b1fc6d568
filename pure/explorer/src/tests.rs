//! Answers of both questions, as the page asks them.

use crate::session::{CatalogBundle, Session};
use loadline_catalog::CatalogTexts;
use serde_json::{Value, json};

fn session() -> Session {
    Session::open(&CatalogBundle::of(CatalogTexts::default())).unwrap()
}

fn answered(session: &mut Session, question: &Value) -> Value {
    serde_json::from_str(&session.answer(&question.to_string())).unwrap()
}

fn buy(words: &[[&str; 2]]) -> Value {
    json!({"ask": "buy", "words": words, "values": true})
}

/// A need on one provider, in words.
fn need<'a>(iops: &'a str, provider: &'a str) -> Vec<[&'a str; 2]> {
    vec![["iops", iops], ["reads", "70%"], ["block", "8KiB"], ["size", "500GiB"], ["provider", provider]]
}

#[test]
fn both_questions_name_one_limit_of_one_storage() {
    let mut session = session();
    let load = json!([["pattern", "random"], ["reads", "70%"], ["block", "8KiB"], ["p99", "20ms"], ["bursts", "full"]]);
    for provider in ["aws", "azure", "gcp"] {
        for iops in ["300", "2500", "9000", "30000", "90000"] {
            let answer = answered(&mut session, &buy(&need(iops, provider)));
            let sides = answer["sides"].as_array().unwrap();
            for (side, row) in sides.iter().zip(answer["values"]["candidates"].as_array().unwrap()) {
                let limit = row["binding"]["limit"].as_str().unwrap();
                let asked = json!({"ask": "storage", "words": load, "sides": [side], "values": true});
                let html = answered(&mut session, &asked)["html"].as_str().unwrap().to_owned();
                let verdict = html.split("</dd>").next().unwrap();
                let lasting = verdict.split("IOPS for good").last().unwrap();
                assert!(lasting.contains(&format!("({limit})")), "{provider} {iops}: {limit}: {verdict}");
            }
        }
    }
}

#[test]
fn the_verdict_the_table_and_the_chart_name_the_limit_alike() {
    let mut session = session();
    let load =
        json!([["pattern", "random"], ["reads", "70%"], ["block", "8KiB"], ["p99", "20ms"], ["bursts", "empty"]]);
    let side = json!([["vm", "azure/d4s-v5"], ["sku", "azure/premium-p30"], ["count", "2"]]);
    let asked = |row: usize| json!({"ask": "storage", "words": load, "sides": [side], "simulate": row});
    let mut html = String::new();
    for row in 0..11 {
        html = answered(&mut session, &asked(row))["html"].as_str().unwrap().to_owned();
        if row == 3 {
            assert!(html.contains("Deeper loads are not simulated yet"), "{html}");
        }
    }
    assert!(html.contains("6,528 IOPS at most, from 16 outstanding on: "), "{html}");
    let (verdict, rest) = html.split_once("</dd>").unwrap();
    assert!(verdict.contains("(burst-exhausted)") && verdict.contains("storage a"), "{verdict}");
    assert!(rest.contains("burst-exhausted</text>"), "the chart names it: {rest}");
    let (_, last) = rest.rsplit_once("<tr>").unwrap();
    assert!(last.contains("<td>burst-exhausted</td>"), "{last}");
    assert!(rest.contains("Burst-exhausted: the rate that is left"), "{rest}");
}

#[test]
fn spent_credits_are_no_limit_while_they_last() {
    let mut session = session();
    let load = json!([["pattern", "random"], ["reads", "70%"], ["block", "8KiB"], ["p99", "20ms"], ["bursts", "full"]]);
    let side = json!([["vm", "azure/d4s-v5"], ["sku", "azure/premium-p30"], ["count", "2"]]);
    let asked = json!({"ask": "storage", "words": load, "sides": [side], "simulate": 3});
    let html = answered(&mut session, &asked)["html"].as_str().unwrap().to_owned();
    assert!(html.contains("IOPS for good: ") && !html.contains("burst-exhausted at "), "{html}");
}

#[test]
fn an_objective_is_open_until_it_is_simulated() {
    let mut session = session();
    let mut words = need("9000", "azure");
    words.push(["p99", "1950us"]);
    let html = answered(&mut session, &buy(&words))["html"].as_str().unwrap().to_owned();
    assert!(
        html.contains(
            "By its limits alone, met in 48 of 48 scenarios. Whether it keeps a p99 of 1.95 ms is still open."
        )
    );
    assert!(html.contains("limits alone are judged so far") && html.contains("by limits alone"));
}

#[test]
fn a_budget_marks_rows_and_names_what_it_buys() {
    let mut session = session();
    let mut words = need("9000", "azure");
    words.push(["budget", "155"]);
    let answer = answered(&mut session, &buy(&words));
    let html = answer["html"].as_str().unwrap();
    assert!(html.contains("<td>within</td>") && html.contains("<td>over by "), "{html}");
    assert!(html.contains("It buys up to ") || html.contains("It buys at least "), "{html}");
    assert!(answer["note"].as_str().unwrap().contains("no option"));
    assert!(!answer["command"].as_str().unwrap().contains("budget"));
    assert!(html.contains("by the hour, without a commitment") && html.contains("Shown: "), "{html}");
    words.push(["commit", "3y"]);
    let html = answered(&mut session, &buy(&words))["html"].as_str().unwrap().to_owned();
    assert!(html.contains("commitment of three years"), "{html}");
}

#[test]
fn a_field_that_leaves_nothing_is_named() {
    let mut session = session();
    let mut refused = |word: [&'static str; 2]| {
        let mut words: Vec<[&str; 2]> =
            need("9000", "azure").into_iter().filter(|[field, _]| *field != word[0]).collect();
        words.push(word);
        let answer = answered(&mut session, &buy(&words));
        (answer["problems"][0]["field"].as_str().unwrap_or_default().to_owned(), answer["html"].is_null())
    };
    for word in
        [["provider", ""], ["machine", "no such"], ["disk", "no such"], ["vcpus", "9999"], ["size", "100000000GiB"]]
    {
        assert_eq!(refused(word), (word[0].to_owned(), true));
    }
}

#[test]
fn what_is_wrong_with_a_field_has_no_place_in_a_file() {
    let mut session = session();
    let load = [["pattern", "random"], ["reads", "70%"], ["block", "8KiB"], ["p99", "20ms"]];
    let side = [["vm", "azure/d4s-v5"], ["sku", "azure/premium-p30"], ["count", "1"]];
    let mut wrong = |of_load: [&str; 2], of_side: [&str; 2]| {
        let with = |words: &[[&str; 2]], [field, typed]: [&str; 2]| -> Vec<[String; 2]> {
            let others = words.iter().filter(|[name, _]| *name != field).copied();
            others.chain([[field, typed]]).map(|word| word.map(str::to_owned)).collect()
        };
        let sides = [with(&side, of_side)];
        let answer = answered(&mut session, &json!({"ask": "storage", "words": with(&load, of_load), "sides": sides}));
        let problem = &answer["problems"][0];
        let text = problem["text"].as_str().unwrap().to_owned();
        assert!(!text.contains("toml:") && !text.starts_with("a:"), "{text}");
        problem["field"].as_str().unwrap().to_owned()
    };
    let (load, side) = (["p99", "20ms"], ["count", "1"]);
    assert_eq!(wrong(["reads", "170%"], side), "reads");
    assert_eq!(wrong(["p99", "many"], side), "p99");
    assert_eq!(wrong(load, ["vm", "nope/x"]), "a.vm");
    assert_eq!(wrong(load, ["count", "0"]), "a.count");
    assert_eq!(wrong(load, ["iops", "zz"]), "a.iops");
}
