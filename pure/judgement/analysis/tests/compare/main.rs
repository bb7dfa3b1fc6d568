//! How often a comparison is wrong, and how often it finds what is there, on made-up runs with the noise of real ones.

mod bounds;
mod noise;
mod rates;
