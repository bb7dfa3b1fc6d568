//! Disks of the catalog whose limits are the levels that were measured.

use crate::summary::CellSummary;
use crate::verdict_block::{VerdictFigure, VerdictSubject};
use loadline_catalog::{Catalog, SoldDisk};
use loadline_record::{Clock, Limit, RunRecord};
use serde::Serialize;
use std::sync::LazyLock;

/// Disks that are named: more say nothing.
const DISKS_MAX: usize = 3;

/// What is sold. Reading it takes a moment.
static SOLD: LazyLock<Catalog> = LazyLock::new(Catalog::builtin);

/// Two levels of a volume, and the disks that are sold with such limits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KnownLevels {
    /// Requests per second, as measured.
    pub iops: f64,
    /// Bytes per second, as measured.
    pub throughput_bytes_per_s: f64,
    /// One at least, each as good an answer.
    pub disks: Vec<KnownDisk>,
}

/// A disk as it is sold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KnownDisk {
    /// Its name in the catalog.
    pub name: String,
    /// Requests per second.
    pub iops: u64,
    /// Bytes per second.
    pub throughput_bytes_per_s: u64,
}

impl From<SoldDisk> for KnownDisk {
    fn from(disk: SoldDisk) -> Self {
        Self { name: disk.name, iops: disk.iops.get(), throughput_bytes_per_s: disk.throughput.get() }
    }
}

impl KnownLevels {
    /// Of the figures of a volume that its own limits hold: one on requests, and one on bytes. `None`: no disk has both.
    pub(crate) fn of(record: &RunRecord, gives: &[VerdictFigure], cells: &[CellSummary]) -> Option<Self> {
        let is_measured = record.header.clock == Clock::Real && record.header.environment.is_none();
        let level = |limit: Limit, of: fn(VerdictSubject) -> bool| {
            let held = |figure: &&VerdictFigure| {
                let cell = cells.iter().find(|cell| cell.id == figure.cell);
                let is_own = |cell: &CellSummary| {
                    let binding = cell.binding.as_ref();
                    cell.held_by.is_none() && binding.is_some_and(|binding| binding.limit == limit && binding.inferred)
                };
                of(figure.what) && cell.is_some_and(is_own)
            };
            gives.iter().find(held).map(|figure| figure.value)
        };
        let iops = level(Limit::DiskIops, |what| {
            matches!(what, VerdictSubject::SmallReads | VerdictSubject::SmallWrites | VerdictSubject::Requests)
        })?;
        let bytes = level(Limit::DiskThroughput, |what| {
            matches!(what, VerdictSubject::LargeReads | VerdictSubject::LargeWrites)
        })?;
        let disks: Vec<KnownDisk> = if is_measured {
            SOLD.disks_of_levels(iops, bytes).into_iter().map(KnownDisk::from).collect()
        } else {
            Vec::new()
        };
        let is_some = (1..=DISKS_MAX).contains(&disks.len());
        is_some.then_some(Self { iops, throughput_bytes_per_s: bytes, disks })
    }
}
