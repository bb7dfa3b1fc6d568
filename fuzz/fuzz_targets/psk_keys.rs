//! libFuzzer's way to the target for files of keys shared in advance.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| loadline_tests::fuzz::psk_keys(input));
