//! What to do with an advice.

use crate::verdict_line::{About, VerdictLine};

/// What to do with an advice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdviceNext {
    /// Its environment is in a file: run the application on an emulation of it.
    Emulate,
    /// Write its environment to a file for that.
    WriteToEmulate,
    /// Its environment is in a file: predict it with more load.
    LoadMore,
    /// Name what the application needs of its machine.
    NameMachine,
    /// Write its environment to a file.
    Write,
    /// Nothing does: look at what would do by limits alone, or at all that there is.
    LookAtOthers,
}

/// The next step, with its command where there is one.
#[must_use]
pub fn advice_next(next: AdviceNext, command: Option<String>) -> Vec<VerdictLine> {
    let text = match next {
        AdviceNext::Emulate => "try it: run the application on an emulation of it",
        AdviceNext::WriteToEmulate => "write its environment to a file, to run the application on an emulation of it",
        AdviceNext::LoadMore => "see what it does with more load than you need",
        AdviceNext::NameMachine => {
            "name the processors and the memory that your application needs: the machine was chosen for its storage alone"
        }
        AdviceNext::Write => "write its environment to a file, to predict, hunt or emulate on it",
        AdviceNext::LookAtOthers => "see which choices would do by their limits alone, or what there is",
    };
    let command = command.map(|command| About::Command.says(command));
    [About::Next.says(text)].into_iter().chain(command).collect()
}
