//! What is concluded of example runs, word by word.

use loadline_analysis::example::{ExampleDisk, cell, closed, open, predicted, run};
use loadline_analysis::{Conclusion, FindingSeen, Limit, NextMeasurement, RateCourse, RunSummary, summarize};
use loadline_record::Rate;
use loadline_record::{
    Ceiling, CellRecord, Doubt, DoubtCode, Load, MachineCpu, ModelRecord, OtherLoad, RunRecord, RunVerb,
};
use loadline_report::words;

/// A conclusion in sentences.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) limit: Option<Limit>,
    pub(crate) text: String,
    evidence: String,
    pub(crate) consequence: Option<String>,
    pub(crate) next: Option<String>,
    measurements: Vec<NextMeasurement>,
}

/// The conclusions of a run in sentences.
pub(crate) fn of(summary: &RunSummary) -> Vec<Told> {
    let told = |conclusion: &Conclusion| Told {
        limit: conclusion.limit,
        text: words::reached(conclusion),
        evidence: words::evidence(&conclusion.seen),
        consequence: words::meaning(conclusion),
        next: words::next(conclusion),
        measurements: conclusion.next_measurements(),
    };
    summary.conclusions.iter().map(told).collect()
}

fn one(record: &RunRecord) -> Told {
    let told = of(&summarize(record));
    assert_eq!(told.len(), 1, "{told:?}");
    told.into_iter().next().unwrap()
}

fn sweep(read_ratio: f64) -> Vec<CellRecord> {
    let disk = ExampleDisk::default();
    [1, 4, 16, 64, 256].map(|depth| cell(closed("random", read_ratio, 4 << 10, depth), &disk, &[1.0, 1.0, 1.0])).into()
}

#[test]
fn limit_evidence_consequence_and_next_step_are_told() {
    let mut cells = sweep(1.0);
    cells.push(cell(closed("random", 1.0, 8 << 10, 64), &ExampleDisk::default(), &[1.0, 1.0, 1.0]));
    cells.push(cell(closed("random", 1.0, 8 << 10, 128), &ExampleDisk::default(), &[1.0, 1.0, 1.0]));
    let told = one(&run(cells));
    assert!(told.text.contains("stop at 5,001 IOPS") && told.text.ends_with("(disk-iops, inferred)."), "{told:?}");
    assert!(told.evidence.contains("levels off"));
    let consequence = told.consequence.unwrap();
    assert!(consequence.contains("More at once only adds waiting"), "{consequence}");
    assert!(consequence.contains("20 ms on average is kept up to depth 64"), "{consequence}");
    // Inferred, it may be anybody's limit, and the next step says how to tell.
    assert!(told.next.unwrap().starts_with("Compare this rate with what the disk is sold with."));
}

#[test]
fn a_load_that_nothing_stops_is_told_to_ask_for_more() {
    let disk = ExampleDisk::default();
    let cells = [1, 2].map(|depth| cell(closed("random", 1.0, 4 << 10, depth), &disk, &[1.0, 1.0, 1.0]));
    let told = one(&run(cells.into()));
    assert!(told.text.contains("no limit stops them there"), "{told:?}");
    assert!(told.next.unwrap().starts_with("Have more requests in flight"));
}

#[test]
fn requests_kept_above_the_device_point_to_who_keeps_them() {
    let mut record = run(sweep(1.0));
    for cell in &mut record.cells {
        let depth = f64::from(cell.load.figures().queue_depth.unwrap());
        for device in cell.trials.iter_mut().flat_map(|t| &mut t.surroundings.devices) {
            // A tenth of a request at the device, whatever is outstanding.
            device.queue_ms = (device.queue_ms as f64 * 0.1 / depth) as u64;
        }
    }
    let told = one(&record);
    assert!(told.consequence.as_ref().unwrap().contains("most requests wait above the device"), "{told:?}");
    assert!(told.next.unwrap().contains("io.max"));
}

#[test]
fn nothing_is_said_to_stop_where_arrivals_came_to_more() {
    let faster = ExampleDisk { iops: 6_000.0, ..ExampleDisk::default() };
    let mut cells: Vec<CellRecord> =
        [1, 32].map(|depth| cell(closed("random", 1.0, 4 << 10, depth), &ExampleDisk::default(), &[1.0])).into();
    assert!(one(&run(cells.clone())).text.contains("stop at 5,001 IOPS"));
    cells.push(cell(open("random", 1.0, 4 << 10, 5_800.0), &faster, &[1.0]));
    let record = run(cells);
    let told = one(&record);
    assert!(told.text.contains("reach 5,001 IOPS") && told.text.contains("no limit stops them there"), "{told:?}");
    let evidence = &told.evidence;
    assert!(evidence.contains("At 5,800 arrivals a second the same requests had 5,8"), "{evidence}");
    let findings = summarize(&record).findings;
    let stops = findings.iter().find(|f| match &f.seen {
        FindingSeen::BoundBy { limit, .. } => *limit == Limit::DiskIops,
        seen => matches!(seen, FindingSeen::LevelsOff(_)),
    });
    assert_eq!(stops, None);
    // The machine itself may be slower while queues are kept full.
    let mut busy = record;
    busy.cells[1].trials[0].surroundings.machine = Some(MachineCpu { busy: 0.99, iowait: 0.0, steal: 0.0, cpus: 4 });
    let told = one(&busy);
    assert!(told.text.contains("reach 5,001 IOPS (20.5 MB/s) at depth 32: the machine's CPUs bind"), "{told:?}");
    let meant = told.consequence.unwrap();
    assert!(meant.contains("At 5,800 arrivals a second the same requests came to 5,8"), "{meant}");
}

#[test]
fn the_rate_of_a_burst_is_not_what_follows_its_end() {
    let meant = |vm: f64| {
        let mut record = predicted(&[1.0]);
        let model = record.cells[0].trials[0].model.as_mut().unwrap();
        let binding = model.binding.as_mut().unwrap();
        (binding.limit, binding.ceiling_iops) = (Limit::BurstExhausted, Some(1_000.0));
        let ceiling = |limit, iops| Ceiling { limit, iops, source: "it".into() };
        model.ceilings = vec![ceiling(Limit::DiskIops, 3_000.0), ceiling(Limit::VmUncachedIops, vm)];
        for end in &mut model.bursts_ended {
            end.iops_after = Some(1_000.0);
        }
        one(&record).consequence.unwrap()
    };
    assert!(!meant(50_000.0).contains("follows"), "{}", meant(50_000.0));
    assert!(meant(2_000.0).contains("Beyond it vm-uncached-iops follows at 2,000 IOPS"), "{}", meant(2_000.0));
}

#[test]
fn what_begins_without_credits_has_no_rate_before_a_fall() {
    let meant = |full: bool| {
        let mut record = predicted(&[1.0]);
        let model = record.cells[0].trials[0].model.as_mut().unwrap();
        model.bursts_ended.clear();
        model.initial.bursts_full = full;
        model.binding.as_mut().unwrap().limit = Limit::BurstExhausted;
        one(&record).consequence.unwrap()
    };
    assert!(meant(true).contains("before the fall") && !meant(true).contains("no credits"), "{}", meant(true));
    assert!(!meant(false).contains("before the fall") && meant(false).contains("no credits"), "{}", meant(false));
}

#[test]
fn what_follows_a_budget_that_others_take_part_of_is_told_from_the_rate() {
    // 5,000 a second of a budget of 20,000: what the other volume left.
    let meant = |beside: &[&str]| {
        let mut record = predicted(&[1.0]);
        let model = record.cells[0].trials[0].model.as_mut().unwrap();
        model.bursts_ended.clear();
        let binding = model.binding.as_mut().unwrap();
        (binding.limit, binding.ceiling_iops) = (Limit::VmUncachedIops, Some(20_000.0));
        let ceiling = |limit, iops| Ceiling { limit, iops, source: "it".into() };
        model.ceilings = vec![ceiling(Limit::VmUncachedIops, 20_000.0), ceiling(Limit::DiskIops, 15_000.0)];
        model.beside = beside.iter().map(|name| (*name).to_owned()).collect();
        let told = one(&record);
        (told.consequence.unwrap(), told.next.unwrap())
    };
    let (alone, _) = meant(&[]);
    assert!(alone.contains("gains next to nothing"), "{alone}");
    let (shared, next) = meant(&["log"]);
    assert!(shared.contains("Beyond it disk-iops follows at 15,000 IOPS, 2"), "{shared}");
    assert!(!shared.contains("gains next to nothing") && !next.contains("since disk-iops follows"), "{shared} {next}");
}

#[test]
fn no_headroom_is_told_of_a_budget_that_others_take_part_of() {
    let meant = |shared: Limit| {
        let mut record = predicted(&[1.0]);
        let ceiling = |limit, iops| Ceiling { limit, iops, source: "it".into() };
        let model = record.cells[0].trials[0].model.as_mut().unwrap();
        model.bursts_ended.clear();
        model.ceilings = vec![ceiling(Limit::DiskIops, 5_000.0), ceiling(Limit::VmUncachedIops, 10_000.0)];
        let mut other = record.cells[0].clone();
        (other.id, other.volume) = ("log".to_owned(), "log".to_owned());
        for (cell, beside) in [(&mut record.cells[0], "log"), (&mut other, "data")] {
            cell.trials[0].model.as_mut().unwrap().beside = vec![beside.to_owned()];
        }
        other.trials[0].model.as_mut().unwrap().ceilings = vec![ceiling(shared, 10_000.0)];
        record.cells.push(other);
        one(&record).consequence.unwrap_or_default()
    };
    assert!(!meant(Limit::VmUncachedIops).contains("vm-uncached-iops"), "{}", meant(Limit::VmUncachedIops));
    // What goes through the host's cache has a budget of its own.
    let apart = meant(Limit::VmCachedIops);
    assert!(apart.contains("Beyond it vm-uncached-iops follows at 10,000 IOPS"), "{apart}");
}

#[test]
fn the_next_step_names_the_limit_that_follows_closely() {
    let next = |ceiling: f64| {
        let mut record = predicted(&[1.0]);
        let model = record.cells[0].trials[0].model.as_mut().unwrap();
        let source = "the VM".into();
        model.bursts_ended.clear();
        model.ceilings.push(Ceiling { limit: Limit::VmUncachedIops, iops: ceiling, source });
        let told = one(&record);
        (told.consequence.unwrap(), told.next.unwrap())
    };
    let (meant, step) = next(5_100.0);
    assert!(meant.contains("gains next to nothing: vm-uncached-iops follows at 5,100 IOPS, 2.0 % above"), "{meant}");
    assert!(step.contains("more disks in a stripe; and a larger VM size, since vm-uncached-iops follows"), "{step}");
    let (meant, step) = next(9_000.0);
    assert!(meant.contains("Beyond it vm-uncached-iops follows") && !step.contains("VM size"), "{meant} {step}");
}

#[test]
fn reads_and_writes_that_stop_alike_are_told_once() {
    let mut cells = sweep(1.0);
    cells.extend(sweep(0.0));
    let told = one(&run(cells));
    assert!(told.text.starts_with("Random 4 KiB reads and writes"), "{told:?}");
}

#[test]
fn reads_and_writes_that_stop_apart_are_two_conclusions() {
    let told = |writes: f64| {
        let mut cells = sweep(1.0);
        let disk = ExampleDisk { iops: ExampleDisk::default().iops * writes, ..ExampleDisk::default() };
        cells.extend([1, 4, 16, 64, 256].map(|d| cell(closed("random", 0.0, 4 << 10, d), &disk, &[1.0, 1.0, 1.0])));
        summarize(&run(cells)).conclusions.len()
    };
    assert_eq!([told(0.96), told(0.93)], [1, 2]);
}

#[test]
fn cpus_that_others_keep_busy_are_no_reason_to_buy_any() {
    // At one depth that nothing is compared with.
    let mut record = run(vec![cell(closed("random", 1.0, 4 << 10, 2), &ExampleDisk::default(), &[1.0])]);
    let trial = &mut record.cells[0].trials[0];
    trial.surroundings.machine = Some(MachineCpu { busy: 0.99, iowait: 0.0, steal: 0.0, cpus: 16 });
    trial.surroundings.others = vec![OtherLoad { pid: 7, name: "backup".into(), read_bytes: 1, write_bytes: 0 }];
    let next = one(&record).next.unwrap();
    assert!(next.starts_with("Stop what else runs") && next.contains("backup"), "{next}");
    record.cells[0].trials[0].surroundings.machine = Some(MachineCpu { busy: 0.99, iowait: 0.0, steal: 0.3, cpus: 16 });
    let next = one(&record).next.unwrap();
    assert!(next.contains("the hypervisor took 30 %"), "{next}");
}

#[test]
fn doubts_stand_beside_the_limit_and_say_what_to_do_first() {
    let mut record = run(sweep(1.0));
    for trial in record.cells.iter_mut().flat_map(|c| &mut c.trials) {
        trial.doubts = vec![Doubt::written(DoubtCode::ShortRun, "Measured for 3 s.")];
    }
    let told = one(&record);
    assert!(told.consequence.unwrap().contains("In doubt at depth 16: short-run (too short to see past a burst"));
    assert!(told.next.unwrap().starts_with("Before relying on the rate, measure for minutes"));
    assert_eq!(told.measurements[0], NextMeasurement::Longer { duration_ns: 120_000_000_000 });
}

#[test]
fn arrivals_that_were_not_issued_are_told_from_those_that_were_not_completed() {
    let told = |missed: u64| {
        let mut cell = cell(open("random", 1.0, 4 << 10, 8_000.0), &ExampleDisk::default(), &[1.0]);
        cell.trials[0].missed = missed;
        cell.trials[0].doubts = vec![Doubt::written(DoubtCode::OfferedLoadMissed, "Few.")];
        let summary = summarize(&run(vec![cell]));
        let doubts = words::finding(&summary, summary.findings.last().unwrap());
        format!("{} {doubts}", of(&summary)[0].consequence.as_ref().unwrap())
    };
    let (issued, not_issued) =
        ("(all arrivals were issued, and not all completed in time)", "(the arrivals asked for were not all issued)");
    assert_eq!([told(0).matches(issued).count(), told(9_000).matches(not_issued).count()], [2, 2], "{}", told(0));
}

#[test]
fn open_loops_alone_are_told_up_to_where_they_are_served() {
    let disk = ExampleDisk::default();
    let loads = [2_000.0, 4_000.0, 8_000.0].map(|rate| cell(open("random", 1.0, 4 << 10, rate), &disk, &[1.0]));
    let told = one(&run(loads.into()));
    assert!(told.text.contains("are all served up to 4,000 arrivals a second; of 8,000 arrivals a second"), "{told:?}");
    let loads = [2_000.0, 4_000.0].map(|rate| cell(open("random", 1.0, 4 << 10, rate), &disk, &[1.0]));
    let told = one(&run(loads.into()));
    assert_eq!(told.limit, Some(Limit::Arrival));
    assert!(told.next.unwrap().starts_with("Offer more"));
}

#[test]
fn an_open_loop_that_a_model_knows_to_wait_is_not_served_however_little_is_missing() {
    let mut record = predicted(&[1.0]);
    let known = record.cells[0].trials[0].model.clone().map(|model| ModelRecord { bursts_ended: Vec::new(), ..model });
    record.cells =
        [4_000.0, 5_040.0].map(|rate| cell(open("random", 1.0, 4 << 10, rate), &ExampleDisk::default(), &[1.0])).into();
    for (cell, limit) in record.cells.iter_mut().zip([Limit::Arrival, Limit::DiskIops]) {
        let mut model = known.clone().unwrap();
        model.binding.as_mut().unwrap().limit = limit;
        cell.trials[0].model = Some(model);
    }
    let told = one(&record);
    let wanted = "are all served up to 4,000 arrivals a second; of 5,040 arrivals a second, 5,001 IOPS";
    assert!(told.text.contains(wanted) && told.text.ends_with("(disk-iops, predicted)."), "{told:?}");
    assert_eq!(told.limit, Some(Limit::DiskIops));
    record.cells.remove(0);
    let told = one(&record);
    assert!(told.text.starts_with("Random 4 KiB reads: of 5,040 arrivals a second, 5,001 IOPS"), "{told:?}");
    assert!(!told.next.unwrap().contains("Offer more"));
}

#[test]
fn an_open_loop_of_which_nothing_was_answered_in_time_is_overloaded() {
    let disk = ExampleDisk::default();
    let mut loads = [2_000.0, 40_000.0].map(|rate| cell(open("random", 1.0, 4 << 10, rate), &disk, &[1.0]));
    // All that was completed in the measured time had been due in the warm-up.
    for record in loads[1].trials[0].operations.values_mut() {
        record.latency = loadline_record::Histogram::new();
    }
    let record = run(loads.into());
    let told = one(&record);
    assert!(
        told.text.contains("are all served up to 2,000 arrivals a second; of 40,000 arrivals a second, 5,0"),
        "{told:?}"
    );
    let findings = summarize(&record).findings;
    let most = findings.iter().find_map(|f| match &f.seen {
        FindingSeen::MostRequests { loads } => Some(loads[0].rate),
        _ => None,
    });
    let Some(RateCourse::Even { rate: Rate::Iops(most) }) = most else { panic!("{findings:?}") };
    assert!((most / 5_000.0 - 1.0).abs() < 0.02, "{most}");
}

#[test]
fn what_is_not_known_of_a_level_is_told_where_most_is_outstanding() {
    let mut record = predicted(&[1.0, 0.6, 1.0]);
    record.cells[0].trials.iter_mut().for_each(|trial| trial.model.as_mut().unwrap().bursts_ended.clear());
    let shallow = one(&record).consequence.unwrap();
    assert!(shallow.contains("The model's uncertainty: 3,") && shallow.contains(" IOPS at depth 8."), "{shallow}");
    let mut deep = record.cells[0].clone();
    let other = predicted(&[1.0, 0.95, 1.04]).cells.remove(0);
    (deep.id, deep.trials) = ("deep".to_owned(), other.trials);
    deep.load.figures_mut().expect("figures").queue_depth = Some(64);
    deep.load = Load::stored(deep.load.figures(), serde_json::json!({}));
    deep.trials.iter_mut().for_each(|trial| trial.model.as_mut().unwrap().bursts_ended.clear());
    record.cells.push(deep);
    let both = one(&record).consequence.unwrap();
    assert!(both.contains(" IOPS at depth 64, and 3,") && both.contains(" IOPS at depth 8."), "{both}");
}

#[test]
fn a_prediction_says_so_and_a_hunt_has_its_own_words() {
    let mut record = predicted(&[1.0, 0.8, 1.1]);
    let told = one(&record);
    assert!(told.text.contains(", predicted)"), "{told:?}");
    assert!(told.consequence.unwrap().contains("The model's uncertainty: "));
    record.header.verb = RunVerb::Hunt;
    assert!(summarize(&record).conclusions.is_empty());
}
