//! What is compared as ratios: a row for each load, with its interval around 1.

use super::{Axis, Chart, STYLES, at, fitted, marker, text_width};
use crate::escaped::Escaped;
use crate::put;

/// A ratio.
#[derive(Debug, Clone)]
pub(crate) struct RatioRow {
    /// What is compared.
    pub(crate) name: String,
    /// Colour and marker.
    pub(crate) style: usize,
    /// Of the other to the baseline, above 0.
    pub(crate) ratio: f64,
    /// Its interval.
    pub(crate) interval: Option<(f64, f64)>,
    /// Whether to draw it as doubted.
    pub(crate) doubted: bool,
    /// The figure at the end of the row.
    pub(crate) text: String,
}

/// Rows of ratios on one axis. It is as wide as a phone.
#[derive(Debug, Clone)]
pub(crate) struct RatioChart {
    /// Unique in the document; letters, digits and dashes.
    pub(crate) id: String,
    /// One line.
    pub(crate) title: String,
    /// The axis, in words.
    pub(crate) label: String,
    /// Ratios that differ from 1 by no more are the same for all purposes.
    pub(crate) margin: f64,
    /// From top to bottom.
    pub(crate) rows: Vec<RatioRow>,
}

const WIDTH: f64 = 380.0;
const LEFT: f64 = 10.0;
const RIGHT: f64 = WIDTH - 14.0;
const TOP: f64 = 4.0;
const ROW: f64 = 32.0;
/// The axis shows at least so much on either side of 1, in margins.
const MARGINS: f64 = 2.0;

impl Chart for RatioChart {
    fn svg(&self) -> String {
        let axis = self.axis();
        let x = |value: f64| axis.place(value.clamp(axis.low, axis.high)).map(|place| LEFT + place * (RIGHT - LEFT));
        let bottom = TOP + self.rows.len() as f64 * ROW + 4.0;
        let height = bottom + 40.0;
        let spoken: Vec<String> = self.rows.iter().map(|row| format!("{}: {}", row.name, row.text)).collect();
        let mut out = String::new();
        put!(
            out,
            "<svg class=\"chart\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\" viewBox=\"0 0 {} {}\">",
            at(WIDTH),
            at(height),
            id = self.id
        );
        put!(out, "<title id=\"{}-t\">{}</title>", self.id, Escaped(&self.title));
        put!(out, "<desc id=\"{}-d\">{}</desc>", self.id, Escaped(spoken.join(". ")));
        put!(out, "<g class=\"grid\" aria-hidden=\"true\">");
        if let Some((low, high)) = x(1.0 - self.margin).zip(x(1.0 + self.margin)) {
            put!(out, "<path class=\"blank\" d=\"M{} {TOP}H{}V{}H{}z\"/>", at(low), at(high), at(bottom), at(low));
        }
        let mut named_until = f64::MIN;
        for (value, label) in axis.tick_labels(5) {
            let Some(x) = x(value) else { continue };
            put!(out, "<path d=\"M{} {TOP}V{}\"/>", at(x), at(bottom));
            let half = text_width(&label) / 2.0;
            if x - half > named_until {
                put!(out, "<text class=\"mid\" x=\"{}\" y=\"{}\">{}</text>", at(x), at(bottom + 15.0), Escaped(&label));
                named_until = x + half + 4.0;
            }
        }
        if let Some(one) = x(1.0) {
            put!(out, "<path class=\"axis\" d=\"M{} {TOP}V{}\"/>", at(one), at(bottom));
        }
        let middle = at(f64::midpoint(LEFT, RIGHT));
        let label = fitted(&self.label, WIDTH - 10.0);
        put!(out, "<text class=\"mid lab\" x=\"{middle}\" y=\"{}\">{}</text></g>", at(height - 7.0), Escaped(&label));
        for (place, row) in self.rows.iter().enumerate() {
            row.draw(&mut out, TOP + place as f64 * ROW, &x);
        }
        out.push_str("</svg>");
        out
    }

    fn narrow(&self) -> Option<(String, Vec<(String, usize)>)> {
        None
    }
}

impl RatioRow {
    fn draw(&self, out: &mut String, top: f64, x: &dyn Fn(f64) -> Option<f64>) {
        let (baseline, y) = (at(top + 12.0), top + 23.0);
        let name = fitted(&self.name, RIGHT - LEFT - text_width(&self.text) - 8.0);
        put!(out, "<text class=\"halo\" x=\"{}\" y=\"{baseline}\">{}</text>", at(LEFT), Escaped(&name));
        put!(out, "<text class=\"end halo\" x=\"{}\" y=\"{baseline}\">{}</text>", at(RIGHT), Escaped(&self.text));
        put!(out, "<g class=\"s{}\">", self.style % STYLES);
        if let Some((low, high)) = self.interval.and_then(|(low, high)| x(low).zip(x(high)))
            && high > low
        {
            put!(out, "<path class=\"ln ends\" d=\"M{} {y}H{}\"/>", at(low), at(high));
        }
        if let Some(x) = x(self.ratio) {
            let hollow = if self.doubted { " hollow" } else { "" };
            put!(
                out,
                "<path class=\"mk{hollow}\" transform=\"translate({} {})\" d=\"{}\"><title>{}: {}</title></path>",
                at(x),
                at(y),
                marker(self.style),
                Escaped(&self.name),
                Escaped(&self.text)
            );
        }
        out.push_str("</g>");
    }
}

impl RatioChart {
    /// Around 1 and every ratio; intervals too, unless they are so wide that no ratio would show.
    fn axis(&self) -> Axis {
        let ratios: Vec<f64> = self.rows.iter().map(|row| row.ratio).collect();
        let ends = self.rows.iter().filter_map(|row| row.interval).flat_map(|(low, high)| [low, high]);
        let edges = [1.0 - MARGINS * self.margin, 1.0 + MARGINS * self.margin];
        let low = ratios.iter().copied().chain(edges).fold(1.0, f64::min);
        let high = ratios.iter().copied().chain(edges).fold(1.0, f64::max);
        let room = high - low;
        let ends = ends.map(|end| end.clamp(low - room, high + room));
        let all: Vec<f64> = ends.chain([low, high]).filter(|value| *value > 0.0).collect();
        Axis::around(&self.label, crate::figures::tick, all.into_iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(ratio: f64, interval: Option<(f64, f64)>) -> RatioChart {
        let text = format!("{ratio}");
        let row = RatioRow { name: "random read".to_owned(), style: 0, ratio, interval, doubted: false, text };
        let (title, label) = (String::new(), "times A".to_owned());
        RatioChart { id: "ratios".to_owned(), title, label, margin: 0.05, rows: vec![row] }
    }

    #[test]
    fn a_small_difference_takes_much_of_the_axis_and_1_is_always_on_it() {
        for (ratio, interval) in [(0.97, Some((0.96, 0.98))), (1.004, None), (3.3, Some((3.0, 3.6))), (0.2, None)] {
            let chart = chart(ratio, interval);
            let axis = chart.axis();
            let share = (axis.place(ratio).unwrap() - axis.place(1.0).unwrap()).abs();
            assert!(share >= ((ratio - 1.0).abs() / 0.32).min(0.4), "{ratio}: {share} of {axis:?}");
            assert_eq!(chart.svg().matches("class=\"mk\"").count(), 1);
        }
    }

    #[test]
    fn an_interval_that_is_too_wide_ends_at_the_edge() {
        let axis = chart(1.1, Some((0.01, 40.0))).axis();
        assert!(axis.high < 2.0, "{axis:?}");
    }
}
