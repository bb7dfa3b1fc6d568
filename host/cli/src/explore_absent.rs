//! `explore` in a command that was built without it.

use crate::arguments::explore::ExploreArguments;
use crate::failure::{Outcome, Usage};
use loadline_catalog::CatalogTexts;
use std::path::Path;

/// Says how to get a build with it.
pub(crate) fn explore(arguments: &ExploreArguments, _: bool) -> anyhow::Result<Outcome> {
    Err(without(&format!("explore -o {}", arguments.output.display())).into())
}

/// The same where `advise` was asked for the page.
pub(crate) fn write(path: &Path, _: bool, _: CatalogTexts, _: &str) -> anyhow::Result<()> {
    Err(without(&format!("advise ... --explore {}", path.display())).into())
}

fn without(words: &str) -> Usage {
    Usage(format!(
        "this loadline was built without the page that computes: `rustup target add wasm32-unknown-unknown`, then \
         `cargo run --release --features explore -- {words}` builds one with it"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_without_it_says_how_to_get_one() {
        let error = write("buy.html".as_ref(), false, CatalogTexts::default(), "").unwrap_err();
        let text = error.to_string();
        assert!(error.is::<Usage>() && text.contains("--features explore -- advise ... --explore buy.html"), "{text}");
    }
}
