//! Changes to a running emulation: of the model, of contents, and of clients.

use crate::contents::fill;
use crate::disks::VolumeDisk;
use crate::service::Service;
use crate::store::{Losses, Presence, StoreError};
use loadline_emulation::{Change, ChangeError, Fault, FaultKind};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// The outcome of a change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeOutcome {
    /// The number of a fault that began, by which it is cleared.
    pub fault: Option<u32>,
    /// Faults that ended.
    pub cleared: Vec<u32>,
    /// Connections that were closed.
    pub closed: usize,
    /// What a power cut did to writes.
    pub losses: Option<Losses>,
    /// Disks that missed writes, and wait for a current copy to be filled from.
    #[serde(default)]
    pub waiting: Vec<String>,
    /// Disks that came back empty, with another host.
    #[serde(default)]
    pub emptied: Vec<String>,
    /// Disks whose contents are gone for good: no copy has them.
    #[serde(default)]
    pub gone: Vec<String>,
}

/// Why a change was not made, or not in full.
#[derive(Debug, thiserror::Error)]
pub enum ChangeFailure {
    /// It makes no sense here.
    #[error(transparent)]
    Refused(#[from] ChangeError),
    /// Contents could not be changed.
    #[error("cannot {what}: {error}")]
    Contents {
        /// What was attempted.
        what: &'static str,
        /// Why not.
        error: String,
    },
}

fn contents(what: &'static str) -> impl Fn(StoreError) -> ChangeFailure {
    move |error| ChangeFailure::Contents { what, error: error.to_string() }
}

impl Service {
    /// Makes a change. Changes are made one after the other.
    pub(crate) fn change(&self, change: &Change) -> Result<ChangeOutcome, ChangeFailure> {
        let _alone = self.disks().begin_change();
        self.driver().look(|model, now| model.has_effect(now, change))?;
        match change {
            Change::Begin(fault) => {
                let number = self.driver().change(change)?;
                let gone = self.take_away(fault)?;
                Ok(ChangeOutcome { fault: number, gone, ..ChangeOutcome::default() })
            }
            Change::Clear(which) => {
                let cleared: Vec<u32> =
                    self.driver().look(|model, _| model.selected(which).into_iter().map(|(n, _)| n).collect());
                let back = self.bring_back(&cleared);
                self.driver().change(change)?;
                back?;
                Ok(ChangeOutcome { cleared, waiting: self.waiting(), ..ChangeOutcome::default() })
            }
            Change::DropCaches(_) | Change::SpendCredits(_) | Change::Environment(_) => {
                self.driver().change(change)?;
                Ok(ChangeOutcome::default())
            }
            Change::Redeploy => {
                let off = self.switch_off();
                for member in self.disks().iter() {
                    member.disk.settle();
                }
                let local: Vec<&VolumeDisk> = self.driver().look(|model, _| {
                    let is_local = |member: &&VolumeDisk| model.is_local(member.volume, member.number);
                    self.disks().iter().filter(is_local).collect()
                });
                self.empty(&local).map_err(contents("empty the disks of the old host"))?;
                self.driver().change(change)?;
                self.bring_back(&[])?;
                let emptied = local.into_iter().map(|member| self.name(member)).collect();
                Ok(ChangeOutcome { closed: off.closed, waiting: self.waiting(), emptied, ..ChangeOutcome::default() })
            }
            Change::PowerCut { seed } => {
                let off = self.switch_off();
                // Of all disks: a write that went to several is one.
                let mut tickets = HashSet::new();
                let cut = self.disks().iter().try_for_each(|member| {
                    tickets.extend(member.disk.cut(*seed)?);
                    Ok(())
                });
                cut.map_err(contents("take writes back"))?;
                self.driver().change(change)?;
                let losses = Some(Losses::of(*seed, &tickets));
                Ok(ChangeOutcome { closed: off.closed, losses, ..ChangeOutcome::default() })
            }
        }
    }

    /// The disks that a fault is about.
    fn concerned(&self, fault: &Fault) -> Vec<&VolumeDisk> {
        let whole = self.exports().iter().position(|export| export.info.name == fault.on);
        let (name, number) = match fault.on.rsplit_once('/') {
            Some((name, number)) if !self.volumes().any(|volume| volume == fault.on) => (name, number.parse().ok()),
            _ => (fault.on.as_str(), None),
        };
        let volume = self.volumes().position(|volume| volume == name);
        let own = |member: &&VolumeDisk| {
            Some(member.volume) == volume && number.is_none_or(|number: usize| number == member.number)
        };
        if whole.is_some() { self.disks().iter().filter(own).collect() } else { Vec::new() }
    }

    fn volumes(&self) -> impl Iterator<Item = &str> {
        let count = self.disks().iter().map(|member| member.volume + 1).max().unwrap_or(0);
        self.exports()[..count].iter().map(|export| export.info.name.as_str())
    }

    /// Gives the disks whose contents are gone for good.
    fn take_away(&self, fault: &Fault) -> Result<Vec<String>, ChangeFailure> {
        if !fault.kind.takes_away() {
            return Ok(Vec::new());
        }
        let concerned = self.concerned(fault);
        let Some(first) = concerned.first() else { return Ok(Vec::new()) };
        // No write goes to some of them only, or to none.
        let _alone = first.writing.write();
        for member in &concerned {
            member.disk.set_presence(Presence::Gone);
        }
        self.keep_behind()?;
        if fault.kind != FaultKind::Lost {
            return Ok(Vec::new());
        }
        let gone = self.empty(&concerned).map_err(contents("empty a disk"))?;
        Ok(gone.into_iter().map(|member| self.name(member)).collect())
    }

    /// Notes in the folder which disks miss writes that a copy has or will have. After a kill their contents must not be believed.
    fn keep_behind(&self) -> Result<(), ChangeFailure> {
        let Some(folder) = self.disks().folder() else { return Ok(()) };
        let misses = |member: &&VolumeDisk| {
            let live = |other: &VolumeDisk| other.is_copy_of(member) && other.disk.presence() == Presence::Live;
            member.disk.is_stale() || member.disk.presence() != Presence::Live && self.disks().iter().any(live)
        };
        let behind: Vec<String> = self.disks().iter().filter(misses).map(|member| self.name(member)).collect();
        folder.set_behind(&behind).map_err(|error| {
            let what = "note which disks miss writes";
            ChangeFailure::Contents { what, error: error.to_string() }
        })
    }

    /// Fills disks that missed writes when contents were last used from their copies, before anybody reads them. Gives their names.
    pub(crate) fn catch_up(&self, behind: &[String]) -> Result<Vec<String>, ChangeFailure> {
        let _alone = self.disks().begin_change();
        let missed: Vec<&VolumeDisk> =
            self.disks().iter().filter(|member| behind.contains(&self.name(member))).collect();
        for member in &missed {
            member.disk.set_stale(true);
            member.disk.set_presence(Presence::Waiting);
        }
        self.bring_back(&[])?;
        Ok(missed.into_iter().map(|member| self.name(member)).collect())
    }

    /// Wipes disks at one moment, while nobody writes. Those of which a copy has the newest bytes still are stale then; where none
    /// has, nothing is what there is: gives these.
    fn empty<'a>(&self, lost: &[&'a VolumeDisk]) -> Result<Vec<&'a VolumeDisk>, StoreError> {
        let mut gone = Vec::new();
        for member in lost {
            member.disk.wipe()?;
            let mut kept = self
                .disks()
                .iter()
                .filter(|other| other.is_copy_of(member) && !lost.iter().any(|also| std::ptr::eq(*also, *other)));
            match kept.next() {
                None => {
                    member.disk.set_stale(false);
                    gone.push(*member);
                }
                Some(first) if !first.disk.is_stale() || kept.any(|other| !other.disk.is_stale()) => {
                    member.disk.set_stale(true);
                    if member.disk.presence() == Presence::Live {
                        member.disk.set_presence(Presence::Waiting);
                    }
                }
                Some(_) => gone.push(*member),
            }
        }
        Ok(gone)
    }

    /// Puts disks back that no fault takes away but these, which end, and fills those that missed writes where a current copy is
    /// there. Without one they wait for it.
    fn bring_back(&self, ending: &[u32]) -> Result<(), ChangeFailure> {
        let others: Vec<Fault> = self.driver().look(|model, _| {
            let other = |(number, fault): &(u32, &Fault)| !ending.contains(number) && fault.kind.takes_away();
            model.faults().filter(other).map(|(_, fault)| fault.clone()).collect()
        });
        let away: Vec<&VolumeDisk> = others.iter().flat_map(|fault| self.concerned(fault)).collect();
        for member in self.disks().iter() {
            let _alone = member.writing.write();
            let back = matches!(member.disk.presence(), Presence::Gone | Presence::Waiting);
            if back && !away.iter().any(|gone| std::ptr::eq(*gone, member)) {
                member.disk.set_presence(if member.disk.is_stale() { Presence::Waiting } else { Presence::Live });
            }
        }
        let mut filled = Ok(());
        for member in self.disks().iter().filter(|member| member.disk.presence() == Presence::Waiting) {
            let live = |other: &&VolumeDisk| other.is_copy_of(member) && other.disk.presence() == Presence::Live;
            if let Some(copy) = self.disks().iter().find(live) {
                filled = filled.and(fill(&member.disk, &copy.disk, member.size, &member.writing));
            }
        }
        // What it filled is not behind any more.
        let kept = self.keep_behind();
        filled.map_err(contents("fill a disk from its copy"))?;
        kept
    }

    /// Puts every disk back, whatever took it away, with what its copies have.
    pub(crate) fn bring_all_back(&self) -> Result<(), ChangeFailure> {
        let _alone = self.disks().begin_change();
        let all: Vec<u32> = self.driver().look(|model, _| model.faults().map(|(number, _)| number).collect());
        self.bring_back(&all)
    }

    /// Names of the disks that missed writes and wait.
    fn waiting(&self) -> Vec<String> {
        let waits = |member: &&VolumeDisk| member.disk.presence() == Presence::Waiting;
        self.disks().iter().filter(waits).map(|member| self.name(member)).collect()
    }

    /// "data/0".
    fn name(&self, member: &VolumeDisk) -> String {
        format!("{}/{}", self.exports()[member.volume].info.name, member.number)
    }
}
