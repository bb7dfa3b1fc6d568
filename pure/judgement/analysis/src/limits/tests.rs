//! What bound made-up cells.

mod causes;
mod cpu;
mod evidence;
mod levels;
mod sources;
mod thinking;

use crate::example::{ExampleDisk, cell, closed, golden, latencies, open, run, throttled};
use crate::summarize;
use crate::summary::{CellSummary, RunSummary};
use crate::words::{about, shows};
use loadline_block::Operation;
use loadline_record::{
    Asked, Binding, CeilingSource, CellRecord, CourseFact, Doubt, DoubtCode, Ending, Fact, Histogram, KindShown,
    LevelFact, LevelShown, Limit, Load, LoadFact, MachineFact, OwnTimeShown, RateFigure, RunRecord, Scatter, Stops,
    TargetKind, ThrottledQuantity, WaitingFact,
};
use loadline_units::Duration;

const KIB: u64 = 1 << 10;

fn sweep(reads: f64, block: u64, depths: &[u32]) -> Vec<CellRecord> {
    depths.iter().map(|d| cell(closed("random", reads, block, *d), &ExampleDisk::default(), &[1.0])).collect()
}
fn bindings(record: &RunRecord) -> Vec<Binding> {
    summarize(record).cells.into_iter().map(|c| c.binding.expect("measured")).collect()
}
fn limits(record: &RunRecord) -> Vec<Limit> {
    bindings(record).iter().map(|b| b.limit).collect()
}
/// Whether requests, or bytes, are presumed to be what is counted.
fn presumes(binding: &Binding, wanted: ThrottledQuantity) -> bool {
    shows!(binding, Fact::Level(LevelFact::Presumed { counted, .. }) if *counted == wanted)
}
/// Whether the rate levels off there.
fn levels_off_at(binding: &Binding, wanted: f64) -> bool {
    shows!(binding, Fact::Level(LevelFact::Plateau { rate_iops, .. }) if about(*rate_iops, wanted, 0.2))
}
fn doubt(record: &mut RunRecord, index: usize, code: DoubtCode) {
    record.cells[index].trials[0].doubts = vec![Doubt::written(code, "As seen.")];
}

#[test]
fn two_block_sizes_tell_requests_from_bytes() {
    use Limit::{DiskIops, DiskThroughput, Latency};
    let mut cells = sweep(1.0, 4 * KIB, &[1, 4, 8, 32]);
    cells.extend(sweep(1.0, 16 * KIB, &[8, 32]));
    cells.extend(sweep(1.0, 256 * KIB, &[8, 32]));
    cells.extend(sweep(1.0, 1024 * KIB, &[8, 32]));
    let record = run(cells);
    assert_eq!(
        limits(&record),
        [
            Latency,
            Latency,
            DiskIops,
            DiskIops,
            DiskIops,
            DiskIops,
            DiskThroughput,
            DiskThroughput,
            DiskThroughput,
            DiskThroughput
        ]
    );
    let bindings = bindings(&record);
    let at_32 = &bindings[3];
    assert!((at_32.ceiling_iops.unwrap() - 5_000.0).abs() < 10.0 && at_32.inferred);
    assert!((at_32.utilization.unwrap() - 1.0).abs() < 0.01);
    let of_16_kib = |shown: &LevelShown| {
        matches!(shown, LevelShown::Kind(KindShown::OtherSize { load, counted: ThrottledQuantity::Requests })
            if load.contains("16 KiB"))
    };
    assert!(
        shows!(at_32, Fact::Level(LevelFact::Plateau { from_depth: 8, shown, .. }) if of_16_kib(shown)),
        "{at_32:?}"
    );
}

#[test]
fn one_block_size_names_the_level_and_presumes_the_limit() {
    let bindings = bindings(&run(sweep(1.0, 8 * KIB, &[1, 8, 16, 32])));
    assert_eq!(bindings[3].limit, Limit::DiskIops);
    assert!((bindings[3].ceiling_iops.unwrap() - 5_000.0).abs() < 10.0);
    assert!(presumes(&bindings[3], ThrottledQuantity::Requests), "{:?}", bindings[3]);
    assert!(
        shows!(bindings[3], Fact::Level(LevelFact::Presumed { next_block_bytes: 32_768, .. })),
        "{:?}",
        bindings[3]
    );
    // 2,000 requests of 256 KiB a second are 524 MB/s: more than disks of 2,000 IOPS are sold with.
    let disk = ExampleDisk { iops: 2_000.0, bytes_per_s: 1e10, ..ExampleDisk::default() };
    let large = [8, 32].map(|depth| cell(closed("random", 1.0, 256 * KIB, depth), &disk, &[1.0]));
    assert_eq!(limits(&run(large.to_vec()))[1], Limit::DiskThroughput);
}

#[test]
fn growth_in_proportion_to_depth_is_latency() {
    let bindings = bindings(&run(sweep(0.0, 4 * KIB, &[2, 4])));
    for (binding, depth) in bindings.iter().zip([2, 4]) {
        assert_eq!(binding.limit, Limit::Latency);
        let found = &binding.seen.facts()[0];
        let Fact::Load(
            LoadFact::OwnTime { depth: of, latency_ns, .. } | LoadFact::GrowsWithDepth { depth: of, latency_ns, .. },
        ) = found
        else {
            panic!("{found:?}");
        };
        assert!(*of == depth && about(*latency_ns, 1e6, 0.5), "{found:?}");
    }
    let alone = self::bindings(&run(sweep(0.0, 4 * KIB, &[4])));
    assert_eq!(alone[0].limit, Limit::Latency);
    assert!(shows!(alone[0], Fact::Load(LoadFact::TwiceAsMany { depth: 4 })), "{:?}", alone[0]);
}

#[test]
fn an_open_loop_that_is_met_is_bound_by_nothing_and_an_overloaded_one_shows_the_plateau() {
    let disk = ExampleDisk::default();
    let mut cells = sweep(1.0, 4 * KIB, &[1, 32]);
    cells.extend([2_500.0, 5_500.0].map(|r| cell(open("random", 1.0, 4 * KIB, r), &disk, &[1.0])));
    let found = bindings(&run(cells));
    assert_eq!(
        found.iter().map(|b| b.limit).collect::<Vec<_>>(),
        [Limit::Latency, Limit::DiskIops, Limit::Arrival, Limit::DiskIops]
    );
    for on_plateau in [&found[1], &found[3]] {
        assert!(levels_off_at(on_plateau, 5_000.0), "{on_plateau:?}");
    }
    let alone = run(vec![cell(open("random", 1.0, 4 * KIB, 10_000.0), &disk, &[1.0])]);
    let alone = &bindings(&alone)[0];
    assert!(shows!(alone, Fact::Waiting(WaitingFact::CompletedOnly { share }) if about(*share, 0.5, 0.5)), "{alone:?}");
}

#[test]
fn a_rate_ceiling_that_is_met_is_the_loads_own() {
    let mut record = run(sweep(1.0, 4 * KIB, &[1]));
    record.cells[0].load.figures_mut().expect("figures").rate_iops = Some(1_000.0);
    assert_eq!(limits(&record), [Limit::Arrival]);
    record.cells[0].load.figures_mut().expect("figures").rate_iops = Some(957.0);
    assert_eq!(limits(&record), [Limit::Arrival]);
    record.cells[0].load.figures_mut().expect("figures").rate_iops = Some(2_000.0);
    assert_eq!(limits(&record), [Limit::Unexplained]);
}

#[test]
fn the_tool_and_the_cache_come_before_the_disk() {
    let mut record = run([sweep(1.0, 4 * KIB, &[8, 32]), sweep(1.0, 8 * KIB, &[8, 32])].concat());
    assert_eq!(limits(&record), [Limit::DiskIops; 4]);
    doubt(&mut record, 0, DoubtCode::CachedReads);
    doubt(&mut record, 1, DoubtCode::GeneratorBound);
    assert_eq!(limits(&record)[..2], [Limit::Cache, Limit::Generator]);
    // Without them nothing shows that the other block size has the same level.
    assert!(bindings(&record)[2..].iter().all(|b| presumes(b, ThrottledQuantity::Requests)));
    record.header.volumes[0].kind = TargetKind::Null;
    assert_eq!(limits(&record), [Limit::Generator; 4]);
}

#[test]
fn a_measurement_that_failures_ended_names_no_limit() {
    let mut record = run([sweep(1.0, 4 * KIB, &[8, 32]), sweep(1.0, 8 * KIB, &[8, 32])].concat());
    record.cells[1].trials[0].ending = Ending::Hung("read at 0 was not answered for 60 s".into());
    doubt(&mut record, 1, DoubtCode::EndedEarly);
    let bindings = bindings(&record);
    assert_eq!(bindings[1].limit, Limit::Unexplained);
    let failed = |detail: &String| detail.starts_with("read at 0 was not answered");
    assert!(shows!(bindings[1], Fact::Load(LoadFact::Failed { detail }) if failed(detail)), "{:?}", bindings[1]);
    // One that the user ended shows what it shows.
    record.cells[1].trials[0].ending = Ending::Interrupted;
    assert!(self::bindings(&record)[1].limit != Limit::Unexplained);
}

#[test]
fn a_tool_that_did_not_run_binds_the_cell_itself() {
    let mut record = run([sweep(1.0, 4 * KIB, &[8, 32]), sweep(1.0, 8 * KIB, &[8, 32])].concat());
    let stop = |record: &mut RunRecord, ms: u64| {
        let trial = &mut record.cells[1].trials[0];
        trial.surroundings.stops =
            Some(Stops { count: 1 + ms / 80, total_ns: ms * 1_000_000, longest_ns: 80_000_000, throttled_ns: None });
    };
    doubt(&mut record, 1, DoubtCode::ToolStopped);
    stop(&mut record, 30_000);
    assert_eq!(limits(&record)[1], Limit::Generator);
    stop(&mut record, 900);
    assert_eq!(limits(&record)[1], Limit::DiskIops);
}

#[test]
fn a_machine_without_cpu_to_spare_is_named() {
    let mut record = run(sweep(1.0, 4 * KIB, &[4]));
    let surroundings = &mut record.cells[0].trials[0].surroundings;
    surroundings.machine.as_mut().unwrap().busy = 0.98;
    let bindings = bindings(&record);
    assert_eq!(bindings[0].limit, Limit::Cpu);
    // 4.5 s of 60 s x 4 CPUs x 98 %.
    let Fact::Machine(MachineFact::CpuBusy { busy_share, tool_share: Some(tool) }) = bindings[0].seen.facts()[0] else {
        panic!("{:?}", bindings[0]);
    };
    assert!(about(busy_share, 0.98, 0.1) && about(tool, 0.019, 3.0), "{:?}", bindings[0]);
}

#[test]
fn what_the_machine_could_not_drive_is_no_limit_of_the_disk() {
    let mut record = run(sweep(1.0, 4 * KIB, &[1, 8, 32]));
    let of_the_disk = |record: &RunRecord| {
        let figures = super::limits(record).into_iter();
        figures.filter(|f| matches!(f.limit, Limit::DiskIops | Limit::DiskThroughput)).count()
    };
    assert_eq!(of_the_disk(&record), 1);
    for cell in &mut record.cells[1..] {
        cell.trials[0].doubts = vec![Doubt::written(DoubtCode::GeneratorBound, "As seen.")];
    }
    assert_eq!(of_the_disk(&record), 0);
    assert!(super::limits(&record).iter().any(|f| f.limit == Limit::Latency));
}

#[test]
fn time_that_the_hypervisor_took_is_part_of_the_evidence() {
    let mut record = run(sweep(1.0, 4 * KIB, &[4]));
    let machine = record.cells[0].trials[0].surroundings.machine.as_mut().unwrap();
    (machine.busy, machine.steal) = (0.98, 0.3);
    let bindings = bindings(&record);
    assert_eq!(bindings[0].limit, Limit::Cpu);
    let took = |share: f64| about(share, 0.3, 0.1);
    assert!(shows!(bindings[0], Fact::Machine(MachineFact::CpuTaken { share }) if took(*share)), "{:?}", bindings[0]);
}

#[test]
fn reads_that_get_faster_by_trial_are_a_cache_filling() {
    let of = |factors: &[f64], reads: f64| {
        let disk = ExampleDisk { iops: 1e9, bytes_per_s: 1e12, ..ExampleDisk::default() };
        bindings(&run(vec![cell(closed("random", reads, 4 * KIB, 8), &disk, factors)])).remove(0)
    };
    let filling = of(&[0.2, 0.4, 0.6, 0.8, 0.9, 1.0], 1.0);
    assert_eq!(filling.limit, Limit::Cache, "{filling:?}");
    assert!(shows!(filling, Fact::Course(CourseFact::GotFaster { trials: 6, .. })), "{filling:?}");
    assert_ne!(of(&[1.0, 0.99, 1.01, 1.0, 0.99, 1.0], 1.0).limit, Limit::Cache, "noise");
    assert_ne!(of(&[1.0, 0.9, 0.8, 0.6, 0.4, 0.2], 1.0).limit, Limit::Cache, "slower");
    assert_ne!(of(&[0.2, 0.4, 0.6, 0.8, 0.9, 1.0], 0.0).limit, Limit::Cache, "writes");
}

#[test]
fn a_fall_after_which_a_later_load_was_as_fast_as_before_is_no_burst_spent() {
    let falls = |later: u64| {
        let disk = ExampleDisk { iops: 1_000.0, ..ExampleDisk::default() };
        let mut record = run([16, 32].map(|depth| cell(closed("random", 1.0, 4 * KIB, depth), &disk, &[1.0])).to_vec());
        let trial = &mut record.cells[0].trials[0];
        let half = trial.series.seconds.len() / 2;
        trial.series.seconds.iter_mut().skip(half).for_each(|second| second.operations[0].count /= 2);
        record.cells[1].trials[0].started_unix_s = trial.started_unix_s + later;
        limits(&record)[0]
    };
    assert_eq!(falls(0), Limit::BurstExhausted);
    assert_ne!(falls(60), Limit::BurstExhausted);
}

#[test]
fn a_cpu_without_time_to_spare_does_not_hide_a_level_reached_with_it() {
    let mut record = run([sweep(1.0, 4 * KIB, &[8, 32]), sweep(1.0, 8 * KIB, &[8, 32])].concat());
    let busy = |record: &mut RunRecord, index: usize| {
        record.cells[index].trials[0].surroundings.machine.as_mut().unwrap().busy = 0.98;
    };
    busy(&mut record, 0);
    assert_eq!(limits(&record)[..2], [Limit::DiskIops; 2]);
    busy(&mut record, 1);
    assert_eq!(limits(&record)[..2], [Limit::Cpu; 2]);
    let mut bursts = run([8, 32].map(|depth| throttled(closed("random", 1.0, 4 * KIB, depth), 5_000.0)).to_vec());
    (0..2).for_each(|i| busy(&mut bursts, i));
    assert!(bindings(&bursts).iter().all(|b| b.limit != Limit::Cpu), "want of CPU makes no bursts");
}

/// What others take of the CPUs leaves no rates that are equal at every depth.
#[test]
fn equal_rates_at_several_depths_are_a_limit_on_a_machine_that_others_keep_busy() {
    let of = |depths: &[u32], own_share: f64, factors: [f64; 4]| {
        let disk = ExampleDisk::default();
        let own: Vec<CellRecord> = depths
            .iter()
            .zip(factors)
            .map(|(depth, factor)| cell(closed("random", 1.0, 4 * KIB, *depth), &disk, &[factor]))
            .collect();
        let mut record = run([own, sweep(1.0, 8 * KIB, &[8, 32])].concat());
        for cell in &mut record.cells {
            let surroundings = &mut cell.trials[0].surroundings;
            surroundings.machine.as_mut().unwrap().busy = 0.98;
            surroundings.tool_user_ns = (own_share * 0.98 * 4.0 * surroundings.elapsed_ns as f64) as u64;
            surroundings.tool_system_ns = 0;
        }
        bindings(&record).into_iter().take(depths.len()).collect::<Vec<Binding>>()
    };
    let all = |bindings: &[Binding], limit: Limit| bindings.iter().all(|binding| binding.limit == limit);
    let even = [1.0, 0.998, 1.004, 1.001];
    let held = of(&[8, 16, 32, 128], 0.1, even);
    assert!(all(&held, Limit::DiskIops), "{held:?}");
    let by_tool = |share: f64| about(share, 0.1, 1.0);
    assert!(
        shows!(held[1], Fact::Machine(MachineFact::CpuBusyMeanwhile { tool_share, depths: 4, .. }) if by_tool(*tool_share)),
        "{held:?}"
    );
    // The tool itself takes the CPUs; rates that are not equal; or at two depths alone.
    assert!(all(&of(&[8, 16, 32, 128], 0.7, even), Limit::Cpu));
    assert!(all(&of(&[8, 16, 32, 128], 0.1, [1.0, 0.96, 0.99, 0.965]), Limit::Cpu));
    assert!(all(&of(&[8, 32], 0.1, even), Limit::Cpu));
}

/// What other programs take from an overloaded open loop is no limit of a disk that did more in a closed one; at as many, it is what
/// bound that one.
#[test]
fn less_than_the_same_requests_had_before_is_the_busy_cpus() {
    let of = |iops: f64, busy: &[usize]| {
        let mut record = run([sweep(1.0, 4 * KIB, &[1, 32]), vec![delivering(6_000.0, iops)]].concat());
        for index in busy {
            record.cells[*index].trials[0].surroundings.machine.as_mut().unwrap().busy = 0.98;
        }
        limits(&record)[1..].to_vec()
    };
    assert_eq!(of(3_500.0, &[0, 1, 2]), [Limit::Cpu; 2]);
    assert_eq!(of(4_900.0, &[0, 1, 2]), [Limit::Cpu; 2]);
    assert_eq!(of(4_900.0, &[2]), [Limit::DiskIops; 2]);
}

#[test]
fn requests_held_above_the_device_are_told_and_the_limit_is_named_all_the_same() {
    let mut record = run([sweep(0.0, 4 * KIB, &[8, 32]), sweep(0.0, 8 * KIB, &[8, 32])].concat());
    for cell in &mut record.cells {
        cell.trials[0].surroundings.devices[0].queue_ms = 6_000;
    }
    let bindings = bindings(&record);
    assert!(bindings.iter().all(|b| b.limit == Limit::DiskIops));
    let kept = |at_devices: f64| about(at_devices, 0.1, 0.5);
    assert!(
        shows!(bindings[1], Fact::Waiting(WaitingFact::KeptAbove { at_devices, devices, .. })
            if kept(*at_devices) && *devices == ["vda"]),
        "{:?}",
        bindings[1]
    );
}

#[test]
fn a_level_in_the_page_cache_is_not_the_disks() {
    let mut buffered = run([sweep(0.0, 4 * KIB, &[8, 32]), sweep(0.0, 8 * KIB, &[8, 32])].concat());
    (0..4).for_each(|i| doubt(&mut buffered, i, DoubtCode::Buffered));
    assert_eq!(limits(&buffered), [Limit::Unexplained; 4]);
}

/// An open loop of 2.5 s that delivered `iops` of what it offered within its time.
fn delivering(offered: f64, iops: f64) -> CellRecord {
    let mut cell = cell(open("random", 1.0, 4 * KIB, offered), &ExampleDisk::default(), &[1.0]);
    let trial = &mut cell.trials[0];
    trial.measured_ns = 2_500_000_000;
    trial.missed = ((offered - iops) * 2.5) as u64;
    let reads = trial.operations.get_mut(&Operation::Read).unwrap();
    (reads.count, reads.bytes) = ((iops * 2.5) as u64, (iops * 2.5) as u64 * 4 * KIB);
    cell
}

#[test]
fn a_plateau_from_depth_1_on_stands_beside_open_loops_and_is_not_latency() {
    let both = || [1, 32].map(|depth| throttled(closed("random", 1.0, 4 * KIB, depth), 5_000.0));
    let of = |open: &[(f64, f64)]| {
        let open = open.iter().map(|(offered, iops)| delivering(*offered, *iops));
        bindings(&run(both().into_iter().chain(open).collect()))
    };
    let bindings = of(&[(500.0, 500.0), (5_075.0, 5_027.0), (5_500.0, 4_084.0)]);
    assert_eq!(bindings[2].limit, Limit::Arrival);
    for i in [0, 1, 4] {
        assert!((bindings[i].ceiling_iops.unwrap() - 5_000.0).abs() < 10.0, "{:?}", bindings[i]);
        assert!(levels_off_at(&bindings[i], 5_000.0), "{:?}", bindings[i]);
        assert!(shows!(bindings[i], Fact::Level(LevelFact::Plateau { from_depth: 1, .. })), "{:?}", bindings[i]);
        assert!(presumes(&bindings[i], ThrottledQuantity::Requests), "one block size: {:?}", bindings[i]);
    }
    let in_bursts = |median: f64, slow: f64| about(median, 20.1e3, 0.5) && about(slow, 98e6, 1.0);
    assert!(
        shows!(bindings[0], Fact::Waiting(WaitingFact::InBursts { median_ns, slow_ns, .. })
            if in_bursts(*median_ns, *slow_ns)),
        "{:?}",
        bindings[0]
    );
    let offered = |of: &Asked| about(of.asked_iops, 5_500.0, 0.01) && about(of.completed_iops, 4_084.0, 0.02);
    assert!(
        shows!(bindings[4], Fact::Level(LevelFact::Plateau { offered: Some(of), .. }) if offered(of)),
        "{:?}",
        bindings[4]
    );
    // Much more than the level was delivered: it is no level.
    let exceeded = of(&[(6_000.0, 6_000.0)]);
    assert!(exceeded.iter().all(|b| !shows!(b, Fact::Level(LevelFact::Plateau { .. }))));
    // Half of what closed loops get is more than a throttle's delay.
    let collapsed = of(&[(5_500.0, 2_000.0)]);
    assert_eq!(collapsed[0].ceiling_iops, of(&[])[0].ceiling_iops);
    assert_eq!(collapsed[2].ceiling_iops, None);
}

#[test]
fn small_requests_have_the_ceiling_on_bytes_beside_theirs_which_larger_ones_show() {
    // No other size tells what 64 KiB level off at: it is the pair of limits of all sizes together that does.
    let mut cells = sweep(1.0, 4 * KIB, &[8, 32]);
    cells.extend(sweep(1.0, 64 * KIB, &[8, 32]));
    let summary = summarize(&run(cells));
    for cell in &summary.cells[..2] {
        let bytes = cell.ceilings.iter().find(|c| c.limit == Limit::DiskThroughput).expect("200 MB/s");
        assert!((bytes.iops / (200e6 / 4096.0) - 1.0).abs() < 0.01, "{bytes:?}");
        let CeilingSource::LevelOf { load, level: RateFigure::BytesPerS(level) } = &bytes.source else {
            panic!("{bytes:?}");
        };
        assert!(load.starts_with("random read 64 KiB, depth") && about(*level, 200e6, 0.5), "{bytes:?}");
        assert_eq!(cell.ceilings[0].limit, Limit::DiskIops);
    }
    // How large requests may be that the limit on requests lets through is not known beyond what was seen.
    let of_large = &summary.cells[3].ceilings;
    assert!(of_large.iter().all(|ceiling| ceiling.limit == Limit::DiskThroughput), "{of_large:?}");
    assert!(
        matches!(&of_large[0].source, CeilingSource::LevelOf { load, .. } if load.contains("64 KiB")),
        "{of_large:?}"
    );
}

#[test]
fn the_length_of_a_window_has_an_interval_as_every_inferred_figure() {
    let record = run([1, 32].map(|depth| throttled(closed("random", 1.0, 4 * KIB, depth), 5_000.0)).to_vec());
    let figures = super::limits(&record);
    let window = figures.iter().find(|f| f.quantity == super::Quantity::WindowNs).expect("two clusters show one");
    let (low, high) = (window.low.unwrap(), window.high.unwrap());
    assert!(low <= window.value && window.value <= high && high < low * 1.5, "{window:?}");
    assert!(figures.iter().filter(|f| f.inferred).all(|f| f.low.is_some() && f.high.is_some()), "{figures:?}");
}

/// Every inferred figure of `cells`, each with both ends of its interval.
fn with_intervals(cells: Vec<CellRecord>) -> Vec<super::LimitFigure> {
    let figures: Vec<_> = super::limits(&run(cells)).into_iter().filter(|f| f.inferred).collect();
    for figure in &figures {
        let (Some(low), Some(high)) = (figure.low, figure.high) else { panic!("{figure:?}") };
        assert!(low <= figure.value && figure.value <= high && low < high, "{figure:?}");
    }
    figures
}

#[test]
fn intervals_are_told_of_mixes_too() {
    let figures = with_intervals(sweep(0.7, 4 * KIB, &[1, 8, 32, 64]));
    assert!(figures.iter().any(|f| f.quantity == super::Quantity::LatencyNs), "{figures:?}");
    assert!(figures.iter().any(|f| f.quantity == super::Quantity::RequestsPerS), "{figures:?}");
}

#[test]
fn intervals_are_told_of_one_short_trial_too_and_are_wider_there() {
    let of = |seconds: usize| {
        let mut cells = sweep(1.0, 4 * KIB, &[1, 8, 32, 64]);
        for cell in &mut cells {
            cell.trials.truncate(1);
            cell.trials[0].series.seconds.truncate(seconds);
        }
        with_intervals(cells).into_iter().find(|f| f.quantity == super::Quantity::RequestsPerS).unwrap()
    };
    let (few, many) = (of(3), of(30));
    assert!(few.high.unwrap() - few.low.unwrap() > many.high.unwrap() - many.low.unwrap(), "{few:?} {many:?}");
}

#[test]
fn where_no_load_tells_how_its_rate_went_those_of_one_level_do() {
    let mut cells = sweep(1.0, 4 * KIB, &[1, 16, 32, 64]);
    for (number, cell) in cells.iter_mut().enumerate() {
        cell.trials.truncate(1);
        cell.trials[0].series.seconds.clear();
        let reads = cell.trials[0].operations.get_mut(&Operation::Read).unwrap();
        reads.count += reads.count * number as u64 / 1_000;
        reads.bytes = reads.count * 4 * KIB;
    }
    let figures = super::limits(&run(cells));
    let level = figures.iter().find(|f| f.quantity == super::Quantity::RequestsPerS).unwrap();
    assert!(level.low.unwrap() < level.value && level.value < level.high.unwrap(), "{level:?}");
}

#[test]
fn a_single_load_whose_scatter_another_tool_told_has_an_interval() {
    let interval = |samples: u64| {
        let mut cells = sweep(1.0, 4 * KIB, &[1, 32, 64]);
        for cell in &mut cells {
            cell.trials.truncate(1);
            cell.trials[0].series.seconds.clear();
            cell.trials[0].told_scatter = Some(Scatter { samples, deviation_iops: 50.0 });
        }
        let figures = with_intervals(cells);
        let level = figures.into_iter().find(|f| f.quantity == super::Quantity::RequestsPerS).unwrap();
        (level.high.unwrap() - level.low.unwrap()) / 2.0
    };
    // Student's t of 24 and of 3 degrees of freedom: 2.064 and 3.182.
    assert!((interval(25) - 2.064 * 10.0).abs() < 0.01, "{}", interval(25));
    assert!((interval(4) - 3.182 * 25.0).abs() < 0.05, "{}", interval(4));
}

#[test]
fn an_overloaded_open_loop_shows_the_level_of_a_single_depth() {
    let mut cells = sweep(1.0, 4 * KIB, &[1, 32]);
    cells.push(delivering(5_500.0, 4_084.0));
    let bindings = bindings(&run(cells));
    assert_eq!(bindings[0].limit, Limit::Latency);
    assert!((bindings[1].ceiling_iops.unwrap() - 5_000.0).abs() < 10.0, "the level is that of the closed loop");
}

#[test]
fn what_an_open_loop_had_more_of_is_no_limit() {
    let of = |delivered: f64| {
        let mut cells = sweep(1.0, 4 * KIB, &[1, 32, 64]);
        cells.push(delivering(delivered, delivered));
        bindings(&run(cells)).swap_remove(1)
    };
    assert_eq!(of(4_900.0).limit, Limit::DiskIops);
    let passed = of(6_000.0);
    assert_eq!(passed.limit, Limit::Latency, "{passed:?}");
    assert!(shows!(passed, Fact::Load(LoadFact::OwnTime { shown: OwnTimeShown::TakeLonger, .. })), "{passed:?}");
    let more = |amount: &str, rate: f64| amount == "6,000 arrivals a second" && about(rate, 6_000.0, 0.01);
    assert!(
        shows!(passed, Fact::Waiting(WaitingFact::HadMore { amount, rate_iops }) if more(amount, *rate_iops)),
        "{passed:?}"
    );
    // Nor is what the open loop had of its own will, however long its requests took.
    let mut cells = sweep(1.0, 4 * KIB, &[1, 32, 64]);
    cells.push(delivering(6_000.0, 6_000.0));
    let reads = cells[3].trials[0].operations.get_mut(&Operation::Read).unwrap();
    for latency in [&mut reads.latency, reads.service.as_mut().unwrap()] {
        *latency = latencies(reads.count, 8e6);
    }
    let passed = bindings(&run(cells)).swap_remove(1);
    assert_eq!(passed.limit, Limit::Latency, "{passed:?}");
}

#[test]
fn what_a_bucket_saved_up_refutes_no_limit_that_is_counted_out() {
    let even = |depth: u32| {
        let mut cell = cell(closed("random", 1.0, 4 * KIB, depth), &ExampleDisk::default(), &[1.0]);
        let reads = cell.trials[0].operations.get_mut(&Operation::Read).unwrap();
        let (turn, count) = (Duration::from_ns(u64::from(depth) * 200_000), reads.count);
        reads.latency = Histogram::new();
        (0..count).for_each(|_| reads.latency.record(turn));
        cell
    };
    let of = |counted: CellRecord, delivered: f64, measured_s: f64| {
        let alone = cell(closed("random", 1.0, 4 * KIB, 1), &ExampleDisk::default(), &[1.0]);
        let mut open = delivering(delivered, delivered);
        open.trials[0].measured_ns = (measured_s * 1e9) as u64;
        let reads = open.trials[0].operations.get_mut(&Operation::Read).unwrap();
        (reads.count, reads.bytes) = ((delivered * measured_s) as u64, (delivered * measured_s) as u64 * 4 * KIB);
        bindings(&run(vec![alone, counted, open])).swap_remove(1)
    };
    let in_turns = || throttled(closed("random", 1.0, 4 * KIB, 32), 5_000.0);
    for counted in [in_turns(), even(32)] {
        let kept = of(counted, 6_000.0, 4.0);
        assert_eq!(kept.limit, Limit::DiskIops, "{kept:?}");
        assert!(shows!(kept, Fact::Waiting(WaitingFact::MoreForAWhile { longest_ns: 4_000_000_000, .. })), "{kept:?}");
    }
    // For as long as this no bucket of a second lasts.
    let lasting = of(even(32), 6_000.0, 6.0);
    assert_eq!(lasting.limit, Limit::Latency, "{lasting:?}");
}

#[test]
fn one_request_at_a_time_in_bursts_is_not_latency() {
    let alone = bindings(&run(vec![throttled(closed("random", 1.0, 4 * KIB, 1), 5_000.0)]));
    assert_eq!(alone[0].limit, Limit::DiskIops);
    assert!(shows!(alone[0], Fact::Waiting(WaitingFact::InBursts { .. })), "{:?}", alone[0]);
    let summary = summarize(&run([1, 32].map(|d| throttled(closed("random", 1.0, 4 * KIB, d), 5_000.0)).to_vec()));
    let latency = |c: &CellSummary| c.ceilings.iter().any(|ceiling| ceiling.limit == Limit::Latency);
    assert!(!summary.cells.iter().any(latency), "the wait for a throttle's turn is no latency to divide by");
}

/// The rows of `quick` under a throttle on requests: large ones run into it at a depth of their own.
#[test]
fn large_sequential_requests_at_the_level_of_small_ones_show_a_limit_on_requests() {
    use Limit::{DiskIops, Latency};
    let fast = ExampleDisk { latency_ns: 600e3, iops: 4_975.0, bytes_per_s: 1e11 };
    let mut cells = vec![];
    for reads in [1.0, 0.0] {
        cells.extend([1, 32].map(|depth| throttled(closed("random", reads, 4 * KIB, depth), 5_000.0)));
    }
    cells.extend([1, 8].map(|depth| cell(closed("sequential", 1.0, 1024 * KIB, depth), &fast, &[1.0])));
    let summary = summarize(&run(cells));
    let bindings: Vec<&Binding> = summary.cells.iter().map(|c| c.binding.as_ref().unwrap()).collect();
    let limits: Vec<Limit> = bindings.iter().map(|b| b.limit).collect();
    assert_eq!(limits, [DiskIops, DiskIops, DiskIops, DiskIops, Latency, DiskIops]);
    let large =
        KindShown::OtherSize { load: "sequential 1 MiB requests".to_owned(), counted: ThrottledQuantity::Requests };
    let kind = |binding: &Binding| match &binding.seen.facts()[0] {
        Fact::Level(LevelFact::Plateau { shown: LevelShown::Kind(kind), .. }) => kind.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(kind(bindings[0]), large);
    let too = KindShown::AnotherLoad { load: "random 4 KiB reads".to_owned(), shown: Box::new(large) };
    assert_eq!(kind(bindings[2]), too);
    assert!(
        shows!(bindings[5], Fact::Level(LevelFact::RequestsOfLevel { load, .. }) if load == "random 4 KiB requests"),
        "{:?}",
        bindings[5]
    );
    assert!(summary.cells[5].ceilings.iter().any(|c| c.limit == DiskIops && c.iops > 4_900.0));
}

/// A disk of a provider: 1 ms, 5,000 IOPS, 200 MB/s, reads and writes alike.
#[test]
fn reads_and_writes_that_stop_alike_are_counted_and_larger_requests_rule_bytes_out() {
    use Limit::{DiskIops, Latency};
    let disk = ExampleDisk::default();
    let small = || {
        let mut cells = sweep(1.0, 4 * KIB, &[1, 32]);
        cells.extend(sweep(0.0, 4 * KIB, &[1, 32]));
        cells.push(delivering(5_500.0, 4_900.0));
        cells
    };
    assert!(presumes(&bindings(&run(small()))[1], ThrottledQuantity::Requests));
    let mut with_large = small();
    with_large.push(cell(closed("sequential", 1.0, 1024 * KIB, 8), &disk, &[1.0]));
    let record = run(with_large);
    assert_eq!(limits(&record)[..5], [Latency, DiskIops, Latency, DiskIops, DiskIops]);
    let agrees = |load: &str, bytes: f64| load == "random 4 KiB writes" && about(bytes, 200e6, 0.5);
    let by_agreement = |shown: &LevelShown| {
        matches!(shown, LevelShown::Kind(KindShown::Agreement { load, larger_bytes_per_s, .. })
            if agrees(load, *larger_bytes_per_s))
    };
    let found = &bindings(&record)[1];
    assert!(shows!(found, Fact::Level(LevelFact::Plateau { shown, .. }) if by_agreement(shown)), "{found:?}");
    // Writes that stop elsewhere leave open whether anything is counted.
    let mut apart = record.clone();
    let slower = ExampleDisk { iops: 4_000.0, ..disk };
    apart.cells[3] = cell(closed("random", 0.0, 4 * KIB, 32), &slower, &[1.0]);
    let found = &bindings(&apart)[1];
    assert!(presumes(found, ThrottledQuantity::Requests), "{found:?}");
}

#[test]
fn between_latency_and_level_requests_that_hardly_wait_are_bound_by_latency() {
    let disk = |iops| ExampleDisk { iops, ..ExampleDisk::default() };
    let at = |depth, iops| cell(closed("random", 1.0, 4 * KIB, depth), &disk(iops), &[1.0]);
    let bindings = bindings(&run(vec![at(1, 900.0), at(4, 1_000.0), at(16, 1_000.0)]));
    assert_eq!(bindings[0].limit, Limit::Latency);
    let alone = |latency_ns: f64, rate: f64| about(latency_ns, 1.11e6, 0.5) && about(rate, 900.0, 0.5);
    assert!(
        shows!(bindings[0], Fact::Load(LoadFact::OwnTime { depth: 1, latency_ns, rate_iops, .. })
            if alone(*latency_ns, *rate_iops)),
        "{:?}",
        bindings[0]
    );
}

#[test]
fn crystaldiskmark_rows_show_a_limit_on_bytes() {
    // 128 KiB x 32 moves what 1 MiB x 1 and x 8 level off at.
    let disk = ExampleDisk { latency_ns: 4e6, ..ExampleDisk::default() };
    let row = |block, depth| cell(closed("sequential", 1.0, block, depth), &disk, &[1.0]);
    let record = run(vec![row(1024 * KIB, 1), row(1024 * KIB, 8), row(128 * KIB, 32)]);
    assert_eq!(limits(&record), [Limit::DiskThroughput; 3]);
    let other = ExampleDisk { bytes_per_s: 150e6, ..disk };
    let mut apart = record.clone();
    apart.cells[2] = cell(closed("sequential", 1.0, 128 * KIB, 32), &other, &[1.0]);
    assert_ne!(limits(&apart)[2], Limit::DiskThroughput, "no byte rate that two sizes share");
}

#[test]
fn cells_that_differ_in_more_than_depth_are_no_curve() {
    let mut record = run(sweep(1.0, 4 * KIB, &[16, 32]));
    let spec =
        |theta: u32| serde_json::json!({"pattern": {"random": {"zipf": theta}}, "arrival": theta, "trials": theta});
    for (cell, theta) in record.cells.iter_mut().zip([500, 500]) {
        cell.load = Load::stored(cell.load.figures(), spec(theta));
    }
    assert!(shows!(bindings(&record)[1], Fact::Level(LevelFact::Plateau { .. })));
    record.cells[1].load = Load::stored(record.cells[1].load.figures(), spec(1_200));
    let alone = &bindings(&record)[1];
    assert!(!shows!(alone, Fact::Level(LevelFact::Plateau { .. })), "{alone:?}");
}

#[test]
fn every_ceiling_is_put_beside_the_cell_lowest_first() {
    let summary: RunSummary = summarize(&golden());
    let of = |label: &str| summary.cells.iter().find(|c| c.label == label).unwrap();
    let shallow = &of("random read 4 KiB, depth 2").ceilings;
    let limits: Vec<Limit> = shallow.iter().map(|c| c.limit).collect();
    assert_eq!(limits, [Limit::Latency, Limit::DiskIops, Limit::DiskThroughput]);
    assert!((shallow[0].iops - 2_000.0).abs() < 10.0 && (shallow[1].iops - 5_000.0).abs() < 10.0);
    assert!((shallow[2].iops / (200e6 / 4096.0) - 1.0).abs() < 0.01, "{:?}", shallow[2]);
    // Measured at 16 KiB at most: nothing is said of 1 MiB.
    assert!(of("random read 1024 KiB, depth 8").ceilings.iter().all(|c| c.limit != Limit::DiskIops));
    for cell in &summary.cells {
        assert!(cell.ceilings.is_sorted_by(|a, b| a.iops <= b.iops));
    }
}
