//! Which class fits a group, and why.

use super::{BoundTime, PlanQuestion};
use crate::config::{DataClass, Group};
use loadline_units::Duration;
use serde::Serialize;

/// A class, or what does a group's job better than any class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AdvisedClass {
    /// Folders alone.
    Recreate,
    /// Whole files in generations.
    Files,
    /// Files that only grow.
    Log,
    /// A mirror of the block device, made by the kernel.
    Mirror,
}

impl AdvisedClass {
    /// As people read it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Recreate => DataClass::Recreate.name(),
            Self::Files => DataClass::Files.name(),
            Self::Log => DataClass::Log.name(),
            Self::Mirror => "mirror",
        }
    }
}

/// Whether the recovery point of a group can be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum GroupVerdict {
    /// It can.
    Kept,
    /// It cannot.
    Missed,
    /// Something is unknown.
    Unknown,
}

/// What is advised.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupAdvice {
    /// The class that fits; `None` if too much is unknown.
    pub class: Option<AdvisedClass>,
    /// The recovery point to write into the file, s, if the present one cannot be kept and a longer one can.
    pub recovery_point_s: Option<f64>,
    /// Whether the file's recovery point can be kept.
    pub verdict: GroupVerdict,
    /// Why, in one sentence.
    pub why: String,
}

/// The advice for one group. `shortest` is the shortest recovery point that saves keep, s.
pub(super) fn of(
    question: &PlanQuestion<'_>,
    group: &Group,
    save: Option<&BoundTime>,
    shortest: Option<f64>,
) -> GroupAdvice {
    let class = match group.class {
        DataClass::Recreate => {
            return GroupAdvice {
                class: Some(AdvisedClass::Recreate),
                recovery_point_s: None,
                verdict: GroupVerdict::Kept,
                why: "its folders are made again at each start; contents are not saved".to_owned(),
            };
        }
        DataClass::Files => AdvisedClass::Files,
        DataClass::Log => AdvisedClass::Log,
    };
    let wanted = group.recovery_point.as_s_f64();
    let Some(save) = save else {
        let why = "whether its recovery point can be kept is unknown".to_owned();
        return GroupAdvice { class: None, recovery_point_s: None, verdict: GroupVerdict::Unknown, why };
    };
    if save.time_s <= wanted / 2.0 {
        let why =
            format!("a save takes {} of the {} that it may: {}", time(save.time_s), time(wanted / 2.0), save.limit);
        return GroupAdvice { class: Some(class), recovery_point_s: None, verdict: GroupVerdict::Kept, why };
    }
    let slow = format!("a save takes {} where it may take {}: {}", time(save.time_s), time(wanted / 2.0), save.limit);
    let mirror = question.application.as_ref().and_then(|application| application.mirror_writes);
    let mirror_is_fast = match (mirror, question.config.limits.objective) {
        (Some(writes), Some(objective)) => Some(writes.keeps_up && writes.mean_ns <= objective.as_ns()),
        (Some(writes), None) => Some(writes.keeps_up),
        (None, _) => None,
    };
    let (class, point, instead) = match (mirror_is_fast, shortest) {
        (Some(true), _) => {
            (AdvisedClass::Mirror, None, "a mirror loses nothing, and its writes are fast enough".to_owned())
        }
        (_, Some(shortest)) => {
            let point = rounded_up(shortest);
            (class, Some(point), format!("saves keep {}", time(point)))
        }
        (_, None) => (AdvisedClass::Mirror, None, "no recovery point within a week can be kept by saves".to_owned()),
    };
    let why = format!("{slow}; {instead}");
    GroupAdvice { class: Some(class), recovery_point_s: point, verdict: GroupVerdict::Missed, why }
}

/// A recovery point that people write: whole seconds, then steps of 5 s, whole minutes, whole hours.
fn rounded_up(seconds: f64) -> f64 {
    let step = match seconds {
        seconds if seconds <= 10.0 => 1.0,
        seconds if seconds <= 120.0 => 5.0,
        seconds if seconds <= 7_200.0 => 60.0,
        _ => 3_600.0,
    };
    libm::ceil(seconds / step) * step
}

/// A time in words.
fn time(seconds: f64) -> String {
    Duration::from_ns((seconds.max(0.0) * 1e9) as u64).human()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recovery_point_to_write_is_round_and_never_shorter() {
        for (exact, round) in [(1.2, 2.0), (10.0, 10.0), (11.0, 15.0), (121.0, 180.0), (7_201.0, 10_800.0)] {
            assert!((rounded_up(exact) - round).abs() < 1e-9, "{exact}");
        }
    }
}
