//! What was seen of a device while others used it: the samples of `watch`, from which the analysis names what limits them.

use crate::{CpuQuota, Exceeded, KernelThrottle, MemoryLimit, ShortQueue};
use serde::{Deserialize, Serialize};

/// Everything sampled on one device.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WatchRecord {
    /// The device's counters, at short and about equal distances.
    pub ticks: Vec<WatchTick>,
    /// The machine and its processes, at distances of about a second.
    pub seconds: Vec<WatchSecond>,
    /// Times within it in which nothing was watched, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<WatchGap>,
    /// Throttles of the kernel on the device, of any control group.
    pub throttles: Vec<WatchedThrottle>,
    /// The device's queue, where it is a short one. `None` too of records that did not look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<ShortQueue>,
    /// Whether the machine's swap lies on the device, or a part of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub swap_here: bool,
    /// Programs that use the device, the busiest first. Processes of one name are one program.
    pub programs: Vec<WatchedProgram>,
    /// The process that was named, with its descendants: the place of its program in `programs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<usize>,
    /// Processes that could not be looked into: they may use the device, and are not among the programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden: Option<HiddenProcesses>,
    /// What the watching itself took.
    pub cost: WatchCost,
    /// What the kernel's events showed, where they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<WatchEvents>,
}

/// A time in which nothing was watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchGap {
    /// The place of the second that follows it.
    pub before: usize,
    /// Its length, us.
    pub elapsed_us: u64,
}

/// The change of a device's counters over a short time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "[u64; TICK_FIELDS]", into = "[u64; TICK_FIELDS]")]
pub struct WatchTick {
    /// Its length, us.
    pub elapsed_us: u64,
    /// Reads completed.
    pub reads: u64,
    /// Writes completed.
    pub writes: u64,
    /// Discards completed.
    pub discards: u64,
    /// Flushes completed.
    pub flushes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Sum over the reads that completed of the time each took, ms.
    pub read_ms: u64,
    /// The same of writes.
    pub write_ms: u64,
    /// The same of flushes.
    pub flush_ms: u64,
    /// Time with a request in flight, ms.
    pub busy_ms: u64,
    /// Requests in flight at its end.
    pub in_flight: u64,
}

const TICK_FIELDS: usize = 12;
/// File systems write no less at once.
const PAGE_BYTES: u64 = 4096;

impl From<[u64; TICK_FIELDS]> for WatchTick {
    fn from(values: [u64; TICK_FIELDS]) -> Self {
        let mut tick = Self::default();
        tick.fields().into_iter().zip(values).for_each(|(field, value)| *field = value);
        tick
    }
}

impl From<WatchTick> for [u64; TICK_FIELDS] {
    fn from(mut tick: WatchTick) -> Self {
        tick.fields().map(|field| *field)
    }
}

impl WatchTick {
    /// In the order in which they are stored.
    const fn fields(&mut self) -> [&mut u64; TICK_FIELDS] {
        [
            &mut self.elapsed_us,
            &mut self.reads,
            &mut self.writes,
            &mut self.discards,
            &mut self.flushes,
            &mut self.read_bytes,
            &mut self.write_bytes,
            &mut self.read_ms,
            &mut self.write_ms,
            &mut self.flush_ms,
            &mut self.busy_ms,
            &mut self.in_flight,
        ]
    }
    /// Two neighbours as one.
    #[must_use]
    pub fn joined(mut self, mut next: Self) -> Self {
        self.in_flight = 0;
        self.fields().into_iter().zip(next.fields()).for_each(|(sum, more)| *sum += *more);
        self
    }
    /// One of so many equal parts of it.
    #[must_use]
    pub fn share_of(mut self, place: u64, parts: u64) -> Self {
        let in_flight = self.in_flight;
        for field in self.fields() {
            *field = *field * (place + 1) / parts - *field * place / parts;
        }
        Self { in_flight, ..self }
    }
    /// With what another device did in the same time.
    #[must_use]
    pub fn beside(self, other: Self) -> Self {
        let elapsed_us = self.elapsed_us;
        Self { elapsed_us, in_flight: self.in_flight + other.in_flight, ..self.joined(other) }
    }
    /// Without the writes that are flushes and nothing else: the kernel counts a flush without data among both. How many there are shows as
    /// far as the others would be shorter than a page.
    #[must_use]
    pub const fn without_empty_flushes(self) -> Self {
        let with_data = self.write_bytes.div_ceil(PAGE_BYTES);
        let without = self.writes.saturating_sub(with_data);
        let empty = if without < self.flushes { without } else { self.flushes };
        Self { writes: self.writes - empty, ..self }
    }
    /// Reads and writes.
    #[must_use]
    pub const fn requests(self) -> u64 {
        self.reads + self.writes
    }
    /// Bytes read and written.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        self.read_bytes + self.write_bytes
    }
    /// Mean of the requests in flight, by the times of those that completed (Little's law).
    #[must_use]
    pub fn outstanding(self) -> f64 {
        let waited_ms = self.read_ms + self.write_ms + self.flush_ms;
        waited_ms as f64 * 1e3 / self.elapsed_us.max(1) as f64
    }
    /// Share of its time with a request in flight.
    #[must_use]
    pub fn busy(self) -> f64 {
        (self.busy_ms as f64 * 1e3 / self.elapsed_us.max(1) as f64).min(1.0)
    }
}

/// The machine over about a second.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WatchSecond {
    /// How many ticks it is long.
    pub ticks: u32,
    /// Its CPUs: shares of their time, in parts per million.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<WatchedCpu>,
    /// Pressure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressure: Option<WatchedPressure>,
    /// How long more was asked of volumes than they allow, of those that count it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exceeded: Vec<Exceeded>,
    /// Bytes that the machine moved to its swap and back. `None` too of records that did not look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swapped_bytes: Option<u64>,
}

/// Shares of CPU time in parts per million.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchedCpu {
    /// Neither idle nor waiting for I/O.
    pub busy_ppm: u32,
    /// Taken by the hypervisor.
    pub steal_ppm: u32,
}

/// Microseconds in which tasks were stalled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchedPressure {
    /// Some task waited for I/O.
    pub io_some_us: u64,
    /// Every task did.
    pub io_full_us: u64,
    /// Some task waited for a CPU.
    pub cpu_some_us: u64,
}

/// A throttle of the kernel on the device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchedThrottle {
    /// The limit.
    pub limit: KernelThrottle,
    /// What its control group asked for in each of the seconds, counted as the limit does; `None`: the kernel does not show it.
    pub asked: Option<Vec<u64>>,
}

/// Processes of one name that use the device, or the process that was named with its descendants.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchedProgram {
    /// Its name.
    pub name: String,
    /// One of its processes.
    pub pid: u32,
    /// The most processes seen at once.
    pub processes: u32,
    /// Whether its files lay on this device alone: then the bytes that it moved are the device's. `None`: of records that did not look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_here: Option<bool>,
    /// The CPU quota of its control groups that ran out most often, where one was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<CpuQuota>,
    /// The memory limit of its control groups to which they had come, where one was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryLimit>,
    /// In each of the seconds.
    pub seconds: Vec<ProgramSecond>,
}

/// Processes that could not be looked into.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HiddenProcesses {
    /// The most at once, without threads of the kernel.
    pub processes: u32,
    /// Whether it was root that could not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_root: bool,
}

/// A program over about a second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<u64>", into = "Vec<u64>")]
pub struct ProgramSecond {
    /// Bytes that it caused to be read from storage (any device).
    pub read_bytes: u64,
    /// Bytes that it caused to be written to storage (any device).
    pub write_bytes: u64,
    /// Bytes that it read by system calls, from caches, pipes and sockets too.
    pub asked_read_bytes: u64,
    /// Bytes that it wrote by system calls.
    pub asked_write_bytes: u64,
    /// CPU time, us.
    pub cpu_us: u64,
    /// Time in which its threads were ready to run and had no CPU, us.
    pub cpu_wait_us: u64,
    /// Periods in which a CPU quota of its control group was enforced.
    pub quota_periods: u64,
    /// Those in which the quota ran out.
    pub quota_used_up: u64,
    /// Time for which its threads were blocked in the kernel, us, as far as looks at them show: each counts until the next look. 0 where
    /// none was seen blocked, and of records that did not look.
    pub blocked_us: u64,
    /// Bytes of files that its control group read again after the page cache had given them up. 0 of records that did not look.
    pub reread_bytes: u64,
    /// Time for which some task waited for memory, us: of its control group, or of the machine where the kernel counts no other. 0 of records
    /// that did not look.
    pub memory_stalled_us: u64,
    /// Time for which threads that had run shortly before waited, us, as far as looks at them show: for a lock of a file, for a semaphore, or
    /// for what the program itself calls waiting. This and the following are 0 of records that did not look.
    pub locked_us: u64,
    /// The same for another thread.
    pub threads_us: u64,
    /// The same at a socket.
    pub sockets_us: u64,
    /// The same for another process: at a pipe, or for a child to end.
    pub processes_us: u64,
    /// The same for the end of a pause.
    pub paused_us: u64,
}

/// Its figures. The first are always written; of the others those at the end that are 0 are not, as records of earlier versions had none.
const PROGRAM_FIELDS: std::ops::RangeInclusive<usize> = 8..=16;

impl TryFrom<Vec<u64>> for ProgramSecond {
    type Error = String;

    fn try_from(fields: Vec<u64>) -> Result<Self, String> {
        if !PROGRAM_FIELDS.contains(&fields.len()) {
            let (least, most) = (PROGRAM_FIELDS.start(), PROGRAM_FIELDS.end());
            return Err(format!("a second of a program has {least} to {most} figures, not {}", fields.len()));
        }
        let later = |place: usize| fields.get(place).copied().unwrap_or(0);
        Ok(Self {
            read_bytes: fields[0],
            write_bytes: fields[1],
            asked_read_bytes: fields[2],
            asked_write_bytes: fields[3],
            cpu_us: fields[4],
            cpu_wait_us: fields[5],
            quota_periods: fields[6],
            quota_used_up: fields[7],
            blocked_us: later(8),
            reread_bytes: later(9),
            memory_stalled_us: later(10),
            locked_us: later(11),
            threads_us: later(12),
            sockets_us: later(13),
            processes_us: later(14),
            paused_us: later(15),
        })
    }
}

impl From<ProgramSecond> for Vec<u64> {
    fn from(second: ProgramSecond) -> Self {
        let ProgramSecond {
            read_bytes,
            write_bytes,
            asked_read_bytes,
            asked_write_bytes,
            cpu_us,
            cpu_wait_us,
            quota_periods,
            quota_used_up,
            blocked_us,
            reread_bytes,
            memory_stalled_us,
            locked_us,
            threads_us,
            sockets_us,
            processes_us,
            paused_us,
        } = second;
        let mut all = vec![
            read_bytes,
            write_bytes,
            asked_read_bytes,
            asked_write_bytes,
            cpu_us,
            cpu_wait_us,
            quota_periods,
            quota_used_up,
            blocked_us,
            reread_bytes,
            memory_stalled_us,
            locked_us,
            threads_us,
            sockets_us,
            processes_us,
            paused_us,
        ];
        let written = all.iter().rposition(|figure| *figure > 0).map_or(0, |last| last + 1);
        all.truncate(written.max(*PROGRAM_FIELDS.start()));
        all
    }
}

impl ProgramSecond {
    /// Both together.
    #[must_use]
    pub const fn joined(self, other: Self) -> Self {
        Self {
            read_bytes: self.read_bytes + other.read_bytes,
            write_bytes: self.write_bytes + other.write_bytes,
            asked_read_bytes: self.asked_read_bytes + other.asked_read_bytes,
            asked_write_bytes: self.asked_write_bytes + other.asked_write_bytes,
            cpu_us: self.cpu_us + other.cpu_us,
            cpu_wait_us: self.cpu_wait_us + other.cpu_wait_us,
            quota_periods: self.quota_periods + other.quota_periods,
            quota_used_up: self.quota_used_up + other.quota_used_up,
            blocked_us: self.blocked_us + other.blocked_us,
            reread_bytes: self.reread_bytes + other.reread_bytes,
            memory_stalled_us: self.memory_stalled_us + other.memory_stalled_us,
            locked_us: self.locked_us + other.locked_us,
            threads_us: self.threads_us + other.threads_us,
            sockets_us: self.sockets_us + other.sockets_us,
            processes_us: self.processes_us + other.processes_us,
            paused_us: self.paused_us + other.paused_us,
        }
    }
    /// Bytes to and from storage.
    #[must_use]
    pub const fn storage_bytes(self) -> u64 {
        self.read_bytes + self.write_bytes
    }
}

/// What the watching itself took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchCost {
    /// CPU time of the tool, us.
    pub cpu_us: u64,
    /// Over so long, us.
    pub elapsed_us: u64,
}

impl WatchCost {
    /// CPU time as a share of one CPU.
    #[must_use]
    pub fn share(self) -> f64 {
        self.cpu_us as f64 / self.elapsed_us.max(1) as f64
    }
}

/// What the kernel's events showed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WatchEvents {
    /// Requests whose arrival, submission and completion were seen.
    pub requests: u64,
    /// Events that the kernel dropped.
    pub lost: u64,
    /// Programs by the requests that their threads asked for, the busiest first.
    #[serde(default)]
    pub askers: Vec<EventAsker>,
    /// The rhythm of the answers, if they come in clusters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clusters: Option<AnswersInClusters>,
    /// CPU time of the tool that reading events took, us.
    #[serde(default)]
    pub cpu_us: u64,
}

/// What the threads of one program asked of a device. Threads of the kernel write what others left in caches.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventAsker {
    /// Its name.
    pub name: String,
    /// One of its threads.
    pub pid: u32,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Flushes.
    pub flushes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Mean latency of its requests, ns.
    pub latency_mean_ns: u64,
    /// The 99th percentile, ns.
    pub latency_p99_ns: u64,
}

/// Answers that come in clusters of a rhythm, as a rate limiter lets them through.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct AnswersInClusters {
    /// From the beginning of one to that of the next, us.
    pub every_us: u64,
    /// Answers of a cluster on average.
    pub answers: f64,
    /// Share of the clusters with that distance.
    pub share: f64,
}

impl WatchRecord {
    /// The ticks of each of the seconds as one, in their order; what is left over at the end is left out.
    pub fn by_second(&self) -> impl Iterator<Item = WatchTick> + '_ {
        self.looked_at().map(|second| second.tick)
    }

    /// In at most `seconds` seconds: neighbours are joined in twos until they are so few. None is joined across a gap.
    #[must_use]
    pub fn thinned(mut self, seconds: usize) -> Self {
        while self.seconds.len() > seconds.max(1) {
            let lengths = self.groups(|count, _| count == 2);
            if lengths.len() >= self.seconds.len() {
                break;
            }
            self = self.grouped(&lengths);
        }
        self
    }

    /// In steps of this length, us: neighbours are joined until they are so long. None is joined across a gap.
    #[must_use]
    pub fn in_steps(self, step_us: u64) -> Self {
        let lengths = self.groups(|_, us| us + us / 20 >= step_us);
        if lengths.len() >= self.seconds.len() { self } else { self.grouped(&lengths) }
    }

    /// How many neighbours belong together: each group ends where it is full, by its count and its length, and before a gap.
    fn groups(&self, is_full: impl Fn(usize, u64) -> bool) -> Vec<usize> {
        let (mut lengths, mut count, mut us) = (Vec::new(), 0, 0);
        for (place, tick) in self.by_second().enumerate() {
            if count > 0 && (is_full(count, us) || self.gaps.iter().any(|gap| gap.before == place)) {
                lengths.push(count);
                (count, us) = (0, 0);
            }
            count += 1;
            us += tick.elapsed_us;
        }
        if count > 0 {
            lengths.push(count);
        }
        lengths
    }

    /// With so many neighbours as one each; seconds without ticks at the end are left out.
    fn grouped(mut self, lengths: &[usize]) -> Self {
        let begins: Vec<usize> =
            lengths.iter().scan(0, |end, length| Some(std::mem::replace(end, *end + length))).collect();
        self.gaps.iter_mut().for_each(|gap| gap.before = begins.partition_point(|begin| *begin < gap.before));
        self.ticks = in_groups(&self.by_second().collect::<Vec<_>>(), lengths, |a, b| a.joined(*b));
        self.seconds = in_groups(&self.seconds, lengths, WatchSecond::joined);
        self.seconds.iter_mut().for_each(|second| second.ticks = 1);
        for throttle in &mut self.throttles {
            throttle.asked = throttle.asked.as_ref().map(|asked| in_groups(asked, lengths, |a, b| a + b));
        }
        for program in &mut self.programs {
            program.seconds = in_groups(&program.seconds, lengths, |a, b| a.joined(*b));
        }
        self
    }
}

/// So many neighbours as one each; those that there are.
fn in_groups<T: Clone>(all: &[T], lengths: &[usize], join: impl Fn(&T, &T) -> T) -> Vec<T> {
    let mut rest = all;
    let one = |length: &usize| {
        let (own, later) = rest.split_at((*length).min(rest.len()));
        rest = later;
        own.iter().cloned().reduce(|a, b| join(&a, &b))
    };
    lengths.iter().filter_map(one).collect()
}

impl WatchSecond {
    fn joined(&self, next: &Self) -> Self {
        // A longer one counts more.
        let (own, others) = (u64::from(self.ticks.max(1)), u64::from(next.ticks.max(1)));
        let mean = |a: u32, b: u32| ((u64::from(a) * own + u64::from(b) * others) / (own + others)) as u32;
        let cpu = self.cpu.zip(next.cpu).map(|(a, b)| WatchedCpu {
            busy_ppm: mean(a.busy_ppm, b.busy_ppm),
            steal_ppm: mean(a.steal_ppm, b.steal_ppm),
        });
        let pressure = self.pressure.zip(next.pressure).map(|(a, b)| WatchedPressure {
            io_some_us: a.io_some_us + b.io_some_us,
            io_full_us: a.io_full_us + b.io_full_us,
            cpu_some_us: a.cpu_some_us + b.cpu_some_us,
        });
        let mut exceeded = self.exceeded.clone();
        for more in &next.exceeded {
            match exceeded.iter_mut().find(|own| own.device == more.device) {
                Some(own) => {
                    own.volume_iops_us += more.volume_iops_us;
                    own.volume_throughput_us += more.volume_throughput_us;
                    own.instance_iops_us += more.instance_iops_us;
                    own.instance_throughput_us += more.instance_throughput_us;
                }
                None => exceeded.push(more.clone()),
            }
        }
        let swapped_bytes = self.swapped_bytes.zip(next.swapped_bytes).map(|(a, b)| a + b);
        Self { ticks: self.ticks + next.ticks, cpu, pressure, exceeded, swapped_bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flushes_without_data_are_no_writes() {
        let tick = |writes, flushes, write_bytes| {
            let tick = WatchTick { writes, flushes, write_bytes, ..WatchTick::default() };
            tick.without_empty_flushes().writes
        };
        assert_eq!(tick(200, 100, 100 * 4096), 100, "a flush after each write");
        assert_eq!(tick(200, 100, 200 * 4096), 200, "each with data");
        assert_eq!(tick(200, 0, 200 * 512), 200, "small ones, and no flush");
    }

    fn record(seconds: usize) -> WatchRecord {
        let tick = WatchTick { elapsed_us: 100_000, reads: 7, in_flight: 3, ..WatchTick::default() };
        WatchRecord {
            ticks: vec![tick; seconds * 10],
            seconds: vec![WatchSecond { ticks: 10, ..WatchSecond::default() }; seconds],
            programs: vec![WatchedProgram {
                seconds: vec![ProgramSecond { cpu_us: 5, ..ProgramSecond::default() }; seconds],
                ..WatchedProgram::default()
            }],
            ..WatchRecord::default()
        }
    }

    #[test]
    fn a_thinned_record_keeps_every_request_and_its_length() {
        for seconds in [1, 5, 8, 33] {
            let thinned = record(seconds).thinned(8);
            assert!(thinned.seconds.len() <= 8);
            let all = thinned.by_second().reduce(WatchTick::joined).unwrap();
            assert_eq!((all.reads, all.elapsed_us), (70 * seconds as u64, 1_000_000 * seconds as u64));
            assert_eq!(thinned.programs[0].seconds.iter().map(|s| s.cpu_us).sum::<u64>(), 5 * seconds as u64);
            assert_eq!(thinned.programs[0].seconds.len(), thinned.seconds.len());
        }
    }

    #[test]
    fn a_program_s_second_of_an_earlier_version_has_no_blocked_time() {
        let second = ProgramSecond { cpu_us: 5, blocked_us: 8_000_000, ..ProgramSecond::default() };
        let text = serde_json::to_string(&second).unwrap();
        assert_eq!(text, "[0,0,0,0,5,0,0,0,8000000]");
        assert_eq!(serde_json::from_str::<ProgramSecond>(&text).unwrap(), second);
        let earlier = serde_json::from_str::<ProgramSecond>("[0,0,0,0,5,0,0,0,8000000,0,0]").unwrap();
        assert_eq!(earlier, second);
        let full = ProgramSecond { paused_us: 7, ..second };
        let text = serde_json::to_string(&full).unwrap();
        assert_eq!(text, "[0,0,0,0,5,0,0,0,8000000,0,0,0,0,0,0,7]");
        assert_eq!(serde_json::from_str::<ProgramSecond>(&text).unwrap(), full);
        let earlier = serde_json::from_str::<ProgramSecond>("[0,0,0,0,5,0,0,0]").unwrap();
        assert_eq!(earlier, ProgramSecond { blocked_us: 0, ..second });
        assert!(serde_json::from_str::<ProgramSecond>("[0,0]").is_err());
    }

    #[test]
    fn a_tick_is_stored_as_its_figures_alone() {
        let text = serde_json::to_string(&WatchTick { elapsed_us: 9, in_flight: 4, ..WatchTick::default() }).unwrap();
        assert_eq!(text, "[9,0,0,0,0,0,0,0,0,0,0,4]");
        assert_eq!(serde_json::from_str::<WatchTick>(&text).unwrap().in_flight, 4);
    }
}
