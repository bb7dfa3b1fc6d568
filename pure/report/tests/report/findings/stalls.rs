//! Devices that stand still, as a reader meets them.

use super::texts;
use loadline_analysis::example::{ExampleDisk, cell, closed, open, run, throttled};
use loadline_analysis::{FindingCode, summarize};
use loadline_block::Operation;
use loadline_record::{CellRecord, Doubt, DoubtCode, Histogram, Limit, LoadFigures, Series, Stops, TrialRecord};
use loadline_report::words::evidence;
use loadline_units::Duration;

const KIB4: u64 = 4 << 10;
const MS: u64 = 1_000_000;

/// The cell's reads, of which a device answers nothing at these times: from so many ms on, for so many ms. All that are outstanding
/// of a closed loop wait until the end; of an open one those that come meanwhile, each as long as is left.
fn standing_still(mut cell: CellRecord, stops: &[(u64, u64)]) -> CellRecord {
    let depth = cell.load.figures().queue_depth.map(u64::from);
    for trial in &mut cell.trials {
        for (begin, length) in stops {
            let rate = trial.series.seconds[0].operations[0].count;
            let end = begin + length;
            for (number, second) in (0u64..).zip(&mut trial.series.seconds) {
                let (from, to) = ((number * 1_000).max(*begin), (number * 1_000 + 1_000).min(end));
                let lost = to.saturating_sub(from) * rate / 1_000;
                let of = &mut second.operations[0];
                // An open loop's backlog is worked off at once.
                of.count = of.count.saturating_sub(lost);
                if number == end / 1_000 {
                    of.max_ns = length * MS + of.p50_ns;
                    of.count += if depth.is_none() { length * rate / 1_000 } else { 0 };
                }
            }
            let reads = trial.operations.get_mut(&Operation::Read).unwrap();
            let waiting = depth.unwrap_or(length * rate / 1_000);
            for i in 0..waiting {
                let wait = if depth.is_some() { length * MS } else { length * MS * (i + 1) / waiting };
                reads.latency.record(Duration::from_ns(wait));
            }
        }
        let reads = trial.operations.get_mut(&Operation::Read).unwrap();
        reads.count = trial.series.seconds.iter().map(|second| second.operations[0].count).sum();
    }
    cell
}
fn reads(depth: u32) -> CellRecord {
    cell(closed("random", 1.0, KIB4, depth), &ExampleDisk::default(), &[1.0])
}
fn told(cell: CellRecord) -> Option<String> {
    texts(&summarize(&run(vec![cell])), FindingCode::Stalls).pop()
}
fn edited(cell: CellRecord, edit: impl Fn(&mut TrialRecord)) -> CellRecord {
    let mut cell = cell;
    cell.trials.iter_mut().for_each(edit);
    cell
}
const NOW_AND_THEN: [(u64, u64); 5] = [(4_300, 500), (17_100, 1_200), (29_800, 400), (41_500, 2_300), (52_200, 310)];

#[test]
fn a_device_that_stands_still_now_and_then_is_told_with_what_its_figures_show_of_it() {
    assert_eq!(
        told(standing_still(reads(32), &NOW_AND_THEN)).unwrap(),
        "The device stands still now and then: under random 4 KiB reads at depth 32 it answered nothing 5 times in 60 s, for 310 \
         ms to 2.30 s (4.71 s in all), 7.8 % of the time, and went on as before. The mean hides that: 4,610 IOPS on average \
         are 5,003 while it answers. One of 1,876 requests waited for it: p99.9 (8.98 ms) does not show it, the maximum \
         does (2.30 s). No throttle that lets requests through by slices and no burst that ends does this: the storage, or what \
         lies on the way to it, paused."
    );
    assert_eq!(told(reads(32)), None);
    let once = told(standing_still(reads(32), &[(30_000, 800)])).unwrap();
    assert!(once.contains("nothing once in 60 s, for 800 ms, 1.3 % of the time"), "{once}");
    let regular: Vec<(u64, u64)> = (0..10).map(|i| (2_000 + i * 5_000, 600)).collect();
    let text = told(standing_still(reads(64), &regular)).unwrap();
    assert!(
        text.contains("10 times in 60 s, for about 600 ms each") && text.contains("every 5 s, as by a clock"),
        "{text}"
    );
    let deep = told(standing_still(reads(256), &[(10_000, 900), (30_000, 900)])).unwrap();
    assert!(deep.contains("p99.9 is") && deep.contains("by that, and the maximum 900 ms"), "{deep}");
}

#[test]
fn a_load_that_stalls_keep_below_its_own_ceiling_is_told_of_them_where_its_limit_is() {
    let of = |stops: &[(u64, u64)]| {
        let load = LoadFigures { rate_iops: Some(5_000.0), ..closed("random", 1.0, KIB4, 32) };
        let paced = standing_still(cell(load, &ExampleDisk::default(), &[1.0]), stops);
        summarize(&run(vec![paced])).cells.remove(0).binding.unwrap()
    };
    let held = of(&NOW_AND_THEN);
    assert_eq!(held.limit, Limit::Unexplained, "{held:?}");
    let told = "The device stood still for 7.8 % of the time (finding `stalls`), and the load lacks 7.";
    assert!(evidence(&held.seen).contains(told), "{}", evidence(&held.seen));
    assert_eq!(of(&[]).limit, Limit::Arrival);
}

#[test]
fn what_is_made_up_for_at_once_is_told_by_the_requests_that_waited() {
    let arrivals = cell(open("random", 1.0, KIB4, 2_000.0), &ExampleDisk::default(), &[1.0]);
    let text = told(standing_still(arrivals, &[(10_300, 400), (30_100, 600)])).unwrap();
    assert!(text.contains("nothing 2 times in 60 s") && text.contains("2,000 arrivals a second"), "{text}");
    // A throttle that had saved up as much.
    let made_up = edited(standing_still(reads(32), &[(10_300, 400), (30_100, 500)]), |trial| {
        let usual = trial.series.seconds[0].operations[0].count;
        trial.series.seconds.iter_mut().for_each(|second| second.operations[0].count = usual);
    });
    assert!(told(made_up).unwrap().contains("2 times"));
}

#[test]
fn a_slow_request_is_no_device_that_stands_still() {
    let slow = |depth: u32| {
        edited(reads(depth), |trial| {
            for second in [5, 20, 21, 40] {
                trial.series.seconds[second].operations[0].max_ns = 700 * MS;
                trial.operations.get_mut(&Operation::Read).unwrap().latency.record(Duration::from_ns(700 * MS));
            }
        })
    };
    assert_eq!(told(slow(32)), None);
    assert_eq!(told(slow(4)), None);
    let arrivals = cell(open("random", 1.0, KIB4, 2_000.0), &ExampleDisk::default(), &[1.0]);
    let arrivals = edited(arrivals, |trial| trial.series.seconds[30].operations[0].max_ns = 900 * MS);
    assert_eq!(told(arrivals), None);
    // Slow for some seconds, with requests that take 0.3 s, is not stopped for 0.3 s.
    let slow_for_long = edited(reads(32), |trial| {
        for second in &mut trial.series.seconds[20..24] {
            (second.operations[0].count, second.operations[0].max_ns) = (500, 300 * MS);
        }
    });
    assert_eq!(told(slow_for_long), None);
    // One request at a time does not distinguish the two, and the finding says so.
    let alone = told(standing_still(reads(1), &[(30_000, 800)])).unwrap();
    assert!(alone.ends_with("To be sure, test deeper queues."), "{alone}");
}

#[test]
fn a_queue_that_grows_behind_a_burst_that_ended_is_no_stall() {
    let arrivals = cell(open("random", 1.0, KIB4, 1_566.0), &ExampleDisk::default(), &[1.0]);
    let burst = edited(arrivals, |trial| {
        for (since, second) in (0..).zip(&mut trial.series.seconds[25..]) {
            let of = &mut second.operations[0];
            (of.count, of.p50_ns) = (693, (300 + since * 520) * MS);
            (of.p99_ns, of.max_ns) = (of.p50_ns + 290 * MS, of.p50_ns + 300 * MS);
            let reads = trial.operations.get_mut(&Operation::Read).unwrap();
            (0..693).for_each(|_| reads.latency.record(Duration::from_ns(of.p50_ns)));
        }
    });
    assert_eq!(told(burst), None);
}

#[test]
fn throttles_bursts_that_end_and_short_runs_are_no_stalls() {
    assert_eq!(told(throttled(closed("random", 1.0, KIB4, 32), 5_000.0)), None);
    // A throttle that counts over a second: in each of them nothing is let through for a while.
    let each: Vec<(u64, u64)> = (0..59).map(|i| (i * 1_000 + 500, 450)).collect();
    assert_eq!(told(standing_still(reads(32), &each)), None);
    // Credits end: from then on a request takes 0.64 s.
    let ended = edited(reads(64), |trial| {
        for second in &mut trial.series.seconds[35..] {
            let of = &mut second.operations[0];
            (of.count, of.p50_ns, of.p99_ns, of.max_ns) = (100, 640 * MS, 650 * MS, 660 * MS);
            (0..100).for_each(|_| {
                let reads = trial.operations.get_mut(&Operation::Read).unwrap();
                reads.latency.record(Duration::from_ns(640 * MS));
            });
        }
    });
    assert_eq!(told(ended), None);
    // Credits end, and the rate falls by a fifth: what comes in from then on waits longer and longer.
    let behind = edited(reads(64), |trial| {
        let begin = trial.series.seconds.len() - 5;
        for (number, second) in (0u64..).zip(&mut trial.series.seconds[begin..]) {
            let (of, waits) = (&mut second.operations[0], 84 * MS + number * 220 * MS);
            (of.count, of.p50_ns, of.p99_ns, of.max_ns) = (of.count * 39 / 50, waits * 4 / 5, waits, waits + MS);
            let reads = trial.operations.get_mut(&Operation::Read).unwrap();
            (0..of.count).for_each(|_| reads.latency.record(Duration::from_ns(waits)));
        }
    });
    assert_eq!(told(behind), None);
    // A rate of which nothing would have come meanwhile by chance.
    let rare = edited(standing_still(reads(1), &[(30_000, 800)]), |trial| {
        trial.series.seconds.iter_mut().for_each(|second| second.operations[0].count /= 100);
        trial.operations.get_mut(&Operation::Read).unwrap().latency = Histogram::new();
    });
    assert_eq!(told(rare), None);
    let short = edited(standing_still(reads(32), &[(2_000, 800)]), |trial| {
        let seconds = trial.series.seconds[..6].to_vec();
        trial.series = Series { seconds, ..Series::default() };
    });
    assert_eq!(told(short), None);
}

#[test]
fn what_stopped_the_tool_is_not_the_device() {
    let stopped = |longest_ms: u64, doubted: Option<DoubtCode>| {
        edited(standing_still(reads(32), &[(10_000, 800), (30_000, 900)]), |trial| {
            let stops =
                Stops { count: 2, total_ns: 2 * longest_ms * MS, longest_ns: longest_ms * MS, throttled_ns: None };
            trial.surroundings.stops = Some(stops);
            trial.doubts.extend(doubted.map(|code| Doubt::written(code, "It was seen.")));
        })
    };
    assert!(told(stopped(25, None)).is_some());
    assert_eq!(told(stopped(850, None)), None);
    assert_eq!(told(stopped(0, Some(DoubtCode::ToolStopped))), None);
    assert_eq!(told(stopped(0, Some(DoubtCode::EndedEarly))), None);
    // Of four processors 2 % over a minute are 4.8 s; of 0.1 % nobody speaks.
    let stolen = |steal: f64| {
        edited(stopped(0, Some(DoubtCode::CpuStolen)), |trial| {
            trial.surroundings.machine.as_mut().unwrap().steal = steal;
        })
    };
    assert_eq!(told(stolen(0.02)), None);
    assert!(told(stolen(0.003)).is_some());
}
