//! A command line of fio as the job file that it stands for.

use super::{FioError, FioJobs, FioProblem, FioSurroundings, fio_jobs_in};
use std::fmt::Write as _;

/// What fio's command line has beside options of jobs. It says what fio prints and how it runs.
const PRINTING: [&str; 18] = [
    "alloc-size",
    "append-terse",
    "bandwidth-log",
    "debug",
    "eta",
    "eta-interval",
    "eta-newline",
    "idle-prof",
    "max-jobs",
    "minimal",
    "output",
    "output-format",
    "readonly",
    "status-interval",
    "terse-version",
    "trigger-file",
    "trigger-timeout",
    "warnings-fatal",
];
/// Those of them without a value.
const BARE: [&str; 5] = ["append-terse", "bandwidth-log", "minimal", "readonly", "warnings-fatal"];
/// Options of jobs that take a value only behind an equals sign.
const FLAGS: [&str; 16] = [
    "allrandrepeat",
    "bs_unaligned",
    "exitall",
    "exitall_on_error",
    "fill_device",
    "gtod_reduce",
    "group_reporting",
    "new_group",
    "norandommap",
    "per_job_logs",
    "refill_buffers",
    "stonewall",
    "thread",
    "time_based",
    "wait_for_previous",
    "zero_buffers",
];

/// Whether these words are a command line of fio: its name, and options.
#[must_use]
pub fn is_fio_command(words: &[String]) -> bool {
    words.first().is_some_and(|word| word == "fio" || word.ends_with("/fio"))
        && words[1..].iter().any(|word| word.starts_with('-'))
}

/// Reads a command line of fio, with `fio` as its first word. The plan's text is the job file that it stands for.
///
/// # Errors
/// As [`fio_jobs_in`]. A word of the command takes the place of the line.
pub fn fio_command(words: &[String], around: FioSurroundings<'_>) -> Result<FioJobs, FioError> {
    let source = "fio";
    let mut problems = Vec::new();
    let lines = lines(words, &mut problems);
    if !problems.is_empty() {
        return Err(FioError { source_name: source.to_owned(), problems });
    }
    let text: String = lines.iter().fold(String::new(), |mut text, (_, line)| {
        let _ = writeln!(text, "{line}");
        text
    });
    fio_jobs_in(&text, source, around).map_err(|mut error| {
        for problem in &mut error.problems {
            let word = problem.line.checked_sub(1).and_then(|line| lines.get(line)).map(|(word, _)| *word);
            if problem.file.is_none()
                && let Some(word) = word
            {
                problem.file = Some(words[word].clone());
                problem.line = 0;
            }
        }
        error
    })
}

/// The lines of the job file, each with the place of its word.
fn lines(words: &[String], problems: &mut Vec<FioProblem>) -> Vec<(usize, String)> {
    let mut lines = vec![(0, "[global]".to_owned())];
    let mut at = 1;
    while at < words.len() {
        let place = at;
        let word = &words[at];
        at += 1;
        let Some(option) = word.strip_prefix("--").or_else(|| word.strip_prefix('-')) else {
            problems.push(problem(word, "is no option: write a job file as loadline run FILE, without fio"));
            continue;
        };
        let (key, mut value) = option.split_once('=').map_or((option, None), |(key, value)| (key, Some(value)));
        let has_own = value.is_none() && !BARE.contains(&key) && !FLAGS.contains(&key);
        if let Some(next) = words.get(at).filter(|next| has_own && !next.starts_with('-')) {
            value = Some(next);
            at += 1;
        }
        if PRINTING.contains(&key) {
            continue;
        }
        if value.is_some_and(|value| value.contains([';', '#', '\n', '\r'])) {
            problems.push(problem(word, "has a character that ends a line of a job file: write another name"));
            continue;
        }
        match (key, value) {
            ("name", Some(name)) => lines.push((place, format!("[{name}]"))),
            ("name", None) => problems.push(problem(word, "names no job: write --name=NAME")),
            (key, Some(value)) => lines.push((place, format!("{key}={value}"))),
            (key, None) => lines.push((place, key.to_owned())),
        }
    }
    lines
}

fn problem(word: &str, message: &str) -> FioProblem {
    FioProblem { file: Some(word.to_owned()), ..FioProblem::new(0, message) }
}
