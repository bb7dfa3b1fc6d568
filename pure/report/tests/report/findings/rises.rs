//! Rates that rose, as a reader meets them.

use super::{concluded, texts};
use loadline_analysis::example::{ExampleDisk, cell, closed, run};
use loadline_analysis::summarize;
use loadline_analysis::{FindingCode, RunSummary};
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
fn told(summary: &RunSummary, code: FindingCode) -> Option<String> {
    texts(summary, code).into_iter().next()
}

#[test]
fn a_rate_that_rose_is_told_with_what_it_was_before() {
    let summary = summarize(&reads(&[&[(20, 1_000), (40, 3_000)]]));
    assert_eq!(
        told(&summary, FindingCode::RateRose).unwrap(),
        "Something changed while it was measured: random 4 KiB reads at depth 8 had 1,000 IOPS for 20 s and 3,000 for the 40 s after. \
         A mean over all of it is the rate of neither. Other load that went, a cache that was filled and a limit set anew do that: \
         find out which, and measure again."
    );
    let most = told(&summary, FindingCode::BestRandomIops).unwrap();
    assert!(
        most.starts_with("Delivers up to 3,000 random 4 KiB reads a second in the last 40 s, 1,000 before that"),
        "{most}"
    );
    let most = told(&summary, FindingCode::BestThroughput).unwrap();
    assert!(most.contains("12.3 MB/s in the last 40 s, 4.10 MB/s before that"), "{most}");
    assert!(concluded(&summary, "text").contains("2,333 IOPS (9.56 MB/s), the mean of two levels, at depth 8"));
    let meaning = concluded(&summary, "consequence");
    assert!(
        meaning.contains("It had 1,000 IOPS for 20 s and 3,000 for the 40 s after: something changed"),
        "{meaning}"
    );
    let next = concluded(&summary, "next");
    assert!(next.starts_with("First find out what changed while it was measured"), "{next}");
}

#[test]
fn of_several_trials_those_are_counted_that_show_it() {
    let (rose, even): (&[_], &[_]) = (&[(20, 1_000), (40, 3_000)], &[(60, 3_000)]);
    let text = |trials: &[&[(usize, u64)]]| told(&summarize(&reads(trials)), FindingCode::RateRose).unwrap();
    assert!(text(&[rose, even, even]).contains("for the 40 s after, in one of 3 trials."));
    assert!(text(&[rose, rose, even]).contains("for the 40 s after, in 2 of 3 trials."));
    assert!(text(&[rose, rose]).contains("for the 40 s after. A mean"));
}

#[test]
fn what_a_mean_hardly_shows_or_nobody_set_is_not_told() {
    let code = |record: &RunRecord| told(&summarize(record), FindingCode::RateRose);
    assert_eq!(code(&reads(&[&[(60, 3_000)]])), None);
    assert_eq!(code(&reads(&[&[(3, 2_000), (57, 3_000)]])), None, "1.7 %");
    let of_others = |record: RunRecord| {
        let mut record = record;
        record.cells[0].load.figures_mut().expect("figures").arrival = ArrivalKind::Application;
        record
    };
    assert_eq!(code(&of_others(reads(&[&[(20, 1_000), (40, 3_000)]]))), None);
}
