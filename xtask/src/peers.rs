//! The programs that tests and benches compare with or lean on, and how they get onto a Debian machine.

use crate::step::{Outcome, is_long, said};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A Debian package, the command by which it is known to be there, and what goes untested without it.
struct Peer {
    package: &'static str,
    command: &'static str,
    tests: &'static str,
}

const PEERS: &[Peer] = &[
    Peer { package: "fio", command: "fio", tests: "agreement with fio" },
    Peer { package: "nbdkit", command: "nbdkit", tests: "devices that fail or fill up" },
    Peer { package: "libnbd-bin", command: "nbdinfo", tests: "NBD exports seen by another client" },
    Peer { package: "python3-libnbd", command: "nbdsh", tests: "every command and flag of NBD exports" },
    Peer { package: "nbdfuse", command: "nbdfuse", tests: "devices that stall" },
    Peer { package: "qemu-utils", command: "qemu-img", tests: "NBD exports seen by another client" },
    Peer { package: "hdparm", command: "hdparm", tests: "agreement with hdparm on sequential reads" },
    Peer { package: "btrfs-progs", command: "mkfs.btrfs", tests: "files on btrfs" },
    Peer { package: "xfsprogs", command: "mkfs.xfs", tests: "files on XFS" },
    Peer { package: "e2fsprogs", command: "mkfs.ext4", tests: "files on ext4" },
    Peer { package: "util-linux", command: "losetup", tests: "everything on loop devices" },
    Peer { package: "postgresql", command: "pg_ctlcluster", tests: "a database on an emulated disk" },
    Peer { package: "munge", command: "munged", tests: "the scripts for Slurm under Slurm itself" },
    Peer { package: "slurm-wlm", command: "slurmctld", tests: "the scripts for Slurm under Slurm itself" },
    Peer { package: "restic", command: "restic", tests: "repositories read, checked and restored by restic" },
    Peer { package: "chromium", command: "chromium", tests: "the HTML report in a browser" },
    Peer { package: "poppler-utils", command: "pdftotext", tests: "the HTML report on paper" },
];

/// A peer that `get.sh` gets, where it lies below `target/peers`, and what goes untested without it.
struct Other {
    name: &'static str,
    folder: &'static str,
    tests: &'static str,
    /// It is large, so that only the long test gets it.
    is_long: bool,
}

const OTHERS: [Other; 4] = [
    Other { name: "nbd_tester", folder: "nbd", tests: "NBD exports by the nbd package's own tests", is_long: false },
    Other { name: "axe", folder: "axe", tests: "pages by the rules of accessibility", is_long: true },
    Other { name: "consumers", folder: "", tests: "exports, Jobs and Python by other programs", is_long: true },
    Other { name: "stores", folder: "stores", tests: "repositories in others' object stores", is_long: true },
];
const GET: &str = include_str!("peers/get.sh");

/// Where Debian keeps commands; root's are not always in a user's `PATH`.
const FOLDERS: &[&str] = &["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// Installs what is missing where that is possible, and names what stays missing. A missing peer never fails the gate.
pub(crate) fn install(root: &Path) -> Outcome {
    let mut outcome = install_packages();
    for other in OTHERS.iter().filter(|other| is_long() || !other.is_long) {
        let mut get = Command::new("sh");
        get.args(["-c", GET, "get.sh", other.name]).arg(root.join("target/peers").join(other.folder));
        match said(&mut get) {
            Ok(_) => println!("{} is there", other.name),
            Err(reason) => {
                let reason = reason.to_string();
                let last = reason.lines().last().unwrap_or_default();
                outcome.add(Outcome::skip(format!("{} ({last})", other.tests)));
            }
        }
    }
    outcome
}

fn install_packages() -> Outcome {
    let absent = missing();
    if absent.is_empty() {
        println!("all {} are there", PEERS.len());
        return Outcome::pass();
    }
    let packages: Vec<&str> = absent.iter().map(|peer| peer.package).collect();
    println!("missing: {}", packages.join(" "));
    if !is_root() {
        println!("not root, so nothing is installed");
    } else if find("apt-get").is_none() {
        println!("no apt-get here, so nothing is installed");
    } else if !apt_install(packages.as_slice()) {
        println!("once more, with fresh lists and one by one");
        apt(&["update"]);
        for package in packages {
            apt_install(&[package]);
        }
    }
    let notes = missing().into_iter().map(|peer| {
        format!("skipped: {} ({} is not there: apt-get install {})", peer.tests, peer.command, peer.package)
    });
    let notes: Vec<String> = notes.collect();
    Outcome { passed: 1, skipped: notes.len() as u64, failed: 0, notes }
}

fn missing() -> Vec<&'static Peer> {
    PEERS.iter().filter(|peer| find(peer.command).is_none()).collect()
}

/// Where a command is.
pub(crate) fn find(command: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(FOLDERS.iter().map(Into::into));
    folders.map(|folder| folder.join(command)).find(|path| path.is_file())
}

/// Whether the effective user is root, as the kernel tells it.
pub(crate) fn is_root() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let uids = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    uids.and_then(|uids| uids.split_whitespace().nth(1)) == Some("0")
}

/// Debian's packages installed, as root alone may.
pub(crate) fn apt_install(packages: &[&str]) -> bool {
    apt(&[&["install"], packages].concat())
}

/// `apt-get` without questions and with bounds: an unreachable mirror costs minutes, not the gate.
fn apt(words: &[&str]) -> bool {
    let mut command = Command::new("timeout");
    command
        .args(["600", "apt-get", "-qq", "-y", "--no-install-recommends"])
        .args(["-o", "Acquire::Retries=1", "-o", "Acquire::http::Timeout=30", "-o", "DPkg::Lock::Timeout=120"])
        .args(words)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null());
    println!("apt-get {}", words.join(" "));
    command.status().is_ok_and(|status| status.success())
}
