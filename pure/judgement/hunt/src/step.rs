//! What follows from a hunt.

use crate::effect::Effect;
use crate::factor::Factor;
use crate::result::{HuntResult, HuntRow, Standing, Suspect};
use crate::suspects::{is_of_disks, is_of_vm};

/// What follows from a hunt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum HuntStep<'a> {
    /// A throttle of the kernel is what binds; the command lifts it.
    LiftThrottle(&'a str),
    /// This setting raised the rate most, and the environment has it.
    SetInEnvironment(&'a HuntRow),
    /// This setting raised the rate most, and the plan has it.
    SetInPlan(&'a HuntRow),
    /// Chance is left in the effect of this setting.
    LongerTrials(&'a HuntRow),
    /// The VM limits the load, whatever its settings, and no disk does.
    LargerVm,
    /// The storage limits the load, whatever its settings.
    MoreStorage,
    /// What was found has to be read: no single step follows. This suspect is still possible.
    Read(Option<&'a Suspect>),
}

impl HuntRow {
    /// How many times the rate it brought.
    #[must_use]
    pub fn gain(&self) -> f64 {
        self.ratio.unwrap_or(1.0)
    }
}

impl HuntResult {
    /// The suspects that stand so.
    pub fn of(&self, standing: Standing) -> impl Iterator<Item = &Suspect> {
        self.suspects.iter().filter(move |suspect| suspect.standing == standing)
    }

    /// The settings with this effect.
    pub fn with(&self, effect: Effect) -> impl Iterator<Item = &HuntRow> {
        self.rows.iter().filter(move |row| row.effect == effect)
    }

    /// The setting that raised the rate most.
    #[must_use]
    pub fn best(&self) -> Option<&HuntRow> {
        self.with(Effect::Moved).max_by(|one, other| one.gain().total_cmp(&other.gain()))
    }

    /// What to do next.
    #[must_use]
    pub fn next_step(&self) -> HuntStep<'_> {
        if self.nothing_bound.is_some() {
            return HuntStep::Read(None);
        }
        if let Some(command) = &self.lift {
            return HuntStep::LiftThrottle(command);
        }
        if let Some(row) = self.best() {
            return match row.variant.factor {
                Factor::Layout | Factor::Vm | Factor::Interleave => HuntStep::SetInEnvironment(row),
                _ => HuntStep::SetInPlan(row),
            };
        }
        if let Some(row) = self.with(Effect::CannotTell).next() {
            return HuntStep::LongerTrials(row);
        }
        let limits = || self.of(Standing::Binds).flat_map(|suspect| suspect.limits.iter().copied());
        if limits().next().is_some() && limits().all(is_of_vm) {
            HuntStep::LargerVm
        } else if limits().any(|limit| is_of_disks(limit) || is_of_vm(limit)) {
            HuntStep::MoreStorage
        } else {
            HuntStep::Read(self.of(Standing::Possible).next())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::HuntVariant;
    use crate::result::{HuntCause, HuntEvidence, hunted_nothing};
    use loadline_record::Limit;

    fn row(factor: Factor, to: &str, ratio: f64, effect: Effect) -> HuntRow {
        HuntRow {
            variant: HuntVariant { cell: "c".into(), factor, from: "1".into(), to: to.into() },
            rounds: 6,
            before: Some(1_000.0),
            after: Some(1_000.0 * ratio),
            ratio: Some(ratio),
            low: Some(ratio * 0.98),
            high: Some(ratio * 1.02),
            effect,
            in_bytes: factor.in_bytes(),
        }
    }

    fn suspect(limits: &[Limit], standing: Standing) -> Suspect {
        Suspect {
            limits: limits.to_vec(),
            cause: HuntCause::Disks,
            standing,
            evidence: HuntEvidence::Undecided,
            left: Vec::new(),
        }
    }

    #[test]
    fn the_largest_gain_is_the_next_step() {
        let mut found = hunted_nothing();
        found.rows = vec![
            row(Factor::Threads, "2", 1.5, Effect::Moved),
            row(Factor::Depth, "16", 8.0, Effect::Moved),
            row(Factor::Engine, "aio", 1.0, Effect::RuledOut),
        ];
        assert_eq!(found.next_step(), HuntStep::SetInPlan(&found.rows[1]));
        found.rows.insert(0, row(Factor::Layout, "8 disks", 9.0, Effect::Moved));
        assert_eq!(found.next_step(), HuntStep::SetInEnvironment(&found.rows[0]));
    }

    #[test]
    fn a_machine_that_limits_is_not_mended_by_faster_disks() {
        let mut found = hunted_nothing();
        found.suspects = vec![suspect(&[Limit::VmUncachedIops], Standing::Binds)];
        assert_eq!(found.next_step(), HuntStep::LargerVm);
        found.suspects = vec![suspect(&[Limit::VmUncachedIops, Limit::DiskIops], Standing::Binds)];
        assert_eq!(found.next_step(), HuntStep::MoreStorage);
        found.suspects = vec![suspect(&[Limit::Latency], Standing::Binds)];
        assert_eq!(found.next_step(), HuntStep::Read(None));
    }

    #[test]
    fn what_is_open_is_the_next_step() {
        let mut found = hunted_nothing();
        found.suspects = vec![suspect(&[Limit::DiskIops], Standing::Possible)];
        assert_eq!(found.next_step(), HuntStep::Read(Some(&found.suspects[0])));
        found.rows = vec![row(Factor::Block, "8 KiB", 1.02, Effect::CannotTell)];
        assert_eq!(found.next_step(), HuntStep::LongerTrials(&found.rows[0]));
    }
}
