//! libFuzzer's way to the target for traces of other tools.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| loadline_tests::fuzz::recordings(input));
