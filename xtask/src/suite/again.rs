//! A second attempt, alone, for tests that failed and whose class depends on what else the machine does.
//!
//! They hold devices, clocks and processes of a shared machine to account, and one of some hundreds fails by chance now and then. A fault
//! fails both times. What passes alone is named as unsteady in the gate's last lines, so that it is mended and not forgotten.

use super::output::Failure;
use super::program::{Built, Run};
use super::schedule::Class;
use super::{Settings, Total};

/// More failures than this are no chance, and none is tried again. A machine that stands still for a second fails all that hold a time in
/// that second.
const AGAIN_MAX: usize = 8;

/// Tries again what may have failed by chance.
pub(super) fn attempt(total: &mut Total, built: &Built, settings: &Settings) {
    let Some(runs) = chosen(&total.failures, total.outcome.failed, built) else { return };
    println!("-- again, alone: {} tests", runs.len());
    for (failure, run) in runs {
        let done = run.start(1, settings);
        if (done.outcome.passed, done.outcome.failed) == (1, 0) {
            total.forgive(&failure);
        }
        total.cpu += done.cpu;
    }
}

/// The failed tests, each as a run of its own; `None` where there is none, or one of them cannot have failed by chance.
fn chosen<'a>(failures: &[Failure], failed: u64, built: &'a Built) -> Option<Vec<(Failure, Run<'a>)>> {
    if failures.is_empty() || failures.len() > AGAIN_MAX || failures.len() as u64 != failed {
        return None;
    }
    let run = |failure: &Failure| {
        let program = built.programs.iter().find(|program| program.name() == failure.program)?;
        let run = program.only(&failure.test)?;
        (Class::of(program, &failure.test) != Class::Computing).then_some((failure.clone(), run))
    };
    failures.iter().map(run).collect()
}

impl Total {
    /// Takes a failure back that did not come again.
    fn forgive(&mut self, failure: &Failure) {
        self.outcome.failed -= 1;
        self.outcome.passed += 1;
        let note = failure.note();
        self.outcome.notes.retain(|own| *own != note);
        self.outcome.notes.push(failure.unsteady());
    }
}

#[cfg(test)]
mod tests {
    use super::super::program::Program;
    use super::*;
    use crate::step::Outcome;

    fn failure(program: &str, test: &str) -> Failure {
        Failure { program: program.to_owned(), test: test.to_owned() }
    }
    fn built() -> Built {
        let program = |package, tests: &[&str]| Program::example(package, tests);
        Built {
            programs: vec![program("loadline-runs", &["ranks::a", "limits::b", "c"]), program("loadline-disk", &["d"])],
            command: None,
        }
    }

    #[test]
    fn what_depends_on_the_machine_is_tried_again_alone() {
        let built = built();
        let failures = [failure("loadline-runs lib", "ranks::a"), failure("loadline-runs lib", "limits::b")];
        let runs = chosen(&failures, 2, &built).unwrap();
        assert_eq!(runs.iter().map(|(_, run)| run.tests.clone()).collect::<Vec<_>>(), [["ranks::a"], ["limits::b"]]);
    }

    #[test]
    fn what_computes_many_failures_and_programs_that_died_are_not_tried_again() {
        let built = built();
        let one = failure("loadline-runs lib", "c");
        assert!(chosen(&[one.clone(), failure("loadline-disk lib", "d")], 2, &built).is_none());
        let many = vec![one.clone(); AGAIN_MAX + 1];
        assert!(chosen(&many, many.len() as u64, &built).is_none());
        assert!(chosen(std::slice::from_ref(&one), 2, &built).is_none(), "a program did not come to its end");
        assert!(chosen(&[failure("loadline-runs lib", "gone")], 1, &built).is_none());
        assert!(chosen(&[one], 1, &built).is_some());
    }

    #[test]
    fn a_failure_that_does_not_come_again_is_named_as_unsteady() {
        let own = failure("loadline-runs lib", "c");
        let notes = vec![own.note(), "skipped: fio".to_owned()];
        let outcome = Outcome { passed: 7, failed: 1, skipped: 1, notes };
        let mut total = Total { outcome, ..Total::default() };
        total.forgive(&own);
        assert_eq!((total.outcome.passed, total.outcome.failed), (8, 0));
        assert_eq!(total.outcome.notes.len(), 2);
        assert!(total.outcome.notes[1].starts_with("unsteady: c (loadline-runs lib)"), "{:?}", total.outcome.notes);
    }
}
