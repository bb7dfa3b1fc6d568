//! What keeps the data of an ephemeral disk, as far as it computes: no clock, no file, no network.
//!
//! | module | gives |
//! |---|---|
//! | [`config`] | the configuration, read from TOML with every problem at its place |
//! | [`start`] | from what is seen at start to one verdict: wait, refuse, format, mount, restore, continue |
//! | [`marker`] | the file that says whose disk this is, and what was saved of it |
//! | [`tree`] | files and folders as data: owners, modes, extended attributes, hashes |
//! | [`manifest`] | one saved generation: every entry of its tree |
//! | [`changes`] | what changed between two looks, how old the oldest unsaved change is, mass deletions |
//! | [`budget`] | how many bytes may be unsaved, so that an announced loss loses nothing |
//! | [`controller`] | the rate of our own I/O, by the latency of the application |
//! | [`plan`] | what a shelter would give: recovery point and time, traffic, storage, the application's latency, and which class fits |
//! | [`notice`] | notices of clouds, out of the bytes of their answers |
//! | [`unit`](mod@unit) | the systemd unit of a configuration, and drop-ins of the services behind it |
//! | [`upkeep`] | what a service does between saves, and when |
//! | [`status`] | what a running service reports: for people, for programs, as metrics |

pub mod budget;
pub mod changes;
pub mod config;
pub mod controller;
pub mod manifest;
pub mod marker;
pub mod notice;
pub mod plan;
pub mod start;
pub mod status;
pub mod tree;
pub mod unit;
pub mod upkeep;
