//! Control groups that this process is in, of either version.

use super::devices::KernelView;
use loadline_units::Bytes;
use std::fs;
use std::path::{Path, PathBuf};

/// Groups looked at for limits.
const GROUPS_MAX: usize = 8_192;

/// The folders of the groups that `controller` counts the calling thread in, from its own up to the outermost: once for each place
/// where groups are mounted that has it. Threads of a process may be in groups of their own; those that a thread starts begin in its.
#[must_use]
pub fn control_groups(view: &KernelView, controller: &str) -> Vec<Vec<PathBuf>> {
    let has_threads = view.proc.join("thread-self/cgroup").exists();
    groups_of(view, if has_threads { "thread-self" } else { "self" }, controller)
}

/// The same of another process.
#[must_use]
pub fn control_groups_of(view: &KernelView, pid: u32, controller: &str) -> Vec<Vec<PathBuf>> {
    groups_of(view, &pid.to_string(), controller)
}

fn groups_of(view: &KernelView, process: &str, controller: &str) -> Vec<Vec<PathBuf>> {
    let Ok(groups) = fs::read_to_string(view.proc.join(process).join("cgroup")) else { return Vec::new() };
    let mut found = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let mounted = match controllers {
            "" => unified(view).to_owned(),
            several if several.split(',').any(|name| name == controller) => {
                // Mounted by all their names together, or by each.
                let together = format!("fs/cgroup/{several}");
                if view.sys.join(&together).is_dir() { together } else { format!("fs/cgroup/{controller}") }
            }
            _ => continue,
        };
        found.push(levels(&view.sys.join(mounted), path.trim_start_matches('/')));
    }
    found
}

/// Every group that `controller` counts, once for each place where groups are mounted that has it, as far as this process sees them.
#[must_use]
pub fn every_group(view: &KernelView, controller: &str) -> Vec<PathBuf> {
    control_groups(view, controller).into_iter().filter_map(|mut levels| levels.pop()).flat_map(below).collect()
}

/// A folder and all folders below it, as far as their number is bounded.
pub(super) fn below(root: PathBuf) -> Vec<PathBuf> {
    let mut all = vec![root];
    let mut next = 0;
    while next < all.len().min(GROUPS_MAX) {
        let inner = fs::read_dir(&all[next]).into_iter().flatten().flatten();
        let folders = inner.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        all.extend(folders.map(|entry| entry.path()).collect::<Vec<_>>());
        next += 1;
    }
    all
}

/// Where groups of the second version are mounted: at the root, or beside those of the first.
fn unified(view: &KernelView) -> &'static str {
    let beside = "fs/cgroup/unified";
    if view.sys.join(beside).join("cgroup.procs").exists() { beside } else { "fs/cgroup" }
}

/// The versions of control groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GroupVersion {
    First,
    Second,
}

/// The name of the group with this folder, from the root of its hierarchy: "/" is the outermost.
pub(super) fn group_name(view: &KernelView, folder: &Path, version: GroupVersion) -> Option<String> {
    let below = match version {
        // Below the name of their controller.
        GroupVersion::First => folder.strip_prefix(view.sys.join("fs/cgroup")).ok()?.components().skip(1).collect(),
        GroupVersion::Second => folder.strip_prefix(view.sys.join(unified(view))).ok()?.to_owned(),
    };
    Some(format!("/{}", below.display()))
}

/// The group at `path` below `root`, and those around it.
fn levels(root: &Path, path: &str) -> Vec<PathBuf> {
    // In a container the path may be that outside, and the group itself what is mounted.
    let own = if root.join(path).is_dir() { root.join(path) } else { root.to_owned() };
    own.ancestors().take_while(|group| group.starts_with(root)).map(Path::to_owned).collect()
}

/// Memory that the limits of this process's groups leave, counting what they hold of files as free, which is given back on demand;
/// `None`: no limit can be seen.
#[must_use]
pub fn memory_left(view: &KernelView) -> Option<Bytes> {
    control_groups(view, "memory").iter().flatten().filter_map(|group| left_in(group)).min()
}

fn left_in(group: &Path) -> Option<Bytes> {
    let number = |file: &str| fs::read_to_string(group.join(file)).ok()?.trim().parse::<u64>().ok();
    let (limit, used, files) = match number("memory.max").zip(number("memory.current")) {
        Some((limit, used)) => (limit, used, "inactive_file"),
        None => (number("memory.limit_in_bytes")?, number("memory.usage_in_bytes")?, "total_inactive_file"),
    };
    let told = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
    let held = told.lines().find_map(|line| line.strip_prefix(files)?.trim().parse().ok()).unwrap_or(0);
    Some(Bytes::new(limit.saturating_sub(used.saturating_sub(held))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::fake;

    #[test]
    fn the_tightest_limit_on_memory_counts_in_either_kind_of_control_groups() {
        let root = tempfile::tempdir().unwrap();
        let view = fake::view(root.path());
        let put = |path: &str, text: &str| drop(fake::control_group_file(&view, path, text));
        fs::write(view.proc.join("self/cgroup"), "4:memory:/a/b\n2:cpu,cpuacct:/x\n0::/c\n").unwrap();
        assert_eq!(memory_left(&view), None);
        // Of the first version nothing is bounded by a number beyond any memory.
        put("memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
        put("memory/a/b/memory.usage_in_bytes", "500\n");
        assert!(memory_left(&view).unwrap() > Bytes::gib(1 << 30));
        put("memory/a/memory.limit_in_bytes", "10000\n");
        put("memory/a/memory.usage_in_bytes", "7000\n");
        put("memory/a/memory.stat", "inactive_file 1\ntotal_inactive_file 2000\n");
        assert_eq!(memory_left(&view), Some(Bytes::new(5_000)));
        put("c/memory.max", "4000\n");
        put("c/memory.current", "3000\n");
        put("c/memory.stat", "anon 7\ninactive_file 500\n");
        assert_eq!(memory_left(&view), Some(Bytes::new(1_500)));
        put("c/memory.max", "max\n");
        assert_eq!(memory_left(&view), Some(Bytes::new(5_000)));
        // A container that sees its own group as the root.
        fs::write(view.proc.join("self/cgroup"), "0::/not/seen/here\n").unwrap();
        put("memory.max", "100\n");
        put("memory.current", "300\n");
        assert_eq!(memory_left(&view), Some(Bytes::ZERO));
    }
}
