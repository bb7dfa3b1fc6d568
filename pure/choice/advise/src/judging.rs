//! Judges pairs by their limits: a steady need against lasting rates, a recorded one by its day.

use crate::cases::Case;
use crate::disk_sets::DiskSet;
use crate::flow::{Cached, Station, machine_stations};
use crate::machines::MachineOffer;
use crate::search::Judge;
use loadline_catalog::{Catalog, Draw};
use loadline_disk::{HostCache, Layout};
use loadline_units::{Bytes, Ratio};

/// Rounding in a sum of shares.
const EXACT: f64 = 1.0 + 1e-9;

/// The judge by limits under one scenario.
pub(crate) struct ByLimits<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) draw: Draw,
    pub(crate) case: &'a Case,
    pub(crate) hot: Option<Bytes>,
    pub(crate) time_met: Ratio,
    /// How much of a limit may be used: 1.0, or more to find what just misses.
    pub(crate) slack: f64,
    /// Whether disks too slow for the objective are left out.
    pub(crate) fast_only: bool,
}

impl ByLimits<'_> {
    fn stations_carry(&self, stations: &[Station], layout: Layout) -> bool {
        if self.case.is_steady {
            let flow = self.case.peak_flow(layout);
            return stations.iter().all(|one| one.share(flow) <= self.slack * EXACT);
        }
        self.case.day(layout).is_carried(stations, self.case.factor / self.slack, 1.0 - self.time_met.as_f64())
    }

    /// All limits of a pair.
    pub(crate) fn stations(&self, set: &DiskSet, machine: &MachineOffer) -> Vec<Station> {
        let mut stations = machine.stations(set, self.hot, self.catalog, &self.draw);
        let hits = machine.hits(set, self.hot);
        if set.host_cache == HostCache::None || hits >= 1.0 {
            stations.extend(set.stations.iter().cloned());
        }
        stations
    }
}

impl Judge for ByLimits<'_> {
    fn set_could(&self, set: &DiskSet) -> bool {
        (set.is_fast_enough || !self.fast_only) && self.stations_carry(&set.stations, set.layout)
    }

    fn machine_could(&self, machine: &MachineOffer) -> bool {
        // A machine that limits each type apart is judged with the disks.
        let by_type = machine.spec.uncached.is_none() && machine.special.is_none();
        let best = [Some(&machine.spec), machine.special.as_ref()];
        let modes = [Cached { mode: HostCache::None, hits: 0.0 }, Cached { mode: HostCache::ReadOnly, hits: 1.0 }];
        let modes = if self.hot.is_some() { &modes[..] } else { &modes[..1] };
        by_type
            || best.into_iter().flatten().any(|spec| {
                modes
                    .iter()
                    .any(|cached| self.stations_carry(&machine_stations(spec, Layout::Single, *cached), Layout::Single))
            })
    }

    fn carries(&self, set: &DiskSet, machine: &MachineOffer) -> bool {
        if self.case.is_steady {
            let flow = self.case.peak_flow(set.layout);
            let fits = |one: &Station| one.share(flow) <= self.slack * EXACT;
            // Most pairs fail here, before the disks are put into the machine.
            if machine.allowance(set).is_some_and(|one| !fits(&one)) {
                return false;
            }
            return machine.stations(set, self.hot, self.catalog, &self.draw).iter().all(fits);
        }
        self.stations_carry(&self.stations(set, machine), set.layout)
    }
}
