//! Every form of a made-up run against the files in `tests/golden`; `UPDATE_GOLDEN=1 cargo test -p loadline-report` rewrites them.

use crate::made_up;
use loadline_record::{Doubt, DoubtCode};
use loadline_report::{Colour, TerminalOptions, csv, html, markdown, terminal};
use std::path::Path;

pub(crate) fn compare(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, actual).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    if expected == actual {
        return;
    }
    let line = expected.lines().zip(actual.lines()).take_while(|(a, b)| a == b).count();
    let shown = |text: &str| text.lines().nth(line).unwrap_or("(the end)").chars().take(300).collect::<String>();
    panic!(
        "{name} differs from line {} on.\nexpected: {}\nactual:   {}\nIf the change is wanted: UPDATE_GOLDEN=1 cargo test -p loadline-report",
        line + 1,
        shown(&expected),
        shown(actual)
    );
}

#[test]
fn terminal_wide_without_colour() {
    let (_, summary) = made_up::everything();
    let text = terminal(&summary, &TerminalOptions { colour: Colour::Never, width: 140 });
    assert!(!text.contains('\x1b'));
    compare("terminal-140.txt", &text);
}

#[test]
fn terminal_narrow_with_colour() {
    let (_, summary) = made_up::everything();
    compare("terminal-80-colour.txt", &terminal(&summary, &TerminalOptions { colour: Colour::Always, width: 80 }));
}

#[test]
fn terminal_with_several_volumes() {
    let (_, summary) = made_up::layouts();
    compare("terminal-layouts.txt", &terminal(&summary, &TerminalOptions { colour: Colour::Never, width: 100 }));
}

#[test]
fn markdown_of_everything() {
    let (_, summary) = made_up::everything();
    compare("everything.md", &markdown(&summary));
}

#[test]
fn csv_of_everything() {
    let (_, summary) = made_up::everything();
    compare("everything.csv", &csv(&summary));
}

#[test]
fn html_of_everything() {
    let (record, summary) = made_up::everything();
    compare("everything.html", &html(&[(&record, &summary)]));
}

#[test]
fn html_of_several_volumes_and_runs() {
    let (layouts_record, layouts_summary) = made_up::layouts();
    let (mut record, mut summary) = made_up::layouts();
    summary.run.clock = loadline_record::Clock::Virtual;
    record.header.clock = loadline_record::Clock::Virtual;
    summary.run.name = "layouts, predicted".to_owned();
    summary.cells[4].doubts =
        vec![Doubt { code: DoubtCode::ShortRun, detail: "30 s is shorter than a burst can last".to_owned() }];
    summary.cells[5].total = None;
    compare("runs.html", &html(&[(&layouts_record, &layouts_summary), (&record, &summary)]));
}

#[test]
fn a_load_without_an_objective_has_the_line_of_the_usual_rule_and_one_with_it_its_own() {
    use loadline_analysis::{example, summarize};
    let page = |objective: Option<(String, u64)>| {
        let disk = example::ExampleDisk::default();
        let mut cells: Vec<_> = [8, 64, 256]
            .map(|depth| example::cell(example::closed("random", 1.0, 4 << 10, depth), &disk, &[1.0]))
            .into();
        let open =
            [1_000.0, 4_000.0].map(|rate| example::cell(example::open("random", 1.0, 4 << 10, rate), &disk, &[1.0]));
        cells.extend(open);
        for cell in &mut cells {
            cell.load.objective.clone_from(&objective);
        }
        let record = example::run(cells);
        html(&[(&record, &summarize(&record))])
    };
    // By depth, by rate, and latency against load.
    assert_eq!(page(None).matches(">usual rule: mean 20").count(), 3);
    let chosen = page(Some(("mean".to_owned(), 5_000_000)));
    assert!(!chosen.contains("usual rule: mean") && chosen.contains(">objective: mean 5"));
}
