//! Findings as a reader meets them.

mod recordings;
mod replays;
mod rises;
mod stalls;

use loadline_analysis::example::{
    ExampleDisk, cell, closed, flushing, golden, latencies, open, planned, predicted, run, throttled,
};
use loadline_analysis::summarize;
use loadline_analysis::{FindingCode, RunSummary};
use loadline_block::Operation;
use loadline_load::{LatencyFigure, LoadSpec, Objective};
use loadline_record::{
    Access, ArrivalKind, Ceiling, CellRecord, Doubt, DoubtCode, Limit, RunRecord, RunStatus, RunVerb, SteadyState,
    TargetKind, VerifyFault, VerifyFaultKind, VerifyRecord,
};

const KIB4: u64 = 4 << 10;

pub(crate) fn texts(summary: &RunSummary, code: FindingCode) -> Vec<String> {
    let of = summary.findings.iter().filter(|found| found.code == code);
    of.map(|found| loadline_report::words::finding(summary, found)).collect()
}
pub(crate) fn one(summary: &RunSummary, code: FindingCode) -> String {
    let texts = texts(summary, code);
    assert_eq!(texts.len(), 1, "{code:?}: {texts:?}");
    texts[0].clone()
}
/// A conclusion as programs and people read it: what of it stands under a key.
pub(crate) fn concluded(summary: &RunSummary, key: &str) -> String {
    let document = serde_json::to_value(loadline_report::run_document(summary)).expect("a document is JSON");
    document["conclusions"][0][key].as_str().unwrap_or_default().to_owned()
}
fn sweep(reads: f64, depths: &[u32]) -> Vec<CellRecord> {
    depths.iter().map(|d| cell(closed("random", reads, KIB4, *d), &ExampleDisk::default(), &[1.0, 1.001])).collect()
}

#[test]
fn a_sweep_reads_like_a_report() {
    let summary = summarize(&golden());
    assert_eq!(
        texts(&summary, FindingCode::Plateau)[0],
        "Random 4 KiB reads and writes level off at 5,002 IOPS from depth 8 on, a limit on requests (disk-iops); deeper queues \
         only add latency (25.6 ms at depth 128)."
    );
    assert_eq!(
        one(&summary, FindingCode::LatencyAlone),
        "One request at a time, random 4 KiB reads take 1.00 ms on average, p99 1.38 ms and random 4 KiB writes take 1.00 \
         ms on average, p99 1.38 ms."
    );
    assert_eq!(
        texts(&summary, FindingCode::Objective)[0],
        "Random 4 KiB reads stay within 20 ms on average up to depth 64 (12.8 ms, 5,002 IOPS); at depth 128 it is 25.6 ms. \
         Since the rate is level there, 100 outstanding take 20 ms."
    );
    assert_eq!(
        one(&summary, FindingCode::FlushLatency),
        "Making a write durable (fdatasync) takes 2.20 ms on average, p99 3.06 ms: within the 10 ms that etcd asks of its log disk."
    );
    assert!(
        one(&summary, FindingCode::BestRandomIops)
            .starts_with("Delivers up to 5,002 random 4 KiB reads a second (depth 8) and")
    );
    assert!(
        one(&summary, FindingCode::BestThroughput)
            .starts_with("Highest throughput: 200 MB/s with random 1 MiB reads (depth 1)")
    );
}

#[test]
fn doubts_about_single_requests_stand_with_what_they_concern() {
    let mut cells: Vec<CellRecord> = [1.0, 0.0].into_iter().flat_map(|reads| sweep(reads, &[1])).collect();
    for cell in &mut cells {
        cell.trials[0].doubts =
            [DoubtCode::CachedReads, DoubtCode::Buffered].map(|code| Doubt::written(code, "Seen.")).to_vec();
    }
    let doubts = "(in doubt: cached-reads and buffered)";
    assert_eq!(
        one(&summarize(&run(cells)), FindingCode::LatencyAlone),
        format!(
            "One request at a time, random 4 KiB reads take 1.00 ms on average, p99 1.38 ms {doubts} and random 4 KiB writes take \
             1.00 ms on average, p99 1.38 ms {doubts}."
        )
    );
}

#[test]
fn the_depth_that_takes_the_objective_is_not_one_too_low_by_rounding() {
    let told = |iops: f64| {
        let disk = ExampleDisk { iops, ..ExampleDisk::default() };
        let cells = [8, 64, 128].map(|depth| cell(closed("random", 1.0, KIB4, depth), &disk, &[1.0, 1.0]));
        texts(&summarize(&run(cells.into())), FindingCode::Objective)[0].clone()
    };
    // 4,998 a second: 100 outstanding take 20.008 ms; and 4,970: 20.12 ms.
    assert!(told(4_997.0).ends_with("100 outstanding take 20 ms."), "{}", told(4_997.0));
    assert!(told(4_970.0).ends_with("99 outstanding take 20 ms."), "{}", told(4_970.0));
}

#[test]
fn a_mix_that_has_more_than_reads_and_writes_alone_is_the_most() {
    let of = |mix: f64| {
        let at = |reads: f64, iops: f64| {
            cell(closed("random", reads, KIB4, 32), &ExampleDisk { iops, ..ExampleDisk::default() }, &[1.0])
        };
        let summary = summarize(&run(vec![at(1.0, 3_000.0), at(0.0, 1_500.0), at(0.5, mix)]));
        (one(&summary, FindingCode::BestRandomIops), one(&summary, FindingCode::BestThroughput))
    };
    let (rate, bytes) = of(3_500.0);
    assert!(rate.contains("and 3,501 random 4 KiB requests (50 % reads) a second (depth 32)"), "{rate}");
    assert!(bytes.contains("and 14.3 MB/s with random 4 KiB requests (50 % reads)"), "{bytes}");
    assert!(!of(2_500.0).0.contains("50 % reads"));
}

#[test]
fn every_finding_is_a_sentence_of_known_cells() {
    let summary = summarize(&golden());
    assert!(summary.findings.len() > 5);
    for found in &summary.findings {
        let text = loadline_report::words::finding(&summary, found);
        assert!(text.ends_with('.') && text.chars().next().unwrap().is_uppercase(), "{text}");
        for id in &found.cells {
            assert!(summary.cells.iter().any(|c| c.id == *id), "{id}");
        }
    }
}

#[test]
fn an_open_loop_tells_the_rate_at_which_the_objective_is_lost() {
    let disk = ExampleDisk::default();
    let rates = [500.0, 2_500.0, 4_500.0, 5_500.0];
    let cells = rates.map(|r| cell(open("random", 1.0, KIB4, r), &disk, &[1.0])).to_vec();
    let text = one(&summarize(&run(cells)), FindingCode::Objective);
    assert_eq!(
        text,
        "Random 4 KiB reads stay within 20 ms on average up to 4,500 arriving a second (90 % of the 5,001 delivered at most; 10.0 ms), and \
         break it at 5,500 (110 %): 2.73 s. Doubts of the loads behind it: offered-load-missed."
    );
}

/// Open loops at these rates, each with the share of its arrivals that were answered.
fn rising(loads: &[(f64, f64)]) -> RunRecord {
    let disk = ExampleDisk::default();
    let of = |(rate, share): &(f64, f64)| {
        let mut cell = cell(open("random", 1.0, KIB4, rate * share), &disk, &[1.0]);
        cell.load.figures_mut().expect("figures").rate_iops = Some(*rate);
        cell.trials[0].offered_iops = Some(*rate);
        cell
    };
    run(loads.iter().map(of).collect())
}

#[test]
fn arrivals_by_chance_and_evenly_spaced_ones_lose_it_each_at_a_rate_of_their_own() {
    let mut record = rising(&[(500.0, 1.0), (4_000.0, 1.0), (4_500.0, 1.0), (5_500.0, 1.0)]);
    for cell in &mut record.cells[2..] {
        cell.load.figures_mut().expect("figures").arrival = ArrivalKind::Constant;
    }
    // By chance they queue below the rate that evenly spaced ones reach.
    record.cells[1].trials = record.cells[3].trials.clone();
    record.cells[1].trials[0].offered_iops = Some(4_000.0);
    let told = texts(&summarize(&record), FindingCode::Objective);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[0].starts_with("Random 4 KiB reads (arriving by chance) stay within 20 ms")
            && told[0].contains("up to 500 arriving")
            && told[0].contains("break it at 4,000"),
        "{told:?}"
    );
    let evenly = &told[1];
    assert!(evenly.contains("(arriving evenly) stay") && evenly.contains("up to 4,500 arriving"), "{told:?}");
    assert!(evenly.contains("break it at 5,500"), "{told:?}");
    assert!(told.iter().all(|text| !text.contains("disturbance")), "{told:?}");
}

#[test]
fn a_load_that_a_higher_one_keeps_is_not_where_the_objective_is_lost() {
    let lost = summarize(&rising(&[(500.0, 1.0), (2_500.0, 0.9), (3_500.0, 1.0), (4_500.0, 1.0), (5_500.0, 1.0)]));
    assert_eq!(
        one(&lost, FindingCode::Objective),
        "Random 4 KiB reads stay within 20 ms on average up to 4,500 arriving a second (90 % of the 5,001 delivered at most; 10.0 ms), and \
         break it at 5,500 (110 %): 2.73 s. It was missed with 2,500 arriving a second (not by \
         latency, 1.82 ms: only 90.0 % of the arrivals were answered in time), too, which higher loads \
         kept: more likely a passing disturbance than a limit; measure that load again. Doubts of the loads behind it: \
         offered-load-missed."
    );
    assert_eq!(lost.findings.iter().find(|f| f.code == FindingCode::Objective).unwrap().cells.len(), 3);
    let kept = summarize(&rising(&[(500.0, 1.0), (2_500.0, 0.9), (3_500.0, 1.0)]));
    let text = one(&kept, FindingCode::Objective);
    assert!(text.contains("up to 3,500 arriving a second") && text.contains("missed with 2,500 arriving"), "{text}");
    assert!(!text.contains("as far as was measured"), "{text}");
}

#[test]
fn a_rate_that_was_not_met_by_a_percent_is_no_latency_that_was_lost() {
    let disk = ExampleDisk { iops: 5_000.0, ..ExampleDisk::default() };
    let loads = [2_500.0, 3_500.0, 4_000.0];
    let mut cells = loads.map(|rate| cell(open("random", 1.0, KIB4, rate), &disk, &[1.0])).to_vec();
    cells[1].trials[0].offered_iops = Some(3_500.0 / 0.985);
    let text = one(&summarize(&run(cells)), FindingCode::Objective);
    assert!(text.contains("stay within 20 ms on average up to 4,000 arriving a second"), "{text}");
    let why = "It was missed with 3,553 arriving a second (not by latency, 3.33 ms: only 98.5 % of the arrivals were answered in time), which higher";
    assert!(text.contains(why), "{text}");
}

#[test]
fn a_depth_that_a_deeper_one_keeps_is_not_where_the_objective_is_lost() {
    let mut record = run(sweep(1.0, &[8, 32, 64, 128]));
    let slow = cell(closed("random", 1.0, KIB4, 256), &ExampleDisk::default(), &[1.0, 1.0]);
    record.cells[1].trials = slow.trials;
    let text = one(&summarize(&record), FindingCode::Objective);
    assert!(text.contains("up to depth 64 (12.8 ms") && text.contains("at depth 128 it is 25.6 ms"), "{text}");
    assert!(text.contains("It was missed at depth 32, too, which deeper queues kept"), "{text}");
}

#[test]
fn an_objective_kept_or_missed_throughout_is_told_so() {
    let kept = one(&summarize(&run(sweep(1.0, &[1, 2, 4]))), FindingCode::Objective);
    assert_eq!(
        kept,
        "Latency stays within 20 ms on average as far as was measured: random 4 KiB reads up to depth 4 (1.00 ms)."
    );
    let missed = one(&summarize(&run(sweep(1.0, &[256, 512]))), FindingCode::Objective);
    assert!(missed.contains("miss 20 ms on average at every depth tried: 51.2 ms already at depth 256"), "{missed}");
    assert_eq!(texts(&summarize(&run(sweep(1.0, &[1]))), FindingCode::Objective), Vec::<String>::new());
    // 256 outstanding at 5,000 a second for 45 s, then at 500: the latter is judged, and it says so.
    let spent = |depth| {
        let mut cell = cell(closed("random", 1.0, KIB4, depth), &ExampleDisk::default(), &[1.0]);
        cell.trials[0].series.seconds.iter_mut().skip(45).for_each(|second| second.operations[0].count /= 10);
        cell
    };
    let missed = one(&summarize(&run([256, 512].map(spent).to_vec())), FindingCode::Objective);
    assert!(missed.contains("512 ms already at depth 256 (500 IOPS, after 5,000"), "{missed}");
}

/// Each operation of a mix is to keep the objective; the text says which of them the figure is of.
#[test]
fn of_a_mix_the_slower_operation_loses_the_objective_and_is_named() {
    let mut record = run(sweep(0.5, &[64, 128]));
    for trial in record.cells.iter_mut().flat_map(|cell| &mut cell.trials) {
        let writes = trial.operations.get_mut(&Operation::Write).unwrap();
        writes.latency = latencies(writes.latency.count(), 30e6);
        let reads = trial.operations.get_mut(&Operation::Read).unwrap();
        reads.latency = latencies(reads.latency.count(), 2e6);
    }
    let text = one(&summarize(&record), FindingCode::Objective);
    let told = text.split("measured: ").nth(1).unwrap_or(&text);
    assert!(told.contains(" ms for writes already at depth 64"), "{text}");
}

#[test]
fn the_users_objective_is_the_one_that_counts() {
    let mut record = run(sweep(1.0, &[1, 8, 64]));
    for cell in &mut record.cells {
        cell.load.figures_mut().expect("figures").objective =
            Some(Objective { of: LatencyFigure::P99, limit: loadline_units::Duration::from_ms(3) });
    }
    let text = one(&summarize(&record), FindingCode::Objective);
    assert!(text.contains("within 3 ms at p99 up to depth 8 (2.2"), "{text}");
    for cell in &mut record.cells {
        cell.load.figures_mut().expect("figures").objective = None;
    }
    assert!(one(&summarize(&record), FindingCode::Objective).contains("(the usual rule)"));
}

#[test]
fn a_cached_cell_is_not_the_best_and_says_so_when_it_is_alone() {
    let mut record = run(sweep(1.0, &[1, 8]));
    let fast = ExampleDisk { latency_ns: 1e4, iops: 500_000.0, bytes_per_s: 1e11 };
    record.cells.push(cell(closed("random", 1.0, KIB4, 4), &fast, &[1.0]));
    let doubt = Doubt::written(DoubtCode::CachedReads, "Read from memory.");
    record.cells[2].trials[0].doubts = vec![doubt];
    let text = one(&summarize(&record), FindingCode::BestRandomIops);
    assert!(text.contains("5,00") && !text.contains("in doubt"), "{text}");
    record.cells.drain(..2);
    let text = one(&summarize(&record), FindingCode::BestRandomIops);
    assert!(text.contains("in doubt: cached-reads"), "{text}");
}

#[test]
fn a_speed_that_depends_on_the_trial_is_found_and_a_steady_one_is_told() {
    let disk = ExampleDisk { iops: 50_000.0, ..ExampleDisk::default() };
    let reads = || closed("sequential", 1.0, 1 << 20, 1);
    let rising: Vec<f64> = (0..12).map(|i| 0.3 + 0.05 * f64::from(i)).collect();
    let calm: Vec<f64> = (0..12).map(|i| 0.5 + 0.01 * f64::from(i * 7 % 12)).collect();
    let first: Vec<f64> = (0..12).map(|i| if i == 0 { 0.2 } else { 0.5 + 0.001 * f64::from(i * 7 % 12) }).collect();
    let of = |factors: &[f64]| one(&summarize(&run(vec![cell(reads(), &disk, factors)])), FindingCode::TrendOverTrials);
    let text = of(&rising);
    assert!(text.contains("depends on the number of the trial: it rises by"), "{text}");
    assert!(text.contains("p < 0.001"), "{text}");
    assert!(of(&first).contains("the first trial (39.8 MB/s) is not like the 11 after it"), "{}", of(&first));
    assert!(of(&first).ends_with(": a cache that it filled would do that."), "{}", of(&first));
    let spent: Vec<f64> = first.iter().map(|factor| 0.7 - factor).collect();
    assert!(of(&spent).ends_with(": a burst allowance that it spent, or a write cache that it filled, would do that."));
    assert_eq!(of(&calm), "No trend over the trials in 1 of 1 cell with 12 trials or more.");
    let four = summarize(&run(vec![cell(reads(), &disk, &rising[..4])]));
    assert_eq!(texts(&four, FindingCode::TrendOverTrials), Vec::<String>::new());
}

#[test]
fn what_changed_between_trials_is_told_once_and_where_the_mean_is_told() {
    let disk = ExampleDisk { iops: 1_000.0, latency_ns: 1e5, ..ExampleDisk::default() };
    let halved = [1.0, 1.0, 0.554, 0.5, 0.501];
    let cells = [1, 8].map(|depth| cell(closed("random", 1.0, KIB4, depth), &disk, &halved));
    let summary = summarize(&run(cells.to_vec()));
    let text = one(&summary, FindingCode::LevelsOverTrials);
    assert!(
        text.starts_with(
            "Something changed 70 s to 205 s into the run: random 4 KiB reads at depth 1 had 1,000 IOPS on average in the first 2 \
             trials and 518 in the 3 after. 1 other cell shows the same. A mean over all trials is the rate of neither."
        ),
        "{text}"
    );
    assert_eq!(texts(&summary, FindingCode::TrendOverTrials), Vec::<String>::new(), "nothing passes for calm");
    let text = concluded(&summary, "text");
    assert!(text.contains(" IOPS (2.91 MB/s), the mean of two levels, from depth 1 on"), "{text}");
    let consequence = concluded(&summary, "consequence");
    assert!(
        consequence.contains("Its trials had 1,000 IOPS on average in the first 2 trials and 518 in the 3"),
        "{consequence}"
    );
    assert!(concluded(&summary, "next").starts_with("First find out what changed between the trials"));

    let one_late = [1.0, 1.0, 0.999, 1.0, 0.5];
    let text = one(
        &summarize(&run(vec![cell(closed("random", 1.0, KIB4, 8), &disk, &one_late)])),
        FindingCode::LevelsOverTrials,
    );
    assert!(text.contains("1,000 IOPS on average in the first 4 trials and 500 in the last one."), "{text}");

    let wild = [0.1, 1.0, 0.3, 0.9, 0.2];
    let summary = summarize(&run(vec![cell(closed("random", 1.0, KIB4, 8), &disk, &wild)]));
    assert_eq!(texts(&summary, FindingCode::LevelsOverTrials), Vec::<String>::new());
    assert_eq!(
        one(&summary, FindingCode::TrendOverTrials),
        "No trend over the trials in 1 of 1 cell with 5 trials or more. Trials lie far apart all the same: of random 4 KiB reads at \
         depth 8 between 410 kB/s and 4.10 MB/s."
    );
    let of_two = summarize(&run(vec![cell(closed("random", 1.0, KIB4, 8), &disk, &[1.0, 0.25])]));
    let consequence = concluded(&of_two, "consequence");
    assert!(
        consequence.starts_with("Its 2 trials lie far apart, between 250 and 1,000 IOPS: the mean is a guess."),
        "{consequence}"
    );
    let mut predicted = predicted(&[1.0]);
    predicted.cells = vec![cell(closed("random", 1.0, KIB4, 8), &disk, &halved)];
    assert_eq!(
        texts(&summarize(&predicted), FindingCode::LevelsOverTrials),
        Vec::<String>::new(),
        "a model does not change"
    );
}

fn verified(faults_total: u64, blocks_checked: u64) -> RunRecord {
    let mut record = run(sweep(0.0, &[1]));
    let fault =
        VerifyFault { offset: 8_192, length: 4_096, kind: VerifyFaultKind::Torn, detail: "two generations".into() };
    record.cells[0].trials[0].verify = Some(VerifyRecord {
        blocks_checked,
        faults_total,
        faults: if faults_total > 0 { vec![fault] } else { Vec::new() },
        ..VerifyRecord::default()
    });
    record
}

/// Trials of one cell that were to begin in the steady state: after so many rounds of a second, and whether it was reached.
fn ruled(trials: &[(usize, bool)]) -> RunRecord {
    let factors = vec![1.0; trials.len()];
    let mut record = run(vec![cell(closed("random", 1.0, KIB4, 8), &ExampleDisk::default(), &factors)]);
    for (trial, (rounds, reached)) in record.cells[0].trials.iter_mut().zip(trials) {
        let rounds = vec![5_000.0; *rounds];
        trial.steady_state = Some(SteadyState { reached: *reached, rounds, round_ns: 1_000_000_000 });
    }
    record
}

#[test]
fn whether_the_steady_state_was_reached_is_told() {
    let told = |trials: &[(usize, bool)]| one(&summarize(&ruled(trials)), FindingCode::SteadyState);
    assert_eq!(told(&[(5, true)]), "The rate was steady before the measurement, after 5 rounds of 1 s.");
    assert_eq!(
        told(&[(5, true), (7, true)]),
        "The rate was steady before each of 2 measurements, after 5 to 7 rounds of 1 s."
    );
    assert_eq!(
        told(&[(5, true), (25, false), (5, true)]),
        "The rate was steady before 2 of 3 measurements, after 5 rounds of 1 s; before the others the rounds were used up."
    );
    assert_eq!(told(&[(25, false)]), "The rate was not steady before the measurement: the rounds were used up.");
    assert_eq!(texts(&summarize(&run(sweep(0.0, &[1]))), FindingCode::SteadyState), Vec::<String>::new());
    let summary = summarize(&ruled(&[(5, true), (25, false)]));
    let views: Vec<(u32, bool, usize)> =
        summary.cells[0].steady_state.iter().map(|v| (v.trial, v.reached, v.rounds_iops.len())).collect();
    assert_eq!(views, [(0, true, 5), (1, false, 25)]);
}

#[test]
fn damage_comes_first_and_soundness_is_told() {
    let damaged = summarize(&verified(3, 1_000));
    assert_eq!(damaged.findings[0].code, FindingCode::VerifyFailed);
    let text = one(&damaged, FindingCode::VerifyFailed);
    assert!(text.contains("3 of 1,000") && text.contains("offset 8192"), "{text}");
    assert_eq!(
        one(&summarize(&verified(0, 1_000)), FindingCode::Verified),
        "All of 1,000 blocks read back were what was written."
    );
    assert!(one(&summarize(&verified(0, 0)), FindingCode::Verified).starts_with("Nothing was read back"));
}

#[test]
fn slow_flushes_are_held_against_the_rule() {
    let mut record = run(vec![flushing(&ExampleDisk::default())]);
    let flush = record.cells[0].trials[0].operations.get_mut(&Operation::Flush).unwrap();
    flush.latency = latencies(flush.count, 9e6);
    assert!(one(&summarize(&record), FindingCode::FlushLatency).contains("p99 12.5 ms: beyond the 10 ms"));
}

#[test]
fn a_dozen_flushes_are_said_to_be_few() {
    let told = |flushes: u64, mean_ns: f64| {
        let mut record = run(vec![flushing(&ExampleDisk::default())]);
        let flush = record.cells[0].trials[0].operations.get_mut(&Operation::Flush).unwrap();
        (flush.count, flush.latency) = (flushes, latencies(flushes, mean_ns));
        one(&summarize(&record), FindingCode::FlushLatency)
    };
    assert_eq!(
        told(12, 2.2e6),
        "Making a write durable (fdatasync) takes 2.20 ms on average and 3.01 ms at most, of 12 calls: too few to tell whether \
         99 % keep within the 10 ms that etcd asks of its log disk; in doubt: few-samples."
    );
    let enough = told(299, 2.2e6);
    assert!(enough.ends_with("within the 10 ms that etcd asks of its log disk; in doubt: few-samples."), "{enough}");
    assert!(told(1_000, 2.2e6).ends_with("of its log disk."));
}

#[test]
fn levels_of_reads_and_writes_share_a_sentence_if_they_are_alike() {
    let told = |writes: f64| {
        let mut cells: Vec<CellRecord> = Vec::new();
        for (reads, share) in [(1.0, 1.0), (0.0, writes)] {
            let disk = ExampleDisk { iops: 5_000.0 * share, ..ExampleDisk::default() };
            cells.extend([1, 8, 64, 256].map(|d| cell(closed("random", reads, 4 << 10, d), &disk, &[1.0])));
        }
        texts(&summarize(&run(cells)), FindingCode::Plateau).len()
    };
    assert_eq!([told(0.96), told(0.93)], [1, 2]);
}

#[test]
fn a_matrix_is_not_told_line_by_line() {
    let disk = ExampleDisk::default();
    let mut cells = Vec::new();
    for block in [4u64, 8, 16, 64, 256, 1_024] {
        for reads in [0.0, 0.5, 1.0] {
            cells.extend([1, 8, 64, 256].map(|d| cell(closed("random", reads, block << 10, d), &disk, &[1.0])));
        }
    }
    let summary = summarize(&run(cells));
    assert_eq!(texts(&summary, FindingCode::Plateau).len(), 7);
    assert_eq!(texts(&summary, FindingCode::Objective).len(), 7);
    assert!(texts(&summary, FindingCode::Plateau)[0].starts_with("Random 4 KiB reads and writes"));
    assert!(
        texts(&summary, FindingCode::Plateau)[6].starts_with("6 loads more"),
        "{:?}",
        texts(&summary, FindingCode::Plateau)
    );
}

#[test]
fn the_first_three_tell_what_it_sustains_what_stops_it_and_where_the_objective_is_lost() {
    let first_three = |record: &RunRecord| {
        let codes: Vec<&str> = summarize(record).findings.into_iter().take(3).map(|f| f.code.name()).collect();
        codes.join(" ")
    };
    assert_eq!(first_three(&golden()), "best-random-iops plateau objective");
    let growing = run(sweep(1.0, &[1, 2, 4]));
    assert_eq!(first_three(&growing), "best-random-iops bound-by objective");
    let text = one(&summarize(&growing), FindingCode::BoundBy);
    assert!(text.starts_with("Random 4 KiB reads at depth 4: they are bound by latency. "), "{text}");
}

#[test]
fn loads_with_as_many_in_flight_are_told_apart_by_their_threads() {
    let of = |depth, threads, latency_ns| {
        let disk = ExampleDisk { latency_ns, ..ExampleDisk::default() };
        cell(loadline_record::LoadFigures { threads, ..closed("random", 1.0, KIB4, depth) }, &disk, &[1.0, 1.001])
    };
    let text = one(&summarize(&run(vec![of(1, 1, 13e6), of(4, 1, 13e6), of(1, 4, 22e6)])), FindingCode::Objective);
    assert!(text.contains("up to 4 outstanding (depth 4, 1 thread) (13.0 ms"), "{text}");
    assert!(text.contains("; at 4 outstanding (depth 1, 4 threads) it is 22.0 ms"), "{text}");
}

#[test]
fn loads_that_keep_the_objective_share_a_sentence_and_those_that_lose_it_come_first() {
    let mut cells = sweep(1.0, &[1, 4]);
    cells.extend(sweep(0.0, &[1, 256]));
    let disk = ExampleDisk::default();
    cells.extend([1, 8].map(|depth| cell(closed("sequential", 1.0, 64 << 10, depth), &disk, &[1.0])));
    let texts = texts(&summarize(&run(cells)), FindingCode::Objective);
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(texts[0].starts_with("Random 4 KiB writes stay within 20 ms on average up to depth 1 "), "{}", texts[0]);
    assert_eq!(
        texts[1],
        "Latency stays within 20 ms on average as far as was measured: random 4 KiB reads up to depth 4 (1.00 ms) and sequential \
         64 KiB reads up to depth 8 (2.62 ms)."
    );
}

#[test]
fn the_objective_is_lost_at_a_share_of_the_level() {
    let disk = ExampleDisk::default();
    let mut cells = sweep(1.0, &[8, 32]);
    cells.extend([2_500.0, 4_500.0, 5_500.0].map(|rate| cell(open("random", 1.0, KIB4, rate), &disk, &[1.0])));
    let text = &texts(&summarize(&run(cells)), FindingCode::Objective)[0];
    assert!(
        text.contains("up to 4,500 arriving a second (90 % of the 5,00")
            && text.contains("at which they level off; 10.0 ms), and break it at 5,500 (110 %): 2.73 s."),
        "{text}"
    );
}

#[test]
fn bursts_are_told_once_and_their_mean_does_not_pass_for_a_latency() {
    let cells = [1, 32].map(|depth| throttled(closed("random", 1.0, KIB4, depth), 5_000.0));
    let summary = summarize(&run(cells.to_vec()));
    assert_eq!(
        one(&summary, FindingCode::ThrottledInClusters),
        "Requests are let through in bursts, as a throttle does: of random 4 KiB reads at depth 1 half take at most 20.1 us, 0.2 % \
         take about 98.0 ms, and hardly any take a time between these. 1 other cell shows the same."
    );
    let alone = one(&summary, FindingCode::LatencyAlone);
    assert!(alone.contains("216 us on average (half at most 20.1 us)"), "{alone}");
    assert!(one(&summary, FindingCode::Plateau).starts_with("Random 4 KiB reads level off at 5,0"));
    // A single cell might as well be a cache that misses now and then.
    let alone = summarize(&run(cells[..1].to_vec()));
    assert!(one(&alone, FindingCode::ThrottledInClusters).contains("or a cache answers all but a few"));
    // Nor is one whose rate fell: its clusters are before the end of a burst and after it.
    let mut fallen = cells[0].clone();
    let seconds = &mut fallen.trials[0].series.seconds;
    let half = seconds.len() / 2;
    for (number, second) in seconds.iter_mut().enumerate() {
        second.operations[0].count = if number < half { 9_000 } else { 1_000 };
    }
    let fallen = summarize(&run(vec![fallen]));
    assert!(fallen.cells[0].lasting.as_ref().is_some_and(|lasting| lasting.before_ns.is_some()));
    assert_eq!(texts(&fallen, FindingCode::ThrottledInClusters), Vec::<String>::new());
    assert_eq!(texts(&summarize(&golden()), FindingCode::ThrottledInClusters), Vec::<String>::new());
}

#[test]
fn volumes_are_told_apart() {
    let mut record = run(sweep(1.0, &[1, 8, 64]));
    let mut second = loadline_analysis::example::volume("log");
    second.target = "/mnt/log".to_owned();
    record.header.volumes.push(second);
    let mut others = sweep(1.0, &[1, 8, 64]);
    for cell in &mut others {
        cell.volume = "log".to_owned();
        cell.id.push_str("-log");
    }
    record.cells.extend(others);
    let summary = summarize(&record);
    let plateaus = texts(&summary, FindingCode::Plateau);
    assert_eq!(plateaus.len(), 2);
    assert!(plateaus[0].starts_with("data: random 4 KiB reads") && plateaus[1].starts_with("log: random 4 KiB reads"));
}

#[test]
fn the_null_target_is_the_tool() {
    let mut record = run(sweep(1.0, &[1, 8]));
    record.header.volumes[0].kind = TargetKind::Null;
    let summary = summarize(&record);
    assert!(one(&summary, FindingCode::ToolAlone).starts_with("The tool by itself, without storage, does 5,00"));
    assert_eq!(texts(&summary, FindingCode::BestRandomIops), Vec::<String>::new());
}

#[test]
fn what_is_missing_and_what_to_doubt_is_told_at_the_end() {
    let mut record = run(sweep(1.0, &[1, 8]));
    record.status = RunStatus::Interrupted;
    record.cells[1].trials.clear();
    record.cells[0].trials[1].doubts = vec![Doubt::written(DoubtCode::CpuStolen, "4 %.")];
    let summary = summarize(&record);
    assert_eq!(
        one(&summary, FindingCode::Incomplete),
        "The run is interrupted: 2 of 4 trials done, 1 cell without figures."
    );
    let mut begun = run(sweep(1.0, &[1, 8]));
    begun.status = RunStatus::Unfinished;
    begun.cells[0].trials.pop();
    assert_eq!(one(&summarize(&begun), FindingCode::Incomplete), "The run is not finished: 3 of 4 trials done.");
    assert_eq!(
        one(&summary, FindingCode::Doubts),
        "To be doubted: cpu-stolen in 1 of 2 cells (the hypervisor took CPU time away)."
    );
    let seen = &summary.cells[0].doubts[0].seen;
    assert!(matches!(seen, loadline_record::DoubtEvidence::InSomeTrials { having: 1, trials: 2, .. }), "{seen:?}");
}

#[test]
fn a_rate_with_failures_in_it_is_the_best_only_where_there_is_no_other_and_says_so() {
    let mut record = run(sweep(1.0, &[1, 8]));
    let doubt = |code| Doubt::written(code, "64 of them.");
    record.cells[1].trials[0].doubts = vec![doubt(DoubtCode::Errors), doubt(DoubtCode::EndedEarly)];
    let best = |record: &RunRecord| one(&summarize(record), FindingCode::BestRandomIops).clone();
    assert!(best(&record).contains("(depth 1)"), "{}", best(&record));
    record.cells[0].trials[0].doubts = vec![doubt(DoubtCode::Errors)];
    assert!(best(&record).contains("(depth 8; in doubt: errors and ended-early)"), "{}", best(&record));
}

#[test]
fn nothing_measured_finds_nothing_but_that() {
    let mut record = run(sweep(1.0, &[1, 8]));
    record.status = RunStatus::Unfinished;
    record.cells.iter_mut().for_each(|c| c.trials.clear());
    let summary = summarize(&record);
    assert_eq!(summary.findings.iter().map(|f| f.code).collect::<Vec<_>>(), [FindingCode::Incomplete]);
    assert!(summary.cells.iter().all(|c| c.total.is_none() && c.binding.is_none() && c.read.is_none()));
}

#[test]
fn a_rate_across_the_end_of_a_burst_is_told_in_its_two_parts() {
    let summary = summarize(&predicted(&[1.0, 0.8]));
    assert_eq!(
        one(&summary, FindingCode::BestRandomIops),
        "Delivers up to 3,000 random 4 KiB reads a second for 20 s of burst, 100 from then on (depth 8)."
    );
}

#[test]
fn several_trials_of_one_draw_have_no_range() {
    let mut record = predicted(&[1.0, 0.9]);
    for trial in &mut record.cells[0].trials {
        trial.model.as_mut().unwrap().draw.number = 0;
    }
    let cell = &summarize(&record).cells[0];
    assert_eq!(cell.total.as_ref().unwrap().iops_low, None);
    assert_eq!(cell.read.as_ref().unwrap().latency_range_ns, None);
}

#[test]
fn shares_of_what_was_reached_before_the_run_are_told_where_the_run_reached_something_else() {
    let named = |reached: f64| {
        let disk = ExampleDisk::default();
        let mut cells = vec![cell(closed("random", 1.0, KIB4, 32), &disk, &[1.0])];
        for share in [50.0, 110.0] {
            let mut cell = cell(open("random", 1.0, KIB4, reached * share / 100.0), &disk, &[1.0]);
            cell.load = LoadSpec { name: Some(format!("curve {share} %")), ..planned(&cell.load.figures()) }.into();
            cells.push(cell);
        }
        // The keys of a load's specification are the same for all but the name and the amount.
        cells[0].load = LoadSpec { name: Some("RND4K Q32T1".to_owned()), ..planned(&cells[0].load.figures()) }.into();
        one(&summarize(&run(cells)), FindingCode::Objective)
    };
    let differs = named(1_800.0);
    assert!(differs.contains("are of the 1,800 reached just before the run; the run itself reached 5,00"), "{differs}");
    assert!(!named(5_000.0).contains("just before the run"), "{}", named(5_000.0));
}
