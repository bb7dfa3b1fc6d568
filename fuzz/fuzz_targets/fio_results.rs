//! libFuzzer's way to the target for results of fio.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| loadline_tests::fuzz::fio_results(input));
