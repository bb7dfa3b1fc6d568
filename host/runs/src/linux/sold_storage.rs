//! What this machine's cloud sold under a volume that is about to be measured.

use crate::files::environment_file::THIS_MACHINE;
use crate::recognition::{Answered, asked};
use crate::{DeclaredEnvironment, Error, Refusal};
use loadline_catalog::{Catalog, Environment};
use loadline_recognition::{Attached, Place, recognised};
use loadline_record::VolumeFacts;

/// The machine and the disks of one volume, with the limits that they were sold with.
#[derive(Debug)]
pub(crate) struct SoldStorage {
    /// The cloud and the VM size in its own words: "Azure Standard_D8ds_v5".
    pub(crate) machine: String,
    /// The catalog's name of each disk under the volume; of one that the catalog does not know, nothing.
    pub(crate) disks: Vec<Option<String>>,
    /// Their limits; `None` where neither the machine nor a disk is known.
    pub(crate) declared: Option<DeclaredEnvironment>,
}

/// What was sold under a volume. `None` where the firmware is of no cloud, and then nobody is asked.
///
/// # Errors
/// The cloud does not answer, or what was recognised cannot be modelled.
pub(crate) fn sold(facts: &VolumeFacts) -> Option<Result<SoldStorage, Error>> {
    let found = asked(None)?.map_err(Error::from);
    Some(found.and_then(|found| sold_under(facts, &found, &Catalog::builtin())))
}

/// What was sold under a volume, of the answers and devices of its machine.
fn sold_under(
    facts: &VolumeFacts,
    Answered { told, devices, places }: &Answered,
    catalog: &Catalog,
) -> Result<SoldStorage, Error> {
    let is_under = |name: &String| facts.devices.iter().any(|device| device.name == *name);
    let own: Vec<Attached> = devices.iter().filter(|device| is_under(&device.facts.name)).cloned().collect();
    let spread: Vec<Place> = places.iter().filter(|place| place.devices.iter().all(is_under)).cloned().collect();
    let found = recognised(told, &own, &spread, catalog);
    if own.is_empty() {
        return Ok(SoldStorage { machine: found.machine, disks: Vec::new(), declared: None });
    }
    let environment = Environment::parse(&found.text, THIS_MACHINE, catalog)
        .map_err(|source| Refusal::MachineNotModelled { source })?;
    let named = |name: &str| (!name.is_empty()).then(|| name.to_owned());
    let disks: Vec<Option<String>> =
        environment.volumes.iter().flat_map(|volume| &volume.disks).map(|disk| named(&disk.name)).collect();
    // Several volumes are devices whose layout nobody knows: how their limits add up is not known either.
    let is_known = environment.vm.is_some() || disks.iter().any(Option::is_some);
    let is_whole = environment.volumes.len() == 1;
    Ok(SoldStorage {
        machine: found.machine,
        disks,
        declared: (is_known && is_whole).then(|| DeclaredEnvironment::new(environment)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_record::{DeviceFacts, Limit, TargetKind};
    use loadline_units::Bytes;
    use loadline_workload::LoadSpec;

    const AZURE: &str = include_str!("../../../../pure/choice/recognition/tests/answers/azure.json");

    fn disk(name: &str, lun: u32, gib: u64) -> Attached {
        Attached {
            facts: DeviceFacts {
                name: name.to_owned(),
                size_bytes: Some(Bytes::gib(gib).get()),
                ..DeviceFacts::default()
            },
            links: vec![format!("azure/scsi1/lun{lun}")],
            namespace: None,
            mounted_at: Some(format!("/{name}")),
            used: true,
        }
    }
    fn on(devices: &[&str]) -> VolumeFacts {
        let facts = |name: &&str| DeviceFacts { name: (*name).to_owned(), ..DeviceFacts::default() };
        VolumeFacts {
            name: "data".to_owned(),
            target: "/data/db".to_owned(),
            kind: TargetKind::TestFile,
            direct: true,
            devices: devices.iter().map(facts).collect(),
            ..VolumeFacts::default()
        }
    }
    fn found(devices: &[&str]) -> SoldStorage {
        let told = loadline_recognition::azure(AZURE).unwrap();
        let attached = vec![disk("sdc", 0, 1_024), disk("sdd", 1, 200)];
        let answered = Answered { told, devices: attached, places: Vec::new() };
        sold_under(&on(devices), &answered, &Catalog::builtin()).unwrap()
    }

    #[test]
    fn the_disk_under_the_target_and_its_machine_give_the_limits() {
        let sold = found(&["sdc"]);
        assert_eq!(sold.machine, "Azure Standard_D8ds_v4");
        assert_eq!(sold.disks, [Some("azure/premium-p30".to_owned())]);
        // The host caches this one; the other is read as it is.
        let sold = found(&["sdd"]);
        let disk = sold.disks[0].clone().unwrap();
        let ceilings = sold.declared.unwrap().ceilings("data", &LoadSpec::default(), Some(Bytes::gib(4))).unwrap();
        let at =
            |limit: Limit| ceilings.iter().find(|ceiling| ceiling.limit == limit).map(|ceiling| ceiling.iops as u64);
        assert_eq!(disk, "azure/premium-p15");
        // 3,500 IOPS while credits last and 1,100 from then on, as they are delivered; 16,000 of the machine.
        assert_eq!((at(Limit::DiskIops), at(Limit::BurstExhausted)), (Some(3_570), Some(1_122)), "{ceilings:?}");
        assert_eq!(at(Limit::VmUncachedIops), Some(16_320), "{ceilings:?}");
    }

    #[test]
    fn a_volume_on_none_of_the_disks_has_no_limits() {
        let sold = found(&["vdz"]);
        assert!(sold.declared.is_none() && sold.disks.is_empty());
    }

    #[test]
    fn disks_in_a_layout_that_nobody_knows_have_names_and_no_common_limit() {
        let sold = found(&["sdc", "sdd"]);
        assert_eq!(sold.disks.len(), 2);
        assert!(sold.declared.is_none());
    }
}
