//! What an emulation cannot keep: told once each, while it goes on.

use loadline_emulator::Emulation;

/// What cannot be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    Memory,
    Backing,
    Trace,
    Record,
}

/// What could not be kept, as far as it was told already.
#[derive(Debug, Default)]
pub(crate) struct Troubles(Vec<Trouble>);

impl Troubles {
    /// The text of what is wrong, the first time.
    fn once<T>(&mut self, trouble: Trouble, wrong: Option<T>, text: impl FnOnce(T) -> String) -> Option<String> {
        let wrong = wrong.filter(|_| !self.0.contains(&trouble))?;
        self.0.push(trouble);
        Some(text(wrong))
    }

    /// What is to be told now, each trouble once; `trace`: why requests are not recorded any more.
    pub(crate) fn fresh(&mut self, emulation: &Emulation, trace: Option<&str>) -> Vec<String> {
        let memory = self.once(Trouble::Memory, emulation.memory_was_full(), |max| {
            format!(
                "Contents fill the {max} of memory that they may take: writes fail with ENOSPC. --memory-max lets them take more, \
                 --backing DIR keeps them in files."
            )
        });
        let backing = self.once(Trouble::Backing, emulation.backing_trouble(), |trouble| {
            format!(
                "The folder of --backing failed: {trouble}. Clients get ENOSPC where it is full, and EIO otherwise: make room there, \
                 or look at the device under it."
            )
        });
        let trace = self.once(Trouble::Trace, trace, |trouble| {
            format!("The trace ends here, and is written no more: {trouble}. Clients are served as before.")
        });
        memory.into_iter().chain(backing).chain(trace).collect()
    }

    /// The same of the record in the store.
    pub(crate) fn kept(&mut self, trouble: Option<String>) -> Option<String> {
        self.once(Trouble::Record, trouble, |trouble| {
            format!(
                "The record of what was done so far cannot be kept: {trouble}. It is tried again, and at the end; --store FILE names \
                 another place the next time."
            )
        })
    }
}
