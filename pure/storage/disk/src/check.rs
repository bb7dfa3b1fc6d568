//! Checks an environment against the rules that the model relies on.

use crate::gate::Rate;
use crate::limit::{common_factor, rates};
use crate::{
    Directions, DiskSpec, Enforcement, EnvironmentSpec, Holds, HostCache, Latency, LatencySpec, Layout, Limit,
    VolumeSpec,
};
use loadline_units::{Bytes, Duration, Ratio};
use std::collections::BTreeSet;

/// Disks of an environment at most.
pub const DISKS_MAX: usize = 4_096;
/// The longest time that a specification may speak of: anything longer would overflow sums of times.
pub const SPAN_MAX: Duration = Duration::from_s(1_000_000);
/// The smallest disk: one sector.
const SIZE_MIN: Bytes = Bytes::new(512);
/// The largest volume: file offsets are signed numbers.
const SIZE_MAX: Bytes = Bytes::new(1 << 63);

/// An environment that contradicts itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {reason}")]
pub struct EnvironmentError {
    /// The part that is wrong: "volume data, disk 0, limit".
    pub place: String,
    /// The reason, and what to write instead.
    pub reason: String,
}

type Checked = Result<(), EnvironmentError>;

fn fail(place: &str, reason: impl Into<String>) -> Checked {
    Err(EnvironmentError { place: place.to_owned(), reason: reason.into() })
}

impl EnvironmentSpec {
    /// Checks the invariants.
    ///
    /// # Errors
    /// The first rule that does not hold, with its place.
    pub fn check(&self) -> Checked {
        if self.volumes.is_empty() {
            return fail("environment", "it has no volume; give at least one disk");
        }
        let disks: usize = self.volumes.iter().map(|volume| volume.disks.len()).sum();
        if disks > DISKS_MAX {
            return fail("environment", format!("{disks} disks are more than {DISKS_MAX}"));
        }
        if let Some(vm) = &self.vm {
            for (name, limit) in [("uncached", &vm.uncached), ("cached", &vm.cached)] {
                limit.as_ref().map_or(Ok(()), |limit| check_shared(&format!("vm {}, {name}", vm.name), limit))?;
            }
            if vm.disks_max.is_some_and(|most| disks > most as usize) {
                let most = vm.disks_max.unwrap_or_default();
                return fail(&format!("vm {}", vm.name), format!("it takes {most} disks, the volumes have {disks}"));
            }
        }
        let mut names = BTreeSet::new();
        for pool in &self.pools {
            check_shared(&format!("pool {}", pool.name), &pool.limit)?;
            if !names.insert(&pool.name) {
                return fail(&format!("pool {}", pool.name), "there are two of this name");
            }
        }
        let mut volumes = BTreeSet::new();
        for volume in &self.volumes {
            if !volumes.insert(&volume.name) {
                return fail(&format!("volume {}", volume.name), "there are two of this name");
            }
            volume.check()?;
            for (index, disk) in volume.disks.iter().enumerate() {
                if disk.pool.iter().chain(&disk.allowance).any(|pool| !names.contains(pool)) {
                    return fail(&volume.place(index), "its pool is not among the environment's pools");
                }
            }
        }
        Ok(())
    }
}

impl Layout {
    /// How many disks it is laid over.
    #[must_use]
    pub fn disks(&self) -> usize {
        match *self {
            Self::Single => 1,
            Self::Stripe { columns, .. } => columns as usize,
            Self::Mirror { copies } => copies as usize,
            Self::StripeOfMirrors { columns, copies, .. } => columns as usize * copies as usize,
        }
    }

    /// Its capacity, as a multiple of the smallest disk.
    #[must_use]
    pub const fn columns(&self) -> u32 {
        match *self {
            Self::Single | Self::Mirror { .. } => 1,
            Self::Stripe { columns, .. } | Self::StripeOfMirrors { columns, .. } => columns,
        }
    }
}

impl VolumeSpec {
    /// Its capacity; `None` if a disk has no end.
    #[must_use]
    pub fn size(&self) -> Option<Bytes> {
        let sizes: Option<Vec<Bytes>> = self.disks.iter().map(|disk| disk.size).collect();
        let smallest = sizes?.into_iter().min()?;
        let usable = match self.layout {
            Layout::Stripe { interleave, .. } | Layout::StripeOfMirrors { interleave, .. } => {
                smallest.round_down(interleave)
            }
            Layout::Single | Layout::Mirror { .. } => smallest,
        };
        Some(usable * u64::from(self.layout.columns()))
    }

    fn place(&self, disk: usize) -> String {
        format!("volume {}, disk {disk}", self.name)
    }

    fn check(&self) -> Checked {
        let place = format!("volume {}", self.name);
        let wanted = self.layout.disks();
        if wanted == 0 || wanted != self.disks.len() {
            return fail(&place, format!("its layout needs {wanted} disks, it has {}", self.disks.len()));
        }
        if let Layout::Stripe { interleave, .. } | Layout::StripeOfMirrors { interleave, .. } = self.layout
            && (interleave == Bytes::ZERO || !interleave.get().is_multiple_of(512))
        {
            return fail(&place, format!("an interleave of {interleave} is not a multiple of 512 B"));
        }
        if let Layout::Stripe { interleave, .. } | Layout::StripeOfMirrors { interleave, .. } = self.layout
            && self.disks.iter().filter_map(|disk| disk.size).any(|size| size < interleave)
        {
            return fail(&place, format!("an interleave of {interleave} is more than its smallest disk holds"));
        }
        check_latency(&format!("{place}, host cache"), self.host_cache.latency)?;
        let columns = u64::from(self.layout.columns()).max(1);
        if self.disks.iter().filter_map(|disk| disk.size).any(|size| size.get() > SIZE_MAX.get() / columns) {
            return fail(&place, "it would hold more than 2^63 B, beyond which no system counts");
        }
        if self.host_cache.mode == HostCache::ReadWrite && self.host_cache.dirty_max == Ratio::ZERO {
            return fail(&place, "a read-write cache that may hold no writes is a read-only one");
        }
        self.disks.iter().enumerate().try_for_each(|(index, disk)| disk.check(&self.place(index)))
    }
}

impl DiskSpec {
    fn check(&self, place: &str) -> Checked {
        check_limit(&format!("{place}, limit"), &self.limit)?;
        let Latency { read, write, flush } = self.latency;
        for (name, latency) in [("read", Some(read)), ("write", Some(write)), ("flush", flush)] {
            latency.map_or(Ok(()), |latency| check_latency(&format!("{place}, {name} latency"), latency))?;
        }
        if self.size.is_some_and(|size| size < SIZE_MIN) {
            return fail(
                place,
                format!("a disk of {} holds nothing: it has sectors of {SIZE_MIN}", self.size.unwrap_or_default()),
            );
        }
        if self.parallelism.requests == Some(0) {
            return fail(place, "no request in service at once means none ever; leave it out for no bound");
        }
        if self.device_queues.is_some_and(|found| found.queues == 0 || found.depth == 0) {
            return fail(place, "device queues without room take no request; leave them out for no bound");
        }
        if self.spinning.is_some() && self.holds == Holds::Answers {
            return fail(place, "limits that hold back answers serve requests at once, which a spinning disk cannot");
        }
        if let Some(spinning) = self.spinning {
            if self.size.is_none() {
                return fail(place, "how far the head of a spinning disk goes depends on its size, which is missing");
            }
            if spinning.revolutions_per_minute == 0
                || spinning.seek_max < spinning.seek_min
                || spinning.seek_max > SPAN_MAX
            {
                return fail(place, "a spinning disk turns, and its longest seek is no shorter than its shortest");
            }
        }
        Ok(())
    }
}

fn check_latency(place: &str, latency: LatencySpec) -> Checked {
    if latency.p99 < latency.median {
        return fail(place, format!("its p99 of {} is below its median of {}", latency.p99, latency.median));
    }
    if latency.median == Duration::ZERO && latency.p99 > Duration::ZERO {
        return fail(place, "a median of nothing leaves no room for a spread; give the median");
    }
    if latency.p99 > SPAN_MAX || latency.per_kib > Duration::from_s(1) {
        return fail(place, "longer than any storage takes");
    }
    Ok(())
}

/// A limit of several disks may not merge requests: merging goes by offsets on one disk, which mean nothing here.
fn check_shared(place: &str, limit: &Limit) -> Checked {
    if limit.merge.is_some() {
        return fail(place, "requests are merged on a disk, not where several share a budget");
    }
    check_limit(place, limit)
}

fn check_limit(place: &str, limit: &Limit) -> Checked {
    match limit.enforcement {
        Enforcement::Smooth => {}
        Enforcement::Bucket { depth } => {
            if depth > SPAN_MAX {
                return fail(place, format!("a bucket of {depth} never empties"));
            }
        }
        Enforcement::Window { length, jitter } => {
            if length == Duration::ZERO || length > SPAN_MAX {
                return fail(place, format!("a window of {length} is no window"));
            }
            if jitter.as_ns() * 2 >= length.as_ns() {
                return fail(place, format!("edges that lie {jitter} off change places in windows of {length}"));
            }
        }
    }
    if limit.counted_size == Some(Bytes::ZERO) {
        return fail(place, "a counted size of 0 B counts without end");
    }
    check_budget(place, rates(limit.iops))?;
    check_budget(place, rates(limit.throughput))
}

fn check_budget(place: &str, budget: Option<Directions<Rate>>) -> Checked {
    let budgets = match budget {
        None => return Ok(()),
        Some(Directions::Together(both)) => [Some(both), None],
        Some(Directions::Apart { read, write }) => [read, write],
        Some(Directions::Traded { read, write }) => {
            if read.burst.is_some() || write.burst.is_some() {
                return fail(place, "a budget whose price differs by direction has no bursts");
            }
            let factor = common_factor(read.base, write.base);
            if (read.base / factor).checked_mul(write.base).is_none_or(|product| product > u64::MAX / 4) {
                return fail(place, "the two rates have too little in common to be traded exactly; round them");
            }
            [Some(read), Some(write)]
        }
    };
    for budget in budgets.into_iter().flatten() {
        if let Some(burst) = budget.burst
            && burst.rate < budget.base
        {
            return fail(place, format!("its burst of {} is below its rate of {}", burst.rate, budget.base));
        }
        if budget.base > u64::MAX / 4 {
            return fail(place, "a rate without measure; leave it out for no limit");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_holds_a_sector_and_no_more_than_can_be_counted() {
        let volume = |columns: u32, size: u64| {
            let disk = DiskSpec { size: Some(Bytes::new(size)), ..DiskSpec::default() };
            let layout = match columns {
                1 => Layout::Single,
                columns => Layout::Stripe { columns, interleave: Bytes::new(512) },
            };
            VolumeSpec { name: "data".into(), disks: vec![disk; columns as usize], layout, ..VolumeSpec::default() }
        };
        let reason = |columns, size| {
            let volumes = vec![volume(columns, size)];
            EnvironmentSpec { volumes, ..EnvironmentSpec::default() }.check().err().map(|error| error.reason)
        };
        for size in [0, 1, 511] {
            let told = reason(1, size).unwrap();
            assert_eq!(told, format!("a disk of {size} B holds nothing: it has sectors of 512 B"));
        }
        for (columns, most) in [(1, 1 << 63), (2, 1 << 62)] {
            assert_eq!((reason(columns, 512), reason(columns, most)), (None, None));
            assert!(reason(columns, most + 1).unwrap().contains("more than 2^63 B"), "{columns} disks");
        }
    }
}
