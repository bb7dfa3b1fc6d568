//! libFuzzer's way to the target for NBD requests.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| loadline_tests::fuzz::nbd_requests(input));
