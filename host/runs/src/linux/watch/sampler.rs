//! Looks at the counters again and again: devices ten times a second, the machine and its processes about once.

use super::WatchTarget;
use super::events::{EventsSeen, SeenByEvents};
use super::live::LiveWatch;
use super::programs::Programs;
use super::recorder::Recorder;
use crate::{Error, Event, Observer, WatchError};
use loadline_analysis::{LIVE_WINDOW_S, LiveFrame, LiveMachine, LiveProgram, LiveTotals, LiveVolume};
use loadline_block::Operation;
use loadline_kernel::clock;
use loadline_kernel::counters::watching::{DeviceReading, DeviceStat, asked_by_group};
use loadline_kernel::counters::{
    CpuTicks, cpu_shares, cpu_ticks, exceeded, exceeded_change, pressure, pressure_change, swapped_bytes,
};
use loadline_kernel::facts::{BlockDevice, DeviceNumber, KernelView, Places, throttles_of_every_group};
use loadline_record::{
    DeviceFacts, Exceeded, HiddenProcesses, HistogramSnapshot, Pressure, WatchCost, WatchRecord, WatchSecond,
    WatchTick, WatchedCpu, WatchedPressure, WatchedProgram, WatchedThrottle,
};
use loadline_units::{Duration, Instant};
use std::collections::BTreeMap;

/// How often is looked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// Between two looks at the devices.
    tick: Duration,
    /// Ticks of a second.
    ticks: u32,
    /// A look at all processes that took so much CPU time is followed by a rest of this many times its length.
    rest: u64,
    /// No second is longer.
    second_max: Duration,
}

impl Pace {
    /// Half a percent of a CPU for looks at processes.
    pub(super) const WATCH: Self =
        Self { tick: Duration::from_ms(100), ticks: 10, rest: 200, second_max: Duration::from_s(3_600) };
    /// A quarter of a percent. What is not stored yet is lost when the process is killed.
    pub(super) const RECORDER: Self =
        Self { tick: Duration::from_s(1), ticks: 1, rest: 400, second_max: Duration::from_s(8) };
}

/// Between two frames.
const FRAME: Duration = Duration::from_ms(1_000);
/// Seconds kept: longer watches have neighbours joined.
const SECONDS_MAX: usize = 4_096;
/// A reading of a device's counters that took longer has no exact time, and is done again,
const READING_MAX: Duration = Duration::from_us(200);
/// at most so often.
const READINGS: usize = 3;
/// Limits of control groups are looked for again after so long.
const THROTTLES_EVERY: Duration = Duration::from_s(10);
/// Throttles of one device that are followed.
const THROTTLES_MAX: usize = 16;
/// Programs of a frame.
const PROGRAMS_SHOWN: usize = 12;

/// Looks at everything.
#[derive(Debug)]
pub(super) struct Sampler {
    view: KernelView,
    pace: Pace,
    devices: Vec<Sampled>,
    programs: Programs,
    events: Option<EventsSeen>,
    seconds: Vec<WatchSecond>,
    second_lasted: Duration,
    machine: MachineReading,
    begun: Instant,
    throttles_at: Instant,
    /// Since when the cost is counted.
    cost_begun: Instant,
    cpu_begun: Duration,
}

/// One device.
#[derive(Debug)]
struct Sampled {
    name: String,
    disk: DeviceNumber,
    facts: DeviceFacts,
    stat: DeviceStat,
    before: DeviceReading,
    before_at: Instant,
    ticks: Vec<WatchTick>,
    totals: LiveTotals,
    throttles: Vec<Throttled>,
    /// Whether swap was seen to lie there.
    swap_here: bool,
    /// Ticks without a reading: it is gone.
    missed: usize,
}

/// One throttle with its counter.
#[derive(Debug)]
struct Throttled {
    watched: WatchedThrottle,
    before: Option<u64>,
}

/// The machine's counters.
#[derive(Debug)]
struct MachineReading {
    cpu: Option<CpuTicks>,
    pressure: Option<Pressure>,
    exceeded: Vec<Exceeded>,
    swapped_bytes: Option<u64>,
}

impl MachineReading {
    fn now(view: &KernelView, devices: &[DeviceFacts]) -> Self {
        Self {
            cpu: cpu_ticks(view),
            pressure: pressure(view),
            exceeded: exceeded(view, devices),
            swapped_bytes: swapped_bytes(view),
        }
    }
}

/// What was seen of a device.
#[derive(Debug)]
pub(super) struct SampledDevice {
    pub(super) name: String,
    pub(super) record: WatchRecord,
    pub(super) latencies: BTreeMap<Operation, HistogramSnapshot>,
}

impl Sampler {
    /// Reads everything for the first time.
    ///
    /// # Errors
    /// A device is gone.
    pub(super) fn begin(
        view: KernelView,
        target: &WatchTarget,
        pace: Pace,
        mut events: Option<EventsSeen>,
    ) -> Result<Self, Error> {
        let cpu_begun = clock::thread_time_total();
        let mut devices = Vec::new();
        for device in target.block_devices() {
            devices.push(Sampled::begin(&view, device)?);
        }
        let facts: Vec<DeviceFacts> = devices.iter().map(|device| device.facts.clone()).collect();
        let machine = MachineReading::now(&view, &facts);
        let mut programs = Programs::new(&view, target.subject(), Places::of(&view, target.block_devices()));
        programs.look(&view);
        if let Some(events) = &mut events {
            events.begin()?;
        }
        let begun = clock::now();
        let mut sampler = Self {
            view,
            pace,
            devices,
            programs,
            events,
            seconds: Vec::new(),
            second_lasted: Duration::ZERO,
            machine,
            begun,
            throttles_at: begun + THROTTLES_EVERY,
            cost_begun: begun,
            cpu_begun,
        };
        sampler.find_swap();
        Ok(sampler)
    }

    /// When it began.
    pub(super) const fn begun(&self) -> Instant {
        self.begun
    }

    /// Looks until the time is over, or the observer wants an end. What a recorder has written is not kept.
    ///
    /// # Errors
    /// The kernel's events cannot be read; the store of the recorder.
    pub(super) fn look(
        &mut self,
        live: &mut LiveWatch<'_>,
        observer: &mut dyn Observer,
        mut recorder: Option<&mut Recorder<'_>>,
    ) -> Result<(), Error> {
        let duration = live.settings.duration;
        let Pace { tick, ticks, rest, second_max } = self.pace;
        let (mut in_second, mut look_ns, mut next) = (0, 0, self.begun + tick);
        let (mut second_begun, mut framed_at, mut unwritten) = (self.begun, self.begun, 0);
        let end = duration.map(|duration| self.begun + duration);
        loop {
            let now = clock::now();
            if now < next {
                std::thread::sleep(std::time::Duration::from_nanos(next.since(now).as_ns()));
            }
            let now = clock::now();
            // A machine that stood still is not made up for.
            next = (next + tick).max(now);
            self.devices.iter_mut().for_each(Sampled::tick);
            if let Some(events) = &mut self.events {
                events.look(&self.view)?;
            }
            in_second += 1;
            let is_over = end.is_some_and(|end| now >= end) || observer.wants_an_end();
            let lasted = now.since(second_begun);
            let is_rested = lasted.as_ns() >= look_ns * rest || lasted + tick > second_max;
            let closes = in_second >= ticks && is_rested || is_over;
            if closes {
                look_ns = self.second(in_second, lasted);
                (in_second, second_begun) = (0, now);
                unwritten += 1;
            }
            // A frame does not wait for looks at processes, which may be rare.
            if closes || now >= framed_at + FRAME {
                live.mark(observer.marks(), now.since(self.begun).as_ns());
                observer.event(&Event::Live(&self.frame(live, closes)?));
                framed_at = now;
            }
            if let Some(recorder) = recorder.as_mut().filter(|of| closes && (is_over || of.is_due(now, lasted))) {
                recorder.write(self.seen(unwritten), &live.marks, now)?;
                (self.cost_begun, self.cpu_begun, unwritten) = (now, clock::thread_time_total(), 0);
                self.forget(LIVE_WINDOW_S);
                self.refuse_without_devices()?;
            }
            if is_over {
                return Ok(());
            }
        }
    }

    /// Closes a second that lasted so long. Returns how long the look at the processes took, ns.
    fn second(&mut self, ticks: u32, lasted: Duration) -> u64 {
        self.second_lasted = lasted;
        let look_ns = self.programs.look(&self.view);
        let facts: Vec<DeviceFacts> = self.devices.iter().map(|device| device.facts.clone()).collect();
        let now = MachineReading::now(&self.view, &facts);
        let ppm = |share: f64| (share * 1e6) as u32;
        let cpu = self.machine.cpu.zip(now.cpu).and_then(|(before, after)| cpu_shares(before, after));
        let pressure = self.machine.pressure.zip(now.pressure).map(|(before, after)| pressure_change(before, after));
        let swapped = self.machine.swapped_bytes.zip(now.swapped_bytes).map(|(a, b)| b.saturating_sub(a));
        self.seconds.push(WatchSecond {
            ticks,
            cpu: cpu.map(|cpu| WatchedCpu { busy_ppm: ppm(cpu.busy), steal_ppm: ppm(cpu.steal) }),
            pressure: pressure.map(|change| WatchedPressure {
                io_some_us: change.io_some_us,
                io_full_us: change.io_full_us,
                cpu_some_us: change.cpu_some_us,
            }),
            exceeded: exceeded_change(&self.machine.exceeded, &now.exceeded),
            swapped_bytes: swapped,
        });
        self.machine = now;
        let look_for_throttles = clock::now() >= self.throttles_at;
        if look_for_throttles {
            self.throttles_at = clock::now() + THROTTLES_EVERY;
        }
        for device in &mut self.devices {
            if look_for_throttles {
                device.find_throttles(&self.view, self.seconds.len() - 1);
            }
            device.throttles.iter_mut().for_each(|throttle| throttle.second(device.disk));
        }
        if look_for_throttles {
            self.find_swap();
        }
        look_ns
    }

    /// Swap may come, too.
    fn find_swap(&mut self) {
        for (place, device) in self.devices.iter_mut().enumerate() {
            device.swap_here |= self.programs.has_swap(&self.view, place);
        }
    }

    /// What is to be seen now. Where a second is not closed, its judgement is that of the frame before.
    fn frame(&mut self, live: &mut LiveWatch<'_>, is_closed: bool) -> Result<LiveFrame, Error> {
        let seconds = (self.second_lasted.as_ns() as f64 / 1e9).max(1e-3);
        let ticks = self
            .seconds
            .last()
            .filter(|_| is_closed)
            .map_or(self.pace.ticks, |second| second.ticks.min(self.pace.ticks)) as usize;
        let of_events = self.events.as_mut().map(EventsSeen::latest);
        let volume = |device: &Sampled| {
            let latencies = of_events.as_ref().filter(|(name, _)| *name == device.name).map(|(_, latencies)| latencies);
            let quantile = |share| latencies.and_then(|latencies| latencies.quantile(share)).map(Duration::as_ns);
            LiveVolume { p50_ns: quantile(0.5), p99_ns: quantile(0.99), ..device.latest(ticks, seconds) }
        };
        let volumes = self.devices.iter().map(volume).collect();
        let past = is_closed.then(|| self.seen(self.seconds_of(LIVE_WINDOW_S)));
        let mut frame = live.frame(volumes, past)?;
        for (device, volume) in self.devices.iter_mut().zip(&mut frame.volumes) {
            if is_closed {
                device.totals.charge(volume.cause_now.as_ref());
            }
            let latencies = self.events.as_ref().and_then(|events| events.latencies_of(&device.name));
            volume.totals = Some(LiveTotals { latencies: latencies.unwrap_or_default(), ..device.totals.clone() });
        }
        let programs = self.programs.latest().into_iter().take(PROGRAMS_SHOWN);
        let programs = programs.map(|program| LiveProgram::of(program, seconds));
        let cpu = self.seconds.last().and_then(|second| second.cpu);
        Ok(LiveFrame {
            elapsed_ns: clock::now().since(self.begun).as_ns(),
            planned_ns: live.settings.duration.map(Duration::as_ns),
            programs: programs.collect(),
            machine: cpu.map(LiveMachine::from).unwrap_or_default(),
            own_cpu_share: Some(self.cost().share()),
            ..frame
        })
    }

    /// How many of the last seconds have this length together: they are longer where looks at processes are rare.
    fn seconds_of(&self, length_s: usize) -> usize {
        let most = length_s * self.pace.ticks as usize;
        let sums = self.seconds.iter().rev().scan(0, |sum, second| {
            *sum += second.ticks as usize;
            Some(*sum)
        });
        sums.take_while(|sum| *sum <= most).count().max(1)
    }

    /// What the last seconds showed of each device, without the kernel's events.
    fn seen(&self, last: usize) -> Vec<SampledDevice> {
        let seconds = tail(&self.seconds, last);
        let ticks: usize = seconds.iter().map(|second| second.ticks as usize).sum();
        let hidden = self.programs.hidden();
        let hidden =
            (hidden > 0).then(|| HiddenProcesses { processes: hidden, by_root: rustix::process::geteuid().is_root() });
        let of = |(device, (programs, subject)): (&Sampled, (Vec<WatchedProgram>, Option<usize>))| {
            let throttles = device.throttles.iter().map(|throttle| WatchedThrottle {
                limit: throttle.watched.limit.clone(),
                asked: throttle.watched.asked.as_ref().map(|asked| tail(asked, last).to_vec()),
            });
            let record = WatchRecord {
                ticks: tail(&device.ticks, ticks.saturating_sub(device.missed)).to_vec(),
                seconds: seconds.to_vec(),
                gaps: Vec::new(),
                throttles: throttles.collect(),
                queue: device.facts.short_queue(),
                swap_here: device.swap_here,
                programs,
                subject,
                hidden,
                cost: self.cost(),
                events: None,
            };
            SampledDevice { name: device.name.clone(), record, latencies: BTreeMap::new() }
        };
        self.devices.iter().zip(self.programs.of_devices(last)).map(of).collect()
    }

    /// Leaves only the last seconds in memory.
    fn forget(&mut self, last: usize) {
        let seconds = self.seconds.len().saturating_sub(last);
        let ticks: usize = self.seconds.drain(..seconds).map(|second| second.ticks as usize).sum();
        for device in &mut self.devices {
            let all = device.ticks.len();
            device.ticks.drain(..ticks.min(all));
            for asked in device.throttles.iter_mut().filter_map(|throttle| throttle.watched.asked.as_mut()) {
                let all = asked.len();
                asked.drain(..seconds.min(all));
            }
        }
        self.programs.forget(seconds);
    }

    /// Without a device there is nothing to wait for: what started this starts it again.
    fn refuse_without_devices(&self) -> Result<(), Error> {
        match self.devices.first().filter(|_| self.devices.iter().all(|device| device.missed > 0)) {
            Some(device) => {
                let source = std::io::ErrorKind::NotFound.into();
                Err(WatchError::NoTarget { typed: device.name.clone(), source }.into())
            }
            None => Ok(()),
        }
    }

    fn cost(&self) -> WatchCost {
        let cpu = clock::thread_time_total().saturating_sub(self.cpu_begun);
        let elapsed = clock::now().since(self.cost_begun);
        WatchCost { cpu_us: cpu.as_ns() / 1_000, elapsed_us: (elapsed.as_ns() / 1_000).max(1) }
    }

    /// All that was seen.
    ///
    /// # Errors
    /// The kernel's events cannot be read.
    pub(super) fn end(mut self) -> Result<Vec<SampledDevice>, Error> {
        let mut by_events = self.events.take().map(|events| events.end(&self.view)).transpose()?;
        // They may be many, and are not copied.
        let ticks: Vec<Vec<WatchTick>> =
            self.devices.iter_mut().map(|device| std::mem::take(&mut device.ticks)).collect();
        let mut seen = self.seen(usize::MAX);
        for (device, ticks) in seen.iter_mut().zip(ticks) {
            device.record.ticks = ticks;
            if let Some(SeenByEvents { events, latencies, .. }) = by_events.take_if(|seen| seen.device == device.name) {
                (device.record.events, device.latencies) = (Some(events), latencies);
            }
            device.record = std::mem::take(&mut device.record).thinned(SECONDS_MAX);
        }
        Ok(seen)
    }
}

/// The last of them, all where there are fewer.
fn tail<T>(all: &[T], last: usize) -> &[T] {
    &all[all.len().saturating_sub(last)..]
}

impl Sampled {
    fn begin(view: &KernelView, device: &BlockDevice) -> Result<Self, Error> {
        let gone = |source| WatchError::NoTarget { typed: device.name.clone(), source };
        let stat = DeviceStat::open(view, &device.name).map_err(gone)?;
        let (before, before_at) = timed(&stat).ok_or_else(|| gone(std::io::ErrorKind::NotFound.into()))?;
        let disk = device.parent().map_or(device.number, |disk| disk.number);
        let mut sampled = Self {
            name: device.name.clone(),
            disk,
            facts: device.facts(view),
            stat,
            before,
            before_at,
            ticks: Vec::new(),
            totals: LiveTotals::default(),
            throttles: Vec::new(),
            swap_here: false,
            missed: 0,
        };
        sampled.find_throttles(view, 0);
        Ok(sampled)
    }

    /// Its last ticks, over so many seconds.
    fn latest(&self, ticks: usize, seconds: f64) -> LiveVolume {
        let all = tail(&self.ticks, ticks).iter().copied().reduce(WatchTick::joined).unwrap_or_default();
        let throttles = self.throttles.iter().map(|throttle| &throttle.watched);
        LiveVolume::of_tick(&self.name, all, throttles, seconds)
    }

    /// Looks for limits that are new; those set later asked for nothing in the seconds before.
    fn find_throttles(&mut self, view: &KernelView, seconds: usize) {
        for limit in throttles_of_every_group(view, self.disk) {
            let is_known = self.throttles.iter().any(|known| known.watched.limit == limit);
            if !is_known && self.throttles.len() < THROTTLES_MAX {
                let before = asked_by_group(&limit, self.disk);
                let asked = Some(vec![0; seconds]);
                self.throttles.push(Throttled { watched: WatchedThrottle { limit, asked }, before });
            }
        }
    }

    fn tick(&mut self) {
        let Some((after, now)) = timed(&self.stat) else {
            self.missed += 1;
            return;
        };
        let before = self.before;
        let more = |of: fn(&DeviceReading) -> u64| of(&after).saturating_sub(of(&before));
        // The kernel prints times in 32 bits, which wrap around.
        let more_ms = |of: fn(&DeviceReading) -> u64| {
            let (before, after) = (of(&before), of(&after));
            if after >= before { after - before } else { u64::from((after as u32).wrapping_sub(before as u32)) }
        };
        let tick = WatchTick {
            elapsed_us: now.since(self.before_at).as_ns() / 1_000,
            reads: more(|r| r.reads),
            writes: more(|r| r.writes),
            discards: more(|r| r.discards),
            flushes: more(|r| r.flushes),
            read_bytes: more(|r| r.read_bytes),
            write_bytes: more(|r| r.write_bytes),
            read_ms: more_ms(|r| r.read_ms),
            write_ms: more_ms(|r| r.write_ms),
            flush_ms: more_ms(|r| r.flush_ms),
            busy_ms: more_ms(|r| r.busy_ms),
            in_flight: after.in_flight,
        };
        let tick = tick.without_empty_flushes();
        self.totals.add(tick);
        self.ticks.push(tick);
        (self.before, self.before_at) = (after, now);
    }
}

/// A device's counters and when they were read. On a busy machine the thread may lose its CPU in between.
fn timed(stat: &DeviceStat) -> Option<(DeviceReading, Instant)> {
    let read = |_| {
        let begun = clock::now();
        let found = stat.read()?;
        let took = clock::now().since(begun);
        Some((found, begun + Duration::from_ns(took.as_ns() / 2), took))
    };
    let mut found = read(0)?;
    for again in 1..READINGS {
        if found.2 <= READING_MAX {
            break;
        }
        found = read(again)?;
    }
    Some((found.0, found.1))
}

impl Throttled {
    fn second(&mut self, device: DeviceNumber) {
        let now = asked_by_group(&self.watched.limit, device);
        // A group that has asked for nothing yet has no line.
        let change = now.unwrap_or(0).saturating_sub(self.before.unwrap_or(0));
        self.before = now.or(self.before);
        if let Some(asked) = &mut self.watched.asked {
            asked.push(change);
        }
    }
}
