//! Why a hunt does not begin.

use super::{Error, Refusal};
use loadline_hunt::{Factor, SkippedSetting, VaryError};

/// Why there is nothing to hunt for.
#[derive(Debug, thiserror::Error)]
pub enum HuntRefusal {
    /// The margin is no share of a rate.
    #[error("a margin is a share above 0 % and below 100 %")]
    Margin,
    /// A plan of several cells, and none was named.
    #[error("say around which cell of plan {:?}, which has {}", of.plan, of.count)]
    WhichCell {
        /// The plan.
        of: CellsOfPlan,
    },
    /// The plan has no cell of this number.
    #[error("plan {:?} has no cell {cell}: it has {}", of.plan, of.count)]
    NoCell {
        /// The number, as typed.
        cell: usize,
        /// The plan.
        of: CellsOfPlan,
    },
    /// No cell of the plan is called so.
    #[error("no cell of plan {:?} is called {called:?}", of.plan)]
    NoCellCalled {
        /// What was asked for.
        called: String,
        /// The plan.
        of: CellsOfPlan,
    },
    /// Several cells of the plan are called so.
    #[error("{count} cells of plan {:?} are called {called:?}: name one by its number", of.plan)]
    SeveralCalled {
        /// What was asked for.
        called: String,
        /// How many are called so.
        count: usize,
        /// The plan.
        of: CellsOfPlan,
    },
    /// The load writes, and nothing may be written.
    #[error("{load} writes, and nothing may be written: choose another cell")]
    Writes {
        /// The load, for people.
        load: String,
    },
    /// What is to be varied cannot be.
    #[error(transparent)]
    Vary(#[from] VaryError),
    /// Nothing can be varied around the cell.
    #[error("nothing can be varied around this cell; name a factor to see why not")]
    NothingToVary,
    /// The target cannot have anything that is usually varied.
    #[error("nothing can be varied around this cell on this target")]
    NothingVaries {
        /// Every setting with its reason.
        settings: Vec<SkippedSetting>,
    },
    /// A factor makes no difference on the target.
    #[error("{} cannot be varied: {why}", factor.name())]
    Unvaried {
        /// The factor.
        factor: Factor,
        /// Why not.
        why: String,
    },
}

/// A plan of which a cell was sought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellsOfPlan {
    /// Its name.
    pub plan: String,
    /// How it was named: as built in, or by its file.
    pub typed: String,
    /// How many cells it has.
    pub count: usize,
}

impl From<HuntRefusal> for Refusal {
    fn from(refusal: HuntRefusal) -> Self {
        Self::Hunt(Box::new(refusal))
    }
}

impl From<HuntRefusal> for Error {
    fn from(refusal: HuntRefusal) -> Self {
        Refusal::from(refusal).into()
    }
}
