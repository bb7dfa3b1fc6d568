//! libFuzzer's way to the target for traces.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| loadline_tests::fuzz::trace_read(input));
