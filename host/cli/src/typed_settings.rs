//! What a run's options mean: its settings, and the targets of `--on`.

use crate::arguments::run::RunArguments;
use crate::arguments::{Driving, EngineName, WaitName};
use crate::failure::Usage;
use loadline_record::{EngineChoice, EngineOptions, HostPart, VOLUME_DEFAULT, WaitMode};
use loadline_runs::{NamedTarget, Overrides, Settings, is_volume_name};
use std::path::Path;

/// The settings of `run`.
///
/// # Errors
/// [`Usage`] where `--on` names no volume or one twice.
pub(crate) fn of_run(arguments: &RunArguments) -> Result<Settings, Usage> {
    let overrides = Overrides {
        trials: arguments.trials,
        duration: arguments.duration,
        warm_up: arguments.warm_up,
        size: arguments.size,
        short: arguments.short,
        objective: arguments.objective,
    };
    let targets = named_targets(&arguments.on)?;
    let part = HostPart { rank: arguments.rank, steps: arguments.hosts.clone(), own_range: arguments.own_range };
    let hosts = (part != HostPart::default()).then_some(part);
    Ok(Settings { overrides, keep: arguments.keep, hosts, ..of_driving(targets, &arguments.driving) })
}

/// The settings of a verb that takes its plan as it is.
pub(crate) fn of_driving(targets: Vec<NamedTarget>, driving: &Driving) -> Settings {
    Settings {
        read_only: driving.read_only,
        overwrite: driving.overwrite.clone(),
        engine: engine_options(driving),
        ..Settings::of(targets)
    }
}

/// The options that give these values, as they are typed; `None` without any.
pub(crate) fn typed(overrides: &Overrides) -> Option<String> {
    let options = [
        overrides.short.then(|| "--short".to_owned()),
        overrides.trials.map(|trials| format!("--trials {trials}")),
        overrides.duration.map(|duration| format!("--duration '{duration}'")),
        overrides.warm_up.map(|warm_up| format!("--warm-up '{warm_up}'")),
        overrides.size.map(|size| format!("--size '{size}'")),
        overrides.objective.map(|objective| format!("--objective '{}={}'", objective.of.words(), objective.limit)),
    ];
    let options: Vec<String> = options.into_iter().flatten().collect();
    (!options.is_empty()).then(|| options.join(" "))
}

/// How the engine is to work.
fn engine_options(driving: &Driving) -> EngineOptions {
    let engine = match driving.engine {
        EngineName::Auto => EngineChoice::Auto,
        EngineName::IoUring => EngineChoice::IoUring,
        EngineName::Aio => EngineChoice::Aio,
        EngineName::Threads => EngineChoice::Threads,
    };
    let wait = match driving.wait {
        WaitName::Auto => WaitMode::Auto,
        WaitName::Asleep => WaitMode::Asleep,
    };
    EngineOptions { engine, sqpoll: driving.sqpoll, iopoll: driving.iopoll, wait }
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
}
