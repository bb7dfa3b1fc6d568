//! What strangers send, and what must hold whatever they send: the entry functions of `fuzz/`, which every gate also runs
//! over the kept inputs and mutations of them.

use loadline_record::Histogram;
use loadline_units::{ByteRate, Bytes, Duration, Iops, Ratio};
use loadline_workload::Plan;
use std::fmt::{Debug, Display};
use std::str::FromStr;

/// A fuzz target: panics when something does not hold.
pub type Target = fn(&[u8]);

/// Every target by its name, which is that of its program in `fuzz/fuzz_targets` and of its folder in `fuzz/corpus`.
pub const TARGETS: [(&str, Target); 3] =
    [("histogram_decode", histogram_decode), ("plan_parse", plan_parse), ("units", units)];

/// A stored histogram decodes to one that keeps its own rules and encodes to the same again, or is refused.
pub fn histogram_decode(bytes: &[u8]) {
    let Ok(histogram) = Histogram::decode(bytes) else { return };
    let again = Histogram::decode(&histogram.encode()).expect("what was encoded decodes");
    assert_eq!(again, histogram);
    let counted: u64 = histogram.buckets().map(|(_, _, count)| count).sum();
    assert_eq!(counted, histogram.count());
    let Some(figures) = histogram.snapshot() else {
        assert_eq!(histogram.count(), 0);
        return;
    };
    let rising =
        [figures.min, figures.p50, figures.p90, figures.p95, figures.p99, figures.p99_9, figures.p99_99, figures.max];
    assert!(rising.is_sorted(), "{figures:?}");
    // The mean is a float of sums that can exceed 2^53.
    let slack = 1e-9;
    let (low, high) = (figures.min as f64 * (1.0 - slack), figures.max as f64 * (1.0 + slack));
    assert!((low..=high).contains(&figures.mean), "{figures:?}");
}

/// A text is refused with places in it, or is a plan whose cells all keep the rules of a load and tell themselves apart.
pub fn plan_parse(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Plan::parse(text, "input.toml") {
        Ok(plan) => {
            for (cell, _) in plan.cells() {
                assert_eq!(cell.check(), Ok(()), "{cell:?}");
                assert!(!cell.to_string().is_empty());
            }
            assert_eq!(Plan::parse(text, "input.toml").as_ref(), Ok(&plan), "the same text is the same plan");
        }
        Err(error) => {
            assert!(!error.problems.is_empty());
            let lines = text.lines().count().max(1);
            for problem in &error.problems {
                // The end of a text that ends in a line feed is the start of a line that `lines` does not count.
                assert!((1..=lines + 1).contains(&problem.line), "{problem:?} lies outside {lines} lines");
                assert!(problem.column >= 1 && !problem.message.is_empty(), "{problem:?}");
            }
            assert!(error.to_string().starts_with("input.toml:"), "{error}");
        }
    }
}

/// A text is refused by every quantity, or printed so that it parses to the same value.
pub fn units(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    round_trip::<Bytes>(text);
    round_trip::<ByteRate>(text);
    round_trip::<Iops>(text);
    round_trip::<Duration>(text);
    round_trip::<Ratio>(text);
}

fn round_trip<T: FromStr + Display + Debug + PartialEq>(text: &str)
where
    T::Err: Display,
{
    match text.parse::<T>() {
        Ok(value) => {
            let printed = value.to_string();
            assert_eq!(printed.parse::<T>().ok().as_ref(), Some(&value), "{text:?} was printed as {printed:?}");
        }
        Err(error) => assert!(!error.to_string().is_empty(), "{text:?} was refused without a word"),
    }
}
