//! Traces out of files: ours, and those of other tools.

use crate::{Error, RecordError};
use loadline_emulation::{Trace, TraceError};
use loadline_recording::formats::{self, TraceFormat};
use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _};
use std::path::{Path, PathBuf};

/// The most bytes of another tool's trace that are read.
const IMPORTED_MAX: u64 = 4 << 30;
/// The first bytes of our own traces.
const MAGIC: &[u8] = b"LLTRACE";
/// Bytes at the beginning of a file that show what it is.
const HEAD: u64 = 64 << 10;
/// Ends the names of blktrace's files, before the number of the CPU.
const BLKTRACE: &str = ".blktrace.";

/// Reads a trace; of another tool with its format. blktrace's file of one CPU stands for those of all.
///
/// # Errors
/// [`RecordError`]: it cannot be opened, or is no trace.
pub fn read_trace(file: &Path) -> Result<(Trace, Option<TraceFormat>), Error> {
    let failed = |source| RecordError::Open { file: file.to_owned(), source };
    let mut opened = File::open(file).map_err(failed)?;
    let mut magic = Vec::new();
    opened.by_ref().take(7).read_to_end(&mut magic).map_err(failed)?;
    opened.rewind().map_err(failed)?;
    if magic == MAGIC {
        let trace = Trace::read(BufReader::with_capacity(1 << 20, opened));
        let trace = trace.map_err(|source| RecordError::Trace { file: file.to_owned(), source })?;
        return Ok((trace, None));
    }
    let mut bytes = Vec::new();
    for part in parts(file) {
        let part = File::open(&part).map_err(failed)?;
        part.take(IMPORTED_MAX - bytes.len() as u64).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 >= IMPORTED_MAX {
            return Err(RecordError::Trace { file: file.to_owned(), source: TraceError::Long(IMPORTED_MAX) }.into());
        }
    }
    let (format, trace) =
        formats::read(&bytes).map_err(|source| RecordError::Import { file: file.to_owned(), source })?;
    Ok((trace, Some(format)))
}

/// Whether a file is a trace by its first bytes: ours, or that of another tool that is no monitoring file.
///
/// # Errors
/// It cannot be opened or read.
pub(crate) fn is_trace(file: &Path) -> io::Result<bool> {
    let mut head = Vec::new();
    File::open(file)?.take(HEAD).read_to_end(&mut head)?;
    // The last line may be cut.
    let whole = head.iter().rposition(|byte| *byte == b'\n').map_or(head.len(), |at| at + 1);
    let is_text = |head: &[u8]| std::str::from_utf8(head).is_ok_and(|text| loadline_demand::form_of(text).is_some());
    Ok(head.starts_with(MAGIC) || (formats::format_of(&head[..whole]).is_some() && !is_text(&head[..whole])))
}

/// The file, or those of all CPUs.
fn parts(file: &Path) -> Vec<PathBuf> {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let stem = name.rfind(BLKTRACE).map(|at| &name[..at + BLKTRACE.len()]);
    let is_number = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    let Some(stem) = stem.filter(|stem| is_number(&name[stem.len()..])) else { return vec![file.to_owned()] };
    let mut all: Vec<PathBuf> = (0..4_096).map(|cpu| file.with_file_name(format!("{stem}{cpu}"))).collect();
    all.retain(|part| part.exists());
    all
}
