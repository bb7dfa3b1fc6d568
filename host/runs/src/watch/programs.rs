//! Who uses the devices: processes by name, second by second, at a bounded cost.

use super::target::family;
use loadline_kernel::clock;
use loadline_kernel::counters::watching::{
    CPU_TICK_US, ProcessIo, QuotaPeriods, process_ids, process_io, process_stat, quota_periods, thread_waits,
    uses_devices,
};
use loadline_kernel::facts::{DeviceNumber, KernelView};
use loadline_record::{ProgramSecond, WatchedProgram};
use loadline_units::{Duration, Instant};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Programs kept by name; what others do is left out.
const PROGRAMS_MAX: usize = 64;
/// Programs in a record.
const RECORDED_MAX: usize = 8;
/// Descendants of a process are looked for again after so many looks.
const FAMILY_LOOKS: u32 = 5;
/// A process that asks for less by system calls, and for nothing of storage, is not looked into.
const ASKED_MIN: u64 = 256 << 10;
/// A process that used none of the devices is asked again after so many looks.
const ASKED_AGAIN: u32 = 10;

/// The processes of a machine as they are looked at again and again.
#[derive(Debug)]
pub(super) struct Programs {
    own: u32,
    /// The process that was named, and its name.
    subject: Option<(u32, String)>,
    family: HashSet<u32>,
    known: HashMap<u32, Known>,
    all: Vec<WatchedProgram>,
    quotas: HashMap<(bool, String), QuotaPeriods>,
    looks: u32,
    /// When the last look began, and how long before it the one before did.
    looked_at: Option<Instant>,
    since_last: Duration,
    seconds: usize,
    buffer: String,
}

/// Of one look: programs by whether they are the family of the process that was named, and by name; what they did, one of their
/// processes, and how many there are.
type Now = BTreeMap<(bool, String), (ProgramSecond, u32, u32)>;

/// A process that was seen before.
#[derive(Debug)]
struct Known {
    io: ProcessIo,
    /// Its CPU time and how long it waited for CPUs, once it did something.
    cpu: Option<(u64, Option<u64>)>,
    /// Whether it uses the devices, and when that was found out.
    uses: Option<(bool, u32)>,
    seen: u32,
}

impl Programs {
    pub(super) fn new(view: &KernelView, subject: Option<u32>) -> Self {
        let name = |pid| process_stat(view, pid, &mut String::new()).map_or_else(String::new, |stat| stat.name);
        Self {
            own: std::process::id(),
            subject: subject.map(|pid| (pid, name(pid))),
            family: HashSet::new(),
            known: HashMap::new(),
            all: Vec::new(),
            quotas: HashMap::new(),
            looks: 0,
            looked_at: None,
            since_last: Duration::ZERO,
            seconds: 0,
            buffer: String::new(),
        }
    }

    /// Looks at every process. Returns the CPU time that it took, ns: on a busy machine a look takes longer by the clock, and costs no
    /// more. The first look counts nothing.
    pub(super) fn look(&mut self, view: &KernelView, devices: &[DeviceNumber]) -> u64 {
        let begun = clock::thread_time_total();
        self.looks += 1;
        let now = clock::now();
        self.since_last = self.looked_at.replace(now).map_or(Duration::ZERO, |before| now.since(before));
        if let Some((subject, _)) = self.subject
            && (self.looks - 1).is_multiple_of(FAMILY_LOOKS)
        {
            self.family = family(view, subject).into_iter().collect();
        }
        let mut now = Now::new();
        for pid in process_ids(view) {
            if pid != self.own {
                self.look_at(view, pid, devices, &mut now);
            }
        }
        self.known.retain(|_, known| known.seen == self.looks);
        if self.looks > 1 {
            self.add(view, now);
        }
        clock::thread_time_total().saturating_sub(begun).as_ns()
    }

    fn look_at(&mut self, view: &KernelView, pid: u32, devices: &[DeviceNumber], now: &mut Now) {
        let Some(io) = process_io(view, pid, &mut self.buffer) else { return };
        let (looks, is_family) = (self.looks, self.family.contains(&pid));
        let first = looks == 1;
        let known = self.known.entry(pid).or_insert_with(|| Known {
            // One that began meanwhile counts in full.
            io: if first { io } else { ProcessIo::default() },
            cpu: None,
            uses: None,
            seen: looks,
        });
        known.seen = looks;
        let (before, moved) = (known.io, known.io != io);
        known.io = io;
        let is_used = known.uses.is_some_and(|(uses, _)| uses);
        let storage = io.read_bytes + io.write_bytes
            - before.read_bytes.min(io.read_bytes)
            - before.write_bytes.min(io.write_bytes);
        let asked = io.asked_read_bytes.saturating_sub(before.asked_read_bytes);
        if !is_family && !is_used && (!moved || (storage == 0 && asked < ASKED_MIN)) {
            return;
        }
        let is_old = |(uses, at): (bool, u32)| !uses && looks >= at + ASKED_AGAIN;
        if known.uses.is_none_or(is_old) {
            known.uses = Some((uses_devices(view, pid, devices), looks));
        }
        let uses = known.uses.is_some_and(|(uses, _)| uses);
        if !uses && !is_family {
            return;
        }
        let Some(stat) = process_stat(view, pid, &mut self.buffer) else { return };
        let waits = thread_waits(view, pid, &mut self.buffer);
        let waited = waits.cpu_wait_us;
        let (ticks, waited_before) = known.cpu.unwrap_or((stat.cpu_ticks, waited));
        known.cpu = Some((stat.cpu_ticks, waited));
        let second = ProgramSecond {
            read_bytes: io.read_bytes.saturating_sub(before.read_bytes),
            write_bytes: io.write_bytes.saturating_sub(before.write_bytes),
            asked_read_bytes: io.asked_read_bytes.saturating_sub(before.asked_read_bytes),
            asked_write_bytes: io.asked_write_bytes.saturating_sub(before.asked_write_bytes),
            cpu_us: stat.cpu_ticks.saturating_sub(ticks) * CPU_TICK_US,
            cpu_wait_us: waited.unwrap_or(0).saturating_sub(waited_before.unwrap_or(0)),
            blocked_us: waits.blocked * (self.since_last.as_ns() / 1_000),
            ..ProgramSecond::default()
        };
        let key = match &self.subject {
            Some((_, name)) if is_family => (true, name.clone()),
            _ => (false, stat.name),
        };
        let (sum, first_pid, processes) = now.entry(key).or_insert((ProgramSecond::default(), pid, 0));
        *sum = sum.joined(second);
        *first_pid = (*first_pid).min(pid);
        *processes += 1;
    }

    fn add(&mut self, view: &KernelView, now: Now) {
        let subject = self.subject.as_ref().map(|(pid, _)| *pid);
        for ((is_family, name), (mut second, member, processes)) in now {
            let pid = subject.filter(|_| is_family).unwrap_or(member);
            if let Some(periods) = quota_periods(view, member) {
                let before = self.quotas.insert((is_family, name.clone()), periods).unwrap_or(periods);
                second.quota_periods = periods.periods.saturating_sub(before.periods);
                second.quota_used_up = periods.used_up.saturating_sub(before.used_up);
            }
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
                    self.all.push(WatchedProgram { name, pid, ..WatchedProgram::default() });
                    self.all.len() - 1
                })
            }) else {
                continue;
            };
            let program = &mut self.all[place];
            program.processes = program.processes.max(processes);
            program.seconds.resize(self.seconds, ProgramSecond::default());
            program.seconds.push(second);
        }
        self.seconds += 1;
    }

    /// What each program did in the last second, the busiest first.
    pub(super) fn latest(&self) -> Vec<(&WatchedProgram, ProgramSecond)> {
        let last = |program: &WatchedProgram| {
            if program.seconds.len() == self.seconds { program.seconds.last().copied() } else { None }
        };
        let mut all: Vec<_> = self.all.iter().filter_map(|program| Some((program, last(program)?))).collect();
        all.sort_by_key(|(_, second)| std::cmp::Reverse((second.storage_bytes(), second.cpu_us)));
        all
    }

    /// The busiest programs over all seconds, and the place of the one that was named.
    pub(super) fn end(mut self) -> (Vec<WatchedProgram>, Option<usize>) {
        for program in &mut self.all {
            program.seconds.resize(self.seconds, ProgramSecond::default());
        }
        let total = |program: &WatchedProgram| {
            let all = program.seconds.iter().copied().fold(ProgramSecond::default(), ProgramSecond::joined);
            (all.storage_bytes(), all.asked_read_bytes + all.asked_write_bytes, all.cpu_us)
        };
        let subject = self.subject.as_ref().map(|(pid, _)| *pid);
        let is_subject = |program: &WatchedProgram| subject == Some(program.pid);
        self.all.sort_by_key(|program| std::cmp::Reverse((is_subject(program), total(program))));
        self.all.truncate(RECORDED_MAX);
        self.all.sort_by_key(|program| std::cmp::Reverse(total(program)));
        let place = self.all.iter().position(is_subject);
        (self.all, place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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

    #[test]
    fn processes_of_one_name_are_one_program_and_those_of_other_devices_none() {
        let root = tempfile::tempdir().unwrap();
        let view = KernelView::below(root.path());
        let device = [DeviceNumber::from_raw(fs::metadata(root.path()).unwrap().dev())];
        let all = |read: u64| {
            process(&view, 400_010, 1, "postgres", read, true);
            process(&view, 400_011, 400_010, "postgres", 2 * read, true);
            process(&view, 400_020, 1, "elsewhere", read, false);
        };
        all(0);
        let mut programs = Programs::new(&view, None);
        programs.look(&view, &device);
        all(100);
        programs.look(&view, &device);
        process(&view, 400_030, 1, "late", 7, true);
        programs.look(&view, &device);
        let (found, subject) = programs.end();
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
        let device = [DeviceNumber::from_raw(fs::metadata(root.path()).unwrap().dev())];
        let all = |read: u64| {
            process(&view, 400_010, 1, "fio", read, true);
            process(&view, 400_011, 400_010, "worker", read, true);
            process(&view, 400_020, 1, "fio", 10 * read, true);
        };
        all(0);
        let mut programs = Programs::new(&view, Some(400_010));
        programs.look(&view, &device);
        all(1);
        programs.look(&view, &device);
        let (found, subject) = programs.end();
        let read: Vec<(&str, u64)> =
            found.iter().map(|program| (&*program.name, program.seconds[0].read_bytes)).collect();
        assert_eq!((read, subject), (vec![("fio", 10), ("fio", 2)], Some(1)));
    }
}
