//! Reads a configuration from TOML, every problem at its place.

use super::{
    Cloud, DELETION_DEFAULT, Damaged, DataClass, Destination, DeviceIdentity, GROUPS_MAX, Group, KeptGenerations,
    MARKER_NAME, Moment, NewFileSystem, NoticeSource, OwnLimits, RECOVERY_POINT_DEFAULT, RECOVERY_POINT_MIN,
    SHELTER_SCHEMA, ShelterConfig, SourceDisk, TIMEOUT_DEFAULT, UpkeepPeriods,
};
use loadline_document::{DocumentError, Fields, Item, Reader, Synonym, entries, nested};
use loadline_units::Duration;
use std::ops::Range;
use std::path::{Component, Path};
use toml::de::{DeTable, DeValue};

/// Generations of one rule, at most.
const KEEP_MAX: u32 = 100_000;
/// The shortest time in which everything is read once.
const UPKEEP_MIN: Duration = Duration::from_s(3_600);
const SYNONYMS: &[Synonym] = &[
    ("source", "disk"),
    ("target", "destination"),
    ("groups", "group"),
    ("rpo", "recovery_point"),
    ("cadence", "recovery_point"),
    ("path", "paths"),
    ("mount", "path"),
    ("filesystem", "format"),
    ("services", "guards"),
    ("iops_limit", "iops"),
    ("bandwidth", "throughput"),
    ("latency", "objective"),
    ("provider", "cloud"),
    ("password_file", "passphrase_file"),
    ("retention", "keep"),
    ("credentials", "credentials_file"),
    ("environment_file", "credentials_file"),
];

/// Reads a text; `source` names it in errors.
pub(super) fn parse(text: &str, source: &str) -> Result<ShelterConfig, DocumentError> {
    Reader::read(text, source, SYNONYMS, |reader, top| {
        reader.schema(top, SHELTER_SCHEMA, "shelter")?;
        reader.top_fields("", top, "a shelter", |t| read(t, top))?
    })
}

fn read(t: &mut Fields<'_, '_, '_, '_>, top: &DeTable<'_>) -> Option<ShelterConfig> {
    t.item("schema");
    let name = required(t, "name", "a name of one line", identifier);
    let state = required(t, "state", "a folder on a persistent disk, such as \"/var/lib/loadline/shelter\"", absolute);
    let disk = required(t, "disk", "[disk] with the path of the ephemeral disk", disk);
    let place = t.get("destination", destination);
    let groups = required(t, "group", "at least one [group.NAME] with class and paths", groups).unwrap_or_default();
    let guards = t.get("service", guards).unwrap_or_default();
    let limits = t.get("limits", limits).unwrap_or_default();
    let upkeep = t.get("upkeep", upkeep).unwrap_or_default();
    let notices = t.get("notices", notices);
    let metrics = t.get("metrics", metrics);
    if place.is_none() && top.get("destination").is_some() {
        return None;
    }
    let Place { destination, passphrase_file, keep } = place.unwrap_or_default();
    let reader = &mut *t.reader;
    if destination.is_none()
        && let Some((line, group)) =
            groups.iter().find(|(_, group)| group.class != DataClass::Recreate).map(|(at, group)| (at.clone(), group))
    {
        let text = format!(
            "class {:?} needs a place to save to: write [destination] with a folder or a url",
            group.class.name()
        );
        reader.problem(line, &nested("group", &group.name), text);
    }
    if let (Some(disk), Some(state)) = (&disk, &state) {
        let of_destination = |key: &str| top.get("destination").and_then(|item| item.get_ref().as_table()?.get(key));
        let credentials_file = match &destination {
            Some(Destination::ObjectStore { credentials_file, .. }) => credentials_file.as_deref(),
            _ => None,
        };
        for (key, at, persistent) in [
            ("state", top.get("state"), Some(state.as_str())),
            ("destination", top.get("destination"), destination.as_ref().and_then(folder)),
            ("destination.passphrase_file", of_destination("passphrase_file"), passphrase_file.as_deref()),
            ("destination.credentials_file", of_destination("credentials_file"), credentials_file),
        ] {
            let Some(persistent) = persistent else { continue };
            if Path::new(persistent).starts_with(&disk.path) {
                let at = at.map_or(0..0, Item::span);
                let text = format!("{persistent:?} is on the disk that forgets: name a folder on another one");
                reader.problem(at, key, text);
            }
        }
    }
    Some(ShelterConfig {
        name: name?,
        state: state?,
        disk: disk?,
        destination,
        passphrase_file,
        keep,
        groups: groups.into_iter().map(|(_, group)| group).collect(),
        guards,
        limits,
        upkeep,
        notices,
        metrics,
    })
}

/// The folder of a destination that is one.
fn folder(destination: &Destination) -> Option<&str> {
    match destination {
        Destination::FolderRepository(path) => Some(path),
        Destination::ObjectStore { .. } => None,
    }
}

fn required<'t, 'i, 'd, T>(
    t: &mut Fields<'_, 't, 'i, 'd>,
    key: &'static str,
    wanted: &str,
    read: impl FnOnce(&mut Reader<'t>, &str, &'i Item<'d>) -> Option<T>,
) -> Option<T> {
    if t.item(key).is_none() {
        t.reader.problem(0..0, key, format!("is missing: write {wanted}"));
    }
    t.get(key, read)
}

/// The same of a key of the table at `item`, with what to say if it is missing.
fn required_in<'t, 'i, 'd, T>(
    t: &mut Fields<'_, 't, 'i, 'd>,
    table: &str,
    item: &Item<'_>,
    key: &'static str,
    missing: &str,
    read: impl FnOnce(&mut Reader<'t>, &str, &'i Item<'d>) -> Option<T>,
) -> Option<T> {
    if t.item(key).is_none() {
        t.reader.problem(item.span(), &nested(table, key), missing.to_owned());
    }
    t.get(key, read)
}

/// A name that can be part of a unit's name and of a file's.
fn identifier(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<String> {
    let name = reader.name(key, item)?;
    let good = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.chars().all(good) {
        return Some(name);
    }
    let text = format!("{name:?} becomes part of a unit's name: write letters, digits, - and _ only");
    reader.problem(item.span(), key, text);
    None
}

/// An absolute path without `..`.
fn absolute(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<String> {
    let path = reader.text(key, item)?;
    let is_plain = Path::new(&path).is_absolute()
        && !path.chars().any(char::is_control)
        && Path::new(&path).components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    if is_plain {
        return Some(path);
    }
    reader.problem(item.span(), key, format!("{path:?}: write an absolute path without .."));
    None
}

fn disk(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<SourceDisk> {
    let formats = [("xfs", NewFileSystem::Xfs), ("ext4", NewFileSystem::Ext4), ("btrfs", NewFileSystem::Btrfs)];
    let (path, device, format, format_at, mount_options) = reader.fields(key, item, "[disk] with path", |t| {
        let missing = "is missing: write the folder where the disk is mounted";
        let path = required_in(t, key, item, "path", missing, absolute);
        let device = t.get("device", device_identity);
        let format = t.get("format", |reader, key, item| reader.word(key, item, &formats, ""));
        (path, device, format, t.item("format").map_or(0..0, Item::span), t.get("mount_options", Reader::name))
    })?;
    let path = path?;
    if path == "/" {
        reader.problem(item.span(), "disk.path", "is the root of the system: name the ephemeral disk's folder".into());
        return None;
    }
    if format.is_some() && device.is_none() {
        let text = "a device is formatted only if it is named: write device = \"model:...\" or a link below /dev/disk beside it";
        reader.problem(format_at, "disk.format", text.into());
    }
    Some(SourceDisk { path, device, format, mount_options })
}

fn device_identity(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<DeviceIdentity> {
    let text = reader.name(key, item)?;
    if let Some(serial) = text.strip_prefix("serial:").filter(|serial| !serial.trim().is_empty()) {
        return Some(DeviceIdentity::Serial(serial.trim().to_owned()));
    }
    if let Some(file) = text.strip_prefix("backing:").filter(|file| file.starts_with('/')) {
        return Some(DeviceIdentity::Backing(file.to_owned()));
    }
    if let Some(model) = text.strip_prefix("model:").filter(|model| !model.trim().is_empty()) {
        let of_several = model.rsplit_once('#').map(|(model, number)| (model, number.parse().ok().filter(|n| *n > 0)));
        return match of_several {
            Some((model, number @ Some(_))) => Some(DeviceIdentity::Model { model: model.trim().to_owned(), number }),
            Some((_, None)) => {
                let message = format!("{text:?}: behind # stands which of several disks it is, from 1");
                reader.problem(item.span(), key, message);
                None
            }
            None => Some(DeviceIdentity::Model { model: model.trim().to_owned(), number: None }),
        };
    }
    let plain = !text.split('/').any(|part| part == "..");
    let (folder, _) = text.rsplit_once('/').unwrap_or_default();
    if folder.starts_with("/dev/disk/") && plain && !folder.contains('*') {
        return Some(DeviceIdentity::Link(text));
    }
    let names = "\"model:NAME\", with #2 for the second of several, or a link that the cloud keeps for the place, such as \
                 /dev/disk/azure/resource or /dev/disk/by-id/google-local-nvme-ssd-0";
    let message = if text.starts_with("/dev/") {
        format!("{text:?} may be another device after the next boot: write {names}")
    } else {
        format!("{text:?} names no device: write {names}")
    };
    reader.problem(item.span(), key, message);
    None
}

/// A destination, the file with its passphrase, and what stays there.
#[derive(Default)]
struct Place {
    destination: Option<Destination>,
    passphrase_file: Option<String>,
    keep: KeptGenerations,
}

/// What `read` reads, with its place.
fn placed<'t, 'i, 'd: 'i, T>(
    read: impl FnOnce(&mut Reader<'t>, &str, &'i Item<'d>) -> Option<T>,
) -> impl FnOnce(&mut Reader<'t>, &str, &'i Item<'d>) -> Option<(T, Range<usize>)> {
    |reader, key, item| Some((read(reader, key, item)?, item.span()))
}

fn destination(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<Place> {
    let found = reader.fields(key, item, "[destination] with a folder or a url", |t| {
        let folder = t.get("folder", placed(absolute));
        let url = t.get("url", placed(store_url));
        let place = folder.as_ref().map_or("/persist/shelter", |(path, _)| path.as_str()).to_owned();
        t.get("layout", |reader, key, item| layout(reader, key, item, &place));
        let passphrase = t.get("passphrase_file", absolute);
        let endpoint = t.get("endpoint", placed(store_endpoint));
        let credentials = t.get("credentials_file", placed(absolute));
        (folder, url, passphrase, endpoint, credentials, t.get("keep", kept_generations))
    })?;
    let (folder, url, passphrase, endpoint, credentials, keep) = found;
    if folder.is_some() && url.is_none() {
        let spans = [endpoint.as_ref().map(|(_, at)| at), credentials.as_ref().map(|(_, at)| at)];
        for (key, at) in ["endpoint", "credentials_file"].into_iter().zip(spans) {
            let Some(at) = at else { continue };
            let text = "belongs to a url: a folder needs none".to_owned();
            reader.problem(at.clone(), &nested("destination", key), text);
        }
    }
    let (endpoint, credentials_file) = (endpoint.map(|(text, _)| text), credentials.map(|(path, _)| path));
    let made = match (folder, url) {
        (Some(_), Some((_, at))) => {
            reader.problem(at, "destination.url", "there is a folder too: write one of them".into());
            return None;
        }
        (Some((path, _)), None) => Destination::FolderRepository(path),
        (None, Some((url, _))) => Destination::ObjectStore { url, endpoint, credentials_file },
        (None, None) => {
            if reader.problem_count() == 0 {
                reader.problem(item.span(), "destination", "has no place: write a folder or a url".into());
            }
            return None;
        }
    };
    if matches!(made, Destination::ObjectStore { .. }) && passphrase.is_none() {
        let text =
            "is missing: a repository is encrypted. Write the path of a file with its passphrase, on a persistent disk";
        reader.problem(item.span(), "destination.passphrase_file", text.into());
    }
    Some(Place { destination: Some(made), passphrase_file: passphrase, keep: keep.unwrap_or_default() })
}

/// There is one layout. The other one was a plain copy in the folder, beside which a repository needs a folder of its own.
fn layout(reader: &mut Reader<'_>, key: &str, item: &Item<'_>, folder: &str) -> Option<()> {
    if matches!(item.get_ref(), DeValue::String(text) if text == "plain") {
        let text = format!(
            "is gone: delete this line, and write folder = \"{folder}-repository\". The old copy is taken over by one command: \
             docs/shelter-destinations.md has it"
        );
        reader.problem(item.span(), key, text);
        return None;
    }
    reader.word(key, item, &[("repository", ())], "")
}

/// Rules that are not named keep nothing; the newest generation always stays.
fn kept_generations(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<KeptGenerations> {
    let count = |reader: &mut Reader<'_>, key: &str, item: &Item<'_>| reader.count_u32(key, item, KEEP_MAX);
    reader.fields(key, item, "a table such as { last = 10, hourly = 24, daily = 7 }", |t| KeptGenerations {
        last: t.get("last", count).unwrap_or(1),
        minutely: t.get("minutely", count).unwrap_or(0),
        hourly: t.get("hourly", count).unwrap_or(0),
        daily: t.get("daily", count).unwrap_or(0),
    })
}

fn store_url(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<String> {
    let url = reader.name(key, item)?;
    let known = ["s3://", "azure://", "gs://"]
        .iter()
        .any(|scheme| url.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/')));
    if known {
        return Some(url);
    }
    let text = format!("{url:?}: write s3://BUCKET/PREFIX, azure://CONTAINER/PREFIX or gs://BUCKET/PREFIX");
    reader.problem(item.span(), key, text);
    None
}

/// Where a store answers that is not the cloud's own.
fn store_endpoint(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<String> {
    let endpoint = reader.name(key, item)?;
    let host = endpoint.strip_prefix("https://").or_else(|| endpoint.strip_prefix("http://"));
    if host.is_some_and(|host| !host.is_empty() && !host.starts_with('/')) {
        return Some(endpoint);
    }
    let text = format!("{endpoint:?}: write https://HOST, or http://HOST for a server without encryption");
    reader.problem(item.span(), key, text);
    None
}

/// Every group with its place in the text.
fn groups(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<Vec<(Range<usize>, Group)>> {
    let Some(table) = item.get_ref().as_table() else {
        reader.problem(item.span(), key, "is no table: write [group.NAME] with class and paths".into());
        return None;
    };
    let mut groups: Vec<(Range<usize>, Group)> = Vec::new();
    let mut taken: Vec<(String, String)> = Vec::new();
    for (key, item) in entries(table) {
        let name: &str = key.get_ref();
        let full = nested("group", name);
        if groups.len() == GROUPS_MAX {
            reader.problem(key.span(), &full, format!("is one more than {GROUPS_MAX} groups"));
            break;
        }
        let Some(group) = group(reader, name, &full, item) else { continue };
        for path in &group.paths {
            let other = taken
                .iter()
                .find(|(_, other)| Path::new(path).starts_with(other) || Path::new(other).starts_with(path));
            if let Some((of, other)) = other {
                let text = format!("{path:?} overlaps {other:?} of group {of}: each path belongs to one group");
                reader.problem(item.span(), &nested(&full, "paths"), text);
            }
            taken.push((name.to_owned(), path.clone()));
        }
        groups.push((key.span(), group));
    }
    Some(groups)
}

fn group(reader: &mut Reader<'_>, name: &str, full: &str, item: &Item<'_>) -> Option<Group> {
    let found = reader.fields(full, item, "a table with class and paths", |t| {
        let missing = "is missing: write \"recreate\" (folders only), \"files\" or \"log\"";
        let class = required_in(t, full, item, "class", missing, data_class);
        let missing = "is missing: write folders of the disk, such as paths = [\"data\"]";
        let paths = required_in(t, full, item, "paths", missing, relative_paths);
        let damaged = [("hold", Damaged::Hold), ("start", Damaged::Start)];
        let group = Group {
            name: name.to_owned(),
            class: class.unwrap_or(DataClass::Files),
            paths: paths.clone().unwrap_or_default(),
            recovery_point: t.get("recovery_point", recovery_point).unwrap_or(RECOVERY_POINT_DEFAULT),
            order: t.get("order", |reader, key, item| reader.count_u32(key, item, 10_000)).unwrap_or(100),
            moment: t.get("moment", moment).unwrap_or(Moment::EachFile),
            before: t.get("before", program),
            after: t.get("after", program),
            timeout: t.get("timeout", Reader::quantity).unwrap_or(TIMEOUT_DEFAULT),
            damaged: t
                .get("damaged", |reader, key, item| reader.word(key, item, &damaged, ""))
                .unwrap_or(Damaged::Hold),
            deletion: t.get("deletion", Reader::quantity).unwrap_or(DELETION_DEFAULT),
            changes: t.get("changes", Reader::quantity),
        };
        (class.is_some() && paths.is_some()).then_some(group)
    });
    let group = found??;
    if group.class == DataClass::Recreate {
        let of_contents = |key: &str| !matches!(key, "class" | "paths" | "order");
        for (key, value) in item.get_ref().as_table().into_iter().flat_map(entries) {
            if of_contents(key.get_ref()) {
                let key = nested(full, key.get_ref());
                reader.problem(
                    value.span(),
                    &key,
                    "is about contents, and class \"recreate\" keeps none: remove it".into(),
                );
            }
        }
    }
    Some(group)
}

fn recovery_point(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<Duration> {
    let time = reader.quantity::<Duration>(key, item)?;
    if time < RECOVERY_POINT_MIN {
        let text =
            format!("is shorter than {RECOVERY_POINT_MIN}: for files that only grow, class \"log\" saves each second");
        reader.problem(item.span(), key, text);
    }
    Some(time)
}

fn data_class(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<DataClass> {
    if let DeValue::String(text) = item.get_ref()
        && text == "mirror"
    {
        let text = "\"mirror\" is the kernel's work, by mdadm below the file system: docs/shelter.md has the commands";
        reader.problem(item.span(), key, text.into());
        return None;
    }
    let words = [("recreate", DataClass::Recreate), ("files", DataClass::Files), ("log", DataClass::Log)];
    reader.word(key, item, &words, "")
}

fn relative_paths(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<Vec<String>> {
    let mut paths = Vec::new();
    for value in reader.values(key, item) {
        let text = reader.text(key, value)?;
        let plain = Path::new(&text).components().all(|part| matches!(part, Component::Normal(_)))
            && !text.is_empty()
            && !text.chars().any(char::is_control);
        if !plain {
            let message =
                format!("{text:?}: write a path below the disk's folder, without / at its begin and without ..");
            reader.problem(value.span(), key, message);
            return None;
        }
        if text.starts_with(MARKER_NAME) {
            reader.problem(value.span(), key, format!("{text:?} is the marker of the shelter itself"));
            return None;
        }
        paths.push(text.trim_end_matches('/').to_owned());
    }
    (!paths.is_empty()).then_some(paths)
}

fn moment(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<Moment> {
    let wanted = "\"each-file\", \"reflink\", { postgres = \"dbname=...\" }, { sqlite = [\"a.db\"] } or { session = [\"program\"] }";
    if item.get_ref().as_table().is_none() {
        let words = [("each-file", false), ("reflink", true)];
        let or = ", or { postgres = ... }, { sqlite = ... }, { session = ... }";
        let is_reflink = reader.word(key, item, &words, or)?;
        return Some(if is_reflink { Moment::Reflink } else { Moment::EachFile });
    }
    let found = reader.table(key, item, &["postgres", "sqlite", "session"], wanted)?;
    let [(kind, item)] = found.as_slice() else {
        reader.problem(item.span(), key, format!("write one of {wanted}"));
        return None;
    };
    let full = nested(key, kind);
    match *kind {
        "postgres" => reader.text(&full, item).map(Moment::Postgres),
        "sqlite" => relative_paths(reader, &full, item).map(Moment::Sqlite),
        _ => program(reader, &full, item).map(Moment::Session),
    }
}

/// A program with its arguments.
fn program(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<Vec<String>> {
    let words: Option<Vec<String>> =
        reader.values(key, item).into_iter().map(|value| reader.text(key, value)).collect();
    words.filter(|words| !words.is_empty())
}

fn guards(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<Vec<String>> {
    reader.fields(key, item, "[service] with guards", |t| t.get("guards", units))?
}

#[expect(clippy::unnecessary_wraps, reason = "a reader of a value may find none")]
fn units(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<Vec<String>> {
    let mut units = Vec::new();
    for value in reader.values(key, item) {
        let Some(unit) = reader.name(key, value) else { continue };
        let good = |c: char| c.is_ascii_alphanumeric() || "-_.@:\\".contains(c);
        if unit.ends_with(".service") && unit.chars().all(good) {
            units.push(unit);
        } else {
            reader.problem(value.span(), key, format!("{unit:?}: write a unit such as \"postgresql.service\""));
        }
    }
    Some(units)
}

fn limits(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<OwnLimits> {
    reader.fields(key, item, "[limits]", |t| OwnLimits {
        iops: t.get("iops", Reader::quantity),
        throughput: t.get("throughput", Reader::quantity),
        objective: t.get("objective", Reader::quantity),
    })
}

fn upkeep(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<UpkeepPeriods> {
    let usual = UpkeepPeriods::default();
    reader.fields(key, item, "[upkeep]", |t| UpkeepPeriods {
        verify: t.get("verify", period).unwrap_or(usual.verify),
        reread: t.get("reread", period).unwrap_or(usual.reread),
    })
}

fn period(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<Duration> {
    let period = reader.quantity::<Duration>(key, item)?;
    if period < UPKEEP_MIN {
        reader.problem(item.span(), key, format!("is shorter than {UPKEEP_MIN}: everything is read in this time"));
    }
    Some(period)
}

fn notices(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<NoticeSource> {
    let clouds = [("azure", Cloud::Azure), ("aws", Cloud::Aws), ("gcp", Cloud::Gcp)];
    let (cloud, address, time) = reader.fields(key, item, "[notices] with cloud", |t| {
        let missing = "is missing: write \"azure\", \"aws\" or \"gcp\"";
        let word = |reader: &mut Reader<'_>, key: &str, item: &Item<'_>| reader.word(key, item, &clouds, "");
        let cloud = required_in(t, key, item, "cloud", missing, word);
        (cloud, t.get("address", Reader::name), t.get("time", Reader::quantity))
    })?;
    let cloud = cloud?;
    let address = address.unwrap_or_else(|| "169.254.169.254:80".to_owned());
    Some(NoticeSource { cloud, address, time: time.unwrap_or(cloud.notice_min()) })
}

fn metrics(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<String> {
    reader.fields(key, item, "[metrics] with a file", |t| t.get("file", absolute))?
}
