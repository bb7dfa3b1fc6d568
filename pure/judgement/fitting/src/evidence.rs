//! Figures without evidence: if the loads of a run say nothing about one, the least that explains them is taken, with a
//! doubt.

use crate::disk::{Disk, Holding, Service, duration};
use crate::score::Bench;
use crate::{BUCKETS, FitError};
use loadline_record::RunRecord;
use loadline_units::Duration;
use std::collections::BTreeSet;

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
/// much the limits let through at once, and a sentence about volume `name` says so. A limit without any bucket is none of them: it costs
/// loads near it a tenth of their rate, which a bucket of a few requests does not.
pub(crate) fn least_bucket(disk: Disk, bench: &Bench<'_>, name: &str) -> Result<(Disk, Option<String>), FitError> {
    let Holding::Bucket(own) = disk.holding else { return Ok((disk, None)) };
    if own < BUCKET_TOLD || !disk.limited() {
        return Ok((disk, None));
    }
    let likeness = Likeness::to(&disk, bench)?;
    for depth in BUCKETS.into_iter().filter(|depth| *depth < own / 2.0) {
        let candidate = Disk { holding: Holding::Bucket(depth), ..disk.clone() };
        if likeness.holds(&candidate)? {
            let told = format!(
                "the loads on volume {name} do not show how much its limits let through at once after a pause: a token bucket of {} \
                 explains them as well, and the file has one of {}, as a guess; measure loads of a few seconds without a warm-up, with a \
                 pause of ten seconds before each",
                duration(own).human(),
                duration(depth).human()
            );
            return Ok((candidate, Some(told)));
        }
    }
    Ok((disk, None))
}

/// The guesses about volume `name` in the file, a sentence each.
pub(crate) fn guesses(disk: &Disk, bench: &Bench<'_>, name: &str) -> Vec<String> {
    let directions = [(true, "reads", "writes"), (false, "writes", "reads")];
    let mut told = Vec::new();
    for (reads, these, others) in directions {
        if !bench.any_of(reads) {
            told.push(format!(
                "no {these} were measured on volume {name}: what the file says of them is what was seen of {others}"
            ));
        } else if disk.mechanics.is_none() && bench.all_wait(disk, reads) {
            let most = bench.quickest(reads).map_or_else(String::new, |ns| Duration::from_ns(ns as u64).human());
            told.push(format!(
                "no load of {these} was measured on volume {name} that did not wait at a limit: their own latency is at most {most}, \
                 and the file has a part of that at most, as a guess; measure them with one request outstanding, in small blocks"
            ));
        }
    }
    told
}

/// The limits of a prediction above the disk's own, as a sentence; `None` if there are none.
pub(crate) fn above_the_disk(record: &RunRecord) -> Option<String> {
    let bindings =
        record.cells.iter().flat_map(|cell| &cell.trials).filter_map(|trial| trial.model.as_ref()?.binding.as_ref());
    let names: BTreeSet<&str> = bindings.map(|binding| binding.limit.name()).collect();
    let above: Vec<&str> = names.into_iter().filter(|name| name.starts_with("vm-") || *name == "cache").collect();
    (!above.is_empty()).then(|| {
        format!("in the prediction loads were bound by {}: the file has that as a limit of its disk", above.join(", "))
    })
}
