//! When hosts begin together, by this machine's own clock.

use crate::{HostsRefusal, Refusal, StartTime};
use loadline_kernel::clock;
use loadline_units::{Duration, Instant, NS_PER_S};

impl StartTime {
    /// The instant of this machine's monotonic clock: a later step of the wall clock changes nothing.
    ///
    /// # Errors
    /// [`HostsRefusal::StartPassed`].
    pub(crate) fn instant(self) -> Result<Instant, Refusal> {
        let (wall, now) = (clock::wall_ns(), clock::now());
        match self.unix_ns().checked_sub(wall) {
            Some(ahead) if ahead > 0 => Ok(now + Duration::from_ns(ahead)),
            _ => Err(HostsRefusal::StartPassed {
                start: format!("@{}", self.unix_ns() as f64 / NS_PER_S as f64),
                late: Duration::from_ns(wall - self.unix_ns()),
            }
            .into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_that_passed_is_refused_and_one_ahead_is_an_instant() {
        let wall = clock::wall_ns();
        let passed = StartTime::from_unix_ns(wall.saturating_sub(5 * NS_PER_S)).instant();
        assert!(
            matches!(passed, Err(Refusal::Hosts(HostsRefusal::StartPassed { late, .. })) if late >= Duration::from_s(5))
        );
        let ahead = StartTime::from_unix_ns(wall + 3_600 * NS_PER_S).instant().unwrap();
        let left = ahead.since(clock::now());
        assert!(left > Duration::from_s(3_500) && left < Duration::from_s(3_700), "{}", left.human());
    }
}
