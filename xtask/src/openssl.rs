//! What is built with OpenSSL where its headers are there: keys shared in advance (TLS-PSK), the feature `psk`.

use crate::peers;
use crate::step::{Outcome, cargo, check, clippy_with};
use std::path::Path;
use std::process::Command;

/// Debian's packages of the headers, and of what finds them.
const PACKAGES: [&str; 2] = ["libssl-dev", "pkg-config"];
/// It turns on that of the emulator too. With the whole workspace chosen, as in the other steps, nothing below the emulator is built anew.
const FEATURE: [&str; 2] = ["--features", "loadline/psk"];

/// The step of the gate. Missing headers never fail it.
pub(crate) fn step(root: &Path) -> Outcome {
    if !headers() && peers::is_root() {
        let install = [&["install"][..], &PACKAGES].concat();
        if !peers::apt(&install) {
            peers::apt(&["update"]);
            peers::apt(&install);
        }
    }
    if !headers() {
        let note = format!(
            "skipped: clients with keys shared in advance (the headers of OpenSSL are not there: apt-get install {})",
            PACKAGES.join(" ")
        );
        return Outcome { skipped: 1, notes: vec![note], ..Outcome::default() };
    }
    let clippy = clippy_with(root, &FEATURE);
    let mut command = cargo(root);
    command.args(["test", "--workspace"]).args(FEATURE).args(["--test", "peers", "--test", "cli", "--"]);
    let tests = check(command.args(["shared_keys::", "psk::"]), "tests with the feature `psk` fail: see above");
    Outcome {
        passed: clippy.passed + tests.passed,
        failed: clippy.failed + tests.failed,
        notes: [clippy.notes, tests.notes].concat(),
        ..Outcome::default()
    }
}

/// Whether the build would find them, as it looks for them itself.
fn headers() -> bool {
    let found = Command::new("pkg-config").args(["--atleast-version=1.1.1", "openssl"]).status();
    std::env::var_os("OPENSSL_DIR").is_some() || found.is_ok_and(|status| status.success())
}
