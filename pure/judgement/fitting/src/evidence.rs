//! Figures without evidence: if the loads of a run say nothing about one, the least that explains them is taken, with a
//! doubt.

use crate::disk::{Disk, Holding, Service, duration};
use crate::result::FitDoubt;
use crate::score::Bench;
use crate::{BUCKETS, FitError};
use loadline_analysis::LoadAtLimit;
use loadline_block::Operation;
use loadline_record::{CellRecord, Limit, RunRecord};
use loadline_units::Duration;

/// Two disks make the same of the loads if they differ by no more than this for each load, in squared scales of
/// [`score`](crate::score).
const SAME: f64 = 0.02;
/// No figure of a load may be worse by more than this, in the same measure: evidence of a single load counts.
const SAME_OF_ONE: f64 = 0.1;
/// Buckets below this are not worth a word, ns: they let a few requests through at once.
const BUCKET_TOLD: f64 = 50e6;
/// The shortest service time, ns: that of the quickest devices.
const SERVICE_LEAST: f64 = 1_000.0;

/// The disk with the service times that its loads show. The time of each KiB is 0 if that makes no difference. If all
/// loads of a direction wait at limits, its service is the shortest that explains them as well.
pub(crate) fn lessened(disk: Disk, bench: &Bench<'_>) -> Result<Disk, FitError> {
    if disk.mechanics.is_some() {
        return Ok(disk);
    }
    let likeness = Likeness::to(&disk, bench)?;
    let is_same = |candidate: &Disk| likeness.holds(candidate);
    let mut least = disk;
    for reads in [true, false] {
        let Some(service) = least.side(reads).service else { continue };
        if service.per_kib > 0.0 {
            let plain = least.with_service(reads, Service { per_kib: 0.0, ..service });
            for candidate in [bench.corrected(&plain, &bench.make(&plain)?), plain] {
                if is_same(&candidate)? {
                    least = candidate;
                    break;
                }
            }
        }
        while let Some(service) = least.side(reads).service.filter(|service| service.median / 2.0 >= SERVICE_LEAST)
            && bench.all_wait(&least, reads)
        {
            // The fitted mechanism may rest on the assumed service time.
            let halved = Service { median: service.median / 2.0, p99: service.p99 / 2.0, ..service };
            let same_tail = Service { median: service.median / 2.0, ..service };
            let halved = least.with_service(reads, halved);
            let even = Disk { holding: Holding::Smooth, ..halved.clone() };
            let mut same = None;
            for candidate in [least.with_service(reads, same_tail), halved, even] {
                if is_same(&candidate)? {
                    same = Some(candidate);
                    break;
                }
            }
            let Some(same) = same else { break };
            least = same;
        }
    }
    Ok(least)
}

/// What a disk makes of the loads, to tell whether others make the same of them.
struct Likeness<'a> {
    bench: &'a Bench<'a>,
    /// The largest error of a disk that is the same.
    most: f64,
    off: Vec<f64>,
}

impl<'a> Likeness<'a> {
    fn to(disk: &Disk, bench: &'a Bench<'a>) -> Result<Self, FitError> {
        let made = bench.make(disk)?;
        Ok(Self { bench, most: bench.error(&made) + SAME * bench.loads() as f64, off: bench.off(&made) })
    }

    fn holds(&self, candidate: &Disk) -> Result<bool, FitError> {
        let made = self.bench.make(candidate)?;
        let further = |(there, here): (&f64, &f64)| there * there > here * here + SAME_OF_ONE;
        let off = self.bench.off(&made);
        Ok(self.bench.error(&made) <= self.most && !off.iter().zip(&self.off).any(further))
    }
}

/// The disk with the least bucket that explains its loads as well as its own does. If that is another one, the loads do not show how
/// much the limits let through at once, and a doubt about volume `name` says so. A limit without any bucket is none of them: it costs
/// loads near it a tenth of their rate, which a bucket of a few requests does not.
pub(crate) fn least_bucket(disk: Disk, bench: &Bench<'_>, name: &str) -> Result<(Disk, Option<FitDoubt>), FitError> {
    let Holding::Bucket(own) = disk.holding else { return Ok((disk, None)) };
    if own < BUCKET_TOLD || !disk.limited() {
        return Ok((disk, None));
    }
    let likeness = Likeness::to(&disk, bench)?;
    for depth in BUCKETS.into_iter().filter(|depth| *depth < own / 2.0) {
        let candidate = Disk { holding: Holding::Bucket(depth), ..disk.clone() };
        if likeness.holds(&candidate)? {
            let (explains, taken) = (duration(own), duration(depth));
            let doubt = FitDoubt::BucketUnknown { volume: name.to_owned(), explains, taken };
            return Ok((candidate, Some(doubt)));
        }
    }
    Ok((disk, None))
}

/// The limits above the storage that held some of the loads that volume `name` is fitted to, each once.
pub(crate) fn at_limits(held: &[LoadAtLimit], name: &str, cells: &[&CellRecord]) -> Vec<FitDoubt> {
    let is_own = |of: &&LoadAtLimit| of.volume == name && cells.iter().any(|cell| cell.id == of.cell);
    let mut found: Vec<(&LoadAtLimit, usize)> = Vec::new();
    for of in held.iter().filter(is_own) {
        let is_known = |(known, _): &&mut (&LoadAtLimit, usize)| {
            known.limit.file == of.limit.file && known.limit.rule.is_same(&of.limit.rule)
        };
        match found.iter_mut().find(is_known) {
            Some((_, loads)) => *loads += 1,
            None => found.push((of, 1)),
        }
    }
    let doubt = |(of, loads): (&LoadAtLimit, usize)| {
        let (volume, limit) = (of.volume.clone(), of.limit.clone());
        FitDoubt::AtLimit { volume, limit, loads }
    };
    found.into_iter().map(doubt).collect()
}

/// The guesses about volume `name` in the file.
pub(crate) fn guesses(disk: &Disk, bench: &Bench<'_>, name: &str) -> Vec<FitDoubt> {
    let guess = |operation: Operation| {
        let (reads, volume) = (operation == Operation::Read, name.to_owned());
        if !bench.any_of(reads) {
            return Some(FitDoubt::NotMeasured { volume, operation });
        }
        let waited = disk.mechanics.is_none() && bench.all_wait(disk, reads);
        let most = || bench.quickest(reads).map(|ns| Duration::from_ns(ns as u64));
        waited.then(|| FitDoubt::AllWaited { volume, operation, most: most() })
    };
    [Operation::Read, Operation::Write].into_iter().filter_map(guess).collect()
}

/// The limits of a prediction above the disk's own; `None` if there are none.
pub(crate) fn above_the_disk(record: &RunRecord) -> Option<FitDoubt> {
    let bindings =
        record.cells.iter().flat_map(|cell| &cell.trials).filter_map(|trial| trial.model.as_ref()?.binding.as_ref());
    let is_above = |limit: &Limit| {
        use Limit::{Cache, VmCachedIops, VmCachedThroughput, VmUncachedIops, VmUncachedThroughput};
        matches!(limit, VmUncachedIops | VmUncachedThroughput | VmCachedIops | VmCachedThroughput | Cache)
    };
    let mut limits: Vec<Limit> = bindings.map(|binding| binding.limit).filter(is_above).collect();
    limits.sort_by_key(|limit| limit.name());
    limits.dedup();
    (!limits.is_empty()).then_some(FitDoubt::AboveTheDisk { limits })
}
