//! `emulate --tls-psk`: with the feature `psk`, and what is said without it.

use crate::Bench;

#[cfg(not(feature = "psk"))]
#[test]
fn a_program_without_openssl_says_how_to_build_one_with_it() {
    let bench = Bench::new();
    let keys = bench.file("keys.psk", "alice:0102030405060708\n");
    let told = bench.refused(1, &["emulate", "ds3-p30", "--tls-psk", &keys]);
    assert!(told.contains("libssl-dev") && told.contains("--features psk"), "{told}");
    assert_eq!(told.trim_end().lines().count(), 1, "{told}");
}

#[test]
fn keys_and_certificates_together_are_refused_with_the_reason() {
    let bench = Bench::new();
    let keys = bench.file("keys.psk", "alice:0102030405060708\n");
    let told = bench.refused(2, &["emulate", "ds3-p30", "--tls-psk", &keys, "--tls-certificates", "/etc/pki"]);
    assert!(told.contains("two libraries") && told.contains("a second emulation"), "{told}");
}

#[cfg(feature = "psk")]
mod with_openssl {
    use crate::Bench;
    use crate::emulate::{end, start};
    use std::io::{BufRead as _, BufReader};
    use std::os::unix::fs::PermissionsExt as _;
    use std::process::Command;

    const KEYS: &str = "alice:9f3c5e07d1a8b24690e1f7c3a5d2b488\nbob:00112233445566778899aabbccddeeff\n";

    fn keys(bench: &Bench, mode: u32) -> String {
        let keys = bench.file("keys.psk", KEYS);
        std::fs::set_permissions(&keys, std::fs::Permissions::from_mode(mode)).unwrap();
        keys
    }

    #[test]
    fn the_uris_that_it_prints_let_clients_in() {
        let bench = Bench::new();
        let keys = keys(&bench, 0o600);
        let mut child = start(&bench, &["--tls-psk", &keys, "--listen", "127.0.0.1:0", "--no-record"]);
        let mut said = String::new();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        while !said.contains("faults: ") {
            assert!(lines.read_line(&mut said).unwrap() > 0, "{said}");
        }
        let uris: Vec<&str> = said.split_whitespace().filter(|word| word.starts_with("nbds")).collect();
        let first = format!("nbds+unix://alice@/data?socket={}&tls-psk-file={keys}", bench.path("s").display());
        assert!(uris.len() == 10 && uris[0] == first && !said.contains("chmod"), "{said}");
        let answers: Vec<_> = uris.iter().map(|uri| Command::new("nbdinfo").arg(uri).output()).collect();
        assert_eq!(end(child, "-TERM").0, 0);
        for (uri, answer) in uris.iter().zip(answers) {
            let Ok(answer) = answer else {
                println!("skipped: nbdinfo is not here");
                return;
            };
            let told = crate::text(&answer.stdout);
            assert!(
                answer.status.success() && told.contains("with TLS"),
                "{uri}: {told}{}",
                crate::text(&answer.stderr)
            );
        }
    }

    #[test]
    fn a_file_that_others_may_read_is_used_with_a_warning() {
        let bench = Bench::new();
        let keys = keys(&bench, 0o644);
        let (status, _, said) = end(start(&bench, &["--tls-psk", &keys, "--no-record"]), "-TERM");
        assert!(status == 0 && said.contains(&format!("chmod 600 {keys}")), "{said}");
    }

    #[test]
    fn a_file_of_something_else_is_refused_by_its_line_without_its_keys() {
        let bench = Bench::new();
        let keys = bench.file("keys.psk", "alice:0102\nbob:5ec4e7xyz\n");
        let told = bench.refused(1, &["emulate", "ds3-p30", "--tls-psk", &keys]);
        assert!(told.contains(&format!("{keys}, line 2")) && !told.contains("5ec4e7"), "{told}");
        let missing = bench.path("none.psk").display().to_string();
        let told = bench.refused(1, &["emulate", "ds3-p30", "--tls-psk", &missing]);
        assert!(told.contains("cannot read the keys in") && told.contains(&missing), "{told}");
    }

    #[test]
    fn keys_let_it_listen_beyond_loopback() {
        let bench = Bench::new();
        let keys = keys(&bench, 0o600);
        let (status, _, said) =
            end(start(&bench, &["--tls-psk", &keys, "--listen", "0.0.0.0:0", "--no-record"]), "-TERM");
        assert!(status == 0 && said.contains("nbds://alice@0.0.0.0:"), "{said}");
    }
}
