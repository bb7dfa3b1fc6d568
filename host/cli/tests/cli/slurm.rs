//! The scripts of the pages about hosts under Slurm itself: a controller and four nodes on this machine, in a folder of their own.

use crate::hosts::{LEAD_S, example, programs_in, scaled, small_plan};
use crate::{Bench, entries, text};
use std::fmt::Write as _;
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const NODES: usize = 4;
/// What is waited for is there by then, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);

/// A Slurm that lives as long as this does.
struct Slurm {
    folder: tempfile::TempDir,
    /// The nodes before the controller, and that before what it trusts.
    daemons: Vec<Child>,
}

impl Slurm {
    /// `None`, and said so: it is not installed, or this is not root.
    fn begin() -> Option<Self> {
        let is_there = |program: &str| ["/usr/sbin", "/usr/bin"].iter().any(|at| Path::new(at).join(program).is_file());
        if let Some(absent) =
            ["slurmctld", "slurmd", "munged", "sbatch", "srun"].into_iter().find(|name| !is_there(name))
        {
            println!(
                "skipped: the scripts for Slurm under Slurm itself ({absent} is not there: apt-get install slurm-wlm munge)"
            );
            return None;
        }
        if !is_root() {
            println!("skipped: the scripts for Slurm under Slurm itself (not root)");
            return None;
        }
        let mut slurm = Self { folder: tempfile::tempdir().unwrap(), daemons: Vec::new() };
        slurm.configure();
        let at = |name: &str| slurm.folder.path().join(name).display().to_string();
        let [key, socket, own, log, seed, configuration] =
            ["key", "socket", "pid", "log", "seed", "slurm.conf"].map(at);
        let munge =
            ["--key-file", &key, "--socket", &socket, "--pid-file", &own, "--log-file", &log, "--seed-file", &seed];
        slurm.start("munged", &[&munge[..], &["--foreground", "--force"]].concat());
        awaited("a socket of munged", || Path::new(&socket).exists());
        slurm.start("slurmctld", &["-D", "-f", &configuration]);
        for node in 1..=NODES {
            slurm.start("slurmd", &["-D", "-f", &configuration, "-N", &format!("node{node}")]);
        }
        awaited("idle nodes", || {
            let shown = text(&slurm.command("sinfo", &["-h", "-N", "-o", "%T"]).output().unwrap().stdout);
            shown.lines().filter(|state| *state == "idle").count() == NODES
        });
        Some(slurm)
    }

    fn configure(&self) {
        let at = |name: &str| self.folder.path().join(name);
        for name in ["state", "spool"] {
            fs::create_dir(at(name)).unwrap();
        }
        fs::write(at("key"), [7; 64]).unwrap();
        fs::set_permissions(at("key"), std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        // Listeners that are gone at the end of this leave their ports free.
        let listeners: Vec<TcpListener> = (0..=NODES).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let ports: Vec<u16> = listeners.iter().map(|listener| listener.local_addr().unwrap().port()).collect();
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        let host = host.trim().split('.').next().unwrap();
        let folder = self.folder.path().display();
        let mut lines = format!(
            "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={}\nSlurmUser=root\nSlurmdUser=root\n\
             AuthType=auth/munge\nCredType=cred/munge\nAuthInfo=socket={folder}/socket\nStateSaveLocation={folder}/state\n\
             SlurmdSpoolDir={folder}/spool/%n\nSlurmctldPidFile={folder}/slurmctld.pid\nSlurmdPidFile={folder}/%n.pid\n\
             SlurmctldLogFile={folder}/slurmctld.log\nSlurmdLogFile={folder}/%n.log\nProctrackType=proctrack/linuxproc\n\
             TaskPlugin=task/none\nJobAcctGatherType=jobacct_gather/none\nAccountingStorageType=accounting_storage/none\n\
             MpiDefault=none\nReturnToService=2\nSelectType=select/linear\n",
            ports[0]
        );
        for (node, port) in (1..=NODES).zip(&ports[1..]) {
            fs::create_dir(at("spool").join(format!("node{node}"))).unwrap();
            let _ = writeln!(lines, "NodeName=node{node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1");
        }
        fs::write(at("slurm.conf"), lines + "PartitionName=all Nodes=ALL Default=YES State=UP\n").unwrap();
    }

    fn start(&mut self, program: &str, words: &[&str]) {
        let daemon = self.command(program, words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        self.daemons.insert(0, daemon);
    }

    fn command(&self, program: &str, words: &[&str]) -> Command {
        let mut command = Command::new(program);
        let path = format!("/usr/sbin:/usr/bin:{}", std::env::var("PATH").unwrap());
        command.args(words).env("PATH", path).env("SLURM_CONF", self.folder.path().join("slurm.conf"));
        command.stdin(Stdio::null());
        command
    }

    /// Submits a script in the folder of the bench; what its job printed when it is done.
    fn done(&self, bench: &Bench, script: &str, output: &str) -> String {
        let file = bench.file("script.sh", script);
        let mut submit = self.command("sbatch", &["--parsable", "-o", output, &file]);
        let path = format!("{}:/usr/sbin", programs_in(bench, &[]));
        let environment =
            [("PATH", path.into()), ("HOME", bench.path("home")), ("LOADLINE_STORE", bench.path("store.db"))];
        let submitted: Output = submit.current_dir(bench.path(".")).envs(environment).output().unwrap();
        assert!(submitted.status.success(), "{}", text(&submitted.stderr));
        let job = text(&submitted.stdout).trim().to_owned();
        let state = || text(&self.command("scontrol", &["show", "job", &job]).output().unwrap().stdout);
        let is_over =
            |state: &str| !["PENDING", "RUNNING", "COMPLETING", "CONFIGURING"].iter().any(|at| state.contains(at));
        awaited(&format!("an end of job {job}"), || is_over(&state()));
        let (state, printed) = (state(), fs::read_to_string(bench.path(output)).unwrap_or_default());
        let finished = state.matches("JobState=COMPLETED").count();
        assert_eq!(finished, state.matches("JobState=").count(), "{state}\n{printed}");
        printed
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        // Jobs of a test that failed end before their nodes do.
        let _ = self.command("scancel", &["--user", "root"]).status();
        for daemon in &mut self.daemons {
            let _ = Command::new("kill").arg(daemon.id().to_string()).status();
            let _ = daemon.wait();
        }
    }
}

/// Whether the effective user is root.
fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output().unwrap();
    text(&output.stdout).trim() == "0"
}

/// Waits until something is so.
fn awaited(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "there is never {what}");
        sleep(Duration::from_millis(100));
    }
}

/// A folder of the bench; its path.
fn folder(bench: &Bench, name: &str) -> String {
    fs::create_dir(bench.path(name)).unwrap();
    bench.path(name).display().to_string()
}

#[test]
fn the_scripts_for_slurm_do_under_slurm_what_the_page_says() {
    let Some(slurm) = Slurm::begin() else { return };
    let bench = Bench::new();
    small_plan(&bench);
    folder(&bench, "home");
    let script = example("Slurm")
        .replace("+60 seconds", &format!("+{LEAD_S} seconds"))
        .replace("/mnt/shared", &folder(&bench, "shared"));
    // In steps, as it stands.
    let printed = slurm.done(&bench, &script, "steps.txt");
    assert!(printed.contains("With more hosts") && printed.contains("held by"), "{printed}");
    assert!(!printed.contains("rank-0.db"), "ranks print nothing of their own: {printed}");
    let merged = bench.last();
    assert_eq!(scaled(&merged), [1, 2, i64::try_from(NODES).unwrap()]);
    // All nodes at once.
    slurm.done(&bench, &script.replace("--hosts 1,2,4 ", ""), "once.txt");
    let merged = bench.last();
    assert_eq!(merged["cells"].as_array().unwrap().len(), 1);
    assert_eq!(merged["cells"][0]["hosts"]["hosts"].as_array().unwrap().len(), NODES);
    // Each job has its ranks in a folder of its own.
    let jobs = entries(&bench.path("home"));
    assert_eq!(jobs.len(), 2, "{jobs:?}");
    for job in jobs {
        assert_eq!(entries(&bench.path("home").join(job)).len(), 2 * NODES, "a store and a report of each rank");
    }
}

#[test]
fn the_sweep_for_slurm_writes_all_parts_of_the_whole() {
    let Some(slurm) = Slurm::begin() else { return };
    let bench = Bench::new();
    small_plan(&bench);
    let shared = folder(&bench, "shared");
    let environments = folder(&bench, "shared/environments");
    for name in ["ds3-p30", "ds3-p10", "d4s-v5-p10", "d4s-v5-p30", "a3-standard"] {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../environments/{name}.toml"));
        fs::copy(from, Path::new(&environments).join(format!("{name}.toml"))).unwrap();
    }
    // As many tasks as there are nodes, and rows that a test can read.
    let script = example("On a cluster")
        .replace("1000", &NODES.to_string())
        .replace("/shared", &shared)
        .replace("parquet", "csv");
    slurm.done(&bench, &script, "sweep.txt");
    bench.done(&["predict", "plan.toml", "--env", &environments, "--limits-only", "-o", "whole.csv", "--quiet"]);
    let rows = |file: &Path| -> Vec<String> {
        let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        text.lines().skip(1).map(str::to_owned).collect()
    };
    let parts = (1..=NODES).flat_map(|part| rows(&bench.path(&format!("shared/rows/{part}.csv"))));
    let (parts, whole) = (parts.collect::<Vec<_>>(), rows(&bench.path("whole.csv")));
    assert!(whole.len() >= 5, "{whole:?}");
    assert_eq!(parts, whole);
}
