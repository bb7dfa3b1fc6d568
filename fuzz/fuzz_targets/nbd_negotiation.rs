//! libFuzzer's way to the target for the beginning of NBD connections.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| loadline_tests::fuzz::nbd_negotiation(input));
