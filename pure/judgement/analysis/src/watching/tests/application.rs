//! What an application does while its device waits for it, and memory that is short.

use super::*;
use loadline_record::ApplicationAt;

/// Ten seconds in which the device has requests for a tenth of the time.
fn idle(did: ProgramSecond) -> WatchRecord {
    let did = ProgramSecond { read_bytes: 400_000, ..did };
    WatchRecord { programs: vec![program("db", 7, 10, did)], ..watch(&[reads(100.0, 0.1, 0.1); 10]) }
}

fn second() -> ProgramSecond {
    ProgramSecond { cpu_us: 50_000, ..ProgramSecond::default() }
}

/// What binds a watch, where an application does.
fn named(watch: WatchRecord) -> Option<(ApplicationAt, WatchFact)> {
    let found = summary(watch, Vec::new());
    bound(&found, Limit::Arrival, 0.0..=1.0);
    let fact = found.cells[0].binding.as_ref().unwrap().seen.facts().first().cloned();
    let next = found.verdict.as_ref().unwrap().volumes[0].next.clone();
    let Some(Fact::Watch(fact @ WatchFact::ApplicationAt { at, .. })) = fact else {
        assert!(!matches!(next, Some(Advised::Watch { step: WatchNext::Application { .. }, .. })), "{next:?}");
        return None;
    };
    let Some(Advised::Watch { step: WatchNext::Application { at: advised, .. }, .. }) = next else {
        panic!("{next:?}")
    };
    assert_eq!(at, advised);
    let causes = &found.cells[0].watch.as_ref().unwrap().causes;
    assert_eq!(causes[0].cause, WatchCause::Application { program: "db".into(), at });
    Some((at, fact))
}

#[test]
fn a_device_that_waits_has_what_its_program_does_instead() {
    let at = |did| named(idle(did)).map(|(at, _)| at);
    for (did, right) in [
        (second(), None),
        (ProgramSecond { cpu_us: 850_000, ..second() }, Some(ApplicationAt::Computing)),
        // Who waits for a lock does nothing else, however many wait elsewhere.
        (ProgramSecond { locked_us: 900_000, sockets_us: 5_000_000, ..second() }, Some(ApplicationAt::Locks)),
        (ProgramSecond { locked_us: 2_000_000, cpu_us: 900_000, ..second() }, Some(ApplicationAt::Locks)),
        (ProgramSecond { sockets_us: 8_000_000, paused_us: 1_000_000, ..second() }, Some(ApplicationAt::Sockets)),
        (ProgramSecond { processes_us: 1_000_000, ..second() }, Some(ApplicationAt::Processes)),
        (ProgramSecond { paused_us: 1_000_000, ..second() }, Some(ApplicationAt::Pauses)),
        // Workers wait for the one that reads from a socket: the socket is the end of the chain.
        (ProgramSecond { threads_us: 8_000_000, sockets_us: 900_000, ..second() }, Some(ApplicationAt::Sockets)),
        (ProgramSecond { threads_us: 8_000_000, ..second() }, Some(ApplicationAt::Threads)),
        // For less than half of the time that is left.
        (ProgramSecond { sockets_us: 300_000, ..second() }, None),
    ] {
        assert_eq!(at(did), right, "{did:?}");
    }
}

#[test]
fn a_program_at_something_else_has_its_figures_in_the_evidence() {
    let did = ProgramSecond { locked_us: 3_000_000, sockets_us: 1_000_000, ..second() };
    let Some((_, WatchFact::ApplicationAt { program, cpus, threads, share_of_time, busy_share, .. })) =
        named(idle(did))
    else {
        panic!("not named")
    };
    assert_eq!((program.as_str(), threads.locks, threads.sockets, threads.pauses), ("db", 3.0, 1.0, 0.0));
    assert!((cpus - 0.05).abs() < 1e-9 && (share_of_time - 0.9).abs() < 0.01 && (busy_share - 0.1).abs() < 0.01);
}

#[test]
fn a_busy_device_is_not_passed_over_for_what_a_program_does_beside() {
    let did = ProgramSecond { read_bytes: 4_000_000, paused_us: 5_000_000, ..second() };
    let seen = WatchRecord { programs: vec![program("db", 7, 10, did)], ..watch(&[reads(700.0, 1.0, 0.97); 10]) };
    bound(&summary(seen, Vec::new()), Limit::Latency, 0.9..=1.0);
}

#[test]
fn one_request_after_the_other_has_the_threads_that_wait_behind_it() {
    let behind = |depth, threads_us| {
        let did = ProgramSecond { read_bytes: 4_000_000, threads_us, ..second() };
        let seen = WatchRecord { programs: vec![program("db", 7, 10, did)], ..watch(&[reads(700.0, depth, 0.97); 10]) };
        let found = summary(seen, Vec::new());
        let fact = found.cells[0].binding.as_ref().unwrap().seen.facts().first().cloned();
        let Some(Fact::Watch(WatchFact::AnswersAwaited { threads_behind, .. })) = fact else { panic!("{fact:?}") };
        threads_behind.map(f64::round)
    };
    assert_eq!(behind(1.0, 7_000_000), Some(7.0));
    assert_eq!(behind(1.0, 300_000), None);
    assert_eq!(behind(3.0, 7_000_000), None);
}

/// The same with pages that go to swap and come back.
fn swapping(bytes: u64, swap_here: bool, mut seen: WatchRecord) -> WatchRecord {
    seen.swap_here = swap_here;
    seen.seconds.iter_mut().for_each(|second| second.swapped_bytes = Some(bytes));
    seen
}

#[test]
fn pages_that_come_and_go_are_what_a_device_with_swap_is_busy_with() {
    let busy = || watch(&[reads(700.0, 1.0, 0.97); 10]);
    let found = summary(swapping(2_000_000, true, busy()), Vec::new());
    bound(&found, Limit::Memory, 0.9..=1.0);
    let volume = &found.verdict.as_ref().unwrap().volumes[0];
    let (WatchHeld::Storage { swap: true, memory: None, .. }, _) = held(volume) else { panic!("{volume:?}") };
    let Some(Advised::Watch { step: WatchNext::Step { step: WatchStep::MoreMemory, .. }, .. }) = volume.next else {
        panic!("{volume:?}")
    };
    // Swap elsewhere is not what this device is busy with, and a few pages are not either.
    bound(&summary(swapping(2_000_000, false, busy()), Vec::new()), Limit::Latency, 0.9..=1.0);
    bound(&summary(swapping(1_100_000, true, busy()), Vec::new()), Limit::Latency, 0.9..=1.0);
}

#[test]
fn a_program_that_waits_for_memory_while_its_device_is_idle_is_held_by_swap_elsewhere() {
    let waits = ProgramSecond { memory_stalled_us: 600_000, paused_us: 900_000, ..second() };
    bound(&summary(swapping(20_000_000, false, idle(waits)), Vec::new()), Limit::Memory, 0.8..=1.0);
    assert_eq!(named(swapping(0, false, idle(waits))).map(|(at, _)| at), Some(ApplicationAt::Pauses));
}
