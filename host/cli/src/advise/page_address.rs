//! A need as the address of the page that computes: the fields that it opens with.

use loadline_advise::{Advice, Need};
use std::fmt::Write as _;

/// Fields that are not said stay as the page has them.
pub(super) fn page_address(advice: &Advice, need: &Need, providers: &[String]) -> String {
    let figures = &advice.need;
    let number = |value: f64| format!("{}", (value * 1e3).round() / 1e3);
    let mut fields: Vec<(&str, String)> = vec![
        ("iops", number(figures.iops.ceil())),
        ("reads", number(figures.read_ratio * 100.0)),
        ("block", number(figures.block_bytes as f64 / 1024.0)),
        ("size", number(figures.size_bytes as f64 / f64::from(1 << 30))),
        ("p99", figures.p99_ns.map_or_else(String::new, |ns| number(ns as f64 / 1e6))),
        ("growth", number(figures.growth * 100.0)),
        ("vcpus", figures.vcpus.map_or_else(String::new, |count| count.to_string())),
        ("memory", figures.memory_bytes.map_or_else(String::new, |bytes| number(bytes as f64 / f64::from(1 << 30)))),
    ];
    if need.sequential {
        fields.push(("sequential", "yes".to_owned()));
    }
    // The page has regions as the prices name them.
    if let (1, Some(row)) = (need.wanted.regions.len(), advice.candidates.first()) {
        fields.push(("region", row.region.clone()));
    }
    if let Some(architecture) = need.wanted.architecture {
        fields.push(("arch", architecture.name().to_owned()));
    }
    let mut text = String::from("buy");
    for (field, value) in fields {
        let _ = write!(text, "&{field}={}", escaped(&value));
    }
    if !need.wanted.providers.is_empty() {
        for other in providers.iter().filter(|name| !need.wanted.providers.contains(name)) {
            let _ = write!(text, "&provider.{}=", escaped(other));
        }
    }
    text
}

fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}
