//! Environments of machines, from documented answers of three clouds' metadata services and devices as Linux shows them
//! there.

use loadline_catalog::{Catalog, Environment};
use loadline_recognition::{Attached, CloudAnswers, Layout, Place, Recognised, aws, azure, gcp, recognised};
use loadline_record::DeviceFacts;
use loadline_units::Bytes;

const AZURE: &str = include_str!("answers/azure.json");
const AWS: &str = include_str!("answers/aws-identity.json");
const VOLUMES: &str = include_str!("answers/aws-volumes.json");
const GCP: &str = include_str!("answers/gcp.json");

fn device(name: &str, model: &str, gib: u64, links: &[&str], mounted_at: Option<&str>) -> Attached {
    Attached {
        facts: DeviceFacts {
            name: name.into(),
            model: Some(model.into()),
            size_bytes: Some(Bytes::gib(gib).get()),
            ..DeviceFacts::default()
        },
        links: links.iter().map(|link| (*link).to_owned()).collect(),
        namespace: None,
        mounted_at: mounted_at.map(str::to_owned),
        used: mounted_at.is_some(),
    }
}

/// The text is an environment that can be modelled.
#[track_caller]
fn read(told: &CloudAnswers, devices: &[Attached], places: &[Place]) -> (Recognised, Environment) {
    let found = recognised(told, devices, places, &Catalog::builtin());
    let environment = Environment::parse(&found.text, "recognised", &Catalog::builtin());
    let environment = environment.unwrap_or_else(|error| panic!("{error}\n{}", found.text));
    (found, environment)
}

#[test]
fn azure_tells_sizes_tiers_and_caching() {
    let devices = [
        device("sda", "Virtual Disk", 30, &["azure/root"], Some("/")),
        device("sdb", "Virtual Disk", 300, &["azure/resource"], Some("/mnt")),
        device("sdc", "Virtual Disk", 1024, &["azure/scsi1/lun0"], Some("/data")),
        device("sdd", "Virtual Disk", 200, &["azure/data/by-lun/1"], None),
        device("nvme0n9", "MSFT NVMe Accelerator v1.0", 256, &[], Some("/var/log db")),
    ];
    let told = azure(AZURE).unwrap();
    let with_namespace = Attached { namespace: Some(9), ..devices[4].clone() };
    let devices = [&devices[..4], &[with_namespace]].concat();
    let (found, environment) = read(&told, &devices, &[]);
    assert_eq!(found.machine, "Azure Standard_D8ds_v4");
    assert_eq!(environment.vm.as_ref().unwrap().name, "azure/d8ds-v4");
    let lines = [
        "[volume.system]\ndisks = [{ sku = \"azure/standard-ssd-e4\", size = \"30 GiB\" }]\nhost_cache = \"read-write\"\n# The system's disk: path = \"/\"\n",
        "[volume.mnt]\ndisks = [{ size = \"300 GiB\", place = \"local\" }]\npath = \"/mnt\"\n",
        "[volume.data]\ndisks = [{ sku = \"azure/premium-p30\" }]\nhost_cache = \"read-only\"\npath = \"/data\"\n",
        // A disk pays for the next tier up; nothing uses it, so it is measured as a device.
        "[volume.sdd]\ndisks = [{ sku = \"azure/premium-p15\", size = \"200 GiB\" }]\npath = \"/dev/sdd\"\n",
        "[volume.log-db]\ndisks = [{ sku = \"azure/ultra\", size = \"256 GiB\", iops = \"65280 IOPS\", throughput = \"956252 KiB/s\" }]\n",
    ];
    for line in lines {
        assert!(found.text.contains(line), "{line}\n{}", found.text);
    }
    assert_eq!(found.notes, ["Azure tells nothing of sdb: its limits are not written"]);
}

#[test]
fn a_disk_that_is_not_found_and_a_size_that_is_not_sold_are_said() {
    let answer = AZURE.replace("Standard_D8ds_v4", "Standard_X1_v9");
    let devices = [device("sda", "Virtual Disk", 30, &["azure/root"], Some("/"))];
    let (found, environment) = read(&azure(&answer).unwrap(), &devices, &[]);
    assert!(environment.vm.is_none());
    assert_eq!(found.notes.len(), 4, "{:?}", found.notes);
    assert!(found.notes[0].contains("VM size Standard_X1_v9 is not in the catalog"));
    assert!(found.notes[3].contains("\"UltraSSD_LRS\"") && found.text.starts_with("# VM size"));
}

fn ebs(name: &str, volume: &str, gib: u64) -> Attached {
    let mut found = device(name, "Amazon Elastic Block Store", gib, &[], None);
    found.facts.serial = Some(volume.replace('-', ""));
    found.used = true;
    found
}

#[test]
fn aws_does_not_tell_what_a_volume_is_unless_the_user_does() {
    let devices = [
        Attached { mounted_at: Some("/".into()), ..ebs("nvme0n1", "vol-0fedcba9876543210", 100) },
        Attached { mounted_at: Some("/data".into()), ..ebs("nvme1n1", "vol-0a1b2c3d4e5f60718", 1000) },
        device("nvme2n1", "Amazon EC2 NVMe Instance Storage", 69, &[], None),
    ];
    let (found, environment) = read(&aws(AWS, None).unwrap(), &devices, &[]);
    assert_eq!(environment.vm.as_ref().unwrap().name, "aws/m5.large");
    assert!(
        found.text.contains("[volume.data]\ndisks = [{ size = \"1000 GiB\" }]\npath = \"/data\"\n"),
        "{}",
        found.text
    );
    assert!(found.notes[1].contains("--volume-ids vol-0a1b2c3d4e5f60718"), "{:?}", found.notes);
    let (found, _) = read(&aws(AWS, Some(VOLUMES)).unwrap(), &devices, &[]);
    let disk = "{ sku = \"aws/gp3\", size = \"1000 GiB\", iops = \"16000 IOPS\", throughput = \"500 MiB/s\" }";
    assert!(found.text.contains(disk), "{}", found.text);
    // The IOPS of a gp2 volume follow from its size, though AWS lists them.
    assert!(found.text.contains("[{ sku = \"aws/gp2\", size = \"100 GiB\" }]"), "{}", found.text);
    assert_eq!(found.notes.len(), 1, "{:?}", found.notes);
}

#[test]
fn volumes_on_several_disks_are_one() {
    let devices = [ebs("nvme1n1", "vol-0a1b2c3d4e5f60718", 1000), ebs("nvme2n1", "vol-0fedcba9876543210", 100)];
    let place = |layout| Place { path: "/srv/pool".into(), devices: vec!["nvme1n1".into(), "nvme2n1".into()], layout };
    let told = aws(AWS, Some(VOLUMES)).unwrap();
    let (found, environment) = read(&told, &devices, &[place(Some(Layout::Striped(Bytes::kib(64))))]);
    assert_eq!((environment.volumes.len(), environment.volumes[0].disks.len()), (1, 2));
    assert_eq!(environment.volumes[0].path.as_deref(), Some("/srv/pool"));
    assert!(found.text.contains("layout = { stripe = { interleave = \"64 KiB\" } }"), "{}", found.text);
    let (found, _) = read(&told, &devices, &[place(Some(Layout::Mirrored))]);
    assert!(found.text.contains("layout = { mirror = 2 }"), "{}", found.text);
    let (found, environment) = read(&told, &devices, &[place(None)]);
    assert_eq!(environment.volumes.len(), 2);
    assert!(found.notes[0].contains("/srv/pool lies on nvme1n1, nvme2n1 in a manner"), "{:?}", found.notes);
    assert!(environment.volumes.iter().all(|volume| volume.path.is_none()), "each is in use");
}

#[test]
fn google_cloud_tells_types_and_devices_their_sizes() {
    let devices = [
        device("sda", "PersistentDisk", 50, &["by-id/google-instance-1"], Some("/")),
        device("sdb", "PersistentDisk", 500, &["by-id/google-disk-500g"], Some("/data")),
        device("nvme0n1", "nvme_card", 375, &["by-id/google-local-ssd-0"], None),
        device("sdc", "PersistentDisk", 10, &["by-id/google-old"], None),
    ];
    let (found, environment) = read(&gcp(GCP).unwrap(), &devices, &[]);
    assert_eq!(environment.vm.as_ref().unwrap().name, "gcp/n2-standard-8");
    for disk in [
        "sku = \"gcp/pd-balanced\", size = \"50 GiB\"",
        "sku = \"gcp/pd-ssd\", size = \"500 GiB\"",
        "sku = \"gcp/local-ssd-nvme\" }",
    ] {
        assert!(found.text.contains(disk), "{disk}\n{}", found.text);
    }
    assert!(found.notes[0].contains("sdc is of type \"PERSISTENT\""), "{:?}", found.notes);
}

#[test]
fn what_is_no_answer_is_refused() {
    assert!(azure("<html>").unwrap_err().to_string().contains("Azure's metadata service cannot be read"));
    assert!(azure("{\"compute\":{}}").unwrap_err().to_string().contains("names no VM size"));
    assert!(aws("{}", None).is_err() && aws(AWS, Some("[]")).is_err() && gcp("{\"machineType\":\"\"}").is_err());
    let none = recognised(&gcp("{\"machineType\":\"n2-standard-8\"}").unwrap(), &[], &[], &Catalog::builtin());
    assert!(none.notes[0].contains("no disk was found"));
}
