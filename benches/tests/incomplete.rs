//! The output of a section that did not reach its end.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// A program called fio that reports the same result each time, but fails from its run number `fails_from` on.
fn fio(folder: &Path, fails_from: u32) -> String {
    let (program, runs) = (folder.join("fio"), folder.join("runs"));
    let result = r#"{"jobs": [{"error": 0, "read": {"iops": 1000.0, "total_ios": 3000,
        "clat_ns": {"max": 9, "percentile": {"50.000000": 5, "90.000000": 6, "99.000000": 7}},
        "lat_ns": {"max": 9, "percentile": {"50.000000": 5, "90.000000": 6, "99.000000": 7}}}}]}"#;
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && {{ echo fio-0; exit; }}\necho >> {runs}\n\
         [ $(wc -l < {runs}) -ge {fails_from} ] && {{ echo the peer is broken >&2; exit 1; }}\n\
         cat <<'END'\n{result}\nEND\n",
        runs = runs.display()
    );
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap())
}

fn bench(path: &str, rounds: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_versus-peers"));
    command.args(["null", "--seconds", "2", "--rounds", rounds]).env("PATH", path);
    command
}

#[test]
fn a_peer_that_fails_leaves_the_rounds_before_it_and_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    // Ten runs measure the cost of starting; each round has two more.
    let output = bench(&fio(folder.path(), 13), "2").output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("## INCOMPLETE: null: millions") && told.contains("1 (1 of 2 rounds)"), "{told}");
    assert!(told.contains("\nIncomplete: null\n"), "{told}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("the peer is broken"));
}

#[test]
fn a_signal_leaves_the_rounds_before_it_and_the_status_of_an_interruption() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = bench(&fio(folder.path(), u32::MAX), "50");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    // Three lines make a round.
    assert_eq!(lines.by_ref().take(4).filter(|line| line.as_ref().unwrap().contains("null read")).count(), 4);
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM).unwrap();
    let said = lines.map_while(Result::ok).collect::<String>();
    assert!(said.contains("interrupted"), "{said}");
    let mut told = String::new();
    child.stdout.take().unwrap().read_to_string(&mut told).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{told}");
    assert!(told.contains("## INCOMPLETE: null: millions") && told.contains("1 (1 of 50 rounds)"), "{told}");
}
