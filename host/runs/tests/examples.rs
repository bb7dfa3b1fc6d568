//! The examples do what they say.

#[path = "../examples/emulate.rs"]
#[expect(dead_code, reason = "its main function belongs to the example")]
mod emulate;

#[test]
fn an_emulation_is_a_call_away_and_says_what_bound_it() {
    let text = emulate::run().unwrap();
    assert!(text.contains("bound by disk-iops") && text.contains("stored: Stored"), "{text}");
}
