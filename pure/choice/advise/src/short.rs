//! How long an environment would be short under a recorded need: what an advice comes to, to be checked against.

use crate::cases::cases;
use crate::flow::{Cached, stations};
use crate::need::Need;
use loadline_catalog::{Draw, Environment};
use loadline_prediction::Model;

/// The share of a recorded time in which the first volume of an environment leaves requests waiting, in one plausible version of it.
///
/// The demand is taken as recorded: no higher peaks are assumed. No read is answered by a host's cache. `None` without a volume.
#[must_use]
pub fn short_share(environment: &Environment, need: &Need, draw: Draw) -> Option<f64> {
    let all = cases(need);
    let case = all.first()?;
    let model = Model::new(environment, 0, draw);
    let volume = model.spec.volumes.first()?;
    let cached = Cached { mode: environment.volumes.first()?.host_cache.mode, hits: 0.0 };
    let stations = stations(&model.spec, volume, cached);
    Some(case.day(volume.layout).result(&stations, 1.0).short)
}
