//! What takes a small share of the time, and loads with pauses.

use super::{Did, bound, reads, summary, watch};
use crate::verdict_block::Advised;
use crate::watching::{WatchNext, WatchStep};
use loadline_record::{Limit, WatchTick};

/// The writes take 9.8 ms each, and the flushes in between 0.2 ms: a limit on writes holds them.
#[test]
fn flushes_that_take_little_of_the_time_are_not_what_is_waited_for() {
    for (flush_share, per_s) in [(0.02, 100.0), (0.08, 282.0)] {
        let commit =
            Did { reads: 0.0, writes: per_s * 1.5, flushes: per_s, block: 4096.0, depth: 1.0, busy: 1.0, flush_share };
        let found = summary(watch(&[commit; 22]), Vec::new());
        assert_ne!(found.cells[0].binding.as_ref().unwrap().limit, Limit::Flush, "{flush_share}");
    }
}

/// 60 MB at once at 20 MB/s, sixteen requests outstanding, and then two seconds of nothing.
#[test]
fn an_exact_level_between_pauses_is_a_limit_for_as_long_as_it_is_asked_for() {
    let mut seen = watch(&[reads(0.0, 0.0, 0.0); 22]);
    for (place, tick) in seen.ticks.iter_mut().enumerate() {
        // Cycles of 4.9 s: 2.9 s at work.
        if place % 49 < 29 {
            *tick = WatchTick {
                elapsed_us: 100_000,
                reads: 20,
                read_bytes: 2_000_000,
                read_ms: 1_600 - 70 * (place as u64 % 5),
                busy_ms: 100,
                in_flight: 16,
                ..WatchTick::default()
            };
        }
    }
    let found = summary(seen, Vec::new());
    bound(&found, Limit::DiskIops, 0.5..=0.65);
    let ceiling = found.cells[0].binding.as_ref().unwrap().ceiling_iops.unwrap();
    assert!((ceiling / 200.0 - 1.0).abs() < 0.02, "{ceiling}");
}

#[test]
fn more_at_once_is_no_advice_where_many_are_outstanding() {
    let step = |depth: f64| {
        let did: Vec<Did> = (0..15).map(|second| reads(500.0 + f64::from(second % 5) * 240.0, depth, 0.97)).collect();
        let found = summary(watch(&did), Vec::new());
        bound(&found, Limit::Latency, 0.9..=1.0);
        match found.verdict.unwrap().volumes.remove(0).next {
            Some(Advised::Watch { step: WatchNext::Step { step, .. }, .. }) => step,
            other => panic!("{other:?}"),
        }
    };
    assert!(matches!(step(0.9), WatchStep::FasterAnswers));
    assert!(matches!(step(16.0), WatchStep::FasterOnly));
}
