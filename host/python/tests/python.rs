//! The package in the interpreter of the system, without any package of others: its own tests, and the examples of its page.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The oldest Python that the package is for.
const PYTHON_OLDEST: &str = "import sys; sys.exit(sys.version_info < (3, 10))";

/// The extension module, which lies beside this test.
fn extension() -> PathBuf {
    let own = std::env::current_exe().expect("a test has a file");
    own.parent().expect("it lies in a folder").join("lib_loadline.so")
}

/// The package as it is installed; `None` where there is no Python for it.
fn installed() -> Option<(tempfile::TempDir, PathBuf)> {
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers/python/bin/python");
    let python = if peers.is_file() { peers } else { PathBuf::from("python3") };
    let found = Command::new(&python).args(["-c", PYTHON_OLDEST]).status();
    if !found.is_ok_and(|status| status.success()) {
        println!("skipped: the Python package (there is no python3 of 3.10 or newer)");
        return None;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let package = folder.path().join("loadline");
    std::fs::create_dir(&package).expect("a folder in it");
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("loadline")).expect("the package") {
        let path = entry.expect("an entry").path();
        if path.is_file() {
            std::fs::copy(&path, package.join(path.file_name().expect("a file has a name"))).expect("a copy");
        }
    }
    std::os::unix::fs::symlink(extension(), package.join("_loadline.abi3.so")).expect("a link");
    Some((folder, python))
}

#[test]
fn the_package_does_what_the_command_does() {
    let Some((folder, python)) = installed() else { return };
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/package.py");
    let output = Command::new(python)
        .arg(tests)
        .current_dir(folder.path())
        .env("PYTHONPATH", folder.path())
        .env("HOME", folder.path())
        .env("XDG_DATA_HOME", folder.path())
        .env_remove("LOADLINE_STORE")
        .env("LOADLINE_DOCUMENTS", Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs"))
        .output()
        .expect("python3 can be started");
    let said = String::from_utf8_lossy(&output.stderr);
    for line in said.lines().filter(|line| line.starts_with("skipped: ")) {
        println!("{line}");
    }
    assert!(output.status.success(), "{said}");
}
