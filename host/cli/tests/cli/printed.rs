//! A report on paper: what is folded on the screen is there, with and without JavaScript.

use crate::bad_disk::run;
use crate::{Bench, or_skip};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const PLAN: &str = "schema = 1\nname = \"p\"\n[[load]]\nblock = [\"4 KiB\", \"8 KiB\"]\nqueue_depth = [1, 2]\nsize = \"4 MiB\"\n\
                    warm_up = \"0 s\"\nduration = \"10 ms\"\ntrials = 1\n";
/// A browser that takes longer is not waited for.
const PRINT_TIME: Duration = Duration::from_secs(60);

/// The text of a page as it is printed; `None` where there is no browser.
fn printed(bench: &Bench, page: &str, name: &str) -> Option<String> {
    let (html, pdf, profile) = (bench.file(&format!("{name}.html"), page), bench.path(name), bench.path("profile"));
    let mut browser = Command::new("chromium")
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--no-pdf-header-footer",
        ])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("--print-to-pdf={}", pdf.display()))
        .arg(format!("file://{html}"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let started = Instant::now();
    while browser.try_wait().ok()?.is_none() {
        if started.elapsed() > PRINT_TIME {
            browser.kill().ok()?;
            browser.wait().ok()?;
            return None;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    run("pdftotext", &["-layout", pdf.to_str()?, "-"])
}

#[test]
fn what_is_folded_is_printed_open_with_and_without_javascript() {
    let bench = Bench::new();
    let plan = bench.file("p.toml", PLAN);
    bench.done(&["run", &plan, "--on", "null"]);
    bench.done(&["report", "last", "-o", "report.html"]);
    let page = std::fs::read_to_string(bench.path("report.html")).unwrap();
    assert_eq!(page.matches("<details class=\"cell\"").count(), 4);
    let (before, rest) = page.split_once("<script>").unwrap();
    let (_, after) = rest.split_once("</script>").unwrap();
    for (name, page) in [("scripted", page.clone()), ("plain", format!("{before}{after}"))] {
        let text = or_skip!(printed(&bench, &page, name), "it takes chromium and pdftotext");
        let all = text.matches("p99.99").count();
        assert!(
            all >= 4,
            "{name}: the far percentiles stand in the folded cells, and are printed {all} times:\n{text}"
        );
        assert!(text.contains("duration = \"10 ms\""), "{name}: the plan's text is folded:\n{text}");
    }
}

#[test]
fn sixteen_cells_take_few_pages_and_the_first_three_tell_what_matters() {
    let bench = Bench::new();
    let plan = bench.file(
        "p.toml",
        "schema = 1\nname = \"p\"\n[[load]]\npattern = [\"random\"]\nreads = [\"100 %\", \"0 %\"]\nblock = [\"4 KiB\", \"64 KiB\"]\n\
         queue_depth = [1, 4, 16, 64]\nwarm_up = \"200 ms\"\nduration = \"2 s\"\ntrials = 1\nobjective = { p99 = \"20 ms\" }\n",
    );
    bench.done(&["predict", &plan, "--env", "ds3-p30", "--draws", "3", "--seed", "1"]);
    bench.done(&["report", "last", "-o", "report.html"]);
    let page = std::fs::read_to_string(bench.path("report.html")).unwrap();
    assert_eq!(page.matches("<details class=\"cell\"").count(), 16);
    let text = or_skip!(printed(&bench, &page, "sixteen"), "it takes chromium and pdftotext");
    let pages: Vec<&str> = text.trim_end_matches('\x0c').split('\x0c').collect();
    assert!(pages.len() <= 12, "{} pages", pages.len());
    let first = pages[..3].concat();
    for heading in ["Findings", "Charts", "Results", "Doubts", "p99 latency against load"] {
        assert!(first.contains(heading), "{heading} is not on the first three pages:\n{first}");
    }
    // Each cell has its three charts, and none twice.
    let charts = |heading: &str| text.matches(heading).count();
    assert_eq!(charts("Latency by percentile"), 16, "{text}");
    assert_eq!(charts("Latency over time"), 16, "{text}");
    assert_eq!(charts("IOPS over time") + charts("Throughput over time"), 16, "{text}");
}
