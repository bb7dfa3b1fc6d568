//! Figures that no storage has, in the columns of each form: they are left out or refused, and never taken.
//!
//! The gate tries some columns of each file, drawn by `LOADLINE_TEST_SEED`, and all with `LOADLINE_TEST_LONG`.

use loadline_demand::ReadOptions;
use loadline_tests::plausible::{wrong_demand, wrong_results};
use loadline_tests::sample::some;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What stands in place of a figure.
const ABSURD: [&str; 7] = ["0", "-1", "1e19", "18446744073709551615", "NaN", "inf", ""];
/// A figure of a text: its column, and its place.
struct Figure {
    column: String,
    begin: usize,
    end: usize,
}

/// The figures of a text. A column is a key of JSON, an attribute or an element of XML, or the place in a line.
fn figures(text: &str) -> Vec<Figure> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let (mut key, mut place, mut at) = (String::new(), 0, 0);
    let is_json = text.trim_start().starts_with(['{', '[', '<']);
    while at < bytes.len() {
        let byte = bytes[at];
        if byte == b'\n' {
            place = 0;
        }
        let before = at.checked_sub(1).map(|at| bytes[at]);
        let is_within = before.is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'));
        if byte.is_ascii_digit() && !is_within {
            let is_of_one = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'.' | b',');
            let mut end = at + bytes[at..].iter().take_while(|byte| is_of_one(byte)).count();
            while matches!(bytes[end - 1], b'.' | b',') {
                end -= 1;
            }
            // A comma between fields is none within a number.
            if let Some(comma) = bytes[at..end].iter().position(|byte| *byte == b',')
                && text[at..end].matches(',').count() > 1
            {
                end = at + comma;
            }
            let column = if is_json { format!("{key} {}", place.min(3)) } else { place.to_string() };
            found.push(Figure { column, begin: at, end });
            place += 1;
            at = end;
            continue;
        }
        if is_json && byte.is_ascii_alphabetic() && !is_within {
            let end = at
                + bytes[at..]
                    .iter()
                    .take_while(|byte| byte.is_ascii_alphanumeric() || b"_-/%. ".contains(byte))
                    .count();
            text[at..end].clone_into(&mut key);
            place = 0;
            at = end;
            continue;
        }
        at += 1;
    }
    found
}

/// Columns of a file that a gate tries.
const COLUMNS: usize = 8;

/// Columns of a text, each with a figure in the middle and with all its figures.
fn changed(text: &str) -> Vec<(String, String)> {
    let mut columns: BTreeMap<String, Vec<Figure>> = BTreeMap::new();
    for figure in figures(text) {
        columns.entry(figure.column.clone()).or_default().push(figure);
    }
    let mut all = Vec::new();
    for (column, figures) in some("columns", columns.into_iter().collect(), COLUMNS) {
        for absurd in ABSURD {
            let middle = &figures[figures.len() / 2..=figures.len() / 2];
            for places in [middle, &figures] {
                let (mut changed, mut at) = (String::with_capacity(text.len()), 0);
                for figure in places {
                    changed.push_str(&text[at..figure.begin]);
                    changed.push_str(absurd);
                    at = figure.end;
                }
                changed.push_str(&text[at..]);
                all.push((format!("column {column}, {absurd:?} in {} places", places.len()), changed));
            }
        }
    }
    all
}

fn files(folder: &str) -> Vec<PathBuf> {
    let mut all = Vec::new();
    let mut waiting = vec![loadline_tests::root().join(folder)];
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of files") {
            let path = entry.expect("an entry").path();
            if path.is_dir() { waiting.push(path) } else { all.push(path) }
        }
    }
    all.sort();
    all
}

fn texts(folders: &[&str]) -> Vec<(PathBuf, String)> {
    let all = folders.iter().flat_map(|folder| files(folder));
    all.filter_map(|path| Some((path.clone(), std::fs::read_to_string(&path).ok()?))).collect()
}

/// What is wrong with what a reader makes of a changed file.
type Wrong = fn(&Path, &str) -> Option<String>;

fn hold(folders: &[&str], wrong: Wrong) {
    let mut faults = Vec::new();
    let mut count = 0;
    for (path, text) in texts(folders) {
        for (change, changed) in changed(&text) {
            count += 1;
            let found = std::panic::catch_unwind(|| wrong(&path, &changed));
            let found = found.unwrap_or_else(|_| Some("it panics".to_owned()));
            faults.extend(found.map(|fault| format!("{}: {change}: {fault}", path.display())));
        }
    }
    println!("{count} changed files, {} faults", faults.len());
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults[..faults.len().min(200)].join("\n"));
}

#[test]
fn no_monitoring_file_brings_a_rate_that_no_storage_has() {
    hold(&["fuzz/corpus/monitoring_files", "tests/corpus/dool"], |path, text| {
        let name = path.display().to_string();
        let demand = loadline_demand::read(text.as_bytes(), &name, &ReadOptions::default()).ok()?;
        wrong_demand(&demand)
    });
}

#[test]
fn no_result_of_another_tool_brings_a_rate_that_no_storage_has() {
    hold(&["pure/strangers/imported/tests/corpus", "tests/corpus"], |path, text| {
        let results = loadline_imported::read(text, &path.display().to_string(), 1_700_000_000).ok()?;
        wrong_results(&results)
    });
}
