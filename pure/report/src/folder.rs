//! The index of a folder of pages: its newest runs, its months, and what of each run stands in a row.

use crate::comparison::Standing;
use crate::escaped::Escaped;
use crate::figures::{self, MISSING, plain};
use crate::html::SCRIPT;
use crate::page::{Scripts, opening};
use crate::put;
use crate::remarks;
use crate::verdict;
use crate::words::held_limits;
use loadline_analysis::{HeldCount, RunSummary};
use loadline_record::{RunStatus, Tag};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

const INDEX_SCRIPT: &str = include_str!("folder/index.js");
/// Rows of a page.
const ROWS_MAX: usize = 500;
/// Runs that the search of the first page knows beside its rows: more are found on the pages of their months.
const SEARCHED_MAX: usize = 20_000;
/// Characters of texts from outside in a row.
const TEXT_MAX: usize = 120;
/// The file of the first page.
const INDEX: &str = "index.html";
/// The month of runs whose start is no time.
const NO_MONTH: &str = "undated";

/// A run in the index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IndexRow {
    /// The file of its page, from the index; `None`: it cannot be read.
    pub page: Option<String>,
    /// Its id.
    pub run: String,
    /// Its number in the store.
    pub number: u64,
    /// Its name.
    pub name: String,
    /// The verb that made it.
    pub verb: String,
    /// Its start in UTC, RFC 3339.
    pub started: String,
    /// How far it has come.
    pub status: RunStatus,
    /// Its volumes, each with its target.
    pub volumes: Vec<String>,
    /// The first figure of its verdict.
    pub headline: Option<Headline>,
    /// What held it, and how often that did.
    pub held: Vec<HeldCount>,
    /// Doubts of its cells.
    pub doubts: u64,
    /// What its user says of it.
    pub tags: Vec<Tag>,
    /// Beside the run before it.
    pub before: Option<Standing>,
    /// Beside the baseline.
    pub baseline: Option<Standing>,
}

/// What the page of a run says of itself: what it was made of, and the row of the run.
#[derive(Serialize, Deserialize)]
struct PageStamp<'a> {
    made_of: Cow<'a, str>,
    row: Cow<'a, IndexRow>,
}

const STAMP: &str = "<!-- page ";
const STAMP_END: &str = " -->";

impl IndexRow {
    /// The page of the run with the row in its third line, so that neither need be made again while `made_of` is the same.
    #[must_use]
    pub fn stamped(&self, page: &str, made_of: &str) -> String {
        let stamp = PageStamp { made_of: made_of.into(), row: Cow::Borrowed(self) };
        let stamp = serde_json::to_string(&stamp).expect("a row is JSON");
        // Within a text alone, and nothing that could end the comment.
        let stamp = stamp.replace("--", "\\u002d\\u002d").replace('<', "\\u003c").replace('>', "\\u003e");
        let (first, rest) = page.split_once('\n').unwrap_or((page, ""));
        let (mark, rest) = rest.split_once('\n').unwrap_or((rest, ""));
        format!("{first}\n{mark}\n{STAMP}{stamp}{STAMP_END}\n{rest}")
    }

    /// The row in the beginning of a page; `None`: it was made of something else.
    #[must_use]
    pub fn of_page(beginning: &str, made_of: &str) -> Option<Self> {
        let stamp = beginning.lines().nth(2)?.strip_prefix(STAMP)?.strip_suffix(STAMP_END)?;
        let stamp: PageStamp<'_> = serde_json::from_str(stamp).ok()?;
        (stamp.made_of == made_of).then(|| stamp.row.into_owned())
    }
}

/// A figure of a run to be seen from afar.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Headline {
    /// With its unit.
    pub text: String,
    /// Requests or bytes per second, or ns.
    pub value: f64,
    /// The 99th percentile of the latency there, ns.
    pub p99_ns: Option<u64>,
}

impl Headline {
    /// The first figure of a run's verdict, or else its highest rate; `None`: it has no figure.
    #[must_use]
    pub fn of(summary: &RunSummary) -> Option<Self> {
        let volumes = summary.verdict.iter().flat_map(|verdict| &verdict.volumes);
        if let Some(figure) = volumes.flat_map(|volume| &volume.gives).next() {
            return Some(Self { text: verdict::value(figure), value: figure.value, p99_ns: figure.p99_ns });
        }
        let rates = summary.cells.iter().filter_map(|cell| cell.total.as_ref()).map(|total| total.iops);
        let most = rates.filter(|iops| iops.is_finite()).max_by(f64::total_cmp)?;
        Some(Self { text: format!("{} IOPS", figures::iops(most)), value: most, p99_ns: None })
    }
}

/// A page of the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexPage {
    /// Its file.
    pub file: String,
    /// Its HTML.
    pub html: String,
}

/// Runs of a month, the newest first.
struct Month<'a> {
    /// "2026-11".
    name: String,
    rows: Vec<&'a IndexRow>,
}

impl Month<'_> {
    fn pages(&self) -> usize {
        self.rows.len().div_ceil(ROWS_MAX)
    }
    /// The file of one of its pages, from 0.
    fn file(&self, page: usize) -> String {
        match page {
            0 => format!("{}.html", self.name),
            page => format!("{}-{}.html", self.name, page + 1),
        }
    }
}

/// The pages of an index over these runs: the first with the newest, then those of each month, at most 500 runs on each. `title` is what
/// the runs are, and `version` that of the tool.
#[must_use]
pub fn index_pages(rows: &[IndexRow], title: &str, version: &str) -> Vec<IndexPage> {
    let mut newest: Vec<&IndexRow> = rows.iter().collect();
    newest.sort_by_key(|row| Reverse((row.started.as_str(), row.number)));
    let mut by_month: BTreeMap<&str, Vec<&IndexRow>> = BTreeMap::new();
    for row in &newest {
        by_month.entry(month_of(&row.started)).or_default().push(row);
    }
    let months = by_month.into_iter().rev().map(|(name, rows)| Month { name: name.to_owned(), rows });
    let months: Vec<Month<'_>> = months.collect();
    let mut pages = vec![IndexPage { file: INDEX.to_owned(), html: first_page(&newest, &months, title, version) }];
    for month in &months {
        for (page, rows) in month.rows.chunks(ROWS_MAX).enumerate() {
            let html = month_page(month, page, rows, &months, version);
            pages.push(IndexPage { file: month.file(page), html });
        }
    }
    pages
}

/// The month of a start, as far as it is one.
fn month_of(started: &str) -> &str {
    const FORM: &[u8] = b"0000-00-";
    let has_form = started.len() > FORM.len()
        && started.bytes().zip(FORM).all(|(own, form)| if *form == b'0' { own.is_ascii_digit() } else { own == *form });
    if has_form { &started[..7] } else { NO_MONTH }
}

fn runs(count: usize) -> String {
    if count == 1 { "1 run".to_owned() } else { format!("{} runs", figures::count(count as u64)) }
}

fn first_page(newest: &[&IndexRow], months: &[Month<'_>], title: &str, version: &str) -> String {
    let shown = &newest[..newest.len().min(ROWS_MAX)];
    let further = &newest[shown.len()..newest.len().min(SEARCHED_MAX)];
    let mut out = opening(title, title, Scripts::Own);
    let lead = match (newest.last(), newest.first()) {
        (Some(first), Some(last)) => {
            format!("{} from {} to {}", runs(newest.len()), day(&first.started), day(&last.started))
        }
        _ => "No run is in the store, or passes the filters".to_owned(),
    };
    put!(out, "<p class=\"lead\">{}.</p>\n</header>\n<main>\n", Escaped(lead));
    if !newest.is_empty() {
        let heading = if shown.len() < newest.len() { "The newest runs" } else { "Runs" };
        put!(out, "<section id=\"runs\">\n<h2>{heading}</h2>\n");
        table(&mut out, shown, newest.len());
        out.push_str("</section>\n");
        by_month(&mut out, months);
    }
    let further: Vec<_> = further.iter().map(|row| found_row(row)).collect();
    let further = serde_json::to_string(&further).expect("texts are JSON").replace('<', "\\u003c");
    put!(out, "<script type=\"application/json\" id=\"further\">{further}</script>\n");
    closing(&mut out, version);
    out
}

fn month_page(month: &Month<'_>, page: usize, rows: &[&IndexRow], months: &[Month<'_>], version: &str) -> String {
    let part = match month.pages() {
        1 => String::new(),
        pages => format!(", part {} of {pages}", page + 1),
    };
    let title = format!("Runs of {}{part}", month.name);
    let mut out = opening(&title, &title, Scripts::Own);
    put!(out, "<p class=\"lead\">{}.</p>\n", runs(month.rows.len()));
    out.push_str("<nav aria-label=\"Months\"><a href=\"index.html\">All runs</a> ");
    for other in months {
        for part in 0..other.pages() {
            let number = if part == 0 { String::new() } else { format!(", part {}", part + 1) };
            let current = if other.name == month.name && part == page { " aria-current=\"page\"" } else { "" };
            put!(out, "<a href=\"{}\"{current}>{}{number}</a> ", Escaped(other.file(part)), Escaped(&other.name));
        }
    }
    out.push_str("</nav>\n</header>\n<main>\n<section id=\"runs\">\n<h2>Runs</h2>\n");
    table(&mut out, rows, rows.len());
    out.push_str("</section>\n");
    closing(&mut out, version);
    out
}

fn closing(out: &mut String, version: &str) {
    put!(out, "</main>\n<footer>Written by loadline {}.</footer>\n", Escaped(plain(version)));
    put!(out, "<script>\n{INDEX_SCRIPT}{SCRIPT}</script>\n</body>\n</html>\n");
}

/// How many runs each month has, and how they stand.
fn by_month(out: &mut String, months: &[Month<'_>]) {
    out.push_str("<section id=\"months\">\n<h2>By month</h2>\n<div class=\"scroll\" tabindex=\"0\"><table class=\"months\"><thead><tr><th scope=\"col\">month</th><th scope=\"col\" class=\"num\">runs</th><th scope=\"col\" class=\"num\">worse than the run before</th><th scope=\"col\" class=\"num\">worse than the baseline</th></tr></thead>\n<tbody>\n");
    for month in months {
        put!(out, "<tr><th scope=\"row\"><a href=\"{}\">{}</a>", Escaped(month.file(0)), Escaped(&month.name));
        for page in 1..month.pages() {
            put!(out, " <a href=\"{}\">part {}</a>", Escaped(month.file(page)), page + 1);
        }
        let worse = |of: fn(&IndexRow) -> Option<Standing>| {
            month.rows.iter().filter(|row| of(row) == Some(Standing::Worse)).count()
        };
        let counts = [month.rows.len(), worse(|row| row.before), worse(|row| row.baseline)];
        let counts = counts.map(|count| format!("<td class=\"num\">{}</td>", figures::count(count as u64)));
        put!(out, "</th>{}</tr>\n", counts.concat());
    }
    out.push_str("</tbody></table></div>\n</section>\n");
}

/// The table of some runs, with a search over them; `all` is how many the search knows.
fn table(out: &mut String, rows: &[&IndexRow], all: usize) {
    put!(
        out,
        "<p class=\"tools\" hidden><label>Find runs with <input type=\"search\" class=\"filter\" placeholder=\"nightly db1\"></label> <span class=\"found\" role=\"status\" data-all=\"{all}\"></span></p>\n"
    );
    out.push_str("<div class=\"picked\" role=\"status\" hidden></div>\n");
    out.push_str("<div class=\"scroll\" tabindex=\"0\"><table class=\"results runs\">\n<thead><tr>");
    for (heading, class) in [
        ("run", ""),
        ("started, UTC", ""),
        ("verb", "wide"),
        ("volumes", "wide"),
        ("gives", "num wide"),
        ("p99", "num wide"),
        ("held by, in so many of the last", ""),
        ("to the run before", ""),
        ("to the baseline", "wide"),
        ("doubts", "num wide"),
        ("tags and note", "wide"),
    ] {
        put!(out, "<th scope=\"col\"{}>{heading}</th>", classes(class));
    }
    out.push_str("</tr></thead>\n");
    for row in rows {
        index_row(out, row);
    }
    out.push_str("</table></div>\n");
    out.push_str("<p class=\"note\">Gives: the first figure of the run's verdict. A run stands better or worse than another by the rules of <code>loadline compare</code>. – is a missing figure.</p>\n");
}

fn classes(class: &str) -> String {
    if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") }
}

fn index_row(out: &mut String, row: &IndexRow) {
    let name = Escaped(cut(&row.name, TEXT_MAX));
    put!(out, "<tbody><tr data-run=\"{}\"><th scope=\"row\">", Escaped(&row.run));
    if let Some(page) = &row.page {
        put!(out, "<a href=\"{}\">{name}</a>", Escaped(page));
    } else {
        put!(out, "{name} <span class=\"bad\">cannot be read</span>");
    }
    if let Some(word) = unfinished(row.status) {
        put!(out, " <span class=\"bad\">{word}</span>");
    }
    put!(out, "</th><td>{}</td>", Escaped(minute(&row.started)));
    put!(out, "<td class=\"wide\">{}</td>", Escaped(plain(&row.verb)));
    put!(out, "<td class=\"wide\">{}</td>", Escaped(cut(&row.volumes.join(" "), TEXT_MAX)));
    figure(out, "num wide", row.headline.as_ref().map(|of| (of.value, of.text.clone())));
    let p99 = row.headline.as_ref().and_then(|of| of.p99_ns).map(|ns| ns as f64);
    figure(out, "num wide", p99.map(|ns| (ns, figures::latency(ns))));
    put!(out, "<td>{}</td>", Escaped(held(row)));
    standing(out, "", row.before);
    standing(out, "wide", row.baseline);
    figure(out, "num wide", Some((row.doubts as f64, figures::count(row.doubts))));
    put!(out, "<td class=\"wide\">{}</td></tr></tbody>\n", Escaped(said(row)));
}

/// A figure with its exact value, by which the script sorts.
fn figure(out: &mut String, class: &str, figure: Option<(f64, String)>) {
    if let Some((value, text)) = figure.filter(|(value, _)| value.is_finite()) {
        put!(out, "<td class=\"{class}\" data-v=\"{value}\">{}</td>", Escaped(text));
    } else {
        put!(out, "<td class=\"{class}\">{MISSING}</td>");
    }
}

fn standing(out: &mut String, class: &str, standing: Option<Standing>) {
    let colour = match standing {
        Some(Standing::Worse) => "worse",
        Some(Standing::Better) => "better",
        Some(Standing::BetterAndWorse) => "mixed",
        Some(Standing::Same | Standing::CannotTell) | None => "even",
    };
    let class = format!("{colour} {class}");
    put!(out, "<td{}>{}</td>", classes(class.trim_end()), standing.map_or(MISSING, Standing::words));
}

const fn unfinished(status: RunStatus) -> Option<&'static str> {
    match status {
        RunStatus::Finished => None,
        RunStatus::Unfinished => Some("unfinished"),
        RunStatus::Interrupted => Some("interrupted"),
        RunStatus::Failed => Some("failed"),
    }
}

fn held(row: &IndexRow) -> String {
    if row.held.is_empty() { MISSING.to_owned() } else { held_limits::brief(&row.held) }
}

/// Tags and the note.
fn said(row: &IndexRow) -> String {
    let note = row.tags.iter().find(|tag| tag.key == loadline_record::NOTE);
    let tags = remarks::tags(&row.tags);
    let text = match note {
        Some(note) if tags.is_empty() => plain(&note.value),
        Some(note) => format!("{tags}; {}", plain(&note.value)),
        None => tags,
    };
    cut(&text, TEXT_MAX)
}

/// What the search of the first page knows of a run that has no row on it.
fn found_row(row: &IndexRow) -> serde_json::Value {
    serde_json::json!([
        row.page,
        row.run,
        cut(&row.name, TEXT_MAX),
        minute(&row.started),
        plain(&row.verb),
        cut(&row.volumes.join(" "), TEXT_MAX),
        row.headline.as_ref().map(|of| &of.text),
        held(row),
        row.before.map(Standing::words),
        said(row),
    ])
}

/// The text on one line, and at most so many characters of it.
fn cut(text: &str, most: usize) -> String {
    let text = plain(text);
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// "2026-11-28".
fn day(started: &str) -> String {
    cut(started.get(..10).unwrap_or(started), TEXT_MAX)
}

/// "2026-11-28 03:00".
fn minute(started: &str) -> String {
    match (month_of(started), started.get(..16)) {
        (NO_MONTH, _) | (_, None) => cut(started, TEXT_MAX),
        (_, Some(minute)) => plain(minute).replace('T', " "),
    }
}
