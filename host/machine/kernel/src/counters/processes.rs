//! Bytes that other processes moved to and from storage.

use crate::facts::{KernelView, Places};
use loadline_record::OtherLoad;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;

/// Processes named at most.
const OTHERS_MAX: usize = 5;
/// Of so many that moved most it is looked where their files are.
const LOOKED_AT_MAX: usize = 256;
/// Kernel threads that work for any process, this one included, such as a loop device's. Their I/O has no owner.
const SERVANTS: [&str; 3] = ["kworker/", "loop", "kswapd"];

/// Bytes that each process caused to be read and written so far, by process id; processes that this user may not look
/// into are left out, and so is this one.
#[derive(Debug, Clone, Default)]
pub struct ProcessBytes(HashMap<u32, (u64, u64)>);

impl ProcessBytes {
    /// Reads them now.
    #[must_use]
    pub fn read(view: &KernelView) -> Self {
        let own = std::process::id();
        let mut all = HashMap::new();
        // One buffer and one path for all: there may be thousands of processes.
        let mut text = String::new();
        let mut path = view.proc.clone();
        for entry in fs::read_dir(&view.proc).into_iter().flatten().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            if pid == own {
                continue;
            }
            path.push(entry.file_name());
            path.push("io");
            text.clear();
            if File::open(&path).and_then(|mut file| file.read_to_string(&mut text)).is_ok()
                && let Some(bytes) = parse_io(&text)
            {
                all.insert(pid, bytes);
            }
            path.pop();
            path.pop();
        }
        Self(all)
    }

    /// The processes that moved most since `before` and have files in `places`, if any are given, the busiest first. Bytes are those of
    /// all devices. One that began meanwhile counts in full; one that ended meanwhile cannot be seen any more.
    #[must_use]
    pub fn busiest_since(&self, before: &Self, view: &KernelView, places: Option<&Places>) -> Vec<OtherLoad> {
        let mut moved: Vec<(u32, u64, u64)> = self
            .0
            .iter()
            .map(|(pid, (read, written))| {
                let (read_before, written_before) = before.0.get(pid).copied().unwrap_or_default();
                (*pid, read.saturating_sub(read_before), written.saturating_sub(written_before))
            })
            .filter(|(_, read, written)| read + written > 0)
            .collect();
        moved.sort_unstable_by_key(|(pid, read, written)| (std::cmp::Reverse(read + written), *pid));
        let is_here = |pid: u32| places.is_none_or(|places| places.is_used_by(view, pid));
        moved
            .into_iter()
            .take(LOOKED_AT_MAX)
            .filter(|(pid, ..)| is_here(*pid))
            .filter_map(|(pid, read_bytes, write_bytes)| {
                let name = fs::read_to_string(view.proc.join(pid.to_string()).join("comm")).unwrap_or_default();
                let name = name.trim().to_owned();
                (!SERVANTS.iter().any(|servant| name.starts_with(servant))).then_some(OtherLoad {
                    pid,
                    name,
                    read_bytes,
                    write_bytes,
                })
            })
            .take(OTHERS_MAX)
            .collect()
    }
}

/// `read_bytes` and `write_bytes` of /proc/PID/io (proc_pid_io(5)): what went to storage, not to the page cache.
/// Bytes that this process caused to be read from storage and written to it so far; `None`: the kernel does not count them.
#[must_use]
pub fn own_bytes(view: &KernelView) -> Option<(u64, u64)> {
    parse_io(&fs::read_to_string(view.proc.join("self/io")).ok()?)
}

fn parse_io(text: &str) -> Option<(u64, u64)> {
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok());
    Some((value("read_bytes:")?, value("write_bytes:")?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn process(proc: &Path, pid: u32, name: &str, read: u64, written: u64) {
        let directory = proc.join(pid.to_string());
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("comm"), format!("{name}\n")).unwrap();
        let text = format!(
            "rchar: 9\nwchar: 9\nsyscr: 9\nsyscw: 9\nread_bytes: {read}\nwrite_bytes: {written}\ncancelled_write_bytes: 0\n"
        );
        fs::write(directory.join("io"), text).unwrap();
    }

    #[test]
    fn the_busiest_come_first_and_servants_not_at_all() {
        let root = tempfile::tempdir().unwrap();
        let view = KernelView::below(root.path());
        let proc = view.proc.as_path();
        process(proc, 400_010, "postgres", 1000, 0);
        process(proc, 400_011, "idle", 50, 50);
        process(proc, 400_012, "kworker/u8:3-loop2", 0, 0);
        fs::create_dir(proc.join("sys")).unwrap();
        let before = ProcessBytes::read(&view);
        process(proc, 400_010, "postgres", 1000, 4096);
        process(proc, 400_012, "kworker/u8:3-loop2", 1 << 30, 0);
        process(proc, 400_013, "backup", 8192, 0);
        process(proc, std::process::id(), "loadline", 1 << 30, 0);
        let busiest = ProcessBytes::read(&view).busiest_since(&before, &view, None);
        let expected = [
            OtherLoad { pid: 400_013, name: "backup".into(), read_bytes: 8192, write_bytes: 0 },
            OtherLoad { pid: 400_010, name: "postgres".into(), read_bytes: 0, write_bytes: 4096 },
        ];
        assert_eq!(busiest, expected);
    }

    #[test]
    fn who_has_no_file_on_the_devices_is_not_their_user() {
        use crate::facts::{DeviceNumber, fake};
        use std::os::unix::fs::{MetadataExt as _, symlink};
        let root = tempfile::tempdir().unwrap();
        let view = fake::view(root.path());
        process(&view.proc, 400_010, "elsewhere", 1 << 30, 0);
        process(&view.proc, 400_011, "here", 4096, 0);
        for (pid, file) in [(400_010, "/proc/self/status"), (400_011, "/etc")] {
            let files = view.proc.join(pid.to_string()).join("fd");
            fs::create_dir_all(&files).unwrap();
            symlink(file, files.join("3")).unwrap();
        }
        let number = DeviceNumber::from_raw(fs::metadata("/etc").unwrap().dev());
        let places = Places::of_numbers(vec![vec![number]]);
        let all = ProcessBytes::read(&view);
        let named = |places| -> Vec<String> {
            let found = all.busiest_since(&ProcessBytes::default(), &view, places);
            found.into_iter().map(|other| other.name).collect()
        };
        assert_eq!(named(None), ["elsewhere", "here"]);
        assert_eq!(named(Some(&places)), ["here"]);
    }

    #[test]
    fn at_most_five_are_named() {
        let root = tempfile::tempdir().unwrap();
        let view = KernelView::below(root.path());
        for pid in 400_000..400_020 {
            process(&view.proc, pid, "p", 1, 1);
        }
        let all = ProcessBytes::read(&view);
        assert_eq!(all.busiest_since(&ProcessBytes::default(), &view, None).len(), OTHERS_MAX);
    }
}
