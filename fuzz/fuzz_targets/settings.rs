//! libFuzzer's way to the target for files of settings.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| loadline_tests::fuzz::settings(input));
