//! What test programs print: their counts, their `skipped:` lines, and how long each test took.

use crate::step::Outcome;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

/// What a test prints, at the start of a line and before its reason, when this machine cannot run it.
const SKIPPED: &str = "skipped:";

/// Whether a line is passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Show {
    Yes,
    No,
}

/// How many tests there must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Least {
    None,
    One,
}

/// A test that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    /// The test program's name.
    pub(super) program: String,
    /// The test's own.
    pub(super) test: String,
}

impl Failure {
    /// What the gate's last lines say of it.
    pub(super) fn note(&self) -> String {
        format!("failed: {} ({})", self.test, self.program)
    }
    /// The same where it passed alone.
    pub(super) fn unsteady(&self) -> String {
        format!(
            "unsteady: {} ({}) failed beside others and passed alone: see above, and mend it",
            self.test, self.program
        )
    }
}

/// How long a test took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TestTime {
    pub(super) program: String,
    pub(super) name: String,
    pub(super) time: Duration,
}

/// When each test began. Stable Rust's test programs print a test when it ends, and only then. But they begin tests in the
/// order of their list, one when another ends, so that the beginnings follow from the ends.
#[derive(Debug, Default)]
struct Beginnings {
    threads: usize,
    /// Not yet begun.
    waiting: VecDeque<String>,
    running: BTreeMap<String, Instant>,
}

impl Beginnings {
    fn fill(&mut self, now: Instant) {
        while self.running.len() < self.threads {
            let Some(next) = self.waiting.pop_front() else { break };
            self.running.insert(next, now);
        }
    }
    /// Takes in the end of a test; how long it took.
    fn end(&mut self, name: &str, now: Instant) -> Option<Duration> {
        let begun = self.running.remove(name)?;
        self.fill(now);
        Some(now.saturating_duration_since(begun))
    }
}

/// Follows libtest's output, line by line.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// The program's name.
    name: String,
    beginnings: Beginnings,
    times: Vec<TestTime>,
    /// Within the output of tests that passed.
    in_successes: bool,
    /// The test whose output is being read.
    test: String,
    passed: u64,
    failed: u64,
    ignored: u64,
    failures: Vec<Failure>,
    /// Tests that passed for want of something.
    skipping: BTreeSet<String>,
    /// Why, in the order in which it was said.
    reasons: Vec<String>,
    /// Test programs begun, to tell apart tests of one name.
    program: u64,
}

impl Reader {
    /// For a program that begins tests in this order in so many threads.
    pub(super) fn new(name: &str, order: Vec<String>, threads: usize) -> Self {
        let beginnings = Beginnings { threads, waiting: order.into(), running: BTreeMap::new() };
        Self { name: name.to_owned(), beginnings, ..Self::default() }
    }

    /// Takes in a line that came at this time.
    pub(super) fn read(&mut self, line: &str, now: Instant) -> Show {
        if line.starts_with("running ") && (line.ends_with(" tests") || line.ends_with(" test")) {
            self.program += 1;
            self.beginnings.fill(now);
        }
        if let Some((name, _)) = line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... ")) {
            let name = name.trim_end_matches(" - should panic");
            if let Some(time) = self.beginnings.end(name, now) {
                self.times.push(TestTime { program: self.name.clone(), name: name.to_owned(), time });
            }
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
            self.failures.push(Failure { program: self.name.clone(), test: name.to_owned() });
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

    /// How long each test took, in the order of their ends.
    pub(super) fn times(&self) -> &[TestTime] {
        &self.times
    }

    /// The tests that failed, in the order of their ends.
    pub(super) fn failures(&self) -> Vec<Failure> {
        self.failures.clone()
    }

    /// The counts: a test that said why it could not run has not passed. `ended` is the program's own verdict, which also knows of one
    /// that did not come to its result.
    pub(super) fn finish(mut self, ended: ExitStatus, least: Least) -> Outcome {
        let ended_well = ended.success();
        let skipping = self.skipping.len() as u64;
        let mut notes = std::mem::take(&mut self.reasons);
        notes.extend(self.failures.iter().map(Failure::note));
        let mut failed = self.failed;
        if !ended_well && failed == 0 {
            failed = 1;
            notes.push(format!("{} did not come to its end ({ended}): see above", self.name));
        }
        if ended_well && least == Least::One && self.passed + self.ignored == 0 {
            failed += 1;
            notes.push(format!("no test of {} ran", self.name));
        }
        Outcome { passed: self.passed.saturating_sub(skipping), failed, skipped: self.ignored + skipping, notes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a program that was killed.
    fn failed() -> ExitStatus {
        std::os::unix::process::ExitStatusExt::from_raw(9)
    }

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
        let (mut reader, now) = (Reader::new("unit", Vec::new(), 1), Instant::now());
        let shown: Vec<&str> = OUTPUT.lines().filter(|line| reader.read(line, now) == Show::Yes).collect();
        assert!(shown.contains(&"thread panicked"));
        assert!(!shown.contains(&"more of a"));
        let outcome = reader.finish(failed(), Least::One);
        assert_eq!((outcome.passed, outcome.failed, outcome.skipped), (1, 1, 5));
        assert_eq!(outcome.notes, ["ignored: started by a (d)", "skipped: fio is not there (a)", "failed: c (unit)"]);
    }

    #[test]
    fn a_program_that_ends_badly_is_a_failure_though_no_test_failed() {
        let outcome = Reader::new("unit", Vec::new(), 1).finish(failed(), Least::None);
        assert_eq!(outcome.failed, 1);
        assert_eq!(outcome.notes, ["unit did not come to its end (signal: 9 (SIGKILL)): see above"]);
    }

    #[test]
    fn a_program_in_which_no_test_ran_does_not_pass_unless_it_may() {
        assert_eq!(Reader::default().finish(ExitStatus::default(), Least::One).failed, 1);
        assert_eq!(Reader::default().finish(ExitStatus::default(), Least::None).failed, 0);
    }

    #[test]
    fn a_test_begins_when_one_before_it_ends() {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let mut reader = Reader::new("unit", ["a", "b", "c", "d"].map(str::to_owned).into(), 2);
        for (seconds, line) in [
            (1, "running 4 tests"),
            (3, "test b ... ok"),
            (4, "test c - should panic ... ok"),
            (9, "test a ... FAILED"),
            (10, "test d ... ignored, why"),
        ] {
            reader.read(line, at(seconds));
        }
        let times: Vec<(&str, u64)> = reader.times().iter().map(|t| (t.name.as_str(), t.time.as_secs())).collect();
        assert_eq!(times, [("b", 2), ("c", 1), ("a", 8), ("d", 6)]);
    }
}
