//! libFuzzer's way to the target for requests over HTTP.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| loadline_tests::fuzz::http_request(input));
