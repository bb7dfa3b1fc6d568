//! What the kernel counts of the control groups of programs: how often their CPU quota ran out, what they read again for want of memory.

use loadline_kernel::counters::watching::{QuotaPeriods, every_quota, quota_periods};
use loadline_kernel::counters::{MemoryReading, every_memory_limit, pressure, process_memory};
use loadline_kernel::facts::{KernelView, cpu_quota};
use loadline_record::{CpuQuota, MemoryLimit, ProgramSecond};
use std::collections::HashMap;
use std::path::PathBuf;

/// Counters of control groups, by their folders.
#[derive(Debug, Default)]
pub(super) struct Groups {
    quotas: Counters<QuotaPeriods>,
    memory: Counters<MemoryReading>,
    /// Time for which tasks of the machine waited for memory so far, us: of the last look, which the number tells.
    machine_us: Option<u64>,
    look: u32,
}

/// Of each group what was counted until the last look and until this one, which the number tells: several programs may be in one group.
#[derive(Debug, Default)]
struct Counters<T>(HashMap<PathBuf, (T, T, u32)>);

impl<T: Copy> Counters<T> {
    fn of(known: impl IntoIterator<Item = (PathBuf, T)>) -> Self {
        Self(known.into_iter().map(|(group, now)| (group, (now, now, 0))).collect())
    }
    /// What was counted before and what is now; `first` is what a group that was not known had before.
    fn change(&mut self, look: u32, group: PathBuf, now: T, first: T) -> (T, T) {
        let (before, last, seen) = self.0.entry(group).or_insert((first, first, 0));
        if *seen != look {
            (*before, *last, *seen) = (*last, now, look);
        }
        (*before, *last)
    }
}

/// The limits that a program came to.
#[derive(Debug, Default)]
pub(super) struct Reached {
    pub(super) quota: Option<CpuQuota>,
    pub(super) memory: Option<MemoryLimit>,
}

impl Groups {
    /// Those that have limits now. What begins later counts in full.
    pub(super) fn begin(view: &KernelView) -> Self {
        let (quotas, memory) = (Counters::of(every_quota(view)), Counters::of(every_memory_limit(view)));
        Self { quotas, memory, ..Self::default() }
    }

    /// Begins a look.
    pub(super) fn look(&mut self, view: &KernelView, look: u32) {
        (self.look, self.machine_us) = (look, pressure(view).map(|pressure| pressure.memory_some_us));
    }

    /// Adds what the groups of a process counted since the last look to what its program did, and gives the limits that they came to.
    pub(super) fn add(&mut self, view: &KernelView, pid: u32, did: &mut ProgramSecond) -> Reached {
        let mut reached = Reached::default();
        let quotas = quota_periods(view, pid).into_iter().map(|(group, now)| {
            let (before, now) = self.quotas.change(self.look, group.clone(), now, QuotaPeriods::default());
            let periods = now.periods.saturating_sub(before.periods);
            (now.used_up.saturating_sub(before.used_up), periods, group)
        });
        if let Some((used_up, periods, group)) = quotas.max() {
            (did.quota_used_up, did.quota_periods) = (used_up, periods);
            reached.quota = Some(group).filter(|_| used_up > 0).and_then(|group| cpu_quota(view, &group));
        }
        if let Some((group, now, limit)) = process_memory(view, pid) {
            let now = MemoryReading { stalled_us: now.stalled_us.or(self.machine_us), ..now };
            // Without a limit it was there all the time.
            let first = if limit.is_some() { MemoryReading::default() } else { now };
            let (before, now) = self.memory.change(self.look, group, now, first);
            did.reread_bytes = now.reread_bytes.saturating_sub(before.reread_bytes);
            did.memory_stalled_us =
                now.stalled_us.zip(before.stalled_us).map_or(0, |(now, before)| now.saturating_sub(before));
            reached.memory = limit.filter(|_| now.limit_reached > before.limit_reached);
        }
        reached
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_program_that_is_seen_for_the_first_time_has_what_its_groups_counted_since_the_begin() {
        let root = tempfile::tempdir().unwrap();
        let view = KernelView::below(root.path());
        let put = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("proc/self/cgroup", "4:memory:/\n2:cpu:/\n");
        put("proc/77/cgroup", "4:memory:/db\n2:cpu:/db\n");
        put("sys/fs/cgroup/cpu/db/cpu.cfs_quota_us", "2000\n");
        put("sys/fs/cgroup/cpu/db/cpu.cfs_period_us", "100000\n");
        put("sys/fs/cgroup/memory/db/memory.limit_in_bytes", "1000000\n");
        let counted = |periods: u64, refaults: u64| {
            let stat = format!("nr_periods {periods}\nnr_throttled {}\nthrottled_time 7\n", periods - 1);
            put("sys/fs/cgroup/cpu/db/cpu.stat", &stat);
            put("sys/fs/cgroup/memory/db/memory.stat", &format!("total_workingset_refault_file {refaults}\n"));
            put("sys/fs/cgroup/memory/db/memory.failcnt", &format!("{refaults}\n"));
        };
        counted(100, 5);
        let mut groups = Groups::begin(&view);
        counted(110, 8);
        groups.look(&view, 2);
        // Two programs in one group have the same.
        for _ in 0..2 {
            let mut did = ProgramSecond::default();
            let reached = groups.add(&view, 77, &mut did);
            assert_eq!((did.quota_periods, did.quota_used_up), (10, 10));
            assert!(did.reread_bytes > 0 && did.reread_bytes.is_multiple_of(3), "{did:?}");
            assert_eq!(reached.quota.map(|quota| quota.quota_us), Some(2_000));
            assert_eq!(reached.memory.map(|limit| limit.bytes), Some(1_000_000));
        }
        groups.look(&view, 3);
        let mut did = ProgramSecond::default();
        let reached = groups.add(&view, 77, &mut did);
        assert_eq!((did, reached.quota, reached.memory), (ProgramSecond::default(), None, None));
    }
}
