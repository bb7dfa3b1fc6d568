//! Where contents are cut: by what they are, as restic does.

mod polynomial;
mod rabin;

pub use polynomial::Polynomial;
pub use rabin::{CHUNK_MAX, CHUNK_MIN, RabinChunker};
