//! libFuzzer's way to the target for monitoring files.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| loadline_tests::fuzz::monitoring_files(input));
