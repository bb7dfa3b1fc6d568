//! The tables of a crawl.

use crate::answer::AnswerTable;
use crate::table::{Column, Field};
use crate::words::crawl as words;
use loadline_pipeline::{Attribution, Confirmation, WhatIf};
use loadline_record::{PipelineRecord, RunRecord, Station, StationClock, StationRecord, VolumeRole, VolumeUse};
use loadline_units::Duration;
use loadline_units::words::{span, whole_percent as percent};

/// Items or requests per second.
pub(super) fn per_second(rate: f64) -> String {
    if rate >= 100.0 { format!("{rate:.0}") } else { format!("{rate:.1}") }
}

/// A time as a clock shows it.
pub(super) fn clock(seconds: f64) -> String {
    Duration::from_ns((seconds * 1e9) as u64).clock()
}

/// The times that the repository took for the items of a source, of the sample, the shortest first, ns.
pub(super) fn repository_ns(pipeline: &PipelineRecord, place: usize) -> Vec<u64> {
    let items = pipeline.items.iter().filter(|item| item.source as usize == place);
    let mut ns: Vec<u64> = items.map(|item| item.last_byte_ns.saturating_sub(item.connected_ns)).collect();
    ns.sort_unstable();
    ns
}

/// Their mean; `None`: there are none.
pub(super) fn mean(ns: &[u64]) -> Option<f64> {
    (!ns.is_empty()).then(|| ns.iter().sum::<u64>() as f64 / ns.len() as f64)
}

/// A percentile of them.
pub(super) fn percentile(ns: &[u64], percent: usize) -> Option<u64> {
    ns.get((ns.len() * percent / 100).min(ns.len().checked_sub(1)?)).copied()
}

/// Items per second of a source until its end. Of one that failed there is no rate.
pub(super) fn rate_of(pipeline: &PipelineRecord, place: usize) -> Option<f64> {
    let source = &pipeline.sources[place];
    (source.items > 0).then(|| source.items as f64 * 1e9 / source.ended_ns.max(1) as f64)
}

pub(super) fn sources(pipeline: &PipelineRecord, attributions: &[Attribution]) -> AnswerTable {
    let mut table = AnswerTable::new(
        "Sources",
        &[
            Column::words("source", "source"),
            Column::numbers("items", "items"),
            Column::numbers("failed", "failed"),
            Column::numbers("unchanged", "unchanged"),
            Column::numbers("time", "duration_s"),
            Column::numbers("items/s", "items_per_s"),
            Column::numbers("repository", "repository_mean_ns"),
            Column::numbers("p95", "repository_p95_ns"),
            Column::numbers("in flight", "in_flight"),
            Column::numbers("of", "in_flight_allowed"),
            Column::numbers("politeness", "gated_share"),
            Column::words("bound by", "bound"),
        ],
    );
    for (place, (source, of)) in pipeline.sources.iter().zip(attributions).enumerate() {
        let repository = repository_ns(pipeline, place);
        table.push(vec![
            Field::text(&source.name),
            Field::count(source.items),
            Field::count(source.failed()),
            Field::count(source.unchanged),
            Field::figure(Some(source.ended_ns as f64 / 1e9), clock),
            Field::figure(rate_of(pipeline, place), per_second),
            Field::figure(mean(&repository), span),
            Field::figure(percentile(&repository, 95).map(|ns| ns as f64), span),
            Field::figure(Some(of.evidence.in_flight), |value| format!("{value:.1}")),
            Field::count(u64::from(pipeline.spec.sources[place].slots)),
            Field::figure(Some(of.evidence.slots.gated), percent),
            Field::text(words::bound(&of.bound, &pipeline.spec)),
        ]);
    }
    table
}

/// What a station did.
pub(super) struct StationRow<'r> {
    /// With its source, where it has one.
    pub(super) name: String,
    pub(super) workers: u32,
    pub(super) passed: u64,
    pub(super) clock: &'r StationClock,
    /// Items before it on average; `None`: no queue is before it.
    pub(super) queue_mean: Option<f64>,
}

/// Fetching of each source, then the stations that sources share.
pub(super) fn station_rows(pipeline: &PipelineRecord) -> Vec<StationRow<'_>> {
    let slots = pipeline.sources.iter().zip(&pipeline.spec.sources).map(|(source, spec)| StationRow {
        name: format!("fetch {}", source.name),
        workers: spec.slots,
        passed: source.items,
        clock: &source.clock,
        queue_mean: None,
    });
    let shared = pipeline.stations.iter().map(|StationRecord { station, workers, clock, queue, passed, .. }| {
        let mean = queue.item_us as f64 * 1e3 / pipeline.wall_ns.max(1) as f64;
        StationRow {
            name: station.name().to_owned(),
            workers: *workers,
            passed: *passed,
            clock,
            queue_mean: Station::LINE.contains(station).then_some(mean),
        }
    });
    slots.chain(shared).collect()
}

pub(super) fn stations(pipeline: &PipelineRecord) -> AnswerTable {
    let mut table = AnswerTable::new(
        "Stations",
        &[
            Column::words("station", "station"),
            Column::numbers("workers", "workers"),
            Column::numbers("passed", "passed"),
            Column::numbers("busy", "busy"),
            Column::numbers("starved", "starved"),
            Column::numbers("blocked", "blocked"),
            Column::numbers("gated", "gated"),
            Column::numbers("on CPU", "on_cpu"),
            Column::numbers("runnable", "runnable"),
            Column::numbers("waiting", "waiting"),
            Column::numbers("queue", "queue_mean"),
        ],
    );
    for StationRow { name, workers, passed, clock, queue_mean } in station_rows(pipeline) {
        let share = |ns: u64| Field::figure(Some(clock.share(ns)), percent);
        let busy = clock.busy;
        table.push(vec![
            Field::text(name),
            Field::count(u64::from(workers)),
            Field::count(passed),
            share(busy.total_ns()),
            share(clock.starved_ns),
            share(clock.blocked_ns),
            share(clock.gated_ns),
            share(busy.on_cpu_ns),
            share(busy.runnable_ns),
            share(busy.total_ns() - busy.cpu_ns()),
            Field::figure(queue_mean, |mean| format!("{mean:.1}")),
        ]);
    }
    table
}

/// What the devices under a volume did.
pub(super) struct VolumeRow {
    pub(super) name: String,
    pub(super) iops: f64,
    pub(super) iops_max: f64,
    pub(super) bytes_per_s: f64,
    pub(super) latency_mean_ns: f64,
    pub(super) latency_max_ns: f64,
    pub(super) busy: f64,
}

impl VolumeRow {
    fn of(name: String, volume: &VolumeUse, interval_ns: u64) -> Option<Self> {
        let (series, every_s) = (&volume.series, interval_ns as f64 / 1e9);
        let sum = |of: fn(&loadline_record::VolumeSecond) -> u64| series.iter().map(of).sum::<u64>() as f64;
        let requests = sum(|of| of.requests);
        let time_s = series.len() as f64 * every_s;
        let means = series.iter().filter(|of| of.requests > 0);
        (time_s > 0.0).then(|| Self {
            name,
            iops: requests / time_s,
            iops_max: series.iter().map(|of| of.requests).max().unwrap_or_default() as f64 / every_s,
            bytes_per_s: sum(|of| of.bytes) / time_s,
            latency_mean_ns: sum(|of| of.latency_ns) / requests.max(1.0),
            latency_max_ns: means.map(|of| of.latency_ns as f64 / of.requests as f64).fold(0.0, f64::max),
            busy: sum(|of| of.busy_ns) / time_s / 1e9,
        })
    }
}

/// Every volume by itself, whatever devices it shares.
pub(super) fn volume_rows(pipeline: &PipelineRecord) -> impl Iterator<Item = VolumeRow> {
    let named = in_order(pipeline).map(|volume| (volume.role.name().to_owned(), volume));
    named.filter_map(|(name, volume)| VolumeRow::of(name, volume, pipeline.interval_ns))
}

/// Volumes by what counts for them: those on the same devices are one row, as the counters of a device are of all that is on it.
fn shared_volumes<'r>(record: &'r RunRecord, pipeline: &'r PipelineRecord) -> Vec<(String, &'r VolumeUse)> {
    let devices = |role: VolumeRole| {
        let facts = record.header.volumes.iter().find(|facts| facts.name == role.name());
        let names: Vec<&str> =
            facts.iter().flat_map(|facts| &facts.devices).map(|device| device.name.as_str()).collect();
        Some(names).filter(|names| !names.is_empty())
    };
    let mut rows: Vec<(String, &VolumeUse)> = Vec::new();
    for volume in in_order(pipeline) {
        let own = devices(volume.role);
        match rows.iter_mut().find(|(_, first)| own.is_some() && devices(first.role) == own) {
            Some((name, _)) => *name = format!("{name}, {}", volume.role.name()),
            None => rows.push((volume.role.name().to_owned(), volume)),
        }
    }
    rows
}

fn in_order(pipeline: &PipelineRecord) -> impl Iterator<Item = &VolumeUse> {
    VolumeRole::ALL.into_iter().filter_map(|role| pipeline.volumes.iter().find(|volume| volume.role == role))
}

pub(super) fn volumes(record: &RunRecord, pipeline: &PipelineRecord) -> AnswerTable {
    let mut table = AnswerTable::new(
        "Volumes",
        &[
            Column::words("volume", "volume"),
            Column::numbers("IOPS", "iops"),
            Column::numbers("most", "iops_max"),
            Column::numbers("MB/s", "bytes_per_s"),
            Column::numbers("latency", "latency_mean_ns"),
            Column::numbers("most", "latency_max_ns"),
            Column::numbers("busy", "busy"),
        ],
    );
    for (name, volume) in shared_volumes(record, pipeline) {
        let Some(row) = VolumeRow::of(name, volume, pipeline.interval_ns) else { continue };
        table.push(vec![
            Field::text(row.name),
            Field::figure(Some(row.iops), per_second),
            Field::figure(Some(row.iops_max), per_second),
            Field::figure(Some(row.bytes_per_s), |bytes| format!("{:.1}", bytes / 1e6)),
            Field::figure(Some(row.latency_mean_ns), span),
            Field::figure(Some(row.latency_max_ns), span),
            Field::figure(Some(row.busy), percent),
        ]);
    }
    table
}

/// The effect of every station that was slowed, on each source.
pub(super) fn slowed(pipeline: &PipelineRecord, confirmed: &[Confirmation]) -> AnswerTable {
    let mut table = AnswerTable::new(
        "Slowed by 10 %, one at a time: 1 where the rate follows, 0 where nothing changes",
        &[
            Column::words("source", "source"),
            Column::words("slowed", "slowed"),
            Column::numbers("effect", "elasticity"),
            Column::numbers("from", "low"),
            Column::numbers("to", "high"),
            Column::numbers("windows", "windows"),
        ],
    );
    for (of, measured) in confirmed.iter().flat_map(|of| of.measured.iter().map(move |measured| (of, measured))) {
        let figure = |value: f64| Field::figure(Some(value), |value| format!("{value:.2}"));
        table.push(vec![
            Field::text(&of.source),
            Field::text(words::slowed(measured.slowed, &pipeline.spec)),
            figure(measured.elasticity),
            figure(measured.low),
            figure(measured.high),
            Field::count(u64::from(measured.windows)),
        ]);
    }
    table
}

pub(super) fn what_if(tried: &[(String, WhatIf)]) -> AnswerTable {
    let mut table = AnswerTable::new(
        "What if",
        &[
            Column::words("change", "change"),
            Column::words("of", "of"),
            Column::numbers("times as fast", "ratio"),
            Column::numbers("from", "low"),
            Column::numbers("to", "high"),
            Column::words("from and to allow for", "assumed"),
        ],
    );
    for (text, found) in tried {
        let sources = found.sources.iter().map(|source| (source.source.as_str(), source.gain, &[][..]));
        for (of, gain, assumed) in sources.chain([("the whole crawl", found.crawl, &found.assumed[..])]) {
            let figure = |value: f64| Field::figure(Some(value), |value| format!("{value:.2}"));
            table.push(vec![
                Field::text(text),
                Field::text(of),
                figure(gain.ratio),
                figure(gain.low),
                figure(gain.high),
                Field::text(assumed.iter().map(words::assumed).collect::<Vec<_>>().join("; ")),
            ]);
        }
    }
    table
}
