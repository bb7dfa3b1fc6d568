//! libFuzzer's way to the target for files of AWS's price page.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| loadline_tests::fuzz::price_page(input));
