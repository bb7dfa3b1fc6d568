//! The `loadline` command.

fn main() {}
