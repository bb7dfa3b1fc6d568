//! What a crawl shows: its sources, stations and volumes, what bound each source, and what changes would bring.

use crate::arguments::Format;
use crate::output::{self, Column, Field, Table};
use crate::printing;
use crate::recommendations::{in_shell, report_command};
use crate::typed_words::store_option;
use loadline_crawl::{of_record, pipeline_of};
use loadline_pipeline::{Attribution, Bound, Confirmation, ConfirmedBy, WhatIf, confirm, slowed_words};
use loadline_record::{PipelineRecord, RunRecord, SourceRecord, StationClock, StationRecord, VolumeRole, VolumeUse};
use loadline_report::RunAnswer;
use loadline_units::words::{span, whole_percent as percent};
use serde_json::{Value as Json, json};

/// Lines of the verdict at most.
const VERDICT_MAX: usize = 9;
/// Lines of it on stations that were slowed.
const CONFIRMED_MAX: usize = 2;
/// Reasons and notes of a source that are shown.
const REASONS_MAX: usize = 5;

/// The crawl of a stored run as text; `None`: it is none, or did not come to its end.
pub(crate) fn stored_text(record: &RunRecord) -> Option<String> {
    pipeline_of(record)?;
    text(record, &[], Format::Table).ok()
}

/// What a report of the crawl opens with; `None`: it is none, or did not come to its end.
pub(crate) fn answer(record: &RunRecord) -> Option<RunAnswer> {
    let pipeline = pipeline_of(record)?;
    let attributions = of_record(record).ok()?;
    let mut tables = vec![
        sources_table(pipeline, &attributions).in_report("Sources"),
        stations_table(pipeline).in_report("Stations"),
    ];
    let volumes = volumes_table(pipeline, shared_volumes(record, pipeline));
    if !volumes.is_empty() {
        tables.push(volumes.in_report("Volumes"));
    }
    Some(RunAnswer { lines: verdict(record, pipeline, &attributions, false), tables })
}

/// The crawl as text, ending with a line break.
pub(super) fn text(record: &RunRecord, tried: &[(String, WhatIf)], format: Format) -> anyhow::Result<String> {
    let attributions = of_record(record)?;
    let Some(pipeline) = pipeline_of(record) else { return Ok(String::new()) };
    let sources = sources_table(pipeline, &attributions);
    if format == Format::Json {
        return Ok(output::pretty(&document(record, pipeline, &attributions, tried)));
    }
    if format == Format::Csv {
        return Ok(sources.render(format, false));
    }
    let colour = output::colour_wanted();
    let heading = |text: &str| if format == Format::Markdown { format!("## {text}\n\n") } else { format!("{text}\n") };
    let mut parts = vec![
        format!(
            "{}run {}: crawl {}\n",
            if format == Format::Markdown { "# " } else { "" },
            record.header.id,
            record.header.name
        ),
        sources.render(format, colour),
        format!("{}{}", heading("Stations"), stations_table(pipeline).render(format, colour)),
    ];
    let volumes = volumes_table(pipeline, shared_volumes(record, pipeline));
    if !volumes.is_empty() {
        parts.push(format!("{}{}", heading("Volumes"), volumes.render(format, colour)));
    }
    let confirmed = confirm(pipeline, &attributions);
    let slowed = slowed_table(pipeline, &confirmed);
    if !slowed.is_empty() {
        let heading = heading("Slowed by 10 %, one at a time: 1 where the rate follows, 0 where nothing changes");
        parts.push(format!("{heading}{}", slowed.render(format, colour)));
    }
    let notes = notes(pipeline);
    if !notes.is_empty() {
        parts.push(format!("{}{}", heading("Failures and notes"), lines(&notes)));
    }
    if !tried.is_empty() {
        parts.push(format!("{}{}", heading("What if"), what_if_table(tried).render(format, colour)));
    }
    let mut conclusion = verdict(record, pipeline, &attributions, tried.is_empty());
    conclusion.push(("report".to_owned(), report_command([record.header.id.as_str()])));
    parts.push(printing::verdict(&conclusion, format));
    Ok(parts.join("\n"))
}

pub(super) fn lines(of: &[String]) -> String {
    of.iter().flat_map(|line| ["  ", line, "\n"]).collect()
}

/// Items or requests per second.
pub(super) fn per_second(rate: f64) -> String {
    if rate >= 100.0 { format!("{rate:.0}") } else { format!("{rate:.1}") }
}

/// A time as a clock shows it.
pub(super) fn seconds(ns: u64) -> String {
    loadline_units::Duration::from_ns(ns).clock()
}

/// Mean and 95th percentile of the time that the repository took for an item, of the sample.
fn repository(pipeline: &PipelineRecord, place: usize) -> Option<(f64, u64)> {
    let items = pipeline.items.iter().filter(|item| item.source as usize == place);
    let mut ns: Vec<u64> = items.map(|item| item.last_byte_ns.saturating_sub(item.connected_ns)).collect();
    ns.sort_unstable();
    let mean = ns.iter().sum::<u64>() as f64 / ns.len() as f64;
    let p95 = ns.get((ns.len() * 95 / 100).min(ns.len().checked_sub(1)?))?;
    Some((mean, *p95))
}

fn sources_table(pipeline: &PipelineRecord, attributions: &[Attribution]) -> Table {
    let mut table = Table::new(&[
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
    ]);
    for (place, source) in pipeline.sources.iter().enumerate() {
        let of = attributions.get(place).map(|of| &of.evidence);
        let rate = source.items as f64 * 1e9 / source.ended_ns.max(1) as f64;
        let figure = |value: Option<f64>, shown: &dyn Fn(f64) -> String| {
            value.map_or_else(|| Field::both("-", Json::Null), |value| Field::both(shown(value), value))
        };
        let repository = repository(pipeline, place);
        table.push(vec![
            Field::text(&source.name),
            Field::count(source.items),
            Field::count(source.failed()),
            Field::count(source.unchanged),
            Field::both(seconds(source.ended_ns), source.ended_ns as f64 / 1e9),
            // Of a source that failed there is no rate.
            figure((source.items > 0).then_some(rate), &|rate| per_second(rate)),
            figure(repository.map(|(mean, _)| mean), &span),
            figure(repository.map(|(_, p95)| p95 as f64), &span),
            figure(of.map(|of| of.in_flight), &|value| format!("{value:.1}")),
            Field::count(u64::from(pipeline.spec.sources[place].slots)),
            figure(of.map(|of| of.slots.gated), &percent),
            Field::text(attributions.get(place).map_or_else(|| "-".to_owned(), |of| bound(of, pipeline))),
        ]);
    }
    table
}

/// What bound each source of a crawl, by its name; nothing of crawls of others.
pub(super) fn bound_words(record: &RunRecord) -> Vec<(String, String)> {
    let (Some(pipeline), Ok(attributions)) = (pipeline_of(record), of_record(record)) else { return Vec::new() };
    attributions.iter().map(|of| (of.source.clone(), bound(of, pipeline))).collect()
}

/// The parts that bound a source, without their figures.
fn bound(of: &Attribution, pipeline: &PipelineRecord) -> String {
    let words = |lever: &loadline_pipeline::Lever| lever.words(&pipeline.spec);
    match &of.bound {
        Bound::By(lever) => words(lever),
        Bound::Shared(levers) => levers.iter().map(words).collect::<Vec<_>>().join(" and "),
        Bound::Failed => "failed".to_owned(),
        Bound::CannotTell(_) => "not known".to_owned(),
    }
}

fn stations_table(pipeline: &PipelineRecord) -> Table {
    let mut table = Table::new(&[
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
    ]);
    let row = |name: String, workers: u32, passed: u64, clock: &StationClock, queue: Option<f64>| {
        let share = |ns: u64| {
            let share = clock.share(ns);
            Field::both(percent(share), share)
        };
        let busy = clock.busy;
        let waiting = busy.total_ns() - busy.cpu_ns();
        vec![
            Field::text(name),
            Field::count(u64::from(workers)),
            Field::count(passed),
            share(busy.total_ns()),
            share(clock.starved_ns),
            share(clock.blocked_ns),
            share(clock.gated_ns),
            share(busy.on_cpu_ns),
            share(busy.runnable_ns),
            share(waiting),
            queue.map_or_else(|| Field::both("-", Json::Null), |mean| Field::both(format!("{mean:.1}"), mean)),
        ]
    };
    for (source, spec) in pipeline.sources.iter().zip(&pipeline.spec.sources) {
        table.push(row(format!("fetch {}", source.name), spec.slots, source.items, &source.clock, None));
    }
    for StationRecord { station, workers, clock, queue, passed, .. } in &pipeline.stations {
        let mean = queue.item_us as f64 * 1e3 / pipeline.wall_ns.max(1) as f64;
        let is_line = loadline_record::Station::LINE.contains(station);
        table.push(row(station.name().to_owned(), *workers, *passed, clock, is_line.then_some(mean)));
    }
    table
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
    for volume in volumes_in_order(pipeline) {
        let own = devices(volume.role);
        match rows.iter_mut().find(|(_, first)| own.is_some() && devices(first.role) == own) {
            Some((name, _)) => *name = format!("{name}, {}", volume.role.name()),
            None => rows.push((volume.role.name().to_owned(), volume)),
        }
    }
    rows
}

fn volumes_in_order(pipeline: &PipelineRecord) -> impl Iterator<Item = &VolumeUse> {
    VolumeRole::ALL.into_iter().filter_map(|role| pipeline.volumes.iter().find(|volume| volume.role == role))
}

fn volumes_table<'v>(pipeline: &PipelineRecord, volumes: impl IntoIterator<Item = (String, &'v VolumeUse)>) -> Table {
    let mut table = Table::new(&[
        Column::words("volume", "volume"),
        Column::numbers("IOPS", "iops"),
        Column::numbers("most", "iops_max"),
        Column::numbers("MB/s", "bytes_per_s"),
        Column::numbers("latency", "latency_mean_ns"),
        Column::numbers("most", "latency_max_ns"),
        Column::numbers("busy", "busy"),
    ]);
    let interval_s = pipeline.interval_ns as f64 / 1e9;
    for (name, VolumeUse { series, .. }) in volumes {
        let sum = |of: fn(&loadline_record::VolumeSecond) -> u64| series.iter().map(of).sum::<u64>() as f64;
        let (requests, bytes, latency, busy) =
            (sum(|of| of.requests), sum(|of| of.bytes), sum(|of| of.latency_ns), sum(|of| of.busy_ns));
        let time = series.len() as f64 * interval_s;
        if time <= 0.0 {
            continue;
        }
        let most = series.iter().map(|of| of.requests).max().unwrap_or_default() as f64 / interval_s;
        let means = series.iter().filter(|of| of.requests > 0);
        let latency_max = means.map(|of| of.latency_ns as f64 / of.requests as f64).fold(0.0, f64::max);
        let mean = latency / requests.max(1.0);
        table.push(vec![
            Field::text(name),
            Field::both(per_second(requests / time), requests / time),
            Field::both(per_second(most), most),
            Field::both(format!("{:.1}", bytes / time / 1e6), bytes / time),
            Field::both(span(mean), mean),
            Field::both(span(latency_max), latency_max),
            Field::both(percent(busy / time / 1e9), busy / time / 1e9),
        ]);
    }
    table
}

/// Failures by reason and what else is of note, the most frequent first.
fn notes(pipeline: &PipelineRecord) -> Vec<String> {
    let mut lines = Vec::new();
    for SourceRecord { name, failures, notes, removed, .. } in &pipeline.sources {
        for (what, counts) in [("failed", failures), ("note", notes)] {
            let mut counts: Vec<(&String, &u64)> = counts.iter().collect();
            counts.sort_by_key(|(reason, count)| (std::cmp::Reverse(**count), (*reason).clone()));
            let shown = counts.iter().take(REASONS_MAX);
            lines.extend(shown.map(|(reason, count)| format!("{name}: {what}: {reason}: {count}")));
            if counts.len() > REASONS_MAX {
                let rest: u64 = counts[REASONS_MAX..].iter().map(|(_, count)| **count).sum();
                lines.push(format!("{name}: {what}: for other reasons: {rest}"));
            }
        }
        if *removed > 0 {
            lines.push(format!("{name}: removed, as they are gone: {removed}"));
        }
    }
    lines
}

/// The effect of every station that was slowed, on each source.
fn slowed_table(pipeline: &PipelineRecord, confirmed: &[Confirmation]) -> Table {
    let mut table = Table::new(&[
        Column::words("source", "source"),
        Column::words("slowed", "slowed"),
        Column::numbers("effect", "elasticity"),
        Column::numbers("from", "low"),
        Column::numbers("to", "high"),
        Column::numbers("windows", "windows"),
    ]);
    for of in confirmed {
        for measured in &of.measured {
            let figure = |value: f64| Field::both(format!("{value:.2}"), value);
            table.push(vec![
                Field::text(&of.source),
                Field::text(slowed_words(measured.slowed, &pipeline.spec)),
                figure(measured.elasticity),
                figure(measured.low),
                figure(measured.high),
                Field::count(u64::from(measured.windows)),
            ]);
        }
    }
    table
}

fn what_if_table(tried: &[(String, WhatIf)]) -> Table {
    let mut table = Table::new(&[
        Column::words("change", "change"),
        Column::words("of", "of"),
        Column::numbers("times as fast", "ratio"),
        Column::numbers("from", "low"),
        Column::numbers("to", "high"),
    ]);
    for (text, found) in tried {
        let sources = found.sources.iter().map(|source| (source.source.as_str(), source.gain));
        for (of, gain) in sources.chain([("the whole crawl", found.crawl)]) {
            let figure = |value: f64| Field::both(format!("{value:.2}"), value);
            table.push(vec![
                Field::text(text),
                Field::text(of),
                figure(gain.ratio),
                figure(gain.low),
                figure(gain.high),
            ]);
        }
    }
    table
}

/// What bound each source, and a change to try, in a few lines.
fn verdict(
    record: &RunRecord,
    pipeline: &PipelineRecord,
    attributions: &[Attribution],
    suggests: bool,
) -> Vec<(String, String)> {
    let line = |of: &Attribution| ("bound".to_owned(), of.sentence(&pipeline.spec));
    let mut lines: Vec<(String, String)> = attributions.iter().map(line).collect();
    let share = pipeline.slowed.as_ref().map_or(0.0, |slowed| slowed.share);
    let confirmed = confirm(pipeline, attributions);
    let tested = confirmed.iter().filter(|of| of.agreement != ConfirmedBy::NotTested);
    let confirmed: Vec<String> = if tested.clone().count() > 0 {
        tested.map(|of| of.sentence(&pipeline.spec, share)).collect()
    } else {
        confirmed.iter().take(1).map(|of| of.sentence(&pipeline.spec, share)).collect()
    };
    let shown = confirmed.len().min(CONFIRMED_MAX);
    let most = VERDICT_MAX - 2 - shown;
    if lines.len() > most {
        let rest = lines.len() - most + 1;
        lines.truncate(most - 1);
        lines.push(("more".to_owned(), format!("{rest} other sources: see the table above")));
    }
    lines.extend(confirmed.into_iter().take(shown).map(|sentence| ("confirmed".to_owned(), sentence)));
    let slowest = attributions.iter().max_by_key(|of| {
        pipeline.sources.iter().find(|source| source.name == of.source).map_or(0, |source| source.ended_ns)
    });
    if let Some(change) = slowest.filter(|_| suggests).and_then(|of| suggestion(of, pipeline)) {
        lines.push((
            "next".to_owned(),
            format!("loadline crawl --stored {} --what-if {}{}", record.header.id, in_shell(&change), store_option()),
        ));
    }
    lines
}

/// The change that doubles what bound a source.
fn suggestion(of: &Attribution, pipeline: &PipelineRecord) -> Option<String> {
    use loadline_pipeline::Lever;
    let lever = match &of.bound {
        Bound::By(lever) => *lever,
        Bound::Shared(levers) => *levers.first()?,
        Bound::Failed | Bound::CannotTell(_) => return None,
    };
    let name = |place: usize| pipeline.spec.sources.get(place).map(|source| source.name.clone());
    Some(match lever {
        Lever::Repository(place) => format!("{} slots x2", name(place)?),
        Lever::Politeness(place) => format!("{} crawl delay x0.5", name(place)?),
        Lever::Connections(place) => format!("{} connections x2", name(place)?),
        Lever::Network => "network x2".to_owned(),
        Lever::Cores => {
            // More processors help where there are workers for them.
            let line = pipeline.stations.iter().filter(|of| loadline_record::Station::LINE.contains(&of.station));
            let busiest = line.max_by_key(|of| of.clock.busy.cpu_ns() / u64::from(of.workers))?;
            format!("cores x2; {} workers x2", busiest.station)
        }
        Lever::Workers(station) => format!("{station} workers x2"),
        Lever::Volume(role) => format!("{role} volume x2"),
        Lever::Commit => "commit x2".to_owned(),
        Lever::Memory => "index memory x2".to_owned(),
        Lever::Discovery(_) | Lever::Waits(_) | Lever::Merges => return None,
    })
}

fn document(
    record: &RunRecord,
    pipeline: &PipelineRecord,
    attributions: &[Attribution],
    tried: &[(String, WhatIf)],
) -> Json {
    let table =
        |table: Table| -> Json { serde_json::from_str(&table.render(Format::Json, false)).expect("a table is JSON") };
    let changes = tried.iter().map(|(text, found)| json!({ "change": text, "found": found }));
    let sentences: Vec<String> = attributions.iter().map(|of| of.sentence(&pipeline.spec)).collect();
    json!({
        "run": record.header.id,
        "name": record.header.name,
        "wall_ns": pipeline.wall_ns,
        "sources": table(sources_table(pipeline, attributions)),
        "stations": table(stations_table(pipeline)),
        "volumes": table(volumes_table(
            pipeline,
            volumes_in_order(pipeline).map(|volume| (volume.role.name().to_owned(), volume)),
        )),
        "failures": pipeline.sources.iter().map(|of| json!({
            "source": of.name, "reasons": of.failures, "notes": of.notes, "removed": of.removed,
        })).collect::<Vec<_>>(),
        "attributions": attributions,
        "sentences": sentences,
        "confirmed": confirm(pipeline, attributions),
        "what_if": changes.collect::<Vec<_>>(),
    })
}
