//! libFuzzer's way to the target for SKUs of Google's billing catalog.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| loadline_tests::fuzz::price_skus(input));
