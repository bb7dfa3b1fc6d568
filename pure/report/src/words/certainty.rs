//! Why a limit is as sure as it is, as it follows "how sure: likely: ".

use super::evidence::{claim, evidence, first};
use super::watch::hidden;
use loadline_analysis::{Because, Reached};
use loadline_units::words::percent;

/// In words, without a full stop.
pub(crate) fn because(because: &Because) -> String {
    match because {
        Because::ReadFrom { file, reached: None } => format!("read from {file}"),
        Because::ReadFrom { file, reached: Some(Reached::ByTheLoad) } => {
            format!("read from {file}, and the load reaches it")
        }
        Because::ReadFrom { file, reached: Some(Reached::ByAllThatIsAsked) } => {
            format!("read from {file}, and all of it is asked for")
        }
        Because::Declared { share: None } => "the environment or a counter says so".to_owned(),
        Because::Declared { share: Some(share) } => {
            format!("the environment or a counter says so; the load reaches {} of it", percent(*share))
        }
        Because::Model => {
            "the model knows its own limits; how well it fits the real disk is another question".to_owned()
        }
        Because::Doubt(code) => format!("{} ({code})", code.meaning()),
        Because::FirstSeen(seen) => first(seen),
        Because::Seen(seen) => evidence(seen),
        Because::Watched { seen, hidden: others } => {
            let seen = claim(seen);
            others.map_or_else(|| seen.clone(), |others| format!("{seen}; but {}", hidden(others)))
        }
        Because::NothingExplains => "no limit that loadline knows explains this rate".to_owned(),
        Because::NothingSeen => "nothing was seen".to_owned(),
        Because::NullTarget => "the target is null".to_owned(),
        Because::NotMeasured { loads, of } => format!("{loads} of {of} loads were not measured"),
    }
}
