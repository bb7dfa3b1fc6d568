//! The history of changes to an emulation, in words, for its run record.

use crate::machine::{Change, Fault};
use loadline_units::Instant;
use serde::Serialize;

/// The most entries; later changes are only counted.
pub const HISTORY_MAX: usize = 1_000;

/// One change to an emulation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HistoryEntry {
    /// When, by the emulation's clock, which began with it.
    #[serde(rename = "at_ns", serialize_with = "in_ns")]
    pub at: Instant,
    /// The volume or disk that was changed; `None`: all.
    pub on: Option<String>,
    /// What, in a few words: "burst credits were spent".
    pub what: String,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands fields over so")]
fn in_ns<S: serde::Serializer>(at: &Instant, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(at.as_ns())
}

/// All changes to an emulation, in the order of time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct History {
    /// The first [`HISTORY_MAX`].
    pub told: Vec<HistoryEntry>,
    /// How many came after them.
    pub more: u64,
}

impl HistoryEntry {
    /// Whether it affects requests to an export: the same volume, a disk of it, or everything.
    #[must_use]
    pub fn concerns(&self, export: &str) -> bool {
        let under = |whole: &str, part: &str| part.strip_prefix(whole).is_some_and(|rest| rest.starts_with('/'));
        self.on.as_ref().is_none_or(|on| on == export || under(on, export) || under(export, on))
    }
}

impl History {
    /// Adds a change: `began` is the number of a fault that began, `ended` are the faults that ended.
    pub fn add(&mut self, at: Instant, change: &Change, began: Option<u32>, ended: &[(u32, Fault)]) {
        match change {
            Change::Begin(fault) => {
                let number = began.map_or_else(String::new, |number| format!(" {number}"));
                self.push(at, Some(&fault.on), format!("fault{number} began ({fault})"));
            }
            Change::Clear(_) => {
                for (number, fault) in ended {
                    self.push(at, Some(&fault.on), format!("fault {number} ended ({fault})"));
                }
            }
            Change::DropCaches(on) => self.push(at, on.as_deref(), "the host's caches were dropped".into()),
            // With those of the machine, which all share.
            Change::SpendCredits(None) => self.push(at, None, "burst credits were spent".into()),
            Change::SpendCredits(Some(on)) => {
                self.push(at, None, format!("burst credits of {on} and of the machine were spent"));
            }
            Change::Environment(environment) => {
                self.push(at, None, format!("disks and machine became those of {}", environment.name));
            }
            Change::Redeploy => self.push(at, None, "the machine was redeployed on another host".into()),
            Change::PowerCut { seed } => self.push(at, None, format!("power was cut (seed {seed})")),
        }
    }

    fn push(&mut self, at: Instant, on: Option<&str>, what: String) {
        if self.told.len() == HISTORY_MAX {
            self.more += 1;
        } else {
            self.told.push(HistoryEntry { at, on: on.map(str::to_owned), what });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{FaultKind, FaultSelection};
    use loadline_units::{Bytes, Duration, Ratio};

    fn fault(on: &str) -> Fault {
        let kind = FaultKind::Delay(Duration::from_ms(5));
        Fault { on: on.into(), kind, operations: Vec::new(), from: Bytes::ZERO, until: None, share: Ratio::ONE }
    }

    #[test]
    fn each_fault_that_began_or_ended_is_told_and_concerns_what_it_lies_under() {
        let (mut history, at) = (History::default(), Instant::ZERO + Duration::from_s(3));
        history.add(at, &Change::Begin(fault("data/1")), Some(7), &[]);
        history.add(at, &Change::Clear(FaultSelection::All), None, &[(7, fault("data/1")), (8, fault("log"))]);
        history.add(at, &Change::SpendCredits(Some("data".into())), None, &[]);
        let what: Vec<&str> = history.told.iter().map(|one| one.what.as_str()).collect();
        let began = "fault 7 began (data/1: requests take 5 ms longer)";
        assert_eq!(what[0], began);
        assert_eq!(
            what[1..3],
            [began.replace("began", "ended"), "fault 8 ended (log: requests take 5 ms longer)".into()]
        );
        let concerned = |export: &str| history.told.iter().map(|one| one.concerns(export)).collect::<Vec<_>>();
        assert_eq!(concerned("data"), [true, true, false, true]);
        assert_eq!(concerned("data/0"), [false, false, false, true]);
        assert_eq!(concerned("data/1"), [true, true, false, true]);
        assert_eq!(concerned("log"), [false, false, true, true]);
    }

    #[test]
    fn a_history_has_a_bound_and_counts_what_is_beyond() {
        let mut history = History::default();
        (0..HISTORY_MAX + 5).for_each(|_| history.add(Instant::ZERO, &Change::Redeploy, None, &[]));
        assert_eq!((history.told.len(), history.more), (HISTORY_MAX, 5));
    }
}
