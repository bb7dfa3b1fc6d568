//! What a pipeline and its items must keep to before they are replayed.

use crate::{PipelineItem, Release};
use loadline_disk::EnvironmentError;
use loadline_record::PipelineSpec;

/// A pipeline or an item contradicts itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// There are none of something that is needed.
    #[error("the pipeline has no {0}: it needs at least one")]
    None(String),
    /// An item is of a source that is not there.
    #[error("item {item} is of source {source_number}, and the pipeline has {sources}")]
    Source {
        /// The item's place.
        item: usize,
        /// Its source.
        source_number: u32,
        /// Sources of the pipeline.
        sources: usize,
    },
    /// An item is found in one that comes later, or is of another source.
    #[error("item {0} is found in an item that does not stand before it in the same source")]
    Found(usize),
    /// The model of the storage.
    #[error("the storage of the replay: {0}")]
    Storage(#[from] EnvironmentError),
}

pub(super) fn check(spec: &PipelineSpec, items: &[PipelineItem]) -> Result<(), ReplayError> {
    let some = |count: u64, what: &str| if count == 0 { Err(ReplayError::None(what.to_owned())) } else { Ok(()) };
    some(u64::from(spec.cores), "processors")?;
    some(spec.sources.len() as u64, "sources")?;
    for source in &spec.sources {
        let of = |what: &str| format!("{what} of source {}", source.name);
        some(u64::from(source.slots), &of("slots"))?;
        some(u64::from(source.connections.unwrap_or(1)), &of("connections"))?;
        some(u64::from(source.politeness.per_host.unwrap_or(1)), &of("fetches per host"))?;
    }
    for (station, name) in [(spec.extract, "extract"), (spec.index, "index"), (spec.database, "database")] {
        some(u64::from(station.workers), &format!("workers of {name}"))?;
        some(u64::from(station.queue.items), &format!("room in the queue before {name}"))?;
    }
    if let Some(merge) = spec.segments.as_ref().and_then(|segments| segments.merge.as_ref()) {
        some(u64::from(merge.threads), "threads for merges")?;
        some(u64::from(merge.pending_max), "pending merges")?;
        some(u64::from(merge.factor.saturating_sub(1)), "second segment in a merge")?;
    }
    if let Some(commit) = &spec.commit {
        some(commit.every_items.unwrap_or(1), "items in an epoch")?;
    }
    for (number, item) in items.iter().enumerate() {
        if item.source as usize >= spec.sources.len() {
            return Err(ReplayError::Source { item: number, source_number: item.source, sources: spec.sources.len() });
        }
        if let Release::After(other) = item.release
            && (other as usize >= number || items[other as usize].source != item.source)
        {
            return Err(ReplayError::Found(number));
        }
    }
    Ok(())
}
