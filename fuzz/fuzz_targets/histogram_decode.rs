//! libFuzzer's way to the target for stored histograms.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| loadline_tests::fuzz::histogram_decode(input));
