//! Page caches that are too small for what is read.

use super::*;
use loadline_record::MemoryLimit;

/// Ten seconds of reads that keep the device busy: so much of each MB that the program reads was in memory before.
fn reading(reread_share: f64, limit: Option<MemoryLimit>, did: Did) -> WatchRecord {
    let read_bytes = (did.reads * did.block) as u64;
    let second = ProgramSecond {
        read_bytes,
        asked_read_bytes: read_bytes,
        reread_bytes: (read_bytes as f64 * reread_share) as u64,
        memory_stalled_us: 300_000,
        ..ProgramSecond::default()
    };
    let mut seen = watch(&[did; 10]);
    seen.programs = vec![WatchedProgram { memory: limit, ..program("db", 7, 10, second) }];
    seen
}

fn limit() -> MemoryLimit {
    let file = "/sys/fs/cgroup/memory/db/memory.limit_in_bytes".to_owned();
    MemoryLimit { bytes: 64 << 20, group: "/db".into(), file, lifted_by: "-1".into() }
}

#[test]
fn reads_of_what_was_in_memory_before_are_put_down_to_the_memory_limit_before_any_presumed_one() {
    for did in [reads(700.0, 1.0, 0.97), reads(4_000.0, 12.0, 1.0)] {
        let found = summary(reading(0.8, Some(limit()), did), Vec::new());
        bound(&found, Limit::Memory, 0.9..=1.0);
        let volume = &found.verdict.as_ref().unwrap().volumes[0];
        let (WatchHeld::Storage { memory: Some(held), .. }, _) = held(volume) else { panic!("{volume:?}") };
        assert_eq!(held.as_ref(), &limit());
        assert_eq!(volume.certainty, Certainty::Likely, "how much it would take is not known");
        assert_eq!(volume.next, Some(Advised::Watch { step: WatchNext::LiftSetting, record: false }));
        let command = "echo -1 | sudo tee /sys/fs/cgroup/memory/db/memory.limit_in_bytes";
        assert_eq!(volume.command.as_deref(), Some(command));
        let fact = found.cells[0].binding.as_ref().unwrap().seen.facts().first().cloned();
        let Some(Fact::Watch(WatchFact::MemoryShort { reread_share, stalled_share, .. })) = fact else {
            panic!("{fact:?}")
        };
        assert!((reread_share - 0.8).abs() < 0.01 && stalled_share.is_some_and(|share| (share - 0.3).abs() < 0.01));
    }
}

#[test]
fn what_is_read_for_the_first_time_is_not_put_down_to_memory() {
    let found = summary(reading(0.2, Some(limit()), reads(700.0, 1.0, 0.97)), Vec::new());
    bound(&found, Limit::Latency, 0.9..=1.0);
}

#[test]
fn without_a_limit_on_memory_the_machine_has_too_little_of_it() {
    let found = summary(reading(0.8, None, reads(700.0, 1.0, 0.97)), Vec::new());
    bound(&found, Limit::Memory, 0.9..=1.0);
    let volume = &found.verdict.as_ref().unwrap().volumes[0];
    let next = Some(Advised::Watch {
        step: WatchNext::Step { step: WatchStep::MoreMemory, storage_saves: None },
        record: false,
    });
    assert_eq!((&volume.next, volume.command.as_ref()), (&next, None));
    // A level of the disk shows, and what the machine's memory would bring does not.
    let level = summary(reading(0.8, None, reads(4_000.0, 12.0, 1.0)), Vec::new());
    bound(&level, Limit::DiskIops, 0.9..=1.0);
}

#[test]
fn a_throttle_that_is_reached_comes_before_a_small_page_cache() {
    let mut seen = reading(0.8, Some(limit()), reads(1_000.0, 1.0, 0.97));
    seen.throttles = vec![throttle(1_000, &[1_000; 10])];
    bound(&summary(seen, Vec::new()), Limit::DiskIops, 0.99..=1.0);
}
