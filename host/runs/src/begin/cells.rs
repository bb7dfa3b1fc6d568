//! Cells as the loop over trials sees them: of a plan, or of an application.

use crate::begin::work::{cell_record, label};
use loadline_record::{CellRecord, EngineChoice, LoadFigures};
use loadline_units::Duration;
use loadline_workload::{LoadSpec, Order, RunCell, cell_id};

/// What the loop knows of a cell.
pub trait TrialCell: Sync {
    /// The id under which its trials are kept.
    fn id(&self) -> &str;
    /// Its volume's name.
    fn volume(&self) -> &str;
    /// The load, for people.
    fn label(&self) -> &str;
    /// How many trials it has.
    fn trials(&self) -> u32;
    /// How long a trial takes at most.
    fn trial_time(&self) -> Duration;
    /// The figures of its load, by which its trials are judged.
    fn figures(&self) -> LoadFigures;
}

/// A cell with a plan's load.
#[derive(Debug, Clone)]
pub struct PlannedCell {
    /// The load and its volume.
    pub cell: RunCell,
    /// For people.
    pub label: String,
    /// The way to the device, in place of the run's own.
    pub engine: Option<EngineChoice>,
    /// The model that every trial is put on, where there are models. `None`: each trial takes the next one.
    pub model: Option<usize>,
    /// Others run at the same time.
    pub is_beside: bool,
}

impl PlannedCell {
    /// A cell with nothing of its own besides its load.
    #[must_use]
    pub fn of(cell: RunCell) -> Self {
        Self { label: label(&cell.spec), cell, engine: None, model: None, is_beside: false }
    }

    /// A load as it stands on a volume; `occurrence` tells apart loads that are otherwise the same.
    #[must_use]
    pub fn on(volume: &str, spec: &LoadSpec, occurrence: u32) -> Self {
        let id = cell_id(volume, spec, occurrence);
        let cell = RunCell { id, volume: volume.to_owned(), spec: spec.clone(), order: Order::Interleaved };
        Self { model: Some(0), ..Self::of(cell) }
    }

    /// As a run begins with it.
    #[must_use]
    pub fn record(&self) -> CellRecord {
        CellRecord { label: self.label.clone(), ..cell_record(&self.cell) }
    }
}

impl TrialCell for PlannedCell {
    fn id(&self) -> &str {
        &self.cell.id
    }
    fn volume(&self) -> &str {
        &self.cell.volume
    }
    fn label(&self) -> &str {
        &self.label
    }
    fn trials(&self) -> u32 {
        self.cell.spec.trials
    }
    fn trial_time(&self) -> Duration {
        self.cell.spec.trial_time()
    }
    fn figures(&self) -> LoadFigures {
        LoadFigures::from(&self.cell.spec)
    }
}

/// A cell as it is kept, for loads that no plan has, such as an application's.
impl TrialCell for CellRecord {
    fn id(&self) -> &str {
        &self.id
    }
    fn volume(&self) -> &str {
        &self.volume
    }
    fn label(&self) -> &str {
        &self.label
    }
    fn trials(&self) -> u32 {
        self.trials_planned
    }
    fn trial_time(&self) -> Duration {
        Duration::from_ns(self.load.figures().duration_ns)
    }
    fn figures(&self) -> LoadFigures {
        self.load.figures()
    }
}
