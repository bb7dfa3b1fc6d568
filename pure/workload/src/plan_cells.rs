//! Plans that are carried to another machine and measured there by another tool: their cells with names for files.

use crate::{Plan, RunCells, run_cells};
use std::collections::BTreeSet;

/// The plan's file among those that are carried.
pub const CARRIED_PLAN: &str = "loadline-plan.toml";
/// Letters of what a cell asks that its name has at most.
const WORDS_MAX: usize = 56;

/// A plan on the one volume that is measured.
#[derive(Debug, Clone, PartialEq)]
pub struct CarriedPlan {
    /// The volume's name.
    pub volume: String,
    /// In the plan's order.
    pub run: RunCells,
    /// A name for each cell that a file may have on every system: its place from 1, then what it asks, in small letters, digits and hyphens.
    pub names: Vec<String>,
}

/// Loads that belong on more volumes than one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("its loads belong on the volumes {}, and another tool measures one here: make a plan for each", .volumes.join(", "))]
pub struct SeveralVolumes {
    /// Their names.
    pub volumes: Vec<String>,
}

impl CarriedPlan {
    /// The cells of `plan` on the volume that its loads name, or else on `volume`.
    ///
    /// # Errors
    /// Loads that belong on several volumes.
    pub fn new(plan: &Plan, volume: &str) -> Result<Self, SeveralVolumes> {
        let volumes: BTreeSet<&String> = plan.loads.iter().filter_map(|load| load.on.as_ref()).collect();
        if volumes.len() > 1 {
            return Err(SeveralVolumes { volumes: volumes.into_iter().cloned().collect() });
        }
        let volume = volumes.first().map_or(volume, |only| only.as_str()).to_owned();
        let run = run_cells(std::slice::from_ref(plan), std::slice::from_ref(&volume));
        let run = run.expect("every load is on the only volume");
        let digits = run.cells.len().to_string().len();
        let names = (run.cells.iter().enumerate())
            .map(|(place, cell)| format!("{:0digits$}-{}", place + 1, words(&cell.spec.label())))
            .collect();
        Ok(Self { volume, run, names })
    }

    /// The cell and the trial, from 0, that a file of results is of, by its name without its ending.
    #[must_use]
    pub fn place_of(&self, stem: &str) -> Option<(usize, u32)> {
        let (cell, trial) = stem.rsplit_once('-')?;
        let place = self.names.iter().position(|name| name == cell)?;
        let trial = trial.parse::<u32>().ok()?.checked_sub(1)?;
        (trial < self.run.cells[place].spec.trials && stem == self.result(place, trial)).then_some((place, trial))
    }

    /// What the file of a trial's results is called, without its ending.
    #[must_use]
    pub fn result(&self, place: usize, trial: u32) -> String {
        format!("{}-{}", self.names[place], trial + 1)
    }
}

/// A text in small letters, digits and single hyphens.
fn words(text: &str) -> String {
    let plain: String =
        text.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { ' ' }).collect();
    let joined = plain.split_whitespace().collect::<Vec<_>>().join("-");
    joined.chars().take(WORDS_MAX).collect::<String>().trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carried(text: &str) -> Result<CarriedPlan, SeveralVolumes> {
        CarriedPlan::new(&Plan::parse(&format!("schema = 1\nname = \"p\"\n{text}"), "p").unwrap(), "data")
    }

    #[test]
    fn names_are_of_letters_digits_and_hyphens_and_each_is_there_once() {
        let text = "[[load]]\nname = \"T\u{e4}glich: a/b\\\\c\"\nqueue_depth = [1, 2, 4]\nthreads = [1, 2, 3, 4]\n";
        let plan = carried(text).unwrap();
        assert_eq!(plan.names[0], "01-t-glich-a-b-c-random-read-4-kib-depth-1");
        assert_eq!(plan.names[11], "12-t-glich-a-b-c-random-read-4-kib-depth-4-x-4-threads");
        let distinct: BTreeSet<&String> = plan.names.iter().collect();
        assert_eq!(distinct.len(), plan.names.len());
    }

    #[test]
    fn a_name_tells_the_cell_and_the_trial_and_other_names_tell_none() {
        let plan = carried("[[load]]\ntrials = 2\nqueue_depth = [1, 2]\n").unwrap();
        for (place, trial) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            assert_eq!(plan.place_of(&plan.result(place, trial)), Some((place, trial)));
        }
        let first = &plan.names[0];
        for other in
            [first.clone(), format!("{first}-0"), format!("{first}-3"), format!("{first}-01"), "x-1".to_owned()]
        {
            assert_eq!(plan.place_of(&other), None, "{other}");
        }
    }

    #[test]
    fn the_volume_is_the_one_that_loads_name_and_of_several_none() {
        let volume = |text| carried(text).map(|plan| plan.volume);
        assert_eq!(volume("[[load]]\n[[load]]\n").as_deref(), Ok("data"));
        assert_eq!(volume("[[load]]\non = \"log\"\n[[load]]\n").as_deref(), Ok("log"));
        assert!(volume("[[load]]\non = \"log\"\n[[load]]\non = \"pages\"\n").is_err());
    }
}
