//! What a file does not say, and its reader must be told.

/// What a file does not say.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReadOptions {
    /// The devices to add up; empty for all that do not stand for others.
    pub devices: Vec<String>,
    /// The length of an interval, where the file has no times; s.
    pub interval_s: Option<f64>,
}
