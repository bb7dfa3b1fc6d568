//! libFuzzer's way to the target for lines of the control socket.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| loadline_tests::fuzz::control(input));
