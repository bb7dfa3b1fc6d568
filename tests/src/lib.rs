//! What the tests that span crates share.
