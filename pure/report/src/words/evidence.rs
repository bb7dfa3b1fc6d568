//! What was seen that a judgement rests on, in sentences.

use super::hosts;
use super::limit::{beside, course, declared, level, load, machine, waiting};
use super::model::model;
use super::watch;
use loadline_record::{Evidence, Fact};
use loadline_units::words::capital;

/// All of it; empty where nothing was seen.
#[must_use]
pub fn evidence(seen: &Evidence) -> String {
    let texts = seen.facts().iter().map(fact);
    let texts: Vec<String> = texts.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()).collect();
    texts.join(" ")
}

/// As a paragraph of its own; `None` where nothing was seen.
pub(crate) fn paragraph(seen: &Evidence) -> Option<String> {
    let text = evidence(seen);
    (!text.is_empty()).then(|| format!("{}.", capital(&text).trim_end_matches('.')))
}

/// The first thing, as it follows a colon: without its full stop, and with a small letter unless it begins with an acronym.
pub(crate) fn first(seen: &Evidence) -> String {
    let text = evidence(seen);
    let first = text.split(". ").next().unwrap_or_default().split("; ").next().unwrap_or_default();
    let first = first.trim_end_matches('.');
    let mut letters = first.chars();
    let Some(capital) = letters.next().filter(|_| !first.chars().nth(1).is_some_and(char::is_uppercase)) else {
        return first.to_owned();
    };
    capital.to_lowercase().chain(letters).collect()
}

/// What was seen, up to the first colon, without a full stop.
pub(crate) fn claim(seen: &Evidence) -> String {
    let mut claims = Vec::new();
    for seen in seen.facts() {
        let (claim, detail) = match seen {
            Fact::Watch(seen) => watch::parts(seen),
            other => (fact(other).trim_end_matches('.').to_owned(), None),
        };
        claims.push(claim);
        if detail.is_some() {
            break;
        }
    }
    claims.join(". ")
}

fn fact(fact: &Fact) -> String {
    match fact {
        Fact::Level(fact) => level(fact),
        Fact::Waiting(fact) => waiting(fact),
        Fact::Load(fact) => load(fact),
        Fact::Course(fact) => course(fact),
        Fact::Machine(fact) => machine(fact),
        Fact::Beside(fact) => beside(fact),
        Fact::Hosts(fact) => hosts::shows(fact),
        Fact::Declared(fact) => declared(fact),
        Fact::Model(fact) => model(fact),
        Fact::Watch(seen) => watch::fact(seen),
        Fact::Written(written) => written.text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_follows_its_colon_with_a_small_letter() {
        let first = |text: &str| first(&Evidence::written(text.to_owned()));
        assert_eq!(first("Its requests take 2 ms, and 1 alone. More."), "its requests take 2 ms, and 1 alone");
        assert_eq!(first("IOPS stop at 500; bytes do not."), "IOPS stop at 500");
        assert_eq!(first(""), "");
    }
}
