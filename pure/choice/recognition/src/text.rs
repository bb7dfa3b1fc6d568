//! Writes the reported facts as the text of an environment.

use crate::answers::{CloudAnswers, CloudDisk, DiskCaching, Provider};
use crate::disks::{Attached, Layout, Place};
use loadline_catalog::{Catalog, Provisioned, SizeRule};
use loadline_units::Bytes;
use std::fmt::Write as _;

/// An environment of the machine at hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recognised {
    /// The cloud and the VM size in its own words: "Azure Standard_D8ds_v5".
    pub machine: String,
    /// The environment's text (TOML).
    pub text: String,
    /// Missing facts, in sentences; the text has them as comments too.
    pub notes: Vec<String>,
    /// EBS volumes of unknown type, by their ids. `aws ec2 describe-volumes` prints what [`crate::aws`] reads of them.
    pub undescribed: Vec<String>,
}

/// One volume that is about to be written.
struct Volume<'a> {
    devices: Vec<&'a Attached>,
    path: Option<String>,
    layout: Option<Layout>,
}

/// The environment of a machine: its VM size and its disks by the catalog's names, each volume with its mount point. A
/// disk with unknown limits has its size alone, so that no limit is made up. The system's disk has no path, so that
/// nobody measures it by accident.
#[must_use]
pub fn recognised(told: &CloudAnswers, devices: &[Attached], places: &[Place], catalog: &Catalog) -> Recognised {
    let machine = format!("{} {}", told.provider.name(), told.machine);
    let mut notes = Vec::new();
    let mut text = format!("# Recognised: {machine}.\nschema = 1\n");
    let _ = writeln!(text, "name = {}", quoted(&name_of(&told.machine.to_lowercase())));
    match vm_name(told, devices, catalog) {
        Some(name) => {
            let _ = writeln!(text, "vm = {}", quoted(&name));
        }
        None => notes.push(format!(
            "VM size {} is not in the catalog: what it allows all disks together is not known; give [vm] in full, or add \
             the size to a catalog of your own",
            told.machine
        )),
    }
    let mut names: Vec<String> = Vec::new();
    for volume in volumes(devices, places, &mut notes) {
        let name = unused_name(&volume, &mut names);
        write_volume(&mut text, &name, &volume, told, catalog, &mut notes);
    }
    for disk in told.disks.iter().filter(|disk| !devices.iter().any(|device| device.is(disk))) {
        notes.push(format!(
            "a disk of type {:?} that the cloud tells of ({:?}) was not found here, and is left out",
            disk.told_as, disk.role
        ));
    }
    if names.is_empty() {
        notes.push("no disk was found: write a [volume.NAME] with its disks".to_owned());
    }
    let mut comments = String::new();
    for note in &notes {
        let _ = writeln!(comments, "# {}", note.replace(['\n', '\r'], " "));
    }
    text.insert_str(0, &comments);
    let undescribed = devices.iter().filter(|device| told.disks.iter().all(|disk| !device.is(disk)));
    let undescribed = undescribed.filter_map(Attached::ebs_volume).collect();
    Recognised { machine, text, notes, undescribed }
}

/// The VM size's name in the catalog, if it is there.
fn vm_name(told: &CloudAnswers, devices: &[Attached], catalog: &Catalog) -> Option<String> {
    let machine = told.machine.to_ascii_lowercase().replace('_', "-");
    let machine = machine.strip_prefix("standard-").filter(|_| told.provider == Provider::Azure).unwrap_or(&machine);
    let name = format!("{}/{machine}", told.provider.key());
    // Azure's limits of some sizes are higher for remote disks by NVMe.
    let by_nvme = devices.iter().any(Attached::is_azure_nvme).then(|| format!("{name}-nvme"));
    by_nvme.into_iter().chain([name]).find(|name| catalog.vm_figures(name).is_ok())
}

/// The volumes on the devices: those on several, then each other device.
fn volumes<'a>(devices: &'a [Attached], places: &[Place], notes: &mut Vec<String>) -> Vec<Volume<'a>> {
    let mut found: Vec<Volume<'a>> = Vec::new();
    let mut taken: Vec<&str> = Vec::new();
    for place in places {
        let of: Vec<&Attached> = devices.iter().filter(|d| place.devices.contains(&d.facts.name)).collect();
        match place.layout {
            Some(_) if of.len() == place.devices.len() => {
                taken.extend(of.iter().map(|device| device.facts.name.as_str()));
                found.push(Volume { devices: of, path: Some(place.path.clone()), layout: place.layout });
            }
            _ => notes.push(format!(
                "{} lies on {} in a manner that is not recognised: put their disks into one [volume.NAME] with its layout, and \
                 path = {}",
                place.path,
                place.devices.join(", "),
                quoted(&place.path)
            )),
        }
    }
    for device in devices.iter().filter(|device| !taken.contains(&device.facts.name.as_str())) {
        let unused = || (!device.used).then(|| format!("/dev/{}", device.facts.name));
        let path = device.mounted_at.clone().or_else(unused);
        found.push(Volume { devices: vec![device], path, layout: None });
    }
    found
}

/// A name for a volume: the last word of its mount point, or the device's name.
fn unused_name(volume: &Volume<'_>, names: &mut Vec<String>) -> String {
    let device = volume.devices[0];
    let word = match &volume.path {
        _ if device.is_system() => "system".to_owned(),
        Some(path) => name_of(path.rsplit('/').next().unwrap_or_default()),
        None => name_of(&device.facts.name),
    };
    let mut name = word.clone();
    for number in 2_u32.. {
        if !names.contains(&name) {
            break;
        }
        name = format!("{word}-{number}");
    }
    names.push(name.clone());
    name
}

/// A name as environments have it: a letter, then letters, digits, `-` and `_`.
fn name_of(text: &str) -> String {
    let clean: String = text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect();
    if clean.starts_with(|c: char| c.is_ascii_alphabetic()) { clean } else { format!("v{clean}") }
}

fn write_volume(
    text: &mut String,
    name: &str,
    volume: &Volume<'_>,
    told: &CloudAnswers,
    catalog: &Catalog,
    notes: &mut Vec<String>,
) {
    let mut disks = Vec::new();
    let mut caching = Vec::new();
    let mut of_it = Vec::new();
    for device in &volume.devices {
        let known = told.disks.iter().find(|disk| device.is(disk));
        let size = device.facts.size_bytes.map(Bytes::new);
        let sold = known.and_then(|known| sold_as(known, size, told.provider, catalog));
        caching.push(known.map(|known| known.caching).unwrap_or_default());
        of_it.push(words(device));
        disks.push(sold.unwrap_or_else(|| {
            notes.push(untold(device, known, told.provider));
            let place = if device.is_local() { ", place = \"local\"" } else { "" };
            format!("{{ size = {}{place} }}", quoted(&size.unwrap_or(Bytes::GIB).to_string()))
        }));
    }
    let _ = writeln!(text, "\n# {}\n[volume.{name}]\ndisks = [{}]", of_it.join("; "), disks.join(", "));
    match volume.layout {
        Some(Layout::Striped(interleave)) => {
            let _ = writeln!(text, "layout = {{ stripe = {{ interleave = {} }} }}", quoted(&interleave.to_string()));
        }
        Some(Layout::Mirrored) => {
            let _ = writeln!(text, "layout = {{ mirror = {} }}", disks.len());
        }
        None => {}
    }
    let caching_of_all = caching.first().filter(|first| caching.iter().all(|other| other == *first));
    match caching_of_all {
        Some(DiskCaching::None) => {}
        Some(DiskCaching::ReadOnly) => text.push_str("host_cache = \"read-only\"\n"),
        Some(DiskCaching::ReadWrite) => text.push_str("host_cache = \"read-write\"\n"),
        None => {
            notes.push(format!("the disks of volume {name} are cached by the host in different ways: none is written"));
        }
    }
    if let Some(path) = &volume.path {
        let system = volume.devices.iter().any(|device| device.is_system());
        let _ = writeln!(text, "{}path = {}", if system { "# The system's disk: " } else { "" }, quoted(path));
    }
}

/// A device in words: "nvme1n1, Amazon Elastic Block Store, vol-0123".
fn words(device: &Attached) -> String {
    let facts = &device.facts;
    let serial = device.ebs_volume().or_else(|| facts.serial.clone());
    let parts = [Some(facts.name.clone()), facts.model.clone(), serial];
    let words: Vec<String> = parts.into_iter().flatten().map(|part| part.trim().to_owned()).collect();
    words.join(", ").replace(['\n', '\r'], " ")
}

/// Why a disk has no name in the catalog, and the remedy.
fn untold(device: &Attached, known: Option<&CloudDisk>, provider: Provider) -> String {
    let name = &device.facts.name;
    match (known, device.ebs_volume()) {
        (Some(known), _) => format!(
            "{name} is of type {:?}, which the catalog does not have as it is provisioned: its limits are not written",
            known.told_as
        ),
        (None, Some(volume)) => format!(
            "{name} is EBS volume {volume}, whose type the machine is not told: give what `aws ec2 describe-volumes --volume-ids \
             {volume}` prints, or write its sku"
        ),
        (None, None) => format!("{} tells nothing of {name}: its limits are not written", provider.name()),
    }
}

/// The disk in the catalog's form: the key and values between braces; `None` if the catalog has none like it.
fn sold_as(told: &CloudDisk, size: Option<Bytes>, provider: Provider, catalog: &Catalog) -> Option<String> {
    let family = told.family.as_deref()?;
    let size = told.size.or(size);
    let own = format!("{}/{family}", provider.key());
    let entry = catalog.disks().iter().rev().find(|entry| entry.name == own).or_else(|| {
        let of_family = catalog.disks().iter().filter(|entry| {
            let its = catalog.disk_family(entry);
            its.provider == provider.key() && its.name == family
        });
        let holds = of_family.filter_map(|entry| match entry.size {
            SizeRule::Fixed(most) if size.is_some_and(|size| size <= most) => Some((most, entry)),
            _ => None,
        });
        holds.min_by_key(|(most, _)| *most).map(|(_, entry)| entry)
    })?;
    let size = match entry.size {
        SizeRule::Fixed(as_sold) => size.filter(|size| *size < as_sold),
        SizeRule::Chosen { .. } | SizeRule::Unknown => size,
    };
    // Clouds also report rates of disks that have no choice of them.
    let all = Provisioned { size, iops: told.iops, throughput: told.throughput, option: None };
    let fewer = [
        all.clone(),
        Provisioned { throughput: None, ..all.clone() },
        Provisioned { iops: None, ..all.clone() },
        Provisioned { iops: None, throughput: None, ..all },
    ];
    let taken = fewer.into_iter().find(|taken| catalog.disk_figures(&entry.name, taken).is_ok())?;
    let mut parts = vec![format!("sku = {}", quoted(&entry.name))];
    parts.extend(taken.size.map(|size| format!("size = {}", quoted(&size.to_string()))));
    parts.extend(taken.iops.map(|iops| format!("iops = {}", quoted(&iops.to_string()))));
    parts.extend(taken.throughput.map(|rate| format!("throughput = {}", quoted(&rate.to_string()))));
    Some(format!("{{ {} }}", parts.join(", ")))
}

/// A text as TOML has it.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
