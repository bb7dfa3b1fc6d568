//! What happens around a measurement: CPU time, pressure, the devices' own counters, other processes, the clock. Every verb that
//! measures takes it in this way.

use crate::clock::{ClockReadings, CpuTime, process_cpu_time};
use crate::counters::{self, CpuTicks, ProcessBytes};
use crate::facts::{BlockDevice, KernelView, Places};
use loadline_record::{DeviceCounters, DeviceFacts, Exceeded, Pressure, Stops, Surroundings};
use std::thread::JoinHandle;

/// What the machine showed just before a measurement; [`Observation::end`] compares.
#[derive(Debug)]
pub struct Observation {
    view: KernelView,
    /// Devices whose counters are compared.
    counted: Vec<String>,
    devices: Vec<DeviceFacts>,
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
    exceeded: Vec<Exceeded>,
    throttled_ns: Option<u64>,
}

impl Observation {
    /// Looks for the first time. `devices` are those that the load passes, `counted` those of one layer, whose counters add up to it.
    #[must_use]
    pub fn begin(devices: &[DeviceFacts], counted: &[String]) -> Self {
        let view = KernelView::live();
        // Slow readings come first, those compared to the nanosecond last; `end` goes the other way.
        let processes = std::thread::spawn({
            let view = view.clone();
            move || ProcessBytes::read(&view)
        });
        let exceeded = counters::exceeded(&view, devices);
        let (cpu, pressure) = (counters::cpu_ticks(&view), counters::pressure(&view));
        let before = Snapshot {
            devices: device_counters(&view, counted),
            tool_cpu: process_cpu_time(),
            clocks: ClockReadings::read(),
            cpu,
            pressure,
            exceeded,
            throttled_ns: counters::throttled_ns(&view),
        };
        Self { view, counted: counted.to_vec(), devices: devices.to_vec(), before, processes }
    }

    /// Looks again and gives the changes. What only the load's driver knows (`threads`, `load_user_ns`, `load_system_ns`,
    /// `asked`, `residency`, and of `stops` all but the quotas) is left empty.
    #[must_use]
    pub fn end(self) -> Surroundings {
        let Self { view, counted, devices: facts, before, processes: processes_before } = self;
        let clocks = ClockReadings::read();
        let tool_cpu = process_cpu_time().since(before.tool_cpu);
        let devices = device_counters(&view, &counted);
        let (cpu, pressure) = (counters::cpu_ticks(&view), counters::pressure(&view));
        let throttled_ns = before.throttled_ns.zip(counters::throttled_ns(&view));
        let throttled_ns = throttled_ns.map(|(before, after)| after.saturating_sub(before));
        let exceeded = counters::exceeded_change(&before.exceeded, &counters::exceeded(&view, &facts));
        let processes = ProcessBytes::read(&view);
        let own: Vec<BlockDevice> = counted.iter().filter_map(|name| BlockDevice::by_name(&view, name)).collect();
        let places = (!own.is_empty()).then(|| Places::of(&view, &own));
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
            others: processes.busiest_since(&processes_before, &view, places.as_ref()),
            clock: clocks.check_since(&before.clocks),
            exceeded,
            stops: Some(Stops { throttled_ns, ..Stops::default() }),
            ..Surroundings::default()
        }
    }
}

/// Counters of these devices; one that does not count is left out, for its zeros would say "no I/O".
fn device_counters(view: &KernelView, names: &[String]) -> Vec<DeviceCounters> {
    let counting = |name: &&String| BlockDevice::by_name(view, name).is_some_and(|device| device.counts_io());
    let names: Vec<String> = names.iter().filter(counting).cloned().collect();
    counters::disk_counters(view, &names)
}
