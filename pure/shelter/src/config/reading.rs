//! Reads a configuration from TOML, every problem at its place.

use super::{
    Cloud, DELETION_DEFAULT, Damaged, DataClass, Destination, DeviceIdentity, GROUPS_MAX, Group, KeptGenerations,
    MARKER_NAME, Moment, NewFileSystem, NoticeSource, OwnLimits, RECOVERY_POINT_DEFAULT, RECOVERY_POINT_MIN,
    SHELTER_SCHEMA, ShelterConfig, SourceDisk, TIMEOUT_DEFAULT, UpkeepPeriods,
};
use loadline_document::{DocumentError, Item, Reader, Synonym, entries, nested};
use loadline_units::Duration;
use std::path::{Component, Path};
use toml::de::{DeTable, DeValue};

const TOP_KEYS: &[&str] =
    &["schema", "name", "state", "disk", "destination", "group", "service", "limits", "upkeep", "notices", "metrics"];
const DISK_KEYS: &[&str] = &["path", "device", "format", "mount_options"];
const DESTINATION_KEYS: &[&str] =
    &["folder", "url", "layout", "passphrase_file", "endpoint", "credentials_file", "keep"];
const KEEP_KEYS: &[&str] = &["last", "minutely", "hourly", "daily"];
/// Generations of one rule, at most.
const KEEP_MAX: u32 = 100_000;
const GROUP_KEYS: &[&str] = &[
    "class",
    "paths",
    "recovery_point",
    "order",
    "moment",
    "before",
    "after",
    "timeout",
    "damaged",
    "deletion",
    "changes",
];
const SERVICE_KEYS: &[&str] = &["guards"];
const LIMIT_KEYS: &[&str] = &["iops", "throughput", "objective"];
const UPKEEP_KEYS: &[&str] = &["verify", "reread"];
/// The shortest time in which everything is read once.
const UPKEEP_MIN: Duration = Duration::from_s(3_600);
const NOTICE_KEYS: &[&str] = &["cloud", "address", "time"];
const METRICS_KEYS: &[&str] = &["file"];
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
        for (key, _) in entries(top) {
            if !TOP_KEYS.contains(&&**key.get_ref()) {
                reader.unknown_key("", key, TOP_KEYS, "a shelter");
            }
        }
        read(reader, top)
    })
}

fn read(reader: &mut Reader<'_>, top: &DeTable<'_>) -> Option<ShelterConfig> {
    let name = required(reader, top, "name", "a name of one line").and_then(|item| identifier(reader, "name", item));
    let state = required(reader, top, "state", "a folder on a persistent disk, such as \"/var/lib/loadline/shelter\"");
    let state = state.and_then(|item| absolute(reader, "state", item));
    let disk_item = required(reader, top, "disk", "[disk] with the path of the ephemeral disk");
    let disk = disk_item.and_then(|item| disk(reader, item));
    let place = match top.get("destination") {
        Some(item) => destination(reader, item)?,
        None => Place::default(),
    };
    let Place { destination, passphrase_file, keep } = place;
    let groups = required(reader, top, "group", "at least one [group.NAME] with class and paths");
    let groups = groups.map(|item| self::groups(reader, item)).unwrap_or_default();
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
    let guards = top.get("service").map(|item| guards(reader, item)).unwrap_or_default();
    let limits = top.get("limits").map(|item| limits(reader, item)).unwrap_or_default();
    let upkeep = top.get("upkeep").map(|item| upkeep(reader, item)).unwrap_or_default();
    let notices = top.get("notices").and_then(|item| notices(reader, item));
    let metrics = top.get("metrics").and_then(|item| metrics(reader, item));
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
        Destination::PlainFolder(path) | Destination::FolderRepository(path) => Some(path),
        Destination::ObjectStore { .. } => None,
    }
}

fn required<'t, 'd>(reader: &mut Reader<'_>, top: &'t DeTable<'d>, key: &str, wanted: &str) -> Option<&'t Item<'d>> {
    let found = top.get(key);
    if found.is_none() {
        reader.problem(0..0, key, format!("is missing: write {wanted}"));
    }
    found
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

fn disk(reader: &mut Reader<'_>, item: &Item<'_>) -> Option<SourceDisk> {
    let found = reader.table("disk", item, DISK_KEYS, "[disk] with path")?;
    let mut path = None;
    let (mut device, mut format, mut mount_options) = (None, None, None);
    let mut format_at = 0..0;
    for (key, item) in found {
        let full = nested("disk", key);
        match key {
            "path" => path = Some(absolute(reader, &full, item)),
            "device" => device = device_identity(reader, &full, item),
            "format" => {
                format_at = item.span();
                let words =
                    [("xfs", NewFileSystem::Xfs), ("ext4", NewFileSystem::Ext4), ("btrfs", NewFileSystem::Btrfs)];
                format = reader.word(&full, item, &words, "");
            }
            _ => mount_options = reader.name(&full, item),
        }
    }
    if path.is_none() {
        reader.problem(item.span(), "disk.path", "is missing: write the folder where the disk is mounted".into());
    }
    let path = path??;
    if path == "/" {
        reader.problem(item.span(), "disk.path", "is the root of the system: name the ephemeral disk's folder".into());
        return None;
    }
    if format.is_some() && device.is_none() {
        let text = "a device is formatted only if it is named: write device = \"/dev/disk/by-id/...\" beside it";
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
    let plain = !text.split('/').any(|part| part == "..");
    if text.starts_with("/dev/disk/by-") && plain {
        return Some(DeviceIdentity::Link(text));
    }
    let message = if text.starts_with("/dev/") {
        format!(
            "{text:?} may be another device after the next boot: write a link below /dev/disk/by-id, or \"serial:...\""
        )
    } else {
        format!("{text:?} names no device: write a link below /dev/disk/by-id, \"serial:...\" or \"backing:/file\"")
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

fn destination(reader: &mut Reader<'_>, item: &Item<'_>) -> Option<Place> {
    #[derive(Clone, Copy, PartialEq)]
    enum Form {
        Plain,
        Repository,
    }
    let found = reader.table("destination", item, DESTINATION_KEYS, "[destination] with a folder or a url")?;
    let (mut folder, mut url, mut endpoint, mut passphrase) = (None, None, None, None);
    let (mut layout, mut keep, mut credentials) = (None, None, None);
    for (key, item) in found {
        let full = nested("destination", key);
        match key {
            "folder" => folder = absolute(reader, &full, item).map(|path| (path, item.span())),
            "url" => url = store_url(reader, &full, item).map(|url| (url, item.span())),
            "layout" => {
                let words = [("plain", Form::Plain), ("repository", Form::Repository)];
                layout = reader.word(&full, item, &words, "").map(|layout| (layout, item.span()));
            }
            "endpoint" => endpoint = store_endpoint(reader, &full, item).map(|endpoint| (endpoint, item.span())),
            "credentials_file" => credentials = absolute(reader, &full, item).map(|path| (path, item.span())),
            "keep" => keep = kept_generations(reader, &full, item).map(|keep| (keep, item.span())),
            _ => passphrase = absolute(reader, &full, item),
        }
    }
    if folder.is_some() && url.is_none() {
        let spans = [endpoint.as_ref().map(|(_, at)| at), credentials.as_ref().map(|(_, at)| at)];
        for (key, at) in ["endpoint", "credentials_file"].into_iter().zip(spans) {
            let Some(at) = at else { continue };
            let text = "belongs to a url: a folder needs none".to_owned();
            reader.problem(at.clone(), &nested("destination", key), text);
        }
    }
    let (endpoint, credentials_file) = (endpoint.map(|(text, _)| text), credentials.map(|(path, _)| path));
    let form = layout.as_ref().map_or(Form::Repository, |(form, _)| *form);
    let made = match (folder, url) {
        (Some(_), Some((_, at))) => {
            reader.problem(at, "destination.url", "there is a folder too: write one of them".into());
            return None;
        }
        (Some((path, _)), None) if form == Form::Plain => Destination::PlainFolder(path),
        (Some((path, _)), None) => Destination::FolderRepository(path),
        (None, Some((url, at))) => {
            if form == Form::Plain {
                let text = "a plain copy is for folders: leave layout out".to_owned();
                reader.problem(at, "destination.layout", text);
            }
            Destination::ObjectStore { url, endpoint, credentials_file }
        }
        (None, None) => {
            if reader.problem_count() == 0 {
                reader.problem(item.span(), "destination", "has no place: write a folder or a url".into());
            }
            return None;
        }
    };
    if let (Destination::PlainFolder(_), Some((_, at))) = (&made, &keep) {
        let text = "a plain copy has the newest generation and those that are pinned: leave keep out".to_owned();
        reader.problem(at.clone(), "destination.keep", text);
    }
    if !matches!(made, Destination::PlainFolder(_)) && passphrase.is_none() {
        let text =
            "is missing: a repository is encrypted. Write the path of a file with its passphrase, on a persistent disk";
        reader.problem(item.span(), "destination.passphrase_file", text.into());
    }
    let keep = keep.map(|(keep, _)| keep).unwrap_or_default();
    Some(Place { destination: Some(made), passphrase_file: passphrase, keep })
}

/// Rules that are not named keep nothing; the newest generation always stays.
fn kept_generations(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<KeptGenerations> {
    let found = reader.table(key, item, KEEP_KEYS, "a table such as { last = 10, hourly = 24, daily = 7 }")?;
    let mut keep = KeptGenerations { last: 1, minutely: 0, hourly: 0, daily: 0 };
    for (rule, item) in found {
        let Some(count) = reader.count_u32(&nested(key, rule), item, KEEP_MAX) else { continue };
        match rule {
            "last" => keep.last = count,
            "minutely" => keep.minutely = count,
            "hourly" => keep.hourly = count,
            _ => keep.daily = count,
        }
    }
    Some(keep)
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
fn groups(reader: &mut Reader<'_>, item: &Item<'_>) -> Vec<(std::ops::Range<usize>, Group)> {
    let Some(table) = item.get_ref().as_table() else {
        reader.problem(item.span(), "group", "is no table: write [group.NAME] with class and paths".into());
        return Vec::new();
    };
    let mut groups: Vec<(std::ops::Range<usize>, Group)> = Vec::new();
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
    groups
}

fn group(reader: &mut Reader<'_>, name: &str, full: &str, item: &Item<'_>) -> Option<Group> {
    let found = reader.table(full, item, GROUP_KEYS, "a table with class and paths")?;
    let (mut class, mut paths) = (None, None);
    let mut group = Group {
        name: name.to_owned(),
        class: DataClass::Files,
        paths: Vec::new(),
        recovery_point: RECOVERY_POINT_DEFAULT,
        order: 100,
        moment: Moment::EachFile,
        before: None,
        after: None,
        timeout: TIMEOUT_DEFAULT,
        damaged: Damaged::Hold,
        deletion: DELETION_DEFAULT,
        changes: None,
    };
    let mut only_contents = Vec::new();
    for (key, item) in found {
        let full = nested(full, key);
        if !matches!(key, "class" | "paths" | "order") {
            only_contents.push((full.clone(), item.span()));
        }
        match key {
            "class" => class = Some(data_class(reader, &full, item)),
            "paths" => paths = Some(relative_paths(reader, &full, item)),
            "recovery_point" => {
                if let Some(time) = reader.quantity::<Duration>(&full, item) {
                    if time < RECOVERY_POINT_MIN {
                        let text = format!(
                            "is shorter than {RECOVERY_POINT_MIN}: for files that only grow, class \"log\" saves each second"
                        );
                        reader.problem(item.span(), &full, text);
                    }
                    group.recovery_point = time;
                }
            }
            "order" => group.order = reader.count_u32(&full, item, 10_000).unwrap_or(group.order),
            "moment" => group.moment = moment(reader, &full, item).unwrap_or(Moment::EachFile),
            "before" => group.before = program(reader, &full, item),
            "after" => group.after = program(reader, &full, item),
            "timeout" => group.timeout = reader.quantity(&full, item).unwrap_or(group.timeout),
            "damaged" => {
                let words = [("hold", Damaged::Hold), ("start", Damaged::Start)];
                group.damaged = reader.word(&full, item, &words, "").unwrap_or(Damaged::Hold);
            }
            "changes" => group.changes = reader.quantity(&full, item),
            _ => group.deletion = reader.quantity(&full, item).unwrap_or(group.deletion),
        }
    }
    if class.is_none() {
        let text = "is missing: write \"recreate\" (folders only), \"files\" or \"log\"";
        reader.problem(item.span(), &nested(full, "class"), text.into());
    }
    if paths.is_none() {
        let text = "is missing: write folders of the disk, such as paths = [\"data\"]";
        reader.problem(item.span(), &nested(full, "paths"), text.into());
    }
    group.class = class??;
    group.paths = paths??;
    if group.class == DataClass::Recreate {
        for (key, at) in only_contents {
            reader.problem(at, &key, "is about contents, and class \"recreate\" keeps none: remove it".into());
        }
    }
    Some(group)
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

fn guards(reader: &mut Reader<'_>, item: &Item<'_>) -> Vec<String> {
    let mut guards = Vec::new();
    for (key, item) in reader.table("service", item, SERVICE_KEYS, "[service] with guards").unwrap_or_default() {
        let full = nested("service", key);
        for value in reader.values(&full, item) {
            let Some(unit) = reader.name(&full, value) else { continue };
            let good = |c: char| c.is_ascii_alphanumeric() || "-_.@:\\".contains(c);
            if unit.ends_with(".service") && unit.chars().all(good) {
                guards.push(unit);
            } else {
                reader.problem(value.span(), &full, format!("{unit:?}: write a unit such as \"postgresql.service\""));
            }
        }
    }
    guards
}

fn limits(reader: &mut Reader<'_>, item: &Item<'_>) -> OwnLimits {
    let mut limits = OwnLimits::default();
    for (key, item) in reader.table("limits", item, LIMIT_KEYS, "[limits]").unwrap_or_default() {
        let full = nested("limits", key);
        match key {
            "iops" => limits.iops = reader.quantity(&full, item),
            "throughput" => limits.throughput = reader.quantity(&full, item),
            _ => limits.objective = reader.quantity(&full, item),
        }
    }
    limits
}

fn upkeep(reader: &mut Reader<'_>, item: &Item<'_>) -> UpkeepPeriods {
    let mut periods = UpkeepPeriods::default();
    for (key, item) in reader.table("upkeep", item, UPKEEP_KEYS, "[upkeep]").unwrap_or_default() {
        let full = nested("upkeep", key);
        let Some(period) = reader.quantity::<Duration>(&full, item) else { continue };
        if period < UPKEEP_MIN {
            reader.problem(
                item.span(),
                &full,
                format!("is shorter than {UPKEEP_MIN}: everything is read in this time"),
            );
        }
        match key {
            "verify" => periods.verify = period,
            _ => periods.reread = period,
        }
    }
    periods
}

fn notices(reader: &mut Reader<'_>, item: &Item<'_>) -> Option<NoticeSource> {
    let (mut cloud, mut address, mut time) = (None, None, None);
    for (key, item) in reader.table("notices", item, NOTICE_KEYS, "[notices] with cloud")? {
        let full = nested("notices", key);
        match key {
            "cloud" => {
                let words = [("azure", Cloud::Azure), ("aws", Cloud::Aws), ("gcp", Cloud::Gcp)];
                cloud = Some(reader.word(&full, item, &words, ""));
            }
            "address" => address = reader.name(&full, item),
            _ => time = reader.quantity::<Duration>(&full, item),
        }
    }
    if cloud.is_none() {
        reader.problem(item.span(), "notices.cloud", "is missing: write \"azure\", \"aws\" or \"gcp\"".into());
    }
    let cloud = cloud??;
    let address = address.unwrap_or_else(|| "169.254.169.254:80".to_owned());
    Some(NoticeSource { cloud, address, time: time.unwrap_or(cloud.notice_min()) })
}

fn metrics(reader: &mut Reader<'_>, item: &Item<'_>) -> Option<String> {
    let found = reader.table("metrics", item, METRICS_KEYS, "[metrics] with a file")?;
    found.into_iter().find_map(|(key, item)| absolute(reader, &nested("metrics", key), item))
}
