//! Reports of several runs: common charts, omissions, and notes about unequal runs.

use crate::well_formed::check;
use loadline_analysis::example::{ExampleDisk, cell, closed, open, predicted, run};
use loadline_analysis::summarize;
use loadline_record::{CellRecord, Clock, Doubt, DoubtCode, LoadFigures, PlanText, RunRecord};
use loadline_report::html;

const THREE: [f64; 3] = [1.0, 0.998, 1.003];

/// A run of these loads on a disk with this many IOPS.
fn on(name: &str, iops: f64, loads: &[LoadFigures]) -> RunRecord {
    let disk = ExampleDisk { iops, ..ExampleDisk::default() };
    let mut record = run(loads.iter().map(|load| cell(load.clone(), &disk, &THREE)).collect());
    record.header.name = format!("sweep on {name}");
    record.header.id = format!("20260131-142233-{name}");
    record
}

fn page(records: &[RunRecord]) -> String {
    let summaries: Vec<_> = records.iter().map(summarize).collect();
    let runs: Vec<_> = records.iter().zip(&summaries).collect();
    let text = html(&runs);
    check(&text).unwrap();
    text
}

/// The charts of a page with this beginning of their ids.
fn charts<'a>(text: &'a str, id: &str) -> Vec<&'a str> {
    let all = text.split("<svg class=\"chart\"").skip(1).map(|chart| chart.split("</svg>").next().unwrap());
    // Each is there once more for narrow pages.
    all.filter(|chart| chart.contains(&format!("aria-labelledby=\"{id}")) && !chart.contains("-n-t ")).collect()
}

fn depths(reads: f64, kib: u64) -> Vec<LoadFigures> {
    [1, 4, 16, 64, 256].map(|depth| closed("random", reads, kib << 10, depth)).into()
}

#[test]
fn runs_of_a_sweep_share_charts_of_rate_and_latency_with_a_line_each() {
    let loads = [depths(1.0, 8), depths(0.0, 8)].concat();
    let text = page(&[on("slow", 500.0, &loads), on("fast", 5_000.0, &loads), on("faster", 40_000.0, &loads)]);
    let (rate, latency) = (charts(&text, "beside-depth-throughput"), charts(&text, "beside-depth-latency"));
    assert_eq!((rate.len(), latency.len()), (2, 2));
    for chart in rate.iter().chain(&latency) {
        assert_eq!(chart.matches("class=\"ln\"").count(), 3, "{chart}");
        assert_eq!(chart.matches("class=\"mk").count(), 15, "{chart}");
        for (style, name) in ["slow", "fast", "faster"].iter().enumerate() {
            assert!(chart.contains(&format!("<g class=\"s{style}\">")), "{chart}");
            assert!(chart.contains(&format!(">{name}</text>")), "{chart}");
            assert!(chart.contains(&format!("{name}: ")), "told to who does not see it: {chart}");
        }
        assert!(chart.contains("outstanding requests (depth × threads)"));
        assert!(chart.contains("against slow: better"), "verdicts at the points: {chart}");
    }
    assert!(rate.iter().all(|chart| chart.contains(">MB/s</text>")));
    assert!(latency.iter().all(|chart| chart.contains(">objective: mean 20")));
    assert!(text.contains("Charts of one block size have the same scale."));
    assert!(charts(&text, "beside-bars").is_empty());
}

#[test]
fn several_runs_open_with_their_verdict_and_their_ranks() {
    let loads = depths(1.0, 4);
    let text = page(&[on("slow", 500.0, &loads), on("fast", 5_000.0, &loads), on("again", 500.0, &loads[..2])]);
    let (top, rest) = text.split_once("</header>").unwrap();
    assert!(top.contains("<dt>best</dt><dd>B, sweep on fast"), "{top}");
    assert!(top.contains("<dt>how sure</dt>") && !top.contains("loadline report"), "{top}");
    let ranks = rest.split_once("<section id=\"ranks\">").unwrap().1.split_once("</section>").unwrap().0;
    let first = ranks.split("<tr>").find(|row| row.contains("sweep on fast")).unwrap();
    assert!(first.starts_with("<td class=\"num\">1</td><td>B</td>") && first.contains("better"), "{first}");
    assert!(ranks.contains("baseline"), "{ranks}");
}

#[test]
fn what_all_cells_together_leave_open_is_said_by_those_that_decide() {
    let best = |records: &[RunRecord]| {
        let text = page(records);
        let (_, rest) = text.split_once("<dt>best</dt><dd>").unwrap();
        rest.split_once("</dd>").unwrap().0.to_owned()
    };
    // Each cell is in doubt, so that none counts; the second disk is ten times as fast in all of them.
    let loads = depths(1.0, 4);
    let mut doubted = [on("old", 3_000.0, &loads), on("new", 30_000.0, &loads)];
    for trial in doubted.iter_mut().flat_map(|record| &mut record.cells).flat_map(|cell| &mut cell.trials) {
        trial.doubts.push(Doubt::written(DoubtCode::CachedReads, "It was not the disk."));
    }
    let text = best(&doubted);
    assert!(text.starts_with("probably B, sweep on new: B is better in ") && text.ends_with(" of 5 cells"), "{text}");
    // Reads are slower by a seventh, and writes differ from trial to trial by more than anything could show.
    let mut days = ["monday", "tuesday"].map(|day| on(day, 3_000.0, &[]));
    for (day, (reads, writes)) in days.iter_mut().zip([(1.0, [0.2, 1.0, 1.0]), (0.87, [1.5, 1.0, 1.8])]) {
        let disk = ExampleDisk::default();
        let of = |share, factors: &[f64]| cell(closed("random", share, 4 << 10, 8), &disk, factors);
        day.cells = vec![of(1.0, &THREE.map(|factor| factor * reads)), of(0.0, &writes)];
    }
    assert_eq!(best(&days), "probably A, sweep on monday: B is worse in 1 of 2 cells");
    // Noise alone decides nothing.
    for day in &mut days {
        day.cells.remove(0);
    }
    let text = best(&days);
    assert!(!text.contains("no difference"), "{text}");
    // Two of an own pace, of which too little is known: neither is the better.
    let seldom = [open("random", 1.0, 4 << 10, 3.0)];
    let text = best(&[on("one", 3_000.0, &seldom), on("other", 3_000.0, &seldom)]);
    assert_eq!(text, "not known: no figure decides between A, sweep on one and B, sweep on other");
}

#[test]
fn runs_at_offered_rates_share_charts_too() {
    let loads: Vec<LoadFigures> = [500.0, 2_000.0, 4_500.0].map(|rate| open("random", 1.0, 4 << 10, rate)).into();
    let text = page(&[on("a", 5_000.0, &loads), on("b", 20_000.0, &loads)]);
    let (rate, latency) = (charts(&text, "beside-offered-iops"), charts(&text, "beside-offered-latency"));
    assert_eq!((rate.len(), latency.len()), (1, 1));
    assert!(rate[0].contains(">offered IOPS</text>") && rate[0].contains(">IOPS</text>"));
    assert!(latency[0].contains(">objective: mean 20"));
}

#[test]
fn what_lies_on_no_curve_has_a_bar_for_each_run() {
    let loads = [closed("sequential", 1.0, 1 << 20, 8), closed("random", 0.0, 4 << 10, 1)];
    let mut records = [on("a", 500.0, &loads), on("b", 5_000.0, &loads)];
    records[1].cells[1].trials[0].doubts = vec![Doubt::written(DoubtCode::CachedReads, "It was not the disk.")];
    // Trials that are far apart, so that their interval is seen.
    records[0].cells[0] = cell(loads[0].clone(), &ExampleDisk::default(), &[1.0, 0.5, 1.5]);
    let text = page(&records);
    let [chart] = charts(&text, "beside-bars-throughput")[..] else { panic!("{text}") };
    assert_eq!(chart.matches("class=\"mk rect").count(), 4, "{chart}");
    assert_eq!(chart.matches("class=\"mk rect hollow\"").count(), 1, "{chart}");
    assert!(chart.contains("(mean over trials, logarithmic)"), "MB/s are more than a decade apart: {chart}");
    assert!(chart.contains("class=\"whisker\""), "{chart}");
    assert!(text.contains("Hollow bars carry doubts."));
    assert!(charts(&text, "beside-depth").is_empty());
    // Within a decade bars begin at zero.
    let text = page(&[on("a", 1_500.0, &loads[1..]), on("b", 3_000.0, &loads[1..])]);
    let [chart] = charts(&text, "beside-bars-throughput")[..] else { panic!("{text}") };
    assert!(chart.contains("(mean over trials)") && chart.contains(">0</text>"), "{chart}");
    assert!(chart.contains(" · same"), "each disk does 1,000 IOPS one by one: {chart}");
}

#[test]
fn a_load_that_sets_its_own_rate_is_compared_by_its_latency() {
    let loads = [open("random", 1.0, 4 << 10, 400.0)];
    let text = page(&[on("a", 500.0, &loads), on("b", 5_000.0, &loads)]);
    assert!(charts(&text, "beside-bars-throughput").is_empty());
    let [chart] = charts(&text, "beside-bars-p99")[..] else { panic!("{text}") };
    assert_eq!(chart.matches("class=\"mk rect").count(), 2, "{chart}");
    assert!(chart.contains(">ms (mean over trials)</text>") && chart.contains(" · better"), "{chart}");
}

#[test]
fn of_many_kinds_of_load_and_many_runs_some_are_drawn_and_the_page_says_so() {
    let mut loads = Vec::new();
    for reads in [1.0, 0.8, 0.5, 0.2, 0.0] {
        for kib in [4, 8, 64, 256, 1024] {
            loads.extend(depths(reads, kib));
        }
    }
    let text = page(&[on("a", 500.0, &loads), on("b", 5_000.0, &loads)]);
    let drawn = charts(&text, "beside-depth-throughput");
    assert!((6..=12).contains(&drawn.len()), "{}", drawn.len());
    assert!(text.contains(&format!("Of 25 kinds of load {} are drawn", drawn.len())), "{text}");
    for ends in ["random read 4 KiB", "random read 1 MiB", "random write 4 KiB", "random write 1 MiB"] {
        assert!(drawn.iter().any(|chart| chart.contains(&format!("run beside run: {ends}<"))), "{ends}");
    }
    let few = depths(1.0, 8);
    let many: Vec<RunRecord> = (0..11).map(|n| on(&format!("disk-{n}"), 500.0 + f64::from(n), &few)).collect();
    let text = page(&many);
    assert!(text.contains("Of 11 runs the first 8 are drawn"), "{text}");
    let [chart] = charts(&text, "beside-depth-throughput")[..] else { panic!("{text}") };
    assert_eq!(chart.matches("class=\"ln\"").count(), 8);
    assert!((0..8).all(|style| chart.contains(&format!("<g class=\"s{style}\">"))));
}

#[test]
fn what_only_one_run_sweeps_is_in_no_chart_of_several() {
    let text = page(&[on("a", 500.0, &depths(1.0, 8)), on("b", 500.0, &depths(0.0, 8))]);
    assert!(charts(&text, "beside").is_empty());
}

fn prediction(environment: &str, speed: f64) -> RunRecord {
    let mut record = predicted(&[speed, speed * 0.9]);
    record.header.name = format!("plan on {environment}");
    record.header.id = format!("20260131-142233-{environment}");
    record.header.volumes[0].target = format!("data of {environment}");
    let (name, hash) = (environment.to_owned(), environment.to_owned());
    record.header.environment = Some(PlanText { name, text: String::new(), hash });
    record
}

#[test]
fn predictions_of_different_environments_are_no_reason_for_a_warning() {
    let mut records = [prediction("p30", 1.0), prediction("p10", 0.1)];
    records[1].header.host.hostname = Some("another".to_owned());
    let text = page(&records);
    assert!(!text.contains("When comparing these runs"), "{text}");
    assert!(text.contains("they compare the environments that they were made for"));
    // Another plan is something else.
    records[1].header.plans[0].hash = "0123456789abcdef".to_owned();
    assert!(page(&records).contains("class=\"warn\">When comparing these runs, mind that their plans differ.<"));
}

#[test]
fn measured_runs_that_are_not_alike_are_warned_of() {
    let loads = depths(1.0, 8);
    let (a, mut b) = (on("a", 500.0, &loads), on("b", 500.0, &loads));
    assert!(!page(&[a.clone(), b.clone()]).contains("When comparing these runs"));
    b.header.host.hostname = Some("another".to_owned());
    b.header.host.cpu_model = Some("another".to_owned());
    b.header.volumes[0].target = "/mnt/other".to_owned();
    let told = "mind that they ran on different machines, they ran on different CPUs, they ran on different targets.";
    assert!(page(&[a, b.clone()]).contains(told));
    // One that is measured beside one that is predicted.
    let text = page(&[b, prediction("p30", 1.0)]);
    assert!(text.contains("mind that some are measured and some predicted, they ran on different machines"), "{text}");
}

#[test]
fn names_that_tell_nothing_apart_are_told_apart_by_their_place() {
    let loads = depths(1.0, 8);
    let mut records = [on("a", 500.0, &loads), on("a", 600.0, &loads)];
    records[1].header.id = "20260131-142233-b".to_owned();
    let text = page(&records);
    assert!(text.contains("sweep on a (run 1)") && text.contains("sweep on a (run 2)"), "{text}");
}

#[test]
fn figures_that_are_missing_leave_charts_whole() {
    let loads = depths(1.0, 8);
    let (mut a, b) = (on("a", 500.0, &loads), on("b", 500.0, &loads));
    let empty = |cell: &mut CellRecord| cell.trials.clear();
    a.cells.iter_mut().take(2).for_each(empty);
    a.header.clock = Clock::Virtual;
    let text = page(&[a, b]);
    let [chart] = charts(&text, "beside-depth-throughput")[..] else { panic!("{text}") };
    assert_eq!(chart.matches("class=\"mk").count(), 8, "{chart}");
}
