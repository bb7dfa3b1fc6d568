//! What happened around a trial: CPU time, pressure, the devices' own counters, the page cache, other processes, the clock.

use crate::target::Volume;
use loadline_kernel::clock::{ClockReadings, CpuTime, process_cpu_time};
use loadline_kernel::counters::{self, CpuTicks, ProcessBytes};
use loadline_kernel::facts::{BlockDevice, KernelView};
use loadline_record::{DeviceCounters, Exceeded, Pressure, Residency, Stops, Surroundings};
use std::thread::JoinHandle;

/// What the machine showed just before a trial; [`Observation::end`] compares.
#[derive(Debug)]
pub struct Observation {
    view: KernelView,
    before: Snapshot,
    /// Looking through all processes takes milliseconds: it goes on while the load begins.
    processes: JoinHandle<ProcessBytes>,
}

/// Everything that is compared.
#[derive(Debug)]
struct Snapshot {
    clocks: ClockReadings,
    tool_cpu: CpuTime,
    cpu: Option<CpuTicks>,
    pressure: Option<Pressure>,
    devices: Vec<DeviceCounters>,
    cached_share: Option<f64>,
    exceeded: Vec<Exceeded>,
    throttled_ns: Option<u64>,
}

impl Observation {
    /// Looks for the first time.
    #[must_use]
    pub fn begin(volume: &Volume) -> Self {
        let view = KernelView::live();
        // Slow readings come first, those compared to the nanosecond last; `end` goes the other way.
        let processes = std::thread::spawn({
            let view = view.clone();
            move || ProcessBytes::read(&view)
        });
        let cached_share = volume.cached_share();
        let exceeded = counters::exceeded(&view, &volume.facts.devices);
        let (cpu, pressure) = (counters::cpu_ticks(&view), counters::pressure(&view));
        let devices = device_counters(&view, volume);
        let before = Snapshot {
            tool_cpu: process_cpu_time(),
            clocks: ClockReadings::read(),
            cpu,
            pressure,
            devices,
            cached_share,
            exceeded,
            throttled_ns: counters::throttled_ns(&view),
        };
        Self { view, before, processes }
    }

    /// Looks again and gives the changes. What only the load's driver knows (`threads`, `load_user_ns`, `load_system_ns`,
    /// `asked`, and of `stops` all but the quotas) is left empty.
    #[must_use]
    pub fn end(self, volume: &Volume) -> Surroundings {
        let Self { view, before, processes: processes_before } = self;
        let clocks = ClockReadings::read();
        let tool_cpu = process_cpu_time().since(before.tool_cpu);
        let devices = device_counters(&view, volume);
        let (cpu, pressure) = (counters::cpu_ticks(&view), counters::pressure(&view));
        let residency =
            before.cached_share.zip(volume.cached_share()).map(|(before, after)| Residency { before, after });
        let throttled_ns = before.throttled_ns.zip(counters::throttled_ns(&view));
        let throttled_ns = throttled_ns.map(|(before, after)| after.saturating_sub(before));
        let exceeded = counters::exceeded_change(&before.exceeded, &counters::exceeded(&view, &volume.facts.devices));
        let processes = ProcessBytes::read(&view);
        let processes_before = processes_before.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Surroundings {
            elapsed_ns: clocks.elapsed_since(&before.clocks).as_ns(),
            tool_user_ns: tool_cpu.user.as_ns(),
            tool_system_ns: tool_cpu.system.as_ns(),
            machine: before.cpu.zip(cpu).and_then(|(before, after)| counters::cpu_shares(before, after)),
            pressure: before.pressure.zip(pressure).map(|(before, after)| counters::pressure_change(before, after)),
            devices: devices
                .iter()
                .filter_map(|after| Some((before.devices.iter().find(|b| b.name == after.name)?, after)))
                .map(|(before, after)| counters::disk_change(before, after))
                .collect(),
            residency,
            others: processes.busiest_since(&processes_before, &view),
            clock: clocks.check_since(&before.clocks),
            exceeded,
            stops: Some(Stops { throttled_ns, ..Stops::default() }),
            ..Surroundings::default()
        }
    }
}

/// Counters of the volume's devices; a device that does not count is left out, for its zeros would say "no I/O".
fn device_counters(view: &KernelView, volume: &Volume) -> Vec<DeviceCounters> {
    let counting = |name: &&String| BlockDevice::by_name(view, name).is_some_and(|device| device.counts_io());
    let names: Vec<String> = volume.holding.counted.iter().filter(counting).cloned().collect();
    counters::disk_counters(view, &names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::{Access, Need};
    use loadline_units::Bytes;
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::FileExt;

    fn volume(target: &str) -> Volume {
        let need = Need { size: Some(Bytes::mib(8)), buffered: true, ..Need::default() };
        Volume::open("data", target, &need, &Access::default()).unwrap()
    }

    #[test]
    fn the_tools_own_work_and_the_devices_are_seen() {
        let volume = volume(".");
        let observation = Observation::begin(&volume);
        volume.files[0].write_all_at(&vec![1; 4 << 20], 0).unwrap();
        volume.files[0].sync_data().unwrap();
        let started = std::time::Instant::now();
        let mut count = 0_u64;
        while started.elapsed().as_millis() < 30 {
            count += 1;
        }
        let seen = observation.end(&volume);
        assert!(count > 0 && seen.elapsed_ns >= 30_000_000);
        assert!(seen.tool_user_ns + seen.tool_system_ns > 0);
        let residency = seen.residency.expect("this kernel tells what is cached");
        assert!(residency.after > residency.before, "{residency:?}");
        assert!(seen.clock.is_some(), "long enough");
        let written: u64 = seen.devices.iter().map(|d| d.write_bytes).sum();
        assert!(seen.devices.is_empty() || written >= 4 << 20, "{:?}", seen.devices);
        assert!(seen.others.len() <= 5);
    }

    #[test]
    fn a_null_target_has_no_devices_and_no_residency() {
        let volume = volume("null");
        let seen = Observation::begin(&volume).end(&volume);
        assert!(seen.devices.is_empty());
        assert_eq!(seen.residency, None);
        // Too short to tell, unless this thread was kept from running meanwhile.
        assert!(seen.clock.is_none() || seen.elapsed_ns >= 10_000_000, "{:?} in {} ns", seen.clock, seen.elapsed_ns);
    }

    #[test]
    fn a_busy_neighbour_is_named() {
        let volume = volume(".");
        let observation = Observation::begin(&volume);
        // A shell that writes and then waits for its input to end, so that it is there to be seen. The kernel counts pages when they
        // become dirty; in a large folio that is written in pieces it was seen to count half of them.
        let directory = tempfile::tempdir_in(".").unwrap();
        let script = "printf '%12000000s' '' > x; sync x; echo done; read line";
        let mut neighbour = std::process::Command::new("bash")
            .args(["-c", script])
            .current_dir(directory.path())
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(neighbour.stdout.as_mut().unwrap()), &mut line)
            .unwrap();
        let seen = observation.end(&volume);
        neighbour.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        neighbour.wait().unwrap();
        if fs::read_to_string("/proc/1/io").is_err() && seen.others.is_empty() {
            println!("skipped: this user may not look into other processes");
            return;
        }
        let found = seen.others.iter().find(|o| o.pid == neighbour.id());
        // Others may be busier on a busy machine; then five of them are named.
        assert!(found.is_some_and(|o| o.write_bytes >= 3_000_000) || seen.others.len() == 5, "{:?}", seen.others);
    }
}
