//! The commands in documents: found in fenced `console` blocks, so that each can be tried.
//!
//! A block that opens with ```` ```console ```` is run as it stands; with `console,no-run` its arguments are only
//! checked; with `console,exit=3` it must end with that status. A line that begins with `$ loadline` is a command, joined
//! with the lines after it while they end in a backslash; other lines are what it prints. A block of any other kind that
//! says `file=NAME` is a file that the commands of the same document use.

/// What is to be done with a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trial {
    /// Run it; it ends with this status.
    Run {
        /// The exit status that the document promises.
        status: i32,
    },
    /// See that its arguments exist.
    Check,
}

/// A command in a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    /// Its line, from 1.
    pub line: usize,
    /// The command line, for a shell.
    pub command: String,
    /// What to do with it.
    pub trial: Trial,
}

/// The examples of a Markdown text.
///
/// # Errors
/// A fence whose words are not understood, with its line.
pub fn examples(markdown: &str) -> Result<Vec<Example>, String> {
    let mut examples: Vec<Example> = Vec::new();
    let mut block: Option<Option<Trial>> = None;
    let mut continued = false;
    for (index, line) in markdown.lines().enumerate() {
        if let Some(words) = line.trim_start().strip_prefix("```") {
            block = if block.is_some() {
                None
            } else {
                Some(trial(words).map_err(|e| format!("line {}: {e}", index + 1))?)
            };
            continued = false;
            continue;
        }
        let Some(Some(trial)) = block else { continue };
        let text = line.trim();
        if continued {
            let example = examples.last_mut().expect("a continued line has a first one");
            example.command.push(' ');
            example.command.push_str(text.trim_end_matches('\\').trim_end());
        } else if let Some(command) = text.strip_prefix("$ ").filter(|c| c.split(' ').next() == Some("loadline")) {
            let command = command.trim_end_matches('\\').trim_end().to_owned();
            examples.push(Example { line: index + 1, command, trial });
        } else {
            continue;
        }
        continued = text.ends_with('\\');
    }
    Ok(examples)
}

/// The files that a document gives: name and text.
#[must_use]
pub fn files(markdown: &str) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = Vec::new();
    let mut within = None;
    for line in markdown.lines() {
        if let Some(words) = line.strip_prefix("```") {
            within = match within {
                Some(_) => None,
                None => Some(words.split(',').find_map(|word| word.trim().strip_prefix("file="))),
            };
            if let Some(Some(name)) = within {
                files.push((name.to_owned(), String::new()));
            }
        } else if let (Some(Some(_)), Some((_, text))) = (within, files.last_mut()) {
            text.push_str(line);
            text.push('\n');
        }
    }
    files
}

/// What the words after the fence's marks ask for; `None` for a block of something else.
fn trial(words: &str) -> Result<Option<Trial>, String> {
    let mut words = words.split(',').map(str::trim);
    if words.next() != Some("console") {
        return Ok(None);
    }
    let mut trial = Trial::Run { status: 0 };
    for word in words {
        trial = match (word, word.strip_prefix("exit=")) {
            ("no-run", _) => Trial::Check,
            (_, Some(status)) => {
                Trial::Run { status: status.parse().map_err(|_| format!("{status:?} is no exit status"))? }
            }
            _ => return Err(format!("{word:?} is neither no-run nor exit=N")),
        };
    }
    Ok(Some(trial))
}

/// The arguments of a command line up to the first pipe, redirection or end of the command, quotes resolved.
///
/// # Errors
/// A quote that is not closed.
pub fn arguments(command: &str) -> Result<Vec<String>, String> {
    let mut arguments = Vec::new();
    let mut argument: Option<String> = None;
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match c {
            '|' | '>' | '<' | ';' | '&' | '#' if argument.is_none() || c != '#' => break,
            ' ' => arguments.extend(argument.take()),
            '\\' => argument.get_or_insert_default().extend(chars.next()),
            '\'' | '"' => {
                let text = argument.get_or_insert_default();
                loop {
                    match chars.next() {
                        None => return Err(format!("{command:?} leaves a quote open")),
                        Some(end) if end == c => break,
                        Some('\\') if c == '"' => text.extend(chars.next()),
                        Some(inner) => text.push(inner),
                    }
                }
            }
            c => argument.get_or_insert_default().push(c),
        }
    }
    arguments.extend(argument);
    Ok(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_in_console_blocks_only() {
        let text = "$ loadline not-a-block\n```console\n$ loadline quick \\\n    --seed 1\noutput\n$ ls\n```\n\
                    ```sh\n$ loadline no\n```\n```console,no-run\n$ loadline run a # b\n```\n\
                    ```console,exit=2\n$ loadline nonsense\n```\n";
        let found = examples(text).unwrap();
        let expected = [
            (3, "loadline quick --seed 1", Trial::Run { status: 0 }),
            (12, "loadline run a # b", Trial::Check),
            (15, "loadline nonsense", Trial::Run { status: 2 }),
        ];
        let expected = expected.map(|(line, command, trial)| Example { line, command: command.to_owned(), trial });
        assert_eq!(found, expected);
    }

    #[test]
    fn files_are_those_that_say_their_name() {
        let text = "```toml,file=a.toml\nx = 1\n\ny = 2\n```\ntext\n```toml\nz = 3\n```\n";
        assert_eq!(files(text), [("a.toml".to_owned(), "x = 1\n\ny = 2\n".to_owned())]);
    }

    #[test]
    fn a_fence_that_is_not_understood_is_an_error() {
        assert!(examples("```console,norun\n```\n").is_err());
        assert!(examples("```console,exit=x\n```\n").is_err());
    }

    #[test]
    fn arguments_end_where_the_shell_ends_them() {
        let words = |text| arguments(text).unwrap();
        assert_eq!(words("loadline a 'b c' \"d \\\" e\"f | less"), ["loadline", "a", "b c", "d \" ef"]);
        assert_eq!(words("loadline a > x.json"), ["loadline", "a"]);
        assert_eq!(words("loadline 'nbd+unix:///x?socket=/y' # why"), ["loadline", "nbd+unix:///x?socket=/y"]);
        assert_eq!(words("loadline a#b"), ["loadline", "a#b"]);
        assert!(arguments("loadline 'a").is_err());
    }
}
