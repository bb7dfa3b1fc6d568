//! Rules that every named bound of a crawl keeps: the lever that is named first gives most. A rule that is broken is a defect of the judge.

use crate::attribution::{Attribution, Bound, HARDLY_MORE};
use crate::lever::Lever;
use crate::recorded::recorded;
use crate::{Keep, ReplayError, replay};
use loadline_record::PipelineRecord;

/// What alone binds gives at least this where twice as much of it is set.
const GIVES_MIN: f64 = 1.1;

/// A rule that the answer for a source breaks.
#[derive(Debug, Clone, PartialEq)]
pub enum CrawlViolation {
    /// A part alone binds, and twice as much of it gives next to nothing.
    GivesNothing {
        /// The source.
        source: String,
        /// It.
        named: Lever,
        /// How many times as fast the source would be.
        gain: f64,
    },
    /// Twice as much of another part gives more than of the one that is named first.
    OtherGivesMore {
        /// The source.
        source: String,
        /// What is named first.
        named: Lever,
        /// How many times as fast the source would be with it,
        gain: f64,
        /// What gives more.
        other: Lever,
        /// and with that.
        other_gain: f64,
    },
}

/// Every rule that the answers for a crawl break. Replays the crawl once for each part that can be set.
///
/// # Errors
/// When the record contradicts itself.
pub fn crawl_violations(
    record: &PipelineRecord,
    attributions: &[Attribution],
) -> Result<Vec<CrawlViolation>, ReplayError> {
    let Some(pipeline) = recorded(record) else { return Ok(Vec::new()) };
    let base = replay(&pipeline.spec, &pipeline.items, None, Keep::default())?;
    let gain = |lever: Lever, place: usize| pipeline.gain_of_twice(record, lever, place, base.ended_ns(place));
    let mut found = Vec::new();
    for (place, of) in attributions.iter().enumerate() {
        let Some(named) = of.bound.levers().first().copied() else { continue };
        let source = || of.source.clone();
        let Some(own) = gain(named, place)? else { continue };
        if matches!(of.bound, Bound::By(_)) && own < GIVES_MIN {
            found.push(CrawlViolation::GivesNothing { source: source(), named, gain: own });
        }
        for other in
            of.evidence.by_replay.iter().map(|of| of.lever).filter(|lever| *lever != named && !lever.is_one_wait(named))
        {
            let Some(other_gain) = gain(other, place)?.filter(|gain| *gain > own * HARDLY_MORE) else { continue };
            found.push(CrawlViolation::OtherGivesMore { source: source(), named, gain: own, other, other_gain });
        }
    }
    Ok(found)
}
