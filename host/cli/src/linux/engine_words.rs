//! Errors of the engine and of emulations for people: what to change, by the options that are typed.

use loadline_engine::{EngineError, Remedy, TargetError};
use loadline_runs::Loss;
use loadline_runs::emulation::{ControlError, ControlSilence};
use std::error::Error as StdError;

/// What a cause is for people; `None`: it is none of these.
pub(crate) fn of(cause: &(dyn StdError + 'static)) -> Option<String> {
    if let Some(error) = cause.downcast_ref::<EngineError>() {
        return Some(with_remedy(error.to_string(), error.remedy().as_ref()));
    }
    if let Some(error) = cause.downcast_ref::<TargetError>() {
        return Some(with_remedy(error.to_string(), error.remedy().as_ref()));
    }
    if let Some(ControlError::Unreachable { socket, why, .. }) = cause.downcast_ref::<ControlError>() {
        let name = "name the socket that `loadline emulate` printed, or that was given as --control";
        let one = "name the one that `loadline emulate` printed, or that was given as --control";
        let what_to_do = match why {
            ControlSilence::NobodyListens => why.to_string(),
            ControlSilence::NoSocket | ControlSilence::NotThere => format!("{why}; {one}"),
            ControlSilence::Other => name.to_owned(),
        };
        return Some(format!("cannot reach an emulation at {}: {what_to_do}", socket.display()));
    }
    None
}

/// Whether it was found before the load began.
pub(crate) const fn is_before_load(error: &EngineError) -> bool {
    matches!(error, EngineError::Spec(_) | EngineError::Region { .. } | EngineError::ReadOnly { .. })
}

/// How a volume was lost, with the option that would have let it go on.
pub(crate) fn lost(loss: &Loss) -> String {
    with_remedy(loss.how.clone(), loss.remedy.as_ref())
}

/// A cause, followed by what to type.
fn with_remedy(cause: String, remedy: Option<&Remedy>) -> String {
    match remedy {
        None => cause,
        Some(Remedy::AllowWrites) => format!("{cause}; drop --read-only or choose a load that reads"),
        Some(Remedy::ReadOnly) => format!("{cause}, or measure with --read-only"),
        Some(Remedy::ReadOnlyFile) => format!("{cause}, or measure a file that is there with --read-only"),
        Some(Remedy::HandOver(names)) => {
            let typed: Vec<String> = names.iter().map(|name| format!("--overwrite {name}")).collect();
            format!("{cause}: {}", typed.join(" "))
        }
        Some(Remedy::SmallerSize) => format!("{cause}; free the rest, or ask for less with --size"),
        Some(Remedy::AutomaticEngine) => format!("{cause}; try --engine auto"),
        Some(Remedy::NoSubmissionThread) => format!("{cause}; leave out --sqpoll"),
        Some(Remedy::NoCompletionPolling) => format!("{cause}; leave out --iopoll"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::{in_a_line, of};
    use loadline_runs::Error;

    #[test]
    fn each_remedy_ends_in_what_to_type() {
        let target = "/dev/sdx".to_owned();
        let unavailable =
            |engine| EngineError::Unavailable { engine, volume: "a".into(), reason: "it is not there".into() };
        let ends: [(&(dyn StdError + 'static), &str); 6] = [
            (
                &EngineError::ReadOnly { volume: "a".into(), load: "write".into() },
                "and write writes; drop --read-only or choose a load that reads",
            ),
            (&unavailable("SQPOLL"), "it is not there; leave out --sqpoll"),
            (&unavailable("IOPOLL"), "it is not there; leave out --iopoll"),
            (&unavailable("io_uring"), "it is not there; try --engine auto"),
            (
                &TargetError::NotHandedOver { target: target.clone(), path: (&target).into() },
                "name it a second time: --overwrite /dev/sdx",
            ),
            (&TargetError::NbdReadOnly { target }, "have it serve for writing, or measure with --read-only"),
        ];
        for (error, end) in ends {
            assert!(of(error).ends_with(end), "{}", of(error));
        }
        let number =
            TargetError::HardLinked { target: "x".into(), path: "x".into(), links: 2, identity: "inode 7".into() };
        let through = Error::Volume { volume: "a".into(), source: Box::new(Error::Target(number)) };
        let line = in_a_line(&through);
        assert!(line.ends_with("name it by its number as well: --overwrite x --overwrite inode 7"), "{line}");
    }
}
