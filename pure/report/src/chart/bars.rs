//! Horizontal bars, in groups, each with its figure at its end.

use super::{Axis, Chart, STYLES, at, fitted, text_width};
use crate::escaped::Escaped;
use crate::put;

/// One bar.
#[derive(Debug, Clone)]
pub(crate) struct Bar {
    /// The row that it belongs to; neighbours with the same name form a group.
    pub(crate) group: String,
    /// Which within the group.
    pub(crate) name: String,
    /// Colour and hatching.
    pub(crate) style: usize,
    /// Its length; `None` if the figure is missing.
    pub(crate) value: Option<f64>,
    /// A mark across the bar: how long it would be if all went well.
    pub(crate) wanted: Option<f64>,
    /// An interval around `value`.
    pub(crate) interval: Option<(f64, f64)>,
    /// Whether to draw it as doubted.
    pub(crate) doubted: bool,
    /// The text at its end.
    pub(crate) text: String,
    /// The figures in words.
    pub(crate) title: String,
}

/// A bar chart.
#[derive(Debug, Clone)]
pub(crate) struct BarChart {
    /// Unique in the document; letters, digits and dashes.
    pub(crate) id: String,
    /// One line.
    pub(crate) title: String,
    /// A description for readers who cannot see it.
    pub(crate) description: String,
    /// The quantity of the bars' length, with its unit.
    pub(crate) label: String,
    /// How a value on the axis is printed.
    pub(crate) print: fn(f64) -> String,
    /// Whether equal differences have equal lengths.
    pub(crate) linear: bool,
    /// From top to bottom.
    pub(crate) bars: Vec<Bar>,
}

/// How the room of a chart is shared out.
struct Room {
    width: f64,
    /// For a name.
    name_max: f64,
    /// For the figure at the end of a bar.
    text_max: f64,
    /// Whether the name of a group has a line of its own above its bars.
    groups_above: bool,
}

const BROAD: Room = Room { width: 760.0, name_max: 190.0, text_max: 190.0, groups_above: false };
/// As wide as a phone.
const NARROW: Room = Room { width: 380.0, name_max: 110.0, text_max: 150.0, groups_above: true };
const BAR: f64 = 15.0;
const BAR_PITCH: f64 = 18.0;
const GROUP_GAP: f64 = 12.0;
const TOP: f64 = 6.0;
/// Least room for the figure at the end of the longest bar.
const TEXT_WIDTH: f64 = 110.0;

impl Chart for BarChart {
    fn svg(&self) -> String {
        self.drawn(&self.id, &BROAD)
    }
    fn narrow(&self) -> Option<(String, Vec<(String, usize)>)> {
        Some((self.drawn(&format!("{}-n", self.id), &NARROW), Vec::new()))
    }
}

impl BarChart {
    fn drawn(&self, id: &str, room: &Room) -> String {
        let axis = self.axis();
        let widest = |of: fn(&Bar) -> &String| {
            self.bars.iter().map(|b| text_width(of(b))).fold(0.0, f64::max).min(room.name_max)
        };
        // Bold letters are wider.
        let group_width = if room.groups_above { 0.0 } else { widest(|b| &b.group) * 1.2 };
        let left = group_width + widest(|b| &b.name) + 22.0;
        let text_room =
            self.bars.iter().map(|b| text_width(&b.text) + 6.0).fold(TEXT_WIDTH, f64::max).min(room.text_max);
        let right = room.width - text_room;
        let groups = self.bars.chunk_by(|a, b| a.group == b.group);
        let named = groups.clone().filter(|bars| room.groups_above && !bars[0].group.is_empty()).count();
        let lines = (self.bars.len() + named) as f64;
        let gaps = groups.count().saturating_sub(1) as f64;
        let bottom = TOP + lines * BAR_PITCH + gaps * GROUP_GAP + 4.0;
        let height = bottom + 40.0;
        let x = |value: f64| axis.place(value).map(|place| left + place * (right - left));
        let mut out = String::new();
        put!(
            out,
            "<svg class=\"chart\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\" viewBox=\"0 0 {} {}\">",
            at(room.width),
            at(height)
        );
        put!(out, "<title id=\"{id}-t\">{}</title>", Escaped(&self.title));
        put!(out, "<desc id=\"{id}-d\">{}</desc>", Escaped(&self.description));
        put!(out, "<g class=\"grid\" aria-hidden=\"true\">");
        for (value, label) in axis.tick_labels(if room.groups_above { 3 } else { 8 }) {
            let Some(x) = x(value) else { continue };
            let class = if label.is_empty() { " class=\"minor\"" } else { "" };
            put!(out, "<path{class} d=\"M{} {TOP}V{}\"/>", at(x), at(bottom));
            put!(out, "<text class=\"mid\" x=\"{}\" y=\"{}\">{}</text>", at(x), at(bottom + 15.0), Escaped(&label));
        }
        let middle = at(f64::midpoint(left, right));
        put!(
            out,
            "<text class=\"mid lab\" x=\"{middle}\" y=\"{}\">{}</text></g>",
            at(height - 7.0),
            Escaped(&fitted(&self.label, room.width - 20.0))
        );
        let mut y = TOP + 2.0;
        let mut group: Option<&str> = None;
        for bar in &self.bars {
            if group != Some(bar.group.as_str()) {
                if group.is_some() {
                    y += GROUP_GAP;
                }
                group = Some(&bar.group);
                let text = fitted(&bar.group, if room.groups_above { room.width - 8.0 } else { room.name_max });
                put!(out, "<text class=\"grp\" x=\"4\" y=\"{}\">{}</text>", at(y + 12.0), Escaped(&text));
                if room.groups_above && !bar.group.is_empty() {
                    y += BAR_PITCH;
                }
            }
            let style = bar.style % STYLES;
            let name = fitted(&bar.name, room.name_max);
            put!(out, "<text class=\"end\" x=\"{}\" y=\"{}\">{}</text>", at(left - 8.0), at(y + 12.0), Escaped(&name));
            let end = bar.value.and_then(x).unwrap_or(left);
            let doubted = if bar.doubted { " hollow" } else { "" };
            put!(
                out,
                "<g class=\"s{style}\"><path class=\"mk rect{doubted}\" d=\"M{} {}H{}v{BAR}H{}z\"><title>{}</title></path>",
                at(left),
                at(y),
                at(end),
                at(left),
                Escaped(&bar.title)
            );
            let mut beyond = end;
            if let Some((low, high)) = bar.interval
                && let Some(high) = x(high)
            {
                // Bars for values below the axis begin at its start.
                let low = x(low).unwrap_or(left).max(left);
                if high - low > 2.0 {
                    let (low, high, middle) = (at(low), at(high), at(y + BAR / 2.0));
                    // Bars are dark on light pages and light on dark ones, and so are whiskers: a rim sets them off.
                    for class in ["whisker rim", "whisker"] {
                        put!(
                            out,
                            "<path class=\"{class}\" d=\"M{low} {middle}H{high}m0-3.5v7M{low} {middle}m0-3.5v7\"/>"
                        );
                    }
                }
                beyond = beyond.max(high);
            }
            if let Some(wanted) = bar.wanted.and_then(x) {
                put!(out, "<path class=\"wanted\" d=\"M{} {}v{}\"/>", at(wanted), at(y - 1.5), BAR + 3.0);
                beyond = beyond.max(wanted);
            }
            put!(
                out,
                "<text x=\"{}\" y=\"{}\">{}</text></g>",
                at(beyond + 6.0),
                at(y + 12.0),
                Escaped(&fitted(&bar.text, text_room - 6.0))
            );
            y += BAR_PITCH;
        }
        out.push_str("</svg>");
        out
    }

    /// From zero; or from the power of ten below the shortest bar, so that every bar has a length.
    fn axis(&self) -> Axis {
        let values = || {
            let highest = |b: &Bar| [b.value, b.interval.map(|ends| ends.1)].into_iter().flatten();
            self.bars.iter().flat_map(highest)
        };
        if self.linear {
            let wanted = self.bars.iter().filter_map(|b| b.wanted);
            return Axis::linear(&self.label, self.print, values().chain(wanted));
        }
        let mut axis = Axis::logarithmic(&self.label, self.print, values());
        if let Some(least) = values().filter(|v| *v > 0.0 && v.is_finite()).min_by(f64::total_cmp) {
            let decade = 10f64.powf((least / 1.5).log10().floor());
            // Two decades at most: a bar too short for that is drawn without length.
            axis.low = axis.low.min(decade.max(axis.low / 100.0));
        }
        axis
    }
}
