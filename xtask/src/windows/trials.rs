//! What is typed on both systems, and what Windows alone refuses.

/// A command that ends alike on both systems.
pub(super) struct Trial {
    pub(super) words: &'static [&'static str],
    /// Whether the store of the trials is named.
    pub(super) is_stored: bool,
    pub(super) status: i32,
    /// The file that is compared; `None`: standard output.
    pub(super) writes: Option<&'static str>,
}

impl Trial {
    const fn of(words: &'static [&'static str]) -> Self {
        Self { words, is_stored: true, status: 0, writes: None }
    }
    /// A verb without a store.
    const fn apart(mut self) -> Self {
        self.is_stored = false;
        self
    }
    const fn ends(mut self, status: i32) -> Self {
        self.status = status;
        self
    }
    const fn into(mut self, file: &'static str) -> Self {
        self.writes = Some(file);
        self
    }
}

/// Files that are laid out, each with its name there; "wide-" stands before what is written as UTF-16.
pub(super) const INPUTS: &[(&str, &str)] = &[
    ("pure/strangers/imported/tests/corpus/crystaldiskmark-8.txt", "crystaldiskmark.txt"),
    ("pure/strangers/imported/tests/corpus/diskspd-2.0.txt", "diskspd.txt"),
    ("pure/strangers/imported/tests/corpus/diskspd-2.0.txt", "wide-diskspd.txt"),
    ("pure/strangers/imported/tests/corpus/diskspd-2.0.xml", "diskspd.xml"),
    ("pure/strangers/imported/tests/corpus/fio/json.json", "fio.json"),
    ("pure/strangers/imported/tests/corpus/iometer-1.1.csv", "iometer.csv"),
    ("pure/strangers/imported/tests/corpus/iometer-2004.csv", "iometer-2004.csv"),
    ("pure/strangers/imported/tests/corpus/perfmon.csv", "perfmon.csv"),
    ("pure/strangers/imported/tests/corpus/perfmon.csv", "wide-perfmon.csv"),
    ("plans/crystaldiskmark-8.toml", "wide-plan.toml"),
    ("environments/ds3-p30.toml", "wide-disk.toml"),
    ("fuzz/corpus/recordings/blkparse", "blkparse.txt"),
];

/// What is tried on both systems, in this order.
pub(super) const TRIALS: &[Trial] = &[
    Trial::of(&["plans", "--format", "json"]).apart(),
    Trial::of(&["environments", "--format", "json"]).apart(),
    Trial::of(&["environments", "show", "ds3-p30"]).apart(),
    Trial::of(&["catalog", "list", "--format", "json"]).apart(),
    Trial::of(&["catalog", "show", "azure/premium-p30"]).apart(),
    Trial::of(&["import", "crystaldiskmark.txt", "--format", "json"]),
    Trial::of(&["import", "diskspd.xml", "--name", "spd", "--format", "json"]),
    Trial::of(&["import", "diskspd.txt", "--format", "json"]),
    Trial::of(&["import", "wide-diskspd.txt", "--format", "json"]),
    Trial::of(&["import", "fio.json", "--name", "fio", "--format", "json"]),
    Trial::of(&["import", "iometer.csv", "--name", "meter", "--format", "json"]),
    Trial::of(&["import", "iometer-2004.csv", "--format", "json"]),
    Trial::of(&["advise", "--from", "perfmon.csv", "--size", "500GiB", "--provider", "azure", "--format", "json"]),
    Trial::of(&["advise", "--from", "wide-perfmon.csv", "--size", "500GiB", "--provider", "azure", "--format", "json"]),
    Trial::of(&[
        "advise",
        "--iops",
        "9000",
        "--reads",
        "70%",
        "--block",
        "8KiB",
        "--p99",
        "10ms",
        "--size",
        "500GiB",
        "--provider",
        "azure",
        "--format",
        "json",
    ]),
    Trial::of(&[
        "predict",
        "outstanding-sweep",
        "--env",
        "ds3-p30",
        "--short",
        "--seed",
        "7",
        "--name",
        "a",
        "--format",
        "json",
    ]),
    Trial::of(&[
        "predict",
        "outstanding-sweep",
        "--env",
        "ds3-p10",
        "--short",
        "--seed",
        "7",
        "--name",
        "b",
        "--format",
        "json",
    ]),
    Trial::of(&["predict", "wide-plan.toml", "--env", "wide-disk.toml", "--short", "--seed", "7", "--format", "json"]),
    Trial::of(&["compare", "a", "b", "--format", "json"]),
    Trial::of(&[
        "hunt",
        "matrix-200-short",
        "--cell",
        "random write 1 MiB, depth 32",
        "--env",
        "pool-4",
        "--short",
        "--seed",
        "7",
        "--format",
        "json",
    ]),
    Trial::of(&["replay", "blkparse.txt", "--env", "ds3-p30", "--seed", "7", "--format", "json"]),
    Trial::of(&["convert", "blkparse.txt", "-o", "requests.csv", "--as", "csv"]).apart().into("requests.csv"),
    Trial::of(&["convert", "crystaldiskmark-8", "--to", "diskspd", "-o", "there"]).apart().into("there/measure.ps1"),
    Trial::of(&["show", "a", "--format", "json"]),
    Trial::of(&["show", "a"]),
    Trial::of(&["list", "--format", "json"]),
    Trial::of(&["list"]),
    Trial::of(&["report", "a", "b", "-o", "report.html"]).into("report.html"),
    Trial::of(&["export", "a", "--as", "json"]),
    Trial::of(&["export", "a", "--as", "csv"]),
    Trial::of(&["export", "a", "--as", "fio"]),
    Trial::of(&["export", "a", "--as", "parquet", "-o", "rows.parquet"]).into("rows.parquet"),
    Trial::of(&["export", "a", "--as", "openmetrics"]),
    Trial::of(&["report", "--all", "-o", "pages"]).into("pages/index.html"),
    Trial::of(&["tag", "a", "site=field"]),
    Trial::of(&["fit", "a", "-o", "fitted.toml"]).into("fitted.toml"),
    Trial::of(&["rm", "b"]),
    Trial::of(&["predict", "no-such-plan", "--env", "ds3-p30"]).ends(2),
];

/// Verbs that are Linux's, and a word of the advice that follows.
pub(super) const ABSENT: &[(&[&str], &str)] = &[
    (&["quick"], "loadline import"),
    (&["run", "outstanding-sweep", "--on", "."], "loadline import"),
    (&["run", "outstanding-sweep", "--on", ".", "--dry-run"], "loadline import"),
    (&["crawl", ".", "--metrics", "9400"], "from a Linux machine"),
    (&["watch"], "Performance Monitor"),
    (&["record", "sda", "-o", "app.trace"], "Performance Monitor"),
    (&["emulate", "ds3-p30"], "loadline predict"),
    (&["fault", "x.sock", "--list"], "loadline predict"),
    (&["live"], "--at"),
    (&["crawl", "."], "from a Linux machine"),
    (&["doctor"], "nothing is measured here"),
    (&["shelter", "x.toml", "status"], "the machine that has the disk"),
    (&["replay", "blkparse.txt", "--on", "data=.", "--quiet"], "--env"),
    (&["hunt", "outstanding-sweep", "--cell", "1", "--on", "."], "loadline predict"),
    (&["predict", "outstanding-sweep", "--env", "auto"], "loadline environments"),
];

/// Names that no file of Windows has.
pub(super) const NO_FILES: [&str; 8] = [
    "NUL",
    "con.html",
    "com1",
    "com\u{b9}.html",
    "report.html:stream",
    r"C:\lpt1.html",
    r"\\.\PhysicalDrive0",
    r"\\?\PhysicalDrive0",
];

/// Paths of Windows for a report, and where each lies on the drive that Wine keeps.
pub(super) const PATHS: [(&str, &str); 4] = [
    (r"C:\report.html", "report.html"),
    ("C:/slashes.html", "slashes.html"),
    (r"C:\users\..\above.html", "above.html"),
    (r"\\?\C:\plain.html", "plain.html"),
];
