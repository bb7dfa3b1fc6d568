//! What the time went to: for each stretch of it the shares of its causes, above each other in their colours.

use super::line::{WIDE_TICKS, plot_begin};
use super::{Axis, Chart, STYLES, Size, at, fitted};
use crate::escaped::Escaped;
use crate::put;

/// A stretch of time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Stretch {
    /// Its begin, on the axis.
    pub(crate) from: f64,
    /// Its end.
    pub(crate) to: f64,
    /// Colours, each with its share of the stretch. What is left over is blank.
    pub(crate) parts: Vec<(usize, f64)>,
    /// What it is, in words; empty where the legend says all.
    pub(crate) title: String,
}

/// A strip of stretches along time.
#[derive(Debug, Clone)]
pub(crate) struct StripChart {
    /// Unique in the document; letters, digits and dashes.
    pub(crate) id: String,
    /// One line.
    pub(crate) title: String,
    /// A description for readers who cannot see it.
    pub(crate) description: String,
    /// Along.
    pub(crate) x: Axis,
    /// In their order.
    pub(crate) stretches: Vec<Stretch>,
    /// As wide as the page, or as the first chart of a report.
    pub(crate) size: Size,
    /// The chart above it, at whose begin it begins.
    pub(crate) below: Option<Axis>,
}

const HEIGHT: f64 = 74.0;
const TOP: f64 = 4.0;
const BOTTOM: f64 = 36.0;

impl Chart for StripChart {
    fn svg(&self) -> String {
        let (width, left) = match self.size {
            Size::Lead => (380.0, self.below.as_ref().map_or(24.0, |y| plot_begin(y, Size::Lead))),
            _ => (760.0, 32.0 + WIDE_TICKS),
        };
        let right = width - 14.0;
        let x =
            |value: f64| self.x.place(value.clamp(self.x.low, self.x.high)).map(|place| left + place * (right - left));
        let mut out = String::new();
        put!(
            out,
            "<svg class=\"chart\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\" viewBox=\"0 0 {} {}\">",
            at(width),
            at(HEIGHT),
            id = self.id
        );
        put!(out, "<title id=\"{}-t\">{}</title>", self.id, Escaped(&self.title));
        put!(out, "<desc id=\"{}-d\">{}</desc>", self.id, Escaped(&self.description));
        put!(out, "<g class=\"grid\" aria-hidden=\"true\">");
        put!(out, "<path class=\"blank\" d=\"M{} {TOP}H{}V{BOTTOM}H{}z\"/>", at(left), at(right), at(left));
        for (value, label) in self.x.tick_labels(if self.size == Size::Lead { 5 } else { 8 }) {
            let Some(x) = x(value) else { continue };
            put!(out, "<path d=\"M{} {BOTTOM}v4\"/>", at(x));
            put!(out, "<text class=\"mid\" x=\"{}\" y=\"{}\">{}</text>", at(x), at(BOTTOM + 16.0), Escaped(&label));
        }
        let (middle, label) = (at(f64::midpoint(left, right)), fitted(&self.x.label, width - 20.0));
        put!(out, "<text class=\"mid lab\" x=\"{middle}\" y=\"{}\">{}</text></g>", at(HEIGHT - 5.0), Escaped(&label));
        for (style, title, path) in self.paths(&x) {
            put!(out, "<g class=\"s{style}\"><path class=\"mk strip\" d=\"{path}\">");
            if !title.is_empty() {
                put!(out, "<title>{}</title>", Escaped(title));
            }
            put!(out, "</path></g>");
        }
        out.push_str("</svg>");
        out
    }

    fn narrow(&self) -> Option<(String, Vec<(String, usize)>)> {
        (self.size != Size::Lead)
            .then(|| (Self { id: format!("{}-n", self.id), size: Size::Lead, ..self.clone() }.svg(), Vec::new()))
    }
}

impl StripChart {
    /// Rectangles of one colour and one title as one path.
    fn paths(&self, x: &dyn Fn(f64) -> Option<f64>) -> Vec<(usize, &str, String)> {
        let mut paths: Vec<(usize, &str, String)> = Vec::new();
        for Stretch { from, to, parts, title } in &self.stretches {
            let Some((start, end)) = x(*from).zip(x(*to)).filter(|(start, end)| end > start) else { continue };
            let mut y = BOTTOM;
            for (style, share) in parts {
                let height = (BOTTOM - TOP) * share.clamp(0.0, 1.0);
                let shape = format!("M{} {}H{}v-{}H{}z", at(start), at(y), at(end), at(height), at(start));
                y -= height;
                let style = style % STYLES;
                match paths.iter_mut().find(|path| (path.0, path.1) == (style, title.as_str())) {
                    Some(path) => path.2.push_str(&shape),
                    None => paths.push((style, title, shape)),
                }
            }
        }
        paths
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures;

    #[test]
    fn the_shares_of_a_stretch_stand_above_each_other_and_seconds_of_one_cause_are_one_path() {
        let stretch = |from: f64, parts: &[(usize, f64)]| Stretch {
            from,
            to: from + 1.0,
            parts: parts.to_vec(),
            title: String::new(),
        };
        let chart = StripChart {
            id: "strip".to_owned(),
            title: String::new(),
            description: String::new(),
            x: Axis::linear("seconds", figures::tick, std::iter::once(3.0)),
            stretches: vec![stretch(0.0, &[(0, 0.75), (1, 0.25)]), stretch(1.0, &[(0, 1.0)]), stretch(2.0, &[])],
            size: Size::Wide,
            below: None,
        };
        let svg = chart.svg();
        assert_eq!(svg.matches("class=\"mk strip\"").count(), 2, "{svg}");
        assert!(svg.contains("v-24H") && svg.contains("v-8H") && svg.contains("v-32H"), "{svg}");
        assert!(chart.narrow().is_some_and(|(narrow, _)| narrow.contains("viewBox=\"0 0 380 74\"")));
    }
}
