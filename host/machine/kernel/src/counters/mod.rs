//! What the kernel counts: I/O of disks and processes, CPU time of the machine, pressure, time lost to quotas.
//!
//! Read twice and take the change: each reader has its `..._change` or `..._since`.

mod exceeded;
mod memory;
mod processes;
mod quota;
mod swap;
mod thread_wait;
pub mod watching;

pub use exceeded::{exceeded, exceeded_change};
pub use memory::{MemoryReading, every_memory_limit, process_memory};
pub use processes::{ProcessBytes, own_bytes};
pub use quota::throttled_ns;
pub use swap::{is_swap_on, swapped_bytes};

use crate::facts::KernelView;
use loadline_record::{DeviceCounters, MachineCpu, Pressure};
use std::fs;

/// The counters of the block devices of `names`, in their order; those that the kernel does not list are left out.
#[must_use]
pub fn disk_counters(view: &KernelView, names: &[String]) -> Vec<DeviceCounters> {
    if names.is_empty() {
        return Vec::new();
    }
    parse_disks(&fs::read_to_string(view.proc.join("diskstats")).unwrap_or_default(), names)
}

/// One line of /proc/diskstats for each device of `names`, in their order; those that are not there are left out.
///
/// Fields and units are those of the kernel's Documentation/admin-guide/iostats.rst; sectors there have 512 bytes.
fn parse_disks(text: &str, names: &[String]) -> Vec<DeviceCounters> {
    let line_of = |name: &String| text.lines().find(|line| line.split_ascii_whitespace().nth(2) == Some(name));
    names.iter().filter_map(line_of).filter_map(parse_disk).collect()
}

fn parse_disk(line: &str) -> Option<DeviceCounters> {
    let mut fields = line.split_ascii_whitespace().skip(2);
    let name = fields.next()?.to_owned();
    let n: Vec<u64> = fields.map_while(|f| f.parse().ok()).collect();
    // Kernels before 4.18 stop after 11 numbers, before 5.5 after 15: no discards, no flushes.
    let at = |index: usize| n.get(index).copied();
    Some(DeviceCounters {
        name,
        reads: at(0)?,
        reads_merged: at(1)?,
        read_bytes: at(2)? * 512,
        read_ms: at(3)?,
        writes: at(4)?,
        writes_merged: at(5)?,
        write_bytes: at(6)? * 512,
        write_ms: at(7)?,
        busy_ms: at(9)?,
        queue_ms: at(10)?,
        discards: at(11).unwrap_or_default(),
        discard_bytes: at(13).unwrap_or_default() * 512,
        flushes: at(15).unwrap_or_default(),
    })
}

/// What `after` counts more than `before`. The kernel keeps times in 32 bits, which wrap around.
#[must_use]
pub fn disk_change(before: &DeviceCounters, after: &DeviceCounters) -> DeviceCounters {
    let more = |of: fn(&DeviceCounters) -> u64| of(after).saturating_sub(of(before));
    let more_ms = |of: fn(&DeviceCounters) -> u64| {
        let (before, after) = (of(before), of(after));
        if after >= before { after - before } else { u64::from((after as u32).wrapping_sub(before as u32)) }
    };
    DeviceCounters {
        name: after.name.clone(),
        reads: more(|d| d.reads),
        reads_merged: more(|d| d.reads_merged),
        read_bytes: more(|d| d.read_bytes),
        read_ms: more_ms(|d| d.read_ms),
        writes: more(|d| d.writes),
        writes_merged: more(|d| d.writes_merged),
        write_bytes: more(|d| d.write_bytes),
        write_ms: more_ms(|d| d.write_ms),
        discards: more(|d| d.discards),
        discard_bytes: more(|d| d.discard_bytes),
        flushes: more(|d| d.flushes),
        busy_ms: more_ms(|d| d.busy_ms),
        queue_ms: more_ms(|d| d.queue_ms),
    }
}

/// CPU time of the machine in clock ticks, all CPUs together (the first line of /proc/stat).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuTicks {
    idle: u64,
    iowait: u64,
    steal: u64,
    total: u64,
    cpus: u32,
}

/// CPU time so far; `None` where the kernel does not show it.
#[must_use]
pub fn cpu_ticks(view: &KernelView) -> Option<CpuTicks> {
    parse_cpu(&fs::read_to_string(view.proc.join("stat")).ok()?)
}

/// The CPU lines of /proc/stat.
fn parse_cpu(text: &str) -> Option<CpuTicks> {
    let mut lines = text.lines();
    let mut first = lines.next()?.split_ascii_whitespace();
    (first.next()? == "cpu").then_some(())?;
    // user nice system idle iowait irq softirq steal; guest time is contained in user.
    let ticks: Vec<u64> = first.take(8).map_while(|f| f.parse().ok()).collect();
    let cpus = lines.take_while(|line| line.starts_with("cpu")).count() as u32;
    Some(CpuTicks {
        idle: *ticks.get(3)?,
        iowait: *ticks.get(4)?,
        steal: ticks.get(7).copied().unwrap_or_default(),
        total: ticks.iter().sum(),
        cpus,
    })
}

/// Shares of the time between; `None` when no tick passed.
#[must_use]
pub fn cpu_shares(before: CpuTicks, after: CpuTicks) -> Option<MachineCpu> {
    let total = after.total.checked_sub(before.total).filter(|t| *t > 0)? as f64;
    let share = |of: fn(&CpuTicks) -> u64| of(&after).saturating_sub(of(&before)) as f64 / total;
    let (idle, iowait) = (share(|t| t.idle), share(|t| t.iowait));
    Some(MachineCpu { busy: (1.0 - idle - iowait).max(0.0), iowait, steal: share(|t| t.steal), cpus: after.cpus })
}

/// Pressure stall information so far; `None` where the kernel does not count it.
#[must_use]
pub fn pressure(view: &KernelView) -> Option<Pressure> {
    let text = |what: &str| fs::read_to_string(view.proc.join("pressure").join(what)).ok();
    parse_pressure(&text("cpu")?, &text("io")?, &text("memory")?)
}

/// The totals of /proc/pressure's three files: CPU, I/O, memory.
fn parse_pressure(cpu: &str, io: &str, memory: &str) -> Option<Pressure> {
    Some(Pressure {
        cpu_some_us: pressure_total(cpu, "some")?,
        io_some_us: pressure_total(io, "some")?,
        io_full_us: pressure_total(io, "full")?,
        memory_some_us: pressure_total(memory, "some")?,
    })
}

/// The total of a line of a file of pressure.
fn pressure_total(text: &str, who: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.split(' ').next() == Some(who))?;
    line.split(' ').find_map(|field| field.strip_prefix("total="))?.parse().ok()
}

/// What `after` counts more than `before`.
#[must_use]
pub fn pressure_change(before: Pressure, after: Pressure) -> Pressure {
    Pressure {
        cpu_some_us: after.cpu_some_us.saturating_sub(before.cpu_some_us),
        io_some_us: after.io_some_us.saturating_sub(before.io_some_us),
        io_full_us: after.io_full_us.saturating_sub(before.io_full_us),
        memory_some_us: after.memory_some_us.saturating_sub(before.memory_some_us),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISKS: &str = "\
   7       0 loop0 10 0 20 3 4 0 8 1 0 2 4 0 0 0 0 0 0
 254       0 vda 52563 10 2950098 10231 24137 25213 3031768 33741 2 8956 44712 120 0 4096 700 1234 15
 259       1 nvme0n1p1 1 2 3 4 5 6 7 8 9 10 11
";

    #[test]
    fn diskstats_are_read_in_bytes_and_in_the_order_asked() {
        let names = ["vda".to_owned(), "absent".to_owned(), "loop0".to_owned()];
        let found = parse_disks(DISKS, &names);
        assert_eq!(found.len(), 2);
        let vda = &found[0];
        assert_eq!((vda.reads, vda.reads_merged, vda.read_bytes, vda.read_ms), (52_563, 10, 2_950_098 * 512, 10_231));
        assert_eq!(
            (vda.writes, vda.writes_merged, vda.write_bytes, vda.write_ms),
            (24_137, 25_213, 3_031_768 * 512, 33_741)
        );
        assert_eq!((vda.busy_ms, vda.queue_ms), (8956, 44_712));
        assert_eq!((vda.discards, vda.discard_bytes, vda.flushes), (120, 4096 * 512, 1234));
        assert_eq!(found[1].name, "loop0");
    }

    #[test]
    fn an_old_kernel_tells_no_discards() {
        let found = parse_disks(DISKS, &["nvme0n1p1".to_owned()]);
        assert_eq!((found[0].queue_ms, found[0].discards, found[0].flushes), (11, 0, 0));
        assert!(parse_disks("259 1 sda 1 2 3\n", &["sda".to_owned()]).is_empty());
    }

    #[test]
    fn changes_survive_the_wrap_of_32_bit_times() {
        let before = DeviceCounters { reads: 5, queue_ms: u64::from(u32::MAX) - 9, ..DeviceCounters::default() };
        let after = DeviceCounters { reads: 7, queue_ms: 10, ..DeviceCounters::default() };
        let change = disk_change(&before, &after);
        assert_eq!((change.reads, change.queue_ms), (2, 20));
    }

    #[test]
    fn cpu_shares_add_up() {
        let before = parse_cpu("cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 1\ncpu1 1\nintr 5\n").unwrap();
        let after = parse_cpu("cpu  110 0 120 850 10 0 0 10 0 0\ncpu0 1\ncpu1 1\nintr 5\n").unwrap();
        let shares = cpu_shares(before, after).unwrap();
        assert_eq!(shares.cpus, 2);
        assert!((shares.busy - 0.4).abs() < 1e-12, "{shares:?}");
        assert!((shares.iowait - 0.1).abs() < 1e-12 && (shares.steal - 0.1).abs() < 1e-12, "{shares:?}");
        assert_eq!(cpu_shares(before, before), None);
        assert_eq!(parse_cpu("intr 5\n"), None);
    }

    #[test]
    fn pressure_is_the_change_of_the_totals() {
        let cpu =
            "some avg10=6.83 avg60=2.86 avg300=1.04 total=14779702\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
        let io = "some avg10=3.31 avg60=2.68 avg300=0.90 total=10298688\nfull avg10=3.21 avg60=2.66 avg300=0.87 total=9754562\n";
        let memory = "some avg10=0.00 avg60=0.00 avg300=0.00 total=7\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
        let read = parse_pressure(cpu, io, memory).unwrap();
        assert_eq!(
            (read.cpu_some_us, read.io_some_us, read.io_full_us, read.memory_some_us),
            (14_779_702, 10_298_688, 9_754_562, 7)
        );
        assert_eq!(pressure_change(read, read), Pressure::default());
        assert_eq!(parse_pressure("", io, memory), None);
    }
}
