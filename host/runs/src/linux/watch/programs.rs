//! Who uses the devices: processes by name, second by second, at a bounded cost.

use super::groups::{Groups, Reached};
use super::target::family;
use loadline_kernel::clock;
use loadline_kernel::counters::watching::{
    CPU_TICK_US, DevicesUsed, ProcessIo, ThreadsRan, process_ids, process_io, process_stat, thread_waits,
};
use loadline_kernel::facts::{KernelView, Places};
use loadline_record::{ProgramSecond, WatchedProgram};
use loadline_units::{Duration, Instant};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;

/// Programs of a device kept by name; what others do is left out.
const PROGRAMS_MAX: usize = 64;
/// Programs in a record.
const RECORDED_MAX: usize = 8;
/// Descendants of a process are looked for again after so many looks.
const FAMILY_LOOKS: u32 = 5;
/// A process that asks for less by system calls, and for nothing of storage, is not looked into.
const ASKED_MIN: u64 = 256 << 10;
/// A process that used none of the devices is asked again at the next look, then after twice as many each time, and at last after so many:
/// many read their own program and its libraries before they open their data.
const ASKED_AGAIN: u32 = 10;
/// and one that used some of them after so many.
const ASKED_AGAIN_USED: u32 = 60;

/// The processes of a machine as they are looked at again and again.
#[derive(Debug)]
pub(super) struct Programs {
    /// The tool itself, which is no program of the devices unless it is the one that was named.
    own: Option<u32>,
    /// The process that was named, and its name.
    subject: Option<(u32, String)>,
    family: HashSet<u32>,
    known: HashMap<u32, Known>,
    places: Places,
    /// The programs of each device.
    of_devices: Vec<OfDevice>,
    groups: Groups,
    /// What each program did in the last look, whichever of the devices it uses.
    last: Now,
    /// Processes that this user may not look into, with whether they are threads of the kernel and the look that saw them.
    hidden: HashMap<u32, (bool, u32)>,
    /// The most of them at once, without threads of the kernel.
    hidden_max: u32,
    looks: u32,
    /// When the last look began, and how long before it the one before did.
    looked_at: Option<Instant>,
    since_last: Duration,
    buffer: String,
}

/// The programs that use one device.
#[derive(Debug, Default)]
struct OfDevice {
    all: Vec<WatchedProgram>,
    seconds: usize,
}

/// Of one look: programs by whether they are the family of the process that was named, and by name.
type Now = BTreeMap<(bool, String), Did>;

/// What the processes of a program did.
#[derive(Debug, Clone, Copy)]
struct Did {
    second: ProgramSecond,
    /// One of them.
    pid: u32,
    processes: u32,
    /// None of those that moved bytes has files on other storage.
    only_here: bool,
}

impl Did {
    const fn joined(self, other: Self) -> Self {
        Self {
            second: self.second.joined(other.second),
            pid: if other.pid < self.pid { other.pid } else { self.pid },
            processes: self.processes + other.processes,
            only_here: self.only_here && other.only_here,
        }
    }
}

/// A process that was seen before.
#[derive(Debug)]
struct Known {
    io: ProcessIo,
    /// Its CPU time and how long it waited for CPUs, once it did something.
    cpu: Option<(u64, Option<u64>)>,
    /// When its threads ran.
    ran: ThreadsRan,
    /// Which of the devices it uses, and at which look it is asked again.
    uses: Option<(DevicesUsed, u32)>,
    /// So many looks were between the last two times that it was asked.
    asked_after: u32,
    seen: u32,
}

impl Known {
    /// Which of the devices it was seen to use.
    fn used(&self) -> DevicesUsed {
        self.uses.map_or_else(DevicesUsed::default, |(found, _)| found)
    }
}

impl Programs {
    pub(super) fn new(view: &KernelView, subject: Option<u32>, places: Places) -> Self {
        let name = |pid| process_stat(view, pid, &mut String::new()).map_or_else(String::new, |stat| stat.name);
        Self {
            own: Some(std::process::id()).filter(|own| subject != Some(*own)),
            subject: subject.map(|pid| (pid, name(pid))),
            family: HashSet::new(),
            known: HashMap::new(),
            of_devices: (0..places.devices()).map(|_| OfDevice::default()).collect(),
            places,
            groups: Groups::begin(view),
            last: Now::new(),
            hidden: HashMap::new(),
            hidden_max: 0,
            looks: 0,
            looked_at: None,
            since_last: Duration::ZERO,
            buffer: String::new(),
        }
    }

    /// Whether some of the machine's swap lies on the device of this place.
    pub(super) fn has_swap(&self, view: &KernelView, place: usize) -> bool {
        self.places.has_swap(view, place)
    }

    /// Looks at every process. Returns the CPU time that it took, ns: on a busy machine a look takes longer by the clock, and costs no
    /// more. The first look counts nothing.
    pub(super) fn look(&mut self, view: &KernelView) -> u64 {
        let begun = clock::thread_time_total();
        self.looks += 1;
        let now = clock::now();
        self.since_last = self.looked_at.replace(now).map_or(Duration::ZERO, |before| now.since(before));
        if let Some((subject, _)) = self.subject
            && (self.looks - 1).is_multiple_of(FAMILY_LOOKS)
        {
            self.family = family(view, subject).into_iter().collect();
        }
        let mut of_devices = vec![Now::new(); self.of_devices.len()];
        self.last.clear();
        for pid in process_ids(view) {
            if Some(pid) != self.own
                && let Some((key, did, used)) = self.look_at(view, pid)
            {
                self.take(key, did, used, &mut of_devices);
            }
        }
        self.known.retain(|_, known| known.seen == self.looks);
        self.count_hidden();
        if self.looks > 1 {
            self.groups.look(view, self.looks);
            let subject = self.subject.as_ref().map(|(pid, _)| *pid);
            for (device, now) in self.of_devices.iter_mut().zip(of_devices) {
                device.add(view, now, subject, &mut self.groups);
            }
        }
        clock::thread_time_total().saturating_sub(begun).as_ns()
    }

    /// Puts a process down to the devices that it uses; the family of the process that was named belongs to each.
    fn take(&mut self, key: (bool, String), did: Did, used: DevicesUsed, of_devices: &mut [Now]) {
        let add = |now: &mut Now, key, did: Did| {
            now.entry(key).and_modify(|sum| *sum = sum.joined(did)).or_insert(did);
        };
        for (place, now) in of_devices.iter_mut().enumerate() {
            let bit = 1 << place;
            if key.0 || used.used & bit != 0 {
                let is_here = used.used & bit != 0 && used.beside & bit == 0;
                let only_here = did.second.storage_bytes() == 0 || is_here;
                add(now, key.clone(), Did { only_here, ..did });
            }
        }
        add(&mut self.last, key, did);
    }

    /// One process: its program, what it did, and which devices it uses; `None` where it uses none.
    fn look_at(&mut self, view: &KernelView, pid: u32) -> Option<((bool, String), Did, DevicesUsed)> {
        let (looks, is_family) = (self.looks, self.family.contains(&pid));
        let io = match process_io(view, pid, &mut self.buffer) {
            Ok(io) => io,
            Err(error) => {
                if error.kind() == io::ErrorKind::PermissionDenied {
                    self.hide(view, pid);
                }
                return None;
            }
        };
        let first = looks == 1;
        let known = self.known.entry(pid).or_insert_with(|| Known {
            // One that began meanwhile counts in full.
            io: if first { io } else { ProcessIo::default() },
            cpu: None,
            ran: ThreadsRan::default(),
            uses: None,
            asked_after: 0,
            seen: looks,
        });
        known.seen = looks;
        let (before, moved) = (known.io, known.io != io);
        known.io = io;
        let is_used = known.used().used != 0;
        let storage = io.read_bytes + io.write_bytes
            - before.read_bytes.min(io.read_bytes)
            - before.write_bytes.min(io.write_bytes);
        let asked = io.asked_read_bytes.saturating_sub(before.asked_read_bytes);
        if !is_family && !is_used && (!moved || (storage == 0 && asked < ASKED_MIN)) {
            return None;
        }
        if known.uses.is_none_or(|(_, at)| looks >= at) {
            let found = known.used().joined(self.places.used_by(view, pid));
            known.asked_after = (known.asked_after * 2).clamp(1, ASKED_AGAIN);
            let after = if found.used == 0 { known.asked_after } else { ASKED_AGAIN_USED };
            known.uses = Some((found, looks + after));
        }
        let used = known.used();
        if used.used == 0 && !is_family {
            return None;
        }
        let stat = process_stat(view, pid, &mut self.buffer)?;
        let waits = thread_waits(view, pid, &mut known.ran, &mut self.buffer);
        let waited = waits.cpu_wait_us;
        let (ticks, waited_before) = known.cpu.unwrap_or((stat.cpu_ticks, waited));
        known.cpu = Some((stat.cpu_ticks, waited));
        let since_us = self.since_last.as_ns() / 1_000;
        let second = ProgramSecond {
            read_bytes: io.read_bytes.saturating_sub(before.read_bytes),
            write_bytes: io.write_bytes.saturating_sub(before.write_bytes),
            asked_read_bytes: io.asked_read_bytes.saturating_sub(before.asked_read_bytes),
            asked_write_bytes: io.asked_write_bytes.saturating_sub(before.asked_write_bytes),
            cpu_us: stat.cpu_ticks.saturating_sub(ticks) * CPU_TICK_US,
            cpu_wait_us: waited.unwrap_or(0).saturating_sub(waited_before.unwrap_or(0)),
            blocked_us: waits.blocked * since_us,
            locked_us: waits.locks * since_us,
            threads_us: waits.threads * since_us,
            sockets_us: waits.sockets * since_us,
            processes_us: waits.processes * since_us,
            paused_us: waits.pauses * since_us,
            ..ProgramSecond::default()
        };
        let key = match &self.subject {
            Some((_, name)) if is_family => (true, name.clone()),
            _ => (false, stat.name),
        };
        Some((key, Did { second, pid, processes: 1, only_here: true }, used))
    }

    /// Notes a process that this user may not look into. Threads of the kernel ask for nothing of their own.
    fn hide(&mut self, view: &KernelView, pid: u32) {
        let is_kernel = match self.hidden.get(&pid) {
            Some((is_kernel, _)) => *is_kernel,
            None => process_stat(view, pid, &mut self.buffer).is_none_or(|stat| stat.is_kernel),
        };
        self.hidden.insert(pid, (is_kernel, self.looks));
    }

    fn count_hidden(&mut self) {
        self.hidden.retain(|_, (_, seen)| *seen == self.looks);
        let hidden = self.hidden.values().filter(|(is_kernel, _)| !is_kernel).count();
        self.hidden_max = self.hidden_max.max(u32::try_from(hidden).unwrap_or(u32::MAX));
    }

    /// What each program did in the last look, the busiest first: its name, one of its processes, and how many there are.
    pub(super) fn latest(&self) -> Vec<(&str, u32, u32, ProgramSecond)> {
        let subject = self.subject.as_ref().map(|(pid, _)| *pid);
        let mut all: Vec<_> = self
            .last
            .iter()
            .map(|((is_family, name), did)| {
                let pid = subject.filter(|_| *is_family).unwrap_or(did.pid);
                (name.as_str(), pid, did.processes, did.second)
            })
            .collect();
        all.sort_by_key(|(.., second)| std::cmp::Reverse((second.storage_bytes(), second.cpu_us)));
        all
    }

    /// The busiest programs of each device over its last seconds, and the place of the one that was named.
    pub(super) fn of_devices(&self, last: usize) -> Vec<(Vec<WatchedProgram>, Option<usize>)> {
        let subject = self.subject.as_ref().map(|(pid, _)| *pid);
        self.of_devices.iter().map(|device| device.busiest(subject, last)).collect()
    }

    /// Leaves out the first seconds, and programs that did nothing since.
    pub(super) fn forget(&mut self, seconds: usize) {
        for device in &mut self.of_devices {
            device.seconds = device.seconds.saturating_sub(seconds);
            for program in &mut device.all {
                let all = program.seconds.len();
                program.seconds.drain(..seconds.min(all));
            }
            device.all.retain(|program| program.seconds.iter().any(|second| *second != ProgramSecond::default()));
        }
    }

    /// The most processes at once that this user may not look into.
    pub(super) const fn hidden(&self) -> u32 {
        self.hidden_max
    }
}

impl OfDevice {
    fn add(&mut self, view: &KernelView, now: Now, subject: Option<u32>, groups: &mut Groups) {
        for ((is_family, name), mut did) in now {
            let pid = subject.filter(|_| is_family).unwrap_or(did.pid);
            let Reached { quota, memory } = groups.add(view, did.pid, &mut did.second);
            let is_own = |program: &WatchedProgram| {
                if is_family {
                    Some(program.pid) == subject
                } else {
                    program.name == name && Some(program.pid) != subject
                }
            };
            let place = self.all.iter().position(is_own);
            let Some(place) = place.or_else(|| {
                let fits = self.all.len() < PROGRAMS_MAX;
                fits.then(|| {
                    self.all.push(WatchedProgram { name, pid, only_here: Some(true), ..WatchedProgram::default() });
                    self.all.len() - 1
                })
            }) else {
                continue;
            };
            let program = &mut self.all[place];
            program.processes = program.processes.max(did.processes);
            program.quota = program.quota.take().or(quota);
            program.memory = program.memory.take().or(memory);
            program.only_here = program.only_here.map(|only| only && did.only_here);
            program.seconds.resize(self.seconds, ProgramSecond::default());
            program.seconds.push(did.second);
        }
        self.seconds += 1;
    }

    /// The busiest programs over the last seconds, and the place of the one that was named.
    fn busiest(&self, subject: Option<u32>, last: usize) -> (Vec<WatchedProgram>, Option<usize>) {
        let begin = self.seconds.saturating_sub(last);
        let mut all: Vec<WatchedProgram> =
            self.all.iter().map(|program| program_since(program, begin, self.seconds)).collect();
        let total = |program: &WatchedProgram| {
            let all = program.seconds.iter().copied().fold(ProgramSecond::default(), ProgramSecond::joined);
            (all.storage_bytes(), all.asked_read_bytes + all.asked_write_bytes, all.cpu_us)
        };
        let is_subject = |program: &WatchedProgram| subject == Some(program.pid);
        all.sort_by_key(|program| std::cmp::Reverse((is_subject(program), total(program))));
        all.truncate(RECORDED_MAX);
        all.sort_by_key(|program| std::cmp::Reverse(total(program)));
        let place = all.iter().position(is_subject);
        (all, place)
    }
}

/// A program's seconds from one to another; nothing in those in which it was not seen.
fn program_since(program: &WatchedProgram, begin: usize, end: usize) -> WatchedProgram {
    let second = |place| program.seconds.get(place).copied().unwrap_or_default();
    let WatchedProgram { name, pid, processes, only_here, quota, memory, .. } = program;
    WatchedProgram {
        name: name.clone(),
        pid: *pid,
        processes: *processes,
        only_here: *only_here,
        quota: quota.clone(),
        memory: memory.clone(),
        seconds: (begin..end).map(second).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_kernel::facts::DeviceNumber;
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, symlink};

    /// A process that has a file on the device of this test open, if it uses it.
    fn process(view: &KernelView, pid: u32, parent: u32, name: &str, read: u64, uses: bool) {
        let folder = view.proc.join(pid.to_string());
        fs::create_dir_all(folder.join("fd")).unwrap();
        let text = format!("{pid} ({name}) S {parent} 1 1 0 -1 0 0 0 0 0 {read} 0 0 0");
        fs::write(folder.join("stat"), text).unwrap();
        let text = format!("rchar: {read}\nwchar: 0\nread_bytes: {read}\nwrite_bytes: 0\n");
        fs::write(folder.join("io"), text).unwrap();
        let open = folder.join("fd/3");
        if uses && !open.exists() {
            symlink(folder.join("stat"), open).unwrap();
        }
    }

    /// One device with the files of each of these folders.
    fn on(folders: &[&std::path::Path]) -> Places {
        let number = |folder: &&std::path::Path| vec![DeviceNumber::from_raw(fs::metadata(folder).unwrap().dev())];
        Places::of_numbers(folders.iter().map(number).collect())
    }

    /// A process with a file open below each of these folders.
    fn process_on(view: &KernelView, pid: u32, name: &str, read: u64, folders: &[&std::path::Path]) {
        process(view, pid, 1, name, read, false);
        for (place, folder) in folders.iter().enumerate() {
            let open = view.proc.join(format!("{pid}/fd/{}", 10 + place));
            if !open.exists() {
                symlink(folder, open).unwrap();
            }
        }
    }

    #[test]
    fn each_device_has_its_own_programs() {
        // Two file systems that every Linux has; the tree of processes may lie on one of them.
        let (one, other) = (std::path::Path::new("/proc"), std::path::Path::new("/sys"));
        let root = tempfile::tempdir().unwrap();
        let view = KernelView::below(root.path());
        let all = |read: u64| {
            process_on(&view, 400_010, "db", read, &[one]);
            process_on(&view, 400_020, "backup", 3 * read, &[other]);
            process_on(&view, 400_030, "copy", 2 * read, &[one, other]);
        };
        all(0);
        let mut programs = Programs::new(&view, None, on(&[one, other]));
        programs.look(&view);
        all(100);
        programs.look(&view);
        let latest: Vec<&str> = programs.latest().into_iter().map(|(name, ..)| name).collect();
        assert_eq!(latest, ["backup", "copy", "db"]);
        let found = programs.of_devices(usize::MAX);
        let told = |place: usize| -> Vec<(&str, Option<bool>)> {
            found[place].0.iter().map(|program| (&*program.name, program.only_here)).collect()
        };
        assert_eq!(told(0), [("copy", Some(false)), ("db", Some(true))]);
        assert_eq!(told(1), [("backup", Some(true)), ("copy", Some(false))]);
    }

    #[test]
    fn a_process_that_opens_its_data_after_it_was_first_asked_is_found_soon() {
        let root = tempfile::tempdir().unwrap();
        let view = KernelView::below(root.path());
        let mut programs = Programs::new(&view, None, on(&[root.path()]));
        programs.look(&view);
        // Its own program first, then its data from another look on.
        for (read, uses) in [(300 << 10, false), (600 << 10, true), (900 << 10, true)] {
            process(&view, 400_010, 1, "db", read, uses);
            programs.look(&view);
        }
        let (found, _) = programs.of_devices(usize::MAX).remove(0);
        let read: Vec<u64> = found[0].seconds.iter().map(|second| second.read_bytes).collect();
        assert_eq!(read, [0, 300 << 10, 300 << 10]);
    }

    #[test]
    fn processes_that_cannot_be_seen_are_counted_without_threads_of_the_kernel() {
        let root = tempfile::tempdir().unwrap();
        let view = KernelView::below(root.path());
        process(&view, 400_010, 1, "db", 0, false);
        process(&view, 400_011, 1, "web", 0, false);
        let folder = view.proc.join("400020");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("stat"), "400020 (kworker/0:1) I 2 0 0 0 -1 69238880 0 0 0 0 0 0 0 0").unwrap();
        let mut programs = Programs::new(&view, None, Places::default());
        for pid in [400_010, 400_011, 400_020, 400_020] {
            programs.hide(&view, pid);
        }
        programs.count_hidden();
        programs.looks += 1;
        programs.hide(&view, 400_011);
        programs.count_hidden();
        assert_eq!(programs.hidden(), 2);
    }

    #[test]
    fn processes_of_one_name_are_one_program_and_those_of_other_devices_none() {
        let root = tempfile::tempdir().unwrap();
        let view = KernelView::below(root.path());
        let places = || on(&[root.path()]);
        let all = |read: u64| {
            process(&view, 400_010, 1, "postgres", read, true);
            process(&view, 400_011, 400_010, "postgres", 2 * read, true);
            process(&view, 400_020, 1, "elsewhere", read, false);
        };
        all(0);
        let mut programs = Programs::new(&view, None, places());
        programs.look(&view);
        all(100);
        programs.look(&view);
        process(&view, 400_030, 1, "late", 7, true);
        programs.look(&view);
        let (found, subject) = programs.of_devices(usize::MAX).remove(0);
        let names: Vec<(&str, u32)> = found.iter().map(|program| (&*program.name, program.processes)).collect();
        assert_eq!((names, subject), (vec![("postgres", 2), ("late", 1)], None));
        let read: Vec<u64> = found[0].seconds.iter().map(|second| second.read_bytes).collect();
        assert_eq!(read, [300, 0]);
        let late: Vec<u64> = found[1].seconds.iter().map(|second| second.read_bytes).collect();
        assert_eq!(late, [0, 7]);
    }

    #[test]
    fn a_named_process_and_its_children_are_one_program_beside_others_of_its_name() {
        let root = tempfile::tempdir().unwrap();
        let view = KernelView::below(root.path());
        let places = || on(&[root.path()]);
        let all = |read: u64| {
            process(&view, 400_010, 1, "fio", read, true);
            process(&view, 400_011, 400_010, "worker", read, true);
            process(&view, 400_020, 1, "fio", 10 * read, true);
        };
        all(0);
        let mut programs = Programs::new(&view, Some(400_010), places());
        programs.look(&view);
        all(1);
        programs.look(&view);
        let (found, subject) = programs.of_devices(usize::MAX).remove(0);
        let read: Vec<(&str, u64)> =
            found.iter().map(|program| (&*program.name, program.seconds[0].read_bytes)).collect();
        assert_eq!((read, subject), (vec![("fio", 10), ("fio", 2)], Some(1)));
    }

    #[test]
    fn a_program_is_kept_with_the_quota_that_ran_out() {
        let root = tempfile::tempdir().unwrap();
        let view = KernelView::below(root.path());
        let group = view.sys.join("fs/cgroup/cpu/db");
        fs::create_dir_all(&group).unwrap();
        fs::write(group.join("cpu.cfs_quota_us"), "20000\n").unwrap();
        fs::write(group.join("cpu.cfs_period_us"), "100000\n").unwrap();
        fs::create_dir_all(view.proc.join("self")).unwrap();
        fs::write(view.proc.join("self/cgroup"), "2:cpu:/\n").unwrap();
        let all = |read: u64, used_up: u64| {
            process(&view, 400_010, 1, "db", read, true);
            fs::write(view.proc.join("400010/cgroup"), "2:cpu:/db\n").unwrap();
            fs::write(group.join("cpu.stat"), format!("nr_periods {read}\nnr_throttled {used_up}\n")).unwrap();
        };
        let quota = |before: u64, after: u64| {
            let mut programs = Programs::new(&view, None, on(&[root.path()]));
            for (read, used_up) in [(10, before), (20, before), (30, after)] {
                all(read, used_up);
                programs.look(&view);
            }
            programs.of_devices(usize::MAX).remove(0).0.remove(0).quota
        };
        let found = quota(1, 8).expect("it ran out");
        assert_eq!((found.quota_us, found.group.as_str(), found.lifted_by.as_str()), (20_000, "/db", "-1"));
        assert_eq!(quota(8, 8), None, "it did not");
    }
}
