//! The choices of a run beside its plans. They are stored with it, so that a resumed run does the same again.

use crate::begin::work::label;
use crate::{DeclaredEnvironment, Error, Refusal, Scope};
use loadline_record::{Clock, EngineOptions, HostPart, RunRecord, VOLUME_DEFAULT};
use loadline_units::{Bytes, Duration};
use loadline_workload::{LoadSpec, Objective};
use serde::{Deserialize, Serialize};

/// Targets, permissions and options of a run. The plans and the seed stand in the run's header.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// What is measured, in the order given.
    pub targets: Vec<NamedTarget>,
    /// Nothing may be written.
    pub read_only: bool,
    /// Targets named a second time, and the serials and UUIDs of those that carry something.
    pub overwrite: Vec<String>,
    /// How the engine works.
    pub engine: EngineOptions,
    /// What replaces the plan's own values.
    pub overrides: Overrides,
    /// Test files stay.
    pub keep: bool,
    /// Its part in a run that several hosts make together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<HostPart>,
}

/// A volume's name and what it stands for on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedTarget {
    /// Its name in the records.
    pub volume: String,
    /// As given: a path, a device, an NBD URI.
    pub target: String,
}

/// Values that replace the plan's own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overrides {
    /// Trials of each cell.
    pub trials: Option<u32>,
    /// Measured time.
    pub duration: Option<Duration>,
    /// Load before the measurement.
    pub warm_up: Option<Duration>,
    /// Bytes that the load spreads over.
    pub size: Option<Bytes>,
    /// Times cut short.
    pub short: bool,
    /// The latency to keep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<Objective>,
}

/// What `--short` leaves of each value at most; a plan's own short form stays within them.
const SHORT_WARM_UP: Duration = Duration::from_s(1);
const SHORT_DURATION: Duration = Duration::from_s(3);
const SHORT_PAUSE: Duration = Duration::from_s(1);
const SHORT_SIZE: Bytes = Bytes::gib(2);

impl Settings {
    /// Of a run on these targets, with every other choice left to loadline.
    #[must_use]
    pub fn of(targets: Vec<NamedTarget>) -> Self {
        Self {
            targets,
            read_only: false,
            overwrite: Vec::new(),
            engine: EngineOptions::default(),
            overrides: Overrides::default(),
            keep: false,
            hosts: None,
        }
    }

    /// Checks that every volume has a name of its own.
    ///
    /// # Errors
    /// [`Refusal::NoTarget`], [`Refusal::VolumeName`] or [`Refusal::VolumeTwice`].
    pub fn check(&self) -> Result<(), Refusal> {
        if self.targets.is_empty() {
            return Err(Refusal::NoTarget);
        }
        for (index, NamedTarget { volume, .. }) in self.targets.iter().enumerate() {
            if !is_volume_name(volume) {
                return Err(Refusal::VolumeName { name: volume.clone() });
            }
            if self.targets[..index].iter().any(|known| known.volume == *volume) {
                return Err(Refusal::VolumeTwice { volume: volume.clone() });
            }
        }
        Ok(())
    }

    /// On what its plans are run, and how.
    #[must_use]
    pub fn scope(&self) -> Scope<'_> {
        let volumes = self.targets.iter().map(|target| target.volume.clone()).collect();
        Scope { volumes, overrides: &self.overrides, read_only: self.read_only, hosts: self.hosts.as_ref() }
    }

    /// What stands behind a volume, as typed.
    #[must_use]
    pub(crate) fn target_of(&self, volume: &str) -> Option<&str> {
        self.targets.iter().find(|named| named.volume == volume).map(|named| named.target.as_str())
    }

    /// A load for people, with its volume where there are several.
    #[must_use]
    pub fn named(&self, spec: &LoadSpec, volume: &str) -> String {
        let on = if self.targets.len() > 1 { format!(" on {volume}") } else { String::new() };
        label(spec) + &on
    }

    /// As a run's header keeps them.
    #[must_use]
    pub fn stored(&self) -> serde_json::Value {
        serde_json::to_value(self).expect("settings are plain data")
    }
}

/// One target under the name of a volume that was given none.
#[must_use]
pub fn sole_target(target: &str) -> Vec<NamedTarget> {
    vec![NamedTarget { volume: VOLUME_DEFAULT.to_owned(), target: target.to_owned() }]
}

/// Whether a volume can have this name.
#[must_use]
pub fn is_volume_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

impl Overrides {
    /// Puts these values in place of the load's own.
    pub fn apply(&self, spec: &mut LoadSpec) {
        if self.short {
            cut_short(spec);
        }
        spec.trials = self.trials.unwrap_or(spec.trials);
        spec.duration = self.duration.unwrap_or(spec.duration);
        spec.warm_up = self.warm_up.unwrap_or(spec.warm_up);
        spec.size = self.size.or(spec.size);
        spec.objective = self.objective.or(spec.objective);
    }
}

/// The load's shape in a fraction of its time.
fn cut_short(spec: &mut LoadSpec) {
    spec.trials = 1;
    spec.warm_up = spec.warm_up.min(SHORT_WARM_UP);
    spec.duration = spec.duration.min(SHORT_DURATION);
    spec.cool_down = Duration::ZERO;
    spec.pause = spec.pause.min(SHORT_PAUSE);
    spec.steady_state = None;
    spec.size = spec.size.map(|size| size.min(SHORT_SIZE));
}

/// These settings, with the targets of the declared storage where none is named.
///
/// # Errors
/// A [`Refusal`] where there is no target, or one that is not declared.
pub fn placed(mut settings: Settings, declared: Option<&DeclaredEnvironment>) -> Result<Settings, Refusal> {
    match declared {
        Some(declared) if settings.targets.is_empty() => settings.targets = declared.targets()?,
        _ => settings.check()?,
    }
    if let Some(declared) = declared {
        declared.check(&settings.targets)?;
    }
    Ok(settings)
}

/// The settings of a stored measurement.
///
/// # Errors
/// [`Refusal::IsPrediction`]; settings of another version.
pub fn settings_of(stored: &RunRecord) -> Result<Settings, Error> {
    let run = || stored.header.id.clone();
    if stored.header.clock == Clock::Virtual {
        return Err(Refusal::IsPrediction { run: run() }.into());
    }
    serde_json::from_value(stored.header.settings.clone()).map_err(|source| Error::OtherSettings {
        run: run(),
        again: "measure",
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_volume_has_a_name_of_its_own() {
        let settings = |names: &[&str]| {
            let target = |name: &&str| NamedTarget { volume: (*name).to_owned(), target: "null".to_owned() };
            Settings::of(names.iter().map(target).collect())
        };
        assert!(settings(&["data", "log-1"]).check().is_ok());
        assert!(matches!(settings(&[]).check(), Err(Refusal::NoTarget)));
        assert!(matches!(settings(&["data", "data"]).check(), Err(Refusal::VolumeTwice { .. })));
        for name in ["", "1a", "a=b", "gr\u{f6}\u{df}e"] {
            assert!(matches!(settings(&[name]).check(), Err(Refusal::VolumeName { .. })), "{name}");
        }
    }

    #[test]
    fn short_keeps_the_shape_and_a_value_from_the_command_line_wins() {
        let long = LoadSpec { duration: Duration::from_s(300), pause: Duration::from_s(10), ..LoadSpec::default() };
        let mut spec = long.clone();
        Overrides { short: true, trials: Some(5), ..Overrides::default() }.apply(&mut spec);
        assert_eq!((spec.trials, spec.duration, spec.pause), (5, SHORT_DURATION, SHORT_PAUSE));
        let objective = loadline_workload::parse_objective("p99=5ms").ok();
        Overrides { objective, ..Overrides::default() }.apply(&mut spec);
        assert_eq!(spec.objective, objective);
        Overrides::default().apply(&mut spec);
        assert_eq!(spec.objective, objective, "the plan's own stays");
        assert_eq!((spec.arrival, spec.blocks, spec.pattern), (long.arrival, long.blocks, long.pattern));
    }
}
