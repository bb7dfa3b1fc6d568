//! How the command ends: exit statuses, and errors as one paragraph.

use crate::words;
use loadline_analysis::RunVerdict;
use loadline_report::plain_lines;

/// How a verb ended when nothing failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All was done.
    Done,
    /// All was done, and something was found wrong that has been reported already.
    Failed,
    /// An objective was not kept, or a comparison came out worse.
    Against,
    /// An objective was set or a comparison asked to hold, and the figures cannot tell.
    Inconclusive,
    /// The user stopped it; what was finished is kept.
    Interrupted,
}

impl From<RunVerdict> for Outcome {
    fn from(verdict: RunVerdict) -> Self {
        match verdict {
            RunVerdict::Kept => Self::Done,
            RunVerdict::Broken => Self::Against,
            RunVerdict::Unknown => Self::Inconclusive,
            RunVerdict::WrongData => Self::Failed,
        }
    }
}

impl Outcome {
    /// The exit status of the published table.
    pub(crate) fn status(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Against => 3,
            Self::Inconclusive => 4,
            Self::Interrupted => 130,
        }
    }
}

/// The command line contradicts itself or the files that it names; exit status 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Usage(pub(crate) String);

/// Standard output was closed by whoever read it; ends the command without a word.
#[derive(Debug, thiserror::Error)]
#[error("standard output was closed")]
pub(crate) struct OutputClosed;

/// Prints `error` as a paragraph to standard error, and says with which status to exit.
pub(crate) fn conclude(result: anyhow::Result<Outcome>) -> u8 {
    match result {
        Ok(outcome) => outcome.status(),
        Err(error) if error.is::<OutputClosed>() => Outcome::Done.status(),
        Err(error) => {
            // Nothing is left to tell where standard error is closed too.
            let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{}\n", paragraph(&error)).as_bytes());
            // `is` also finds what was given as context, which the chain shows only as text.
            status_of(&error)
        }
    }
}

/// The exit status of what was refused or mistyped.
pub(crate) const USAGE: u8 = 2;

/// The paragraph without the command's name, and the exit status.
pub(crate) fn told(error: &anyhow::Error) -> (String, u8) {
    (plain_lines(&words::chain(error.chain())), status_of(error))
}

/// Whether nothing was done before an error, whatever its status.
pub(crate) fn is_before_all(error: &anyhow::Error) -> bool {
    status_of(error) == USAGE || error.chain().any(words::is_before_all)
}

fn status_of(error: &anyhow::Error) -> u8 {
    if error.is::<Usage>() || error.chain().any(words::is_refusal) {
        USAGE
    } else if error.chain().any(words::is_stop) {
        Outcome::Interrupted.status()
    } else {
        1
    }
}

/// The chain of causes in one paragraph, outermost first.
fn paragraph(error: &anyhow::Error) -> String {
    plain_lines(&format!("loadline: {}", words::chain(error.chain())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_told_once_each_and_outermost_first() {
        let error = anyhow::anyhow!("no such device").context("open /dev/x: no such device").context("volume data");
        assert_eq!(paragraph(&error), "loadline: volume data: open /dev/x: no such device");
    }

    #[test]
    fn no_error_steers_the_terminal() {
        let error = anyhow::anyhow!("no option \x1b]0;p\x07x").context("e\u{9b}2J.fio:1\nand more");
        assert_eq!(paragraph(&error), "loadline: e\u{fffd}2J.fio:1\nand more: no option \u{fffd}]0;p\u{fffd}x");
    }

    #[test]
    fn statuses_are_those_of_the_published_table() {
        let all = [Outcome::Done, Outcome::Failed, Outcome::Against, Outcome::Inconclusive, Outcome::Interrupted];
        assert_eq!(all.map(Outcome::status), [0, 1, 3, 4, 130]);
    }

    #[test]
    fn what_is_not_there_was_refused_before_anything_was_done() {
        let missing = loadline_store::StoreError::NoSuchRun { run: "x".to_owned(), nearest: None };
        let error = anyhow::Error::new(missing).context("show");
        assert!(is_before_all(&error) && status_of(&error) == 1, "its status stays");
        let target = loadline_engine::TargetError::DirectoryReadOnly { path: "/x".into() };
        let of_volume = loadline_runs::Error::Volume { volume: "data".to_owned(), source: Box::new(target.into()) };
        assert!(is_before_all(&anyhow::Error::new(of_volume)));
        assert!(is_before_all(&anyhow::Error::new(Usage("no such option".to_owned()))));
        assert!(!is_before_all(&anyhow::anyhow!("the disk is full")));
    }
}
