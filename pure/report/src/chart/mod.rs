//! Charts as generated SVG: scales and ticks, line charts, bars. Colours and fonts come from the page's style sheet.

mod axis;
mod bars;
mod labels;
mod line;
mod ratios;
mod strip;

pub(crate) use axis::{Axis, Ticks};
pub(crate) use bars::{Bar, BarChart};
pub(crate) use line::{Hover, Line, LineChart, Mark, Point, Reference, Size};
pub(crate) use ratios::{RatioChart, RatioRow};
pub(crate) use strip::{Stretch, StripChart};

/// A chart that a page shows.
pub(crate) trait Chart {
    /// As an `svg` element.
    fn svg(&self) -> String;
    /// The same for a page that is no wider than a phone, with what a legend below it names; `None`: it is readable there as it is.
    fn narrow(&self) -> Option<(String, Vec<(String, usize)>)>;
}

/// The number of series that colour, marker and dash distinguish at once.
pub(crate) const STYLES: usize = 8;
/// How many lines of one run share a chart: fewer than there are styles, since most lie close together.
pub(crate) const LINES_MAX: usize = 6;

/// A marker of style `style` around the origin, about 8 units across.
fn marker(style: usize) -> &'static str {
    match style % STYLES {
        0 => "M-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0-7.2 0z",
        1 => "M-3.3-3.3h6.6v6.6h-6.6z",
        2 => "M0-4.4L4.1 3.2H-4.1z",
        3 => "M0-4.6L4.6 0L0 4.6L-4.6 0z",
        4 => "M0 4.4L4.1-3.2H-4.1z",
        5 => "M-1.4-4.2h2.8v2.8h2.8v2.8h-2.8v2.8h-2.8v-2.8h-2.8v-2.8h2.8z",
        6 => "M0-1.9L2.4-4.2L4.2-2.4L1.9 0L4.2 2.4L2.4 4.2L0 1.9L-2.4 4.2L-4.2 2.4L-1.9 0L-4.2-2.4L-2.4-4.2z",
        _ => "M-2-4.2h4v8.4h-4z",
    }
}

/// A short line with its marker, for legends outside of a chart.
pub(crate) fn swatch(style: usize) -> String {
    let style = style % STYLES;
    format!(
        "<svg class=\"swatch s{style}\" width=\"30\" height=\"12\" viewBox=\"0 0 30 12\" aria-hidden=\"true\"><path class=\"ln\" d=\"M1 6H29\"/><path class=\"mk\" transform=\"translate(15 6)\" d=\"{}\"/></svg>",
        marker(style)
    )
}

/// A coordinate: one decimal at most.
fn at(value: f64) -> String {
    let rounded = (value * 10.0).round() / 10.0;
    // Minus zero would be printed with its sign.
    if rounded == 0.0 { "0".to_owned() } else { rounded.to_string() }
}

/// The width of a text in the charts' 11.5-unit sans-serif font; wide letters and narrow ones even out.
fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * 6.4
}

/// `text` cut to fit into `width`, with an ellipsis if it was cut.
fn fitted(text: &str, width: f64) -> String {
    let room = (width / 6.4).max(1.0) as usize;
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let mut out: String = text.chars().take(room.saturating_sub(1)).collect();
    out.push('…');
    out
}
