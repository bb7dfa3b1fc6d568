//! `emulate --tls-psk`, which scripts may still give.

use crate::Bench;

#[test]
fn keys_shared_in_advance_are_refused_with_what_to_use_instead() {
    let bench = Bench::new();
    let keys = bench.file("keys.psk", "alice:0102030405060708\n");
    for more in [&[][..], &["--tls-certificates", "/etc/pki"]] {
        let told = bench.refused(2, &[&["emulate", "ds3-p30", "--tls-psk", &keys][..], more].concat());
        assert!(told.contains("--tls-certificates DIR") && told.contains("--tls-verify-peer"), "{told}");
    }
}
