//! libFuzzer's way to the target for job files.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| loadline_tests::fuzz::fio_jobs(input));
