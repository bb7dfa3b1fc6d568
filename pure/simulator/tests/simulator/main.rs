//! Simulated trials from the outside: bursts over a day, windows against arithmetic, laws that hold for any storage.

mod any;
mod bursts;
mod digests;
mod environments;
mod laws;
mod trials;
mod windows;
