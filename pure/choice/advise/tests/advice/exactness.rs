//! The search finds the same price as trying every pair.

use loadline_advise::check_against_every_pair;
use loadline_catalog::Catalog;

/// Random needs in the gate, and in its long form.
const NEEDS: u64 = 40;
const NEEDS_LONG: u64 = 1_000;

#[expect(clippy::disallowed_methods, reason = "how much a test tries is the user's to choose")]
pub(crate) fn is_long() -> bool {
    std::env::var("LOADLINE_TEST_LONG").is_ok_and(|value| !value.is_empty() && value != "0")
}

#[test]
fn the_search_finds_the_same_price_as_trying_every_pair() {
    let catalog = Catalog::builtin();
    let needs = if is_long() { NEEDS_LONG } else { NEEDS };
    let (mut alike, mut found, mut pairs) = (0_u64, 0_u64, 0_u64);
    for seed in 0..needs {
        let check = check_against_every_pair(&catalog, seed).expect("every provider has prices");
        assert_eq!(check.searched, check.tried, "seed {seed}");
        alike += 1;
        found += u64::from(check.searched.is_some());
        pairs += check.pairs;
    }
    println!("{alike} of {needs} needs alike, {found} with an answer, {pairs} pairs tried");
    assert!(found * 3 > alike, "too few of the needs have an answer to prove anything");
}
