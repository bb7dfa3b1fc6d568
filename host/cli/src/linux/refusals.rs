//! What the person who runs an emulation is told of clients that got no export: as much as can be read.

use std::time::{Duration, Instant};

/// Refusals told one by one in a span of [`SPAN`]; of those beyond only the number, when it is over.
const TOLD_MAX: usize = 5;
const SPAN: Duration = Duration::from_secs(10);

/// Tells of refusals, not too many at once.
#[derive(Debug)]
pub(crate) struct Refusals {
    /// When the span began.
    since: Instant,
    told: usize,
    untold: u64,
}

impl Refusals {
    pub(crate) const fn new(now: Instant) -> Self {
        Self { since: now, told: 0, untold: 0 }
    }

    /// The lines to be shown at `now` for these refusals, and `more` of which only the number is known.
    pub(crate) fn lines(&mut self, now: Instant, refused: Vec<String>, more: u64) -> Vec<String> {
        let mut lines = Vec::new();
        if now.duration_since(self.since) >= SPAN {
            lines.extend(self.rest());
            (self.since, self.told) = (now, 0);
        }
        for one in refused {
            if self.told < TOLD_MAX {
                self.told += 1;
                lines.push(one);
            } else {
                self.untold += 1;
            }
        }
        self.untold += more;
        lines
    }

    /// What is still to be told of those that came too thick.
    pub(crate) fn rest(&mut self) -> Option<String> {
        let untold = std::mem::take(&mut self.untold);
        (untold > 0)
            .then(|| format!("Refused or dropped {untold} more {}.", if untold == 1 { "client" } else { "clients" }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_few_are_told_by_name_and_the_others_by_their_number() {
        let begin = Instant::now();
        let mut refusals = Refusals::new(begin);
        let some = |count: usize| vec!["Refused somebody.".to_owned(); count];
        assert_eq!(refusals.lines(begin, some(1), 0), ["Refused somebody."]);
        assert_eq!(refusals.lines(begin, some(6), 30).len(), TOLD_MAX - 1);
        assert!(refusals.lines(begin + SPAN / 2, some(1), 0).is_empty());
        let later = refusals.lines(begin + SPAN, some(1), 0);
        assert_eq!(later, ["Refused or dropped 33 more clients.", "Refused somebody."]);
        assert!(refusals.lines(begin + SPAN * 2, Vec::new(), 0).is_empty() && refusals.rest().is_none());
    }
}
