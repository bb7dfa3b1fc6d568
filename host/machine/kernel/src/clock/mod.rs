//! The machine's clocks, and the CPU time of threads and of this process.

mod drift;
mod tsc;

pub use drift::ClockReadings;
pub use tsc::TscClock;

use loadline_units::{Duration, Instant, NS_PER_S};

/// The monotonic clock (`CLOCK_MONOTONIC`), read without a system call on common machines.
#[inline]
#[must_use]
pub fn now() -> Instant {
    Instant::from_ns(read(libc::CLOCK_MONOTONIC))
}

/// Seconds since 1970 by the wall clock.
#[must_use]
pub fn wall_s() -> u64 {
    read(libc::CLOCK_REALTIME) / NS_PER_S
}

/// Nanoseconds since 1970 by the wall clock.
#[must_use]
pub fn wall_ns() -> u64 {
    read(libc::CLOCK_REALTIME)
}

/// For how long a thread ran or was ready to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadTime {
    /// CPU time.
    pub running: Duration,
    /// Time in the scheduler's queue for a CPU. A thread there is not waiting for a device.
    pub queued: Duration,
}

impl ThreadTime {
    /// Both.
    #[must_use]
    pub fn total(self) -> Duration {
        self.running + self.queued
    }
}

/// The calling thread's time so far; `None` where the kernel does not count the time in the queue.
#[must_use]
pub fn thread_time() -> Option<ThreadTime> {
    let running = Duration::from_ns(read(libc::CLOCK_THREAD_CPUTIME_ID));
    queue_ns().map(|queued| ThreadTime { running, queued: Duration::from_ns(queued) })
}

/// The calling thread's CPU time, plus its time in the queue for a CPU where the kernel counts that.
#[must_use]
pub fn thread_time_total() -> Duration {
    thread_time().map_or_else(|| Duration::from_ns(read(libc::CLOCK_THREAD_CPUTIME_ID)), ThreadTime::total)
}

/// Whether the kernel counts the time that a thread spends in the queue for a CPU.
#[must_use]
pub fn queue_time_is_counted() -> bool {
    queue_ns().is_some()
}

/// Nanoseconds that the calling thread spent in the queue for a CPU.
fn queue_ns() -> Option<u64> {
    // "cpu-time queue-time slices", in nanoseconds (Documentation/scheduler/sched-stats of the kernel).
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// CPU time in both modes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// In the program's own code.
    pub user: Duration,
    /// In the kernel on its behalf.
    pub system: Duration,
}

impl CpuTime {
    /// What was spent since `earlier`.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self { user: self.user.saturating_sub(earlier.user), system: self.system.saturating_sub(earlier.system) }
    }
}

/// CPU time of the calling thread so far.
#[must_use]
pub fn thread_cpu_time() -> CpuTime {
    cpu_time(libc::RUSAGE_THREAD)
}

/// CPU time of this process so far.
#[must_use]
pub fn process_cpu_time() -> CpuTime {
    cpu_time(libc::RUSAGE_SELF)
}

fn cpu_time(whose: libc::c_int) -> CpuTime {
    // SAFETY: all-zero bytes are a valid rusage.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` outlives the call, which cannot fail with these arguments.
    unsafe { libc::getrusage(whose, &raw mut usage) };
    let span = |time: libc::timeval| Duration::from_us(time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64);
    CpuTime { user: span(usage.ru_utime), system: span(usage.ru_stime) }
}

/// Nanoseconds since the origin of one of the kernel's clocks.
#[inline]
fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec for the kernel to fill.
    let result = unsafe { libc::clock_gettime(clock, &raw mut time) };
    debug_assert_eq!(result, 0, "clock {clock} cannot be read");
    time.tv_sec as u64 * NS_PER_S + time.tv_nsec as u64
}

/// Has the kernel round this thread's timers as little as it can (50 us by default), so that an open loop wakes in time.
pub fn sharpen_timers() {
    // SAFETY: PR_SET_TIMERSLACK takes one number and touches no memory.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1u64, 0u64, 0u64, 0u64) };
}

/// The shortest sleep that the kernel offers.
pub const SLEEP_MIN: Duration = Duration::from_ns(1);

/// Sleeps for [`SLEEP_MIN`]: over before the processor could go to sleep, and spent in the kernel. Call [`sharpen_timers`] first.
#[inline]
pub fn sleep_min() {
    let time = libc::timespec { tv_sec: 0, tv_nsec: SLEEP_MIN.as_ns() as _ };
    // SAFETY: `time` is a valid timespec, and the remainder of the sleep is not asked for. A signal ends it early, which does no harm.
    unsafe { libc::nanosleep(&raw const time, std::ptr::null_mut()) };
}
