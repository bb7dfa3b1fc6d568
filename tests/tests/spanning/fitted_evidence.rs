//! What a fit says without evidence: as little as explains the loads, and never unmarked.

use loadline_block::Operation;
use loadline_fitting::{AssumedBudgets, FitDoubt, FitError, Fitted, fit, fit_watched};
use loadline_record::{Clock, Doubt, DoubtCode, RunRecord, TargetKind};
use loadline_report::words::fit::{fit_assumption, fitted_environment as text};
use loadline_tests::measured::measure;
use std::cell::RefCell;

fn disk(limit: &str, median: &str) -> String {
    format!(
        "schema = 1\nname = \"known\"\n[volume.data]\n[[volume.data.disks]]\nsize = \"100 GiB\"\n[volume.data.disks.limit]\n{limit}\n\
         [volume.data.disks.latency.read]\nmedian = \"{median}\"\np99 = \"1 ms\"\n"
    )
}

fn plan(blocks: &str, depths: &str, time: &str) -> String {
    format!(
        "schema = 1\nname = \"loads\"\n[[load]]\npattern = \"random\"\nreads = \"100 %\"\nblock = [{blocks}]\nqueue_depth = [{depths}]\n\
         size = \"10 GiB\"\nwarm_up = \"1 s\"\nduration = \"{time}\"\ntrials = 1\n"
    )
}

fn rates(record: &RunRecord) -> Vec<f64> {
    record.cells.iter().map(|cell| cell.trials[0].iops().unwrap()).collect()
}

/// Rates of loads on the known disk and on the fitted one.
#[track_caller]
fn assert_alike(known: &str, fitted: &Fitted, plan: &str, tolerance: f64) {
    let [wanted, got] = [known, &text(fitted)].map(|environment| measure(environment, plan, 7).record);
    for ((wanted, got), cell) in rates(&wanted).into_iter().zip(rates(&got)).zip(&wanted.cells) {
        assert!((got / wanted - 1.0).abs() <= tolerance, "{}: {got} for {wanted}\n{}", cell.label, text(fitted));
    }
}

/// The value of a key in the table of service times of reads, ns.
fn of_reads(fitted: &Fitted, key: &str) -> u64 {
    let text = text(fitted);
    let (_, table) = text.split_once("latency.read]").expect("reads have a latency");
    let line = table.lines().find_map(|line| line.strip_prefix(&format!("{key} = "))).expect("the key is there");
    line.trim_matches('"').parse::<loadline_units::Duration>().unwrap().as_ns()
}

fn has_doubt(fitted: &Fitted, is_it: impl Fn(&FitDoubt) -> bool) -> bool {
    fitted.doubts.iter().any(is_it)
}

#[test]
fn what_waits_at_the_limit_on_bytes_says_nothing_of_what_a_kib_takes() {
    let known = disk("iops = \"5000 IOPS\"\nthroughput = \"200 MB/s\"", "500 us");
    let fitted = fit(&measure(&known, &plan("\"8 KiB\", \"1 MiB\"", "1, 32", "12 s"), 1).record, "fitted").unwrap();
    assert_eq!(of_reads(&fitted, "per_kib"), 0, "{}", text(&fitted));
    assert!((470_000..530_000).contains(&of_reads(&fitted, "median")), "{}", text(&fitted));
    assert!(!has_doubt(&fitted, |doubt| matches!(doubt, FitDoubt::AllWaited { .. })), "{:?}", fitted.doubts);
    assert_alike(&known, &fitted, &plan("\"16 KiB\", \"64 KiB\"", "1", "12 s"), 0.05);
}

#[test]
fn a_kib_that_takes_time_is_seen_below_the_limits() {
    let known = disk("iops = \"5000 IOPS\"\nthroughput = \"200 MB/s\"", "500 us") + "per_kib = \"4 us\"\n";
    let fitted = fit(&measure(&known, &plan("\"8 KiB\", \"128 KiB\"", "1, 32", "12 s"), 1).record, "fitted").unwrap();
    assert!((3_500..4_500).contains(&of_reads(&fitted, "per_kib")), "{}", text(&fitted));
    assert_alike(&known, &fitted, &plan("\"64 KiB\"", "1", "12 s"), 0.05);
}

#[test]
fn where_all_loads_wait_at_limits_the_fit_says_that_it_does_not_know_the_service() {
    let known = disk("iops = \"2000 IOPS\"\nthroughput = \"50 MB/s\"", "200 us");
    let loads = plan("\"4 KiB\", \"64 KiB\"", "16, 32", "12 s");
    let fitted = fit(&measure(&known, &loads, 1).record, "fitted").unwrap();
    assert_eq!(of_reads(&fitted, "per_kib"), 0, "{}", text(&fitted));
    // Requests take 8 ms, nearly all of it a wait.
    assert!(of_reads(&fitted, "median") < 2_700_000, "{}", text(&fitted));
    assert!(has_doubt(
        &fitted,
        |doubt| matches!(doubt, FitDoubt::AllWaited { operation: Operation::Read, volume, .. } if volume == "data")
    ));
    assert!(text(&fitted).contains("# No load of reads was measured"), "{}", text(&fitted));
    assert_alike(&known, &fitted, &loads, 0.03);
}

#[test]
fn directions_that_were_not_measured_have_nothing_of_their_own_and_are_told() {
    let known = disk("iops = \"5000 IOPS\"\nthroughput = \"200 MB/s\"", "500 us");
    let reads = plan("\"8 KiB\", \"1 MiB\"", "1, 32", "5 s");
    let fitted = fit(&measure(&known, &reads, 1).record, "fitted").unwrap();
    assert!(!text(&fitted).contains("write =") && !text(&fitted).contains("latency.write"), "{}", text(&fitted));
    assert!(text(&fitted).contains("# No writes were measured on volume data"), "{}", text(&fitted));
    assert!(has_doubt(&fitted, |doubt| matches!(doubt, FitDoubt::NotMeasured { operation: Operation::Write, .. })));
    let both = reads.replace("reads = \"100 %\"", "reads = [\"100 %\", \"0 %\"]");
    let fitted = fit(&measure(&known, &both, 1).record, "fitted").unwrap();
    assert!(
        text(&fitted).contains("latency.write") && fitted.doubts.is_empty(),
        "{:?}\n{}",
        fitted.doubts,
        text(&fitted)
    );
}

/// A disk with these limits, its reads and writes as quick as that.
fn disk_of_both(limit: &str, median: &str, p99: &str) -> String {
    let writes = format!("[volume.data.disks.latency.write]\nmedian = \"{median}\"\np99 = \"{p99}\"\n");
    disk(limit, median).replace("p99 = \"1 ms\"", &format!("p99 = \"{p99}\"")) + &writes
}

#[test]
fn what_reads_and_writes_draw_on_is_assumed_and_told_where_no_mix_was_measured() {
    const EACH: &str = "iops = { read = \"200 IOPS\", write = \"400 IOPS\" }";
    let window = format!("{EACH}\nenforcement = {{ window = \"100 ms\" }}");
    let pure =
        plan("\"4 KiB\", \"64 KiB\"", "1, 16", "12 s").replace("reads = \"100 %\"", "reads = [\"100 %\", \"0 %\"]");
    for (limit, [median, p99], is_traded, budgets) in [
        (EACH, ["10 ms", "30 ms"], true, AssumedBudgets::Traded),
        (EACH, ["100 us", "200 us"], false, AssumedBudgets::Apart),
        (&window, ["10 ms", "30 ms"], false, AssumedBudgets::Windowed),
        ("iops = \"200 IOPS\"", ["10 ms", "30 ms"], false, AssumedBudgets::One),
    ] {
        let known = disk_of_both(limit, median, p99);
        let fitted = fit(&measure(&known, &pure, 1).record, "fitted").unwrap();
        assert_eq!(
            text(&fitted).contains("reads_and_writes = \"traded\""),
            is_traded,
            "{limit}, {median}: {}",
            text(&fitted)
        );
        let [assumption] = &fitted.assumptions[..] else { panic!("{:?}", fitted.assumptions) };
        assert_eq!(assumption.budgets, budgets, "{limit}, {median}");
        let said = format!("# Assumed: {}.", fit_assumption(assumption));
        assert!(said.contains("\"50 %\"") && text(&fitted).contains(&said), "{}", text(&fitted));
    }
    let mixed = pure.replace("\"0 %\"]", "\"0 %\", \"50 %\"]");
    let fitted = fit(&measure(&disk_of_both(EACH, "10 ms", "30 ms"), &mixed, 1).record, "fitted").unwrap();
    assert!(fitted.assumptions.is_empty() && !text(&fitted).contains("Assumed"), "{:?}", fitted.assumptions);
    assert!(!text(&fitted).contains("traded"), "a mix tells them apart: {}", text(&fitted));
}

/// Half of them would do for the limits, and say nothing of what a KiB takes.
#[test]
fn every_load_of_a_large_plan_counts() {
    let known = disk_of_both("iops = \"300 IOPS\"\nthroughput = \"20 MB/s\"", "5 ms", "9 ms") + "per_kib = \"30 us\"\n";
    let loads = plan("\"4 KiB\", \"32 KiB\", \"128 KiB\"", "1, 4, 16", "12 s")
        .replace("reads = \"100 %\"", "reads = [\"0 %\", \"100 %\", \"50 %\"]");
    let fitted = fit(&measure(&known, &loads, 1).record, "fitted").unwrap();
    assert_eq!(fitted.agreement.len(), 27);
    assert_alike(&known, &fitted, &loads, 0.03);
}

#[test]
fn loads_that_hardly_wait_at_a_limit_come_out_as_measured() {
    let known =
        disk("iops = \"100 IOPS\"\nenforcement = { bucket = \"1 s\" }", "8 ms").replace("\"1 ms\"", "\"17 ms\"");
    let loads = plan("\"4 KiB\", \"32 KiB\", \"256 KiB\"", "1, 8, 64", "12 s");
    let fitted = fit(&measure(&known, &loads, 1).record, "fitted").unwrap();
    assert_alike(&known, &fitted, &loads, 0.03);
}

/// A warm-up hides what a bucket saved; without one, the first second shows it.
#[test]
fn a_bucket_that_no_load_shows_is_not_promised() {
    let known =
        disk("iops = \"500 IOPS\"\nenforcement = { bucket = \"1 s\" }", "1 ms").replace("\"1 ms\"\n", "\"2 ms\"\n");
    let deep = |text: &str| {
        text.contains("bucket = \"1 s\"") || text.contains("bucket = \"9") || text.contains("bucket = \"8")
    };
    let hidden = plan("\"4 KiB\", \"16 KiB\"", "1, 4, 32", "12 s").replace("warm_up = \"1 s\"", "warm_up = \"5 s\"");
    let fitted = fit(&measure(&known, &hidden, 1).record, "fitted").unwrap();
    assert!(!deep(&text(&fitted)), "{}", text(&fitted));
    assert_alike(&known, &fitted, &hidden, 0.03);
    let seen = hidden.replace("warm_up = \"5 s\"", "warm_up = \"0 s\"").replace("\"12 s\"", "\"4 s\"");
    let fitted = fit(&measure(&known, &seen, 1).record, "fitted").unwrap();
    assert!(text(&fitted).contains("bucket = "), "{}", text(&fitted));
    assert!(!has_doubt(&fitted, |doubt| matches!(doubt, FitDoubt::BucketUnknown { .. })), "{:?}", fitted.doubts);
    assert_alike(&known, &fitted, &seen, 0.03);
}

#[test]
fn the_tool_is_no_disk() {
    let known = disk("iops = \"5000 IOPS\"", "500 us");
    let mut record = measure(&known, &plan("\"8 KiB\"", "1, 32", "5 s"), 1).record;
    let doubt = Doubt::written(DoubtCode::GeneratorBound, "a thread was busy");
    record.cells[1].trials[0].doubts.push(doubt.clone());
    let fitted = fit(&record, "fitted").unwrap();
    assert!(has_doubt(&fitted, |doubt| matches!(doubt, FitDoubt::OfTheTool { loads: 1, .. })), "{:?}", fitted.doubts);
    assert_eq!(fitted.agreement.len(), 1);
    let mut null = record.clone();
    record.cells[0].trials[0].doubts.push(doubt);
    null.header.volumes[0].kind = TargetKind::Null;
    for none in [record, null] {
        let error = fit(&none, "fitted").unwrap_err();
        assert!(matches!(error, FitError::Tool { .. }), "{error}");
    }
}

#[test]
fn what_was_fitted_to_a_prediction_says_so() {
    let known = disk("iops = \"5000 IOPS\"", "500 us");
    let mut record = measure(&known, &plan("\"8 KiB\"", "1, 32", "5 s"), 1).record;
    assert!(!text(&fit(&record, "fitted").unwrap()).contains("predict"));
    record.header.clock = Clock::Virtual;
    let fitted = fit(&record, "fitted").unwrap();
    assert!(
        fitted.doubts.contains(&FitDoubt::OfPrediction) && text(&fitted).contains("a model of a model"),
        "{}",
        text(&fitted)
    );
    assert!(!text(&fitted).contains("most that were measured"), "{}", text(&fitted));
}

/// Hours in full would keep the fit busy for many minutes.
#[test]
fn a_burst_of_half_an_hour_is_fitted_in_bounded_time_and_its_progress_is_told() {
    let known = disk("iops = \"500 IOPS\"\nburst = { iops = \"3500 IOPS\" }\nburst_span = \"30 min\"", "500 us");
    let loads = plan("\"8 KiB\"", "64", "2 h").replace("warm_up = \"1 s\"", "warm_up = \"0 s\"");
    let shares = RefCell::new(Vec::new());
    let record = measure(&known, &loads, 1).record;
    let fitted = fit_watched(&record, "fitted", &|share| shares.borrow_mut().push(share)).unwrap();
    let shares = shares.into_inner();
    assert!(shares.is_sorted() && shares.iter().all(|share| (0.0..=1.0).contains(share)), "{shares:?}");
    assert!(text(&fitted).contains("burst = { iops = \"35"), "{}", text(&fitted));
    let off = fitted.agreement[0].iops_fitted / fitted.agreement[0].iops_measured - 1.0;
    assert!(off.abs() <= 0.03, "{off}: {}", text(&fitted));
    assert_alike(&known, &fitted, &loads, 0.05);
}
