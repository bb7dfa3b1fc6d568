//! The report that `quick` leaves behind: never in the place of a file that is not one.

use crate::failure::Usage;
use crate::output_file;
use anyhow::Context;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Reports begin with this; a file that does not is somebody's own.
const MARKER: &str = "<!-- loadline report -->";
/// The marker stands within so many bytes.
const MARKER_WITHIN: u64 = 512;

/// A place where a report may be written.
#[derive(Debug)]
pub(crate) struct ReportFile(PathBuf);

impl ReportFile {
    /// Looks at `path` before a minute is spent.
    ///
    /// # Errors
    /// [`Usage`] where something other than a report of ours is there, or nothing can be written.
    pub(crate) fn claimed(path: &Path) -> anyhow::Result<Self> {
        check(path)?;
        check_writable(path).map_err(|error| {
            let missing = path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists());
            let why = match missing {
                Some(folder) => format!("there is no folder {}", folder.display()),
                None => error.to_string(),
            };
            Usage(format!("no report can be written to {}: {why}; name another file with --report", path.display()))
        })?;
        Ok(Self(path.to_owned()))
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Writes the report.
    ///
    /// # Errors
    /// Something else has come to stand there, or the system refuses.
    pub(crate) fn write(&self, html: &str) -> anyhow::Result<()> {
        check(&self.0)?;
        std::fs::write(&self.0, marked(html)).with_context(|| {
            format!(
                "cannot write the report to {}; the run is stored: `loadline report last -o FILE` writes it elsewhere",
                self.0.display()
            )
        })?;
        Ok(())
    }
}

/// The page with the marker behind its first line, where browsers expect the document type.
fn marked(html: &str) -> String {
    match html.split_once('\n') {
        Some((first, rest)) => format!("{first}\n{MARKER}\n{rest}"),
        None => format!("{MARKER}\n{html}"),
    }
}

/// Whether a report can be written to `path`, found out by trying; leaves all as it was.
fn check_writable(path: &Path) -> std::io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(_) => std::fs::remove_file(path),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => OpenOptions::new().write(true).open(path).map(drop),
        Err(error) => Err(error),
    }
}

fn check(path: &Path) -> anyhow::Result<()> {
    let refuse =
        |what: String| Err(Usage(format!("{} {what}; name another file with --report", path.display())).into());
    output_file::check(path)?;
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return refuse(format!("cannot be looked at: {error}")),
    };
    let mut beginning = Vec::new();
    match file.by_ref().take(MARKER_WITHIN).read_to_end(&mut beginning) {
        Ok(0) => Ok(()),
        Ok(_) if String::from_utf8_lossy(&beginning).contains(MARKER) => Ok(()),
        Ok(_) => refuse("exists and is no report of loadline, so it is left alone".to_owned()),
        Err(error) => refuse(format!("cannot be looked at: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_replaced_and_anything_else_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("report.html");
        let page = "<!DOCTYPE html>\n<title>x</title>\n";
        ReportFile::claimed(&path).unwrap().write(page).unwrap();
        ReportFile::claimed(&path).unwrap().write(page).unwrap();
        assert!(std::fs::read_to_string(&path).unwrap().starts_with("<!DOCTYPE html>\n<!-- loadline report -->\n"));
        std::fs::write(&path, "<!DOCTYPE html>\nmy own").unwrap();
        assert!(ReportFile::claimed(&path).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "<!DOCTYPE html>\nmy own");
    }
}
