//! The tests: built once, then run program by program. Those that wait for devices and clocks run beside those that compute.

mod program;
mod words;

use crate::gate::{FEATURES, TEST_CPU_SECONDS};
use crate::step::{LONG, Outcome, cargo, is_long};
use program::{Built, Program};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Instant;
use words::Words;

/// Draws what tests sample.
const SEED: &str = "LOADLINE_TEST_SEED";
/// The same for the cases of properties, as proptest reads it: what a gate finds is found again.
const PROPERTY_SEED: &str = "PROPTEST_RNG_SEED";
/// The `loadline` command that the tests of documents start.
const COMMAND: &str = "LOADLINE_BIN";
/// Programs that wait, at once, and threads of each.
const WAITING: (usize, usize) = (8, 4);
/// Failures of tests that wait which are tried again, alone. More are no chance.
const AGAIN_MAX: usize = 2;
/// Whose few tests take longest: they begin first.
const LARGEST: &str = "tests ";

/// The step of the gate.
pub(crate) fn step(root: &Path) -> Outcome {
    let built = match Built::build(root) {
        Ok(built) => built,
        Err(note) => return Outcome::fail(note),
    };
    let settings = Settings { seed: seed(root), command: built.command.clone(), folder: root.join("target/tests") };
    if let Err(error) = std::fs::create_dir_all(&settings.folder) {
        return Outcome::fail(format!("cannot make {}: {error}", settings.folder.display()));
    }
    println!("{SEED}={}", settings.seed.as_deref().unwrap_or("none: everything is tried"));
    let before = cpu_seconds();
    let (mut done, examples) = std::thread::scope(|scope| {
        let examples = scope.spawn(|| documents(root, &settings));
        (beside_each_other(&built.programs, &settings), examples.join().expect("no step panics"))
    });
    again(&mut done, &settings);
    let long: Vec<(&Program, String)> =
        done.iter().flat_map(|(program, words)| words.long.iter().map(|test| (*program, test.clone()))).collect();
    let mut outcome = Outcome::default();
    for (program, words) in done {
        words.add_to(&mut outcome, &program.name);
    }
    examples.add_to(&mut outcome, "examples in documentation");
    println!("the tests took {} of {TEST_CPU_SECONDS} CPU seconds", cpu_seconds() - before);
    if outcome.passed == 0 {
        outcome.add(Outcome::fail("no test ran"));
    }
    if is_long() {
        outcome.add(all_long(&long, &settings));
    } else {
        outcome.skipped += long.len() as u64;
        outcome.notes.push(format!("skipped: {} long tests (cargo xtask test --long)", long.len()));
    }
    if let Some(seed) = settings.seed.filter(|_| outcome.failed > 0) {
        outcome.notes.push(format!("what was drawn is drawn again with {SEED}={seed} {PROPERTY_SEED}={seed}"));
    }
    outcome
}

/// What test programs are told.
struct Settings {
    /// `None` where nothing is sampled, and tests have seeds of their own.
    seed: Option<String>,
    command: Option<PathBuf>,
    /// Where what they print is kept.
    folder: PathBuf,
}

impl Settings {
    fn apply(&self, command: &mut Command) {
        for name in [SEED, PROPERTY_SEED] {
            command.envs(self.seed.iter().map(|seed| (name, seed)));
        }
        command.envs(self.command.iter().map(|path| (COMMAND, path)));
        command.envs(is_long().then_some((LONG, "1")));
    }
}

/// Runs all programs: as many that compute as there are processors, and beside them those that wait.
fn beside_each_other<'a>(programs: &'a [Program], settings: &Settings) -> Vec<(&'a Program, Words)> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let (mut waiting, mut computing): (Vec<&Program>, Vec<&Program>) = programs.iter().partition(|one| one.waits);
    for queue in [&mut waiting, &mut computing] {
        queue.sort_by_key(|program| !program.name.starts_with(LARGEST));
    }
    let queues = [(waiting, WAITING), (computing, (processors, processors))];
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for (queue, (at_once, threads)) in queues {
            let queue = std::sync::Arc::new(Mutex::new(queue.into_iter()));
            for _ in 0..at_once {
                let (queue, done) = (std::sync::Arc::clone(&queue), &done);
                scope.spawn(move || {
                    loop {
                        let Some(program) = queue.lock().expect("no thread panics with it").next() else { break };
                        let words = shown(program, threads, &[], settings);
                        done.lock().expect("no thread panics with it").push((program, words));
                    }
                });
            }
        }
    });
    done.into_inner().expect("no thread panics with it")
}

/// Runs tests of a program, and prints what failed and a line of counts.
fn shown(program: &Program, threads: usize, chosen: &[&str], settings: &Settings) -> Words {
    let begun = Instant::now();
    let words = program.run(threads, chosen, settings);
    let (word, shown) = if words.is_good() { ("ok", String::new()) } else { ("FAILED", words.of_failures() + "\n") };
    println!("{shown}{word:<6} {}: {} in {:.1} s", program.name, words.counts(), begun.elapsed().as_secs_f64());
    words
}

/// Tries again, alone, the tests that failed and wait for devices and clocks: one of some hundreds fails by chance now and then.
fn again(done: &mut [(&Program, Words)], settings: &Settings) {
    let by_chance = |(program, words): &(&Program, Words)| program.waits && words.died.is_none();
    let failed: usize = done.iter().map(|(_, words)| words.failed.len()).sum();
    if failed > AGAIN_MAX || !done.iter().all(|one| one.1.is_good() || by_chance(one)) {
        return;
    }
    for (program, words) in done.iter_mut() {
        for test in words.failed.clone() {
            if shown(program, 2, &["--exact", &test], settings).is_one() {
                words.forgive(&test, &program.name);
            }
        }
    }
}

/// Runs the long tests one after the other. What each prints is their report.
fn all_long(tests: &[(&Program, String)], settings: &Settings) -> Outcome {
    let (mut outcome, mut report) = (Outcome::default(), String::new());
    println!("\n-- {} long tests, one after the other", tests.len());
    for (program, test) in tests {
        let begun = Instant::now();
        let words = program.run(2, &["--ignored", "--exact", test], settings);
        let word = if words.is_good() { "ok" } else { "FAILED" };
        let seconds = begun.elapsed().as_secs_f64();
        let part = format!("{word:<6} {test} ({}) in {seconds:.0} s\n{}", program.name, words.of_tests());
        print!("{part}");
        report += &part;
        words.add_to(&mut outcome, &program.name);
    }
    let path = settings.folder.join("long-report.txt");
    let end = format!("{} passed, {} failed, {} skipped", outcome.passed, outcome.failed, outcome.skipped);
    match std::fs::write(&path, format!("{report}{end}\n")) {
        Ok(()) => println!("-- long tests: {end}; the report is {}", path.display()),
        Err(error) => outcome.add(Outcome::fail(format!("cannot write {}: {error}", path.display()))),
    }
    outcome
}

/// The seed of this gate: the one asked for, else the first 32 bits of the commit's hash. `None` where all is tried.
fn seed(root: &Path) -> Option<String> {
    if let Ok(asked) = std::env::var(SEED) {
        return Some(asked);
    }
    let mut git = Command::new("git");
    git.arg("-c").arg(format!("safe.directory={}", root.display())).args(["rev-parse", "HEAD"]).current_dir(root);
    let hash = git.output().map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let bits = hash.get(..8).and_then(|digits| u32::from_str_radix(digits, 16).ok()).unwrap_or_default();
    (!is_long()).then(|| bits.to_string())
}

/// The examples in the documentation of the libraries, which only rustdoc can run.
fn documents(root: &Path, settings: &Settings) -> Words {
    let mut command = cargo(root);
    command.args(["test", "--workspace", FEATURES, "--doc", "--quiet", "--no-fail-fast", "--", "--show-output"]);
    let words = program::run(&mut command, "documentation", settings);
    let shown = if words.is_good() { String::new() } else { words.of_failures() + "\n" };
    println!("{shown}examples in the libraries' documentation: {}", words.counts());
    words
}

/// The CPU time of everything that this program started and waited for. The kernel counts it in hundredths on every Linux.
fn cpu_seconds() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit_once(") ").map_or("", |(_, fields)| fields).split_whitespace().collect();
    let ticks = |index: usize| fields.get(index).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
    (ticks(13) + ticks(14)) / 100
}
