//! CPU quotas of the control groups that this process is in: every level counts in both versions.

use super::control_groups::{GroupVersion, control_groups, group_name};
use super::devices::KernelView;
use loadline_record::CpuQuota;
use std::fs;
use std::path::Path;

/// Every quota on this process, the tightest first.
#[must_use]
pub fn cpu_quotas(view: &KernelView) -> Vec<CpuQuota> {
    let groups = control_groups(view, "cpu");
    let levels = groups.iter().flatten();
    let mut found: Vec<CpuQuota> = levels.filter_map(|group| cpu_quota(view, group)).collect();
    found.sort_by(|a, b| a.cpus().total_cmp(&b.cpus()));
    found
}

/// The quota of the control group with this folder; `None` where it has none.
#[must_use]
pub fn cpu_quota(view: &KernelView, group: &Path) -> Option<CpuQuota> {
    of_second(view, group).or_else(|| of_first(view, group))
}

/// `cpu.max`: "50000 100000", or "max 100000" without a quota.
fn of_second(view: &KernelView, group: &Path) -> Option<CpuQuota> {
    let file = group.join("cpu.max");
    let text = fs::read_to_string(&file).ok()?;
    let (quota, period) = text.trim().split_once(' ')?;
    quota_of(view, &file, (quota.parse().ok()?, period.trim().parse().ok()?), "max")
}

/// `cpu.cfs_quota_us`, which is -1 without a quota, and `cpu.cfs_period_us` beside it.
fn of_first(view: &KernelView, group: &Path) -> Option<CpuQuota> {
    let number = |name: &str| fs::read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok();
    let file = group.join("cpu.cfs_quota_us");
    quota_of(view, &file, (number("cpu.cfs_quota_us")?, number("cpu.cfs_period_us")?), "-1")
}

fn quota_of(view: &KernelView, file: &Path, (quota_us, period_us): (u64, u64), lifted_by: &str) -> Option<CpuQuota> {
    let version = if lifted_by == "-1" { GroupVersion::First } else { GroupVersion::Second };
    let group = group_name(view, file.parent()?, version)?;
    (quota_us > 0 && period_us > 0).then(|| CpuQuota {
        quota_us,
        period_us,
        group,
        file: file.display().to_string(),
        lifted_by: lifted_by.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::fake;

    #[test]
    fn quotas_of_every_level_are_found_in_either_version() {
        let root = tempfile::tempdir().unwrap();
        let view = fake::view(root.path());
        let put = |path: &str, text: &str| drop(fake::control_group_file(&view, path, text));
        fs::write(view.proc.join("self/cgroup"), "2:cpu,cpuacct:/a/b\n0::/c/d\n").unwrap();
        assert_eq!(cpu_quotas(&view), []);
        put("cpu,cpuacct/a/b/cpu.cfs_quota_us", "-1\n");
        put("cpu,cpuacct/a/b/cpu.cfs_period_us", "100000\n");
        put("cpu,cpuacct/a/cpu.cfs_quota_us", "150000\n");
        put("cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
        put("c/d/cpu.max", "max 100000\n");
        put("c/cpu.max", "50000 100000\n");
        let found = cpu_quotas(&view);
        let seen: Vec<(f64, &str, &str)> =
            found.iter().map(|quota| (quota.cpus(), &*quota.group, &*quota.lifted_by)).collect();
        assert_eq!(seen, [(0.5, "/c", "max"), (1.5, "/a", "-1")]);
        assert!(found[0].file.ends_with("fs/cgroup/c/cpu.max"), "{}", found[0].file);
        assert!(found[1].file.ends_with("fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us"), "{}", found[1].file);
    }
}
