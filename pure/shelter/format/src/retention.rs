//! Which snapshots are kept: the last ones, and the last of each minute, hour and day.

use crate::Timestamp;

/// How many snapshots of each kind are kept; a snapshot may count for several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeepRules {
    /// The newest ones.
    pub last: u32,
    /// The newest of each minute that has one.
    pub minutely: u32,
    /// The newest of each hour.
    pub hourly: u32,
    /// The newest of each day, in UTC.
    pub daily: u32,
}

impl Default for KeepRules {
    fn default() -> Self {
        Self { last: 10, minutely: 60, hourly: 24, daily: 7 }
    }
}

impl KeepRules {
    /// For each time, newest first, whether its snapshot is kept.
    #[must_use]
    pub fn keep(&self, newest_first: &[Timestamp]) -> Vec<bool> {
        let mut kept: Vec<bool> = (0..newest_first.len()).map(|index| index < self.last as usize).collect();
        for (seconds, count) in [(60, self.minutely), (3600, self.hourly), (86_400, self.daily)] {
            let mut previous = None;
            let mut left = count;
            for (index, time) in newest_first.iter().enumerate() {
                let period = time.seconds.div_euclid(seconds);
                if left > 0 && previous != Some(period) {
                    kept[index] = true;
                    left -= 1;
                    previous = Some(period);
                }
            }
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_of_saves_each_half_minute_leaves_about_a_hundred() {
        let times: Vec<Timestamp> = (0..10 * 2880).rev().map(|index| Timestamp::new(index * 30, 0)).collect();
        let kept = KeepRules::default().keep(&times);
        let count = kept.iter().filter(|kept| **kept).count();
        // 60 minutes (with 5 more of the last ten), 23 hours before this one, and 6 days before this one.
        assert_eq!(count, 60 + 5 + 23 + 6);
        assert!(kept[..10].iter().all(|kept| *kept));
    }

    #[test]
    fn nothing_is_kept_by_no_rule() {
        let none = KeepRules { last: 0, minutely: 0, hourly: 0, daily: 0 };
        assert_eq!(none.keep(&[Timestamp::default()]), [false]);
        assert_eq!(KeepRules { daily: 2, ..none }.keep(&[Timestamp::default(); 3]), [true, false, false]);
    }
}
