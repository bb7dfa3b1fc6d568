//! What providers answer when they are asked for prices and for limits: their saved files and pages, told by content, read into price lists.
//!
//! Answers are streamed: what is kept are the rows that stand for machines and disks, whatever the size of the file. Prices are integers,
//! in billionths of a currency's unit. What products are called is data, in `feeds/`.

mod addresses;
mod amount;
mod answer;
mod assemble;
mod aws;
mod azure;
mod comma;
mod feed;
mod gcp;
mod json;
mod limits;
mod read;
mod text_numbers;
mod walk;

pub use addresses::{KEY_HEADER, Pages, PriceAddress, addresses};
pub use amount::{AmountError, billionths};
pub use answer::{AnswerError, Form, PriceAnswer, Provider, Quote, QuotedItem};
pub use assemble::{Assembly, Candidate, DigestOf, assemble};
pub use limits::{KeptLimits, LimitsAnswer, LimitsError, LimitsOrigin, LimitsUpdate, MachineLimits, read_limits};
pub use read::read;
pub use walk::{FetchBounds, GaveUp, PageFailure, PagePlace, PageTries, PageWalk, WalkError, Walked, host_of};
