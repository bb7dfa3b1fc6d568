//! A stored run as a timeline: trials with their seconds, a watch with its causes, a crawl with its items.

use super::crawl;
use super::lanes::Lanes;
use super::timeline::{Counter, Fact, Slice, Timeline, Track};
use loadline_analysis::{LiveMark, RunSummary, watch_course};
use loadline_block::Operation;
use loadline_record::{CellRecord, RunRecord, TrialRecord, WatchRecord, WatchTick};
use loadline_report::{plain, watch_cause};

/// Programs that are shown, the busiest.
const PROGRAMS_MAX: usize = 8;

/// The run as a timeline. Times begin with its first trial; trials of virtual time stand one after the other.
#[must_use]
pub fn run(record: &RunRecord, summary: &RunSummary) -> Vec<u8> {
    let mut timeline = Timeline::default();
    let begun_ns = record.cells.iter().flat_map(|cell| &cell.trials).filter_map(began_ns).min();
    let mut volumes: Vec<(&str, Track, Lanes)> = Vec::new();
    let mut virtual_ns = 0;
    for (cell, known) in record.cells.iter().zip(&summary.cells) {
        let place = volumes.iter().position(|(name, ..)| *name == cell.volume).unwrap_or_else(|| {
            let track = timeline.track(None, &plain(&cell.volume));
            let above = timeline.track(Some(track), "trials");
            volumes.push((&cell.volume, track, Lanes::new(above)));
            volumes.len() - 1
        });
        let (_, track, lanes) = &mut volumes[place];
        for trial in &cell.trials {
            let at_ns = began_ns(trial).zip(begun_ns).map_or(virtual_ns, |(own, first)| own - first);
            virtual_ns += trial.measured_ns;
            if let Some(pipeline) = &trial.pipeline {
                crawl::draw(&mut timeline, pipeline, at_ns);
            }
            if let Some(watch) = &trial.watched {
                watched(&mut timeline, *track, at_ns, (cell, record), watch);
                continue;
            }
            let limit = known.binding.as_ref().map(|binding| ("limit", Fact::Text(binding.limit.name().to_owned())));
            let facts: Vec<_> = [("trial", Fact::Count(u64::from(trial.trial) + 1))].into_iter().chain(limit).collect();
            let end_ns = at_ns + trial.measured_ns;
            let lane = lanes.lane(&mut timeline, at_ns, end_ns);
            let name = plain(&known.label);
            timeline.slice(lane, &Slice { start_ns: at_ns, end_ns, name: &name, facts: &facts, flow: None });
            seconds(&mut timeline, *track, at_ns, trial);
        }
    }
    marks(&mut timeline, record);
    timeline.into_bytes()
}

/// When the measured time began, ns since 1970; `None`: in virtual time.
fn began_ns(trial: &TrialRecord) -> Option<u64> {
    let told = trial.measured_from_unix_ns;
    told.or_else(|| trial.model.is_none().then(|| trial.started_unix_s * 1_000_000_000 + trial.warm_up_ns))
}

/// Counters of a trial's seconds.
fn seconds(timeline: &mut Timeline, above: Track, at_ns: u64, trial: &TrialRecord) {
    let full_ns = u64::from(trial.series.interval_s) * 1_000_000_000;
    let all = &trial.series.seconds;
    let length_ns = |place: usize| if place + 1 == all.len() { trial.series.last_ns } else { full_ns };
    if all.is_empty() || length_ns(all.len() - 1) == 0 {
        return;
    }
    let end_ns = at_ns + full_ns * (all.len() as u64 - 1) + trial.series.last_ns;
    for operation in Operation::ALL {
        if all.iter().all(|second| second.of(operation).count == 0) {
            continue;
        }
        let rate = timeline.counter(above, &format!("{}s", operation.name()), "requests/s");
        let p99 = timeline.counter(above, &format!("{} p99", operation.name()), "ms");
        for (place, second) in all.iter().enumerate() {
            let (own, at_ns) = (second.of(operation), at_ns + place as u64 * full_ns);
            timeline.count(rate, at_ns, own.count as f64 * 1e9 / length_ns(place) as f64);
            timeline.count(p99, at_ns, own.p99_ns as f64 / 1e6);
        }
        timeline.count(rate, end_ns, 0.0);
        timeline.count(p99, end_ns, 0.0);
    }
    let outstanding = timeline.counter(above, "outstanding", "requests");
    for (place, second) in all.iter().enumerate() {
        timeline.count(outstanding, at_ns + place as u64 * full_ns, second.outstanding);
    }
    timeline.count(outstanding, end_ns, 0.0);
}

/// A watched device: what it did, what held it, and who used it.
fn watched(
    timeline: &mut Timeline,
    above: Track,
    at_ns: u64,
    (cell, record): (&CellRecord, &RunRecord),
    watch: &WatchRecord,
) {
    let Some(course) = watch_course(cell, &record.cells) else { return };
    // Times in which nothing was watched lie between the seconds.
    let mut starts = Vec::with_capacity(course.seconds.len());
    let mut now_ns = at_ns;
    for (place, second) in course.seconds.iter().enumerate() {
        let gaps = watch.gaps.iter().filter(|gap| gap.before == place);
        let absent: u64 = gaps.map(|gap| gap.elapsed_us * 1_000).sum();
        if absent > 0 {
            let gap = Slice { start_ns: now_ns, end_ns: now_ns + absent, name: "not watched", ..Slice::default() };
            timeline.slice(above, &gap);
        }
        now_ns += absent;
        starts.push(now_ns);
        now_ns += second.tick.elapsed_us * 1_000;
    }
    let held = timeline.track(Some(above), "held by");
    let names: Vec<String> = course.causes.iter().map(|of| plain(&watch_cause(&of.cause))).collect();
    for (second, start_ns) in course.seconds.iter().zip(&starts) {
        let most = second.causes.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((cause, share)) = most {
            let end_ns = start_ns + second.tick.elapsed_us * 1_000;
            let facts = [("share", Fact::Figure(*share))];
            timeline
                .slice(held, &Slice { start_ns: *start_ns, end_ns, name: &names[*cause], facts: &facts, flow: None });
        }
    }
    let per_s = |tick: &WatchTick, amount: u64| amount as f64 * 1e6 / tick.elapsed_us.max(1) as f64;
    let counters: [Counter<'_, WatchTick>; 7] = [
        ("reads", "requests/s", &|tick| per_s(tick, tick.reads)),
        ("writes", "requests/s", &|tick| per_s(tick, tick.writes)),
        ("flushes", "requests/s", &|tick| per_s(tick, tick.flushes)),
        ("read", "MB/s", &|tick| per_s(tick, tick.read_bytes) / 1e6),
        ("written", "MB/s", &|tick| per_s(tick, tick.write_bytes) / 1e6),
        ("outstanding", "requests", &|tick| tick.outstanding()),
        ("busy", "%", &|tick| tick.busy() * 100.0),
    ];
    for (name, unit, of) in counters {
        let track = timeline.counter(above, name, unit);
        for (second, start_ns) in course.seconds.iter().zip(&starts) {
            timeline.count(track, *start_ns, of(&second.tick));
        }
        timeline.count(track, now_ns, 0.0);
    }
    for program in watch.programs.iter().take(PROGRAMS_MAX) {
        let track = timeline.counter(above, &plain(&format!("{} reads and writes", program.name)), "MB/s");
        for ((own, second), start_ns) in program.seconds.iter().zip(&course.seconds).zip(&starts) {
            timeline.count(track, *start_ns, per_s(&second.tick, own.read_bytes + own.write_bytes) / 1e6);
        }
        timeline.count(track, now_ns, 0.0);
    }
}

/// Moments that the user marked.
fn marks(timeline: &mut Timeline, record: &RunRecord) {
    let marks = LiveMark::of_settings(&record.header.settings);
    if marks.is_empty() {
        return;
    }
    let track = timeline.track(None, "marks");
    for mark in &marks {
        timeline.moment(track, mark.elapsed_ns, &plain(&mark.note), &[]);
    }
}
