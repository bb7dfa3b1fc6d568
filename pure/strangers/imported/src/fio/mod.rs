//! Reads fio's `--output-format=json` and `json+`: documents amid lines of text, jobs with their options and figures.

mod devices;
mod hist_log;
mod in_flight;
mod job;
mod latency;
mod plain;
mod set_aside;
#[cfg(test)]
mod tests;

use crate::told::Source;
use crate::value::At;
use crate::{ImportError, Results};
use serde_json::Value;

/// Two documents whose process starts differ by less are of the same process: fio counts whole seconds.
const SAME_START_MS: u64 = 2_000;

/// Reads fio's output. Of several documents of one fio (`--status-interval`) the last counts, since it has all figures.
///
/// # Errors
/// No document in it, one that is cut off or no JSON, and figures that cannot be.
pub fn read(text: &str, source: &str, written_unix_s: u64) -> Result<Results, ImportError> {
    let source_name = || source.to_owned();
    if text.trim().is_empty() {
        return Err(ImportError::Empty { source_name: source_name() });
    }
    of_documents(&documents(text, source)?, source, written_unix_s)
}

/// Reads documents of one file.
fn of_documents(documents: &[Value], source: &str, written_unix_s: u64) -> Result<Results, ImportError> {
    let source_name = || source.to_owned();
    let mut kept: Vec<Document<'_>> = Vec::new();
    let mut before = 0;
    for value in documents {
        let top = At::top(value, source);
        let Some(jobs) = top.any(&["jobs", "client_stats"]) else {
            let is_ours = value.get("schema").and_then(Value::as_str).is_some_and(|name| name.starts_with("loadline."));
            let source_name = source_name();
            return Err(if is_ours {
                ImportError::OwnExport { source_name }
            } else {
                ImportError::Unknown { source_name }
            });
        };
        let document = Document::of(top, &jobs.elements()?, written_unix_s)?;
        match kept.last_mut() {
            Some(last) if last.goes_on_as(&document) => {
                *last = document;
                before += 1;
            }
            _ => kept.push(document),
        }
    }
    let Some(first) = kept.first() else {
        return Err(ImportError::Unknown { source_name: source_name() });
    };
    let version = first.top.get("fio version").map(|at| at.text()).transpose()?;
    let version = version.map(|text| text.trim_start_matches("fio-").to_owned());
    let mut results =
        Results { tool: "fio".to_owned(), version, jobs: Vec::new(), left_out: Vec::new(), notes: Vec::new() };
    if before > 0 {
        results.notes.push(format!(
            "fio wrote its figures {before} times before the end (--status-interval): the last ones are taken, which have all"
        ));
    }
    if first.is_dated_by_file {
        results.notes.push("the results do not say when they were written: the file's own time is taken".to_owned());
    }
    for document in &kept {
        job::read(document, &mut results)?;
    }
    Ok(results)
}

pub(crate) use hist_log::{hist_log, is_hist_log};
pub(crate) use plain::{is_normal, is_terse};

/// fio's normal text.
pub(crate) fn normal(source: Source<'_>) -> Result<Results, ImportError> {
    of_plain(source, plain::normal(source)?)
}

/// fio's terse form.
pub(crate) fn terse(source: Source<'_>) -> Result<Results, ImportError> {
    of_plain(source, plain::terse(source)?)
}

/// Reads the JSON that a text stands for.
fn of_plain(source: Source<'_>, plain: plain::Plain) -> Result<Results, ImportError> {
    let mut results = of_documents(&[plain.document], source.name, source.written_unix_s)?;
    for job in &mut results.jobs {
        job.unknown.extend(plain.unknown.iter().cloned());
        if plain.is_engine_unknown {
            job.trial.engine.name = "not told".into();
        }
    }
    Ok(results)
}

/// One document.
struct Document<'a> {
    top: At<'a>,
    /// When fio wrote it, ms since 1970.
    written_ms: u64,
    /// Whether that is only the file's time.
    is_dated_by_file: bool,
    /// The start of fio, ms since 1970, if it reports how long it ran.
    began_ms: Option<u64>,
    /// Names of its jobs.
    names: Vec<String>,
}

impl<'a> Document<'a> {
    fn of(top: At<'a>, jobs: &[At<'a>], file_unix_s: u64) -> Result<Self, ImportError> {
        let ms = top.get("timestamp_ms").map(|at| at.count()).transpose()?;
        let seconds = top.get("timestamp").map(|at| at.count()).transpose()?;
        let told = ms.or(seconds.map(|seconds| seconds.saturating_mul(1_000)));
        let written_ms = told.unwrap_or(file_unix_s.saturating_mul(1_000));
        if written_ms > YEAR_9999_MS {
            let at = top.any(&["timestamp_ms", "timestamp"]).unwrap_or(top);
            return Err(at.error("is no time before the year 10000"));
        }
        let mut elapsed_s = None;
        let mut names = Vec::new();
        for job in jobs {
            let name = job.get("jobname").ok_or_else(|| job.error("has no jobname"))?;
            names.push(name.text()?);
            let elapsed = job.get("elapsed").map(|at| at.count()).transpose()?;
            elapsed_s = elapsed_s.max(elapsed);
        }
        let began_ms = elapsed_s.map(|s| written_ms.saturating_sub(s.saturating_mul(1_000)));
        Ok(Self { top, written_ms, is_dated_by_file: told.is_none(), began_ms, names })
    }

    /// Whether a later document is of the same process.
    fn goes_on_as(&self, later: &Self) -> bool {
        let same_start =
            self.began_ms.zip(later.began_ms).is_some_and(|(own, other)| own.abs_diff(other) <= SAME_START_MS);
        self.names == later.names && same_start && later.written_ms >= self.written_ms
    }
}

/// The last millisecond in RFC 3339.
const YEAR_9999_MS: u64 = 253_402_300_799_999;

/// Every JSON document of a text. Lines between them are fio's messages.
fn documents(text: &str, source: &str) -> Result<Vec<Value>, ImportError> {
    let mut documents = Vec::new();
    let mut from = 0;
    while let Some(begin) = next_document(text, from) {
        let line_of = |line: usize| text[..begin].matches('\n').count() + line.max(1);
        let mut stream = serde_json::Deserializer::from_str(&text[begin..]).into_iter::<Value>();
        match stream.next() {
            Some(Ok(value)) => {
                documents.push(value);
                from = begin + stream.byte_offset();
            }
            Some(Err(error)) if error.is_eof() => {
                return Err(ImportError::CutOff { source_name: source.to_owned(), line: line_of(error.line()) });
            }
            Some(Err(error)) => {
                // Its own line counts from the beginning of the document.
                let detail = error.to_string();
                let detail = detail.split(" at line ").next().unwrap_or_default().to_owned();
                let line = line_of(error.line());
                return Err(ImportError::Syntax { source_name: source.to_owned(), line, detail });
            }
            None => break,
        }
    }
    if documents.is_empty() { Err(ImportError::Unknown { source_name: source.to_owned() }) } else { Ok(documents) }
}

/// The start of the next document: at a brace that opens a line, or that follows the document before.
fn next_document(text: &str, from: usize) -> Option<usize> {
    let rest = &text[from..];
    let blank = rest.len() - rest.trim_start().len();
    if rest.trim_start().starts_with('{') {
        return Some(from + blank);
    }
    rest.match_indices('\n')
        .map(|(at, _)| from + at + 1)
        .find(|at| text[*at..].trim_start_matches([' ', '\t']).starts_with('{'))
}
