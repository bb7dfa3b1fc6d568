//! Where the texts within a chart stand: none covers another, and none leaves the plotting area.

use super::text_width;

/// How far letters reach above their baseline, and below it.
const ASCENT: f64 = 9.0;
const DESCENT: f64 = 3.0;
/// Least distance between texts beside each other.
pub(super) const LABEL_GAP: f64 = 5.0;

/// The room that a text takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LabelBox {
    pub(super) start: f64,
    pub(super) end: f64,
    pub(super) baseline: f64,
}

impl LabelBox {
    /// Of a text that begins at `start`.
    pub(super) fn from(start: f64, baseline: f64, text: &str) -> Self {
        Self { start, end: start + text_width(text), baseline }
    }
    /// Of a text that ends at `end`.
    pub(super) fn until(end: f64, baseline: f64, text: &str) -> Self {
        Self { start: end - text_width(text), end, baseline }
    }
    /// Whether both cover some place, or stand too close beside each other.
    pub(super) fn meets(&self, other: &Self) -> bool {
        let beside = self.end + LABEL_GAP <= other.start || other.end + LABEL_GAP <= self.start;
        !beside && (self.baseline - other.baseline).abs() < ASCENT + DESCENT
    }
}

/// The texts of a chart that have a place.
#[derive(Debug)]
pub(super) struct Labels {
    start: f64,
    end: f64,
    top: f64,
    bottom: f64,
    taken: Vec<LabelBox>,
}

impl Labels {
    /// Of an area without a text, from the left to the right and from the top to the bottom.
    pub(super) const fn within((start, end): (f64, f64), (top, bottom): (f64, f64)) -> Self {
        Self { start, end, top, bottom, taken: Vec::new() }
    }
    /// The right ends of the texts that have a place.
    pub(super) fn ends(&self) -> Vec<f64> {
        self.taken.iter().map(|label| label.end).collect()
    }
    /// Takes the first of these places that is free; `None`: the text has no place.
    pub(super) fn place(&mut self, mut places: impl Iterator<Item = LabelBox>) -> Option<LabelBox> {
        let Self { start, end, top, bottom, taken } = self;
        let is_free = |place: &LabelBox| {
            place.start >= *start
                && place.end <= *end
                && place.baseline - ASCENT >= *top - 1.0
                && place.baseline + DESCENT <= *bottom
                && !taken.iter().any(|other| other.meets(place))
        };
        let place = places.find(is_free)?;
        taken.push(place);
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_two_texts_meet_and_none_leaves_its_area(
            wanted in prop::collection::vec((0.0f64..380.0, 0.0f64..250.0, "[a-z]{1,30}"), 1..40)
        ) {
            let mut labels = Labels::within((40.0, 360.0), (14.0, 200.0));
            let mut placed = Vec::new();
            for (x, baseline, text) in &wanted {
                let places = [LabelBox::from(*x, *baseline, text), LabelBox::until(*x, *baseline, text)];
                placed.extend(labels.place(places.into_iter()));
            }
            for (index, one) in placed.iter().enumerate() {
                prop_assert!(one.start >= 40.0 && one.end <= 360.0 && one.baseline <= 200.0, "{one:?}");
                prop_assert!(placed[..index].iter().all(|other| !one.meets(other)), "{one:?} of {placed:?}");
            }
        }
    }
}
