//! What is done to a running emulation: to the model, to contents, and to clients.

use crate::contents::put_back;
use crate::model::{Change, ChangeError, Fault, FaultKind};
use crate::serving::Serving;
use crate::store::{Disk, Losses, Presence, StoreError};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, PoisonError, RwLock};

/// A disk of an emulation.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) disk: Arc<Disk>,
    pub(crate) size: u64,
    /// It belongs to the host, and is lost with it.
    pub(crate) local: bool,
    pub(crate) volume: usize,
    /// Its place in the volume.
    pub(crate) number: usize,
    pub(crate) copies: usize,
    /// Of its volume: see [`crate::contents::Contents`].
    pub(crate) writing: Arc<RwLock<()>>,
}

impl Member {
    fn is_copy_of(&self, other: &Self) -> bool {
        let column = |member: &Self| (member.volume, member.number / member.copies);
        column(self) == column(other) && self.number != other.number
    }
}

/// What a change did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    /// The number of a fault that began, by which it is cleared.
    pub fault: Option<u32>,
    /// Faults that ended.
    pub cleared: Vec<u32>,
    /// Connections that were closed.
    pub closed: usize,
    /// What a power cut did to writes.
    pub losses: Option<Losses>,
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

impl Serving {
    /// Does what is asked, before or after whatever else is done.
    pub(crate) fn change(&self, change: &Change) -> Result<Changed, ChangeFailure> {
        let _alone = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        match change {
            Change::Begin(fault) => {
                let number = self.driver.change(change)?;
                self.take_away(fault)?;
                Ok(Changed { fault: number, ..Changed::default() })
            }
            Change::Clear(which) => {
                let meant = self.driver.look(|model, _| model.meant(which));
                // What went last has the newest bytes.
                for (number, fault) in meant.iter().rev() {
                    self.bring_back(*number, fault)?;
                }
                self.driver.change(change)?;
                Ok(Changed { cleared: meant.into_iter().map(|(number, _)| number).collect(), ..Changed::default() })
            }
            Change::DropCaches(_) | Change::SpendCredits(_) | Change::Environment(_) => {
                self.driver.change(change)?;
                Ok(Changed::default())
            }
            Change::Redeploy => {
                let off = self.close_clients();
                let lost = self.members.iter().try_for_each(|member| {
                    member.disk.settle();
                    if member.local { member.disk.wipe() } else { Ok(()) }
                });
                lost.map_err(contents("empty the disks of the old host"))?;
                self.driver.change(change)?;
                Ok(Changed { closed: off.closed, ..Changed::default() })
            }
            Change::PowerCut { seed } => {
                let off = self.close_clients();
                let mut losses = Losses::default();
                let cut = self.members.iter().try_for_each(|member| {
                    losses += member.disk.cut(*seed)?;
                    Ok(())
                });
                cut.map_err(contents("take writes back"))?;
                self.driver.change(change)?;
                Ok(Changed { closed: off.closed, losses: Some(losses), ..Changed::default() })
            }
        }
    }

    /// The disks that a fault is about.
    fn concerned(&self, fault: &Fault) -> Vec<&Member> {
        let whole = self.exports.iter().position(|export| export.info.name == fault.on);
        let (name, number) = match fault.on.rsplit_once('/') {
            Some((name, number)) if !self.volumes().any(|volume| volume == fault.on) => (name, number.parse().ok()),
            _ => (fault.on.as_str(), None),
        };
        let volume = self.volumes().position(|volume| volume == name);
        let own = |member: &&Member| {
            Some(member.volume) == volume && number.is_none_or(|number: usize| number == member.number)
        };
        if whole.is_some() { self.members.iter().filter(own).collect() } else { Vec::new() }
    }

    fn volumes(&self) -> impl Iterator<Item = &str> {
        let count = self.members.iter().map(|member| member.volume + 1).max().unwrap_or(0);
        self.exports[..count].iter().map(|export| export.info.name.as_str())
    }

    fn take_away(&self, fault: &Fault) -> Result<(), ChangeFailure> {
        if !fault.kind.takes_away() {
            return Ok(());
        }
        for member in self.concerned(fault) {
            member.disk.set_presence(Presence::Gone);
            if fault.kind == FaultKind::Lost {
                let _alone = member.writing.write().unwrap_or_else(PoisonError::into_inner);
                member.disk.wipe().map_err(contents("empty a disk"))?;
            }
        }
        Ok(())
    }

    /// Puts disks back that this fault took away and no other did.
    fn bring_back(&self, number: u32, fault: &Fault) -> Result<(), ChangeFailure> {
        if !fault.kind.takes_away() {
            return Ok(());
        }
        let others: Vec<Fault> = self.driver.look(|model, _| {
            let other = |(own, fault): &(u32, &Fault)| *own != number && fault.kind.takes_away();
            model.faults().filter(other).map(|(_, fault)| fault.clone()).collect()
        });
        let concerned = self.concerned(fault);
        for member in &concerned {
            let stays_away = |other: &Fault| self.concerned(other).iter().any(|gone| std::ptr::eq(*gone, *member));
            if member.disk.presence() != Presence::Gone || others.iter().any(stays_away) {
                continue;
            }
            let live = |other: &&Member| other.is_copy_of(member) && other.disk.presence() == Presence::Live;
            // Copies that went together come back together, alike.
            let copy = if concerned.len() > 1 { None } else { self.members.iter().find(live) };
            put_back(&member.disk, copy.map(|copy| &*copy.disk), member.size, &member.writing)
                .map_err(contents("fill a disk from its copy"))?;
        }
        Ok(())
    }
}
