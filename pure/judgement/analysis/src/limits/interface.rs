//! Volumes of different numbers of devices that level off at one figure: what they have in common stops them.

use super::caps::request_bytes;
use super::kinds::{alike, same};
use crate::doubts::held_back;
use crate::summary::CellSummary;
use loadline_record::{DevicesAlike, LevelFact, LevelOnEach, Limit, RateFigure, RunRecord, VolumeFacts};
use std::collections::BTreeMap;

/// Levels of different volumes are one figure within this.
const ONE_FIGURE: f64 = 0.02;

/// Devices that did this much more or less than the mean of all did not share the work evenly.
const EVEN: f64 = 0.05;

/// Inferred limits of disks that volumes with fewer or more devices reach as well, at the same load, become those of the way to them.
///
/// Where requests waited above the devices it was not there that they waited: limits of single devices that happen to add up to
/// the same figure, or something above all of them, look the same, and the limit keeps its name; the evidence tells of both.
pub(super) fn in_common(record: &RunRecord, cells: &mut [CellSummary]) {
    let levels: Vec<Option<Level>> = cells.iter().map(Level::of).collect();
    // Cells with one load, on any volume.
    let mut alike: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, cell) in cells.iter().enumerate().filter(|(index, _)| levels[*index].is_some()) {
        alike.entry(format!("{:?}", cell.load)).or_default().push(index);
    }
    let shared: Vec<Shared> = (alike.values())
        .filter(|alike| alike.iter().any(|index| cells[*index].volume != cells[alike[0]].volume))
        .flat_map(|alike| alike.iter().filter_map(|index| shared(record, cells, &levels, alike, *index)))
        .collect();
    for found in shared.iter().filter(|found| found.above) {
        tell(&mut cells[found.index], None, found.fact.clone());
    }
    let found: Vec<Level> = shared.iter().filter(|found| !found.above).map(|found| found.level.clone()).collect();
    for shared in shared.iter().filter(|found| !found.above) {
        tell(&mut cells[shared.index], Some(Limit::Interface), shared.fact.clone());
    }
    // What one cell shows holds for all that stop there, and for the ceilings of those that stop below.
    for cell in cells {
        let binding = Level::of(cell).filter(|own| found.iter().any(|level| level.is(own)));
        if let Some(level) = binding {
            tell(cell, Some(Limit::Interface), LevelFact::NoLimitOfDevices { level: level.figure() });
        }
        let bytes = request_bytes(cell);
        let levels: Vec<&Level> = found.iter().filter(|level| level.is_kind_of(cell)).collect();
        for ceiling in cell.ceilings.iter_mut().filter(|ceiling| ceiling.source.is_inferred()) {
            if levels.iter().any(|level| level.is_at(ceiling.limit, ceiling.iops, bytes)) {
                ceiling.limit = Limit::Interface;
            }
        }
        cell.ceilings.dedup_by_key(|ceiling| ceiling.limit);
    }
}

fn tell(cell: &mut CellSummary, limit: Option<Limit>, fact: LevelFact) {
    if let Some(binding) = &mut cell.binding {
        binding.limit = limit.unwrap_or(binding.limit);
        binding.seen.push(fact);
    }
}

/// A level of a volume, of one kind of load.
#[derive(Debug, Clone)]
struct Level {
    /// A cell that reaches it, for its volume and kind of load.
    cell: CellSummary,
    /// [`Limit::DiskIops`] or [`Limit::DiskThroughput`].
    limit: Limit,
    /// Requests or bytes per second.
    value: f64,
}

impl Level {
    /// The disk's inferred limit of a cell.
    fn of(cell: &CellSummary) -> Option<Self> {
        let binding = cell.binding.as_ref().filter(|binding| binding.inferred)?;
        let value = match binding.limit {
            Limit::DiskIops => binding.ceiling_iops?,
            Limit::DiskThroughput => binding.ceiling_iops? * request_bytes(cell),
            _ => return None,
        };
        Some(Self { cell: cell.clone(), limit: binding.limit, value })
    }
    fn is_kind_of(&self, cell: &CellSummary) -> bool {
        alike(&self.cell, cell)
    }
    fn is(&self, other: &Self) -> bool {
        self.is_kind_of(&other.cell) && self.limit == other.limit && same(self.value, other.value, ONE_FIGURE)
    }
    fn is_at(&self, limit: Limit, iops: f64, request_bytes: f64) -> bool {
        let value = if self.limit == Limit::DiskThroughput { iops * request_bytes } else { iops };
        limit == self.limit && same(self.value, value, ONE_FIGURE)
    }
    fn figure(&self) -> RateFigure {
        if self.limit == Limit::DiskThroughput {
            RateFigure::BytesPerS(self.value)
        } else {
            RateFigure::RateIops(self.value)
        }
    }
}

/// A cell whose level another volume has as well.
struct Shared {
    index: usize,
    level: Level,
    /// Whether requests of this kind of load waited above the devices, of either volume.
    above: bool,
    fact: LevelFact,
}

/// `alike` are the cells with the same load.
fn shared(
    record: &RunRecord,
    cells: &[CellSummary],
    levels: &[Option<Level>],
    alike: &[usize],
    index: usize,
) -> Option<Shared> {
    let volume = |cell: &CellSummary| record.header.volumes.iter().find(|volume| volume.name == cell.volume);
    let own = &cells[index];
    let (level, facts) = (levels[index].clone()?, volume(own)?);
    let (other, others) = alike.iter().find_map(|place| {
        let (place, other) = (*place, &cells[*place]);
        if other.volume == own.volume {
            return None;
        }
        let (its, others) = (levels[place].as_ref()?, volume(other)?);
        let is_alike = other.load == own.load && its.limit == level.limit;
        let counts = (others.devices.len(), facts.devices.len());
        (is_alike && counts.0 != counts.1 && same(its.value, level.value, ONE_FIGURE)).then_some((place, others))
    })?;
    let above = held(record, cells, facts, own) || held(record, cells, others, &cells[other]);
    let (many, place) = if others.devices.len() > facts.devices.len() { (others, other) } else { (facts, index) };
    let fact = LevelFact::VolumesAlike {
        volume: others.name.clone(),
        devices: others.devices.len() as u64,
        own_devices: facts.devices.len() as u64,
        level: level.figure(),
        each: share_of_each(record, &cells[place], &level)
            .map(|level| LevelOnEach { level, devices: many.devices.len() as u64 }),
        shown: match above {
            true => DevicesAlike::WaitAbove,
            false if are_alike(facts, others) => DevicesAlike::OneKind,
            false => DevicesAlike::Unknown,
        },
    };
    Some(Shared { index, level, above, fact })
}

/// Whether requests of this kind of load were kept above the devices of a volume.
fn held(record: &RunRecord, cells: &[CellSummary], volume: &VolumeFacts, own: &CellSummary) -> bool {
    let of_kind = cells.iter().zip(&record.cells).filter(|(cell, _)| alike(own, cell));
    of_kind.into_iter().any(|(_, r)| r.trials.iter().any(|trial| held_back(&r.load.figures(), trial, volume).is_some()))
}

/// Devices that say what they are, and are the same: limits of their own would be the same, too, and add up.
fn are_alike(a: &VolumeFacts, b: &VolumeFacts) -> bool {
    let mut kinds = a.devices.iter().chain(&b.devices).map(|device| (&device.model, device.size_bytes));
    let first = kinds.next();
    first.is_some_and(|(model, size)| model.is_some() && size.is_some() && kinds.all(|kind| kind == (model, size)))
}

/// What each device did of the level, where all did alike.
fn share_of_each(record: &RunRecord, cell: &CellSummary, level: &Level) -> Option<RateFigure> {
    let trials = record.cells.iter().filter(|r| r.id == cell.id && r.volume == cell.volume).flat_map(|r| &r.trials);
    let mut requests: BTreeMap<&str, f64> = BTreeMap::new();
    for device in trials.flat_map(|trial| &trial.surroundings.devices) {
        *requests.entry(&device.name).or_default() += (device.reads + device.writes) as f64;
    }
    let mean = requests.values().sum::<f64>() / requests.len().max(1) as f64;
    let is_even = !requests.is_empty() && requests.values().all(|count| same(*count, mean, EVEN));
    is_even.then(|| Level { value: level.value / requests.len() as f64, ..level.clone() }.figure())
}

#[cfg(test)]
mod tests {
    use crate::example::{ExampleDisk, cell, closed, run, volume};
    use crate::words::{about, shows};
    use crate::{AdvisedStep, Meaning};
    use crate::{LimitFigure, Quantity, RunSummary, limits, summarize};
    use loadline_record::{
        Binding, DeviceCounters, DeviceFacts, DevicesAlike, Fact, LevelFact, LevelOnEach, Limit, RateFigure, RunRecord,
    };

    /// A volume of one device at 5,000 IOPS beside one of `devices` that levels off at `iops`, at depths 1, 8 and 32. The devices of both
    /// hold so much of what is outstanding.
    fn beside(devices: usize, iops: f64, held: f64) -> RunRecord {
        let of = |name: &str, iops: f64, names: &[String]| {
            let disk = ExampleDisk { iops, ..ExampleDisk::default() };
            [1, 8, 32].map(|depth| {
                let mut cell = cell(closed("random", 1.0, 4096, depth), &disk, &[1.0]);
                name.clone_into(&mut cell.volume);
                for trial in &mut cell.trials {
                    let whole = trial.surroundings.devices[0].clone();
                    let count = names.len() as u64;
                    let part = |name: &String| DeviceCounters {
                        name: name.clone(),
                        reads: whole.reads / count,
                        read_bytes: whole.read_bytes / count,
                        queue_ms: (whole.queue_ms as f64 * held) as u64 / count,
                        ..whole.clone()
                    };
                    trial.surroundings.devices = names.iter().map(part).collect();
                }
                cell
            })
        };
        let names: Vec<String> = (0..devices).map(|place| format!("vd{place}")).collect();
        let mut record = run([of("one", 5_000.0, &["vda".to_owned()]), of("many", iops, &names)].concat());
        let facts = names.iter().map(|name| DeviceFacts { name: name.clone(), ..DeviceFacts::default() }).collect();
        record.header.volumes = vec![volume("one"), loadline_record::VolumeFacts { devices: facts, ..volume("many") }];
        record
    }
    /// Whether volumes are alike so, with what each of four devices did of it.
    fn is_alike(binding: &Binding, wanted: DevicesAlike, each_iops: Option<f64>) -> bool {
        let of_each = |each: Option<LevelOnEach>| match (each, each_iops) {
            (Some(LevelOnEach { level: RateFigure::RateIops(rate), devices: 4 }), Some(wanted)) => {
                about(rate, wanted, 0.1)
            }
            (each, wanted) => each.is_none() && wanted.is_none(),
        };
        shows!(binding, Fact::Level(LevelFact::VolumesAlike { each, shown, .. }) if *shown == wanted && of_each(*each))
    }
    fn limits_of(summary: &RunSummary) -> Vec<Limit> {
        summary.cells.iter().map(|cell| cell.binding.as_ref().unwrap().limit).collect()
    }
    /// What the listing calls the level of requests.
    fn listed(record: &RunRecord) -> Vec<Limit> {
        let is_rate = |figure: &LimitFigure| figure.quantity == Quantity::RequestsPerS;
        limits(record).iter().filter(|figure| is_rate(figure)).map(|figure| figure.limit).collect()
    }

    #[test]
    fn more_devices_at_the_same_level_show_that_it_is_not_theirs() {
        let at = |devices, iops| limits_of(&summarize(&beside(devices, iops, 1.0)));
        assert_eq!(at(4, 5_020.0)[1], Limit::Interface);
        assert_eq!(at(4, 9_000.0)[1], Limit::DiskIops, "another level");
        assert_eq!(at(1, 5_000.0)[1], Limit::DiskIops, "disks alike have limits alike");
    }

    #[test]
    fn an_interface_has_one_name_in_cells_ceilings_and_limits() {
        let record = beside(4, 5_000.0, 1.0);
        let summary = summarize(&record);
        let mut found = limits_of(&summary);
        found.dedup();
        assert_eq!(found, [Limit::Latency, Limit::Interface, Limit::Latency, Limit::Interface]);
        let ceilings = summary.cells.iter().flat_map(|cell| &cell.ceilings);
        assert!(ceilings.clone().any(|ceiling| ceiling.limit == Limit::Interface));
        assert!(ceilings.clone().all(|ceiling| ceiling.limit != Limit::DiskIops), "{:?}", ceilings.collect::<Vec<_>>());
        assert_eq!(listed(&record), [Limit::Interface; 2]);
        let told = &summary.conclusions[0];
        assert!(!told.means.iter().any(|one| matches!(one, Meaning::Follows { is_near: true, .. })), "{told:?}");
        // Nobody knows what the devices are: both explanations are told.
        let binding = summary.cells[1].binding.as_ref().unwrap();
        assert!(is_alike(binding, DevicesAlike::Unknown, Some(1_250.0)), "{binding:?}");
        let mut alike = record;
        for device in alike.header.volumes.iter_mut().flat_map(|volume| &mut volume.devices) {
            (device.model, device.size_bytes) = (Some("disk".to_owned()), Some(1 << 30));
        }
        let binding = summarize(&alike).cells[1].binding.clone().unwrap();
        assert!(is_alike(&binding, DevicesAlike::OneKind, Some(1_250.0)), "{binding:?}");
    }

    #[test]
    fn what_each_device_did_is_given_if_all_did_as_much() {
        let binding = |first: f64| {
            let mut record = beside(4, 5_000.0, 1.0);
            for trial in record.cells.iter_mut().filter(|cell| cell.volume == "many").flat_map(|cell| &mut cell.trials)
            {
                let device = &mut trial.surroundings.devices[0];
                device.reads = (device.reads as f64 * first) as u64;
            }
            summarize(&record).cells[1].binding.clone().unwrap()
        };
        assert!(is_alike(&binding(1.03), DevicesAlike::Unknown, Some(1_250.0)), "{:?}", binding(1.03));
        // One disk with more of the data than the others has no limit that adds up.
        assert!(is_alike(&binding(1.2), DevicesAlike::Unknown, None), "{:?}", binding(1.2));
    }

    #[test]
    fn where_requests_wait_above_the_devices_it_is_no_interface() {
        // A throttle holds one device to as much as four others together.
        let record = beside(4, 5_000.0, 0.02);
        let summary = summarize(&record);
        assert!(!limits_of(&summary).contains(&Limit::Interface), "{:?}", limits_of(&summary));
        let binding = summary.cells[1].binding.as_ref().unwrap();
        assert!(is_alike(binding, DevicesAlike::WaitAbove, Some(1_250.0)), "{binding:?}");
        assert_eq!(listed(&record), [Limit::DiskIops; 2]);
        assert_eq!(summary.conclusions[0].steps, [AdvisedStep::FindWhoHolds]);
    }
}
