//! CPU time of processes, as `/proc/PID/stat` counts it.

use std::time::Duration;

/// Of the counts in `/proc/PID/stat`: the kernel gives them in these units on every Linux, whatever its own clock.
const TICKS_PER_SECOND: u64 = 100;

/// What the kernel knows of a process.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Process {
    /// Ended, and not yet waited for.
    pub(super) has_ended: bool,
    /// Its own CPU time.
    pub(super) own: Duration,
    /// That of its children and theirs, as far as they were waited for.
    pub(super) children: Duration,
}

impl Process {
    /// Reads a line of `/proc/PID/stat`; `None` where it is none.
    fn parse(stat: &str) -> Option<Self> {
        // The program's name stands in brackets and may hold anything.
        let (_, fields) = stat.rsplit_once(") ")?;
        let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
        let ticks = |index: usize| fields.get(index)?.parse::<u64>().ok();
        let time =
            |user: usize| Some(Duration::from_millis((ticks(user)? + ticks(user + 1)?) * 1_000 / TICKS_PER_SECOND));
        Some(Self { has_ended: matches!(*fields.first()?, "Z" | "X"), own: time(11)?, children: time(13)? })
    }

    /// The process of this number, while it is there.
    pub(super) fn of(id: u32) -> Option<Self> {
        Self::parse(&std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?)
    }
}

/// The CPU time of everything that this program started and waited for.
pub(super) fn of_children() -> Duration {
    Process::of(std::process::id()).map(|process| process.children).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_behind_a_name_with_brackets_and_blanks() {
        let stat = "71 (a ) (b) Z 1 2 3 4 5 6 7 8 9 10 150 50 30 20 20 0 1 0";
        let (own, children) = (Duration::from_secs(2), Duration::from_millis(500));
        assert_eq!(Process::parse(stat), Some(Process { has_ended: true, own, children }));
        assert_eq!(Process::parse("71 (a) R 1"), None);
    }

    #[test]
    fn this_process_runs() {
        assert!(!Process::of(std::process::id()).unwrap().has_ended);
    }
}
