//! What a limit means for the figure, and what would move it.

use crate::conclusion::{AdvisedStep, DiskCheck, DoubtMeant, InsteadOfRange, Meaning};
use crate::doubts::meaning as meaning_of_doubt;
use crate::limits::others_share;
use crate::summary::CellSummary;
use crate::words::how_much;
use loadline_record::{CellRecord, Clock, DoubtCode, Limit, RunRecord, TargetKind, VolumeFacts};
use loadline_units::{Bytes, Duration};

/// Other work took the CPUs if this share of their busy time was not the tool's.
const OTHERS_MOST: f64 = 0.5;
/// Time that a hypervisor takes above this explains CPUs that are busy.
const STEAL_MUCH: f64 = 0.1;

/// Measured time after which the usual bursts are spent.
const LONGER: Duration = Duration::from_s(120);
/// A range this many times the machine's memory, or the range before, is larger than most caches.
const RANGE_FACTOR: u64 = 2;

/// What the limit says of the cell's figure; `None` where it says nothing beyond its name.
pub(super) fn meaning(cell: &CellSummary, limit: Limit) -> Option<Meaning> {
    let began = cell.prediction.as_ref().is_some_and(|view| view.bursts_full || view.vm_bursts_full || view.carried);
    match limit {
        Limit::BurstExhausted if cell.prediction.is_some() && !began => Some(Meaning::NoCredits),
        Limit::DiskIops | Limit::DiskThroughput | Limit::Arrival | Limit::Unexplained => None,
        limit => Some(Meaning::OfLimit { limit }),
    }
}

/// What would move this limit, and what would not.
pub(super) fn advice(record: &RunRecord, cell: &CellSummary, limit: Limit, inferred: bool) -> AdvisedStep {
    let own = record.cells.iter().find(|c| c.id == cell.id);
    let measured = record.header.clock == Clock::Real;
    match limit {
        Limit::Cache => return of_cache(record, own),
        Limit::Cpu => return of_cpu(own),
        Limit::Unexplained => return AdvisedStep::VaryFactors,
        _ => (),
    }
    let is_of_disk = |limit| matches!(limit, Limit::DiskIops | Limit::DiskThroughput);
    let declared = record.header.environment.is_some() && cell.ceilings.iter().any(|c| is_of_disk(c.limit));
    let check = if declared { DiskCheck::AsDeclared } else { DiskCheck::AsSold };
    AdvisedStep::MoveLimit { limit, check: (is_of_disk(limit) && inferred && measured).then_some(check) }
}

/// Whether something is known that would move a limit that follows right above the one that binds.
pub(super) const fn lifts(limit: Limit) -> bool {
    matches!(
        limit,
        Limit::DiskIops
            | Limit::DiskThroughput
            | Limit::VmUncachedIops
            | Limit::VmUncachedThroughput
            | Limit::VmCachedIops
            | Limit::VmCachedThroughput
            | Limit::BurstExhausted
            | Limit::Interface
    )
}

fn of_cpu(record: Option<&CellRecord>) -> AdvisedStep {
    let taken =
        record.and_then(|r| r.trials.iter().filter_map(|t| Some(t.surroundings.machine?.steal)).reduce(f64::max));
    if let Some(taken) = taken.filter(|share| *share > STEAL_MUCH) {
        return AdvisedStep::OwnCpus { taken };
    }
    let others = record.and_then(others_share).filter(|share| *share > OTHERS_MOST);
    let Some(share) = others else { return AdvisedStep::MoreCpus };
    let busiest = record.and_then(|r| r.trials.iter().find_map(|t| t.surroundings.others.first()));
    AdvisedStep::StopOthers { share, busiest: busiest.map(|other| other.name.clone()) }
}

/// A larger range: of a measured load, one that the machine's memory does not hold.
fn of_cache(record: &RunRecord, own: Option<&CellRecord>) -> AdvisedStep {
    let larger = AdvisedStep::LargerRange { size_bytes: None };
    let memory = record.header.host.memory_bytes.filter(|_| record.header.clock == Clock::Real);
    let volume = own.and_then(|cell| record.header.volumes.iter().find(|volume| volume.name == cell.volume));
    let (Some(memory), Some(volume)) = (memory, volume) else { return larger };
    let figures = own.map(|cell| cell.load.figures());
    if let Some(instead) = instead_of_a_larger_range(volume, figures.as_ref().is_some_and(|load| load.buffered)) {
        return AdvisedStep::InsteadOfRange(instead);
    }
    let range = figures.and_then(|load| load.size_bytes).unwrap_or(0);
    let size_bytes = memory.max(range).saturating_mul(RANGE_FACTOR).next_multiple_of(Bytes::GIB.get());
    // A test file can be made larger as far as its file system has room, what was found cannot.
    let most = match volume.kind {
        TargetKind::TestFile => {
            let free = volume.file_system.as_ref().and_then(|file_system| file_system.free_bytes);
            free.map(|free| free.saturating_add(volume.size_bytes.unwrap_or(0)))
        }
        _ => volume.size_bytes,
    };
    if most.is_some_and(|most| size_bytes > most) {
        larger
    } else {
        AdvisedStep::LargerRange { size_bytes: Some(size_bytes) }
    }
}

/// File systems whose files are in memory: no range of them is on a disk.
const IN_MEMORY: [&str; 2] = ["tmpfs", "ramfs"];

/// What to measure instead where no range, however large, shows the disk without the cache.
pub(crate) fn instead_of_a_larger_range(volume: &VolumeFacts, buffered: bool) -> Option<InsteadOfRange> {
    let kind = volume.file_system.as_ref().map(|file_system| file_system.kind.as_str());
    if kind.is_some_and(|kind| IN_MEMORY.contains(&kind)) {
        Some(InsteadOfRange::OnDisk)
    } else if buffered {
        Some(InsteadOfRange::Direct)
    } else {
        None
    }
}

/// The doubts that an engineer must know of before believing a limit.
pub(super) fn doubts(record: &RunRecord, cell: &CellSummary) -> Option<Meaning> {
    let own = record.cells.iter().find(|c| c.id == cell.id);
    let meant = |code: DoubtCode| own.map_or(code.meaning(), |own| meaning_of_doubt(own, code));
    // These are about far percentiles, which a limit does not rest on.
    let codes = cell.doubts.iter().map(|doubt| doubt.code).filter(|code| *code != DoubtCode::FewSamples);
    let doubts: Vec<DoubtMeant> = codes.map(|code| DoubtMeant { code, meaning: meant(code).to_owned() }).collect();
    (!doubts.is_empty()).then(|| Meaning::Doubted { at: how_much(cell), doubts })
}

/// What to do first about a doubt that a longer or calmer run would settle.
pub(super) fn first(cell: &CellSummary, clock: Clock) -> Option<AdvisedStep> {
    let doubted = |code| crate::curves::doubted(cell, code);
    if doubted(DoubtCode::UnknownLimit) {
        return Some(AdvisedStep::RealStorage);
    }
    if clock == Clock::Virtual {
        return None;
    }
    if doubted(DoubtCode::VerifyFailed) || doubted(DoubtCode::Errors) {
        Some(AdvisedStep::FindFailures)
    } else if doubted(DoubtCode::ToolStopped) {
        Some(AdvisedStep::FreeTool)
    } else if doubted(DoubtCode::CachedReads) || doubted(DoubtCode::UnwrittenExtents) {
        Some(AdvisedStep::FillFirst)
    } else if doubted(DoubtCode::OtherLoad) {
        Some(AdvisedStep::BeAlone)
    } else if doubted(DoubtCode::ShortRun) && cell.held_by.is_none() {
        Some(AdvisedStep::Longer { duration_ns: LONGER.as_ns() })
    } else {
        None
    }
}
