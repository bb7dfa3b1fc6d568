//! Which tests run beside which: those that compute, those that wait, and those that hold a rate or a time.

use super::program::{Program, Run};
use super::{Done, Settings};
use std::sync::Mutex;

/// How tests use the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Busy all the time.
    Computing,
    /// Mostly asleep: they wait for devices, servers and clocks.
    Waiting,
    /// They hold a rate or a time. Nothing computes beside them.
    Timed,
    /// They sleep for minutes on devices that the kernel throttles, and hold the rates of these.
    Throttled,
    /// They do the same, and measure everything once more if anything ran beside them.
    Alone,
}

/// Packages whose tests wait.
const WAITING: &[&str] = &[
    "loadline",
    "loadline-crawl",
    "loadline-engine",
    "loadline-emulator",
    "loadline-kernel",
    "loadline-runs",
    "loadline-benches",
    "loadline-shelter-service",
];

/// Tests of waiting packages that hold a rate or a time: package, and how their names begin.
const TIMED: &[(&str, &str)] = &[
    // What a modelled disk delivers, within a few percent of its model.
    ("loadline-emulator", "model::"),
    // Memory, counters and rates of this process and of the kernel.
    ("loadline-engine", "ground_truth::"),
    // Trials that end soon after the limit at which a request hangs.
    ("loadline-engine", "hangs::"),
    // A queue that must stay full.
    ("loadline-engine", "drive::a_deep_queue_"),
    // Each block must have been written twice before the trial ends.
    ("loadline-engine", "drive::a_corrupted_"),
    // Trials of a second on two throttled disks, which must scatter less than the disks differ.
    ("loadline-runs", "told_apart::"),
    // What a model lets through in a second, counted by its client.
    ("loadline-runs", "emulations::an_emulated_disk_is_measured_by_its_uri"),
    // Hosts that keep a rate through trials of a second, in processes of their own.
    ("loadline", "kubernetes::pods_"),
    ("loadline", "slurm::the_scripts_"),
    ("loadline", "hosts::the_script_for_slurm_"),
];

/// Tests on throttled devices: what limits them.
const THROTTLED: &[(&str, &str)] = &[("loadline-runs", "limits::"), ("loadline-runs", "set_ups::")];

/// What is fitted to throttled devices. A measurement beside others is unlike the next one, and all of them are made again.
const ALONE: &[(&str, &str)] = &[("loadline-runs", "fitted::a_fitted_throttled_")];

/// Threads of one program whose tests wait.
const THREADS_WAITING: usize = 4;

impl Class {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Computing => "computing",
            Self::Waiting => "waiting",
            Self::Timed => "timed",
            Self::Throttled => "throttled",
            Self::Alone => "alone",
        }
    }

    /// The class of a test.
    pub(super) fn of(program: &Program, test: &str) -> Self {
        let is_of = |rules: &[(&str, &str)]| {
            rules.iter().any(|(package, name)| *package == program.package && test.starts_with(name))
        };
        if is_of(TIMED) {
            Self::Timed
        } else if is_of(THROTTLED) {
            Self::Throttled
        } else if is_of(ALONE) {
            Self::Alone
        } else if WAITING.contains(&program.package.as_str()) {
            Self::Waiting
        } else {
            Self::Computing
        }
    }

    /// How many programs run at once, and in how many threads each.
    fn width(self) -> (usize, usize) {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        match self {
            // Each may use all: whichever has a long last test leaves the rest to the others.
            Self::Computing => (processors, processors),
            Self::Waiting => (WAITING.len(), THREADS_WAITING),
            Self::Timed | Self::Throttled | Self::Alone => (1, processors),
        }
    }
}

/// Runs them all, the largest first, as many at once as the class allows.
pub(super) fn all(mut runs: Vec<Run<'_>>, class: Class, settings: &Settings) -> Vec<Done> {
    runs.sort_by_key(|run| std::cmp::Reverse((run.program.package == LARGEST, run.tests.len())));
    let (programs, threads) = class.width();
    let (runs, done) = (Mutex::new(runs.into_iter()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..programs {
            scope.spawn(|| {
                loop {
                    let Some(run) = runs.lock().expect("no thread panics with it").next() else { break };
                    let result = run.start(threads, settings);
                    done.lock().expect("no thread panics with it").push(result);
                }
            });
        }
    });
    done.into_inner().expect("no thread panics with it")
}

/// Whose few tests take longest: it begins first.
const LARGEST: &str = "loadline-tests";
