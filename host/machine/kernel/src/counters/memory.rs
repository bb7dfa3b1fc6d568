//! What a small page cache costs a process: what its control group reads again, and waits for.

use super::pressure_total;
use crate::facts::{KernelView, control_groups_of, every_group, memory_limit};
use crate::system_calls::page_bytes;
use loadline_record::MemoryLimit;
use std::fs;
use std::path::{Path, PathBuf};

/// What the kernel counted so far of the memory of a control group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemoryReading {
    /// Bytes of files that were read again after the page cache had given them up.
    pub reread_bytes: u64,
    /// Time for which some task of the group waited for memory, us; `None`: the kernel counts it for the whole machine only.
    pub stalled_us: Option<u64>,
    /// How often the group came to its limit, so that the kernel took memory back from it.
    pub limit_reached: u64,
}

/// The memory of that control group of a process which has the tightest limit, with its folder and the limit; of its own group where none
/// has any. `None` where the kernel counts nothing.
#[must_use]
pub fn process_memory(view: &KernelView, pid: u32) -> Option<(PathBuf, MemoryReading, Option<MemoryLimit>)> {
    let levels: Vec<_> = control_groups_of(view, pid, "memory").into_iter().flatten().collect();
    let limits = levels.iter().filter_map(|group| Some((group, memory_limit(view, group)?)));
    match limits.min_by_key(|(_, limit)| limit.bytes) {
        Some((group, limit)) => Some((group.clone(), reading(group)?, Some(limit))),
        None => levels.iter().find_map(|group| Some((group.clone(), reading(group)?, None))),
    }
}

/// The memory of every control group of this machine that has a limit, with the folders.
#[must_use]
pub fn every_memory_limit(view: &KernelView) -> Vec<(PathBuf, MemoryReading)> {
    let limited = every_group(view, "memory").into_iter().filter(|group| memory_limit(view, group).is_some());
    limited.filter_map(|group| Some((group.clone(), reading(&group)?))).collect()
}

fn reading(group: &Path) -> Option<MemoryReading> {
    // With what the groups within it did; kernels before 5.9 count files alone, under a shorter name.
    const NAMES: [&str; 3] = ["total_workingset_refault_file ", "workingset_refault_file ", "workingset_refault "];
    let text = fs::read_to_string(group.join("memory.stat")).ok()?;
    let of = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    let pages = NAMES.into_iter().find_map(of)?;
    let read = |file: &str| fs::read_to_string(group.join(file)).ok();
    let pressure = read("memory.pressure");
    let reached = |text: String| {
        let events = ["high ", "max "].into_iter();
        events
            .filter_map(|name| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok()))
            .sum()
    };
    let limit_reached = match read("memory.events") {
        Some(events) => reached(events),
        None => read("memory.failcnt").and_then(|text| text.trim().parse().ok()).unwrap_or(0),
    };
    Some(MemoryReading {
        limit_reached,
        reread_bytes: pages * page_bytes(),
        stalled_us: pressure.and_then(|text| pressure_total(&text, "some")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::fake;

    #[test]
    fn the_group_with_the_tightest_limit_counts_and_else_the_innermost() {
        let root = tempfile::tempdir().unwrap();
        let view = fake::view(root.path());
        let put = |path: &str, text: &str| drop(fake::control_group_file(&view, path, text));
        fs::create_dir_all(view.proc.join("77")).unwrap();
        fs::write(view.proc.join("77/cgroup"), "4:memory:/a/b\n0::/c\n").unwrap();
        assert_eq!(process_memory(&view, 77), None);
        let page = page_bytes();
        put("memory/a/b/memory.stat", "workingset_refault_file 1\ntotal_workingset_refault_file 3\n");
        put("memory/a/memory.stat", "workingset_refault_file 2\ntotal_workingset_refault_file 7\n");
        let (_, own, limit) = process_memory(&view, 77).unwrap();
        let seen = MemoryReading { reread_bytes: 3 * page, stalled_us: None, limit_reached: 0 };
        assert_eq!((own, limit), (seen, None));
        put("memory/a/memory.limit_in_bytes", "1000\n");
        put("memory/a/memory.failcnt", "11\n");
        let (group, outer, limit) = process_memory(&view, 77).unwrap();
        fs::write(view.proc.join("self/cgroup"), "4:memory:/\n").unwrap();
        assert_eq!(every_memory_limit(&view), [(group, outer)]);
        assert_eq!((outer.reread_bytes, outer.limit_reached), (7 * page, 11));
        assert_eq!(limit.map(|limit| limit.group), Some("/a".to_owned()));
        put("c/memory.stat", "anon 5\nworkingset_refault_file 9\n");
        put("c/memory.max", "500\n");
        put("c/memory.events", "low 0\nhigh 4\nmax 5\noom 9\noom_kill 0\n");
        put("c/memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234\nfull avg10=0.00 total=7\n");
        let (_, second, limit) = process_memory(&view, 77).unwrap();
        assert_eq!(second, MemoryReading { reread_bytes: 9 * page, stalled_us: Some(1_234), limit_reached: 9 });
        assert_eq!(limit.map(|limit| limit.bytes), Some(500));
    }
}
