//! For how long CPU quotas of control groups held this process.

use crate::facts::{KernelView, control_groups};
use std::fs;
use std::path::Path;

/// How long the quotas of this process's control groups have held it and its fellows so far, ns, all levels together; `None`
/// where no quota can be seen.
#[must_use]
pub fn throttled_ns(view: &KernelView) -> Option<u64> {
    let mounted = control_groups(view, "cpu");
    mounted.iter().filter_map(|levels| levels.iter().filter_map(|group| of(group)).reduce(|a, b| a + b)).max()
}

fn of(group: &Path) -> Option<u64> {
    let text = fs::read_to_string(group.join("cpu.stat")).ok()?;
    text.lines().find_map(|line| match line.split_once(' ')? {
        ("throttled_time", ns) => ns.trim().parse().ok(),
        ("throttled_usec", us) => us.trim().parse::<u64>().ok().map(|us| us * 1_000),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::fake;

    #[test]
    fn quotas_of_all_levels_are_added_up_in_either_kind_of_control_groups() {
        let root = tempfile::tempdir().unwrap();
        let view = fake::view(root.path());
        let put = |path: &str, text: &str| {
            let path = view.sys.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        fs::write(view.proc.join("self/cgroup"), "4:memory:/x\n2:cpu,cpuacct:/a/b\n0::/c\n").unwrap();
        assert_eq!(throttled_ns(&view), None);
        put("fs/cgroup/cpu,cpuacct/a/b/cpu.stat", "nr_periods 5\nnr_throttled 2\nthrottled_time 700\n");
        put("fs/cgroup/cpu,cpuacct/a/cpu.stat", "nr_periods 5\nnr_throttled 2\nthrottled_time 50\n");
        assert_eq!(throttled_ns(&view), Some(750));
        put("fs/cgroup/c/cpu.stat", "usage_usec 9\nthrottled_usec 3\n");
        assert_eq!(throttled_ns(&view), Some(3_000));
        // A container that sees its own group as the root.
        fs::write(view.proc.join("self/cgroup"), "0::/not/seen/here\n").unwrap();
        put("fs/cgroup/cpu.stat", "throttled_usec 4\n");
        assert_eq!(throttled_ns(&view), Some(4_000));
    }
}
