//! The words of the command line, for advice that repeats them.

use crate::shell::in_shell;
use std::cell::RefCell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

thread_local! {
    /// Of the command that this thread carries out.
    static TYPED: RefCell<TypedWords> = RefCell::default();
}

/// What was typed.
#[derive(Debug, Default)]
struct TypedWords {
    words: Vec<String>,
    store: Option<PathBuf>,
    /// A command prints what a screen has room for, unless all is asked for. Programs get everything.
    is_for_screen: bool,
}

/// Remembers the words of a command, and the store that they name.
pub(crate) fn remember(words: &[OsString], store: Option<&Path>, is_all_wanted: bool) {
    let words = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    TYPED.replace(TypedWords { words, store: store.map(Path::to_owned), is_for_screen: !is_all_wanted });
}

/// Whether texts for people end where a screen does.
pub(crate) fn is_for_screen() -> bool {
    TYPED.with_borrow(|typed| typed.is_for_screen)
}

/// The option that a command needs to find the runs of this one: none where the store is the usual one, or the environment names it.
pub(crate) fn store_option() -> String {
    TYPED.with_borrow(|typed| {
        let store = typed.store.as_ref().map(|store| in_shell(&store.display().to_string()));
        store.map_or_else(String::new, |store| format!(" --store {store}"))
    })
}

/// The same command with `more` options, if any, and without a report, which is written by now; `None` where it has them already, or a
/// program typed nothing.
pub(crate) fn again(more: &str) -> Option<String> {
    again_without(&[], more)
}

/// The same without these options, each of which has a value.
pub(crate) fn again_without(left_out: &[&str], more: &str) -> Option<String> {
    TYPED.with_borrow(|typed| {
        let mut words = typed.words.iter().skip(1);
        let mut command = String::from("loadline");
        while let Some(word) = words.next() {
            match word.as_str() {
                "-o" | "--output" => {
                    words.next();
                }
                word if word.starts_with("--output=") => {}
                word if left_out.contains(&word) => {
                    words.next();
                }
                word if word.split_once('=').is_some_and(|(option, _)| left_out.contains(&option)) => {}
                word => {
                    command.push(' ');
                    command.push_str(&in_shell(word));
                }
            }
        }
        let is_new = typed.words.len() > 1 && !typed.words.iter().any(|word| word == more);
        is_new.then(|| format!("{command} {more}").trim_end().to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_repeated_as_a_shell_takes_it_without_its_report() {
        assert_eq!((again("--x"), store_option()), (None, String::new()));
        let words = ["loadline", "advise", "--p99", "10 ms", "-o", "a.html", "--output=b.html", "it's.toml"];
        remember(&words.map(OsString::from), Some(Path::new("/tmp/my runs.db")), false);
        let wanted = r"loadline advise --p99 '10 ms' 'it'\''s.toml' --write-env advised.toml";
        assert_eq!(again("--write-env advised.toml").as_deref(), Some(wanted));
        let limits = again_without(&["--p99", "--objective"], "--limits-only");
        assert_eq!(limits.as_deref(), Some(r"loadline advise 'it'\''s.toml' --limits-only"));
        assert_eq!(store_option(), " --store '/tmp/my runs.db'");
        remember(&[], None, true);
    }
}
