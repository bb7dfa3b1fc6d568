//! Pins tools and the kernel's worker threads to processors.
//!
//! A kernel worker thread answers a loop device. At a shallow queue the rate depends on the scheduler: it wakes that
//! thread on the tool's processor or on a sleeping one. That is 5 us or 60 us on a virtual machine, in turns of a
//! millisecond, for every tool. So both are pinned as the comparison says. So are a server and its client.

use anyhow::{Context, Result};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use std::fs;

/// Which processors the kernel's unbound worker threads may use, as a mask in hexadecimal (the kernel's
/// Documentation/core-api/workqueue.rst).
const WORKERS: &str = "/sys/devices/virtual/workqueue/cpumask";

/// The placement of tools and workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placement {
    /// Wherever the scheduler likes.
    AsScheduled,
    /// The tool and the kernel's threads share one processor.
    OneCpu,
    /// The tool on one processor, the kernel's threads on another: each request crosses twice.
    TwoCpus,
}

impl Placement {
    /// The placements that show the cost of tools; the scheduler's choice if pinning is impossible or `as_scheduled` is
    /// set.
    pub(crate) fn all(as_scheduled: bool) -> &'static [Self] {
        if as_scheduled || Self::obstacle().is_some() { &[Self::AsScheduled] } else { &[Self::OneCpu, Self::TwoCpus] }
    }
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::AsScheduled => "as scheduled",
            Self::OneCpu => "one CPU",
            Self::TwoCpus => "two CPUs",
        }
    }
    /// Why the kernel's threads cannot be placed here, if they cannot.
    pub(crate) fn obstacle() -> Option<String> {
        match allowed() {
            Ok(cpus) if cpus.len() < 2 => return Some("there is one processor only".to_owned()),
            Err(error) => return Some(format!("{error:#}")),
            Ok(_) => {}
        }
        let opened = fs::OpenOptions::new().write(true).open(WORKERS);
        opened.err().map(|error| format!("{WORKERS} cannot be written: {error}"))
    }
}

/// This thread, and the programs that it starts, on one processor until it is dropped.
#[derive(Debug)]
pub(crate) struct Pinned {
    before: CpuSet,
}

impl Pinned {
    /// Whether there are processors to choose from.
    fn is_possible() -> bool {
        allowed().is_ok_and(|cpus| cpus.len() > 1)
    }

    /// The placements of a server with its client on the first processor: its processor, and the name of the placement.
    pub(crate) fn places(as_scheduled: bool) -> &'static [(Option<usize>, &'static str)] {
        if as_scheduled || !Self::is_possible() {
            &[(None, "as scheduled")]
        } else {
            &[(Some(0), "one CPU"), (Some(1), "two CPUs")]
        }
    }

    /// On the processor at `place` among those allowed.
    ///
    /// # Errors
    /// When there are not as many, or they cannot be chosen.
    pub(crate) fn at(place: usize) -> Result<Self> {
        let before = sched_getaffinity(Pid::from_raw(0)).context("which processors may this program use?")?;
        let cpus = allowed()?;
        let cpu = *cpus.get(place).with_context(|| format!("there are {} processors", cpus.len()))?;
        let mut only = CpuSet::new();
        only.set(cpu).with_context(|| format!("processor {cpu}"))?;
        sched_setaffinity(Pid::from_raw(0), &only).with_context(|| format!("cannot stay on processor {cpu}"))?;
        Ok(Self { before })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Err(error) = sched_setaffinity(Pid::from_raw(0), &self.before) {
            eprintln!("cleaning up: this program stays on one processor: {error}");
        }
    }
}

/// The placement in force, until it is dropped: this thread and the programs that it starts, and the kernel's threads.
#[derive(Debug)]
pub(crate) struct Placed {
    /// The mask of the kernel's threads, to be put back.
    workers_before: Option<String>,
    _tools: Option<Pinned>,
}

impl Placed {
    /// # Errors
    /// When processors cannot be chosen, for this thread or the kernel's.
    pub(crate) fn new(placement: Placement) -> Result<Self> {
        let workers_at = match placement {
            Placement::AsScheduled => return Ok(Self { workers_before: None, _tools: None }),
            Placement::OneCpu => 0,
            Placement::TwoCpus => 1,
        };
        let cpus = allowed()?;
        let workers = *cpus.get(workers_at).with_context(|| format!("there are {} processors", cpus.len()))?;
        let mask = fs::read_to_string(WORKERS).with_context(|| format!("cannot read {WORKERS}"))?;
        let placed = Self { workers_before: Some(mask.trim().to_owned()), _tools: Some(Pinned::at(0)?) };
        fs::write(WORKERS, mask_of(workers)).with_context(|| format!("cannot write {WORKERS}"))?;
        Ok(placed)
    }
}

impl Drop for Placed {
    fn drop(&mut self) {
        let Some(mask) = &self.workers_before else { return };
        if let Err(error) = fs::write(WORKERS, mask) {
            eprintln!("cleaning up: {WORKERS} was {mask} before and cannot be written: {error}");
        }
    }
}

/// The processors that this program may use, in order.
fn allowed() -> Result<Vec<usize>> {
    let set = sched_getaffinity(Pid::from_raw(0)).context("which processors may this program use?")?;
    Ok((0..CpuSet::count()).filter(|cpu| set.is_set(*cpu).unwrap_or(false)).collect())
}

/// The kernel's way to write a set of one processor: words of 32 bits in hexadecimal, the highest first, commas between.
fn mask_of(cpu: usize) -> String {
    let mut text = format!("{:x}", 1_u32 << (cpu % 32));
    for _ in 0..cpu / 32 {
        text.push_str(",00000000");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_is_written_as_the_kernel_reads_it() {
        assert_eq!(mask_of(0), "1");
        assert_eq!(mask_of(5), "20");
        assert_eq!(mask_of(31), "80000000");
        assert_eq!(mask_of(64), "1,00000000,00000000");
    }

    #[test]
    fn what_was_placed_is_put_back() {
        if Placement::obstacle().is_some() {
            return;
        }
        let mask = fs::read_to_string(WORKERS).unwrap();
        let before = allowed().unwrap();
        {
            let _placed = Placed::new(Placement::TwoCpus).unwrap();
            assert_eq!(allowed().unwrap(), before[..1]);
            assert_ne!(fs::read_to_string(WORKERS).unwrap(), mask);
        }
        assert_eq!(fs::read_to_string(WORKERS).unwrap(), mask);
        assert_eq!(allowed().unwrap(), before);
    }
}
