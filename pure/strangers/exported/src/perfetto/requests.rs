//! A trace of requests as a timeline: each outstanding request on a track of its own, and what they come to over time.

use super::lanes::Lanes;
use super::timeline::{Counter, Fact, Slice, Timeline, Track};
use loadline_block::Operation;
use loadline_emulation::{Trace, TraceRecord};
use loadline_report::plain;
use loadline_units::Bytes;

/// Points of a counter at most, and the shortest time between two, ns.
const POINTS_MAX: u64 = 10_000;
const STEP_MIN_NS: u64 = 1_000_000;

/// A device or export of the trace.
struct Device {
    track: Track,
    lanes: Lanes,
    usage: Usage,
}

/// The trace as a timeline. Times begin with its first request. Requests without an answer are moments.
#[must_use]
pub fn requests(trace: &Trace) -> Vec<u8> {
    let mut timeline = Timeline::default();
    let begin_ns = trace.records.first().map_or(0, |first| first.submitted_at.as_ns());
    let ended = trace.records.iter().map(|record| record.completed_at.unwrap_or(record.submitted_at).as_ns()).max();
    let step_ns = (ended.unwrap_or(begin_ns) - begin_ns).div_ceil(POINTS_MAX).max(STEP_MIN_NS);
    let mut devices: Vec<Device> = Vec::new();
    for name in &trace.exports {
        let own = timeline.track(None, &plain(name));
        let above = timeline.track(Some(own), "requests");
        devices.push(Device { track: own, lanes: Lanes::new(above), usage: Usage { step_ns, steps: Vec::new() } });
    }
    for record in &trace.records {
        let Device { track: own, lanes, usage } = &mut devices[usize::from(record.export)];
        let start_ns = record.submitted_at.as_ns() - begin_ns;
        let (name, facts) = (name(record), facts(record));
        let Some(end_ns) = record.completed_at.map(|at| at.as_ns() - begin_ns) else {
            timeline.moment(*own, start_ns, &format!("{name}, not answered"), &facts);
            continue;
        };
        usage.take(start_ns, end_ns, record);
        let lane = lanes.lane(&mut timeline, start_ns, end_ns);
        timeline.slice(lane, &Slice { start_ns, end_ns, name: &name, facts: &facts, flow: None });
    }
    for Device { track: own, usage, .. } in devices {
        usage.count(&mut timeline, own);
    }
    if !trace.changes.is_empty() {
        let own = timeline.track(None, "changes");
        for change in &trace.changes {
            let said = serde_json::to_string(&change.change).expect("changes are plain data");
            let at_ns = change.at.as_ns().saturating_sub(begin_ns);
            timeline.moment(own, at_ns, "change", &[("change", Fact::Text(said))]);
        }
    }
    timeline.into_bytes()
}

fn name(record: &TraceRecord) -> String {
    if record.operation == Operation::Flush || record.length == 0 {
        return record.operation.name().to_owned();
    }
    format!("{} {}", record.operation.name(), Bytes::new(record.length))
}

fn facts(record: &TraceRecord) -> Vec<(&'static str, Fact)> {
    let mut facts = Vec::new();
    if record.operation != Operation::Flush {
        facts.push(("offset", Fact::Count(record.offset)));
        facts.push(("bytes", Fact::Count(record.length)));
    }
    if record.client > 0 {
        facts.push(("client", Fact::Count(record.client.into())));
    }
    if record.durable {
        facts.push(("durable", Fact::Count(1)));
    }
    if let Some(error) = record.error {
        facts.push(("error", Fact::Text(error.name().to_owned())));
    }
    facts
}

/// What requests of a device come to, by steps of equal length.
struct Usage {
    step_ns: u64,
    steps: Vec<Step>,
}

#[derive(Clone, Copy, Default)]
struct Step {
    outstanding_ns: u64,
    completed: u64,
    read_bytes: u64,
    write_bytes: u64,
}

impl Usage {
    fn take(&mut self, start_ns: u64, end_ns: u64, record: &TraceRecord) {
        let last = (end_ns / self.step_ns) as usize;
        if self.steps.len() <= last {
            self.steps.resize(last + 1, Step::default());
        }
        for place in (start_ns / self.step_ns) as usize..=last {
            let (from, to) = (place as u64 * self.step_ns, (place as u64 + 1) * self.step_ns);
            self.steps[place].outstanding_ns += end_ns.min(to) - start_ns.max(from);
        }
        let step = &mut self.steps[last];
        step.completed += 1;
        match record.operation {
            Operation::Read => step.read_bytes += record.length,
            Operation::Write => step.write_bytes += record.length,
            _ => {}
        }
    }

    fn count(&self, timeline: &mut Timeline, above: Track) {
        let step_s = self.step_ns as f64 / 1e9;
        let counters: [Counter<'_, Step>; 4] = [
            ("outstanding", "requests", &|step| step.outstanding_ns as f64 / self.step_ns as f64),
            ("IOPS", "requests/s", &|step| step.completed as f64 / step_s),
            ("reads", "MB/s", &|step| step.read_bytes as f64 / step_s / 1e6),
            ("writes", "MB/s", &|step| step.write_bytes as f64 / step_s / 1e6),
        ];
        for (name, unit, of) in counters {
            let track = timeline.counter(above, name, unit);
            for (place, step) in self.steps.iter().enumerate() {
                timeline.count(track, place as u64 * self.step_ns, of(step));
            }
            timeline.count(track, self.steps.len() as u64 * self.step_ns, 0.0);
        }
    }
}
