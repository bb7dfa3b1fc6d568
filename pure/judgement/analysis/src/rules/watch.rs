//! What always holds of a watch: each share of the time is one figure, and what is said follows from the shares.

use super::{ONE_FIGURE, Violation};
use crate::summary::{CellSummary, RunSummary, WatchView};
use crate::verdict_block::{Advised, Certainty, Holder, VolumeVerdict};
use crate::watching::{WatchHeld, WatchHolder, WatchNext, WatchStep, waited};
use loadline_record::{RunRecord, SecondLimit, WatchCause, WatchRecord};

/// Shares that differ by no more are one.
const ONE_SHARE: f64 = 1e-6;
/// Other storage changes nothing only if it is waited for less than this.
const ELSEWHERE: f64 = 0.1;
/// Where so many requests are outstanding, more at once are no advice.
const MANY_OUTSTANDING: f64 = 4.0;

/// Every rule that the cells of a watch break.
pub(super) fn violations(record: &RunRecord, summary: &RunSummary) -> Vec<Violation> {
    let mut found = Vec::new();
    for volume in summary.verdict.iter().flat_map(|verdict| &verdict.volumes) {
        let Some(cell) = summary.cells.iter().find(|cell| cell.id == volume.cell) else { continue };
        let own =
            record.cells.iter().find(|own| own.id == cell.id).and_then(|own| own.trials.last()?.watched.as_deref());
        if let Some((watch, own)) = cell.watch.as_ref().zip(own) {
            found.extend(Watched { volume, cell, watch, own }.violations());
        }
    }
    found
}

struct Watched<'a> {
    volume: &'a VolumeVerdict,
    cell: &'a CellSummary,
    watch: &'a WatchView,
    own: &'a WatchRecord,
}

impl Watched<'_> {
    fn violations(&self) -> Vec<Violation> {
        let all = [self.shares(), self.named(), self.certain(), self.next(), self.source()];
        all.into_iter().flatten().collect()
    }

    fn id(&self) -> String {
        self.cell.id.clone()
    }

    fn apart(&self, figure: f64, elsewhere: f64) -> Option<Violation> {
        ((figure - elsewhere).abs() > ONE_SHARE).then(|| Violation::TwoFigures { cell: self.id(), figure, elsewhere })
    }

    /// Shares make up all of the time.
    fn shares(&self) -> Option<Violation> {
        let sum: f64 = self.watch.causes.iter().map(|cause| cause.share).sum();
        (!self.watch.causes.is_empty()).then(|| self.apart(1.0, sum)).flatten()
    }

    /// What is named has the share that is said of it, in the table and in the verdict.
    fn named(&self) -> Option<Violation> {
        let (binding, share) = (self.cell.binding.as_ref()?, self.cell.binding_share?);
        let of_limit = self.watch.causes.iter().filter(|cause| cause.limit == Some(binding.limit));
        let nearest = of_limit.map(|cause| cause.share).min_by(|a, b| (a - share).abs().total_cmp(&(b - share).abs()));
        let in_table = self.apart(share, nearest.unwrap_or(0.0));
        let in_verdict = match &self.volume.held_by {
            Holder::Watch(WatchHolder::Held { by, .. }) => match by.as_ref() {
                WatchHeld::Storage { limit, share_of_time, .. } if *limit == binding.limit => {
                    self.apart(share, *share_of_time)
                }
                WatchHeld::Other { limit, .. } if *limit == binding.limit => None,
                WatchHeld::Storage { limit, .. } | WatchHeld::Other { limit, .. } => {
                    Some(Violation::TwoLimits { cell: self.id(), named: Some(binding.limit), elsewhere: Some(*limit) })
                }
            },
            _ => None,
        };
        in_table.or(in_verdict)
    }

    /// Only what was read is certain, and what was read and had more of the time is said first.
    fn certain(&self) -> Option<Violation> {
        let binding = self.cell.binding.as_ref()?;
        if self.volume.certainty == Certainty::Certain && binding.inferred {
            return Some(Violation::CertainInference { cell: self.id() });
        }
        let share = self.cell.binding_share?;
        let read = |cause: &WatchCause| {
            matches!(cause, WatchCause::Throttle { .. } | WatchCause::CountedExcess { .. } | WatchCause::Queue { .. })
        };
        let more = self.watch.causes.iter().any(|cause| read(&cause.cause) && cause.share > share + ONE_FIGURE);
        (more && binding.inferred).then(|| Violation::SeenLimitUnsaid { cell: self.id() })
    }

    /// What was read is lifted; storage that is waited for is not passed over; many requests in flight are not made more.
    fn next(&self) -> Option<Violation> {
        let Some(Advised::Watch { step, .. }) = &self.volume.next else { return None };
        let lifts = matches!(step, WatchNext::LiftThrottle | WatchNext::LiftSetting);
        let stands = self.watch.standing.as_ref().is_some_and(|limit| limit.lifting_command().is_some());
        if lifts != stands || lifts != self.volume.command.is_some() {
            return Some(Violation::NotLifted { cell: self.id() });
        }
        let waits = waited(&self.watch.causes);
        match step {
            WatchNext::LookElsewhere | WatchNext::Application { storage_saves: 0.0, .. } if waits >= ELSEWHERE => {
                Some(Violation::PassedOver { cell: self.id(), waits })
            }
            WatchNext::Step { step: WatchStep::FasterAnswers, .. }
                if self.watch.outstanding.is_some_and(|depth| depth >= MANY_OUTSTANDING) =>
            {
                Some(Violation::MoreAtOnce { cell: self.id(), breaks_objective: false })
            }
            _ => None,
        }
    }

    /// What other verbs read of the same seconds has the same share of the time. That of a quota may be less in the watch: a level comes
    /// before one that ran out in a part of its periods.
    fn source(&self) -> Option<Violation> {
        let of_others = |limit: &SecondLimit| !matches!(limit, SecondLimit::Quota(_));
        let others = self.own.limit_shares().into_iter().filter(|(limit, _)| of_others(limit));
        let source: f64 = others.map(|(_, share)| share).sum();
        let is_memory_limit =
            |program: &str| self.own.programs.iter().any(|known| known.name == *program && known.memory.is_some());
        let is_read = |cause: &WatchCause| match cause {
            WatchCause::Throttle { .. } | WatchCause::CountedExcess { .. } | WatchCause::Queue { .. } => true,
            WatchCause::Memory { program } => is_memory_limit(program),
            _ => false,
        };
        let here: f64 = self.watch.causes.iter().filter(|cause| is_read(&cause.cause)).map(|cause| cause.share).sum();
        self.apart(here, source)
    }
}
