//! Volumes attached by ublk, tried from end to end in a small virtual machine: its kernel has the driver whether or not this one's does.

mod machine;

use crate::step::{Outcome, cargo};
use machine::Kernel;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// Names an unpacked Debian package of a kernel where the gate is to try it.
const VARIABLE: &str = "LOADLINE_UBLK_KERNEL";
/// What `--kernel` named.
static KERNEL: OnceLock<PathBuf> = OnceLock::new();

/// What the machine does first.
const INIT: &str = include_str!("ublk/init.sh");
/// The last line that it prints.
const END: &str = "end of checks";
/// Seconds that it may take: its processor is emulated.
const SECONDS_MAX: u32 = 1_800;

/// Without an instruction that QEMU 7.2 emulates in a way that crashes the kernel.
const PROCESSOR: &str = "Nehalem,-cx16";

/// Commands here, and where they are there; the first is linked statically.
const PROGRAMS: &[(&str, &str)] = &[
    ("busybox", "bin/busybox"),
    ("mkfs.ext4", "programs/mkfs.ext4"),
    ("blkdiscard", "programs/blkdiscard"),
    ("fallocate", "programs/fallocate"),
    ("losetup", "programs/losetup"),
    ("fstrim", "programs/fstrim"),
];

/// Has the step try this kernel.
pub(crate) fn choose(kernel: &str) {
    let _ = KERNEL.set(kernel.into());
}

/// The step of the gate. Without a kernel or a program for it, it is left out.
pub(crate) fn step(root: &Path) -> Outcome {
    let skip = |why: &str| Outcome {
        skipped: 1,
        notes: vec![format!("skipped: volumes attached by ublk ({why})")],
        ..Outcome::default()
    };
    let chosen = KERNEL.get().cloned().or_else(|| std::env::var_os(VARIABLE).map(PathBuf::from));
    let Some(folder) = chosen else {
        return skip(&format!(
            "no kernel to try: unpack a linux-image package with ublk_drv and name the folder by {VARIABLE} or `cargo xtask ublk --kernel`"
        ));
    };
    let missing = ["qemu-system-x86_64", "xz", "ldd"].into_iter().chain(PROGRAMS.iter().map(|(name, _)| *name));
    if let Some(missing) = missing.into_iter().find(|name| crate::peers::find(name).is_none()) {
        return skip(&format!("{missing} is not there"));
    }
    run(root, &folder).unwrap_or_else(Outcome::fail)
}

fn run(root: &Path, folder: &Path) -> Result<Outcome, String> {
    let kernel = Kernel::find(folder)?;
    let loadline = build(root)?;
    let place = loadline.with_file_name("ublk");
    std::fs::create_dir_all(&place).map_err(|error| format!("cannot make {}: {error}", place.display()))?;
    let stripped = place.join("loadline");
    let strip = Command::new("strip").arg("-o").args([&stripped, &loadline]).status();
    let ours = if strip.is_ok_and(|status| status.success()) { stripped } else { loadline };
    let mut programs = vec![(ours, "programs/loadline")];
    programs.extend(PROGRAMS.iter().filter_map(|(here, there)| Some((crate::peers::find(here)?, *there))));
    let memory = machine::memory(&kernel, &programs, INIT)?;
    let initrd = place.join("initrd");
    std::fs::write(&initrd, memory).map_err(|error| format!("cannot write {}: {error}", initrd.display()))?;
    boot(&kernel, &initrd)
}

/// Builds `loadline`, and tells where it is.
fn build(root: &Path) -> Result<PathBuf, String> {
    let mut command = cargo(root);
    command.args(["build", "--package", "loadline", "--message-format", "json-render-diagnostics"]);
    let built =
        command.stderr(Stdio::inherit()).output().map_err(|error| format!("cannot start {command:?}: {error}"))?;
    let messages = String::from_utf8_lossy(&built.stdout);
    let executable = messages.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let mut executable = executable.filter_map(|message| Some(PathBuf::from(message.get("executable")?.as_str()?)));
    executable.next_back().filter(|_| built.status.success()).ok_or_else(|| "loadline could not be built".into())
}

/// Runs the machine, and reads what it prints.
fn boot(kernel: &Kernel, initrd: &Path) -> Result<Outcome, String> {
    let mut command = Command::new("timeout");
    command
        .arg(SECONDS_MAX.to_string())
        .args(["qemu-system-x86_64", "-accel", "tcg,thread=single", "-cpu", PROCESSOR, "-smp", "2", "-m", "2048"])
        .args(["-display", "none", "-serial", "stdio", "-monitor", "none", "-no-reboot", "-nic", "none"])
        .arg("-kernel")
        .arg(&kernel.image)
        .arg("-initrd")
        .arg(initrd)
        .args(["-append", "console=ttyS0 panic=1 quiet"]);
    let mut machine = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot start {command:?}: {error}"))?;
    let mut outcome = Outcome::default();
    let mut ended = false;
    let console = machine.stdout.take().expect("stdout is piped");
    for line in BufReader::new(console).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end();
        println!("{line}");
        read(line, &mut outcome);
        ended |= line == END;
    }
    let _ = machine.wait();
    if !ended {
        outcome.failed += 1;
        outcome.notes.push("the machine with ublk did not come to the end of its checks".into());
    }
    Ok(outcome)
}

/// Counts what a line tells.
fn read(line: &str, outcome: &mut Outcome) {
    if line.starts_with("ok: ") {
        outcome.passed += 1;
    } else if line.starts_with("FAILED: ") {
        outcome.failed += 1;
        outcome.notes.push(line.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_of_the_machine_are_counted() {
        let mut outcome = Outcome::default();
        for line in ["ok: one", "some words", "FAILED: two", "ok: three"] {
            read(line, &mut outcome);
        }
        assert_eq!((outcome.passed, outcome.failed, outcome.notes), (2, 1, vec!["FAILED: two".to_owned()]));
    }

    #[test]
    fn every_check_is_one_of_the_machines_functions() {
        let list = INIT.split_once("\nfor check in ").unwrap().1.split_once("; do").unwrap().0;
        let names: Vec<&str> = list.split_whitespace().filter(|word| *word != "\\").collect();
        assert!(names.len() > 10 && names.iter().all(|name| INIT.contains(&format!("\n{name}() {{"))), "{names:?}");
        assert!(INIT.contains(&format!("echo \"{END}\"")));
    }
}
