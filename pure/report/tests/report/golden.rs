//! Every form of a made-up run against the files in `tests/golden`; `UPDATE_GOLDEN=1 cargo test -p loadline-report` rewrites them.

use crate::made_up;
use loadline_record::{Doubt, DoubtCode};
use loadline_report::{Colour, Columns, TerminalOptions, csv, html, markdown, terminal};
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
    let text = terminal(&summary, &TerminalOptions { colour: Colour::Never, width: 140, columns: Columns::Fitting });
    assert!(!text.contains('\x1b'));
    compare("terminal-140.txt", &text);
}

#[test]
fn terminal_narrow_with_colour() {
    let (_, summary) = made_up::everything();
    compare(
        "terminal-80-colour.txt",
        &terminal(&summary, &TerminalOptions { colour: Colour::Always, width: 80, columns: Columns::Fitting }),
    );
}

#[test]
fn terminal_with_several_volumes() {
    let (_, summary) = made_up::layouts();
    compare(
        "terminal-layouts.txt",
        &terminal(&summary, &TerminalOptions { colour: Colour::Never, width: 100, columns: Columns::Fitting }),
    );
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
    summary.cells[4].doubts = vec![Doubt::written(DoubtCode::ShortRun, "30 s is shorter than a burst can last")];
    summary.cells[5].total = None;
    compare("runs.html", &html(&[(&layouts_record, &layouts_summary), (&record, &summary)]));
}

#[test]
fn a_load_without_an_objective_has_the_line_of_the_usual_rule_and_one_with_it_its_own() {
    use loadline_analysis::{example, summarize};
    use loadline_load::{LatencyFigure, Objective};
    use loadline_units::Duration;
    let page = |objective: Option<Objective>| {
        let disk = example::ExampleDisk::default();
        let mut cells: Vec<_> = [8, 64, 256]
            .map(|depth| example::cell(example::closed("random", 1.0, 4 << 10, depth), &disk, &[1.0]))
            .into();
        let open =
            [1_000.0, 4_000.0].map(|rate| example::cell(example::open("random", 1.0, 4 << 10, rate), &disk, &[1.0]));
        cells.extend(open);
        for cell in &mut cells {
            cell.load.figures_mut().expect("figures").objective = objective;
        }
        let record = example::run(cells);
        html(&[(&record, &summarize(&record))])
    };
    // By depth, by rate, and latency against load; two of them once more for narrow pages.
    assert_eq!(page(None).matches(">usual rule: mean 20").count(), 5);
    let chosen = page(Some(Objective { of: LatencyFigure::Mean, limit: Duration::from_ms(5) }));
    assert!(!chosen.contains("usual rule: mean") && chosen.contains(">objective: mean 5"));
}

#[test]
fn columns_without_room_are_named_and_all_are_there_where_lines_may_be_long() {
    let (_, summary) = made_up::everything();
    let printed = |columns, width| terminal(&summary, &TerminalOptions { colour: Colour::Never, width, columns });
    let headings = |text: &str| -> Vec<String> {
        let line = text.lines().find(|line| line.starts_with("load ")).unwrap();
        line.split("  ").map(|heading| heading.trim().to_owned()).filter(|heading| !heading.is_empty()).collect()
    };
    let all = headings(&printed(Columns::All, 60));
    assert!(["p50", "p99.99", "max"].iter().all(|heading| all.contains(&(*heading).to_owned())), "{all:?}");
    assert!(!printed(Columns::All, 60).contains("Left out"));
    assert_eq!(headings(&printed(Columns::Fitting, 1_000)), all);
    for width in [60, 80, 100, 120] {
        let text = printed(Columns::Fitting, width);
        let there = headings(&text);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&format!("so does `loadline show {} | less -S`.", summary.run.id)), "{width}: {text}");
        let named = text.split_once("Left out for want of room: ").unwrap().1.split_once(". A wider").unwrap().0;
        let mut both: Vec<&str> = named.split(", ").chain(there.iter().map(String::as_str)).collect();
        both.sort_unstable();
        let mut all: Vec<&str> = all.iter().map(String::as_str).collect();
        all.sort_unstable();
        assert_eq!(both, all, "{width}");
    }
}
