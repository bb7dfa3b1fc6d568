//! `shelter` in a command that was built without it.

use crate::arguments::shelter::ShelterArguments;
use crate::failure::{Outcome, Usage};
use std::path::PathBuf;

/// Says how to get a build with it.
pub(crate) fn shelter(
    arguments: &ShelterArguments,
    _: impl FnOnce() -> anyhow::Result<PathBuf>,
) -> anyhow::Result<Outcome> {
    let file = arguments.file.display();
    Err(Usage(format!(
        "this loadline was built without shelter: `cargo run --release --features shelter -- shelter {file} ...` builds one with it"
    ))
    .into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::shelter::ShelterAction;

    #[test]
    fn a_build_without_it_says_how_to_get_one() {
        let arguments = ShelterArguments { file: "fast.toml".into(), action: ShelterAction::Run };
        let error = shelter(&arguments, || unreachable!("no run is looked for")).unwrap_err();
        assert!(
            error.is::<Usage>() && error.to_string().contains("--features shelter -- shelter fast.toml"),
            "{error}"
        );
    }
}
