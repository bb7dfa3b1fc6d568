//! libFuzzer's way to the target for quantities as text.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| loadline_tests::fuzz::units(input));
