//! The tests: built once, then run here program by program in classes, with their times and their CPU seconds.
//!
//! Cargo runs test programs one after the other, and half of the tests wait for devices and clocks. Here programs that
//! compute share the processors, and programs that wait run beside each other. Tests that hold a rate or a time run last, with
//! few others.

mod again;
mod output;
mod program;
mod schedule;
mod usage;
mod yardstick;

use crate::gate::{FEATURES, TEST_CPU_SECONDS_MAX};
use crate::step::{LONG, Outcome, cargo, is_long};
use output::{Failure, TestTime};
use program::{Built, Run};
use schedule::Class;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use yardstick::Yardstick;

/// Draws what tests sample.
const SEED: &str = "LOADLINE_TEST_SEED";
/// The `loadline` command that the tests of documents start.
const COMMAND: &str = "LOADLINE_BIN";
/// How many of the slowest tests are printed.
const SLOWEST: usize = 10;

/// The step of the gate.
///
/// Nothing that computes runs beside tests on throttled devices: what it takes from them is measured again and again.
pub(crate) fn step(root: &Path) -> Outcome {
    let built = match Built::build(root) {
        Ok(built) => built,
        Err(note) => return Outcome::fail(note),
    };
    let settings = Settings { seed: seed(root), is_long: is_long(), command: built.command.clone() };
    match &settings.seed {
        Some(seed) => println!("{SEED}={seed} draws what is sampled"),
        None => println!("everything is tried"),
    }
    let (mut total, mut yardstick) = (Total::default(), Yardstick::default());
    yardstick.measure();
    for class in [Class::Computing, Class::Waiting] {
        total.add_all(run(class, &built, &settings));
        yardstick.measure();
    }
    std::thread::scope(|scope| {
        let throttled = scope.spawn(|| run(Class::Throttled, &built, &settings));
        total.add_all(run(Class::Timed, &built, &settings));
        total.add_all(throttled.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
    });
    yardstick.measure();
    total.add_all(run(Class::Alone, &built, &settings));
    yardstick.measure();
    again::attempt(&mut total, &built, &settings);
    total.add_all(vec![documents(root)]);
    total.finish(&settings, yardstick.slowness())
}

/// Runs all tests of a class.
fn run(class: Class, built: &Built, settings: &Settings) -> Vec<Done> {
    let begun = Instant::now();
    let runs: Vec<Run<'_>> = built.programs.iter().filter_map(|program| program.run(class)).collect();
    let count: usize = runs.iter().map(|run| run.tests.len()).sum();
    println!("-- {}: {count} tests in {} programs", class.name(), runs.len());
    let done = schedule::all(runs, class, settings);
    println!("-- {}: {:.0} s", class.name(), begun.elapsed().as_secs_f64());
    done
}

/// What test programs are told.
struct Settings {
    /// `None` where nothing is sampled, and tests have seeds of their own.
    seed: Option<String>,
    is_long: bool,
    command: Option<std::path::PathBuf>,
}

impl Settings {
    fn apply(&self, command: &mut Command) {
        if let Some(seed) = &self.seed {
            command.env(SEED, seed);
        }
        if self.is_long {
            command.env(LONG, "1");
        }
        if let Some(path) = &self.command {
            command.env(COMMAND, path);
        }
    }
}

/// What one run of a test program came to.
#[derive(Default)]
struct Done {
    outcome: Outcome,
    failures: Vec<Failure>,
    times: Vec<TestTime>,
    cpu: Duration,
}

/// All of them together.
#[derive(Default)]
struct Total {
    outcome: Outcome,
    failures: Vec<Failure>,
    times: Vec<TestTime>,
    cpu: Duration,
}

impl Total {
    fn add_all(&mut self, all: Vec<Done>) {
        for done in all {
            self.add(done);
        }
    }

    fn add(&mut self, done: Done) {
        self.outcome.passed += done.outcome.passed;
        self.outcome.failed += done.outcome.failed;
        self.outcome.skipped += done.outcome.skipped;
        self.outcome.notes.extend(done.outcome.notes);
        self.failures.extend(done.failures);
        self.times.extend(done.times);
        self.cpu += done.cpu;
    }

    /// Prints the slowest tests and the CPU seconds, and holds these to their budget.
    ///
    /// `slowness`: how many times as long the same work takes here.
    fn finish(mut self, settings: &Settings, slowness: f64) -> Outcome {
        self.times.sort_by_key(|test| std::cmp::Reverse(test.time));
        println!("the {SLOWEST} slowest tests:");
        for test in self.times.iter().take(SLOWEST) {
            println!("{:>7.1} s  {} {}", test.time.as_secs_f64(), test.program, test.name);
        }
        let cpu = self.cpu.as_secs();
        let budget = budget(slowness);
        println!("the tests took {cpu} CPU seconds of {budget} (slowness of this machine: {slowness:.2})");
        if self.outcome.passed == 0 {
            self.outcome.failed += 1;
            self.outcome.notes.push("no test ran".to_owned());
        }
        if let Some(seed) = settings.seed.as_ref().filter(|_| self.outcome.failed > 0) {
            self.outcome.notes.push(format!("what was sampled is drawn again with {SEED}={seed}"));
        }
        if let Some(note) = over_budget(cpu, budget, settings.is_long) {
            self.outcome.failed += 1;
            self.outcome.notes.push(note);
        }
        self.outcome
    }
}

/// The CPU seconds that the budget's work takes on this machine.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "some thousand seconds"
)]
fn budget(slowness: f64) -> u64 {
    (TEST_CPU_SECONDS_MAX as f64 * slowness) as u64
}

/// What to say where the tests took more CPU time than they may.
fn over_budget(cpu_s: u64, budget: u64, is_long: bool) -> Option<String> {
    (cpu_s > budget && !is_long).then(|| {
        format!(
            "the tests took {cpu_s} CPU seconds, more than {budget} (TEST_CPU_SECONDS_MAX in xtask/src/gate.rs): sample what is statistical, or test it at a lower boundary"
        )
    })
}

/// The seed of this gate: the one asked for, else one that each commit has for itself. `None` where all is tried.
fn seed(root: &Path) -> Option<String> {
    if let Ok(asked) = std::env::var(SEED) {
        return Some(asked);
    }
    if is_long() {
        return None;
    }
    let mut git = Command::new("git");
    git.arg("-c").arg(format!("safe.directory={}", root.display()));
    let head = git.args(["rev-parse", "HEAD"]).current_dir(root).output();
    let head = head.ok().filter(|output| output.status.success()).map(|output| output.stdout).unwrap_or_default();
    Some(seed_of(&String::from_utf8_lossy(&head)).to_string())
}

/// The first 32 bits of a commit's hash; 0 where there is none.
fn seed_of(hash: &str) -> u32 {
    hash.get(..8).and_then(|digits| u32::from_str_radix(digits, 16).ok()).unwrap_or_default()
}

/// The examples in the documentation of the libraries, which only rustdoc can run.
fn documents(root: &Path) -> Done {
    let mut command = cargo(root);
    command.args(["test", "--workspace", FEATURES, "--doc", "--quiet", "--no-fail-fast", "--", "--show-output"]);
    println!("-- examples in the libraries' documentation");
    let begun = usage::of_children();
    let mut reader = output::Reader::new("documentation", Vec::new(), 1);
    let ended = program::follow(&mut command, |line| {
        if reader.read(line, Instant::now()) == output::Show::Yes && !is_chatter(line) {
            println!("{line}");
        }
    });
    let cpu = usage::of_children().saturating_sub(begun);
    // A library need not have examples.
    let outcome = match ended {
        Ok(ended) => reader.finish(ended, output::Least::None),
        Err(note) => Outcome::fail(note),
    };
    Done { outcome, cpu, ..Done::default() }
}

/// Whether a line says nothing to whoever looks for failures.
fn is_chatter(line: &str) -> bool {
    line.trim().is_empty() || line.starts_with("running ") || line.starts_with("test result: ok")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_is_the_beginning_of_the_commits_hash() {
        assert_eq!(seed_of("965d3a7c00000000000000000000000000000000\n"), 0x965d_3a7c);
        assert_eq!((seed_of(""), seed_of("not a hash")), (0, 0));
    }

    #[test]
    fn tests_past_their_budget_fail_the_gate_unless_all_is_tried() {
        assert_eq!(budget(1.0), TEST_CPU_SECONDS_MAX);
        assert_eq!(over_budget(budget(2.0), budget(2.0), false), None);
        assert!(over_budget(budget(2.0) + 1, budget(2.0), false).unwrap().contains("TEST_CPU_SECONDS_MAX"));
        assert_eq!(over_budget(budget(2.0) + 1, budget(2.0), true), None);
    }
}
