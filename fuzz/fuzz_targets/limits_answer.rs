//! libFuzzer's way to the target for what providers answer about their machines.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| loadline_tests::fuzz::limits_answer(input));
