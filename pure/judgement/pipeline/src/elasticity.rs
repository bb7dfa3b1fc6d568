//! How much faster a source becomes when one lever is twice as fast: found by replay.

use crate::lever::Lever;
use crate::{Keep, PipelineItem, ReplayError, replay};
use loadline_record::PipelineSpec;
use serde::{Deserialize, Serialize};

/// The effect of a lever on a source.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Elasticity {
    /// The lever.
    pub lever: Lever,
    /// d ln(rate) / d ln(speed): 1 where the rate doubles with the lever, 0 where nothing changes.
    pub elasticity: f64,
}

/// Every source's elasticities, the largest first, and the time that its base replay took.
#[derive(Debug, Clone, PartialEq)]
pub struct Elasticities {
    /// By source: how long it took in the replay without a change, ns.
    pub base_ns: Vec<u64>,
    /// By source.
    pub of: Vec<Vec<Elasticity>>,
}

/// Replays the items once for each lever.
///
/// `cores_are_busy` says for each source whether processors were the limit while it ran: then [`Lever::Cores`] stands for the
/// processor time of all stations, otherwise [`Lever::Workers`] for that of each.
///
/// # Errors
/// When the pipeline or an item contradicts itself.
pub fn elasticities(
    spec: &PipelineSpec,
    items: &[PipelineItem],
    cores_are_busy: &[bool],
) -> Result<Elasticities, ReplayError> {
    let ends = |spec: &PipelineSpec, items: &[PipelineItem]| -> Result<Vec<u64>, ReplayError> {
        let replayed = replay(spec, items, None, Keep::default())?;
        Ok((0..spec.sources.len()).map(|source| replayed.ended_ns(source)).collect())
    };
    let base_ns = ends(spec, items)?;
    let mut of = vec![Vec::new(); base_ns.len()];
    for lever in Lever::all(spec) {
        let (mut changed, mut faster_items) = (spec.clone(), items.to_vec());
        lever.speed_up(&mut changed, &mut faster_items);
        let mut faster = ends(&changed, &faster_items)?;
        // Who has too few of them can only have more: what more do not bring is no effect.
        let mut more = spec.clone();
        if lever.multiply(&mut more) {
            let with_more = ends(&more, items)?;
            faster.iter_mut().zip(with_more).for_each(|(faster, with_more)| *faster = (*faster).max(with_more));
        }
        for (source, of) in of.iter_mut().enumerate() {
            let counts = match lever {
                Lever::Cores => cores_are_busy[source],
                Lever::Workers(_) => !cores_are_busy[source],
                _ => lever.source().is_none_or(|own| own == source),
            };
            if counts && base_ns[source] > 0 && faster[source] > 0 {
                let elasticity = libm::log2(base_ns[source] as f64 / faster[source] as f64);
                of.push(Elasticity { lever, elasticity });
            }
        }
    }
    for of in &mut of {
        of.sort_by(|a, b| b.elasticity.total_cmp(&a.elasticity).then(a.lever.cmp(&b.lever)));
    }
    Ok(Elasticities { base_ns, of })
}
