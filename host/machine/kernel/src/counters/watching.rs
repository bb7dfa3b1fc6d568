//! Counters for who watches for long: files that stay open, and little text to read.

use super::thread_wait::{WaitsFor, says_that_it_waits, waits_for};
use crate::facts::{DeviceNumber, KernelView, control_groups_of, cpu_quota, every_group};
use loadline_record::{KernelThrottle, ThrottledQuantity, ThrottledRequests};
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The counters of one device, from a file of its own that stays open.
#[derive(Debug)]
pub struct DeviceStat(File);

/// What they are at a moment (the kernel's Documentation/block/stat.rst).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeviceReading {
    /// Reads completed.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Sum of the times that reads took, ms.
    pub read_ms: u64,
    /// Writes completed.
    pub writes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Sum of the times that writes took, ms.
    pub write_ms: u64,
    /// Requests in flight.
    pub in_flight: u64,
    /// Time with a request in flight, ms.
    pub busy_ms: u64,
    /// Discards completed.
    pub discards: u64,
    /// Flushes completed.
    pub flushes: u64,
    /// Sum of the times that flushes took, ms.
    pub flush_ms: u64,
}

impl DeviceStat {
    /// Of the device of this name.
    ///
    /// # Errors
    /// The kernel does not show it.
    pub fn open(view: &KernelView, name: &str) -> io::Result<Self> {
        File::open(view.sys.join("class/block").join(name).join("stat")).map(Self)
    }

    /// Reads them now; `None` where the device is gone.
    #[must_use]
    pub fn read(&self) -> Option<DeviceReading> {
        let mut buffer = [0; 512];
        let length = self.0.read_at(&mut buffer, 0).ok()?;
        parse_stat(std::str::from_utf8(&buffer[..length]).ok()?)
    }
}

fn parse_stat(text: &str) -> Option<DeviceReading> {
    let numbers: Vec<u64> = text.split_ascii_whitespace().map_while(|field| field.parse().ok()).collect();
    let at = |index: usize| numbers.get(index).copied();
    Some(DeviceReading {
        reads: at(0)?,
        read_bytes: at(2)? * 512,
        read_ms: at(3)?,
        writes: at(4)?,
        write_bytes: at(6)? * 512,
        write_ms: at(7)?,
        in_flight: at(8)?,
        busy_ms: at(9)?,
        discards: at(11).unwrap_or_default(),
        flushes: at(15).unwrap_or_default(),
        flush_ms: at(16).unwrap_or_default(),
    })
}

/// What a process moved so far, in bytes (proc_pid_io(5)).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessIo {
    /// Read from storage.
    pub read_bytes: u64,
    /// Written to storage, or to the page cache on its way there.
    pub write_bytes: u64,
    /// Read by system calls.
    pub asked_read_bytes: u64,
    /// Written by system calls.
    pub asked_write_bytes: u64,
}

/// The processes of this machine by id.
#[must_use]
pub fn process_ids(view: &KernelView) -> Vec<u32> {
    let entries = fs::read_dir(&view.proc).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// What a process moved so far.
///
/// # Errors
/// It is gone, or this user may not look into it ([`io::ErrorKind::PermissionDenied`]).
pub fn process_io(view: &KernelView, pid: u32, buffer: &mut String) -> io::Result<ProcessIo> {
    buffer.clear();
    File::open(view.proc.join(pid.to_string()).join("io"))?.read_to_string(buffer)?;
    parse_io(buffer).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn parse_io(text: &str) -> Option<ProcessIo> {
    let mut found = ProcessIo::default();
    for line in text.lines() {
        let (key, value) = line.split_once(": ")?;
        let place = match key {
            "rchar" => &mut found.asked_read_bytes,
            "wchar" => &mut found.asked_write_bytes,
            "read_bytes" => &mut found.read_bytes,
            "write_bytes" => &mut found.write_bytes,
            _ => continue,
        };
        *place = value.parse().ok()?;
    }
    Some(found)
}

/// A process by its `stat` file (proc_pid_stat(5)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessStat {
    /// Its name.
    pub name: String,
    /// Its parent.
    pub parent: u32,
    /// CPU time so far, in ticks of the kernel's clock for users: a hundredth of a second each.
    pub cpu_ticks: u64,
    /// Whether it is a thread of the kernel.
    pub is_kernel: bool,
}

/// Among the flags of a process: a thread of the kernel (`PF_KTHREAD`).
const KERNEL_THREAD: u64 = 0x0020_0000;

/// How long such a tick is: every architecture has 100 of them in a second (`USER_HZ`).
pub const CPU_TICK_US: u64 = 10_000;

/// A process; `None` where it is gone.
#[must_use]
pub fn process_stat(view: &KernelView, pid: u32, buffer: &mut String) -> Option<ProcessStat> {
    read_into(&view.proc.join(pid.to_string()).join("stat"), buffer)?;
    // A name may hold blanks and brackets: it ends with the last of them.
    let (before, after) = buffer.rsplit_once(')')?;
    let name = before.split_once('(')?.1.to_owned();
    let fields: Vec<&str> = after.split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    Some(ProcessStat {
        name,
        parent: u32::try_from(number(1)?).ok()?,
        cpu_ticks: number(11)? + number(12)?,
        is_kernel: number(6)? & KERNEL_THREAD != 0,
    })
}

/// Threads of a process whose waiting is added up.
const THREADS_MAX: usize = 32;

/// What the threads of a process wait for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ThreadWaits {
    /// How long they were ready to run and had no CPU so far, us; `None` where the kernel does not count it.
    pub cpu_wait_us: Option<u64>,
    /// Threads that the kernel has blocked at this moment (state D): nearly always until storage, or a limit before it, lets them go on.
    pub blocked: u64,
    /// Threads that ran shortly before and now wait for a lock of a file, a semaphore, or what the process itself calls waiting.
    pub locks: u64,
    /// The same for another thread.
    pub threads: u64,
    /// The same at a socket.
    pub sockets: u64,
    /// The same for another process.
    pub processes: u64,
    /// The same for the end of a pause.
    pub pauses: u64,
}

/// A thread that did not run for so many looks has no part in what its process does.
const RESTED_LOOKS: u32 = 10;

/// When the threads of a process ran.
#[derive(Debug, Default)]
pub struct ThreadsRan {
    /// How often each ran so far, and how many looks ago that was another number; `None`: it was seen once.
    threads: HashMap<OsString, (u64, Option<u32>)>,
}

impl ThreadsRan {
    /// Takes what a thread counts now, beside what it counted in the look before. Whether it ran shortly before.
    fn ran(&mut self, thread: OsString, times: u64, before: &Self) -> bool {
        let rested = match before.threads.get(&thread) {
            Some((counted, _)) if *counted != times => Some(0),
            Some((_, rested)) => rested.map(|looks| looks + 1),
            None => None,
        };
        self.threads.insert(thread, (times, rested));
        rested.is_some_and(|looks| looks <= RESTED_LOOKS)
    }
}

/// What the threads of a process wait for.
#[must_use]
pub fn thread_waits(view: &KernelView, pid: u32, ran: &mut ThreadsRan, buffer: &mut String) -> ThreadWaits {
    let mut found = ThreadWaits::default();
    // Threads that ended are forgotten.
    let before = std::mem::take(ran);
    let process = view.proc.join(pid.to_string());
    let threads = fs::read_dir(process.join("task"));
    for thread in threads.into_iter().flatten().flatten().take(THREADS_MAX) {
        let path = thread.path();
        let counted = |buffer: &String| {
            let mut fields = buffer.split_ascii_whitespace().skip(1).map(|field| field.parse::<u64>().ok());
            Some((fields.next()??, fields.next()??))
        };
        let mut has_run = false;
        if read_into(&path.join("schedstat"), buffer).is_some()
            && let Some((ns, times)) = counted(buffer)
        {
            found.cpu_wait_us = Some(found.cpu_wait_us.unwrap_or(0) + ns / 1_000);
            has_run = ran.ran(thread.file_name(), times, &before);
        }
        let state = read_into(&path.join("stat"), buffer).and_then(|()| Some(buffer.rsplit_once(')')?.1.trim_start()));
        let state = state.and_then(|after| after.chars().next());
        found.blocked += u64::from(state == Some('D'));
        if state == Some('S') && has_run && read_into(&path.join("syscall"), buffer).is_some() {
            found.take(waits_for(&process, buffer).map(|waits| match waits {
                WaitsFor::Socket if says_that_it_waits(&process) => WaitsFor::Lock,
                other => other,
            }));
        }
    }
    found
}

impl ThreadWaits {
    const fn take(&mut self, waits: Option<WaitsFor>) {
        match waits {
            Some(WaitsFor::Lock) => self.locks += 1,
            Some(WaitsFor::Thread) => self.threads += 1,
            Some(WaitsFor::Socket) => self.sockets += 1,
            Some(WaitsFor::Process) => self.processes += 1,
            Some(WaitsFor::Pause) => self.pauses += 1,
            None => {}
        }
    }
}

fn read_into(path: &Path, buffer: &mut String) -> Option<()> {
    buffer.clear();
    File::open(path).and_then(|mut file| file.read_to_string(buffer)).ok().map(drop)
}

/// Open files of a process looked at.
const OPEN_FILES_MAX: usize = 1_024;
/// Of the list of its mappings, so much is read.
const MAPPINGS_MAX: u64 = 1 << 20;
/// Devices that a process is looked at for at once.
const DEVICES_MAX: usize = 32;

/// On which of some devices a process has its files. The bit of the first device is the lowest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DevicesUsed {
    /// Devices on which a file of it is open or mapped for sharing, or which it has open themselves.
    pub used: u32,
    /// Devices beside which it has such files on other storage.
    pub beside: u32,
}

impl DevicesUsed {
    /// Both together.
    #[must_use]
    pub const fn joined(self, other: Self) -> Self {
        Self { used: self.used | other.used, beside: self.beside | other.beside }
    }
}

/// On which devices a process has its files. Each device is given by the numbers under which its files are seen; `unnamed` are the numbers
/// of other storage that have no device of their own (major 0), such as btrfs and NFS.
#[must_use]
pub fn devices_used(
    view: &KernelView,
    pid: u32,
    devices: &[Vec<DeviceNumber>],
    unnamed: &[DeviceNumber],
) -> DevicesUsed {
    use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
    debug_assert!(devices.len() <= DEVICES_MAX, "{} devices", devices.len());
    let process = view.proc.join(pid.to_string());
    let mut found = DevicesUsed::default();
    let mut seen: Vec<DeviceNumber> = Vec::new();
    let mut take = |number: DeviceNumber| {
        // Most files of a process lie together.
        if seen.contains(&number) {
            return;
        }
        seen.push(number);
        let bits = devices.iter().enumerate().filter(|(_, numbers)| numbers.contains(&number));
        let used = bits.fold(0, |bits, (place, _)| bits | 1 << place);
        found.used |= used;
        if used != 0 || number.major != 0 || unnamed.contains(&number) {
            found.beside |= !used;
        }
    };
    let open = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
    for entry in open.take(OPEN_FILES_MAX) {
        let Ok(file) = fs::metadata(entry.path()) else { continue };
        let kind = file.file_type();
        if kind.is_block_device() {
            take(DeviceNumber::from_raw(file.rdev()));
        } else if kind.is_file() || kind.is_dir() {
            take(DeviceNumber::from_raw(file.dev()));
        }
    }
    let mut mappings = String::new();
    let maps = File::open(process.join("maps")).and_then(|file| file.take(MAPPINGS_MAX).read_to_string(&mut mappings));
    if maps.is_ok() {
        mappings.lines().filter_map(shared_mapping).for_each(take);
    }
    found
}

/// The device of a file that is mapped for sharing (proc_pid_maps(5)).
fn shared_mapping(line: &str) -> Option<DeviceNumber> {
    let mut fields = line.split_ascii_whitespace().skip(1);
    let is_shared = fields.next()?.ends_with('s');
    let (major, minor) = fields.nth(1)?.split_once(':')?;
    let is_file = fields.next()? != "0";
    let number = |text| u32::from_str_radix(text, 16).ok();
    (is_shared && is_file).then_some(DeviceNumber { major: number(major)?, minor: number(minor)? })
}

/// How often a CPU quota was enforced, and how often it ran out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QuotaPeriods {
    /// Periods in which it was enforced.
    pub periods: u64,
    /// Those in which it ran out.
    pub used_up: u64,
}

/// What the kernel counted so far of the quotas of a process's control groups, with the folders of these.
#[must_use]
pub fn quota_periods(view: &KernelView, pid: u32) -> Vec<(PathBuf, QuotaPeriods)> {
    let groups = control_groups_of(view, pid, "cpu").into_iter().flatten();
    groups.filter_map(|group| Some((group.clone(), periods_of(&group)?))).collect()
}

/// The same of every control group of this machine that has a quota.
#[must_use]
pub fn every_quota(view: &KernelView) -> Vec<(PathBuf, QuotaPeriods)> {
    let limited = every_group(view, "cpu").into_iter().filter(|group| cpu_quota(view, group).is_some());
    limited.filter_map(|group| Some((group.clone(), periods_of(&group)?))).collect()
}

fn periods_of(group: &Path) -> Option<QuotaPeriods> {
    let text = fs::read_to_string(group.join("cpu.stat")).ok()?;
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok());
    Some(QuotaPeriods { periods: value("nr_periods ")?, used_up: value("nr_throttled ")? })
}

/// What the control group of a throttle has asked of the device so far, counted as the throttle counts; `None` where the kernel
/// does not show it.
#[must_use]
pub fn asked_by_group(limit: &KernelThrottle, device: DeviceNumber) -> Option<u64> {
    let folder = Path::new(&limit.file).parent()?;
    let bytes = limit.counts == ThrottledQuantity::Bytes;
    let wanted = device.to_string();
    if limit.file.ends_with("io.max") {
        let text = fs::read_to_string(folder.join("io.stat")).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix(&wanted)?.strip_prefix(' '))?;
        let key = match (limit.requests, bytes) {
            (ThrottledRequests::Reads, true) => "rbytes=",
            (ThrottledRequests::Reads, false) => "rios=",
            (ThrottledRequests::Writes, true) => "wbytes=",
            (ThrottledRequests::Writes, false) => "wios=",
        };
        return line.split_whitespace().find_map(|pair| pair.strip_prefix(key)?.parse().ok());
    }
    let file = if bytes { "blkio.throttle.io_service_bytes" } else { "blkio.throttle.io_serviced" };
    let text = fs::read_to_string(folder.join(file)).ok()?;
    let key = match limit.requests {
        ThrottledRequests::Reads => "Read",
        ThrottledRequests::Writes => "Write",
    };
    let of_line = |line: &str| line.strip_prefix(&wanted)?.trim().strip_prefix(key)?.trim().parse().ok();
    text.lines().find_map(of_line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::fake;

    #[test]
    fn a_device_is_read_with_its_flushes_and_what_is_in_flight() {
        let text = "    52563 10 2950098 10231 24137 25213 3031768 33741 2 8956 44712 120 0 4096 700 1234 15\n";
        let read = parse_stat(text).unwrap();
        assert_eq!((read.reads, read.writes, read.in_flight, read.busy_ms), (52_563, 24_137, 2, 8_956));
        assert_eq!((read.read_bytes, read.discards, read.flushes, read.flush_ms), (2_950_098 * 512, 120, 1_234, 15));
        assert_eq!(parse_stat("1 2 3"), None);
        let old = parse_stat("1 2 3 4 5 6 7 8 9 10 11").unwrap();
        assert_eq!((old.in_flight, old.flushes), (9, 0));
    }

    #[test]
    fn a_process_is_read_whatever_its_name_holds() {
        let root = tempfile::tempdir().unwrap();
        let view = fake::view(root.path());
        let folder = view.proc.join("77");
        fs::create_dir_all(&folder).unwrap();
        let rest = "S 1 77 77 0 -1 2129984 100 0 0 0 250 50 0 0 20 0 1 0 100 1000 200";
        fs::write(folder.join("stat"), format!("77 (a) b (c) {rest}\n")).unwrap();
        fs::write(folder.join("io"), "rchar: 9\nwchar: 8\nsyscr: 7\nsyscw: 6\nread_bytes: 5\nwrite_bytes: 4\n")
            .unwrap();
        let mut buffer = String::new();
        let stat = process_stat(&view, 77, &mut buffer).unwrap();
        assert_eq!(stat, ProcessStat { name: "a) b (c".into(), parent: 1, cpu_ticks: 300, is_kernel: true });
        let io = process_io(&view, 77, &mut buffer).unwrap();
        assert_eq!((io.read_bytes, io.write_bytes, io.asked_read_bytes, io.asked_write_bytes), (5, 4, 9, 8));
        let waits = [("77", "900 5000 3\n"), ("78", "900 7000 3\n")];
        for (thread, text) in waits {
            fs::create_dir_all(folder.join("task").join(thread)).unwrap();
            fs::write(folder.join("task").join(thread).join("schedstat"), text).unwrap();
        }
        let state = |thread: &str, state: char| {
            let text = format!("{thread} (D) R) {state} 1 77 77 0 -1 0 0 0 0 0 0 0 0 0\n");
            fs::write(folder.join("task").join(thread).join("stat"), text).unwrap();
        };
        state("77", 'S');
        state("78", 'D');
        let mut ran = ThreadsRan::default();
        let mut waits = || thread_waits(&view, 77, &mut ran, &mut buffer);
        let blocked = ThreadWaits { cpu_wait_us: Some(12), blocked: 1, ..ThreadWaits::default() };
        assert_eq!(waits(), blocked);
        // A thread that ran since the last look is asked what it waits for, and one that did not for long is not.
        fs::write(folder.join("task/77/syscall"), format!("{} 0x3 0x2 0x7ffd 0x7f53\n", libc::SYS_flock)).unwrap();
        assert_eq!(waits(), blocked);
        fs::write(folder.join("task/77/schedstat"), "900 5000 4\n").unwrap();
        let waits: Vec<u64> = (0..=RESTED_LOOKS + 1).map(|_| waits().locks).collect();
        assert_eq!(waits.iter().sum::<u64>(), u64::from(RESTED_LOOKS) + 1, "{waits:?}");
        fs::remove_dir_all(folder.join("task/78")).unwrap();
        assert_eq!(thread_waits(&view, 77, &mut ran, &mut buffer).blocked, 0);
        assert_eq!(ran.threads.len(), 1, "a thread that ended is forgotten");
        assert_eq!(thread_waits(&view, 78, &mut ran, &mut buffer), ThreadWaits::default());
        assert_eq!(process_ids(&view), [77]);
        assert_eq!(process_io(&view, 78, &mut buffer).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_process_uses_the_devices_of_its_open_files_and_of_its_shared_mappings() {
        use std::os::unix::fs::{MetadataExt as _, symlink};
        let root = tempfile::tempdir().unwrap();
        let view = fake::view(root.path());
        let folder = view.proc.join("77");
        fs::create_dir_all(folder.join("fd")).unwrap();
        let here = DeviceNumber::from_raw(fs::metadata(root.path()).unwrap().dev());
        let of = |major, minor| DeviceNumber { major, minor };
        let devices = [vec![here], vec![of(0x103, 0x1a)], vec![of(9, 9)]];
        let used = || devices_used(&view, 77, &devices, &[of(0, 50)]);
        assert_eq!(used(), DevicesUsed::default());
        symlink(folder.join("fd"), folder.join("fd/3")).unwrap();
        assert_eq!(used(), DevicesUsed { used: 0b001, beside: !0b001 });
        let maps = |text: &str| fs::write(folder.join("maps"), text).unwrap();
        // Private, and no file.
        maps("7f00-7f01 r-xp 00000000 103:1a 12 /lib/c.so\n7f01-7f02 rw-s 00000000 00:01 0 /dev/zero\n");
        assert_eq!(used(), DevicesUsed { used: 0b001, beside: !0b001 });
        maps("7f00-7f01 rw-s 00000000 103:1a 12 /data/a b\n");
        assert_eq!(used(), DevicesUsed { used: 0b011, beside: !0 });
        // What has no device: memory is no storage, and NFS is.
        fs::remove_file(folder.join("fd/3")).unwrap();
        maps("7f00-7f01 rw-s 00000000 103:1a 12 /data/a\n7f01-7f02 rw-s 00000000 00:31 7 /dev/shm/x\n");
        assert_eq!(used(), DevicesUsed { used: 0b010, beside: !0b010 });
        maps("7f00-7f01 rw-s 00000000 103:1a 12 /data/a\n7f01-7f02 rw-s 00000000 00:32 7 /nfs/x\n");
        assert_eq!(used(), DevicesUsed { used: 0b010, beside: !0 });
    }

    #[test]
    fn a_group_is_counted_as_its_throttle_counts() {
        let root = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let path = root.path().join(name);
            fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let limit = |requests, counts, file: &str| KernelThrottle {
            requests,
            counts,
            per_s: 1,
            group: "/".into(),
            file: root.path().join(file).display().to_string(),
            lifted_by: String::new(),
        };
        put("blkio.throttle.io_serviced", "7:10 Read 1\n7:1 Read 12\n7:1 Write 3\n7:1 Sync 15\nTotal 16\n");
        put("io.stat", "7:1 rbytes=4096 wbytes=512 rios=1 wios=2 dbytes=0 dios=0\n");
        let device = DeviceNumber { major: 7, minor: 1 };
        let (reads, writes) = (ThrottledRequests::Reads, ThrottledRequests::Writes);
        let first = "blkio.throttle.read_iops_device";
        assert_eq!(asked_by_group(&limit(reads, ThrottledQuantity::Requests, first), device), Some(12));
        assert_eq!(asked_by_group(&limit(writes, ThrottledQuantity::Requests, first), device), Some(3));
        assert_eq!(asked_by_group(&limit(reads, ThrottledQuantity::Bytes, first), device), None);
        assert_eq!(asked_by_group(&limit(writes, ThrottledQuantity::Bytes, "io.max"), device), Some(512));
        assert_eq!(asked_by_group(&limit(writes, ThrottledQuantity::Requests, "io.max"), device), Some(2));
    }

    #[test]
    fn every_level_of_a_process_counts_its_quota_and_a_walk_finds_those_that_have_one() {
        let root = tempfile::tempdir().unwrap();
        let view = fake::view(root.path());
        fs::create_dir_all(view.proc.join("77")).unwrap();
        fs::write(view.proc.join("77/cgroup"), "2:cpu:/a/b\n").unwrap();
        for (group, text) in [("a", "nr_periods 9\nnr_throttled 8\n"), ("a/b", "nr_periods 5\nnr_throttled 2\n")] {
            let folder = view.sys.join("fs/cgroup/cpu").join(group);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("cpu.stat"), text).unwrap();
        }
        let folder = |group: &str| view.sys.join("fs/cgroup/cpu").join(group);
        let (inner, outer) = (QuotaPeriods { periods: 5, used_up: 2 }, QuotaPeriods { periods: 9, used_up: 8 });
        assert_eq!(quota_periods(&view, 77), [(folder("a/b"), inner), (folder("a"), outer)]);
        assert_eq!(quota_periods(&view, 78), []);
        fs::write(view.proc.join("self/cgroup"), "2:cpu:/\n").unwrap();
        assert_eq!(every_quota(&view), []);
        fs::write(folder("a").join("cpu.cfs_quota_us"), "5000\n").unwrap();
        fs::write(folder("a").join("cpu.cfs_period_us"), "100000\n").unwrap();
        assert_eq!(every_quota(&view), [(folder("a"), outer)]);
    }
}
