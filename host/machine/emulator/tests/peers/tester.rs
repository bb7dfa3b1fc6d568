//! The nbd package's own test program, `nbd-tester-client`: `cargo xtask peers` builds it from Debian's source.

use crate::encrypted;
use loadline_disk::{DiskSpec, EnvironmentSpec, InitialState, VolumeSpec};
use loadline_emulator::{Backing, Emulation, EmulationSettings, Tls};
use loadline_units::Bytes;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Seconds that each of its tests may take, also beside others on a slow machine.
const PATIENCE_S: &str = "900";

/// Where it is built, with its source beside it.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/peers/nbd")
}

/// One disk of 50 MiB, as large as the recorded requests want; of zeroes, which they expect.
fn served() -> Option<(Emulation, tempfile::TempDir)> {
    if !folder().join("nbd-tester-client").is_file() {
        println!("skipped: the nbd package's own tests (nbd-tester-client is not here: cargo xtask peers)");
        return None;
    }
    let disk = DiskSpec { size: Some(Bytes::mib(50)), ..DiskSpec::default() };
    let volume = VolumeSpec { name: "data".into(), disks: vec![disk], ..VolumeSpec::default() };
    let environment = EnvironmentSpec { name: "test".into(), volumes: vec![volume], ..EnvironmentSpec::default() };
    let settings = EmulationSettings {
        seed: 1,
        initial: InitialState::default(),
        backing: Backing::Memory { max: Bytes::gib(1) },
        trace: None,
        write_cache: Bytes::mib(16),
        lie_about_flush: false,
        spin: false,
        hasten: true,
    };
    let folder = tempfile::tempdir().unwrap();
    let mut emulation = Emulation::start(&environment, &settings).unwrap();
    emulation.listen_unix(&folder.path().join("s")).unwrap();
    Some((emulation, folder))
}

/// Whether a test of the program passes; what it says goes to a file, as it says a great deal.
fn passes(folder: &Path, words: &[&str]) -> Result<(), String> {
    let log = folder.join("log");
    let out = std::fs::File::create(&log).unwrap();
    let status = Command::new("timeout")
        .arg(PATIENCE_S)
        .arg(self::folder().join("nbd-tester-client"))
        .args(["-N", "data"])
        .args(words)
        .stdout(out.try_clone().unwrap())
        .stderr(Stdio::from(out))
        .status()
        .unwrap();
    let said = String::from_utf8_lossy(&std::fs::read(&log).unwrap()).into_owned();
    let end: String = said.chars().rev().take(400).collect::<Vec<_>>().into_iter().rev().collect();
    if status.success() { Ok(()) } else { Err(format!("{words:?} ended with {status}: {end}")) }
}

/// Requests that were recorded, with what they read.
fn recorded(name: &str) -> Option<String> {
    let sources = std::fs::read_dir(folder()).ok()?.flatten();
    let path = sources.map(|entry| entry.path().join("tests/run").join(name)).find(|path| path.is_file())?;
    Some(path.to_str()?.to_owned())
}

#[test]
fn recorded_requests_read_what_they_read_when_they_were_recorded() {
    for name in ["integrity-test.tr", "integrityhuge-test.tr"] {
        // Anew for each: they expect zeroes where they wrote nothing.
        let Some((_emulation, folder)) = served() else { return };
        let (requests, socket) = (recorded(name).expect("the source has it"), folder.path().join("s"));
        passes(folder.path(), &["-i", "-t", &requests, "-u", socket.to_str().unwrap()]).unwrap();
    }
}

#[test]
fn its_tests_pass_over_a_unix_socket() {
    let Some((emulation, folder)) = served() else { return };
    let socket = folder.path().join("s");
    let socket = socket.to_str().unwrap();
    // Reads, writes, flushed writes, requests of any length, the talk at the beginning.
    for words in [&[][..], &["-w"], &["-w", "-f"], &["-o"], &["-h"]] {
        passes(folder.path(), &[words, &["-u", socket]].concat()).unwrap();
    }
    assert_eq!(emulation.figures()[0].errors_total(), 0);
    let unknown = Command::new(self::folder().join("nbd-tester-client")).args(["-N", "nothing", "-u", socket]).output();
    assert!(!unknown.unwrap().status.success(), "an export that is not there");
}

#[test]
fn its_tests_pass_over_tcp() {
    let Some((mut emulation, folder)) = served() else { return };
    let address = emulation.listen_tcp("127.0.0.1:0".parse().unwrap()).unwrap();
    let port = address.port().to_string();
    for words in [&["127.0.0.1", &port][..], &["-w", "-f", "127.0.0.1", &port], &["-h", "127.0.0.1", &port]] {
        passes(folder.path(), words).unwrap();
    }
}

#[test]
fn its_tests_pass_encrypted() {
    let Some((mut emulation, folder)) = served() else { return };
    let Some(own) = encrypted::certificates(folder.path()) else {
        println!("skipped: the nbd package's own tests over TLS (openssl is not here)");
        return;
    };
    emulation.encrypt(Tls::read(&own, true).unwrap());
    let address = emulation.listen_tcp("127.0.0.1:0".parse().unwrap()).unwrap();
    let port = address.port().to_string();
    let file = |name: &str| own.join(name).to_str().unwrap().to_owned();
    let (certificate, key, authority) = (file("client-cert.pem"), file("client-key.pem"), file("ca-cert.pem"));
    let identity = ["-C", &certificate, "-K", &key, "-A", &authority, "-H", "localhost", "127.0.0.1", &port];
    let integrity = recorded("integrityhuge-test.tr").expect("the source has it");
    passes(folder.path(), &[&["-i", "-t", &integrity][..], &identity].concat()).unwrap();
    // Whoever shows no certificate gets nothing.
    assert!(passes(folder.path(), &["127.0.0.1", &port]).is_err());
}
