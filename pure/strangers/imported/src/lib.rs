//! Reads results of other tools into loads with their trials.
//!
//! Nothing is made up. A figure that a tool does not report is missing. A load without an equivalent is left out, and
//! the caller learns of it.

mod consistency;
mod crystaldiskmark;
mod diskspd;
mod elbencho;
mod error;
pub mod fio;
mod iometer;
mod other_tools;
mod pg_test_fsync;
mod quick_looks;
mod sysbench;
mod told;
mod value;
mod vdbench;
mod work;
mod xml;

pub use error::ImportError;
pub use work::work_per_second;

use loadline_record::{BYTES_PER_S_MAX, REQUESTS_PER_S_MAX, TrialRecord};
use loadline_workload::LoadSpec;
use told::{LOADS_MAX, Source};

/// The contents of one file.
#[derive(Debug, Clone, PartialEq)]
pub struct Results {
    /// The tool that measured: `fio`.
    pub tool: String,
    /// Its version, if reported.
    pub version: Option<String>,
    /// Loads with their trials, in the order of the file.
    pub jobs: Vec<Job>,
    /// Loads that were left out, with the reason.
    pub left_out: Vec<LeftOut>,
    /// How the file was read, in sentences.
    pub notes: Vec<String>,
}

/// One load of a tool, with its results.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Its name in the tool's results.
    pub name: String,
    /// The load; one trial.
    pub spec: LoadSpec,
    /// Its target, if reported.
    pub target: Option<String>,
    /// Whether it was run on nothing at all.
    pub is_null: bool,
    /// When it began and ended, ms since 1970, as well as that is known.
    pub span_ms: (u64, u64),
    /// The results, as trial 0, without the doubts that loadline checks for every measurement. Its doubts are those
    /// that only the tool's own figures show.
    pub trial: TrialRecord,
    /// Facts that a measurement of loadline's would have, in sentences.
    pub unknown: Vec<String>,
}

/// A load that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Its name in the tool's results.
    pub name: String,
    /// Why, with the option that is to blame.
    pub why: String,
}

/// The text of a file: UTF-8, or UTF-16 as Windows writes it, with the mark of its byte order.
///
/// # Errors
/// Where it is no text: the byte from which on.
pub fn text(bytes: Vec<u8>) -> Result<String, usize> {
    let wide = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let (pairs, rest) = bytes[2..].as_chunks::<2>();
        let units: Vec<u16> = pairs.iter().map(|pair| unit(*pair)).collect();
        String::from_utf16(&units).ok().filter(|_| rest.is_empty()).ok_or(2)
    };
    match bytes.as_slice() {
        [0xff, 0xfe, ..] => wide(&bytes, u16::from_le_bytes),
        [0xfe, 0xff, ..] => wide(&bytes, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => {
            std::str::from_utf8(rest).map(str::to_owned).map_err(|error| error.valid_up_to() + 3)
        }
        _ => String::from_utf8(bytes).map_err(|error| error.utf8_error().valid_up_to()),
    }
}

/// The text of a file of results: as [`text`], or in a code page of Windows, in which programs there write paths. Its letters are taken for
/// those of Latin-1, as most of them are.
///
/// # Errors
/// Where it is no text: the byte from which on.
pub fn text_of_results(bytes: Vec<u8>) -> Result<String, usize> {
    let is_wide = matches!(bytes.as_slice(), [0xff, 0xfe, ..] | [0xfe, 0xff, ..]);
    // No text has zeros but in UTF-16.
    if !is_wide && !bytes.contains(&0) && std::str::from_utf8(&bytes).is_err() {
        return Ok(bytes.iter().map(|byte| char::from(*byte)).collect());
    }
    text(bytes)
}

/// Whether a text is of one form.
type Recognises = fn(&str) -> bool;
/// A reader of one form.
type Reader = fn(Source<'_>) -> Result<Results, ImportError>;

/// The forms besides fio's JSON: how a text of it is known, and its reader. The first that knows a text reads it.
const FORMS: [(Recognises, Reader); 18] = [
    (fio::is_hist_log, fio::hist_log),
    (diskspd::is_xml, diskspd::read_xml),
    (iometer::is_one, iometer::read),
    (crystaldiskmark::is_one, crystaldiskmark::read),
    (elbencho::is_one, elbencho::read),
    (vdbench::is_flatfile, vdbench::flatfile),
    (vdbench::is_summary, vdbench::summary),
    (diskspd::is_text, diskspd::read_text),
    (sysbench::is_one, sysbench::read),
    (quick_looks::is_ioping, quick_looks::ioping),
    (quick_looks::is_ioping_json, quick_looks::ioping_json),
    (quick_looks::is_ioping_raw, quick_looks::ioping_raw),
    (pg_test_fsync::is_one, pg_test_fsync::read),
    (quick_looks::is_hdparm, quick_looks::hdparm),
    (fio::is_terse, fio::terse),
    (fio::is_normal, fio::normal),
    (quick_looks::is_dd, quick_looks::dd),
    (|text| text.trim().is_empty(), |source| Err(ImportError::Empty { source_name: source.name.to_owned() })),
];

/// Reads a file of results; `source` names it in errors. Results without a time are assumed to end at `written_unix_s`,
/// seconds since 1970.
///
/// # Errors
/// A text of no known form, cut off, or with impossible figures, with the place.
pub fn read(text: &str, source: &str, written_unix_s: u64) -> Result<Results, ImportError> {
    let plain = loadline_units::without_prefixes(text);
    let text = plain.as_ref();
    let own = Source { text, name: source, written_unix_s };
    // JSON may stand amid any lines of text.
    let mut results = match fio::read(text, source, written_unix_s) {
        Err(ImportError::Unknown { source_name }) => {
            let reader = FORMS.iter().find(|(is_one, _)| is_one(text)).map(|(_, reader)| reader);
            reader.map_or_else(|| Err(other_tools::error(text, source_name)), |reader| reader(own))
        }
        read => read,
    }?;
    if results.jobs.len() > LOADS_MAX {
        return Err(own.error(0, format!("more than {LOADS_MAX} loads are in it: import parts of it")));
    }
    results.leave_out_impossible();
    Ok(results)
}

impl Results {
    /// Leaves out the loads with a rate that no machine has: a counter that ran over, or a fault of the file.
    fn leave_out_impossible(&mut self) {
        let rates = |job: &Job| {
            let (requests, bytes) = (job.trial.iops().unwrap_or(0.0), job.trial.bytes_per_s().unwrap_or(0.0));
            // What is run on nothing moves no bytes.
            (requests > REQUESTS_PER_S_MAX || (bytes > BYTES_PER_S_MAX && !job.is_null))
                .then(|| format!("{requests:.3e} requests/s of {bytes:.3e} bytes/s are more than any machine does"))
        };
        let left_out = self.jobs.iter().filter_map(|job| Some(LeftOut { name: job.name.clone(), why: rates(job)? }));
        self.left_out.extend(left_out);
        self.jobs.retain(|job| rates(job).is_none());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_in_a_code_page_of_windows_are_text_and_binary_ones_are_not() {
        assert_eq!(text_of_results(b"D:\\Pr\xfcfung\\io.dat".to_vec()).as_deref(), Ok("D:\\Prüfung\\io.dat"));
        assert_eq!(text(b"Pr\xfcfung".to_vec()), Err(2));
        assert_eq!(text_of_results("Prüfung".into()).as_deref(), Ok("Prüfung"));
        assert_eq!(text_of_results(vec![0xff, 0xfe, 0xfc, 0x00]).as_deref(), Ok("ü"));
        assert_eq!((text_of_results(vec![b'a', 0xfc, 0]), text_of_results(vec![0xff, 0xfe, 1])), (Err(1), Err(2)));
    }
}
