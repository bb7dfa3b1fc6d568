//! libFuzzer's way to the target for files of repositories.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| loadline_tests::fuzz::repository_files(input));
