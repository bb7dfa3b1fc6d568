//! The machine's clocks, as the engine reads them.

mod watch;

pub(crate) use watch::Watch;

use loadline_units::{Duration, Instant};

/// The monotonic clock (`CLOCK_MONOTONIC`), read without a system call on common machines.
#[inline]
pub(crate) fn now() -> Instant {
    Instant::from_ns(read(libc::CLOCK_MONOTONIC))
}

/// For how long a thread ran or was ready to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Readiness {
    /// CPU time.
    pub(crate) running: Duration,
    /// Time spent in the queue for a CPU. A thread there is not waiting for a device.
    pub(crate) queued: Duration,
}

impl Readiness {
    /// Both.
    pub(crate) fn total(self) -> Duration {
        self.running + self.queued
    }
}

/// The calling thread's readiness; `None` where the kernel does not tell the time in the queue.
pub(crate) fn thread_readiness() -> Option<Readiness> {
    let running = Duration::from_ns(read(libc::CLOCK_THREAD_CPUTIME_ID));
    queued().map(|queued| Readiness { running, queued: Duration::from_ns(queued) })
}

/// Time that the calling thread ran or was ready to run: CPU time and, where the kernel tells it, time spent in the queue
/// for a CPU.
pub(crate) fn thread_ready() -> Duration {
    thread_readiness().map_or_else(|| Duration::from_ns(read(libc::CLOCK_THREAD_CPUTIME_ID)), Readiness::total)
}

/// Whether the kernel tells the time that a thread spent in the queue for a CPU.
pub(crate) fn queue_is_told() -> bool {
    queued().is_some()
}

/// Nanoseconds that the calling thread spent in the queue for a CPU.
fn queued() -> Option<u64> {
    // "cpu-time queue-time slices", in nanoseconds (Documentation/scheduler/sched-stats of the kernel).
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// User-mode and system CPU time of the calling thread.
pub(crate) fn thread_usage() -> (Duration, Duration) {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is a valid place for one rusage, which the kernel fills.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    let span = |time: libc::timeval| Duration::from_us(time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64);
    (span(usage.ru_utime), span(usage.ru_stime))
}

/// Seconds since 1970 by the wall clock.
pub(crate) fn wall_s() -> u64 {
    read(libc::CLOCK_REALTIME) / loadline_units::NS_PER_S
}

#[inline]
fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec for the kernel to fill.
    let result = unsafe { libc::clock_gettime(clock, &raw mut time) };
    debug_assert_eq!(result, 0, "clock {clock} cannot be read");
    time.tv_sec as u64 * loadline_units::NS_PER_S + time.tv_nsec as u64
}

/// Asks the kernel not to round this thread's timers (default 50 us), so that an open loop wakes in time.
pub(crate) fn sharpen_timers() {
    // SAFETY: PR_SET_TIMERSLACK takes one number and touches no memory.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1u64, 0u64, 0u64, 0u64) };
}

/// The shortest sleep there is.
pub(crate) const NAP: Duration = Duration::from_ns(1);

/// Asks for the shortest sleep there is: it is over before the processor could go to sleep, and spends its time in the kernel.
/// [`sharpen_timers`] comes before.
#[inline]
pub(crate) fn nap() {
    let time = libc::timespec { tv_sec: 0, tv_nsec: NAP.as_ns() as _ };
    // SAFETY: `time` is a valid timespec, and what is left of the sleep is not asked for. A signal ends it early, which does no harm.
    unsafe { libc::nanosleep(&raw const time, std::ptr::null_mut()) };
}
