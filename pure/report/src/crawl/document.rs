//! A crawl as programs read it: schema `loadline.crawl/1`, published in `docs/formats/crawl.schema.json`.

use super::{CrawlReport, tables};
use crate::document::DoubtDocument;
use crate::words::crawl as words;
use loadline_analysis::{RunInfo, summarize};
use loadline_pipeline::{
    Attribution, Bound, Confirmation, ConfirmedBy, Evidence, HeldVolumes, Lever, WhatIf, held_volumes,
};
use loadline_record::{PipelineRecord, StationClock};
use serde::Serialize;
use std::collections::BTreeMap;

/// The schema's name and version.
pub const CRAWL_SCHEMA: &str = "loadline.crawl/1";

/// A whole crawl. Missing figures are `null`, never 0.
#[derive(Debug, Clone, Serialize)]
pub struct CrawlDocument<'a> {
    schema: &'static str,
    run: RunInfo,
    /// From the start to the end of the last commit.
    wall_ns: u64,
    sources: Vec<SourceView>,
    /// Fetching of each source, then the stations that sources share.
    stages: Vec<StageView>,
    volumes: Vec<VolumeView>,
    findings: Vec<FindingView>,
    /// Why the figures should not be believed as they stand.
    doubts: Vec<DoubtDocument<'a>>,
    /// The limits at which its volumes were; `null` of one without surroundings.
    held: Option<Vec<HeldVolumes>>,
    /// What slowing stations on purpose showed; empty where none was slowed.
    confirmed: Vec<Confirmation>,
    what_if: Vec<TriedChange>,
    /// The change to try next.
    next: Option<NextChange>,
}

/// A source.
#[derive(Debug, Clone, Serialize)]
struct SourceView {
    name: String,
    items: u64,
    failed: u64,
    unchanged: u64,
    removed: u64,
    failures: BTreeMap<String, u64>,
    notes: BTreeMap<String, u64>,
    duration_s: f64,
    rate_per_s: Option<f64>,
    in_flight: f64,
    in_flight_allowed: u32,
    gated_share: f64,
    repository_latency_ns: Option<RepositoryLatency>,
    bound: BoundView,
}

/// The time that the repository took for an item, of the sample.
#[derive(Debug, Clone, Serialize)]
struct RepositoryLatency {
    mean: f64,
    p50: u64,
    p95: u64,
    p99: u64,
}

/// What bound a source.
#[derive(Debug, Clone, Serialize)]
struct BoundView {
    /// `null`: no station's alone, or not known.
    stage: Option<&'static str>,
    cause: &'static str,
    /// For how much of the source's time the clocks name this part.
    share: Option<f64>,
    evidence: String,
    /// The same as values: the parts, and the figures that say so.
    attribution: Bound,
    parts: Vec<PartView>,
    figures: Evidence,
}

/// One part of several that bound a source.
#[derive(Debug, Clone, Serialize)]
struct PartView {
    stage: Option<&'static str>,
    cause: &'static str,
    share: Option<f64>,
    /// `log2` of how many times as fast the source would be, were this part twice as fast.
    elasticity: Option<f64>,
}

/// A station. Shares are of its workers' time.
#[derive(Debug, Clone, Serialize)]
struct StageView {
    name: String,
    workers: u32,
    passed: u64,
    busy: f64,
    starved: f64,
    blocked: f64,
    gated: f64,
    on_cpu: f64,
    runnable: f64,
    waiting: f64,
    queue_mean: Option<f64>,
}

/// What the devices under a volume did.
#[derive(Debug, Clone, Serialize)]
struct VolumeView {
    volume: String,
    iops: f64,
    iops_max: f64,
    bytes_per_s: f64,
    latency_mean_ns: f64,
    latency_max_ns: f64,
    busy: f64,
}

/// One thing that the crawl shows of a source.
#[derive(Debug, Clone, Serialize)]
struct FindingView {
    code: &'static str,
    text: String,
    source: String,
}

/// A change that was tried.
#[derive(Debug, Clone, Serialize)]
struct TriedChange {
    change: String,
    found: WhatIf,
}

/// A change to try.
#[derive(Debug, Clone, Serialize)]
struct NextChange {
    change: String,
}

impl CrawlReport<'_> {
    /// As programs read it.
    #[must_use]
    pub fn document(&self) -> CrawlDocument<'_> {
        let Self { record, pipeline, attributions, confirmed, tried, tags } = self;
        let change = |(change, found): &(String, WhatIf)| TriedChange { change: change.clone(), found: found.clone() };
        CrawlDocument {
            schema: CRAWL_SCHEMA,
            run: RunInfo { tags: tags.clone(), ..summarize(record).run },
            wall_ns: pipeline.wall_ns,
            sources: (0..attributions.len()).map(|place| source(pipeline, place, &attributions[place])).collect(),
            stages: stages(pipeline),
            volumes: tables::volume_rows(pipeline).map(VolumeView::from).collect(),
            findings: self.findings(),
            doubts: self.doubts().into_iter().map(DoubtDocument::of).collect(),
            held: pipeline.surroundings.as_ref().map(|_| held_volumes(pipeline)),
            confirmed: confirmed.clone(),
            what_if: tried.iter().map(change).collect(),
            next: self.suggestion().map(|change| NextChange { change }),
        }
    }

    fn findings(&self) -> Vec<FindingView> {
        let spec = &self.pipeline.spec;
        let share = self.pipeline.slowed.as_ref().map_or(0.0, |slowed| slowed.share);
        let bound = self.attributions.iter().map(|of| FindingView {
            code: match of.bound {
                Bound::By(_) => "bound",
                Bound::Shared(_) => "bound-in-part",
                Bound::Failed => "source-failed",
                Bound::CannotTell(_) => "bound-not-known",
            },
            text: words::attribution(of, spec),
            source: of.source.clone(),
        });
        let confirmed = self.confirmed.iter().map(|of| FindingView {
            code: match of.agreement {
                ConfirmedBy::Agrees => "slowing-agrees",
                ConfirmedBy::Disagrees => "slowing-disagrees",
                ConfirmedBy::TooWide => "slowing-undecided",
                ConfirmedBy::NotTested => "slowing-not-tested",
            },
            text: words::confirmation(of, spec, share),
            source: of.source.clone(),
        });
        bound.chain(confirmed).collect()
    }
}

fn source(pipeline: &PipelineRecord, place: usize, of: &Attribution) -> SourceView {
    let record = &pipeline.sources[place];
    let ns = tables::repository_ns(pipeline, place);
    let percentile = |percent| tables::percentile(&ns, percent).unwrap_or_default();
    let latency = tables::mean(&ns).map(|mean| RepositoryLatency {
        mean,
        p50: percentile(50),
        p95: percentile(95),
        p99: percentile(99),
    });
    SourceView {
        name: record.name.clone(),
        items: record.items,
        failed: record.failed(),
        unchanged: record.unchanged,
        removed: record.removed,
        failures: record.failures.clone(),
        notes: record.notes.clone(),
        duration_s: record.ended_ns as f64 / 1e9,
        rate_per_s: tables::rate_of(pipeline, place),
        in_flight: of.evidence.in_flight,
        in_flight_allowed: of.evidence.in_flight_allowed,
        gated_share: of.evidence.slots.gated,
        repository_latency_ns: latency,
        bound: bound(of, pipeline),
    }
}

fn bound(of: &Attribution, pipeline: &PipelineRecord) -> BoundView {
    let Attribution { bound, evidence, .. } = of;
    let part = |lever: &Lever| PartView {
        stage: lever.station().map(loadline_record::Station::name),
        cause: lever.name(),
        share: evidence.by_clocks.iter().find(|of| of.lever == *lever).map(|of| of.share),
        elasticity: evidence.by_replay.iter().find(|of| of.lever == *lever).map(|of| of.elasticity),
    };
    let parts: Vec<PartView> = bound.levers().iter().map(part).collect();
    let first = parts.first();
    BoundView {
        stage: first.and_then(|first| first.stage),
        cause: first.map_or(if *bound == Bound::Failed { "failed" } else { "not-known" }, |first| first.cause),
        share: first.and_then(|first| first.share),
        evidence: words::attribution(of, &pipeline.spec),
        attribution: bound.clone(),
        parts,
        figures: evidence.clone(),
    }
}

fn stages(pipeline: &PipelineRecord) -> Vec<StageView> {
    let stage = |tables::StationRow { name, workers, passed, clock, queue_mean }: tables::StationRow<'_>| {
        let share = |ns: u64| clock.share(ns);
        let StationClock { starved_ns, blocked_ns, gated_ns, busy } = clock;
        StageView {
            name,
            workers,
            passed,
            busy: share(busy.total_ns()),
            starved: share(*starved_ns),
            blocked: share(*blocked_ns),
            gated: share(*gated_ns),
            on_cpu: share(busy.on_cpu_ns),
            runnable: share(busy.runnable_ns),
            waiting: share(busy.total_ns() - busy.cpu_ns()),
            queue_mean,
        }
    };
    tables::station_rows(pipeline).into_iter().map(stage).collect()
}

impl From<tables::VolumeRow> for VolumeView {
    fn from(row: tables::VolumeRow) -> Self {
        let tables::VolumeRow { name, iops, iops_max, bytes_per_s, latency_mean_ns, latency_max_ns, busy } = row;
        Self { volume: name, iops, iops_max, bytes_per_s, latency_mean_ns, latency_max_ns, busy }
    }
}
