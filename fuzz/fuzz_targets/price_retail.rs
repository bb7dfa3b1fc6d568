//! libFuzzer's way to the target for Azure's retail prices.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| loadline_tests::fuzz::price_retail(input));
