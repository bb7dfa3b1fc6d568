//! What the service does between saves: it forgets, prunes, and reads again.

use super::{SCANS_A_RECOVERY_POINT, ServiceSettings, Watch, while_alive};
use crate::durable::now_ns;
use crate::error::ShelterError;
use crate::pace::Pace;
use crate::repository_copy::Upkeep;
use crate::saving::SaveReport;
use crate::shelter::Shelter;
use loadline_shelter_policy::status::ShelterStatus;
use loadline_shelter_policy::upkeep::{FORGET_PERIOD_S, UpkeepTask};
use loadline_shelter_repository::{PacedStep, Pacing, Permission};
use loadline_units::Bytes;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// An upkeep ends where a save may become due: this share of the recovery point after its begin, within bounds.
const UPKEEP_MAX: Duration = Duration::from_secs(30);
/// How much a prune writes anew at first. It is halved if that took too long.
pub(super) const REWRITTEN_MAX: u64 = 256 << 20;
const REWRITTEN_MIN: u64 = 16 << 20;

/// What an upkeep did.
enum UpkeepDone {
    Removed(Upkeep),
    Verified(Vec<String>),
    Reread(Option<SaveReport>),
}

/// Paces an upkeep: within our own limits, and only as long as nothing more urgent comes.
struct UpkeepPacing<'a> {
    pace: &'a Pace,
    until: Instant,
    urgent: &'a (dyn Fn() -> bool + Sync),
}

impl Pacing for UpkeepPacing<'_> {
    fn before(&self, step: PacedStep) -> Permission {
        let goes_on = match step {
            PacedStep::ReadRepository(bytes) | PacedStep::WriteRepository(bytes) => self.pace.before(bytes.get()),
            _ => true,
        };
        if goes_on && Instant::now() < self.until && !(self.urgent)() { Permission::Granted } else { Permission::Stop }
    }
}

impl Watch {
    /// Does what is due besides saving. What takes too long is put off.
    pub(super) fn keep_up(
        &mut self,
        shelter: &mut Shelter,
        settings: &ServiceSettings,
        ends: &(dyn Fn() -> bool + Sync),
        tell: &mut dyn FnMut(&str),
        status: &mut ShelterStatus,
    ) -> Result<(), ShelterError> {
        let (now, now_s, periods) = (Instant::now(), now_ns() / 1_000_000_000, shelter.config().upkeep);
        let is_idle = shelter.generation() > 0 && self.retry.is_none() && now >= self.upkeep_at;
        if !is_idle {
            return Ok(());
        }
        let Some(task) = self.schedule.due(now_s, periods) else { return Ok(()) };
        let point = shelter.config().recovery_point().map_or(UPKEEP_MAX, |point| Duration::from_nanos(point.as_ns()));
        let time = (point / SCANS_A_RECOVERY_POINT).min(UPKEEP_MAX);
        let (pace, rewritten) = (Arc::clone(&self.pace), Bytes::new(self.rewritten));
        let is_urgent = Arc::clone(&self.is_urgent);
        let urgent = move || ends() || is_urgent.load(Ordering::Relaxed);
        let done = while_alive(
            settings,
            || (),
            || {
                let pacing = UpkeepPacing { pace: &pace, until: now + time, urgent: &urgent };
                match task {
                    UpkeepTask::Forget => shelter.forget().map(UpkeepDone::Removed),
                    UpkeepTask::Prune => shelter.prune(rewritten, &pacing).map(UpkeepDone::Removed),
                    UpkeepTask::Verify(share) => shelter.verify_share(share, &pacing).map(UpkeepDone::Verified),
                    UpkeepTask::Reread(share) => shelter.reread(share, &pace).map(UpkeepDone::Reread),
                }
            },
        );
        // The next look comes first.
        self.upkeep_at = Instant::now() + time;
        match done {
            Ok(done) => {
                status.upkeep_trouble = None;
                // A prune that left something goes on next time.
                let is_whole = !matches!(&done, UpkeepDone::Removed(upkeep) if upkeep.bytes_left > 0);
                self.kept_up(shelter, task, done, tell, status);
                if is_whole {
                    self.schedule.done(task, now_s, periods);
                    shelter.keep_schedule(&self.schedule)?;
                }
            }
            Err(error @ (ShelterError::Fenced { .. } | ShelterError::DiskChanged { .. })) => return Err(error),
            Err(ShelterError::Ended) if task == UpkeepTask::Prune && self.rewritten > REWRITTEN_MIN => {
                self.rewritten /= 2;
            }
            Err(ShelterError::Ended) => {
                let what = match task {
                    UpkeepTask::Forget | UpkeepTask::Prune => "the repository is not pruned",
                    UpkeepTask::Verify(_) => "saved data is not read again",
                    UpkeepTask::Reread(_) => "unchanged files are not read again",
                };
                status.upkeep_trouble = Some(format!("{what}: it takes longer than there is between two saves"));
                self.schedule.put_off(now_s, FORGET_PERIOD_S);
            }
            Err(error) => {
                tell(&format!("upkeep failed: {error}"));
                status.upkeep_trouble = Some(error.to_string());
                self.schedule.put_off(now_s, FORGET_PERIOD_S);
            }
        }
        Ok(())
    }

    /// Says what an upkeep did.
    fn kept_up(
        &mut self,
        shelter: &Shelter,
        task: UpkeepTask,
        done: UpkeepDone,
        tell: &mut dyn FnMut(&str),
        status: &mut ShelterStatus,
    ) {
        match (done, task) {
            (UpkeepDone::Removed(done), _) => {
                if done.forgotten > 0 {
                    tell(&format!("forgot {} generations: {} are left", done.forgotten, shelter.generations()));
                }
                if done.bytes_freed > 0 {
                    tell(&format!("pruned the repository: {} are free again", Bytes::new(done.bytes_freed).human()));
                }
            }
            (UpkeepDone::Verified(findings), UpkeepTask::Verify(share)) => {
                self.finds_damage &= share.share > 0;
                for finding in &findings {
                    tell(&format!("saved data is damaged: {finding}"));
                    self.finds_damage = true;
                    status.damage = Some(finding.clone());
                }
                // All of it was read since the first share.
                if !self.finds_damage && share.share + 1 == share.of {
                    status.damage = None;
                }
            }
            (UpkeepDone::Reread(done), _) => {
                if let Some(report) = done {
                    self.saved(shelter, &report, tell, status);
                    self.seen = shelter.known().clone();
                }
            }
            (UpkeepDone::Verified(_), _) => {}
        }
    }
}
