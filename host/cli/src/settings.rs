//! What a run was told beside its plans: stored with it, so that `--resume` does the same again.

use crate::arguments::{Driving, EngineName, RunArguments, WaitName};
use crate::failure::Usage;
use crate::preparation::Scope;
use loadline_engine::target::{absolute, is_nbd_uri};
use loadline_engine::{Access, EngineChoice, EngineOptions};
use loadline_record::VOLUME_DEFAULT;
use loadline_units::{Bytes, Duration};
use loadline_workload::LoadSpec;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Everything that a run's command line decided, apart from its plans and its seed, which the header keeps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Settings {
    /// What is measured, in the order given.
    pub(crate) targets: Vec<NamedTarget>,
    /// Nothing may be written.
    pub(crate) read_only: bool,
    /// Targets named a second time, and the serials and UUIDs of those that carry something.
    pub(crate) overwrite: Vec<String>,
    /// How the engine works.
    pub(crate) engine: EngineOptions,
    /// What replaces the plan's own values.
    pub(crate) overrides: Overrides,
    /// Test files stay.
    pub(crate) keep: bool,
}

/// A volume's name and what it stands for on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NamedTarget {
    /// In the records.
    pub(crate) volume: String,
    /// As typed.
    pub(crate) target: String,
}

/// Values that replace the plan's own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Overrides {
    /// Trials of each cell.
    pub(crate) trials: Option<u32>,
    /// Measured time.
    pub(crate) duration: Option<Duration>,
    /// Load before the measurement.
    pub(crate) warm_up: Option<Duration>,
    /// Bytes that the load spreads over.
    pub(crate) size: Option<Bytes>,
    /// Times cut short.
    pub(crate) short: bool,
}

/// What `--short` leaves of each value at most; a plan's own short form stays within them.
const SHORT_WARM_UP: Duration = Duration::from_s(1);
const SHORT_DURATION: Duration = Duration::from_s(3);
const SHORT_PAUSE: Duration = Duration::from_s(1);
const SHORT_SIZE: Bytes = Bytes::gib(2);

impl Settings {
    /// From what was typed.
    ///
    /// # Errors
    /// [`Usage`] where `--on` names no volume or one twice.
    pub(crate) fn of_run(arguments: &RunArguments) -> Result<Self, Usage> {
        let overrides = Overrides {
            trials: arguments.trials,
            duration: arguments.duration,
            warm_up: arguments.warm_up,
            size: arguments.size,
            short: arguments.short,
        };
        let targets = named_targets(&arguments.on)?;
        Ok(Self { overrides, keep: arguments.keep, ..Self::of_driving(targets, &arguments.driving) })
    }

    /// Of one that takes its plan as it is.
    pub(crate) fn of_driving(targets: Vec<NamedTarget>, driving: &Driving) -> Self {
        Self {
            targets,
            read_only: driving.read_only,
            overwrite: driving.overwrite.clone(),
            engine: engine_options(driving),
            overrides: Overrides::default(),
            keep: false,
        }
    }

    /// On what its plans are run, and how.
    pub(crate) fn scope(&self) -> Scope<'_> {
        let volumes = self.targets.iter().map(|target| target.volume.clone()).collect();
        Scope { volumes, overrides: &self.overrides, read_only: self.read_only }
    }

    /// Without `--on`, one volume of the usual name; a plan that is only printed needs no target.
    pub(crate) fn targets_or_default(&mut self) {
        if self.targets.is_empty() {
            self.targets = sole_target(".");
        }
    }

    /// What stands behind a volume, as typed.
    pub(crate) fn target_of(&self, volume: &str) -> Option<&str> {
        self.targets.iter().find(|named| named.volume == volume).map(|named| named.target.as_str())
    }

    /// The same, with targets that mean the same wherever one stands: what is stored with a run, to be resumed and checked from
    /// elsewhere.
    pub(crate) fn standing(&self) -> Self {
        let mut settings = self.clone();
        for named in &mut settings.targets {
            named.target = absolute(&named.target);
        }
        // The other words are serial numbers and UUIDs.
        for word in settings.overwrite.iter_mut().filter(|word| is_nbd_uri(word) || Path::new(word).exists()) {
            *word = absolute(word);
        }
        settings
    }

    /// What the engine may do to the targets.
    pub(crate) fn access(&self) -> Access {
        // A path is no serial and a serial is no path, so each word can stand for either.
        let (overwrite, identities) = (self.overwrite.clone(), self.overwrite.clone());
        Access { read_only: self.read_only, overwrite, identities }
    }
}

/// One target under the name of a volume that was given none.
pub(crate) fn sole_target(target: &str) -> Vec<NamedTarget> {
    vec![NamedTarget { volume: VOLUME_DEFAULT.to_owned(), target: target.to_owned() }]
}

/// How the engine is to work.
fn engine_options(driving: &Driving) -> EngineOptions {
    let engine = match driving.engine {
        EngineName::Auto => EngineChoice::Auto,
        EngineName::IoUring => EngineChoice::IoUring,
        EngineName::Aio => EngineChoice::Aio,
        EngineName::Threads => EngineChoice::Threads,
    };
    let sleep = driving.wait == WaitName::Asleep;
    EngineOptions { engine, sqpoll: driving.sqpoll, iopoll: driving.iopoll, sleep }
}

/// Reads every `--on`. What stands before `=` is a volume's name if it can be one; paths may hold `=` themselves.
pub(crate) fn named_targets(on: &[String]) -> Result<Vec<NamedTarget>, Usage> {
    let mut targets: Vec<NamedTarget> = Vec::new();
    for text in on {
        let named = text.split_once('=').filter(|(name, _)| is_volume_name(name));
        if named.is_none() {
            refuse_misnamed(text)?;
        }
        let (volume, target) = named.unwrap_or((VOLUME_DEFAULT, text));
        if target.is_empty() {
            return Err(Usage(format!("--on {text} names no target: write --on {volume}=PATH")));
        }
        if targets.iter().any(|t| t.volume == volume) {
            return Err(Usage(format!(
                "--on names the volume {volume:?} twice: give each its own name, as in --on a=/mnt/a --on b=/mnt/b"
            )));
        }
        targets.push(NamedTarget { volume: volume.to_owned(), target: target.to_owned() });
    }
    Ok(targets)
}

/// Refuses what looks like a name with a target and is neither that nor a path to what is there.
fn refuse_misnamed(text: &str) -> Result<(), Usage> {
    let Some((name, target)) = text.split_once('=').filter(|(name, _)| !name.contains('/')) else { return Ok(()) };
    if Path::new(text).exists() {
        return Ok(());
    }
    let fits = |(place, c): &(usize, char)| {
        c.is_ascii_alphabetic() || *place > 0 && (c.is_ascii_digit() || *c == '-' || *c == '_')
    };
    let wrong = name.chars().enumerate().find(|at| !fits(at));
    let place =
        wrong.map_or_else(|| "it is empty".to_owned(), |(place, c)| format!("{c:?} at character {}", place + 1));
    Err(Usage(format!(
        "--on {text}: {name:?} is no name for a volume: {place}. Write a letter from a to z or A to Z, then letters, digits, - and _, \
         as in --on data={target}; a path that holds = begins with ./ or /"
    )))
}

fn is_volume_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

impl Overrides {
    /// Puts these values in place of the load's own.
    pub(crate) fn apply(&self, spec: &mut LoadSpec) {
        if self.short {
            cut_short(spec);
        }
        spec.trials = self.trials.unwrap_or(spec.trials);
        spec.duration = self.duration.unwrap_or(spec.duration);
        spec.warm_up = self.warm_up.unwrap_or(spec.warm_up);
        spec.size = self.size.or(spec.size);
    }

    /// The options that gave them, as they are typed; `None` without any.
    pub(crate) fn typed(&self) -> Option<String> {
        let options = [
            self.short.then(|| "--short".to_owned()),
            self.trials.map(|trials| format!("--trials {trials}")),
            self.duration.map(|duration| format!("--duration '{duration}'")),
            self.warm_up.map(|warm_up| format!("--warm-up '{warm_up}'")),
            self.size.map(|size| format!("--size '{size}'")),
        ];
        let options: Vec<String> = options.into_iter().flatten().collect();
        (!options.is_empty()).then(|| options.join(" "))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(on: &[&str]) -> Result<Vec<(String, String)>, String> {
        let on: Vec<String> = on.iter().map(ToString::to_string).collect();
        let named = named_targets(&on).map_err(|usage| usage.0)?;
        Ok(named.into_iter().map(|t| (t.volume, t.target)).collect())
    }

    #[test]
    fn a_path_alone_is_the_volume_data_even_when_it_holds_an_equals_sign() {
        assert_eq!(targets(&["/mnt/a=b"]).unwrap(), vec![("data".into(), "/mnt/a=b".into())]);
        assert_eq!(targets(&["log=/mnt/a=b"]).unwrap(), vec![("log".into(), "/mnt/a=b".into())]);
    }

    #[test]
    fn what_is_no_name_for_a_volume_is_told_with_its_place_unless_it_is_a_path() {
        let told = targets(&["größe=/mnt/a"]).unwrap_err();
        assert!(told.contains("\"größe\" is no name for a volume: 'ö' at character 3"), "{told}");
        assert!(told.contains("--on data=/mnt/a"), "{told}");
        assert!(targets(&["1a=/mnt/a"]).unwrap_err().contains("'1' at character 1"));
        assert!(targets(&["=/mnt/a"]).unwrap_err().contains("it is empty"));
        assert_eq!(targets(&["./größe=a"]).unwrap(), vec![("data".into(), "./größe=a".into())]);
    }

    #[test]
    fn a_volume_named_twice_or_without_target_is_refused() {
        assert!(targets(&["/mnt/a", "/mnt/b"]).unwrap_err().contains("twice"));
        assert!(targets(&["log="]).unwrap_err().contains("--on log=PATH"));
    }

    #[test]
    fn short_keeps_the_shape_and_a_value_from_the_command_line_wins() {
        let long = LoadSpec { duration: Duration::from_s(300), pause: Duration::from_s(10), ..LoadSpec::default() };
        let mut spec = long.clone();
        Overrides { short: true, trials: Some(5), ..Overrides::default() }.apply(&mut spec);
        assert_eq!((spec.trials, spec.duration, spec.pause), (5, SHORT_DURATION, SHORT_PAUSE));
        assert_eq!((spec.arrival, spec.blocks, spec.pattern), (long.arrival, long.blocks, long.pattern));
    }
}
