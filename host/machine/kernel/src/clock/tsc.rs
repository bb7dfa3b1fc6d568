//! A thread's clock by the processor's time-stamp counter (TSC), which is read in a third of the time of the kernel's clock.
//!
//! The kernel's clock is read once a millisecond; between two readings the counter tells the time. How fast the counter runs is
//! measured by those readings. A counter that strays from the clock is given up.

use crate::facts::clock_source;
use loadline_units::Instant;
use std::sync::OnceLock;

/// The kernel's clock is read again after this long at the latest, ns.
const REACH: u64 = 1_000_000;
/// The counter's rate is taken from two readings this far apart at first, ns, then from farther and farther ones,
const APART_MIN: u64 = 1_000_000;
/// and anew over each stretch of this length, since the kernel's clock is slewed.
const APART_MAX: u64 = 100_000_000;
/// A reading that took more ticks than this, about half a microsecond, was disturbed.
const WIDTH_MAX: u64 = 1_500;
/// Attempts at an undisturbed reading.
const TRIES: u32 = 4;
/// How far the counter may be off the clock at the end of its reach, ns. The kernel slews its clock by 500 ns in that time at most.
const OFF_MAX: u64 = 2_000;

/// The processor's counter and the kernel's clock at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Look {
    ticks: u64,
    /// Nanoseconds of the clock.
    at: u64,
}

/// Turns the counter into time, by readings of both.
#[derive(Debug, Clone, Copy)]
struct Calibration {
    /// The last reading. Its time is never before one that was given out.
    last: Look,
    /// The counter's rate is measured from here on,
    from: Look,
    /// over this many nanoseconds.
    apart: u64,
    /// Nanoseconds of a tick, in parts of 2^32; 0 as long as that is not known.
    pace: u64,
    /// Ticks after the last reading for which the counter gives the time.
    reach: u64,
}

impl Calibration {
    const fn new(look: Look) -> Self {
        Self { last: look, from: look, apart: APART_MIN, pace: 0, reach: 0 }
    }

    /// The time at `ticks`; `None` where the clock has to be read.
    #[inline]
    const fn at(&self, ticks: u64) -> Option<u64> {
        // Ticks before the last reading are very many after it.
        let since = ticks.wrapping_sub(self.last.ticks);
        if since < self.reach { Some(self.last.at + self.after(since)) } else { None }
    }

    /// Nanoseconds of so many ticks.
    #[inline]
    const fn after(&self, ticks: u64) -> u64 {
        ((ticks as u128 * self.pace as u128) >> 32) as u64
    }

    /// The latest time that may have been given out, with the counter at `ticks` by now.
    const fn told(&self, ticks: u64) -> u64 {
        let since = ticks.wrapping_sub(self.last.ticks);
        self.last.at + self.after(if since < self.reach { since } else { self.reach })
    }

    /// Takes in an undisturbed reading and gives the time. `None`: the counter does not run as the clock does.
    fn looked(&mut self, look: Look) -> Option<u64> {
        let told = self.told(look.ticks);
        if self.pace > 0 {
            let foretold = self.last.at.saturating_add(self.after(look.ticks.wrapping_sub(self.last.ticks)));
            // Long after the last reading the rate may have changed.
            let off_max = OFF_MAX + look.at.saturating_sub(self.last.at) / 1_000;
            if foretold.abs_diff(look.at) > off_max {
                return None;
            }
        }
        self.last = Look { at: look.at.max(told), ..look };
        let (ticks, span) = (look.ticks.wrapping_sub(self.from.ticks), look.at.saturating_sub(self.from.at));
        if span >= self.apart && ticks > 0 {
            self.pace = ((u128::from(span) << 32) / u128::from(ticks)) as u64;
            self.reach = ((u128::from(REACH) << 32) / u128::from(self.pace.max(1))) as u64;
            self.apart = (2 * span).min(APART_MAX);
            if span >= APART_MAX {
                self.from = look;
            }
        }
        Some(self.last.at)
    }
}

/// The clock of one thread. Its times are those of [`now`](super::now), to some tens of nanoseconds, and never run backwards, unless the
/// counter turns out to stray and is given up.
#[derive(Debug)]
pub struct TscClock {
    /// `None` where the kernel's clock is read each time.
    calibration: Option<Calibration>,
}

impl TscClock {
    /// Starts a clock that uses the processor's counter where that is steady, else the kernel's clock.
    #[must_use]
    pub fn start() -> Self {
        Self { calibration: counter_is_steady().then(look).flatten().map(Calibration::new) }
    }

    /// The time.
    #[inline]
    pub fn now(&mut self) -> Instant {
        let Some(calibration) = &self.calibration else { return super::now() };
        if let Some(at) = calibration.at(counter()) {
            return Instant::from_ns(at);
        }
        // By value: a pointer that leaves this crate would keep the caller's other state out of registers.
        let (at, calibration) = reread(*calibration);
        self.calibration = calibration;
        at
    }
}

/// Reads the kernel's clock; without a calibration from when on the counter strays.
#[inline(never)]
fn reread(mut calibration: Calibration) -> (Instant, Option<Calibration>) {
    let Some(look) = look() else {
        // Disturbed each time: the next call tries again.
        return (super::now().max(Instant::from_ns(calibration.told(counter()))), Some(calibration));
    };
    match calibration.looked(look) {
        Some(at) => (Instant::from_ns(at), Some(calibration)),
        None => (Instant::from_ns(look.at), None),
    }
}

/// Reads both; `None` if something came between each time.
fn look() -> Option<Look> {
    (0..TRIES).find_map(|_| {
        let before = counter();
        let at = super::now().as_ns();
        let width = counter().wrapping_sub(before);
        (width <= WIDTH_MAX).then(|| Look { ticks: before.wrapping_add(width / 2), at })
    })
}

/// Whether the processor's counter runs evenly on all cores. It does where the kernel itself keeps time by it.
fn counter_is_steady() -> bool {
    static STEADY: OnceLock<bool> = OnceLock::new();
    *STEADY.get_or_init(|| cfg!(target_arch = "x86_64") && clock_source().as_deref() == Some("tsc"))
}

/// The processor's counter of time, in ticks of its own.
#[cfg(target_arch = "x86_64")]
#[inline]
fn counter() -> u64 {
    // SAFETY: the instruction reads a register. The kernel could forbid it to a process that asks for that (`PR_SET_TSC`), as this one does not.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// No counter is known for this processor.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn counter() -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A counter of 3 GHz that began at some time, and a clock that runs a little slower than it should.
    struct Machine {
        ticks: u64,
        ns: f64,
        /// Nanoseconds of a tick.
        pace: f64,
    }

    impl Machine {
        const fn new() -> Self {
            Self { ticks: u64::MAX - 1_000_000_000, ns: 5e9, pace: 0.333_3 }
        }
        fn passes(&mut self, ticks: u64) {
            self.ticks = self.ticks.wrapping_add(ticks);
            self.ns += ticks as f64 * self.pace;
        }
        fn look(&self) -> Look {
            Look { ticks: self.ticks, at: self.ns as u64 }
        }
        /// What a calibration tells; the clock is looked at where it has to be, by `looks`.
        fn told(&self, calibration: &mut Calibration, looks: &mut u32) -> Option<u64> {
            calibration.at(self.ticks).or_else(|| {
                *looks += 1;
                calibration.looked(self.look())
            })
        }
    }

    #[test]
    fn the_counter_tells_what_the_clock_would_and_the_clock_is_looked_at_once_a_millisecond() {
        let mut machine = Machine::new();
        let mut calibration = Calibration::new(machine.look());
        let (mut looks, mut last, mut off) = (0, 0, 0);
        // Ten seconds, a reading each 10 us; the clock is slewed by 200 parts in a million in the middle of them.
        for reading in 0..1_000_000_u32 {
            machine.passes(30_000);
            if reading == 500_000 {
                machine.pace *= 1.000_2;
            }
            let told = machine.told(&mut calibration, &mut looks).expect("a counter that runs evenly");
            assert!(told >= last, "ran backwards");
            last = told;
            if reading > 200 {
                off = off.max(told.abs_diff(machine.ns as u64));
            }
        }
        assert!(off <= 210, "off by {off} ns where a slew makes 200 in a millisecond");
        assert!((9_900..10_300).contains(&looks), "{looks} looks in 10 s");
    }

    #[test]
    fn a_counter_that_does_not_run_as_the_clock_does_is_given_up() {
        let strays: [fn(&mut Machine); 4] = [
            // The machine went to another host, whose counter runs at another pace,
            |machine| machine.pace *= 1.05,
            // or whose counter stands elsewhere,
            |machine| machine.ticks = machine.ticks.wrapping_add(3_000_000_000),
            |machine| machine.ticks = machine.ticks.wrapping_sub(3_000_000_000),
            // or the clock stood still while the machine was put to sleep.
            |machine| machine.ns -= 5e7,
        ];
        for (case, stray) in strays.into_iter().enumerate() {
            let mut machine = Machine::new();
            let mut calibration = Calibration::new(machine.look());
            let mut looks = 0;
            for _ in 0..1_000 {
                machine.passes(30_000);
                machine.told(&mut calibration, &mut looks).expect("it runs evenly");
            }
            stray(&mut machine);
            let given_up = (0..101).any(|_| {
                machine.passes(30_000);
                machine.told(&mut calibration, &mut looks).is_none()
            });
            assert!(given_up, "case {case}");
        }
    }

    #[test]
    fn a_thread_that_sleeps_for_long_sees_the_clock_only() {
        let mut machine = Machine::new();
        let mut calibration = Calibration::new(machine.look());
        for _ in 0..100 {
            machine.passes(3_000_000_000);
            assert_eq!(calibration.at(machine.ticks), None);
            let at = calibration.looked(machine.look());
            assert_eq!(at, Some(machine.ns as u64));
        }
    }

    #[test]
    fn a_tsc_clock_goes_as_the_clock_does() {
        let mut clock = TscClock::start();
        let until = super::super::now() + loadline_units::Duration::from_ms(30);
        let slack = loadline_units::Duration::from_ns(OFF_MAX);
        let mut last = Instant::ZERO;
        loop {
            let before = super::super::now();
            let at = clock.now();
            let after = super::super::now();
            assert!(at + slack >= before && at <= after + slack, "{at:?} is not between {before:?} and {after:?}");
            assert!(at >= last, "ran backwards");
            last = at;
            if before > until {
                break;
            }
        }
        assert_eq!(clock.calibration.is_some(), counter_is_steady());
    }
}
