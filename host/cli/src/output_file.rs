//! Files that a user named for results, and the options that name another or allow one to be replaced.

use crate::columnar;
use crate::failure::Usage;
use loadline_exported::JUNIT_MARK;
use loadline_runs::clocks::CLOCKS_SCHEMA;
use loadline_runs::{OutputError, OutputFile, Replace};
use std::path::Path;

/// Reports begin with this; a file that does not is somebody's own.
pub(crate) const REPORT_MARK: &str = "<!-- loadline report -->";
/// A report may replace a report. Those of earlier versions had no mark, but a title and a rule for browsers.
const OVER_REPORTS: Replace =
    Replace::OneOfOurs(&[&[REPORT_MARK], &["– loadline</title>", "default-src 'none'; style-src 'unsafe-inline'"]]);

/// Rows of a sweep may replace such rows.
const OVER_ROWS: Replace =
    Replace::OneOfOurs(&[&["environment,volume,cell,label,pattern,"], &["need,rank,meets,provider,region,machine,"]]);

/// A man page may replace one of loadline.
const OVER_MAN_PAGES: Replace = Replace::OneOfOurs(&[&[".TH loadline"]]);

/// Looks at the place of a result that is no report. With `force` a file that exists is replaced.
///
/// # Errors
/// [`Usage`] if the place is refused; otherwise the system's answer.
pub(crate) fn result(path: &Path, force: bool) -> anyhow::Result<OutputFile> {
    let replace = if force { Replace::Anything } else { Replace::Nothing };
    told(OutputFile::claim(path, replace, "result"), "-o", true)
}

/// Looks at the place of an environment that is written beside a report. With `force` a file that exists is replaced.
///
/// # Errors
/// [`Usage`] if the place is refused; otherwise the system's answer.
pub(crate) fn environment(path: &Path, force: bool) -> anyhow::Result<OutputFile> {
    let replace = if force { Replace::Anything } else { Replace::Nothing };
    told(OutputFile::claim(path, replace, "environment"), "--write-env", true)
}

/// Looks at the place of a report. Without `force` only a report is replaced.
///
/// # Errors
/// [`Usage`] if the place is refused; otherwise the system's answer.
pub(crate) fn report(path: &Path, force: bool) -> anyhow::Result<OutputFile> {
    told(OutputFile::claim(path, if force { Replace::Anything } else { OVER_REPORTS }, "report"), "-o", true)
}

/// Looks at the place of compared clocks, where more are added to those that are there.
///
/// # Errors
/// [`Usage`] if the place is refused; otherwise the system's answer.
pub(crate) fn clocks(path: &Path) -> anyhow::Result<OutputFile> {
    told(OutputFile::claim(path, Replace::OneOfOurs(&[&[CLOCKS_SCHEMA]]), "file of compared clocks"), "-o", false)
}

/// Looks at the place of a sweep's rows. Without `force` only such rows are replaced: a part that is carried out again has the same.
///
/// # Errors
/// [`Usage`] if the place is refused; otherwise the system's answer.
pub(crate) fn rows(path: &Path, force: bool) -> anyhow::Result<OutputFile> {
    let is_ours = || std::fs::read(path).is_ok_and(|bytes| columnar::is_ours(&bytes));
    let replace = if force || (path.extension().is_some_and(|ending| ending == "parquet") && is_ours()) {
        Replace::Anything
    } else {
        OVER_ROWS
    };
    told(OutputFile::claim(path, replace, "table of rows"), "-o", true)
}

/// Looks at the place of a comparison for CI systems, which may replace an earlier one.
///
/// # Errors
/// [`Usage`] if the place is refused; otherwise the system's answer.
pub(crate) fn junit(path: &Path) -> anyhow::Result<OutputFile> {
    told(OutputFile::claim(path, Replace::OneOfOurs(&[&[JUNIT_MARK]]), "comparison"), "--junit", false)
}

/// The same for the report that `quick` leaves behind.
///
/// # Errors
/// [`Usage`] if no report can be written there.
pub(crate) fn quick_report(path: &Path) -> anyhow::Result<OutputFile> {
    told(OutputFile::claim(path, OVER_REPORTS, "report"), "--report", false).map_err(|error| {
        let is_refusal = error.is::<Usage>();
        let why = error.to_string();
        if is_refusal {
            error
        } else {
            Usage(format!("no report can be written: {why}; name another file with --report")).into()
        }
    })
}

/// Writes `contents` to a place that was looked at.
///
/// # Errors
/// [`Usage`] if something else stands there by now; otherwise the system's answer.
pub(crate) fn write(file: &OutputFile, contents: impl AsRef<[u8]>) -> anyhow::Result<()> {
    told(file.write(contents), "-o", true)
}

/// Writes a man page, in the place of an older one.
///
/// # Errors
/// [`Usage`] if something else stands there; otherwise the system's answer.
pub(crate) fn man_page(path: &Path, text: Vec<u8>) -> anyhow::Result<()> {
    let written = OutputFile::claim(path, OVER_MAN_PAGES, "man page").and_then(|file| file.write(text));
    written.map_err(|error| match error {
        refused if refused.is_refusal() => Usage(format!("{refused}: name another folder")).into(),
        failed => failed.into(),
    })
}

/// The page, or Markdown, with the mark of reports behind its first line, where browsers expect the document type.
pub(crate) fn marked(report: &str) -> String {
    match report.split_once('\n') {
        Some((first, rest)) => format!("{first}\n{REPORT_MARK}\n{rest}"),
        None => format!("{REPORT_MARK}\n{report}"),
    }
}

/// A refusal with what to type.
fn told<T>(result: Result<T, OutputError>, option: &str, has_force: bool) -> anyhow::Result<T> {
    result.map_err(|error| match &error {
        OutputError::Exists { .. } | OutputError::Foreign { .. } if has_force => {
            Usage(format!("{error}: name another file with {option}, or write in its place with --force")).into()
        }
        refused if refused.is_refusal() => Usage(format!("{error}; name another file with {option}")).into(),
        _ => error.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_replaced_and_anything_else_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("report.html");
        let page = "<!DOCTYPE html>\n<title>x</title>\n";
        let replace = |text: &str| write(&quick_report(&path)?, marked(text));
        replace(page).unwrap();
        replace(page).unwrap();
        assert!(std::fs::read_to_string(&path).unwrap().starts_with("<!DOCTYPE html>\n<!-- loadline report -->\n"));
        write(&report(&path, false).unwrap(), marked("# x\n\ny\n")).unwrap();
        replace(page).unwrap();
        std::fs::write(&path, loadline_report::html(&[])).unwrap();
        replace(page).unwrap();
        std::fs::write(&path, "<!DOCTYPE html>\nmy own").unwrap();
        assert!(replace(page).unwrap_err().is::<Usage>() && report(&path, false).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "<!DOCTYPE html>\nmy own");
        write(&report(&path, true).unwrap(), marked(page)).unwrap();
    }

    #[test]
    fn a_refused_environment_names_the_option_of_environments() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("advised.toml");
        std::fs::write(&path, "schema = 1\n").unwrap();
        let refused = environment(&path, false).unwrap_err().to_string();
        assert!(refused.contains("name another file with --write-env"), "{refused}");
        assert!(environment(&path, true).is_ok());
    }
}
