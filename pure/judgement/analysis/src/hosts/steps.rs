//! Steps of a run in which more and more hosts load: what their loads are called, and which of them are one load.

use crate::words::counted;
use loadline_load::{Arrival, LoadSpec};
use loadline_record::{CellRecord, HostsRecord};
use loadline_units::Iops;

/// What a load is called that so many hosts run at the same time: "each of 4 hosts", with its own name behind it if it has one.
#[must_use]
pub fn name_on_hosts(hosts: u32, name: Option<&str>) -> String {
    let on = on_hosts(hosts);
    name.map_or_else(|| on.clone(), |name| format!("{on}, {name}"))
}

/// Whose load it is: "each of 4 hosts".
pub(super) fn on_hosts(hosts: u32) -> String {
    if hosts == 1 { counted(1, "host") } else { format!("each of {}", counted(hosts as usize, "host")) }
}

/// The label of a cell that so many hosts run: one whose load has such a name says so already.
pub(super) fn label_on_hosts(hosts: u32, label: &str) -> String {
    let on = on_hosts(hosts);
    let is_said = label.strip_prefix(&on).is_some_and(|rest| rest.starts_with([':', ',']));
    if is_said { label.to_owned() } else { format!("{on}: {label}") }
}

/// The name of a load without how many hosts run it.
fn name_alone(hosts: u32, name: Option<&str>) -> Option<String> {
    let name = name?;
    match name.strip_prefix(&on_hosts(hosts)) {
        Some("") => None,
        Some(rest) => Some(rest.strip_prefix(", ").unwrap_or(name).to_owned()),
        None => Some(name.to_owned()),
    }
}

/// Hosts of a merged cell, with those that have no record of it; `None` where it is one host's own.
pub(super) fn hosts_of(cell: &CellRecord) -> Option<u32> {
    let count = |record: &HostsRecord| (record.hosts.len() + record.missing.len()) as u32;
    cell.trials.iter().filter_map(|trial| trial.hosts.as_deref()).map(count).max()
}

/// The load of one of the hosts of a merged cell, whatever their number.
pub(super) fn load_of_one(cell: &CellRecord, hosts: u32) -> Option<LoadSpec> {
    let spec = cell.load.spec()?;
    let share = |rate: Iops| Iops::per_second(rate.get() / u64::from(hosts)).unwrap_or(rate);
    let arrival = match spec.arrival {
        Arrival::Closed { queue_depth, rate_max, think_time } => {
            Arrival::Closed { queue_depth, rate_max: rate_max.map(share), think_time }
        }
        Arrival::Constant { rate } => Arrival::Constant { rate: share(rate) },
        Arrival::Poisson { rate } => Arrival::Poisson { rate: share(rate) },
    };
    let name = name_alone(hosts, spec.name.as_deref());
    Some(LoadSpec { name, arrival, threads: spec.threads / hosts, ..spec.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_how_many_hosts_there_are_and_gives_the_load_its_own_back() {
        for (hosts, name, said) in [(1, None, "1 host"), (4, Some("log"), "each of 4 hosts, log")] {
            assert_eq!(name_on_hosts(hosts, name), said);
            assert_eq!(name_alone(hosts, Some(said)).as_deref(), name);
            assert_eq!(label_on_hosts(hosts, &format!("{said}: read")), format!("{said}: read"));
        }
        assert_eq!(label_on_hosts(4, "read"), "each of 4 hosts: read");
        assert_eq!(name_alone(2, Some("each of 20 hosts")).as_deref(), Some("each of 20 hosts"));
    }
}
