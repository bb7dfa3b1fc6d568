//! The effect of one setting, judged from the rounds so far.
//!
//! Rounds are judged again and again while they come in. The 5 % of errors that are allowed are therefore shared
//! evenly by all looks at all settings (Bonferroni). Where nothing has an effect, at most 5 % of hunts report one.
//! `docs/inside/how-we-compare.md` explains it.

use crate::factor::Factor;
use loadline_analysis::statistics::{CONFIDENCE, mean, t_quantile, variance};
use loadline_record::{Ending, TrialRecord};
use serde::{Deserialize, Serialize};

/// Rounds after which a hunt is looked at: about half as many again each time.
pub const HUNT_LOOKS: [u32; 6] = [4, 6, 9, 13, 19, 28];

/// What came of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// It raised the rate.
    Moved,
    /// It lowered it.
    Lowered,
    /// It changes it by no more than the margin.
    RuledOut,
    /// The rounds do not tell.
    CannotTell,
}

impl Effect {
    /// For people.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Moved => "moved the ceiling",
            Self::Lowered => "lowered it",
            Self::RuledOut => "ruled out",
            Self::CannotTell => "cannot tell",
        }
    }
}

/// An effect with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judged {
    /// Rate with the setting over that without.
    pub ratio: f64,
    /// Its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// What follows.
    pub effect: Effect,
}

/// Judges the logarithms of one setting's ratios, one for each round, of a hunt over so many `settings`, as the
/// last of [`HUNT_LOOKS`] that has come up saw them; `None` before the first.
///
/// The interval is wide enough to hold for every look at every setting at once.
#[must_use]
pub fn judge(logs: &[f64], settings: usize, margin: f64) -> Option<Judged> {
    let seen = HUNT_LOOKS.into_iter().rfind(|look| *look as usize <= logs.len())?;
    let logs = &logs[..seen as usize];
    let (middle, spread) = (mean(logs)?, variance(logs)?);
    let looks = HUNT_LOOKS.len() * settings.max(1);
    let confidence = 1.0 - (1.0 - CONFIDENCE) / looks as f64;
    let freedom = (logs.len() - 1) as f64;
    let half = t_quantile(confidence, freedom) * libm::sqrt(spread / logs.len() as f64);
    let edge = libm::log(1.0 + margin);
    let effect = if middle - half > -edge && middle + half < edge {
        Effect::RuledOut
    } else if middle - half > 0.0 && middle > edge {
        Effect::Moved
    } else if middle + half < 0.0 && middle < -edge {
        Effect::Lowered
    } else {
        Effect::CannotTell
    };
    Some(Judged { ratio: libm::exp(middle), low: libm::exp(middle - half), high: libm::exp(middle + half), effect })
}

/// The logarithm of one round's ratio; `None` where either trial is not complete or did nothing.
#[must_use]
pub fn round_log(baseline: &TrialRecord, varied: &TrialRecord, factor: Factor) -> Option<f64> {
    let rate = |trial: &TrialRecord| {
        let rate = if factor.in_bytes() { trial.bytes_per_s() } else { trial.iops() };
        rate.filter(|r| *r > 0.0 && trial.ending == Ending::Complete)
    };
    Some(libm::log(rate(varied)? / rate(baseline)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seeded noise with mean 0 and standard deviation 1.
    fn noise(seed: u64, count: usize) -> Vec<f64> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def1;
        let mut uniform = move || {
            // splitmix64 (S. Vigna, public domain)
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (z ^ (z >> 31)) as f64 / u64::MAX as f64
        };
        // A sum of twelve uniform numbers is normal enough and has variance 1.
        (0..count).map(|_| (0..12).map(|_| uniform()).sum::<f64>() - 6.0).collect()
    }

    /// A hunt over `settings` without any effect, by rounds with noise of 2 %: whether anything is called moved or lowered.
    fn false_alarm(seed: u64, settings: usize) -> bool {
        let most = HUNT_LOOKS[HUNT_LOOKS.len() - 1] as usize;
        (0..settings).any(|setting| {
            let logs: Vec<f64> = noise(seed * 1_000 + setting as u64, most).iter().map(|v| v * 0.02).collect();
            for look in HUNT_LOOKS {
                match judge(&logs[..look as usize], settings, 0.001).unwrap().effect {
                    Effect::Moved | Effect::Lowered => return true,
                    Effect::RuledOut => return false,
                    Effect::CannotTell => {}
                }
            }
            false
        })
    }

    #[test]
    fn looking_again_and_again_finds_no_more_than_five_percent_that_is_not_there() {
        // The margin is far below the noise, so that nothing but the interval stands in the way of an alarm.
        for settings in [1, 8] {
            let alarms = (0..400).filter(|seed| false_alarm(*seed, settings)).count();
            assert!(alarms <= 20, "{alarms} of 400 with {settings} settings");
        }
    }

    #[test]
    fn an_effect_beyond_the_margin_is_found_and_one_within_it_ruled_out() {
        let logs = |effect: f64| -> Vec<f64> { noise(3, 13).iter().map(|v| effect + v * 0.01).collect() };
        assert_eq!(judge(&logs(0.2), 6, 0.05).unwrap().effect, Effect::Moved);
        assert_eq!(judge(&logs(-0.2), 6, 0.05).unwrap().effect, Effect::Lowered);
        assert_eq!(judge(&logs(0.0), 6, 0.05).unwrap().effect, Effect::RuledOut);
        assert_eq!(judge(&logs(0.04), 6, 0.05).unwrap().effect, Effect::CannotTell);
        assert!(judge(&[0.1; 3], 1, 0.05).is_none());
    }
}
