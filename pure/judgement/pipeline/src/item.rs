//! Items as a replay takes them: when each becomes eligible, and what it needs at every station.

use loadline_record::Work;

/// When an item can be fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// So many ns after the start.
    At(u64),
    /// When the item at this place of the list has passed extract. It stands before this one and is of the same source.
    After(u32),
}

/// One item and all that it asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PipelineItem {
    /// Its source, by its place in the pipeline.
    pub source: u32,
    /// Its host, by a number within the source.
    pub host: u32,
    /// When it is eligible.
    pub release: Release,
    /// The repository's time to the first byte, ns.
    pub first_byte_ns: u64,
    /// Time of the body that is not the shared network's, ns.
    pub body_ns: u64,
    /// Bytes fetched. On a shared network they take its bandwidth.
    pub bytes: u64,
    /// Bytes of text.
    pub text_bytes: u64,
    /// Processor time of the fetch, ns.
    pub fetch_cpu_ns: u64,
    /// Its host is left alone for so long after it, ns.
    pub retry_after_ns: u64,
    /// What extract, index and database do for it.
    pub work: [Work; 3],
}

impl Default for PipelineItem {
    /// Of the first source, eligible at once, and free of any cost.
    fn default() -> Self {
        Self {
            source: 0,
            host: 0,
            release: Release::At(0),
            first_byte_ns: 0,
            body_ns: 0,
            bytes: 0,
            text_bytes: 0,
            fetch_cpu_ns: 0,
            retry_after_ns: 0,
            work: [Work::default(); 3],
        }
    }
}
