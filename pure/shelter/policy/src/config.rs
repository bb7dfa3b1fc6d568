//! The configuration of a shelter: which disk, which data on it, where to, within which limits.

mod reading;

use loadline_document::DocumentError;
use loadline_units::{ByteRate, Duration, Iops, Ratio};

/// The version of the format that is read here.
pub const SHELTER_SCHEMA: u64 = 1;
/// Groups of one configuration, at most.
pub const GROUPS_MAX: usize = 64;
/// How old an unsaved change of class `files` may become, if the configuration says nothing.
pub const RECOVERY_POINT_DEFAULT: Duration = Duration::from_s(60);
/// The shortest recovery point of class `files`.
pub const RECOVERY_POINT_MIN: Duration = Duration::from_s(1);
/// The share of files that may go from one save to the next before the old generation is pinned.
pub const DELETION_DEFAULT: Ratio = Ratio::percent(20);
/// How long a program before or after a save may take, if the configuration says nothing.
pub const TIMEOUT_DEFAULT: Duration = Duration::from_s(120);
/// The file at the top of the disk that says whose it is.
pub const MARKER_NAME: &str = ".loadline-shelter";

/// What a device is recognised by: names such as `/dev/nvme1n1` change from boot to boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeviceIdentity {
    /// A link below `/dev/disk`, made of the device's place, role or serial number. Its last name may have `*`.
    Link(String),
    /// The model that the device reports, which may have `*`; of several, the one with this number, from 1 in the order of their places on
    /// the bus.
    Model {
        /// With `*` for what does not matter.
        model: String,
        /// `None`: there is only one.
        number: Option<u32>,
    },
    /// The serial number that the device reports.
    Serial(String),
    /// The file behind a loop device.
    Backing(String),
}

impl DeviceIdentity {
    /// Whether it is that of this very disk: after a stop that gives the machine another one, nothing answers to it any more.
    #[must_use]
    pub fn goes_with_the_disk(&self) -> bool {
        const OF_CONTENTS: [&str; 4] = ["by-uuid", "by-label", "by-partuuid", "by-partlabel"];
        match self {
            Self::Serial(_) => true,
            Self::Model { .. } | Self::Backing(_) => false,
            Self::Link(link) => {
                let Some((kind, name)) = link.strip_prefix("/dev/disk/").and_then(|rest| rest.split_once('/')) else {
                    return false;
                };
                // Google's names are those of the places of the disks.
                let is_serial = kind == "by-id" && !name.starts_with("google-") && !name.contains('*');
                is_serial || OF_CONTENTS.contains(&kind)
            }
        }
    }
}

/// Whether a text is one that a pattern with `*` stands for.
#[must_use]
pub fn is_named(pattern: &str, text: &str) -> bool {
    let Some((begin, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(text) = text.strip_prefix(begin) else { return false };
    (0..=text.len()).filter(|at| text.is_char_boundary(*at)).any(|at| is_named(rest, &text[at..]))
}

impl std::fmt::Display for DeviceIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Link(path) => f.write_str(path),
            Self::Model { model, number: None } => write!(f, "model:{model}"),
            Self::Model { model, number: Some(number) } => write!(f, "model:{model}#{number}"),
            Self::Serial(serial) => write!(f, "serial:{serial}"),
            Self::Backing(path) => write!(f, "backing:{path}"),
        }
    }
}

/// A file system that can be made on a raw device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewFileSystem {
    /// XFS with reflinks.
    Xfs,
    /// ext4.
    Ext4,
    /// btrfs.
    Btrfs,
}

impl NewFileSystem {
    /// As `mkfs` and `mount` call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Xfs => "xfs",
            Self::Ext4 => "ext4",
            Self::Btrfs => "btrfs",
        }
    }
}

/// The ephemeral disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceDisk {
    /// Where it is mounted.
    pub path: String,
    /// Which device must be mounted there.
    pub device: Option<DeviceIdentity>,
    /// The file system to make if the device is raw.
    pub format: Option<NewFileSystem>,
    /// Options of the mount.
    pub mount_options: Option<String>,
}

/// Where saved data goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// A repository in restic's format in a folder.
    FolderRepository(String),
    /// A repository in restic's format in an object store.
    ObjectStore {
        /// `s3://bucket/prefix`, `azure://container/prefix`, `gs://bucket/prefix`.
        url: String,
        /// The address of the store, if it is not the cloud's own.
        endpoint: Option<String>,
        /// The file with credentials; without one they come from the environment or from the machine.
        credentials_file: Option<String>,
    },
}

/// Which generations of a repository stay: a generation may count for several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeptGenerations {
    /// The newest ones.
    pub last: u32,
    /// The newest of each minute that has one.
    pub minutely: u32,
    /// The newest of each hour.
    pub hourly: u32,
    /// The newest of each day, in UTC.
    pub daily: u32,
}

impl Default for KeptGenerations {
    fn default() -> Self {
        Self { last: 10, minutely: 60, hourly: 24, daily: 7 }
    }
}

/// How much of data is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DataClass {
    /// Folders with owners, modes and attributes; no contents.
    Recreate,
    /// Files, saved in generations.
    Files,
    /// Files that only grow; what is new is saved each second.
    Log,
}

impl DataClass {
    /// As the configuration writes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Recreate => "recreate",
            Self::Files => "files",
            Self::Log => "log",
        }
    }
}

/// How all files of a group come to be of one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moment {
    /// They do not: each file is whole, the group is called fuzzy.
    EachFile,
    /// Reflinks are taken of all before the first is read.
    Reflink,
    /// A base backup of PostgreSQL; the text is a connection string of `psql`.
    Postgres(String),
    /// These SQLite databases stand still, or are copied by SQLite's own backup.
    Sqlite(Vec<String>),
    /// A program gets messages over its standard input.
    Session(Vec<String>),
}

/// What to do if parts of a group could not be restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damaged {
    /// Services do not start.
    Hold,
    /// Services start; the damage is reported.
    Start,
}

/// Data that is treated alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// How much of it is kept.
    pub class: DataClass,
    /// Its paths, relative to the disk; none overlaps another group's.
    pub paths: Vec<String>,
    /// How old an unsaved change may become.
    pub recovery_point: Duration,
    /// Groups of low order are restored first.
    pub order: u32,
    /// How its files come to be of one moment.
    pub moment: Moment,
    /// A program that runs before the files are looked at, with its arguments.
    pub before: Option<Vec<String>>,
    /// A program that runs once the files are copied, or reflinks of them are taken.
    pub after: Option<Vec<String>>,
    /// How long each program and each answer of a session may take.
    pub timeout: Duration,
    /// What to do if it could not be restored whole.
    pub damaged: Damaged,
    /// The share of files or bytes that may go at once without pinning the old generation.
    pub deletion: Ratio,
    /// How fast the application changes it, for plans.
    pub changes: Option<ByteRate>,
}

impl Group {
    /// Whether all its files are to be of one moment: then none of them may change while it is saved.
    #[must_use]
    pub fn is_of_one_moment(&self) -> bool {
        self.class == DataClass::Files && (self.moment != Moment::EachFile || self.before.is_some())
    }
}

/// In which time everything is read once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UpkeepPeriods {
    /// What is saved.
    pub verify: Duration,
    /// The files of the disk, although they look unchanged.
    pub reread: Duration,
}

impl Default for UpkeepPeriods {
    fn default() -> Self {
        Self { verify: Duration::from_s(30 * 86_400), reread: Duration::from_s(7 * 86_400) }
    }
}

/// Limits of our own I/O.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OwnLimits {
    /// Requests per second on the disk.
    pub iops: Option<Iops>,
    /// Bytes per second on the disk.
    pub throughput: Option<ByteRate>,
    /// The mean latency of the application that must be kept.
    pub objective: Option<Duration>,
}

/// A cloud whose notices are understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cloud {
    /// Azure's scheduled events.
    Azure,
    /// AWS' spot interruption notices.
    Aws,
    /// Preemption of GCP.
    Gcp,
}

/// Where notices come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoticeSource {
    /// Whose words they are in.
    pub cloud: Cloud,
    /// `host:port` of the metadata service.
    pub address: String,
    /// The shortest notice to count on.
    pub time: Duration,
}

impl Cloud {
    /// The shortest notice before the disk is lost. Azure: Preempt, 30 s; AWS: spot, 2 min; GCP: preemption, 30 s.
    #[must_use]
    pub const fn notice_min(self) -> Duration {
        match self {
            Self::Azure | Self::Gcp => Duration::from_s(30),
            Self::Aws => Duration::from_s(120),
        }
    }
}

/// A configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShelterConfig {
    /// Its name; the marker on the disk carries it.
    pub name: String,
    /// A folder on a persistent disk for the marker's twin, the status and the folders of class `recreate`.
    pub state: String,
    /// The ephemeral disk.
    pub disk: SourceDisk,
    /// Where saved data goes; without one only class `recreate` is possible.
    pub destination: Option<Destination>,
    /// The file with the passphrase of a repository. Without one, a folder has a passphrase of its own, in its repository.
    pub passphrase_file: Option<String>,
    /// Which generations of a repository stay.
    pub keep: KeptGenerations,
    /// What is kept.
    pub groups: Vec<Group>,
    /// Units that start after the data is there.
    pub guards: Vec<String>,
    /// Limits of our own I/O.
    pub limits: OwnLimits,
    /// In which time everything is read once.
    pub upkeep: UpkeepPeriods,
    /// Where notices come from.
    pub notices: Option<NoticeSource>,
    /// The file that metrics are written to.
    pub metrics: Option<String>,
}

impl ShelterConfig {
    /// Reads a configuration; `source` names the text in errors.
    ///
    /// # Errors
    /// Every problem of the text, with its place.
    pub fn parse(text: &str, source: &str) -> Result<Self, DocumentError> {
        reading::parse(text, source)
    }

    /// Groups in the order in which they are restored.
    #[must_use]
    pub fn in_order(&self) -> Vec<&Group> {
        let mut groups: Vec<&Group> = self.groups.iter().collect();
        groups.sort_by_key(|group| group.order);
        groups
    }

    /// The shortest recovery point of groups with contents.
    #[must_use]
    pub fn recovery_point(&self) -> Option<Duration> {
        self.groups.iter().filter(|group| group.class != DataClass::Recreate).map(|group| group.recovery_point).min()
    }

    /// Whether contents are saved, and not folders alone.
    #[must_use]
    pub fn has_contents(&self) -> bool {
        self.groups.iter().any(|group| group.class != DataClass::Recreate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = include_str!("../../../../docs/formats/shelter.example.toml");
    const SHORT: &str = "schema = 1\nname = \"a\"\nstate = \"/var/lib/a\"\n[disk]\npath = \"/mnt/fast\"\n\
                         [group.t]\nclass = \"recreate\"\npaths = [\"t\"]\n";

    #[test]
    fn the_example_of_the_format_is_read() {
        let config = ShelterConfig::parse(WHOLE, "example").unwrap();
        assert_eq!(config.name, "fast");
        assert_eq!(config.disk.format, Some(NewFileSystem::Xfs));
        assert_eq!(config.groups.len(), 3);
        assert_eq!(config.recovery_point(), Some(Duration::from_s(1)));
        assert_eq!(config.in_order()[0].name, "wal");
        assert!(config.notices.is_some() && config.limits.objective.is_some() && config.has_contents());
    }

    #[test]
    fn a_short_one_has_defaults() {
        let config = ShelterConfig::parse(SHORT, "short").unwrap();
        assert_eq!((&config.destination, config.recovery_point()), (&None, None));
        assert_eq!(config.groups[0].damaged, Damaged::Hold);
    }

    #[test]
    fn programs_around_a_save_promise_one_moment() {
        let text = SHORT.replace("recreate", "files") + "before = [\"freeze\", \"a b\"]\ntimeout = \"5 s\"\n";
        let config =
            ShelterConfig::parse(&(text + "[destination]\nfolder = \"/p\"\nlayout = \"repository\"\n"), "x").unwrap();
        let group = &config.groups[0];
        assert_eq!(group.before.as_deref(), Some(&["freeze".to_owned(), "a b".to_owned()][..]));
        assert_eq!((&group.after, group.timeout), (&None, Duration::from_s(5)));
        assert!(group.is_of_one_moment());
    }

    #[test]
    fn what_stays_of_a_repository_is_what_is_named() {
        let text = |more: &str| format!("{SHORT}[destination]\nfolder = \"/p\"\npassphrase_file = \"/etc/x\"\n{more}");
        let keep = |more: &str| ShelterConfig::parse(&text(more), "x").unwrap().keep;
        assert_eq!(keep(""), KeptGenerations { last: 10, minutely: 60, hourly: 24, daily: 7 });
        let named = KeptGenerations { last: 1, minutely: 0, hourly: 48, daily: 30 };
        assert_eq!(keep("keep = { hourly = 48, daily = 30 }"), named);
    }

    #[test]
    fn each_mistake_is_told_at_its_line() {
        let cases: &[(&str, &str, usize, &str)] = &[
            ("state = \"/var/lib/a\"", "state = \"var/lib\"", 3, "absolute path"),
            ("state = \"/var/lib/a\"", "state = \"/mnt/fast/x\"", 3, "on the disk that forgets"),
            ("path = \"/mnt/fast\"", "path = \"/\"", 4, "root of the system"),
            ("path = \"/mnt/fast\"", "path = \"/mnt/fast\"\nformat = \"xfs\"", 6, "only if it is named"),
            ("path = \"/mnt/fast\"", "path = \"/mnt/fast\"\ndevice = \"/dev/nvme1n1\"", 6, "after the next boot"),
            ("path = \"/mnt/fast\"", "path = \"/mnt/fast\"\ndevice = \"fast\"", 6, "names no device"),
            ("path = \"/mnt/fast\"", "path = \"/mnt/fast\"\nmounts = 1", 6, "is not a key of disk"),
            ("name = \"a\"", "name = \"a/b\"", 2, "letters, digits"),
            ("paths = [\"t\"]", "paths = [\"../t\"]", 8, "without .."),
            ("paths = [\"t\"]", "paths = [\"/t\"]", 8, "below the disk's folder"),
            ("paths = [\"t\"]", "paths = [\".loadline-shelter\"]", 8, "the marker"),
            ("paths = [\"t\"]", "paths = [\"t\"]\nrecovery_point = \"5 s\"", 9, "about contents"),
            ("class = \"recreate\"", "class = \"files\"", 6, "needs a place to save to"),
            ("class = \"recreate\"", "class = \"mirror\"", 7, "by mdadm"),
            ("class = \"recreate\"\n", "", 6, "is missing"),
            ("paths = [\"t\"]", "paths = [\"t\"]\n[group.u]\nclass = \"recreate\"\npaths = [\"t/x\"]", 9, "overlaps"),
            ("paths = [\"t\"]", "paths = [\"t\"]\n[service]\nguards = [\"a b\"]", 10, "write a unit"),
            ("paths = [\"t\"]", "paths = [\"t\"]\n[destination]\nurl = \"ftp://x\"", 10, "s3://BUCKET"),
            ("paths = [\"t\"]", "paths = [\"t\"]\n[destination]\nurl = \"s3://a\"", 9, "encrypted"),
            (
                "paths = [\"t\"]",
                "paths = [\"t\"]\n[destination]\nfolder = \"/p\"\npassphrase_file = \"/x\"\nendpoint = \"http://a\"",
                12,
                "belongs to a url",
            ),
            (
                "paths = [\"t\"]",
                "paths = [\"t\"]\n[destination]\nurl = \"s3://a\"\npassphrase_file = \"/x\"\nendpoint = \"host:9000\"",
                12,
                "https://",
            ),
            (
                "paths = [\"t\"]",
                "paths = [\"t\"]\n[destination]\nurl = \"s3://a\"\npassphrase_file = \"/x\"\ncredentials_file = \"/mnt/fast/c\"",
                12,
                "on the disk that forgets",
            ),
            (
                "paths = [\"t\"]",
                "paths = [\"t\"]\n[destination]\nfolder = \"/p\"\npassphrase_file = \"/mnt/fast/x\"",
                11,
                "on the disk that forgets",
            ),
            (
                "paths = [\"t\"]",
                "paths = [\"t\"]\n[destination]\nfolder = \"/p\"\nlayout = \"plain\"",
                11,
                "delete this line, and write folder = \"/p-repository\"",
            ),
            (
                "paths = [\"t\"]",
                "paths = [\"t\"]\n[destination]\nfolder = \"/p\"\nkeep = { weekly = 3 }",
                11,
                "is not a key of destination.keep",
            ),
            ("paths = [\"t\"]", "paths = [\"t\"]\n[upkeep]\nverify = \"1 min\"", 10, "shorter than"),
            ("paths = [\"t\"]", "paths = [\"t\"]\n[notices]\ncloud = \"oracle\"", 10, "\"azure\""),
        ];
        for (from, to, line, said) in cases {
            let text = SHORT.replace(from, to);
            assert_ne!(text, SHORT, "{from}");
            let error = ShelterConfig::parse(&text, "x").expect_err(&text);
            let found = error.problems.iter().any(|problem| problem.line == *line && problem.message.contains(said));
            assert!(found, "{text}\n{error}");
        }
    }

    #[test]
    fn names_that_clouds_keep_for_a_place_are_taken_and_others_known_as_of_one_disk() {
        let of = |name: &str| {
            let text = WHOLE.replace("\"/dev/disk/azure/resource\"", &format!("{name:?}"));
            ShelterConfig::parse(&text, "x").unwrap_or_else(|error| panic!("{name}: {error}")).disk.device.unwrap()
        };
        for place in [
            "/dev/disk/azure/resource",
            "/dev/disk/azure/local/by-index/1",
            "/dev/disk/by-path/pci-0000:00:1f.0-nvme-1",
            "/dev/disk/by-id/google-local-nvme-ssd-0",
            "/dev/disk/by-id/nvme-Amazon_EC2_NVMe_Instance_Storage_*",
            "model:Amazon EC2 NVMe Instance Storage",
            "model:*NVMe Direct Disk*#2",
        ] {
            assert!(!of(place).goes_with_the_disk(), "{place}");
            assert_eq!(of(place).to_string(), place);
        }
        for disk in
            ["serial:AWS2222", "/dev/disk/by-id/nvme-Amazon_EC2_NVMe_Instance_Storage_AWS2222", "/dev/disk/by-uuid/0"]
        {
            assert!(of(disk).goes_with_the_disk(), "{disk}");
        }
        assert_eq!(of("model:X Y#3"), DeviceIdentity::Model { model: "X Y".into(), number: Some(3) });
        assert!(is_named("a*c*", "abbcd") && is_named("*", "") && !is_named("a*c", "abcd") && !is_named("a", "ab"));
    }
}
