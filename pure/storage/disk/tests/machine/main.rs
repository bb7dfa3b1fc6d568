//! The machine from the outside: published examples, budgets that are shared, caches, spinning disks, exact replay.

mod accounts;
mod caches;
mod changes;
mod drive;
mod invariants;
mod replay;
mod service;
mod worked_examples;
