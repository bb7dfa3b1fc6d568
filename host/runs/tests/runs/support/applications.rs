//! Applications that use storage while it is watched or recorded: fio, SQLite, PostgreSQL. Each ends when it is dropped.

use super::devices::{run, wait_until};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Longer than any test looks.
const RUNTIME: &str = "--runtime=300";

/// A process with all that it started.
pub(crate) struct Application(Child);

impl Application {
    /// Starts it as the leader of a group of processes.
    pub(crate) fn start(command: &mut Command) -> Option<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        Some(Self(command.spawn().ok()?))
    }
    /// fio until it is dropped: direct I/O of 4 KiB at random, unless `arguments` say otherwise.
    pub(crate) fn fio(file: &str, arguments: &[&str]) -> Option<Self> {
        Self::start(&mut fio("fio", file, arguments))
    }
    /// fio in a process of another name.
    pub(crate) fn fio_named(link: &Path, file: &str, arguments: &[&str]) -> Option<Self> {
        let found = run("sh", &["-c", "command -v fio"])?;
        symlink(found, link).ok()?;
        Self::start(&mut fio(link.to_str()?, file, arguments))
    }
    /// A line of the shell.
    pub(crate) fn shell(line: &str) -> Option<Self> {
        Self::start(Command::new("sh").args(["-c", line]))
    }
    /// The number of its process.
    pub(crate) fn pid(&self) -> String {
        self.0.id().to_string()
    }
    /// Waits until it has these files open: on a busy machine that takes seconds.
    pub(crate) fn has_opened(&self, files: &[&str]) -> bool {
        let folder = format!("/proc/{}/fd", self.0.id());
        wait_until(|| {
            let open: Vec<PathBuf> = fs::read_dir(&folder)
                .into_iter()
                .flatten()
                .flatten()
                .filter_map(|entry| fs::read_link(entry.path()).ok())
                .collect();
            files.iter().all(|file| open.iter().any(|one| one == Path::new(file)))
        })
    }
}

fn fio(program: &str, file: &str, arguments: &[&str]) -> Command {
    let file = format!("--filename={file}");
    let base = ["--name=app", "--thread", "--direct=1", "--ioengine=libaio", "--bs=4k", "--time_based", RUNTIME, &file];
    let mut command = Command::new(program);
    command.args(base).args(arguments);
    command
}

impl Drop for Application {
    fn drop(&mut self) {
        run("kill", &["-KILL", "--", &format!("-{}", self.0.id())]);
        let _ = self.0.wait();
    }
}

/// PostgreSQL refuses to run as root, and comes with a user of its own.
const USER: &str = "postgres";

/// A PostgreSQL server whose data are below a folder. Dropped, it is stopped at once, as a crash would.
pub(crate) struct PostgreSql {
    programs: PathBuf,
    folder: PathBuf,
}

impl PostgreSql {
    /// A new one below a mounted folder; `None` without PostgreSQL.
    pub(crate) fn create(mounted: &Path) -> Option<Self> {
        let mut programs: Vec<PathBuf> =
            fs::read_dir("/usr/lib/postgresql").ok()?.flatten().map(|entry| entry.path().join("bin")).collect();
        programs.retain(|folder| folder.join("pgbench").exists() && folder.join("initdb").exists());
        programs.sort();
        let users = fs::read_to_string("/etc/passwd").ok()?;
        let user = users.lines().find(|line| line.split(':').next() == Some(USER))?;
        let user: u32 = user.split(':').nth(2)?.parse().ok()?;
        // Every folder above it must let the server's user through.
        for parent in mounted.ancestors().take_while(|parent| parent.parent().is_some()) {
            let mode = fs::metadata(parent).ok()?.permissions().mode();
            fs::set_permissions(parent, fs::Permissions::from_mode(mode | 0o055)).ok()?;
        }
        let folder = mounted.join("server");
        fs::create_dir(&folder).ok()?;
        chown(&folder, Some(user), Some(user)).ok()?;
        let server = Self { programs: programs.pop()?, folder };
        let made =
            server.program("initdb").args(["--no-sync", "-A", "trust", "-D"]).arg(server.data()).output().ok()?;
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let settings = format!("-k {} -c listen_addresses='' -c shared_buffers=16MB", server.folder.display());
        let mut start = server.program("pg_ctl");
        start.args(["-w", "-s", "-o", &settings, "-D"]).arg(server.data()).arg("-l").arg(server.folder.join("log"));
        let started = start.arg("start").stdin(Stdio::null()).stdout(Stdio::null()).status().ok()?.success();
        assert!(started, "{}", fs::read_to_string(server.folder.join("log")).unwrap_or_default());
        Some(server)
    }
    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }
    fn program(&self, name: &str) -> Command {
        let mut command = Command::new("runuser");
        command.args(["-u", USER, "--"]).arg(self.programs.join(name)).current_dir("/");
        command
    }
    /// pgbench with these arguments.
    pub(crate) fn pgbench(&self, arguments: &[&str]) -> Command {
        let mut command = self.program("pgbench");
        command.arg("-h").arg(&self.folder).args(arguments).arg("postgres");
        command
    }
    /// Tables of so many branches.
    pub(crate) fn fill(&self, scale: u32) {
        let filled = self.pgbench(&["-i", "-q", "-s", &scale.to_string()]).output().unwrap();
        assert!(filled.status.success(), "{}", String::from_utf8_lossy(&filled.stderr));
    }
}

impl Drop for PostgreSql {
    fn drop(&mut self) {
        let _ =
            self.program("pg_ctl").args(["-w", "-s", "-m", "immediate", "-D"]).arg(self.data()).arg("stop").output();
    }
}
