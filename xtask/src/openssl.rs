//! What is built with OpenSSL where its headers are there: keys shared in advance (TLS-PSK), the feature `psk`.

use crate::gate::{Outcome, clippy_with};
use crate::{peers, test_output};
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
    let programs = [&FEATURE[..], &["--test", "peers", "--test", "cli"]].concat();
    let tests = test_output::run(root, &programs, &["shared_keys::", "psk::"]);
    Outcome {
        passed: clippy.passed + tests.passed,
        failed: clippy.failed + tests.failed,
        skipped: clippy.skipped + tests.skipped,
        notes: [clippy.notes, tests.notes].concat(),
    }
}

/// Whether the build would find them, as it looks for them itself.
fn headers() -> bool {
    let found = Command::new("pkg-config").args(["--atleast-version=1.1.1", "openssl"]).status();
    std::env::var_os("OPENSSL_DIR").is_some() || found.is_ok_and(|status| status.success())
}
