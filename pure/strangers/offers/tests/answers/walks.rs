//! Walks over pages in any order, with repeats and gaps, and when a failed page is asked for again.

use crate::{AZURE_MACHINES, answer};
use loadline_offers::{
    FetchBounds, GaveUp, PageFailure, PagePlace, PageTries, PageWalk, Pages, PriceAddress, PriceAnswer, Provider,
    Quote, Walked, host_of,
};
use loadline_units::{Duration, Timestamp};
use std::collections::BTreeSet;

const URL: &str = "https://prices.azure.com/api?x=1";

fn walk(bounds: FetchBounds) -> PageWalk {
    let address = PriceAddress { url: URL.to_owned(), file: "azure".to_owned(), pages: Pages::Links };
    PageWalk::new(Provider::Azure, address, bounds)
}

/// A generator of numbers that are the same for a seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most
    }
}

#[test]
fn whatever_order_repeats_and_gaps_pages_have_a_walk_ends_and_says_what_is_new() {
    let all = answer(AZURE_MACHINES).unwrap();
    for seed in 0..200 {
        let mut chance = Chance(seed);
        let bounds = FetchBounds::default();
        let mut walk = walk(bounds);
        let (mut known, mut of_walk) = (BTreeSet::<Quote>::new(), BTreeSet::<Quote>::new());
        let (mut last_new, mut page_of) = (0, 0);
        while let Some((PagePlace { walk: number, page }, url)) = walk.next_page() {
            assert!(number <= bounds.walks && (page > 1 || url == URL));
            let quotes = (0..chance.below(4)).map(|_| all.quotes[chance.below(all.quotes.len())].clone()).collect();
            let next = (chance.below(3) > 0).then(|| format!("https://prices.azure.com:443/{number}/{page}"));
            of_walk.extend(<Vec<Quote> as Clone>::clone(&quotes));
            let came = PriceAnswer { quotes, next: next.clone(), ..all.clone() };
            page_of = match walk.take(Some(&came)).unwrap() {
                Walked::Page => {
                    assert!(next.is_some());
                    page
                }
                Walked::Walk { is_new } => {
                    let before = known.len();
                    known.append(&mut of_walk);
                    assert_eq!(is_new, number == 1 || known.len() > before, "seed {seed}");
                    last_new = if is_new { number } else { last_new };
                    assert!(next.is_none() && number <= last_new + 2);
                    if walk.next_page().is_none() {
                        assert!(number == last_new + 2 || number == bounds.walks, "seed {seed}: {number}");
                    }
                    0
                }
            };
        }
        assert_eq!(page_of, 0, "a walk ends at its end");
    }
}

#[test]
fn a_page_without_prices_ends_a_walk() {
    let mut walk = walk(FetchBounds::default());
    for is_new in [true, false, false] {
        assert_eq!(walk.take(None).unwrap(), Walked::Walk { is_new });
    }
    assert_eq!(walk.next_page(), None);
}

#[test]
fn a_host_is_that_of_an_address_by_https_alone() {
    for url in ["https://a.example", "https://a.example:443/x", "https://a.example?x", "https://a.example#x"] {
        assert_eq!(host_of(url), Some("a.example"), "{url}");
    }
    for url in [
        "http://a.example/",
        "HTTPS://a.example/",
        " https://a.example/",
        "https://u@a.example/",
        "https://a.example:80/",
        "https://a.example\\@b.example/",
        "https://a.exam\tple/",
    ] {
        assert_eq!(host_of(url), None, "{url}");
    }
}

#[test]
fn pauses_grow_and_a_server_s_wish_counts_up_to_a_bound() {
    let now: Timestamp = "2026-11-29T10:00:00Z".parse().unwrap();
    let status = |status, after: &str| {
        let retry_after = (!after.is_empty()).then(|| after.to_owned());
        PageFailure::Status { status, retry_after }
    };
    let waits = |failure: &PageFailure| {
        let mut tries = PageTries::new(FetchBounds::default());
        std::iter::repeat_with(|| tries.wait(failure, now)).take_while(Result::is_ok).flatten().collect::<Vec<_>>()
    };
    assert_eq!(waits(&PageFailure::Broken), [1, 2, 4, 8].map(Duration::from_s));
    assert_eq!(waits(&status(504, "999999")), [1, 2, 4, 8].map(Duration::from_s));
    assert_eq!(waits(&status(429, "")), [15, 30, 60, 120].map(Duration::from_s));
    assert_eq!(waits(&status(503, "300")), [300; 4].map(Duration::from_s));
    assert_eq!(waits(&status(429, "Sun, 29 Nov 2026 10:02:00 GMT")), [120; 4].map(Duration::from_s));
    for unread in ["-1", "1.5", "Sun, 31 Feb 2026 10:02:00 GMT", "Sun, 29 Nov 2026 10:02 GMT", "2026-11-29T10:02:00Z"] {
        assert_eq!(waits(&status(429, unread))[0], Duration::from_s(15), "{unread}");
    }
    for (failure, expected) in [
        (status(302, ""), GaveUp::Redirect(302)),
        (status(404, "1"), GaveUp::Status(404)),
        (status(418, ""), GaveUp::Status(418)),
    ] {
        assert_eq!(PageTries::new(FetchBounds::default()).wait(&failure, now), Err(expected));
    }
    for too_long in ["301", "99999999999999999999999", "Mon, 29 Nov 2027 10:00:00 GMT"] {
        let gave_up = PageTries::new(FetchBounds::default()).wait(&status(429, too_long), now);
        assert!(matches!(gave_up, Err(GaveUp::Wait { status: 429, .. })), "{too_long}: {gave_up:?}");
    }
}
