//! The tests: run by cargo, their counts and their `skipped:` lines gathered from what they print.

use crate::gate::{Outcome, cargo};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;

/// What a test prints, at the start of a line and before its reason, when this machine cannot run it.
const SKIPPED: &str = "skipped:";

/// Every test, passed on as cargo prints it.
pub(crate) fn step(root: &Path) -> Outcome {
    run(root, &[], &[])
}

/// `cargo test --workspace` with these words besides, for tests whose names have one of `names`; all where there are none.
pub(crate) fn run(root: &Path, words: &[&str], names: &[&str]) -> Outcome {
    let mut command = cargo(root);
    command.args(["test", "--workspace", "--no-fail-fast"]).args(words);
    // --show-output is how the output of a passing test can be seen at all; only its `skipped:` lines are wanted.
    command.args(["--", "--show-output"]).args(names).stdout(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return Outcome::fail(format!("cannot start {command:?}: {error}")),
    };
    let mut reader = Reader::default();
    let pipe = child.stdout.take().expect("stdout is piped");
    for line in BufReader::new(pipe).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        if reader.read(&line) == Show::Yes {
            println!("{line}");
            // A long test is seen to have begun.
            let _ = std::io::stdout().flush();
        }
    }
    match child.wait() {
        Ok(status) => reader.finish(status.success()),
        Err(error) => Outcome::fail(format!("cannot wait for {command:?}: {error}")),
    }
}

/// Whether a line is passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Show {
    Yes,
    No,
}

/// Follows libtest's output, line by line.
#[derive(Debug, Default)]
struct Reader {
    /// Within the output of tests that passed.
    in_successes: bool,
    /// The test whose output is being read.
    test: String,
    passed: u64,
    failed: u64,
    ignored: u64,
    failures: Vec<String>,
    /// Tests that passed for want of something.
    skipping: BTreeSet<String>,
    /// Why, in the order in which it was said.
    reasons: Vec<String>,
    /// Test programs begun, to tell apart tests of one name.
    program: u64,
}

impl Reader {
    fn read(&mut self, line: &str) -> Show {
        if line.starts_with("running ") && (line.ends_with(" tests") || line.ends_with(" test")) {
            self.program += 1;
        }
        if let Some(rest) = line.strip_prefix("test result: ") {
            self.in_successes = false;
            let count = |word: &str| {
                let part = rest.split([';', '.']).find_map(|part| part.trim().strip_suffix(word));
                part.and_then(|number| number.trim().parse().ok()).unwrap_or(0u64)
            };
            self.passed += count(" passed");
            self.failed += count(" failed");
            self.ignored += count(" ignored");
            return Show::Yes;
        }
        if let Some(name) = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED")) {
            self.failures.push(name.to_owned());
        }
        if let Some((name, reason)) = line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... ignored, ")) {
            self.reasons.push(format!("ignored: {reason} ({name})"));
        }
        match line {
            "successes:" => self.in_successes = true,
            "failures:" => self.in_successes = false,
            _ => {}
        }
        if let Some(name) = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----")) {
            name.clone_into(&mut self.test);
        }
        if self.in_successes && line.starts_with(SKIPPED) {
            self.skipping.insert(format!("{} {}", self.program, self.test));
            self.reasons.push(format!("{line} ({})", self.test));
        }
        if self.in_successes { Show::No } else { Show::Yes }
    }

    /// The counts: a test that said why it could not run has not passed. `ended_well` is cargo's own verdict, which also
    /// knows of programs that did not build or did not come to their result.
    fn finish(mut self, ended_well: bool) -> Outcome {
        let skipping = self.skipping.len() as u64;
        let mut notes = std::mem::take(&mut self.reasons);
        notes.extend(self.failures.iter().map(|name| format!("failed: {name}")));
        let mut failed = self.failed;
        if !ended_well && failed == 0 {
            failed = 1;
            notes.push("cargo test did not come to its end: see the error above".to_owned());
        }
        if ended_well && self.passed == 0 {
            failed += 1;
            notes.push("no test ran".to_owned());
        }
        Outcome { passed: self.passed.saturating_sub(skipping), failed, skipped: self.ignored + skipping, notes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "
running 7 tests
test d ... ignored, started by a
test a ... ok
test b ... ok
test c ... FAILED

successes:

---- a stdout ----
skipped: fio is not there
more of a

successes:
    a
    b

failures:

---- c stdout ----
thread panicked

failures:
    c

test result: FAILED. 2 passed; 1 failed; 4 ignored; 0 measured; 0 filtered out; finished in 0.00s
";

    #[test]
    fn a_test_that_says_why_it_cannot_run_is_counted_as_skipped() {
        let mut reader = Reader::default();
        let shown: Vec<&str> = OUTPUT.lines().filter(|line| reader.read(line) == Show::Yes).collect();
        assert!(shown.contains(&"thread panicked"));
        assert!(!shown.contains(&"more of a"));
        let outcome = reader.finish(false);
        assert_eq!((outcome.passed, outcome.failed, outcome.skipped), (1, 1, 5));
        assert_eq!(outcome.notes, ["ignored: started by a (d)", "skipped: fio is not there (a)", "failed: c"]);
    }

    #[test]
    fn a_build_that_fails_is_a_failure_though_no_test_failed() {
        let outcome = Reader::default().finish(false);
        assert_eq!(outcome.failed, 1);
    }

    #[test]
    fn a_gate_in_which_no_test_ran_does_not_pass() {
        assert_eq!(Reader::default().finish(true).failed, 1);
    }
}
