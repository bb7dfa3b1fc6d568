//! A database on an attached volume.

use crate::served::{Mounted, Served, disk, run};
use loadline_disk::{Directions, DiskSpec, IopsBudget, Layout, Limit};
use loadline_emulator::BlockDevice;
use loadline_units::{Bytes, Iops};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// PostgreSQL's own programs, which packages keep off the search path.
pub(crate) fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let mut found: Vec<_> = versions.flatten().map(|entry| entry.path().join("bin")).collect();
    found.retain(|folder| folder.join("pgbench").exists() && folder.join("initdb").exists());
    found.sort();
    found.pop()
}

/// It refuses to run as root, and comes with a user of its own.
const USER: &str = "postgres";

pub(crate) fn user_number() -> Option<u32> {
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    let line = users.lines().find(|line| line.split(':').next() == Some(USER))?;
    line.split(':').nth(2)?.parse().ok()
}

/// A server whose data are under a folder. Dropped, it is stopped at once, as a crash would.
pub(crate) struct Database {
    programs: PathBuf,
    folder: PathBuf,
}

impl Database {
    pub(crate) fn create(programs: PathBuf, folder: PathBuf) -> Self {
        let database = Self { programs, folder };
        run(database.program("initdb").args(["--no-sync", "-A", "trust", "-D"]).arg(database.data()));
        rustix::fs::sync();
        database.start();
        database
    }
    pub(crate) fn start(&self) {
        let settings = format!("-k {} -c listen_addresses='' -c shared_buffers=16MB", self.folder.display());
        // Not `run`: the server would hold on to the pipes that it reads.
        let mut command = self.program("pg_ctl");
        command.args(["-w", "-s", "-o", &settings, "-D"]).arg(self.data()).arg("-l").arg(self.folder.join("log"));
        let started = command.arg("start").status().unwrap().success();
        let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        assert!(started, "the server does not start: {log}");
    }
    /// Removes what names its process, which died with the machine; here a new one may have its number, or nobody has buried
    /// it yet.
    pub(crate) fn forget_process(&self) {
        for file in ["data/postmaster.pid", ".s.PGSQL.5432.lock", ".s.PGSQL.5432"] {
            let _ = std::fs::remove_file(self.folder.join(file));
        }
    }
    /// The one answer to a query, its columns parted by `|`.
    pub(crate) fn query(&self, query: &str) -> String {
        run(self.client().args(["-c", query]))
    }
    fn client(&self) -> Command {
        let mut command = self.program("psql");
        command.args(["-X", "-A", "-t", "-q", "-d", "postgres", "-h"]).arg(&self.folder);
        command
    }
    /// Inserts rows one by one from `first` on, a transaction each, and calls `after` with the number of each that is
    /// committed, until one fails. Gives the last that was.
    pub(crate) fn insert_until(&self, first: u64, mut after: impl FnMut(u64)) -> u64 {
        let mut client = self.client();
        client.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut client = client.arg("-v").arg("ON_ERROR_STOP=1").spawn().unwrap();
        let mut asked = client.stdin.take().unwrap();
        let mut answers = BufReader::new(client.stdout.take().unwrap()).lines();
        let mut committed = first - 1;
        loop {
            let number = committed + 1;
            let row = format!("insert into rows values ({number}, repeat('{number}', 500)) returning number;\n");
            if asked.write_all(row.as_bytes()).is_err() {
                break;
            }
            match answers.next() {
                Some(Ok(line)) if line == number.to_string() => committed = number,
                _ => break,
            }
            after(committed);
        }
        drop(asked);
        let _ = client.wait();
        committed
    }
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.join("data")
    }
    fn program(&self, name: &str) -> Command {
        let mut command = Command::new("runuser");
        command.args(["-u", USER, "--"]).arg(self.programs.join(name)).current_dir("/");
        command
    }
    fn bench(&self, words: &[&str]) -> String {
        run(self.program("pgbench").arg("-h").arg(&self.folder).args(words).arg("postgres"))
    }
    pub(crate) fn stop(&self, how: &str) {
        // Where its disk is gone it says so, and ends.
        let _ = self.program("pg_ctl").args(["-w", "-s", "-m", how, "-D"]).arg(self.data()).arg("stop").output();
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.stop("immediate");
    }
}

/// A folder that the server's user may enter and write.
pub(crate) fn folder(mounted: &Path, user: u32) -> PathBuf {
    for parent in mounted.ancestors().take_while(|parent| *parent != std::env::temp_dir()) {
        std::fs::set_permissions(parent, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let folder = mounted.join("server");
    std::fs::create_dir(&folder).unwrap();
    chown(&folder, Some(user), Some(user)).unwrap();
    folder
}

/// A figure that pgbench printed after a label.
fn figure(printed: &str, label: &str) -> f64 {
    let line = printed.lines().find_map(|line| line.strip_prefix(label)).unwrap_or_else(|| panic!("{printed}"));
    line.split_whitespace().next().unwrap().parse().unwrap_or_else(|_| panic!("{line}"))
}

#[test]
fn postgresql_runs_and_is_held_by_the_disk() {
    const RATE: u64 = 600;
    let (Some(programs), Some(user)) = (programs(), user_number()) else {
        println!("skipped: PostgreSQL on an attached volume (it is not there)");
        return;
    };
    let rate = Iops::per_second(RATE).unwrap();
    let limit = Limit { iops: Some(Directions::Together(IopsBudget::steady(rate))), ..Limit::default() };
    let disk = DiskSpec { limit, ..disk(Bytes::mib(512)) };
    let Some(served) = Served::start(disk, Layout::Single) else { return };
    let device = BlockDevice::over(&served.files[0]).unwrap();
    run(Command::new("mkfs.ext4").arg("-q").arg(device.path()));
    let mounted = Mounted::mount(device.path(), served.path("mounted"));
    let database = Database::create(programs, folder(&mounted.0, user));
    database.bench(&["-i", "-q", "-s", "2"]);
    let before = served.emulation.figures()[0].requests();
    let begun = served.emulation.elapsed();
    let printed = database.bench(&["-c", "8", "-j", "2", "-T", "5"]);
    let span = served.emulation.elapsed().saturating_sub(begun).as_s_f64();
    let requests = served.emulation.figures()[0].requests() - before;
    let transactions = figure(&printed, "number of transactions actually processed: ");
    assert!(transactions > 0.0 && figure(&printed, "number of failed transactions: ") == 0.0, "{printed}");
    // Flushes are requests and count as nothing against the limit: at most one for every write.
    let most = 2.0 * (RATE as f64 * span + 1.0);
    assert!(requests > 100 && (requests as f64) < most, "{requests} requests in {span} s; {printed}");
    // Its commits come faster than the disk lets writes through, most of the time or at times.
    let held = served.emulation.accounts()[0].shares();
    let by_disk = held.shares.iter().find(|held| held.by.name() == "disk-iops").map(|held| held.share);
    assert!(held.bound_by.is_some() && by_disk.is_some_and(|share| share > 0.0), "{held:?}");
    database.stop("fast");
    drop(mounted);
    assert_eq!(served.emulation.figures()[0].errors_total(), 0);
    run(Command::new("fsck.ext4").args(["-f", "-n"]).arg(device.path()));
}
