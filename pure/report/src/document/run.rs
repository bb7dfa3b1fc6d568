//! A run: schema `loadline.run/1`, published in `docs/formats/run.schema.json`.

use super::DoubtDocument;
use crate::words::certainty::because;
use crate::words::evidence::{evidence, paragraph};
use crate::words::{self, ceiling_source, finding, hosts, verdict, watch};
use loadline_analysis::{
    Advised, AdvisedStep, Because, CauseShare, Ceiling, CellSummary, Conclusion, Finding, FindingCode, FindingSeen,
    Holder, HostsScaling, HostsView, LastingFigures, LoadReached, LoadsMissing, Meaning, NextMeasurement,
    ObjectiveVerdict, RecordedSource, RunInfo, RunSummary, Straggler, VerdictBlock, VolumeVerdict, WaitAbove,
    WatchHolder, WatchNext, WatchView,
};
use loadline_record::{Binding, CeilingSource, Evidence, Limit, WatchCause, WatchGain};
use serde::Serialize;

/// A run with its sentences.
#[derive(Debug, Serialize)]
pub struct RunDocument<'a> {
    schema: &'a str,
    run: &'a RunInfo,
    cells: Vec<CellDocument<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hosts_scaling: Vec<HostsScalingDocument<'a>>,
    conclusions: Vec<ConclusionDocument<'a>>,
    findings: Vec<FindingDocument<'a>>,
    verdict: Option<VerdictDocument<'a>>,
}

/// The document of a run.
#[must_use]
pub fn run_document(summary: &RunSummary) -> RunDocument<'_> {
    RunDocument {
        schema: &summary.schema,
        run: &summary.run,
        cells: summary.cells.iter().map(CellDocument::of).collect(),
        hosts_scaling: summary.hosts_scaling.iter().map(HostsScalingDocument::of).collect(),
        conclusions: summary.conclusions.iter().map(ConclusionDocument::of).collect(),
        findings: summary.findings.iter().map(|found| FindingDocument::of(summary, found)).collect(),
        verdict: summary.verdict.as_ref().map(VerdictDocument::of),
    }
}

#[derive(Debug, Serialize)]
struct CellDocument<'a> {
    #[serde(flatten)]
    cell: &'a CellSummary,
    lasting: Option<LastingDocument<'a>>,
    binding: Option<BindingDocument<'a>>,
    doubts: Vec<DoubtDocument<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    watch: Option<WatchDocument<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hosts: Option<HostsDocument<'a>>,
    ceilings: Vec<CeilingDocument<'a>>,
}

impl<'a> CellDocument<'a> {
    fn of(cell: &'a CellSummary) -> Self {
        let binding =
            cell.binding.as_ref().map(|binding| BindingDocument { evidence: evidence(&binding.seen), binding });
        let lasting = cell.lasting.as_ref().map(|figures| {
            let seen = figures.source.as_ref();
            LastingDocument { figures, source: seen.map(ceiling_source), seen }
        });
        let ceilings = cell.ceilings.iter().map(CeilingDocument::of).collect();
        let watch = cell.watch.as_ref().map(WatchDocument::of);
        let hosts = cell.hosts.as_ref().map(HostsDocument::of);
        Self { cell, lasting, binding, doubts: DoubtDocument::of_all(&cell.doubts), watch, hosts, ceilings }
    }
}

#[derive(Debug, Serialize)]
struct LastingDocument<'a> {
    #[serde(flatten)]
    figures: &'a LastingFigures,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seen: Option<&'a CeilingSource>,
}

#[derive(Debug, Serialize)]
struct CeilingDocument<'a> {
    limit: Limit,
    iops: f64,
    source: String,
    seen: &'a CeilingSource,
}

impl<'a> CeilingDocument<'a> {
    fn of(ceiling: &'a Ceiling) -> Self {
        let Ceiling { limit, iops, source: seen } = ceiling;
        Self { limit: *limit, iops: *iops, source: ceiling_source(seen), seen }
    }
}

#[derive(Debug, Serialize)]
struct BindingDocument<'a> {
    evidence: String,
    #[serde(flatten)]
    binding: &'a Binding,
}

#[derive(Debug, Serialize)]
struct WatchDocument<'a> {
    causes: Vec<CauseDocument<'a>>,
    #[serde(flatten)]
    watch: &'a WatchView,
}

impl<'a> WatchDocument<'a> {
    fn of(watch: &'a WatchView) -> Self {
        Self { causes: watch.causes.iter().map(CauseDocument::of).collect(), watch }
    }
}

#[derive(Debug, Serialize)]
struct CauseDocument<'a> {
    cause: String,
    caused_by: &'a WatchCause,
    limit: Option<Limit>,
    share: f64,
}

impl<'a> CauseDocument<'a> {
    fn of(of: &'a CauseShare) -> Self {
        Self { cause: watch::cause(&of.cause), caused_by: &of.cause, limit: of.limit, share: of.share }
    }
}

#[derive(Debug, Serialize)]
struct HostsScalingDocument<'a> {
    #[serde(flatten)]
    scaling: &'a HostsScaling,
    text: String,
    evidence: String,
}

impl<'a> HostsScalingDocument<'a> {
    fn of(scaling: &'a HostsScaling) -> Self {
        Self { scaling, text: hosts::limit(&scaling.seen), evidence: hosts::shows(&scaling.seen) }
    }
}

#[derive(Debug, Serialize)]
struct HostsDocument<'a> {
    #[serde(flatten)]
    hosts: &'a HostsView,
    stragglers: Vec<StragglerDocument<'a>>,
}

impl<'a> HostsDocument<'a> {
    fn of(hosts: &'a HostsView) -> Self {
        let stragglers = hosts.stragglers.iter();
        let stragglers =
            stragglers.map(|straggler| StragglerDocument { straggler, evidence: hosts::straggler(&straggler.seen) });
        Self { hosts, stragglers: stragglers.collect() }
    }
}

#[derive(Debug, Serialize)]
struct StragglerDocument<'a> {
    #[serde(flatten)]
    straggler: &'a Straggler,
    evidence: String,
}

#[derive(Debug, Serialize)]
struct ConclusionDocument<'a> {
    volume: &'a str,
    cell: &'a str,
    limit: Option<Limit>,
    text: String,
    reached: &'a LoadReached,
    #[serde(skip_serializing_if = "Option::is_none")]
    held: Option<&'a WatchHolder>,
    evidence: Option<String>,
    #[serde(skip_serializing_if = "Evidence::is_empty")]
    seen: &'a Evidence,
    consequence: Option<String>,
    #[serde(skip_serializing_if = "<[Meaning]>::is_empty")]
    means: &'a [Meaning],
    #[serde(skip_serializing_if = "Option::is_none")]
    gain: Option<&'a WatchGain>,
    next: Option<String>,
    #[serde(skip_serializing_if = "<[AdvisedStep]>::is_empty")]
    steps: &'a [AdvisedStep],
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<&'a WatchNext>,
    #[serde(skip_serializing_if = "Option::is_none")]
    takes_ns: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    next_measurements: Vec<NextMeasurement>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    commands: &'a [String],
}

impl<'a> ConclusionDocument<'a> {
    fn of(conclusion: &'a Conclusion) -> Self {
        Self {
            volume: &conclusion.volume,
            cell: &conclusion.cell,
            limit: conclusion.limit,
            text: words::reached(conclusion),
            reached: &conclusion.reached,
            held: match &conclusion.reached {
                LoadReached::WatchHolder { holder } => Some(holder),
                _ => None,
            },
            evidence: paragraph(&conclusion.seen),
            seen: &conclusion.seen,
            consequence: words::meaning(conclusion),
            means: &conclusion.means,
            gain: conclusion.means.iter().find_map(|one| match one {
                Meaning::WatchGain { gain } => Some(gain),
                _ => None,
            }),
            next: words::next(conclusion),
            steps: &conclusion.steps,
            step: conclusion.steps.iter().find_map(|one| match one {
                AdvisedStep::WatchNext { step } => Some(step),
                _ => None,
            }),
            takes_ns: conclusion.takes_ns,
            next_measurements: conclusion.next_measurements(),
            commands: &conclusion.commands,
        }
    }
}

#[derive(Debug, Serialize)]
struct FindingDocument<'a> {
    code: FindingCode,
    text: String,
    seen: &'a FindingSeen,
    cells: &'a [String],
}

impl<'a> FindingDocument<'a> {
    fn of(summary: &RunSummary, found: &'a Finding) -> Self {
        Self { code: found.code, text: finding(summary, found), seen: &found.seen, cells: &found.cells }
    }
}

#[derive(Debug, Serialize)]
struct VerdictDocument<'a> {
    volumes: Vec<VolumeDocument<'a>>,
    volumes_left_out: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    afterwards: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_measured: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<&'a LoadsMissing>,
    objective: Option<ObjectiveDocument<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<SourceDocument<'a>>,
}

#[derive(Debug, Serialize)]
struct SourceDocument<'a> {
    #[serde(flatten)]
    source: &'a RecordedSource,
    text: String,
}

impl<'a> VerdictDocument<'a> {
    fn of(block: &'a VerdictBlock) -> Self {
        Self {
            volumes: block.volumes.iter().map(VolumeDocument::of).collect(),
            volumes_left_out: block.volumes_left_out,
            afterwards: block.afterwards.as_deref(),
            not_measured: block.not_measured.as_ref().map(verdict::not_measured),
            missing: block.not_measured.as_ref(),
            objective: block.objective.as_ref().map(ObjectiveDocument::of),
            source: block.source.as_ref().map(|source| SourceDocument { source, text: verdict::source(source) }),
        }
    }
}

#[derive(Debug, Serialize)]
struct ObjectiveDocument<'a> {
    objective: String,
    kept: bool,
    text: String,
    #[serde(flatten)]
    verdict: &'a ObjectiveVerdict,
}

impl<'a> ObjectiveDocument<'a> {
    fn of(of: &'a ObjectiveVerdict) -> Self {
        let (objective, text) = (verdict::objective(of), verdict::objective_found(of));
        Self { objective, kept: of.is_kept(), text, verdict: of }
    }
}

#[derive(Debug, Serialize)]
struct VolumeDocument<'a> {
    #[serde(flatten)]
    volume: &'a VolumeVerdict,
    held_by: String,
    held: &'a Holder,
    because: String,
    why: &'a Because,
    #[serde(skip_serializing_if = "Option::is_none")]
    latency: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wait: Option<&'a WaitAbove>,
    next: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<&'a Advised>,
}

impl<'a> VolumeDocument<'a> {
    fn of(volume: &'a VolumeVerdict) -> Self {
        Self {
            volume,
            held_by: verdict::holder(&volume.held_by),
            held: &volume.held_by,
            because: because(&volume.because),
            why: &volume.because,
            latency: volume.latency.as_ref().map(watch::latency),
            wait: volume.latency.as_ref(),
            next: verdict::next(volume),
            step: volume.next.as_ref(),
        }
    }
}
