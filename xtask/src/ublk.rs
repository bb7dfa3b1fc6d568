//! Volumes attached by ublk, tried from end to end in a small virtual machine: its kernel has the driver whether or not this one's does.

use crate::step::{Outcome, cargo, must};
use anyhow::{Context, Result};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// Names an unpacked Debian package of a kernel where the gate is to try it.
const VARIABLE: &str = "LOADLINE_UBLK_KERNEL";
/// What `--kernel` named.
static KERNEL: OnceLock<PathBuf> = OnceLock::new();

/// The last line that it prints.
const END: &str = "end of checks";
/// Seconds that it may take: its processor is emulated.
const SECONDS_MAX: u32 = 1_800;

/// Without an instruction that QEMU 7.2 emulates in a way that crashes the kernel.
const PROCESSOR: &str = "Nehalem,-cx16";

/// Commands that it has of this machine's; the first is linked statically.
const PROGRAMS: [&str; 6] = ["busybox", "mkfs.ext4", "blkdiscard", "fallocate", "losetup", "fstrim"];

/// Has the step try this kernel.
pub(crate) fn choose(kernel: &str) {
    let _ = KERNEL.set(kernel.into());
}

/// The step of the gate. Without a kernel or a program for it, it is left out.
pub(crate) fn step(root: &Path) -> Outcome {
    let skip = |why: &str| Outcome::skip(format!("volumes attached by ublk ({why})"));
    let chosen = KERNEL.get().cloned().or_else(|| std::env::var_os(VARIABLE).map(PathBuf::from));
    let Some(folder) = chosen else {
        return skip(&format!(
            "no kernel to try: unpack a linux-image package with ublk_drv and name the folder by {VARIABLE} or `cargo xtask ublk --kernel`"
        ));
    };
    let mut needed = ["qemu-system-x86_64", "xz", "ldd"].into_iter().chain(PROGRAMS);
    if let Some(missing) = needed.find(|name| crate::peers::find(name).is_none()) {
        return skip(&format!("{missing} is not there"));
    }
    run(root, &folder).unwrap_or_else(|error| Outcome::fail(format!("{error:#}")))
}

fn run(root: &Path, kernel: &Path) -> Result<Outcome> {
    let loadline = build(root)?;
    let folder = root.join("target/ublk");
    let init = root.join("xtask/src/ublk/init.sh");
    let mut memory = Command::new("sh");
    memory.arg(root.join("xtask/src/ublk/memory.sh")).args([kernel, &folder, &loadline]);
    memory.args(PROGRAMS.iter().filter_map(|name| crate::peers::find(name)));
    must(memory.stdin(File::open(init)?)).context("the machine's memory")?;
    boot(&folder)
}

/// Builds `loadline`, and tells where it is.
fn build(root: &Path) -> Result<PathBuf> {
    must(cargo(root).args(["build", "--package", "loadline"]))?;
    Ok(crate::step::target(root).join("debug/loadline"))
}

/// Runs the machine, and reads what it prints.
fn boot(folder: &Path) -> Result<Outcome> {
    let mut command = Command::new("timeout");
    command
        .arg(SECONDS_MAX.to_string())
        .args(["qemu-system-x86_64", "-accel", "tcg,thread=single", "-cpu", PROCESSOR, "-smp", "2", "-m", "2048"])
        .args(["-display", "none", "-serial", "stdio", "-monitor", "none", "-no-reboot", "-nic", "none"])
        .args(["-kernel", "kernel", "-initrd", "initrd"])
        .current_dir(folder)
        .args(["-append", "console=ttyS0 panic=1 quiet"]);
    let mut machine = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {command:?}"))?;
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
        // What the machine does first.
        const INIT: &str = include_str!("ublk/init.sh");
        let list = INIT.split_once("\nfor check in ").unwrap().1.split_once("; do").unwrap().0;
        let names: Vec<&str> = list.split_whitespace().filter(|word| *word != "\\").collect();
        assert!(names.len() > 10 && names.iter().all(|name| INIT.contains(&format!("\n{name}() {{"))), "{names:?}");
        assert!(INIT.contains(&format!("echo \"{END}\"")));
    }
}
