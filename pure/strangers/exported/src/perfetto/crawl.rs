//! A crawl as a timeline: sampled items on their way through the stations, batches, and the stations' time by state.

use super::lanes::Lanes;
use super::timeline::{Fact, Flow, Slice, Timeline, Track};
use loadline_record::{
    BatchRecord, ItemRecord, PipelineRecord, Span, Station, StationInterval, VolumeSecond, WORKER_STATES, WorkerState,
};
use loadline_report::plain;

/// What a worker's time is shown as, with the states that count there.
const SHOWN: [(&str, &[WorkerState]); 5] = [
    ("on CPU", &[WorkerState::Cpu]),
    ("waiting", &[WorkerState::Device, WorkerState::Network, WorkerState::Pool, WorkerState::Other]),
    ("starved", &[WorkerState::Starved]),
    ("blocked", &[WorkerState::Blocked]),
    ("gated", &[WorkerState::Gated]),
];

/// A slice of an item, with the track below which it stands.
struct Stay<'a> {
    place: usize,
    span: Span,
    item: &'a ItemRecord,
    flow: Flow,
}

/// Draws the crawl, which began at `at_ns`.
pub(super) fn draw(timeline: &mut Timeline, record: &PipelineRecord, at_ns: u64) {
    let sources: Vec<Track> =
        record.sources.iter().map(|source| timeline.track(None, &plain(&format!("source {}", source.name)))).collect();
    let stations: Vec<Track> = Station::LINE.map(|station| timeline.track(None, station.name())).to_vec();
    items(timeline, record, at_ns, (&sources, &stations));
    for (station, name) in [
        (Station::Index, "segments written"),
        (Station::Merge, "merges"),
        (Station::Commit, "commits of the index"),
        (Station::Database, "commits of the database"),
    ] {
        batches(timeline, record.batches.iter().filter(|batch| batch.station == station), at_ns, name);
    }
    let step = Steps { at: at_ns, wall: record.wall_ns, interval: record.interval_ns.max(1) };
    for (source, track) in record.sources.iter().zip(&sources) {
        step.states(timeline, *track, &source.series);
    }
    for station in &record.stations {
        let place = Station::LINE.iter().position(|of| *of == station.station);
        let track = place.map_or_else(|| timeline.track(None, station.station.name()), |place| stations[place]);
        step.states(timeline, track, &station.series);
    }
    for volume in &record.volumes {
        let track = timeline.track(None, &plain(&format!("volume {}", volume.name)));
        step.volume(timeline, track, &volume.series);
    }
}

/// Each sampled item: a slice for its fetch, with its parts, and one for each station, joined by a flow.
fn items(timeline: &mut Timeline, record: &PipelineRecord, at_ns: u64, (sources, stations): (&[Track], &[Track])) {
    let mut stays: Vec<Stay<'_>> = Vec::new();
    for (number, item) in record.items.iter().enumerate() {
        let fetch = Span { start_ns: item.sent_ns, end_ns: item.last_byte_ns };
        let all = [fetch].into_iter().chain(item.spans).enumerate();
        let own: Vec<(usize, Span)> = all
            .filter(|(place, span)| *place == 0 || span.end_ns > 0)
            .filter(|(_, span)| span.end_ns >= span.start_ns)
            .collect();
        let last = own.len().saturating_sub(1);
        stays.extend(own.into_iter().enumerate().map(|(order, (place, span))| {
            let place = if place == 0 { item.source as usize } else { sources.len() + place - 1 };
            Stay { place, span, item, flow: Flow { number: number as u64 + 1, is_last: order == last } }
        }));
    }
    stays.sort_by_key(|stay| stay.span.start_ns);
    let mut lanes: Vec<Lanes> = sources.iter().chain(stations).map(|above| Lanes::new(*above)).collect();
    let names: Vec<String> = record.sources.iter().map(|source| plain(&source.name)).collect();
    for Stay { place, span, item, flow } in stays {
        let Some(name) = names.get(item.source as usize) else { continue };
        let (start_ns, end_ns) = (at_ns + span.start_ns, at_ns + span.end_ns);
        let lane = lanes[place].lane(timeline, start_ns, end_ns);
        let is_fetch = place < sources.len();
        let facts = if is_fetch { of_fetch(item) } else { of_station(item, place - sources.len()) };
        let slice = Slice { start_ns, end_ns, name, facts: &facts, flow: Some(flow) };
        let parts = if is_fetch { parts(item, at_ns) } else { Vec::new() };
        timeline.slice_of(lane, &slice, &parts);
    }
}

fn of_fetch(item: &ItemRecord) -> Vec<(&'static str, Fact)> {
    vec![
        ("item", Fact::Count(item.number.into())),
        ("host", Fact::Count(item.host.into())),
        ("bytes", Fact::Count(item.bytes)),
        ("waited ms", Fact::Figure(item.sent_ns.saturating_sub(item.eligible_ns) as f64 / 1e6)),
        ("on CPU ms", Fact::Figure(item.fetch_cpu_ns as f64 / 1e6)),
    ]
}

fn of_station(item: &ItemRecord, place: usize) -> Vec<(&'static str, Fact)> {
    let work = item.work[place];
    vec![
        ("item", Fact::Count(item.number.into())),
        ("text bytes", Fact::Count(item.text_bytes)),
        ("on CPU ms", Fact::Figure(work.cpu_ns as f64 / 1e6)),
        ("volume ms", Fact::Figure(work.device_ns as f64 / 1e6)),
        ("other waits ms", Fact::Figure(work.other_ns as f64 / 1e6)),
    ]
}

/// The parts of a fetch, where their times are known and in order.
fn parts(item: &ItemRecord, at_ns: u64) -> Vec<Slice<'static>> {
    let times = [item.sent_ns, item.connected_ns, item.first_byte_ns, item.last_byte_ns];
    if !times.is_sorted() {
        return Vec::new();
    }
    let named = ["connection", "first byte", "body"].into_iter().zip(times.windows(2));
    let parts = named.filter(|(_, of)| of[1] > of[0]);
    parts.map(|(name, of)| Slice { start_ns: at_ns + of[0], end_ns: at_ns + of[1], name, ..Slice::default() }).collect()
}

fn batches<'a>(timeline: &mut Timeline, batches: impl Iterator<Item = &'a BatchRecord>, at_ns: u64, name: &str) {
    let mut batches: Vec<&BatchRecord> = batches.filter(|batch| batch.end_ns >= batch.start_ns).collect();
    if batches.is_empty() {
        return;
    }
    batches.sort_by_key(|batch| batch.start_ns);
    let mut lanes = Lanes::new(timeline.track(None, name));
    for batch in batches {
        let (start_ns, end_ns) = (at_ns + batch.start_ns, at_ns + batch.end_ns);
        let lane = lanes.lane(timeline, start_ns, end_ns);
        let units = if batch.station == Station::Commit || batch.station == Station::Database {
            "items"
        } else {
            "KiB of text"
        };
        let facts = [
            (units, Fact::Count(batch.units)),
            ("bytes", Fact::Count(batch.bytes)),
            ("on CPU ms", Fact::Figure(batch.cpu_ns as f64 / 1e6)),
            ("writes ms", Fact::Figure(batch.write_ns as f64 / 1e6)),
            ("flushes ms", Fact::Figure(batch.sync_ns as f64 / 1e6)),
        ];
        timeline.slice(lane, &Slice { start_ns, end_ns, name, facts: &facts, flow: None });
    }
}

/// What a counter shows of a step of so many seconds.
type OfStep<T> = fn(&T, f64) -> f64;

/// How the intervals of a crawl lie, ns.
struct Steps {
    at: u64,
    wall: u64,
    interval: u64,
}

impl Steps {
    /// A counter of so many intervals; it ends with the crawl.
    fn count<T>(&self, timeline: &mut Timeline, track: Track, series: &[T], of: impl Fn(&T, f64) -> f64) {
        for (place, step) in series.iter().enumerate() {
            let start_ns = (place as u64 * self.interval).min(self.wall);
            let length_ns = self.interval.min(self.wall - start_ns);
            if length_ns > 0 {
                timeline.count(track, self.at + start_ns, of(step, length_ns as f64 / 1e9));
            }
        }
        timeline.count(track, self.at + self.wall, 0.0);
    }

    /// Items that passed, and what workers' time went to.
    fn states(&self, timeline: &mut Timeline, above: Track, series: &[StationInterval]) {
        let passed = timeline.counter(above, "passed", "items/s");
        self.count(timeline, passed, series, |step, length_s| step.passed as f64 / length_s);
        for (name, states) in SHOWN {
            let time = |times: &[u64; WORKER_STATES]| states.iter().map(|state| times[state.index()]).sum::<u64>();
            if series.iter().all(|step| time(&step.times_ns) == 0) {
                continue;
            }
            let track = timeline.counter(above, name, "% of workers' time");
            self.count(timeline, track, series, |step, _| {
                time(&step.times_ns) as f64 / step.times_ns.iter().sum::<u64>().max(1) as f64 * 100.0
            });
        }
    }

    fn volume(&self, timeline: &mut Timeline, above: Track, series: &[VolumeSecond]) {
        let counters: [(&str, &str, OfStep<VolumeSecond>); 4] = [
            ("requests", "requests/s", |step, length_s| step.requests as f64 / length_s),
            ("bytes", "MB/s", |step, length_s| step.bytes as f64 / length_s / 1e6),
            ("latency", "ms", |step, _| step.latency_ns as f64 / step.requests.max(1) as f64 / 1e6),
            ("busy", "%", |step, length_s| (step.busy_ns as f64 / 1e7 / length_s).min(100.0)),
        ];
        for (name, unit, of) in counters {
            let track = timeline.counter(above, name, unit);
            self.count(timeline, track, series, of);
        }
    }
}
