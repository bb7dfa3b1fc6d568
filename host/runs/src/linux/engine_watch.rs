//! Calls to the engine, each on a thread of its own, while the observer follows on this one.

use crate::{Advance, CellCounts, Event, Observer};
use loadline_engine::{Control, EngineError, EngineOptions, FillReport, Filling, LoadOnVolume, Past, Settled, Volume};
use loadline_record::{TrialRecord, VerifyRecord};
use loadline_units::{Bytes, Duration as Span, Instant};
use loadline_workload::{GroupEnd, RunCell, cell_seed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How often the observer is asked whether it wants an end.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Progress is reported once in so many times.
const LOOKS_PER_ADVANCE: u32 = 5;
/// Counts are.
const LOOKS_PER_COUNT: u32 = 50;

/// A cell that is to be put on its volume.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OnVolume<'a> {
    /// The volume.
    pub volume: &'a Volume,
    /// The cell.
    pub cell: &'a RunCell,
    /// The way to the device.
    pub options: EngineOptions,
}

impl CellCounts {
    /// Of loads in their order.
    pub(crate) fn of(cells: &[(&str, &str)], control: &Control) -> Vec<Self> {
        let each = cells.iter().zip(control.counts());
        each.map(|((volume, cell), counts)| Self { volume: (*volume).into(), cell: (*cell).into(), counts }).collect()
    }
}

/// Calls to the engine, with the observer that follows them.
pub(crate) struct EngineWatch<'a>(pub &'a mut dyn Observer);

impl EngineWatch<'_> {
    /// Runs `work` on a thread of its own until it ends by itself, or ends because it was asked to.
    fn over<T: Send>(&mut self, work: impl FnOnce(&Control) -> T + Send) -> T {
        self.with(&Control::new(), &[], work)
    }

    /// The same with a control of the caller's, for loads of these volumes and cells.
    fn with<T: Send>(
        &mut self,
        control: &Control,
        cells: &[(&str, &str)],
        work: impl FnOnce(&Control) -> T + Send,
    ) -> T {
        let (finished, wait) = channel::<()>();
        std::thread::scope(|scope| {
            let worker = scope.spawn(|| {
                // Dropped when the work is done or has panicked, which wakes the watcher at once.
                let _finished = finished;
                work(control)
            });
            let mut looks: u32 = 0;
            while wait.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
                if self.0.wants_an_end() && !control.stopped() {
                    control.stop();
                    self.0.event(&Event::Stopping);
                }
                looks = looks.wrapping_add(1);
                if looks.is_multiple_of(LOOKS_PER_ADVANCE) {
                    self.0.event(&Event::Advances(Advance::Device(&control.progress())));
                }
                if looks.is_multiple_of(LOOKS_PER_COUNT) && !cells.is_empty() {
                    self.0.event(&Event::Counted(&CellCounts::of(cells, control)));
                }
            }
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Puts a cell's load on its volume once.
    ///
    /// # Errors
    /// As of the engine.
    pub(crate) fn trial(
        &mut self,
        volume: &mut Volume,
        cell: &RunCell,
        trial: u32,
        seed: u64,
        options: EngineOptions,
    ) -> Result<TrialRecord, EngineError> {
        let (seed, name) = (cell_seed(seed, &cell.id), volume.facts.name.clone());
        let run = |control: &Control| loadline_engine::run_trial(volume, &cell.spec, trial, seed, options, control);
        let trial = self.with(&Control::new(), &[(&name, &cell.id)], run)?;
        self.0.event(&Event::Measured { volume: &name, cell: &cell.id, trial: &trial });
        Ok(trial)
    }

    /// Puts the loads of cells on their volumes at the same time, once; not before `start`, if there is one.
    ///
    /// # Errors
    /// As of the engine.
    pub(crate) fn together(
        &mut self,
        cells: &[OnVolume<'_>],
        ends: GroupEnd,
        trial: u32,
        seed: u64,
        start: Option<Instant>,
    ) -> Result<Vec<TrialRecord>, EngineError> {
        let loads = cells.iter().map(|OnVolume { volume, cell, options }| LoadOnVolume {
            volume,
            spec: &cell.spec,
            seed: cell_seed(seed, &cell.id),
            options: *options,
        });
        let loads: Vec<LoadOnVolume<'_>> = loads.collect();
        let names: Vec<(&str, &str)> = cells.iter().map(|of| (&*of.volume.facts.name, &*of.cell.id)).collect();
        let trials = self.with(&Control::new().starting_at(start), &names, |control| {
            loadline_engine::run_together(&loads, ends, trial, control)
        })?;
        for ((volume, cell), trial) in names.into_iter().zip(&trials) {
            self.0.event(&Event::Measured { volume, cell, trial });
        }
        Ok(trials)
    }

    /// Waits until then. Returns whether that instant came: the observer may want an end before.
    pub(crate) fn wait_until(&mut self, until: Instant) -> bool {
        self.over(|control| loadline_engine::wait_until(until, control))
    }

    /// Has what programs left in memory for the volume's file system written back, and waits for that for `limit` at most.
    ///
    /// # Errors
    /// As of the engine.
    pub(crate) fn settle(&mut self, volume: &Volume, limit: Span) -> Result<Option<Settled>, EngineError> {
        self.over(|control| loadline_engine::settle(volume, limit, control))
    }

    /// Writes `range` of a volume in full, from where the loads begin on; less when the time for it is up first, or the user
    /// stops it.
    ///
    /// # Errors
    /// As of the engine.
    pub(crate) fn fill(
        &mut self,
        volume: &mut Volume,
        range: Bytes,
        seed: u64,
        filling: Filling,
        options: EngineOptions,
    ) -> Result<FillReport, EngineError> {
        self.over(|control| loadline_engine::fill(volume, range, seed, filling, options, control))
    }

    /// Checks what stands on the volume against a trial of a run with this seed, of which `past` is known; `None` when nothing
    /// there is of it and nothing has to be.
    ///
    /// # Errors
    /// As of the engine.
    pub(crate) fn verification(
        &mut self,
        volume: &mut Volume,
        cell: &RunCell,
        trial: u32,
        seed: u64,
        past: &Past<'_>,
    ) -> Result<Option<VerifyRecord>, EngineError> {
        let seed = cell_seed(seed, &cell.id);
        self.over(|control| loadline_engine::verify_only(volume, &cell.spec, trial, seed, past, control))
    }
}
