//! Invariants of all reports: tags are balanced, hostile texts stay texts, and no figure prints as "NaN" or "inf".

use crate::made_up;
use loadline_analysis::{CellSummary, CompareOptions, RunSummary, compare};
use loadline_record::RunRecord;
use loadline_report::{
    Colour, Columns, TerminalOptions, comparison_markdown, comparison_terminal, csv, html, markdown, terminal,
};
use proptest::prelude::*;
use serde_json::Value;
use std::collections::BTreeSet;

/// Elements without an end tag.
const VOID: [&str; 3] = ["meta", "input", "br"];

/// Checks that every element is closed in order, attributes are quoted, ids are unique, and links within the document lead somewhere.
pub(crate) fn check(document: &str) -> Result<(), String> {
    let mut rest = document.strip_prefix("<!DOCTYPE html>").ok_or("no doctype")?;
    let (mut open, mut ids, mut links): (Vec<String>, BTreeSet<String>, Vec<String>) = Default::default();
    while let Some(start) = rest.find(['<', '>']) {
        let near = |text: &str| text.chars().take(80).collect::<String>();
        if rest.as_bytes()[start] == b'>' {
            return Err(format!("a stray > near {}", near(&rest[start..])));
        }
        rest = &rest[start + 1..];
        if let Some(tail) = rest.strip_prefix('/') {
            let (name, tail) = tail.split_once('>').ok_or("an end tag without its end")?;
            let last = open.pop().ok_or_else(|| format!("</{name}> closes nothing"))?;
            if last != name {
                return Err(format!("</{name}> closes <{last}> near {}", near(tail)));
            }
            rest = tail;
            continue;
        }
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).ok_or("a tag without its end")?;
        let name = &rest[..end];
        if name.is_empty() {
            return Err(format!("a stray < near {}", near(rest)));
        }
        let mut tail = &rest[end..];
        let closed = loop {
            tail = tail.trim_start();
            if let Some(after) = tail.strip_prefix("/>") {
                tail = after;
                break true;
            }
            if let Some(after) = tail.strip_prefix('>') {
                tail = after;
                break false;
            }
            let end = tail.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).unwrap_or(tail.len());
            let attribute = &tail[..end];
            if attribute.is_empty() {
                return Err(format!("no attribute near {}", near(tail)));
            }
            if attribute.starts_with("on") {
                return Err(format!("an event handler near {}", near(tail)));
            }
            tail = &tail[end..];
            if let Some(value) = tail.strip_prefix("=\"") {
                let (value, after) = value.split_once('"').ok_or("an attribute without its end")?;
                if value.contains('<') {
                    return Err(format!("an unescaped < in {attribute}={value}"));
                }
                if attribute == "id" && !ids.insert(value.to_owned()) {
                    return Err(format!("the id {value} is there twice"));
                }
                if attribute == "href" {
                    links.push(value.strip_prefix('#').ok_or(format!("a link to elsewhere: {value}"))?.to_owned());
                }
                if attribute == "src" {
                    return Err(format!("something to load: {value}"));
                }
                tail = after;
            }
        };
        rest = tail;
        if name == "th" && rest.starts_with("</") {
            return Err(format!("a heading without a text near {}", near(rest)));
        }
        if name == "script" || name == "style" {
            let end = format!("</{name}>");
            let (_, after) = rest.split_once(end.as_str()).ok_or("raw text without its end")?;
            rest = after;
        } else if !closed && !VOID.contains(&name) {
            open.push(name.to_owned());
        }
    }
    if let Some(name) = open.pop() {
        return Err(format!("<{name}> is never closed"));
    }
    links.iter().find(|link| !ids.contains(*link)).map_or(Ok(()), |link| Err(format!("#{link} leads nowhere")))
}

#[test]
fn the_checker_sees_what_is_wrong() {
    for (wrong, why) in [
        ("<p>", "never closed"),
        ("<p><b></p></b>", "closes <b>"),
        ("<p title=\"a<b\"></p>", "unescaped"),
        ("<p onclick=\"x\"></p>", "event handler"),
        ("<table><tr><th></th></tr></table>", "heading without"),
        ("<a href=\"#x\"></a>", "leads nowhere"),
        ("<a href=\"http://x\"></a>", "elsewhere"),
        ("<p>a > b</p>", "stray >"),
    ] {
        let told = check(&format!("<!DOCTYPE html>{wrong}")).unwrap_err();
        assert!(told.contains(why), "{wrong}: {told}");
    }
    assert_eq!(check("<!DOCTYPE html><p id=\"x\">a &gt; b<meta a><a href=\"#x\">c</a></p>"), Ok(()));
}

#[test]
fn every_document_is_well_formed() {
    let everything = made_up::everything();
    let layouts = made_up::layouts();
    let matrix = made_up::matrix(10, 2);
    let empty = made_up::run("nothing", &[], Vec::new());
    for (record, summary) in [&everything, &layouts, &matrix, &empty] {
        check(&html(&[(record, summary)])).unwrap();
    }
    let several = [(&everything.0, &everything.1), (&layouts.0, &layouts.1), (&everything.0, &everything.1)];
    check(&html(&several)).unwrap();
    check(&html(&[])).unwrap();
}

#[test]
fn nothing_is_loaded_from_elsewhere() {
    let (record, summary) = made_up::everything();
    let document = html(&[(&record, &summary)]).replace("http://www.w3.org/2000/svg", "");
    for sign in ["http:", "https:", "@import", "url(", "src="] {
        assert!(!document.contains(sign), "{sign} in the document");
    }
}

const HOSTILE: &str = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>&lt;\u{202e}\u{200f}\u{2028}\x1b[2J\x1b]0;x\x07</title></style>]]>|`\n=1+1,2";

/// Whether a text does nothing but to be read: it steers no terminal, and turns no writing direction.
fn steers_nothing(text: &str) -> bool {
    let steers = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    !text.contains(steers)
}

/// Replaces every free text: those whose replacement still reads as a `T`.
fn hostile<T: serde::Serialize + serde::de::DeserializeOwned>(value: &T) -> T {
    let mut json = serde_json::to_value(value).unwrap();
    let mut paths = Vec::new();
    texts(&json, String::new(), &mut paths);
    let mut replaced = 0;
    for path in paths {
        let place = json.pointer_mut(&path).unwrap();
        // A cell's id ties the record to the summary.
        let text = format!("{}{HOSTILE}", place.as_str().unwrap());
        let before = std::mem::replace(place, Value::String(text));
        if serde_json::from_value::<T>(json.clone()).is_ok() {
            replaced += 1;
        } else {
            *json.pointer_mut(&path).unwrap() = before;
        }
    }
    assert!(replaced > 0, "no text was free");
    serde_json::from_value(json).unwrap()
}

fn texts(value: &Value, path: String, found: &mut Vec<String>) {
    match value {
        Value::String(_) => found.push(path),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| texts(item, format!("{path}/{index}"), found));
        }
        Value::Object(members) => {
            members.iter().for_each(|(name, member)| texts(member, format!("{path}/{name}"), found));
        }
        _ => {}
    }
}

/// A summary with this done to each of its parts.
macro_rules! changed {
    ($summary:expr, $with:ident $(, $more:expr)?) => {{
        let mut own: RunSummary = $summary.clone();
        own.run = $with(&own.run $(, $more)?);
        for cell in &mut own.cells {
            let binding = match &cell.binding {
                Some(binding) => Some($with(binding $(, $more)?)),
                None => None,
            };
            let doubts = cell.doubts.clone();
            *cell = CellSummary { binding, doubts, ..$with(cell $(, $more)?) };
        }
        for conclusion in &mut own.conclusions {
            *conclusion = $with(conclusion $(, $more)?);
        }
        for finding in &mut own.findings {
            *finding = $with(finding $(, $more)?);
        }
        own
    }};
}

/// A small run that has every kind of text.
fn small() -> (RunRecord, RunSummary) {
    let (mut record, mut summary) = made_up::everything();
    let keep =
        |id: &str| ["cell-000", "cell-001", "cell-022", "cell-021", "cell-029", "cell-030", "cell-033"].contains(&id);
    record.cells.retain(|cell| keep(&cell.id));
    summary.cells.retain(|cell| keep(&cell.id));
    for cell in &mut record.cells {
        for trial in &mut cell.trials {
            trial.series.seconds.truncate(3);
        }
    }
    summary.run.environment = Some(summary.run.plan[0].clone());
    (record, summary)
}

#[test]
fn hostile_texts_stay_texts() {
    let (record, summary) = small();
    let (record, summary) = (hostile(&record), changed!(summary, hostile));
    let document = html(&[(&record, &summary), (&record, &summary)]);
    check(&document).unwrap();
    assert_eq!(document.matches("<script").count(), 1);
    assert!(!document.contains("<img") && steers_nothing(&document));
    assert!(document.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    let text = terminal(&summary, &TerminalOptions { colour: Colour::Never, width: 100, columns: Columns::Fitting });
    assert!(steers_nothing(&text));
    let text = markdown(&summary);
    assert!(!text.contains("<script") && !text.contains("<img") && steers_nothing(&text));
}

#[test]
fn hostile_texts_stay_texts_in_comparisons() {
    let (record, _) = small();
    let (one, mut other) = (hostile(&record), hostile(&record));
    other.header.id = format!("{}-other", other.header.id);
    other.cells.truncate(2);
    let comparison = compare(&[&one, &other], &CompareOptions::default()).unwrap();
    let options = TerminalOptions { colour: Colour::Never, width: 100, columns: Columns::All };
    let text = comparison_terminal(&comparison, &options);
    assert!(steers_nothing(&text), "{text:?}");
    let text = comparison_markdown(&comparison);
    assert!(!text.contains("<script") && !text.contains("<img") && steers_nothing(&text), "{text}");
}

#[test]
fn markdown_rows_all_have_as_many_cells() {
    let (_, summary) = small();
    let text = markdown(&changed!(summary, hostile));
    let bars = |line: &str| line.replace("\\|", "").matches('|').count();
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
    assert!(rows.len() > 7);
    assert!(rows.iter().all(|row| bars(row) == bars(rows[0])), "{rows:#?}");
}

/// Reads RFC 4180.
fn parse_csv(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut field, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => field.push(chars.next().unwrap()),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut field)),
            '\r' if !quoted && chars.peek() == Some(&'\n') => {
                chars.next();
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            c => field.push(c),
        }
    }
    assert!(row.is_empty() && field.is_empty(), "the last line has its end");
    rows
}

#[test]
fn csv_keeps_every_text_and_every_figure() {
    let (_, summary) = small();
    let summary = changed!(summary, hostile);
    let rows = parse_csv(&csv(&summary));
    assert_eq!(rows.len(), summary.cells.len() + 1);
    let column = |name: &str| rows[0].iter().position(|heading| heading == name).unwrap();
    for (row, cell) in rows[1..].iter().zip(&summary.cells) {
        assert_eq!(row.len(), rows[0].len());
        assert_eq!(row[column("label")], cell.label);
        let total = cell.total.as_ref().unwrap();
        assert_eq!(row[column("total_iops")].parse::<f64>().unwrap().to_bits(), total.iops.to_bits());
        let p99 = cell.write.as_ref().map_or(String::new(), |w| w.latency_ns.p99.unwrap().to_string());
        assert_eq!(row[column("write_latency_p99_ns")], p99);
    }
}

/// Replaces every number by one of `floats`, or one of `integers` if no float fits.
fn shaken<T: serde::Serialize + serde::de::DeserializeOwned>(value: &T, mut next: impl FnMut() -> u64) -> T {
    let mut json = serde_json::to_value(value).unwrap();
    let mut paths = Vec::new();
    numbers(&json, String::new(), &mut paths);
    for path in paths {
        let place = json.pointer_mut(&path).unwrap();
        if place.is_f64() {
            let float = f64::from_bits(next());
            *place = serde_json::Number::from_f64(float).map_or_else(|| Value::from(-0.0), Value::Number);
        } else if place.as_u64().is_some_and(|n| n > 100) && path.ends_with("_ns") || path.ends_with("count") {
            // Sums over operations and seconds of a record must fit its own integers.
            *place = Value::from(next() >> (16 + next() % 48));
        }
    }
    serde_json::from_value(json).unwrap()
}

fn numbers(value: &Value, path: String, found: &mut Vec<String>) {
    match value {
        Value::Number(_) => found.push(path),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| numbers(item, format!("{path}/{index}"), found));
        }
        Value::Object(members) => {
            members.iter().for_each(|(name, member)| numbers(member, format!("{path}/{name}"), found));
        }
        _ => {}
    }
}

fn no_number_is_missing_its_digits(text: &str) -> Result<(), TestCaseError> {
    for word in text.split(|c: char| !c.is_ascii_alphanumeric()) {
        prop_assert!(!matches!(word, "NaN" | "nan" | "inf" | "infinity" | "-inf"), "{word} in the output");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_figures_print_as_numbers_or_as_missing(seed in any::<u64>(), special in 0usize..6) {
        let (record, summary) = small();
        let mut noise = made_up::Noise::new(seed);
        let mut next = move || (noise.next().to_bits() << 1) ^ noise.next().to_bits().rotate_left(17);
        let (record, mut summary) = (shaken(&record, &mut next), changed!(summary, shaken, &mut next));
        let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -1.0, f64::MIN_POSITIVE][special];
        // Text formats cannot carry these, but a caller may.
        for cell in &mut summary.cells {
            for figures in [&mut cell.read, &mut cell.write, &mut cell.flush].into_iter().flatten() {
                (figures.iops, figures.latency_ns.mean) = (odd, odd);
            }
            if let Some(total) = &mut cell.total {
                (total.iops, total.throughput_bytes_per_s, total.iops_high) = (odd, odd, Some(odd));
            }
            cell.offered_iops = cell.offered_iops.map(|_| odd);
            (cell.cpu.user_s, cell.load.read_ratio) = (odd, odd);
            cell.ceilings.iter_mut().for_each(|c| c.iops = odd);
            if let Some(binding) = &mut cell.binding {
                (binding.ceiling_iops, binding.utilization) = (Some(odd), Some(odd));
            }
        }
        let document = html(&[(&record, &summary)]);
        prop_assert_eq!(check(&document), Ok(()));
        let (body, _) = document.split_once("<script>").unwrap();
        no_number_is_missing_its_digits(body)?;
        for width in [0, 40, 200] {
            no_number_is_missing_its_digits(&terminal(&summary, &TerminalOptions { colour: Colour::Never, width, columns: Columns::Fitting }))?;
        }
        no_number_is_missing_its_digits(&markdown(&summary))?;
        no_number_is_missing_its_digits(&csv(&summary))?;
    }
}
