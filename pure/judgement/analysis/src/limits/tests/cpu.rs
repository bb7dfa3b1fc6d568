//! Levels that want of CPU makes: what lies on them without showing anything of its own.

use super::{KIB, bindings, delivering};
use crate::example::{ExampleDisk, cell, closed, run};
use crate::summarize;
use loadline_record::{Binding, CellRecord, Limit, RunRecord};

/// The machine has nothing to spare in these cells, mostly for the tool itself.
fn busy(mut record: RunRecord, cells: &[usize]) -> RunRecord {
    for index in cells {
        let surroundings = &mut record.cells[*index].trials[0].surroundings;
        let machine = surroundings.machine.as_mut().unwrap();
        machine.busy = 0.98;
        surroundings.tool_system_ns = (0.7 * f64::from(machine.cpus) * surroundings.elapsed_ns as f64) as u64;
    }
    record
}

/// From a single request on it is 5,000 a second, as of larger ones.
fn level_from_one_on() -> Vec<CellRecord> {
    let quick = ExampleDisk { latency_ns: 1e5, ..ExampleDisk::default() };
    let of = |block: u64| [1, 2, 8].map(|depth| cell(closed("random", 1.0, block, depth), &quick, &[1.0]));
    [of(4 * KIB), of(8 * KIB)].concat()
}

#[test]
fn a_single_request_on_a_level_of_busy_cpus_is_bound_as_the_others_are() {
    let all = summarize(&busy(run(level_from_one_on()), &[0, 1, 2]));
    let bound = |index: usize| all.cells[index].binding.as_ref().map(|binding| binding.limit);
    assert_eq!([0, 1, 2].map(bound), [Some(Limit::Cpu); 3]);
    assert_eq!([3, 4, 5].map(bound), [Some(Limit::DiskIops); 3]);
    let findings = summarize(&busy(run(level_from_one_on()[..3].to_vec()), &[0, 1, 2])).findings;
    let level = findings.iter().find(|finding| finding.code == crate::FindingCode::Plateau).expect("it levels off");
    let crate::FindingSeen::LevelsOff(seen) = &level.seen else { panic!("{level:?}") };
    assert_eq!(seen.limit, Some(crate::PlateauLimit::Whole(Limit::Cpu)));
    // One of them had CPU to spare, and was no quicker.
    let spared = bindings(&busy(run(level_from_one_on()), &[0, 1]));
    assert!(spared[..3].iter().all(|binding| binding.limit == Limit::DiskIops), "{spared:?}");
}

/// An offer that was not met shows that something holds the rate, not what.
#[test]
fn an_offer_missed_at_a_level_of_busy_cpus_is_missed_for_want_of_cpu() {
    let of = |cells: &[usize]| -> Binding {
        let record = run([level_from_one_on(), vec![delivering(6_000.0, 4_950.0)]].concat());
        bindings(&busy(record, cells)).remove(6)
    };
    let wanting = of(&[0, 1, 2, 6]);
    assert_eq!(wanting.limit, Limit::Cpu, "{wanting:?}");
    // The level was reached with CPU to spare.
    let held = of(&[0, 1, 6]);
    assert_eq!(held.limit, Limit::DiskIops, "{held:?}");
}
