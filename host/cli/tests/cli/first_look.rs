//! What `quick` refuses at once, before a minute or a disk is spent.

use crate::{Bench, entries};

#[test]
fn too_little_time_or_space_is_refused_before_anything_is_filled() {
    let bench = Bench::new();
    let target = bench.target();
    for (option, value, least) in [
        ("--duration", "0s", "at least 1 ms"),
        ("--duration", "5 ns", "at least 1 ms"),
        ("--size", "8KiB", "at least 1 MiB"),
        ("--size", "0 B", "at least 1 MiB"),
    ] {
        let told = bench.refused(2, &["quick", &target, option, value]);
        assert!(told.contains(option) && told.contains(least), "{told}");
        assert_eq!(told.lines().count(), 1, "{told}");
    }
    // What is called the least does.
    bench.done(&["quick", &target, "--duration", "1 ms", "--size", "1 MiB"]);
    assert!(entries(target.as_ref()).is_empty());
}
