//! libFuzzer's way to the target for plans.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| loadline_tests::fuzz::plan_parse(input));
