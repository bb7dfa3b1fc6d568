//! Simulated trials from the outside: bursts over a day, windows against arithmetic, laws that hold for any storage.
#![allow(clippy::disallowed_methods, reason = "the tests read and write their golden files")]

mod any;
mod bursts;
mod digests;
mod environments;
mod guests;
mod laws;
mod trials;
mod windows;
