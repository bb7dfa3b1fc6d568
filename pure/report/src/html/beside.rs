//! A run beside those before it, on its page in a folder of pages: against the one before it, against the baseline, and how often its
//! limits held.

use super::Escaped;
use crate::comparison::BriefComparison;
use crate::figures::{self, plain};
use crate::put;
use crate::verdict_line::lines_html;
use crate::words::held_limits;
use loadline_analysis::{Comparison, HeldCount};

/// The place of a run in a folder of pages.
#[derive(Debug)]
pub struct PagePlace<'a> {
    /// Where the index lies, from here.
    pub index: &'a str,
    /// The runs that it is held against.
    pub beside: Vec<OtherRun<'a>>,
    /// How often its limits held.
    pub held: &'a [HeldCount],
    /// Whether it is the baseline of others.
    pub is_baseline: bool,
}

/// A run that another one is held against.
#[derive(Debug)]
pub struct OtherRun<'a> {
    /// Why.
    pub role: OtherRole,
    /// Its id.
    pub run: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its start.
    pub started: &'a str,
    /// The file with its page, from here; `None`: there is none.
    pub page: Option<&'a str>,
    /// Its figures with those of the run, by the judge of all comparisons; `None`: it cannot be read, or nothing of them can be compared.
    pub comparison: Option<&'a Comparison>,
}

/// Why a run is held against another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtherRole {
    /// It is the one before, of the same name.
    Before,
    /// It is tagged as the baseline.
    Baseline,
}

impl OtherRole {
    const fn heading(self) -> &'static str {
        match self {
            Self::Before => "Against the run before it",
            Self::Baseline => "Against the baseline",
        }
    }
    const fn name(self) -> &'static str {
        match self {
            Self::Before => "the run before it",
            Self::Baseline => "the baseline",
        }
    }
}

/// The section with all of it; `run` is the id of the run.
pub(super) fn beside(out: &mut String, place: &PagePlace<'_>, run: &str, level: usize) {
    for sentence in held_limits::counted(place.held) {
        put!(out, "<p>{}</p>\n", Escaped(sentence));
    }
    if place.is_baseline {
        out.push_str("<p>This run is a baseline: it is tagged so.</p>\n");
    }
    for other in &place.beside {
        against(out, other, run, level + 1);
    }
    if place.beside.is_empty() {
        out.push_str("<p class=\"note\">No earlier run has its name, and none is tagged <code>baseline</code>.</p>\n");
    }
}

fn against(out: &mut String, other: &OtherRun<'_>, run: &str, level: usize) {
    let named = Escaped(format!("{}, {}", plain(other.name), plain(other.started)));
    let (heading, role) = (other.role.heading(), other.role.name());
    put!(out, "<h{level}>{heading}</h{level}>\n<p class=\"note\">");
    if let Some(page) = other.page {
        put!(out, "A is {role}, <a href=\"{}\">{named}</a>; B is this one.</p>\n", Escaped(page));
    } else {
        put!(out, "A is {role}, {named} (run {}); B is this one.</p>\n", Escaped(plain(other.run)));
    }
    match other.comparison.and_then(BriefComparison::of) {
        None => out.push_str("<p>No load of the two can be compared.</p>\n"),
        Some(brief) => {
            lines_html(out, "brief", &brief.lines.iter().collect::<Vec<_>>());
            out.push_str(&brief.table.html());
            if brief.left_out > 0 {
                let count = figures::count(brief.left_out as u64);
                put!(out, "<p class=\"note\">{count} more loads differ less.</p>\n");
            }
            if !brief.doubts.is_empty() {
                out.push_str("<ul class=\"note\">");
                brief.doubts.iter().for_each(|doubt| put!(out, "<li>{}</li>", Escaped(doubt)));
                out.push_str("</ul>\n");
            }
        }
    }
    let command = format!("loadline compare {} {}", plain(other.run), plain(run));
    put!(out, "<p class=\"note\">All of it: <code class=\"command\">{}</code></p>\n", Escaped(command));
}
