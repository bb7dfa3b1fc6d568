//! What a replay takes for granted, and a change puts to the test.

use super::change::Change;
use crate::lever::costs;
use crate::recorded::{RecordedPipeline, scaled};
use serde::{Deserialize, Serialize};

/// What a processor loses where all work that works alone otherwise: two hardware threads of one core do 1.3 times what one does.
const BESIDE_BUSY: f64 = 1.0 / 0.65 - 1.0;
/// The change of the processors' busy share that counts.
const BUSY_CHANGE_MIN: f64 = 0.02;
/// A repository that is asked for twice as many at once answers each in 2 to the power of so much times the time.
const SLOWER_AT_ONCE: f64 = 0.25;

/// Something that holds in the replay and that nothing measured shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "what")]
pub enum Assumed {
    /// Batches of another size wait half once each and half by their size: those that were measured had one size.
    BatchWaits,
    /// Processors that work at once do not slow each other.
    Processors {
        /// By how much their busy share grows with the change.
        busy_more: f64,
    },
    /// The repository of a source answers as fast when it is asked for more at once.
    Repository {
        /// The source.
        source: String,
        /// So many times as much at once.
        times: f64,
    },
    /// Handing an item from station to station takes no time.
    HandingOn,
}

impl Assumed {
    /// What these changes put to the test. `waits_are_measured`: batches of several sizes show how their waits grow; `busy_more`: by
    /// how much the processors' busy share grows.
    pub(super) fn of(
        changes: &[Change],
        pipeline: &RecordedPipeline,
        waits_are_measured: bool,
        busy_more: f64,
    ) -> Vec<Self> {
        let any = |is: fn(&Change) -> bool| changes.iter().any(is);
        let mut found = Vec::new();
        let is_of_batches = |change: &Change| {
            matches!(change, Change::CommitItems(_) | Change::CommitEvery(_) | Change::IndexMemory(_))
        };
        if !waits_are_measured && any(is_of_batches) {
            found.push(Self::BatchWaits);
        }
        if busy_more >= BUSY_CHANGE_MIN {
            found.push(Self::Processors { busy_more });
        }
        for source in &pipeline.spec.sources {
            let at_once = |slots: u32| f64::from(slots) / f64::from(source.slots);
            let times = changes.iter().filter_map(|change| change.slots_of(source)).map(at_once).product::<f64>();
            if times > 1.0 {
                found.push(Self::Repository { source: source.name.clone(), times });
            }
        }
        if any(|change| matches!(change, Change::Queue(..))) {
            found.push(Self::HandingOn);
        }
        found
    }
    /// The changed pipeline in which it does not hold, by the most that is likely.
    pub(super) fn otherwise(&self, after: &RecordedPipeline) -> RecordedPipeline {
        let mut after = after.clone();
        match self {
            Self::Processors { busy_more } => {
                let slower = 1.0 + BESIDE_BUSY * busy_more;
                for item in &mut after.items {
                    item.fetch_cpu_ns = scaled(item.fetch_cpu_ns, slower);
                    item.work.iter_mut().for_each(|work| work.cpu_ns = scaled(work.cpu_ns, slower));
                }
                for cost in costs(&mut after.spec) {
                    cost.cpu_per_unit_ns = scaled(cost.cpu_per_unit_ns, slower);
                    cost.cpu_ns = scaled(cost.cpu_ns, slower);
                }
            }
            Self::Repository { source, times } => {
                let slower = libm::pow(*times, SLOWER_AT_ONCE);
                let place = after.spec.sources.iter().position(|of| of.name == *source);
                for item in after.items.iter_mut().filter(|item| Some(item.source as usize) == place) {
                    item.first_byte_ns = scaled(item.first_byte_ns, slower);
                }
            }
            Self::BatchWaits | Self::HandingOn => {}
        }
        after
    }
}
