//! What a comparison says of runs that leave no doubt about what it should say.

use super::*;
use crate::example::{ExampleDisk, cell, closed, open, predicted, run, volume};
use loadline_record::{
    Access, ArrivalKind, Clock, DeviceFacts, Doubt, DoubtCode, EngineName, Load, LoadFigures, OthersLoad, RunHeader,
    RunStatus, RunVerb, Scatter, TargetKind,
};

fn made(factors: &[f64]) -> RunRecord {
    let disk = ExampleDisk::default();
    run(vec![
        cell(closed("random", 1.0, 4 << 10, 8), &disk, factors),
        cell(closed("random", 0.0, 4 << 10, 8), &disk, factors),
    ])
}
fn another(factors: &[f64]) -> RunRecord {
    let mut run = made(factors);
    run.header.id = "another".to_owned();
    run
}
fn against(a: &RunRecord, b: &RunRecord, options: &CompareOptions) -> Against {
    compare(&[a, b], options).unwrap().against.remove(0)
}
fn by(figure: Figure) -> CompareOptions {
    CompareOptions { figure: Some(figure), ..CompareOptions::default() }
}
const STEADY: [f64; 3] = [1.0, 1.002, 0.998];

fn verdicts(against: &Against) -> Vec<Verdict> {
    against.overall.iter().map(|o| o.verdict).chain(against.cells.iter().map(|c| c.verdict)).collect()
}

#[test]
fn more_requests_are_better_and_more_latency_is_worse() {
    let (base, faster) = (made(&STEADY), another(&STEADY.map(|f| f * 1.2)));
    assert_eq!(verdicts(&against(&base, &faster, &CompareOptions::default())), [Verdict::Better; 3]);
    assert_eq!(verdicts(&against(&faster, &base, &CompareOptions::default())), [Verdict::Worse; 3]);
    // In a closed loop 1.2 times the rate is 1 / 1.2 of the latency.
    let by_latency = against(&base, &faster, &by(Figure::Mean));
    assert_eq!(verdicts(&by_latency), [Verdict::Better; 3]);
    assert!((by_latency.overall[0].ratio.unwrap() * 1.2 - 1.0).abs() < 0.01);
    assert_eq!(verdicts(&against(&base, &faster, &by(Figure::P99))), [Verdict::Better; 3]);
    assert_eq!(verdicts(&against(&base, &faster, &by(Figure::Throughput))), [Verdict::Better; 3]);
}

#[test]
fn what_lies_within_the_margin_is_the_same_however_sure_it_is() {
    let (base, near) = (made(&STEADY), another(&STEADY.map(|f| f * 1.03)));
    let five = against(&base, &near, &CompareOptions::default());
    assert_eq!(verdicts(&five), [Verdict::Same; 3]);
    assert!(five.cells[0].p_value.unwrap() < 0.001);
    let one = CompareOptions { margin: Ratio::percent(1), ..CompareOptions::default() };
    assert_eq!(verdicts(&against(&base, &near, &one)), [Verdict::Better; 3]);
}

#[test]
fn an_objective_holds_up_to_a_load_that_is_named() {
    // Within 20 ms on average, on a disk of 5,000 requests a second.
    let at = |depths: &[u32]| {
        let loads = depths.iter().map(|depth| closed("random", 1.0, 4 << 10, *depth));
        run(loads.map(|load| cell(load, &ExampleDisk::default(), &STEADY)).collect())
    };
    let of = |runs: &[&RunRecord]| {
        let found = compare(runs, &CompareOptions::default()).unwrap();
        let mut ranking = found.ranking;
        ranking.sort_by_key(|side| side.side);
        ranking
            .into_iter()
            .map(|side| (side.objective_kept, side.objective_up_to, side.objective_breaks_at))
            .collect::<Vec<_>>()
    };
    let depth = |depth: u32| Some(format!("depth {depth}"));
    let found = of(&[&at(&[1, 4, 256]), &at(&[1, 4])]);
    assert_eq!(found, [(Some(true), depth(4), depth(256)), (Some(true), None, None)]);
    assert_eq!(of(&[&at(&[256, 512]), &at(&[256])])[0], (Some(false), None, depth(256)));
}

#[test]
fn of_sides_that_tie_the_cheapest_stands_first() {
    let (a, b, c) = (made(&STEADY), another(&STEADY), another(&STEADY.map(|f| f * 1.3)));
    let mut found = compare(&[&a, &b, &c], &CompareOptions::default()).unwrap();
    let order = |found: &Comparison| found.ranking.iter().map(|side| side.side).collect::<Vec<_>>();
    assert_eq!(order(&found), [2, 0, 1]);
    let mut priced = |side: u32, amount: f64, complete: bool| {
        let ranked = found.ranking.iter_mut().find(|ranked| ranked.side == side).unwrap();
        ranked.price_month = Some(MonthlyPrice { amount, currency: "USD".into() });
        ranked.price_complete = complete;
    };
    // The dearest is better, and stays first.
    for (side, amount) in [(0, 495.18), (1, 360.01), (2, 900.0)] {
        priced(side, amount, true);
    }
    found.rank_ties_by_price();
    assert_eq!(order(&found), [2, 1, 0]);
    assert_eq!(found.saving(), None);
    found.ranking.remove(0);
    found.ranking.iter_mut().for_each(|side| side.rank = 1);
    assert_eq!(found.saving().unwrap().to_string(), "135.17 USD");
    // A price that is not whole may be any price.
    found.ranking[0].price_complete = false;
    found.rank_ties_by_price();
    assert_eq!((order(&found), found.saving()), (vec![0, 1], None));
    // Neither are amounts of two currencies in any order.
    found.ranking[1].price_month.as_mut().unwrap().currency = "EUR".into();
    found.rank_ties_by_price();
    assert_eq!((order(&found), found.saving()), (vec![0, 1], None));
}

#[test]
fn a_load_that_breaks_its_objective_stands_behind_one_as_heavy_alone() {
    // Within 20 ms on average. Arrivals beside a closed loop that decides which is faster; the first is asked for more than it can.
    let fast = ExampleDisk { iops: 20_000.0, ..ExampleDisk::default() };
    let of = |factor: f64, arrivals: f64, disk: &ExampleDisk| {
        let closed = closed("random", 0.0, 4 << 10, 8);
        run(vec![
            cell(closed, &ExampleDisk::default(), &STEADY.map(|f| f * factor)),
            cell(open("random", 1.0, 4 << 10, arrivals), disk, &STEADY),
        ])
    };
    let ranks = |first: &RunRecord, second: &RunRecord| {
        let found = compare(&[first, second], &CompareOptions::default()).unwrap();
        let kept: Vec<Option<bool>> = found.ranking.iter().map(|side| side.objective_kept).collect();
        (found.ranking.iter().map(|side| side.side).collect::<Vec<_>>(), kept)
    };
    let too_much = of(1.0, 9_000.0, &ExampleDisk::default());
    let lighter = of(0.5, 1_000.0, &ExampleDisk::default());
    assert_eq!(ranks(&too_much, &lighter), (vec![0, 1], vec![Some(false), Some(true)]));
    assert_eq!(ranks(&too_much, &of(0.5, 9_000.0, &fast)), (vec![1, 0], vec![Some(true), Some(false)]));
}

#[test]
fn where_all_cells_together_decide_nothing_a_side_ranks_by_those_that_have_a_verdict() {
    // Reads are slower by 13 %; writes differ from trial to trial by more than anything could show.
    let of = |id: &str, reads: f64, writes: [f64; 3]| {
        let disk = ExampleDisk::default();
        let mut run = run(vec![
            cell(closed("random", 1.0, 4 << 10, 8), &disk, &STEADY.map(|f| f * reads)),
            cell(closed("random", 0.0, 4 << 10, 8), &disk, &writes),
        ]);
        id.clone_into(&mut run.header.id);
        run
    };
    let (monday, tuesday) = (of("monday", 1.0, [0.2, 1.0, 1.0]), of("tuesday", 0.87, [1.5, 1.0, 1.8]));
    let found = compare(&[&monday, &tuesday], &CompareOptions::default()).unwrap();
    let overall = &found.against[0].overall[0];
    assert_eq!(
        (overall.verdict, overall.counts.worse, overall.counts.better),
        (Verdict::CannotTell, 1, 0),
        "{overall:?}"
    );
    assert!(overall.ratio.is_some_and(|ratio| ratio > 1.0), "by itself it would rank first: {overall:?}");
    assert_eq!(overall.leaning(), Some(Verdict::Worse));
    let ranks: Vec<(u32, u32)> = found.ranking.iter().map(|side| (side.rank, side.side)).collect();
    assert_eq!(ranks, [(1, 0), (2, 1)]);
    // From the other side the same.
    let found = compare(&[&tuesday, &monday], &CompareOptions::default()).unwrap();
    let ranks: Vec<(u32, u32)> = found.ranking.iter().map(|side| (side.rank, side.side)).collect();
    assert_eq!(ranks, [(1, 1), (2, 0)]);
}

#[test]
fn a_single_trial_that_another_tool_measured_is_judged_by_how_its_samples_scattered() {
    let told = |factor: f64, share: f64| {
        let mut run = another(&[factor]);
        for trial in run.cells.iter_mut().flat_map(|cell| &mut cell.trials) {
            trial.series.seconds.clear();
            let deviation_iops = trial.iops().unwrap() * share;
            trial.told_scatter = Some(Scatter { samples: 100, deviation_iops });
        }
        run
    };
    let verdict = |share: f64| verdicts(&against(&told(1.0, share), &told(1.3, share), &CompareOptions::default()))[1];
    assert_eq!(verdict(0.05), Verdict::Better);
    assert_eq!(verdict(2.0), Verdict::CannotTell);
}

#[test]
fn noise_that_hides_a_margin_leaves_nothing_to_say() {
    let wild = [0.7, 1.0, 1.3];
    let told = against(&made(&wild), &another(&wild), &CompareOptions::default());
    assert_eq!(verdicts(&told), [Verdict::CannotTell; 3]);
    assert!(told.cells[0].undecided == Some(Undecided::WideInterval));
    let ratio = told.cells[0].deciding().unwrap();
    assert!(ratio.low.unwrap() < 0.6 && ratio.high.unwrap() > 1.6, "{ratio:?}");
}

#[test]
fn where_the_rate_is_asked_for_latency_decides() {
    let disk = ExampleDisk::default();
    let slow = ExampleDisk { latency_ns: 2e6, ..disk };
    let load = open("random", 1.0, 4 << 10, 1_000.0);
    let base = run(vec![cell(load.clone(), &disk, &STEADY)]);
    let mut other = run(vec![cell(load, &slow, &STEADY)]);
    other.header.id = "another".to_owned();
    let told = against(&base, &other, &CompareOptions::default());
    assert_eq!((told.cells[0].figure, told.cells[0].verdict), (Figure::P99, Verdict::Worse));
    assert!((told.cells[0].of(Figure::Rate).unwrap().ratio - 1.0).abs() < 1e-9);
    // A ceiling is a rate that is asked for too.
    let mut paced = closed("random", 1.0, 4 << 10, 8);
    paced.rate_iops = Some(100.0);
    let paced = run(vec![cell(paced, &disk, &STEADY)]);
    assert_eq!(against(&paced, &paced, &CompareOptions::default()).cells[0].figure, Figure::P99);
}

/// 1,000 arrivals a second for 20 s, once, on a disk that serves so many.
fn offered_to(most: f64) -> RunRecord {
    let load = LoadFigures { duration_ns: 20_000_000_000, ..open("random", 1.0, 4 << 10, 1_000.0) };
    let mut cell = cell(load, &ExampleDisk { iops: most, ..ExampleDisk::default() }, &[1.0]);
    // A backlog grows from second to second.
    let behind = 1.0 - most.min(1_000.0) / 1_000.0;
    for (second, at) in cell.trials[0].series.seconds.iter_mut().zip(1u32..) {
        let read = &mut second.operations[0];
        let ns = 1_390_000 + (f64::from(at) * behind * 1e9) as u64;
        (read.p50_ns, read.p99_ns, read.max_ns) = (ns, ns, ns);
    }
    let mut run = run(vec![cell]);
    run.header.id = format!("{most} IOPS");
    run
}

#[test]
fn a_load_that_falls_behind_is_judged_by_what_it_achieves() {
    let told = |a: f64, b: f64| against(&offered_to(a), &offered_to(b), &CompareOptions::default()).cells.remove(0);
    // One keeps up and the other does not: one trial is enough to see it, although p99 over seconds of a growing backlog tells nothing.
    let collapsed = told(8_000.0, 500.0);
    assert_eq!((collapsed.figure, collapsed.verdict), (Figure::Rate, Verdict::Worse), "{collapsed:?}");
    let ratio = collapsed.deciding().unwrap();
    assert!((ratio.ratio - 0.5).abs() < 0.01 && ratio.low.unwrap() > 0.45 && ratio.high.unwrap() < 0.55, "{ratio:?}");
    assert_eq!(told(500.0, 8_000.0).verdict, Verdict::Better);
    // Neither keeps up: the storage sets the rate on both sides.
    let both = told(500.0, 505.0);
    assert_eq!((both.figure, both.verdict), (Figure::Rate, Verdict::Same), "{both:?}");
    assert_eq!(told(800.0, 500.0).verdict, Verdict::Worse);
    // By 3 %: as many requests within the margin, but a backlog all the same. That is not the same thing.
    let little = told(8_000.0, 970.0);
    assert_eq!(little.figure, Figure::P99, "{little:?}");
    assert_ne!(little.verdict, Verdict::Same);
    // Both keep up.
    assert_eq!(told(8_000.0, 8_000.0).figure, Figure::P99);
}

#[test]
fn a_ceiling_that_one_side_misses_is_judged_by_the_rate() {
    let of = |most: f64| {
        let mut load = closed("random", 1.0, 4 << 10, 8);
        load.rate_iops = Some(1_000.0);
        let disk = ExampleDisk { iops: most, ..ExampleDisk::default() };
        let mut run = run(vec![cell(load, &disk, &STEADY)]);
        run.header.id = format!("{most}");
        run
    };
    let told = against(&of(1_000.0), &of(500.0), &CompareOptions::default());
    assert_eq!((told.cells[0].figure, told.cells[0].verdict), (Figure::Rate, Verdict::Worse));
}

#[test]
fn a_percentile_that_few_seconds_tell_is_said_to_be_so() {
    let mut other = offered_to(970.0);
    other.cells[0].trials[0].series.seconds.iter_mut().skip(3).for_each(|second| second.operations[0].p99_ns = 0);
    let told = against(&offered_to(8_000.0), &other, &CompareOptions::default());
    assert_eq!(told.cells[0].undecided, Some(Undecided::ErrorNotKnown));
}

#[test]
fn doubted_cells_are_told_and_left_out_of_the_whole() {
    let base = made(&STEADY);
    let doubt = |code| vec![Doubt::written(code, "Seen.")];
    let with = |code| {
        let mut other = another(&STEADY);
        other.cells[1].trials = another(&STEADY.map(|f| f * 3.0)).cells.remove(1).trials;
        other.cells[1].trials[2].doubts = doubt(code);
        against(&base, &other, &CompareOptions::default())
    };
    let told = with(DoubtCode::CachedReads);
    assert_eq!((told.overall[0].cells, told.overall[0].doubted, told.overall[0].verdict), (1, 1, Verdict::Same));
    assert_eq!((told.cells[1].verdict, told.cells[1].in_overall), (Verdict::Better, false));
    let seen = &told.cells[1].other_doubts[0].seen;
    assert!(matches!(seen, loadline_record::DoubtEvidence::InSomeTrials { having: 1, trials: 3, .. }), "{seen:?}");
    // Far percentiles of which too little is known say nothing about the rate.
    assert_eq!(with(DoubtCode::FewSamples).overall[0].doubted, 0);
    // Short on one side is another load; short on both is the same one.
    assert_eq!(with(DoubtCode::ShortRun).overall[0].doubted, 1);
    assert_eq!(with(DoubtCode::Imported).overall[0].doubted, 1);
    for code in [DoubtCode::ShortRun, DoubtCode::Imported] {
        let mut own = base.clone();
        own.cells[1].trials[0].doubts = doubt(code);
        let mut other = own.clone();
        other.header.id = "another".to_owned();
        assert_eq!(against(&own, &other, &CompareOptions::default()).overall[0].doubted, 0);
    }
    // With nothing left there is no whole.
    let mut all = another(&STEADY);
    for cell in &mut all.cells {
        cell.trials[0].doubts = doubt(DoubtCode::Errors);
    }
    let told = against(&base, &all, &CompareOptions::default());
    assert_eq!((told.overall[0].ratio, told.overall[0].verdict), (None, Verdict::CannotTell));
    assert_eq!(told.overall[0].undecided, Some(Undecided::EveryCellInDoubt));
    assert_eq!(told.overall[0].counts.same, 2);
}

#[test]
fn a_cell_that_completed_nothing_is_never_fast() {
    let mut other = another(&STEADY);
    for trial in &mut other.cells[0].trials {
        trial.operations.clear();
    }
    let told = against(&made(&STEADY), &other, &CompareOptions::default());
    assert_eq!(told.cells[0].verdict, Verdict::CannotTell);
    let nothing = Undecided::NoFigure { baseline: None, other: Some(NoFigure::NoRequest) };
    assert_eq!(told.cells[0].undecided, Some(nothing));
    assert_eq!((told.overall[0].cells, told.overall[0].untold), (1, 1));
}

#[test]
fn volumes_of_one_run_are_compared_round_by_round() {
    let drift = [1.0, 1.2, 1.4, 1.3, 1.1];
    let mut record = made(&drift);
    record.header.volumes = ["old", "new", "spare"].map(volume).to_vec();
    let mut faster = made(&drift.map(|f| f * 1.1)).cells;
    for (cells, name) in [(&mut record.cells, "old"), (&mut faster, "new")] {
        for cell in cells {
            name.clone_into(&mut cell.volume);
        }
    }
    record.cells.extend(faster);
    let options = CompareOptions { volumes: vec!["old".to_owned(), "new".to_owned()], ..CompareOptions::default() };
    let told = compare(&[&record], &options).unwrap();
    assert_eq!(verdicts(&told.against[0]), [Verdict::Better; 3]);
    assert_eq!(told.against[0].cells[0].deciding().unwrap().basis, Some(Basis::PairedTrials));
    assert_eq!(told.sides[1].volume.as_deref(), Some("new"));
    // All of them, when none is named; the spare one has no cells.
    let all = compare(&[&record], &CompareOptions::default()).unwrap();
    assert_eq!((all.sides.len(), all.against[1].cells.len(), all.against[1].unmatched.len()), (3, 0, 2));
}

#[test]
fn what_cannot_be_compared_is_refused_with_what_to_do() {
    let record = made(&STEADY);
    let refused = |runs: &[&RunRecord], options: CompareOptions| compare(runs, &options).unwrap_err();
    let volumes = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
    let default = CompareOptions::default;
    assert_eq!(refused(&[&record], default()), CompareError::OneSide);
    let known = CompareOptions { volumes: volumes(&["data", "log"]), ..default() };
    assert!(refused(&[&record], known.clone()).to_string().contains("no volume \"log\"; it has data"));
    assert_eq!(refused(&[&record, &record], known), CompareError::VolumesOfSeveral(2));
    let disks = |disks: &[u32], figure| CompareOptions { disks: disks.to_vec(), figure, ..default() };
    let two = [&record, &record];
    assert_eq!(refused(&two, disks(&[1, 2, 4], None)), CompareError::Disks { given: 3, sides: 2 });
    assert_eq!(refused(&two, disks(&[2, 2], None)), CompareError::DisksDoNotGrow(2));
    assert_eq!(refused(&two, disks(&[0, 2], None)), CompareError::DisksDoNotGrow(0));
    assert_eq!(refused(&two, disks(&[1, 2], Some(Figure::P99))), CompareError::DisksAndFigure("p99"));
    assert_eq!(refused(&two, CompareOptions { margin: Ratio::ZERO, ..default() }), CompareError::Margin(Ratio::ZERO));
}

#[test]
fn a_relative_target_of_an_earlier_version_is_told_by_its_path_and_is_no_other_one() {
    let (mut base, mut other) = (made(&STEADY), another(&STEADY));
    for (run, target) in [(&mut base, "."), (&mut other, "/mnt/data")] {
        run.header.volumes[0].target = target.to_owned();
        run.header.volumes[0].path = Some("/mnt/data".to_owned());
    }
    let found = compare(&[&base, &other], &CompareOptions::default()).unwrap();
    assert!(found.sides.iter().all(|side| side.targets == ["/mnt/data"]));
    assert!(found.against[0].notes.is_empty(), "{:?}", found.against[0].notes);
}

#[test]
fn across_clocks_targets_and_machines_it_says_so() {
    let (base, mut other) = (made(&STEADY), another(&STEADY));
    assert!(against(&base, &other, &CompareOptions::default()).notes.is_empty());
    other.header.clock = Clock::Virtual;
    other.header.host.cpu_model = Some("one".to_owned());
    other.header.volumes[0].target = "/dev/other".to_owned();
    other.cells[0].trials[0].engine.name = EngineName::Aio;
    let mut base = base;
    base.header.host.cpu_model = Some("two".to_owned());
    let notes = against(&base, &other, &CompareOptions::default()).notes;
    let [Note::Clock(clock), Note::Target(_), Note::CpuModel(_), Note::Engine(_)] = notes.as_slice() else {
        panic!("{notes:?}")
    };
    assert_eq!((clock.baseline.as_str(), clock.other.as_str()), ("measured", "predicted"));
    let itself = against(&base, &base, &CompareOptions::default());
    assert_eq!(itself.notes[0], Note::SameRun);
    let unfinished = |verb: RunVerb, clock: Clock| {
        let header = RunHeader { verb, clock, ..other.header.clone() };
        let run = RunRecord { header, status: RunStatus::Unfinished, ..other.clone() };
        let notes = against(&base, &run, &CompareOptions::default()).notes;
        notes.into_iter().find(|note| matches!(note, Note::Incomplete { .. })).expect("it is not finished")
    };
    let of = |emulated| Note::Incomplete { whose: Whose::Other, emulated };
    assert_eq!(unfinished(RunVerb::Run, Clock::Real), of(false));
    assert_eq!(unfinished(RunVerb::Emulate, Clock::Real), of(true));
    assert_eq!(verdicts(&itself), [Verdict::Same; 3]);
}

#[test]
fn a_larger_volume_is_no_other_size_to_spread_over() {
    let size = |bytes: Option<u64>, volume_bytes: u64, id: &str| {
        let mut record = made(&STEADY);
        record.header.id = id.to_owned();
        record.header.volumes[0].size_bytes = Some(volume_bytes);
        record.cells.iter_mut().for_each(|cell| cell.load.figures_mut().expect("figures").size_bytes = bytes);
        record
    };
    let noted = |a: RunRecord, b: RunRecord| {
        let notes = against(&a, &b, &CompareOptions::default()).notes;
        notes.into_iter().find_map(|note| match note {
            Note::VolumeSize(sizes) => Some((sizes.baseline_bytes, sizes.other_bytes)),
            _ => None,
        })
    };
    // The test file is larger for another plan; both loads name as much of it.
    assert_eq!(noted(size(Some(500 << 20), 500 << 20, "a"), size(Some(500 << 20), 600 << 20, "b")), None);
    let differ = Some((500 << 20, 600 << 20));
    assert_eq!(noted(size(None, 500 << 20, "a"), size(None, 600 << 20, "b")), differ);
    assert_eq!(noted(size(Some(500 << 20), 1 << 30, "a"), size(None, 600 << 20, "b")), differ);
}

#[test]
fn a_model_spreads_a_load_over_16_gib_or_half_of_its_volume() {
    let run_of = |kind: TargetKind, volume_bytes: u64, id: &str| {
        let mut record = made(&STEADY);
        record.header.id = id.to_owned();
        (record.header.volumes[0].kind, record.header.volumes[0].size_bytes) = (kind, Some(volume_bytes));
        record.cells.iter_mut().for_each(|cell| cell.load.figures_mut().expect("figures").size_bytes = None);
        record
    };
    let noted = |measured: u64, modelled: u64| {
        let (a, b) = (run_of(TargetKind::TestFile, measured, "a"), run_of(TargetKind::Modelled, modelled, "b"));
        let notes = against(&a, &b, &CompareOptions::default()).notes;
        notes.into_iter().find_map(|note| match note {
            Note::VolumeSize(sizes) => Some((sizes.baseline_bytes, sizes.other_bytes)),
            _ => None,
        })
    };
    assert_eq!(noted(16 << 30, 1 << 40), None);
    assert_eq!(noted(10 << 30, 20 << 30), None);
    assert_eq!(noted(1 << 40, 1 << 40), Some((1 << 40, 16 << 30)));
}

/// One run with a volume for each entry: its disks, and how many times the rate each cell has there.
fn layouts(gains: &[(u32, [f64; 3])]) -> Scaling {
    let loads =
        [closed("random", 1.0, 4 << 10, 1), closed("random", 1.0, 4 << 10, 32), closed("random", 0.0, 64 << 10, 32)];
    let mut record = run(Vec::new());
    record.header.volumes = gains.iter().map(|(disks, _)| volume(&format!("{disks} disks"))).collect();
    for (disks, gains) in gains {
        for (load, gain) in loads.iter().zip(gains) {
            let noise = [1.0, 1.004, 0.997].map(|f| f * gain * (1.0 + f64::from(*disks) * 1e-4 * f));
            let mut cell = cell(load.clone(), &ExampleDisk::default(), &noise);
            cell.volume = format!("{disks} disks");
            record.cells.push(cell);
        }
    }
    let disks = gains.iter().map(|(disks, _)| *disks).collect();
    compare(&[&record], &CompareOptions { disks, ..CompareOptions::default() }).unwrap().scaling.unwrap()
}

#[test]
fn shallow_queues_lose_deep_ones_gain_and_writes_level_off() {
    // A stripe that reads well and writes badly: writes as one disk, 1.65, 1.93 and 2.5 times that.
    let scaling = layouts(&[(1, [1.0, 1.0, 1.0]), (2, [1.0, 2.0, 1.65]), (4, [0.85, 3.9, 1.93]), (8, [0.8, 7.8, 2.5])]);
    let gains = |cell: usize| scaling.cells[cell].points.iter().map(|p| p.gain).collect::<Vec<_>>();
    assert_eq!(gains(0), [Gain::Unchanged, Gain::Loses, Gain::Loses]);
    assert_eq!(gains(1), [Gain::Gains; 3]);
    let four = &scaling.cells[1].points[1];
    assert!((four.efficiency - 0.975).abs() < 0.005, "{four:?}");
    assert!(four.efficiency_low.unwrap() <= four.efficiency && four.efficiency <= four.efficiency_high.unwrap());
    let of = |kind: &str| scaling.totals.iter().find(|t| t.operations == kind).unwrap();
    assert_eq!((of("read").levels_off_at, of("write").levels_off_at, of("write").clear), (None, Some(2), true));
    assert!((of("write").steps[1].share - 0.17).abs() < 0.01, "{:?}", of("write").steps);
    assert_eq!(scaling.overall.len(), 3);
}

#[test]
fn a_single_disk_that_is_never_left_behind_levels_off_at_one() {
    let scaling = layouts(&[(1, [1.0; 3]), (4, [1.0, 1.0, 1.1])]);
    assert!(scaling.totals.iter().all(|t| t.levels_off_at == Some(1) && t.clear), "{:?}", scaling.totals);
}

#[test]
fn disks_of_one_kind_are_counted_and_not_named_one_by_one() {
    let of = |models: &[&str]| {
        let mut record = made(&STEADY);
        let device = record.header.volumes[0].devices[0].clone();
        let named = |model: &&str| DeviceFacts { model: Some((*model).to_owned()), ..device.clone() };
        record.header.volumes[0].devices = models.iter().map(named).collect();
        record
    };
    let told = against(&of(&["hdd"]), &of(&["hdd", "ssd", "hdd"]), &CompareOptions::default());
    let of = |models: &[(&str, usize)]| {
        models.iter().map(|(model, count)| DeviceModel { model: (*model).to_owned(), count: *count }).collect()
    };
    let differing = Differing { volume: None, baseline: of(&[("hdd", 1)]), other: of(&[("hdd", 2), ("ssd", 1)]) };
    assert!(told.notes.contains(&Note::Device(differing)), "{:?}", told.notes);
}

#[test]
fn predictions_whose_draws_overlap_are_not_told_apart() {
    let predictions = |draws: &[f64], disk: &str| {
        let mut record = predicted(draws);
        record.header.id = disk.to_owned();
        record.header.volumes[0].devices[0].model = Some(disk.to_owned());
        record
    };
    let compared = |a: &RunRecord, b: &RunRecord| against(a, b, &CompareOptions::default());
    // The most plausible draws are 10 % apart, to the request; by what is uncertain either may be ahead.
    let (slow, fast) = (predictions(&[1.0, 0.6, 2.4], "slow"), predictions(&[1.1, 0.5, 1.5], "fast"));
    let told = compared(&slow, &fast);
    assert_eq!(verdicts(&told), [Verdict::CannotTell; 2]);
    let draws = told.cells[0].draws.unwrap();
    assert!(!draws.paired && (draws.low / (0.5 / 2.4) - 1.0).abs() < 0.01, "{draws:?}");
    assert!((draws.high / (1.5 / 0.6) - 1.0).abs() < 0.01, "{draws:?}");
    assert_eq!(told.cells[0].undecided, Some(Undecided::DrawsDisagree { paired: false }));
    assert!(told.notes.contains(&Note::Draws), "{:?}", told.notes);
    // As good as equal is no more certain.
    assert_eq!(verdicts(&compared(&slow, &predictions(&[1.0, 0.6, 2.4], "other"))), [Verdict::CannotTell; 2]);
    // Beyond each other's ranges they differ.
    let faster = predictions(&[3.0, 2.5, 4.0], "faster");
    assert_eq!(verdicts(&compared(&slow, &faster)), [Verdict::Better; 2]);
    // Of the same disks each draw is compared with its like.
    let same = predictions(&[1.1, 0.66, 2.64], "slow");
    let told = compared(&slow, &same);
    assert!(told.cells[0].draws.unwrap().paired);
    assert_eq!(verdicts(&told), [Verdict::Better; 2]);
    assert_eq!(verdicts(&compared(&slow, &slow)), [Verdict::Same; 2]);
    // One draw alone has no range.
    assert_eq!(compared(&predictions(&[1.0], "a"), &predictions(&[1.2], "b")).cells[0].draws, None);
}

#[test]
fn a_side_that_has_a_figure_shows_it_although_the_other_has_none() {
    let base = made(&STEADY);
    let mut other = another(&STEADY);
    other.cells[0].trials.clear();
    let told = against(&base, &other, &CompareOptions::default());
    let cell = &told.cells[0];
    assert!(cell.baseline_figure.is_some_and(|rate| (rate / 5_000.0 - 1.0).abs() < 0.01), "{cell:?}");
    assert_eq!((cell.other_figure, cell.deciding()), (None, None));
}

/// As an emulation keeps them: what was asked decides every figure.
fn application(id: &str, (reads, block): (f64, u64), depth: u32, factors: &[f64]) -> RunRecord {
    let mut record = run(vec![cell(closed("random", reads, block, depth), &ExampleDisk::default(), factors)]);
    (record.header.id, record.header.verb) = (id.to_owned(), RunVerb::Emulate);
    let cell = &mut record.cells[0];
    let figures =
        LoadFigures { arrival: ArrivalKind::Application, pattern: Access::Application, ..cell.load.figures() };
    cell.load = Load::Application(OthersLoad { volume: cell.volume.clone(), by: None, figures });
    record
}

#[test]
fn applications_at_their_own_pace_are_compared_by_what_they_count() {
    let base = application("a", (0.7, 8 << 10), 8, &STEADY);
    let faster = application("b", (0.75, 8 << 10), 8, &STEADY.map(|f| f * 2.0));
    let other_work = application("b", (0.1, 8 << 10), 8, &STEADY.map(|f| f * 2.0));
    let compared = |other: &RunRecord, counted: &[f64]| {
        let options = CompareOptions { counted: counted.to_vec(), ..CompareOptions::default() };
        compare(&[&base, other], &options)
    };
    // As much again of alike requests, each in half of the time.
    let found = compared(&faster, &[]).unwrap();
    assert_eq!(verdicts(&found.against[0]), [Verdict::Better; 2]);
    assert_eq!(found.next_step(), NextStep::SideBySide);
    let [from, to] = found.applications.as_slice() else { panic!("{:?}", found.applications) };
    assert!(
        (to.iops / from.iops - 2.0).abs() < 0.01 && (from.waits_ns / to.waits_ns - 2.0).abs() < 0.01,
        "{from:?} {to:?}"
    );
    // Other requests say nothing of the work.
    let found = compared(&other_work, &[]).unwrap();
    assert_eq!(verdicts(&found.against[0]), [Verdict::CannotTell; 2]);
    assert_eq!(found.against[0].cells[0].undecided, Some(Undecided::OtherWork));
    assert_eq!(found.next_step(), NextStep::CountWork);
    // What it counts does, whatever the requests were.
    for (counted, verdict) in
        [([199.0, 666.0], Verdict::Better), ([666.0, 199.0], Verdict::Worse), ([199.0, 201.0], Verdict::Same)]
    {
        let found = compared(&other_work, &counted).unwrap();
        assert_eq!(verdicts(&found.against[0]), [verdict; 2], "{counted:?}");
        let [overall] = found.against[0].overall.as_slice() else { panic!("{found:?}") };
        assert_eq!((overall.figure, overall.ratio), (Figure::Counted, Some(counted[1] / counted[0])));
        assert_eq!(found.applications[1].counted_per_s, Some(counted[1]));
        assert_eq!(found.next_step(), NextStep::SideBySide);
    }
    assert_eq!(compared(&faster, &[1.0]).unwrap_err(), CompareError::Counted { given: 1, sides: 2 });
    assert_eq!(compared(&made(&STEADY), &[1.0, 2.0]).unwrap_err(), CompareError::CountedOfPlans);
}

#[test]
fn applications_that_asked_for_different_things_are_told_apart() {
    let application = |id: &str, shares, depth| application(id, shares, depth, &STEADY);
    let noted = |a: &RunRecord, b: &RunRecord| {
        let notes = against(a, b, &CompareOptions::default()).notes;
        notes.into_iter().find_map(|note| match note {
            Note::Asked(apart) => Some(apart),
            _ => None,
        })
    };
    let base = application("a", (1.0, 4 << 10), 8);
    assert_eq!(noted(&base, &application("b", (1.0, 4 << 10), 8)), None);
    let other = application("b", (0.0, 16 << 10), 32);
    let apart = noted(&base, &other).expect("a note");
    assert_eq!((apart.read_share, apart.mean_bytes), (Some([1.0, 0.0]), Some([4_096.0, 16_384.0])));
    assert!(apart.in_flight.is_some() && apart.flushes_per_write.is_none(), "{apart:?}");
    // What a plan asks for is told by its load.
    let planned = |record: &RunRecord| {
        let mut record = record.clone();
        let arrival = ArrivalKind::Closed;
        record.cells[0].load = LoadFigures { arrival, ..record.cells[0].load.figures() }.into();
        record
    };
    assert_eq!(noted(&planned(&base), &planned(&other)), None);
}

/// Runs "a" and "b" of these loads, each with its factor on either side.
fn on_two(loads: &[(LoadFigures, f64, f64)]) -> [RunRecord; 2] {
    ["a", "b"].map(|id| {
        let disk = ExampleDisk::default();
        let of = |(load, a, b): &(LoadFigures, f64, f64)| {
            cell(load.clone(), &disk, &STEADY.map(|f| f * if id == "a" { *a } else { *b }))
        };
        let mut run = run(loads.iter().map(of).collect());
        id.clone_into(&mut run.header.id);
        run
    })
}

#[test]
fn ranks_show_one_load_on_all_sides_and_name_it() {
    // B is slower at depth 8, the fastest of A, and faster at depth 2, which is its own fastest.
    let (deep, shallow) = (closed("random", 1.0, 4 << 10, 8), closed("random", 1.0, 4 << 10, 2));
    let [a, b] = on_two(&[(deep.clone(), 1.0, 0.2), (shallow, 1.0, 2.0)]);
    let found = compare(&[&a, &b], &CompareOptions::default()).unwrap();
    let of = |side: u32| found.ranking.iter().find(|ranked| ranked.side == side).unwrap();
    assert_eq!((&of(0).iops_load, &of(0).throughput_load), (&of(1).iops_load, &of(1).throughput_load));
    assert_eq!(of(0).iops_load.as_deref(), Some(a.cells[0].label.as_str()));
    assert!((of(1).iops.unwrap() / of(0).iops.unwrap() - 0.2).abs() < 0.01, "{:?}", found.ranking);
    // A load in doubt is shown only where there is no other.
    let mut doubted = b.clone();
    let doubt = Doubt::written(DoubtCode::CachedReads, "");
    doubted.cells[0].trials[0].doubts.push(doubt.clone());
    let found = compare(&[&a, &doubted], &CompareOptions::default()).unwrap();
    assert!(found.ranking.iter().all(|side| !side.doubted && side.iops_load.as_ref() == Some(&a.cells[1].label)));
    doubted.cells[1].trials[0].doubts.push(doubt);
    let found = compare(&[&a, &doubted], &CompareOptions::default()).unwrap();
    assert!(found.ranking.iter().all(|side| side.doubted && side.iops_load.as_ref() == Some(&a.cells[0].label)));
}

#[test]
fn better_at_one_load_and_worse_at_another_is_no_lack_of_knowledge() {
    let (reads, writes) = (closed("random", 1.0, 4 << 10, 8), closed("random", 0.0, 4 << 10, 8));
    let [a, b] = on_two(&[(reads, 1.0, 1.5), (writes, 1.0, 0.667)]);
    let found = compare(&[&a, &b], &CompareOptions::default()).unwrap();
    assert_eq!(found.against[0].overall[0].verdict, Verdict::Same, "{:?}", found.against[0].overall);
    let (better, worse) = found.trade_off(1).expect("a trade-off");
    assert_eq!((better, worse), (vec![a.cells[0].label.as_str()], vec![a.cells[1].label.as_str()]));
    assert_eq!(found.next_step(), NextStep::SideBySide, "more trials decide nothing here");
    assert_eq!(found.trade_off(0), None);
}

#[test]
fn a_total_says_which_loads_it_leaves_out() {
    let (deep, shallow) = (closed("random", 1.0, 64 << 10, 32), closed("random", 1.0, 64 << 10, 2));
    let [a, mut b] = on_two(&[(deep, 1.0, 1.9), (shallow, 1.0, 1.4)]);
    b.cells[0].trials[0].doubts.push(Doubt::written(DoubtCode::CachedReads, ""));
    let options = CompareOptions { disks: vec![1, 2], ..CompareOptions::default() };
    let total = |b: &RunRecord| compare(&[&a, b], &options).unwrap().scaling.unwrap().totals.remove(0);
    let one = total(&b);
    assert_eq!((one.label.as_str(), one.doubted_left_out, one.doubted), (a.cells[1].label.as_str(), 1, false));
    b.cells[1].trials[0].doubts = b.cells[0].trials[0].doubts.clone();
    let none = total(&b);
    assert_eq!((none.label.as_str(), none.doubted_left_out, none.doubted), (a.cells[0].label.as_str(), 0, true));
}
