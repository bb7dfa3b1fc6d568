//! Memory limits of control groups: every level counts in both versions.

use super::control_groups::{GroupVersion, group_name};
use super::devices::KernelView;
use loadline_record::MemoryLimit;
use std::fs;
use std::path::Path;

/// From here on a limit of the first version is none: it prints the most pages that it can count.
const NO_LIMIT: u64 = 1 << 62;

/// The tightest memory limit of the control group with this folder; `None` where it has none.
#[must_use]
pub fn memory_limit(view: &KernelView, group: &Path) -> Option<MemoryLimit> {
    // The kernel slows a group down at `memory.high`, and takes nothing more at `memory.max`.
    let files = [
        ("memory.high", GroupVersion::Second),
        ("memory.max", GroupVersion::Second),
        ("memory.limit_in_bytes", GroupVersion::First),
    ];
    let limits = files.into_iter().filter_map(|(file, version)| Some((number(group, file)?, file, version)));
    let (bytes, file, version) = limits.filter(|(bytes, ..)| *bytes < NO_LIMIT).min_by_key(|(bytes, ..)| *bytes)?;
    Some(MemoryLimit {
        bytes,
        group: group_name(view, group, version)?,
        file: group.join(file).display().to_string(),
        lifted_by: if version == GroupVersion::First { "-1" } else { "max" }.to_owned(),
    })
}

fn number(group: &Path, file: &str) -> Option<u64> {
    fs::read_to_string(group.join(file)).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::fake;

    #[test]
    fn the_memory_limit_of_a_group_is_found_in_either_version() {
        let root = tempfile::tempdir().unwrap();
        let view = fake::view(root.path());
        let put = |path: &str, text: &str| drop(fake::control_group_file(&view, path, text));
        let folder = |path: &str| view.sys.join("fs/cgroup").join(path);
        let found = |path: &str| memory_limit(&view, &folder(path));
        put("memory/a/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(found("memory/a"), None, "no limit");
        put("memory/a/memory.limit_in_bytes", "1000\n");
        let first = found("memory/a").unwrap();
        assert_eq!((first.bytes, &*first.group, &*first.lifted_by), (1_000, "/a", "-1"));
        assert!(first.lifting_command().ends_with("fs/cgroup/memory/a/memory.limit_in_bytes"), "{first:?}");
        put("b/c/memory.max", "max\n");
        put("b/c/memory.high", "1000\n");
        let second = found("b/c").unwrap();
        assert_eq!((second.bytes, &*second.group, &*second.lifted_by), (1_000, "/b/c", "max"));
        assert!(second.file.ends_with("fs/cgroup/b/c/memory.high"), "{second:?}");
    }
}
