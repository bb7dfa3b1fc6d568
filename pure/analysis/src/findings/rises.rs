//! Rates that rose while a trial went on, and stayed there: the mean over it is the rate of no time.

use super::{VolumeView, codes};
use crate::limits::{Level, rises};
use crate::summary::Finding;
use crate::trials::trials_used;
use crate::words::{counted, how_much, listed, load_name, number, seconds};
use loadline_record::{CellRecord, Clock};

/// Where the mean comes as near to the last level as this, nothing need be said.
const NEAR: f64 = 1.05;

/// What a measured cell's rate rose from and to.
pub(crate) struct Rise {
    /// Of the first trial that shows it, in order: two or more.
    levels: Vec<Level>,
    /// How many trials show it, of how many.
    trials: (usize, usize),
}

impl Rise {
    /// That of a cell whose load was ours; `None` where its mean says all there is.
    pub(crate) fn of(cell: &CellRecord, clock: Clock) -> Option<Self> {
        if clock != Clock::Real || cell.load.is_of_others() {
            return None;
        }
        let trials = trials_used(cell);
        let shown: Vec<Vec<Level>> = trials
            .iter()
            .filter_map(|trial| {
                let levels = rises(trial)?;
                (levels.last()?.iops > trial.iops()? * NEAR).then_some(levels)
            })
            .collect();
        let count = shown.len();
        Some(Self { levels: shown.into_iter().next()?, trials: (count, trials.len()) })
    }

    /// Of levels.
    pub(crate) const fn count(&self) -> usize {
        self.levels.len()
    }

    /// "1,000 IOPS for 10 s and 3,000 for the 20 s after".
    pub(crate) fn words(&self) -> String {
        let parts = self.levels.iter().enumerate().map(|(i, level)| {
            let unit = if i == 0 { " IOPS" } else { "" };
            let (which, after) = if i + 1 == self.levels.len() { ("the ", " after") } else { ("", "") };
            format!("{}{unit} for {which}{}{after}", number(level.iops), seconds(level.length_ns as u64))
        });
        let whose = match self.trials {
            (shown, all) if shown == all => String::new(),
            (1, all) => format!(", in one of {}", counted(all, "trial")),
            (shown, all) => format!(", in {} of {}", number(shown as f64), counted(all, "trial")),
        };
        format!("{}{whose}", listed(&parts.collect::<Vec<String>>()))
    }

    /// A rate in words, of so much for each request: what it was in the end, and what it had been before.
    pub(super) fn apart(&self, each: f64, text: fn(f64) -> String) -> Option<(String, String)> {
        let (last, before) = self.levels.split_last()?;
        let before = text(before.last()?.iops * each);
        Some((text(last.iops * each), format!(" in the last {}, {before} before that", seconds(last.length_ns as u64))))
    }
}

/// The cell that shows it best, the first of the others like it named with it.
pub(super) fn told(view: &VolumeView<'_>) -> Option<Finding> {
    let shown: Vec<(usize, &Rise)> = view.own.iter().filter_map(|i| Some((*i, view.rises[*i].as_ref()?))).collect();
    let (first, rise) = shown.first()?;
    let cell = &view.cells[*first];
    let others = match shown.len() - 1 {
        0 => String::new(),
        1 => " 1 other cell shows the like.".to_owned(),
        more => format!(" {} other cells show the like.", number(more as f64)),
    };
    let text = format!(
        "something changed while it was measured: {} at {} had {}.{others} A mean over all of it is the rate of neither. Other load \
         that went, a cache that was filled and a limit set anew do that: find out which, and measure again.",
        load_name(cell),
        how_much(cell),
        rise.words()
    );
    let cells: Vec<usize> = shown.iter().map(|(i, _)| *i).collect();
    Some(view.finding(codes::RATE_ROSE, &text, &cells))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{ExampleDisk, cell, closed, run};
    use crate::summarize;
    use crate::summary::RunSummary;
    use loadline_block::Operation;
    use loadline_record::{ArrivalKind, RunRecord};

    /// Trials of reads at depth 8, of which each second completes so many.
    fn reads(trials: &[&[(usize, u64)]]) -> RunRecord {
        let shares = vec![1.0; trials.len()];
        let mut cell = cell(closed("random", 1.0, 4 << 10, 8), &ExampleDisk::default(), &shares);
        for (trial, parts) in cell.trials.iter_mut().zip(trials) {
            let counts: Vec<u64> = parts.iter().flat_map(|(times, count)| vec![*count; *times]).collect();
            trial.measured_ns = counts.len() as u64 * 1_000_000_000;
            let second = trial.series.seconds[0];
            trial.series.seconds = vec![second; counts.len()];
            for (second, count) in trial.series.seconds.iter_mut().zip(&counts) {
                second.operations[0].count = *count;
            }
            let reads = trial.operations.get_mut(&Operation::Read).unwrap();
            reads.count = counts.iter().sum();
            reads.bytes = reads.count * (4 << 10);
        }
        run(vec![cell])
    }
    fn told(summary: &RunSummary, code: &str) -> Option<String> {
        summary.findings.iter().find(|finding| finding.code == code).map(|finding| finding.text.clone())
    }

    #[test]
    fn a_rate_that_rose_is_told_with_what_it_was_before() {
        let summary = summarize(&reads(&[&[(20, 1_000), (40, 3_000)]]));
        assert_eq!(
            told(&summary, codes::RATE_ROSE).unwrap(),
            "Something changed while it was measured: random 4 KiB reads at depth 8 had 1,000 IOPS for 20 s and 3,000 for the 40 s after. \
             A mean over all of it is the rate of neither. Other load that went, a cache that was filled and a limit set anew do that: \
             find out which, and measure again."
        );
        let most = told(&summary, codes::BEST_RANDOM_IOPS).unwrap();
        assert!(
            most.starts_with("Delivers up to 3,000 random 4 KiB reads a second in the last 40 s, 1,000 before that"),
            "{most}"
        );
        let most = told(&summary, codes::BEST_THROUGHPUT).unwrap();
        assert!(most.contains("12.3 MB/s in the last 40 s, 4.10 MB/s before that"), "{most}");
        let conclusion = &summary.conclusions[0];
        assert!(
            conclusion.text.contains("2,333 IOPS (9.56 MB/s), the mean of two levels, at depth 8"),
            "{conclusion:?}"
        );
        let meaning = conclusion.consequence.as_ref().unwrap();
        assert!(
            meaning.contains("It had 1,000 IOPS for 20 s and 3,000 for the 40 s after: something changed"),
            "{meaning}"
        );
        let next = conclusion.next.as_ref().unwrap();
        assert!(next.starts_with("First find out what changed while it was measured"), "{next}");
    }

    #[test]
    fn of_several_trials_those_are_counted_that_show_it() {
        let (rose, even): (&[_], &[_]) = (&[(20, 1_000), (40, 3_000)], &[(60, 3_000)]);
        let text = |trials: &[&[(usize, u64)]]| told(&summarize(&reads(trials)), codes::RATE_ROSE).unwrap();
        assert!(text(&[rose, even, even]).contains("for the 40 s after, in one of 3 trials."));
        assert!(text(&[rose, rose, even]).contains("for the 40 s after, in 2 of 3 trials."));
        assert!(text(&[rose, rose]).contains("for the 40 s after. A mean"));
    }

    #[test]
    fn what_a_mean_hardly_shows_or_nobody_set_is_not_told() {
        let code = |record: &RunRecord| told(&summarize(record), codes::RATE_ROSE);
        assert_eq!(code(&reads(&[&[(60, 3_000)]])), None);
        assert_eq!(code(&reads(&[&[(3, 2_000), (57, 3_000)]])), None, "1.7 %");
        let of_others = |record: RunRecord| {
            let mut record = record;
            record.cells[0].load.figures_mut().expect("figures").arrival = ArrivalKind::Application;
            record
        };
        assert_eq!(code(&of_others(reads(&[&[(20, 1_000), (40, 3_000)]]))), None);
    }
}
