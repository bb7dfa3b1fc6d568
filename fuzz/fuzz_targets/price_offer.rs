//! libFuzzer's way to the target for offer files of AWS (JSON).
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| loadline_tests::fuzz::price_offer(input));
