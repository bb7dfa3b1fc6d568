//! The real clock of an emulation, and its alarm.

use loadline_units::{Instant, NS_PER_S};
use rustix::event::epoll;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io;
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime, timerfd_create,
    timerfd_settime,
};
use std::sync::atomic::{AtomicU64, Ordering};

/// Marks the alarm among what is waited for.
const ALARM: u64 = u64::MAX;
/// How long before it is due a spinning thread wakes, ns.
const SPIN: u64 = 500_000;
/// How much before it is due the others wake at most, ns: they learn how long waking takes.
const LEAD_MAX: u64 = 40_000;
/// What each waking changes of it, ns: more where it took less than that, so that two in three take longer, and few come early.
const LEAD_LONGER: u64 = 200;
const LEAD_SHORTER: u64 = 400;
/// Looks at the clock between two looks at sockets.
const LOOK_EVERY: u32 = 64;
/// Things that happened, taken at once.
const EVENTS: usize = 64;

/// The machine's monotonic clock, counted from the beginning of the emulation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    origin: u64,
}

fn monotonic() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * NS_PER_S + now.tv_nsec as u64
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { origin: monotonic() }
    }
    pub(crate) fn now(self) -> Instant {
        Instant::from_ns(monotonic() - self.origin)
    }
}

/// What the thread that delivers late answers sleeps on: an alarm at a given instant, and sockets that take bytes again.
///
/// The alarm is a timer of the kernel (timerfd), which it keeps to the nanosecond: timer slack does not apply to it. The thread that
/// hands over a request sets it without waking the thread. It goes off as much too early as a sleeping thread mostly needs
/// to come back, by what was seen of that; a thread that is back sooner looks at the clock until it is time.
///
/// A spinning one wakes far earlier: that takes a CPU as long as anything is due soon, and spares answers that time always.
#[derive(Debug)]
pub(crate) struct Waiter {
    clock: Clock,
    epoll: OwnedFd,
    alarm: OwnedFd,
    spins: bool,
    /// When something is due, ns; [`u64::MAX`]: the alarm is not set.
    due: AtomicU64,
    /// When the alarm goes off, ns; [`u64::MAX`]: at once, which says nothing of how long waking takes.
    rings: AtomicU64,
    /// How much earlier that is, ns.
    lead: AtomicU64,
}

/// Why the thread woke.
#[derive(Default)]
pub(crate) struct Woken {
    events: Vec<epoll::Event>,
}

impl Waiter {
    pub(crate) fn new(clock: Clock, spins: bool) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let alarm = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
        // Edge-triggered: what was due need not be read off.
        epoll::add(&epoll, &alarm, epoll::EventData::new_u64(ALARM), epoll::EventFlags::IN | epoll::EventFlags::ET)?;
        let never = || AtomicU64::new(u64::MAX);
        Ok(Self { clock, epoll, alarm, spins, due: never(), rings: never(), lead: AtomicU64::new(0) })
    }

    /// Whether it watches the clock for long.
    pub(crate) const fn spins(&self) -> bool {
        self.spins
    }

    /// Sets the alarm, in place of an earlier one; at once where `at` has passed.
    pub(crate) fn set(&self, at: Instant) {
        self.due.store(at.as_ns(), Ordering::Release);
        let early = if self.spins { SPIN } else { self.lead.load(Ordering::Relaxed) };
        let rings = at.as_ns().saturating_sub(early);
        let ahead = rings > self.clock.now().as_ns();
        self.rings.store(if ahead { rings } else { u64::MAX }, Ordering::Release);
        // A time of zero would switch it off.
        let at = (self.clock.origin + rings).max(1);
        let value = Timespec { tv_sec: (at / NS_PER_S).cast_signed(), tv_nsec: (at % NS_PER_S).cast_signed() };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
        let set = timerfd_settime(&self.alarm, TimerfdTimerFlags::ABSTIME, &once);
        set.expect("an absolute time on a timer of our own is taken");
    }

    /// Waits, once, until `socket` takes bytes or is closed; then [`Woken::sockets`] gives `number`.
    pub(crate) fn watch(&self, socket: impl AsFd, number: u32, first: bool) -> io::Result<()> {
        let data = epoll::EventData::new_u64(u64::from(number));
        let flags = epoll::EventFlags::OUT | epoll::EventFlags::ONESHOT;
        if first {
            epoll::add(&self.epoll, socket, data, flags)
        } else {
            epoll::modify(&self.epoll, socket, data, flags)
        }
    }

    /// Sleeps until something happens.
    pub(crate) fn wait(&self, woken: &mut Woken) {
        self.look(woken, None);
        if woken.by_alarm() {
            self.learn();
            // A socket's turn comes first while one spins for long.
            let due = self.due.load(Ordering::Acquire);
            if self.spins && due < u64::MAX && woken.sockets().next().is_some() {
                return self.set(Instant::from_ns(due));
            }
            self.spin(woken);
        }
    }

    /// Takes into account how long waking took.
    fn learn(&self) {
        let rang = self.rings.swap(u64::MAX, Ordering::AcqRel);
        let Some(took) = self.clock.now().as_ns().checked_sub(rang) else { return };
        let lead = self.lead.load(Ordering::Relaxed);
        let lead = if took > lead { lead + LEAD_LONGER } else { lead.saturating_sub(LEAD_SHORTER) };
        self.lead.store(lead.min(LEAD_MAX), Ordering::Relaxed);
    }

    /// Waits without sleeping until the alarm is due, or a socket takes bytes.
    fn spin(&self, woken: &mut Woken) {
        let most = if self.spins { SPIN } else { LEAD_MAX };
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        for round in 1_u32.. {
            let due = self.due.load(Ordering::Acquire);
            if self.clock.now().as_ns() >= due {
                // Somebody may have set another meanwhile.
                match self.due.compare_exchange(due, u64::MAX, Ordering::AcqRel, Ordering::Relaxed) {
                    Ok(_) => return,
                    Err(_) => continue,
                }
            }
            // Not soon any more, or not set: the timer wakes the sleeping thread.
            if due.saturating_sub(self.clock.now().as_ns()) > most {
                return;
            }
            if self.spins && round.is_multiple_of(LOOK_EVERY) {
                self.look(woken, Some(&now));
                if woken.sockets().next().is_some() {
                    // The timer went off already.
                    self.set(Instant::from_ns(due));
                    return;
                }
            }
            std::hint::spin_loop();
        }
    }

    fn look(&self, woken: &mut Woken, timeout: Option<&Timespec>) {
        woken.events.clear();
        woken.events.reserve(EVENTS);
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut woken.events), timeout) {
            Ok(_) | Err(io::Errno::INTR) => {}
            Err(error) => panic!("waiting on our own descriptors failed: {error}"),
        }
    }
}

impl Woken {
    /// Whether the alarm went off.
    fn by_alarm(&self) -> bool {
        self.events.iter().any(|event| event.data.u64() == ALARM)
    }

    /// The numbers of the sockets that take bytes.
    pub(crate) fn sockets(&self) -> impl Iterator<Item = u32> {
        // By value: the fields of the kernel's structure are not aligned.
        self.events.iter().map(|event| event.data.u64()).filter(|data| *data != ALARM).map(|data| data as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_units::Duration;

    #[test]
    fn nobody_wakes_before_it_is_due_however_long_waking_took_before() {
        for spins in [false, true] {
            let clock = Clock::start();
            let waiter = Waiter::new(clock, spins).unwrap();
            let mut woken = Woken::default();
            for step in 0..300 {
                let due = clock.now() + Duration::from_us(30 + step % 7 * 20);
                waiter.set(due);
                waiter.wait(&mut woken);
                assert!(clock.now() >= due && woken.sockets().next().is_none());
            }
            // What has passed is due at once.
            waiter.set(Instant::ZERO);
            waiter.wait(&mut woken);
        }
    }
}
