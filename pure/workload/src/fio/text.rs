//! The text of a job file as fio reads it: comments, variables of the environment, and other files that it includes.

use super::arithmetic::evaluate;
use super::{FioProblem, KEYWORDS, PROBLEMS_FOUND_MAX};

/// Files within files at most.
const NESTED_MAX: usize = 16;
/// Lines at most that a text may have with all that it includes.
const LINES_MAX: usize = 1_000_000;

/// A file that a job file includes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FioFile {
    /// Its path, by which what it includes itself is found.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// What a job file can name: variables of the environment and other files.
#[derive(Clone, Copy)]
pub struct FioSurroundings<'a> {
    /// The value of a variable; `None` if it is not set.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// What fio puts for `$ncpus`, `$pagesize` (in bytes) and `$mb_memory`, by these words; `None` if it is not known.
    pub keyword: &'a dyn Fn(&str) -> Option<u64>,
    /// A file by the path that is written in the file with the second path; or why it cannot be read.
    pub file: &'a dyn Fn(&str, &str) -> Result<FioFile, String>,
}

impl FioSurroundings<'_> {
    /// No variables and no files: a text that stands for itself.
    pub const NONE: FioSurroundings<'static> = FioSurroundings {
        variable: &|_| None,
        keyword: &|_| None,
        file: &|path, _| Err(format!("{path} is not at hand: put its lines here instead")),
    };
}

/// A text with all that it names put into it.
#[derive(Debug, Default)]
pub(super) struct Expanded {
    pub(super) text: String,
    /// Of each line, the included file that it comes from and its number there.
    places: Vec<(Option<usize>, usize)>,
    files: Vec<String>,
}

/// What stands before a comment: fio cuts a line at the first `;` or `#`.
pub(super) fn before_comment(line: &str) -> &str {
    line.split([';', '#']).next().unwrap_or_default().trim()
}

impl Expanded {
    pub(super) fn of(text: &str, source: &str, around: FioSurroundings<'_>, problems: &mut Vec<FioProblem>) -> Self {
        let mut expanded = Self::default();
        let is_plain = !text.lines().map(before_comment).any(|line| line.contains('$') || included(line).is_some());
        if is_plain {
            text.clone_into(&mut expanded.text);
            return expanded;
        }
        expanded.add(text, (source, None), 0, around, problems);
        expanded
    }

    /// The file and line of a line of the text.
    pub(super) fn locate(&self, mut problem: FioProblem) -> FioProblem {
        let place = problem.line.checked_sub(1).and_then(|line| self.places.get(line));
        if let Some((file, line)) = place {
            problem.file = file.map(|file| self.files[file].clone());
            problem.line = *line;
        }
        problem
    }

    fn add(
        &mut self,
        text: &str,
        (path, file): (&str, Option<usize>),
        depth: usize,
        around: FioSurroundings<'_>,
        problems: &mut Vec<FioProblem>,
    ) {
        for (number, line) in text.lines().enumerate() {
            if self.places.len() >= LINES_MAX || problems.len() > PROBLEMS_FOUND_MAX {
                if self.places.len() == LINES_MAX {
                    self.push(line, (file, number + 1));
                    self.tell(format!("with what it includes it has more than {LINES_MAX} lines"), problems);
                }
                return;
            }
            let place = (file, number + 1);
            let own = before_comment(line);
            if file.is_some() && own.starts_with('[') {
                self.push("", place);
                self.tell(format!("{own}: an included file has no sections of its own, in fio as here"), problems);
            } else if let Some(name) = included(own) {
                self.push(&format!("; {own}"), place);
                match (around.file)(name, path) {
                    _ if depth >= NESTED_MAX => {
                        self.tell(format!("include {name}: is nested more than {NESTED_MAX} deep"), problems);
                    }
                    Err(reason) => self.tell(format!("include: {reason}"), problems),
                    Ok(FioFile { path, text }) => {
                        self.files.push(path.clone());
                        let file = Some(self.files.len() - 1);
                        self.add(&text, (&path, file), depth + 1, around, problems);
                    }
                }
            } else if own.contains('$') && !own.starts_with('[') {
                match replaced(own, around).and_then(|line| with_keywords(&line, around)) {
                    Ok(value) => self.push(&value, place),
                    Err(message) => {
                        self.push("", place);
                        self.tell(message, problems);
                    }
                }
            } else {
                self.push(line, place);
            }
        }
    }

    fn push(&mut self, line: &str, place: (Option<usize>, usize)) {
        self.text.push_str(line);
        self.text.push('\n');
        self.places.push(place);
    }

    /// Says something of the last line.
    fn tell(&self, message: String, problems: &mut Vec<FioProblem>) {
        problems.push(FioProblem::new(self.places.len(), message));
    }
}

/// The file that a line includes.
fn included(line: &str) -> Option<&str> {
    let name = line.strip_prefix("include")?;
    let rest = name.trim_start();
    (rest.len() < name.len() && !rest.is_empty()).then_some(rest)
}

/// A line with the machine's own values in place of fio's words for them. As in fio, what is left of a value that had one is computed.
fn with_keywords(line: &str, around: FioSurroundings<'_>) -> Result<String, String> {
    let (own, comment) = line.split_once(" ; ").map_or((line, None), |(own, comment)| (own, Some(comment)));
    let Some((key, value)) = own.split_once('=') else { return Ok(line.to_owned()) };
    let known: Vec<(&str, u64)> = KEYWORDS
        .iter()
        .filter(|word| value.contains(**word))
        .filter_map(|word| Some((*word, (around.keyword)(word)?)))
        .collect();
    if known.is_empty() {
        return Ok(line.to_owned());
    }
    let put = known.iter().fold(value.to_owned(), |value, (word, number)| value.replace(word, &number.to_string()));
    let put = if put.contains(['+', '-', '*', '/']) {
        evaluate(&put, None).map(|number| number.to_string()).ok_or_else(|| {
            format!("{key}={value}: is no whole number once {} is in it ({put}): write the value itself", known[0].0)
        })?
    } else {
        put
    };
    let names: Vec<&str> = known.iter().map(|(word, _)| *word).chain(comment).collect();
    Ok(format!("{key}={put} ; {}", names.join(" ")))
}

/// A line with its variables replaced, and their names in a comment.
fn replaced(line: &str, around: FioSurroundings<'_>) -> Result<String, String> {
    let (mut text, mut names, mut rest) = (String::new(), Vec::new(), line);
    while let Some((before, after)) = rest.split_once("${") {
        let (name, behind) = after.split_once('}').ok_or_else(|| format!("{line}: a variable ends with a brace"))?;
        let value = (around.variable)(name).ok_or_else(|| {
            format!("{line}: {name} is not set: set it for this command ({name}=... loadline ...), or write the value itself")
        })?;
        if value.contains(['\n', '\r', ';', '#']) {
            return Err(format!("{line}: {name} is more than a value: {value:?}"));
        }
        text.push_str(before);
        text.push_str(&value);
        names.push(format!("${{{name}}}"));
        rest = behind;
    }
    text.push_str(rest);
    Ok(if names.is_empty() { text } else { format!("{text} ; {}", names.join(" ")) })
}
