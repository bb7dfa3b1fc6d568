//! The limit of a volume: what its deepest load ends at, while a burst lasts and for good. Verdicts, tables and charts about a volume all
//! take its name from here.

use crate::fluid::fluid;
use crate::initially::Initially;
use crate::models::Model;
use crate::trial::PredictionError;
use loadline_record::Ceiling;
use loadline_units::Duration;
use loadline_workload::LoadSpec;

/// What a volume does at most, by its limits.
#[derive(Debug, Clone, PartialEq)]
pub struct VolumeLimit {
    /// The limit at the end of the measured time.
    pub measured: Ceiling,
    /// The lowest limit above it with another name.
    pub next: Option<Ceiling>,
    /// The limit for good; the same as the measured one without a burst.
    pub lasting: Ceiling,
    /// A burst that ends: when it does, and its limit.
    pub burst: Option<(Duration, Ceiling)>,
}

/// The limit of a volume under a load, which is as deep as loads on it become; `None` if nothing limits it.
///
/// # Errors
/// [`PredictionError`].
pub fn volume_limit(
    model: &Model,
    volume: &str,
    load: &LoadSpec,
    initially: Initially,
) -> Result<Option<VolumeLimit>, PredictionError> {
    let course = fluid(model, volume, load, initially.of(load))?;
    let end = (load.warm_up + load.duration).saturating_sub(Duration::from_ns(1));
    let (Some(measured), Some(lasting)) = (course.phase_at(end), course.phases.last()) else { return Ok(None) };
    let ends_at = course.burst_end().map(|(at, _)| at);
    Ok(Some(VolumeLimit {
        measured: measured.binding.clone(),
        next: measured.next.clone(),
        lasting: lasting.binding.clone(),
        burst: ends_at.zip(course.phases.first()).map(|(at, first)| (at, first.binding.clone())),
    }))
}
