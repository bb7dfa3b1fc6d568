//! The budgets of reads and writes if no mix was measured: pure reads and pure writes do not distinguish one budget
//! from two.

use crate::FitError;
use crate::disk::{Disk, Holding, Sharing, Side};
use crate::result::{AssumedBudgets, FitAssumption};
use crate::score::Bench;

/// A read and a write limit that differ by no more than this may be one.
const ONE_LIMIT: f64 = 0.05;
/// The most that one budget for two similar ones may cost for each load, in squared scales of [`score`](crate::score):
/// figures that differ by noise.
const SHARING_COST: f64 = 0.1;
/// The least median latency behind a network, ns, by the catalog.
const NETWORK_LEAST: f64 = 200_000.0;

/// The disk with the most usual budgets of reads and writes. Sold disks count both together if their figures are the
/// same. If they differ, it is one budget with two prices behind a network, and two budgets in the host. Windows of
/// hypervisors and kernels count each direction separately there, and so does a device.
pub(crate) fn assumed(disk: Disk, bench: &Bench<'_>) -> Result<Disk, FitError> {
    if bench.mixes() || !bench.reads_and_writes() || !disk.limited() {
        return Ok(disk);
    }
    let disk = Disk { sharing: Sharing::APART, ..disk };
    let most = bench.error(&bench.make(&disk)?) + SHARING_COST * bench.loads() as f64;
    for (iops, bytes) in [(true, true), (true, false), (false, true)] {
        let Some(together) = together(&disk, iops, bytes).filter(|together| *together != disk) else { continue };
        if bench.error(&bench.make(&together)?) <= most {
            return Ok(traded(together));
        }
    }
    Ok(traded(disk))
}

/// The disk with one budget of requests, of bytes, or of each. `None` if their figures differ.
fn together(disk: &Disk, iops: bool, bytes: bool) -> Option<Disk> {
    let one = |is_one: bool, of: fn(&Side) -> Option<f64>| match (of(&disk.read), of(&disk.write)) {
        (read, write) if !is_one => Some((read, write)),
        (Some(read), Some(write)) => {
            let both = Some(f64::midpoint(read, write));
            ((read / write - 1.0).abs() <= ONE_LIMIT).then_some((both, both))
        }
        // Of a limit that one direction did not come to, it may have as much.
        (read, write) => Some((read.or(write), write.or(read))),
    };
    let (of_iops, of_bytes) = (one(iops, |side| side.iops)?, one(bytes, |side| side.bytes_per_s)?);
    let read = Side { iops: of_iops.0, bytes_per_s: of_bytes.0, ..disk.read.clone() };
    let write = Side { iops: of_iops.1, bytes_per_s: of_bytes.1, ..disk.write.clone() };
    Some(Disk { read, write, sharing: Sharing { iops, bytes, traded: false }, ..disk.clone() })
}

/// The same with one budget and two prices, if figures differ and that is likely.
fn traded(disk: Disk) -> Disk {
    let traded = differ(&disk) && !is_windowed(&disk) && is_behind_a_network(&disk);
    Disk { sharing: Sharing { traded, ..disk.sharing }, ..disk }
}

/// Whether reads and writes have a figure each of anything.
fn differ(disk: &Disk) -> bool {
    let both = |is_one: bool, of: fn(&Side) -> Option<f64>| !is_one && of(&disk.read).and(of(&disk.write)).is_some();
    both(disk.sharing.iops, |side| side.iops) || both(disk.sharing.bytes, |side| side.bytes_per_s)
}

const fn is_windowed(disk: &Disk) -> bool {
    matches!(disk.holding, Holding::Window { .. })
}

/// Whether no request can have been answered by anything nearer. If all loads wait at limits, the least that explains
/// them counts.
fn is_behind_a_network(disk: &Disk) -> bool {
    let own = [&disk.read, &disk.write].into_iter().filter_map(|side| side.service);
    own.map(|service| service.median).min_by(f64::total_cmp).is_some_and(|ns| ns >= NETWORK_LEAST)
}

/// The assumption about volume `name`; `None` without one.
pub(crate) fn assumption(disk: &Disk, bench: &Bench<'_>, name: &str) -> Option<FitAssumption> {
    let bounded = |side: &Side| side.iops.or(side.bytes_per_s).is_some();
    if bench.mixes() || !bench.reads_and_writes() || !bounded(&disk.read) || !bounded(&disk.write) {
        return None;
    }
    let budgets = if !differ(disk) {
        AssumedBudgets::One
    } else if disk.sharing.traded {
        AssumedBudgets::Traded
    } else if is_windowed(disk) {
        AssumedBudgets::Windowed
    } else {
        AssumedBudgets::Apart
    };
    Some(FitAssumption { volume: name.to_owned(), budgets })
}
