//! PostgreSQL saved while pgbench writes; the restored server starts by itself, and pgbench's sums agree.

use super::machine::{LoopWorld, shelter};
use super::world::{World, save, unpaced};
use crate::shelter::Shelter;
use loadline_shelter_policy::config::{Moment, ShelterConfig};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// PostgreSQL refuses to run as root, and comes with a user of its own.
const USER: &str = "postgres";
/// Each row of the history was added to one account, one teller and one branch.
const DIFFERENCES: &str = "select (select sum(abalance) from pgbench_accounts) - s, (select sum(tbalance) from pgbench_tellers) - s, \
                           (select sum(bbalance) from pgbench_branches) - s from (select coalesce(sum(delta), 0) as s from pgbench_history) h";

/// A server whose data are in a folder of the disk. Dropped, it is stopped at once, as a crash would.
struct Server {
    programs: PathBuf,
    data: PathBuf,
    run: PathBuf,
    user: u32,
}

impl Server {
    /// Where one could be, outside the disk its socket; `None` without PostgreSQL.
    fn at(data: PathBuf, run: PathBuf) -> Option<Self> {
        let found = fs::read_dir("/usr/lib/postgresql").ok();
        let mut programs: Vec<PathBuf> =
            found.into_iter().flatten().flatten().map(|entry| entry.path().join("bin")).collect();
        programs.retain(|folder| folder.join("pgbench").exists() && folder.join("initdb").exists());
        programs.sort();
        let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let user = users.lines().find(|line| line.split(':').next() == Some(USER));
        let user = user.and_then(|line| line.split(':').nth(2)?.parse().ok());
        let (true, Some(programs), Some(user)) = (rustix::process::geteuid().is_root(), programs.pop(), user) else {
            println!("skipped: it needs root and PostgreSQL 15 (apt-get install postgresql)");
            return None;
        };
        for folder in run.ancestors().skip(1).take_while(|folder| folder.parent().is_some()) {
            let mode = fs::metadata(folder).unwrap().permissions().mode();
            fs::set_permissions(folder, fs::Permissions::from_mode(mode | 0o055)).unwrap();
        }
        let server = Self { programs, data, run, user };
        server.own(&server.run);
        Some(server)
    }
    fn own(&self, folder: &Path) {
        fs::create_dir_all(folder).unwrap();
        chown(folder, Some(self.user), Some(self.user)).unwrap();
    }
    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        command.uid(self.user).gid(self.user).env_remove("HOME").current_dir("/").stdin(Stdio::null());
        command
    }
    fn make(&self) {
        self.own(&self.data);
        fs::set_permissions(&self.data, fs::Permissions::from_mode(0o700)).unwrap();
        let made = self.program("initdb").args(["--no-sync", "-A", "trust", "-D"]).arg(&self.data).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }
    fn start(&self) {
        let log = self.run.join("log");
        let settings = format!(
            "-k {} -c listen_addresses='' -c shared_buffers=16MB -c fsync=off -c autovacuum=off -c max_wal_size=64MB",
            self.run.display()
        );
        let mut start = self.program("pg_ctl");
        start.args(["-w", "-s", "-o", &settings, "-D"]).arg(&self.data).arg("-l").arg(&log).arg("start");
        let started = start.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        assert!(started.success(), "{}", fs::read_to_string(log).unwrap_or_default());
    }
    fn stop(&self, mode: &str) {
        let mut stop = self.program("pg_ctl");
        let _ = stop.args(["-w", "-s", "-m", mode, "-D"]).arg(&self.data).arg("stop").output();
    }
    fn connection(&self) -> String {
        format!("host={} dbname=postgres", self.run.display())
    }
    fn pgbench(&self, arguments: &[&str]) -> Command {
        let mut command = self.program("pgbench");
        command.arg("-h").arg(&self.run).args(arguments).arg("postgres").stdout(Stdio::null()).stderr(Stdio::null());
        command
    }
    fn ask(&self, statement: &str) -> String {
        let output =
            self.program("psql").args(["-X", "-A", "-t", "-d", &self.connection(), "-c", statement]).output().unwrap();
        assert!(output.status.success(), "{statement}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }
    fn history(&self) -> u64 {
        self.ask("select count(*) from pgbench_history").parse().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop("immediate");
    }
}

/// pgbench until it is dropped.
struct Load(Child);

impl Load {
    fn start(server: &Server) -> Self {
        Self(server.pgbench(&["-n", "-c", "2", "-T", "600"]).spawn().unwrap())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn of_postgres(config: &mut ShelterConfig, server: &Server) {
    config.groups[0].moment = Moment::Postgres(server.connection());
}

/// Saves under load; returns how many transactions must come back.
fn saved_under_load(shelter: &mut Shelter, server: &Server) -> u64 {
    server.make();
    server.start();
    assert!(server.pgbench(&["-i", "-q", "-s", "1"]).status().unwrap().success());
    let load = Load::start(server);
    let mut least = 0;
    for round in 0..3 {
        let before = server.history();
        while server.history() < before + 20 {
            std::thread::yield_now();
        }
        least = server.history();
        let report = shelter.save(&unpaced()).unwrap().unwrap();
        assert!(report.failed.is_empty() && report.fuzzy.is_empty() && report.inexact.is_empty(), "{report:?}");
        assert!(round == 0 || report.deletions.is_empty(), "its log goes and comes: {report:?}");
    }
    drop(load);
    least
}

/// The restored server starts, and nothing of a transaction is missing.
fn judge(server: &Server, least: u64) {
    assert!(server.data.join("backup_label").exists() && !server.data.join("postmaster.pid").exists());
    server.start();
    assert_eq!(server.ask(DIFFERENCES), "0|0|0");
    let found = server.history();
    assert!(found >= least, "{found} transactions came back, {least} were there before the save");
    // It goes on as any other server.
    assert!(server.pgbench(&["-n", "-t", "5"]).status().unwrap().success());
    assert_eq!(server.ask(DIFFERENCES), "0|0|0");
}

#[test]
fn a_server_under_load_comes_back_from_a_repository_by_reflinks() {
    let Some(mut world) = LoopWorld::new() else { return };
    let Some(server) = Server::at(world.path("disk/data"), world.path("run")) else { return };
    let mut config = world.config("xfs", "");
    of_postgres(&mut config, &server);
    let mut first = shelter(&config);
    if let Err(error) = first.restore() {
        println!("skipped: no XFS here: {error}");
        return;
    }
    let least = saved_under_load(&mut first, &server);
    server.stop("immediate");
    drop(first);
    world.lose();
    world.insert().unwrap();
    shelter(&config).restore().unwrap();
    judge(&server, least);
    server.stop("immediate");
}

#[test]
fn a_server_without_reflinks_comes_back_rests_and_is_saved_when_it_is_stopped() {
    let mut world = World::new("[group.data]\nclass = \"files\"\npaths = [\"pg\"]\nrecovery_point = \"1 s\"\n");
    let Some(server) = Server::at(world.disk("pg"), world.path("run")) else { return };
    of_postgres(&mut world.config, &server);
    let mut first = world.started();
    let least = saved_under_load(&mut first, &server);
    // Sessions that end write a little, and so does the server by itself a while later; then nothing changes.
    while server.ask("select count(*) from pg_stat_activity where application_name = 'pgbench'") != "0" {
        std::thread::yield_now();
    }
    assert!((0..5).any(|_| save(&mut first).is_none()), "a server at rest is not saved again and again");
    let generation = first.generation();
    // One more transaction, which only the log has.
    let one = server.ask("insert into pgbench_history (tid, bid, aid, delta) values (1, 1, 1, 0) returning 1");
    assert!(one.starts_with('1'));
    assert_eq!(save(&mut first).unwrap().generation, generation + 1);
    drop(first);
    server.stop("immediate");
    world.lose_disk();
    world.insert_disk();
    world.started();
    judge(&server, least + 1);
    // Stopped in good order: its files are saved as they lie there, without any server.
    server.stop("fast");
    let count = |server: &Server| server.history();
    let mut second = world.started();
    assert!(save(&mut second).unwrap().failed.is_empty());
    assert!(save(&mut second).is_none());
    drop(second);
    world.lose_disk();
    world.insert_disk();
    world.started();
    assert!(!server.data.join("backup_label").exists());
    server.start();
    assert!(count(&server) >= least + 1 + 5);
}

#[test]
fn a_server_of_another_folder_and_one_that_does_not_answer_fail_the_group() {
    let groups =
        "[group.data]\nclass = \"files\"\npaths = [\"pg\"]\n[group.other]\nclass = \"files\"\npaths = [\"other\"]\n";
    let mut world = World::new(groups);
    let Some(server) = Server::at(world.path("elsewhere"), world.path("run")) else { return };
    of_postgres(&mut world.config, &server);
    fs::create_dir_all(world.disk("pg/global")).unwrap();
    fs::create_dir_all(world.disk("other")).unwrap();
    fs::write(world.disk("other/a"), "x").unwrap();
    fs::write(world.disk("pg/global/pg_control"), [7; 8192]).unwrap();
    let mut shelter = world.shelter();
    let mut failure = |why: &str, files: u64| {
        std::thread::sleep(crate::saving::READ_AGAIN);
        let saved =
            if shelter.generation() == 0 { shelter.adopt().map(|done| done.saved) } else { shelter.save(&unpaced()) };
        let said = match saved {
            Ok(report) => {
                let report = report.unwrap();
                assert_eq!(report.files, files);
                report.failed["data"].clone()
            }
            Err(error) => error.to_string(),
        };
        assert!(said.contains(why), "{said}");
    };
    failure("they have no PG_VERSION", 1);
    fs::write(world.disk("pg/PG_VERSION"), "15\n").unwrap();
    chown(world.disk("pg/PG_VERSION"), Some(server.user), Some(server.user)).unwrap();
    fs::write(world.disk("pg/postmaster.pid"), "1\n").unwrap();
    failure("psql: ", 0);
    server.make();
    server.start();
    failure("the server works on another data folder", 0);
    fs::create_dir_all(world.disk("pg/pg_tblspc")).unwrap();
    std::os::unix::fs::symlink("/elsewhere", world.disk("pg/pg_tblspc/16384")).unwrap();
    failure("pg/pg_tblspc/16384 leads out of the data folder", 0);
}
