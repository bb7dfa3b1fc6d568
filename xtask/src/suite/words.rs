//! What a test program prints: its counts, the tests that failed, and why others were left out.

use crate::step::Outcome;
use std::collections::BTreeSet;
use std::process::ExitStatus;

/// How the reason of a test begins that `--long` alone runs.
const LONG: &str = "long: ";

/// What one run of a test program came to.
#[derive(Debug, Default)]
pub(super) struct Words {
    passed: u64,
    /// The tests that failed, by name.
    pub(super) failed: Vec<String>,
    /// Why the program did not come to its end, where it did not.
    pub(super) died: Option<String>,
    skipped: u64,
    /// The tests that `--long` runs, by name.
    pub(super) long: Vec<String>,
    notes: Vec<String>,
    text: String,
}

impl Words {
    /// Reads what a program printed until it ended so.
    pub(super) fn read(text: String, ended: Result<ExitStatus, String>) -> Self {
        let mut words = Self::default();
        // Tests of one name are apart by the program that ran them: the examples in documents are several.
        let (mut skipping, mut programs) = (BTreeSet::new(), 0);
        let (mut in_successes, mut of) = (false, "");
        for line in text.lines() {
            if let Some(result) = line.strip_prefix("test result: ") {
                in_successes = false;
                programs += 1;
                let passed = result.split([';', '.']).find_map(|part| part.trim().strip_suffix(" passed"));
                words.passed += passed.and_then(|count| count.parse().ok()).unwrap_or(0);
            } else if let Some((name, end)) = line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... ")) {
                let name = name.trim_end_matches(" - should panic");
                if end == "FAILED" {
                    words.failed.push(name.to_owned());
                } else if end.strip_prefix("ignored, ").is_some_and(|reason| reason.starts_with(LONG)) {
                    words.long.push(name.to_owned());
                }
            } else if line == "successes:" || line == "failures:" {
                in_successes = line == "successes:";
            } else if let Some(name) = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----")) {
                of = name;
            } else if in_successes && line.starts_with("skipped:") {
                skipping.insert((programs, of));
                words.notes.push(format!("{line} ({of})"));
            }
        }
        words.skipped = skipping.len() as u64;
        words.passed = words.passed.saturating_sub(words.skipped);
        words.died = match ended {
            Ok(ended) if ended.success() || !words.failed.is_empty() => None,
            Ok(ended) => Some(ended.to_string()),
            Err(error) => Some(error),
        };
        words.text = text;
        words
    }

    pub(super) fn is_good(&self) -> bool {
        self.failed.is_empty() && self.died.is_none()
    }

    /// Whether all of one test alone held.
    pub(super) fn is_one(&self) -> bool {
        self.is_good() && self.passed + self.skipped == 1
    }

    /// One line of counts.
    pub(super) fn counts(&self) -> String {
        let failed = self.failed.len() + usize::from(self.died.is_some());
        format!("{} passed, {failed} failed, {} skipped", self.passed, self.skipped)
    }

    /// What is to be seen of a failure: all but what tests printed that passed.
    pub(super) fn of_failures(&self) -> String {
        let mut in_successes = false;
        let lines = self.text.lines().filter(|line| {
            in_successes = *line == "successes:" || in_successes && *line != "failures:";
            !in_successes || self.died.is_some()
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// What the tests themselves printed.
    pub(super) fn of_tests(&self) -> String {
        let ours = ["running ", "test ", "successes:", "failures:", "---- ", "    "];
        let lines = self.text.lines().filter(|line| !line.is_empty() && !ours.iter().any(|own| line.starts_with(own)));
        lines.flat_map(|line| ["    ", line, "\n"]).collect()
    }

    /// Takes a failure back that did not come again.
    pub(super) fn forgive(&mut self, test: &str, program: &str) {
        self.failed.retain(|failed| failed != test);
        self.passed += 1;
        self.notes.push(format!(
            "unsteady: {test} ({program}) failed beside others and passed alone: see above, and mend it"
        ));
    }

    /// Adds it to what came of all.
    pub(super) fn add_to(self, outcome: &mut Outcome, program: &str) {
        outcome.passed += self.passed;
        outcome.skipped += self.skipped;
        outcome.failed += self.failed.len() as u64 + u64::from(self.died.is_some());
        outcome.notes.extend(self.notes);
        outcome.notes.extend(self.failed.iter().map(|test| format!("failed: {test} ({program})")));
        outcome.notes.extend(self.died.map(|ended| format!("{program} did not come to its end ({ended}): see above")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(code: i32) -> ExitStatus {
        std::os::unix::process::ExitStatusExt::from_raw(code << 8)
    }

    const TEXT: &str = "
running 7 tests
test d ... ignored, started by a
test e ... ignored, long: measures this machine
test a ... ok
test b - should panic ... ok
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

test result: FAILED. 2 passed; 1 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.00s
";

    #[test]
    fn a_test_that_says_why_it_cannot_run_is_skipped_and_a_long_one_is_known() {
        let words = Words::read(TEXT.to_owned(), Ok(ended(101)));
        assert_eq!(words.counts(), "1 passed, 1 failed, 1 skipped");
        assert_eq!((words.long.as_slice(), words.failed.as_slice()), (&["e".to_owned()][..], &["c".to_owned()][..]));
        let shown = words.of_failures();
        assert!(shown.contains("thread panicked") && !shown.contains("more of a"), "{shown}");
        assert_eq!(words.of_tests(), "    skipped: fio is not there\n    more of a\n    thread panicked\n");
        let mut outcome = Outcome::default();
        words.add_to(&mut outcome, "unit");
        assert_eq!((outcome.passed, outcome.failed, outcome.skipped), (1, 1, 1));
        assert_eq!(outcome.notes, ["skipped: fio is not there (a)", "failed: c (unit)"]);
    }

    #[test]
    fn a_program_that_ends_badly_is_a_failure_though_no_test_failed() {
        let mut outcome = Outcome::default();
        Words::read(String::new(), Ok(ended(124))).add_to(&mut outcome, "unit");
        assert_eq!((outcome.failed, outcome.notes.len()), (1, 1));
    }

    #[test]
    fn a_failure_that_does_not_come_again_is_named_as_unsteady() {
        let mut words = Words::read(TEXT.to_owned(), Ok(ended(101)));
        words.forgive("c", "unit");
        assert_eq!(words.counts(), "2 passed, 0 failed, 1 skipped");
        let mut outcome = Outcome::default();
        words.add_to(&mut outcome, "unit");
        assert!(outcome.notes[1].starts_with("unsteady: c (unit)"), "{:?}", outcome.notes);
    }
}
