//! Pages that lie beside each other in a folder: the index, and the page of a run.

use crate::live::past;
use crate::well_formed::check;
use loadline_analysis::example::{self, ExampleDisk, closed};
use loadline_analysis::{CompareOptions, HeldCount, HeldLimit, Limit, RunSummary, compare, summarize};
use loadline_record::{LiveMark, NOTE, RunRecord, RunStatus, Tag};
use loadline_report::{
    Headline, IndexPage, IndexRow, OtherRole, OtherRun, PagePlace, Standing, html, index_pages, markdown, run_page,
};
use std::fmt::Write as _;

const HOSTILE: &str = "</script><img src=x onerror=alert(1)> --> \"'&\u{202e}";

fn row(number: u64, started: &str, name: &str) -> IndexRow {
    IndexRow {
        page: Some(format!("runs/{number}.html")),
        run: format!("run-{number}"),
        number,
        name: name.to_owned(),
        verb: "run".to_owned(),
        started: started.to_owned(),
        status: RunStatus::Finished,
        volumes: vec![format!("data={HOSTILE}")],
        headline: Some(Headline { text: "3,000 IOPS".into(), value: 3_000.0, p99_ns: Some(9_000_000) }),
        held: vec![HeldCount {
            limit: HeldLimit { volume: "data".into(), limit: Limit::DiskIops, group: Some("/db".into()) },
            runs: 12,
            of: 30,
        }],
        doubts: 1,
        tags: vec![Tag::new("host", "db1").unwrap(), Tag::new(NOTE, HOSTILE.trim_end_matches('\u{202e}')).unwrap()],
        before: Some(Standing::Worse),
        baseline: None,
    }
}

/// A page with its links to other pages, which the checker of documents does not allow.
fn checked(page: &str) -> Vec<String> {
    let (mut links, mut rest, mut own) = (Vec::new(), page, String::new());
    while let Some((before, after)) = rest.split_once(" href=\"") {
        own.push_str(before);
        let (link, tail) = after.split_once('"').unwrap();
        if link.starts_with('#') {
            let _ = write!(own, " href=\"{link}\"");
        } else {
            links.push(link.to_owned());
        }
        rest = tail;
    }
    own.push_str(rest);
    assert_eq!(check(&own), Ok(()));
    assert!(!page.contains("<img") && !page.contains('\u{202e}'));
    links
}

fn rows_of(page: &IndexPage) -> usize {
    page.html.matches("<tr data-run=").count()
}

#[test]
fn an_index_has_the_newest_runs_and_a_page_for_each_month_and_none_has_too_many_rows() {
    let mut rows: Vec<IndexRow> =
        (0..1_100).map(|n| row(n, &format!("2026-0{}-01T00:00:00Z", 1 + n / 700), HOSTILE)).collect();
    rows.push(row(1_100, "soon", "undated"));
    let pages = index_pages(&rows, HOSTILE, "1.2.3");
    let files: Vec<(&str, usize)> = pages.iter().map(|page| (page.file.as_str(), rows_of(page))).collect();
    let wanted = [
        ("index.html", 500),
        ("undated.html", 1),
        ("2026-02.html", 400),
        ("2026-01.html", 500),
        ("2026-01-2.html", 200),
    ];
    assert_eq!(files, wanted);
    let known: Vec<&str> = files.iter().map(|(file, _)| *file).collect();
    for page in &pages {
        let links = checked(&page.html);
        let is_known = |link: &String| known.contains(&link.as_str()) || link.starts_with("runs/");
        assert!(links.iter().all(is_known), "{}: {links:?}", page.file);
    }
    for file in &known[1..] {
        assert!(pages[0].html.contains(&format!("href=\"{file}\"")), "{file}");
    }
    // What has no row on the first page is known to its search, once.
    let (_, further) = pages[0].html.split_once("id=\"further\">").unwrap();
    let (further, _) = further.split_once("</script>").unwrap();
    let further: Vec<serde_json::Value> = serde_json::from_str(further).unwrap();
    assert_eq!(further.len(), 601);
    assert_eq!(checked(&index_pages(&[], "Runs", "1")[0].html), Vec::<String>::new());
}

#[test]
fn a_page_keeps_its_row_as_long_as_it_is_made_of_the_same() {
    let own = row(7, "2026-01-01T00:00:00Z", HOSTILE);
    let page = own.stamped("<!DOCTYPE html>\n<!-- mark -->\n<html></html>\n", "abc");
    let third = page.lines().nth(2).unwrap();
    let inner = third.strip_prefix("<!--").unwrap().strip_suffix("-->").unwrap();
    assert!(!inner.contains("--") && !inner.contains('>') && !inner.contains('<'), "{third}");
    assert_eq!(IndexRow::of_page(&page, "abc"), Some(own));
    assert_eq!(IndexRow::of_page(&page, "abd"), None);
    assert_eq!(IndexRow::of_page("<!DOCTYPE html>\n<!-- mark -->\n<html></html>\n", "abc"), None);
    assert!(page.ends_with("<html></html>\n"));
}

fn measured(factors: &[f64]) -> RunRecord {
    let cell = |depth| example::cell(closed("random", 1.0, 4_096, depth), &ExampleDisk::default(), factors);
    example::run((1..=20).map(cell).collect())
}

#[test]
fn a_run_stands_beside_those_before_it_by_the_judge_of_comparisons() {
    let (before, mut now) = (measured(&[1.0, 1.001, 0.999]), measured(&[0.8, 0.801, 0.799]));
    now.header.id = "run-1".to_owned();
    let mut summary = summarize(&now);
    summary.run.tags = row(1, "", "").tags;
    let comparison = compare(&[&before, &now], &CompareOptions::default()).unwrap();
    let standing = Standing::of_second(&comparison);
    assert_eq!(standing, Some(Standing::Worse));
    let held = row(1, "", "").held;
    let other = |role, page| OtherRun {
        role,
        run: "run-0",
        name: HOSTILE,
        started: "2026-01-01T00:00:00Z",
        page,
        comparison: Some(&comparison),
    };
    let beside = vec![other(OtherRole::Before, Some("run-0.html")), other(OtherRole::Baseline, None)];
    let place = PagePlace { index: "../index.html", beside, held: &held, is_baseline: true };
    let page = run_page(&now, &summary, None, &place);
    assert_eq!(checked(&page), ["../index.html", "run-0.html"]);
    let (_, section) = page.split_once("<section id=\"r1-beside\">").unwrap();
    let (section, _) = section.split_once("</section>").unwrap();
    // The loads that differ most; the rest is counted.
    assert_eq!(section.matches("<tr>").count(), 2 * (1 + 12), "{section}");
    assert_eq!(section.matches("loadline compare run-0").count(), 2);
    // Without one that it could be held against, and without its section, the page is the report.
    let alone = PagePlace { index: "../index.html", beside: Vec::new(), held: &[], is_baseline: false };
    assert_eq!(checked(&run_page(&now, &summary, None, &alone)), ["../index.html"]);
    assert_eq!(checked(&html(&[(&now, &summary)])), Vec::<String>::new());
}

#[test]
fn marks_and_tags_are_shown_in_every_form_of_a_run() {
    let mut record = past(60);
    let mark = |after_s: u64| LiveMark { elapsed_ns: after_s * 1_000_000_000, note: format!("mark at {after_s} <b>") };
    LiveMark::put_all(&[mark(10), mark(40)], &mut record.header.settings);
    let mut summary: RunSummary = summarize(&record);
    assert_eq!(summary.run.marks.len(), 2);
    summary.run.tags = vec![Tag::new("host", "db1").unwrap()];
    let page = html(&[(&record, &summary)]);
    checked(&page);
    // In the chart beside the verdict, and in those of rate and latency over time.
    assert!(page.matches("<path class=\"mark\"").count() >= 4, "{}", page.matches("<path class=\"mark\"").count());
    for text in [&page, &markdown(&summary)] {
        assert!(text.contains("mark at 40 &lt;b&gt;") && text.contains("host=db1"), "{text}");
    }
}
