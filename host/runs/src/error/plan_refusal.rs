//! What keeps a folder of results from being a run of the plan in it.

use loadline_workload::SeveralVolumes;

/// What keeps results from being taken as those of the plan beside them.
#[derive(Debug, thiserror::Error)]
pub enum PlannedError {
    /// A file is no result of the plan.
    #[error("{file} {why}")]
    File {
        /// The file.
        file: String,
        /// Why not.
        why: NotOfPlan,
    },
    /// The results are of several targets.
    #[error("the results are of {}, and a plan has one place where it is measured elsewhere: import those of each by themselves", targets.join(" and "))]
    SeveralTargets {
        /// The targets.
        targets: Vec<String>,
    },
    /// The plan has loads on several volumes.
    #[error(transparent)]
    SeveralVolumes(#[from] SeveralVolumes),
}

/// Why a file is no result of the folder's plan.
#[derive(Debug, thiserror::Error)]
pub enum NotOfPlan {
    /// Its name is none of the plan's.
    #[error("is no result of this plan: no cell and trial of {plan} has this name")]
    Name {
        /// The plan.
        plan: String,
    },
    /// It has another number of loads than one.
    #[error("holds {loads} loads, where the plan's command has one")]
    Loads {
        /// How many.
        loads: usize,
    },
    /// What it measured is not the cell.
    #[error("is of another run: {what} is {found}, and that of this cell is {wanted}")]
    Load {
        /// What differs.
        what: &'static str,
        /// In the results.
        found: String,
        /// In the plan.
        wanted: String,
    },
    /// Another file has the same text.
    #[error("is a copy of {other}")]
    Copy {
        /// The other file.
        other: String,
    },
    /// Another file is of the same trial.
    #[error("is of the same trial as {other}")]
    Trial {
        /// The other file.
        other: String,
    },
}
